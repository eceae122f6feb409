package engine

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/project"
)

// chosenEvents are what a person chose for single steps, as events in this order: steps
// to do again, steps to skip, and questions closed with them. Questions come last, so
// that no step of theirs starts without an answer wherever the process dies. What the
// files cannot take is refused, and nothing is recorded.
func (w *work) chosenEvents(ctx context.Context) ([]reprise.Event, error) {
	var events []reprise.Event
	if w.choice.From != "" {
		again, err := w.resetsFrom(ctx, w.choice.From)
		if err != nil {
			return nil, err
		}
		again = append(again, w.settles(w.choice.From, saidRerun)...)
		events = append(again, withdrawals(w.known(), "the step it was about is done again", w.restingOn(w.choice.From))...)
	}
	out := w.choice.Skip
	for _, step := range out {
		events = append(events, leftOut(step))
	}
	group, closed := w.skippedGroup()
	for _, ev := range group {
		if !slices.Contains(out, ev.Step) {
			out, events = append(slices.Clip(out), ev.Step), append(events, ev)
		}
	}
	for _, step := range out {
		events = append(events, w.settles(step, saidSkip)...)
	}
	if events = append(events, closed...); len(out)+len(closed) == 0 {
		return events, nil
	}
	run, err := w.imagined(ctx, w.asideOf(events), events)
	if err != nil {
		return nil, fmt.Errorf("skip %s: %w", strings.Join(out, ", "), err)
	}
	return events, mustBeOut(w.layout, w.led.Files(), run, out, closed)
}

// skippedGroup are the events that skip the open steps of a question, and those that
// close all questions about them.
func (w *work) skippedGroup() (group, closed []reprise.Event) {
	for _, q := range w.run.PendingQuestions() {
		if len(w.Unasked) == 0 || q.Closed || !slices.Equal(q.Group, w.Unasked) {
			continue
		}
		text := "skipped by a person: " + q.Subject + " is skipped, its question has no answer"
		if len(closed) == 0 {
			for _, step := range w.run.OpenIn(q.Group) {
				group = append(group, reprise.Event{Kind: reprise.StepSkipped, Step: step, Actor: person, Text: text})
			}
		}
		closed = append(closed, reprise.Event{Kind: reprise.QuestionSkipped, Question: q.ID, Actor: person, Text: text})
	}
	return group, closed
}

// imagined is the run as it would be with events, played on a store that keeps its
// changes to itself.
func (w *work) imagined(ctx context.Context, dry *durable.DryRun, events []reprise.Event) (*reprise.Run, error) {
	for _, ev := range events {
		ev.At = w.Now()
		if err := projectTo(ctx, dry, w.layout, w.ref, ev); err != nil {
			return nil, err
		}
	}
	return reprise.Load(w.layout, dry, w.ref)
}

// mustBeOut says which of the steps to skip the files would not skip, and which question
// they would not close.
func mustBeOut(l reprise.Layout, files fs.FS, run *reprise.Run, steps []string, closed []reprise.Event) error {
	for _, step := range steps {
		switch s := run.Step(step); {
		case s == nil:
			return &StepError{Run: "resume " + run.ID, Why: "skip " + step + ": its files have no such step", Todo: "`reprise check RUN` shows its steps"}
		case !s.Status.Closed():
			return &StepError{
				Run: "resume " + run.ID, Why: fmt.Sprintf("skip %s: %s: it would still be %s", step, whyNotOut(l, files, run, step), s.Status),
				Todo: "`reprise resume RUN` does it",
			}
		}
	}
	for _, ev := range closed {
		if slices.ContainsFunc(run.PendingQuestions(), func(q reprise.Question) bool { return q.ID == ev.Question }) {
			return &StepError{
				Run: "resume " + run.ID, Why: "skip the question " + ev.Question + ": its files have no place for that: it would still be asked",
				Todo: "`reprise answer RUN` asks it",
			}
		}
	}
	return nil
}

// whyNotOut says why the files cannot say that a step is skipped.
func whyNotOut(l reprise.Layout, files fs.FS, run *reprise.Run, step string) string {
	if recorder, ok := l.(reprise.Recorder); ok {
		if _, err := recorder.Record(files, run, leftOut(step)); err != nil {
			return strings.TrimSuffix(err.Error(), ": "+reprise.ErrCannotRecord.Error())
		}
	}
	return "its files have no place for that"
}

