package journal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// project is a real folder with the example of a layout in it.
func project(t *testing.T, example string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS("../examples/"+example)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func take(t *testing.T, dir string) *durable.Store {
	t.Helper()
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

const eventRun = "20260212-0915-csv-export-k3f9"

func started(step string) reprise.Event {
	return reprise.Event{Kind: reprise.StepStarted, Step: step, At: at, Attempt: 1}
}

func TestX7_the_event_is_recorded_before_the_files_follow(t *testing.T) {
	t.Parallel()
	dir := project(t, "eventrun")
	l := find("eventrun")
	ref, _ := refOf(t, l, dir, eventRun)
	s := take(t, dir)
	j, err := journal.Open(s, l, ref)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := j.Record(context.Background(), started("T005"))
	if err != nil || len(edits) == 0 {
		t.Fatalf("%d edits, %v", len(edits), err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	reader, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := readOlder(reader, journal.Name(ref))
	if err != nil || len(entries) != 1 || entries[0].Event.Step != "T005" || len(entries[0].Files) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
}

func TestX3_what_somebody_else_wrote_is_left_alone(t *testing.T) {
	t.Parallel()
	dir := project(t, "eventrun")
	l := find("eventrun")
	ref, _ := refOf(t, l, dir, eventRun)
	s := take(t, dir)
	j, err := journal.Open(s, l, ref)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := j.Record(context.Background(), started("T005"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, edits[0].Path)
	theirs := []byte("{\"event_type\":\"task-completed\",\"task_id\":\"T005\",\"timestamp\":\"2026-03-21T00:00:00Z\"}\n")
	if err := os.WriteFile(file, theirs, 0o644); err != nil {
		t.Fatal(err)
	}
	findings, err := j.CatchUp(context.Background())
	if err != nil || len(findings) != 1 || findings[0].Code != reprise.CodeMovedOn || findings[0].Source.File != edits[0].Path {
		t.Fatalf("%+v, %v", findings, err)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(theirs) {
		t.Errorf("it was overwritten: %q %v", now, err)
	}
}

func TestNames_of_journals_are_file_names(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, ref := range []reprise.Ref{
		{Layout: "orchestrate", ID: "3.2", Path: "docs/stories/3.2.md"},
		{Layout: "orchestrate", ID: "3.2", Path: "other/3.2.md"},
		{Layout: "autoclaude", ID: "../../etc/passwd", Path: "x"},
		{Layout: "autoclaude", ID: strings.Repeat("ü", 100), Path: "y"},
		{Layout: "autoclaude", ID: "\x1b[31m", Path: "z"},
	} {
		name := journal.Name(ref)
		if seen[name] || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%+v gives %q", ref, name)
		}
		seen[name] = true
	}
}

func TestX7_what_was_undone_is_not_brought_up_again(t *testing.T) {
	t.Parallel()
	dir := project(t, "eventrun")
	l := find("eventrun")
	ref, _ := refOf(t, l, dir, eventRun)
	s := take(t, dir)
	j, err := journal.Open(s, l, ref)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := j.Record(context.Background(), started("T005"))
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.Restored(s, reprise.Event{Kind: reprise.StateRestored, At: at}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, edits[0].Path)); err != nil { // as it was before
		t.Fatal(err)
	}
	findings, err := j.CatchUp(context.Background())
	if err != nil || len(findings) > 0 {
		t.Errorf("%+v, %v", findings, err)
	}
	if _, err := os.Stat(filepath.Join(dir, edits[0].Path)); !os.IsNotExist(err) {
		t.Error("the undone event was written again")
	}
}

// readOlder gives the entries of a journal as builds before the core kept them.
func readOlder(s *durable.Store, name string) ([]journal.Entry, durable.LogInfo, error) {
	a, err := journal.ReadOlder(s, name)
	return a.Entries, a.Info, err
}
