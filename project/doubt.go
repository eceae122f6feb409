package project

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
)

// Doubt is what a person is asked about steps of which the files and the journal do
// not tell the same. None of them is started before that is answered.
type Doubt struct {
	// Prefix begins the ids of questions of this sort; Question is the one about these
	// steps.
	Prefix   string
	Question reprise.Asked
	// Ends are the events that say that the steps are done.
	Ends []reprise.Event
	// Done and Again are the answers.
	Done, Again string
	// Finding is what a person sees beside the question.
	Finding reprise.Finding
}

// The prefixes of questions about steps whose end the files lost, about steps that the
// files alone mark done or started, and about steps that were taken out of the files.
const (
	LostPrefix    = "lost-"
	ClaimedPrefix = "claimed-"
	BegunPrefix   = "begun-"
	RemovedPrefix = "removed-"
	// OverwrittenPrefix is of questions about what a finished step left and something else
	// changed.
	OverwrittenPrefix = "overwritten-"
)

// AsksDoubt reports whether a question is about a doubt.
func AsksDoubt(id string) bool {
	return slices.ContainsFunc([]string{LostPrefix, ClaimedPrefix, BegunPrefix, RemovedPrefix, OverwrittenPrefix}, func(p string) bool { return strings.HasPrefix(id, p) })
}

// Reopened gives the end of a step that was accepted and that the files mark open all
// the same; nil for any other step.
func (v *View) Reopened(s *reprise.Step) *reprise.Event {
	if s == nil {
		return nil
	}
	end := v.History.Step(s.ID).Reopened(s)
	if end == nil || v.nextRound(s.ID) {
		return nil
	}
	return end
}

// nextRound reports whether something that was finished after a step opened it again:
// the end of a round of a loop opens its phases.
func (v *View) nextRound(step string) bool {
	reopens := convention.Of(v.Run.Layout).Reopens
	if reopens == nil {
		return false
	}
	for _, ev := range slices.Backward(v.Events) {
		switch {
		case ev.Kind != reprise.StepFinished:
		case slices.Contains(reopens(ev.Step), step):
			return true
		case ev.Step == step:
			return false
		}
	}
	return false
}

// doubts finds what a person has to be asked about the steps of a run.
func doubts(v *View) (out []Doubt) {
	if !v.Run.State.Open() || v.Run.State == reprise.Unreadable {
		return nil
	}
	lost, claimed, begun := doubtful(v)
	if names := stepsOf(lost); len(names) > 0 {
		text := strings.Join(names, ", ") + " were finished and the files of the run have lost that. Are they done?"
		if len(names) == 1 {
			text = fmt.Sprintf("%s was finished at %s and the files of the run have lost that. Is it done?", names[0], clock(lost[0].At))
		}
		d := Doubt{Prefix: LostPrefix, Ends: lost, Done: "it is done", Again: "do it again"}
		d.Finding = reprise.Finding{
			Code:    reprise.CodeLostCompletion,
			Message: fmt.Sprintf("the files have lost that %s: none of it is done again before you decide", wereFinished(names)),
		}
		out = append(out, d.about(v.Run, text))
	}
	if names := stepsOf(claimed); len(names) > 0 {
		text := strings.Join(names, ", ") + " are marked done in the files of the run, but nothing here did them. Are they done?"
		if len(names) == 1 {
			text = names[0] + " is marked done in the files of the run, but nothing here did it. Is it done?"
		}
		d := Doubt{Prefix: ClaimedPrefix, Ends: claimed, Done: "it is done", Again: "do it"}
		d.Finding = reprise.Finding{
			Code:    reprise.CodeUnrecordedEnd,
			Message: fmt.Sprintf("something else wrote that %s: nothing builds on it before you decide", wereFinished(names)),
		}
		out = append(out, d.about(v.Run, text))
	}
	if names := stepsOf(begun); len(names) > 0 {
		list := strings.Join(names, ", ")
		text := list + " were started and cut off, and the journal has lost that. Are they done?"
		if len(names) == 1 {
			text = list + " was started and cut off, and the journal has lost that. Is it done?"
		}
		d := Doubt{Prefix: BegunPrefix, Ends: begun, Done: "it is done", Again: "do it again"}
		d.Finding = reprise.Finding{
			Code:    reprise.CodeUnrecordedEnd,
			Message: "only the files of the run tell that " + list + " started: nothing is started again before you decide",
		}
		out = append(out, d.about(v.Run, text))
	}
	return append(append(out, removed(v)...), v.overwritten()...)
}

