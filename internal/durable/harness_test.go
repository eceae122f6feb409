package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

// harnessEnv lets the larger harnesses run, too; `make mutants` sets it.
const harnessEnv = "REPRISE_HARNESS"

// harness looks for one class of faults and says what it found first.
type harness struct {
	name string
	run  func(t *testing.T) string
}

// harnesses are what internal/mutants tries its faults of this package with. The first
// are cheap; the others look at the states that the larger tests of this package look at,
// but fewer.
func harnesses() []harness {
	return []harness{
		{"lease", func(*testing.T) string { return text(leaseCheck()) }},
		{"edit", func(*testing.T) string { return text(editCheck()) }},
		{"stale", func(*testing.T) string { return text(staleCheck()) }},
		{"cut", exploring(crashfs.Config{NoDeep: true, NoKill: true, NoFail: true})},
		{"kill+cut", exploring(crashfs.Config{NoCut: true, NoDeep: true, NoFail: true})},
		{"fail", exploring(crashfs.Config{NoCut: true, NoDeep: true, NoKill: true})},
		{"damage", func(t *testing.T) string {
			if _, bad := sweepUnanchored(t, func(int) bool { return true }); bad != "" {
				return bad
			}
			_, _, bad := sweepDamage(t, 11, 0, 1)
			return strings.Join(bad, "")
		}},
	}
}

// cheap is how many of the harnesses are always run.
const cheap = 3

// TestHarness runs each harness on this package as it was built. Whoever builds it
// with a mutant expects the one to fail that is to find it.
func TestHarness(t *testing.T) {
	t.Parallel()
	for i, h := range harnesses() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			if i >= cheap && os.Getenv(harnessEnv) == "" {
				t.Skip("the larger tests of this package look at the same states")
			}
			if found := h.run(t); found != "" {
				t.Errorf("found: %.300s", found)
			}
		})
	}
}

// exploring runs the small scenarios under one kind of fault: a mutant that needs
// more than those is a gap.
func exploring(cfg crashfs.Config) func(*testing.T) string {
	cfg.Enough, cfg.Limit = 1, 2000
	return func(*testing.T) string {
		for _, sc := range []crashfs.Scenario{
			replaceScenario(), leaseScenario(), archiveScenario(), logScenario("append", 2, 0, payload),
			groupScenario(1), logScenario("large payloads", 1, 0, big), tornScenario(), conflictScenario(),
		} {
			if r := crashfs.Explore(sc, cfg); len(r.Bad) > 0 {
				return sc.Name + ": " + r.Bad[0]
			}
		}
		return ""
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// leaseCheck looks who may take the lease: the pid in the lock decides nothing.
func leaseCheck() (err error) {
	d := crashfs.New()
	dead, _, err := taken(d, testOptions())
	if err != nil {
		return err
	}
	// The holder is gone, and its pid belongs to a process that lives: this one.
	d.Restart()
	next, _, err := taken(d, testOptions())
	if err != nil {
		return fmt.Errorf("a dead holder blocks: %w", err)
	}
	var held *durable.HeldError
	if _, _, err := taken(d, testOptions()); !errors.As(err, &held) || held.Holder.PID != os.Getpid() {
		return fmt.Errorf("a live holder is robbed: %v", err)
	}
	_ = dead
	return next.Release()
}

// editCheck looks whether an edit respects what others do.
func editCheck() error {
	d := crashfs.New()
	d.Put("a.md", []byte("one"), 0o644)
	if err := d.Symlink("a.md", "link.md"); err != nil {
		return err
	}
	d.Settle()
	s, _, err := taken(d, testOptions())
	if err != nil {
		return err
	}
	defer s.Release()
	d.Put("a.md", []byte("somebody else's"), 0o644)
	var changed *reprise.ChangedError
	if err := s.Replace("a.md", reprise.HashOf([]byte("one")), []byte("two")); !errors.As(err, &changed) {
		return fmt.Errorf("written over a change: %v", err)
	}
	var odd *durable.NotRegularError
	err = s.Apply(context.Background(), []reprise.Edit{{Path: "link.md", Content: []byte("two")}})
	if !errors.As(err, &odd) && !errors.As(err, &changed) {
		return fmt.Errorf("a link was replaced: %v", err)
	}
	if info, _ := d.Stat("link.md"); info.Regular() {
		return errors.New("a link was replaced")
	}
	return nil
}
