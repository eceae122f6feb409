package engine

import (
	"context"
	"fmt"
	"slices"

	"reprise"
)

// ways are the options and what they do. done is set if nothing is left to do afterwards.
var ways = map[string]func(*work, context.Context, look) (done bool, err error){
	"":                        (*work).resumeRun,
	reprise.OptionContinue:    (*work).resumeRun,
	reprise.OptionResume:      (*work).resumeRun,
	reprise.OptionNow:         (*work).resumeRun,
	reprise.OptionResumeAgent: (*work).resumeAgent,
	reprise.OptionAnswer:      (*work).resumeRun,
	reprise.OptionFromPhase:   (*work).resumeRun,
	reprise.OptionRespawn:     (*work).respawn,
	reprise.OptionRestart:     (*work).restart,
	reprise.OptionSkip:        (*work).skipOn,
	reprise.OptionSkipGroup:   (*work).skipGroup,
	reprise.OptionFresh:       (*work).afresh,
	reprise.OptionDiscard:     (*work).discard,
	reprise.OptionClean:       (*work).cleanUp,
	reprise.OptionReview:      (*work).review,
	reprise.OptionMerge:       (*work).merge,
	reprise.OptionMerged:      (*work).merged,
}

// choose does what a person chose.
func (w *work) choose(ctx context.Context, l look) (done bool, err error) {
	if err := w.choosable(l); err != nil {
		return true, err
	}
	done, err = ways[w.choice.Option](w, ctx, l)
	return done, inTheWay(err)
}

// choosable says why the chosen option does not exist for the run, nil if it does.
func (w *work) choosable(l look) error {
	if _, known := ways[w.choice.Option]; !known || !w.offers(l, w.choice.Option) {
		e := &OptionError{Run: w.ref.ID, Option: w.choice.Option, Known: keysOf(l.Decision.Options(l.Run))}
		switch e.Option {
		case reprise.OptionSkipGroup:
			e.Why = l.Run.NoGroup()
		case reprise.OptionNow:
			e.Why = "it waits for no limit"
		}
		return e
	}
	return nil
}

// offers reports whether an option exists for the run. Cleaning up always does, and so
// does continuing, unless the run waits for a choice that leads to no work: then there is
// nothing to continue with.
func (w *work) offers(l look, option string) bool {
	means, _ := reprise.OptionOf(option)
	options := l.Decision.Options(l.Run)
	works := func(o reprise.Option) bool { return o.Means().Works }
	switch {
	case option != "" && means.Continues && means.Always && l.Decision.Action == reprise.Ask && len(options) > 0:
		return slices.ContainsFunc(options, works)
	case means.Always, option == reprise.OptionSkipGroup && w.skippedGroupBefore():
		return true
	case option == reprise.OptionFresh:
		return l.Run.Refreshable()
	case option == reprise.OptionNow && len(w.keptBy(l)) > 0:
		return true
	}
	return slices.Contains(keysOf(options), option)
}

func keysOf(options []reprise.Option) []string {
	var out []string
	for _, o := range options {
		out = append(out, o.Key)
	}
	return out
}

// resumeRun continues the run where it stands, unless that is unsafe.
func (w *work) resumeRun(ctx context.Context, l look) (bool, error) {
	if l.Decision.Action == reprise.Finish && w.choice.From == "" {
		if w.unsettled() {
			return false, nil
		}
		return true, w.finish(l.Decision, zeroTime)
	}
	if unsaid := w.choice.Option == "" && w.choice.From == "" && len(w.choice.Skip) == 0; unsaid && (l.Decision.State == reprise.Stopped && !l.Stops || l.Decision.Holds(l.Run)) {
		// A person ended or holds the run, and the choice does not say how to continue.
		return true, w.finish(l.Decision, zeroTime)
	}
	if w.choice.Option == reprise.OptionContinue {
		for _, q := range l.Run.PendingQuestions() {
			w.PutOff[q.ID] = true
		}
	}
	if w.choice.Option == reprise.OptionContinue && w.choice.From == "" {
		w.choice.From = w.blockedAt(ctx, l)
	}
	if err := w.mayResume(ctx, l); err != nil {
		return true, err
	}
	if err := w.recordResumed(ctx, l); err != nil {
		if ctx.Err() != nil && w.store.Poisoned() == nil {
			return true, w.finish(w.decide(), zeroTime) // stopped before anything was begun
		}
		return true, err
	}
	return false, w.recordChoice(ctx)
}

