package upkeep

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/project"
)

// maxStateFiles bounds how many files of one run a snapshot copies; the working
// tree is kept by git beside them.
const maxStateFiles = 5000

// Keep keeps the state files of runs and the working tree, so that whatever
// follows can be undone, also if their state is given up, and gives the snapshot's
// id. State behind a link cannot be brought back: a *durable.LinkError. The lease
// must be held.
func Keep(ctx context.Context, store *durable.Store, runs []*reprise.Run, note string) (string, error) {
	return keep(ctx, store, runs, note, nil, nil)
}

// KeepGoing is Keep before a run is resumed: nothing of it is moved away. Files
// behind a link that its layout does not read are never written by us; they are left
// as they are, and are no reason to refuse it.
func KeepGoing(ctx context.Context, store *durable.Store, r *reprise.Run, note string) (string, error) {
	aside, err := CanGoOn(store, r)
	if err != nil {
		return "", err
	}
	return keep(ctx, store, []*reprise.Run{r}, note, aside, nil)
}

func keep(ctx context.Context, store *durable.Store, runs []*reprise.Run, note string, aside []string, writes []durable.FileState) (string, error) {
	var files []string
	o := durable.SnapshotOptions{Tree: true, Note: note, Runs: []durable.RunState{}, Writes: writes}
	repo := repositoryOf(ctx, store)
	for _, r := range runs {
		own := stateFiles(store, r)
		files = append(files, own...)
		if inProject(r.Path) {
			o.Ignored = append(o.Ignored, r.Path)
		}
		state := repo.stateOf(ctx, store, r)
		o.Runs = append(o.Runs, state)
		for _, name := range own {
			// A merge brings the project's copy up to the checkout's.
			if h, err := store.HashFile(inCheckout(state, name)); err == nil && !slices.Contains(aside, name) {
				o.Writes = append(o.Writes, durable.FileState{Path: name, Hash: h})
			}
		}
	}
	if len(runs) > 0 {
		// An agent can remove or change what git does not know as well.
		places, err := project.Places(store.Dir(), runs[0].Ref)
		if err != nil {
			return "", err
		}
		o.Ignored = append(o.Ignored, slices.DeleteFunc(places, func(name string) bool { return !inProject(name) })...)
	}
	slices.Sort(files)
	o.Files = slices.DeleteFunc(slices.Compact(files), func(name string) bool { return slices.Contains(aside, name) })
	snap, err := store.Snapshot(ctx, o)
	if err != nil {
		return "", err
	}
	return snap.ID, nil
}

// inCheckout is where the checkout of a run has its copy of a state file, "" if it has
// none.
func inCheckout(r durable.RunState, name string) string {
	rest, in := strings.CutPrefix(name, r.Path+"/")
	if r.Checkout == nil || r.Checkout.State == "" || !in {
		return ""
	}
	return path.Join(r.Checkout.State, rest)
}

// CanKeep tells why Keep would refuse to keep the state of a run: some of it lies
// behind a link. It changes nothing.
func CanKeep(store *durable.Store, r *reprise.Run) error {
	if links := behindLinks(store, r); len(links) > 0 {
		return links[0]
	}
	return nil
}

// behindLinks tells of the state files of a run that lie behind a link.
func behindLinks(store *durable.Store, r *reprise.Run) (out []*durable.LinkError) {
	for _, name := range stateFiles(store, r) {
		if link, is := errors.AsType[*durable.LinkError](store.CanWrite(name)); is {
			out = append(out, link)
		}
	}
	return out
}

// CanGoOn tells why KeepGoing would refuse to keep the state of a run, and else which
// of its files lie behind a link and are left alone. It changes nothing.
func CanGoOn(store *durable.Store, r *reprise.Run) (aside []string, err error) {
	links := behindLinks(store, r)
	if links == nil {
		return nil, nil
	}
	seen := &seeing{FS: store, names: map[string]bool{}}
	if _, _, err := load(seen, r); err != nil {
		return nil, err
	}
	for _, link := range links {
		aside = append(aside, link.Path)
		for name := range seen.names {
			if within(name, link.Link) {
				return nil, link
			}
		}
	}
	return aside, nil
}

// seeing knows which names were asked for. It can only be opened: whatever else is
// asked of a file system goes through that.
type seeing struct {
	fs.FS
	names map[string]bool
}

// Open implements fs.FS.
func (s *seeing) Open(name string) (fs.File, error) {
	s.names[name] = true
	return s.FS.Open(name)
}

// inProject reports whether a path names something in the project.
func inProject(name string) bool { return fs.ValidPath(name) && name != "." }

// stateFiles lists the files a run's state is kept in: what lies below its
// folder, the files its steps and other sources are, and those that tell how its
// steps stand. Files with secrets are never copied.
func stateFiles(store fs.FS, r *reprise.Run) []string {
	roots := []string{r.Path}
	for _, ref := range r.Also {
		roots = append(roots, ref.Path)
	}
	for i := range r.Steps {
		roots = append(roots, r.Steps[i].Path)
		for _, c := range r.Steps[i].Claims {
			roots = append(roots, c.Source.File)
		}
	}
	slices.Sort(roots)
	var out []string
	for _, root := range slices.Compact(roots) {
		if !inProject(root) {
			continue
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
	slices.Sort(out)
	return slices.Compact(out)
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
