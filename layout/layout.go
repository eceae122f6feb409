// Package layout is the table of the on-disk conventions we know. A new one is
// a folder beside the others and a line in this table.
package layout

import (
	"reprise"
	"reprise/layout/autoclaude"
	"reprise/layout/eventrun"
	"reprise/layout/longrun"
	"reprise/layout/orchestrate"
	"reprise/layout/specloop"
)

// Entry is one known layout.
type Entry struct {
	reprise.Layout
	// Marks are the names of folders that may hold state of this layout.
	// They are looked into even where git ignores them.
	Marks []string
}

// All returns the known layouts, in the order in which ties between their runs
// are broken.
func All() []Entry {
	return []Entry{
		{longrun.New(), []string{".long-run", ".planning", "agent-os"}},
		{orchestrate.New(), []string{".aios", ".aiox", ".nexos", "docs", "stories", "epics", "qa", "plan"}},
		{eventrun.New(), []string{".agent-memory"}},
		{autoclaude.New(), []string{".auto-claude", "auto-claude", ".worktrees"}},
		{specloop.New(), []string{"specs", ".workflow"}},
	}
}

// Find returns the layout of a name, nil if there is none.
func Find(name string) reprise.Layout {
	for _, e := range All() {
		if e.Name() == name {
			return e.Layout
		}
	}
	return nil
}

// Names returns the names of the known layouts.
func Names() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name())
	}
	return names
}

// Marks returns the marks of all known layouts.
func Marks() []string {
	var marks []string
	for _, e := range All() {
		marks = append(marks, e.Marks...)
	}
	return marks
}
