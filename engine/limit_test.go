package engine_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/project"
	"reprise/settings"
)

const sharing = `name: sharing
title: Steps of two accounts
steps:
  - {id: a, role: first, prompt: Make a., outputs: [a.txt]}
  - {id: b, role: first, prompt: Make b., outputs: [b.txt]}
  - {id: c, role: first, prompt: Make c., outputs: [c.txt]}
  - {id: d, role: second, prompt: Make d., outputs: [d.txt]}
`

var begun = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// shared plays both accounts; the first one is closed until a time.
func shared(dir string, c *clock, until time.Time, seen *launches) *engine.Engine {
	play := func(job agent.Job) *agent.Result {
		seen.begin(job.Step)
		defer seen.end()
		if job.Role == "first" && c.now().Before(until) {
			return &agent.Result{Outcome: agent.Limited, Until: until, Reason: "the window is used up"}
		}
		time.Sleep(20 * time.Millisecond)
		return made(job)
	}
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"first": play, "second": play})
	second := e.Settings.Agents["second"]
	second.Preset = "codex"
	e.Settings.Agents["second"] = second
	e.Now, e.Parallel = c.now, 1
	return e
}

// judged is what a look from outside says at a time.
func judged(t *testing.T, dir string, at time.Time) reprise.Decision {
	t.Helper()
	j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: at}, Full: true})
	if err != nil || len(j.Runs) != 1 {
		t.Fatal(j, err)
	}
	return j.Decisions[j.Runs[0]]
}

func TestX8_a_limit_stops_all_steps_of_its_account(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", sharing)
	until := begun.Add(5 * time.Hour)
	seen := &launches{}
	sum := begin(t, shared(dir, newClock(begun, 1), until, seen), "one", "flow.yaml")
	if sum.Action != reprise.Wait || !sum.Until.Equal(until) || sum.Account != "claude" || sum.State != reprise.Waiting {
		t.Errorf("%s until %s for %q, %s", sum.Action, sum.Until, sum.Account, sum.State)
	}
	if got := seen.String(); got != "[a d]" {
		t.Errorf("launched %s: a runs into the limit, b and c must not, d has another account", got)
	}
	if len(sum.Failed) > 0 || len(sum.Finished) != 1 {
		t.Errorf("failed %+v finished %+v", sum.Failed, sum.Finished)
	}

	// Whoever looks before the time sees a run that waits, after it one that
	// can be continued.
	if d := judged(t, dir, begun.Add(time.Hour)); d.State != reprise.Waiting || d.Action != reprise.Wait || !strings.Contains(strings.Join(d.Reasons, " "), "waits for a limit or an outage until 2026-03-02 14:00 UTC") {
		t.Errorf("before: %s %s %q", d.State, d.Action, d.Reasons)
	}
	if d := judged(t, dir, until.Add(time.Minute)); d.State != reprise.Interrupted || d.Action != reprise.Start {
		t.Errorf("after: %s %s %q", d.State, d.Action, d.Reasons)
	}

	// Another process before the time starts nothing.
	sum, err := shared(dir, newClock(begun.Add(time.Hour), 1), until, seen).Resume(t.Context(), refOf("one"), engine.Choice{})
	if err != nil || sum.Action != reprise.Wait || !sum.Until.Equal(until) || sum.Launches != 0 {
		t.Errorf("%+v %v", sum, err)
	}
}

func TestX8_after_a_limit_one_goes_first_and_the_others_follow(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", sharing)
	until := begun.Add(5 * time.Hour)
	first := &launches{}
	begin(t, shared(dir, newClock(begun, 1), until, first), "one", "flow.yaml")
	seen := &launches{}
	var starts []time.Time
	e := shared(dir, newClock(until.Add(time.Second), 10), until, seen)
	e.Parallel = 3
	before := len(events(t, dir, refOf("one")))
	sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v %v", sum, err)
	}
	all := events(t, dir, refOf("one"))
	for _, ev := range all[before:] {
		if ev.Kind == reprise.StepStarted {
			starts = append(starts, ev.At)
		}
	}
	if len(starts) != 3 {
		t.Fatalf("launched %s", seen)
	}
	if gap := starts[2].Sub(starts[1]); gap < 4*time.Second {
		t.Errorf("the others follow each other after %s", gap)
	}
	for _, ev := range all {
		if ev.Kind == reprise.StepFinished && ev.Step == seen.steps[0] && starts[1].Before(ev.At) {
			t.Errorf("the second was started at %s, before the first was through at %s", starts[1], ev.At)
		}
	}
	if n := count(all, reprise.StepFailed, ""); n != 0 {
		t.Errorf("a limit counts as %d failures", n)
	}
}

