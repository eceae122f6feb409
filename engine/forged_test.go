package engine_test

import (
	"context"
	"encoding/json"
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
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// forge puts an event into the journal of a run, and which files it makes, as whoever
// hands a project on could.
func forge(t *testing.T, dir string, ref reprise.Ref, ev reprise.Event, files ...string) {
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
	log, err := store.Log(journal.Name(ref))
	if err != nil {
		t.Fatal(err)
	}
	ev.At = shiftedNow()
	entry := journal.Entry{Event: ev, Nowhere: len(files) == 0}
	for _, name := range files {
		entry.Files = append(entry.Files, journal.Touch{Path: name, After: reprise.HashOf([]byte(name))})
	}
	payload, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append("event", payload); err != nil {
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
			var unusable *durable.UnusableError // a link stands where a file belongs: that is refused before
			if refused := errors.As(err, &copied) || errors.As(err, &unusable); refused == (adopt && name != "a link") {
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
	began := launched(t, e, ref)
	if len(p.Starts) != 1 || p.Starts[0].Step != began.Step || p.Starts[0].Attempt != began.Attempt || !strings.Contains(strings.Join(p.Would, "\n"), ref.Path+" is archived") {
		t.Errorf("%q would start %d, first %s, and it began with %s", p.Would, len(p.Starts), p.Starts[0].Step, began.Step)
	}
}

// The same once the old state is in the archive and nothing is in its place.
func TestX10_OR9_a_preview_tells_of_a_fresh_start_whose_old_state_is_archived(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"build", "graph", "file", "spec-pipeline"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, ref := stopped(t, name)
			begun := events(t, dir, ref)[0]
			place := reprise.Place(ref)
			begun.Run = nil
			forge(t, dir, ref, reprise.Event{Kind: reprise.RunRenewed, Actor: "person", Run: &place, Then: []reprise.Event{begun}})
			put(t, dir, ".reprise/archive/box/note", "")
			if err := os.Rename(filepath.Join(dir, ref.Path), filepath.Join(dir, ".reprise/archive/box", filepath.Base(ref.Path))); err != nil {
				t.Fatal(err)
			}
			e := newEngine(dir)
			e.Now, e.Ask = shiftedNow, answering
			before := stamps(t, dir)
			p, err := e.Preview(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if stamps(t, dir) != before {
				t.Error("looking changed something")
			}
			first := launched(t, e, ref)
			if len(p.Starts) == 0 || p.Starts[0].Step != first.Step || p.Starts[0].Attempt != first.Attempt || !strings.Contains(strings.Join(p.Would, "\n"), "in the archive") {
				t.Errorf("%q would start %+v, and it began with %s", p.Would, p.Starts, first.Step)
			}
		})
	}
}

// launched resumes a run until the first agent is at work.
func launched(t *testing.T, e *engine.Engine, ref reprise.Ref) (first engine.Progress) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e.Tell = func(pr engine.Progress) {
		if pr.Kind == engine.Began && first.Step == "" {
			first = pr
			cancel()
		}
	}
	if _, err := e.Resume(ctx, ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	return first
}

// A journal that came with a project starts nothing, and speaks of no run that is
// not where such runs are: what would be begun is shown, and begun once a person
// has accepted the copy; commands of a workflow file stay those that are trusted.
func TestX8_a_forged_beginning_starts_nothing(t *testing.T) {
	t.Parallel()
	from := template(t, "file")
	w, hash, err := readFlow(filepath.Join(from, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	graph, err := w.Graph("flow.yaml", hash, 3)
	if err != nil {
		t.Fatal(err)
	}
	ref := refOf("small")
	place := reprise.Place(ref)
	forge(t, from, ref, reprise.Event{Kind: reprise.RunStarted, Run: &place, Text: graph}, ref.Path+"/task-graph.json")
	for _, adopt := range []bool{false, true} {
		dir := clone(t, from)
		at, err := listed(dir, "file")
		if err != nil || at != ref {
			t.Fatal(at, err)
		}
		e := newEngine(dir)
		e.Adopt = adopt
		untrusted := errors.New("nobody trusted it")
		e.Workflow = func(string) (*flow.Workflow, reprise.Hash, error) { return nil, reprise.Hash{}, untrusted }
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		var copied *durable.CopiedError
		if !adopt && !errors.As(err, &copied) || adopt && !errors.Is(err, untrusted) {
			t.Errorf("adopt %v: %+v %v", adopt, sum, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "out.one")); err == nil {
			t.Errorf("adopt %v: a command was started", adopt)
		}
		if _, err := os.Stat(filepath.Join(dir, ref.Path)); err == nil && !adopt {
			t.Error("files were made before anybody accepted the copy")
		}
	}
}

// Where no run of its kind can be, none is begun or started afresh, and none is
// listed that a person could pick.
func TestX8_OR9_a_forged_beginning_elsewhere_is_no_run(t *testing.T) {
	t.Parallel()
	for name, ref := range map[string]reprise.Ref{
		"sources":        {Layout: "eventrun", ID: "src", Path: "src", Kind: reprise.KindGraph},
		"another id":     {Layout: "eventrun", ID: "it is safe", Path: ".agent-memory/runs/r1", Kind: reprise.KindGraph},
		"another kind":   {Layout: "eventrun", ID: "r1", Path: ".agent-memory/runs/r1", Kind: reprise.KindStory},
		"outside":        {Layout: "eventrun", ID: "r1", Path: "../r1", Kind: reprise.KindGraph},
		"the state":      {Layout: "eventrun", ID: "journal", Path: ".reprise/journal", Kind: reprise.KindGraph},
		"another layout": {Layout: "orchestrate", ID: "src", Path: "src/main.go", Kind: reprise.KindStory},
	} {
		place := reprise.Place(ref)
		begins := reprise.Event{Kind: reprise.RunStarted, At: shiftedNow(), Run: &place, Text: `{"title": "Again", "tasks": [{"id": "T1", "title": "One", "dependencies": []}]}`}
		for _, ev := range []reprise.Event{begins, {Kind: reprise.RunRenewed, Actor: "person", Run: &place, Then: []reprise.Event{begins}}} {
			dir := repository(t)
			put(t, dir, "src/main.go", "package main\n")
			forge(t, dir, ref, ev, ref.Path+"/task-graph.json")
			found, err := project.Read(t.Context(), dir, project.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Runs) > 0 || len(found.Findings) == 0 {
				t.Errorf("%s, %s: %v %+v", name, ev.Kind, found.Runs, found.Findings)
			}
		}
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
// refused once, and the run can still be continued as it was.
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
