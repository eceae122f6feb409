package reprise

import (
	"path"
	"slices"
)

// Kind is the kind of workflow of a run. Its word is part of the JSON contract.
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

// KindFacts holds what is true of every run of a kind. The zero value applies to a kind
// that is not in the table.
type KindFacts struct {
	Kind Kind
	// Startable: a person can start one from nothing. Goalless: without stating a goal.
	Startable, Goalless bool
	// Phased: it goes through phases in order; the choices of seed 001 apply.
	Phased bool
	// ByUnit: if its layout offers no choices, a person chooses among the next units.
	// Skips: these can also be skipped.
	ByUnit, Skips bool
	// AnswerFirst: while it waits for an answer, continuing without one starts nothing.
	AnswerFirst bool
	// Reopens: its files can undo a person's decision to end it.
	Reopens bool
	// Needs: its steps list everything they depend on.
	Needs bool
	// Kept: its state is a person's own file. Giving the run up resets what was begun and
	// archives nothing.
	Kept bool
	// Given: another tool creates its state, so it cannot be started from scratch.
	Given bool
	// Document: its state is a document that also defines what the work is measured by.
	Document bool
	// Stories: its steps are stories, each a run of its own. Hosts: a step may be one.
	Stories, Hosts bool
	// Tries: every try is a run of its own, superseded by a later one.
	Tries bool
	// Inert: the files of its steps are plans and never carry a status.
	Inert bool
	// Checkout: it has a branch and a checkout of its own.
	Checkout bool
	// Shared are the names of folders that hold a person's own files next to its state.
	Shared []string
	// Later are the stages that its files do not list at the beginning, in order. Grows: it
	// gains steps that only the work itself plans.
	Later []Stage
	Grows bool
}

// Stage is what a run reaches without a step in its files.
type Stage struct {
	Name   string // of the step, or a pattern
	Always bool   // it comes after every earlier step, whatever becomes of that
}

func (s Stage) is(step string) bool {
	ok, err := path.Match(s.Name, step)
	return err == nil && ok
}

// kinds lists all kinds, in the order of help texts.
var kinds = []KindFacts{
	{Kind: KindStory, Startable: true, Phased: true, Kept: true, Document: true},
	{Kind: KindSpecPipeline, Startable: true, Phased: true},
	{Kind: KindQALoop, Startable: true, Phased: true, Later: []Stage{{Name: "fix-*"}, {"review-*", true}}},
	{Kind: KindEpic, Startable: true, Phased: true, Stories: true, Hosts: true, Later: []Stage{{Name: "wave-*-gate"}, {"final-gate", true}, {Name: "merge"}}},
	{Kind: KindSpecLoop, Startable: true, Tries: true},
	{Kind: KindBuild, Startable: true, Tries: true, Checkout: true, Grows: true, Later: []Stage{{Name: "qa-fix"}, {"qa-review", true}}},
	{
		Kind: KindPlans, Startable: true, Goalless: true, ByUnit: true, Skips: true, AnswerFirst: true, Inert: true,
		Shared: []string{".planning"}, Grows: true, Later: []Stage{{Name: "transform"}, {Name: "roadmap"}, {Name: "plan"}, {Name: "verify"}},
	},
	{
		Kind: KindGraph, Startable: true, ByUnit: true, Reopens: true, Needs: true, Tries: true,
		Grows: true, Later: []Stage{
			{Name: "prd"}, {Name: "plan"}, {Name: "task-graph"}, {Name: "constitution"}, {"cleanup", true}, {"pr-prep", true}, {"consolidation", true},
		},
	},
	{Kind: KindTasks, Startable: true, ByUnit: true, Kept: true, Given: true},
	{Kind: KindWorkflow, Phased: true, Given: true, Hosts: true},
}

// Kinds returns the facts about all kinds, in the order of help texts.
func Kinds() []KindFacts { return slices.Clone(kinds) }

// Facts returns what is true of every run of the kind.
func (k Kind) Facts() KindFacts {
	i := slices.IndexFunc(kinds, func(f KindFacts) bool { return f.Kind == k })
	if i < 0 {
		return KindFacts{Kind: k}
	}
	return kinds[i]
}

// Comes reports whether work on a run of the kind can reach a step that its files do not
// list.
func (f KindFacts) Comes(step string) bool {
	return slices.ContainsFunc(f.Later, func(s Stage) bool { return s.is(step) })
}

// Follow are the stages that always come after a step, by name or pattern. After one that
// is no stage, all of them come.
func (f KindFacts) Follow(step string) (out []string) {
	at := slices.IndexFunc(f.Later, func(s Stage) bool { return s.is(step) })
	for _, s := range f.Later[at+1:] {
		if s.Always {
			out = append(out, s.Name)
		}
	}
	return out
}
