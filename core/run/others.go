//go:build unix

package run

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"reprise/core"
	"reprise/core/hands"
	"reprise/core/journal"
)

// findOthers opens the other runs of this checkout that have an attempt without an end. While
// this engine has the project no run begins another one.
func (e *Engine) findOthers() error {
	dirs, err := runDirs(e.Repo.Top)
	if err != nil {
		return err
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if dir == e.dir {
			continue
		}
		state, err := journal.Peek(dir)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("run %s: %w", filepath.Base(dir), err)
		}
		if !slices.ContainsFunc(state.Open, func(s *core.Start) bool { return s.Inner == "" }) {
			continue
		}
		other := &Engine{Config: e.Config, Repo: e.Repo, below: dirs[dir], dir: dir, seen: map[hands.Attempt]bool{}}
		other.Used, other.Budget, other.Recorded = nil, nil, nil // they are of this run
		other.Run, other.Plan = state.Run.Run, state.Run.Plan
		if other.Judge = nil; e.Other != nil {
			other.Convention, other.Judge = e.Other(state.Run)
		}
		other.Journal = &journal.Journal{State: state}
		e.Repo.Always = append(e.Repo.Always, other.plan())
		e.others = append(e.others, other)
	}
	return nil
}

// settleOthers says what the other runs of this checkout have in it that is not settled, "" if
// nothing is. An attempt whose end shows by itself is recorded and committed, as its own
// engine would; nothing else is decided for another run.
func (e *Engine) settleOthers(ctx context.Context) (why string, err error) {
	for len(e.others) > 0 {
		other := e.others[0]
		v, err := other.look(ctx)
		if err != nil {
			return "", err
		}
		switch d := core.Next(v).(type) {
		case core.WaitFor:
			if !e.Repo.Looking() && other.leaves() {
				continue
			}
			return fmt.Sprintf("an agent of run %s is at work here", other.Run), nil
		case core.EndAttempt:
			if d.Outcome != core.Done || e.Repo.Looking() {
				return other.unsettled(), nil
			}
			if other.Journal, err = journal.Open(other.dir); err != nil {
				return "", err
			}
			err = other.end(ctx, d, v)
			other.Journal.Close()
			if err != nil {
				return "", err
			}
		default:
			return other.unsettled(), nil
		}
		e.others, e.at = e.others[1:], ""
	}
	return "", nil
}

// leaves reports whether one of the attempts of a run whose engine died ends in the time that
// its keeper needs for it.
func (e *Engine) leaves() bool {
	var alive []hands.Attempt
	for _, open := range e.state().Open {
		if a := e.attempt(open); a.Alive() {
			alive = append(alive, a)
		}
	}
	for began := time.Now(); time.Since(began) < orphaned; time.Sleep(lookEvery / 10) {
		for _, a := range alive {
			if !a.Alive() {
				e.seen[a] = true
				return true
			}
		}
	}
	return len(alive) == 0
}

func (e *Engine) unsettled() string {
	return fmt.Sprintf("run %s has work in this folder that was cut off: resume it first, or work in a folder of its own", e.Run)
}
