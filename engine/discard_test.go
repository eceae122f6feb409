package engine_test

import (
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/upkeep"
)

// AC9 X7: the snapshot that is named after a discard is the one before it, and brings
// plan, branch and checkout of the first build back.
func TestAC9_X7_a_discard_is_taken_back_by_the_snapshot_it_names(t *testing.T) {
	t.Parallel()
	var w workflow
	for _, one := range workflows {
		if one.name == "build" {
			w = one
		}
	}
	e := w.project(t)
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	branch := "auto-claude/" + ref.ID
	first := git(t, e.Dir, "rev-parse", branch)
	sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "discard"})
	if err != nil {
		t.Fatal(err)
	}
	second := git(t, e.Dir, "rev-parse", branch)
	if second == first {
		t.Fatal("nothing was built again")
	}
	tender := upkeep.Tender{Dir: e.Dir, Now: time.Now()}
	list, err := tender.Snapshots()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == sum.Snapshot && !strings.HasPrefix(s.Note, "before discarding") {
			t.Errorf("the summary names %s, %q", s.ID, s.Note)
		}
	}
	if _, err := tender.Undo(t.Context(), sum.Snapshot, upkeep.UndoChoice{}); err != nil {
		t.Fatal(err)
	}
	if now := git(t, e.Dir, "rev-parse", branch); now != first {
		t.Errorf("the branch is at %s, want %s", now, first)
	}
	if kept := git(t, e.Dir, "for-each-ref", "--contains", strings.TrimSpace(second)); kept == "" {
		t.Error("the second build is lost")
	}
	sum, err = e.Resume(t.Context(), ref, engine.Choice{Option: "merge"})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("merge: %+v, %v", sum, err)
	}
	if out := git(t, e.Dir, "branch", "--contains", strings.TrimSpace(first)); !strings.Contains(out, "main") {
		t.Errorf("what was merged is not the first build: %s", out)
	}
}
