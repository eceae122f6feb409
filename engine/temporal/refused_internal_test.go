package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"

	"reprise/engine"
	"reprise/report"
)

// refuse has the remote refuse pushes to refs that begin with a prefix.
func (b *bench) refuse(prefix string) {
	b.Helper()
	hook := fmt.Sprintf("#!/bin/sh\nwhile read old new ref; do case $ref in %s*) echo 'policy 17 forbids it'; exit 1;; esac; done\n", prefix)
	if err := os.MkdirAll(filepath.Join(b.remote, "hooks"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.remote, "hooks", "pre-receive"), []byte(hook), 0o755); err != nil {
		b.Fatal(err)
	}
}

// lastsAs wants an error that is not tried again and says why the remote refuses. The server
// looks at the outermost error alone.
func (b *bench) lastsAs(what string, err error) {
	b.Helper()
	app, is := err.(*temporal.ApplicationError) //nolint:errorlint // not at what it wraps
	if !is || !app.NonRetryable() || app.Type() != "exit-11" || !strings.Contains(app.Message(), "policy 17 forbids it") {
		b.Errorf("%s: %v", what, err)
	}
}

// lost lands an attempt that told no end.
func (b *bench) lost(a *Activities, s Start, err error) {
	b.Helper()
	in := LandInput{Run: b.run, Start: s, Final: isFinal(err)}
	in.Lost, in.Failed = whyLost(err)
	in.Kept, in.Where = isKept(err)
	if l, err := a.land(b.Context(), b.next(), in); err != nil || l.Late || l.Accepted != nil {
		b.Fatalf("%+v, %v", l, err)
	}
}

// A push that the remote refuses is not tried again: the branch as little as the ref of an
// attempt, whose work the worker keeps. (issue 19)
func TestA_push_that_the_remote_refuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	a := b.worker("one")
	d := b.decided(a)
	b.refuse("refs/reprise/")
	_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: d.Starts[0]}, &words{})
	b.lastsAs("an attempt", err)
	mirror := filepath.Join(a.Mirror.Dir, "mirror.git")
	kept := b.git(mirror, "for-each-ref", "--format=%(refname)", "refs/kept/refused/")
	if kept == "" || !strings.Contains(err.Error(), kept+" in "+mirror) || !strings.Contains(b.git(mirror, "ls-tree", "--name-only", kept), "a.txt") {
		t.Errorf("the work is not kept as %q: %v", kept, err)
	}
	// It ended, and says why.
	lost, failed := whyLost(err)
	l, err := a.land(t.Context(), b.next(), LandInput{Run: b.run, Start: d.Starts[0], Lost: lost, Failed: failed})
	if err != nil || l.Late || l.Accepted != nil {
		t.Errorf("%+v, %v", l, err)
	}
	b.refuse("refs/heads/reprise/")
	// Git packs the refs of a mirror at any time: what is kept is pushed all the same.
	b.git(mirror, "pack-refs", "--all", "--prune")
	a.pushKept(t.Context())
	if b.git(b.remote, "for-each-ref", "refs/reprise/r/") == "" || b.git(mirror, "for-each-ref", keptRefs) != "" {
		t.Error("what was kept is not on the remote once it may be")
	}
	_, err = a.decide(t.Context(), b.next(), DecideInput{Run: b.run})
	b.lastsAs("a decision", err)
	_, err = a.decide(t.Context(), b.next(), DecideInput{Run: b.run, Stop: true})
	if err != nil {
		b.lastsAs("stopping", err)
	}
}

// An attempt whose push the remote refuses was started: what is told of it says nothing else.
// (issue 19)
func TestA_refused_push_is_no_failed_start(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	a := b.worker("one")
	d := b.decided(a)
	b.refuse("refs/reprise/")
	_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: d.Starts[0]}, &words{})
	in := LandInput{Run: b.run, Start: d.Starts[0], Final: isFinal(err), Decide: true}
	in.Kept, in.Where = isKept(err)
	in.Lost, in.Failed = whyLost(err)
	l, err := a.land(t.Context(), b.next(), in)
	if err != nil || l.Next == nil {
		t.Fatalf("%+v, %v", l, err)
	}
	text, err := json.Marshal(l.Next)
	if err != nil || !strings.Contains(string(text), "cannot go on: push ") || !strings.Contains(string(text), "policy 17 forbids it") || strings.Contains(string(text), "cannot be started") {
		t.Errorf("%s, %v", text, err)
	}
}

