package upkeep_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise/internal/gitx/gittest"
	"reprise/project"
	"reprise/upkeep"
)

// What git has of a damaged file comes back as it was. What the convention could rebuild
// from its other files knows less.
func TestRepair_takes_what_git_has_before_it_rebuilds(t *testing.T) {
	t.Parallel()
	for example, name := range map[string]string{
		"longrun":     "specs/checkout/.long-run/plans/02-CHECKPOINT.json",
		"eventrun":    ".agent-memory/runs/20260212-0915-csv-export-k3f9/task-graph.json",
		"orchestrate": ".aiox/epic-EPIC-2-state.yaml",
		"gsd":         ".planning/STATE.md",
	} {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			base := gittest.Folder(t)
			dir := filepath.Join(base, "project")
			err := errors.Join(os.CopyFS(dir, os.DirFS(filepath.Join("..", "examples", example))), os.Mkdir(filepath.Join(base, "home"), 0o755))
			if err != nil {
				t.Fatal(err)
			}
			environ := gittest.Environ(filepath.Join(base, "home"))
			for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
				gittest.Run(t, dir, environ, args...)
			}
			file := filepath.Join(dir, filepath.FromSlash(name))
			good, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, make([]byte, len(good)), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			found, err := project.Read(t.Context(), dir, project.Options{Now: time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			tender := upkeep.Tender{Dir: dir, Now: time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)}
			plan, err := tender.PlanRepair(t.Context(), found.Runs)
			if err == nil {
				_, err = tender.Repair(t.Context(), plan)
			}
			if err != nil {
				t.Fatal(err)
			}
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, good) {
				t.Errorf("%v\n%s", err, now)
			}
		})
	}
}
