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
		"### [ ] T002 b", "## [ ] b", "### T002: b", "- ( ) T002 b", "- ( ) b", "1. T002 b", "1. [ ] T002 b", "- \\[ ] T002 b", "- \\[ \\] T002 b",
		"T002 b", "**T002** b", "| T002 | b | open |", "- **[ ]** T002 b", "- `[ ]` T002 b", "☐ T002 b", "- ❌ T002 b", "- [x] T002 b — NOT DONE",
		"- [ T002 b", "- [x T002 b", "- ] T002 b", "- x] T002 b", "[ T002 b",
		"- ⏳ T002: b", "- 🚧 T002", "* 🔄 **T002** b", "- TODO T002 b", "- TODO: T002 b", "- (pending) T002 b", "- ［ ］ T002 b", "- 【 】 T002 b", "- 【待办】T002 b",
		"⏳ T002 b", "### 🚧 T002 b", "| ⏳ T002 | b |", "- ⏳ (in progress) T002 b", "- Offen: T002 b", "  - 🚧 T002 b",
		"T002-T005: still to be written", "- T002–T005 follow", "- 🚧 T002-T005", "T001-T009 are here",
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
		"## [Unreleased] notes", "### T001 was first", "- [x] T002 b\n  T009 is for later", "| a | T009 |", "## [DONE] Polish", "1. Read it", "- (a) first", "T000-T001 are here", "- See T001", "- 🚧 T001", "- T000–T001: the start", "- Blocks the rest of T009's kind", "- Read all of T009",
		"- [text](url)", "- [x](url)", "- [text][ref]", "- [ref]: url", "[^1]: a note", "- [^1] a note", "- [[wiki]]", "[1] Smith", "- [Story] label",
		"- `[ ]` is open", "Legend: [ ] is open", "```\n- [ ] T009 sample\n```", "<!-- - [ ] T009 sample -->",
		"- T001 comes first", "- a plain item", "| Name | Text |",
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T000 z\n- [x] T001 a\n"+line+"\n")
		if run.State != reprise.Complete {
			t.Errorf("%q: %s, %s", line, run.State, run.Reason)
		}
	}
}

func TestA_number_without_a_box_is_a_task_if_it_continues_those_of_the_list(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]reprise.State{
		"- 🔄 1.3 c": reprise.Waiting, "- TODO 1.3 c": reprise.Waiting, "- (pending) 1.3 c": reprise.Waiting, "- In-progress: 1.3 c": reprise.Waiting,
		"  - _Requirements: 1.3, 1.4_": reprise.Complete, "- Version 1.3 of it": reprise.Complete, "- 🔄 1.2 c": reprise.Complete, "- ~1.3 MB": reprise.Complete,
		"- 1.3 c": reprise.Waiting, "1.3 c": reprise.Waiting, "### 1.3 c": reprise.Waiting, "- 1.2 b again": reprise.Complete,
		"1. c": reprise.Complete, "- 2.0 is the version": reprise.Complete, "  - 1.2.1 c": reprise.Complete, "## 2. More": reprise.Waiting, "## 2. More\n- 2.1 c": reprise.Waiting, "## 2. More ✅": reprise.Complete, "| 1.3 | 1.1, 1.2 |": reprise.Complete, "- ✅ 1.3 c": reprise.Complete,
	} {
		run := loadList(t, "openspec", "openspec/changes/a/tasks.md", "# Tasks\n\n## 1. Work\n\n- [x] 1.1 a\n- [x] 1.2 b\n"+line+"\n")
		if run.State != want {
			t.Errorf("%q: %s, %s", line, run.State, run.Reason)
		}
	}
}

