//go:build unix

package run_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/core"
	"reprise/core/hands"
	"reprise/core/run"
	"reprise/internal/sample"
)

// What was decided of ordinary users' scenarios, each by a road that a user takes.

// C1: a run rests, the user goes to another branch, or takes its commit back; going on makes
// nothing a second time.
func TestC1_a_move_that_was_made_is_not_made_again(t *testing.T) {
	for name, c := range map[string]struct{ user, want, why string }{
		"another branch": {`git checkout -q -b other HEAD~1`, "first\n", "question"},
		"a revert":       {`git revert --no-edit HEAD >/dev/null`, "Revert \"s01: step 1\"\ns01: step 1\nfirst\n", "question"},
		"a reset":        {`git reset -q --hard HEAD~1`, "first\n", "question"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := project(t, 2)
			e := open(t, dir, `test $REPRISE_STEP = s02 && exit 1; echo x >>f`)
			work(t, e, "question")
			e.Close()
			shell(t, dir, c.user)
			e = open(t, dir, `echo y >>g`)
			defer e.Close()
			work(t, e, c.why)
			if got := shell(t, dir, `git log --format=%s`); got != c.want {
				t.Errorf("log: %s", got)
			}
		})
	}
}

// C1: the engine dies between a record and its move, and the user goes elsewhere before the
// next one: the commit goes onto no branch that it was not made for.
func TestC1_a_move_that_is_due_waits_for_its_branch(t *testing.T) {
	dir, _ := project(t, 1)
	shell(t, dir, `touch .git/index.lock`) // the move cannot be made
	killed(t, dir, `echo x >f; touch $ORACLE_DIR/.git/tried`, ".reprise/runs/run/attempts/s01.1/result")
	for !strings.Contains(read(t, dir, ".reprise/runs/run/journal"), `"end"`) {
		e := open(t, dir, "exit 1")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		e.Work(ctx)
		cancel()
		e.Close()
	}
	shell(t, dir, `rm .git/index.lock; git stash -q -u; git checkout -q -b other $(git commit-tree -m other HEAD^{tree}); git stash pop -q`)
	e := open(t, dir, "exit 1")
	work(t, e, "question")
	if q := e.Journal.State.Asked; q == nil || q.Options[0] != core.Wait {
		t.Fatalf("%+v", q)
	}
	if err := e.Answer(e.Journal.State.Asked.ID, core.Wait.Key); err != nil {
		t.Fatal(err)
	}
	work(t, e, "waits for main")
	e.Close()
	if got := shell(t, dir, `git log --format=%s`); got != "other\n" {
		t.Errorf("log: %s", got)
	}
	shell(t, dir, `git stash -q -u; git checkout -q main; git stash pop -q`)
	e = open(t, dir, "exit 1")
	defer e.Close()
	work(t, e, "the run is over")
	if got := shell(t, dir, `git log --format=%s; git status --porcelain`); got != "s01: step 1\nfirst\n" {
		t.Errorf("log: %s", got)
	}
}

// C2: what the user commits, pulls or makes while an attempt works is no part of its step:
// undo leaves it.
func TestC2_undo_leaves_what_the_user_committed_meanwhile(t *testing.T) {
	dir, _ := project(t, 1)
	e := open(t, dir, `echo step >f; git add f; git commit -q -m agent; (unset GIT_REFLOG_ACTION; echo his >his; git add his; git commit -q -m his); echo more >>f`)
	defer e.Close()
	work(t, e, "the run is over")
	if err := e.Undo(context.Background(), "s01"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "his") + read(t, dir, "f"); got != "his\n" {
		t.Errorf("%q", got)
	}
	if got := shell(t, dir, `git status --porcelain; git ls-files his f`); got != "his\n" {
		t.Errorf("%s", got)
	}
}

