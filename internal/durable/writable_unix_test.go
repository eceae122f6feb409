//go:build unix

package durable_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/durable"
)

// Whatever working on a run writes is asked for, and what refuses is named. (issue 15, item 5)
func TestWhat_cannot_be_written_is_named_without_writing(t *testing.T) {
	t.Parallel()
	for _, shut := range []string{"", "specs/001-a", "specs/001-a/tasks.md", ".git", ".git/objects", ".git/index", ".git/logs", ".git/refs/reprise", ".reprise", ".reprise/logs", ".reprise/journal", "."} {
		dir := t.TempDir()
		for _, name := range []string{"specs/001-a", ".git/objects", ".git/logs", ".git/refs/reprise", ".reprise/logs", ".reprise/journal"} {
			if strings.HasPrefix(name, ".reprise/") && shut == "." {
				continue // it is made there
			}
			if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"specs/001-a/tasks.md", ".git/index"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o444); err != nil {
				t.Fatal(err)
			}
		}
		if at := filepath.Join(dir, shut); shut != "" {
			if out, err := exec.Command("chattr", "+i", at).CombinedOutput(); err != nil {
				t.Skipf("nothing can be marked as not to be changed here: %v %s", err, out)
			}
			t.Cleanup(func() { exec.Command("chattr", "-i", at).Run() })
		}
		err := durable.Writable(dir, "specs/001-a/tasks.md")
		var fixed *durable.ReadOnlyError
		if shut == "" && err != nil || shut != "" && (!errors.As(err, &fixed) || fixed.Path != shut) {
			t.Errorf("%q: %v", shut, err)
		}
	}
}
