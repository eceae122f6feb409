package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// A run being begun has no files for a moment, and neither has one that is restarted from
// scratch: the old state is in the archive and the new one is not written yet. The
// journal records the intention, so the run is shown as the next engine will make it.

// Beginning is a run whose beginning, from nothing or from scratch, was cut off,
// according to its journal.
type Beginning struct {
	reprise.Renewal
	// made are the files that recorded events were to create.
	made []journal.Touch
}

// Afresh reports whether the run existed before.
func (b *Beginning) Afresh() bool { return b.Old.Path != "" }

// BeginningOf reads a run's journal for an unfinished beginning. If there is none, or the
// journal cannot be read, the result is not Open.
func BeginningOf(store *durable.Store, ref reprise.Ref) (Beginning, error) {
	b, err := beginningIn(store, journal.Name(ref))
	return b.only(ref), err
}

// BeginningIn is BeginningOf for a journal that has been read.
func BeginningIn(entries []journal.Entry, ref reprise.Ref) Beginning {
	return lastBeginning(entries).only(ref)
}

// only discards the beginning of another run: a journal counts only for its own.
func (b Beginning) only(ref reprise.Ref) Beginning {
	if !b.Of(ref) {
		return Beginning{}
	}
	return b
}

func beginningIn(store *durable.Store, name string) (Beginning, error) {
	entries, _, err := journal.Read(store, name)
	if err != nil {
		return Beginning{}, err
	}
	return lastBeginning(entries), nil
}

func lastBeginning(entries []journal.Entry) (b Beginning) {
	for i := range entries {
		ev := &entries[i].Event
		if b.Add(ev); !b.Open() && ev.Kind == reprise.RunStarted && ev.Run != nil && len(entries[i].Files) > 0 {
			b.Renewal = reprise.Renewal{Run: reprise.Ref(*ev.Run), Then: append([]reprise.Event{*ev}, ev.Then...), Left: ev.Then}
		}
		switch {
		case !b.Open() || len(b.Left) == len(b.Then):
			b.made = nil
		case ev.Kind != reprise.StepReset: // in files of others
			b.made = append(b.made, entries[i].Files...)
		}
	}
	return b
}

// Before returns the store as it is before the run begins.
func (b *Beginning) Before(store reprise.Store) reprise.Store {
	if b.Afresh() {
		store = durable.Without(store, b.Old.Path)
	}
	for _, f := range b.made {
		if f.Before.IsZero() {
			store = durable.Without(store, f.Path)
		}
	}
	return store
}

// Play returns the store as it will be once the run has begun. It changes nothing.
func (b *Beginning) Play(ctx context.Context, store reprise.Store, l reprise.Layout) (reprise.Store, error) {
	dry := durable.NewDryRun(b.Before(store))
	for _, ev := range b.Then {
		if ev.Kind == reprise.StepReset {
			continue // in files of others
		}
		if err := journal.Play(ctx, dry, l, b.Run, ev); err != nil {
			return nil, err
		}
	}
	return dry, nil
}

// Behind reports whether a beginning is unfinished: some of its events are not recorded
// or not yet in the files. Files changed by others since then count as they are.
func (b *Beginning) Behind(store *durable.Store) bool {
	if !b.Open() {
		return false
	}
	if _, err := fs.Stat(store, b.Run.Path); len(b.Left) > 0 || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	behind := false
	for _, f := range b.made {
		var now reprise.Hash
		if data, err := store.ReadFile(f.Path); err == nil {
			now = reprise.HashOf(data)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return false // loading the run reports it
		}
		if now != f.Before && now != f.After {
			return false
		}
		behind = behind || now != f.After
	}
	return behind
}

// mayBegin are the last events of journals worth reading for a beginning.
var mayBegin = []reprise.EventKind{reprise.RunRenewed, reprise.StepReset, reprise.RunStarted}

// addRenewed puts runs whose beginning was cut off in place of what exists of them, or
// adds them to the others. It only reads.
func (res *Result) addRenewed(ctx context.Context, ours *home, runs []*reprise.Run, entries []convention.Entry) []*reprise.Run {
	store, last := ours.store, ours.entries
	copied := store.Copied() != nil
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if !slices.Contains(mayBegin, last[name].Event.Kind) {
			continue
		}
		b, err := beginningIn(store, name)
		if err != nil && !slices.ContainsFunc(runs, func(r *reprise.Run) bool { return journal.Name(r.Ref) == name }) {
			// Nothing else would report it: a run without files has only its journal.
			res.report(journalProblem(name, err))
		}
		if !b.Open() || res.held.is(b.Run) {
			continue
		}
		// A journal counts only for its own run, and one that came with a copy hides no
		// other.
		if journal.Name(b.Run) != name || b.Afresh() && b.Moves() && copied {
			continue
		}
		i := slices.IndexFunc(entries, func(e convention.Entry) bool { return e.Name() == b.Run.Layout })
		if i < 0 {
			continue
		}
		of := func(ref reprise.Ref) func(*reprise.Run) bool {
			return func(r *reprise.Run) bool { return r.Layout == ref.Layout && r.Path == ref.Path }
		}
		if at := slices.IndexFunc(runs, of(b.Run)); at >= 0 && !b.Behind(store) {
			b.unfinished(runs[at], store) // its files are there
			continue
		}
		run, err := b.imagine(ctx, store, entries[i].Layout)
		if err != nil {
			res.report(reprise.Finding{
				Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: b.Run.ID, Source: lastFile(store, b.Run),
				Message: fmt.Sprintf("%s when the work was cut off, and how it begins is unknown: %v", b.words(), err),
			})
			continue
		}
		runs = slices.DeleteFunc(runs, of(b.Run))
		runs = slices.DeleteFunc(runs, of(b.Old))
		runs = append(runs, run)
	}
	return runs
}

// imagine returns the run as it will be once it has begun. What a journal says about its
// place and kind counts only if such a run would be found there.
func (b *Beginning) imagine(ctx context.Context, store *durable.Store, l reprise.Layout) (*reprise.Run, error) {
	dry, err := b.Play(ctx, store, l)
	if err != nil {
		return nil, err
	}
	if refs, err := l.Find(dry); !slices.Contains(refs, b.Run) {
		return nil, cmp.Or(err, fmt.Errorf("%s is not a place for it", b.Run.Path))
	}
	run, err := reprise.Load(l, dry, b.Run)
	if err != nil {
		return nil, err
	}
	if !run.State.Open() {
		run.State = reprise.NotStarted // its work is not done yet
	}
	b.unfinished(run, store)
	return run, nil
}

// words says what was cut off.
func (b *Beginning) words() string {
	if b.Afresh() {
		return "it was being started from scratch"
	}
	return "it was being started"
}

// unfinished reports that a run's beginning was cut off.
func (b *Beginning) unfinished(r *reprise.Run, store *durable.Store) {
	if r.State == reprise.NotStarted {
		r.State, r.Reason = reprise.Interrupted, b.words()
	}
	r.Report(reprise.Finding{
		Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: r.ID, Source: lastFile(store, b.Run),
		Message: b.words() + " when the work was cut off", Hint: "the next resume finishes that",
	})
}

// lastFile returns where a run's latest events are: the last file of its journal.
func lastFile(store fs.FS, ref reprise.Ref) reprise.Source {
	names, _ := fs.Glob(store, durable.StateDir+"/journal/"+journal.Name(ref)+"-*.log") // the pattern is good
	if len(names) == 0 {
		return reprise.Source{File: durable.StateDir}
	}
	return reprise.Source{File: names[len(names)-1]}
}
