package project_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"reprise"
	_ "reprise/convention"
	"reprise/project"
)

// Issue 16: `status` takes under a second in every project. Taking the engine's turns for
// each of two hundred stories nobody has run here took most of the time.
func TestA_quick_look_does_not_take_the_turns_of_runs_without_a_journal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, "specs", "001-parser", "tasks.md")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte("# Tasks\n\n- [x] T001 Read\n- [ ] T002 Write\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for full, want := range map[bool]int{false: 0, true: 1} {
		asked := 0
		j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Full: full, Foresee: func(context.Context, reprise.Ref) (project.Foreseen, error) {
			asked++
			return project.Foreseen{}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if asked != want || len(j.Runs) != 1 {
			t.Errorf("full %v: asked %d times about %d runs, want %d", full, asked, len(j.Runs), want)
		}
	}
}
