package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
