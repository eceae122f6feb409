package orchestrate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// pipelinePhases are the phases of a specification with who does each, what it
// leaves, in which file if there is none yet, and the word of the state file that
// it is behind.
var pipelinePhases = []specPhase{
	{"gather", "pm", "requirements", ".json", "requirements_gathered"}, {"assess", "architect", "complexity", ".json", "complexity_assessed"},
	{"research", "analyst", "research", ".json", "research_complete"}, {write, "pm", "spec", ".md", "spec_written"},
	{critique, "qa", "critique", ".json", "critique_complete"},
}

type specPhase struct{ phase, role, artifact, ext, behind string }

const write, critique = "write", "critique"

// specWords are the spellings of the field of .pipeline-state.json that says how far it is.
var specWords = []string{"status", "state", "phase", "currentPhase"}

// specID is what the specification in a folder is called.
func specID(dir string) string {
	if path.Base(dir) == "spec" {
		dir = path.Dir(dir)
	}
	return path.Base(dir)
}

// specState is the state file of a specification.
func specState(dir string) string { return path.Join(dir, ".pipeline-state.json") }

// pipelinePhase is the index of a phase, -1 for any other word.
func pipelinePhase(phase string) int {
	return slices.IndexFunc(pipelinePhases, func(p specPhase) bool { return p.phase == phase })
}

// pipelineState says how many phases a word of .pipeline-state.json has behind it,
// -1 for a word without a meaning.
func pipelineState(word string) int {
	if i := slices.IndexFunc(pipelinePhases, func(p specPhase) bool { return doc.Fold(p.behind) == doc.Fold(word) }); i >= 0 {
		return i + 1
	}
	return -1
}

// isSpecArtifact reports whether a file belongs to a specification: any artifact in
// docs/stories/{id}/spec/, and in docs/specs/{feature}/ those that only the pipeline
// writes. A spec.md alone may come from any tool.
func isSpecArtifact(p string) bool {
	dir, name := path.Split(p)
	dir = strings.TrimSuffix(dir, "/")
	low := strings.ToLower(name)
	own := low == ".pipeline-state.json"
	base, ext := strings.TrimSuffix(low, path.Ext(low)), path.Ext(low)
	if ext == ".json" || ext == ".yaml" || ext == ".yml" {
		own = own || base == "requirements" || base == "complexity" || base == "research" || base == "critique"
	}
	if path.Base(dir) == "spec" {
		return isStories(path.Base(path.Dir(path.Dir(dir)))) && (own || low == "spec.md")
	}
	up := path.Dir(dir)
	return path.Base(up) == "specs" && path.Base(path.Dir(up)) == "docs" && own
}

// specRuns adds the specifications that have no story yet, or whose state file says that
// they are under way beside one.
func (f *finder) specRuns(t *census) {
	for _, dir := range t.specs {
		id := specID(dir)
		if storyOfSpec(id, dir, t.stories) == "" || f.underWay(id, dir, t) {
			f.add(id, dir, reprise.KindSpecPipeline)
		}
	}
}

// underWay reports whether a specification was begun by its tool and is not finished.
func (f *finder) underWay(id, dir string, t *census) bool {
	ref := reprise.Ref{Layout: layoutName, ID: id, Path: dir, Kind: reprise.KindSpecPipeline}
	return doc.NewReader(f.fsys).Open(specState(dir)).Exists() && peek(f.fsys, ref, t.stories).run.State.Open()
}

// spec is a specification: what its state file and the outputs of its phases say.
type spec struct {
	word    ledger.Value // of the state file: how far it is
	simple  bool         // assess and research are left out
	there   []bool       // the outputs of the phases
	last    int          // the last of them
	verdict *doc.Node    // of its critique
}

// pipeline reads the artifacts of a specification. A phase is behind it when
// its artifact is there and readable; the state file can put it further only
// as a claim.
func (l *loader) pipeline() {
	run, s, story := l.run, l.readSpec(), storyOfSpec(l.run.ID, l.run.Path, l.storyFiles())
	phase, open := critique, ""
	if story == "" && s.there[len(s.there)-1] { // once it is written the critique is no longer asked for
		phase, open = afterCritique(s.verdict.Plain())
	}
	for i := range pipelinePhases {
		l.specStep(s, i, open != "")
	}
	point := slices.IndexFunc(run.Steps, func(s reprise.Step) bool { return !s.Status.Closed() })
	if run.LastActivity.IsZero() {
		if f := l.r.Open(path.Join(run.Path, "spec.md")); f.OK() {
			run.Active(f.MTime, f.At(0))
		}
	}
	switch {
	case point < 0 && story != "":
		run.State, run.Phase, run.Reason = reprise.Complete, "done", "the specification is finished and its story is written"
		run.Also = append(run.Also, reprise.Ref{Layout: layoutName, ID: storyKey(story).id, Path: story, Kind: reprise.KindStory})
		return
	case point < 0:
		run.State, run.Phase, run.Reason = reprise.Interrupted, "plan", "the specification is finished and has no story yet"
		run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: create, Role: "sm", Reason: run.Reason}}
		return
	}
	p := pipelinePhases[point]
	run.Reason = "the specification stopped before " + p.phase
	why := "its output is the first that is missing"
	if p.phase == critique && open != "" {
		p, run.Reason, why = pipelinePhases[pipelinePhase(phase)], open, open
	}
	run.State, run.Phase = reprise.Interrupted, p.phase
	run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: p.phase, Role: p.role, Reason: why}}
}

