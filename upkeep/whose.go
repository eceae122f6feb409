package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	later  []durable.Snapshot // it and those that were taken since
	store  *durable.Store
	repo   *gitx.Repo // nil without git
	traces *journal.Traces
	// ours and others are the files that commits changed since, foreign the commits
	// that are not the runs'.
	ours, others map[string]bool
	foreign      []reprise.Commit
	commits      []reprise.Commit // all since
	maybe        map[string]bool  // those of foreign that an attempt may have made
	changed      map[string]bool  // files that no commit holds
	brought      func(name string) bool
	headMoved    string // why HEAD is not the runs' to move, "" if it is
	left         string // the branch with commits of the runs that HEAD has not, "" if none
	unread       []string
}

// since asks the journals, the snapshots and git what was changed since a snapshot.
func since(ctx context.Context, store *durable.Store, g repository, snap *durable.Snapshot) (*whose, error) {
	w := &whose{
		snap: snap, store: store, ours: map[string]bool{}, maybe: map[string]bool{}, others: map[string]bool{}, changed: map[string]bool{},
		brought: func(string) bool { return false }, traces: journal.NewTraces(),
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
	if err := w.readJournals(); err != nil {
		return nil, err
	}
	w.lastSigns()
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

// readJournals reads what the runs of the snapshot wrote since: their journals, and of
// every other what was written while one of them was worked on.
func (w *whose) readJournals() error {
	at := map[uint64]bool{}
	for _, s := range w.later {
		if !w.covers(s.Runs) {
			continue
		}
		at[s.Gen] = true
		for _, f := range s.Writes {
			touch := journal.Touch{Path: f.Path, Before: held(&s, f.Path), After: f.Hash}
			w.traces.Wrote[f.Path] = append(w.traces.Wrote[f.Path], journal.Written{Touch: touch, Gen: s.Gen, At: s.At})
		}
	}
	names, err := journal.Logs(w.store)
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
	var start *reprise.Event // of the attempt whose commits follow
	for _, c := range commits {
		if start != nil && c.Hash == start.Base {
			start = nil
		}
		began, ends := w.traces.Commits[c.Hash]
		if head, is := w.traces.Heads[c.Hash]; is && !ends {
			began, is = head, len(c.Steps) == 0
			ends = is
		}
		if ends {
			start = &began
		}
		files := w.ours
		// Agents may commit without a trailer: the attempt's last one is on record.
		own := ends || len(c.Steps) == 0 && start != nil && !c.At.Before(start.At.Truncate(time.Second)) // as precise as git is
		if !own && !slices.ContainsFunc(c.Steps, w.made) {
			start, files, w.foreign = nil, w.others, append(w.foreign, c)
			w.maybe[c.Hash] = len(c.Steps) == 0 && w.traces.MaybeMade(c.At)
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
	if err := w.readLeft(ctx, head); err != nil {
		return err
	}
	names, err := w.repo.Changes(ctx)
	for _, name := range names {
		if in, ok := strings.CutPrefix(name, w.repo.Prefix()); ok {
			w.changed[in] = true
		}
	}
	return err
}

// readLeft looks whether the branch of the snapshot has what the runs committed and
// another one without it is checked out: then the files here are not theirs to undo.
func (w *whose) readLeft(ctx context.Context, head string) error {
	branch := strings.TrimPrefix(w.snap.Tree.Branch, "refs/heads/")
	if branch == "" || branch == w.repo.Current() {
		return nil
	}
	tip, ok, err := w.repo.Resolve(ctx, branch)
	if err != nil || !ok {
		return err
	}
	for _, commit := range slices.AppendSeq(slices.Collect(maps.Keys(w.traces.Commits)), maps.Keys(w.traces.Heads)) {
		there, err := w.repo.IsAncestor(ctx, commit, tip)
		if err != nil {
			continue // the repository no longer has it
		}
		if here, err := w.repo.IsAncestor(ctx, commit, head); there && !here {
			w.left = branch
			return err
		}
	}
	return nil
}

// made reports whether a trailer is that of an attempt of the runs, or of their merge.
func (w *whose) made(trailer string) bool {
	return w.traces.Keys[strings.TrimSuffix(trailer, reprise.TrailerAccepted)] ||
		slices.ContainsFunc(w.snap.Runs, func(r durable.RunState) bool { return trailer == worktree.MergeKey(r.ID) })
}

// lastSigns sets until when the attempts that were cut off are known to have been at work:
// the last record of their process, or what they printed last.
func (w *whose) lastSigns() {
	for i := range w.traces.Spans {
		span := &w.traces.Spans[i]
		_, step, life, _, ok := reprise.TrailerStep(span.Start.Key)
		if !span.Cut || !ok {
			continue
		}
		for _, r := range w.snap.Runs {
			name := fmt.Sprintf("%s%s.%s.%d.log", reprise.Ref{Layout: r.Layout, ID: r.ID}.LogPrefix(), life, step, span.Start.Attempt)
			info, err := fs.Stat(w.store, path.Join(durable.StateDir, "logs", name))
			if err == nil && info.ModTime().After(span.To) {
				span.To = info.ModTime()
			}
		}
	}
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

// share is what runs have in the change of a file.
type share struct {
	alone bool // no one else had a part in it
	too   bool // they changed it
	// maybe tells that an attempt that was cut off may have changed it.
	maybe bool
	// atWork tells that it is alone theirs for no other reason than that it was changed
	// while their agents were at work: a person in the same folder may have done it.
	atWork bool
}

// of tells what the runs have in the change of a file.
func (w *whose) of(name string) (share, error) {
	wrote, left := w.wrote(name), w.traces.Left[w.inRepo(name)]
	at, unknown := w.changedAt(name)
	s := share{too: w.ours[name] || len(wrote) > 0 || len(left) > 0, maybe: unknown == nil && w.traces.MaybeAtWork(at)}
	if len(wrote) == 0 && (w.ours[name] || w.others[name]) && !w.changed[name] {
		s.alone, s.atWork = !w.others[name], !w.others[name]
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
		return s, nil
	case w.brought(name), now.IsZero() && w.state(name):
		s.alone = true
		return s, nil
	case len(left) > 0:
		is, err := w.repo.Print(w.inRepo(name))
		s.alone = slices.Contains(left, is) || slices.Contains(left, reprise.Hash{})
		s.atWork = s.alone
		return s, err
	}
	s.alone = unknown == nil && w.traces.AtWork(at)
	if s.alone && w.foundChanged(name, at) {
		s.alone, s.too = false, true
	}
	s.atWork = s.alone
	return s, nil
}

// foundChanged reports whether a file that was last changed at a time had already been
// changed when a run was resumed after an attempt that was cut off: whether that attempt did
// it, or a person after it, is not known.
func (w *whose) foundChanged(name string, at time.Time) bool {
	return slices.ContainsFunc(w.traces.Spans, func(span journal.Span) bool {
		return span.Cut && slices.ContainsFunc(w.later, func(s durable.Snapshot) bool {
			return s.At.After(span.From) && s.At.Before(span.Until) && s.At.Before(at) && inTree(&s, name) != inTree(w.snap, name)
		})
	})
}

// inTree is the content that a snapshot has of a file of the working tree, "" if it has none.
func inTree(snap *durable.Snapshot, name string) string {
	if snap.Tree == nil {
		return ""
	}
	i := slices.IndexFunc(snap.Tree.Entries, func(e durable.TreeEntry) bool { return string(e.Path) == name })
	if i < 0 {
		return ""
	}
	return snap.Tree.Entries[i].Blob
}

// byOthers reports whether someone else than the runs had a part in the change of a file.
func (w *whose) byOthers(name string) bool {
	s, err := w.of(name)
	return err != nil || !s.alone && !s.maybe
}

// wrote is what the runs wrote to a file, and to the copy of it in a checkout, in order.
func (w *whose) wrote(name string) []journal.Written {
	out := slices.Clone(w.traces.Wrote[name])
	for _, r := range w.snap.Runs {
		if copied := inCheckout(r, name); copied != "" {
			out = append(out, w.traces.Wrote[copied]...)
		}
	}
	slices.SortStableFunc(out, func(x, y journal.Written) int {
		return cmp.Or(cmp.Compare(x.Gen, y.Gen), x.At.Compare(y.At))
	})
	return out
}

// unmixed reports whether a file is as the runs left it, and whether they found there
// each time what they had left, what the snapshot holds, or nothing: what anybody else
// wrote between two of their changes is in the file, too. Where a fresh start put the
// file away, nothing of anybody is in the one that they began.
func (w *whose) unmixed(name string, wrote []journal.Written, now reprise.Hash) bool {
	then := held(w.snap, name)
	left, mixed := map[reprise.Hash]bool{}, false
	for _, f := range wrote {
		if f.Path == name {
			mixed = !f.Before.IsZero() && (mixed || f.Before != then && !left[f.Before])
		}
		if f.After == then {
			mixed = false // what was before that is in the snapshot
		}
		left[f.After] = true
	}
	return !mixed && left[now]
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
func (p *UndoPlan) split(ctx context.Context, w *whose, names []string) (theirs []string, err error) {
	for _, name := range names {
		s, err := w.of(name)
		if err != nil {
			return nil, err
		}
		k := Kept{Path: name, Too: s.too, Maybe: s.maybe}
		switch {
		case !s.alone:
			p.Kept = append(p.Kept, k)
			continue
		case s.atWork && !held(w.snap, name).IsZero():
			// What the run marked in its state is known: only that is taken back.
			if err := p.takeBack(ctx, w, &k); err != nil {
				return nil, err
			}
			if k.merged != nil {
				p.Kept = append(p.Kept, k)
				continue
			}
		}
		theirs = append(theirs, name)
		if s.atWork {
			p.AtWork = append(p.AtWork, name)
		}
	}
	return theirs, nil
}
