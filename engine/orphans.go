package engine

import (
	"fmt"
	"path/filepath"
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
	err := &OrphansError{Held: held}
	for _, p := range who {
		err.Who = append(err.Who, fmt.Sprintf("%d (%s)", p.PID, p.Name))
	}
	return err
}
