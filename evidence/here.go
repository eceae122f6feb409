package evidence

import (
	"cmp"
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/internal/gitx"
)

// astray finds the commits that hold what was accepted here and that are not in the
// history of where their run continues: it was set back, or another branch is checked
// out. One that was made again with its trailer is there, as rebase, amend and
// cherry-pick do it. For the others it checks whether their content is there all the same:
// work that was squashed, or is no longer committed, is not lost.
func astray(ctx context.Context, repo *gitx.Repo, root string, runs []*reprise.Run, git *reprise.Git) (out map[string]reprise.Astray, problem string) {
	reached, keys := map[string]*reprise.Commit{}, map[string][]*reprise.Commit{}
	var asked map[string][]string // by checkout
	for _, r := range runs {
		if r == nil || !r.State.Open() && r.State != reprise.Complete {
			continue
		}
		for i := range r.Steps {
			l := r.Steps[i].Accepted
			if l == nil || l.Commit == "" {
				continue
			}
			if asked == nil {
				asked = map[string][]string{}
				for i := range git.Commits {
					c := &git.Commits[i]
					reached[c.Hash] = c
					for _, value := range c.Steps {
						keys[value] = append(keys[value], c)
					}
				}
			}
			is := where(r, git, reached)
			if c := reached[l.Commit]; c != nil && is(c) || slices.ContainsFunc(keys[l.Key], is) || slices.ContainsFunc(keys[l.Key+reprise.TrailerAccepted], is) {
				continue
			}
			top := string(repo.Top())
			if r.Worktree != "" {
				top = filepath.Join(root, filepath.FromSlash(r.Worktree))
			}
			asked[top] = append(asked[top], l.Commit)
		}
	}
	for top, commits := range asked {
		slices.Sort(commits)
		commits = slices.Compact(commits)
		remains, err := repo.Remains(ctx, top, commits, lists(repo, runs))
		if err != nil {
			problem = "whether finished work is still there was not fully looked at: " + err.Error()
		}
		for _, hash := range commits {
			a := remains[hash]
			if c := reached[hash]; c != nil {
				a.Branch = c.Branch
			}
			if out == nil {
				out = map[string]reprise.Astray{}
			}
			out[hash] = a
		}
	}
	return out, problem
}

// removed finds the files that were there when something was last done for an open run and
// that other commits took away since, and which of the run's commits wrote files at all.
func removed(ctx context.Context, repo *gitx.Repo, runs []*reprise.Run, o *reprise.Observed) (problem string) {
	bases, wrote := map[string]bool{}, []string{}
	for _, r := range runs {
		if r != nil && r.State.Open() {
			if base := r.LastMade(o.Git); base != "" && base != o.Git.Head {
				bases[base] = true
			}
		}
	}
	var missed, err error
	o.Removed, missed = repo.Removed(ctx, slices.Sorted(maps.Keys(bases)))
	for _, r := range runs {
		if r == nil || !r.State.Open() || len(o.Removed[r.LastMade(o.Git)]) == 0 {
			continue
		}
		for i := range r.Steps {
			if l := r.Steps[i].Accepted; l != nil && l.Commit != "" && o.Git.Known[l.Commit] {
				wrote = append(wrote, l.Commit)
			}
		}
	}
	o.Wrote, err = repo.Wrote(ctx, wrote)
	if err = cmp.Or(missed, err); err != nil {
		problem = "whether files of finished work were deleted was not fully looked at: " + err.Error()
	}
	return problem
}

// keepHere tells the dropped commits of which something is left from those whose content is
// gone entirely: dropping these was deliberate, unless something still builds on them.
func keepHere(ctx context.Context, repo *gitx.Repo, runs []*reprise.Run, git *reprise.Git) error {
	if len(git.Dropped) == 0 {
		return nil
	}
	var hashes []string
	for i := range git.Dropped {
		hashes = append(hashes, git.Dropped[i].Hash)
	}
	remains, err := repo.Remains(ctx, string(repo.Top()), hashes, lists(repo, runs))
	if err != nil {
		return err
	}
	all := git.Dropped
	git.Dropped = nil
	for _, c := range all {
		switch a := remains[c.Hash]; {
		case a.Here+a.Other > 0:
			git.Dropped = append(git.Dropped, c)
		case a.Undone > 0:
			git.Undone = append(git.Undone, c)
		}
	}
	hashes = nil
	for i := range git.Undone {
		hashes = append(hashes, git.Undone[i].Hash)
	}
	wrote, err := repo.Wrote(ctx, hashes)
	for i := range git.Undone {
		for _, name := range wrote[git.Undone[i].Hash] {
			git.Undone[i].Files = append(git.Undone[i].Files, reprise.FileChange{Path: name})
		}
	}
	return err
}

// lists reports whether a file of the repository is the list of a run, which describes
// the work and is not part of it.
func lists(repo *gitx.Repo, runs []*reprise.Run) func(name string) bool {
	return func(name string) bool {
		return slices.ContainsFunc(runs, func(r *reprise.Run) bool {
			return r != nil && r.Kind == reprise.KindTasks && repo.Prefix()+r.Path == name
		})
	}
}

// where returns what reports whether a commit is in the history of where a run continues: in
// the checkout of its own if it has one, or else here. A run with a branch of its own continues
// there, wherever that is checked out; if that cannot be told, any commit that a branch has
// counts.
func where(r *reprise.Run, git *reprise.Git, reached map[string]*reprise.Commit) func(c *reprise.Commit) bool {
	if r.Worktree == "" || path.Clean(r.Worktree) == "." {
		return func(c *reprise.Commit) bool { return c.OnHead || r.Branch != "" }
	}
	in := func(c *reprise.Commit) bool { return slices.Contains(c.In, path.Clean(r.Worktree)) }
	if slices.ContainsFunc(git.Worktrees, func(w reprise.Worktree) bool { return reached[w.Head] != nil && in(reached[w.Head]) }) {
		return in
	}
	return func(*reprise.Commit) bool { return true }
}
