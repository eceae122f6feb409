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
// session, master-orchestrator and build states), story files in whatever
// status, and specification folders without a story. One story is one
// candidate:
//
//   - A story that an open QA loop, workflow or session speaks of is folded
//     into that run: its file stands in Also, its status beside the state's as
//     a claim, and it is no run of its own. Of several such states the first in
//     the order loop, workflow, session, master, build keeps the story.
//   - The stories of an epic state stay runs of their own and are steps of the
//     epic. The unit that an epic offers first is not offered at the top a
//     second time: Rank puts that story behind the others.
//   - A state file in the folders of two generations of the tool is one run, at
//     the later one.
//   - Copies of a story (the same file name in active/ and done/) are one run,
//     at the copy in the folder for finished work; papers that share the id of
//     a story but have no criteria of their own belong to it.
//
// # Which ledger wins
//
// Of the status fields in the head of a story the furthest wins: status moves
// forward and the field that lags is the one nobody updated. The head wins
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
	"bytes"
	"io/fs"
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

var (
	_ reprise.Layout = (*Layout)(nil)
	_ reprise.Ranker = (*Layout)(nil)
)

// Name returns "orchestrate".
func (*Layout) Name() string { return layoutName }

// Load reads one run. What is wrong with its files becomes findings.
func (*Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	return load(fsys, ref), nil
}

func load(fsys fs.FS, ref reprise.Ref) *reprise.Run {
	l := &loader{r: doc.NewReader(fsys), run: &reprise.Run{Ref: ref}}
	l.dispatch()
	if shapeOf(ref.Path) != noShape {
		l.olderCopies()
	}
	l.run.Findings = append(l.run.Findings, l.r.Findings()...)
	for i := range l.run.Findings {
		// Nothing is recorded in a state that is not whole: it cannot be gone on with.
		if f := &l.run.Findings[i]; f.Code == reprise.CodeSalvaged && f.Source.File == l.run.Path && shapeOf(l.run.Path) == epicShape && l.run.State.Open() {
			f.Severity, f.Hint = reprise.Blocking, "`reprise repair` shows what it would be rebuilt to, and does it once you agree"
		}
	}
	return l.run
}

// dispatch reads the run by the shape of its main file.
func (l *loader) dispatch() {
	switch shapeOf(l.run.Path) {
	case epicShape:
		l.epic()
	case loopShape:
		l.qaLoop()
	case workflowShape, nexosShape:
		l.workflow()
	case bobShape:
		l.bob()
	case sessionShape:
		l.session()
	case masterShape:
		l.master()
	case buildShape:
		l.build()
	default:
		if l.run.Kind == reprise.KindSpecPipeline {
			l.pipeline()
		} else {
			l.story()
		}
	}
}

// loader carries what is needed while one run is read.
type loader struct {
	r   *doc.Reader
	run *reprise.Run

	names   []storyFile // lazily listed by storyFiles
	asked   bool
	lap     loop      // of a QA loop: what its file says
	laps    []*loader // the QA loops of the project, lazily read by lapOf
	lapped  bool
	verdict *doc.Node // of a specification: what its critique says
	nested  bool      // read only to know which story it speaks of: no locks, no other states
}

// storyFiles lists the story files of the tree by name, once for one reading.
func (l *loader) storyFiles() []storyFile {
	if !l.asked {
		l.asked = true
		l.names = survey(l.r.FS()).stories
	}
	return l.names
}

// unreadable closes a run whose main file does not say where it stands.
func (l *loader) unreadable(why string) {
	l.run.State, l.run.Reason = reprise.Unreadable, why
	l.run.Next = nil
	if len(l.run.Findings) == 0 && len(l.r.Findings()) == 0 {
		l.run.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: l.run.ID,
			Message: why, Source: reprise.Source{File: l.run.Path},
			Hint: "look at the file by hand, or rebuild the state from the statuses of the stories",
		})
	}
}

// state opens the state file of a run that works on a story. Where it cannot be
// read the run is rebuilt from the story, for the reason given, and n is nil.
func (l *loader) state(kind reprise.Kind, lost string) (f *doc.File, n *doc.Node) {
	l.run.Kind = kind
	if f, n = l.structured(l.run.Path); n == nil {
		l.rebuildStory(f, lost)
		l.locks()
	}
	return f, n
}

// structured opens a state file that should hold one map, in JSON or in YAML
// whatever its name ends in: models write YAML into files called .json.
func (l *loader) structured(name string) (*doc.File, *doc.Node) {
	f := l.r.Open(name)
	if !f.OK() {
		if !f.Exists() {
			f.Report(reprise.Warning, reprise.CodeMissingArtifact, 0, "the state file is gone", "")
		}
		return f, nil
	}
	n := parseStructured(f)
	if n != nil && n.Kind != doc.Map {
		f.Report(reprise.Warning, reprise.CodeUnreadable, n.Line, "holds no map where the state belongs", "look at the file by hand")
		n = nil
	}
	return f, n
}

func parseStructured(f *doc.File) *doc.Node {
	if isJSONText(f) {
		return f.JSON()
	}
	n := f.YAML()
	if strings.HasSuffix(f.Path, ".json") && n != nil {
		f.Report(reprise.Info, reprise.CodeIntegrity, 0, "YAML in a file whose name ends in .json", "")
	}
	return n
}

// isJSONText reports whether a file is called and begins like JSON.
func isJSONText(f *doc.File) bool {
	if !strings.HasSuffix(f.Path, ".json") {
		return false
	}
	text := bytes.TrimLeft(f.Data, " \t\r\n\xef\xbb\xbf")
	return len(text) > 0 && bytes.IndexByte([]byte("{[\""), text[0]) >= 0
}
