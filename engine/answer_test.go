package engine_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/project"
)

const gated = `name: gated
steps:
  - {id: ok, ask: {question: "Release it?", options: [go on, "stop: not now"]}}
  - {id: release, needs: [ok], command: [sh, -c, "echo released >> effect"]}
`

// effects is how often something was done.
func effects(t *testing.T, e *engine.Engine) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(e.Dir, "effect"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

// goes resumes a run.
func goes(t *testing.T, e *engine.Engine, ref reprise.Ref) *engine.Summary {
	t.Helper()
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// byAnOlderBuild records what was asked and said when any words were an answer.
func byAnOlderBuild(t *testing.T, e *engine.Engine, ref reprise.Ref, said ...reprise.Event) {
	t.Helper()
	r, err := convention.Find(ref.Layout).Load(os.DirFS(e.Dir), ref)
	if err != nil {
		t.Fatal(err)
	}
	happens(t, e.Dir, r, false, said...)
}

// TestO3_words_that_are_not_understood_start_nothing brings words that a gate does
// not offer to every door: none of them is kept, and nothing behind it starts.
func TestO3_words_that_are_not_understood_start_nothing(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, gated)
	words := []string{"no", "cancel", "yes", "3", "go on?", "do not go on"}
	e.Ask = func(context.Context, reprise.Question) (string, bool) { return "cancel", true }
	if sum := goes(t, e, ref); len(sum.Questions) != 1 || effects(t, e) != 0 {
		t.Fatalf("%+v, %d effects", sum, effects(t, e))
	}
	e.Ask = nil
	var none *reprise.NotOfferedError
	for _, word := range words {
		if err := e.Answer(t.Context(), ref, map[string]string{"ok": word}); !errors.As(err, &none) {
			t.Errorf("%q: %v", word, err)
		}
	}
	var letters string
	for _, word := range words {
		letters += (&office{t: t}).letterTo("ok", word)
	}
	put(t, e.Dir, ".reprise/inbox", letters)
	sum := goes(t, e, ref)
	told := 0
	for _, f := range sum.Findings {
		if f.Code == reprise.CodePendingQuestion && strings.Contains(f.Message, "not one of the offered answers") {
			told++
		}
	}
	if len(sum.Questions) != 1 || effects(t, e) != 0 || told != len(words) || get(t, e.Dir, ".reprise/inbox") != "" {
		t.Fatalf("%d effects, %d told of; the inbox holds %q\n%+v", effects(t, e), told, get(t, e.Dir, ".reprise/inbox"), sum)
	}
	if err := e.Answer(t.Context(), ref, map[string]string{"ok": "1"}); err != nil {
		t.Fatal(err)
	}
	if sum := goes(t, e, ref); sum.State != reprise.Complete || effects(t, e) != 1 {
		t.Errorf("%+v, %d effects", sum, effects(t, e))
	}
}

// TestEV9_the_option_that_stops_ends_the_run chooses an option that begins with
// stop, in each way it can be chosen.
func TestEV9_the_option_that_stops_ends_the_run(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"stop: not now", "2", "stop", "stop: I am on holiday"} {
		e := newEngine(repository(t))
		ref := start(t, e, gated)
		goes(t, e, ref)
		if err := e.Answer(t.Context(), ref, map[string]string{"ok": word}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if sum := goes(t, e, ref); sum.State != reprise.Stopped || len(sum.Questions) != 0 || effects(t, e) != 0 {
				t.Errorf("%q: %+v, %d effects", word, sum, effects(t, e))
			}
		}
	}
}

