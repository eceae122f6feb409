package orchestrate_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
	"reprise/convention/playtest"
)

const plan = `execution:
  epicId: EPIC-3
  storyBasePath: docs/stories
  stories:
    "3.1": {file: 3.1.form.md, title: Form}
    "3.2": {file: 3.2.check.md, title: Check}
    "3.3": {file: 3.3.done.md, title: Done, depends_on: ["3.1"]}
  waves:
    - wave: 1
      stories: ["3.1", "3.2"]
    - wave: 2
      stories: ["3.3"]
`

const planPath = "docs/stories/epics/EPIC-3-EXECUTION.yaml"

func epicFiles() fstest.MapFS {
	return tree(planPath, plan, "docs/stories/3.1.form.md", draft, "kept.txt", "x")
}

func TestOR11_epic_from_its_plan(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindEpic, reprise.Goal{Path: planPath}, reviewer(1, team))
	whole := p.Play(t, epicFiles())
	over("3.1", "3.2", "3.3", "wave-1-gate", "wave-2-gate", "final-gate")(t, whole)
	only(t, epicFiles(), whole.Files, ".aiox/", "docs/stories/3.", "docs/stories/3.1.form.md", "docs/stories/3.2.check.md", "docs/stories/3.3.done.md", "src/")
	for path, events := range whole.Children {
		got := playtest.Result{Events: events}
		if got.Ends("qa") != 1 || got.Ends("validate") != 1 || got.Ends("implement") != 2 {
			t.Errorf("%s:\n%s", path, got.Story())
		}
	}
	if len(whole.Children) != 3 {
		t.Errorf("%d stories were run", len(whole.Children))
	}
	// Prime to the rhythm of a step, so that every kind of place is met.
	p.Agent, p.Stride = team, 7
	p.EveryKill(t, epicFiles(), func(t testing.TB, r playtest.Result) {
		over("3.1", "3.2", "3.3", "wave-1-gate", "wave-2-gate", "final-gate")(t, r)
	})
}

