package engine

import (
	"context"
	"fmt"
	"slices"

	"reprise"
)

// ways are what can be chosen for a run and who does it. done reports that
// nothing is to be gone on with afterwards.
var ways = map[string]func(*work, context.Context, look) (done bool, err error){
	"":                        (*work).goOn,
	reprise.OptionContinue:    (*work).goOn,
	reprise.OptionResume:      (*work).goOn,
	reprise.OptionResumeAgent: (*work).resumeAgent,
	reprise.OptionAnswer:      (*work).goOn,
	reprise.OptionFromPhase:   (*work).goOn,
	reprise.OptionRespawn:     (*work).respawn,
	reprise.OptionRestart:     (*work).restart,
	reprise.OptionSkip:        (*work).skipOn,
	reprise.OptionSkipGroup:   (*work).skipGroup,
	reprise.OptionFresh:       (*work).afresh,
	reprise.OptionDiscard:     (*work).discard,
	reprise.OptionClean:       (*work).cleanUp,
	reprise.OptionReview:      (*work).review,
	reprise.OptionMerge:       (*work).merge,
}

// choose does what a person chose.
func (w *work) choose(ctx context.Context, l look) (done bool, err error) {
	if err := w.choosable(l); err != nil {
		return true, err
	}
	done, err = ways[w.choice.Option](w, ctx, l)
	return done, inTheWay(err)
}

// choosable tells why what a person chose does not exist for the run, nil if it does.
func (w *work) choosable(l look) error {
	if _, known := ways[w.choice.Option]; !known || !w.offers(l, w.choice.Option) {
		e := &OptionError{Run: w.ref.ID, Option: w.choice.Option, Known: keysOf(l.d.Options(l.run))}
		if e.Option == reprise.OptionSkipGroup {
			e.Why = l.run.NoGroup()
		}
		return e
	}
	return nil
}

// offers reports whether a choice exists for the run. Going on, starting afresh
// and cleaning up always do.
func (w *work) offers(l look, option string) bool {
	means, _ := reprise.OptionOf(option)
	switch {
	case means.Always, option == reprise.OptionSkipGroup && w.passedBefore():
		return true
	case option == reprise.OptionFresh:
		return l.run.Refreshable()
	}
	return slices.Contains(keysOf(l.d.Options(l.run)), option)
}

func keysOf(options []reprise.Option) []string {
	var out []string
	for _, o := range options {
		out = append(out, o.Key)
	}
	return out
}

// goOn takes the run up where it stands, unless that is unsafe.
func (w *work) goOn(ctx context.Context, l look) (bool, error) {
	if l.d.Action == reprise.Finish {
		if w.unsettled() {
			return false, nil
		}
		return true, w.end(l.d, zeroTime)
	}
	if w.staysEnded(l) || w.staysHeld(l) {
		return true, w.end(l.d, zeroTime)
	}
	if w.choice.Option == reprise.OptionContinue {
		for _, q := range l.run.PendingQuestions() {
			w.putOff[q.ID] = true
		}
	}
	if err := w.mayGoOn(ctx, l); err != nil {
		return true, err
	}
	if err := w.takeUp(ctx, l); err != nil {
		if ctx.Err() != nil && w.store.Poisoned() == nil {
			return true, w.end(w.decide(), zeroTime) // stopped before anything was begun
		}
		return true, err
	}
	return false, w.heed(ctx)
}

// staysEnded reports whether a person ended the run and nobody has said how it goes on.
func (w *work) staysEnded(l look) bool {
	return l.d.State == reprise.Stopped && w.unsaid()
}

// staysHeld reports whether a person holds the run and nobody has said how it goes on.
func (w *work) staysHeld(l look) bool { return l.d.Holds(l.run) && w.unsaid() }

// unsaid reports whether nobody has said how the run goes on.
func (w *work) unsaid() bool {
	return w.choice.Option == "" && w.choice.From == "" && len(w.choice.Skip) == 0
}

// unsettled reports whether whoever worked on the run last was killed and may have
// left something to settle, also where all is done.
func (w *work) unsettled() bool { return w.hist.Events > 0 && !w.orderly }

// mayGoOn tells why the run is not taken up as a person chose, nil if it is.
func (w *work) mayGoOn(ctx context.Context, l look) error {
	if l.d.Verdict == reprise.BlockedVerdict {
		return &UnsafeError{Run: w.ref.ID, Reasons: l.d.Reasons}
	}
	if err := w.mayRevise(); err != nil {
		return err
	}
	_, err := w.said(ctx)
	return err
}

// resumeAgent goes on with the agent that was at work, where its tool can do that.
func (w *work) resumeAgent(ctx context.Context, l look) (bool, error) {
	w.wanted = first(l.run.ResumeAnswer().AgentID, "the agent that was at work")
	return w.goOn(ctx, l)
}

// notResumed says why the agent that a person wants to go on is not gone on with, once,
// "" if it is.
func (w *work) notResumed(step string, bound binding, resumes bool) string {
	who := w.wanted
	if w.wanted = ""; who == "" || resumes {
		return ""
	}
	why := "no session of it is on record here"
	if !bound.continues {
		why = fmt.Sprintf("the command of %s cannot go on with a session", bound.name)
	}
	return fmt.Sprintf("%s is not resumed: %s. A new agent does %s", who, why, step)
}

// respawn goes on with new sessions.
func (w *work) respawn(ctx context.Context, l look) (bool, error) {
	w.newSessions = true
	return w.goOn(ctx, l)
}

// current is the step a choice without a name is about.
func (w *work) current(l look) string {
	if r := l.run.Resume; r != nil && r.Plan != "" {
		return r.Plan
	}
	if l.d.Point != nil {
		if w.run != nil && w.run.Step(l.d.Point.ID) != nil {
			return l.d.Point.ID // a plan, and not the task of it that comes next
		}
		if a, err := w.assign(*l.d.Point); err == nil {
			return a.Step
		}
		return l.d.Point.ID
	}
	return ""
}

// restart begins the current plan again.
func (w *work) restart(ctx context.Context, l look) (bool, error) {
	step := w.current(l)
	if done, err := w.goOn(ctx, l); done || err != nil {
		return done, err
	}
	return false, w.reset(ctx, step)
}

// skipOn leaves the current plan or step out and goes on.
func (w *work) skipOn(ctx context.Context, l look) (bool, error) {
	w.leaveOutCurrent(l)
	return w.goOn(ctx, l)
}

func (w *work) leaveOutCurrent(l look) {
	w.choice.Skip = append(slices.Clone(w.choice.Skip), w.current(l))
}

// skipGroup leaves out what waits for the answer to a question, closes the question
// without one, and goes on.
func (w *work) skipGroup(ctx context.Context, l look) (bool, error) {
	w.passOver(l)
	return w.goOn(ctx, l)
}

// passedBefore reports whether whoever worked on the run last closed a question by
// leaving its group out, and was killed: who says that again goes on from there.
func (w *work) passedBefore() bool {
	for i := len(w.told) - 1; i >= 0 && !w.orderly; i-- {
		switch w.told[i].Kind {
		case reprise.QuestionSkipped:
			return true
		case reprise.RunStarted, reprise.RunResumed, reprise.StateRestored:
			return false
		}
	}
	return false
}

func (w *work) passOver(l look) {
	q, _ := l.run.Skippable()
	w.unasked = q.Group
}
