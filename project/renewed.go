package project

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/layout"
)

// A run that is started afresh has no files for a moment: the old state is in the
// archive, and the new one is still on its way. The journal has the decision, so
// the run is shown as whoever opens it next will make it.

// mayRenew are the last words of journals that are worth reading for a fresh start.
var mayRenew = []reprise.EventKind{reprise.RunRenewed, reprise.StepReset, reprise.RunStarted}

// addRenewed puts runs whose fresh start was cut off in the place of what is left
// of them, or beside the others. It only reads.
func (res *Result) addRenewed(ctx context.Context, runs []*reprise.Run, entries []layout.Entry) []*reprise.Run {
	if _, err := os.Stat(filepath.Join(res.Root, durable.StateDir)); err != nil {
		return runs
	}
	store, err := durable.Open(res.Root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return runs // recallJournals says so
	}
	defer store.Release()
	last, err := journal.LastKinds(store)
	if err != nil {
		return runs // likewise
	}
	copied := store.Copied() != nil
	for name, kind := range last {
		if !slices.Contains(mayRenew, kind) {
			continue
		}
		renewal, err := renewalIn(store, name)
		if err != nil && !slices.ContainsFunc(runs, func(r *reprise.Run) bool { return journal.Name(r.Ref) == name }) {
			// Nobody else would tell of it: a run without files has only its journal.
			res.report(journalProblem(name, err))
		}
		if !renewal.Open() || res.held.is(renewal.Run) {
			continue
		}
		// A journal speaks for its own run, and one that came with a copy hides
		// no other.
		if journal.Name(renewal.Run) != name || renewal.Moves() && copied {
			continue
		}
		i := slices.IndexFunc(entries, func(e layout.Entry) bool { return e.Name() == renewal.Run.Layout })
		if i < 0 {
			continue
		}
		of := func(ref reprise.Ref) func(*reprise.Run) bool {
			return func(r *reprise.Run) bool { return r.Layout == ref.Layout && r.Path == ref.Path }
		}
		if at := slices.IndexFunc(runs, of(renewal.Run)); at >= 0 && len(renewal.Left) == 0 {
			unfinished(runs[at]) // its files are there
			continue
		}
		runs = slices.DeleteFunc(runs, of(renewal.Old))
		runs = append(runs, res.imagine(ctx, store, entries[i].Layout, renewal))
	}
	return runs
}

// renewalIn reads a journal for a fresh start that is its last word. One that
// cannot be read has none.
func renewalIn(store *durable.Store, name string) (renewal reprise.Renewal, err error) {
	entries, _, err := journal.Read(store, name)
	if err != nil {
		return renewal, err
	}
	for i := range entries {
		renewal.Add(&entries[i].Event)
	}
	return renewal, nil
}

// imagine gives a run as it will be once it has begun again.
func (res *Result) imagine(ctx context.Context, store *durable.Store, l reprise.Layout, renewal reprise.Renewal) *reprise.Run {
	dry := durable.NewDryRun(durable.Without(store, renewal.Old.Path))
	run, err := played(ctx, dry, l, renewal)
	if err != nil {
		run = &reprise.Run{Ref: renewal.Run, State: reprise.Interrupted, Findings: []reprise.Finding{{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: renewal.Run.ID,
			Message: fmt.Sprintf("it cannot be told how it begins again: %v", err), Source: reprise.Source{File: renewal.Run.Path},
		}}}
	}
	unfinished(run)
	return run
}

func played(ctx context.Context, dry *durable.DryRun, l reprise.Layout, renewal reprise.Renewal) (*reprise.Run, error) {
	for _, ev := range renewal.Then {
		if ev.Kind == reprise.StepReset {
			continue // in files of others
		}
		if err := journal.Play(ctx, dry, l, renewal.Run, ev); err != nil {
			return nil, err
		}
	}
	return l.Load(dry, renewal.Run)
}

// unfinished tells that a run was being started afresh when the work was cut off.
func unfinished(r *reprise.Run) {
	if !r.State.Open() || r.State == reprise.NotStarted {
		r.State, r.Reason = reprise.Interrupted, "it was being started afresh"
	}
	r.Report(reprise.Finding{
		Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: r.ID, Source: reprise.Source{File: r.Path},
		Message: "it was being started afresh when the work was cut off", Hint: "the next resume carries that to its end",
	})
}
