package examine

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"reprise"
)

// checkout is where a run would continue.
type checkout struct {
	name     string // the folder, "" for the project's own
	branch   string
	detached bool
	gone     bool
}

// checkoutOf finds the checkout a run works in: the folder it names, else any checkout of
// its branch, else the project's own. ok is false if the named folder is not a checkout
// that git knows.
func checkoutOf(r *reprise.Run, g *reprise.Git) (c checkout, ok bool) {
	here := checkout{branch: g.Branch, detached: g.Detached}
	if elsewhere(r) {
		if w := worktree(g, r.Worktree); w != nil {
			return checkout{name: r.Worktree, branch: w.Branch, detached: w.Detached, gone: w.Gone}, true
		}
		return checkout{name: r.Worktree}, false
	}
	if r.Branch == "" || r.Branch == g.Branch {
		return here, true
	}
	for i := range g.Worktrees {
		if w := &g.Worktrees[i]; w.Branch == r.Branch {
			return checkout{name: w.Path, branch: w.Branch, gone: w.Gone}, true
		}
	}
	return here, true
}

func worktree(g *reprise.Git, folder string) *reprise.Worktree {
	for i := range g.Worktrees {
		if path.Clean(g.Worktrees[i].Path) == path.Clean(folder) {
			return &g.Worktrees[i]
		}
	}
	return nil
}

// wrongBranch reports that a run's branch is not checked out anywhere. worktreeForeign
// reports a run's own folder that is on another branch.
func wrongBranch(r *reprise.Run, o *World) []reprise.Finding {
	if o.Git.Bare || r.Branch == "" || elsewhere(r) {
		return nil
	}
	if r.Kind.Facts().Checkout && hasBranch(o.Git, r.Branch) {
		return branchHeld(r, o)
	}
	c, _ := checkoutOf(r, o.Git)
	if c.branch == r.Branch || c.detached {
		return nil
	}
	f := reprise.Finding{
		Message: fmt.Sprintf("the run works on branch %s, the checkout is on %s", name(r.Branch), name(c.branch)),
		Hint:    "switch to the run's branch, or give it a worktree of its own, before you continue",
	}
	if !hasBranch(o.Git, r.Branch) {
		f.Message = fmt.Sprintf("the run works on branch %s, which does not exist here; the checkout is on %s", name(r.Branch), name(c.branch))
		f.Hint = "fetch the branch if it exists elsewhere; if it was merged or never created, continue where its work is"
		if r.State == reprise.NotStarted {
			return nil // it is made when the run starts
		}
		// A run without its branch was merged, works in place, or has not got that far.
		// Continuing puts nothing at risk.
		f.Severity = reprise.Info
	}
	return []reprise.Finding{f}
}

// branchHeld reports that the branch of a run whose checkout is still to be made is checked out
// in another folder: git gives a branch to one checkout only. A branch that no folder has is
// taken up, or made, when the run goes on.
func branchHeld(r *reprise.Run, o *World) []reprise.Finding {
	dir, free := "", "switch --detach"
	if o.Git.Branch != r.Branch {
		i := slices.IndexFunc(o.Git.Worktrees, func(w reprise.Worktree) bool { return w.Branch == r.Branch && !w.Gone })
		if i < 0 || !r.State.Open() {
			return nil
		}
		dir = path.Clean(o.Git.Worktrees[i].Path)
	}
	for _, base := range []string{r.Base, "main", "master"} {
		if dir == "" && base != "" && base != r.Branch && hasBranch(o.Git, base) {
			free = "switch " + reprise.Pasted(base, "BRANCH")
			break
		}
	}
	f := reprise.Finding{
		Severity: reprise.Blocking,
		Message:  fmt.Sprintf("the run gets a checkout of its own on branch %s, and %s has that branch checked out", name(r.Branch), cmp.Or(dir, "the project itself")),
		Hint:     fmt.Sprintf("commit what is open there; `%s %s` frees the branch", gitAt(dir), free),
	}
	if i := slices.IndexFunc(o.Peers, func(p *reprise.Run) bool { return p != nil && p != r && elsewhere(p) && path.Clean(p.Worktree) == dir }); i >= 0 {
		f.Hint = fmt.Sprintf("it belongs to another run, which is to be finished first: `reprise check %s`", reprise.Pasted(o.Peers[i].Exact(), "RUN"))
	}
	return []reprise.Finding{f}
}

func hasBranch(g *reprise.Git, name string) bool {
	return slices.ContainsFunc(g.Branches, func(b reprise.Branch) bool { return b.Name == name })
}

func detachedHead(r *reprise.Run, o *World) []reprise.Finding {
	c, ok := checkoutOf(r, o.Git)
	if o.Git.Bare || !ok || !c.detached || c.gone {
		return nil
	}
	if !r.State.Open() {
		return adrift(r, o, c)
	}
	f := reprise.Finding{
		Message: "the checkout is on no branch, so commits made here are easily lost",
		Hint:    "switch to a branch first, or create one here: `git switch -c NAME`",
	}
	if c.name != "" {
		f.Message = fmt.Sprintf("the checkout in %s is on no branch, so commits made there are easily lost", name(c.name))
	}
	if r.Branch != "" {
		f.Message += fmt.Sprintf("; the run works on %s", name(r.Branch))
		f.Hint = "switch to the run's branch first"
	}
	return []reprise.Finding{f}
}

// adrift reports that what a finished run made here is on no branch: the next checkout
// leaves it behind.
func adrift(r *reprise.Run, o *World, c checkout) []reprise.Finding {
	made := func(s reprise.Step) bool { return s.Accepted != nil && s.Accepted.Commit != "" }
	if r.State != reprise.Complete || c.name != "" || !o.Git.Adrift || !slices.ContainsFunc(r.Steps, made) {
		return nil
	}
	return []reprise.Finding{{
		Message: fmt.Sprintf("the checkout is on no branch, and no branch has its commit %.12s, so the run's work is easily lost", o.Git.Head),
		Hint:    fmt.Sprintf("check out your branch and `git merge %.12s`, or `git switch -c NAME` creates a branch here", o.Git.Head),
	}}
}

// brokenBranch reports that a branch the run needs points at no commit.
func brokenBranch(r *reprise.Run, o *World) (out []reprise.Finding) {
	for _, branch := range o.Git.Broken {
		if branch != r.Branch && branch != o.Git.Branch {
			continue
		}
		out = append(out, reprise.Finding{
			Message: fmt.Sprintf("branch %s points at no commit: its ref is empty or full of zeros, as after a power cut", name(branch)),
			Hint:    fmt.Sprintf("`reprise repair %s` points it at the last commit on record", reprise.Pasted(r.ID, "RUN")),
		})
	}
	return out
}