// A person who has one step done again, whose work is lost with its worker, does not have another
// one done again that does not rest on it. (issue 19)
func TestWhat_was_refused_is_not_done_again_with_another_step(t *testing.T) {
	t.Parallel()
	b := newBench(t, `name: r
parallel: 2
steps:
  - {id: a, command: [sh, -c, 'echo a > a.txt'], outputs: [a.txt]}
  - {id: b, command: [sh, -c, 'echo $REPRISE_ATTEMPT > b.txt'], outputs: [b.txt]}
  - {id: c, needs: [a, b], command: [sh, -c, 'cat a.txt b.txt > c.txt'], outputs: [c.txt]}
`)
	b.run.Parallel = 2
	starts := func(a *Activities) []Start {
		t.Helper()
		d, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run})
		if err != nil || len(d.Starts) != 2 {
			t.Fatalf("%+v, %v", d, err)
		}
		return d.Starts
	}
	a := b.worker("one")
	open := starts(a)
	b.run.Taken = true
	b.refuse("refs/reprise/")
	for _, s := range open {
		_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: s}, &words{})
		b.lastsAs("an attempt", err)
		b.lost(a, s, err)
	}
	b.git(filepath.Join(a.Mirror.Dir, "mirror.git"), "update-ref", "-d", keptRefs+"r/a/1")
	if err := os.Remove(filepath.Join(b.remote, "hooks", "pre-receive")); err != nil {
		t.Fatal(err)
	}
	b.run.Taken, b.run.Choice.From = false, "a"
	for _, s := range starts(a) {
		if l, err := a.land(t.Context(), b.next(), b.tried(a, s)); err != nil || l.Accepted == nil {
			t.Fatalf("%s: %+v, %v", s.Step, l, err)
		}
	}
	if got := b.git(b.remote, "show", Branch("r")+":b.txt"); got != "1" {
		t.Errorf("b is done %s times", got)
	}
}

// Work that git cannot commit is finished, too: it is not done again before a person says so, and
// the run is not given back. (issue 19)
func TestWhat_git_cannot_commit_is_not_done_again_unasked(t *testing.T) {
	t.Parallel()
	b := newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo $REPRISE_ATTEMPT > a.txt; test $REPRISE_ATTEMPT -gt 2 || git rev-parse HEAD > .git/MERGE_HEAD'], outputs: [a.txt]}\n")
	a := b.worker("one")
	try := func() (Start, error) {
		b.run.Taken = false
		s := b.decided(a).Starts[0]
		_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: s}, &words{})
		return s, err
	}
	s, err := try()
	dir := filepath.Join(a.Mirror.Dir, "kept-r-a-1")
	if _, where := isKept(err); !strings.Contains(where, dir) {
		t.Fatalf("it is kept in %q: %v", where, err)
	}
	b.lost(a, s, err)
	f := &Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}
	var kept *KeptAwayError
	if _, err := f.release(t.Context(), "r"); !errors.As(err, &kept) || !strings.Contains(err.Error(), dir) || !strings.Contains(kept.Hint(), "resume r --from a") || !strings.Contains(kept.Hint(), "end there what is under way") {
		t.Errorf("it is given back: %v", err)
	}
	s, err = try()
	if !strings.Contains(err.Error(), dir) {
		t.Errorf("it is done again: %v", err)
	}
	b.lost(a, s, err)
	b.run.Choice.From = "a"
	if s, err = try(); err != nil || s.Number != 3 {
		t.Errorf("it is not done again as attempt %d: %v", s.Number, err)
	}
}

