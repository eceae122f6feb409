package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/project"
	"reprise/worktree"
)

// UndoPlan is what an undo would change.
type UndoPlan struct {
	Back     []string // files that are written back
	Appeared []string // files that have appeared since and are archived
	// Moves are what becomes of branches and checkouts, as sentences.
	Moves []string
	// Others is what goes with it, whoever made it: commits of the project's
	// branch and other runs, as sentences. All of it is kept.
	Others []string
	// Missing is what the snapshot does not hold.
	Missing []string
}

// maxCommits is how many commits a plan lists.
const maxCommits = 200

// PlanUndo tells what bringing a snapshot back would change, and as an error why it
// cannot be brought back. It changes nothing.
func (t Tender) PlanUndo(ctx context.Context, snap *durable.Snapshot) (*UndoPlan, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	var plan UndoPlan
	if plan.Back, plan.Appeared, err = store.PlanUndo(ctx, snap); err != nil {
		return nil, err
	}
	var repo repository
	now, err := repo.present(ctx, store, snap)
	if err != nil {
		return nil, err
	}
	for i, r := range snap.Runs {
		if r.Checkout != nil {
			if text := worktree.Describe(now[i].Checkout, r.Checkout); text != "" {
				plan.Moves = append(plan.Moves, text)
			}
		}
		if r.Unknown != "" {
			plan.Missing = append(plan.Missing, fmt.Sprintf("branch and checkout of %s are not in the snapshot: %s", r.ID, r.Unknown))
		}
	}
	if snap.Tree != nil && snap.Runs == nil {
		plan.Missing = append(plan.Missing, "it was taken by an earlier version, which kept no branches and checkouts of builds: these stay as they are")
	}
	for _, l := range snap.Left {
		plan.Missing = append(plan.Missing, fmt.Sprintf("%s is not in the snapshot: %s", l.Path, l.Why))
	}
	if err := plan.commits(ctx, &repo, store, snap); err != nil {
		return nil, err
	}
	return &plan, plan.runs(ctx, t, snap)
}

// commits tells which commits the project's branch loses.
func (p *UndoPlan) commits(ctx context.Context, g *repository, store *durable.Store, snap *durable.Snapshot) error {
	if snap.Tree == nil {
		return nil
	}
	repo, err := g.open(ctx, store)
	if errors.Is(err, gitx.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if repo.Head() == "" || snap.Tree.Head == "" || repo.Head() == snap.Tree.Head {
		return nil
	}
	lost, err := repo.Subjects(ctx, snap.Tree.Head, repo.Head(), maxCommits)
	if err != nil {
		return err
	}
	for _, line := range lost {
		hash, subject, _ := strings.Cut(line, " ")
		p.Others = append(p.Others, fmt.Sprintf("commit %.10s leaves the branch: %s", hash, subject))
	}
	return nil
}

// runs tells which runs lose something that the snapshot is not about.
func (p *UndoPlan) runs(ctx context.Context, t Tender, snap *durable.Snapshot) error {
	res, err := project.Read(ctx, t.Dir, project.Options{Now: t.Now})
	if err != nil {
		return err
	}
	var then []durable.TreeEntry
	if snap.Tree != nil {
		then = snap.Tree.Entries
	}
	for _, r := range res.Runs {
		if slices.ContainsFunc(snap.Runs, func(s durable.RunState) bool { return s.ID == r.ID && s.Layout == r.Layout }) {
			continue
		}
		in := func(name string) bool { return name == r.Path || strings.HasPrefix(name, r.Path+"/") }
		switch {
		case !inProject(r.Path):
		case slices.ContainsFunc(p.Appeared, in) && !slices.ContainsFunc(then, func(e durable.TreeEntry) bool { return in(string(e.Path)) }):
			p.Others = append(p.Others, fmt.Sprintf("run %s, which was not there, is archived", r.ID))
		case slices.ContainsFunc(p.Appeared, in) || slices.ContainsFunc(p.Back, in):
			p.Others = append(p.Others, fmt.Sprintf("run %s goes back to what it was, too", r.ID))
		}
	}
	return nil
}
