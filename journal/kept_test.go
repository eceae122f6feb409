package journal_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// account counts what it hears, and adds it up.
type account struct {
	heard *int
	hist  *journal.History
}

func (a *account) Hear(e *journal.Entry) { *a.heard++; a.hist.Add(&e.Event) }
func (a *account) Copy() *account        { return &account{a.heard, a.hist.Copy()} }

// What is kept of a journal counts for that journal wherever it is, and for no other: what
// it adds up to is always what reading all of it does. (issue 19)
func TestKept_is_what_reading_everything_tells(t *testing.T) {
	t.Parallel()
	dir := project(t, "eventrun")
	l := find("eventrun")
	ref, _ := refOf(t, l, dir, eventRun)
	take := func(dir string) *durable.Store {
		t.Helper()
		s, err := durable.Open(dir, durable.Options{Adopt: true})
		if err == nil {
			_, err = s.Take(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	note := func(dir string, events ...reprise.Event) {
		t.Helper()
		s := take(dir)
		defer s.Release()
		j, err := journal.Open(s, l, ref)
		if err != nil {
			t.Fatal(err)
		}
		for i, ev := range events {
			ev.At = at.Add(time.Duration(i) * time.Second)
			if err := j.Note(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	copied := func(name string) string {
		t.Helper()
		to := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		return to
	}
	left := reprise.Event{Kind: reprise.StepFailed, Step: "T005", Attempt: 1, Left: []string{"a"}, Work: []reprise.Expected{{Path: "a"}}}
	note(dir, started("T005"), left)
	early := copied("early")
	note(dir, reprise.Event{Kind: reprise.StepStarted, Step: "T005", Attempt: 2, Key: "k"})
	late := copied("late")
	note(early, reprise.Event{Kind: reprise.StepSkipped, Step: "T005"})

	heard := 0
	fresh := func() *account { return &account{&heard, &journal.History{}} }
	kept := &journal.Kept[*account]{}
	for _, c := range []struct {
		name, dir string
		heard     int
	}{
		{"for the first time", dir, 3},
		{"again", dir, 0},
		{"elsewhere", late, 0},
		{"one that went another way", early, 3},
		{"the first again", dir, 3},
	} {
		heard = 0
		s := take(c.dir)
		j, told, err := kept.Open(s, l, ref, fresh)
		if err != nil {
			t.Fatal(err)
		}
		if heard != c.heard {
			t.Errorf("%s: %d entries were read, want %d", c.name, heard, c.heard)
		}
		entries, _, err := journal.Read(s, journal.Name(ref))
		if want := journal.Fold(entries); err != nil || !reflect.DeepEqual(told.hist, want) {
			t.Errorf("%s: %+v, want %+v; %v", c.name, told.hist, want, err)
		}
		// What is told of the copy is not kept.
		told.hist.Add(&reprise.Event{Kind: reprise.StepFailed, Step: "T005", Attempt: 2, Left: []string{"b"}, Work: []reprise.Expected{{Path: "b"}}})
		told.hist.Add(&reprise.Event{Kind: reprise.StepStarted, Step: "T006", Attempt: 1, Agent: "x"})
		if findings, err := j.CatchUp(t.Context()); err != nil || len(findings) > 0 {
			t.Errorf("%s: %v, %v", c.name, findings, err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// Where only this process changes files, a run is read again once it did, and not before.
// (issue 19)
func TestStill_reads_again_what_was_changed(t *testing.T) {
	t.Parallel()
	dir := project(t, "eventrun")
	l := find("eventrun")
	ref, _ := refOf(t, l, dir, eventRun)
	still := &journal.Still{}
	open := func(do func(j *journal.Journal, current func() *reprise.Run)) {
		t.Helper()
		s := take(t, dir)
		defer s.Release()
		j, err := journal.Open(s, l, ref)
		if err != nil {
			t.Fatal(err)
		}
		j.Still(still)
		do(j, func() *reprise.Run {
			t.Helper()
			run, err := j.Current()
			if err != nil {
				t.Fatal(err)
			}
			return run
		})
	}
	var first, second *reprise.Run
	open(func(j *journal.Journal, current func() *reprise.Run) {
		if first = current(); current() != first {
			t.Error("it was read again for nothing")
		}
		if _, err := j.Record(t.Context(), started("T005")); err != nil {
			t.Fatal(err)
		}
		if second = current(); second == first || second.Step("T005").Status != reprise.InProgress {
			t.Errorf("T005 is %s", second.Step("T005").Status)
		}
	})
	open(func(j *journal.Journal, current func() *reprise.Run) {
		if current() != second {
			t.Error("it was read again for nothing by the next one")
		}
		if err := j.Note(reprise.Event{Kind: reprise.EngineLeft, At: at}); err != nil || current() != second {
			t.Errorf("the journal is no file of the run: %v", err)
		}
		if _, err := j.Record(t.Context(), reprise.Event{Kind: reprise.StepFinished, Step: "T005", At: at.Add(time.Second), Attempt: 1}); err != nil {
			t.Fatal(err)
		}
	})
	open(func(_ *journal.Journal, current func() *reprise.Run) {
		run := current()
		if run.Step("T005").Status != reprise.Done {
			t.Errorf("T005 is %s: what was changed last was not read", run.Step("T005").Status)
		}
		if still.Moved(); current() == run {
			t.Error("files were moved, and nothing was read")
		}
	})
}