// blockedAt is the step that a run waits at because its files call it blocked, "" if it does
// not wait for that: a person who continues it says that nothing blocks it any more.
func (w *work) blockedAt(ctx context.Context, l look) string {
	if !l.Decision.Holds(l.Run) {
		return ""
	}
	step := w.current(l)
	if s := l.Run.Step(step); s == nil || s.Status != reprise.Blocked {
		return ""
	}
	if _, err := w.resetsFrom(ctx, step); err != nil {
		return "" // its files cannot say so
	}
	return step
}

// unsettled reports whether the last engine was killed and may have left something to
// settle, even where everything is done.
func (w *work) unsettled() bool { return w.hist.Events > 0 && !w.leftInOrder }

// mayResume says why the run is not resumed as chosen, nil if it is.
func (w *work) mayResume(ctx context.Context, l look) error {
	if l.Decision.Verdict == reprise.BlockedVerdict {
		refused := unsafe(w.ref.ID, l.Decision)
		refused.Cause = l.refused
		return refused
	}
	if err := w.mayRevise(); err != nil {
		return err
	}
	events, err := w.chosenEvents(ctx)
	for _, name := range setAside(events) {
		if err := w.store.CanArchive(name); err != nil {
			return fmt.Errorf("begin at %s: %w", w.choice.From, err)
		}
	}
	return err
}

// resumeAgent continues with the agent that was at work, if its tool can do that.
func (w *work) resumeAgent(ctx context.Context, l look) (bool, error) {
	w.Wanted = first(l.Run.ResumeAnswer().AgentID, "the agent that was at work")
	return w.resumeRun(ctx, l)
}

// notResumed says, once, why the agent that a person wants to continue is not resumed; ""
// if it is.
func (w *work) notResumed(step string, bound binding, resumes bool) string {
	who := w.Wanted
	if w.Wanted = ""; who == "" || resumes {
		return ""
	}
	why := "no session of it is on record here"
	if !bound.continues {
		why = fmt.Sprintf("the command of %s cannot continue a session", bound.name)
	}
	return fmt.Sprintf("%s is not resumed: %s. A new agent does %s", who, why, step)
}

// respawn continues with new sessions.
func (w *work) respawn(ctx context.Context, l look) (bool, error) {
	w.NewSessions = true
	return w.resumeRun(ctx, l)
}

// current is the step that a choice without a name is about.
func (w *work) current(l look) string {
	if r := l.Run.Resume; r != nil && r.Plan != "" {
		return r.Plan
	}
	if l.Decision.Point != nil {
		if w.run != nil && w.run.Step(l.Decision.Point.ID) != nil {
			return l.Decision.Point.ID // a plan, and not the task of it that comes next
		}
		if a, err := w.assign(*l.Decision.Point); err == nil {
			return a.Step
		}
		return l.Decision.Point.ID
	}
	return ""
}

// restart begins the current plan again.
func (w *work) restart(ctx context.Context, l look) (bool, error) {
	step := w.current(l)
	if done, err := w.resumeRun(ctx, l); done || err != nil {
		return done, err
	}
	if err := w.recordAll(ctx, append([]reprise.Event{resetBy(step)}, w.settles(step, saidRerun)...)...); err != nil {
		return false, err
	}
	return false, w.load()
}

// skipOn skips the current plan or step and continues.
func (w *work) skipOn(ctx context.Context, l look) (bool, error) {
	w.choice.Skip = append(slices.Clone(w.choice.Skip), w.current(l))
	return w.resumeRun(ctx, l)
}

// skipGroup skips the steps that wait for an answer, closes the question and continues.
func (w *work) skipGroup(ctx context.Context, l look) (bool, error) {
	q, _ := l.Run.Skippable()
	w.Unasked = q.Group
	return w.resumeRun(ctx, l)
}

// skippedGroupBefore reports whether the last engine closed a question by skipping its
// group and was killed: choosing that again continues from there.
func (w *work) skippedGroupBefore() bool {
	for i := len(w.events) - 1; i >= 0 && !w.leftInOrder; i-- {
		switch ev := &w.events[i]; {
		case ev.Kind == reprise.QuestionSkipped && ev.Actor == person:
			return true
		case ev.Kind == reprise.RunStarted, ev.Kind == reprise.RunResumed, ev.Kind == reprise.StateRestored:
			return false
		}
	}
	return false
}
