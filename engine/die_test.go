package engine_test

import (
	"errors"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// recordAndDie records events of a run as someone who dies right after.
func recordAndDie(t *testing.T, dir string, ref reprise.Ref, events ...reprise.Event) {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Release()
	for held := (*durable.HeldError)(nil); ; time.Sleep(10 * time.Millisecond) {
		// A program that another test starts just now may have the lock for a moment.
		if _, err := store.Take(t.Context()); err == nil {
			break
		} else if !errors.As(err, &held) {
			t.Fatal(err)
		}
	}
	j, err := journal.Open(store, convention.Find(ref.Layout), ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if _, err := j.Record(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
}