// C3: that a program ended without an error proves nothing.
func TestC3_exit_0_alone_is_not_done(t *testing.T) {
	sample.Drawn(t)
	for name, c := range map[string]struct {
		command string
		says    bool // a plain command
		done    bool
	}{
		"usage limit reached":                   {`echo "usage limit reached"`, false, false},
		"a word and an error":                   {`echo x >>f; ` + says("done") + `; exit 1`, false, false},
		"a word without a change":               {says("done"), false, false},
		"a word and a change":                   {`echo x >>f; ` + says("done"), false, true},
		"the word that nothing needs to change": {says("nothing"), false, true},
		"a plain command that changes nothing":  {`true`, true, false},
		"a plain command":                       {`echo x >>f`, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := project(t, 1)
			e := open(t, dir, c.command)
			defer e.Close()
			if e.Tries = 1; !c.says {
				e.Config.Work = asks(c.command, os.Environ())
			}
			if c.done {
				work(t, e, "the run is over")
			} else {
				work(t, e, "question")
			}
		})
	}
}

// C4: a tick and then the kill, before any work: not done.
func TestC4_a_tick_alone_is_no_proof(t *testing.T) {
	dir, _ := project(t, 1)
	put(t, dir, ".gitignore", "ready\n*.new\n")
	gitUntil(dir, "commit", "-q", "-am", "ignore")
	killed(t, dir, `sed -i 's/\[ \]/[x]/' PLAN.md; echo x >ready; sleep 60`, "ready")
	e := open(t, dir, "echo again >again")
	defer e.Close()
	work(t, e, "the run is over")
	if read(t, dir, "again") == "" {
		t.Error("it was taken as done")
	}
}

// C9: folders of dependencies, names of secrets and great heaps are never committed unasked.
func TestC9_what_nobody_wants_in_a_commit(t *testing.T) {
	dir, _ := project(t, 1)
	e := open(t, dir, `mkdir -p node_modules/a heap src; echo x >node_modules/a/f; echo KEY=1 >.env; for i in $(seq 600); do echo x >heap/$i; done; echo x >src/main`)
	defer e.Close()
	work(t, e, "the run is over")
	if got := shell(t, dir, `git show --format= --name-only; git status --porcelain`); got != "PLAN.md\nsrc/main\n?? .env\n?? heap/\n?? node_modules/\n" {
		t.Errorf("%s", got)
	}
}

// C10: the plan is ignored by git: what the agent ticks in it is seen, and nothing of it is
// committed.
func TestC10_an_ignored_plan_is_seen(t *testing.T) {
	dir, _ := project(t, 3)
	shell(t, dir, `git rm -q --cached PLAN.md; echo PLAN.md >>.gitignore; git commit -q -am ignored`)
	e := open(t, dir, `echo x >>f; sed -i 's/\[ \]/[x]/' PLAN.md`)
	defer e.Close()
	work(t, e, "question")
	if q := e.Journal.State.Asked; q == nil || !strings.Contains(q.Shows, "s01 marked it done") {
		t.Errorf("%+v", q)
	}
	if got := shell(t, dir, `git show --format= --name-only; git status --porcelain`); got != "f\n" {
		t.Errorf("%s", got)
	}
}

// C11: a new branch on top of the run's work is followed, without a question.
func TestC11_a_branch_with_the_work_is_followed(t *testing.T) {
	dir, _ := project(t, 3)
	e := open(t, dir, `echo x >>f; test $REPRISE_STEP = s02 && git checkout -q -b feature; true`)
	defer e.Close()
	work(t, e, "the run is over")
	if got := shell(t, dir, `git branch --show-current; git status --porcelain; git log --format=%s`); got != "feature\ns03: step 3\ns02: step 2\ns01: step 1\nfirst\n" {
		t.Errorf("%s", got)
	}
}

// C12: a complete list gains an item.
func TestC12_a_new_item_opens_a_complete_run(t *testing.T) {
	dir, _ := project(t, 1)
	e := open(t, dir, `echo x >>f`)
	work(t, e, "the run is over")
	e.Close()
	put(t, dir, "PLAN.md", read(t, dir, "PLAN.md")+"- [ ] s02: more\n")
	e = open(t, dir, `echo y >>f`)
	defer e.Close()
	work(t, e, "the run is over")
	if got := read(t, dir, "f"); got != "x\ny\n" {
		t.Errorf("%q", got)
	}
}

