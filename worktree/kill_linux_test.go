package worktree_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"reprise/internal/gitx/gittest"
	"reprise/internal/sample"
	"reprise/worktree"
)

// childEnv makes the test binary a process that makes one checkout, or does with
// it what verbEnv says.
const (
	childEnv = "REPRISE_TEST_WORKTREE"
	verbEnv  = "REPRISE_TEST_WORKTREE_VERB"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	p, err := project(context.Background(), dir, os.Environ())
	if err == nil {
		switch os.Getenv(verbEnv) {
		case "discard":
			_, err = worktree.Discard(context.Background(), p)
		case "merge":
			_, err = worktree.Merge(context.Background(), p)
		default:
			_, err = worktree.Ensure(context.Background(), p)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killed starts a process that makes the checkout and kills it, and every git it
// started, at some moment. It reports whether that came before its end.
func (b *bench) killed(at time.Duration, aimed bool) bool {
	b.t.Helper()
	return b.killedAt("", at, aimed, true)
}

func (b *bench) killedAt(verb string, at time.Duration, aimed, gits bool) bool {
	b.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append([]string{childEnv + "=" + b.dir, verbEnv + "=" + verb}, b.env...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	var ended atomic.Bool
	done := make(chan error, 1)
	go func() { done <- cmd.Wait(); ended.Store(true) }()
	if aimed {
		// From when git begins to write; before, there is nothing to leave.
		for !ended.Load() {
			if _, err := os.Lstat(filepath.Join(b.dir, ".git/refs/heads/auto-claude")); err == nil {
				break
			}
		}
	}
	select {
	case <-time.After(at):
	case err := <-done:
		if err != nil {
			b.t.Errorf("the process that was not killed: %v\n%s", err, said.String())
		}
		return false
	}
	alive := cmd.Process.Kill() == nil
	<-done
	for gits && b.killGits() > 0 {
		time.Sleep(time.Millisecond)
	}
	return alive
}

// killGits kills every git that works in the project, and counts them.
func (b *bench) killGits() int {
	n := 0
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, proc := range procs {
		cwd, err := os.Readlink(proc + "/cwd")
		if err != nil || cwd != b.dir && !strings.HasPrefix(cwd, b.dir+"/") {
			continue
		}
		name, err := os.ReadFile(proc + "/comm")
		if err != nil || !strings.HasPrefix(string(name), "git") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// reset takes the checkout away, as plain git would.
func (b *bench) reset() {
	b.t.Helper()
	b.git("worktree", "remove", "--force", place)
	b.git("branch", "-q", "-D", branch)
}

// keeps looks for a text in the checkout and in the archive.
func (b *bench) keeps(text string) bool {
	found := false
	for _, at := range []string{place, ".reprise/archive"} {
		_ = filepath.WalkDir(filepath.Join(b.dir, at), func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, err := os.ReadFile(p)
				found = found || err == nil && strings.Contains(string(data), text)
			}
			return nil
		})
	}
	return found
}

// again makes the checkout after a kill and asks that all is well.
func (b *bench) again(what string, mine bool) {
	b.t.Helper()
	if _, err := os.Lstat(filepath.Join(b.dir, place)); mine && err == nil {
		b.write(place+"/mine.txt", "new "+what)
		b.write(place+"/src/03.txt", "edited "+what)
	} else {
		mine = false
	}
	made := b.ensure()
	if made.Record == nil {
		b.t.Errorf("%s: nothing to record: %+v", what, made)
	}
	if mine {
		for _, text := range []string{"new " + what, "edited " + what} {
			if !b.keeps(text) {
				b.t.Errorf("%s: %q is lost; %q", what, text, made.Notes)
			}
		}
		if b.read(place+"/mine.txt") != "" { // it was whole: the work stays in it
			b.remove(place + "/mine.txt")
			b.gitIn(place, "checkout", "-q", "--", "src/03.txt")
		}
	}
	b.sound()
	if b.t.Failed() {
		b.t.Fatalf("%s: %q", what, made.Notes)
	}
}

func TestAC9_D9_Ensure_survives_kills_at_any_moment(t *testing.T) {
	t.Parallel()
	wanted := int64(24)
	if sample.All() {
		wanted = 600
	}
	seed := sample.Seed(t)
	var kills, husks atomic.Int64
	t.Cleanup(func() {
		if sample.All() && husks.Load() < 10 {
			t.Errorf("only %d of %d kills left something half made", husks.Load(), kills.Load())
		}
		t.Logf("%d kills, %d left something half made", kills.Load(), husks.Load())
	})
	for lane := range uint64(4) {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			rng := rand.New(rand.NewPCG(seed, lane))
			began := time.Now()
			b.ensure()
			whole := 2 * time.Since(began)
			b.reset()
			for i := 0; kills.Load() < wanted; i++ {
				aimed := i%4 != 0
				for range 1 + i%2 {
					span := whole
					if aimed {
						span = whole / 6
					}
					if b.killed(time.Duration(rng.Int64N(int64(span))), aimed) {
						kills.Add(1)
					}
				}
				if _, err := os.Lstat(filepath.Join(b.dir, ".git/worktrees", specID, "locked")); err == nil {
					husks.Add(1)
				}
				b.again(fmt.Sprintf("lane %d, kill %d", lane, i), i%3 == 0)
				b.reset()
			}
		})
	}
}

// Every call of the system by which git changes files is one after which it is
// killed.
func TestAC9_D9_Ensure_after_git_was_killed_at_every_call(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("there is no strace to kill git at a given call")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git program")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: %v", err)
	}
	var done atomic.Int64
	take := sample.Every(t, 6)
	t.Cleanup(func() { t.Logf("git was killed at %d calls", done.Load()) })
	for lane := range 2 {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bin := filepath.Join(filepath.Dir(b.dir), "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			traced := append([]string(nil), b.env...)
			traced[0] = "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
			for n := 1 + lane; n < 400; n += 2 {
				if !take(n / 2) {
					continue
				}
				script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'worktree add'*|*update-ref*)\nexec %s -f -qq -o /dev/null -e inject=openat,mkdir,rename,unlink,write,symlink,link:signal=KILL:when=%d %s \"$@\";;\nesac\nexec %s \"$@\"\n", strace, 9*n, git, git)
				gittest.Program(t, filepath.Join(bin, "git"), script)
				p, err := project(t.Context(), b.dir, traced)
				if err != nil {
					t.Fatal(err)
				}
				_, err = worktree.Ensure(t.Context(), p)
				if releaseErr := p.Store.Release(); releaseErr != nil {
					t.Fatal(releaseErr)
				}
				b.again(fmt.Sprint("call ", 9*n), n%3 == 0)
				b.reset()
				if err == nil {
					return // it does not make so many calls
				}
				done.Add(1)
			}
		})
	}
}