// TestX8_who_goes_first_is_not_waited_for_to_the_end: a step may take hours.
func TestX8_who_goes_first_is_not_waited_for_to_the_end(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", sharing)
	until := begun.Add(5 * time.Hour)
	begin(t, shared(dir, newClock(begun, 1), until, &launches{}), "one", "flow.yaml")
	second := make(chan struct{})
	var once sync.Once
	first := true
	var mu sync.Mutex
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"first": func(job agent.Job) *agent.Result {
		mu.Lock()
		probe := first
		first = false
		mu.Unlock()
		if !probe {
			once.Do(func() { close(second) })
			return made(job)
		}
		<-second
		return made(job)
	}})
	e.Now, e.Parallel = newClock(until, 120).now, 3
	sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{})
	if err != nil || sum.State != reprise.Complete || len(sum.Failed) > 0 {
		t.Fatalf("%+v %v", sum, err)
	}
}

func TestX8_waiting_sleeps_through_limits_that_come_back(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", sharing)
	// Told too early: the window is closed for longer than it said.
	c := newClock(begun, 10_000)
	seen := &launches{}
	play := func(job agent.Job) *agent.Result {
		seen.begin(job.Step)
		defer seen.end()
		if len(seen.steps) <= 2 { // one at a time
			return &agent.Result{Outcome: agent.Limited, Until: c.now().Add(2 * time.Hour)}
		}
		return made(job)
	}
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"first": play, "second": play})
	e.Now, e.Parallel, e.Wait, e.Settings.Attempts = c.now, 1, true, 1
	sum := begin(t, e, "one", "flow.yaml")
	if sum.State != reprise.Complete || len(sum.Failed) > 0 {
		t.Fatalf("%+v", sum)
	}
	all := events(t, dir, refOf("one"))
	if n := count(all, reprise.StepDeferred, ""); n != 2 || count(all, reprise.StepFinished, "") != 4 || len(seen.steps) != 6 {
		t.Errorf("%d times deferred, launched %s", n, seen)
	}
}

// TestX8_a_limit_in_a_run_below_stops_the_whole: the stories of an epic are runs
// of their own; one that runs into a limit closes the account for all.
func TestX8_a_limit_in_a_run_below_stops_the_whole(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "docs/stories/epics/EPIC-3-EXECUTION.yaml", epicPlan)
	for _, id := range []string{"3.1", "3.2", "3.3"} {
		put(t, dir, "docs/stories/"+id+".story.md", strings.ReplaceAll(storyReady, "N.N", id))
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "epic")
	until := begun.Add(5 * time.Hour)
	work := func(c *clock) (*engine.Summary, []string) {
		e := newEngine(dir)
		e.Ask, e.Now, e.Parallel = answering, c.now, 1
		var limited []string
		real := e.Agent
		e.Agent = func(s settings.Agent) (agent.Agent, error) {
			behind, err := real(s)
			return stub{behind: behind, play: func(job agent.Job) *agent.Result {
				if c.now().Before(until) {
					limited = append(limited, job.Run+" "+job.Step)
					return &agent.Result{Outcome: agent.Limited, Until: until}
				}
				return nil
			}}, err
		}
		ref, err := e.Begin(t.Context(), "orchestrate", reprise.KindEpic, reprise.Goal{Path: "docs/stories/epics/EPIC-3-EXECUTION.yaml"}, engine.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		return sum, limited
	}
	sum, limited := work(newClock(begun, 1))
	if sum.Action != reprise.Wait || !sum.Until.Equal(until) || len(limited) != 1 || len(sum.Failed) > 0 {
		t.Errorf("%s until %s, into the limit ran %q, failed %+v: %q", sum.Action, sum.Until, limited, sum.Failed, sum.Reasons)
	}
	if sum, limited = work(newClock(begun.Add(time.Hour), 1)); sum.Action != reprise.Wait || len(limited) != 0 {
		t.Errorf("an hour later: %s, into the limit ran %q", sum.Action, limited)
	}
	if sum, _ = work(newClock(until.Add(time.Second), 60)); sum.State != reprise.Complete {
		t.Errorf("after it: %s %s %q failed %+v", sum.State, sum.Action, sum.Reasons, sum.Failed)
	}
}
