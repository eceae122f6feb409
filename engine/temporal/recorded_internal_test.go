package temporal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "go.temporal.io/sdk/temporal"

	"reprise"
)

// An agent commits what is in its checkout, our own files among it, and pushes it to the
// branch of the run: its work counts, the journal is that of the turns, and the next step
// begins. (issue 19)
func TestAn_agent_that_pushes_to_the_branch_of_its_run(t *testing.T) {
	t.Parallel()
	const as = "git -c user.name=x -c user.email=x@y "
	for name, does := range map[string]string{
		"its file alone":         "echo a > a.txt; git add a.txt; " + as + "commit -qm mine; git push -q REMOTE HEAD:refs/heads/reprise/r",
		"everything":             "echo a > a.txt; git add -A -f; " + as + "commit -qm mine; git push -q REMOTE HEAD:refs/heads/reprise/r",
		"and more later":         "echo a > a.txt; git add -A -f; " + as + "commit -qm mine; git push -q REMOTE HEAD:refs/heads/reprise/r; echo b > b.txt",
		"without what we record": "echo a > a.txt; git rm -q -r --cached .reprise; git add a.txt; " + as + "commit -qm mine; git push -q REMOTE HEAD:refs/heads/reprise/r",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "does.sh")
			b := newBench(t, "name: r\nsteps:\n  - {id: a, role: dev, prompt: do it}\n  - {id: b, needs: [a], command: [\"true\"]}\n",
				"reprise.yaml", agentThat("sh "+script+`; echo '{"outcome":"done","summary":"made"}' > "$REPRISE_RESULT"`))
			if err := os.WriteFile(script, []byte(strings.ReplaceAll(does, "REMOTE", b.remote)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			a := b.worker("one")
			in := b.attempted(a)
			tip := b.git(b.remote, "log", "-1", "--format=%s", Branch("r"))
			if tip != "mine" {
				t.Fatalf("the agent pushed nothing: the branch is at %q", tip)
			}
			in.Decide = true
			l, err := b.worker("two").land(t.Context(), b.next(), in)
			if err != nil || l.Accepted == nil || l.Next == nil || len(l.Next.Starts) != 1 || l.Next.Starts[0].Step != "b" {
				t.Fatalf("%+v, %v", l, err)
			}
			files := b.git(b.remote, "ls-tree", "-r", "--name-only", Branch("r"))
			if !strings.Contains(files, "a.txt") || strings.Contains(files, stateDir+"/scratch") {
				t.Errorf("the branch has\n%s", files)
			}
			journal := b.git(b.remote, "grep", "-h", "step_finished", Branch("r"), "--", journalDir)
			if strings.Contains(journal, "word-alone") || strings.Count(journal, "step_finished") != 1 {
				t.Errorf("on record is\n%s", journal)
			}
			b.run.Carried = l.Carried
			next := b.tried(a, l.Next.Starts[0])
			next.Decide = true
			if l, err := a.land(t.Context(), b.next(), next); err != nil || l.Accepted == nil || l.Next == nil || l.Next.Left == nil || l.Next.Left.Exit != 0 {
				t.Errorf("%+v, %v", l, err)
			}
		})
	}
}

// A workflow is gone, and an attempt has ended: a new workflow lands it and does nothing of it
// again. (issue 19)
func TestAn_attempt_that_ended_is_landed_by_the_next_workflow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does   string
		failed bool
	}{
		"done":   {"echo $REPRISE_ATTEMPT > a.txt", false},
		"failed": {"echo $REPRISE_ATTEMPT > a.txt; exit 3", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fmt.Sprintf("name: r\nparallel: 2\nsteps:\n  - {id: a, command: [sh, -c, %q], on_crash: rerun}\n  - {id: b, needs: [a], command: [\"true\"]}\n", c.does))
			first := b.attempted(b.worker("one"))
			b.run.Taken, b.open = false, nil
			a := b.worker("two")
			d, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run})
			if err != nil || len(d.Starts) != 1 || d.Starts[0] != first.Start {
				t.Fatalf("%+v, %v", d, err)
			}
			b.run.Taken, b.run.Carried = true, d.Carried
			in := b.tried(a, d.Starts[0])
			if in.Result.Commit != first.Result.Commit {
				t.Errorf("it was done again: %+v, %+v", first.Result, in.Result)
			}
			in.Decide = true
			l, err := a.land(t.Context(), b.next(), in)
			if err != nil || (l.Accepted == nil) != c.failed || (len(l.Failed) > 0) != c.failed {
				t.Fatalf("%+v, %v", l, err)
			}
			if !c.failed && (l.Next == nil || len(l.Next.Starts) != 1 || l.Next.Starts[0].Step != "b") {
				t.Errorf("%+v", l.Next)
			}
		})
	}
}

