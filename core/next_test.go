package core_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"reprise/core"
)

func start(step string, attempt int) core.Record {
	return core.Record{Start: &core.Start{Step: step, Attempt: attempt, Before: "w0", Head: core.Head{Branch: "refs/heads/main"}}}
}

func end(step string, o core.Outcome) core.Record {
	r := core.Record{End: &core.End{Step: step, Outcome: o, After: "w1"}}
	if o == core.Done {
		r.End.Move = &core.Move{Base: "w0", From: "w1", To: "w2"}
	}
	return r
}

func ask(step string, options ...core.Option) core.Record {
	return core.Record{Ask: &core.Ask{ID: "q", Divergence: core.Divergence{Step: step, Says: "the step is done", Shows: "it differs", Facts: core.Facts{Files: []string{"f"}}, Options: options}}}
}

// asking ends an attempt with a question of its agent.
func asking(step string) core.Record {
	q := &core.Ask{ID: "q", Of: &core.Question{Text: "Which?"}, Divergence: core.Divergence{Step: step, Says: "its agent asks", Shows: "Which?"}}
	return core.Record{End: &core.End{Step: step, Attempt: 1, Outcome: core.Asking, Ask: q}}
}

func answer(key string) core.Record { return core.Record{Answer: &core.Answer{ID: "q", Option: key}} }

