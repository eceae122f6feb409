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

// meanwhile is what an attempt closed in another run, nothing where that is unknown. told says it
// in the run that the attempt is of.
type meanwhile struct {
	by, in *reprise.Run
	since  time.Time
	marked []reprise.Event
	told   reprise.Finding
}

// ClosedElsewhere tells that an attempt at a step closed steps of another run.
func ClosedElsewhere(step string, in reprise.Ref, steps []string) reprise.Finding {
	return reprise.Finding{
		Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: step, Source: reprise.Source{File: in.Path},
		Message: fmt.Sprintf("the attempt at %s, whose job it was not, marked as done in %s: %s", step, in.ID, strings.Join(steps, ", ")),
		Hint:    "`reprise resume " + reprise.Pasted(in.ID, "RUN") + "` asks before anything builds on it",
	}
}

// closedMeanwhile gives the steps of runs that were open when an attempt at another one began
// and are closed, where that attempt has no end on record and their own journals do not explain
// it. Whoever takes the lease records that before anything else: a snapshot that a later holder
// took shows that it is done, and what is closed after that is not the attempt's. A checkout of
// its own is judged when it is merged.
func (res *Result) closedMeanwhile(ctx context.Context, store *durable.Store, runs []*reprise.Run, logs map[*reprise.Run]logged, environ []string) (out []meanwhile, err error) {
	for _, own := range runs {
		log, known := logs[own]
		if !known || log.hist.Worktree != nil {
			continue
		}
		for _, open := range log.hist.Open() {
			if open.Base == "" {
				continue // a run of its own does it, or there is nothing to compare with
			}
			at := slices.IndexFunc(log.entries, func(e journal.Entry) bool { return e.Event.Kind == reprise.StepStarted && e.Event.Key == open.Key })
			if at < 0 {
				continue
			}
			snap, err := store.Base(open.At, log.entries[at].Generation)
			var closed []meanwhile
			if err == nil && snap != nil && snap.Tree != nil {
				closed, err = res.closedSince(ctx, store, snap, runs, own, &open, environ)
			}
			if ctx.Err() != nil {
				return out, ctx.Err()
			}
			if err != nil {
				out = append(out, meanwhile{by: own, in: own, told: reprise.Finding{
					Code: reprise.CodeUnrecordedEnd, Severity: reprise.Warning, Subject: open.Step, Source: reprise.Source{File: own.Path},
					Message: fmt.Sprintf("whether the attempt at %s marked steps of other runs as done is unknown: %s", open.Step, err),
					Hint:    "look at the files of the other runs; `reprise check` lists them",
				}})
			}
			for _, m := range closed {
				if m.marked = unexplained(logs[m.in], m.marked, snap.At); len(m.marked) > 0 {
					m.by, m.since, m.told = own, snap.At, ClosedElsewhere(open.Step, m.in.Ref, stepsOf(m.marked))
					out = append(out, m)
				}
			}
		}
	}
	return out, nil
}

// closedSince gives the steps of other runs that are closed and were open in a snapshot, as far
// as an attempt that began on it is not there to close them.
func (res *Result) closedSince(ctx context.Context, store *durable.Store, snap *durable.Snapshot, runs []*reprise.Run, own *reprise.Run, open *reprise.Event, environ []string) (out []meanwhile, err error) {
	expected := func(name string) bool {
		return slices.ContainsFunc(open.Expect, func(e reprise.Expected) bool { return within(name, e.Path) })
	}
	var others []*reprise.Run
	names := map[string]bool{}
	for _, r := range runs {
		if r.State == reprise.Unreadable || storyOf(r.Ref, own) || together(r.Ref, own.Ref) {
			continue
		}
		others = append(others, r)
		for name := range res.read[r] {
			names[name] = !expected(name)
		}
	}
	maps.DeleteFunc(names, func(_ string, counts bool) bool { return !counts })
	unlike := store.Unlike(snap, names)
	fresh, err := store.Fresh(ctx, snap, names)
	if err != nil {
		return nil, err
	}
	for _, name := range fresh {
		unlike[name] = ""
	}
	maps.DeleteFunc(unlike, func(name, _ string) bool {
		then, known := reprise.Finds(open.Unlike, name)
		is, err := HashIn(store, name)
		return known && err == nil && is == then.Before
	})
	if len(unlike) == 0 {
		return nil, nil
	}
	was, err := evidence.Began(ctx, store.Dir(), snap.Tree.Head, open.Base, unlike, environ)
	if err != nil {
		return nil, err
	}
	then, err := overlaid(ctx, store, was)
	if err != nil {
		return nil, err
	}
	for _, r := range others {
		l := convention.Find(r.Layout)
		if l == nil || !slices.ContainsFunc(then.lost(), func(name string) bool { _, reads := res.read[r][name]; return reads }) {
			continue
		}
		before, err := reprise.Load(l, then, r.Ref)
		if err != nil || before.State == reprise.Unreadable {
			continue // nothing is known of what it was
		}
		if marked := closedSince(store, before, r, own); len(marked) > 0 {
			for i := range marked {
				marked[i].By, marked[i].At, marked[i].Actor = open.Step+" of "+own.ID, open.At, "reprise"
			}
			out = append(out, meanwhile{in: r, marked: marked})
		}
	}
	return out, nil
}

