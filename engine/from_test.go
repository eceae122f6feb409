package engine_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

// A phase that the files cannot take back is refused before any later one is.
func TestOR3_from_a_phase_that_cannot_be_taken_back_changes_nothing(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	e := newEngine(dir)
	ref, err := e.Begin(t.Context(), "orchestrate", reprise.KindStory, reprise.Goal{ID: "4.2", Text: "Refunds"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "validate"}); err != nil {
		t.Fatal(err)
	}
	before, told := get(t, dir, ref.Path), count(events(t, dir, ref), reprise.StepReset, "")
	var refused *engine.StepError
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{From: "create"}); !errors.As(err, &refused) || !strings.Contains(refused.Hint(), "--from validate`") {
		t.Errorf("it is not refused with a way on: %v %v", sum, err)
	}
	if get(t, dir, ref.Path) != before || count(events(t, dir, ref), reprise.StepReset, "") != told {
		t.Errorf("later phases were reset:\n%s", get(t, dir, ref.Path))
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{From: "validate"}); err != nil || sum.State != reprise.Complete {
		t.Errorf("%v %v", sum, err)
	}
}

// A person may stop behind a phase that leaves no step in the files: what the plan
// of a build is made by is none of the plan.
func TestAC3_until_a_phase_that_the_files_do_not_keep(t *testing.T) {
	t.Parallel()
	w := workflow{layout: "autoclaude", kind: reprise.KindBuild, goal: reprise.Goal{Text: "Health endpoint"}}
	e := w.project(t)
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{Until: "planning"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(sum.Finished); n == 0 || sum.Finished[n-1].ID != "planning" || len(sum.Left) == 0 {
		t.Errorf("finished %+v, left %v", sum.Finished, sum.Left)
	}
}

// What does not need a step of a graph is not done again with it, wherever it stands
// in the file; what needs it is, wherever that stands.
func TestEV9_from_a_step_of_a_graph_does_again_what_needs_it(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", `name: rel
steps:
  - {id: page, needs: [front], command: [sh, -c, 'echo page >> log'], on_crash: rerun}
  - {id: front, command: [sh, -c, 'echo front >> log'], on_crash: rerun}
  - {id: back, command: [sh, -c, 'echo back >> log'], on_crash: rerun}
  - {id: backtest, needs: [back], command: [sh, -c, 'echo backtest >> log'], on_crash: rerun}
  - {id: release, needs: [page, backtest], command: [sh, -c, 'echo release >> log'], on_crash: rerun}
`)
	e := newEngine(dir)
	e.Settings.Parallel = 1
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "rel"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{Until: "backtest"}); err != nil || len(sum.Finished) < 3 {
		t.Fatalf("%+v %v", sum, err)
	}
	put(t, dir, "log", "")
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{From: "front"}); err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v %v", sum, err)
	}
	if got := get(t, dir, "log"); got != "front\npage\nrelease\n" {
		t.Errorf("done again: %q", got)
	}
}

// To begin again at one step says nothing of another that was cut off beside it: whether
// that had its effect is asked.
func TestTo_begin_again_at_a_step_starts_none_beside_it_that_was_cut_off(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, `name: f
steps:
  - {id: a, command: [sh, -c, 'echo a > a.txt'], on_crash: ask}
  - {id: b, command: [sh, -c, 'echo b > b.txt'], on_crash: ask}
`)
	for _, id := range []string{"a", "b"} {
		byAnOlderBuild(t, e, ref, reprise.Event{Kind: reprise.StepStarted, Step: id, Attempt: 1, Key: "k" + id, Policy: reprise.AskWho})
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{From: "a"})
	if err != nil {
		t.Fatal(err)
	}
	all := events(t, e.Dir, ref)
	if a, b := count(all, reprise.StepStarted, "a"), count(all, reprise.StepStarted, "b"); a != 2 || b != 1 || sum.Action != reprise.Ask {
		t.Errorf("a was started %d times, b %d times, and then %s", a, b, sum.Action)
	}
}

// To begin at a step says that it is done again, cut off or not. It is no answer for another
// one that was cut off and of which only a person can tell.
func TestTo_begin_at_a_step_answers_for_no_other(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, `name: f
steps:
  - {id: a, command: ["true"]}
  - {id: mail, needs: [a], command: ["true"]}
`)
	if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "a"}); err != nil {
		t.Fatal(err)
	}
	recordAndDie(t, e.Dir, ref, reprise.Event{Kind: reprise.StepStarted, At: time.Now(), Step: "mail", Attempt: 1, Key: "k", Policy: reprise.AskWho})
	for i, c := range []struct {
		from           string
		started, asked int
	}{{"a", 1, 1}, {"a", 1, 1}, {"mail", 2, 0}} {
		sum, err := e.Resume(t.Context(), ref, engine.Choice{From: c.from})
		if err != nil || len(sum.Questions) != c.asked {
			t.Fatalf("%d: %+v, %v", i, sum, err)
		}
		if all := events(t, e.Dir, ref); count(all, reprise.StepStarted, "mail") != c.started || count(all, reprise.StepStarted, "a") != min(i, 1)+2 {
			t.Errorf("%d: from %s: %+v", i, c.from, all)
		}
	}
}