// fold gives the state after records, with their numbers.
func fold(t *testing.T, records ...core.Record) *core.State {
	t.Helper()
	s := &core.State{}
	for _, r := range append([]core.Record{{Begin: &core.Begin{Run: "r", Plan: "p"}}}, records...) {
		r.Seq, r.At = s.Seq+1, time.Date(2026, 3, 1, 10, 30, 0, 0, time.UTC)
		err := s.Fold(r)
		if err == nil && s.Due != nil {
			err = s.Fold(core.Record{Seq: s.Seq + 1, Made: &core.Made{Of: s.Due.Seq, Head: core.Head{Commit: "made", Branch: "refs/heads/main"}}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestNext(t *testing.T) {
	no, yes, noon := false, true, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	checked := []core.Step{{ID: "a", Verify: true}}
	todo := []core.Step{{ID: "a", Status: core.Todo}, {ID: "b", Status: core.Todo, Needs: []string{"a"}}}
	two := []core.Step{{ID: "a", Status: core.Todo}, {ID: "b", Status: core.Todo}}
	half := []core.Step{{ID: "a", Status: core.Finished}, {ID: "b", Status: core.Todo, Needs: []string{"a"}}}
	all := []core.Step{{ID: "a", Status: core.Finished}, {ID: "b", Status: core.Finished}}
	look := func(change func(*core.Look)) *core.Look {
		l := &core.Look{Now: "w1", Changed: true}
		change(l)
		return l
	}
	later := []core.Step{{ID: "a", Needs: []string{core.Later}}, {ID: "b"}}
	blurred := []core.Step{{ID: "a", Unclear: "its box says nothing"}, {ID: "b", Needs: []string{"a"}}}
	for _, c := range []struct {
		name                 string
		records              []core.Record
		steps                []core.Step
		look                 *core.Look
		busy                 string
		parallel             int
		skip, until, others  string
		stop                 string
		unmade, reset, apart bool
		want                 core.Decision
	}{
		{name: "the first step starts", steps: todo, want: core.StartStep{Step: todo[0]}},
		{name: "the next starts when the first is done", records: []core.Record{start("a", 1), end("a", core.Done)}, steps: half, want: core.StartStep{Step: half[1]}},
		{name: "what was done is asked about where the plan says it no longer", records: []core.Record{start("a", 1), end("a", core.Done)}, steps: blurred, want: core.AskPerson{}},
		{name: "a run that is over, too", records: []core.Record{start("a", 1), end("a", core.Done), {Close: &core.Close{Complete: true}}}, steps: blurred[:1], want: core.AskPerson{}},
		{name: "once", records: []core.Record{start("a", 1), end("a", core.Done), {Ask: &core.Ask{ID: "q", Divergence: core.Divergence{Step: "a", Shows: blurred[0].Unclear, Options: []core.Option{core.Keep}}}}, {Answer: &core.Answer{ID: "q", Option: "keep"}}, end("a", core.Done)}, steps: blurred, want: core.StartStep{Step: blurred[1]}},
		{name: "that the plan stopped offering a step proves nothing of one that was cut off", records: []core.Record{start("a", 1)}, steps: half, look: look(func(l *core.Look) { l.Ticked, l.Passed, l.End, l.Why = true, true, core.Killed, "killed" }), want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "killed"}},
		{name: "what was begun goes before what comes first", records: []core.Record{start("b", 1), end("b", core.Cut)}, steps: two, want: core.StartStep{Step: two[1]}},
		{name: "what was begun last in the plan too", records: []core.Record{start("a", 1), end("a", core.Cut)}, steps: two, want: core.StartStep{Step: two[0]}},
		{name: "what was begun goes on, though its plan offers the next one", records: []core.Record{start("a", 1), end("a", core.Cut)}, steps: later, want: core.StartStep{Step: later[0]}},
		{name: "its own run is worked on", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.Inner = &core.Inner{} }), want: core.WorkInner{Step: "a"}},
		{name: "its own run rests", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.Inner = &core.Inner{Rest: &core.Rest{Why: "a question"}} }), want: core.Rest{Why: "a question"}},
		{name: "its own run is complete", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.Inner = &core.Inner{Over: true} }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "its own run is complete"}},
		{name: "all done", records: []core.Record{start("a", 1), end("a", core.Done), start("b", 1), end("b", core.Done)}, steps: all, want: core.CloseRun{}},
		{name: "an agent at work is waited for", records: []core.Record{start("a", 1)}, steps: todo, look: &core.Look{Alive: true}, want: core.WaitFor{}},
		{name: "a rebase is waited for", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(*core.Look) {}), busy: "a rebase", want: core.Rest{Why: "a rebase"}},
		{name: "ended well", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word = core.Well, true }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "its agent says so, and its work is there"}},
		{name: "ended badly", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Why = core.Badly, "it ended with exit code 1" }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "it ended with exit code 1"}},
		{name: "done, and its plan has it no more", records: []core.Record{start("a", 1)}, steps: two[1:], look: look(func(l *core.Look) { l.End, l.Word = core.Well, true }), want: core.AskPerson{}},
		{name: "done, and its plan calls it blocked", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a", Status: core.Blocked}}, look: look(func(l *core.Look) { l.End, l.Word = core.Well, true }), want: core.AskPerson{}},
		{name: "an ordinary kill asks nothing", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(*core.Look) {}),
			want: core.EndAttempt{Step: "a", Outcome: core.Cut, Why: "it was cut off"}},
		{name: "cut off, and its plan wants a person then", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a", Policy: core.AskCut}}, look: look(func(*core.Look) {}), want: core.AskPerson{}},
		{name: "what took too long has failed, whatever its plan wants then", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a", Policy: core.AskCut}}, look: look(func(l *core.Look) { l.End, l.Why = core.Late, "too long" }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "too long"}},
		{name: "cut off, and its check is asked", records: []core.Record{start("a", 1)}, steps: checked, look: look(func(*core.Look) {}), want: core.Verify{Step: "a"}},
		{name: "cut off, and its check says no", records: []core.Record{start("a", 1)}, steps: checked, look: look(func(l *core.Look) { l.Verified = &no }),
			want: core.EndAttempt{Step: "a", Outcome: core.Cut, Why: "it was cut off"}},
		{name: "cut off, and its check says yes", records: []core.Record{start("a", 1)}, steps: checked, look: look(func(l *core.Look) { l.Verified = &yes }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "it was cut off, and its check says that it is done"}},
		{name: "ended well, and a file is missing", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word, l.Missing = core.Well, true, []string{"out is not there"} }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "it ended without leaving what it should: out is not there"}},
		{name: "an agent that dies by itself has failed", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Why, l.Seen = core.Killed, "it was ended by SIGKILL", true }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "it was ended by SIGKILL"}},
		{name: "and the step is begun again", records: []core.Record{start("a", 1), end("a", core.Cut)}, steps: todo, want: core.StartStep{Step: todo[0]}},
		{name: "cut off after its own tick", records: []core.Record{start("a", 1)}, steps: half, look: look(func(l *core.Look) { l.Ticked = true }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "the step is marked done, and its work is there"}},
		{name: "cut off after a push", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.Reached = []string{"git push"} }),
			want: core.AskPerson{}},
		{name: "cut off after a push that does no harm twice", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a", Policy: core.Rerun}},
			look: look(func(l *core.Look) { l.Reached = []string{"git push"} }), want: core.EndAttempt{Step: "a", Outcome: core.Cut, Why: "it was cut off"}},
		{name: "killed after a push", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Reached = core.Killed, []string{"git push"} }), want: core.AskPerson{}},
		{name: "failed after a push", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Why, l.Reached = core.Badly, "x", []string{"git push"} }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "x"}},
		{name: "stopped by us", records: []core.Record{start("a", 1)}, steps: todo, stop: "stop", look: look(func(l *core.Look) { l.End, l.Why = core.Asked, "it was asked to stop" }),
			want: core.EndAttempt{Step: "a", Outcome: core.Paused, Why: "it was asked to stop"}},
		{name: "stopped by us with its proof", records: []core.Record{start("a", 1)}, steps: todo, stop: "stop", look: look(func(l *core.Look) { l.End, l.Word = core.Asked, true }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "its agent says so, and its work is there"}},
		{name: "no sign-in", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Why = core.Unable, "sign in" }),
			want: core.EndAttempt{Step: "a", Outcome: core.Paused, Why: "sign in"}},
		{name: "its session is full", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Why = core.Full, "full" }),
			want: core.EndAttempt{Step: "a", Outcome: core.Cut, Why: "full"}},
		{name: "nothing begins once it is to stop", steps: todo, stop: "stop", want: core.Rest{Why: "stop"}},
		{name: "and what is at work ends first", records: []core.Record{start("a", 1)}, steps: todo, stop: "stop", look: &core.Look{Alive: true}, want: core.WaitFor{}},
		{name: "a check waits until the work goes on", records: []core.Record{start("a", 1)}, steps: checked, stop: "stop", look: look(func(l *core.Look) { l.End, l.Word = core.Well, true }),
			want: core.Rest{Why: "stop"}},
		{name: "a limit whose end nobody knows is tried", records: []core.Record{start("a", 1), end("a", core.Limited)}, steps: todo, want: core.StartStep{Step: todo[0]}},
		{name: "the same lines", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word, l.Torn = core.Well, true, []string{"f"} }), want: core.AskPerson{}},
		{name: "an open question rests", records: []core.Record{start("a", 1), ask("a", core.Keep)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word, l.Torn = core.Well, true, []string{"f"} }),
			want: core.Rest{Why: "question q is open"}},
		{name: "a question that nothing would ask any more", records: []core.Record{start("a", 1), ask("a", core.Keep)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word = core.Well, true }),
			want: core.LapseQuestion{ID: "q", Step: "a", Why: `"it differs" is no longer asked: what it is about has changed`}},
		{name: "an agent's question whose step a person ticked", records: []core.Record{start("a", 1), asking("a")}, steps: all,
			want: core.LapseQuestion{ID: "q", Step: "a", Why: `"Which?" is no longer asked: a, which waited for the answer, is done`}},
		{name: "an agent's question stays", records: []core.Record{start("a", 1), asking("a")}, steps: todo, want: core.Rest{Why: "question q is open"}},
		{name: "skipped by a person", records: nil, steps: []core.Step{{ID: "a", Status: core.Skipped}}, want: core.SkipStep{Step: "a"}},
		{name: "skipped by another attempt, and left out", records: []core.Record{ask("a", core.Out), answer("skip")}, steps: todo, want: core.SkipStep{Step: "a"}},
		{name: "kept", records: []core.Record{start("a", 1), ask("a", core.Keep), answer("keep")}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word, l.Torn = core.Well, true, []string{"f"} }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "a person kept it", Whole: []string{"f"}}},
		{name: "left to the user", records: []core.Record{start("a", 1), ask("a", core.Leave), answer("leave")}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word, l.Torn = core.Well, true, []string{"f"} }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "a person took over files", Leave: []string{"f"}}},
		{name: "again", records: []core.Record{start("a", 1), ask("a", core.Again), answer("again")}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word = core.Well, true }),
			want: core.UndoStep{Step: "a", Why: "a person wants it done again"}},
		{name: "three failures", records: []core.Record{start("a", 1), end("a", core.Failed), start("a", 2), end("a", core.Failed), start("a", 3), end("a", core.Failed)}, steps: todo, want: core.AskPerson{}},
		{name: "the user ticked it", steps: half, want: core.AdoptStep{Step: "a"}},
		{name: "an agent ticked it beside its own", records: []core.Record{start("b", 1), {End: &core.End{Step: "b", Outcome: core.Done, Marked: []string{"a"}}}}, steps: all, want: core.AskPerson{}},
		{name: "the user opened it", records: []core.Record{start("a", 1), end("a", core.Done)}, steps: todo, want: core.AskPerson{}},
		{name: "after an undo it starts", records: []core.Record{start("a", 1), end("a", core.Done), {Undo: &core.Undo{Step: "a"}}}, steps: todo, want: core.StartStep{Step: todo[0]}},
		{name: "a need that is nowhere", steps: []core.Step{{ID: "a", Status: core.Todo, Needs: []string{"z"}}}, want: core.Rest{Why: "step a waits for steps that are not in the plan"}},
		{name: "a limit is waited for", records: []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Limited, Until: noon}}}, steps: todo,
			want: core.Rest{Why: "a usage limit was met", Until: noon, Limit: true}},
		{name: "a limit that is over", records: []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Limited, Until: noon.Add(-2 * time.Hour)}}}, steps: todo,
			want: core.StartStep{Step: todo[0]}},
		{name: "a limit of another account", records: []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Limited, Account: "x", Until: noon}}}, steps: todo,
			want: core.StartStep{Step: todo[0]}},
		{name: "ended by a limit", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Limit, l.LimitEnds = core.Badly, "usage limit", noon }),
			want: core.EndAttempt{Step: "a", Outcome: core.Limited, Why: "usage limit", Until: noon}},
		{name: "its agent asks", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Questions = core.Well, []core.Question{{Text: "which?"}} }),
			want: core.EndAttempt{Step: "a", Outcome: core.Asking, Why: "which?"}},
		{name: "a check comes first", records: []core.Record{start("a", 1)}, steps: checked, look: look(func(l *core.Look) { l.End, l.Word = core.Well, true }),
			want: core.Verify{Step: "a"}},
		{name: "a check that fails", records: []core.Record{start("a", 1)}, steps: checked, look: look(func(l *core.Look) { l.End, l.Word, l.Verified, l.Check = core.Well, true, &no, "2 tests" }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "its check failed: 2 tests"}},
		{name: "a step that is a question", steps: []core.Step{{ID: "a", Ask: &core.Question{Text: "go?"}}}, want: core.AskPerson{}},
		{name: "five cut-offs", records: []core.Record{start("a", 1), end("a", core.Cut), start("a", 2), end("a", core.Cut), start("a", 3), end("a", core.Cut),
			start("a", 4), end("a", core.Cut), start("a", 5), end("a", core.Cut)}, steps: todo, want: core.AskPerson{}},
		{name: "another agent may begin beside one", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a"}, {ID: "c"}}, look: &core.Look{Alive: true}, parallel: 2,
			want: core.StartStep{Step: core.Step{ID: "c"}}},
		{name: "a need that is done by its mark alone is not done", records: []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Cut, Marked: []string{"a"}}}}, steps: half,
			want: core.StartStep{Step: half[0]}},
		{name: "kept without an attempt", records: []core.Record{ask("a", core.Keep), answer("keep")}, steps: half, want: core.AdoptStep{Step: "a"}},
		{name: "to be continued", records: []core.Record{start("a", 1), ask("a", core.Onto), answer("onto")}, steps: todo, look: look(func(*core.Look) {}),
			want: core.EndAttempt{Step: "a", Outcome: core.Cut, Why: "a person lets it continue"}},
		{name: "tried again by a person's word", records: []core.Record{start("b", 1), end("b", core.Failed), ask("b", core.Onto), answer("onto")}, steps: todo,
			want: core.StartStep{Step: todo[1]}},
		{name: "opened by a person", records: []core.Record{ask("a", core.Open), answer("open")}, steps: todo,
			want: core.UndoStep{Step: "a", Why: "a person says that it is not done", Keep: true}},
		{name: "an option that is none", records: []core.Record{ask("a", core.Open), answer("x")}, steps: todo, want: core.Rest{Why: `"x" is no option of question q`}},
		{name: "a limit has the step's account", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "z"}, {ID: "a", Account: "acme"}},
			look: look(func(l *core.Look) { l.End, l.Limit = core.Badly, "limit" }), want: core.EndAttempt{Step: "a", Outcome: core.Limited, Why: "limit", Account: "acme"}},
		{name: "a pause after a failure", records: []core.Record{start("a", 1), end("a", core.Failed)}, steps: []core.Step{{ID: "a", Backoff: time.Hour}},
			want: core.Rest{Why: "step a failed, and is tried again later", Until: noon.Add(-30 * time.Minute)}},
		{name: "a longer pause after two", records: []core.Record{start("a", 1), end("a", core.Failed), start("a", 2), end("a", core.Failed)}, steps: []core.Step{{ID: "a", Backoff: time.Hour}},
			want: core.Rest{Why: "step a failed, and is tried again later", Until: noon.Add(30 * time.Minute)}},
		{name: "a pause that is over", records: []core.Record{start("a", 1), end("a", core.Failed)}, steps: []core.Step{{ID: "a", Backoff: 20 * time.Minute}},
			want: core.StartStep{Step: core.Step{ID: "a", Backoff: 20 * time.Minute}}},
		{name: "another step while it pauses", records: []core.Record{start("a", 1), end("a", core.Failed)}, steps: []core.Step{{ID: "a", Backoff: time.Hour}, {ID: "b"}}, want: core.StartStep{Step: core.Step{ID: "b"}}},
		{name: "another step before a person is asked about it", records: []core.Record{start("a", 1), end("a", core.Failed)}, steps: []core.Step{{ID: "a", Tries: 1}, {ID: "b"}}, want: core.StartStep{Step: core.Step{ID: "b"}}},
		{name: "a step with tries of its own", records: []core.Record{start("a", 1), end("a", core.Failed)}, steps: []core.Step{{ID: "a", Tries: 1}}, want: core.AskPerson{}},
		{name: "an answer closes a step that is a question", records: []core.Record{{Ask: &core.Ask{ID: "q", Of: &core.Question{Text: "go?"}, Divergence: core.Divergence{Step: "a"}}}, {Answer: &core.Answer{ID: "q", Text: "yes"}}},
			steps: []core.Step{{ID: "a", Ask: &core.Question{Text: "go?"}}}, want: core.AdoptStep{Step: "a"}},
		{name: "left out", steps: todo, skip: "a", want: core.SkipStep{Step: "a"}},
		{name: "not left out once it is done", records: []core.Record{start("a", 1), end("a", core.Done)}, steps: half, skip: "a", want: core.StartStep{Step: half[1]}},
		{name: "no further than this", records: []core.Record{start("a", 1), end("a", core.Done)}, steps: half, until: "a", want: core.Rest{Why: "step a is done, as you wanted"}},
		{name: "no further than another", records: []core.Record{start("a", 1), end("a", core.Done)}, steps: half, until: "b", want: core.StartStep{Step: half[1]}},
		{name: "another run is in the way", steps: todo, others: "run x", want: core.Rest{Why: "run x"}},
		{name: "an agent at work is waited for before a rest", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a"}, {ID: "c"}}, look: &core.Look{Alive: true}, parallel: 2, busy: "a rebase", want: core.WaitFor{}},
		{name: "no third beside two places", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a"}, {ID: "c", Needs: []string{"a"}}}, look: &core.Look{Alive: true}, parallel: 2, want: core.WaitFor{}},
		{name: "a plan that changed while an agent works is asked about afterwards", records: []core.Record{start("a", 1)}, steps: []core.Step{{ID: "a"}, {ID: "b", Status: core.Finished}}, look: &core.Look{Alive: true}, want: core.WaitFor{}},
		{name: "a move that is due", records: []core.Record{start("a", 1), end("a", core.Done)}, unmade: true, steps: half, want: core.MakeMove{}},
		{name: "a move that is due and whose ground is gone", records: []core.Record{start("a", 1), end("a", core.Done)}, unmade: true, reset: true, steps: half, want: core.AskPerson{}},
		{name: "made by a person's word", records: []core.Record{start("a", 1), end("a", core.Done), ask("a", core.Drop, core.Make), answer("make")}, unmade: true, reset: true, steps: half, want: core.MakeMove{}},
		{name: "dropped by a person's word", records: []core.Record{start("a", 1), end("a", core.Done), ask("a", core.Drop, core.Make), answer("drop")}, unmade: true, reset: true, steps: half, want: core.DropMove{}},
		{name: "on a branch without the work", records: []core.Record{start("a", 1), end("a", core.Done)}, apart: true, steps: half, want: core.AskPerson{}},
		{name: "waiting for the branch", records: []core.Record{start("a", 1), end("a", core.Done), ask("", core.Wait, core.On), answer("wait")}, apart: true, steps: half, want: core.Rest{Why: "it waits for main"}},
		{name: "back on the branch", records: []core.Record{start("a", 1), end("a", core.Done), ask("", core.Wait, core.On), answer("wait")}, steps: half, want: core.StartStep{Step: half[1]}},
		{name: "the word of an agent that changed nothing", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word, l.Changed = core.Well, true, false }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "its agent ended well, and changed nothing"}},
		{name: "the word that nothing needed to change", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End, l.Word, l.Nothing, l.Changed = core.Well, true, true, false }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "its agent says so"}},
		{name: "no word", records: []core.Record{start("a", 1)}, steps: todo, look: look(func(l *core.Look) { l.End = core.Well }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "its agent ended well, and nothing says that the step is done"}},
		{name: "a tick and a failure", records: []core.Record{start("a", 1)}, steps: half, look: look(func(l *core.Look) { l.End, l.Why, l.Ticked = core.Badly, "it ended with exit code 1", true }),
			want: core.EndAttempt{Step: "a", Outcome: core.Failed, Why: "it ended with exit code 1"}},
		{name: "a commit and a failure", records: []core.Record{start("a", 1)}, steps: half, look: look(func(l *core.Look) { l.End, l.Committed = core.Badly, true }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "its commit is there"}},
		{name: "the tick of a review", records: []core.Record{start("a", 1)}, steps: half, look: look(func(l *core.Look) { l.Ticked, l.Judges, l.Changed = true, true, false }),
			want: core.EndAttempt{Step: "a", Outcome: core.Done, Why: "the step is marked done, and its work is there"}},
		{name: "the tick of a step that has to work", records: []core.Record{start("a", 1)}, steps: half, look: look(func(l *core.Look) { l.Ticked, l.Changed = true, false }),
			want: core.EndAttempt{Step: "a", Outcome: core.Cut, Why: "it was cut off"}},
		{name: "a complete list that gained an item", records: []core.Record{{Close: &core.Close{Complete: true}}}, steps: todo, want: core.StartStep{Step: todo[0]}},
		{name: "closed", records: []core.Record{{Close: &core.Close{Why: "x"}}}, steps: todo, want: core.Rest{Why: "the run is over: x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			looks := map[string]*core.Look{}
			if c.look != nil {
				c.look.Step = "a"
				looks["a"] = c.look
			}
			state := fold(t, c.records...)
			if c.unmade {
				state.Due = &core.Record{Seq: 3, End: &core.End{Step: "a"}}
			}
			got := core.Next(core.View{Stop: c.stop, Skip: map[string]bool{c.skip: true}, Until: c.until, Others: c.others, Reset: c.reset, Apart: c.apart, State: state, Shape: core.Shape{Steps: c.steps}, Looks: looks, Busy: c.busy, Parallel: c.parallel, Now: noon.Add(-time.Hour), Tries: 3})
			if a, ok := got.(core.AskPerson); ok {
				if len(a.Divergence.Options) == 0 && a.Of == nil || a.Divergence.Says == "" || a.Divergence.Shows == "" {
					t.Errorf("a question without facts: %+v", a)
				}
				got = core.AskPerson{}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestFold_refuses_what_does_not_follow(t *testing.T) {
	for name, records := range map[string][]core.Record{
		"a start while one is open":         {start("a", 1), start("b", 1)},
		"a start of what is done":           {start("a", 1), end("a", core.Done), start("a", 2)},
		"an end of another step":            {start("a", 1), {End: &core.End{Step: "b", Attempt: 1}}},
		"an answer to nothing":              {answer("keep")},
		"a start after the end of the run":  {{Close: &core.Close{}}, start("a", 1)},
		"a start of what is open elsewhere": {start("a", 1), {Start: &core.Start{Step: "a", Attempt: 2, Place: "own/1"}}},
		"a move while one is due":           {{Undo: &core.Undo{Move: &core.Move{}}}, {Undo: &core.Undo{Move: &core.Move{}}}},
		"made what is not due":              {{Made: &core.Made{Of: 1}}},
		"made what another record is":       {{Undo: &core.Undo{Move: &core.Move{}}}, {Made: &core.Made{Of: 1}}},
		"another number":                    {{Seq: 7, Note: &core.Note{}}},
	} {
		s := &core.State{}
		var err error
		for i, r := range append([]core.Record{{Begin: &core.Begin{}}}, records...) {
			if r.Seq == 0 {
				r.Seq = i + 1
			}
			if err == nil {
				err = s.Fold(r)
			}
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFold_a_continued_step_keeps_where_it_began(t *testing.T) {
	first, second := start("a", 1), start("a", 2)
	first.Start.Head.Commit, second.Start.Head.Commit = "c1", "c2"
	second.Start.Before = "w0 with what the user did between them"
	s := fold(t, first, end("a", core.Cut), second)
	if got := s.Step("a").First; got.Head.Commit != "c1" || got.Before != second.Start.Before {
		t.Errorf("first: %+v", got)
	}
}

// What a state keeps of a step through its records.
func TestFold(t *testing.T) {
	failed, cut := end("a", core.Failed), end("a", core.Cut)
	second := start("a", 2)
	for _, c := range []struct {
		name    string
		records []core.Record
		is      func(s *core.State) bool
	}{
		{"a failure is counted", []core.Record{start("a", 1), failed}, func(s *core.State) bool { return s.Step("a").Failures == 1 && s.Step("a").Cuts == 0 }},
		{"a cut-off is counted", []core.Record{start("a", 1), cut}, func(s *core.State) bool { return s.Step("a").Failures == 0 && s.Step("a").Cuts == 1 }},
		{"a success forgets both", []core.Record{start("a", 1), failed, second, end("a", core.Done)}, func(s *core.State) bool {
			p := s.Step("a")
			return p.Done && p.Failures == 0 && p.First.Step == "" && p.Left == "" && p.Before == "w0" && p.After == "w2" && p.Attempts == 2
		}},
		{"where the work is in", []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Done, Move: &core.Move{}}}}, func(s *core.State) bool { return s.At.Commit == "made" && s.Step("a").Commit == "made" }},
		{"a mark of another's attempt", []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Cut, Marked: []string{"b"}}}}, func(s *core.State) bool { return s.Step("b").Marked == "a" && s.Step("a").Marked == "" }},
		{"a question of an agent", []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Asking, Ask: &core.Ask{ID: "q", Of: &core.Question{Text: "which?"}, Divergence: core.Divergence{Step: "a"}}}}},
			func(s *core.State) bool { return s.Asked != nil && len(s.Open) == 0 }},
		{"and its answer", []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Asking, Ask: &core.Ask{ID: "q", Of: &core.Question{Text: "which?"}, Divergence: core.Divergence{Step: "a"}}}}, {Answer: &core.Answer{ID: "q", Text: "blue"}}},
			func(s *core.State) bool {
				return s.Asked == nil && reflect.DeepEqual(s.Step("a").Answers[0], core.Said{Question: "which?", Answer: "blue"})
			}},
		{"several questions are asked one by one", []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Asking, Session: "s", Ask: &core.Ask{ID: "q", Of: &core.Question{Text: "1?"}, More: []core.Question{{Text: "2?"}, {Text: "3?"}}, Divergence: core.Divergence{Step: "a"}}}},
			{Answer: &core.Answer{ID: "q", Text: "x"}}, {Answer: &core.Answer{ID: "q.2", Text: "y"}}},
			func(s *core.State) bool {
				return s.Asked.ID == "q.3" && s.Asked.Of.Text == "3?" && len(s.Step("a").Answers) == 2 && s.Step("a").Session == "s"
			}},
		{"what is paused counts for nothing", []core.Record{start("a", 1), end("a", core.Paused)}, func(s *core.State) bool {
			p := s.Step("a")
			return p.Failures == 0 && p.Cuts == 0 && p.First.Step == "a"
		}},
		{"an undo begins anew, and counts on", []core.Record{start("a", 1), failed, second, {Undo: &core.Undo{Step: "a"}}}, func(s *core.State) bool {
			p := s.Step("a")
			return p.Attempts == 2 && p.Failures == 0 && len(s.Open) == 0 && p.First.Step == ""
		}},
		{"a start settles the question about its step", []core.Record{ask("a", core.Onto), start("a", 1)}, func(s *core.State) bool { return s.Asked == nil }},
		{"a run that begins again has done nothing, and counts its attempts on", []core.Record{start("a", 1), end("a", core.Done), {Begin: &core.Begin{}}}, func(s *core.State) bool {
			return !s.Step("a").Done && s.Step("a").Attempts == 1 && len(s.Open) == 0
		}},
		{"a plan that a person changed", []core.Record{start("a", 1), failed, ask("a", core.Onto), {Plan: &core.Plan{Revised: true}}}, func(s *core.State) bool { return s.Step("a").Failures == 0 && s.Asked == nil }},
		{"and not that about another", []core.Record{ask("b", core.Onto), start("a", 1)}, func(s *core.State) bool { return s.Asked != nil }},
		{"a new start opens a complete run", []core.Record{{Close: &core.Close{Complete: true}}, start("a", 1)}, func(s *core.State) bool { return s.Ended == nil }},
		{"a first world that an end gives", []core.Record{start("a", 1), {End: &core.End{Step: "a", Attempt: 1, Outcome: core.Cut, Before: "its"}}}, func(s *core.State) bool { return s.Step("a").First.Before == "its" }},
		{"and one that it does not", []core.Record{start("a", 1), cut}, func(s *core.State) bool { return s.Step("a").First.Before == "w0" }},
		{"going on elsewhere", []core.Record{ask("", core.Wait, core.On), {Answer: &core.Answer{ID: "q", Option: "on", Head: core.Head{Branch: "x"}}}}, func(s *core.State) bool { return s.Asked == nil && s.At.Branch == "x" }},
	} {
		if s := fold(t, c.records...); !c.is(s) {
			t.Errorf("%s: %+v, a: %+v", c.name, s, s.Step("a"))
		}
	}
}

