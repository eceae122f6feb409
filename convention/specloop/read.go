package specloop

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// loader gathers what the files of one feature say.
type loader struct {
	r       *doc.Reader
	run     *reprise.Run
	feature string // the feature folder, "." where it is the root
	dir     string // its .workflow
	spec    specFile
}

// part is one workflow of a feature as one ledger tells it.
type part struct {
	name   string // specify, techspec, plan, tasks or implement
	ledger string
	word   string         // the status as written
	source reprise.Source // of that word
	steps  []reprise.Step
	state  reprise.State
	reason string
	phase  reprise.Loop
	next   []reprise.Unit
	at     time.Time // the latest time the ledger records

	questions []reprise.Question
}

// workflowOrder is the order in which the workflows of a feature follow each
// other.
var workflowOrder = []string{"specify", "techspec", "plan", "tasks", "implement"}

// Load reads one feature wholly.
func (Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	return newLoader(fsys, ref).load(), nil
}

// newLoader begins to read a feature.
func newLoader(fsys fs.FS, ref reprise.Ref) *loader {
	l := &loader{r: doc.NewReader(fsys), run: &reprise.Run{Ref: ref}}
	l.enter(featureOf(ref))
	return l
}

// featureOf is the folder of a feature.
func featureOf(ref reprise.Ref) string {
	if path.Base(ref.Path) == stateDir {
		return path.Dir(ref.Path)
	}
	return ref.Path
}

// enter turns to a feature folder and looks at its specification.
func (l *loader) enter(feature string) {
	l.feature, l.dir = feature, path.Join(feature, stateDir)
	l.readSpec()
}

func (l *loader) load() *reprise.Run {
	ref := l.run.Ref
	l.run.Order = orderOf(ref.ID)
	l.run.Branch = branch(ref)
	l.leftovers()

	var all []*part
	ix := l.readIndex()
	if ix != nil {
		all = append(all, l.fromIndex(ix)...)
	}
	all = append(all, l.contexts(ix)...)
	all = append(all, l.graphs()...)
	parts := l.settle(all)
	if len(parts) == 0 {
		parts = []*part{l.scaffoldOnly()}
	}
	l.join(parts)
	l.finish(ix)
	l.run.Findings = l.r.Findings()
	return l.run
}

func (l *loader) in(name string) string { return path.Join(l.dir, name) }

func (l *loader) report(sev reprise.Severity, code, subject string, at reprise.Source, message, hint string) {
	l.r.Report(reprise.Finding{Code: code, Severity: sev, Subject: subject, Source: at, Message: message, Hint: hint})
}

// orderOf places a feature among its siblings by its number.
func orderOf(id string) []int {
	if !numbered(id) {
		return nil
	}
	head, _, _ := strings.Cut(id, "-")
	return doc.Numbers(head)
}

// specFile is what is known of spec.md without trusting any status.
type specFile struct {
	path              string
	exists, unwritten bool // unwritten: empty, or still the template
	read              bool
}

// written reports whether someone wrote it.
func (s specFile) written() bool { return s.exists && s.read && !s.unwritten }

func (l *loader) readSpec() {
	l.spec.path = path.Join(l.feature, "spec.md")
	f := l.r.Open(l.spec.path)
	l.spec.exists = f.Exists()
	if md := f.Markdown(); md != nil {
		l.spec.read, l.spec.unwritten = true, template(md)
	}
}

// template reports whether a specification is still what the scaffold copied:
// nothing at all, or a heading with its placeholder. Placeholders
// further down prove nothing; features about templates have them.
func template(md *doc.Markdown) bool {
	title := md.Title()
	if title == "" {
		return strings.TrimSpace(md.All().Text()) == ""
	}
	return strings.Contains(title, "{{") || strings.Contains(strings.ToUpper(title), "[FEATURE")
}

// leftovers reports what interrupted writes left next to the state files.
func (l *loader) leftovers() {
	for _, e := range l.r.Dir(l.dir) {
		name := e.Name()
		for _, end := range []string{".tmp", ".bak", ".swp", ".orig", "~"} {
			if strings.HasSuffix(name, end) && !e.IsDir() {
				l.report(reprise.Info, reprise.CodeLeftover, doc.Clip(name, 60), reprise.Source{File: l.in(name)},
					"a temporary or backup file is next to the state; it was not read", "compare it with the state file before you remove it")
			}
		}
	}
}

