package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"reprise/internal/watch"
)

func TestA_change_in_a_watched_folder_ends_the_wait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := watch.Open(time.Hour)
	defer f.Close()
	if !f.Add(dir, filepath.Join(dir, "later")) || f.Add(dir, filepath.Join(dir, "later")) {
		t.Error("it is not told whether a folder is newly watched")
	}
	for _, name := range []string{"a", "later"} { // a file, then a folder that is watched from then on
		if name == "later" {
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if !f.Wait(t.Context()) {
			t.Fatal("the wait was ended")
		}
		f.Add(filepath.Join(dir, "later"))
	}
	if err := os.WriteFile(filepath.Join(dir, "later", "b"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if !f.Wait(t.Context()) {
		t.Fatal("the wait was ended")
	}
}

func TestWithout_hints_the_time_ends_the_wait_and_the_context_ends_all(t *testing.T) {
	t.Parallel()
	var f watch.Folders
	f.Every = time.Millisecond
	if !f.Wait(t.Context()) {
		t.Error("the time did not end it")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.Every = time.Hour
	if f.Wait(ctx) {
		t.Error("a context that is over is not told")
	}
}
