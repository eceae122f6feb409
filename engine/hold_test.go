package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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
for f in $REPRISE_EXPECT; do echo "$REPRISE_STEP $REPRISE_ATTEMPT" > "$f"; done; echo beside > extra.txt
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

// TestO4_work_that_git_cannot_commit_is_neither_failed_nor_done_again: an attempt
// ended well and our git cannot commit it, for whatever reason. It stops the run, the
// index is what it was, and whoever continues once git can only commits.
func TestO4_work_that_git_cannot_commit_is_neither_failed_nor_done_again(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, block := range map[string]string{
		"index":  stale + `.git/index.lock`,
		"head":   stale + `.git/HEAD.lock`,
		"branch": stale + `.git/refs/heads/main.lock`,
		"other":  `rm -f .git/COMMIT_EDITMSG; mkdir -p .git/COMMIT_EDITMSG/x`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ref := held(t, block, "")
			sum := goes(t, e, ref)
			all := events(t, e.Dir, ref)
			if !slices.Equal(sum.Held, []string{"a"}) || len(sum.Failed) != 0 || len(sum.Questions) != 0 || count(all, reprise.StepHeld, "a") != 2 || count(all, reprise.StepStarted, "") != 1 {
				t.Fatalf("held %q failed %+v, %q", sum.Held, sum.Failed, sum.Reasons)
			}
			if !strings.Contains(strings.Join(sum.Reasons, "\n"), "git cannot commit it: ") {
				t.Errorf("%q", sum.Reasons)
			}
			// Still so: nothing is done, and nothing more is recorded than before the commit and why
			// it failed. A lock is seen before anything is recorded.
			if name != "other" {
				_, err := e.Resume(context.Background(), ref, engine.Choice{})
				if unsafe := new(engine.UnsafeError); !errors.As(err, &unsafe) || !strings.Contains(err.Error(), ".lock") || len(events(t, e.Dir, ref)) != len(all) {
					t.Fatalf("again: %v", err)
				}
			} else if sum = goes(t, e, ref); !slices.Equal(sum.Held, []string{"a"}) || count(events(t, e.Dir, ref), reprise.StepHeld, "a") != 2 || sum.Launches != 0 {
				t.Fatalf("again: held %q, %q", sum.Held, sum.Reasons)
			}
			unblock(t, e)
			if got := git(t, e.Dir, "diff", "--cached", "--name-only"); got != "staged.txt" {
				t.Errorf("staged is %q", got)
			}
			sum = goes(t, e, ref)
			all = events(t, e.Dir, ref)
			if sum.State != reprise.Complete || launchesOfStep(t, e, "a") != 1 || launchesOfStep(t, e, "b") != 1 || count(all, reprise.StepFailed, "") != 0 || count(all, reprise.StepFinished, "a") != 1 {
				t.Fatalf("%v %q, a was launched %d times", sum.State, sum.Reasons, launchesOfStep(t, e, "a"))
			}
			if got := git(t, e.Dir, "show", "--name-only", "--format=", sum.Finished[0].Commit); got != "a.txt\nextra.txt" {
				t.Errorf("the commit of a holds %q", got)
			}
			if got := git(t, e.Dir, "status", "--short", "--", "mine.txt", "staged.txt", "a.txt", "b.txt", "extra.txt"); got != "A  staged.txt\n?? mine.txt" {
				t.Errorf("left is %q", got)
			}
		})
	}
}

// TestO4_without_its_repository_work_stays_held: nothing is committed and nothing more
// is started, also where git could not even tell what the attempt changed. Once the
// repository is back it is committed.
func TestO4_without_its_repository_work_stays_held(t *testing.T) {
	t.Parallel()
	for name, block := range map[string]string{"taken away later": stale + `.git/index.lock`, "by the agent": `mv .git ../away`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ref := held(t, block+`; echo '{"outcome":"done"}' > "$REPRISE_RESULT"`, "")
			repo, away := filepath.Join(e.Dir, ".git"), filepath.Join(filepath.Dir(e.Dir), "away")
			if sum := goes(t, e, ref); !slices.Equal(sum.Held, []string{"a"}) {
				t.Fatalf("%q %q", sum.Held, sum.Reasons)
			}
			if _, err := os.Lstat(away); err != nil {
				unblock(t, e)
				if err := os.Rename(repo, away); err != nil {
					t.Fatal(err)
				}
			}
			before := len(events(t, e.Dir, ref))
			_, err := e.Resume(t.Context(), ref, engine.Choice{})
			if unsafe, ok := errors.AsType[*engine.UnsafeError](err); !ok || !strings.Contains(unsafe.Error(), "no longer a git repository here") {
				t.Fatalf("it goes on: %v", err)
			}
			if n := len(events(t, e.Dir, ref)); n != before {
				t.Errorf("%d events were recorded", n-before)
			}
			if err := os.Rename(away, repo); err != nil {
				t.Fatal(err)
			}
			sum := goes(t, e, ref)
			if sum.State != reprise.Complete || launchesOfStep(t, e, "a") != 1 {
				t.Fatalf("%v %q, %d launches", sum.State, sum.Reasons, launchesOfStep(t, e, "a"))
			}
			if got := git(t, e.Dir, "show", "--name-only", "--format=", sum.Finished[0].Commit); !strings.Contains(got, "a.txt") {
				t.Errorf("the commit of a holds %q", got)
			}
		})
	}
}

