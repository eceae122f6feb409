package conventiontest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"reprise"
)

// Apply makes the edits on a copy of a tree, and refuses those that were made
// for other bytes than are there: what internal/durable does on a disk.
func Apply(fsys fstest.MapFS, edits []reprise.Edit) (fstest.MapFS, error) {
	out := maps.Clone(fsys)
	for _, e := range edits {
		if !fs.ValidPath(e.Path) {
			return nil, fmt.Errorf("edit %q: not a path inside the project", e.Path)
		}
		var have []byte
		got := reprise.Hash{}
		if f := out[e.Path]; f != nil {
			have, got = f.Data, reprise.HashOf(f.Data)
		}
		if got != e.Base {
			return nil, &reprise.ChangedError{Path: e.Path, Want: e.Base, Got: got}
		}
		next := e.Content
		if e.Append {
			next = append(bytes.Clone(have), e.Content...)
		}
		out[e.Path] = &fstest.MapFile{Data: next, Mode: 0o644, ModTime: Epoch}
	}
	return out, nil
}

// Recorded is one event and what must be true after it.
type Recorded struct {
	Event reprise.Event
	// Status, if set, is what Event.Step must be afterwards.
	Status reprise.Status
	// State, if set, is what the run must be afterwards.
	State reprise.State
	// Cannot says that the layout has no place for the event.
	Cannot bool
	// Moves lists further steps whose status may change with the event.
	Moves []string
}

// Records plays events on the run with this id and asks after each: the edits
// fit the bytes they were made for, the same event gives no second edit, other
// steps kept their status, reading gives what the event says, and a tree that
// was not touched by an edit has the same bytes. It returns the last tree.
func Records(t *testing.T, l reprise.Layout, fsys fstest.MapFS, id string, events ...Recorded) fstest.MapFS {
	t.Helper()
	for i, want := range events {
		what := fmt.Sprintf("event %d (%s %s%s)", i+1, want.Event.Kind, want.Event.Step, want.Event.Question)
		before := loadRun(t, l, fsys, id)
		edits, err := l.Record(fsys, before, want.Event)
		if want.Cannot {
			if !errors.Is(err, reprise.ErrCannotRecord) || len(edits) > 0 {
				t.Fatalf("%s: %d edits, %v", what, len(edits), err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		again, err := l.Record(fsys, before, want.Event)
		if err != nil || !cmp.Equal(edits, again) {
			t.Fatalf("%s: asked twice, it answers differently: %v", what, err)
		}
		next, err := Apply(fsys, edits)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		after := loadRun(t, l, next, id)
		if more, err := l.Record(next, after, want.Event); err != nil || len(more) > 0 {
			t.Fatalf("%s: recorded, and still %d edits to make (%v): %s", what, len(more), err, why(more))
		}
		checkRun(t, what, after)
		checkAfter(t, what, before, after, want)
		fsys = next
	}
	return fsys
}

func why(edits []reprise.Edit) string {
	var out []string
	for _, e := range edits {
		out = append(out, e.Path+": "+e.Why)
	}
	return strings.Join(out, "; ")
}

func loadRun(t *testing.T, l reprise.Layout, fsys fstest.MapFS, id string) *reprise.Run {
	t.Helper()
	runs, err := Read(l, fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.ID == id {
			return r
		}
	}
	// A run that is about to be started is not there yet.
	return &reprise.Run{Ref: reprise.Ref{Layout: l.Name(), ID: id}, State: reprise.NotStarted, Reason: "not there yet"}
}

func checkAfter(t *testing.T, what string, before, after *reprise.Run, want Recorded) {
	t.Helper()
	if want.State != 0 && after.State != want.State {
		t.Errorf("%s: the run is %s (%s), want %s", what, after.State, after.Reason, want.State)
	}
	if want.Status != 0 {
		s := after.Step(want.Event.Step)
		if s == nil || s.Status != want.Status {
			t.Errorf("%s: step is %+v, want %s", what, s, want.Status)
		}
	}
	moves := map[string]bool{want.Event.Step: true}
	for _, id := range want.Moves {
		moves[id] = true
	}
	for i := range before.Steps {
		old := &before.Steps[i]
		now := after.Step(old.ID)
		switch {
		case moves[old.ID]:
		case now == nil:
			t.Errorf("%s: step %q is gone", what, old.ID)
		case now.Status != old.Status:
			t.Errorf("%s: step %q became %s (was %s)", what, old.ID, now.Status, old.Status)
		}
	}
	for _, f := range after.Findings {
		if f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeSalvaged {
			known := false
			for _, o := range before.Findings {
				known = known || o.Code == f.Code && o.Source.File == f.Source.File
			}
			if !known {
				t.Errorf("%s: recording broke %s: %s", what, f.Source, f.Message)
			}
		}
	}
}
