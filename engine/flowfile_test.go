package engine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reprise"
	"reprise/engine"
	"reprise/flow"
	"reprise/internal/durable"
)

// large writes a workflow of many steps and reads it as it stands.
func large(t testing.TB, name, prompt string, n int) (*flow.Workflow, reprise.Hash) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "name: large\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: s%d, role: dev, prompt: %q}\n", i, prompt)
	}
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	w, hash, err := engine.ReadFlow(name, "")
	if err != nil {
		t.Fatal(err)
	}
	return w, hash
}

// X8: whatever stands in the place of a kept workflow, and whoever writes there at
// the same time: what is read is what the file says.
func TestX8_a_kept_workflow_is_never_in_the_way(t *testing.T) {
	t.Parallel()
	dir, keep := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	file := filepath.Join(dir, "w.yaml")
	w, hash := large(t, file, "do it", 1000)
	slot := filepath.Join(keep, fmt.Sprintf("workflow-%.1s", hash.String()))
	check := func(what string) {
		t.Helper()
		got, have, err := engine.ReadFlow(file, keep)
		if err != nil || have != hash {
			t.Fatalf("%s: %v", what, err)
		}
		got.Steps()
		if d := cmp.Diff(w, got, cmp.AllowUnexported(flow.Workflow{}), cmpopts.IgnoreFields(flow.Workflow{}, "kept")); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	for what, spoil := range map[string]func(){
		"nothing":     func() { _ = os.RemoveAll(slot) },
		"a folder":    func() { _ = os.RemoveAll(slot); _ = os.MkdirAll(slot, 0o755) },
		"garbage":     func() { _ = os.RemoveAll(slot); _ = os.WriteFile(slot, []byte("reprise-workflow-1 x\n{"), 0o644) },
		"a link":      func() { _ = os.RemoveAll(slot); _ = os.Symlink("/dev/zero", slot) },
		"a huge file": func() { _ = os.RemoveAll(slot); _ = os.WriteFile(slot, make([]byte, 17<<20), 0o644) },
	} {
		_ = os.MkdirAll(keep, 0o755)
		spoil()
		check(what)
		_ = engine.KeepFlow(keep, w, hash) // what stands in its place may refuse it
		check(what + ", kept")
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if i%2 == 0 {
				_ = durable.UpdatePrivate(slot, func([]byte) ([]byte, error) { return []byte("another"), nil })
			} else {
				_ = engine.KeepFlow(keep, w, hash)
			}
			check("at once")
		})
	}
	wait.Wait()
}

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
		read := make(chan error, 1)
		go func() {
			_, _, err := engine.ReadFlow(name(base), "")
			read <- err
		}()
		select {
		case err := <-read:
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v", base, err)
			}
			if errors.Is(err, fs.ErrNotExist) != (base == "none") {
				t.Errorf("%s: is it there? %v", base, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: it is not given up", base)
		}
	}
}
