package temporal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

// hook has the remote do something when the branch of a run is pushed: pre-receive or post-receive.
func (s *shared) hook(name, do string) {
	s.Helper()
	text := "#!/bin/sh\nwhile read old new ref; do case $ref in refs/heads/reprise/*) " + do + ";; esac; done\n"
	if err := os.WriteFile(filepath.Join(s.remote, "hooks", name), []byte(text), 0o755); err != nil {
		s.Fatal(err)
	}
}

// cutOff does something that is cut off once the remote has taken the push.
func (s *shared) cutOff(do func(context.Context) error) error {
	s.Helper()
	arrived := filepath.Join(s.TempDir(), "arrived")
	s.hook("post-receive", "touch '"+arrived+"'; until [ -e '"+arrived+".cut' ]; do sleep 0.05; done")
	defer s.hook("post-receive", "")
	ctx, cut := context.WithCancel(s.Context())
	go func() {
		for s.Context().Err() == nil {
			if _, err := os.Stat(arrived); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cut()
		_ = os.WriteFile(arrived+".cut", nil, 0o644)
	}()
	return do(ctx)
}

// A run that is begun on the fleet or handed to it leaves a clone in which nothing of it is started,
// whoever looks, if that is cut off while the remote takes the push; the same command again settles it.
// One that the remote refuses leaves the clone as it was. (issue 19)
func TestA_hand_over_that_is_cut_off_blocks_the_clone_until_it_is_settled(t *testing.T) {
	t.Parallel()
	list := reprise.Goal{Path: "specs/003-z/tasks.md"}
	begins := func(what string, g reprise.Goal) func(*shared, context.Context) error {
		return func(s *shared, ctx context.Context) error {
			_, err := s.fleet.Begin(ctx, what, g)
			return err
		}
	}
	for name, c := range map[string]struct {
		with  func(s *shared)
		do    func(*shared, context.Context) error
		local func(*shared, *engine.Engine) (*engine.Preview, error) // the same on this machine
	}{
		"begun here": {
			func(s *shared) { s.run.Ref = s.begunHere("loc"); s.saved("loc") },
			func(s *shared, ctx context.Context) error {
				_, err := s.fleet.HandOver(ctx, s.run.Ref)
				return err
			},
			func(s *shared, e *engine.Engine) (*engine.Preview, error) {
				return e.Preview(s.Context(), s.run.Ref, engine.Choice{})
			},
		},
		"a workflow": {
			func(*shared) {},
			begins("flow.yaml", reprise.Goal{ID: "new"}),
			func(s *shared, e *engine.Engine) (*engine.Preview, error) {
				wf, hash, err := engine.ReadFlow(filepath.Join(s.clone, "flow.yaml"))
				if err != nil {
					return nil, err
				}
				return e.PreviewFlow(s.Context(), wf, "flow.yaml", hash, reprise.Goal{ID: "new"}, engine.Choice{})
			},
		},
		"a list of tasks": {
			func(s *shared) { s.listed() },
			begins("tasks", list),
			func(s *shared, e *engine.Engine) (*engine.Preview, error) {
				return e.PreviewBegin(s.Context(), "speckit", "tasks", list, engine.Choice{})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShared(t)
			c.with(s)
			starts := func() bool {
				e, err := trusted{all: true}.engineFor(s.clone, time.Now)
				if err != nil {
					t.Fatal(err)
				}
				p, err := c.local(s, e)
				return err == nil && len(p.Starts) > 0
			}
			do := func(ctx context.Context) error { return c.do(s, ctx) }
			if !starts() {
				t.Fatal("nothing is to be done")
			}
			s.hook("pre-receive", "exit 1")
			if err := do(t.Context()); err == nil || !starts() {
				t.Fatalf("refused: %v, it starts: %v", err, starts())
			}
			s.hook("pre-receive", "")
			if err := s.cutOff(do); err == nil || starts() {
				t.Fatalf("cut off: %v, it starts: %v", err, starts())
			}
			if err := do(t.Context()); err != nil || starts() {
				t.Errorf("again: %v, it starts: %v", err, starts())
			}
		})
	}
}

// What is finished is not put on the fleet, whether it was begun here or only its files say so: the
// answer is that of plain reprise, and nothing is pushed. (issue 19)
func TestWhat_is_finished_is_not_put_on_the_fleet(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	s.listed()
	tasks := filepath.Join(s.clone, "specs", "003-z", "tasks.md")
	if err := os.WriteFile(tasks, []byte("# Tasks\n\n- [x] T001 Make one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	local := s.begunHere("loc")
	if _, err := s.here(local, ""); err != nil {
		t.Fatal(err)
	}
	s.saved("finished")
	refs := s.git(s.remote, "for-each-ref")
	listed, err := s.fleet.findIn(t.Context(), s.clone, "003-z")
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() (Begun, error){
		"run a list": func() (Begun, error) {
			return s.fleet.Begin(t.Context(), "tasks", reprise.Goal{Path: "specs/003-z/tasks.md"})
		},
		"run by name":   func() (Begun, error) { return s.fleet.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "loc"}) },
		"resume a list": func() (Begun, error) { return s.fleet.Resume(t.Context(), listed, engine.Choice{}) },
		"resume":        func() (Begun, error) { return s.fleet.Resume(t.Context(), local, engine.Choice{}) },
	} {
		run, err := do()
		if over, is := errors.AsType[*OverError](err); !is || over.State != reprise.Complete.String() || run.ID == "" {
			t.Errorf("%s: %+v, %v", name, run, err)
		}
	}
	if now := s.git(s.remote, "for-each-ref"); now != refs {
		t.Errorf("the remote has %s", now)
	}
}