// C13: an item is inserted and the ids move: nothing is done twice, and nothing is left out.
func TestC13_ids_that_move(t *testing.T) {
	dir, _ := project(t, 2)
	e := open(t, dir, `echo $REPRISE_STEP >>f`)
	work(t, e, "the run is over")
	e.Close()
	put(t, dir, "PLAN.md", "- [ ] s01: before all\n- [x] s02: step 1\n- [x] s03: step 2\n")
	e = open(t, dir, `echo new >>f`)
	defer e.Close()
	work(t, e, "the run is over")
	if got := read(t, dir, "f"); got != "s01\ns02\nnew\n" {
		t.Errorf("%q", got)
	}
	if got := read(t, dir, "PLAN.md"); strings.Contains(got, "[ ]") {
		t.Errorf("%s", got)
	}
}

// C16: a stranger's file beside the run's folder is no part of a step.
func TestC16_the_folder_of_the_run_bounds_its_commits(t *testing.T) {
	dir, _ := project(t, 1)
	shell(t, dir, `mkdir api web; git mv PLAN.md api/PLAN.md; git commit -q -m move`)
	e := open(t, dir+"/api", `echo x >f; echo his >../web/his; echo own >../web/own; echo "wrote web/own"`)
	defer e.Close()
	work(t, e, "the run is over")
	if got := shell(t, dir, `git show --format= --name-only; git status --porcelain`); got != "api/PLAN.md\napi/f\nweb/own\n?? web/his\n" {
		t.Errorf("%s", got)
	}
}

