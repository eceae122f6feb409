package orchestrate

import (
	"fmt"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// pipelinePhases are the phases of a specification with what each leaves.
var pipelinePhases = []struct{ phase, role, artifact string }{
	{"gather", "pm", "requirements"}, {"assess", "architect", "complexity"}, {"research", "analyst", "research"},
	{write, "pm", "spec"}, {critique, "qa", "critique"},
}

const write, critique = "write", "critique"

// pipelineState says which phases a word of .pipeline-state.json has behind it.
func pipelineState(word string) int {
	switch doc.Fold(word) {
	case "requirements gathered":
		return 1
	case "complexity assessed":
		return 2
	case "research complete":
		return 3
	case "spec written":
		return 4
	case "critique complete":
		return 5
	}
	return -1
}

// isSpecArtifact reports whether a file belongs to a specification: any
// artifact in docs/stories/{id}/spec/, and in docs/specs/{feature}/ those that
// only the pipeline writes. A spec.md alone may be anybody's.
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

// specRuns adds the specifications that have no story yet.
func (f *finder) specRuns(t *census) {
	for _, dir := range t.specs {
		id := path.Base(dir)
		if id == "spec" {
			id = path.Base(path.Dir(dir))
		}
		k := nameKey(id)
		taken := false
		for _, s := range t.stories {
			taken = taken || (k.same(s.key) || strings.EqualFold(k.id, s.key.id)) && projectOf(s.path) == specProject(dir)
		}
		if !taken {
			f.add(id, dir, reprise.KindSpecPipeline)
		}
	}
}

// pipeline reads the artifacts of a specification. A phase is behind it when
// its artifact is there and readable; the state file can put it further only
// as a claim.
func (l *loader) pipeline() {
	run := l.run
	state := -1
	var word string
	var at reprise.Source
	simple := false
	if f := l.r.Open(path.Join(run.Path, ".pipeline-state.json")); f.Exists() {
		if n := f.JSON(); n != nil && n.Kind == doc.Map {
			v := n.Get("status", "state", "phase", "currentPhase")
			word, at = v.Str(), v.Source()
			if state = pipelineState(word); state < 0 && word != "" {
				l.wordStatus(run.ID, word, at)
			}
			simple = doc.Fold(n.Get("complexity", "class", "complexityClass").Str()) == "simple"
			l.times(n, 0)
		}
	}
	story := l.specStory()
	there := make([]bool, len(pipelinePhases))
	for i, p := range pipelinePhases {
		after := "create"
		if i+1 < len(pipelinePhases) {
			after = pipelinePhases[i+1].phase
		}
		there[i] = l.specArtifact(p.artifact, p.phase, after, &simple)
	}
	phase, open := critique, ""
	if story == "" && there[len(there)-1] { // once it is written nobody asks for the critique any more
		phase, open = afterCritique(plainText(l.verdict))
	}
	point := len(pipelinePhases)
	for i, p := range pipelinePhases {
		skip := simple && (p.phase == "assess" || p.phase == "research")
		step := reprise.Step{ID: p.phase, Phase: p.phase, Role: p.role, Status: reprise.Pending, Source: reprise.Source{File: run.Path}}
		switch {
		case p.phase == critique && open != "":
			if l.verdict == nil {
				break
			}
			step.Claims = []reprise.Claim{{Ledger: "verdict", Status: reprise.Pending, Word: plainText(l.verdict), Source: l.verdict.Source(), Won: true}}
		case there[i]:
			step.Status = reprise.Done
		case skip:
			step.Status = reprise.Skipped
		case i < furthest(there):
			// A later artifact was made from this one, or without it.
			step.Status = reprise.Skipped
		}
		if state >= 0 {
			claim := reprise.Claim{Ledger: "pipeline state", Status: reprise.Pending, Word: word, Source: at}
			if i < state {
				claim.Status = reprise.Done
			}
			if len(step.Claims) == 0 {
				step.Claims = []reprise.Claim{{Ledger: "artifacts", Status: step.Status, Word: p.artifact, Source: reprise.Source{File: run.Path}, Won: true}}
			}
			step.Claims = append(step.Claims, claim)
			if claim.Status == reprise.Done && !there[i] && !step.Status.Closed() {
				l.missingOutput(p.artifact, p.phase, at)
				l.r.Report(reprise.Finding{
					Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: p.phase, Source: at,
					Message: fmt.Sprintf("the pipeline says %s, but the output of %s is not there: the phase has to run again", quote(word), p.phase),
				})
			}
		}
		if !step.Status.Closed() && point == len(pipelinePhases) {
			point = i
		}
		run.Steps = append(run.Steps, step)
	}
	if run.LastActivity.IsZero() {
		if f := l.r.Open(path.Join(run.Path, "spec.md")); f.OK() {
			run.Active(f.MTime, f.At(0))
		}
	}
	if point == len(pipelinePhases) && story != "" {
		run.State, run.Phase, run.Reason = reprise.Complete, "done", "the specification is finished and its story is written"
		run.Also = append(run.Also, reprise.Ref{Layout: layoutName, ID: storyKey(story).id, Path: story, Kind: reprise.KindStory})
		return
	}
	if point == len(pipelinePhases) {
		run.State, run.Phase, run.Reason = reprise.Interrupted, "plan", "the specification is finished and has no story yet"
		run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: "create", Role: "sm", Reason: run.Reason}}
		return
	}
	p := pipelinePhases[point]
	if p.phase == critique && open != "" {
		if phase == write {
			p = pipelinePhases[point-1]
		}
		run.State, run.Phase, run.Reason = reprise.Interrupted, p.phase, open
		run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: p.phase, Role: p.role, Reason: open}}
		return
	}
	run.State, run.Phase, run.Reason = reprise.Interrupted, p.phase, "the specification stopped before "+p.phase
	run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: p.phase, Role: p.role, Reason: "its output is the first that is missing"}}
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
		return critique, "its critique gives no verdict"
	default:
		return critique, "its critique gives a verdict that has no meaning here: " + quote(word)
	}
}