// unlock removes the locks that a killed git left.
func (b *bench) unlock() {
	b.t.Helper()
	err := filepath.WalkDir(filepath.Join(b.dir, ".git"), func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".lock") {
			err = os.Remove(name)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestAC3_Discard_killed_loses_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rng := rand.New(rand.NewPCG(sample.Seed(t), 3))
	kills, rounds := 0, 4
	if sample.All() {
		rounds = 60
	}
	for i := range rounds {
		b.ensure()
		b.write(place+"/new.txt", fmt.Sprint("committed ", i))
		b.gitIn(place, "add", "-A")
		b.gitIn(place, "commit", "-qm", "work")
		b.write(place+"/more.txt", fmt.Sprint("uncommitted ", i))
		b.write(place+"/ignored", fmt.Sprint("ignored ", i))
		if b.killedAt("discard", time.Duration(20+rng.IntN(180))*time.Millisecond, false, i%2 == 0) {
			kills++
		}
		b.with(func(p worktree.Project) {
			if _, err := worktree.Discard(t.Context(), p); err != nil {
				// A git that was killed in the middle of a commit leaves its
				// lock, which a person looks at and removes.
				if i%2 != 0 || !strings.Contains(err.Error(), "lock") {
					t.Fatal(err)
				}
				b.unlock()
				if _, err := worktree.Discard(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
		})
		for _, text := range []string{"committed %d", "uncommitted %d", "ignored %d"} {
			if !b.holds(fmt.Sprintf(text, i)) {
				t.Fatalf("lost: "+text, i)
			}
		}
		if out := b.git("fsck", "--strict", "--no-dangling"); out != "" {
			t.Errorf("fsck: %s", out)
		}
		if i%2 == 0 {
			b.unlock() // of packed refs, which nothing may have touched since
		}
	}
	t.Logf("%d kills", kills)
	if sample.All() && kills < 5 {
		t.Errorf("only %d kills", kills)
	}
}

// Killed alone, we leave a git behind that continues; the next process waits for
// it and does not merge again.
func TestAC9_O6_Merge_killed_merges_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rng := rand.New(rand.NewPCG(sample.Seed(t), 5))
	rounds := 3
	if sample.All() {
		rounds = 40
	}
	for i := range rounds {
		b.ensure()
		b.write(place+"/new.txt", fmt.Sprint("built ", i))
		b.gitIn(place, "add", "-A")
		b.gitIn(place, "commit", "-qm", "work")
		b.killedAt("merge", time.Duration(20+rng.IntN(180))*time.Millisecond, false, false)
		b.with(func(p worktree.Project) {
			if _, err := worktree.Merge(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		})
		if got := b.git("rev-list", "--count", "--merges", "main"); got != strconv.Itoa(i+1) || b.read("new.txt") != fmt.Sprint("built ", i) {
			t.Fatalf("round %d: %s merges, %q", i, got, b.read("new.txt"))
		}
		if got := b.git("status", "--porcelain"); got != "" {
			t.Errorf("%s", got)
		}
		b.reset()
	}
}
