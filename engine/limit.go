package engine

import (
	"maps"
	"slices"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/settings"
)

// askAgain is how soon to look again at an account that another attempt is trying out.
const askAgain = time.Second

// account is what a usage limit for a unit closes, "" where no limit applies: units without
// an agent. A command of a workflow file is an account of its own.
func (w *work) account(a reprise.Assignment) string {
	switch {
	case a.Ask != nil || a.Local != "" || a.Child != nil:
		return ""
	case len(a.Command) > 0:
		return w.ref.ID + "/" + a.Step
	}
	s, err := w.Settings.For(a.Role)
	if err != nil {
		return "" // starting it says why
	}
	account, _ := accountOf(s)
	return account
}

// accountOf names the account of an agent: the configured one; else one for each known
// kind, and one for each other command, which is one of its own.
func accountOf(s settings.Agent) (account string, own bool) {
	switch {
	case s.Account != "":
		return s.Account, false
	case s.Preset == "" || s.Preset == agent.Command:
		return s.Name, true
	}
	return s.Preset, false
}

// recallLimits closes the accounts that are closed on record. When the time is over, one
// attempt goes first.
func (w *work) recallLimits() {
	for _, limits := range []map[string]time.Time{w.hist.Limits, w.Closed} {
		for account, until := range limits {
			if until = w.believed(until); !until.IsZero() {
				w.gate.Close(account, until, w.Now())
			}
		}
	}
}

// believed is when a limit ends, zero if that is implausible.
func (w *work) believed(until time.Time) time.Time {
	if until.Sub(w.Now()) > reprise.LongestLimit {
		return time.Time{}
	}
	return until
}

// deferred is until when a limit that a unit ran into keeps it from being started, zero if
// none does. One that closed another account than its agent has now is none of its own.
func (w *work) deferred(a reprise.Assignment) time.Time {
	h := w.hist.Step(a.Step)
	if own := w.account(a); own != "" && h.DeferredBy != "" && h.DeferredBy != own {
		return time.Time{}
	}
	return w.believed(h.DeferredUntil)
}

// closedUntil is until when limits on record, in the journal or in the files, keep a unit
// from being started; zero if none does.
func (w *work) closedUntil(a reprise.Assignment) time.Time {
	until := w.deferred(a)
	for _, at := range []time.Time{w.hist.Limits[w.account(a)], w.Closed[w.account(a)], w.files.Until} {
		if at = w.believed(at); at.After(until) {
			until = at
		}
	}
	return until
}

// closedBy is the account that a limit closes until a time, "" if that is not known.
func (w *work) closedBy(until time.Time) (account string) {
	for _, limits := range []map[string]time.Time{w.Closed, w.hist.Limits} {
		for a, ends := range limits {
			if ends.Equal(until) && (account == "" || a < account) {
				account = a
			}
		}
	}
	return account
}

// keptBy are the accounts that limits close, as others know, and that keep from being started
// what comes next.
func (w *work) keptBy(l look) (out []string) {
	for _, u := range l.Decision.Units {
		a, err := w.assign(u)
		if err != nil {
			continue // starting it says why
		}
		if account := w.account(a); w.believed(w.Closed[account]).After(w.Now()) && !slices.Contains(out, account) {
			out = append(out, account)
		}
	}
	return out
}

// openedSince reports whether a person opened an account for all who wait for it, that a limit
// closed on record.
func (w *work) openedSince() bool {
	return slices.ContainsFunc(w.Opened, func(account string) bool { return w.believed(w.hist.Limits[account]).After(w.Now()) })
}

// openAccounts opens the accounts that the run waits for: a person said to try now. With that on record,
// those of its own are open.
func (w *work) openAccounts(l look) {
	w.sum.Opened = w.keptBy(l)
	for account := range w.hist.Limits {
		if !slices.Contains(w.sum.Opened, account) {
			w.sum.Opened = append(w.sum.Opened, account)
		}
	}
	slices.Sort(w.sum.Opened)
	e := *w.Engine
	e.Closed = maps.Clone(e.Closed)
	for _, account := range w.sum.Opened {
		delete(e.Closed, account)
	}
	w.Engine = &e
}

// UntilWords say what a run waits for.
func UntilWords(t time.Time) string {
	return "waits for a limit or an outage until " + t.UTC().Format("2006-01-02 15:04 MST")
}

// enter asks whether limits let an attempt begin; if not, when to ask again. An attempt
// that began has to leave.
func (w *work) enter(account string) (wake time.Time, ok bool) {
	if account == "" {
		return wake, true
	}
	wake, ok = w.gate.Enter(account, w.Now())
	if !ok && wake.IsZero() {
		wake = w.Now().Add(askAgain) // one goes first
	}
	return wake, ok
}

// proven is how long an attempt works before it counts as let through: a limit shows with
// the first reply.
const proven = time.Minute

// letThrough reports attempts that have worked long enough to show that no limit is in
// the way, so that others need not wait for their end.
func (w *work) letThrough() {
	for _, f := range w.atWork {
		if f.Account != "" && !f.Through && w.Now().Sub(f.Began) >= proven {
			f.Through = true
			w.gate.Left(f.Account, true, w.Now())
		}
	}
}

// left reports how an attempt ended that had entered.
func (w *work) left(account string, o agent.Outcome) {
	if account == "" || o == agent.Limited {
		return
	}
	answered := o == agent.Done || o == agent.Failed || o == agent.Refused || o == agent.NeedsPerson || o == agent.NeedsSetup || o == agent.OutOfContext
	w.gate.Left(account, answered, w.Now())
}
