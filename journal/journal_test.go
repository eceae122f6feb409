package journal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	entries, _, err := journal.Read(reader, journal.Name(ref))
	if err != nil || len(entries) != 1 || entries[0].Event.Step != "T005" || len(entries[0].Files) != 1 {
		t.Fatalf("%+v, %v", entries, err)
	}
	if findings, err := look(reader, ref); err != nil || len(findings) > 0 {
		t.Errorf("nothing is behind: %+v, %v", findings, err)
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

// An undo that was killed once it was recorded is planned again from what the run wrote, and
// not from nothing.
func TestAn_undo_that_nothing_followed_hides_nothing_from_the_next_one(t *testing.T) {
	t.Parallel()
	dir := project(t, "eventrun")
	l := find("eventrun")
	ref, _ := refOf(t, l, dir, eventRun)
	s := take(t, dir)
	defer s.Release()
	j, err := journal.Open(s, l, ref)
	if err != nil {
		t.Fatal(err)
	}
	edits, err := j.Record(t.Context(), started("T005"))
	if err != nil || len(edits) == 0 {
		t.Fatalf("%d edits, %v", len(edits), err)
	}
	wrote := edits[0].Path
	restored := reprise.Event{Kind: reprise.StateRestored, At: at, Text: "snapshot 000001"}
	for range 2 { // the second was killed as well
		if err := journal.Restored(s, restored, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, wrote), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if a, err := journal.ReadUndone(s, journal.Name(ref)); err != nil || len(a.Entries) != 1 || !a.Differs(s, ref, wrote) {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := j.Record(t.Context(), started("T006")); err != nil {
		t.Fatal(err)
	}
	if a, err := journal.ReadUndone(s, journal.Name(ref)); err != nil || len(a.Entries) != 4 || a.Differs(s, ref, wrote) {
		t.Errorf("%+v, %v", a, err)
	}
}

// look tells how the files of a run stand to its journal.
func look(store *durable.Store, ref reprise.Ref) ([]reprise.Finding, error) {
	a, err := journal.ReadAccount(store, journal.Name(ref))
	if err != nil {
		return nil, err
	}
	return a.Stand(store, ref)
}

// An undo is our own act: no one is told that something else changed the files, now
// or when deferred events reach them.
func TestX7_X3_what_was_undone_was_not_changed_by_something_else(t *testing.T) {
	t.Parallel()
	dir, l := flowProject(t), find("eventrun")
	s := take(t, dir)
	if err := deferAll(s, l, []string{"S1", "S2"}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	j, _, _, err := journal.OpenRun(t.Context(), s, l, flowRef)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(logOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []reprise.EventKind{reprise.StepStarted, reprise.StepFinished} {
		if _, err := j.Record(t.Context(), reprise.Event{Kind: kind, Step: "S3", At: at.Add(time.Minute), Attempt: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Restored(s, reprise.Event{Kind: reprise.StateRestored, At: at.Add(2 * time.Hour)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(logOf(t, dir), before, 0o644); err != nil {
		t.Fatal(err)
	}
	if findings, err := look(s, flowRef); err != nil || len(findings) > 0 {
		t.Errorf("looking: %+v, %v", findings, err)
	}
	if findings, err := j.CatchUp(t.Context()); err != nil || len(findings) > 0 {
		t.Errorf("catching up: %+v, %v", findings, err)
	}
	if err := deferAll(s, l, []string{"S3"}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	die(t, s)
	s = take(t, dir)
	_, findings, run, err := journal.OpenRun(t.Context(), s, l, flowRef)
	if err != nil || len(findings) != 1 || findings[0].Code != reprise.CodeRolledForward || run.Step("S3").Status != reprise.Done {
		t.Errorf("deferred after it: %+v, %v", findings, err)
	}
}

// logOf is the one file that events of the example of deferred ones are written to.
func logOf(t *testing.T, dir string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, flowRef.Path, "events/reprise/*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	return logs[0]
}
