package journal

import (
	"context"
	"errors"
	"fmt"

	"reprise"
)

// projection is the payload of a record of kind files: that the first Events of
// the deferred events that still wait are on their way into these files, or that
// they are Left out because someone else changed the files.
type projection struct {
	Events int     `json:"events"`
	Files  []Touch `json:"files,omitempty"`
	Left   bool    `json:"left,omitempty"`
	// Again tells that the files did not follow the record before: its events
	// wait still.
	Again bool `json:"again,omitempty"`
}

// Defer records an event about a tracked run: it moves the run on and makes the
// event durable in the journal, and leaves the files to Project. It reports
// false, and has done nothing, where the run cannot be moved on in memory; then
// the event is for Record, and the run to be read again.
//
// If the process dies before Project, CatchUp of the next one brings the files up
// to every event that was deferred, in order.
func (j *Journal) Defer(ctx context.Context, t reprise.Track, ev reprise.Event) (bool, error) {
	if j.pending != nil && j.pending != t {
		if err := j.Project(ctx); err != nil {
			return false, err
		}
	}
	if !t.Advance(ev) {
		return false, nil
	}
	// crash: before-deferred
	if err := j.append(Entry{Event: ev, Deferred: true}); err != nil {
		return false, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	// crash: event-deferred
	j.pending = t
	return true, nil
}

// Deferred counts the events that are not in the files yet.
func (j *Journal) Deferred() int { return len(j.trail.waiting) }

// changes bounds how often someone else may change a file while we are about to.
const changes = 8

// Project brings the layout's files up to date with the deferred events, all of them or
// none. It must run before anyone reads the files to learn the run's state.
func (j *Journal) Project(ctx context.Context) error {
	if j.pending == nil {
		return nil
	}
	var err error
	for range changes {
		var edits []reprise.Edit
		if edits, err = j.pending.Edits(j.store); err != nil {
			return err
		}
		if err = j.carry(ctx, len(j.trail.waiting), edits); !errors.Is(err, reprise.ErrChanged) {
			break
		}
		// The addition was for another content; the events still wait.
		j.trail.takeBack()
	}
	if err != nil {
		return fmt.Errorf("project %d events: %w", len(j.trail.waiting), err)
	}
	j.pending.Told()
	j.pending = nil
	return nil
}

// carry tells the journal that the first n deferred events are on their way into
// the files, and then the files.
func (j *Journal) carry(ctx context.Context, n int, edits []reprise.Edit) error {
	files, err := j.touches(edits)
	if err != nil {
		return err
	}
	if err := j.tell(projection{Events: n, Files: files}); err != nil {
		return err
	}
	// crash: projection-recorded
	if len(edits) == 0 {
		return nil
	}
	if err := j.store.Apply(ctx, edits); err != nil {
		return err
	}
	// crash: projected
	return nil
}