// specProject is the project that the folder of a specification belongs to.
func specProject(dir string) string {
	if path.Base(dir) == "spec" {
		return projectOf(path.Join(dir, "x")) // it lies among the stories
	}
	return (&loader{run: &reprise.Run{Ref: reprise.Ref{Path: dir}}}).project()
}

// specStory finds the story that was written from the specification.
func (l *loader) specStory() string {
	k := nameKey(l.run.ID)
	for _, s := range l.storyFiles() {
		if (k.same(s.key) || strings.EqualFold(k.id, s.key.id)) && projectOf(s.path) == specProject(l.run.Path) {
			return s.path
		}
	}
	return ""
}

// missingOutput lists the output of a phase that is called done. One that is
// there and damaged is listed already.
func (l *loader) missingOutput(name, phase string, at reprise.Source) {
	for _, a := range l.run.Artifacts {
		if a.MadeBy == phase {
			return
		}
	}
	ext := ".json"
	if name == "spec" {
		ext = ".md"
	}
	l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: name, Path: path.Join(l.run.Path, name+ext), Presence: reprise.Missing, MadeBy: phase, Source: at})
}

func furthest(there []bool) int {
	for i := len(there) - 1; i >= 0; i-- {
		if there[i] {
			return i
		}
	}
	return 0
}

// specArtifact looks for an artifact in any of its spellings. One that cannot
// be parsed does not count: its phase was cut off while writing.
func (l *loader) specArtifact(name, phase, after string, simple *bool) bool {
	for _, ext := range []string{".json", ".yaml", ".yml", ".md"} {
		p := path.Join(l.run.Path, name+ext)
		if !l.r.Exists(p) {
			continue
		}
		a := reprise.Artifact{Name: name, Path: p, Presence: reprise.Present, MadeBy: phase, NeededBy: after, Source: reprise.Source{File: p}}
		f := l.r.Open(p)
		ok := f.OK() && len(strings.TrimSpace(string(f.Data))) > 0
		if f.OK() && !ok {
			f.Report(reprise.Warning, reprise.CodeUnreadable, 0, "the file is empty", "the phase "+phase+" has to run again")
		}
		if ok && ext != ".md" {
			n := parseStructured(f)
			ok = n != nil
			if n != nil && n.Kind == doc.Map {
				l.times(n, 0)
				if name == "complexity" && doc.Fold(plainText(n.Get("class", "complexity", "level", "result"))) == "simple" {
					*simple = true
				}
				if name == critique {
					l.verdict = n.Get("verdict", "decision", "result")
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