// TestX8_a_stopped_run_goes_on_when_a_person_says_so continues with runs that a person
// ended: not by itself, and asked again where the answer ended it.
func TestX8_a_stopped_run_goes_on_when_a_person_says_so(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, gated)
	goes(t, e, ref)
	if err := e.Answer(t.Context(), ref, map[string]string{"ok": "stop"}); err != nil {
		t.Fatal(err)
	}
	goes(t, e, ref)
	for range 2 { // taken up, left open, and taken up
		sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "continue"})
		if err != nil || len(sum.Questions) != 1 || effects(t, e) != 0 {
			t.Fatalf("%+v %v, %d effects", sum, err, effects(t, e))
		}
	}
	if err := e.Answer(t.Context(), ref, map[string]string{"ok": "go on"}); err != nil {
		t.Fatal(err)
	}
	if sum := goes(t, e, ref); sum.State != reprise.Complete || effects(t, e) != 1 {
		t.Errorf("%+v, %d effects", sum, effects(t, e))
	}

	e = newEngine(repository(t))
	ref, err := e.Begin(t.Context(), "orchestrate", reprise.KindStory, reprise.Goal{ID: "4.2", Text: "Refunds"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	byAnOlderBuild(t, e, ref, reprise.Event{Kind: reprise.RunStopped, Actor: reprise.Person, Text: "stopped by a person"})
	if sum := goes(t, e, ref); sum.State != reprise.Stopped || sum.Launches != 0 {
		t.Errorf("%+v", sum)
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "continue"}); err != nil || sum.State != reprise.Complete {
		t.Errorf("%+v %v", sum, err)
	}
}

// TestX2_an_approval_counts_for_the_work_that_it_was_given_for has work done again for
// which an approval was kept, used, or waits to be heard.
func TestX2_an_approval_counts_for_the_work_that_it_was_given_for(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const flow = `name: gated
steps:
  - {id: build, command: [sh, -c, "echo build >> built"]}
  - {id: ok, needs: [build], ask: {question: "Release it?", options: [go on, stop]}}
  - {id: release, needs: [ok], command: [sh, -c, "echo released >> effect; test -f fine"], attempts: 1}
`
	for name, approve := range map[string]func(e *engine.Engine, ref reprise.Ref){
		"kept": func(e *engine.Engine, ref reprise.Ref) {
			if err := e.Answer(t.Context(), ref, map[string]string{"ok": "go on"}); err != nil {
				t.Fatal(err)
			}
		},
		"waits to be heard": func(e *engine.Engine, ref reprise.Ref) {
			put(t, e.Dir, ".reprise/inbox", (&office{t: t}).letterTo("ok", "go on"))
		},
	} {
		e := newEngine(repository(t))
		ref := start(t, e, flow)
		goes(t, e, ref)
		for before := range 2 {
			approve(e, ref)
			if before == 1 { // used, and what it was for failed
				goes(t, e, ref)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{From: "build"})
			if err != nil || len(sum.Questions) != 1 || effects(t, e) != before {
				t.Fatalf("%s, used %d times: %+v %v, %d effects", name, before, sum, err, effects(t, e))
			}
		}
		put(t, e.Dir, "fine", "")
		approve(e, ref)
		if sum := goes(t, e, ref); sum.State != reprise.Complete || effects(t, e) != 2 || get(t, e.Dir, "built") != "build\nbuild\nbuild\n" {
			t.Errorf("%s: %+v, %d effects", name, sum, effects(t, e))
		}
	}
}

// TestO3_words_of_an_older_build_start_nothing continues with answers that were kept
// when any words were: what says nothing is asked again, and then done once.
func TestO3_words_of_an_older_build_start_nothing(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"no", "2 please", "yes"} {
		e := newEngine(repository(t))
		ref := start(t, e, gated)
		byAnOlderBuild(t, e, ref,
			reprise.Event{Kind: reprise.QuestionAsked, Step: "ok", Question: "ok", Text: "Release it?", Options: []string{"go on", "stop: not now"}},
			reprise.Event{Kind: reprise.QuestionAnswered, Step: "ok", Question: "ok", Text: word, Actor: reprise.Person})
		for range 2 {
			if sum := goes(t, e, ref); len(sum.Questions) != 1 || effects(t, e) != 0 {
				t.Fatalf("%q: %+v, %d effects", word, sum, effects(t, e))
			}
		}
		if err := e.Answer(t.Context(), ref, map[string]string{"ok": "go on"}); err != nil {
			t.Fatal(err)
		}
		if sum := goes(t, e, ref); sum.State != reprise.Complete || effects(t, e) != 1 {
			t.Errorf("%q: %+v, %d effects", word, sum, effects(t, e))
		}
	}
}

