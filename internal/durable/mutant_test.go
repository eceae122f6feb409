package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

// cheap is the number of harnesses that are always run; of the others, those
// up to the first that kills.
const cheap = 3

// first names the harness to begin with where it is not a crash that kills.
var first = map[string]string{
	"anchor not compared": "damage", "damage before the tail is cut off": "damage", "no checksum": "damage",
	"errors ignored": "fail", "recovery syncs again instead of rewriting": "fail", "recovery trusts the cache": "kill+cut",
}

// ordered gives the harnesses in the order in which they are tried.
func ordered(fault string) []harness {
	all := harnesses()
	slices.SortStableFunc(all[cheap:], func(a, b harness) int {
		rank := func(h harness) int {
			if h.name == first[fault] {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return all
}

// harness looks for one class of faults and says what it found first.
type harness struct {
	name string
	run  func(t *testing.T, fault string) string
}

// exploring runs all scenarios under one kind of fault.
func exploring(cfg crashfs.Config) func(*testing.T, string) string {
	cfg.Enough, cfg.Limit = 1, 2000
	return func(_ *testing.T, fault string) string {
		for _, sc := range mutantScenarios(fault) {
			if r := crashfs.Explore(sc, cfg); len(r.Bad) > 0 {
				return sc.Name + ": " + r.Bad[0]
			}
		}
		return ""
	}
}

// mutantScenarios are the small ones: a mutant that needs more is a gap.
func mutantScenarios(fault string) []crashfs.Scenario {
	return []crashfs.Scenario{
		replaceScenario(fault), leaseScenario(fault), archiveScenario(fault), conflictScenario(fault),
		logScenario("append", fault, 2, 0, payload), groupScenario(fault, 1), logScenario("large payloads", fault, 1, 0, big), tornScenario(fault),
	}
}

func harnesses() []harness {
	return []harness{
		{"lease", func(_ *testing.T, fault string) string { return text(leaseCheck(fault)) }},
		{"edit", func(_ *testing.T, fault string) string { return text(editCheck(fault)) }},
		{"stale", func(_ *testing.T, fault string) string { return text(staleCheck(fault)) }},
		{"cut", exploring(crashfs.Config{NoDeep: true, NoKill: true, NoFail: true})},
		{"kill+cut", exploring(crashfs.Config{NoCut: true, NoDeep: true, NoFail: true})},
		{"fail", exploring(crashfs.Config{NoCut: true, NoDeep: true, NoKill: true})},
		{"damage", func(t *testing.T, fault string) string {
			if _, bad := sweepUnanchored(t, fault); bad != "" {
				return bad
			}
			_, _, bad := sweepDamage(t, fault, 11, 1)
			return strings.Join(bad, "")
		}},
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// leaseCheck looks who may take the lease: the pid in the lock decides nothing.
func leaseCheck(fault string) (err error) {
	d := crashfs.New()
	dead, _, err := taken(d, testOptions(fault))
	if err != nil {
		return err
	}
	// The holder is gone, and its pid belongs to a process that lives: this one.
	d.Restart()
	next, _, err := taken(d, testOptions(fault))
	if err != nil {
		return fmt.Errorf("a dead holder blocks: %w", err)
	}
	var held *durable.HeldError
	if _, _, err := taken(d, testOptions(fault)); !errors.As(err, &held) || held.Holder.PID != os.Getpid() {
		return fmt.Errorf("a live holder is robbed: %v", err)
	}
	_ = dead
	return next.Release()
}

// editCheck looks whether an edit respects what others do.
func editCheck(fault string) error {
	d := crashfs.New()
	d.Put("a.md", []byte("one"), 0o644)
	if err := d.Symlink("a.md", "link.md"); err != nil {
		return err
	}
	d.Settle()
	s, _, err := taken(d, testOptions(fault))
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

func TestMutants_are_killed(t *testing.T) {
	t.Parallel()
	for _, h := range harnesses() {
		if found := h.run(t, ""); found != "" {
			t.Errorf("%s finds a fault where there is none: %s", h.name, found)
		}
	}
	if raceEnabled || testing.Short() {
		t.Log("the harnesses pass the unchanged store; the mutants run without -race")
		return
	}
	for _, fault := range durable.Faults() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			var killers []string
			shown := ""
			for i, h := range ordered(fault) {
				if i >= cheap && len(killers) > 0 {
					break
				}
				if found := h.run(t, fault); found != "" {
					killers = append(killers, h.name)
					if shown == "" {
						shown = found
					}
				}
			}
			if len(killers) == 0 {
				t.Fatal("it survives")
			}
			t.Logf("killed by %s: %.160s", strings.Join(killers, ", "), shown)
		})
	}
}
