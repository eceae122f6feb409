package engine_test

import (
	"context"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// workflow is one kind of run with what it is started from.
type workflow struct {
	name   string
	layout string
	kind   reprise.Kind
	files  map[string]string
	goal   reprise.Goal
	// waits is set where the end of the work is a person's decision.
	waits bool
}

// project makes a project that holds what the workflow is started from, and an
// engine for it that answers what it is asked.
func (w workflow) project(t *testing.T) *engine.Engine {
	t.Helper()
	dir := repository(t)
	for name, text := range w.files {
		put(t, dir, name, text)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "state")
	e := newEngine(dir)
	e.Ask = answering
	return e
}

var workflows = []workflow{
	{name: "sdc", layout: "orchestrate", kind: reprise.KindStory, goal: reprise.Goal{ID: "4.2", Text: "Refunds"}},
	{name: "spec-pipeline", layout: "orchestrate", kind: reprise.KindSpecPipeline, goal: reprise.Goal{Text: "Login with a link"}},
	{name: "qa-loop", layout: "orchestrate", kind: reprise.KindQALoop, files: map[string]string{"docs/stories/2.2.story.md": storyInReview}, goal: reprise.Goal{Path: "docs/stories/2.2.story.md"}},
	{name: "epic", layout: "orchestrate", kind: reprise.KindEpic, files: map[string]string{
		"docs/stories/epics/EPIC-3-EXECUTION.yaml": epicPlan,
		"docs/stories/3.1.story.md":                strings.ReplaceAll(storyReady, "N.N", "3.1"),
		"docs/stories/3.2.story.md":                strings.ReplaceAll(storyReady, "N.N", "3.2"),
		"docs/stories/3.3.story.md":                strings.ReplaceAll(storyReady, "N.N", "3.3"),
	}, goal: reprise.Goal{Path: "docs/stories/epics/EPIC-3-EXECUTION.yaml"}},
	{name: "spec-loop", layout: "specloop", kind: reprise.KindSpecLoop, goal: reprise.Goal{Text: "Team invites"}},
	{name: "build", layout: "autoclaude", kind: reprise.KindBuild, goal: reprise.Goal{Text: "Health endpoint"}, waits: true},
	{name: "plans", layout: "longrun", kind: reprise.KindPlans, files: map[string]string{
		"specs/checkout/spec.md":  "# Checkout\n\nSell things.\n",
		"specs/checkout/tasks.md": "# Tasks\n\n- [ ] 1. Cart\n- [ ] 2. Payment\n",
	}, goal: reprise.Goal{Path: "specs/checkout"}},
	{name: "tasks", layout: "kiro", kind: reprise.KindTasks, files: map[string]string{
		taskList: "# Implementation Plan\n\n- [ ] 1. Cart\n- [ ] 2. Payment\n  - [ ] 2.1 Card\n",
	}, goal: reprise.Goal{Path: ".kiro/specs/cart"}},
	{name: "graph", layout: "eventrun", kind: reprise.KindGraph, goal: reprise.Goal{Text: "CSV export"}},
}

const taskList = ".kiro/specs/cart/tasks.md"

const storyReady = `# Story N.N: Something

## Status

Ready

## Acceptance Criteria

1. It works.

## Tasks

- [ ] Make it
`

const storyInReview = `# Story 2.2: Vouchers

## Status

Ready for Review

## Acceptance Criteria

1. A voucher is taken once.

## Tasks

- [x] Take it once
`

const epicPlan = `epic: EPIC-3
title: Payments
waves:
  - wave: 1
    stories: ["3.1", "3.2"]
  - wave: 2
    stories: ["3.3"]
`

// answering takes the first option, or says something.
func answering(_ context.Context, q reprise.Question) (string, bool) {
	if len(q.Options) > 0 {
		return q.Options[0], true
	}
	return "as you think best", true
}

func TestOR11_EV9_AC9_SL9_LR9_every_workflow_from_nothing_to_the_end(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, w := range workflows {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.project(t)
			dir := e.Dir
			ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if sum.State != reprise.Complete && !(w.waits && sum.State == reprise.Waiting) {
				t.Errorf("%s: %s, %s: %q\nfailed %+v\nleft %v questions %+v refused %v", ref.ID, sum.State, sum.Action, sum.Reasons, sum.Failed, sum.Left, sum.Questions, sum.Refused)
				for _, ev := range events(t, dir, ref) {
					t.Logf("%s %s%s %d %s %q", ev.Kind, ev.Step, ev.Question, ev.Attempt, ev.Outcome, ev.Text)
				}
			}
		})
	}
}