// TestOR11_epic_stories_of_a_wave: those that do not depend on each other are
// started at the same time, and only those of the wave.
func TestOR11_epic_stories_of_a_wave(t *testing.T) {
	t.Parallel()
	files := epicFiles()
	files[planPath].Data = []byte(strings.Replace(plan, `["3.1", "3.2"]`, `["3.1", "3.2", "3.4"]`, 1) + "    - wave: 9\n      stories: []\n")
	files[planPath].Data = []byte(strings.Replace(string(files[planPath].Data), `    "3.3"`, `    "3.4": {depends_on: ["3.1"]}`+"\n"+`    "3.3"`, 1))
	ref, events, err := books[reprise.KindEpic].Begin(files, reprise.Goal{Path: planPath, Now: conventiontest.Epoch})
	if err != nil || len(events) != 1 {
		t.Fatal(err, events)
	}
	l := orchestrate.New()
	load := func() *reprise.Run {
		r, err := l.Load(files, ref)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	edits, err := l.Record(files, load(), events[0])
	if err != nil {
		t.Fatal(err)
	}
	if files, err = conventiontest.Apply(files, edits); err != nil {
		t.Fatal(err)
	}
	pick := func(busy ...string) (out []string) {
		r := load()
		for _, u := range books[reprise.KindEpic].Pick(r, reprise.Next(r, reprise.Observed{}, reprise.Policy{}), busy) {
			out = append(out, u.ID)
		}
		return out
	}
	if got := pick(); !slices.Equal(got, []string{"3.1", "3.2"}) {
		t.Errorf("picked %v", got)
	}
	if got := pick("3.1"); !slices.Equal(got, []string{"3.2"}) {
		t.Errorf("beside 3.1 at work: %v", got)
	}
	if got := pick("3.1", "3.2"); len(got) > 0 {
		t.Errorf("beside both: %v", got)
	}
	// Begun again it is the same run.
	if again, events, err := books[reprise.KindEpic].Begin(files, reprise.Goal{Path: planPath}); err != nil || len(events) > 0 || again != ref {
		t.Errorf("begun again: %v %v %v", again, events, err)
	}
}

// states are epics as they are met, each to be carried to its end.
var states = map[string]string{
	"stories as maps, verdicts kept": `epic_state:
  epicId: EPIC-3
  status: active
  current_wave: 1
  total_waves: 2
  waves:
    1:
      status: in_progress
      stories:
        "3.1": {status: in_progress, executor: "@dev"}
        "3.2": {status: pending}
    2:
      status: pending
      stories:
        "3.3": {status: pending}
  gate_verdicts: {}
`,
	"scalars, no verdicts, no wave status": `epicId: EPIC-3
status: active
waves:
  1:
    stories:
      "3.1": in_progress
      "3.2": pending
  2:
    stories:
      "3.3": pending
`,
	"lists and other words": `epic_state:
  epic_id: EPIC-3
  status: in_progress
  waves:
    - wave: 1
      status: in_progress
      stories:
        - {id: "3.1", status: in-progress}
        - {id: "3.2", status: todo}
    - wave: 2
      status: todo
      stories:
        - {id: "3.3", status: todo}
`,
	"bare ids": `epic_state:
  epicId: EPIC-3
  status: active
  waves:
    1: {stories: ["3.1", "3.2"]}
    2: {stories: ["3.3"]}
`,
}

func TestOR11_epic_states_as_met(t *testing.T) {
	t.Parallel()
	for name, text := range states {
		for _, home := range []string{".aiox", ".aios"} {
			files := tree(home+"/epic-EPIC-3-state.yaml", text,
				"docs/stories/3.1.form.md", strings.Replace(draft, "Draft", "InProgress", 1),
				"docs/stories/3.2.check.md", strings.Replace(draft, "Draft", "Ready", 1), "docs/stories/3.3.done.md", draft)
			p := player(reprise.KindEpic, reprise.Goal{Path: home + "/epic-EPIC-3-state.yaml"}, team)
			p.Ref = reprise.Ref{Layout: "orchestrate", ID: "EPIC-3", Path: home + "/epic-EPIC-3-state.yaml", Kind: reprise.KindEpic}
			r := p.Play(t, files)
			over("3.1", "3.2", "3.3", "final-gate")(t, r)
			if t.Failed() {
				t.Fatalf("%s in %s:\n%s", name, home, r.Story())
			}
		}
	}
}

func TestOR11_epic_gate_not_passed(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]reprise.State{"": reprise.Waiting, "accept as it is": reprise.Complete, "stop": reprise.Stopped, "review it again": reprise.Complete} {
		gates := 0
		p := player(reprise.KindEpic, reprise.Goal{Path: planPath}, func(job playtest.Job) reprise.Reply {
			if job.Step == "wave-1-gate" {
				if gates++; gates == 1 || answer != "review it again" {
					return reprise.Reply{Outcome: "done", Verdict: "rejected", Summary: "the stories do not fit together"}
				}
			}
			return team(job)
		})
		p.Answer = func(reprise.Question) (string, bool) { return answer, answer != "" }
		r := p.Play(t, epicFiles())
		if r.Run.State != want || answer == "" && r.Run.PendingQuestions() == nil {
			t.Errorf("%q: it is %s (%s)\n%s", answer, r.Run.State, r.Run.Reason, r.Story())
		}
		if begun := r.Count(reprise.StepStarted, "3.3") > 0; begun != (want == reprise.Complete) {
			t.Errorf("%q: wave 2 begun: %t", answer, begun)
		}
	}
	for _, word := range []string{"", "maybe"} {
		p := player(reprise.KindEpic, reprise.Goal{Path: planPath}, func(job playtest.Job) reprise.Reply {
			if job.Step == "wave-1-gate" {
				return reprise.Reply{Outcome: "done", Verdict: word}
			}
			return team(job)
		})
		if r := p.Play(t, epicFiles()); r.Run.State == reprise.Complete || r.Ends("wave-1-gate") > 0 || r.Count(reprise.StepStarted, "3.3") > 0 {
			t.Errorf("%q passed the gate:\n%s", word, r.Story())
		}
	}
}

