//go:build wip

package engine

import (
	"context"
	"time"

	"reprise"
)

// How many events, and for how long, may be ahead of the layout's files while
// steps are recorded that need nobody.
const (
	burstEvents = 512
	burstTime   = 200 * time.Millisecond
)

// burst records steps of a graph that need nobody, one after the other, each
// durable in the journal before the next, without reading the whole run again
// for every one: what an event changes is known. The layout's files follow in
// groups. It reports whether anything was recorded.
//
// If the process dies here, the next one brings the files up to the journal.
func (w *work) burst(ctx context.Context, d reprise.Decision) (bool, error) {
	advancer, ok := w.layout.(reprise.Advancer)
	if !ok || w.ref.Kind != reprise.KindGraph || len(w.flights) > 0 || w.choice.Until != "" || d.Action != reprise.Start || d.Verdict == reprise.BlockedVerdict {
		return false, nil
	}
	q := newReady(w.run, w.book.Pick(w.run, d, nil))
	behind, since, any := 0, time.Now(), false
	for u, ok := q.next(); ok && ctx.Err() == nil; u, ok = q.next() {
		a, err := w.book.Assign(w.store, w.run, u)
		if err != nil || a.Local == "" || w.parked[a.Step] != "" {
			continue // the ordinary turn deals with it
		}
		if a.Step == "" {
			a.Step = u.ID
		}
		ev := reprise.Event{Kind: reprise.StepFinished, At: w.Now(), Step: a.Step, Actor: a.Role, Text: a.Local}
		if !advancer.Advance(w.run, ev) {
			break
		}
		if err := w.j.Defer(ev); err != nil {
			return any, err
		}
		any = true
		w.remember(ev)
		w.sum.Finished = append(w.sum.Finished, StepReport{ID: a.Step, Title: u.Title, Text: a.Local})
		q.closed(a.Step)
		if behind++; behind >= burstEvents || time.Since(since) > burstTime {
			if err := w.j.Project(ctx); err != nil {
				return any, err
			}
			w.tell(Progress{Kind: Working})
			behind, since = 0, time.Now()
		}
	}
	if !any {
		return false, nil
	}
	return true, w.j.Project(context.WithoutCancel(ctx))
}

// ready hands out steps of a graph as what they need is closed.
type ready struct {
	run     *reprise.Run
	queue   []reprise.Unit
	waiting map[string]int      // by id, how much of what it needs is open
	needers map[string][]string // by id, who needs it
}

func newReady(r *reprise.Run, first []reprise.Unit) *ready {
	q := &ready{run: r, queue: first, waiting: map[string]int{}, needers: map[string][]string{}}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Status.Closed() {
			continue
		}
		for _, id := range s.Needs {
			if need := r.Step(id); need == nil || !need.Status.Closed() {
				q.waiting[s.ID]++
				q.needers[id] = append(q.needers[id], s.ID)
			}
		}
	}
	return q
}

func (q *ready) next() (reprise.Unit, bool) {
	if len(q.queue) == 0 {
		return reprise.Unit{}, false
	}
	u := q.queue[0]
	q.queue = q.queue[1:]
	return u, true
}

// closed tells that a step is closed; those that waited for it alone are next.
func (q *ready) closed(id string) {
	for _, needer := range q.needers[id] {
		if q.waiting[needer]--; q.waiting[needer] > 0 {
			continue
		}
		if s := q.run.Step(needer); s != nil && s.Status == reprise.Pending {
			q.queue = append(q.queue, reprise.Unit{ID: s.ID, Path: s.Path, Title: s.Title, Phase: s.Phase, Role: s.Role})
		}
	}
	delete(q.needers, id)
}