// removed asks what becomes of steps that an attempt took out of the files. The answer can
// put them back where it is known how they stood. While the attempt at a step has no end on
// record, whoever settles that asks.
func removed(v *View) []Doubt {
	r := v.Run
	d := Doubt{Prefix: RemovedPrefix, Done: "leave it out", Again: "put it back"}
	options, names := []string{d.Again, d.Done}, []string(nil)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Removed == nil || v.History.Step(s.ID).Open != nil {
			continue
		}
		names = append(names, strings.TrimSpace(s.ID+" "+s.Title))
		d.Ends = append(d.Ends, reprise.Event{Kind: reprise.StepSkipped, Step: s.ID, Actor: reprise.Person, Text: "it may go, says a person", Listed: s.Removed})
		if s.Removed.Text == "" {
			options = []string{d.Done}
		}
	}
	if d.Ends == nil {
		return nil
	}
	list := strings.Join(names, ", ")
	d.Finding = reprise.Finding{
		Code:    reprise.CodeStepsChanged,
		Message: "an attempt removed what was still to do: " + list + "; the run is not complete before you decide",
	}
	ways := "Put it back, or leave it out?"
	if len(options) == 1 {
		ways = "Put it back by hand and resume, or leave it out? `reprise undo` lists what was kept."
	}
	d = d.about(r, "Still to do, and an attempt removed it from "+r.Path+": "+list+". "+ways)
	d.Question.Options = options
	return []Doubt{d}
}

// doubtful gives the ends of steps that the files lost, of those that the files alone mark
// done, and of those that the files alone mark started.
func doubtful(v *View) (lost, claimed, begun []reprise.Event) {
	keeps := convention.Of(v.Run.Layout).Appends
	for i := range v.Run.Steps {
		s := &v.Run.Steps[i]
		_, busy := v.AtWork[s.ID]
		end := reprise.Event{Kind: reprise.StepFinished, Step: s.ID, Phase: s.Phase, Actor: reprise.Person, Text: "it is done, says a person"}
		switch {
		case busy:
		case s.Claimed:
			claimed = append(claimed, end)
		case v.Run.FromFile && s.Status == reprise.InProgress && !s.Ours && !s.Again:
			// Its start is lost, and with it whether it may be done twice.
			begun = append(begun, end)
		}
		if !keeps {
			continue
		}
		if end := v.Reopened(s); end != nil {
			lost = append(lost, *end)
		}
	}
	return lost, claimed, begun
}

// about completes a doubt about the steps of a run. Its question has another name where
// the steps are others, or lost it again, or an answer said neither.
func (d Doubt) about(r *reprise.Run, text string) Doubt {
	d.Finding.Severity, d.Finding.Subject = reprise.Warning, d.Ends[0].Step
	d.Finding.Source, d.Finding.Hint = reprise.Source{File: r.Path}, "`reprise log` shows what was recorded"
	d.Question = reprise.Asked{Text: text, Options: []string{d.Done, d.Again}, Closed: true}
	var which strings.Builder
	for _, end := range d.Ends {
		fmt.Fprintf(&which, "%q %d %d\n", end.Step, end.Attempt, end.At.UnixNano())
		for _, e := range end.Stands {
			fmt.Fprintf(&which, "%q %s\n", e.Path, e.Before)
		}
	}
	name := d.Prefix + reprise.HashOf([]byte(which.String())).String()[:8]
	for n := 1; ; n++ {
		d.Question.ID = fmt.Sprintf("%s-%d", name, n)
		if q := r.Question(d.Question.ID); q == nil || !q.Applied {
			return d
		}
	}
}

// tellUnrecorded adds what can be told of a run without a journal: what a person is
// asked, and where its files say that its work was accepted.
func (v *View) tellUnrecorded() {
	v.Doubts = doubts(v)
	v.Run.Asks = v.asks()
	v.tellCommitted()
}

// tellCommitted adds to a run that was begun here the commits in which its files say that
// its work was accepted: the journal that tells so may be lost.
func (v *View) tellCommitted() {
	if !v.Run.FromFile || !v.Run.State.Open() && v.Run.State != reprise.Complete {
		return
	}
	for i := range v.Run.Steps {
		if s := &v.Run.Steps[i]; s.Status == reprise.Done && len(s.Commits) > 0 && !s.Pieces {
			s.Accepted = &reprise.Acceptance{Commit: s.Commits[len(s.Commits)-1]}
		}
	}
}

// asks lists what a person is asked before anything is started, and was not asked yet.
func (v *View) asks() (out []reprise.Asked) {
	if m := v.Changed; m != nil && m.Asks {
		out = append(out, m.Asked())
	}
	for _, d := range v.Doubts {
		out = append(out, d.Question)
	}
	return slices.DeleteFunc(out, func(q reprise.Asked) bool { return v.Run.Question(q.ID) != nil })
}

// foresee adds what resuming the run would ask, as the engine says, and reports whether
// that changes the decision.
func (v *View) foresee(ctx context.Context, asks func(context.Context, reprise.Ref) ([]reprise.Asked, error)) bool {
	r, d := v.Run, v.Decision
	resumes := d.Action == reprise.Start || d.Action == reprise.Wait || d.Action == reprise.Ask && len(r.Asks) > 0
	if asks == nil || len(v.Events) == 0 || !resumes || d.Verdict == reprise.BlockedVerdict {
		return false
	}
	list, err := asks(ctx, r.Ref)
	if err != nil {
		r.Report(reprise.Finding{
			Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path},
			Message: "whether resuming it asks something cannot be told: " + err.Error(),
		})
		return true
	}
	r.Asks = list
	return len(list) > 0
}

func stepsOf(events []reprise.Event) (out []string) {
	for _, ev := range events {
		out = append(out, ev.Step)
	}
	return out
}