func TestWhat_looks_like_a_task_or_says_that_it_is_open_is_not_passed_over(t *testing.T) {
	t.Parallel()
	const (
		kiro, open, waits  = ".kiro/specs/a/tasks.md", "openspec/changes/a/tasks.md", reprise.Waiting
		agentos, conductor = ".agent-os/specs/a/tasks.md", "conductor/tracks/a/plan.md"
		plan, files, goes  = "docs/plans/a.md", "task_plan.md", reprise.Complete
	)
	for _, c := range []struct {
		family, name, tasks, more string
		want                      reprise.State
	}{
		// The next number.
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "- 3. c\n- 4. d\n", waits},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "- ⏳ 3. c\n", waits},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "3. c\n4. d\n", waits},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "- TODO 3. c\n", waits},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "\n## More\n### 3. c\n- d\n", waits},
		{"kiro", kiro, "- [x] 1. a\n- ⏳ 2. b\n", "- [x] 3. c\n", waits},
		{"kiro", kiro, "- [x] Task 1: a\n- [x] Task 2: b\n", "- Task 3: c\n", waits},
		{"agentos", agentos, "- [x] 1. a\n  - [x] 1.1 b\n", "2. c\n   2.1 d\n", waits},
		{"agentos", agentos, "- [x] 1. a\n  - [x] 1.1 b\n", "- ☐ 2. c\n", waits},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "- 3 retries\n- 2.5 MB\n", goes},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "\n## Notes\n1. c\n2. d\n3. e\n", goes},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "  1. c\n  2. d\n  3. e\n", goes},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "- ✅ 3. c\n- 4. d (done)\n", goes},
		{"kiro", kiro, "- [x] 1. a\n- [x] 2. b\n", "- ✅ 16 tests pass\n", goes},
		// A mark that says that something is open.
		{"speckit", "specs/001-a/tasks.md", "# Tasks: a\n- [x] T001 a\n", "- ☐ write the docs\n", waits},
		{"speckit", "specs/001-a/tasks.md", "# Tasks: a\n- [x] T001 a\n", "- 🔲 tag\n", waits},
		{"speckit", "specs/001-a/tasks.md", "# Tasks: a\n- [x] T001 a\n", "- ⏳ **wait for it**\n", waits},
		{"openspec", open, "- [x] 1.1 a\n", "- Run tests (pending)\n", waits},
		{"openspec", open, "- [x] 1.1 a\n", "- TODO: deploy\n", waits},
		{"openspec", open, "- [x] 1.1 a\n", "- deploy — IN PROGRESS\n", waits},
		{"openspec", open, "- [x] 1.1 a\n", "- ⏳ In progress\n- ⬜ = open\n- ⏳ Pending: not begun\n- **Status:** 🚧 IN PROGRESS\n- `a.go` (new)\n- ✅ deploy\n", goes},
		{"openspec", open, "- [x] 1.1 a\n", "| ⬜ | Pending |\n- Open the file\n- Review: it is fine\n- ❌ Never do this\n", goes},
		// A section like others that have tasks.
		{"openspec", open, "## 1. a\n- [x] 1.1 b\n", "## 2. c\n- 2.1 d\n", waits},
		{"openspec", open, "## 1. a\n- [x] 1.1 b\n", "## 2. c\nto be written\n", waits},
		{"openspec", open, "## Phase 1: a\n- [x] 1.1 b\n", "## Phase 2: c\n- d\n## Phase 3: e\n- f\n", waits},
		{"openspec", open, "## 1. a\n- [x] 1.1 b\n", "## 2. c (skipped)\n## Notes\n- d\n", goes},
		{"openspec", open, "## 1. Why\na\n## 2. How\nb\n## 3. Work\n- [x] 3.1 c\n", "## 4. Risks\nd\n", goes},
		{"conductor", conductor, "## Phase 1: a\n- [x] Task: b\n- [x] Task: c\n", "## Phase 2: d\n- Task: e\n", waits},
		{"conductor", conductor, "## Phase 1: a\n- [x] Task: b\n- [x] c\n- [x] d\n", "## Notes\n- Task: as above\n", goes},
		{"superpowers", plan, "### Task 1: a\n- [x] b\n", "### Task 2: c\nWrite it.\n### Task 3: d (TODO)\n1. e\n", waits},
		{"superpowers", plan, "### Task 1: a\n- [x] b\n", "### Task 2: c ✅\nWrite it.\n", goes},
		{"superpowers", "docs/superpowers/plans/a.md", "## Setup\n- [x] b\n", "- [x] c\n", goes}, // whatever its headings are called
		{"planfiles", files, "# Task Plan\n## Phase 1: a ✅ COMPLETE\n- b\n## Phase 2: c 🚧 IN PROGRESS\n- [x] d\n", "## Phase 3: e ⏳\n- f\n", waits},
		{"planfiles", files, "# Task Plan\n## Phase 1: a ✅ COMPLETE\n- b\n", "## Phase 2: c 🚧 IN PROGRESS\n- [x] d\n", waits},
		{"planfiles", files, "# Task Plan\n## Phase 1: a ✅ COMPLETE\n- b\n", "## 🔄 Phase 2: c\n- [x] d\n", waits},
		{"planfiles", files, "# Task Plan\n## Phase 1: a ✅ COMPLETE\n- b\n", "## Phase 2: c\n- [x] d\n## 🔄 Way back\n- e\n## ✅ Phase 3: f\ng\n", goes},
		{"openspec", open, "## 1. Why\na\n## 2. Work\n- [x] 2.1 c\n", "- ~~2.2 d~~\n", goes},
	} {
		run := loadList(t, c.family, c.name, c.tasks+c.more)
		if run.State != c.want {
			t.Errorf("%s %q: %s, %s, %v", c.family, c.tasks+c.more, run.State, run.Reason, run.Findings)
		}
	}
}