// TestO3_what_was_cut_off_is_not_repeated_for_words_that_say_nothing answers what
// came of a step that must not be done twice, now and by an older build.
func TestO3_what_was_cut_off_is_not_repeated_for_words_that_say_nothing(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, "name: f\nsteps:\n  - {id: mail, command: [sh, -c, 'echo sent >> effect; touch .git/here; sleep 30'], on_crash: ask}\n")
	if _, err := e.Resume(stopAt(t, filepath.Join(e.Dir, ".git/here")), ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	sum := goes(t, e, ref)
	if len(sum.Questions) != 1 || effects(t, e) != 1 {
		t.Fatalf("%+v, %d effects", sum, effects(t, e))
	}
	q := sum.Questions[0]
	var none *reprise.NotOfferedError
	if err := e.Answer(t.Context(), ref, map[string]string{q.ID: "Yes, it was finished"}); !errors.As(err, &none) || none.Hint() == "" {
		t.Fatal(err)
	}
	byAnOlderBuild(t, e, ref,
		reprise.Event{Kind: reprise.QuestionAsked, Step: "mail", Question: q.ID, Text: q.Text, Options: q.Options},
		reprise.Event{Kind: reprise.QuestionAnswered, Step: "mail", Question: q.ID, Text: "Yes, it was finished", Actor: reprise.Person})
	for range 2 {
		if sum := goes(t, e, ref); len(sum.Questions) != 1 || effects(t, e) != 1 {
			t.Fatalf("%+v, %d effects", sum, effects(t, e))
		}
	}
	if err := e.Answer(t.Context(), ref, map[string]string{q.ID: "it was finished"}); err != nil {
		t.Fatal(err)
	}
	if sum := goes(t, e, ref); sum.State != reprise.Complete || effects(t, e) != 1 {
		t.Errorf("%+v, %d effects", sum, effects(t, e))
	}
}

// TestOR1_what_a_person_leaves_open_is_asked_once answers one question and leaves
// the other open: it is not asked again by the same process.
func TestOR1_what_a_person_leaves_open_is_asked_once(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, `name: two
steps:
  - {id: one, ask: {question: "One?"}}
  - {id: two, ask: {question: "Two?"}}
  - {id: end, needs: [one, two], command: ["true"]}
`)
	asked := map[string]int{}
	e.Ask = func(_ context.Context, q reprise.Question) (string, bool) {
		asked[q.ID]++
		return "so", q.ID != "one"
	}
	sum := goes(t, e, ref)
	if len(sum.Questions) != 1 || asked["one"] != 1 {
		t.Errorf("asked %v; %+v", asked, sum.Questions)
	}
}

// TestO3_the_first_answer_counts_while_somebody_works gives answers while an engine
// is at work: the same one twice is one, another one is refused.
func TestO3_the_first_answer_counts_while_somebody_works(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	put(t, o.dir, ".reprise/inbox", "")
	ref := refOf("one")
	say := func(text string) error {
		return newEngine(o.dir).Answer(t.Context(), ref, map[string]string{"colour": text})
	}
	// The engine takes nothing in before all of them are said.
	said := make(chan struct{})
	o.taken = func() { <-said }
	o.open()
	errs := []error{say("green"), say("green"), say("blue")}
	close(said)
	if errs[0] != nil || errs[1] != nil || errs[2] == nil || !strings.Contains(errs[2].Error(), "already answered") {
		t.Errorf("%v", errs)
	}
	o.answered("green")
	if told := o.close(reprise.CodePendingQuestion); len(told) != 0 {
		t.Errorf("told %+v", told)
	}
}

