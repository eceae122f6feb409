package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/project"
)

// Wherever the work is cut off, check calls a list complete only if the list itself is, and
// a resume makes it so: an end that is in the journal alone would be done again by whoever
// reads the list. Issue 16.
func TestA_list_is_complete_only_once_its_file_says_so(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const list = "specs/001-a/tasks.md"
	behind := 0
	work := func(dir string, f fault, ops *int) {
		e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"coder": made})
		e.Disk = f.disk(ops)
		j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: e.Now()}, Full: true})
		if err != nil || len(j.Runs) != 1 {
			t.Fatal(j, err)
		}
		r := j.Runs[0]
		if r.Behind {
			behind++
		}
		switch {
		case r.Behind && behind%2 == 0: // as for one that waits for a person
			if err := e.BringUp(t.Context(), r.Ref); err != nil {
				t.Fatal(err)
			}
		case j.Decisions[r].Action == reprise.Start:
			_, _ = e.Resume(t.Context(), r.Ref, engine.Choice{}) // that the disk fails is what is tried
		}
	}
	fresh := func() string {
		dir := t.TempDir()
		put(t, dir, list, "# Tasks: A\n\n- [x] T001 One\n- [ ] T002 Two\n")
		return dir
	}
	ops := 0
	work(fresh(), fault{}, &ops)
	if ops < 20 {
		t.Fatalf("%d operations", ops)
	}
	defer func() {
		if behind < 2 {
			t.Errorf("its file was behind %d times", behind)
		}
	}()
	for n := ops / 2; n < ops; n++ { // where the end of the step is recorded
		dir, at := fresh(), 0
		work(dir, fault{n, syscall.EIO, true}, &at)
		for range 3 {
			at = 0
			work(dir, fault{}, &at)
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(list)))
		if err != nil || strings.Contains(string(text), "[ ]") {
			t.Errorf("cut off at operation %d of %d: %s%v", n, ops, text, err)
		}
	}
}
