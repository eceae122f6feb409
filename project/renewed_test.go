package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

func openJournal(t *testing.T, dir string, ref reprise.Ref) (*durable.Store, *journal.Journal) {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(store, convention.Find(ref.Layout), ref)
	if err != nil {
		t.Fatal(err)
	}
	return store, j
}

// O2: whoever began a run and was killed before its first step leaves an interrupted
// one, with files or without; what tells of that is named. Who left in good order
// leaves one that is not started.
func TestO2_a_run_that_was_cut_off_before_its_first_step(t *testing.T) {
	t.Parallel()
	ref := reprise.Ref{Layout: "specloop", ID: "001-export", Path: "specs/001-export", Kind: reprise.KindSpecLoop}
	at, place := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), reprise.Place(ref)
	left := reprise.Event{Kind: reprise.EngineLeft, At: at}
	for name, c := range map[string]struct {
		then    []reprise.Event // after it was begun
		without string          // what has not come to be
		want    reprise.State   // zero for no run
		says    string
	}{
		"begun":             {want: reprise.Interrupted, says: "it was being started when"},
		"without files":     {without: ref.Path, want: reprise.Interrupted, says: "it was being started when"},
		"with its folder":   {without: ref.Path + "/.workflow/index.md", want: reprise.Interrupted, says: "it was being started when"},
		"begun in order":    {then: []reprise.Event{left}, want: reprise.NotStarted},
		"taken up":          {then: []reprise.Event{left, {Kind: reprise.RunResumed, At: at}}, want: reprise.Interrupted},
		"taken up and left": {then: []reprise.Event{left, {Kind: reprise.RunResumed, At: at}, left}, want: reprise.NotStarted},
		"gone later":        {then: []reprise.Event{left}, without: ref.Path},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store, j := openJournal(t, dir, ref)
			begins := reprise.Event{Kind: reprise.RunStarted, At: at, Run: &place, Text: "CSV export"}
			for _, ev := range append([]reprise.Event{begins}, c.then...) {
				if _, err := j.Record(t.Context(), ev); err != nil {
					t.Fatal(err)
				}
			}
			if err := store.Release(); err != nil {
				t.Fatal(err)
			}
			if c.without != "" {
				if err := os.RemoveAll(filepath.Join(dir, c.without)); err != nil {
					t.Fatal(err)
				}
			}
			for _, full := range []bool{false, true} {
				found, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: at.Add(time.Hour)}, Full: full})
				if err != nil {
					t.Fatal(err)
				}
				r := found.Find(ref)
				switch {
				case c.want == 0 && r == nil:
					continue
				case r == nil || len(found.Runs) != 1:
					t.Fatalf("there are %v", found.Runs)
				case r.State != c.want:
					t.Errorf("%q is %v: %s", r.Title, r.State, r.Reason)
				}
				i := slices.IndexFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeRolledForward })
				if c.says == "" && i < 0 {
					continue
				}
				if i < 0 || c.says == "" || !strings.Contains(r.Findings[i].Message, c.says) {
					t.Fatalf("it says %+v", r.Findings)
				}
				if _, err := os.Stat(filepath.Join(dir, r.Findings[i].Source.File)); err != nil || !strings.Contains(r.Findings[i].Source.File, journal.Name(ref)) {
					t.Errorf("it names %s: %v", r.Findings[i].Source.File, err)
				}
			}
		})
	}
}
