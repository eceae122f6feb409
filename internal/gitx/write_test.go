//go:build unix

package gitx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise"
)

func (f *fixture) repo() *Repo {
	f.t.Helper()
	r, err := f.open()
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// hooked puts a program into every hook, filter, driver and monitor of the
// repository; each leaves a mark if it is run.
func (f *fixture) hooked() {
	f.t.Helper()
	f.write(".gitattributes", "* filter= merge= diff=\n*.x filter=s merge=d diff=d\n")
	f.write("a.x", "text\n")
	f.commit("with attributes")
	f.touch("a.x")
	for key, name := range map[string]string{
		"filter..smudge": "odd-smudge", "filter..clean": "odd-clean", "merge..driver": "odd-driver", "diff..command": "odd-diff",
		"filter.s.smudge": "smudge", "filter.s.clean": "clean", "filter.s.process": "process", "merge.d.driver": "driver",
		"diff.d.textconv": "textconv", "diff.external": "external", "core.fsmonitor": "fsmonitor", "gpg.program": "gpg", "core.editor": "editor",
	} {
		f.git("config", key, f.trap(name))
	}
	f.git("config", "commit.gpgsign", "true")
	f.git("config", "merge.autostash", "true")
	for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "reference-transaction", "pre-merge-commit", "post-merge"} {
		file := ".git/hooks/" + hook
		f.write(file, "#!/bin/sh\n: > "+filepath.Join(f.base, "mark-"+hook)+"\n")
		if err := os.Chmod(filepath.Join(f.dir, file), 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
	for _, m := range f.marks() {
		if err := os.Remove(m); err != nil {
			f.t.Fatal(err)
		}
	}
}

// Requirement X6.
func TestWrite_runs_nothing_of_the_repository(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.hooked()
	r, dir := f.repo(), filepath.Join(f.base, "repo/.worktrees/001-x")
	if err := r.AddWorktree(t.Context(), dir, "auto-claude/001-x", r.Head()); err != nil {
		t.Fatal(err)
	}
	w := f.in("repo/.worktrees/001-x")
	w.write("a.x", "changed\n")
	w.write("new.txt", "new\n")
	in, err := r.In(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := in.Commit(t.Context(), nil, "auto-claude: 1.1 - a thing", reprise.TrailerKey+": k/1")
	if err != nil || commit == "" {
		t.Fatal(commit, err)
	}
	if _, err := r.Merge(t.Context(), "auto-claude/001-x", "merge it", reprise.TrailerKey+": m"); err != nil {
		t.Fatal(err)
	}
	if err := r.RemoveWorktree(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if marks := f.marks(); len(marks) > 0 {
		t.Errorf("code of the repository was run: %q", marks)
	}
}

// Requirement AC9.
func TestCommit(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.write(".gitignore", "ignored\n")
	f.write("gone.txt", "x")
	f.write("taken out.txt", "x")
	f.commit("second")
	f.git("rm", "-q", "taken out.txt")
	f.git("init", "-q", "nested")
	f.git("add", "-f", "file.txt")
	for name, text := range map[string]string{
		"file.txt": "two\n", "a b/new\nname": "n", "-dash": "d", "ignored": "i", ":(top)x": "m",
		".reprise/journal": "s", ".auto-claude/.env": "SECRET=1", ".auto-claude/specs/001/plan.json": "{}", ".worktrees/x/f": "w",
	} {
		f.write(name, text)
	}
	f.write(".auto-claude/staged", "by the user")
	f.git("add", ".auto-claude/staged")
	f.write("brief", "")
	f.git("add", "brief")
	for _, name := range []string{"brief", "gone.txt"} {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := f.repo()
	commit, err := r.Commit(t.Context(), nil, "auto-claude: 1 - \x1b[31mtitle\x00", "Reprise-Step: run/step/1")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.git("show", "--format=%s|%(trailers:key=Reprise-Step,valueonly)|%an", "--name-only", "-z", commit); !strings.HasPrefix(got, "auto-claude: 1 - [31mtitle|run/step/1\n|reprise") {
		t.Errorf("%q", got)
	}
	names := strings.Split(strings.Trim(f.git("diff", "--name-only", "-z", "--no-renames", "HEAD~", "HEAD"), "\x00"), "\x00")
	slices.Sort(names)
	if want := []string{"-dash", ":(top)x", "a b/new\nname", "file.txt", "gone.txt", "taken out.txt"}; !slices.Equal(names, want) {
		t.Errorf("committed %q, want %q", names, want)
	}
	if got := f.git("diff", "--cached", "--name-only"); got != ".auto-claude/staged" {
		t.Errorf("what the user staged is now %q", got)
	}
	if again, err := r.Commit(t.Context(), nil, "x", ""); again != "" || err != nil {
		t.Errorf("a second commit %q %v", again, err)
	}
	if got, found, err := r.HasTrailer(t.Context(), "", "Reprise-Step", "run/step/1"); got != commit || !found || err != nil {
		t.Errorf("trailer %q %v %v", got, found, err)
	}
	was := f.git("rev-parse", commit+"~")
	for _, since := range []string{was, strings.Repeat("1", 40)} {
		if got, found, err := r.HasTrailer(t.Context(), since, "Reprise-Step", "run/step/1"); got != commit || !found || err != nil {
			t.Errorf("trailer since %s: %q %v %v", since, got, found, err)
		}
	}
	if got, found, err := r.HasTrailer(t.Context(), commit, "Reprise-Step", "run/step/1"); found || err != nil {
		t.Errorf("trailer of the time before: %q %v", got, err)
	}
	for _, other := range []string{"run/step/11", "run/step", "1"} {
		if _, found, err := r.HasTrailer(t.Context(), "", "Reprise-Step", other); found || err != nil {
			t.Errorf("trailer %q found, %v", other, err)
		}
	}
	f.git("config", "user.name", "Somebody")
	f.git("config", "user.email", "s@example.org")
	f.write("more", "")
	if commit, err = r.Commit(t.Context(), nil, "", ""); err != nil {
		t.Fatal(err)
	}
	if got := f.git("show", "-s", "--format=%an <%ae> %s", commit); got != "Somebody <s@example.org> work of a step" {
		t.Errorf("%q", got)
	}
}

// A commit that git cannot make leaves the index as it was: what a person staged is
// staged as they did, what was staged for the commit is not.
//
// Requirement O4.
func TestA_commit_that_cannot_be_made_leaves_the_index(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, block string
		locked      bool
	}{
		{"a locked branch", "refs/heads/main.lock", true},
		{"a locked head", "HEAD.lock", true},
		{"a locked index", "index.lock", true},
		{"a folder where the branch's lock goes", "refs/heads/main.lock/", true},
		{"a folder that cannot be written", "COMMIT_EDITMSG/", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.write("back.txt", "one\n")
			f.write("gone.txt", "one\n")
			f.write("theirs.txt", "one\n")
			f.commit("second")
			f.git("rm", "-q", "--cached", "gone.txt")
			for name, text := range map[string]string{"file.txt": "staged\n", "theirs.txt": "two\n", "back.txt": "two\n", "all.txt": "new\n"} {
				f.write(name, text)
				f.git("add", name)
			}
			f.write("file.txt", "changed since\n")
			f.write("back.txt", "one\n") // as the head has it
			f.write("all.txt", "changed since\n")
			f.write("new.txt", "new\n")
			before := f.git("ls-files", "--stage")
			at := filepath.Join(f.dir, ".git", c.block)
			if strings.HasSuffix(c.block, "/") {
				os.Remove(at)
				if err := os.MkdirAll(filepath.Join(at, "x"), 0o755); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(at, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			r := f.repo()
			_, err := r.CommitPaths(t.Context(), nil, []string{"file.txt", "new.txt", "gone.txt", "all.txt", "back.txt"}, nil, "x", "")
			not, is := errors.AsType[*NotReadyError](err)
			if err == nil || is != c.locked || is && (!not.Locked || not.Since.IsZero() || !strings.Contains(not.Reason, strings.TrimSuffix(c.block, "/"))) {
				t.Errorf("%v", err)
			}
			if is && (!strings.Contains(not.Reason, " since 2") || !strings.Contains(not.Hint(), filepath.FromSlash(strings.TrimSuffix(c.block, "/")))) {
				t.Errorf("%s: it does not say since when, or how to remove it: %s", not, not.Hint())
			}
			if after := f.git("ls-files", "--stage"); after != before {
				t.Errorf("%v: the index was\n%s\nand is\n%s", err, before, after)
			}
			if err := os.RemoveAll(at); err != nil {
				t.Fatal(err)
			}
			if commit, err := r.CommitPaths(t.Context(), nil, []string{"file.txt", "new.txt"}, nil, "x", ""); commit == "" || err != nil {
				t.Errorf("then: %q %v", commit, err)
			}
		})
	}
}

// A merge that is under way is refused, and so is what one has left: files with conflicts
// that no one resolved, where nothing else tells of the merge.
//
// Requirement X6.
func TestCommit_refuses_what_is_under_way(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.conflict()
	f.fails("merge", "other")
	var not *NotReadyError
	if _, err := f.repo().Commit(t.Context(), nil, "x", ""); !errors.As(err, &not) || !strings.Contains(not.Reason, "merge") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(filepath.Join(f.dir, ".git/MERGE_HEAD")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.repo().Commit(t.Context(), nil, "x", ""); !errors.As(err, &not) || !strings.Contains(not.Reason, "conflicts") {
		t.Errorf("%v", err)
	}
}

// The .git of a checkout is swapped, moved or taken away between two calls.
//
// Requirements X6 and T2.
func TestA_checkout_that_leads_elsewhere_is_refused(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	r, dir := f.repo(), filepath.Join(f.base, "wt")
	if err := r.AddWorktree(t.Context(), dir, "b", r.Head()); err != nil {
		t.Fatal(err)
	}
	in, err := r.In(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	g := f.in("other")
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g.git("init", "-q")
	if err := r.AddWorktree(t.Context(), filepath.Join(f.base, "beside"), "c", r.Head()); err != nil {
		t.Fatal(err)
	}
	beside, err := os.ReadFile(filepath.Join(f.base, "beside/.git"))
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, ".git")
	was, err := os.ReadFile(link)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another repository": "gitdir: " + filepath.Join(g.dir, ".git") + "\n",
		"the main checkout":  "gitdir: " + filepath.Join(f.dir, ".git") + "\n",
		"another checkout":   string(beside),
		"nowhere":            "gitdir: /nowhere\n",
		"torn":               "",
	} {
		if err := os.WriteFile(link, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f.in("wt").write("new", name)
		if commit, err := in.Commit(t.Context(), nil, "x", ""); err == nil {
			t.Errorf("%s: commit %s", name, commit)
		}
		if _, err := r.In(t.Context(), dir); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Commit(t.Context(), nil, "x", ""); err == nil {
		t.Error("a folder without .git was committed")
	}
	f.in("wt").git("init", "-q", "-b", "main")
	if commit, err := in.Commit(t.Context(), nil, "x", ""); err == nil {
		t.Errorf("a repository of its own: commit %s", commit)
	}
	if err := os.RemoveAll(link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, was, 0o644); err != nil {
		t.Fatal(err)
	}
	if commit, err := in.Commit(t.Context(), nil, "x", ""); err != nil || commit == "" {
		t.Error(commit, err)
	}
}

// Requirement AC9.
func TestMerge(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.conflict()
	f.git("checkout", "-q", "-b", "fine", "main~")
	f.write("fine.txt", "fine\n")
	fine := f.commit("fine")
	f.git("checkout", "-q", "main")
	r := f.repo()
	var conflict *ConflictError
	if _, err := r.Merge(t.Context(), "other", "merge", "Reprise-Step: x"); !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"file.txt"}) {
		t.Fatalf("%v", err)
	}
	if got := f.git("status", "--porcelain"); got != "" || Operation(r.GitDir()) != "" {
		t.Fatalf("the checkout is left with %q", got)
	}
	f.write("file.txt", "mine\n")
	var not *NotReadyError
	if _, err := r.Merge(t.Context(), "fine", "m", ""); !errors.As(err, &not) || !slices.Equal(not.Paths, []string{"file.txt"}) {
		t.Errorf("%v", err)
	}
	f.git("checkout", "-q", "--", "file.txt")
	f.git("checkout", "-q", "--detach")
	if _, err := r.Merge(t.Context(), "fine", "m", ""); !errors.As(err, &not) {
		t.Errorf("%v", err)
	}
	f.git("checkout", "-q", "main")
	f.fails("merge", "other")
	if _, err := r.Merge(t.Context(), "other", "m", ""); !errors.As(err, &not) {
		t.Errorf("somebody else's merge: %v", err)
	}
	f.git("merge", "--abort")
	f.write(".auto-claude/specs/x", "state")
	before := f.git("rev-parse", "main")
	commit, err := r.Merge(t.Context(), "fine", "merge fine", "Reprise-Step: m/1")
	if err != nil {
		t.Fatal(err)
	}
	if is, err := r.IsAncestor(t.Context(), fine, "main"); !is || err != nil {
		t.Error(is, err)
	}
	if got := f.git("show", "-s", "--format=%s|%(trailers:key=Reprise-Step,valueonly)", commit); got != "merge fine|m/1" {
		t.Errorf("%q", got)
	}
	stat, err := r.DiffStat(t.Context(), before, "main")
	if want := []FileStat{{Path: "fine.txt", Added: 1}}; err != nil || !slices.Equal(stat, want) {
		t.Errorf("%+v %v", stat, err)
	}
	if base, err := r.MergeBase(t.Context(), "other", "fine"); err != nil || base != f.git("merge-base", "other", "fine") {
		t.Error(base, err)
	}
	if list, err := r.Subjects(t.Context(), before, "main", 10); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
}

// TestForesee_says_what_Merge_says, without a trace in the repository, and
// without running what it names: a file in conflict, one that a driver of the
// repository's would merge, one that is renamed on both sides, a history of its own,
// files that git does not know.
//
// Requirement X10.
func TestForesee_says_what_Merge_says(t *testing.T) {
	t.Parallel()
	untracked := map[string][]string{
		"untracked, ahead":            {"-dash", "mine.txt"},
		"untracked file and folder":   {"a/b", "d/e f"},
		"untracked beside a conflict": {"mine.txt"},
		"untracked since ignored":     {"key.env", "out", "was.env"},
	}
	for name, setup := range map[string]func(f *fixture){
		"fine": func(f *fixture) {
			f.git("checkout", "-q", "-b", "other")
			f.write("fine.txt", "fine\n")
			f.commit("fine")
			f.git("checkout", "-q", "main")
			f.write("mine.txt", "mine\n")
			f.commit("mine")
		},
		"ahead": func(f *fixture) {
			f.git("checkout", "-q", "-b", "other")
			f.write("fine.txt", "fine\n")
			f.commit("fine")
			f.git("checkout", "-q", "main")
		},
		"conflict": func(f *fixture) { f.conflict() },
		"names": func(f *fixture) {
			f.git("checkout", "-q", "-b", "other")
			f.write("a b/new\nname", "theirs\n")
			f.write("-dash", "theirs\n")
			f.git("mv", "file.txt", "their name")
			f.commit("theirs")
			f.git("checkout", "-q", "main")
			f.write("a b/new\nname", "ours\n")
			f.write("-dash", "ours\n")
			f.git("mv", "file.txt", "our name")
			f.commit("ours")
		},
		"merge driver": func(f *fixture) {
			f.write(".gitattributes", "* merge=m filter=f diff=d\n")
			f.commit("with attributes")
			f.conflict()
			f.git("config", "merge.m.driver", f.trap("driver"))
			f.git("config", "merge.default", "m")
			f.git("config", "filter.f.clean", f.trap("clean"))
			f.git("config", "filter.f.smudge", f.trap("smudge"))
			f.git("config", "diff.d.textconv", f.trap("textconv"))
			f.git("config", "merge.renormalize", "true")
		},
		"untracked, ahead": func(f *fixture) {
			f.git("checkout", "-q", "-b", "other")
			f.write("mine.txt", "theirs\n")
			f.write("-dash", "theirs\n")
			f.commit("theirs")
			f.git("checkout", "-q", "main")
			f.write("mine.txt", "mine\n")
			f.write("-dash", "mine\n")
			f.write("unconcerned", "mine\n")
		},
		"untracked file and folder": func(f *fixture) {
			f.git("checkout", "-q", "-b", "other")
			f.write("a/b/c", "theirs\n")
			f.write("d", "theirs\n")
			f.commit("theirs")
			f.git("checkout", "-q", "main")
			f.write("ours", "ours\n")
			f.commit("ours")
			f.write("a/b", "mine\n")
			f.write("d/e f", "mine\n")
		},
		"untracked beside a conflict": func(f *fixture) {
			f.conflict()
			f.git("checkout", "-q", "other")
			f.write("mine.txt", "theirs\n")
			f.commit("more")
			f.git("checkout", "-q", "main")
			f.write("mine.txt", "mine\n")
		},
		"untracked since ignored": func(f *fixture) {
			f.write("was.env", "one\n")
			f.commit("was")
			f.git("checkout", "-q", "-b", "other")
			f.write("key.env", "theirs\n")
			f.write("was.env", "theirs\n")
			f.write("out", "theirs\n")
			f.write("gone/new", "theirs\n")
			f.commit("theirs")
			f.git("checkout", "-q", "main")
			f.git("rm", "-q", "--cached", "was.env")
			f.write(".gitignore", "*.env\nout/\ngone/\n")
			f.commit("ignore")
			f.write("key.env", "mine\n")
			f.write("was.env", "mine\n")
			f.write("out/page", "mine\n")
			f.write("gone/old", "mine\n")
		},
		"unrelated": func(f *fixture) {
			f.git("checkout", "-q", "--orphan", "other")
			f.write("file.txt", "other\n")
			f.commit("other")
			f.git("checkout", "-q", "main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			setup(f)
			for _, m := range f.marks() { // left by the setup itself
				if err := os.Remove(m); err != nil {
					t.Fatal(err)
				}
			}
			driver := name == "merge driver"
			look := func() map[string]string {
				all := snapshot(t, f.base)
				for name, line := range all {
					if words := strings.Fields(line); driver && strings.Contains(name, "/.git/objects/") {
						all[name] = words[0] + words[1] + words[len(words)-1] // of ours comes ours again, and gets a new time
					}
				}
				return all
			}
			r, before := f.repo(), look()
			seen := r.Foresee(t.Context(), "other")
			sameSnapshot(t, before, look())
			_, done := r.Merge(t.Context(), "other", "merge", "")
			if fmt.Sprint(seen) != fmt.Sprint(done) || (name == "fine" || name == "ahead") != (done == nil) {
				t.Errorf("foreseen: %v\nit came: %v", seen, done)
			}
			if not, is := errors.AsType[*NotReadyError](done); is != strings.HasPrefix(name, "untracked") || is && !not.Untracked {
				t.Errorf("%v", done)
			} else if is {
				sameSnapshot(t, before, look())
				if want := untracked[name]; !slices.Equal(not.Paths, want) {
					t.Errorf("in the way: %q, want %q", not.Paths, want)
				}
			}
			if marks := f.marks(); len(marks) > 0 {
				t.Errorf("code of the repository was run: %q", marks)
			}
		})
	}
}

// Requirement X6.
func TestWorktree_is_never_removed_with_work_in_it(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.write(".gitignore", "ignored\n")
	f.commit("ignore")
	r, dir := f.repo(), filepath.Join(f.base, "wt")
	if err := r.AddWorktree(t.Context(), dir, "b/c", "main"); err != nil {
		t.Fatal(err)
	}
	if err := r.RenameBranch(t.Context(), "b/c", "reprise/discarded/c-1"); err == nil {
		t.Error("a branch that is checked out was renamed")
	}
	for _, name := range []string{"ignored", "new", "file.txt"} {
		f.in("wt").write(name, "work")
		if err := r.RemoveWorktree(t.Context(), dir); err == nil {
			t.Fatalf("removed with %s", name)
		}
		if name != "file.txt" {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.in("wt").git("add", "file.txt")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	linked := r.Linked()
	if len(linked) != 1 || linked[0].Begun || linked[0].Branch != "b/c" || linked[0].Path != dir {
		t.Fatalf("%+v", linked)
	}
	kept, err := r.KeepIndex(t.Context(), linked[0], "refs/reprise/kept/c")
	if err != nil || f.git("show", kept+":file.txt") != "work" {
		t.Errorf("%q %v", kept, err)
	}
	if err := r.RemoveWorktree(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := r.RenameBranch(t.Context(), "b/c", "reprise/discarded/c-1"); err != nil {
		t.Error(err)
	}
	if got := f.git("worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 1 {
		t.Errorf("%s", got)
	}
}

// Requirement OR11.
func TestCommitPaths_leaves_the_rest(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	r := f.repo()
	f.write("new", "a")
	f.write("file.txt", "two")
	if commit, err := r.CommitPaths(t.Context(), nil, []string{"new", "no such"}, nil, "some", ""); err != nil || commit == "" {
		t.Fatal(commit, err)
	}
	if commit, err := r.CommitPaths(t.Context(), nil, []string{"new"}, nil, "some", ""); err != nil || commit != "" {
		t.Fatal(commit, err)
	}
	if got, err := r.Changes(t.Context()); err != nil || !slices.Equal(got, []string{"file.txt"}) {
		t.Errorf("%q %v", got, err)
	}
}

func TestA_look_tells_what_is_committed_until_another_git_writes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		since func(f *fixture) // what happens between the look and the commit
		want  string           // what the commit holds
		kept  string           // what is staged after it
	}{
		{"nothing happened", func(f *fixture) {}, "list.md\nwork.txt", ""},
		{"somebody staged a file: the list is left out", func(f *fixture) { f.git("add", "theirs.txt") }, "work.txt", "theirs.txt"},
		{"somebody committed", func(f *fixture) { f.git("add", "theirs.txt"); f.git("commit", "-q", "-m", "theirs") }, "list.md\nwork.txt", ""},
		{"the work was removed", func(f *fixture) { os.Remove(filepath.Join(f.dir, "work.txt")) }, "list.md", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.write("list.md", "open\n")
			f.git("add", "list.md")
			f.commit("list")
			f.write("work.txt", "work\n")
			f.write("theirs.txt", "theirs\n")
			r := f.repo()
			look, err := r.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c.since(f)
			as := map[string][]byte{"list.md": []byte("done\n")}
			if commit, err := r.CommitPaths(t.Context(), look, []string{"work.txt"}, as, "work", ""); commit == "" || err != nil {
				t.Fatal(commit, err)
			}
			if got := f.git("show", "--format=", "--name-only", "HEAD"); got != c.want {
				t.Errorf("the commit has %q", got)
			}
			if got := f.git("diff", "--cached", "--name-only"); got != c.kept {
				t.Errorf("staged is %q", got)
			}
		})
	}
}

func TestA_commit_takes_every_kind_of_change(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	for _, name := range []string{"folder/a", "file", "run.sh", "back"} {
		f.write(name, name+"\n")
	}
	f.git("add", "-A")
	f.commit("before")
	at := func(name string) string { return filepath.Join(f.dir, name) }
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	do(os.RemoveAll(at("folder")), os.WriteFile(at("folder"), []byte("now a file\n"), 0o644))
	do(os.Remove(at("file")))
	do(os.Chmod(at("run.sh"), 0o755), os.Symlink("run.sh", at("link")))
	f.write("added", "x\n")
	f.git("add", "added")
	do(os.Remove(at("added")))
	f.write("back", "two\n")
	f.git("add", "back")
	f.write("back", "back\n")
	if commit, err := f.repo().Commit(t.Context(), nil, "all", ""); commit == "" || err != nil {
		t.Fatal(commit, err)
	}
	if got := f.git("status", "--porcelain"); got != "" {
		t.Errorf("left is %q", got)
	}
	want := "file D\nfolder A\nfolder/a D\nlink A\nrun.sh M"
	if got := strings.ReplaceAll(f.git("log", "-1", "--format=", "--no-renames", "--name-status"), "\t", " "); !slices.Equal(turned(got), strings.Split(want, "\n")) {
		t.Errorf("%q", got)
	}
	f.write("back", "two\n")
	f.git("add", "back")
	f.write("back", "back\n")
	if commit, err := f.repo().Commit(t.Context(), nil, "nothing", ""); commit != "" || err != nil {
		t.Errorf("nothing to commit: %q %v", commit, err)
	}
}

// turned gives lines "KIND NAME" as "NAME KIND", sorted.
func turned(text string) (out []string) {
	for line := range strings.Lines(text) {
		kind, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		out = append(out, name+" "+kind)
	}
	slices.Sort(out)
	return out
}

func TestA_commit_holds_something_else_than_the_file_on_disk(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.write("list.md", "open\n")
	f.git("add", "list.md")
	f.commit("list")
	as := map[string][]byte{"list.md": []byte("done\n"), "unknown.md": []byte("done\n")}
	commit := func(what string, want bool) {
		t.Helper()
		f.write("work.txt", what)
		if made, err := f.repo().CommitPaths(t.Context(), nil, []string{"work.txt"}, as, what, ""); (made != "") != want || (err == nil) != want {
			t.Fatalf("%s: %q, %v", what, made, err)
		}
	}

	// What git refuses leaves the index as it was.
	before := f.git("ls-files", "--stage")
	lock := filepath.Join(f.dir, ".git", "HEAD.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	commit("refused", false)
	if after := f.git("ls-files", "--stage"); after != before {
		t.Errorf("the index was\n%s\nand is\n%s", before, after)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}

	// What a killed call staged is taken; what somebody else staged is theirs.
	f.write("list.md", "done\n")
	f.git("add", "list.md")
	f.write("list.md", "open\n")
	commit("after a kill", true)
	if got := f.git("show", "HEAD:list.md"); got != "done" {
		t.Errorf("the commit has %q", got)
	}
	if got, err := os.ReadFile(filepath.Join(f.dir, "list.md")); err != nil || string(got) != "open\n" {
		t.Errorf("on disk is %q, %v", got, err)
	}
	f.write("theirs.txt", "theirs")
	f.git("add", "theirs.txt")
	as["list.md"] = []byte("more\n")
	commit("beside", true)
	if got := f.git("show", "HEAD:list.md"); got != "done" {
		t.Errorf("the commit has %q", got)
	}
	if got := f.git("diff", "--cached", "--name-only"); got != "theirs.txt" {
		t.Errorf("staged is %q", got)
	}
}

// A power cut must not leave a branch of zeros: whoever writes has git flush references
// and the index, whatever the user's settings say. (issue 15, item 22)
func TestWrites_are_flushed_by_git(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("config", "core.fsync", "none")
	git, err := f.repo().main(t.Context(), "write to")
	if err != nil {
		t.Fatal(err)
	}
	out, err := git.output(t.Context(), 100, "config", "core.fsync")
	if err != nil || strings.TrimSpace(string(out)) != "all" {
		t.Errorf("core.fsync is %q, %v", out, err)
	}
}

func TestWithout_any_commit_no_commit_carries_a_trailer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git("init", "-q")
	if commit, found, err := f.repo().HasTrailer(t.Context(), "", "Reprise-Step", "run/step/1"); commit != "" || found || err != nil {
		t.Errorf("%q %t %v", commit, found, err)
	}
	f.commit("first")
	f.git("checkout", "-q", "--orphan", "new")
	if _, _, err := f.repo().HasTrailer(t.Context(), "", "Reprise-Step", "run/step/1"); err == nil {
		t.Error("there are commits, and which of them counts is not known")
	}
}
