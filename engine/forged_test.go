package engine_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/layout"
	"reprise/project"
)

// forge puts an event into the journal of a run, as whoever hands a project on
// could.
func forge(t *testing.T, dir string, ref reprise.Ref, ev reprise.Event) {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		// What was just stopped may hold the lease for a moment.
		_, err := store.Take(t.Context())
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	defer store.Release()
	j, err := journal.Open(store, layout.Find(ref.Layout), ref)
	if err != nil {
		t.Fatal(err)
	}
	ev.At = shiftedNow()
	if err := j.Note(ev); err != nil {
		t.Fatal(err)
	}
}

// clone copies a project with all that is in it, as it would come from elsewhere.
func clone(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A journal that came with a project does not say what is archived: only a run is,
// and that once a person has accepted the copy. To leave the stamp out, or to break
// it, is no way around that.
func TestX8_OR9_a_forged_fresh_start_archives_no_sources(t *testing.T) {
	t.Parallel()
	from, ref := stopped(t, "build")
	put(t, from, "src/main.go", "package main\n")
	place, src := reprise.Place(ref), reprise.Place{Layout: ref.Layout, ID: "src", Path: "src"}
	forge(t, from, ref, reprise.Event{Kind: reprise.RunRenewed, Actor: "person", Run: &place, Old: &src})
	for name, spoil := range map[string]func(stamp string) error{
		"whole":   func(string) error { return nil },
		"missing": os.Remove,
		"a link": func(stamp string) error {
			return errors.Join(os.Rename(stamp, stamp+"2"), os.Symlink("stamp2", stamp))
		},
		"damaged": func(stamp string) error { return os.WriteFile(stamp, []byte("t1 none\n"), 0o600) },
	} {
		for _, adopt := range []bool{false, true} {
			dir := clone(t, from)
			if err := spoil(filepath.Join(dir, ".reprise/stamp")); err != nil {
				t.Fatal(err)
			}
			e := newEngine(dir)
			e.Adopt = adopt
			// Nothing that can be chosen: the run is opened and no more.
			sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "nothing"})
			var copied *durable.CopiedError
			if errors.As(err, &copied) == adopt {
				t.Errorf("stamp %s, adopt %v: %v %v", name, adopt, sum, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "src/main.go")); err != nil {
				t.Errorf("stamp %s, adopt %v: %v", name, adopt, err)
			}
		}
	}
}

// A journal that came with a project hides no run but its own.
func TestX8_OR9_a_forged_fresh_start_hides_no_run(t *testing.T) {
	t.Parallel()
	from, ref := stopped(t, "build")
	ghost := reprise.Ref{Layout: ref.Layout, ID: "999-ghost", Path: ".auto-claude/specs/999-ghost", Kind: ref.Kind}
	place, old := reprise.Place(ghost), reprise.Place(ref)
	forge(t, from, ghost, reprise.Event{Kind: reprise.RunRenewed, Actor: "person", Run: &place, Old: &old})
	dir := clone(t, from)
	for range 2 {
		res, err := project.Read(t.Context(), dir, project.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(res.Runs, func(r *reprise.Run) bool { return r.Path == ref.Path }) {
			t.Errorf("of %d runs none is %s", len(res.Runs), ref.Path)
		}
		_ = os.Remove(filepath.Join(dir, ".reprise/stamp"))
	}
}

// A journal speaks for the run it is named after.
func TestX8_OR9_a_journal_of_another_name_renews_nothing(t *testing.T) {
	t.Parallel()
	dir, ref := stopped(t, "build")
	other := reprise.Ref{Layout: ref.Layout, ID: "other", Path: ".auto-claude/specs/other", Kind: ref.Kind}
	place := reprise.Place(ref)
	forge(t, dir, other, reprise.Event{Kind: reprise.RunRenewed, Actor: "person", Run: &place, Then: []reprise.Event{{Kind: reprise.RunStarted}}})
	after, err := project.Read(t.Context(), dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range after.Runs {
		for _, f := range r.Findings {
			if f.Code == reprise.CodeRolledForward {
				t.Errorf("%v %v", r.Ref, f)
			}
		}
	}
}

// A preview of a run whose fresh start was cut off tells of that, and not of the
// state that the next resume archives.
func TestX10_OR9_a_preview_tells_of_a_fresh_start_that_was_cut_off(t *testing.T) {
	t.Parallel()
	dir, ref := stopped(t, "build")
	begun := events(t, dir, ref)[0]
	if begun.Kind != reprise.RunStarted {
		t.Fatal(begun)
	}
	place := reprise.Place(ref)
	forge(t, dir, ref, reprise.Event{Kind: reprise.RunRenewed, Actor: "person", Run: &place, Then: []reprise.Event{begun}})
	e := newEngine(dir)
	p, err := e.Preview(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	began := ""
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e.Tell = func(pr engine.Progress) {
		if pr.Kind == engine.Began && began == "" {
			began = pr.Step
			cancel()
		}
	}
	if _, err := e.Resume(ctx, ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	if len(p.Starts) != 1 || p.Starts[0].Step != began || p.Starts[0].Attempt != 1 || !strings.Contains(strings.Join(p.Would, "\n"), ref.Path+" is archived") {
		t.Errorf("%q would start %d, first %s, and it began with %s", p.Would, len(p.Starts), p.Starts[0].Step, began)
	}
}

// elsewhere is a disk on which the archive lies on another file system than the
// runs.
type elsewhere struct{ durable.FS }

func (d elsewhere) Rename(from, to string) error {
	if strings.HasPrefix(to, ".reprise/archive/") {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return d.FS.Rename(from, to)
}

// A fresh start whose state cannot be moved, as in a folder that is mounted, is
// refused once, and the run can still be gone on with as it was.
func TestOR9_a_fresh_start_that_cannot_be_carried_out_does_not_hold_the_run(t *testing.T) {
	t.Parallel()
	dir, ref := stopped(t, "build")
	before := oldState(t, dir, ref)
	e := newEngine(dir)
	e.Disk = func(under durable.FS) durable.FS { return elsewhere{under} }
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "fresh"}); err == nil {
		t.Fatalf("it was not refused: %v", sum)
	}
	if !maps.EqualFunc(oldState(t, dir, ref), before, slices.Equal[[]string]) {
		t.Error("the state was changed")
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatalf("it cannot be gone on with: %v", err)
	}
	if sum.State != reprise.Complete && sum.State != reprise.Waiting || len(sum.Finished) == 0 {
		t.Errorf("%v %q %v", sum.State, sum.Reasons, sum.Failed)
	}
}
