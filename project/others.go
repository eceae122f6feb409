package project

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/evidence"
	"reprise/internal/durable"
	"reprise/journal"
)

// logged is the journal of a run as far as it was read.
type logged struct {
	entries []journal.Entry
	hist    *journal.History
}

func loggedIn(account *journal.Account) logged {
	return logged{account.Entries, journal.Fold(account.Entries)}
}

// ChangedElsewhere tells that since an attempt at a step began steps of another run were closed
// or, for a step without a name, what else the files of that say was changed.
func ChangedElsewhere(step string, in reprise.Ref, steps []string) reprise.Finding {
	closed := slices.DeleteFunc(slices.Clone(steps), func(id string) bool { return id == "" })
	var did []string
	if len(closed) < len(steps) {
		did = append(did, "changed what its files say")
	}
	if len(closed) > 0 {
		did = append(did, "marked as done in it: "+strings.Join(closed, ", "))
	}
	return reprise.Finding{
		Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: step, Source: reprise.Source{File: in.Path},
		Message: fmt.Sprintf("%s, something other than %s %s", reprise.SinceAttempt(step), in.ID, strings.Join(did, ", and ")),
		Hint:    "`reprise resume " + reprise.Pasted(in.ID, "RUN") + "` asks before anything builds on it",
	}
}

// unexplained keeps what an attempt changed in a run, as far as the journal of that has neither
// told so since then nor an accepted end of the step. A run with an attempt of its own that is
// not settled asks about its steps when that is, and one that was worked on since then changed its
// files itself. Where a later holder of the lease has worked on it, all was told before.
func unexplained(log logged, c Changed) []reprise.Event {
	if log.hist == nil {
		return c.Marked
	}
	open, worked := len(log.hist.Open()) > 0, false
	for _, e := range log.entries {
		if e.Event.Kind == reprise.StepOverstepped {
			continue
		}
		if e.Generation > c.gen {
			return nil
		}
		worked = worked || !e.Event.At.Before(c.since)
	}
	return slices.DeleteFunc(slices.Clone(c.Marked), func(ev reprise.Event) bool {
		return open || ev.Step == "" && worked || ev.Step != "" && log.hist.Step(ev.Step).Accepted != nil || slices.ContainsFunc(log.entries, func(e journal.Entry) bool {
			return e.Event.Kind == ev.Kind && e.Event.Step == ev.Step && !e.Event.At.Before(c.since)
		})
	})
}

func (l *logged) events() (out []reprise.Event) {
	for i := range l.entries {
		out = append(out, l.entries[i].Event)
	}
	return out
}

// DoubtIn records in the journal of a run what something else changed in it, and gives the
// steps, "" for what is none, that its journal does not explain and did not have on record. The
// lease must be held.
func DoubtIn(store *durable.Store, c Changed, now time.Time) (steps []string, err error) {
	account, err := journal.ReadAccount(store, journal.Name(c.Ref))
	if err != nil {
		return nil, err
	}
	for _, ev := range unexplained(loggedIn(account), c) {
		ev.At = now
		j, err := journal.Open(store, convention.Find(c.Ref.Layout), c.Ref)
		if err == nil {
			err = j.Note(ev)
		}
		if err != nil {
			return steps, err
		}
		steps = append(steps, ev.Step)
	}
	return steps, nil
}

// meanwhile is what an attempt with no end on record, nil if it is not known which, changed in
// another run. blind is why that is only what it may have changed.
type meanwhile struct {
	Changed
	by    *Attempt
	blind error
}

// told says it in the run that the attempt is of.
func (m *meanwhile) told(steps []string) reprise.Finding {
	if m.blind == nil {
		return ChangedElsewhere(m.by.Step, m.Ref, steps)
	}
	return reprise.Finding{
		Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: m.by.Step, Source: reprise.Source{File: m.by.Of.Path},
		Message: fmt.Sprintf("whether the attempt at %s changed the files of other runs is unknown: %s", m.by.Step, m.blind),
		Hint:    "look at the files of the other runs; `reprise check` lists them",
	}
}

// changedMeanwhile gives what was changed in other runs since attempts with no end on record
// began, and what runs took along under a new name. What another run does for a step is told by
// that run. orphans are the journals of runs that are no longer there.
func changedMeanwhile(ctx context.Context, store *durable.Store, names []string, runs []*reprise.Run, logs map[*reprise.Run]logged, orphans map[string]logged, environ []string) (out []meanwhile, err error) {
	for _, own := range runs {
		log, known := logs[own]
		if !known {
			continue
		}
		for _, open := range log.hist.Open() {
			at := slices.IndexFunc(log.entries, func(e journal.Entry) bool { return e.Event.Kind == reprise.StepStarted && e.Event.Key == open.Key })
			if at < 0 || open.Base == "" && isChild(own.Step(open.Step), runs, own) {
				continue
			}
			a := &Attempt{
				Of: own, Step: open.Step, Began: open.At, Dated: open.At, Gen: log.entries[at].Generation, Base: open.Base,
				Elsewhere: log.hist.Worktree != nil, Expect: open.Expect, Unlike: open.Unlike,
			}
			for _, r := range runs {
				for _, e := range logs[r].entries {
					if e.Generation >= a.Gen {
						a.wrote = append(a.wrote, e.Files...)
					}
				}
			}
			m, blind := a.Since(ctx, store, environ)
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if blind != nil {
				if !slices.ContainsFunc(outputs(store.Dir()), func(log string) bool { return strings.HasPrefix(log, own.LogPrefix()) }) {
					continue // it did not run here
				}
				if m, err = a.Written(store); err != nil {
					return out, err
				}
			}
			for _, c := range m.Changed {
				out = append(out, meanwhile{c, a, blind})
			}
		}
	}
	return append(out, inherited(orphans, runs, func(r *reprise.Run) bool { return journalOf(store, names, r) != "" })...), nil
}

