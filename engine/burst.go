package engine

import (
	"context"
	"time"

	"reprise"
)

// How many events, and for how long, may be ahead of the layout's files while
// steps are recorded that need nobody.
const (
	burstEvents = 1024
	burstTime   = 250 * time.Millisecond
)

// burst records steps that need nobody, one after the other, each durable in the
// journal before the next, without reading the whole run again for every one. The
// layout's files follow in groups. It reports whether anything was recorded.
//
// If the process dies here, the next one brings the files up to the journal.
func (w *work) burst(ctx context.Context, d reprise.Decision) (bool, error) {
	tracker, tracks := w.layout.(reprise.Tracker)
	j, ok := w.led.(*journaled)
	if !ok || !tracks || len(w.flights) > 0 || w.choice.Until != "" || d.Action != reprise.Start || d.Verdict == reprise.BlockedVerdict {
		return false, nil
	}
	var track reprise.Track
	any, since := false, time.Now()
	for ctx.Err() == nil {
		a, ok := w.local()
		if !ok {
			break
		}
		if track == nil {
			track = tracker.Track(w.store, w.run)
		}
		ev := reprise.Event{Kind: reprise.StepFinished, At: w.Now(), Step: a.Step, Actor: a.Role, Text: a.Local}
		if ok, err := j.Defer(ctx, track, ev); err != nil {
			return false, err
		} else if !ok {
			break
		}
		any = true
		w.remember(&ev)
		w.sum.Finished = append(w.sum.Finished, StepReport{ID: a.Step, Title: a.Unit.Title, Text: a.Local})
		if j.Deferred() >= burstEvents || time.Since(since) > burstTime {
			if err := j.Project(ctx); err != nil {
				return false, err
			}
			w.tell(Progress{Kind: Working})
			since = time.Now()
		}
	}
	return any, j.Project(context.WithoutCancel(ctx))
}

// local finds a unit among those that may be started that needs nobody.
func (w *work) local() (reprise.Assignment, bool) {
	for _, u := range w.run.Next {
		a, err := w.assign(u)
		if err != nil || a.Local == "" || len(w.answersFor(a)) > 0 {
			continue // the ordinary turn deals with it
		}
		return a, true
	}
	return reprise.Assignment{}, false
}
