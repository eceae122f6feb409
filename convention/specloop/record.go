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
	"reprise/internal/splice"
)

var _ reprise.Recorder = Layout{}

// Record implements reprise.Recorder. An event changes the ledger that decides
// about its subject: the rows of index.md, the front matter of a context file,
// or the nodes of a graph. Status, iteration and last activity of a loop change
// in one edit, so that no crash parts them.
func (Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	rec := &recorder{run: r, ev: ev, l: &loader{r: doc.NewReader(fsys), run: &reprise.Run{Ref: r.Ref}, feature: r.Path}}
	if ev.At.IsZero() {
		return nil, rec.wrong("the event has no time")
	}
	if r.Path == "" && ev.Kind != reprise.RunStarted {
		return nil, rec.wrong("the run is not on disk")
	}
	if path.Base(r.Path) == stateDir {
		rec.l.feature = path.Dir(r.Path)
	}
	rec.l.dir = path.Join(rec.l.feature, stateDir)
	rec.l.readSpec()
	switch ev.Kind {
	case reprise.RunStarted:
		return rec.begin()
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepSkipped, reprise.StepReset:
		return rec.confirmed(rec.step(ev.Step))
	case reprise.QuestionAsked:
		return rec.confirmed(rec.ask())
	case reprise.QuestionAnswered, reprise.AnswerApplied:
		return rec.confirmed(rec.answer())
	case reprise.PhaseEnded:
		return rec.phaseEnded()
	case reprise.RunEnded, reprise.RunStopped, reprise.RunResumed:
		edits, err := rec.whole()
		if err == nil {
			err = rec.confirmWhole(edits)
		}
		if err != nil {
			return nil, err
		}
		return edits, nil
	}
	return nil, rec.cannot("an event of this kind is not known here")
}

// recorder is one event on its way into the files.
type recorder struct {
	l   *loader
	run *reprise.Run
	ev  reprise.Event
}

func (rec *recorder) wrong(format string, args ...any) error {
	return fmt.Errorf("record %s: %s", rec.ev.Kind, fmt.Sprintf(format, args...))
}

// cannot refuses an event that the format has no place for.
func (rec *recorder) cannot(format string, args ...any) error {
	return fmt.Errorf("record %s: %s: %w", rec.ev.Kind, fmt.Sprintf(format, args...), reprise.ErrCannotRecord)
}

// unread refuses to write to a file that could not be read.
func (rec *recorder) unread(name string) error {
	why := "it cannot be read"
	if all := rec.l.r.Findings(); len(all) > 0 {
		why = all[len(all)-1].Message
	}
	return rec.wrong("%s: %s", name, why)
}

// begin makes the state of a feature that is to be specified.
func (rec *recorder) begin() ([]reprise.Edit, error) {
	if rec.run.Path == "" {
		if !plainID(rec.run.ID) || strings.Trim(rec.run.ID, ".") == "" {
			return nil, rec.wrong("%q cannot be the name of a feature", doc.Clip(rec.run.ID, 60))
		}
		rec.l.feature = path.Join("specs", rec.run.ID)
		rec.l.dir = path.Join(rec.l.feature, stateDir)
	}
	if ix := rec.l.readIndex(); ix != nil {
		if s, ok := section(ix, "Feature Metadata"); ok && field(s, "Created").text == iso(rec.ev.At) && ix.id.text == rec.run.ID {
			return nil, nil
		}
		return nil, rec.wrong("a run is there already: %s", ix.file.Path)
	}
	content := newIndex(rec.run.ID, rec.ev.Text, iso(rec.ev.At), "not_started")
	return []reprise.Edit{splice.Create(rec.l.in("index.md"), content, "begin the feature")}, nil
}

func section(ix *index, title string) (doc.Section, bool) {
	if md := ix.file.Markdown(); md != nil {
		return md.Section(title)
	}
	return doc.Section{}, false
}

// step finds the ledger of a step.
func (rec *recorder) step(id string) ([]reprise.Edit, error) {
	s := rec.run.Step(id)
	if s == nil {
		return nil, rec.cannot("%q is no step of this run", doc.Clip(id, 60))
	}
	workflow, _, dotted := strings.Cut(s.ID, ".")
	switch {
	case strings.HasSuffix(s.Source.File, ".json"):
		return rec.node(s)
	case placeOf(s.ID) >= 0:
		return rec.loopStep(s)
	case dotted && slices.Contains(workflowOrder, workflow):
		return rec.turn(s)
	case slices.Contains(workflowOrder, s.Phase):
		return rec.laterStep(s)
	}
	return nil, rec.cannot("%q has no ledger that can be written", doc.Clip(id, 60))
}

// whole finds the ledger that decides about the run: that of the last workflow
// that is open, or of the last one.
func (rec *recorder) whole() ([]reprise.Edit, error) {
	switch state := rec.run.State; {
	case rec.ev.Kind == reprise.RunEnded && state == reprise.Complete,
		rec.ev.Kind == reprise.RunStopped && state == reprise.Stopped,
		rec.ev.Kind == reprise.RunResumed && state.Open():
		return nil, nil
	case state == reprise.Unreadable:
		return nil, rec.wrong("the run cannot be read: %s", rec.run.Reason)
	case state == reprise.Complete:
		return nil, rec.cannot("the run is complete")
	}
	s := rec.deciding()
	if s == nil {
		return nil, rec.cannot("no ledger says where the run stands")
	}
	workflow, _, dotted := strings.Cut(s.ID, ".")
	switch {
	case strings.HasSuffix(s.Source.File, ".json"):
		return rec.wholeGraph(s)
	case placeOf(s.ID) >= 0:
		return rec.wholeLoop()
	case dotted && slices.Contains(workflowOrder, workflow):
		return rec.wholeContext(s)
	}
	return rec.wholeLater(s)
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
func (rec *recorder) phaseEnded() ([]reprise.Edit, error) {
	id, _, _ := strings.Cut(rec.ev.Phase, " ")
	if rec.run.Step(id) != nil {
		rec.ev.Kind = reprise.StepFinished
		return rec.step(id)
	}
	var last *reprise.Step
	for i := range rec.run.Steps {
		if s := &rec.run.Steps[i]; s.Phase == id {
			last = s
		}
	}
	if last == nil {
		return nil, rec.cannot("%q is no phase of this run", doc.Clip(rec.ev.Phase, 60))
	}
	if !slices.ContainsFunc(rec.run.Steps, func(s reprise.Step) bool { return s.Phase == id && !s.Status.Closed() }) {
		return nil, nil
	}
	rec.ev.Kind = reprise.RunEnded
	workflow, _, dotted := strings.Cut(last.ID, ".")
	switch {
	case strings.HasSuffix(last.Source.File, ".json"):
		return rec.wholeGraph(last)
	case placeOf(last.ID) >= 0:
		return rec.wholeLoop()
	case dotted && slices.Contains(workflowOrder, workflow):
		return rec.wholeContext(last)
	}
	return rec.wholeLater(last)
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
func like(old string, t time.Time) string {
	t = t.UTC()
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04Z", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		at, err := time.Parse(form, old)
		switch {
		case err != nil:
		case form == time.RFC3339 && strings.Contains(old, "."):
			return t.Format("2006-01-02T15:04:05.000Z07:00")
		case form == time.RFC3339 && strings.HasSuffix(old, "+00:00"):
			return t.Format("2006-01-02T15:04:05-07:00")
		case form == time.RFC3339 && !strings.HasSuffix(old, "Z"):
			return t.In(at.Location()).Format(form)
		default:
			return t.Format(form)
		}
	}
	return t.Format(time.RFC3339)
}