// What may follow what.
func TestFold_takes_what_follows(t *testing.T) {
	fold(t, start("a", 1), core.Record{Start: &core.Start{Step: "b", Attempt: 1, Place: "own/1"}}, end("a", core.Done), core.Record{End: &core.End{Step: "b", Attempt: 1, Outcome: core.Cut}})
	fold(t, core.Record{Close: &core.Close{}}, core.Record{Note: &core.Note{}}, core.Record{Undo: &core.Undo{Step: "a"}}, start("a", 1))
	fold(t, core.Record{Close: &core.Close{Complete: true}}, start("a", 1))
	s := fold(t, core.Record{End: &core.End{Step: "a", Outcome: core.Done, Ask: &core.Ask{ID: "q"}}})
	if s.Asked == nil || s.Asked.ID != "q" || !s.Step("a").Done {
		t.Errorf("%+v", s)
	}
}

// Every world that a record names is kept for it.
func TestRecord_worlds(t *testing.T) {
	m := &core.Move{Base: "b", From: "f", To: "t", Own: map[string]string{"p": "o"}}
	for want, r := range map[string]core.Record{
		"[w s b f t o]": {Start: &core.Start{Before: "w", Staged: "s", Move: m}},
		"[w a b f t o]": {End: &core.End{Before: "w", After: "a", Move: m}},
		"[b f t o]":     {Undo: &core.Undo{Move: m}},
		"[]":            {Note: &core.Note{}},
	} {
		if got := fmt.Sprint(r.Worlds()); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// A budget that is used up is asked about before anything is started, once, and only as long as it is.
func TestNext_budgets(t *testing.T) {
	of := &core.Question{ID: "budget", Text: "Raise it?", Options: []string{"raise"}, Closed: true, Lapses: true}
	steps := []core.Step{{ID: "a", Status: core.Todo}, {ID: "b", Status: core.Todo, Optional: true}}
	v := core.View{State: &core.State{}, Shape: core.Shape{Steps: steps}, Budget: of, Tries: 3}
	if d, ok := core.Next(v).(core.AskPerson); !ok || d.Of != of {
		t.Errorf("a budget that is used up: %#v", d)
	}
	fold := func(r core.Record) {
		r.Seq = v.State.Seq + 1
		if err := v.State.Fold(r); err != nil {
			t.Fatal(err)
		}
	}
	fold(core.Record{Ask: &core.Ask{ID: "budget", Of: of, Divergence: core.Divergence{Step: "a", Says: "a budget is used up", Shows: of.Text}}})
	if d, ok := core.Next(v).(core.Rest); !ok {
		t.Errorf("while it is asked: %#v", d)
	}
	v.Budget = nil
	if d := core.Next(v); d != (core.LapseQuestion{ID: "budget", Step: "a", Why: `"Raise it?" is no longer asked: what it is about has changed`}) {
		t.Errorf("once it is raised elsewhere: %#v", d)
	}
	fold(core.Record{Answer: &core.Answer{ID: "budget", Text: "raise"}})
	if d, ok := core.Next(v).(core.StartStep); !ok || d.Step.ID != "a" || len(v.State.Step("a").Answers) > 0 {
		t.Errorf("once it is answered: %#v, and told to agents: %v", d, v.State.Step("a").Answers)
	}
	v.Steps = []core.Step{{ID: "a", Status: core.Finished}, steps[1]}
	fold(core.Record{End: &core.End{Step: "a", Outcome: core.Done}})
	if d := core.Next(v); d != (core.CloseRun{}) {
		t.Errorf("with what is optional left: %#v", d)
	}
	fold(core.Record{Undo: &core.Undo{Step: "b", Keep: true}})
	if d, ok := core.Next(v).(core.StartStep); !ok || d.Step.ID != "b" {
		t.Errorf("once somebody wants it: %#v", d)
	}
}
