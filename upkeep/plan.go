package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/project"
	"reprise/worktree"
)

// UndoPlan is what an undo would change.
type UndoPlan struct {
	Back     []string // files that are written back
	Appeared []string // files that have appeared since and are archived
	// Kept are the files that others changed, or others too, and that stay as they are;
	// HeadStays is why HEAD and index stay, "" if they are brought back as well. Both
	// are empty if everything is undone.
	Kept      []Kept
	HeadStays string
	// Moves are what becomes of branches and checkouts, as sentences.
	Moves []string
	// Others is what others did since: commits of the project's branch and other runs,
	// as sentences. It stays, or goes as well if everything is undone; then it is kept.
	Others []string
	// Missing is what the snapshot does not hold, and what could not be told apart.
	Missing []string

	now     []durable.RunState // the runs of the snapshot as they stand
	answers []answer           // what a person answered since
}

// Kept is a file that an undo leaves alone.
type Kept struct {
	Path string
	Too  bool // the run changed it as well
	// Maybe tells that an attempt without an end may have changed it, and that it was
	// changed after the last that is known of that attempt.
	Maybe bool
	// Diff is what the run changed in it and is taken back, "" if the file stays as it is.
	Diff string

	merged []byte // its content then, nil if it stays as it is
}

// String is the file, and why it matters.
func (k Kept) String() string {
	switch {
	case k.merged != nil:
		return k.Path + ": only the run's own changes in it are undone"
	case k.Too:
		return k.Path + ", which the run changed too"
	case k.Maybe:
		return k.Path + ", which the attempt that was cut off may have changed"
	}
	return k.Path
}

// options is what an undo is told of the plan.
func (p *UndoPlan) options(all bool) durable.UndoOptions {
	o := durable.UndoOptions{Runs: p.now, All: all, Keep: map[string]bool{}, Merged: map[string][]byte{}, KeepHead: p.HeadStays != ""}
	for _, k := range p.Kept {
		o.Keep[k.Path] = true
		if k.merged != nil {
			o.Merged[k.Path] = k.merged
		}
	}
	return o
}

// PlanUndo tells what bringing a snapshot back would change, and as an error why it
// cannot be brought back. What others than the runs of the snapshot changed since stays,
// unless all is to be undone. It changes nothing.
func (t Tender) PlanUndo(ctx context.Context, snap *durable.Snapshot, all bool) (*UndoPlan, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	return t.planUndo(ctx, store, &repository{}, snap, all)
}

func (t Tender) planUndo(ctx context.Context, store *durable.Store, repo *repository, snap *durable.Snapshot, all bool) (*UndoPlan, error) {
	var plan UndoPlan
	back, appeared, err := store.PlanUndo(ctx, snap)
	if err != nil {
		return nil, err
	}
	if plan.now, err = repo.present(ctx, store, snap); err != nil {
		return nil, err
	}
	for i, r := range snap.Runs {
		if r.Checkout != nil {
			if text := worktree.Describe(plan.now[i].Checkout, r.Checkout); text != "" {
				plan.Moves = append(plan.Moves, text)
			}
		}
		if r.Unknown != "" {
			plan.Missing = append(plan.Missing, fmt.Sprintf("branch and checkout of %s are not in the snapshot: %s", r.ID, r.Unknown))
		}
	}
	if snap.Tree != nil && snap.Runs == nil {
		plan.Missing = append(plan.Missing, "it is from an earlier version, which did not save branches and checkouts of builds: these stay as they are")
	}
	for _, l := range snap.Left {
		plan.Missing = append(plan.Missing, fmt.Sprintf("%s is not in the snapshot: %s", l.Path, l.Why))
	}
	w, err := since(ctx, store, repo, snap)
	if err != nil {
		return nil, err
	}
	plan.commits(w)
	runs, err := plan.runs(ctx, t, store, snap, back, appeared)
	if err != nil {
		return nil, err
	}
	if all {
		plan.Back, plan.Appeared = back, appeared
		return &plan, nil
	}
	plan.Missing = append(plan.Missing, w.unread...)
	if plan.Back, plan.Kept, err = w.split(back, nil); err != nil {
		return nil, err
	}
	if plan.Appeared, plan.Kept, err = w.split(appeared, plan.Kept); err != nil {
		return nil, err
	}
	plan.HeadStays = w.headMoved
	if plan.HeadStays == "" && len(plan.Kept) > 0 && snap.Tree != nil && w.repo.Head() == snap.Tree.Head {
		plan.HeadStays = "no commits since"
	}
	return &plan, plan.takeBack(ctx, store, snap, runs)
}

// commits tells which commits of the project's branch are not the runs'.
func (p *UndoPlan) commits(w *whose) {
	for _, c := range w.foreign {
		p.Others = append(p.Others, fmt.Sprintf("commit %.10s: %s", c.Hash, c.Subject))
	}
}

// runs tells which runs changed something that the snapshot is not about, and what a
// person answered. It gives all runs of the project.
func (p *UndoPlan) runs(ctx context.Context, t Tender, store *durable.Store, snap *durable.Snapshot, back, appeared []string) ([]*reprise.Run, error) {
	res, err := project.Read(ctx, t.Dir, project.Options{Now: t.Now})
	if err != nil {
		return nil, err
	}
	if p.answers, err = answersSince(store, snap, res.Runs); err != nil {
		return nil, err
	}
	for i := range p.answers {
		if a := &p.answers[i]; a.goes {
			p.Missing = append(p.Missing, a.String())
		} else {
			p.Others = append(p.Others, a.String())
		}
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
		case slices.ContainsFunc(appeared, in) && !slices.ContainsFunc(then, func(e durable.TreeEntry) bool { return in(string(e.Path)) }):
			p.Others = append(p.Others, fmt.Sprintf("run %s, which did not exist", r.ID))
		case slices.ContainsFunc(appeared, in) || slices.ContainsFunc(back, in):
			p.Others = append(p.Others, fmt.Sprintf("work on run %s", r.ID))
		}
	}
	return res.Runs, nil
}
