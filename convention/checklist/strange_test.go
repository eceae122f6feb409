package checklist_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
)

func TestNeeds_are_read_however_they_are_written(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"b. **Dependency**: T001d.": "T001d", "b **Depends\u2011on:** T000": "T000", "b (blocked on T000)": "T000", "b, depends on Task T000": "T000",
		"b {deps: T000}": "T000", "b → requires T000": "T000", "b **Prerequisites**: T000, T001d": "T000 T001d", "b _Depends on: T000_": "T000",
		"b (after T000)": "T000", "b **Depends on**: T000–T000": "T000", "b\n  - **Blocked by:** **T000**": "T000",
		"b after T000 was tried": "", "b which needs 2 files": "", "b (see T000)": "", "b requires a T-shirt": "",
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [ ] T000 a\n- [ ] T001d a\n- [ ] T002 "+text+"\n")
		if got := strings.Join(run.Step("T002").Needs, " "); got != want {
			t.Errorf("%q needs %q", text, got)
		}
	}
}

func TestA_task_is_struck_through_only_as_a_whole(t *testing.T) {
	t.Parallel()
	for text, started := range map[string]bool{
		"T002 ~~Configure it\n  with care~~": false, "T002 ~~Configure it~~ (dropped)": false, "T002 ~~Configure it~~ REMOVED": false, "T002 ~~Configure it~~（取消）": false, "T002 ~~Configure it~~ 已取消": false, "T002 ~~Configure~~ moved to T009": false,
		"T002 ~~Open an issue~~ Issue opened: #5": false, "T002 ~~移至~~ 见 group 3": false, "~~T002~~ **REMOVED**": false,
		"T002 ~~Configure it\n  with\n  care~~ — moved": false, "~~T002 Configure it\n  with care~~": false,
		"T002 ~~Configure~~ Verify it": true, "T002 ~~Configure~~ Verify ~~it~~ all": true, "T002 ~~ is a mark\n\n~~": true, "T002 ~~ is a mark\n- ~~": true,
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T001 a\n- [ ] "+text+"\n")
		if (len(run.Next) > 0) != started || run.State == reprise.Complete {
			t.Errorf("%q: %s, %s", text, run.State, run.Reason)
		}
	}
}

// Only a status is replaced: other values under the names of tasks are told and stay.
func TestAn_entry_without_a_status_is_no_task(t *testing.T) {
	t.Parallel()
	const name, list = "docs/sprint-status.yaml", "development_status:\n  epic-1: in-progress\n  1-1-set-up: done\n"
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "bmad" })
	layout := checklist.New(checklist.Families()[i])
	for line, step := range map[string]bool{
		"e1-1-jira-id: MANDA-124": false, "1-1-jira-id: MANDA-124": false, "1-1-owner: anna": false, "e1-1-owner: anna": false, "1-2-due: 2026-01-02": false, "1-2-points: 5": false,
		"1-2-tax: parked": true, "1-2-tax: needs-clarification": true, "e1-2-tax: review": true,
	} {
		text := list + "  " + line + "\n"
		run := loadList(t, "bmad", name, text)
		id, _, _ := strings.Cut(line, ":")
		told := slices.ContainsFunc(run.Findings, func(f reprise.Finding) bool { return f.Source.Line == 4 })
		if run.State == reprise.Complete || (run.Step(id) != nil) != step || !told && !step {
			t.Errorf("%q: %s, %s, %v", line, run.State, run.Reason, run.Findings)
		}
		edits, err := layout.Record(fstest.MapFS{name: {Data: []byte(text)}}, run, reprise.Event{Kind: reprise.StepFinished, Step: id})
		if (err == nil && len(edits) > 0) != step {
			t.Errorf("%q is recorded: %v, %v", line, edits, err)
		}
	}
	const open = "development_status:\n  epic-1: in-progress\n  1-1-set-up: review\n  1-1-jira-id: MANDA-124\n"
	edits, err := layout.Record(fstest.MapFS{name: {Data: []byte(open)}}, loadList(t, "bmad", name, open), reprise.Event{Kind: reprise.StepFinished, Step: "1-1-set-up"})
	if err != nil || len(edits) != 1 || string(edits[0].Content) != strings.Replace(open, "review", "done", 1) {
		t.Errorf("recorded: %v, %v", edits, err)
	}
}

func TestA_list_in_an_unknown_form_is_told_by_its_name(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sprint-status.yaml", "docs/sprint-artifacts/sprint-status.yaml"} {
		for text, line := range map[string]int{
			"epics:\n  E1:\n    status: complete\n    stories:\n      S1.1: complete\n      S1.2: pending\n":           6,
			"epics:\n  - id: \"001\"\n    statut: in-progress\n  - id: \"002\"\n    statut: backlog\n":                 3,
			"epic-1-login:\n  status: completed\n  stories:\n    1-001-form:\n      status: not-started\n      n: 9\n": 5,
		} {
			run := loadList(t, "bmad", name, text)
			if run.State != reprise.Unreadable || len(run.Findings) != 1 || run.Findings[0].Source.Line != line || strings.Contains(run.Findings[0].Hint, "git checkout") {
				t.Errorf("%s %q: %s, %v", name, text, run.State, run.Findings)
			}
		}
	}
	bmad := checklist.Families()[slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "bmad" })]
	refs, err := checklist.New(bmad).Find(fstest.MapFS{"sprint-status.yaml": {Data: []byte("board:\n  url: https://example.org\n  status: open\n")}})
	if err != nil || len(refs) > 0 {
		t.Errorf("a file without statuses is a list: %v, %v", refs, err)
	}
}

func TestWhat_beads_keeps_for_itself_is_no_task(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"merge-request", "rig", "gate"} {
		run := loadList(t, "beads", ".beads/issues.jsonl", `{"id":"a-1","title":"a","status":"closed","issue_type":"task"}`+"\n"+`{"id":"a-2","title":"b","status":"open","issue_type":"`+kind+`"}`+"\n")
		if run.State != reprise.Complete {
			t.Errorf("%s: %s, %s", kind, run.State, run.Reason)
		}
	}
}