// TestOR11_epic_gate_sent_back_before: the verdict on record did not let a wave pass, whatever
// its word. A person is asked once, before anything of the next wave begins. (issue 15, row 6)
func TestOR11_epic_gate_sent_back_before(t *testing.T) {
	t.Parallel()
	const state = `epic_state:
  epicId: EPIC-3
  status: active
  waves:
    1: {status: WAVE, stories: {"3.1": {status: completed}}}
    2: {status: pending, stories: {"3.2": {status: pending}}}
  gate_verdicts:
    1: {status: VERDICT, agent: "@qa", blocking: 2}
`
	done := strings.NewReplacer("Draft", "Done", "[ ]", "[x]").Replace(draft)
	for _, verdict := range []string{"rejected", "REJECT", "FAIL", "blocked", "maybe", "approved"} {
		for answer, want := range map[string]reprise.State{"": reprise.Waiting, "accept as it is": reprise.Complete, "review it again": reprise.Complete, "stop": reprise.Stopped} {
			wave := "completed"
			if answer == "review it again" {
				wave = "gate_review"
			}
			files := tree(".aiox/epic-EPIC-3-state.yaml", strings.NewReplacer("WAVE", wave, "VERDICT", verdict).Replace(state),
				"docs/stories/3.1.form.md", done, "docs/stories/3.2.check.md", draft)
			p := player(reprise.KindEpic, reprise.Goal{Path: ".aiox/epic-EPIC-3-state.yaml"}, team)
			asked := 0
			p.Answer = func(reprise.Question) (string, bool) { asked++; return answer, answer != "" }
			r := p.Play(t, files)
			if verdict == "approved" {
				if r.Run.State != reprise.Complete || asked > 0 || r.Count(reprise.StepStarted, "wave-1-gate") > 0 {
					t.Errorf("approved: it is %s, %d asked\n%s", r.Run.State, asked, r.Story())
				}
				continue
			}
			if begun := r.Count(reprise.StepStarted, "3.2") > 0; r.Run.State != want || begun != (want == reprise.Complete) || answer != "" && asked != 1 {
				t.Errorf("%s, %q: it is %s (%s), %d asked, wave 2 begun: %t\n%s", verdict, answer, r.Run.State, r.Run.Reason, asked, begun, r.Story())
			}
			if again := r.Count(reprise.StepStarted, "wave-1-gate") > 0; again != (answer == "review it again") {
				t.Errorf("%s, %q: reviewed again: %t", verdict, answer, again)
			}
		}
	}
}

