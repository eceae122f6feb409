package project_test

import (
	"testing"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
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
