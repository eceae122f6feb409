package durable_test

import (
	"path/filepath"
	"testing"

	"reprise/internal/durable"
)

func TestX7_a_local_folder_keeps_a_second_lock_away(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := durable.LookAt(dir)
	if err != nil || p.Kind == "" || !p.Locks && !p.Network {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := durable.LookAt(filepath.Join(dir, "gone")); err == nil {
		t.Error("a folder that is not there has a file system")
	}
}
