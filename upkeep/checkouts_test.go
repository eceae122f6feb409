//go:build unix

package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/gitx"
	"reprise/internal/gitx/gittest"
	"reprise/project"
	"reprise/upkeep"
	"reprise/worktree"
)

const (
	spec   = "001-dark-mode"
	tree   = ".auto-claude/worktrees/tasks/" + spec
	branch = "auto-claude/" + spec
	inTree = tree + "/.auto-claude/specs/" + spec + "/implementation_plan.json"
)

// TestMain lets the test program be an undo that is killed before its n-th
// operation on the disk.
func TestMain(m *testing.M) {
	dir, id := os.Getenv("REPRISE_TEST_UNDO"), os.Getenv("REPRISE_TEST_UNDO_ID")
	if dir == "" {
		os.Exit(m.Run())
	}
	n, err := strconv.Atoi(os.Getenv("REPRISE_TEST_UNDO_AT"))
	if err == nil {
		err = patient(func() error {
			_, err := tender(dir, func(under durable.FS) durable.FS {
				return crashfs.StopBefore(under, n, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} })
			}).Undo(context.Background(), id, upkeep.UndoChoice{})
			return err
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tender(dir string, disk func(durable.FS) durable.FS) upkeep.Tender {
	return upkeep.Tender{Dir: dir, Now: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), Disk: disk}
}

// site is a project with a build in a checkout of its own.
type site struct {
	t   *testing.T
	dir string
}

func newSite(t *testing.T, ignored bool) *site {
	t.Helper()
	s := &site{t: t, dir: filepath.Join(gittest.Folder(t), "repo")}
	s.write("main.txt", "one\n")
	if ignored {
		s.write(".gitignore", ".auto-claude/\n")
	}
	gittest.Begin(t, s.dir, gittest.Environ(s.dir))
	s.write(".auto-claude/specs/"+spec+"/spec.md", "# Dark mode\n")
	s.write(".auto-claude/specs/"+spec+"/implementation_plan.json", plan("pending"))
	return s
}

func plan(status string) string {
	return fmt.Sprintf(`{"feature": "Dark mode", "phases": [{"id": "p", "subtasks": [{"id": "1.1", "description": "one", "status": %q}]}]}`+"\n", status)
}

func (s *site) write(name, text string) {
	s.t.Helper()
	gittest.Write(s.t, s.dir, name, text)
}

func (s *site) git(dir string, args ...string) string {
	s.t.Helper()
	return gittest.Run(s.t, filepath.Join(s.dir, dir), gittest.Environ(s.dir), args...)
}

// with gives the project to someone who changes it, as the engine does.
func (s *site) with(work func(worktree.Project)) {
	s.t.Helper()
	store, err := durable.Open(s.dir, durable.Options{Reserve: -1})
	if err == nil {
		err = patient(func() error { _, err := store.Take(s.t.Context()); return err })
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer store.Release()
	repo, err := gitx.Open(s.t.Context(), s.dir, gitx.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	work(worktree.Project{Store: store, Repo: repo, Run: s.run()})
}

// patient tries again while the lease is held: a git that was killed keeps it until
// it ends, and so does, for an instant, whatever another test starts.
func patient(try func() error) error {
	for range 200 {
		var held *durable.HeldError
		if err := try(); !errors.As(err, &held) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return try()
}

func (s *site) undo(id string) (rep *durable.UndoReport, err error) {
	err = patient(func() error { rep, err = tender(s.dir, nil).Undo(s.t.Context(), id, upkeep.UndoChoice{}); return err })
	return rep, err
}

func (s *site) run() *reprise.Run {
	s.t.Helper()
	res, err := project.Read(s.t.Context(), s.dir, project.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(res.Runs, func(r *reprise.Run) bool { return r.ID == spec })
	if i < 0 {
		s.t.Fatalf("no run %s in %v", spec, res.Runs)
	}
	return res.Runs[i]
}

// build makes the checkout and works in it: a commit, a change that is not
// committed, and the plan that counts.
func (s *site) build(text string) {
	s.t.Helper()
	s.with(func(p worktree.Project) {
		if _, err := worktree.Ensure(s.t.Context(), p); err != nil {
			s.t.Fatal(err)
		}
	})
	s.write(tree+"/built.txt", text)
	s.write(tree+"/only-"+text, text)
	s.git(tree, "add", "built.txt", "only-"+text)
	s.git(tree, "commit", "-q", "-m", text)
	s.write(tree+"/main.txt", "not committed: "+text)
	s.write(tree+"/new-"+text, text)
	s.write(inTree, plan("completed"))
}

func (s *site) discard() {
	s.t.Helper()
	s.with(func(p worktree.Project) {
		if _, err := worktree.Discard(s.t.Context(), p); err != nil {
			s.t.Fatal(err)
		}
	})
}

func (s *site) keep() (id string) {
	s.t.Helper()
	s.with(func(p worktree.Project) {
		var err error
		if id, err = upkeep.Keep(s.t.Context(), p.Store, []*reprise.Run{p.Run}, "before it"); err != nil {
			s.t.Fatal(err)
		}
	})
	return id
}

// picture is everything that an undo must bring back.
func (s *site) picture() string {
	s.t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.dir, p)
		if err != nil || d.IsDir() {
			if rel == ".git" || rel == ".reprise" {
				return filepath.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(p)
		fmt.Fprintf(&out, "%q %q\n", rel, data)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintln(&out, s.git(".", "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/main", "refs/heads/auto-claude"))
	fmt.Fprintln(&out, s.git(".", "worktree", "list", "--porcelain"))
	if _, err := os.Lstat(filepath.Join(s.dir, tree)); err == nil {
		fmt.Fprintln(&out, s.git(tree, "status", "--porcelain"))
	}
	return out.String()
}

// reachable asks that no commit is lost.
func (s *site) reachable(commit string) {
	s.t.Helper()
	if commit != "" && s.git(".", "for-each-ref", "--contains", commit) == "" {
		s.t.Errorf("commit %s is not kept", commit)
	}
}

func (s *site) tip() string {
	out, _ := exec.CommandContext(s.t.Context(), "git", "-C", s.dir, "rev-parse", "--verify", "-q", branch).Output()
	return strings.TrimSpace(string(out))
}

// histories are what is kept, and what comes of it.
var histories = map[string]struct{ before, after func(*site) }{
	"discarded and built again": {func(s *site) { s.build("first") }, func(s *site) { s.discard(); s.build("second") }},
	"discarded":                 {func(s *site) { s.build("first") }, (*site).discard},
	"built":                     {func(*site) {}, func(s *site) { s.build("first") }},
	"worked on":                 {func(s *site) { s.build("first") }, func(s *site) { s.build("second") }},
	"a branch without checkout": {func(s *site) { s.git(".", "branch", branch) }, func(s *site) { s.build("first") }},
	"merged": {func(s *site) {
		s.build("first")
		s.git(tree, "add", "main.txt", "new-first")
		s.git(tree, "commit", "-qm", "rest")
	}, func(s *site) {
		s.with(func(p worktree.Project) {
			if _, err := worktree.Merge(s.t.Context(), p); err != nil {
				s.t.Fatal(err)
			}
		})
	}},
}

// X7: state and code of a build are brought back together, and so are those that
// were left for it.
func TestX7_undo_brings_branch_and_checkout_back(t *testing.T) {
	t.Parallel()
	for name, h := range histories {
		for _, ignored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ignored %t", name, ignored), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, ignored)
				h.before(s)
				was, first := s.picture(), s.tip()
				id := s.keep()
				if now := s.picture(); now != was {
					t.Fatalf("keeping changed the project\n--- was\n%s--- is\n%s", was, now)
				}
				h.after(s)
				left, second := s.picture(), s.tip()
				rep, err := s.undo(id)
				if err != nil {
					t.Fatal(err)
				}
				if now := s.picture(); now != was {
					t.Fatalf("undo did not bring it back\n--- was\n%s--- is\n%s", was, now)
				}
				s.reachable(first)
				s.reachable(second)
				if _, err := s.undo(rep.Before); err != nil {
					t.Fatal(err)
				}
				if now := s.picture(); now != left {
					t.Fatalf("undoing the undo\n--- was\n%s--- is\n%s", left, now)
				}
			})
		}
	}
}

// O1: an undo that is killed is carried to the same end by the next one.
func TestO1_X7_undo_killed_comes_to_the_same_end(t *testing.T) {
	t.Parallel()
	step := 17
	if testing.Short() {
		step = 41
	}
	for name, h := range histories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, len(name)%2 == 0)
			h.before(s)
			was := s.picture()
			id := s.keep()
			h.after(s)
			second := s.tip()
			aside := s.dir + ".aside"
			s.copy(s.dir, aside)
			kills := 0
			for n := 3; ; n += step {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), "REPRISE_TEST_UNDO="+s.dir, "REPRISE_TEST_UNDO_ID="+id, "REPRISE_TEST_UNDO_AT="+strconv.Itoa(n))
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != -1) {
					t.Fatalf("operation %d: %v\n%s", n, err, out)
				}
				if err != nil {
					kills++
					if _, err := s.undo(id); err != nil {
						t.Fatalf("after a kill before operation %d: %v", n, err)
					}
				}
				if now := s.picture(); now != was {
					t.Fatalf("operation %d\n--- was\n%s--- is\n%s", n, was, now)
				}
				s.reachable(second)
				if err == nil {
					break
				}
				if err := os.RemoveAll(s.dir); err != nil {
					t.Fatal(err)
				}
				s.copy(aside, s.dir)
			}
			if kills == 0 {
				t.Error("it was never killed")
			}
			t.Logf("%d kills", kills)
		})
	}
}

