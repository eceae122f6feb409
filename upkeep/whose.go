package upkeep

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/worktree"
)

// whose distinguishes what the runs of a snapshot changed since it was taken from other
// changes. Anything unaccounted for is someone else's and is kept.
type whose struct {
	snap  *durable.Snapshot
	later []durable.Snapshot // it and those that were taken since
	store *durable.Store
	repo  *gitx.Repo // nil without git
	wrote map[string][]written
	// ours and others are the files that commits changed since, foreign the commits
	// that are not the runs'.
	ours, others map[string]bool
	foreign      []reprise.Commit
	commits      []reprise.Commit // all since
	changed      map[string]bool  // files that no commit holds
	brought      func(name string) bool
	headMoved    string // why HEAD is not the runs' to move, "" if it is
	unread       []string
}

// written is a change that was made to a state file since.
type written struct {
	path          string
	before, after reprise.Hash
	gen           uint64
	at            time.Time
}

// since asks the snapshots and git what was changed since a snapshot. What a run did is undone by its
// own records, and not by a snapshot.
func since(ctx context.Context, store *durable.Store, g repository, snap *durable.Snapshot) (*whose, error) {
	w := &whose{
		snap: snap, store: store, ours: map[string]bool{}, others: map[string]bool{}, changed: map[string]bool{},
		brought: func(string) bool { return false }, wrote: map[string][]written{},
	}
	list, err := store.Snapshots()
	if err != nil {
		w.unread = append(w.unread, err.Error())
	}
	if i := slices.IndexFunc(list, func(s durable.Snapshot) bool { return s.ID == snap.ID }); i >= 0 {
		w.later = list[i:]
	} else {
		w.later = []durable.Snapshot{*snap}
	}
	for _, s := range w.later {
		if !w.covers(s.Runs) {
			continue
		}
		for _, f := range s.Writes {
			w.wrote[f.Path] = append(w.wrote[f.Path], written{f.Path, held(&s, f.Path), f.Hash, s.Gen, s.At})
		}
	}
	var to *durable.Snapshot
	if i := slices.IndexFunc(list, func(s durable.Snapshot) bool { return s.ID == snap.To && snap.To != "" }); i >= 0 {
		to = &list[i]
		back, appeared, err := store.PlanUndo(ctx, to)
		if err != nil {
			return nil, err
		}
		w.brought = func(name string) bool { return !slices.Contains(back, name) && !slices.Contains(appeared, name) }
	}
	if snap.Tree == nil {
		return w, nil
	}
	if w.repo, err = g(); err != nil {
		return nil, err
	}
	return w, w.readGit(ctx, to)
}

// held is what a snapshot has of a state file, zero if it has none.
func held(snap *durable.Snapshot, name string) reprise.Hash {
	i := slices.IndexFunc(snap.Files, func(f durable.FileState) bool { return f.Path == name })
	if i < 0 {
		return reprise.Hash{}
	}
	return snap.Files[i].Hash
}

// isOf reports whether a journal is that of a run of a snapshot. One of an earlier
// version does not name its runs: then all are.
func isOf(snap *durable.Snapshot, log string) bool {
	return snap.Runs == nil || slices.ContainsFunc(snap.Runs, func(r durable.RunState) bool {
		return journal.Names(log, reprise.Ref{Layout: r.Layout, ID: r.ID, Path: r.Path})
	})
}

// covers reports whether runs are all among those of the snapshot.
func (w *whose) covers(runs []durable.RunState) bool {
	for _, r := range runs {
		if w.snap.Runs != nil && !slices.ContainsFunc(w.snap.Runs, func(o durable.RunState) bool { return o.Layout == r.Layout && o.ID == r.ID }) {
			return false
		}
	}
	return len(runs) > 0
}

