package temporal

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/cli"
)

// The branch of a run is moved back to an older commit of the same run: what was accepted since
// is not done again. That is said, and what is named brings the last commit back from a clone
// that never had it. (issue 19)
func TestA_branch_that_was_moved_back(t *testing.T) {
	t.Parallel()
	branch := "refs/heads/" + Branch("r")
	for name, c := range map[string]struct {
		atomic, server, ref bool
	}{
		"the remote keeps the last commit":               {atomic: true, ref: true},
		"the remote cannot change two refs at once":      {ref: true},
		"the server knows it and the remote lost it":     {atomic: true, server: true},
		"the server knows more than the remote has kept": {server: true, ref: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, chain(3))
			if !c.atomic {
				b.git(b.remote, "config", "receive.advertiseAtomic", "false")
			}
			one, two := b.worker("one"), b.worker("two")
			in := b.attempted(one)
			older := b.git(b.remote, "rev-parse", branch)
			l, err := one.land(t.Context(), b.next(), in)
			last := b.git(b.remote, "rev-parse", branch)
			if err != nil || l.Accepted == nil || l.Last != last || b.git(b.remote, "rev-parse", lastOf(branch)) != last {
				t.Fatalf("%+v, %v; the branch is at %s", l, err, last)
			}
			if c.server {
				b.run.Last = l.Last
			}
			if !c.ref {
				b.git(b.remote, "update-ref", "-d", lastOf(branch))
			} else if c.server {
				b.git(b.remote, "update-ref", lastOf(branch), older)
			}
			fresh := filepath.Join(b.dir, "fresh")
			if !c.server {
				b.git(b.remote, "update-ref", branch, older)
			}
			b.git(b.dir, "clone", "-q", "file://"+b.remote, fresh)
			b.git(b.remote, "update-ref", branch, older)
			var moved *NoBranchError
			for _, a := range []*Activities{one, two} {
				_, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run})
				if !isFinal(err) || !errors.As(err, &moved) || moved.Last != last || cli.ExitCode(moved) != 11 {
					t.Fatalf("%v", err)
				}
			}
			if now := b.git(b.remote, "rev-parse", branch); now != older {
				t.Errorf("the branch is at %s", now)
			}
			if c.ref && !c.server {
				f := &Fleet{Clone: fresh, Remote: b.remote}
				if had, err := f.release(t.Context(), "r"); !errors.As(err, &moved) || !strings.HasPrefix(err.Error(), "find r: ") {
					t.Errorf("it was given back: %v, %v", had, err)
				}
				if _, err := f.HandOver(t.Context(), b.run.Ref); !errors.As(err, &moved) {
					t.Errorf("it was handed over: %v", err)
				}
			}
			_, way, _ := strings.Cut(moved.Hint(), "`")
			if out, err := shell(fresh, strings.TrimSuffix(way, "`")); err != nil {
				t.Fatalf("%q: %v %s", way, err, out)
			}
			if d, err := two.decide(t.Context(), b.next(), DecideInput{Run: b.run}); err != nil || len(d.Starts) != 1 || d.Starts[0].Step != "s1" {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}

// A name whose branch was deleted is not that of a new run. (issue 19)
func TestA_name_without_its_branch_is_not_free(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		b := newBench(t, oneStep)
		in := b.attempted(b.worker("one"))
		branch := "refs/heads/" + Branch("r")
		b.git(b.remote, "update-ref", "-d", branch)
		if !kept { // what its attempt pushed tells of it
			b.git(b.remote, "update-ref", "-d", lastOf(branch))
		}
		_, err := (&Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}).Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "r"})
		var gone *NoBranchError
		if !errors.As(err, &gone) || cli.ExitCode(err) != 11 || gone.Kept != kept {
			t.Errorf("kept %v: %v", kept, err)
		}
		if refs := b.git(b.remote, "for-each-ref", branch); refs != "" {
			t.Errorf("%s after %s", refs, in.Start.Step)
		}
	}
}

// The ref of an attempt has what another run left: that is not tried for ever. (issue 19)
func TestAn_attempt_of_another_run_ends_the_turn(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	a := b.worker("one")
	in := b.attempted(a)
	b.git(b.remote, "update-ref", AttemptRef("r", in.Start.Elsewhere), "main")
	_, err := a.land(t.Context(), b.next(), in)
	var foreign *ForeignError
	if !isFinal(err) || !errors.As(err, &foreign) || cli.ExitCode(foreign) != 11 || strings.Contains(err.Error(), "%!") {
		t.Errorf("%v", err)
	}
}