// unexplained keeps the steps that something else closed, as far as the journal of their run
// neither has an accepted end of them nor has told so since a time. A run with an attempt of its
// own that is not settled asks for itself when that is.
func unexplained(log logged, marked []reprise.Event, since time.Time) []reprise.Event {
	if log.hist == nil {
		return marked
	}
	return slices.DeleteFunc(slices.Clone(marked), func(ev reprise.Event) bool {
		return len(log.hist.Open()) > 0 || log.hist.Step(ev.Step).Accepted != nil || slices.ContainsFunc(log.entries, func(e journal.Entry) bool {
			return e.Event.Kind == ev.Kind && e.Event.Step == ev.Step && !e.Event.At.Before(since)
		})
	})
}

// DoubtIn records in the journal of a run that something else closed steps of it since a time, and
// gives those that its journal does not explain and did not have on record. The lease must be
// held.
func DoubtIn(store *durable.Store, of reprise.Ref, marked []reprise.Event, since time.Time) (steps []string, err error) {
	account, err := journal.ReadAccount(store, journal.Name(of))
	if err != nil {
		return nil, err
	}
	for _, ev := range unexplained(logged{account.Entries, journal.Fold(account.Entries)}, marked, since) {
		j, err := journal.Open(store, convention.Find(of.Layout), of)
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

// DoubtOthers records what attempts that were cut off closed in other runs: whoever holds the
// lease calls it before anything else, since from then on the attempts may be settled, undone or
// put away. It returns what is worth telling.
func DoubtOthers(ctx context.Context, store *durable.Store, now time.Time) (found []reprise.Finding, err error) {
	names, err := store.Logs()
	if err != nil {
		return nil, err
	}
	read := map[string]logged{}
	cut := false
	for _, name := range names {
		account, err := journal.ReadAccount(store, name)
		if err != nil {
			continue // it blocks its run, and is told there
		}
		log := logged{account.Entries, journal.Fold(account.Entries)}
		cut = cut || len(log.hist.Open()) > 0
		read[name] = log
	}
	if !cut {
		return nil, nil
	}
	res, runs, err := gatherRuns(ctx, store.Dir(), Options{Now: now}, false, nil)
	if err != nil {
		return nil, err
	}
	logs := map[*reprise.Run]logged{}
	for _, r := range runs {
		if log, known := read[journalOf(store, names, r)]; known {
			logs[r] = log
		}
	}
	closed, err := res.closedMeanwhile(ctx, store, runs, logs, nil)
	for i := range closed {
		m := &closed[i]
		for k := range m.marked {
			m.marked[k].At = now
		}
		steps, failed := DoubtIn(store, m.in.Ref, m.marked, m.since)
		if failed != nil {
			return found, failed
		}
		if len(steps) > 0 || len(m.marked) == 0 {
			found = append(found, m.told)
		}
	}
	return found, err
}

// closedElsewhere gives what DoubtOthers would record, by run. Who is at work here has done that,
// and judges its own attempts.
func (j *Judgement) closedElsewhere(ctx context.Context, h *home, runs []*reprise.Run, logs map[*reprise.Run]logged, opts JudgeOptions) map[*reprise.Run][]reprise.Event {
	out := map[*reprise.Run][]reprise.Event{}
	owner := reprise.Owner{Host: h.holder.Host, BootID: h.holder.BootID, PID: h.holder.PID, StartTicks: h.holder.StartTicks}
	if opts.Alone || opts.Held != nil || evidence.Life(owner, opts.Now).Life == reprise.Alive {
		return out
	}
	closed, _ := j.closedMeanwhile(ctx, h.store, runs, logs, opts.Environ) // who stops it asks for no answer
	for i := range closed {
		closed[i].by.Report(closed[i].told)
		out[closed[i].in] = append(out[closed[i].in], closed[i].marked...)
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

// storyOf reports whether a run lies within the state of another one: it is a step of it, such as
// a story of an epic.
func storyOf(ref reprise.Ref, whole *reprise.Run) bool {
	return within(ref.Path, whole.Path) || slices.ContainsFunc(whole.Steps, func(s reprise.Step) bool { return s.Path != "" && within(ref.Path, s.Path) })
}
