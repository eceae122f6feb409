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
	f, err := d.under.Open(name)
	if err != nil && !missing(err) {
		return nil, err
	}
	made := d.inside(name)
	if len(made) == 0 {
		return f, err
	}
	list := &viewDir{view: view{info: Info{Name: path.Base(name), Mode: fs.ModeDir | 0o755}}}
	if err == nil {
		defer f.Close()
		if list.entries, list.info, err = d.entries(f); err != nil {
			return nil, err
		}
	}
	for _, e := range list.entries {
		if have, ok := made[e.Name]; !ok || have.Mode.IsDir() {
			made[e.Name] = e
		}
	}
	list.entries = list.entries[:0]
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
func (d *DryRun) inside(dir string) map[string]Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	made := map[string]Info{}
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
			made[first] = Info{Name: first, Mode: fs.ModeDir | 0o755}
		} else {
			made[first] = Info{Name: first, Mode: 0o644, Size: int64(len(b))}
		}
	}
	return made
}

// entries lists a folder of the store below.
func (d *DryRun) entries(f fs.File) ([]Info, Info, error) {
	of := func(i fs.FileInfo) Info {
		return Info{Name: i.Name(), Mode: i.Mode(), Size: i.Size(), ModTime: i.ModTime()}
	}
	at, err := f.Stat()
	if err != nil {
		return nil, Info{}, err
	}
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, Info{}, &NotRegularError{Path: at.Name(), Mode: at.Mode()}
	}
	list, err := dir.ReadDir(-1)
	var out []Info
	for _, e := range list {
		// One that is gone by now is no longer listed.
		if i, err := e.Info(); err == nil {
			out = append(out, of(i))
		}
	}
	return out, of(at), err
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
