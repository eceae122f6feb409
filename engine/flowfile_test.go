package engine_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/engine"
)

// L3 X9: what stands in the place of a workflow file neither stops the reader nor fills
// its memory.
func TestL3_X9_a_workflow_file_is_read_bounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(base string) string { return filepath.Join(dir, base) }
	if err := errors.Join(os.Mkdir(name("folder"), 0o755), os.Symlink("/dev/zero", name("device")), os.WriteFile(name("huge"), nil, 0o644), os.Truncate(name("huge"), 1<<30)); err != nil {
		t.Fatal(err)
	}
	says := map[string]string{"folder": "not a regular file", "device": "not a regular file", "huge": "larger than 1024 KiB", "none": "no such file"}
	if exec.Command("mkfifo", name("fifo")).Run() == nil {
		says["fifo"] = "not a regular file"
	}
	for base, says := range says {
		_, _, err := engine.ReadFlow(name(base))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", base, err)
		}
		if errors.Is(err, fs.ErrNotExist) != (base == "none") {
			t.Errorf("%s: is it there? %v", base, err)
		}
	}
}
