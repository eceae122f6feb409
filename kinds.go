package reprise

import (
	"path"
	"slices"
)

// Kind is the sort of workflow a run is. Its word is part of the JSON contract.
type Kind string

// The kinds of runs.
const (
	KindPlans        Kind = "plans"         // longrun: plans executed one after the other
	KindBuild        Kind = "build"         // autoclaude: one spec from planning to merge
	KindGraph        Kind = "graph"         // eventrun: a graph of tasks
	KindSpecLoop     Kind = "spec-loop"     // specloop: a specification refined in a loop
	KindStory        Kind = "sdc"           // orchestrate: the development cycle of one story
	KindEpic         Kind = "epic"          // orchestrate: waves of stories
	KindQALoop       Kind = "qa-loop"       // orchestrate: review and fix until approved
	KindWorkflow     Kind = "workflow"      // orchestrate: a named workflow with steps or phases
	KindTasks        Kind = "tasks"         // checklist: a list of tasks with check boxes
	KindSpecPipeline Kind = "spec-pipeline" // orchestrate: gather, assess, research, write, critique
)

// KindFacts are what holds for every run of a kind. The zero value holds for a kind that
// is not in the table.
type KindFacts struct {
	Kind Kind
	// Startable: a person can start one from nothing. Goalless: without saying what for.
	Startable, Goalless bool
	// Phased: it goes through phases one after the other; the choices of seed 001 apply.
	Phased bool
	// ByUnit: where its layout offers no choices, a person chooses among what comes next.
	// Skips: that can be left out, too.
	ByUnit, Skips bool
	// AnswerFirst: while it waits for an answer, continuing without one starts nothing.
	AnswerFirst bool
	// Reopens: its files take it back that a person ended it.
	Reopens bool
	// Needs: its steps name everything that they need.
	Needs bool
	// Kept: its state is a person's own file. Giving the run up resets what is begun and
	// archives nothing.
	Kept bool
	// Given: another tool makes its state, so it cannot be started from scratch.
	Given bool
	// Document: its state is a document in which stands what the work is measured by.
	Document bool
	// Stories: its steps are stories, each of them a run of its own.
	Stories bool
	// Tries: every try is a run of its own, so that a later one supersedes it.
	Tries bool
	// Inert: the files of its steps are plans, which never carry a status.
	Inert bool
	// Checkout: it has a branch and a checkout of its own.
	Checkout bool
	// Shared are the names of folders that hold a person's own files beside its state.
	Shared []string
	// Later are patterns of the steps that its files do not name when it begins. Grows:
	// it gets further steps, which only the work itself plans.
	Later []string
	Grows bool
}

// kinds are all kinds, in the order of help texts.
var kinds = []KindFacts{
	{Kind: KindStory, Startable: true, Phased: true, Kept: true, Document: true},
	{Kind: KindSpecPipeline, Startable: true, Phased: true},
	{Kind: KindQALoop, Startable: true, Phased: true, Later: []string{"review-*", "fix-*"}},
	{Kind: KindEpic, Startable: true, Phased: true, Stories: true, Later: []string{"wave-*-gate", "final-gate", "merge"}},
	{Kind: KindSpecLoop, Startable: true, Tries: true},
	{Kind: KindBuild, Startable: true, Tries: true, Checkout: true, Grows: true, Later: []string{"qa-review", "qa-fix"}},
	{
		Kind: KindPlans, Startable: true, Goalless: true, ByUnit: true, Skips: true, AnswerFirst: true, Inert: true,
		Shared: []string{".planning"}, Grows: true, Later: []string{"transform", "roadmap", "plan", "verify"},
	},
	{
		Kind: KindGraph, Startable: true, ByUnit: true, Reopens: true, Needs: true, Tries: true,
		Grows: true, Later: []string{"prd", "plan", "task-graph", "constitution", "cleanup", "pr-prep", "consolidation"},
	},
	{Kind: KindTasks, Startable: true, ByUnit: true, Kept: true, Given: true},
	{Kind: KindWorkflow, Phased: true},
}

// Kinds lists the facts about all kinds, in the order of help texts.
func Kinds() []KindFacts { return slices.Clone(kinds) }

// Facts gives what holds for every run of the kind.
func (k Kind) Facts() KindFacts {
	i := slices.IndexFunc(kinds, func(f KindFacts) bool { return f.Kind == k })
	if i < 0 {
		return KindFacts{Kind: k}
	}
	return kinds[i]
}

// Comes reports whether the work on a run of the kind can come to a step that its files
// do not name.
func (f KindFacts) Comes(step string) bool {
	return slices.ContainsFunc(f.Later, func(pattern string) bool {
		ok, err := path.Match(pattern, step)
		return err == nil && ok
	})
}