// TestO3_an_answer_that_was_kept_is_not_asked_for_again leaves an answer in the
// inbox of an engine that died: whoever looks knows of it, no one is asked again, no other
// answer comes before it, and whoever resumes continues with the last one. After that it is
// said what used it.
func TestO3_an_answer_that_was_kept_is_not_asked_for_again(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, gated)
	if sum := goes(t, e, ref); len(sum.Questions) != 1 {
		t.Fatalf("%+v", sum)
	}
	put(t, e.Dir, ".reprise/inbox", (&office{t: t}).letterTo("ok", "perhaps")+(&office{t: t}).letterTo("ok", "go on"))
	judged := func() (*reprise.Run, reprise.Decision) {
		j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true})
		if err != nil {
			t.Fatal(err)
		}
		r := j.Find(ref)
		return r, j.Decisions[r]
	}
	before := files(t, e.Dir)
	r, d := judged()
	if len(r.PendingQuestions()) != 0 || d.State != reprise.Interrupted || d.Action != reprise.Start || d.Options(r)[0].Key != "continue" {
		t.Errorf("%v %v %q, options %v", d.State, d.Action, d.Reasons, d.Options(r))
	}
	if after := files(t, e.Dir); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("looking changed something")
	}
	for _, answer := range []string{"stop", "go on"} {
		if err := e.Answer(t.Context(), ref, map[string]string{"ok": answer}); err != nil {
			t.Errorf("another answer: %v", err)
		}
	}
	var said []string
	for _, ev := range events(t, e.Dir, ref) {
		if ev.Kind == reprise.QuestionAnswered {
			said = append(said, ev.Text)
		}
	}
	if !slices.Equal(said, []string{"go on", "stop: not now", "go on"}) {
		t.Errorf("said: %q", said)
	}
	sum := goes(t, e, ref)
	if sum.State != reprise.Complete || effects(t, e) != 1 || get(t, e.Dir, ".reprise/inbox") != "" {
		t.Errorf("%+v, %d effects, the inbox holds %q", sum, effects(t, e), get(t, e.Dir, ".reprise/inbox"))
	}
	if err := e.Answer(t.Context(), ref, map[string]string{"ok": "stop"}); err == nil || !strings.Contains(err.Error(), `already answered: "go on", and ok used that`) {
		t.Errorf("after it was used: %v", err)
	}
}

// TestOf_two_answers_by_who_saw_the_same_one_is_kept gives two answers at once, each to the
// run as it was seen: one is kept, and whoever gave the other is told.
func TestOf_two_answers_by_who_saw_the_same_one_is_kept(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, gated)
	goes(t, e, ref)
	j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{Options: project.Options{Now: e.Now()}, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	digest, words := j.Digest(j.Find(ref)), []string{"go on", "stop: not now"}
	errs := make(chan error)
	for _, word := range words {
		go func() { errs <- e.AnswerIf(context.Background(), ref, digest, map[string]string{"ok": word}) }()
	}
	kept := 0
	for range words {
		err := <-errs
		if _, stale := errors.AsType[*engine.StaleError](err); err != nil && !stale {
			t.Error(err)
		}
		if err == nil {
			kept++
		}
	}
	if kept != 1 {
		t.Errorf("%d answers are kept", kept)
	}
}

// TestAn_answer_from_elsewhere_counts_before_the_one_that_is_typed_after_it gives an answer
// while a person is asked on the terminal, who then says something else.
func TestAn_answer_from_elsewhere_counts_before_the_one_that_is_typed_after_it(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, gated)
	e.Ask = func(ctx context.Context, _ reprise.Question) (string, bool) {
		if err := newEngine(e.Dir).Answer(ctx, ref, map[string]string{"ok": "go on"}); err != nil {
			t.Error(err)
		}
		return "stop: not now", true
	}
	if sum := goes(t, e, ref); sum.State != reprise.Complete || effects(t, e) != 1 {
		t.Errorf("%+v, %d effects", sum, effects(t, e))
	}
}
