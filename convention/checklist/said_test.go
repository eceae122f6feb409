package checklist_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
)

func TestNothing_is_started_after_an_open_task_for_a_person_even_if_something_was(t *testing.T) {
	t.Parallel()
	const text = "# Implementation Plan: a\n\n## Phase 1: b\n- [x] Task: c\n- [ ] Task: Conductor - User Manual Verification 'Phase 1'\n\n## Phase 2: d\n- [x] Task: e\n- [MARK] Task: f\n"
	for _, mark := range []string{" ", "~"} {
		run := loadList(t, "conductor", "conductor/tracks/a/plan.md", strings.ReplaceAll(text, "MARK", mark))
		if len(run.Next) != 0 || len(run.Questions) != 1 || !strings.HasPrefix(run.Questions[0].ID, "1.") {
			t.Errorf("%q: %s, %s, %+v", mark, run.State, run.Reason, run.Next)
		}
	}
}

func TestA_task_that_needs_one_other_may_say_so_without_a_list(t *testing.T) {
	t.Parallel()
	for needs, want := range map[string]string{`"f-2"`: "f-2", `["f-2"]`: "f-2", `""`: "f-1", `null`: "f-1", `{"f-2": true}`: ""} {
		run := loadList(t, "features", "feature_list.json", `{"features": [
			{"id": "f-1", "title": "a", "status": "pending", "dependencies": `+needs+`}, {"id": "f-2", "title": "b", "status": "pending"}]}`)
		if want == "" && run.Worst() == reprise.Blocking {
			continue
		}
		if len(run.Next) == 0 || run.Next[0].ID != want || run.Worst() == reprise.Blocking {
			t.Errorf("%s: %s, %+v, %v", needs, run.Reason, run.Next, run.Findings)
		}
	}
}

// A list is recorded in two versions, on disk and in the commit: what an agent wrote of its
// task in one is written in the other.
func TestA_task_is_recorded_by_the_word_that_its_run_was_read_with(t *testing.T) {
	t.Parallel()
	const name, committed = "feature_list.json", `{"features": [{"id": "f-1", "title": "a", "status": "pending"}]}`
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "features" })
	for _, word := range []string{"completed", "passing", "done", "pending"} {
		now := strings.ReplaceAll(committed, "pending", word)
		want := strings.ReplaceAll(now, "pending", "done")
		run := loadList(t, "features", name, now)
		edits, err := checklist.New(checklist.Families()[i]).Record(fstest.MapFS{name: {Data: []byte(committed)}}, run, reprise.Event{Kind: reprise.StepFinished, Step: "f-1"})
		if err != nil || len(edits) != 1 || string(edits[0].Content) != want {
			t.Errorf("%s: %v, %v", word, edits, err)
		}
	}
}

func TestTasks_that_nobody_approved_are_not_begun(t *testing.T) {
	t.Parallel()
	const name = ".kiro/specs/a/tasks.md"
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "kiro" })
	layout := checklist.New(checklist.Families()[i])
	for _, c := range []struct {
		list, spec string
		want       reprise.Severity
	}{
		{"- [ ] 1. a\n- [ ] 2. b\n", `{"approvals": {"tasks": {"generated": true, "approved": false}}}`, reprise.Blocking},
		{"- [x] 1. a\n- [ ] 2. b\n", `{"approvals": {"tasks": {"generated": true, "approved": false}}}`, reprise.Info},
		{"- [ ] 1. a\n- [ ] 2. b\n", `{"approvals": {"tasks": {"generated": true, "approved": true}}}`, 0},
		{"- [ ] 1. a\n- [ ] 2. b\n", `{"feature_name": "a"}`, 0},
	} {
		tree := fstest.MapFS{name: {Data: []byte("# Implementation Plan\n\n" + c.list)}, ".kiro/specs/a/spec.json": {Data: []byte(c.spec)}}
		run, err := reprise.Load(layout, tree, reprise.Ref{Layout: "kiro", Kind: reprise.KindTasks, ID: "a", Path: name})
		if err != nil || len(run.Next) == 0 || len(run.Findings) > 0 && run.Worst() != c.want || (len(run.Findings) > 0) != (c.want != 0 || c.spec == "") {
			t.Errorf("%q %s: %v, %v", c.list, c.spec, run.Findings, err)
		}
	}
}

func TestThe_status_line_of_a_phase_in_Chinese_is_read_and_recorded(t *testing.T) {
	t.Parallel()
	text := func(box, one, two string) string {
		return "# 任务计划：导出\n\n## 当前阶段\n阶段 2\n\n### 阶段 1：模型\n- [x] 表\n- **状态：** " + one + "\n\n### 阶段 2：导出\n- [" + box + "] 文件\n- **状态：** " + two + "\n"
	}
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "planfiles" })
	for _, c := range [][4]string{{"complete", "in_progress", "complete", "complete"}, {"已完成", "进行中", "已完成", "已完成"}} {
		was := text(" ", c[0], c[1])
		run := loadList(t, "planfiles", "task_plan.md", was)
		if len(run.Next) != 1 || run.Next[0].ID != "2.文件" || len(run.Findings) > 0 {
			t.Errorf("%s: %+v, %v", c, run.Next, run.Findings)
		}
		edits, err := checklist.New(checklist.Families()[i]).Record(fstest.MapFS{"task_plan.md": {Data: []byte(was)}}, run, reprise.Event{Kind: reprise.StepFinished, Step: "2.文件"})
		if err != nil || len(edits) != 1 || string(edits[0].Content) != text("x", c[2], c[3]) {
			t.Errorf("%s: %v, %v", c, edits, err)
		}
	}
}

func TestLists_that_are_copied_or_tested_with_are_no_work(t *testing.T) {
	t.Parallel()
	list := &fstest.MapFile{Data: []byte("# Tasks: a\n\n- [ ] T001 a\n")}
	tree := fstest.MapFS{}
	for _, dir := range []string{"", "app/", ".specify/templates/", "templates/next/", "tests/fixtures/a/", "src/testdata/", "src/__fixtures__/"} {
		tree[dir+"specs/templates/tasks.md"] = list
	}
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "speckit" })
	refs, err := checklist.New(checklist.Families()[i]).Find(tree)
	var got []string
	for _, ref := range refs {
		got = append(got, ref.Path)
	}
	slices.Sort(got)
	if want := []string{"app/specs/templates/tasks.md", "specs/templates/tasks.md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}
