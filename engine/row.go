package engine

import (
	"context"
	"time"

	"reprise"
)

// How many events, and for how long, may be ahead of the layout's files while steps
// without an agent are recorded.
const (
	rowEvents = 1024
	rowTime   = 250 * time.Millisecond
)

// recordRow records steps without an agent one after the other, each durable in the
// journal before the next, without reading the run again for each. The layout's files
// follow in groups.
//
// If the process dies here, the next one brings the files up to the journal.
func (w *work) recordRow(ctx context.Context) error {
	tracker := w.layout.(reprise.Tracker)
	var track reprise.Track
	since, before := time.Now(), w.hist.Events
	for ctx.Err() == nil {
		a, ok := w.local()
		if !ok {
			break
		}
		if track == nil {
			track = tracker.Track(w.led.Files(), w.run)
		}
		ev := reprise.Event{Kind: reprise.StepFinished, At: w.Now(), Step: a.Step, Actor: a.Role, Text: a.Local}
		if ok, err := w.led.Defer(ctx, track, ev); err != nil {
			return err
		} else if !ok {
			break
		}
		w.remember(&ev)
		w.sum.Finished = append(w.sum.Finished, StepReport{ID: a.Step, Title: a.Unit.Title, Text: a.Local})
		if w.led.Deferred() >= rowEvents || time.Since(since) > rowTime {
			if err := w.led.Project(ctx); err != nil {
				return err
			}
			w.tell(Progress{Kind: Working})
			since = time.Now()
		}
	}
	if w.hist.Events == before {
		w.StuckRow = before + 1
	}
	return w.led.Project(context.WithoutCancel(ctx))
}

// local finds a unit that may be started, needs no agent and can be recorded in a row.
func (w *work) local() (reprise.Assignment, bool) {
	if _, tracks := w.layout.(reprise.Tracker); !tracks || len(w.run.Owed) > 0 {
		return reprise.Assignment{}, false
	}
	for _, u := range w.run.Next {
		a, err := w.assign(u)
		if err != nil || a.Local == "" || len(w.answersFor(a)) > 0 || w.run.Step(a.Step).Tried() {
			continue // the ordinary turn deals with it
		}
		return a, true
	}
	return reprise.Assignment{}, false
}