// C17: an agent that kills its engine each time is not begun for ever.
func TestC17_cut_off_attempts_count(t *testing.T) {
	sample.Drawn(t)
	dir, _ := project(t, 1)
	for range 20 {
		cmd := exec.Command(self())
		cmd.Env = append(os.Environ(), "ORACLE=engine", "ORACLE_DIR="+dir, "ORACLE_COMMAND=echo x >>f; kill -9 $ENGINE; sleep 60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := cmd.CombinedOutput()
		if err == nil {
			if !strings.Contains(string(out), "was cut off 5 times") {
				t.Errorf("%s", out)
			}
			return
		}
	}
	t.Error("it was begun 20 times")
}

// C8: who looks takes no lock, creates nothing in the project, and sees what the engine sees.
func TestC8_looking_changes_nothing(t *testing.T) {
	sample.Drawn(t)
	list := func(dir string) string {
		return shell(t, dir, `find . -type f -o -type d | sort | xargs -d '\n' stat -c '%n %s %Y' 2>/dev/null | grep -v '^\. '`)
	}
	for name, setup := range map[string]string{"git": "true", "without git": "rm -rf .git"} {
		t.Run(name, func(t *testing.T) {
			dir, _ := project(t, 2)
			shell(t, dir, setup)
			before := list(dir)
			_, d, err := run.Look(context.Background(), config(dir))
			if start, ok := d.(core.StartStep); err != nil || !ok || start.Step.ID != "s01" {
				t.Fatalf("%#v, %v", d, err)
			}
			if got := list(dir); got != before {
				t.Errorf("it wrote:\n%s\nbefore:\n%s", got, before)
			}
			killed(t, dir, `echo half >>half; sleep 60`, "half")
			e := open(t, dir, "true") // somebody is at work
			before = list(dir)
			v, d, err := run.Look(context.Background(), config(dir))
			if end, ok := d.(core.EndAttempt); err != nil || !ok || end.Outcome != core.Cut || len(v.Looks["s01"].Facts.Files) != 1 {
				t.Errorf("%#v, %v", d, err)
			}
			if got := list(dir); got != before {
				t.Errorf("it wrote:\n%s\nbefore:\n%s", got, before)
			}
			e.Close()
		})
	}
}

// C7: an attempt of another run was cut off in the same folder: this run waits for it, and
// nothing of the one is in a commit of the other. What proves itself is settled unasked.
func TestC7_runs_of_one_checkout_wait_for_each_other(t *testing.T) {
	sample.Drawn(t)
	for name, c := range map[string]struct{ first, want, files string }{
		"half of it":  {`echo half >>half; echo x >ready; sleep 60`, "run run has work", ""},
		"its proof":   {`echo whole >>half; sed -i 's/\[ \]/[x]/' PLAN.md; echo x >ready; sleep 60`, "the run is over", "B.md\nb\n"},
		"still alive": {`echo half >>half; echo x >ready; sleep 60`, "an agent of run run is at work", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := project(t, 1)
			put(t, dir, ".gitignore", "ready\n*.new\n")
			put(t, dir, "B.md", "- [ ] b1: other\n")
			shell(t, dir, `git add .; git commit -q -m b`)
			if name == "still alive" {
				outlived(t, dir, c.first, "ready")
				defer hands.At(filepath.Join(dir, ".reprise/runs/run"), "s01", 1).Stop(0)
			} else {
				killed(t, dir, c.first, "ready")
			}
			cfg := config(dir)
			cfg.Run, cfg.Plan, cfg.Work = "other", "B.md", does(`echo b >b`, os.Environ())
			e, err := run.Open(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			work(t, e, c.want)
			if c.files != "" {
				if got := shell(t, dir, `git show --format= --name-only; git status --porcelain`); got != c.files {
					t.Errorf("%s", got)
				}
			} else if read(t, dir, "b") != "" {
				t.Error("it was started")
			}
		})
	}
}

// C14: the work of a step stands after an amend, a squash and a rebase, and not after a
// revert that names its commit.
func TestC14_what_shows_that_work_stands(t *testing.T) {
	sample.Drawn(t)
	for name, c := range map[string]struct {
		user   string
		stands bool
	}{
		"nothing":              {`true`, true},
		"an amend":             {`git commit -q --amend -m other`, true},
		"a squash":             {`git reset -q --soft HEAD~2; git commit -q -m one`, true},
		"a rebase":             {`git checkout -q -b base HEAD~2; echo b >b; git add b; git commit -q -m b; git rebase -q base main`, true},
		"a merge":              {`git checkout -q -b other HEAD~2; echo b >b; git add b; git commit -q -m b; git merge -q -m merge main`, true},
		"a revert":             {`git revert --no-edit HEAD`, false},
		"a revert of a revert": {`git revert --no-edit HEAD; git revert --no-edit HEAD`, true},
		"a reset":              {`git reset -q --hard HEAD~1`, false},
		"later work":           {`echo more >>f; git commit -q -am more`, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := project(t, 2)
			e := open(t, dir, `echo $REPRISE_STEP >>f`)
			defer e.Close()
			work(t, e, "the run is over")
			shell(t, dir, c.user+" >/dev/null 2>&1")
			h, err := e.Repo.History(context.Background(), "1000")
			if err != nil {
				t.Fatal(err)
			}
			head, err := e.Repo.Head()
			if err != nil {
				t.Fatal(err)
			}
			stands, why, err := e.Repo.Stands(h, head, "run/s02", e.Journal.State.Step("s02"))
			if err != nil || stands != c.stands {
				t.Errorf("%v, %s, %v", stands, why, err)
			}
		})
	}
}

