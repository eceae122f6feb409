package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// held is an engine whose agent does its work and then keeps git from committing it,
// with what it left staged by a person before.
func held(t *testing.T, block, more string) (*engine.Engine, reprise.Ref) {
	t.Helper()
	e := newEngine(repository(t))
	a := e.Settings.Agents["actor"]
	a.Command = []string{"sh", "-c", `echo "$REPRISE_STEP" >> .git/launches
for f in $REPRISE_EXPECT; do echo "$REPRISE_STEP $REPRISE_ATTEMPT" > "$f"; done; echo '{"outcome":"done"}' > "$REPRISE_RESULT"; echo beside > extra.txt
[ -e .git/once ] || { touch .git/once; ` + block + `; }`}
	e.Settings.Agents["actor"] = a
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., outputs: [a.txt]"+more+"}\n  - {id: b, needs: [a], role: worker, prompt: Make it., outputs: [b.txt]}\n")
	git(t, e.Dir, "add", "-A")
	git(t, e.Dir, "commit", "-q", "-m", "state")
	put(t, e.Dir, "mine.txt", "a person's own\n")
	put(t, e.Dir, "staged.txt", "staged by a person\n")
	git(t, e.Dir, "add", "staged.txt")
	return e, ref
}

// unblock takes away what kept git from committing.
func unblock(t *testing.T, e *engine.Engine) {
	t.Helper()
	for _, name := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock", "COMMIT_EDITMSG"} {
		if err := os.RemoveAll(filepath.Join(e.Dir, ".git", name)); err != nil {
			t.Fatal(err)
		}
	}
}

func launchesOfStep(t *testing.T, e *engine.Engine, step string) int {
	t.Helper()
	return strings.Count(get(t, e.Dir, ".git/launches"), step+"\n")
}

const stale = `touch -d "1 hour ago" `

// TestO4_work_that_git_cannot_commit_is_neither_failed_nor_done_again: an attempt ended well and
// our git cannot commit it. It stops the run, and whoever continues once git can only commits.
func TestO4_work_that_git_cannot_commit_is_neither_failed_nor_done_again(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, block := range map[string]string{
		"index":  stale + `.git/index.lock`,
		"head":   stale + `.git/HEAD.lock`,
		"branch": stale + `.git/refs/heads/main.lock`,
		"away":   `mv .git ../away`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ref := held(t, block, "")
			for range 2 {
				if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err == nil && (name != "away" || sum.Action != reprise.Ask) {
					t.Fatalf("it goes on: %+v", sum)
				}
			}
			if name == "away" {
				if err := os.Rename(filepath.Join(filepath.Dir(e.Dir), "away"), filepath.Join(e.Dir, ".git")); err != nil {
					t.Fatal(err)
				}
			}
			unblock(t, e)
			sum := goes(t, e, ref)
			all := events(t, e.Dir, ref)
			if sum.State != reprise.Complete || launchesOfStep(t, e, "a") != 1 || launchesOfStep(t, e, "b") != 1 || count(all, reprise.StepFailed, "") != 0 || count(all, reprise.StepFinished, "a") != 1 {
				t.Fatalf("%v %q, a was launched %d times", sum.State, sum.Reasons, launchesOfStep(t, e, "a"))
			}
			if got := git(t, e.Dir, "log", "--format=%s", "--", "a.txt", "extra.txt"); got != "a: a" {
				t.Errorf("committed as %q", got)
			}
			if got := git(t, e.Dir, "status", "--short", "--", "mine.txt", "staged.txt", "a.txt", "b.txt", "extra.txt"); got != "A  staged.txt\n?? mine.txt" {
				t.Errorf("left is %q", got)
			}
		})
	}
}

// TestX4_a_commit_of_an_earlier_run_of_the_name_is_none_of_this_one also where both
// are of the same second.
func TestX4_a_commit_of_an_earlier_run_of_the_name_is_none_of_this_one(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	put(t, e.Dir, "flow.yaml", "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., outputs: [a.txt]}\n")
	put(t, e.Dir, "a.txt", "of the earlier run\n")
	git(t, e.Dir, "add", "-A")
	git(t, e.Dir, "commit", "-q", "-m", "a", "-m", reprise.TrailerKey+": one/a#1@0123456789"+reprise.TrailerAccepted)
	made, err := time.Parse(time.RFC3339, git(t, e.Dir, "log", "-1", "--format=%cI"))
	if err != nil {
		t.Fatal(err)
	}
	e.Now = func() time.Time { return made.Add(900 * time.Millisecond) }
	ref := start(t, e, get(t, e.Dir, "flow.yaml"))
	e.Now = time.Now
	if sum := goes(t, e, ref); sum.State != reprise.Complete || sum.Launches != 1 {
		t.Errorf("%v, launched %d: %+v", sum.State, sum.Launches, sum.Finished)
	}
}

// TestX10_a_file_where_a_folder_of_an_output_is_to_be is not there for the output, and
// the next attempt can mend it.
func TestX10_a_file_where_a_folder_of_an_output_is_to_be(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	a := e.Settings.Agents["actor"]
	a.Command = []string{"sh", "-c", `if [ "$REPRISE_ATTEMPT" = 1 ]; then echo x > out; exit 0; fi; rm out; mkdir out; echo x > out/a`}
	e.Settings.Agents["actor"] = a
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: Make it., outputs: [out/a], attempts: 2}\n")
	sum := goes(t, e, ref)
	if sum.State != reprise.Complete || len(sum.Failed) != 1 || !strings.Contains(sum.Failed[0].Text, "out/a cannot be read") {
		t.Errorf("%v %q %+v", sum.State, sum.Reasons, sum.Failed)
	}
}