// A person stops a run while an attempt that has ended waits for the remote: it is pushed
// once the remote is back, longer than a heartbeat may take after that. An attempt that the
// server no longer waits for is kept on the worker instead. (issue 19)
func TestWhat_is_finished_is_pushed_after_a_stop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause  error
		pushed bool
	}{
		"a person stops the run": {sdk.NewCanceledError(), true},
		"the server gave it up":  {errors.New("not found"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "does.sh")
			b := newBench(t, "name: r\nsteps:\n  - {id: a, command: [sh, "+script+"], outputs: [a.txt]}\n")
			away := b.remote + ".away"
			if err := os.WriteFile(script, []byte("echo a > a.txt; mv "+b.remote+" "+away+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			b.run.Heartbeat = time.Second
			a := b.worker("one")
			d := b.decided(a)
			asked, stop := context.WithCancelCause(t.Context())
			waits, over := patience(asked, nil)
			defer over()
			go func() {
				for {
					if _, err := os.Stat(away); err == nil {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				stop(c.cause)
				time.Sleep(5 * time.Second)
				_ = os.Rename(away, b.remote)
			}()
			r, err := a.attempt(waits, t.Context(), b.next(), AttemptInput{Run: b.run, Start: d.Starts[0]}, &words{})
			if kept := new(KeptError); c.pushed && (err != nil || r.Commit == "") || !c.pushed && !errors.As(err, &kept) {
				t.Errorf("%+v, %v", r, err)
			}
			if c.pushed {
				return
			}
			// What git has needs no folder of its own, and is pushed once the remote is back.
			for _, err := os.Stat(b.remote); err != nil; _, err = os.Stat(b.remote) {
				time.Sleep(20 * time.Millisecond)
			}
			a.pushKept(t.Context())
			ref := AttemptRef(b.run.Ref.ID, d.Starts[0].Elsewhere)
			if b.git(b.remote, "for-each-ref", ref) == "" || b.git(filepath.Join(a.Mirror.Dir, "mirror.git"), "for-each-ref", keptRefs) != "" {
				t.Error("it is kept and not pushed")
			}
			if folders, _ := filepath.Glob(filepath.Join(a.Mirror.Dir, "kept-*")); len(folders) > 0 {
				t.Errorf("%q", folders)
			}
		})
	}
}

// A run is begun from a shallow clone: what that lacks, the remote has. (issue 19)
func TestA_run_of_a_shallow_clone(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	clone := filepath.Join(b.dir, "clone")
	b.git(clone, "commit", "-q", "--allow-empty", "-m", "more")
	b.git(clone, "push", "-q", "origin", "main")
	thin := filepath.Join(b.dir, "thin")
	b.git(b.dir, "clone", "-q", "--depth", "1", "file://"+b.remote, thin)
	b.git(thin, "commit", "-q", "--allow-empty", "-m", "its own")
	f := &Fleet{Clone: thin, Remote: b.remote}
	if _, err := f.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "thin"}); err != nil {
		t.Fatal(err)
	}
	if log := b.git(b.remote, "log", "--format=%s", Branch("thin")); log != "reprise: start thin\nits own\nmore\nbase" {
		t.Errorf("the branch has\n%s", log)
	}
	// The remote no longer has it.
	b.git(clone, "commit", "-q", "--amend", "--allow-empty", "-m", "other")
	b.git(clone, "push", "-q", "-f", "origin", "main", ":refs/heads/"+Branch("thin"))
	_, err := f.Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "thin2"})
	if shallow := new(ShallowError); !errors.As(err, &shallow) {
		t.Errorf("%v", err)
	}
}

// What git cannot do on this machine is not tried without end; what only needs the remote is.
// (issue 19)
func TestA_turn_that_cannot_be_done_ends(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	_, near := git(t.Context(), b.remote, nil, "read-tree", "nothing")
	_, far := git(t.Context(), b.remote, nil, "-c", "protocol.version=2", "fetch", b.remote+".away")
	for tries, want := range map[int32]bool{1: false, maxTries: true} {
		if isFinal(stuck(tries, fmt.Errorf("land: %w", near))) != want {
			t.Errorf("after %d tries: %v", tries, stuck(tries, near))
		}
		if isFinal(stuck(tries, far)) {
			t.Errorf("the remote is away: %v", far)
		}
	}
}

// While the fleet has a run, only turns say what is recorded of it. Once the fleet has left it,
// whoever goes on with it in a clone does, and a run that is over keeps its record whatever is
// pushed on top. (issue 19)
func TestWho_says_what_is_recorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave, writes, ours bool
	}{
		"the fleet has it":                    {leave: false, writes: true, ours: true},
		"the fleet has it, only a file":       {leave: false, writes: false, ours: false},
		"the fleet has left, a clone goes on": {leave: true, writes: true, ours: false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, oneStep)
			a := b.worker("one")
			b.decided(a)
			if c.leave {
				if _, err := a.decide(t.Context(), b.next(), DecideInput{Run: b.run, Stop: true}); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(b.dir, "other")
			b.git(b.dir, "clone", "-q", "-b", Branch("r"), b.remote, dir)
			name := filepath.Join(dir, "note.txt")
			if c.writes {
				found, _ := filepath.Glob(filepath.Join(dir, journalDir, "*.log"))
				name = found[0]
			}
			if err := os.WriteFile(name, []byte("other\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			b.git(dir, "add", "-A", "-f")
			b.git(dir, "commit", "-q", "-m", "by someone else")
			b.git(dir, "push", "-q")
			m := b.worker("two").Mirror
			found, err := m.Fetch(t.Context(), "refs/heads/"+Branch("r"))
			if err != nil {
				t.Fatal(err)
			}
			tip := found["refs/heads/"+Branch("r")]
			got, err := m.recorded(t.Context(), tip, &b.run)
			if err != nil || (got != tip) != c.ours {
				t.Fatalf("%s, %v; the branch is at %s", got, err, tip)
			}
			mirror := filepath.Join(m.Dir, "mirror.git")
			if c.ours && b.git(mirror, "diff", "--name-only", tip+"~1", got, "--", stateDir) != "" {
				t.Error("what is recorded is not that of the last turn")
			}
		})
	}
}
