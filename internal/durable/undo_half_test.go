package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"reprise/internal/durable"
)

// The note of a begun undo that cannot be read is not "no undo".
func TestAn_unreadable_note_of_an_undo_is_no_whole_project(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Whole(); err != nil {
		t.Fatalf("without an undo: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, ".reprise", "undo"), 0o777); err != nil {
		t.Fatal(err)
	}
	half := (*durable.HalfUndoneError)(nil)
	if err := store.Whole(); err == nil || errors.As(err, &half) {
		t.Errorf("with a folder in its place: %v", err)
	}
}
