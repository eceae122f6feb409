package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/journal"
)

// TestO1_O2_a_run_that_was_only_begun_is_begun_once kills an engine between the record by which a
// run begins and its files: whoever begins it again goes on with what is on record, and comes to
// the end.
func TestO1_O2_a_run_that_was_only_begun_is_begun_once(t *testing.T) {
	t.Parallel()
	for _, w := range workflows {
		if !sample.Turn(t, w.name) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.project(t)
			had, head := files(t, e.Dir), strings.TrimSpace(git(t, e.Dir, "rev-parse", "HEAD"))
			goal := w.goal
			if goal.ID == "" && goal.Path == "" {
				goal.ID = "killed"
			}
			ref, err := e.Begin(t.Context(), w.layout, w.kind, goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(".reprise/runs", journal.Name(ref), "journal")
			if _, err := os.Stat(filepath.Join(e.Dir, log)); err != nil {
				t.Skip("its files are all that begins it")
			}
			first, _, _ := bytes.Cut([]byte(get(t, e.Dir, log)), []byte("\n"))
			put(t, e.Dir, log, string(first)+"\n")
			for name := range files(t, e.Dir) {
				if _, was := had[name]; !was {
					if err := os.Remove(filepath.Join(e.Dir, name)); err != nil {
						t.Fatal(err)
					}
				}
			}
			git(t, e.Dir, "reset", "-q", head)
			if again, err := e.Begin(t.Context(), w.layout, w.kind, goal, engine.Choice{}); err != nil || again != ref {
				t.Fatalf("begun again it is %v: %v", again, err)
			}
			if n := count(events(t, e.Dir, ref), reprise.RunStarted, ""); n != 1 {
				t.Errorf("it was begun %d times", n)
			}
			e.Ask = answering
			if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete && !(w.waits && sum.State == reprise.Waiting) {
				t.Errorf("whoever resumes it comes to %+v: %v", sum, err)
			}
		})
	}
}