// recordChoice records what a person chose for single steps: all of it or, after a crash,
// the rest before anything else.
func (w *work) recordChoice(ctx context.Context) error {
	if w.choice.From != "" {
		// Answers in the inbox are about the work before it is done again.
		if err := w.recordLetters(ctx); err != nil {
			return err
		}
	}
	if err := w.tellOverrun(ctx); err != nil {
		return err
	}
	events, err := w.chosenEvents(ctx)
	if err != nil {
		return err
	}
	if err := w.recordSaid(ctx, events); err != nil || len(events) == 0 {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	for _, ev := range events {
		if ev.Kind == reprise.StepSkipped {
			w.tellLeftOut(ctx, ev.Step)
		}
	}
	return nil
}

// tellLeftOut adds skipped steps to the summary.
func (w *work) tellLeftOut(ctx context.Context, steps ...string) {
	for _, id := range steps {
		told := slices.ContainsFunc(w.sum.Skipped, func(r StepReport) bool { return r.ID == id })
		at := slices.IndexFunc(w.run.Steps, func(s reprise.Step) bool { return s.ID == id })
		if at < 0 || told {
			continue
		}
		_, back, err := w.resetsAt(ctx, at)
		w.sum.Skipped = append(w.sum.Skipped, StepReport{ID: id, Title: w.run.Steps[at].Title, Role: w.run.Steps[at].Role, Reopens: err == nil && back})
	}
}

// leftOutSince lists the steps that were skipped, also by an answer, since the last
// summary, and still are.
func (w *work) leftOutSince() []string {
	var out []string
	for i := len(w.events) - 1; i >= 0; i-- {
		ev := &w.events[i]
		if ev.Kind == reprise.EngineLeft && ev.Outcome != "" {
			break
		}
		s := w.run.Step(ev.Step)
		if (ev.Kind == reprise.StepSkipped || ev.Kind == reprise.QuestionAnswered) && s != nil && s.Status == reprise.Skipped {
			out = append(out, s.ID)
		}
	}
	slices.Reverse(out)
	return out
}

// leftOut is the event that a person skips a step.
func leftOut(step string) reprise.Event {
	return reprise.Event{Kind: reprise.StepSkipped, Step: step, Actor: person, Text: "skipped by a person"}
}

func resetBy(step string) reprise.Event {
	return reprise.Event{Kind: reprise.StepReset, Step: step, Actor: person, Text: "a person said to do it again"}
}

// resetsFrom are the events that reset steps to begin at one of them: the step, what
// comes after it, and what failed or was cut off there or in a stage that the files do
// not keep. If the step is not done, done steps do not rest on it and stay, and so does
// another one that only a person can tell of: they are still asked. It is an error if the
// files cannot take the step back.
func (w *work) resetsFrom(ctx context.Context, step string) ([]reprise.Event, error) {
	at := slices.IndexFunc(w.run.Steps, func(s reprise.Step) bool { return s.ID == step })
	failed := w.tired(step) || w.halted(step)
	if at < 0 && !failed && !w.offered(step) {
		return nil, &StepError{
			Run: "resume " + w.ref.ID, Why: "begin at " + step + ": it has no such step, or it cannot begin again",
			Todo: "`reprise check RUN` shows its steps; `reprise resume RUN` continues with what is not done",
		}
	}
	if at < 0 {
		// The files have it only once it is done: its failures are forgiven.
		stages := w.tiredStages()
		if !slices.Contains(stages, step) {
			stages = append(stages, step)
		}
		return w.resetsOf(stages, step), nil
	}
	events, back, err := w.resetsAt(ctx, at)
	cutOff := w.hist.Step(step).Open != nil && w.hist.Step(step).Held == nil // it is open, whatever they say
	if err == nil && !back && !failed && !cutOff {
		err = &StepError{
			Run: "resume " + w.ref.ID, Why: "begin at " + step + ": its files cannot mark it as not done", Todo: w.insteadOf(ctx, at),
		}
	}
	return events, err
}

// resetsAt is resetsFrom for a step of the files. back is false if they cannot take it back.
func (w *work) resetsAt(ctx context.Context, at int) (events []reprise.Event, back bool, err error) {
	step := w.run.Steps[at].ID
	rests := w.againFrom(at)
	var again []string
	for i := range w.run.Steps[at:] {
		s := &w.run.Steps[at+i]
		// One beside it that was cut off may have had its effect: that is asked about.
		if s.Status != reprise.Pending && rests[s.ID] || s.Optional && s.ID == step || w.tired(s.ID) || w.halted(s.ID) {
			again = append(again, s.ID)
		}
	}
	// The last first, so that no step is open while one that needs it is closed.
	slices.Reverse(again)
	events = w.resetsOf(append(w.tiredStages(), again...), step)
	run, err := w.imagined(ctx, durable.NewDryRun(w.led.Files()), events)
	if err == nil && w.addProofs(run, events) {
		run, err = w.imagined(ctx, w.asideOf(events), events)
	}
	if err != nil {
		return nil, false, fmt.Errorf("begin at %s: %w", step, err)
	}
	s := run.Step(step)
	return events, s == nil && w.files.Step(step) != nil || s != nil && !s.Status.Closed(), nil
}

// addProofs adds to resets the files whose presence is all that says, in a run with these
// resets, that the step is done. It reports whether there are any.
func (w *work) addProofs(run *reprise.Run, events []reprise.Event) (any bool) {
	for i := range events {
		ev := &events[i]
		s := run.Step(ev.Step)
		if s == nil || !s.Status.Closed() || w.hist.Step(ev.Step).Held != nil {
			continue
		}
		for _, e := range w.assignmentOf(ev.Step).Expect {
			if e.Path != w.ref.Path && project.ByPresence(s, []reprise.Expected{e}) {
				ev.Expect, any = append(ev.Expect, e), true
			}
		}
	}
	return any
}

// asideOf is a store for imagined without the files that resets set aside.
func (w *work) asideOf(events []reprise.Event) *durable.DryRun {
	files := w.led.Files()
	for _, name := range setAside(events) {
		files = durable.Without(files, name)
	}
	return durable.NewDryRun(files)
}

// setAside lists the files that resets set aside.
func setAside(events []reprise.Event) (out []string) {
	for i := range events {
		if events[i].Kind != reprise.StepReset {
			continue
		}
		for _, e := range events[i].Expect {
			if !slices.Contains(out, e.Path) {
				out = append(out, e.Path)
			}
		}
	}
	return out
}

// recordSaid records what a person said. What resets set aside is archived first, so that no
// step is on record as open whose files say that it is done.
func (w *work) recordSaid(ctx context.Context, events []reprise.Event) error {
	for _, name := range setAside(events) {
		if err := w.putAside(name, "said that a step was done"); err != nil {
			return err
		}
	}
	return w.recordAll(ctx, events...)
}

// insteadOf says what a person can do who wants a step done again that the files cannot
// take back.
func (w *work) insteadOf(ctx context.Context, at int) string {
	s := &w.run.Steps[at]
	if w.files.Step(s.ID) == nil { // an attempt deleted it
		return "put it back in " + w.ref.Path + " by hand; then `reprise resume RUN` does it"
	}
	if w.hist.Step(s.ID).Held != nil {
		return "`reprise resume RUN` commits what it left, once git can"
	}
	for i := at + 1; i < len(w.run.Steps); i++ {
		if _, back, err := w.resetsAt(ctx, i); err == nil && back {
			return "`reprise resume RUN --from " + reprise.Pasted(w.run.Steps[i].ID, "STEP") + "` begins at the next step that they can"
		}
	}
	for _, c := range s.Claims {
		if c.Won {
			return fmt.Sprintf("%s says that it is done: change that by hand, then `reprise resume RUN` continues from there", c.Source)
		}
	}
	return "`reprise check RUN --full` shows what says that it is done"
}

// resetsOf are the events by which a person has steps done again, from one on. That answers
// what became of this one, and of no other.
func (w *work) resetsOf(steps []string, from string) (out []reprise.Event) {
	for _, id := range steps {
		if id == from || !w.untold(id) {
			out = append(out, resetBy(id))
		}
	}
	return out
}

// settles are the events that close the question what became of the last attempt at a step, if
// it is open: what a person chose for the step is the answer.
func (w *work) settles(step, said string) []reprise.Event {
	open := w.hist.Step(step).Open
	if open == nil {
		return nil
	}
	q := w.run.Question(cutOffQuestion(step, open.Attempt))
	if q == nil || q.Answered {
		return nil
	}
	return []reprise.Event{
		{Kind: reprise.QuestionAnswered, Step: q.Subject, By: q.By, Question: q.ID, Text: said, Actor: person},
		{Kind: reprise.AnswerApplied, Step: step, Question: q.ID, Text: said, Actor: actor},
	}
}

// untold reports whether only a person can say what became of the last attempt at a step,
// and none has.
func (w *work) untold(step string) bool {
	h := w.hist.Step(step)
	if h.Open == nil || h.Held != nil {
		return false
	}
	if q, asked := w.question(cutOffQuestion(step, h.Open.Attempt)); asked {
		return !q.Answered
	}
	return h.Open.Policy == reprise.AskWho
}

// againFrom are the steps that are done again with one.
func (w *work) againFrom(at int) map[string]bool {
	rests := w.run.RestsOn(at)
	if w.run.Steps[at].ID == w.choice.From {
		maps.Copy(rests, w.again)
	}
	return rests
}

// restingOn reports for any step whether it may have been built on this one; for all of
// them if the files do not keep this one.
func (w *work) restingOn(step string) func(string) bool {
	at := slices.IndexFunc(w.run.Steps, func(s reprise.Step) bool { return s.ID == step })
	if at < 0 {
		return anyStep
	}
	rests := w.againFrom(at)
	return func(id string) bool { return rests[id] }
}

func anyStep(string) bool { return true }
