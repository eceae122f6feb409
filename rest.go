package reprise

import (
	"slices"
	"strings"
)

// rests reports whether a list of tasks is open and nothing shows that work on it was cut
// off: it waits for whoever goes on with it. What shows that is in its own files and in our
// journal of it, or was left in the folder where it was the last to be worked on. Without
// git's word that nothing was left there it is unknown, and so not at rest.
func (r *Run) rests(o Observed) bool {
	if r.Kind != KindTasks || !r.State.Begun() || strings.HasPrefix(r.Path, "../") || r.Worktree != "" {
		return false
	}
	if r.CutShort(o) {
		return false
	}
	if g := o.Git; g == nil || !g.Listed || g.ChangedMore > 0 || g.Operation != "" || g.IndexLock != nil {
		return false
	}
	if o.changed(r) || o.unknown(r) != nil {
		return false
	}
	return !o.latest(r) || !slices.ContainsFunc(o.FolderOn(r), func(s Session) bool { return s.Busy() && s.Owner.Life != Alive })
}

// CutShort reports whether what its own files say, or our journal of it, shows that work on a run
// was cut off.
func (r *Run) CutShort(o Observed) bool {
	return r.Owner != nil || r.CutOff() || r.Dropped || r.Behind || r.Until.After(o.Now) || len(r.Owed)+len(r.Asks)+len(r.Failures) > 0 ||
		slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Status == InProgress || s.Held != "" })
}

// changed reports whether what no commit has may be of a run's work: its own file, or a file of
// no run that was written since the run was last active, by whoever worked here last.
func (o Observed) changed(r *Run) bool {
	of := func(c Change, r *Run) bool { return c.Worktree == "" && Within(r.Path, c.Path) }
	if slices.ContainsFunc(o.Git.Changed, func(c Change) bool { return of(c, r) }) {
		return true
	}
	return o.latest(r) && slices.ContainsFunc(o.Git.Changed, func(c Change) bool {
		return c.Worktree == "" && (c.At.IsZero() || c.At.After(o.Git.LastActivity(r))) &&
			!slices.ContainsFunc(o.Peers, func(p *Run) bool { return p != nil && of(c, p) })
	})
}

// latest reports whether no other open run of the project is known to have been active later.
func (o Observed) latest(r *Run) bool {
	at := o.Git.LastActivity(r)
	return !slices.ContainsFunc(o.Peers, func(p *Run) bool { return p != nil && p.State.Begun() && o.Git.LastActivity(p).After(at) })
}
