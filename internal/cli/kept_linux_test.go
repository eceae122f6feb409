package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// X8: a large workflow that cannot be kept for the next time is started all the
// same: what is kept only spares time.
func TestX8_a_workflow_that_cannot_be_kept_is_started(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	var b strings.Builder
	fmt.Fprint(&b, "name: large\nsteps:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  - {id: s%d}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "large.yaml"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, "state/reprise"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Somebody else's file in the place of the folder.
	if err := os.WriteFile(filepath.Join(home, "state/reprise/kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, home, 0, "run", "large.yaml", "--trust")
}
