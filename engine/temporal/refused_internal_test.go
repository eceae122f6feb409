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
	in := LandInput{Run: b.run, Start: d.Starts[0], Final: isFinal(err), Kept: isKept(err), Decide: true}
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