// scaffoldOnly is a state folder without a state file: what a crash in A1
// leaves, or, where reports or a written specification are there, a lost ledger.
func (l *loader) scaffoldOnly() *part {
	at := reprise.Source{File: l.dir}
	p := &part{name: "specify", ledger: stateDir, source: at}
	entries, err := fs.ReadDir(l.r.FS(), l.dir)
	if err != nil {
		p.state, p.reason = reprise.Unreadable, "the state folder cannot be listed"
		l.report(reprise.Blocking, reprise.CodeUnreadable, stateDir, at, "the state folder cannot be listed, so nothing is known about the run", "check the folder's permissions")
		return p
	}
	if bare(l.r.FS(), l.dir, entries) && (!l.spec.exists || l.spec.unwritten) {
		p.state, p.phase = reprise.Interrupted, reprise.Loop{At: "A1 scaffold", Status: "no state file"}
		p.reason = "the scaffold made its folders and stopped before it wrote a state file"
		l.loopSteps(p, "A1", reprise.InProgress, reprise.Claim{Ledger: stateDir, Status: reprise.InProgress, Word: "no state file", Source: at})
		l.nextPhase(p, "A1", p.reason)
		return p
	}
	p.state, p.reason = reprise.Unreadable, "work of this feature is on disk, but the state file that says how far it got is gone"
	l.report(reprise.Blocking, reprise.CodeMissingArtifact, stateDir, at, "no index.md, context.md or graph says where the workflow stands", "restore the state file from version control, or start from scratch")
	return p
}

// settle picks one part for each workflow and keeps the others as claims.
func (l *loader) settle(all []*part) []*part {
	var out []*part
	for _, name := range workflowOrder {
		var won *part
		var lost []*part
		for _, p := range all {
			switch {
			case p.name != name:
			case won == nil:
				won = p
			case beats(p, won):
				lost = append(lost, won)
				won = p
			default:
				lost = append(lost, p)
			}
		}
		if won == nil {
			continue
		}
		for _, p := range lost {
			l.sideBySide(won, p)
		}
		out = append(out, won)
	}
	return out
}

// beats holds the rule of the package comment: readable over unreadable, a
// graph over a context file, the later time among the rest, and what is read
// later (the newer family) when the times do not tell.
func beats(p, won *part) bool {
	if (p.state == reprise.Unreadable) != (won.state == reprise.Unreadable) {
		return won.state == reprise.Unreadable
	}
	if p.isGraph() != won.isGraph() {
		return p.isGraph()
	}
	return !p.at.Before(won.at)
}

func (p *part) isGraph() bool { return strings.HasSuffix(p.ledger, ".json") }

func (l *loader) sideBySide(won, lost *part) {
	if len(won.steps) > 0 {
		s := &won.steps[len(won.steps)-1]
		s.Claims = append(s.Claims, reprise.Claim{Ledger: lost.ledger, Status: statusOf(lost.state), Word: lost.word, Source: lost.source, At: lost.at, Won: len(s.Claims) == 0})
	}
	if won.state == lost.state {
		return
	}
	sev := reprise.Warning
	if won.isGraph() && won.state == reprise.Complete {
		sev = reprise.Info // closing writes the graph first and the context last
	}
	l.report(sev, reprise.CodeStatusDrift, won.name, lost.source,
		fmt.Sprintf("%s says %q (%s), %s says %q (%s); %s counts", lost.ledger, doc.Clip(lost.word, 40), lost.state, won.ledger, doc.Clip(won.word, 40), won.state, won.ledger),
		"make the two files agree")
}

// statusOf gives the status of a whole workflow as one claim.
func statusOf(s reprise.State) reprise.Status {
	switch s {
	case reprise.NotStarted:
		return reprise.Pending
	case reprise.Interrupted:
		return reprise.InProgress
	case reprise.Waiting, reprise.Stopped:
		return reprise.Blocked
	case reprise.Complete:
		return reprise.Done
	}
	return reprise.Unknown
}