// C20: steps side by side, each in a worktree of its own; the plan is marked only when the work
// is brought in, one at a time, and what the user has uncommitted stays his. Killed in the
// middle, each continues where it was.
func TestC20_steps_side_by_side(t *testing.T) {
	sample.Drawn(t)
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprint(kill), func(t *testing.T) {
			dir, outside := project(t, 4)
			put(t, dir, "mine.txt", "one\nhis\n")
			command := `echo half >>work-$REPRISE_STEP; echo x >>$ORACLE_OUT/at; while test $(wc -l <$ORACLE_OUT/at) -lt 2; do sleep 0.05; done
				test -e $ORACLE_OUT/go || { test $ORACLE_KILL = true && sleep 60; }; pwd >>$ORACLE_OUT/where; echo whole >>work-$REPRISE_STEP; echo $REPRISE_STEP >>$ORACLE_OUT/effect`
			t.Setenv("ORACLE_KILL", fmt.Sprint(kill))
			cfg := config(dir)
			cfg.Parallel, cfg.Work = 2, does(command, os.Environ())
			if kill {
				ctx, stop := context.WithCancel(context.Background())
				e, err := run.Open(ctx, cfg)
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					for strings.Count(read(t, outside, "at"), "x") < 2 {
						time.Sleep(5 * time.Millisecond)
					}
					stop()
				}()
				if rest, err := e.Work(ctx); err != nil || rest.Why != "it was stopped" {
					t.Fatalf("%+v, %v", rest, err)
				}
				e.Close()
				shell(t, dir, "touch $ORACLE_OUT/go")
			}
			e, err := run.Open(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			work(t, e, "the run is over")
			effects := strings.Fields(read(t, outside, "effect"))
			slices.Sort(effects)
			if got := strings.Join(effects, " "); got != "s01 s02 s03 s04" {
				t.Errorf("effects: %s", got)
			}
			if got := shell(t, dir, `git status --porcelain; git log --format=%s | sort; git ls-files 'work-*' | wc -l`); got != " M mine.txt\nfirst\ns01: step 1\ns02: step 2\ns03: step 3\ns04: step 4\n4\n" {
				t.Errorf("%s", got)
			}
			if got := read(t, dir, "mine.txt") + read(t, dir, "PLAN.md"); !strings.HasPrefix(got, "one\nhis\n") || strings.Contains(got, "[ ]") {
				t.Errorf("%s", got)
			}
			if got := read(t, outside, "where"); strings.Count(got, "/own/1\n") == 0 || strings.Count(got, "/own/2\n") == 0 {
				t.Errorf("where: %s", got)
			}
			want := "half\nwhole\n"
			if kill {
				want = "half\nhalf\nwhole\n"
			}
			if got := read(t, dir, "work-s01"); got != want {
				t.Errorf("work-s01: %q", got)
			}
		})
	}
}

// An agent asks, a person answers, and the next attempt has the answer; a check says whether it
// is done; a person leaves a step out, and wants to look after another.
func TestQuestions_checks_and_choices(t *testing.T) {
	dir, _ := project(t, 3)
	e := open(t, dir, "")
	defer e.Close()
	e.Until, e.Skip = "s01", map[string]bool{"s02": true}
	e.Config.Work = asks(`echo x >>f; case "$REPRISE_BRIEF" in *"The answer: blue"*"The answer: big"*) echo y >>g; `+says("done")+`;;
		*) echo '{"outcome":"question","questions":[{"text":"which colour?"},{"text":"which size?","options":["big","small"]}]}' >$REPRISE_RESULT;; esac`, os.Environ())
	work(t, e, "is open")
	q := e.Journal.State.Asked
	if q.Of == nil || q.Of.Text != "which colour?" {
		t.Fatalf("%+v", q)
	}
	if err := e.Answer(q.ID, "blue"); err != nil {
		t.Fatal(err)
	}
	work(t, e, "is open")
	if q = e.Journal.State.Asked; q.Of.Text != "which size?" {
		t.Fatalf("%+v", q)
	}
	if err := e.Answer(q.ID, "big"); err != nil {
		t.Fatal(err)
	}
	work(t, e, "s01 is done, as you wanted")
	if got := shell(t, dir, `git status --porcelain; git show --format= --name-only HEAD`); got != "PLAN.md\nf\ng\n" && got != "PLAN.md\n" {
		t.Errorf("%s", got)
	}
	e.Until = ""
	e.Config.Work = asks("echo x >>h; "+says("done"), os.Environ())
	work(t, e, "the run is over")
	if got := read(t, dir, "PLAN.md"); strings.Contains(got, "[ ]") {
		t.Errorf("%s", got)
	}
	if got := shell(t, dir, `git log --format=%s; git status --porcelain`); got != "s03: step 3\ns01: step 1\ns02: step 2 (skipped)\nfirst\n" && got != "s03: step 3\ns02: step 2 (skipped)\ns01: step 1\nfirst\n" {
		t.Errorf("%s", got)
	}
}
