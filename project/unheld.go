package project

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/journal"
)

// What the run wrote and no commit holds is missing in every clone. The work of a step may
// stay uncommitted because nobody can tell whose it is; its end in the list then stays beside
// it. Whoever looks at the run is told, also when it is complete.

// Unheld is the finding about what accepted steps left and no commit holds. list says that
// the list in which the run is recorded has changes, too. The names that changed and gone
// report on are those of the project.
func Unheld(r *reprise.Run, h *journal.History, list bool, changed, gone func(name string) bool) (f reprise.Finding, names []string) {
	var steps []string
	for i := range r.Steps {
		s := h.Step(r.Steps[i].ID)
		if s.Accepted == nil && !r.Steps[i].Status.Closed() {
			continue // it was taken back
		}
		before := len(names)
		for _, name := range s.Unheld {
			if changed(name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > before {
			steps = append(steps, r.Steps[i].ID)
		}
	}
	if list && !slices.Contains(names, r.Path) {
		names = append(names, r.Path)
	}
	if len(names) == 0 {
		return f, nil
	}
	f = reprise.Finding{Code: reprise.CodeUncommitted, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: names[0]}, Hint: CommitHint("", r.ID, names, gone)}
	if len(steps) == 0 {
		f.Message = r.Path + ", in which the run is recorded, has changes that no commit holds"
		return f, names
	}
	f.Message = fmt.Sprintf("done, but not committed completely: %s; no commit holds %s", few(steps), few(names))
	return f, names
}

// CommitHint is how a person commits some files of a folder, "" for the current one, and nothing
// else. What is gone is offered back: that a loss becomes final is for a person to say.
func CommitHint(dir, subject string, names []string, gone func(name string) bool) string {
	git := "git"
	if dir != "" {
		git += " -C " + reprise.Pasted(dir, "DIR")
	}
	var there, lost []string
	for _, name := range names {
		pasted := reprise.Pasted(name, "")
		switch {
		case pasted == "":
		case gone(name):
			lost = append(lost, pasted)
		default:
			there = append(there, pasted)
		}
	}
	if n := len(there) + len(lost); n < len(names) || n == 0 || n > 40 {
		return "look at it and commit it yourself; `" + git + " status` shows it"
	}
	var ways []string
	if len(lost) > 0 {
		ways = append(ways, fmt.Sprintf("`%s checkout HEAD -- %s` brings back what is gone; if it is to be gone, commit that yourself", git, strings.Join(lost, " ")))
	}
	if len(there) > 0 {
		ways = append(ways, fmt.Sprintf("`%[1]s add -- %[2]s && %[1]s commit -m %[3]s -- %[2]s` commits it", git, strings.Join(there, " "), reprise.Pasted(subject, "MESSAGE")))
		if len(lost) > 0 {
			ways[1] = strings.Replace(ways[1], "commits it", "commits the rest", 1)
		}
	}
	return "look at it; " + strings.Join(ways, "; ")
}

// few names some of many.
func few(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// tellUnheld reports what accepted steps left and no commit holds. The list of a run that is
// not complete changes with every step.
func (v *View) tellUnheld(git *reprise.Git) {
	r := v.Run
	if r.Unheld = nil; git == nil {
		return
	}
	changed := func(name string) bool {
		return slices.ContainsFunc(git.Changed, func(c reprise.Change) bool { return c.Worktree == "" && !c.Untracked && c.Path == name })
	}
	worked := slices.ContainsFunc(r.Steps, func(s reprise.Step) bool { return v.History.Step(s.ID).Accepted != nil })
	list := worked && r.Kind == reprise.KindTasks && r.State == reprise.Complete && !r.Behind && changed(r.Path)
	gone := func(name string) bool {
		return slices.ContainsFunc(git.Changed, func(c reprise.Change) bool { return c.Worktree == "" && c.Deleted && c.Path == name })
	}
	f, names := Unheld(r, v.History, list, func(name string) bool { return changed(name) || isNew(git, name) }, gone)
	if r.Unheld = names; len(names) > 0 {
		r.Report(f)
	}
}