// A folder that its worker keeps is committed and pushed once git can do that, and the next attempt
// ends with it. (issue 19)
func TestWhat_git_could_not_commit_is_taken_once_it_can(t *testing.T) {
	t.Parallel()
	b := newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, -c, 'echo $REPRISE_ATTEMPT > a.txt; git rev-parse HEAD > .git/MERGE_HEAD'], outputs: [a.txt]}\n")
	a := b.worker("one")
	s := b.decided(a).Starts[0]
	_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: s}, &words{})
	b.lost(a, s, err)
	dir, again := filepath.Join(a.Mirror.Dir, "kept-r-a-1"), b.worker("one") // it was restarted since
	again.takeKeptFolders(t.Context())
	again.pushKept(t.Context())
	if left := b.git(b.remote, "for-each-ref", "refs/reprise/"); left != "" {
		t.Errorf("it was pushed with a merge under way: %s", left)
	}
	b.git(dir, "add", "a.txt")
	b.git(dir, "commit", "-q", "-m", "the merge")
	again.takeKeptFolders(t.Context())
	again.pushKept(t.Context())
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is still there")
	}
	b.run.Taken = false
	in := b.attempted(again)
	if l, err := again.land(t.Context(), b.next(), in); err != nil || l.Accepted == nil || in.Start.Number != 2 {
		t.Errorf("attempt %d: %+v, %v", in.Start.Number, l, err)
	}
	if got := b.git(b.remote, "show", Branch("r")+":a.txt"); got != "1" {
		t.Errorf("it is done %s times", got)
	}
}

// Every attempt whose work is kept is named, with its commands.
func TestAll_kept_attempts_are_named(t *testing.T) {
	t.Parallel()
	e := &KeptAwayError{"give back r", "r", []keptAway{{Step: "a", Number: 1, Name: "a", Ref: "refs/reprise/r/a/1"}, {Step: "b", Number: 2, Name: "b", Where: "the worker w keeps it in /w/kept-r-b-2"}}}
	for _, want := range []string{"attempt 1 of a", "attempt 2 of b", "/w/kept-r-b-2", "--until a`", "--from a`", "--until b`", "--from b`", "allows refs/reprise/r/a/1"} {
		if !strings.Contains(e.Error()+"\n"+e.Hint(), want) {
			t.Errorf("%q is missing in %v: %s", want, e, e.Hint())
		}
	}
}

// What a remote says tells a refusal from a race.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"remote: error: GH006: Protected branch update failed.\n ! [remote rejected] x -> reprise/r (protected branch hook declined)\nerror: failed to push": "error: GH006: Protected branch update failed.; x -> reprise/r (protected branch hook declined)",
		" ! [remote rejected] x -> reprise/r (cannot lock ref 'refs/heads/reprise/r': is at 1 but expected 2)":                                               "",
		" ! [remote rejected] x -> reprise/r (failed to update ref)":                                                                                         "",
		" ! [rejected] x -> reprise/r (stale info)":                                                                                                          "",
		"fatal: unable to access 'https://h/': Could not resolve":                                                                                            "",
	} {
		if got := refusal(said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
}

// Of two answers to one asking the second is told of the first. (issue 19)
func TestAnother_answer_came_first(t *testing.T) {
	t.Parallel()
	q := Question{Question: report.Question{ID: "q", Options: []string{"yes", "no"}}, Closed: true}
	for _, c := range []struct{ text, kept, want string }{
		{"yes", "yes", ""}, {"Yes", "yes", ""}, {"yes", "", ""}, {"no", "yes", "yes"},
	} {
		err := q.first(c.text, c.kept)
		var other *engine.AnsweredError
		if is := errors.As(err, &other); is != (c.want != "") || is && other.Answer != c.want || !is && err != nil {
			t.Errorf("%q where %q was kept: %v", c.text, c.kept, err)
		}
	}
}

// A worker that does not trust a file says what its owner can do. (issue 19)
func TestA_worker_that_does_not_trust_names_the_command(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	d := b.decided(b.worker("one"))
	a := b.worker("two")
	a.trust = trusted{}
	_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: d.Starts[0]}, &words{})
	if why, failed := whyLost(err); !failed || !strings.Contains(why, "`reprise trust flow.yaml`") {
		t.Errorf("%q, %v", why, err)
	}
}
