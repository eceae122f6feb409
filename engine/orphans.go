package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/proc"
)

// abandoned reports whether the one who took the lease is dead for sure, so that
// only what it started can hold the project.
func (e *Engine) abandoned(h durable.Holder) bool {
	if h.PID == 0 {
		return false
	}
	if self, err := proc.Self(); err == nil && h.PID == self.PID && h.StartTicks == self.StartTicks {
		// We gave it back a moment ago; a process that is just being started
		// holds every file of ours until it becomes the program it is to be.
		return true
	}
	life := proc.Look(reprise.Owner{Host: h.Host, BootID: h.BootID, PID: h.PID, StartTicks: h.StartTicks}, e.Now())
	return life.Life == reprise.Dead
}

// holders are the processes that keep the lease of a dead engine.
func (e *Engine) holders() []proc.Process {
	return proc.Holders(filepath.Join(e.Dir, filepath.FromSlash(durable.LockPath)))
}

// stopOrphans ends what a dead engine left, each process only if it still is the
// one that was found.
func (e *Engine) stopOrphans() error {
	left := proc.Stop(e.grace(), e.holders()...)
	if len(left) > 0 {
		return fmt.Errorf("stop what still runs: process %d (%s) does not end", left[0].PID, left[0].Name)
	}
	return nil
}

func (e *Engine) grace() time.Duration {
	if e.Settings != nil && e.Settings.Grace > 0 {
		return e.Settings.Grace
	}
	return 10 * time.Second
}

func orphans(held *durable.HeldError, who []proc.Process) error {
	return &OrphansError{Held: held, Who: names(who)}
}

// heldFor is how long a dying engine is given to let go of the project: its
// agents hold the lease until they are stopped.
const heldFor = 5 * time.Second

// take opens the project and takes its lease. An engine that was killed leaves
// agents that are being stopped; they are waited for, a live holder is not.
func (e *Engine) take(ctx context.Context) (*durable.Store, *durable.Report, error) {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now, Disk: e.Disk})
	if err != nil {
		return nil, nil, err
	}
	v := e.newVigil()
	for {
		report, err := store.Take(ctx)
		var held *durable.HeldError
		if err == nil && report.PendingUndo != "" {
			// Half of what is there is of another time.
			reason := fmt.Sprintf("an undo was begun here and not ended; `reprise undo %s` ends it", report.PendingUndo)
			return nil, nil, errors.Join(&UnsafeError{Run: "anything here", Reasons: []string{reason}}, store.Release())
		}
		if !errors.As(err, &held) {
			return store, report, err
		}
		if !e.abandoned(held.Holder) {
			return nil, nil, err
		}
		if err := v.wait(ctx, held); err != nil {
			return nil, nil, err
		}
	}
}

// Await waits until what a dead engine left running has let go of the project, as
// whatever takes the project does, and changes nothing. The error is an
// *OrphansError if that takes too long.
func (e *Engine) Await(ctx context.Context) error {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: true, Adopt: true, Now: e.Now, Disk: e.Disk})
	if err != nil {
		return err
	}
	defer store.Release()
	v := e.newVigil()
	for {
		h, err := store.Who()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !e.abandoned(h) || len(e.holders()) == 0 {
			return nil
		}
		if err := v.wait(ctx, &durable.HeldError{Path: durable.LockPath, Holder: h}); err != nil {
			return err
		}
	}
}

// vigil is the wait for what a dead engine left running.
type vigil struct {
	*Engine
	began, deadline time.Time
	told            bool
}

// tellAfter is how long nothing is said of it.
const tellAfter = time.Second

func (e *Engine) newVigil() *vigil {
	now := time.Now()
	return &vigil{Engine: e, began: now, deadline: now.Add(heldFor)}
}

// wait lets a moment pass, and says once what is waited for. When the time is over,
// what still runs is stopped or refused, as the engine is told.
func (v *vigil) wait(ctx context.Context, held *durable.HeldError) error {
	now := time.Now()
	if now.After(v.deadline) {
		if !v.StopOrphans || held.Holder.PID == os.Getpid() {
			return orphans(held, v.holders())
		}
		if err := v.stopOrphans(); err != nil {
			return err
		}
		v.deadline = time.Now().Add(heldFor)
	}
	if !v.told && now.Sub(v.began) > tellAfter && v.Tell != nil {
		v.told = true
		v.Tell(Progress{
			Kind: Noticed, At: v.Now(), Done: -1,
			Text: "waits for what a reprise that is gone left running: " + strings.Join(names(v.holders()), ", "),
		})
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

func names(who []proc.Process) (out []string) {
	for _, p := range who {
		out = append(out, fmt.Sprintf("%d (%s)", p.PID, p.Name))
	}
	return out
}
