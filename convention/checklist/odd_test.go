package checklist_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
)

// loadList reads a list of a family that consists of the lines given.
func loadList(t *testing.T, family, name, text string) *reprise.Run {
	t.Helper()
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == family })
	layout, tree := checklist.New(checklist.Families()[i]), fstest.MapFS{name: {Data: []byte(text)}}
	refs, err := layout.Find(tree)
	if err != nil || len(refs) != 1 {
		t.Fatalf("%q: %d lists, %v", text, len(refs), err)
	}
	run, err := reprise.Load(layout, tree, refs[0])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestA_line_that_looks_like_a_box_and_is_none_keeps_a_list_from_being_complete(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"- [wip] T002 b", "- [TODO] T002 b", "- [in progress] b", "- [ x ] T002 b", "- [] b", "- [  ] b", "[ ] T002 b", "[x] b",
		"> - [ ] T002 b", "| [ ] | T002 b |", "| T002 | b | [x] |", "– [ ] T002 b", "• [ ] b", "a. [ ] T002 b", "-\t[ ] T002 b",
		"- [?] T002 b", "- [P] T002 b", "- T002 b", "- ⬜ T002 b",
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T001 a\n"+line+"\n")
		told := slices.ContainsFunc(run.Findings, func(f reprise.Finding) bool { return f.Source.Line == 4 })
		if run.State == reprise.Complete || !told && run.Progress().Total != 2 {
			t.Errorf("%q: %s, %s, %v", line, run.State, run.Reason, run.Findings)
		}
	}
}

func TestA_link_a_footnote_and_a_tag_are_no_box(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"- [text](url)", "- [x](url)", "- [text][ref]", "- [ref]: url", "[^1]: a note", "- [^1] a note", "- [[wiki]]", "[1] Smith", "- [Story] label",
		"- `[ ]` is open", "Legend: [ ] is open", "```\n- [ ] T009 sample\n```", "<!-- - [ ] T009 sample -->",
		"- T001 comes first", "- a plain item", "| Name | Text |",
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T001 a\n"+line+"\n")
		if run.State != reprise.Complete {
			t.Errorf("%q: %s, %s", line, run.State, run.Reason)
		}
	}
}

func TestTasks_that_only_a_carriage_return_parts_are_not_read_as_one(t *testing.T) {
	t.Parallel()
	run := loadList(t, "speckit", "specs/001-a/tasks.md", strings.ReplaceAll("# Tasks: a\n\n- [x] T001 a\n- [ ] T002 b\n", "\n", "\r"))
	if run.State != reprise.Unreadable || len(run.Findings) == 0 {
		t.Errorf("%s, %s, %v", run.State, run.Reason, run.Findings)
	}
}

func TestA_task_whose_agent_ticked_only_its_own_box_closes_what_follows_from_it(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Tasks\n\n- [ ] 1. Whole\n  - [x] 1.1 a\n  - [x] 1.2 b\n":    "# Tasks\n\n- [x] 1. Whole\n  - [x] 1.1 a\n  - [x] 1.2 b\n",
		"# Tasks\n\n- [ ] 1.1 a\n- [x] 1.2 b\n  - [ ] a piece of it\n": "# Tasks\n\n- [ ] 1.1 a\n- [x] 1.2 b\n  - [x] a piece of it\n",
		"# Tasks\n\n- [ ] 1. Whole\n  - [ ] 1.1 a\n  - [x] 1.2 b\n":    "",
	} {
		const name = "openspec/changes/a/tasks.md"
		i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "openspec" })
		run := loadList(t, "openspec", name, text)
		edits, err := checklist.New(checklist.Families()[i]).Record(fstest.MapFS{name: {Data: []byte(text)}}, run, reprise.Event{Kind: reprise.StepFinished, Step: "1.2"})
		got := ""
		for _, e := range edits {
			got = string(e.Content)
		}
		if err != nil || got != want {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

func TestA_list_without_tasks_is_damaged_if_its_last_commit_has_some(t *testing.T) {
	t.Parallel()
	const name = ".taskmaster/tasks/tasks.json"
	const none, some = `{"master": {"tasks": []}}`, `{"master": {"tasks": [{"id": 1, "title": "a", "status": "pending"}]}}`
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "taskmaster" })
	for last, want := range map[string]reprise.State{none: reprise.NotStarted, some: reprise.Unreadable} {
		run := loadList(t, "taskmaster", name, none)
		checklist.New(checklist.Families()[i]).Aim(fstest.MapFS{name: {Data: []byte(none)}}, run, []reprise.Version{{Commit: "c0", Content: []byte(last)}})
		if run.State != want || (run.Worst() == reprise.Blocking) != (want == reprise.Unreadable) {
			t.Errorf("%s: %s, %s, %v", last, run.State, run.Reason, run.Findings)
		}
	}
}

func TestTitles_have_neither_stars_around_them_nor_what_sets_them_off(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"T-002 b": "T-002 b", "T001.2: b": "T001.2 b", "T002 - b": "T002 b", "T002 — b": "T002 b", "T002 -v is read": "T002 -v is read",
		"**T002 b**": "T002 b", "**T002** **b**": "T002 b", "T002 [P] (US1): b": "T002 b", "T002 **b** in `src/**`": "T002 **b** in `src/**`",
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T000 a\n- [ ] "+line+"\n")
		if len(run.Next) != 1 || run.Next[0].ID+" "+run.Next[0].Title != want {
			t.Errorf("%q: %+v", line, run.Next)
		}
	}
}
