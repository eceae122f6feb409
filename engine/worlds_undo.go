//go:build unix

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/core/run"
	"reprise/internal/durable"
	"reprise/journal"
)

// TakenUp lists when runs on worlds were taken up, the latest first. The error says which
// journal could not be read; the others are listed.
func (e *Engine) TakenUp() (out []Taken, err error) {
	store, err := durable.Open(e.Dir, durable.Options{AllowNetwork: e.AllowNetwork, Adopt: e.Adopt, Now: e.Now})
	if err != nil {
		return nil, err
	}
	defer store.Release()
	var unread error
	names, err := journal.Logs(store)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !journal.OnWorlds(store, name) {
			continue
		}
		entries, _, err := journal.Read(store, name)
		unread = errors.Join(unread, err)
		ref := journal.LifeOf(entries).Run
		for _, entry := range entries {
			if entry.Event.Kind == reprise.RunResumed && entry.Event.Run == nil {
				out = append(out, Taken{ID: takenID(ref, entry.Seq), Ref: ref, At: entry.Event.At, seq: entry.Seq})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Taken) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.seq, a.seq)) })
	return out, unread
}

func takenID(ref reprise.Ref, record uint64) string { return fmt.Sprintf("%s@%d", ref.ID, record) }

// UndoSince takes back what was finished of a run since it was taken up: the work of the steps, the
// newest first, by a commit each, but for the files in keep. With dry it only tells which steps and files that are. It is
// refused, with nothing more changed, where the same lines were changed since.
func (e *Engine) UndoSince(ctx context.Context, t Taken, keep []string, dry bool) (steps, files []string, err error) {
	_, seq, _ := strings.Cut(t.ID, "@")
	since, err := strconv.Atoi(seq)
	if err != nil {
		return nil, nil, err
	}
	var store *durable.Store
	if dry {
		store, err = e.look()
	} else {
		store, _, err = e.take(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	defer store.Release()
	l, err := e.recordedOn(store, t.Ref)
	if err != nil {
		return nil, nil, err
	}
	if steps, files, err = run.UndoneBy(ctx, l.config(), since); err != nil || dry {
		return steps, files, err
	}
	if l.at, err = run.Open(ctx, l.config()); err != nil {
		return nil, nil, err
	}
	defer l.at.Close()
	for i, step := range steps {
		if err := l.at.Undo(ctx, step, keep...); err != nil {
			return steps[:i], files, errors.Join(fmt.Errorf("undo %s: %w", step, err), l.at.Left("", "undone in part"))
		}
	}
	return steps, files, l.at.Left(reprise.Start.String(), "undone")
}