func (l *loader) readSpec() *spec {
	s := &spec{there: make([]bool, len(pipelinePhases))}
	if f := l.r.Open(specState(l.run.Path)); f.Exists() {
		if root := ledger.Root(f, f.JSON()); root.Is(doc.Map) {
			s.word = root.In(specWords...)
			if word := s.word.Str(); pipelineState(word) < 0 {
				l.wordStatus(l.run.ID, word, s.word.Source())
			}
			s.simple = doc.Fold(root.Get("complexity", "class", "complexityClass").Str()) == "simple"
			l.times(root.Node)
		}
	}
	for i, p := range pipelinePhases {
		after := create
		if i+1 < len(pipelinePhases) {
			after = pipelinePhases[i+1].phase
		}
		if s.there[i] = l.specArtifact(s, p.artifact, p.phase, after); s.there[i] {
			s.last = i
		}
	}
	return s
}

// specStep adds a phase. undecided tells that the critique does not end the
// specification.
func (l *loader) specStep(s *spec, i int, undecided bool) {
	p, at := pipelinePhases[i], reprise.Source{File: l.run.Path}
	step := reprise.Step{ID: p.phase, Phase: p.phase, Role: p.role, Status: reprise.Pending, Source: at}
	switch {
	case p.phase == critique && undecided:
		if s.verdict != nil {
			step.Claims = []reprise.Claim{{Ledger: "verdict", Status: reprise.Pending, Word: s.verdict.Plain(), Source: s.verdict.Source(), Won: true}}
		}
	case s.there[i]:
		step.Status = reprise.Done
	case s.simple && (p.phase == "assess" || p.phase == "research"), i < s.last:
		step.Status = reprise.Skipped // a later artifact was made from this one, or without it
	}
	if state := pipelineState(s.word.Str()); state >= 0 {
		claim := reprise.Claim{Ledger: "pipeline state", Status: reprise.Pending, Word: s.word.Str(), Source: s.word.Source()}
		if i < state {
			claim.Status = reprise.Done
		}
		if len(step.Claims) == 0 {
			step.Claims = []reprise.Claim{{Ledger: "artifacts", Status: step.Status, Word: p.artifact, Source: at, Won: true}}
		}
		step.Claims = append(step.Claims, claim)
		if claim.Status == reprise.Done && !s.there[i] && !step.Status.Closed() {
			// One that is there and damaged is listed already.
			if !slices.ContainsFunc(l.run.Artifacts, func(a reprise.Artifact) bool { return a.MadeBy == p.phase }) {
				l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: p.artifact, Path: path.Join(l.run.Path, p.artifact+p.ext), Presence: reprise.Missing, MadeBy: p.phase, Source: claim.Source})
			}
			l.report(reprise.Warning, reprise.CodeMissingArtifact, p.phase, claim.Source,
				fmt.Sprintf("the pipeline says %s, but the output of %s is missing: the phase must run again", quote(claim.Word), p.phase), "")
		}
	}
	l.run.Steps = append(l.run.Steps, step)
}

// afterCritique gives the phase that a verdict leads to and why it does not end the
// specification: a story is made of one that its critique approved, and of no other.
// open is "" where it did.
func afterCritique(word string) (phase, open string) {
	switch reprise.RulingOf(word) {
	case reprise.Passes, reprise.PassesWithConcerns:
		return critique, ""
	case reprise.SendsBack, reprise.Holds:
		return write, "its critique sent it back: " + quote(word)
	case reprise.NoRuling:
		return critique, "its critique gives no ruling"
	default:
		return critique, "its critique gives a ruling that is unknown here: " + quote(word)
	}
}

// specProject is the project that the folder of a specification belongs to.
func specProject(dir string) string {
	if path.Base(dir) == "spec" {
		return projectOf(path.Join(dir, "x")) // it lies among the stories
	}
	return projectAt(dir)
}

// storyOfSpec finds the story that was written from the specification in a folder.
func storyOfSpec(id, dir string, stories []storyFile) string {
	k := nameKey(id)
	for _, s := range stories {
		if (k.same(s.key) || strings.EqualFold(k.id, s.key.id)) && projectOf(s.path) == specProject(dir) {
			return s.path
		}
	}
	return ""
}

// specArtifact looks for an artifact in any of its spellings. One that cannot
// be parsed does not count: its phase was cut off while writing.
func (l *loader) specArtifact(s *spec, name, phase, after string) bool {
	for _, ext := range []string{".json", ".yaml", ".yml", ".md"} {
		p := path.Join(l.run.Path, name+ext)
		if !l.r.Exists(p) {
			continue
		}
		a := reprise.Artifact{Name: name, Path: p, Presence: reprise.Present, MadeBy: phase, NeededBy: after, Source: reprise.Source{File: p}}
		f := l.r.Open(p)
		ok := f.OK() && !f.Blank()
		if f.Blank() {
			f.Report(reprise.Warning, reprise.CodeUnreadable, 0, "the file is empty", "the phase "+phase+" has to run again")
		}
		if ok && ext != ".md" {
			n := parseStructured(f)
			ok = n != nil
			if n != nil && n.Kind == doc.Map {
				l.times(n)
				if name == "complexity" && doc.Fold(n.Get("class", "complexity", "level", "result").Plain()) == "simple" {
					s.simple = true
				}
				if name == critique {
					s.verdict = n.Get("verdict", "decision", "result")
				}
			}
		}
		if !ok {
			a.Presence = reprise.Damaged
		}
		l.run.Artifacts = append(l.run.Artifacts, a)
		return ok
	}
	return false
}