func (s *site) copy(from, to string) {
	s.t.Helper()
	if out, err := exec.CommandContext(s.t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil {
		s.t.Fatalf("copy: %v\n%s", err, out)
	}
}

// X7: what stands in the way is said before anything is changed.
func TestX7_undo_refuses_before_it_changes_anything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		way  func(*site)
		want string
	}{
		"the branch in the project itself": {func(s *site) { s.discard(); s.git(".", "checkout", "-q", "-b", branch) }, "checked out there"},
		"the branch somewhere else": {func(s *site) {
			s.discard()
			s.git(".", "worktree", "add", "-q", "-b", branch, filepath.Join(filepath.Dir(s.dir), "mine"))
		}, "checked out there"},
		"another branch in its place": {func(s *site) { s.discard(); s.git(".", "worktree", "add", "-q", "-b", "mine", tree) }, "mine is checked out there"},
		"a merge in the middle": {func(s *site) {
			s.git(".", "commit", "-q", "--allow-empty", "-m", "more")
			s.git(tree, "merge", "-q", "--no-commit", "--no-ff", "main")
		}, "in the middle of a merge"},
		"git at work": {func(s *site) { s.write(".git/worktrees/"+spec+"/index.lock", "") }, "index.lock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, true)
			s.build("first")
			id := s.keep()
			c.way(s)
			was := s.picture()
			list, err := tender(s.dir, nil).Snapshots()
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.undo(id)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("undo: %v, want %q", err, c.want)
			}
			if now := s.picture(); now != was {
				t.Errorf("it changed something\n--- was\n%s--- is\n%s", was, now)
			}
			if after, _ := tender(s.dir, nil).Snapshots(); len(after) != len(list) {
				t.Errorf("%d snapshots, then %d", len(list), len(after))
			}
		})
	}
}

// X7: a snapshot of an earlier version is still of use, and it is said what it does
// not hold.
func TestX7_undo_to_a_snapshot_of_an_earlier_version(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.build("first")
	var snap *durable.Snapshot
	s.with(func(p worktree.Project) {
		var err error
		if snap, err = p.Store.Snapshot(t.Context(), durable.SnapshotOptions{Tree: true}); err != nil {
			t.Fatal(err)
		}
	})
	s.write("main.txt", "two\n")
	plan, err := tender(s.dir, nil).PlanUndo(t.Context(), snap, upkeep.UndoChoice{All: true})
	if err != nil || !strings.Contains(strings.Join(plan.Missing, "\n"), "from an earlier version") || !slices.Equal(plan.Back, []string{"main.txt"}) {
		t.Fatalf("plan: %+v, %v", plan, err)
	}
	tip := s.tip()
	if err := patient(func() error {
		_, err := tender(s.dir, nil).Undo(t.Context(), snap.ID, upkeep.UndoChoice{All: true})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(s.dir, "main.txt")); string(data) != "one\n" || s.tip() != tip {
		t.Errorf("main.txt holds %q, %v; the branch went from %s to %s", data, err, tip, s.tip())
	}
}
