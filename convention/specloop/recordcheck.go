package specloop

import (
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// confirm reads the run with its edits made and refuses them if it does not
// read as the event says. Files, questions and answers on disk outweigh a
// status: a specification that is still the template is not written, whoever
// says so, and a status that claims it would only hide where the loop stands.
func (rec *recorder) confirm(edits []reprise.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	after, err := Layout{}.Load(splice.Over(rec.l.r.FS(), edits), rec.run.Ref)
	if err != nil {
		return err
	}
	ev := &rec.ev
	if ev.Question != "" {
		for _, q := range after.Questions {
			if q.ID == ev.Question {
				if ev.Kind == reprise.QuestionAsked || ev.Kind == reprise.QuestionAnswered && q.Answered || q.Applied {
					return nil
				}
				break
			}
		}
		if s := after.Step(ev.Question); s != nil && s.Status.Closed() {
			return nil // a decision of a graph
		}
		return rec.cannot("it would not be read back for question %q", ev.Question)
	}
	s := after.Step(ev.Step)
	if s == nil {
		return rec.cannot("step %q would be gone", ev.Step)
	}
	want := map[reprise.EventKind]reprise.Status{
		reprise.StepStarted: reprise.InProgress, reprise.StepFinished: reprise.Done, reprise.StepFailed: reprise.Failed,
		reprise.StepBlocked: reprise.Blocked, reprise.StepSkipped: reprise.Skipped, reprise.StepReset: reprise.Pending,
	}[ev.Kind]
	// The last phase of a round and the turn of a person lead back to the
	// beginning of the next round, where they are to be done again.
	round := ev.Kind == reprise.StepFinished && (s.ID == "B5" || strings.HasSuffix(s.ID, ".user")) && s.Status == reprise.Pending
	if s.Status == want || round || want == reprise.Done && s.Status.Closed() {
		return nil
	}
	return rec.cannot("what is on disk says otherwise: %s would be read as %s (%s)", s.ID, s.Status, after.Reason)
}

// confirmWhole does the same for the end of a run: one that is called complete
// reads as complete, without a finding that says otherwise, and one that was
// stopped does not.
func (rec *recorder) confirmWhole(edits []reprise.Edit) error {
	if len(edits) == 0 {
		return nil
	}
	after, err := Layout{}.Load(splice.Over(rec.l.r.FS(), edits), rec.run.Ref)
	if err != nil {
		return err
	}
	reason, done := rec.reasonWord()
	if open := rec.run.PendingQuestions(); rec.ev.Kind == reprise.RunEnded && reason == "success" && len(open) > 0 {
		return rec.cannot("it is not complete: question %q is open", doc.Clip(open[0].ID, 60))
	}
	switch {
	case rec.ev.Kind == reprise.RunResumed && after.State.Open(),
		rec.ev.Kind != reprise.RunResumed && !done && (after.State == reprise.Stopped || after.State == reprise.Waiting):
		return nil
	case rec.ev.Kind != reprise.RunEnded || !done || after.State != reprise.Complete:
		return rec.cannot("what is on disk says otherwise: the run would be read as %s (%s)", after.State, after.Reason)
	}
	for _, f := range after.Findings {
		if f.Code == reprise.CodeFalseCompletion || f.Code == reprise.CodeMissingArtifact && f.Subject == "spec.md" {
			return rec.cannot("it is not complete: %s", f.Message)
		}
	}
	return nil
}

// confirmed passes edits on that are confirmed.
func (rec *recorder) confirmed(edits []reprise.Edit, err error) ([]reprise.Edit, error) {
	if err == nil {
		err = rec.confirm(edits)
	}
	if err != nil {
		return nil, err
	}
	return edits, nil
}
