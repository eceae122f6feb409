package project_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/layout"
	"reprise/project"
)

// OR9: a run whose fresh start was cut off while it has no files is listed; if its
// journal cannot be read either, that is said, and is not taken for nothing there.
func TestOR9_a_run_that_only_its_journal_knows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ref := reprise.Ref{Layout: "eventrun", ID: "r1", Path: ".agent-memory/runs/r1", Kind: reprise.KindGraph}
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(store, layout.Find(ref.Layout), ref)
	if err != nil {
		t.Fatal(err)
	}
	at, place := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), reprise.Place(ref)
	begins := reprise.Event{Kind: reprise.RunStarted, At: at, Text: `{"title": "Again", "tasks": [{"id": "T1", "title": "One", "dependencies": []}]}`}
	for _, ev := range []reprise.Event{
		{Kind: reprise.EngineLeft, At: at, Actor: "reprise"},
		{Kind: reprise.RunRenewed, At: at, Actor: reprise.Person, Run: &place, Then: []reprise.Event{begins}},
	} {
		if err := j.Note(ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Release(); err != nil {
		t.Fatal(err)
	}
	judge := func() *project.Judgement {
		found, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: at.Add(time.Hour)}})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := judge(); found.Find(ref) == nil || len(found.Findings) > 0 {
		t.Fatalf("%v %+v", found.Runs, found.Findings)
	}
	file := filepath.Join(dir, ".reprise/journal", journal.Name(ref)+"-000001.log")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(data, []byte("engine_left"), []byte("engine_lost"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	found := judge()
	if !slices.ContainsFunc(found.Findings, func(f reprise.Finding) bool {
		return f.Code == reprise.CodeJournalDamaged && f.Severity == reprise.Blocking
	}) {
		t.Errorf("nothing is said: %v %+v", found.Runs, found.Findings)
	}
}
