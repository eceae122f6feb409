package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
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
	snap   *durable.Snapshot
	store  *durable.Store
	repo   *gitx.Repo // nil without git
	traces *journal.Traces
	// ours and others are the files that commits changed since, foreign the commits
	// that are not the runs'.
	ours, others map[string]bool
	foreign      []reprise.Commit
	changed      map[string]bool // files that no commit holds
	brought      func(name string) bool
	headMoved    string // why HEAD is not the runs' to move, "" if it is
	unread       []string
	last         time.Time // see lastSign
}

// since asks the journals, the snapshots and git what was changed since a snapshot.
func since(ctx context.Context, store *durable.Store, g *repository, snap *durable.Snapshot) (*whose, error) {
	w := &whose{
		snap: snap, store: store, ours: map[string]bool{}, others: map[string]bool{}, changed: map[string]bool{},
		brought: func(string) bool { return false }, traces: journal.NewTraces(),
	}
	list, err := store.Snapshots()
	if err != nil {
		w.unread = append(w.unread, err.Error())
	}
	if err := w.readJournals(list); err != nil {
		return nil, err
	}
	w.last = w.lastSign()
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
	if w.repo, err = g.open(ctx, store); err != nil {
		return nil, err
	}
	return w, w.readGit(ctx, to)
}

// readJournals reads what the runs of the snapshot wrote since: their journals, and of
// every other what was written while one of them was worked on.
func (w *whose) readJournals(list []durable.Snapshot) error {
	at := map[uint64]bool{}
	for _, s := range list {
		if s.ID < w.snap.ID || !w.covers(s.Runs) {
			continue
		}
		at[s.Gen] = true
		for _, f := range s.Writes {
			w.traces.Wrote[f.Path] = append(w.traces.Wrote[f.Path], f.Hash)
		}
	}
	names, err := w.store.Logs()
	if err != nil {
		return err
	}
	for _, name := range names {
		own := isOf(w.snap, name)
		err := w.traces.Read(w.store, name, func(gen uint64) bool { return gen >= w.snap.Gen && (own || at[gen]) })
		var damage *durable.DamageError
		if errors.As(err, &damage) {
			w.unread = append(w.unread, fmt.Sprintf("the journal %s cannot be read completely: changes that only it records count as yours", name))
		} else if err != nil {
			return err
		}
	}
	return nil
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
	var from time.Time // when the attempt began whose commits follow
	for _, c := range commits {
		began, ends := w.traces.Commits[c.Hash]
		if ends {
			from = began.Truncate(time.Second) // as precise as git is
		}
		files := w.ours
		// Agents may commit without a trailer: the attempt's last one is on record.
		own := ends || len(c.Steps) == 0 && !from.IsZero() && !c.At.Before(from)
		if !own && !slices.ContainsFunc(c.Steps, w.made) {
			from, files, w.foreign = time.Time{}, w.others, append(w.foreign, c)
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

// made reports whether a trailer is that of an attempt of the runs, or of their merge.
func (w *whose) made(trailer string) bool {
	return w.traces.Keys[strings.TrimSuffix(trailer, reprise.TrailerAccepted)] ||
		slices.ContainsFunc(w.snap.Runs, func(r durable.RunState) bool { return trailer == worktree.MergeKey(r.ID) })
}

// lastSign is the last moment at which an attempt without an end is known to have been
// at work: the last record of its process, or what it printed last.
func (w *whose) lastSign() time.Time {
	last := w.traces.Last
	for _, r := range w.snap.Runs {
		prefix := reprise.Ref{Layout: r.Layout, ID: r.ID}.LogPrefix()
		logs, _ := fs.Glob(w.store, path.Join(durable.StateDir, "logs", prefix+"*.log")) // the pattern is good
		for _, name := range logs {
			if info, err := fs.Stat(w.store, name); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
	}
	return last
}

// changedAt is when a file was last changed; of one that is gone, when its folder was.
func (w *whose) changedAt(name string) (at time.Time, err error) {
	for ; ; name = path.Dir(name) {
		info, err := w.store.Stat(name)
		if err == nil {
			return info.ModTime(), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || name == "." {
			return at, err
		}
	}
}

// runs reports whether a change of a file is the runs' alone, and if not whether they
// changed it as well.
func (w *whose) runs(name string) (alone, too bool, err error) {
	committed := w.ours[name] || w.others[name]
	if committed && !w.changed[name] {
		return !w.others[name], w.ours[name], nil
	}
	now, err := w.store.HashFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = reprise.Hash{}, nil
	}
	wrote, left := w.traces.Wrote[name], w.traces.Left[w.inRepo(name)]
	for _, r := range w.snap.Runs {
		if copied := inCheckout(r, name); copied != "" {
			wrote = slices.Concat(wrote, w.traces.Wrote[copied])
		}
	}
	too = w.ours[name] || len(wrote) > 0 || len(left) > 0
	switch {
	case err != nil || w.others[name]:
		return false, too, nil // what cannot be read is no one's to put away
	case len(wrote) > 0:
		return slices.Contains(wrote, now) || now.IsZero(), too, nil
	case w.brought(name), now.IsZero() && w.state(name):
		return true, too, nil
	case len(left) > 0:
		is, err := w.repo.Print(w.inRepo(name))
		return slices.Contains(left, is) || slices.Contains(left, reprise.Hash{}), too, err
	}
	if !w.traces.Open {
		return false, too, nil
	}
	at, err := w.changedAt(name)
	return err == nil && !at.After(w.last), too, nil
}

// inRepo is the name of a file from the root of the repository.
func (w *whose) inRepo(name string) string {
	if w.repo == nil {
		return name
	}
	return path.Join(w.repo.Prefix(), name)
}

// state reports whether a file is one that the state of the runs is kept in.
func (w *whose) state(name string) bool {
	return slices.ContainsFunc(w.snap.Files, func(f durable.FileState) bool { return f.Path == name })
}

// split keeps those of the files whose change is the runs' alone, and adds the others to
// those that stay.
func (w *whose) split(names []string, stay []Kept) (theirs []string, _ []Kept, err error) {
	for _, name := range names {
		alone, too, err := w.runs(name)
		if err != nil {
			return nil, nil, err
		}
		if alone {
			theirs = append(theirs, name)
		} else {
			stay = append(stay, Kept{Path: name, Too: too, Maybe: w.traces.Open})
		}
	}
	return theirs, stay, nil
}
