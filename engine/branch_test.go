package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// AC9 X4: what an agent committed counts once it is on the branch of the build, which is
// what is merged. Where it follows from that, it is brought there; else the step is open.
func TestAC9_X4_work_on_another_branch_is_not_done(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const commit = `"$ACTOR" act; git add src; git commit -q -m work -m "$REPRISE_TRAILER"; `
	for name, c := range map[string]struct {
		script string
		told   string // why it is not accepted, "" if it is
	}{
		"a branch of its own":                 {`git checkout -q -b own; ` + commit + `exit 0`, ""},
		"no branch":                           {`git checkout -q --detach; ` + commit + `exit 0`, ""},
		"a branch of its own, not committed":  {`git checkout -q -b own; "$ACTOR" act; exit 0`, ""},
		"on a failed attempt, too":            {`git checkout -q -b own; [ "$REPRISE_ATTEMPT" != 1 ] || exit 3; ` + commit + `exit 0`, ""},
		"a branch that lacks what was before": {`git checkout -q -b "own$REPRISE_ATTEMPT" main; ` + commit + `exit 0`, "does not hold all of it"},
		"left again":                          {`git checkout -q -b "own$REPRISE_ATTEMPT"; ` + commit + `git checkout -q auto-claude/001-health-endpoint; exit 0`, "is not on auto-claude/001-health-endpoint"},
		"left again, on no branch":            {`git checkout -q --detach; ` + commit + `git checkout -q auto-claude/001-health-endpoint; exit 0`, "is not on auto-claude/001-health-endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTrial(t, stage{name: "build", victim: "subtask-1-2"}, bad{script: c.script})
			p.begin()
			sum, told := p.resume(p.engine(false), engine.Choice{})
			const branch = "auto-claude/001-health-endpoint"
			files := git(t, p.dir, "ls-tree", "-r", "--name-only", branch)
			there := strings.Contains(files, "src/subtask-1-2.txt")
			if c.told == "" {
				if sum == nil || sum.State != reprise.Waiting || !there {
					t.Fatalf("it does not come to its end with the work of the step:\n%s\n%s", told, files)
				}
				if on := git(t, filepath.Join(p.dir, ".auto-claude/worktrees/tasks/001-health-endpoint"), "branch", "--show-current"); on != branch {
					t.Errorf("the checkout is on %q", on)
				}
				return
			}
			if !strings.Contains(told, c.told) || !strings.Contains(told, "failed: subtask-1-2") {
				t.Errorf("nothing of %q in:\n%s", c.told, told)
			}
			for _, ev := range events(t, p.dir, p.ref) {
				if ev.Kind == reprise.StepFinished && ev.Step == "subtask-1-2" {
					t.Errorf("it counts as finished: %+v", ev)
				}
			}
		})
	}
}

// AC8: what an attempt that is not accepted wrote about itself is not told as done.
func TestAC8_an_attempt_that_is_not_accepted_is_not_counted(t *testing.T) {
	t.Parallel()
	p := newTrial(t, stage{name: "build", victim: "subtask-1-2"}, bad{script: `f=$(ls .auto-claude/specs/*/implementation_plan.json)
sed -i '/subtask-1-2/,$s/"in_progress"/"completed"/' "$f"; exit 3`})
	p.begin()
	e := p.engine(false)
	failed := 0
	e.Tell = func(pr engine.Progress) {
		if pr.Kind != engine.Ended || pr.Step != "subtask-1-2" || pr.Outcome == "done" {
			return
		}
		failed++
		at := filepath.Join(p.dir, ".auto-claude/worktrees/tasks/001-health-endpoint", p.ref.Path, "implementation_plan.json")
		if data, err := os.ReadFile(at); err != nil || strings.Count(string(data), `"completed"`) != pr.Done {
			t.Errorf("%d of %d are told as done with\n%s%v", pr.Done, pr.Total, data, err)
		}
	}
	if _, told := p.resume(e, engine.Choice{}); failed == 0 {
		t.Error("no attempt failed:\n" + told)
	}
}
