package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/convention"
	"reprise/engine"
)

const checkoutState = "specs/checkout/.long-run/"

var checkout = reprise.Ref{Layout: "longrun", ID: "checkout", Path: "specs/checkout/.long-run", Kind: reprise.KindPlans}

// groupProject is the example of plans with a second plan in the group that is asked
// about, and one of another group behind it.
func groupProject(t testing.TB) string {
	t.Helper()
	dir := repository(t)
	if err := os.CopyFS(dir, os.DirFS("../examples/longrun")); err != nil {
		t.Fatal(err)
	}
	plan := func(id, group, needs string) string {
		return "---\nplan: " + id + "\ntask_group: " + group + "\ndepends_on: [\"" + needs + "\"]\n---\n\n<task type=\"auto\">\n  <name>Task 1: Do " + id + "</name>\n</task>\n"
	}
	put(t, dir, checkoutState+"plans/04-PLAN.md", plan("04", "confirmation", "03"))
	put(t, dir, checkoutState+"plans/05-PLAN.md", plan("05", "receipts", "04"))
	rewrite(t, dir, checkoutState+"STATE.md", "2 of 3", "2 of 5")
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-q", "-m", "state")
	return dir
}

// rewrite replaces text in a file.
func rewrite(t testing.TB, dir, name, old, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !strings.Contains(string(data), old) {
		t.Fatalf("%s: no %q: %v", name, old, err)
	}
	put(t, dir, name, strings.ReplaceAll(string(data), old, text))
}

func loaded(t testing.TB, dir string, ref reprise.Ref) *reprise.Run {
	t.Helper()
	r, err := convention.Find(ref.Layout).Load(os.DirFS(dir), ref)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// notAsked is a person who must not be asked anything.
func notAsked(t testing.TB) func(context.Context, reprise.Question) (string, bool) {
	return func(_ context.Context, q reprise.Question) (string, bool) {
		t.Errorf("%s is asked: %s", q.ID, q.Text)
		return "", false
	}
}

// TestLR8_a_task_group_is_skipped_in_place_of_an_answer: its open plans are skipped
// and never done, its question is closed without an answer, the work continues behind
// it, and no one is asked again.
func TestLR8_a_task_group_is_skipped_in_place_of_an_answer(t *testing.T) {
	t.Parallel()
	dir := groupProject(t)
	e := newEngine(dir)
	e.Ask = notAsked(t)
	sum, err := e.Resume(t.Context(), checkout, engine.Choice{Option: "skip-group"})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	var told []string
	for _, s := range sum.Skipped {
		told = append(told, s.ID)
	}
	if !slices.Equal(told, []string{"03", "04"}) {
		t.Errorf("the summary tells of %v", told)
	}
	all := events(t, dir, checkout)
	var order []string
	for _, ev := range all {
		switch ev.Kind {
		case reprise.StepStarted, reprise.StepSkipped, reprise.QuestionSkipped:
			order = append(order, string(ev.Kind)+" "+ev.Step+ev.Question)
			if ev.Kind != reprise.StepStarted && ev.Actor != reprise.Person {
				t.Errorf("%s by %q", ev.Kind, ev.Actor)
			}
		}
	}
	if want := []string{"step_skipped 03", "step_skipped 04", "question_skipped clarification-1", "step_started 02/3", "step_started 05/1"}; !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
	if count(all, reprise.QuestionAnswered, "")+count(all, reprise.AnswerApplied, "") > 0 {
		t.Error("an answer is on record that nobody gave")
	}
	r := loaded(t, dir, checkout)
	for id, want := range map[string]reprise.Status{"01": reprise.Done, "02": reprise.Done, "03": reprise.Skipped, "04": reprise.Skipped, "05": reprise.Done} {
		if got := r.Step(id).Status; got != want {
			t.Errorf("plan %s is %s, want %s", id, got, want)
		}
	}
	text := contents(t, dir)[checkoutState+"clarifications.md"]
	if !strings.Contains(text, "**Status:** skipped\n**Response:**\n") && !strings.HasSuffix(text, "**Status:** skipped\n**Response:**") {
		t.Errorf("%s", text)
	}
	if err := e.Answer(t.Context(), checkout, map[string]string{"clarification-1": "A link."}); err == nil || !strings.Contains(err.Error(), "closed without an answer") {
		t.Errorf("an answer to it: %v", err)
	}
	if _, err := e.Resume(t.Context(), checkout, engine.Choice{}); err != nil {
		t.Error(err)
	}
	if _, err := e.Resume(t.Context(), checkout, engine.Choice{Option: "skip-group"}); !isOption(err) {
		t.Errorf("once more: %v", err)
	}
}

func isOption(err error) bool {
	_, ok := errors.AsType[*engine.OptionError](err)
	return ok
}

const secondQuestions = `

### Task Group 3: confirmation
**Question:** In which language?
**Status:** pending

### Task Group 2: payment
**Question:** Which currency?
**Status:** pending
`

// TestLR8_all_questions_on_a_skipped_group_are_closed, and no other; a plan of it
// that is done stays done.
func TestLR8_all_questions_on_a_skipped_group_are_closed(t *testing.T) {
	t.Parallel()
	dir := groupProject(t)
	data, err := os.ReadFile(filepath.Join(dir, checkoutState, "clarifications.md"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, checkoutState+"clarifications.md", string(data)+secondQuestions)
	put(t, dir, checkoutState+"summaries/03-SUMMARY.md", "---\nplan: 03\nstatus: completed\n---\n\n# Mine\n")
	sum, err := newEngine(dir).Resume(t.Context(), checkout, engine.Choice{Option: "skip-group"})
	if err != nil || sum.Action != reprise.Ask || len(sum.Questions) != 1 || sum.Questions[0].Text != "Which currency?" {
		t.Fatalf("%+v, %v", sum, err)
	}
	all := events(t, dir, checkout)
	if count(all, reprise.StepSkipped, "") != 1 || count(all, reprise.StepSkipped, "04") != 1 || count(all, reprise.QuestionSkipped, "") != 2 {
		t.Errorf("%+v", all)
	}
	if got := loaded(t, dir, checkout).Step("03").Status; got != reprise.Done {
		t.Errorf("03 is %s", got)
	}
}

// TestLR8_a_group_that_is_not_certain_is_not_skipped: it is refused with the reason,
// and nothing is changed.
func TestLR8_a_group_that_is_not_certain_is_not_skipped(t *testing.T) {
	t.Parallel()
	dir := groupProject(t)
	rewrite(t, dir, checkoutState+"clarifications.md", "Task Group 3: confirmation", "Task Group 3")
	before := contents(t, dir)
	_, err := newEngine(dir).Resume(t.Context(), checkout, engine.Choice{Option: "skip-group"})
	if !isOption(err) || !strings.Contains(err.Error(), "Task Group 3 cannot be skipped: no plan says that it belongs to that group") {
		t.Errorf("%v", err)
	}
	if now := contents(t, dir); len(now) != len(before) || now[checkoutState+"STATE.md"] != before[checkoutState+"STATE.md"] {
		t.Error("something was changed")
	}
}