// TestO4_a_run_whose_child_cannot_be_committed_stops with it, and nothing of it failed.
func TestO4_a_run_whose_child_cannot_be_committed_stops(t *testing.T) {
	t.Parallel()
	e := newEngine(template(t, "epic"))
	e.Ask, e.Parallel = answering, 1
	e.Settings.Agents["actor"].Env["DEMO_LAUNCHES"] = filepath.Join(t.TempDir(), "launches")
	lock := blocked(t, e.Dir)
	sum, err := takeUp(e, "epic")
	if err != nil || len(sum.Held) == 0 || len(sum.Failed) != 0 || sum.State == reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	was := sum.Launches
	if sum, err = takeUp(e, "epic"); err != nil || len(sum.Held) == 0 || sum.Launches != 0 {
		t.Fatalf("again: %+v, %v", sum, err)
	}
	if err := os.RemoveAll(lock); err != nil {
		t.Fatal(err)
	}
	if sum, err = takeUp(e, "epic"); err != nil || sum.State != reprise.Complete || len(sum.Failed) != 0 {
		t.Fatalf("then: %+v, %v", sum, err)
	}
	done := map[string]int{}
	for line := range strings.Lines(get(t, "/", e.Settings.Agents["actor"].Env["DEMO_LAUNCHES"])) {
		done[strings.Join(strings.Fields(line)[:2], " ")]++
	}
	for step, n := range done {
		if n != 1 {
			t.Errorf("%s was launched %d times", step, n)
		}
	}
	t.Logf("%d launched before, %d in all", was, len(done))
}

// blocked keeps git from committing in a way that only a commit shows, and returns what to
// remove.
func blocked(t *testing.T, dir string) string {
	t.Helper()
	at := filepath.Join(dir, ".git/COMMIT_EDITMSG")
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	put(t, dir, ".git/COMMIT_EDITMSG/x", "")
	return at
}

// named reports whether a summary says that a file is left uncommitted.
func named(sum *engine.Summary, file string) bool {
	return slices.ContainsFunc(sum.Findings, func(f reprise.Finding) bool {
		return f.Code == reprise.CodeUncommitted && f.Severity == reprise.Warning && strings.Contains(f.Message, file)
	})
}

// TestO1_O4_killed_while_work_cannot_be_committed kills an engine before operations on
// the disk while git cannot commit. Once it can, another carries the run to its end: an
// attempt whose end is on record is not made again.
func TestO1_O4_killed_while_work_cannot_be_committed(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	if testing.Short() {
		t.Skip("kills many processes: left out by -short")
	}
	from := repository(t)
	put(t, from, "flow.yaml", "name: small\nsteps:\n  - {id: one, role: worker, prompt: Make it., outputs: [out.one]}\n")
	git(t, from, "add", "-A")
	git(t, from, "commit", "-q", "-m", "state")
	blocked(t, from)
	whole := killed{name: "file", dir: filepath.Join(t.TempDir(), "p")}
	if err := os.CopyFS(whole.dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	out, code := whole.engine(-1)
	if code != exitLeft {
		t.Fatalf("%d %s", code, out)
	}
	sites := strings.Split(get(t, "/", whole.dir+".sites"), "\n")
	ops := len(sites) - 1
	recorded := slices.IndexFunc(sites, func(site string) bool { return strings.Contains(site, "engine/commit_hands.go:") })
	if recorded < 0 {
		t.Fatal("nothing is recorded")
	}
	ref := refOf("small")
	var points []int
	for n := recorded - 2; n <= ops; n++ { // what comes before comes before in any run
		points = append(points, n)
	}
	points = few(rand.New(rand.NewPCG(seedOf(t), 0)), points, 7)
	seen := make(chan bool, len(points))
	parallel(2, points, func(n int) {
		k := killed{name: "file", dir: filepath.Join(t.TempDir(), "p")}
		if err := os.CopyFS(k.dir, os.DirFS(from)); err != nil {
			t.Error(err)
			return
		}
		k.engine(n)
		before := events(t, k.dir, ref)
		if err := os.RemoveAll(filepath.Join(k.dir, ".git/COMMIT_EDITMSG")); err != nil {
			t.Error(err)
			return
		}
		if out, code := k.next(); code != exitDone {
			t.Errorf("killed before %d: then %d %s", n, code, out)
			return
		}
		all := events(t, k.dir, ref)
		was := count(before, reprise.StepHeld, "one") > 0
		seen <- was
		if started := count(all, reprise.StepStarted, "one"); count(all, reprise.StepFinished, "one") != 1 || count(all, reprise.StepFailed, "") != 0 || was && started != 1 || started > 2 {
			t.Errorf("killed before %d: held %v, started %d times, finished %d, failed %d", n, was, started, count(all, reprise.StepFinished, "one"), count(all, reprise.StepFailed, ""))
		}
		if got := git(t, k.dir, "log", "--format=%s", "--", "out.one"); was && got != "one" {
			t.Errorf("killed before %d: the commits of out.one are %q", n, got)
		}
	})
	close(seen)
	got := map[bool]int{}
	for was := range seen {
		got[was]++
	}
	t.Logf("%d operations, %d kills with the end on record, %d without", ops, got[true], got[false])
	if got[true] == 0 {
		t.Error("nothing was killed with the end on record")
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
	if sum.State != reprise.Complete || len(sum.Failed) != 1 || !strings.Contains(sum.Failed[0].Text, "out/a is not there") {
		t.Errorf("%v %q %+v", sum.State, sum.Reasons, sum.Failed)
	}
}
