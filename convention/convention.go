// Package convention is the table of the on-disk conventions we know: how their
// files are read and written, and how the work they describe is done. A new one is
// a folder beside the others and a line in this table.
package convention

import (
	"reprise"
	"reprise/convention/autoclaude"
	"reprise/convention/checklist"
	"reprise/convention/eventrun"
	"reprise/convention/longrun"
	"reprise/convention/orchestrate"
	"reprise/convention/specloop"
)

// Entry is one known convention.
type Entry struct {
	reprise.Layout
	// Marks are the names of folders that may hold state of this convention.
	// They are looked into even where git ignores them.
	Marks []string
	// Playbooks say how its runs are worked on, by their kind.
	Playbooks map[reprise.Kind]reprise.Playbook
}

// All returns the known conventions, in the order in which ties between their runs
// are broken.
func All() []Entry {
	type books = map[reprise.Kind]reprise.Playbook
	all := []Entry{
		{longrun.New(), []string{".long-run", ".planning", "agent-os"}, books{reprise.KindPlans: longrun.NewPlaybook()}},
		{orchestrate.New(), []string{".aios", ".aiox", ".nexos", "docs", "stories", "epics", "qa", "plan"}, orchestrate.Playbooks()},
		{eventrun.New(), []string{".agent-memory"}, books{reprise.KindGraph: eventrun.NewPlaybook()}},
		{autoclaude.New(), []string{".auto-claude", "auto-claude", ".worktrees"}, books{reprise.KindBuild: autoclaude.NewPlaybook()}},
		{specloop.New(), []string{"specs", ".workflow"}, books{reprise.KindSpecLoop: specloop.NewPlaybook()}},
	}
	for _, f := range checklist.Families() {
		all = append(all, Entry{checklist.New(f), f.Marks, books{reprise.KindTasks: checklist.NewPlaybook(f)}})
	}
	return all
}

// Find returns the convention of a name, nil if there is none.
func Find(name string) reprise.Layout {
	for _, e := range All() {
		if e.Name() == name {
			return e.Layout
		}
	}
	return nil
}

// Names returns the names of the known conventions.
func Names() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name())
	}
	return names
}

// Marks returns the marks of all known conventions.
func Marks() []string {
	var marks []string
	for _, e := range All() {
		marks = append(marks, e.Marks...)
	}
	return marks
}

// Playbook finds how runs of a kind are worked on. The error is an *UnknownKindError.
func Playbook(name string, kind reprise.Kind) (reprise.Playbook, error) {
	for _, e := range All() {
		if book := e.Playbooks[kind]; e.Name() == name && book != nil {
			return book, nil
		}
	}
	return nil, &UnknownKindError{Layout: name, Kind: kind}
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