// join makes one run of the workflows: the last one that is open decides.
func (l *loader) join(parts []*part) {
	var decides *part
	for _, p := range parts {
		l.run.Steps = append(l.run.Steps, p.steps...)
		l.run.Questions = append(l.run.Questions, p.questions...)
		switch {
		case decides == nil, p.state.Open(), !decides.state.Open() && p.state == reprise.Stopped:
			decides = p
		case decides.state == reprise.Complete:
			decides = p
		}
	}
	l.run.State, l.run.Reason, l.run.Next = decides.state, decides.reason, slices.Clone(decides.next)
	l.run.Loop, l.run.Phase = decides.phase, decides.phase.String()
	if len(parts) > 1 && decides.state == reprise.Complete {
		var done []string
		for _, p := range parts {
			done = append(done, p.name)
		}
		l.run.Reason = strings.Join(done, ", ") + " are completed"
	}
	past := false
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if past && p.state.Open() {
			l.report(reprise.Warning, reprise.CodeAbandoned, p.name, p.source,
				fmt.Sprintf("%s is still open (%s) while %s was begun after it", p.name, doc.Clip(p.reason, 120), parts[len(parts)-1].name), "finish it first, or close it in its state file")
			if p != decides {
				l.run.Next = append(l.run.Next, p.next...)
			}
		}
		past = true
	}
	for _, p := range parts {
		l.run.Active(p.at, p.source)
	}
}

// finish fills what belongs to the run as a whole.
func (l *loader) finish(ix *index) {
	r := l.run
	if r.Title == "" && ix != nil && ix.description.given() {
		r.Title = doc.Clip(ix.description.text, 120)
	}
	r.Title = cmp.Or(r.Title, r.ID)
	// One entry for each file; the state files name the same ones repeatedly.
	seen := map[string]bool{}
	r.Artifacts = slices.DeleteFunc(r.Artifacts, func(a reprise.Artifact) bool {
		dup := seen[a.Path]
		seen[a.Path] = true
		return dup
	})
	l.makers()
	if r.LastActivity.IsZero() {
		l.activeByFileTime()
	}
	if r.State == reprise.Complete {
		return
	}
	label := "Look at the state by hand"
	if r.State == reprise.Stopped {
		label = "Resume from the state that was kept"
	}
	if len(r.Next) > 0 {
		label = fmt.Sprintf("Resume at %s %s", r.Next[0].ID, r.Next[0].Title)
	}
	r.Options = append(r.Options, reprise.Option{Key: reprise.OptionResume, Label: label})
	for _, f := range l.r.Findings() {
		if f.Code == reprise.CodeIntegrity {
			r.Options = append(r.Options, reprise.Option{Key: reprise.OptionRepair, Label: "Repair the state where it is inconsistent, then resume"})
			break
		}
	}
	r.Options = append(r.Options, reprise.Option{Key: reprise.OptionFresh, Label: "Start fresh (the old folder is archived)"})
}

// activeByFileTime is the last resort where no file records a time.
func (l *loader) activeByFileTime() {
	for _, dir := range []string{l.dir, l.in("dags")} {
		entries, err := fs.ReadDir(l.r.FS(), dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				l.run.Active(info.ModTime(), reprise.Source{File: path.Join(dir, e.Name())})
			}
		}
	}
	if info, err := fs.Stat(l.r.FS(), l.dir); err == nil && l.run.LastActivity.IsZero() {
		l.run.Active(info.ModTime(), reprise.Source{File: l.dir})
	}
}

// artifact records a file the state refers to and returns whether it is there.
func (l *loader) artifact(name, ref, neededBy string, critical bool, at reprise.Source) reprise.Presence {
	a := reprise.Artifact{Name: name, Path: ref, NeededBy: neededBy, Critical: critical, Source: at}
	a.Path, a.Presence = l.resolve(ref)
	l.run.Artifacts = append(l.run.Artifacts, a)
	return a.Presence
}

// resolve looks for a path that a state file names. The files name it from the
// project's root of that day, so the feature folder's own tail is tried too.
// Absolute paths belong to the machine they were written on.
func (l *loader) resolve(ref string) (string, reprise.Presence) {
	if strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, "~") || strings.ContainsAny(ref, "\\") || strings.Contains(ref, ":") {
		return ref, reprise.Unchecked
	}
	clean := path.Clean(ref)
	if !fs.ValidPath(clean) {
		return ref, reprise.Unchecked
	}
	tries := []string{clean}
	if _, tail, ok := strings.Cut(clean, "/"+path.Base(l.run.ID)+"/"); ok {
		tries = append(tries, path.Join(l.feature, tail))
	}
	if !strings.HasPrefix(clean, "specs/") {
		tries = append(tries, path.Join(l.feature, clean))
	}
	for _, p := range tries {
		info, err := fs.Stat(l.r.FS(), p)
		if err != nil {
			continue
		}
		if info.IsDir() {
			if _, err := fs.ReadDir(l.r.FS(), p); err != nil {
				return p, reprise.Unchecked // what it holds is unknown
			}
		}
		return p, reprise.Present
	}
	return clean, reprise.Missing
}
