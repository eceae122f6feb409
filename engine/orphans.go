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

// abandoned reports whether the holder of the lease is certainly dead, so that only what
// it started holds the project.
func (e *Engine) abandoned(h durable.Holder) bool {
	if h.PID == 0 {
		return false
	}
	if self, err := proc.Self(); err == nil && h.PID == self.PID && h.StartTicks == self.StartTicks {
		// We released it a moment ago; a process being started holds all our files until
		// it executes its program.
		return true
	}
	life := proc.Look(reprise.Owner{Host: h.Host, BootID: h.BootID, PID: h.PID, StartTicks: h.StartTicks}, e.Now())
	return life.Life == reprise.Dead
}

// holders are the processes that attempts of a dead engine left running. Most hold its
// lease; one that closed its files does not, and still works.
func (e *Engine) holders() []proc.Process {
	return proc.Holders(filepath.Join(e.Dir, filepath.FromSlash(durable.LockPath)), e.Dir)
}

// stopOrphans stops what a dead engine left running. Each process is checked to be the
// one that was found. It stops no one if a live process has taken the project meanwhile:
// what is at work then is that one's.
func (e *Engine) stopOrphans(dead durable.Holder) error {
	found := e.holders()
	for _, p := range found {
		if p.Took == 0 || p.Took == dead.PID || p.Took == os.Getpid() {
			continue
		}
		if _, err := proc.Running(p.Took); err == nil {
			return nil
		}
	}
	left := proc.Stop(e.grace(), found...)
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

// heldFor is how long a dead engine's agents may take to release the project.
const heldFor = 5 * time.Second

// take opens the project and takes its lease. It waits for everything that a killed
// engine started, so that no attempt is at work twice, but not for a live holder.
func (e *Engine) take(ctx context.Context) (*durable.Store, *durable.Report, error) {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now, Disk: e.Disk})
	if err != nil {
		return nil, nil, err
	}
	v := e.newOrphanWait()
	report, err := store.Take(ctx)
	for {
		held, busy := errors.AsType[*durable.HeldError](err)
		if !busy || !e.abandoned(held.Holder) {
			break
		}
		if err := v.wait(ctx, held); err != nil {
			return nil, nil, err
		}
		report, err = store.Take(ctx)
	}
	if half := store.Whole(); err == nil && half != nil {
		err = errors.Join(halfUndone(half), store.Release())
	}
	for err == nil && len(proc.Holders("", e.Dir)) > 0 {
		// The lease is ours: what still works closed its files.
		if stays := v.wait(ctx, &durable.HeldError{Path: durable.LockPath}); stays != nil {
			err = errors.Join(stays, store.Release())
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return store, report, nil
}

// halfUndone refuses to work on files that are half of another time.
func halfUndone(half error) error {
	return &UnsafeError{Run: "anything here", Reasons: []string{half.Error()}}
}

// Await waits until what a dead engine left running has released the project. It changes
// nothing. The error is an *OrphansError if that takes too long.
func (e *Engine) Await(ctx context.Context) error {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: true, Adopt: true, Now: e.Now, Disk: e.Disk})
	if err != nil {
		return err
	}
	defer store.Release()
	v := e.newOrphanWait()
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

// orphanWait is the wait for what a dead engine left running.
type orphanWait struct {
	*Engine
	began, deadline time.Time
	told            bool
}

// tellAfter is how long the wait stays silent.
const tellAfter = time.Second

func (e *Engine) newOrphanWait() *orphanWait {
	now := time.Now()
	return &orphanWait{Engine: e, began: now, deadline: now.Add(heldFor)}
}

// wait sleeps for a moment, and reports once what it waits for. When the time is over, it
// stops what still runs, or refuses, as the engine is set.
func (v *orphanWait) wait(ctx context.Context, held *durable.HeldError) error {
	now := time.Now()
	if now.After(v.deadline) {
		if !v.StopOrphans || held.Holder.PID == os.Getpid() {
			return &OrphansError{Held: held, Who: names(v.holders())}
		}
		if err := v.stopOrphans(held.Holder); err != nil {
			return err
		}
		v.deadline = time.Now().Add(heldFor)
	}
	if !v.told && now.Sub(v.began) > tellAfter && v.Tell != nil {
		v.told = true
		v.Tell(Progress{
			Kind: Noticed, At: v.Now(), Done: -1,
			Text: "waiting for processes that a dead reprise left running: " + strings.Join(names(v.holders()), ", "),
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
