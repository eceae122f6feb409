// Package playbook is the table of the workflows: who does a unit of work, what
// they are told and given, what they must leave behind, and what follows from
// what they say. One folder below it for each layout, pure: they read an fs.FS and
// return data; the engine does it.
package playbook

import (
	"reprise"
	"reprise/playbook/autoclaude"
	"reprise/playbook/eventrun"
	"reprise/playbook/longrun"
	"reprise/playbook/orchestrate"
	"reprise/playbook/specloop"
)

// All lists the playbooks by the kind of run.
func All() []Entry {
	return []Entry{
		{"autoclaude", reprise.KindBuild, autoclaude.New()},
		{"eventrun", reprise.KindGraph, eventrun.New()},
		{"longrun", reprise.KindPlans, longrun.New()},
		{"specloop", reprise.KindSpecLoop, specloop.New()},
		{"orchestrate", reprise.KindStory, orchestrate.Story{}},
		{"orchestrate", reprise.KindSpecPipeline, orchestrate.Pipeline{}},
		{"orchestrate", reprise.KindQALoop, orchestrate.Loop{}},
		{"orchestrate", reprise.KindEpic, orchestrate.Epic{}},
		{"orchestrate", reprise.KindWorkflow, orchestrate.Workflow{}},
	}
}

// Entry is one line of the table.
type Entry struct {
	Layout string
	Kind   reprise.Kind
	reprise.Playbook
}

// For finds the playbook of a run. The error is an *UnknownKindError.
func For(layout string, kind reprise.Kind) (reprise.Playbook, error) {
	for _, e := range All() {
		if e.Layout == layout && e.Kind == kind {
			return e.Playbook, nil
		}
	}
	return nil, &UnknownKindError{Layout: layout, Kind: kind}
}

// UnknownKindError tells that no playbook is for runs of a kind.
type UnknownKindError struct {
	Layout string
	Kind   reprise.Kind
}

// Error implements error.
func (e *UnknownKindError) Error() string {
	return "run " + e.Layout + " " + string(e.Kind) + ": there is no workflow of this kind"
}
