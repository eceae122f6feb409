package durable

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"reprise"
)

// DryRun is a Store that changes nothing: it collects what would be changed,
// and shows it to whoever reads through it.
type DryRun struct {
	under reprise.Store
	mu    sync.Mutex
	edits []reprise.Edit
	paths []string
	was   map[string][]byte
	now   map[string][]byte
}

var _ reprise.Store = (*DryRun)(nil)

// NewDryRun puts a dry run over a store.
func NewDryRun(under reprise.Store) *DryRun {
	return &DryRun{under: under, was: map[string][]byte{}, now: map[string][]byte{}}
}

// Open shows files and folders as they would be: new files are listed in their
// folders, and folders that would be made for them are there.
func (d *DryRun) Open(name string) (fs.File, error) {
	d.mu.Lock()
	b, changed := d.now[name]
	d.mu.Unlock()
	if changed {
		return newView(Info{Name: path.Base(name), Mode: 0o644}, b), nil
	}
	made := d.inside(name)
	if len(made) == 0 {
		return d.under.Open(name)
	}
	there, err := fs.ReadDir(d.under, name)
	if err != nil && !missing(err) {
		return nil, err
	}
	for _, e := range there {
		if have, ok := made[e.Name()]; !ok || have.IsDir() {
			made[e.Name()] = e
		}
	}
	list := &viewDir{view: view{info: Info{Name: path.Base(name), Mode: fs.ModeDir | 0o755}}}
	if at, err := fs.Stat(d.under, name); err == nil {
		list.info = Info{Name: at.Name(), Mode: at.Mode(), Size: at.Size(), ModTime: at.ModTime()}
	}
	for _, e := range slices.Sorted(maps.Keys(made)) {
		list.entries = append(list.entries, made[e])
	}
	return list, nil
}

// Stat tells of a file or a folder as it would be, without reading it.
func (d *DryRun) Stat(name string) (fs.FileInfo, error) {
	d.mu.Lock()
	_, changed := d.now[name]
	d.mu.Unlock()
	if !changed && len(d.inside(name)) == 0 {
		return fs.Stat(d.under, name)
	}
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// inside lists what the edits made or changed right in a folder.
func (d *DryRun) inside(dir string) map[string]fs.DirEntry {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := map[string]fs.DirEntry{}
	for name, b := range d.now {
		rest := name
		if dir != "." {
			below, ok := strings.CutPrefix(name, dir+"/")
			if !ok {
				continue
			}
			rest = below
		}
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			made[first] = entryOf(Info{Name: first, Mode: fs.ModeDir | 0o755})
		} else {
			made[first] = entryOf(Info{Name: first, Mode: 0o644, Size: int64(len(b))})
		}
	}
	return made
}

// Apply checks the edits as the store would and keeps them.
func (d *DryRun) Apply(ctx context.Context, edits []reprise.Edit) error {
	next := map[string][]byte{}
	for _, e := range edits {
		if err := checkPath(e.Path); err != nil {
			return err
		}
		if _, twice := next[e.Path]; twice {
			return fmt.Errorf("edit %s: there are two edits of it", e.Path)
		}
		if err := canWrite(d.under, e.Path); err != nil {
			return err
		}
		have, err := fs.ReadFile(d, e.Path)
		if err != nil && !missing(err) {
			return err
		}
		var got reprise.Hash
		if err == nil {
			got = reprise.HashOf(have)
		}
		if got != e.Base {
			return &reprise.ChangedError{Path: e.Path, Want: e.Base, Got: got}
		}
		if e.Append {
			next[e.Path] = append(bytes.Clone(have), e.Content...)
		} else {
			next[e.Path] = bytes.Clone(e.Content)
		}
		d.mu.Lock()
		if _, ok := d.was[e.Path]; !ok {
			d.was[e.Path] = have
			d.paths = append(d.paths, e.Path)
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, b := range next {
		d.now[name] = b
	}
	d.edits = append(d.edits, edits...)
	return ctx.Err()
}

// canWrite asks the store at the bottom.
func canWrite(s reprise.Store, name string) error {
	if s, ok := s.(interface{ CanWrite(string) error }); ok {
		return s.CanWrite(name)
	}
	return nil
}

// Edits lists what would have been applied, in order.
func (d *DryRun) Edits() []reprise.Edit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]reprise.Edit(nil), d.edits...)
}

// Diff shows all changes together, as a unified diff.
func (d *DryRun) Diff() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out strings.Builder
	for _, name := range d.paths {
		if now, ok := d.now[name]; ok {
			out.WriteString(Diff(name, d.was[name], now))
		}
	}
	return out.String()
}
