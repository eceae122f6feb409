package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"reprise"
	"reprise/engine"
)

// Plans of a person's own are not moved away to start afresh.
func TestLR6_planning_is_not_started_afresh(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, ".planning/PROJECT.md", "# Mine\n\nMonths of thought.\n")
	put(t, dir, ".planning/ROADMAP.md", "# Roadmap\n\n## Phases\n\n- [ ] **Phase 1: Base** - things\n\n## Phase Details\n\n### Phase 1: Base\n\nPlans:\n- [ ] 01-01: one\n")
	put(t, dir, ".planning/STATE.md", "# State\n\n## Current Position\n\nPhase: 1 of 1 (Base)\nPlan: 1 of 1 in current phase\nStatus: In progress\n")
	put(t, dir, ".planning/phases/01-base/01-01-PLAN.md", "---\nphase: 01-base\nplan: 01\n---\n\n# one\n")
	ref := reprise.Ref{Layout: "longrun", ID: "planning", Path: ".planning", Kind: reprise.KindPlans}
	sum, err := newEngine(dir).Resume(t.Context(), ref, engine.Choice{Option: "fresh"})
	if err == nil {
		t.Errorf("it is not refused: %v", sum)
	}
	if _, err := os.Stat(filepath.Join(dir, ".planning/PROJECT.md")); err != nil {
		t.Error(err)
	}
}

// Every workflow that was stopped on the way can be started afresh.
func TestOR9_fresh_begins_again(t *testing.T) {
	t.Parallel()
	for _, w := range workflows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.project(t)
			ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			e.Tell = func(p engine.Progress) {
				if p.Kind == engine.Began {
					if n++; n == 3 {
						cancel()
					}
				}
			}
			if _, err := e.Resume(ctx, ref, engine.Choice{}); err != nil {
				t.Fatal(err)
			}
			e.Tell = nil
			sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "fresh"})
			if err != nil {
				t.Fatal(err)
			}
			if sum.State != reprise.Complete && !(w.waits && sum.State == reprise.Waiting) {
				t.Errorf("it leads to %v %v: %q failed %v", sum.State, sum.Action, sum.Reasons, sum.Failed)
			}
		})
	}
}

// What could not be begun again is not archived first.
func TestOR9_fresh_without_what_it_needs_changes_nothing(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	const at = "qa/2.2/loop-status.json"
	put(t, dir, at, `{"storyId": "2.2", "currentIteration": 1, "maxIterations": 5, "status": "in_progress", "history": [{"iteration": 1, "reviewedAt": "2026-02-12T10:20:00Z", "verdict": "REJECT", "issuesFound": 3}]}`)
	before := get(t, dir, at)
	ref := reprise.Ref{Layout: "orchestrate", ID: "qa-loop-2.2", Path: at, Kind: reprise.KindQALoop}
	sum, err := newEngine(dir).Resume(t.Context(), ref, engine.Choice{Option: "fresh"})
	if !errors.Is(err, reprise.ErrNotFromNothing) {
		t.Errorf("%v %v", sum, err)
	}
	if get(t, dir, at) != before {
		t.Error("the state was changed")
	}
}
