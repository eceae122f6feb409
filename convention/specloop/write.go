package specloop

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

var _ reprise.Recorder = Layout{}

// Record implements reprise.Recorder. An event changes the ledger that decides
// about its subject: the rows of index.md, the front matter of a context file,
// or the nodes of a graph. Status, iteration and last activity of a loop change
// in one edit, so that no crash parts them.
func (Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	rec := &recorder{l: newLoader(fsys, r.Ref), changes: ledger.NewChanges(fsys), run: r, ev: ev}
	confirm := rec.take()
	edits, err := rec.changes.Edits()
	if err == nil && len(edits) > 0 && confirm != nil {
		confirm(newLoader(rec.changes.FS(), r.Ref).load())
		err = rec.changes.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return edits, nil
}

// recorder is one event on its way into the files. Its changes keep the first
// error; what is asked of it afterwards does nothing.
type recorder struct {
	l       *loader
	changes *ledger.Changes
	run     *reprise.Run
	ev      reprise.Event
}

// take makes the changes for the event, and gives what holds them against the run
// as it reads with them, if anything does.
func (rec *recorder) take() (confirm func(after *reprise.Run)) {
	switch ev := &rec.ev; {
	case ev.At.IsZero():
		rec.wrong("the event has no time")
		return nil
	case rec.run.Path == "" && ev.Kind != reprise.RunStarted:
		rec.wrong("the run is not on disk")
		return nil
	}
	switch rec.ev.Kind {
	case reprise.RunStarted:
		rec.begin()
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepSkipped, reprise.StepReset:
		rec.step(rec.ev.Step)
		return rec.confirmStep
	case reprise.QuestionAsked:
		rec.ask()
		return rec.confirmQuestion
	case reprise.QuestionAnswered, reprise.AnswerApplied, reprise.QuestionSkipped:
		rec.answer()
		return rec.confirmQuestion
	case reprise.PhaseEnded:
		rec.phaseEnded()
	case reprise.RunEnded, reprise.RunStopped, reprise.RunResumed:
		rec.whole()
		return rec.confirmWhole
	default:
		rec.cannot("an event of this kind is unknown here")
	}
	return nil
}

func (rec *recorder) wrong(format string, args ...any) {
	rec.changes.Fail(fmt.Errorf(format, args...))
}

// cannot refuses an event that the format has no place for.
func (rec *recorder) cannot(format string, args ...any) {
	rec.changes.Fail(ledger.Cannot(format, args...))
}

// begin makes the state of a feature that is to be specified.
func (rec *recorder) begin() {
	if rec.run.Path == "" {
		if !plainID(rec.run.ID) || strings.Trim(rec.run.ID, ".") == "" {
			rec.wrong("%q cannot be the name of a feature", doc.Clip(rec.run.ID, 60))
			return
		}
		rec.l.enter(path.Join("specs", rec.run.ID))
	}
	ix := rec.l.readIndex()
	switch {
	case ix == nil:
		content := newIndex(rec.run.ID, rec.ev.Text, iso(rec.ev.At), "not_started")
		rec.changes.Create(rec.l.in(indexName), content, "begin the feature")
	case ix.created.text != iso(rec.ev.At) || ix.id.text != rec.run.ID:
		rec.wrong("a run is there already: %s", ix.file.Path)
	}
}

// form is the kind of ledger that decides about a step.
type form uint8

const (
	noForm      form = iota
	graphForm        // a node of a graph
	loopForm         // a phase of the loop in index.md
	contextForm      // a turn or phase of a context file
	laterForm        // a phase of a later workflow in index.md
)

func formOf(s *reprise.Step) form {
	workflow, _, dotted := strings.Cut(s.ID, ".")
	switch {
	case strings.HasSuffix(s.Source.File, ".json"):
		return graphForm
	case placeOf(s.ID) >= 0:
		return loopForm
	case dotted && slices.Contains(workflowOrder, workflow):
		return contextForm
	case slices.Contains(workflowOrder, s.Phase):
		return laterForm
	}
	return noForm
}

// step records what became of a step in its ledger.
func (rec *recorder) step(id string) {
	s := rec.run.Step(id)
	if s == nil {
		rec.cannot("%q is not a step of this run", doc.Clip(id, 60))
		return
	}
	switch formOf(s) {
	case graphForm:
		rec.node(s)
	case loopForm:
		rec.loopStep(s)
	case contextForm:
		rec.turn(s)
	case laterForm:
		rec.laterStep(s)
	default:
		rec.cannot("%q has no record that can be written", doc.Clip(id, 60))
	}
}

// whole ends, stops or resumes the run in the ledger that decides about it: that
// of the last workflow that is open, or of the last one.
func (rec *recorder) whole() {
	switch state := rec.run.State; {
	case rec.ev.Kind == reprise.RunEnded && state == reprise.Complete,
		rec.ev.Kind == reprise.RunStopped && state == reprise.Stopped,
		rec.ev.Kind == reprise.RunResumed && state.Open():
		return
	case state == reprise.Unreadable:
		rec.wrong("the run cannot be read: %s", rec.run.Reason)
		return
	case state == reprise.Complete:
		rec.cannot("the run is complete")
		return
	}
	s := rec.deciding()
	if s == nil {
		rec.cannot("no record says where the run stands")
		return
	}
	rec.wholeWorkflow(s)
}

// wholeWorkflow ends, stops or resumes the workflow of a step.
func (rec *recorder) wholeWorkflow(s *reprise.Step) {
	switch formOf(s) {
	case graphForm:
		rec.wholeGraph(s)
	case loopForm:
		rec.wholeLoop()
	case contextForm:
		rec.wholeContext(s)
	default:
		rec.wholeLater(s)
	}
}

// deciding gives the first open step of the last workflow that has one, else
// the last step of all.
func (rec *recorder) deciding() *reprise.Step {
	var found *reprise.Step
	for i := range rec.run.Steps {
		s := &rec.run.Steps[i]
		if !s.Status.Closed() && (found == nil || found.Phase != s.Phase) {
			found = s
		}
	}
	if found == nil && len(rec.run.Steps) > 0 {
		found = &rec.run.Steps[len(rec.run.Steps)-1]
	}
	return found
}

// phaseEnded closes a workflow of the feature, or a phase of one.
func (rec *recorder) phaseEnded() {
	id, _, _ := strings.Cut(rec.ev.Phase, " ")
	if rec.run.Step(id) != nil {
		rec.ev.Kind = reprise.StepFinished
		rec.step(id)
		return
	}
	var last *reprise.Step
	open := false
	for i := range rec.run.Steps {
		if s := &rec.run.Steps[i]; s.Phase == id {
			last, open = s, open || !s.Status.Closed()
		}
	}
	switch {
	case last == nil:
		rec.cannot("%q is not a phase of this run", doc.Clip(rec.ev.Phase, 60))
	case open:
		rec.ev.Kind = reprise.RunEnded
		rec.wholeWorkflow(last)
	}
}

// reasonWord gives the termination reason of an end, and whether it accepts the
// specification.
func (rec *recorder) reasonWord() (word string, done bool) {
	if rec.ev.Kind == reprise.RunStopped {
		return "aborted", false
	}
	outcome := doc.Fold(rec.ev.Outcome)
	if done, known := ends(outcome); known {
		return strings.ReplaceAll(outcome, " ", "_"), done
	}
	switch outcome {
	case "failed", "failure":
		return "no_progress", false
	case "rejected", "cancelled", "canceled", "stopped":
		return "aborted", false
	case "approved":
		return "accepted", true
	}
	return "success", true
}

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// like spells a time as the file spelled the one that stands there.
func like(old string, t time.Time) string { return ledger.SpellTimeText(t, old, time.RFC3339) }
