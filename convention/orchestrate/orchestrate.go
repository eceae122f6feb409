// Package orchestrate reads the state of AIOS, AIOX and Nexos projects: epic
// states, QA loops, workflow and session states, stories, and the artifacts of
// a specification pipeline.
//
// It guarantees that nothing is called done that no file calls done, that a
// file that cannot be read is said to be so, and that every status names the
// file and line it was read from. It changes nothing.
//
// # What is a run
//
// Six places are looked at: epic states, QA loops, workflow states (with
// build states), story files in whatever
// status, and specification folders without a story. One story is one
// candidate:
//
//   - A story that an open QA loop, workflow or session is about is folded
//     into that run: its file stands in Also, its status beside the state's as
//     a claim, and it is no run of its own. Of several such states the first in
//     the order loop, workflow, executor, build keeps the story.
//   - The stories of an epic state stay runs of their own and are steps of the
//     epic. The unit that an epic offers first is not offered at the top a
//     second time: Rank puts that story behind the others.
//   - A state file in the folders of two generations of the tool is one run, at
//     the later one.
//   - Copies of a story (the same file name in active/ and done/) are one run,
//     at the copy in the folder for finished work; documents that share the id of
//     a story but have no criteria of their own belong to it.
//
// # Which ledger wins
//
// Of the status fields in the head of a story the furthest wins: status moves
// forward and the field that lags is the one no one updated. The head wins
// over the body, a Status heading over a label. Done alone needs agreement:
// where one field or ledger says done and another does not (two fields of the
// head, a closing line, the epic's table, gate or state), the story is not
// called complete: it waits for a person to close it. Two fields that disagree
// are settled by a witness, any file beside the story that calls it done.
// A folder for finished work wins over the field, because filing is the later
// act. A passed QA gate does not close a story either; it is said.
//
// In an epic the furthest of state and story decides how far a story is, since
// both ledgers are known to lag and neither to run ahead; but an open QA loop,
// or a QA gate that sent the story back, outweighs a state that calls it done:
// of these only the story's own file says that they are over. Waves are derived
// from their stories, never from current_wave. In a loop or workflow the story
// file wins about the story, and the state about its own phases.
//
// # Corrupted states and writing
//
// A state file that cannot be understood is rebuilt from the statuses of the
// stories, else from outputs on disk, else from change logs, and the run waits
// for a person to confirm that; Mend gives it as a file, as far as it may be
// written down. Record tells what an event changes in these
// files; it never edits one that could not be read whole.
package orchestrate

import (
	"io/fs"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// layoutName is the name of the layout in the JSON contract.
const layoutName = "orchestrate"

// Layout reads AIOS, AIOX and Nexos projects. It holds no state.
type Layout struct{}

// New returns the layout.
func New() *Layout { return &Layout{} }

var _ reprise.Layout = (*Layout)(nil)

// Name returns "orchestrate".
func (*Layout) Name() string { return layoutName }

// Load reads one run. What is wrong with its files becomes findings.
func (*Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	return load(fsys, ref), nil
}

func load(fsys fs.FS, ref reprise.Ref) *reprise.Run {
	l := newLoader(fsys, ref)
	l.dispatch()
	isEpic := shapeOf(ref.Path) == epicShape
	if shapeOf(ref.Path) != noShape {
		l.olderCopies()
	}
	l.run.Findings = append(l.run.Findings, l.r.Findings()...)
	for i := range l.run.Findings {
		// Nothing is recorded in a state that is not whole: it cannot be continued.
		if f := &l.run.Findings[i]; isEpic && f.Code == reprise.CodeSalvaged && f.Source.File == l.run.Path && l.run.State.Open() {
			f.Severity, f.Hint = reprise.Blocking, "`reprise repair` shows what it would be rebuilt to, and does it once you agree"
		}
	}
	return l.run
}

// dispatch reads the run by the shape of its main file.
func (l *loader) dispatch() {
	switch sh := shapeOf(l.run.Path); {
	case sh != noShape && l.r.Open(l.run.Path).Conflicted():
		l.unreadable(doc.Conflict)
	case sh != noShape:
		l.state(sh)
	case l.run.Kind == reprise.KindSpecPipeline:
		l.pipeline()
	default:
		l.story()
	}
}

// loader carries what is needed while one run is read.
type loader struct {
	r   *doc.Reader
	run *reprise.Run

	names  []storyFile // listed by storyFiles when first asked for
	loop   loop        // of a QA loop: what its file says
	free   []bool      // of a workflow: which of its steps need not be done
	loops  []*loader   // the QA loops of the project, read by loopOf when first asked for
	nested bool        // read only to know which story it is about: no locks, no other states
}

func newLoader(fsys fs.FS, ref reprise.Ref) *loader {
	return &loader{r: doc.NewReader(fsys), run: &reprise.Run{Ref: ref}}
}

// other reads another state of the project, to know which story it is about.
func (l *loader) other(fsys fs.FS, p string) *loader {
	return peek(fsys, stateRef(p), l.storyFiles())
}

// peek reads a run only to know what it is about.
func peek(fsys fs.FS, ref reprise.Ref, names []storyFile) *loader {
	l := newLoader(fsys, ref)
	l.names, l.nested = names, true
	l.dispatch()
	return l
}

// storyFiles lists the story files of the tree by name, once for one reading.
func (l *loader) storyFiles() []storyFile {
	if l.names == nil {
		l.names = survey(l.r.FS()).stories
	}
	return l.names
}

// project is the folder whose state is read.
func (l *loader) project() string { return projectAt(l.run.Path) }

// projectAt is the folder of the project that a state belongs to: the one above
// .aiox, qa, plan or docs.
func projectAt(p string) string {
	if i := strings.Index("/"+p, "/docs/"); i >= 0 {
		return path.Clean(strings.TrimSuffix(p[:i], "/"))
	}
	for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
		if b := path.Base(d); isHome(b) || b == "qa" || b == "plan" {
			return path.Dir(d)
		}
	}
	return "."
}

// report adds a finding about a part of the run.
func (l *loader) report(severity reprise.Severity, code, subject string, at reprise.Source, message, hint string) {
	l.r.Report(reprise.Finding{Code: code, Severity: severity, Subject: subject, Message: message, Source: at, Hint: hint})
}

// short quotes at most n characters of a text.
func short(s string, n int) string { return strconv.Quote(doc.Clip(s, n)) }

func quote(s string) string { return short(s, 80) }

// unreadable closes a run whose main file does not say where it stands.
func (l *loader) unreadable(why string) {
	l.run.State, l.run.Reason, l.run.Next = reprise.Unreadable, why, nil
	if len(l.run.Findings) == 0 && len(l.r.Findings()) == 0 {
		l.run.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: l.run.ID,
			Message: why, Source: reprise.Source{File: l.run.Path},
			Hint: "look at the file by hand, or rebuild the state from the statuses of the stories",
		})
	}
}
