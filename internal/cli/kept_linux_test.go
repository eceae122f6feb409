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
	dir, home := largeFlow(t), t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "state/reprise"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Somebody else's file in the place of the folder.
	if err := os.WriteFile(filepath.Join(home, "state/reprise/kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, home, 0, "run", "large.yaml", "--trust")
}

// X8: what another build of the program kept does not count; it is kept anew by the
// next command that starts something, and by none that only looks.
func TestX8_a_workflow_is_kept_again_by_another_build(t *testing.T) {
	t.Parallel()
	dir, home := largeFlow(t), t.TempDir()
	expect(t, dir, home, 0, "run", "large.yaml", "--trust", "--id", "one")
	kept, err := filepath.Glob(filepath.Join(home, "state/reprise/kept/workflow-?"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %q, %v", kept, err)
	}
	ours, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	other := []byte(strings.Replace(string(ours), "reprise-workflow-", "reprise-otherflow-", 1))
	if err := os.WriteFile(kept[0], other, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []byte
	}{
		{[]string{"run", "large.yaml", "--id", "two", "--dry-run"}, other},
		{[]string{"run", "large.yaml", "--id", "two"}, ours},
	} {
		expect(t, dir, home, 0, c.args...)
		if now, err := os.ReadFile(kept[0]); err != nil || string(now) != string(c.want) {
			t.Errorf("%q left %.40q, %v; want %.40q", c.args, now, err, c.want)
		}
	}
}

// largeFlow is a project with a workflow file that is large enough to be kept.
func largeFlow(t *testing.T) (dir string) {
	dir = t.TempDir()
	var b strings.Builder
	fmt.Fprint(&b, "name: large\nsteps:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  - {id: s%d}\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "large.yaml"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
