// Package convention is the table of the on-disk conventions we know: how their
// files are read and written, and how the work they describe is done. A new one is
// a folder beside the others and a line in this table.
package convention

import (
	"io/fs"
	"slices"
	"sync"

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
	// Appends tells that its files only ever add to what they tell: an end that is
	// missing there was lost; the step was not opened again.
	Appends bool
	// Described tells that the project itself says where its state lies.
	Described bool

	// Passing are the names of files that are taken away again in the course of the work:
	// that one of them is missing tells nothing.
	Passing []string

	// Logs are patterns for the names of files that several runs add to at the end, and that
	// nobody changes otherwise: where two did so apart from each other, both entries belong there.
	Logs []string

	// The rest is nil where a convention has nothing to say.

	// Rank sorts its runs in place, the one to resume first, where that takes looking at
	// all of them together.
	Rank func(runs []*reprise.Run, o reprise.Observed)
	// Aim puts into a run what its place in git's history tells of where it continues.
	// Who looks and who works call it, so that they agree.
	Aim func(fsys fs.FS, r *reprise.Run, past []reprise.Version)
	// Open gives the steps that are open, as they stand in the files, where the run is a
	// list, in which anyone can tick a box and remove a line.
	Open func(fsys fs.FS, r *reprise.Run) []reprise.Listed
	// Left gives what an attempt wrote in the entry of its own step, which Open gave before it,
	// that says that the step is not finished; "" if nothing.
	Left func(fsys fs.FS, r *reprise.Run, was reprise.Listed) string
	// PutAway gives the place of a run that was moved to an archive, where its work is over.
	PutAway func(fsys fs.FS, ref reprise.Ref) (reprise.Ref, bool)
	// Reopens gives the steps that the end of a step opens again: another round of a loop.
	Reopens func(step string) []string
	// Lift names the files that hold a run until a person says to continue, those of a limit
	// only if its Until is zero. They are
	// archived when a person does.
	Lift func(fsys fs.FS, r *reprise.Run) []string
	// Leave gives what is recorded when the engine leaves a run that is not over, and why:
	// its files would say otherwise that an agent is at work.
	Leave func(r *reprise.Run, why string) []reprise.Event
}

// All returns the known conventions, in the order in which ties between their runs
// are broken.
func All() []Entry { return slices.Clone(table()) }

// table is made once: it is looked into for every run.
var table = sync.OnceValue(func() []Entry {
	type books = map[reprise.Kind]reprise.Playbook
	all := []Entry{
		{
			Layout: longrun.New(), Marks: []string{".long-run", ".planning", "agent-os"},
			Playbooks: books{reprise.KindPlans: longrun.NewPlaybook()}, Leave: longrun.Leave,
			Passing: []string{"HANDOFF.json", ".continue-here.md", "continue-here.md"},
		},
		{
			Layout: orchestrate.New(), Marks: []string{".aios", ".aiox", ".nexos", "docs", "stories", "epics", "qa", "plan"},
			Playbooks: orchestrate.Playbooks(), Rank: orchestrate.New().Rank, Logs: []string{orchestrate.LogPrefix + "*.md"},
		},
		{
			Layout: eventrun.New(), Marks: []string{".agent-memory"},
			Playbooks: books{reprise.KindGraph: eventrun.NewPlaybook()}, Appends: true,
		},
		{
			Layout: autoclaude.New(), Marks: []string{".auto-claude", "auto-claude", ".worktrees"},
			Playbooks: books{reprise.KindBuild: autoclaude.NewPlaybook()}, Lift: autoclaude.Lift,
			Passing: []string{"HUMAN_INPUT.md", "QA_FIX_REQUEST.md"},
		},
		{
			Layout: specloop.New(), Marks: []string{"specs", ".workflow"},
			Playbooks: books{reprise.KindSpecLoop: specloop.NewPlaybook()}, Reopens: specloop.Reopens,
		},
	}
	for _, f := range checklist.Families() {
		all = append(all, Entry{
			Layout: checklist.New(f), Marks: f.Marks, Playbooks: books{reprise.KindTasks: checklist.NewPlaybook(f)},
			Rank: checklist.Rank, Aim: checklist.New(f).Aim, Open: checklist.Open, Left: checklist.Left, PutAway: checklist.New(f).PutAway,
		})
	}
	return append(all, Entry{
		Layout: checklist.Own{}, Described: true, Playbooks: books{reprise.KindTasks: checklist.OwnPlaybook()},
		Rank: checklist.Rank, Aim: checklist.Own{}.Aim, Open: checklist.Open, Left: checklist.Left,
	})
})

// Of returns the convention of a name; its Layout is nil if there is none.
func Of(name string) Entry {
	i := slices.IndexFunc(table(), func(e Entry) bool { return e.Name() == name })
	if i < 0 {
		return Entry{}
	}
	return table()[i]
}

// Find returns the layout of a name, nil if there is none.
func Find(name string) reprise.Layout { return Of(name).Layout }

// Names returns the names of the known conventions.
func Names() []string {
	var names []string
	for _, e := range table() {
		names = append(names, e.Name())
	}
	return names
}

// Marks returns the marks of all known conventions.
func Marks() []string {
	var marks []string
	for _, e := range table() {
		marks = append(marks, e.Marks...)
	}
	return marks
}

// Passing reports whether a file of this name is taken away again in the course of the
// work.
func Passing(name string) bool {
	return slices.ContainsFunc(table(), func(e Entry) bool { return slices.Contains(e.Passing, name) })
}

// Playbook finds how runs of a kind are worked on. The error is an *UnknownKindError.
func Playbook(name string, kind reprise.Kind) (reprise.Playbook, error) {
	if book := Of(name).Playbooks[kind]; book != nil {
		return book, nil
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
