package upkeep_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
	"reprise/upkeep"
)

const inReview = `# Story 2.2: Vouchers

## Status

Ready for Review

## Acceptance Criteria

1. A voucher is taken once.

## Tasks

- [x] Take it once
`

// O2: a run that was only begun, and has no files yet, can be given up, and what the
// snapshot brings back is the run as its journal tells it.
func TestO2_a_run_that_was_only_begun_is_given_up_and_brought_back(t *testing.T) {
	t.Parallel()
	for _, ref := range []reprise.Ref{
		{Layout: "specloop", ID: "001-export", Path: "specs/001-export", Kind: reprise.KindSpecLoop},
		{Layout: "orchestrate", ID: "qa-loop-2.2", Path: "qa/2.2/loop-status.json", Kind: reprise.KindQALoop},
	} {
		t.Run(ref.Layout, func(t *testing.T) {
			t.Parallel()
			givenUpAndBroughtBack(t, ref)
		})
	}
}

func givenUpAndBroughtBack(t *testing.T, ref reprise.Ref) {
	dir := t.TempDir()
	story := filepath.Join(dir, "docs/stories/2.2.story.md")
	if err := errors.Join(os.MkdirAll(filepath.Dir(story), 0o755), os.WriteFile(story, []byte(inReview), 0o644)); err != nil {
		t.Fatal(err)
	}
	at, place := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), reprise.Place(ref)
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(store, convention.Find(ref.Layout), ref)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Record(t.Context(), reprise.Event{Kind: reprise.RunStarted, At: at, Run: &place, Text: "CSV export"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Release(); err != nil {
		t.Fatal(err)
	}
	// Whoever began it was killed before its files were there.
	if err := os.RemoveAll(filepath.Join(dir, ref.Path)); err != nil {
		t.Fatal(err)
	}
	tender := upkeep.Tender{Dir: dir, Now: at.Add(time.Hour)}
	listed := func() *reprise.Run {
		found, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: tender.Now}, Full: true})
		if err != nil {
			t.Fatal(err)
		}
		return found.Find(ref)
	}
	run := listed()
	if run == nil {
		t.Fatal("it is not listed")
	}
	plan, err := tender.PlanClean(t.Context(), run, reprise.Decision{State: run.State})
	if err != nil || plan.Archive != ref.Path {
		t.Fatalf("%+v %v", plan, err)
	}
	var done *upkeep.Cleaned
	if err := patient(func() (err error) { done, err = tender.Clean(t.Context(), plan); return err }); err != nil {
		t.Fatal(err)
	}
	if r := listed(); r != nil {
		t.Errorf("it is still listed: %v %s", r.State, r.Reason)
	}
	if err := patient(func() error { _, err := tender.Undo(t.Context(), done.Snapshot, upkeep.UndoChoice{}); return err }); err != nil {
		t.Fatal(err)
	}
	if r := listed(); r == nil || !r.State.Open() {
		t.Errorf("it is not brought back: %+v", r)
	}
}
