package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/journal"
	"reprise/project"
	"reprise/settings"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// viewOf makes a view of a run with these steps and questions.
func viewOf(change func(*View)) *View {
	v := &View{View: &project.View{
		Run: &reprise.Run{State: reprise.Interrupted}, History: &journal.History{}, Now: noon,
		Decision: reprise.Decision{Action: reprise.Start, State: reprise.Interrupted, Verdict: reprise.Safe},
	}}
	if change != nil {
		change(v)
	}
	return v
}

// spent is what a run used of a budget: dollars, and 100 tokens.
func spent(dollars, budget float64) Spending {
	return Spending{
		Budgets: settings.Budgets{Run: settings.Limit{Cost: budget}},
		Run:     reprise.Usage{Tokens: &reprise.Tokens{Input: 90, Output: 10}, Cost: &dollars},
	}
}

// words tells in one line what ops want done.
func words(ops []Op) string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, op := range ops {
		for _, f := range op.Notice {
			say("notice %s", f.Code)
		}
		if op.BeginAt != "" {
			say("begin at %s", op.BeginAt)
		}
		for _, ev := range op.Record {
			say("%s", strings.TrimSpace(string(ev.Kind)+" "+ev.Step+ev.Question))
		}
		for _, q := range op.Question {
			say("question %s", q.ID)
		}
		switch {
		case len(op.TakeOut) > 0:
			say("take out %d", len(op.TakeOut))
		case op.Mark:
			say("mark")
		case len(op.Settle) > 0:
			say("settle %d", len(op.Settle))
		case op.Row:
			say("in a row")
		case op.Refuse != nil:
			say("refuse %s", op.Refuse.Step)
		case op.Park != nil:
			say("park %s", op.Park.Step)
		case op.Start != nil:
			say("start %s", op.Start.Step)
		case op.Await:
			say("await")
		case len(op.Ask) > 0:
			say("ask %s", op.Ask[0].ID)
		case op.Leave:
			say("leave")
		case !op.Until.IsZero():
			say("sleep %s", op.Until.Sub(noon))
		}
	}
	return strings.Join(out, ", ")
}