// isChild reports whether another run does a step.
func isChild(s *reprise.Step, runs []*reprise.Run, own *reprise.Run) bool {
	return s != nil && slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r != own && isStep(r, s) })
}

// DoubtOthers records what attempts that were cut off changed in other runs: whoever holds the
// lease calls it before anything else, since from then on the attempts may be settled, undone or
// put away. It returns what is worth telling.
func DoubtOthers(ctx context.Context, store *durable.Store, now time.Time) (found []reprise.Finding, err error) {
	names, err := store.Logs()
	if err != nil {
		return nil, err
	}
	orphans := map[string]logged{}
	cut := false
	for _, name := range names {
		account, err := journal.ReadAccount(store, name)
		if err != nil {
			continue // it blocks its run, and is told there
		}
		log := loggedIn(account)
		cut = cut || len(log.hist.Open()) > 0 || len(reprise.Doubts(log.events())) > 0
		orphans[name] = log
	}
	if !cut {
		return nil, nil
	}
	res, runs, err := gatherRuns(ctx, store.Dir(), Options{Now: now}, false, nil)
	if err != nil {
		return nil, err
	}
	res.files.Close()
	logs, read := map[*reprise.Run]logged{}, maps.Clone(orphans)
	for _, r := range runs {
		name := journalOf(store, names, r)
		if log, known := read[name]; known {
			logs[r] = log
		}
		if r.Gone() == nil {
			delete(orphans, name)
		}
	}
	changed, err := changedMeanwhile(ctx, store, names, runs, logs, orphans, nil)
	for _, m := range changed {
		steps, failed := DoubtIn(store, m.Changed, now)
		if failed != nil {
			return found, failed
		}
		if told := m.told; m.by != nil && len(steps) > 0 && !slices.Contains(found, told(steps)) {
			found = append(found, told(steps))
		}
	}
	return found, err
}

// changedElsewhere gives what DoubtOthers would record, by run. Who is at work here has done that,
// and judges its own attempts.
func (j *Judgement) changedElsewhere(ctx context.Context, h *home, runs []*reprise.Run, logs map[*reprise.Run]logged, opts JudgeOptions) map[*reprise.Run][]reprise.Event {
	out := map[*reprise.Run][]reprise.Event{}
	owner := reprise.Owner{Host: h.holder.Host, BootID: h.holder.BootID, PID: h.holder.PID, StartTicks: h.holder.StartTicks}
	if opts.Alone || opts.Held != nil || evidence.Life(owner, opts.Now).Life == reprise.Alive {
		return out
	}
	orphans := map[string]logged{}
	for _, name := range h.names {
		if slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r.Gone() == nil && journal.Name(r.Ref) == name }) {
			continue
		}
		h.look()
		if last, known := h.entries[name]; known && journal.Over(&last.Event) {
			continue // nothing was left in doubt
		}
		if account, err := journal.ReadAccount(h.store, name); err == nil { // otherwise it is told
			orphans[name] = loggedIn(account)
		}
	}
	changed, _ := changedMeanwhile(ctx, h.store, h.names, runs, logs, orphans, opts.Environ) // who stops it asks for no answer
	for _, m := range changed {
		at := slices.IndexFunc(runs, func(r *reprise.Run) bool { return r.Layout == m.Ref.Layout && r.Path == m.Ref.Path })
		if at < 0 {
			continue // it is not looked at
		}
		marked := unexplained(logs[runs[at]], m.Changed)
		if len(marked) == 0 {
			continue
		}
		if m.by != nil {
			if told := m.told(stepsOf(marked)); !slices.Contains(m.by.Of.Findings, told) {
				m.by.Of.Report(told)
			}
		}
		out[runs[at]] = append(out[runs[at]], marked...)
	}
	return out
}

// believe takes events that the next holder of the lease has yet to record as recorded.
func (v *View) believe(events []reprise.Event) {
	if len(events) == 0 {
		return
	}
	v.Unrecorded = append(v.Unrecorded, events...)
	v.Events, v.History = slices.Concat(v.Events, events), v.History.Copy()
	for i := range events {
		v.History.Add(&events[i])
	}
}
