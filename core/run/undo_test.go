//go:build unix

package run_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/core"
	"reprise/core/journal"
	"reprise/core/run"
)

// worked gives an engine on a project of some steps whose work is done, by a command.
func worked(t *testing.T, n int, command string) (*run.Engine, string) {
	t.Helper()
	dir, _ := project(t, n)
	return open(t, dir, command), dir
}

func open(t *testing.T, dir, command string) *run.Engine {
	t.Helper()
	c := config(dir)
	c.Work, c.Tell = does(command, os.Environ()), nil
	e, err := run.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func work(t *testing.T, e *run.Engine, want string) {
	t.Helper()
	rest, err := e.Work(context.Background())
	if err != nil || !strings.Contains(rest.Why, want) {
		t.Fatalf("%q, %v; not %q", rest.Why, err, want)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

const writes = `mkdir -p work; echo $REPRISE_STEP >work/$REPRISE_STEP; sed -i "s/^section ${REPRISE_STEP#s}\$/&\nrun $REPRISE_STEP/" shared.txt; echo wrote shared.txt`

func TestUndo_takes_back_one_step_and_nothing_else(t *testing.T) {
	e, dir := worked(t, 5, writes)
	work(t, e, "the run is over")
	put(t, dir, "mine.txt", "one\nafter\n")
	gitUntil(dir, "add", "mine.txt")
	put(t, dir, "shared.txt", strings.Replace(read(t, dir, "shared.txt"), "user 02\n", "user 02\nhis line\n", 1))
	if err := e.Undo(context.Background(), "s03"); err != nil {
		t.Fatal(err)
	}
	e.Close()
	got := read(t, dir, "shared.txt")
	if strings.Contains(got, "run s03") || !strings.Contains(got, "run s02") || !strings.Contains(got, "run s04") || !strings.Contains(got, "his line") {
		t.Errorf("shared.txt:\n%s", got)
	}
	if read(t, dir, "work/s03") != "" || read(t, dir, "work/s04") == "" {
		t.Error("the files of the steps")
	}
	if plan := read(t, dir, "PLAN.md"); !strings.Contains(plan, "- [ ] s03") || strings.Count(plan, "[x]") != 4 {
		t.Errorf("PLAN.md:\n%s", plan)
	}
	if got := gitUntil(dir, "status", "--porcelain"); got != "M  mine.txt\n M shared.txt\n" {
		t.Errorf("status:\n%s", got)
	}
	if got := gitUntil(dir, "log", "-1", "--format=%s", "--stat"); !strings.Contains(got, "Undo s03") || !strings.Contains(got, "3 files changed") {
		t.Errorf("log: %s", got)
	}
	e = open(t, dir, writes)
	defer e.Close()
	work(t, e, "the run is over")
	if got := read(t, dir, "shared.txt"); !strings.Contains(got, "run s03") || !strings.Contains(got, "his line") {
		t.Errorf("done again:\n%s", got)
	}
}

func TestUndo_refuses_lines_that_were_changed_since(t *testing.T) {
	e, dir := worked(t, 2, `echo one >file; echo x >>more`)
	defer e.Close()
	work(t, e, "the run is over")
	put(t, dir, "file", "two\n")
	before := gitUntil(dir, "rev-parse", "HEAD")
	if err := e.Undo(context.Background(), "s01"); !errors.Is(err, run.ErrTorn) {
		t.Errorf("%v", err)
	}
	if read(t, dir, "file") != "two\n" || gitUntil(dir, "rev-parse", "HEAD") != before {
		t.Error("something was changed")
	}
}

func TestAgain_begins_the_step_in_the_world_before_it(t *testing.T) {
	e, dir := worked(t, 1, `echo half >>half; git push -q nowhere main 2>/dev/null; kill -9 -$$; kill -9 $$`)
	work(t, e, "is open")
	q := e.Journal.State.Asked
	if q == nil || len(q.Facts.Outside) != 1 || q.Facts.Stat != "1 added, 0 changed, 0 removed" {
		t.Fatalf("%+v", q)
	}
	if err := e.Answer(q.ID, core.Again.Key); err != nil {
		t.Fatal(err)
	}
	e.Close()
	e = open(t, dir, `ls half 2>/dev/null && echo again >>half; echo whole >whole`)
	defer e.Close()
	work(t, e, "the run is over")
	if read(t, dir, "half") != "" || read(t, dir, "whole") == "" {
		t.Errorf("half %q, whole %q", read(t, dir, "half"), read(t, dir, "whole"))
	}
}

// A move is made again and again, from every state in which a kill can leave it.
func TestMove_can_be_made_again(t *testing.T) {
	e, dir := worked(t, 2, writes)
	defer e.Close()
	work(t, e, "the run is over")
	log, shared, plan := gitUntil(dir, "log", "--format=%H"), read(t, dir, "shared.txt"), read(t, dir, "PLAN.md")
	var last core.Record
	journal.Read(filepath.Join(dir, ".reprise/runs/run"), func(r core.Record) error {
		if r.Move() != nil {
			last = r
		}
		return nil
	})
	undone := map[string]func(){
		"all of it was made":       func() {},
		"the commit is missing":    func() { gitUntil(dir, "reset", "-q", "--soft", "HEAD^") },
		"the index is missing too": func() { gitUntil(dir, "reset", "-q", "HEAD^") },
		"the tick is missing as well": func() {
			gitUntil(dir, "reset", "-q", "HEAD^")
			put(t, dir, "PLAN.md", strings.Replace(plan, "[x] s02", "[ ] s02", 1))
		},
	}
	for name, undo := range undone {
		undo()
		if _, err := e.Repo.Make(context.Background(), "run", last); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := gitUntil(dir, "log", "--format=%H"); got != log || read(t, dir, "shared.txt") != shared || read(t, dir, "PLAN.md") != plan {
			t.Errorf("%s: %s, not %s", name, got, log)
		}
		if got := gitUntil(dir, "status", "--porcelain"); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestWithout_git_the_same_is_done_without_commits(t *testing.T) {
	dir, _ := project(t, 3)
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	e := open(t, dir, writes)
	defer e.Close()
	work(t, e, "the run is over")
	if err := e.Undo(context.Background(), "s02"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "shared.txt"); strings.Contains(got, "run s02") || !strings.Contains(got, "run s03") {
		t.Errorf("shared.txt:\n%s", got)
	}
	if plan := read(t, dir, "PLAN.md"); strings.Count(plan, "[x]") != 2 {
		t.Errorf("PLAN.md:\n%s", plan)
	}
}

func TestLarge_files_are_neither_kept_nor_committed(t *testing.T) {
	e, dir := worked(t, 1, `truncate -s 60M big; echo small >small`)
	defer e.Close()
	work(t, e, "the run is over")
	if got := gitUntil(dir, "status", "--porcelain"); got != "?? big\n" {
		t.Errorf("status: %s", got)
	}
	if got := gitUntil(dir, "show", "--format=", "--name-only"); got != "PLAN.md\nsmall\n" {
		t.Errorf("commit: %s", got)
	}
}

// A plan that git ignores is marked, and not committed.
func TestIgnored_plan(t *testing.T) {
	dir, _ := project(t, 2)
	put(t, dir, ".gitignore", "PLAN.md\n*.new\n")
	gitUntil(dir, "rm", "-q", "--cached", "PLAN.md")
	gitUntil(dir, "commit", "-q", "-am", "ignore the plan")
	e := open(t, dir, writes)
	defer e.Close()
	work(t, e, "the run is over")
	if plan := read(t, dir, "PLAN.md"); strings.Count(plan, "[x]") != 2 {
		t.Errorf("PLAN.md:\n%s", plan)
	}
	if got := gitUntil(dir, "log", "-2", "--format=", "--name-only"); strings.Contains(got, "PLAN.md") {
		t.Errorf("committed: %s", got)
	}
}

func TestUndo_of_a_file_that_became_a_folder_and_back(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{`echo a >x`, `rm x; mkdir x; echo b >x/y`, "x\n"},
		{`mkdir x; echo b >x/y; echo c >x/z`, `rm -r x; echo a >x`, "x/y\nx/z\n"},
	} {
		dir, _ := project(t, 2)
		e := open(t, dir, `test $REPRISE_STEP = s01 && { `+c.first+`; } || { `+c.second+`; }`)
		work(t, e, "the run is over")
		if err := e.Undo(context.Background(), "s02"); err != nil {
			t.Fatal(err)
		}
		e.Close()
		if got := shell(t, dir, "git status --porcelain; git ls-files x; find x -type f | sort"); got != c.want+c.want {
			t.Errorf("%s: %s", c.second, got)
		}
	}
}

// A file that git keeps otherwise than it is on disk comes back as it was on disk.
func TestUndo_under_a_filter(t *testing.T) {
	dir, _ := project(t, 2)
	shell(t, dir, `git config --global filter.rot.clean 'tr a-z n-za-m'; git config --global filter.rot.smudge 'tr a-z n-za-m'; echo 'f filter=rot' >.gitattributes; echo step >f; git add .; git commit -q -m rot`)
	e := open(t, dir, `echo more >>f; test $REPRISE_STEP = s01 || rm f`)
	defer e.Close()
	work(t, e, "the run is over")
	if err := e.Undo(context.Background(), "s02"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "f"); got != "step\nmore\n" {
		t.Errorf("f: %q", got)
	}
	if got := shell(t, dir, "git status --porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
}

// What an agent marks beside its own step is asked about, and opened again by default.
func TestMarks_of_other_steps_prove_nothing(t *testing.T) {
	dir, _ := project(t, 3)
	e := open(t, dir, `echo x >>file; sed -i 's/\[ \] s02/[x] s02/' PLAN.md`)
	work(t, e, "is open")
	q := e.Journal.State.Asked
	if q.Step != "s02" || q.Options[0] != core.Open {
		t.Fatalf("%+v", q)
	}
	if err := e.Answer(q.ID, q.Options[0].Key); err != nil {
		t.Fatal(err)
	}
	work(t, e, "the run is over")
	e.Close()
	if got := gitUntil(dir, "log", "--format=%s"); got != "s03: step 3\ns02: step 2\nUndo s02\ns01: step 1\nfirst\n" {
		t.Errorf("log: %s", got)
	}
	if got := gitUntil(dir, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
}
