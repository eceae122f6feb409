package checklist_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
)

// TestA_removed_task_is_put_back_where_it_stood: an agent takes the lines of a task out of
// the list; a reset that tells how it stood gives the same bytes again.
func TestA_removed_task_is_put_back_where_it_stood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ family, path, text string }{
		"speckit": {"speckit", "specs/001-a/tasks.md", "# Tasks: A\n\n## One\n\nWhat for.\n\n- [x] T001 First\n- [ ] T002 Second\n\n## Two\n\n- [ ] T003 Third\n- [ ] T004 Fourth\n"},
		"nested":  {"kiro", ".kiro/specs/a/tasks.md", "# Implementation Plan\n\n- [ ] 1. One\n  - [x] 1.1 First\n    - _Requirements: 1.1_\n  - [ ] 1.2 Second\n    - _Requirements: 1.1_\n- [ ] 2. Two\n  - _Requirements: 1.1_\n- [ ] 3. Three\n"},
		"crlf":    {"speckit", "specs/001-a/tasks.md", "# Tasks: A\r\n\r\n- [x] T001 First\r\n- [ ] T002 Second\r\n- [ ] T003 Third\r\n"},
	} {
		f := checklist.Families()[slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == c.family })]
		ref := reprise.Ref{Layout: f.Name, Kind: reprise.KindTasks, ID: "a", Path: c.path}
		layout := checklist.New(f)
		read := func(text string) (fstest.MapFS, *reprise.Run) {
			tree := fstest.MapFS{c.path: {Data: []byte(text)}}
			run, err := reprise.Load(layout, tree, ref)
			if err != nil {
				t.Fatal(err)
			}
			return tree, run
		}
		open := checklist.Open(read(c.text))
		if len(open) < 2 {
			t.Fatalf("%s: open are %+v", name, open)
		}
		for _, was := range open {
			without := strings.Replace(c.text, was.Text+"\n", "", 1)
			tree, run := read(without)
			if was.Text == "" || run.Step(was.ID) != nil {
				t.Fatalf("%s: %s is not removed by its lines %q", name, was.ID, was.Text)
			}
			edits, err := layout.Record(tree, run, reprise.Event{Kind: reprise.StepReset, Step: was.ID, Listed: &was})
			if err != nil || len(edits) != 1 {
				t.Fatalf("%s: %s put back: %d edits, %v", name, was.ID, len(edits), err)
			}
			if got := string(edits[0].Content); got != c.text {
				t.Errorf("%s: %s put back gives\n%s", name, was.ID, got)
			}
		}
	}
}

func TestA_task_that_was_made_another_line_is_put_back_in_its_place(t *testing.T) {
	t.Parallel()
	const name, head = ".kiro/specs/a/tasks.md", "# Implementation Plan\n\n- [x] 1. One\n"
	f := checklist.Families()[slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "kiro" })]
	was := reprise.Listed{ID: "2", Title: "Two", Text: "- [ ] 2. Two\n  with care", After: "- [ ] 1. One"}
	const back = "- [ ] 2. Two\n  with care\n"
	for now, want := range map[string]string{
		"- [ ] ~~2. Two~~\n  with care\n- [ ] 3. Three\n":                "- [ ] ~~2. Two~~ (pending)\n  with care\n- [ ] 3. Three\n",
		"> - [ ] 2. Two\n- [ ] 3. Three\n":                               back + "- [ ] 3. Three\n",
		"- 2. Two\n  with care\n":                                        back,
		"```\n- [ ] 2. Two\n```\n- [ ] 3. Three\n":                       back + "```\n- [ ] 2. Two\n```\n- [ ] 3. Three\n",
		"<!--\n- [ ] 2. Two\n-->\n":                                      back + "<!--\n- [ ] 2. Two\n-->\n",
		"  ```\n  - [ ] 2. Two\n  ```\n- [ ] 3. Three\n":                 "  ```\n  - [ ] 2. Two\n  ```\n" + back + "- [ ] 3. Three\n",
		"\n## Notes\n\n- [ ] 3. Three\n  - 2. Two is no longer needed\n": back + "\n## Notes\n\n- [ ] 3. Three\n  - 2. Two is no longer needed\n",
	} {
		run := loadList(t, "kiro", name, head+now)
		edits, err := checklist.New(f).Record(fstest.MapFS{name: {Data: []byte(head + now)}}, run, reprise.Event{Kind: reprise.StepReset, Step: "2", Listed: &was})
		if err != nil || len(edits) != 1 {
			t.Errorf("%q: %d edits, %v", now, len(edits), err)
		} else if got := string(edits[0].Content); got != head+want {
			t.Errorf("%q: put back gives %q", now, got)
		}
	}
}
