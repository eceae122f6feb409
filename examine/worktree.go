package examine

import (
	"fmt"

	"reprise"
)

// worktreeGone reports that the folder of a run's checkout is gone.
func worktreeGone(r *reprise.Run, o *World) []reprise.Finding {
	for i := range o.Git.Worktrees {
		w := &o.Git.Worktrees[i]
		mine := elsewhere(r) && worktree(o.Git, r.Worktree) == w
		if !elsewhere(r) {
			mine = r.Branch != "" && w.Branch == r.Branch
		}
		if !w.Gone || !mine {
			continue
		}
		f := reprise.Finding{
			Source:  reprise.Source{File: w.Path},
			Message: fmt.Sprintf("git lists the run's checkout in %s, but the folder is gone; what was not committed there is lost", name(w.Path)),
			Hint:    "restore the folder (`git worktree repair FOLDER`, with where it is now, if it was moved), or let git forget it with `git worktree prune` and create it again",
		}
		if w.Locked {
			f.Message = fmt.Sprintf("git lists the run's checkout in %s, locked, but the folder is not there", name(w.Path))
			if w.LockWhy != "" {
				f.Message += " (" + quote(w.LockWhy) + ")"
			}
			f.Hint = "it may be on a drive that is not mounted; restore it before you continue"
		}
		return []reprise.Finding{f}
	}
	return nil
}

// worktreeForeign reports that the folder a run works in is not the expected checkout. In
// a folder that is not a checkout, git would act on the project around it.
func worktreeForeign(r *reprise.Run, o *World) []reprise.Finding {
	if len(o.Git.Worktrees) == 0 || !elsewhere(r) {
		return nil
	}
	f := reprise.Finding{
		Source:  reprise.Source{File: r.Worktree},
		Message: fmt.Sprintf("%s is not a checkout of this repository: git does not list it", name(r.Worktree)),
		Hint:    fmt.Sprintf("see what it is; `git worktree repair %s` fixes one that was moved, otherwise create a new worktree next to it", reprise.Pasted(r.Worktree, "FOLDER")),
	}
	w := worktree(o.Git, r.Worktree)
	switch {
	case w == nil:
		return []reprise.Finding{f}
	case w.Gone, w.Detached, r.Branch == "", w.Branch == r.Branch:
		return nil
	}
	f.Severity = reprise.Warning
	f.Message = fmt.Sprintf("the checkout in %s is on branch %s, the run works on %s", name(r.Worktree), name(w.Branch), name(r.Branch))
	f.Hint = "switch it to the run's branch before you continue"
	return []reprise.Finding{f}
}
