//go:build unix

package evidence

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/evidence/grade"
	"reprise/internal/gitx/gittest"
	"reprise/internal/proc"
)

// place is a repository with a home of its own.
type place struct {
	t       testing.TB
	dir     string
	environ []string
}

func newPlace(t testing.TB) place {
	t.Helper()
	dir := gittest.Folder(t)
	p := place{t: t, dir: filepath.Join(dir, "repo"), environ: gittest.Environ(dir)}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.git("init", "-q", "-b", "main")
	return p
}

func (p place) git(args ...string) string {
	p.t.Helper()
	return gittest.Run(p.t, p.dir, p.environ, args...)
}

func (p place) commit(file, message string) string {
	p.t.Helper()
	gittest.Write(p.t, p.dir, file, message)
	return gittest.Commit(p.t, p.dir, p.environ, message)
}

func (p place) gather(runs []*reprise.Run, opts Options) reprise.Observed {
	p.t.Helper()
	opts.Environ = p.environ
	return Gather(p.t.Context(), p.dir, runs, time.Now(), opts)
}

func TestGather_collects_what_the_runs_name(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	done := p.commit("specs/1/plan.md", "feat(1-1): first")
	p.commit("src/code.go", "code")
	p.git("worktree", "add", "-q", "-b", "run/1", "wt/one")
	wt := p
	wt.dir = filepath.Join(p.dir, "wt/one")
	wt.commit("specs/1/more.md", "feat(1-2): second")
	if err := os.WriteFile(filepath.Join(wt.dir, "left"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	self, err := proc.Self()
	if err != nil {
		t.Skip("processes cannot be examined here")
	}
	run := &reprise.Run{
		Ref: reprise.Ref{ID: "1", Path: "specs/1"}, State: reprise.Interrupted, Branch: "run/1", Worktree: "wt/one",
		Owner: &reprise.Owner{Host: self.Host, BootID: self.BootID, PID: self.PID, StartTicks: self.StartTicks, Source: reprise.Source{File: "lock", Line: 3}},
		Steps: []reprise.Step{
			{ID: "1-1", Status: reprise.Done, Commits: []string{done[:8]}},
			{ID: "1-2", Status: reprise.Pending, Traces: []reprise.Trace{{Subject: "feat(1-2)"}}},
			{ID: "1-3", Status: reprise.Done, Commits: []string{"0123456789abcdef"}},
		},
	}
	o := p.gather([]*reprise.Run{run, nil}, Options{})
	if o.Git == nil || o.GitError != "" {
		t.Fatalf("%+v", o)
	}
	if o.Owners[reprise.Source{File: "lock", Line: 3}].Life != reprise.Alive {
		t.Errorf("%+v", o.Owners)
	}
	if !slices.Contains(o.Git.Changed, reprise.Change{Path: "wt/one/left", Untracked: true, Worktree: "wt/one"}) {
		t.Errorf("%+v", o.Git.Changed)
	}
	files := 0
	for _, c := range o.Git.Commits {
		files += len(c.Files)
	}
	if files != 2 {
		t.Errorf("%d files of the run are listed: %+v", files, o.Git.Commits)
	}
	grade.New(o).Run(run)
	var got []reprise.Grade
	for _, s := range run.Steps {
		got = append(got, s.Grade)
	}
	if !slices.Equal(got, []reprise.Grade{reprise.Evidenced, reprise.Evidenced, reprise.Claimed}) {
		t.Errorf("%v: %+v", got, run.Steps)
	}
}

func TestGather_cheap_orders_stories(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.commit("docs/stories/1.1.md", "one")
	p.commit("docs/stories/1.2.md", "two")
	p.commit("src/x", "x")
	p.git("mv", "docs/stories/1.1.md", "docs/stories/1.1.done.md")
	p.git("commit", "-q", "-m", "renamed")
	runs := []*reprise.Run{{Ref: reprise.Ref{Kind: reprise.KindStory, Path: "docs/stories/1.2.md"}}}
	o := p.gather(runs, Options{Cheap: true})
	if o.Git == nil || o.GitError != "" || len(o.Git.Commits) != 3 || o.Git.Complete || o.Git.Branch != "main" {
		t.Fatalf("%+v", o.Git)
	}
	if f := o.Git.Commits[0].Files; len(f) != 1 || f[0].From != "docs/stories/1.1.md" || f[0].Added {
		t.Errorf("%+v", f)
	}
	if f := o.Git.Commits[1].Files; len(f) != 1 || f[0].Path != "docs/stories/1.2.md" || !f[0].Added {
		t.Errorf("%+v", f)
	}
	// Without stories no process is needed, not even a git program.
	o = Gather(t.Context(), p.dir, nil, time.Now(), Options{Cheap: true, Environ: []string{"PATH="}})
	if o.Git == nil || o.Git.Head == "" || o.GitError != "" {
		t.Errorf("%+v", o)
	}
}

func TestGather_without_git(t *testing.T) {
	t.Parallel()
	for _, cheap := range []bool{false, true} {
		if o := Gather(t.Context(), t.TempDir(), nil, time.Now(), Options{Cheap: cheap}); o.Git != nil || o.GitError != "" {
			t.Errorf("no repository: %+v", o)
		}
		p := newPlace(t)
		p.commit("docs/stories/a", "a")
		runs := []*reprise.Run{{Ref: reprise.Ref{Kind: reprise.KindStory, Path: "docs/stories/a"}}}
		if o := Gather(t.Context(), p.dir, runs, time.Now(), Options{Cheap: cheap, Environ: []string{"PATH="}}); !strings.Contains(o.GitError, "no git program") {
			t.Errorf("no program: %+v", o)
		}
		p.git("clone", "-q", "--bare", ".", "../bare")
		if o := Gather(t.Context(), filepath.Join(filepath.Dir(p.dir), "bare"), nil, time.Now(), Options{Cheap: cheap, Environ: p.environ}); o.Git == nil || !o.Git.Bare || o.GitError == "" {
			t.Errorf("bare: %+v", o)
		}
	}
}

func TestGather_lock_on_the_index(t *testing.T) {
	t.Parallel()
	self, err := proc.Self()
	if err != nil {
		t.Skip("processes cannot be examined here")
	}
	p := newPlace(t)
	p.commit("a", "a")
	if err := os.WriteFile(filepath.Join(p.dir, ".git/index.lock"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	abandoned := reprise.Dead
	if self.Namespace != "pid:[4026531836]" {
		abandoned = reprise.LifeUnknown
	}
	// The process table is the whole machine's: while a git of another user
	// runs, as it does in tests beside this one, no one can tell.
	var lock *reprise.LockFile
	for range 500 {
		if lock = p.gather(nil, Options{}).Git.IndexLock; lock == nil || lock.Life == abandoned {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if lock == nil || lock.Life != abandoned || lock.Holder != "" || lock.Reason == "" {
		t.Errorf("abandoned: %+v", lock)
	}
	hold := exec.Command("sh", "-c", "exec sleep 60 3>>.git/index.lock")
	hold.Dir = p.dir
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hold.Process.Kill(); _ = hold.Wait() }()
	for range 300 {
		if lock = p.gather(nil, Options{Cheap: true}).Git.IndexLock; lock.Life == reprise.Alive {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if lock.Life != reprise.Alive || !strings.HasPrefix(lock.Holder, fmt.Sprint(hold.Process.Pid)) || lock.Path != ".git/index.lock" {
		t.Errorf("held: %+v", lock)
	}
}

func TestVerdict_of_a_lock(t *testing.T) {
	t.Parallel()
	git := []proc.Process{{PID: 7, Name: "git"}}
	for _, c := range []struct {
		users proc.Users
		want  reprise.Life
	}{
		{proc.Users{}, reprise.Dead},
		{proc.Users{Blind: "x"}, reprise.LifeUnknown},
		{proc.Users{Near: git}, reprise.LifeUnknown},
		{proc.Users{Open: git, Near: git, Blind: "x"}, reprise.Alive},
	} {
		if _, life, reason := verdict(c.users); life != c.want || reason == "" {
			t.Errorf("%+v: %v %s", c.users, life, reason)
		}
	}
}
