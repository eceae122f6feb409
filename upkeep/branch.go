package upkeep

import (
	"context"
	"fmt"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/worktree"
)

// branchMend points a branch that a power cut broke at a commit again.
type branchMend struct{ branch, commit string }

// planBranches offers to point the broken branches that a run needs, its own and the one
// that is checked out in the project, at the last commit on record. Where nothing names
// one, the plan says so.
func planBranches(ctx context.Context, store *durable.Store, git repository, r *reprise.Run, plan *RepairPlan) {
	repo, err := git()
	if err != nil {
		return // planFromGit tells why git cannot be asked
	}
	for _, branch := range repo.BrokenBranches() {
		planned := func(m RunMend) bool { return m.ref != nil && m.ref.branch == branch }
		if branch != worktree.Branch(r) && !repo.IsHead(branch) || slices.ContainsFunc(plan.Mends, planned) {
			continue
		}
		base := ""
		if account, err := journal.ReadAccount(store, journal.Name(r.Ref)); err == nil && branch == worktree.Branch(r) {
			if ready := journal.Fold(account.Entries).Worktree; ready != nil {
				base = ready.Commit
			}
		}
		what := fmt.Sprintf("branch %s points at no commit", branch)
		commit, from, ok := repo.LastOf(ctx, branch, base)
		if !ok {
			plan.Hopeless = append(plan.Hopeless, reprise.Finding{
				Code: reprise.CodeBrokenBranch, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: r.Path}, Message: what,
				Hint: "find its last commit with `git fsck --lost-found`, remove its file below .git/refs/heads, and recreate it with `git branch`",
			})
			continue
		}
		mend := reprise.Mend{What: what, From: fmt.Sprintf("%s: commit %.10s", from, commit)}
		plan.Mends = append(plan.Mends, RunMend{Run: r, Mend: mend, ref: &branchMend{branch, commit}})
	}
}

// mendBranches carries out what planBranches offered.
func mendBranches(ctx context.Context, store *durable.Store, mends []RunMend) error {
	git := repositoryOf(ctx, store)
	for _, m := range mends {
		if m.ref == nil {
			continue
		}
		repo, err := git()
		if err != nil {
			return err
		}
		repo.Inherit(store.LockFile())
		if err := repo.MendBranch(ctx, m.ref.branch, m.ref.commit); err != nil {
			return err
		}
	}
	return nil
}