// TestOR11_epic_story_fails: one story of a wave that fails holds up the wave's
// gate, not the other stories.
func TestOR11_epic_story_fails(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindEpic, reprise.Goal{Path: planPath}, func(job playtest.Job) reprise.Reply {
		if job.Facts["story"] == "docs/stories/3.1.form.md" && job.Step == "implement" {
			return reprise.Reply{Outcome: "failed", Summary: "it does not build"}
		}
		return team(job)
	})
	r := p.Play(t, epicFiles())
	if r.Run.State == reprise.Complete || r.Ends("3.1") != 0 || r.Ends("3.2") != 1 || r.Count(reprise.StepStarted, "wave-1-gate") > 0 {
		t.Errorf("it is %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
}

func TestOR11_epic_story_waits(t *testing.T) {
	t.Parallel()
	// Never approved, the story waits for a person, and its epic with it.
	p := player(reprise.KindEpic, reprise.Goal{Path: planPath}, func(job playtest.Job) reprise.Reply {
		if job.Facts["story"] == "docs/stories/3.1.form.md" {
			return reviewer(-1, team)(job)
		}
		return team(job)
	})
	r := p.Play(t, epicFiles())
	if r.Run.State == reprise.Complete || r.Ends("3.1") != 0 || r.Ends("3.2") != 1 || r.Count(reprise.StepStarted, "wave-1-gate") > 0 {
		t.Errorf("it is %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
	p.Answer = func(reprise.Question) (string, bool) { return "accept as it is", true }
	over("3.1", "3.2", "3.3")(t, p.Play(t, epicFiles()))
}

func TestOR11_epic_stories_blocked(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]reprise.State{"": reprise.Waiting, "try again": reprise.Complete, "skip them": reprise.Complete, "stop": reprise.Stopped} {
		files := tree(".aiox/epic-EPIC-3-state.yaml", states["stories as maps, verdicts kept"],
			"docs/stories/3.1.form.md", strings.Replace(draft, "Draft", "Blocked", 1),
			"docs/stories/3.2.check.md", strings.Replace(draft, "Draft", "Done", 1), "docs/stories/3.3.done.md", draft)
		p := player(reprise.KindEpic, reprise.Goal{Path: ".aiox/epic-EPIC-3-state.yaml"}, team)
		p.Answer = func(reprise.Question) (string, bool) { return answer, answer != "" }
		r := p.Play(t, files)
		if r.Run.State != want {
			t.Errorf("%q: it is %s (%s)\n%s", answer, r.Run.State, r.Run.Reason, r.Story())
		}
		if answer == "" && len(r.Run.PendingQuestions()) == 0 {
			t.Errorf("nobody is asked")
		}
	}
}

func TestOR11_epic_story_closed_outside(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindEpic, reprise.Goal{Path: planPath}, team)
	p.Between = func(turn int, files fstest.MapFS) {
		files["docs/stories/3.2.check.md"] = &fstest.MapFile{Data: []byte(strings.Replace(draft, "Draft", "Done", 1))}
	}
	r := p.Play(t, epicFiles())
	over("3.1", "3.2", "3.3")(t, r)
	if len(r.Children) != 2 {
		t.Errorf("%d stories were run\n%s", len(r.Children), r.Story())
	}
}

func TestOR11_epic_from_a_list(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindEpic, reprise.Goal{ID: "EPIC-7", Text: "7.1, 7.2; 7.3"}, team)
	r := p.Play(t, tree(".aios/x", ""))
	over("7.1", "7.2", "7.3", "wave-1-gate", "wave-2-gate", "final-gate")(t, r)
	if r.Files[".aios/epic-EPIC-7-state.yaml"] == nil || r.Files["docs/stories/7.3.story.md"] == nil {
		t.Error("the state or a story is not where it belongs")
	}
	for _, goal := range []reprise.Goal{{}, {ID: "x"}, {ID: "../x", Text: "1.1"}, {ID: "x", Text: "../1.1"}, {Path: "gone.yaml"}, {Path: ".aiox/epic-1-state.yaml"}} {
		if ref, events, err := books[reprise.KindEpic].Begin(tree(), goal); err == nil {
			t.Errorf("%+v begins %v %v", goal, ref, events)
		}
	}
}

// TestOR11_X3_epic_with_an_open_review: a story that the epic state calls done is
// not done while its QA loop is open. The loop continues; where the story's own file
// closes it, a person is asked before the epic is closed.
func TestOR11_X3_epic_with_an_open_review(t *testing.T) {
	t.Parallel()
	const state = `epic_state:
  epicId: EPIC-3
  status: active
  waves:
    1:
      status: completed
      stories:
        "3.1": {status: completed}
  gate_verdicts:
    1: {status: approved}
    final: {status: approved}
`
	const loop = `{"storyId": "3.1", "currentIteration": 1, "maxIterations": 5, "status": "in_progress", "history": [{"iteration": 1, "verdict": "REJECT", "fixedAt": null}]}`
	for _, c := range []struct {
		status, answer string
		want           reprise.State
		children       int
	}{
		{"Ready for Review", "", reprise.Complete, 1},
		{"Done", "", reprise.Waiting, 0},
		{"Done", "close it", reprise.Complete, 0},
	} {
		files := tree(".aiox/epic-EPIC-3-state.yaml", state, "qa/3.1/loop-status.json", loop,
			"docs/stories/3.1.form.md", strings.Replace(draft, "Draft", c.status, 1))
		p := player(reprise.KindEpic, reprise.Goal{Path: ".aiox/epic-EPIC-3-state.yaml"}, team)
		p.Answer = func(reprise.Question) (string, bool) { return c.answer, c.answer != "" }
		r := p.Play(t, files)
		if r.Run.State != c.want || len(r.Children) != c.children || c.want == reprise.Waiting && len(r.Run.PendingQuestions()) != 1 {
			t.Errorf("%s, %q: it is %s (%s), %d children\n%s", c.status, c.answer, r.Run.State, r.Run.Reason, len(r.Children), r.Story())
		}
		if c.children > 0 && !strings.Contains(string(r.Files["qa/3.1/loop-status.json"].Data), `"completed"`) {
			t.Errorf("the loop is left open: %s", r.Files["qa/3.1/loop-status.json"].Data)
		}
	}
}
