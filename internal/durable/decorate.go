package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
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

// Open shows files as they would be. New files are not listed in their folders.
func (d *DryRun) Open(name string) (fs.File, error) {
	d.mu.Lock()
	b, changed := d.now[name]
	d.mu.Unlock()
	if !changed {
		return d.under.Open(name)
	}
	return newView(Info{Name: path.Base(name), Mode: 0o644}, b), nil
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

// TraceEvent is one call of Apply that was made.
type TraceEvent struct {
	Edits []reprise.Edit
	Err   error
}

type traced struct {
	reprise.Store
	say func(TraceEvent)
}

// Trace tells what was done, after it was done.
func Trace(under reprise.Store, say func(TraceEvent)) reprise.Store { return &traced{under, say} }

func (t *traced) Apply(ctx context.Context, edits []reprise.Edit) error {
	err := t.Store.Apply(ctx, edits)
	t.say(TraceEvent{Edits: edits, Err: err})
	return err
}

type verified struct{ reprise.Store }

// Verify reads every file again after it was changed. A file that is not what
// was written is an error; the content is then not to be trusted.
func Verify(under reprise.Store) reprise.Store { return &verified{under} }

func (v *verified) Apply(ctx context.Context, edits []reprise.Edit) error {
	want := map[string]reprise.Hash{}
	for _, e := range edits {
		have, err := fs.ReadFile(v.Store, e.Path)
		if err != nil && !missing(err) {
			return err
		}
		if !e.Append {
			have = nil
		}
		want[e.Path] = reprise.HashOf(append(bytes.Clone(have), e.Content...))
	}
	if err := v.Store.Apply(ctx, edits); err != nil {
		return err
	}
	for _, e := range edits {
		have, err := fs.ReadFile(v.Store, e.Path)
		if err != nil {
			return fmt.Errorf("verify %s: %w", e.Path, err)
		}
		if got := reprise.HashOf(have); got != want[e.Path] {
			return fmt.Errorf("verify %s: it was not written as it should: %w", e.Path,
				&reprise.ChangedError{Path: e.Path, Want: want[e.Path], Got: got})
		}
	}
	return nil
}

// ErrCrashed is what a store that crashes here returns from then on.
var ErrCrashed = errors.New("crashed here")

type crashing struct {
	reprise.Store
	mu   sync.Mutex
	left int
}

// CrashHere stops before the n-th call of Apply, counted from 1: that one and
// all later ones return ErrCrashed and change nothing.
func CrashHere(under reprise.Store, n int) reprise.Store { return &crashing{Store: under, left: n} }

func (c *crashing) Apply(ctx context.Context, edits []reprise.Edit) error {
	c.mu.Lock()
	c.left--
	crashed := c.left <= 0
	c.mu.Unlock()
	if crashed {
		return ErrCrashed
	}
	return c.Store.Apply(ctx, edits)
}
