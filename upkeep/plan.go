package upkeep

import (
	"context"
	"fmt"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
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
	// Commits are those that HEAD no longer has afterwards, the newest first.
	Commits []reprise.Commit
	// AtWork are those of the files above that count as the run's for no other reason than
	// that they were changed while its agents were at work. Someone who worked in the same
	// folder at that time may have changed them.
	AtWork []string
	// Moves are what becomes of branches and checkouts, as sentences.
	Moves []string
	// Others is what others did since: commits of the project's branch and other runs,
	// as sentences. It stays, or goes as well if everything is undone; then it is kept.
	Others []string
	// Missing is what the snapshot does not hold, and what could not be told apart.
	Missing []string

	now     []durable.RunState // the runs of the snapshot as they stand
	answers []answer           // what a person answered since
	all     []*reprise.Run     // of the project
	// stateOnly tells that the snapshot has no tree that shows what has appeared since.
	stateOnly bool
}

// LeftError tells that what an undo would take back is on a branch that is not checked out.
type LeftError struct{ Snapshot, Branch string }

// Error implements error.
func (e *LeftError) Error() string {
	return fmt.Sprintf("undo %s: the run's work is on %s, which is not checked out", e.Snapshot, e.Branch)
}

// Hint says what a person can do.
func (e *LeftError) Hint() string {
	return fmt.Sprintf("check it out first: `git checkout %s`", reprise.Pasted(e.Branch, "BRANCH"))
}

// Outcome tells that it has to be resolved first.
func (e *LeftError) Outcome() reprise.Outcome { return reprise.OutcomeBlocked }

// UndoChoice is what a person wants of an undo.
type UndoChoice struct {
	// All undoes what others than the runs changed, too.
	All bool
	// Keep are files and folders that stay as they are, whoever changed them.
	Keep []string
	// As is the choice as it is typed.
	As string
}

// Kept is a file that an undo leaves alone.
type Kept struct {
	Path string
	Too  bool // the run changed it as well
	// Maybe tells that an attempt that was cut off may have changed it: it was changed
	// before the run was resumed.
	Maybe bool
	// Asked tells that a person asked for it.
	Asked bool
	// Diff is what the run changed in it and is taken back, "" if the file stays as it is.
	Diff string

	merged []byte // its content then, nil if it stays as it is
	told   bool   // what the run wrote there can be told from what others wrote
}

// String is the file, and why it matters.
func (k Kept) String() string {
	switch {
	case k.Asked:
		return k.Path + ", as you asked"
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
func (p *UndoPlan) options(c UndoChoice) durable.UndoOptions {
	o := durable.UndoOptions{Runs: p.now, All: c.All, As: c.As, Keep: map[string]bool{}, Merged: map[string][]byte{}, KeepHead: p.HeadStays != ""}
	for _, k := range p.Kept {
		o.Keep[k.Path] = true
		if k.merged != nil {
			o.Merged[k.Path] = k.merged
		}
	}
	if p.stateOnly {
		o.New = p.Appeared
	}
	return o
}

// PlanUndo tells what bringing a snapshot back would change, and as an error why it
// cannot be brought back. What others than the runs of the snapshot changed since stays,
// unless all is to be undone. It changes nothing.
func (t Tender) PlanUndo(ctx context.Context, snap *durable.Snapshot, c UndoChoice) (*UndoPlan, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	return t.planUndo(ctx, store, repositoryOf(ctx, store), snap, c)
}

func (t Tender) planUndo(ctx context.Context, store *durable.Store, repo repository, snap *durable.Snapshot, c UndoChoice) (*UndoPlan, error) {
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
	if w.left != "" && !c.All {
		return nil, &LeftError{Snapshot: snap.ID, Branch: w.left}
	}
	for _, c := range w.foreign {
		text := fmt.Sprintf("commit %.10s: %s", c.Hash, c.Subject)
		if w.maybe[c.Hash] {
			text += ", which may be the run's: it was made while an attempt was at work whose end says nothing of it"
		}
		plan.Others = append(plan.Others, text)
	}
	if err := plan.runs(ctx, t, store, w, back, appeared); err != nil {
		return nil, err
	}
	if snap.Tree == nil {
		appeared = plan.newState(w, appeared)
	}
	if c.All {
		plan.Commits = w.commits
		plan.Back, plan.Appeared = plan.spare(back, c.Keep), plan.spare(appeared, c.Keep)
		return &plan, nil
	}
	plan.Missing = append(plan.Missing, w.unread...)
	if plan.Back, err = plan.split(ctx, w, plan.spare(back, c.Keep)); err != nil {
		return nil, err
	}
	if plan.Appeared, err = plan.split(ctx, w, plan.spare(appeared, c.Keep)); err != nil {
		return nil, err
	}
	plan.HeadStays = w.headMoved
	if plan.HeadStays == "" && len(plan.Kept) > 0 && snap.Tree != nil && w.repo.Head() == snap.Tree.Head {
		plan.HeadStays = "no commits since"
	}
	if plan.HeadStays == "" {
		plan.Commits = w.commits
	}
	return &plan, plan.takeBackAll(ctx, w)
}

// newState adds to what has appeared the files that the state of the snapshot's runs is kept in
// by now, where nothing else shows them: such a file can say that a step is done.
func (p *UndoPlan) newState(w *whose, appeared []string) []string {
	p.stateOnly = true
	for _, r := range p.all {
		if !isOf(w.snap, journal.Name(r.Ref)) {
			continue
		}
		for _, name := range stateFiles(w.store, r) {
			if !w.state(name) && !slices.Contains(appeared, name) {
				appeared = append(appeared, name)
			}
		}
	}
	return appeared
}

// spare keeps what a person wants to stay, and gives the others of the files.
func (p *UndoPlan) spare(names, keep []string) (others []string) {
	for _, name := range names {
		if slices.ContainsFunc(keep, func(k string) bool { return within(name, k) }) {
			p.Kept = append(p.Kept, Kept{Path: name, Asked: true})
		} else {
			others = append(others, name)
		}
	}
	return others
}

// runs tells which other runs were worked on, and what a person answered. What the runs of
// the snapshot changed in the files of another one, or may have, is not work on it.
func (p *UndoPlan) runs(ctx context.Context, t Tender, store *durable.Store, w *whose, back, appeared []string) error {
	snap := w.snap
	res, err := project.Read(ctx, t.Dir, project.Options{Now: t.Now})
	if err != nil {
		return err
	}
	p.all = res.Runs
	if p.answers, err = answersSince(store, snap, res.Runs); err != nil {
		return err
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
		others := func(name string) bool { return within(name, r.Path) && w.byOthers(name) }
		switch {
		case !inProject(r.Path):
		case slices.ContainsFunc(appeared, others) && !slices.ContainsFunc(then, func(e durable.TreeEntry) bool { return within(string(e.Path), r.Path) }):
			p.Others = append(p.Others, fmt.Sprintf("run %s, which did not exist", r.ID))
		case slices.ContainsFunc(appeared, others) || slices.ContainsFunc(back, others):
			p.Others = append(p.Others, fmt.Sprintf("work on run %s", r.ID))
		}
	}
	return nil
}
