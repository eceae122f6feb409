package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/project"
)

// TestX3_every_crash_of_the_seeds_to_its_end takes the runs of the scenarios in
// which the seeds tell of crashes up where they stand, with real processes and
// in a repository, and twice: what was carried to its end is left alone.
func TestX3_every_crash_of_the_seeds_to_its_end(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, c := range []struct {
		archive string
		run     string
		state   reprise.State
	}{
		// Seed 000: an agent at work, part of a plan, between plans, a question.
		{"longrun/lr1-active-agent", "", reprise.Complete},
		{"longrun/lr2-partial-plan", "", reprise.Complete},
		{"longrun/lr3-between-plans", "", reprise.Complete},
		{"longrun/lr4-pending-question", "", reprise.Complete},
		// Seed 001: the points at which its workflows are resumed.
		{"orchestrate/loop-crash-in-review", "", reprise.Complete},
		{"orchestrate/loop-crash-in-fix", "", reprise.Complete},
		{"orchestrate/epic-cut-off", "", reprise.Waiting}, // it lists fewer waves than it announces
		{"orchestrate/epic-gate-review", "", reprise.Complete},
		{"orchestrate/spec-pipeline", "", reprise.Complete},
		{"orchestrate/workflow-by-schema", "", reprise.Complete},
		{"orchestrate/bob-between-phases", "", reprise.Complete},
		// Seed 002: the phases 0 to 4.
		{"eventrun/intake", "", reprise.Complete},
		{"eventrun/planning", "", reprise.Complete},
		{"eventrun/execution", "", reprise.Complete},
		{"eventrun/cleanup", "", reprise.Complete},
		{"eventrun/consolidation", "", reprise.Complete},
		// Seed 003: its four scenarios; the end is a person's review.
		{"autoclaude/seed-scenario-1-plan-without-worktree", "", reprise.Waiting},
		{"autoclaude/seed-scenario-2-plan-and-worktree", "", reprise.Waiting},
		{"autoclaude/seed-scenario-3-no-plan", "", reprise.Waiting},
		{"autoclaude/seed-scenario-4-crash-while-coding", "", reprise.Waiting},
		// Seed 004: writing, validating, clarifying before and after the
		// answers, a later iteration.
		{"specloop/spec-writing", "", reprise.Complete},
		{"specloop/validating-a3", "", reprise.Complete},
		{"specloop/clarifying-b1", "", reprise.Complete},
		{"specloop/clarifying-b2-answers-on-disk", "", reprise.Complete},
		{"specloop/validating-b3-iteration-1", "", reprise.Complete},
	} {
		t.Run(filepath.Base(c.archive), func(t *testing.T) {
			t.Parallel()
			layout, name, _ := strings.Cut(c.archive, "/")
			dir := repository(t)
			unpack(t, dir, filepath.Join("../convention", layout, "testdata/scenarios", name+".txtar"))
			ref := toResume(t, dir, layout, c.run)
			e := newEngine(dir)
			e.Ask = answering
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatalf("%s: %v", ref.ID, err)
			}
			if sum.State != c.state {
				t.Errorf("%s: %s, %s: %q\nfailed %+v\nleft %v questions %+v refused %v", ref.ID, sum.State, sum.Action, sum.Reasons, sum.Failed, sum.Left, sum.Questions, sum.Refused)
				for _, ev := range events(t, dir, ref) {
					t.Logf("%s %s%s %d %s %q", ev.Kind, ev.Step, ev.Question, ev.Attempt, ev.Outcome, ev.Text)
				}
				return
			}
			again := newEngine(dir)
			once := contents(t, dir)
			sum, err = again.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatalf("%s again: %v", ref.ID, err)
			}
			if sum.State != c.state || sum.Launches != 0 {
				t.Errorf("%s again: %s, %d launches", ref.ID, sum.State, sum.Launches)
			}
			for name, text := range contents(t, dir) {
				if c.state == reprise.Complete && once[name] != text {
					t.Errorf("%s was changed once the run was complete", name)
				}
			}
		})
	}
}

// unpack makes a repository with the files of an archive, but for what is
// expected of it; checkouts in it are real ones.
func unpack(t testing.TB, dir, archive string) {
	t.Helper()
	name := ""
	files := map[string]string{}
	for line := range strings.Lines(get(t, ".", archive)) {
		if head, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(head, " --") {
			name = strings.TrimSuffix(head, " --")
			files[name] = ""
			continue
		}
		files[name] += line
	}
	delete(files, "")
	delete(files, "want")
	checkouts := map[string]string{}
	for name, text := range files {
		if below, ok := strings.CutPrefix(name, ".worktrees/"); ok {
			folder, _, _ := strings.Cut(below, "/")
			checkouts[".worktrees/"+folder] = folder
			continue
		}
		put(t, dir, name, text)
	}
	// What the tasks of its plans are to make.
	put(t, dir, "src/a.go", "package a\n")
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-q", "-m", "state")
	for at := range checkouts {
		git(t, dir, "worktree", "add", "-q", "-b", "auto-claude/001-dark-mode", at)
	}
	for name, text := range files {
		if strings.HasPrefix(name, ".worktrees/") {
			put(t, dir, name, text)
		}
	}
}

// toResume is the run that one would resume: the one that is named, or the first
// that can be continued.
func toResume(t testing.TB, dir, layout, id string) reprise.Ref {
	t.Helper()
	j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range j.Runs {
		d := j.Decisions[r]
		if r.Layout == layout && (r.ID == id || id == "" && (d.Action == reprise.Start || d.Action == reprise.Ask) && d.Verdict != reprise.BlockedVerdict) {
			return r.Ref
		}
	}
	for _, r := range j.Runs {
		t.Logf("%s %s: %s %s %q", r.Layout, r.ID, j.Decisions[r].Action, j.Decisions[r].Verdict, j.Decisions[r].Reasons)
	}
	t.Fatal("no run can be gone on with")
	return reprise.Ref{}
}
