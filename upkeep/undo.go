package upkeep

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// maxStateFiles bounds how many files of one run a snapshot copies; the working
// tree is kept by git beside them.
const maxStateFiles = 5000

// Keep keeps the state files of runs and the working tree, so that whatever
// follows can be undone, and gives the snapshot's id. The lease must be held.
func Keep(ctx context.Context, store *durable.Store, runs []*reprise.Run, note string) (string, error) {
	var files []string
	o := durable.SnapshotOptions{Tree: true, Note: note, Runs: []durable.RunState{}}
	var repo repository
	for _, r := range runs {
		files = append(files, stateFiles(store, r)...)
		if inProject(r.Path) {
			o.Ignored = append(o.Ignored, r.Path)
		}
		o.Runs = append(o.Runs, repo.stateOf(ctx, store, r))
	}
	slices.Sort(files)
	o.Files = slices.Compact(files)
	snap, err := store.Snapshot(ctx, o)
	if err != nil {
		return "", err
	}
	return snap.ID, nil
}

// CanKeep tells why Keep would refuse to keep the state of a run: some of it lies
// behind a link. It changes nothing.
func CanKeep(store *durable.Store, r *reprise.Run) error {
	for _, name := range stateFiles(store, r) {
		var link *durable.LinkError
		if err := store.CanWrite(name); errors.As(err, &link) {
			return err
		}
	}
	return nil
}

// inProject reports whether a path names something in the project.
func inProject(name string) bool { return fs.ValidPath(name) && name != "." }

// stateFiles lists the files a run's state is kept in: what lies below its
// folder, and the files its steps and other sources are. Files with secrets are
// never copied.
func stateFiles(store fs.FS, r *reprise.Run) []string {
	var out []string
	add := func(root string) {
		if !inProject(root) {
			return
		}
		_ = fs.WalkDir(store, root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || len(out) >= maxStateFiles {
				return nil
			}
			if d.Type().IsRegular() && !strings.HasPrefix(d.Name(), ".env") {
				out = append(out, p)
			}
			return nil
		})
	}
	add(r.Path)
	for _, ref := range r.Also {
		add(ref.Path)
	}
	for i := range r.Steps {
		add(r.Steps[i].Path)
	}
	return out
}

// Snapshots lists what can be brought back, newest first. It changes nothing.
func (t Tender) Snapshots() ([]durable.Snapshot, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	list, err := store.Snapshots()
	slices.Reverse(list)
	return list, err
}