// readGit reads whose the commits since are, and which files none holds.
func (w *whose) readGit(ctx context.Context, to *durable.Snapshot) error {
	head := w.repo.Head()
	commits, held, err := w.repo.Since(ctx, w.snap.Tree.Head)
	if err != nil {
		return err
	}
	w.commits = commits
	for _, c := range commits {
		files := w.ours
		if !slices.ContainsFunc(c.Steps, w.made) {
			files, w.foreign = w.others, append(w.foreign, c)
		}
		for _, f := range c.Files {
			files[f.Path] = true
		}
	}
	back := to != nil && to.Tree != nil && to.Tree.Head == head
	switch branch := strings.TrimPrefix(w.snap.Tree.Branch, "refs/heads/"); {
	case len(w.foreign) > 0:
		w.headMoved = "it has commits that are not the run's"
	case !held && !back:
		w.headMoved = "it does not contain the commit it was at"
	case branch != w.repo.Current() && !back:
		w.headMoved = "another branch is checked out"
	}
	names, err := w.repo.Changes(ctx)
	for _, name := range names {
		if in, ok := strings.CutPrefix(name, w.repo.Prefix()); ok {
			w.changed[in] = true
		}
	}
	return err
}

// made reports whether a trailer is that of a merge of the runs.
func (w *whose) made(trailer string) bool {
	return slices.ContainsFunc(w.snap.Runs, func(r durable.RunState) bool { return trailer == worktree.MergeKey(r.ID) })
}

// share is what runs have in the change of a file.
type share struct {
	alone bool // no one else had a part in it
	too   bool // they changed it
	// merged tells that it is alone theirs because only their merge changed it.
	merged bool
}

// of tells what the runs have in the change of a file.
func (w *whose) of(name string) (share, error) {
	wrote := w.writes(name)
	s := share{too: w.ours[name] || len(wrote) > 0}
	if len(wrote) == 0 && (w.ours[name] || w.others[name]) && !w.changed[name] {
		s.alone, s.merged = !w.others[name], !w.others[name]
		return s, nil
	}
	now, err := w.store.HashFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = reprise.Hash{}, nil
	}
	switch {
	case err != nil || w.others[name]:
		return s, nil // what cannot be read is no one's to put away
	case len(wrote) > 0:
		s.alone = now.IsZero() || w.unmixed(name, wrote, now)
	default:
		s.alone = w.brought(name) || now.IsZero() && w.state(name)
	}
	return s, nil
}

// byOthers reports whether someone else than the runs had a part in the change of a file.
func (w *whose) byOthers(name string) bool {
	s, err := w.of(name)
	return err != nil || !s.alone
}

// writes is what the runs wrote to a file, and to the copy of it in a checkout, in order.
func (w *whose) writes(name string) []written {
	out := slices.Clone(w.wrote[name])
	for _, r := range w.snap.Runs {
		if copied := inCheckout(r, name); copied != "" {
			out = append(out, w.wrote[copied]...)
		}
	}
	slices.SortStableFunc(out, func(x, y written) int {
		return cmp.Or(cmp.Compare(x.gen, y.gen), x.at.Compare(y.at))
	})
	return out
}

// unmixed reports whether a file is as the runs left it, and whether they found there
// each time what they had left, what the snapshot holds, or nothing: what anybody else
// wrote between two of their changes is in the file, too. Where a fresh start put the
// file away, nothing of anybody is in the one that they began.
func (w *whose) unmixed(name string, wrote []written, now reprise.Hash) bool {
	then := held(w.snap, name)
	left, mixed := map[reprise.Hash]bool{}, false
	for _, f := range wrote {
		if f.path == name {
			mixed = !f.before.IsZero() && (mixed || f.before != then && !left[f.before])
		}
		if f.after == then {
			mixed = false // what was before that is in the snapshot
		}
		left[f.after] = true
	}
	return !mixed && left[now]
}

// state reports whether a file is one that the state of the runs is kept in.
func (w *whose) state(name string) bool {
	return slices.ContainsFunc(w.snap.Files, func(f durable.FileState) bool { return f.Path == name })
}

// split keeps those of the files whose change is the runs' alone, and adds the others to
// those that stay.
func (p *UndoPlan) split(w *whose, names []string) (theirs []string, err error) {
	for _, name := range names {
		s, err := w.of(name)
		if err != nil {
			return nil, err
		}
		if !s.alone {
			p.Kept = append(p.Kept, Kept{Path: name, Too: s.too})
			continue
		}
		theirs = append(theirs, name)
		if s.merged {
			p.AtWork = append(p.AtWork, name)
		}
	}
	return theirs, nil
}