// The rules give data from data: a view in, ops out. No disk, no process, no clock.
func TestEach_turn_is_decided_by_the_first_rule_that_wants_something(t *testing.T) {
	t.Parallel()
	step := func(id string) reprise.Assignment { return reprise.Assignment{Step: id} }
	asked := func(id string) reprise.Question { return reprise.Question{ID: id, Text: "Which?"} }
	answered := func(id, answer string, options ...string) reprise.Question {
		return reprise.Question{ID: id, Answered: true, Answer: answer, Options: options}
	}
	letter := func(id, answer string) Letter {
		return Letter{journal.Letter{Question: id, Answer: answer}, []byte(id)}
	}
	lost := project.Doubt{
		Prefix: project.LostPrefix, Question: reprise.Asked{ID: "lost-1"}, Done: "it is done", Again: "do it again",
		Ends: []reprise.Event{{Kind: reprise.StepFinished, Step: "b"}}, Finding: reprise.Finding{Code: reprise.CodeLostCompletion},
	}
	decides := map[int]bool{} // which rules had their way in a row
	for name, c := range map[string]struct {
		view func(*View)
		want string
	}{
		"nothing is left to do": {nil, "leave"},

		"an answer in the inbox is recorded, then taken out": {func(v *View) {
			v.Run.Questions, v.Letters = []reprise.Question{asked("q")}, []Letter{letter("q", "blue")}
		}, "question_answered q, take out 1"},
		"of two answers to one question the first counts": {func(v *View) {
			v.Run.Questions, v.Letters = []reprise.Question{asked("q")}, []Letter{letter("q", "blue"), letter("q", "red")}
		}, "question_answered q, notice " + reprise.CodePendingQuestion + ", take out 2"},
		"an answer that nobody asked for is only told": {func(v *View) {
			v.Letters = []Letter{letter("q", "blue")}
		}, "notice " + reprise.CodePendingQuestion + ", take out 1"},
		"an answer that is not offered is told, and the question stays": {func(v *View) {
			v.Run.Questions, v.Letters = []reprise.Question{{ID: "q", Options: []string{"yes"}, Closed: true}}, []Letter{letter("q", "maybe")}
		}, "notice " + reprise.CodePendingQuestion + ", take out 1"},
		"answers are heard while something is at work": {func(v *View) {
			v.Run.Questions, v.Letters = []reprise.Question{asked("q")}, []Letter{letter("q", "blue")}
			v.AtWork = map[string]reprise.Assignment{"a": step("a")}
		}, "question_answered q, take out 1"},

		"an answer that was used is recorded as applied": {func(v *View) {
			v.Used = map[string]string{"q": "a"}
		}, "answer_applied aq"},
		"but not while something is at work": {func(v *View) {
			v.Used, v.AtWork = map[string]string{"q": "a"}, map[string]reprise.Assignment{"b": step("b")}
		}, "await"},
		"what git shows is marked once nothing is asked": {func(v *View) { v.Unmarked = true }, "mark"},
		"and not before": {func(v *View) { v.Unmarked, v.Decision.Action = true, reprise.Ask }, "leave"},

		"a changed story is asked about before attempts are settled": {func(v *View) {
			v.Changed, v.Open = &project.Remeasured{Asks: true, Measure: "m"}, []reprise.Event{{Step: "a"}}
		}, "question " + (&project.Remeasured{Measure: "m"}).Question()},
		"a person says to build it again": {func(v *View) {
			v.Run.Questions = []reprise.Question{answered("changed-1", project.ChangedAgain, project.ChangedContinue, project.ChangedAgain)}
		}, "begin at implement, answer_applied changed-1"},
		"a person says to continue with it": {func(v *View) {
			v.Run.Questions = []reprise.Question{answered("changed-1", project.ChangedContinue, project.ChangedContinue, project.ChangedAgain)}
		}, "answer_applied changed-1"},
		"attempts whose end nobody saw are settled before anything is started": {func(v *View) {
			v.Open, v.Offers = []reprise.Event{{Step: "a"}, {Step: "b"}}, []Offer{{Assignment: step("c")}}
		}, "settle 2"},

		"steps whose end the files lost are asked about": {func(v *View) {
			v.Doubts = []project.Doubt{lost}
		}, "notice " + reprise.CodeLostCompletion + ", question lost-1"},
		"a person says that it is done": {func(v *View) {
			v.Doubts, v.Run.Questions = []project.Doubt{lost}, []reprise.Question{answered("lost-1", lost.Done, lost.Done, lost.Again)}
		}, "step_finished b, answer_applied lost-1"},
		"a person says to do it again": {func(v *View) {
			v.Doubts, v.Run.Questions = []project.Doubt{lost}, []reprise.Question{answered("lost-1", lost.Again, lost.Done, lost.Again)}
		}, "step_reset b, answer_applied lost-1"},
		"an answer that says neither is used up": {func(v *View) {
			v.Doubts, v.Run.Questions = []project.Doubt{lost}, []reprise.Question{answered("lost-1", "hm", lost.Done, lost.Again)}
		}, "answer_applied lost-1"},
		"a doubt that no longer stands is taken back": {func(v *View) {
			v.Lapsed = []string{"lost-1"}
		}, "question_skipped lost-1"},

		"the playbook's events come before the next step": {func(v *View) {
			v.Due, v.Offers = []reprise.Event{{Kind: reprise.PhaseEnded}}, []Offer{{Assignment: step("a")}}
		}, "phase_ended"},
		"and after work that is owed": {func(v *View) {
			v.Due, v.Run.Owed = []reprise.Event{{Kind: reprise.PhaseEnded}}, []reprise.Unit{{ID: "a"}}
			v.Offers = []Offer{{Assignment: step("a")}}
		}, "start a"},
		"nothing is started while work cannot be committed": {func(v *View) {
			v.Held, v.Offers = map[string]bool{"a": true}, []Offer{{Assignment: step("b")}}
		}, "leave"},

		"also not beside what is at work": {func(v *View) {
			v.Held, v.Offers, v.AtWork = map[string]bool{"a": true}, []Offer{{Assignment: step("b")}}, map[string]reprise.Assignment{"c": step("c")}
		}, "await"},

		"nothing is started beyond the budget before a person says so": {func(v *View) {
			v.Spending, v.Offers = spent(5, 2), []Offer{{Assignment: step("a")}}
		}, "question budget-run-cost-x3"},
		"the budget of the day counts for all runs": {func(v *View) {
			v.Spending, v.Offers = Spending{Budgets: settings.Budgets{Day: settings.Limit{Tokens: 10}}, Day: "2026-03-02", Today: spent(1, 0).Run}, []Offer{{Assignment: step("a")}}
		}, "question budget-day-2026-03-02-tokens-x11"},
		"below the budget work continues": {func(v *View) { v.Spending, v.Offers = spent(1.99, 2), []Offer{{Assignment: step("a")}} }, "start a"},
		"what is not known is not taken for nothing, and stops nothing": {func(v *View) {
			v.Spending, v.Offers = spent(1, 2), []Offer{{Assignment: step("a")}}
			v.Spending.Run.Cost, v.Spending.Run.MoreCost = nil, true
		}, "start a"},
		"a budget that was raised": {func(v *View) {
			v.Spending, v.Offers = spent(5, 2), []Offer{{Assignment: step("a")}}
			v.Spending.Raised = map[string]bool{"budget-run-cost-x3": true, "budget-run-tokens-x9": true}
		}, "start a"},
		"and is used up again": {func(v *View) {
			v.Spending, v.Offers = spent(6, 2), []Offer{{Assignment: step("a")}}
			v.Spending.Raised = map[string]bool{"budget-run-cost-x3": true}
		}, "question budget-run-cost-x4"},
		"beside work that goes on nothing is started, and nothing is asked yet": {func(v *View) {
			v.Spending, v.Offers, v.AtWork = spent(5, 2), []Offer{{Assignment: step("b")}}, map[string]reprise.Assignment{"c": step("c")}
		}, "await"},
		"a command uses nothing": {func(v *View) {
			v.Spending, v.Offers = spent(5, 2), []Offer{{Assignment: reprise.Assignment{Step: "a", Command: []string{"make"}}}}
		}, "start a"},
		"a back-off is waited for first": {func(v *View) {
			v.Spending, v.Offers = spent(5, 2), []Offer{{Assignment: step("a"), From: noon.Add(time.Minute)}}
		}, "sleep 1m0s"},
		"the answer to a budget is used up": {func(v *View) {
			v.Spending, v.Run.Questions = spent(5, 2), []reprise.Question{answered("budget-run-cost-x3", journal.RaiseOnce, journal.RaiseOnce, reprise.StopHere)}
		}, "answer_applied budget-run-cost-x3"},
		"a budget that is no longer used up is not asked about": {func(v *View) {
			v.Spending, v.Run.Questions = spent(5, 9), []reprise.Question{asked("budget-run-cost-x3")}
		}, "answer_applied budget-run-cost-x3"},
		"an open question about the budget is not asked twice": {func(v *View) {
			v.Spending, v.Run.Questions, v.Offers = spent(5, 2), []reprise.Question{asked("budget-run-cost-x3")}, []Offer{{Assignment: step("a")}}
		}, "leave"},

		"units that need nobody are recorded in a row": {func(v *View) { v.Alone = true }, "in a row"},
		"but not in a run that is blocked":             {func(v *View) { v.Alone, v.Decision.Verdict = true, reprise.BlockedVerdict }, "leave"},
		"but not past a step that a person named as the last": {func(v *View) {
			v.Alone, v.Choice.Until, v.Offers = true, "z", []Offer{{Assignment: step("a")}}
		}, "start a"},
		"the first unit that may be started is": {func(v *View) {
			v.Offers = []Offer{{Assignment: step("a"), From: noon.Add(time.Minute)}, {Assignment: step("b")}}
		}, "start b"},
		"one that cannot be prepared is refused": {func(v *View) {
			v.Offers = []Offer{{Assignment: step("a"), Problem: errors.New("no role")}}
		}, "refuse a"},
		"one whose attempts are used up is left to a person": {func(v *View) {
			v.Offers = []Offer{{Assignment: step("a"), Never: "failed twice"}}
		}, "park a"},
		"nothing is begun while it is being stopped": {func(v *View) {
			v.Stopping, v.Offers = true, []Offer{{Assignment: step("a")}}
		}, "leave"},
		"what is at work is waited for also then": {func(v *View) {
			v.Stopping, v.AtWork = true, map[string]reprise.Assignment{"a": step("a")}
		}, "await"},
		"behind the last step nothing is started": {func(v *View) {
			v.Reached, v.Offers = true, []Offer{{Assignment: step("a")}}
		}, "leave"},

		"a back-off is slept through": {func(v *View) {
			v.Offers = []Offer{{Assignment: step("a"), From: noon.Add(time.Minute)}}
		}, "sleep 1m0s"},
		"a limit is not": {func(v *View) {
			v.Offers = []Offer{{Assignment: step("a"), From: noon.Add(time.Hour)}}
		}, "leave"},
		"unless a person wants to wait": {func(v *View) {
			v.Patient, v.Offers = true, []Offer{{Assignment: step("a"), From: noon.Add(time.Hour)}}
		}, "sleep 1h0m0s"},
		"a person is asked what is open": {func(v *View) {
			v.Askable, v.Run.Questions = true, []reprise.Question{asked("q")}
		}, "ask q"},
		"and not asked again what they left open": {func(v *View) {
			v.Askable, v.Run.Questions, v.LeftOpen = true, []reprise.Question{asked("q")}, map[string]bool{"q": true}
		}, "leave"},
	} {
		v := viewOf(c.view)
		if got := words(Turn(v)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		decides[slices.IndexFunc(rules, func(rule Rule) bool { return len(rule(v)) > 0 })] = true
	}
	for i := range rules {
		if !decides[i] {
			t.Errorf("rule %d of the list decides in no row", i)
		}
	}
}

// What comes next is the playbook's to say, but for work that is owed, an agent that a
// person chose, and what waits for them.
func TestWhat_comes_next_follows_from_the_view(t *testing.T) {
	t.Parallel()
	units := func(ids ...string) (out []reprise.Unit) {
		for _, id := range ids {
			out = append(out, reprise.Unit{ID: id})
		}
		return out
	}
	for name, c := range map[string]struct {
		view   func(*View)
		putOff map[string]bool
		want   string
	}{
		"the playbook picks": {nil, nil, "picked beside []"},
		"beside what is at work": {func(v *View) {
			v.Decision.Action, v.AtWork = reprise.Ask, map[string]reprise.Assignment{"b": {}, "a": {}}
		}, nil, "picked beside [a b]"},
		"what is owed comes first": {func(v *View) { v.Run.Owed = units("o") }, nil, "o"},
		"a changed story holds everything": {func(v *View) {
			v.Run.Owed, v.Run.Questions = units("o"), []reprise.Question{{ID: "changed-1"}}
		}, nil, ""},
		"a conflict, too":       {func(v *View) { v.Decision.Verdict = reprise.BlockedVerdict }, nil, ""},
		"a question holds all":  {func(v *View) { v.Decision.Action = reprise.Ask }, nil, ""},
		"or only what it is of": {func(v *View) { v.Decision.Action, v.Decision.Waits = reprise.Ask, []string{"w"} }, nil, "picked beside [w]"},
		"a person who can be asked is asked first": {func(v *View) {
			v.Decision.Action, v.Decision.Waits, v.Askable, v.Run.Questions = reprise.Ask, []string{"w"}, true, []reprise.Question{{ID: "q"}}
		}, nil, ""},
		"unless they put it off": {func(v *View) {
			v.Decision.Action, v.Decision.Waits, v.Askable, v.Run.Questions = reprise.Ask, []string{"w"}, true, []reprise.Question{{ID: "q"}}
		}, map[string]bool{"q": true}, "picked beside [w]"},
		"nothing behind the last step while that waits": {func(v *View) {
			v.Decision.Action, v.Decision.Waits, v.Choice.Until = reprise.Ask, []string{"w"}, "w"
			v.Run.Steps, v.Run.Questions = []reprise.Step{{ID: "w"}, {ID: "picked beside [w]"}}, []reprise.Question{{ID: "q", Subject: "w"}}
		}, nil, ""},
		"but what is listed before it": {func(v *View) {
			v.Decision.Action, v.Decision.Waits, v.Choice.Until = reprise.Ask, []string{"w"}, "w"
			v.Run.Steps, v.Run.Questions = []reprise.Step{{ID: "picked beside [w]"}, {ID: "w"}}, []reprise.Question{{ID: "q", Subject: "w"}}
		}, nil, "picked beside [w]"},
		"and all while another one waits": {func(v *View) {
			v.Decision.Action, v.Decision.Waits, v.Choice.Until = reprise.Ask, []string{"w"}, "last"
			v.Run.Steps, v.Run.Questions = []reprise.Step{{ID: "last"}}, []reprise.Question{{ID: "q", Subject: "w"}}
		}, nil, "picked beside [w]"},
		"a failed step is tried again": {func(v *View) {
			v.Run.Steps = []reprise.Step{{ID: "f", Status: reprise.Failed}, {ID: "g", Status: reprise.Failed, Needs: []string{"f"}}}
			for _, id := range []string{"f", "g"} {
				v.History.Add(&reprise.Event{Kind: reprise.StepFailed, Step: id, Attempt: 1})
			}
		}, nil, "picked beside [] f"},
	} {
		v := viewOf(c.view)
		v.PutOff = c.putOff
		got, _ := v.next(func(busy []string) []reprise.Unit { return units(fmt.Sprintf("picked beside %v", busy)) })
		var ids []string
		for _, u := range got {
			ids = append(ids, u.ID)
		}
		if strings.Join(ids, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, ids, c.want)
		}
	}
}

// A step is left alone as long as a person is to say something about it.
func TestA_step_that_waits_for_an_answer_is_not_started(t *testing.T) {
	t.Parallel()
	ask := func(q reprise.Question) func(*View) { return func(v *View) { v.Run.Questions = []reprise.Question{q} } }
	for name, c := range map[string]struct {
		view func(*View)
		want bool
	}{
		"nothing is asked":            {nil, false},
		"it is asked about":           {ask(reprise.Question{ID: "q", Subject: "a"}), true},
		"it asks":                     {ask(reprise.Question{ID: "q", Subject: "x", By: "a"}), true},
		"another one asks":            {ask(reprise.Question{ID: "q", Subject: "b", By: "b"}), false},
		"it was answered":             {ask(reprise.Question{ID: "q", Subject: "a", Answered: true}), false},
		"files and journal disagree":  {func(v *View) { v.Doubts = []project.Doubt{{Ends: []reprise.Event{{Step: "b"}, {Step: "a"}}}} }, true},
		"they disagree about another": {func(v *View) { v.Doubts = []project.Doubt{{Ends: []reprise.Event{{Step: "b"}}}} }, false},
	} {
		if got := viewOf(c.view).blocked("a"); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
