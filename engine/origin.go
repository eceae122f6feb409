package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"reprise"
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
	"reprise/settings"
)

// Origin is the workflow file that a run was started from, a slash path in the project,
// and its hash then; "" for any other run, or if its files cannot tell.
func Origin(root string, ref reprise.Ref) (file string, hash reprise.Hash) {
	if ref.Kind != reprise.KindGraph || !isLocal(ref.Path) {
		return "", hash
	}
	graph, err := flow.ReadGraph(os.DirFS(root), ref.Path)
	if err != nil {
		graph = begunWith(root, ref) // only begun, or its files are gone: only the journal knows
	}
	file, hash, _ = flow.Origin(graph)
	if !isLocal(file) {
		return "", reprise.Hash{}
	}
	return file, hash
}

// Begun are the runs of a project that a goal asks for, were begun and are not over, in display
// order: one more would do their work twice. file is that of the workflow, "" for a kind of its own.
func Begun(found *project.Judgement, kind reprise.Kind, g reprise.Goal, file string) []*reprise.Run {
	g.ID = reprise.WholeID(found.Runs, kind, g.ID)
	such := slices.DeleteFunc(slices.Clone(found.Runs), func(r *reprise.Run) bool {
		return !found.Decisions[r].State.Begun() || !IsFor(found.Root, r, kind, g, file)
	})
	return reprise.ByState(such, func(r *reprise.Run) reprise.State { return r.Shown(found.Decisions[r].State) })
}

// IsFor reports whether a run of the project in root is one that a goal asks for, as Begun has it.
func IsFor(root string, r *reprise.Run, kind reprise.Kind, g reprise.Goal, file string) bool {
	if r.Kind != kind || !g.Is(r) {
		return false
	}
	of, _ := Origin(root, r.Ref)
	return file == "" || g.ID != "" || of == file
}

func isLocal(name string) bool { return filepath.IsLocal(filepath.FromSlash(name)) }

// begunWith is the graph that a run was begun with by its journal; nil if that cannot be
// read, which Resume reports.
func begunWith(root string, ref reprise.Ref) []byte {
	if _, err := os.Stat(filepath.Join(root, durable.StateDir)); err != nil {
		return nil
	}
	store, err := durable.Open(root, durable.Options{AllowNetwork: true, Adopt: true})
	if err != nil {
		return nil
	}
	defer store.Release()
	entries, _, err := journal.Read(store, journal.Name(ref))
	if err != nil {
		return nil
	}
	for i := range slices.Backward(entries) {
		for _, ev := range append([]reprise.Event{entries[i].Event}, entries[i].Event.Then...) {
			if ev.Kind == reprise.RunStarted || ev.Kind == reprise.RunRevised {
				return []byte(ev.Text)
			}
		}
	}
	return nil
}

// Budgets says how often the steps of a run are tried, by the settings and the workflow
// file it was started from. It takes only these numbers from them, so neither has to be
// trusted.
func Budgets(dir string, getenv func(string) string) func(reprise.Ref) (func(string) journal.Budget, error) {
	return func(ref reprise.Ref) (func(string) journal.Budget, error) {
		root, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		set, err := settings.Budget(settings.Options{User: settings.UserFile(getenv), Project: root})
		if err != nil {
			return nil, err
		}
		usual := journal.Budget{Attempts: set.Attempts, Cutoffs: set.Cutoffs}
		file, _ := Origin(root, ref)
		if file == "" {
			return func(string) journal.Budget { return usual }, nil
		}
		wf, _, err := ReadFlow(filepath.Join(root, filepath.FromSlash(file)))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("read workflow %s: the file the run was started from is gone; restore it: nothing else says what the steps do", file)
		}
		if err != nil {
			return nil, err
		}
		return func(step string) journal.Budget {
			b := usual
			if own := wf.Attempts(step); own > 0 {
				b.Attempts = own
			}
			return b
		}, nil
	}
}