func TestA_step_without_a_box_is_missed_below_its_own_heading(t *testing.T) {
	t.Parallel()
	const text = "# Export\n\n### Task 1: a\n- [x] **Step 1: b**\n- [x] **Step 2: c**\n\n### Task 2: d\n- [x] **Step 1: e**\n%s\n"
	for line, want := range map[string]reprise.State{"**Step 2: f**": reprise.Waiting, "**Step 1: e**": reprise.Complete} {
		run := loadList(t, "superpowers", "docs/plans/a.md", strings.ReplaceAll(text, "%s", line))
		if run.State != want {
			t.Errorf("%q: %s, %s", line, run.State, run.Reason)
		}
	}
}

// A heading with a box is a task, with the boxes below it as its pieces, unless its own text
// is not that of a task and boxes below it are the tasks.
func TestA_heading_with_a_box_is_read_and_recorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ family, name, text, next, step, want string }{
		{
			"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T001 a\n\n### [ ] T002 b\n\n- [ ] a piece\n\n### Notes\n\n- [ ] else\n", "T002", "T002",
			"# Tasks: a\n\n- [x] T001 a\n\n### [x] T002 b\n\n- [x] a piece\n\n### Notes\n\n- [ ] else\n",
		},
		{
			"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T001 a\n- \\[ \\] T002 b\n", "T002", "T002",
			"# Tasks: a\n\n- [x] T001 a\n- \\[x\\] T002 b\n",
		},
		{
			"conductor", "conductor/tracks/a/plan.md", "# Implementation Plan: a\n\n## [ ] Phase 1: b\n- [ ] Task: c\n", "1.task-c", "1.task-c",
			"# Implementation Plan: a\n\n## [ ] Phase 1: b\n- [x] Task: c\n",
		},
	} {
		i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == c.family })
		run := loadList(t, c.family, c.name, c.text)
		if len(run.Next) != 1 || run.Next[0].ID != c.next {
			t.Errorf("%q: %s, %+v", c.text, run.State, run.Next)
		}
		edits, err := checklist.New(checklist.Families()[i]).Record(fstest.MapFS{c.name: {Data: []byte(c.text)}}, run, reprise.Event{Kind: reprise.StepFinished, Step: c.step})
		if err != nil || len(edits) != 1 || string(edits[0].Content) != c.want {
			t.Errorf("%q: %v, %v", c.text, edits, err)
		}
	}
}

func TestA_status_in_a_usual_form_of_another_tool_is_read_and_recorded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ family, name, text, step, want string }{
		{"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [ ] T001 a\n- [/] T002 b\n", "T002", "# Tasks: a\n\n- [ ] T001 a\n- [x] T002 b\n"},
		{
			"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\nLegend: `[W]` = in progress, `[D]` = done\n\n- [ ] T001 a\n- [W] T002 b\n", "T002",
			"# Tasks: a\n\nLegend: `[W]` = in progress, `[D]` = done\n\n- [ ] T001 a\n- [D] T002 b\n",
		},
		{
			"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\nLegend: `[x]` = in progress, `[X]` = done\n\n- [ ] T001 a\n- [/] T002 b\n", "T002",
			"# Tasks: a\n\nLegend: `[x]` = in progress, `[X]` = done\n\n- [ ] T001 a\n- [X] T002 b\n",
		},
		{
			"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [ ] T001 a\n- [/] T002 Show ❌\n", "T002",
			"# Tasks: a\n\n- [ ] T001 a\n- [x] T002 Show ❌ (done)\n",
		},
		{
			"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [ ] T001 a\n- [/] T002 Add the value (pending)\n", "T002",
			"# Tasks: a\n\n- [ ] T001 a\n- [x] T002 Add the value (pending) (done)\n",
		},
		{
			"bmad", "sprint-status.yaml", "development_status:\n  1-1-a: backlog\n  1-2-b: {status: in-progress}\n", "1-2-b",
			"development_status:\n  1-1-a: backlog\n  1-2-b: {status: done}\n",
		},
	} {
		i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == c.family })
		run := loadList(t, c.family, c.name, c.text)
		if len(run.Next) != 1 || run.Next[0].ID != c.step || run.Step(c.step).Status != reprise.InProgress {
			t.Errorf("%q: %s, %+v", c.text, run.State, run.Next)
		}
		edits, err := checklist.New(checklist.Families()[i]).Record(fstest.MapFS{c.name: {Data: []byte(c.text)}}, run, reprise.Event{Kind: reprise.StepFinished, Step: c.step})
		if err != nil || len(edits) != 1 || string(edits[0].Content) != c.want {
			t.Errorf("%q: %v, %v", c.text, edits, err)
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
		"**T002 b**": "T002 b", "**T002** **b**": "T002 b", "T002 [P] (US1): b": "T002 b", "**T002 [P] [US1]** b": "T002 b", "T002 **b** in `src/**`": "T002 **b** in `src/**`",
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T000 a\n- [ ] "+line+"\n")
		if len(run.Next) != 1 || run.Next[0].ID+" "+run.Next[0].Title != want {
			t.Errorf("%q: %+v", line, run.Next)
		}
	}
}
