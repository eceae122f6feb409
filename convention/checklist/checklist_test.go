package checklist_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
	"reprise/convention/conventiontest"
	"reprise/convention/playtest"
)

// ours matches what makes a text a list of tasks: its title, or one of its items. What
// is blank or holds a NUL was one.
var ours = regexp.MustCompile(`(?m)^# Tasks:|^\s*- \[.\] \**T\d+\S* +\S|\x00|\A\s*\z`)

const tasks = "specs/004-export/tasks.md"

func speckit() checklist.Family { return checklist.Families()[0] }

func layout() reprise.Layout { return checklist.New(speckit()) }

func sample(t *testing.T) fstest.MapFS {
	return conventiontest.LoadFS(t, "testdata/scenarios/speckit-between-phases.txtar")
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	conventiontest.Scenarios(t, layout(), "testdata/scenarios")
}

func TestDamaged_lists_are_never_read_as_done(t *testing.T) {
	t.Parallel()
	conventiontest.Conform(t, layout(), sample(t), func(text []byte) bool { return !ours.Match(text) })
}

func TestAn_event_ticks_the_box_of_its_task_and_nothing_else(t *testing.T) {
	t.Parallel()
	step := func(kind reprise.EventKind, id string) reprise.Event {
		return reprise.Event{Kind: kind, Step: id, At: conventiontest.Epoch}
	}
	before := sample(t)
	after := conventiontest.Records(t, layout(), before, "004-export",
		conventiontest.Recorded{Event: step(reprise.StepStarted, "T004"), Cannot: true},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "T004"), Status: reprise.Done},
		conventiontest.Recorded{Event: step(reprise.StepReset, "T004"), Status: reprise.Pending},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "T005"), Status: reprise.Done},
		conventiontest.Recorded{Event: step(reprise.StepSkipped, "T006"), Cannot: true},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "T999"), Cannot: true},
		conventiontest.Recorded{Event: step(reprise.RunEnded, ""), Cannot: true},
	)
	want := strings.Replace(string(before[tasks].Data), "- [ ] **T005**", "- [x] **T005**", 1)
	if got := string(after[tasks].Data); got != want {
		t.Errorf("more than one box changed:\n%s", got)
	}
}

func TestA_list_is_worked_through_whatever_instruction_the_engine_dies_at(t *testing.T) {
	t.Parallel()
	tree := sample(t)
	p := playtest.Player{
		Layout: layout(), Book: checklist.NewPlaybook(speckit()), Ref: reprise.Ref{Layout: "speckit", Kind: reprise.KindTasks, ID: "004-export", Path: tasks},
		Agent: func(j playtest.Job) reprise.Reply {
			j.Write("src/"+j.Step, "made")
			return reprise.Reply{Outcome: "done"}
		},
	}
	r := p.Play(t, tree)
	if r.Run.State != reprise.Complete || r.GaveUp != "" {
		t.Fatalf("%s (%s): %s", r.Run.State, r.Run.Reason, r.GaveUp)
	}
	if got := strings.Join(r.Launches, ", "); !strings.HasPrefix(got, "coder T004, coder T005") {
		t.Errorf("started %s", got)
	}
	for kill := 1; kill <= r.Ticks; kill++ {
		p.Kill = kill
		if again := p.Play(t, sample(t)); again.Run.State != reprise.Complete {
			t.Errorf("killed at %d: %s (%s): %s", kill, again.Run.State, again.Run.Reason, again.GaveUp)
		}
	}
}

func TestA_list_that_is_not_there_is_not_begun(t *testing.T) {
	t.Parallel()
	book := checklist.NewPlaybook(speckit())
	if ref, events, err := book.Begin(sample(t), reprise.Goal{Path: "specs/004-export"}); err != nil || ref.Path != tasks || len(events) != 0 {
		t.Errorf("%+v %v %v", ref, events, err)
	}
	if ref, _, err := book.Begin(sample(t), reprise.Goal{Text: "make one"}); err == nil {
		t.Errorf("began %+v", ref)
	}
}
