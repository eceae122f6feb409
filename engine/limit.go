package engine

import (
	"context"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/settings"
)

// again is how soon an account is asked for again that an attempt elsewhere is
// trying out.
const again = time.Second

// account is what a usage limit of whoever does a unit closes, "" for what no
// limit can: commands of a person's own, and what needs nobody.
func (w *work) account(a reprise.Assignment) string {
	if len(a.Command) > 0 || a.Ask != nil || a.Local != "" || a.Child != nil {
		return ""
	}
	s, err := w.Settings.For(a.Role)
	if err != nil {
		return "" // starting it says why
	}
	return accountOf(s)
}

// accountOf names the account of an agent: the one a person set; else the known
// kinds share one each, any other command has its own.
func accountOf(s settings.Agent) string {
	switch {
	case s.Account != "":
		return s.Account
	case s.Preset == "" || s.Preset == agent.Command:
		return s.Name
	}
	return s.Preset
}

// recallLimits closes the accounts that the journal knows as closed. One whose
// time is over is tried by one attempt first.
func (w *work) recallLimits() {
	for account, until := range w.hist.Limits {
		if until = w.believed(until); !until.IsZero() {
			w.gate.Close(account, until, w.Now())
		}
	}
}

// believed is when a limit ends, zero if that cannot be true.
func (w *work) believed(until time.Time) time.Time {
	if until.Sub(w.Now()) > reprise.LongestLimit {
		return time.Time{}
	}
	return until
}

// closedUntil is when a unit may be started as far as limits on record are
// concerned, in the journal or in the files, zero if none is.
func (w *work) closedUntil(a reprise.Assignment) time.Time {
	until := w.believed(w.hist.Step(a.Step).DeferredUntil)
	for _, at := range []time.Time{w.hist.Limits[w.account(a)], w.files.Until} {
		if at = w.believed(at); at.After(until) {
			until = at
		}
	}
	return until
}

func untilWords(t time.Time) string {
	return "waits for a limit until " + t.UTC().Format("2006-01-02 15:04 MST")
}

// enter asks whether an attempt may begin as far as limits are concerned; else
// it says when to ask again. An attempt that may begin has to leave.
func (w *work) enter(account string) (wake time.Time, ok bool) {
	if account == "" {
		return wake, true
	}
	wake, ok = w.gate.Enter(account, w.Now())
	if !ok && wake.IsZero() {
		wake = w.Now().Add(again) // one goes first
	}
	return wake, ok
}

// proven is how long an attempt is at work before it counts as let through: a
// limit shows with the first answer.
const proven = time.Minute

// letThrough tells of attempts that have been at work long enough to show that
// no limit stands in their way, so that others need not wait for their end.
func (w *work) letThrough() {
	for _, f := range w.atWork {
		if f.account != "" && !f.through && w.Now().Sub(f.began) >= proven {
			f.through = true
			w.gate.Left(f.account, true, w.Now())
		}
	}
}

// left tells how an attempt ended that was let in.
func (w *work) left(account string, o agent.Outcome) {
	if account == "" || o == agent.Limited {
		return
	}
	answered := o == agent.Done || o == agent.Failed || o == agent.Refused || o == agent.NeedsPerson || o == agent.OutOfContext
	w.gate.Left(account, answered, w.Now())
}

// limited records that a limit stands in the way, of all steps with the same
// account. It costs no attempt.
func (w *work) limited(ctx context.Context, f *attempt, r agent.Result) error {
	account := first(f.account, r.Account)
	until := r.Until
	if !until.After(w.Now()) {
		until = time.Time{} // over already, and still there: nobody knows how long
	}
	ev := w.about(ctx, f, reprise.StepDeferred)
	ev.Until, ev.Account = w.gate.Close(account, until, w.Now()), account
	ev.Text = first(r.Reason, "a usage limit")
	return w.postpone(ctx, f, string(r.Outcome), ev)
}

// postpone records that a step is not to be started before a time, and tells that its
// attempt ended so. It is open again.
func (w *work) postpone(ctx context.Context, f *attempt, outcome string, ev reprise.Event) error {
	reset := w.about(ctx, f, reprise.StepReset)
	reset.Text, reset.Outcome = ev.Text, "limited"
	return w.endWith(ctx, f, outcome, ev.Text, ev, reset)
}
