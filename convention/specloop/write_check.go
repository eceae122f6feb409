package specloop

import (
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Edits are read back before they count, and refused if the run does not read as
// the event says. Files, questions and answers on disk outweigh a status: a
// specification that is still the template is not written, whatever the status says, and a
// status that claims it would only hide where the loop stands.

// confirmQuestion asks that a question reads as asked, answered, applied or closed.
func (rec *recorder) confirmQuestion(after *reprise.Run) {
	ev := &rec.ev
	if i := slices.IndexFunc(after.Questions, func(q reprise.Question) bool { return q.ID == ev.Question }); i >= 0 {
		q := &after.Questions[i]
		if ev.Kind == reprise.QuestionAsked || ev.Kind != reprise.AnswerApplied && q.Answered || q.Applied {
			return
		}
	}
	if s := after.Step(ev.Question); s == nil || !s.Status.Closed() { // else a decision of a graph
		rec.cannot("it would not be read back for question %q", ev.Question)
	}
}

// confirmStep asks that a step has the status of the event.
func (rec *recorder) confirmStep(after *reprise.Run) {
	ev := &rec.ev
	s := after.Step(ev.Step)
	if s == nil {
		rec.cannot("step %q would be gone", ev.Step)
		return
	}
	want, _ := ledger.Wanted(ev.Kind)
	// The last phase of a round and the turn of a person lead back to the
	// beginning of the next round, where they are to be done again.
	round := ev.Kind == reprise.StepFinished && (s.ID == "B5" || strings.HasSuffix(s.ID, ".user")) && s.Status == reprise.Pending
	if s.Status != want && !round && (want != reprise.Done || !s.Status.Closed()) {
		rec.cannot("what is on disk says otherwise: %s would be read as %s (%s)", s.ID, s.Status, after.Reason)
	}
}

// confirmWhole asks that a run that is called complete reads as complete, without
// a finding that says otherwise, and one that was stopped does not.
func (rec *recorder) confirmWhole(after *reprise.Run) {
	reason, done := rec.reasonWord()
	if open := rec.run.PendingQuestions(); rec.ev.Kind == reprise.RunEnded && reason == "success" && len(open) > 0 {
		rec.cannot("it is not complete: question %q is open", doc.Clip(open[0].ID, 60))
		return
	}
	switch {
	case rec.ev.Kind == reprise.RunResumed && after.State.Open(),
		rec.ev.Kind != reprise.RunResumed && !done && (after.State == reprise.Stopped || after.State == reprise.Waiting):
		return
	case rec.ev.Kind != reprise.RunEnded || !done || after.State != reprise.Complete:
		rec.cannot("what is on disk says otherwise: the run would be read as %s (%s)", after.State, after.Reason)
	}
	for _, f := range after.Findings {
		if f.Code == reprise.CodeFalseCompletion || f.Code == reprise.CodeMissingArtifact && f.Subject == "spec.md" {
			rec.cannot("it is not complete: %s", f.Message)
		}
	}
}
