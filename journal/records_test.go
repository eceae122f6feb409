//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reprise/internal/durable"
	"reprise/journal"
)

// T8: what a stranger put in the place of a journal of records holds nobody up, and is never
// taken for none.
func TestT8_what_is_no_journal_of_records_is_told_and_not_waited_for(t *testing.T) {
	for name, put := range map[string]func(name string) error{
		"a pipe":              func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a link to nothing":   func(name string) error { return os.Symlink("/nowhere", name) },
		"a folder":            func(name string) error { return os.Mkdir(name, 0o700) },
		"a file without end":  func(name string) error { return truncate(name, 1<<40) },
		"a line without end":  func(name string) error { return os.WriteFile(name, []byte(strings.Repeat("x", 9<<20)), 0o600) },
		"a line that is none": func(name string) error { return os.WriteFile(name, []byte("00000000 {}\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			run := filepath.Join(dir, durable.StateDir, "runs", "speckit-a-00000000")
			if err := os.MkdirAll(run, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(filepath.Join(run, "journal")); err != nil {
				t.Fatal(err)
			}
			store, err := durable.Open(dir, durable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Release()
			if names, err := journal.Logs(store); err != nil || len(names) != 1 || !journal.OnWorlds(store, names[0]) {
				t.Errorf("%q, %v", names, err)
			}
			if a, err := journal.ReadAccount(store, "speckit-a-00000000"); err == nil {
				t.Errorf("%d entries, and no error", len(a.Entries))
			}
		})
	}
}

func truncate(name string, size int64) error {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(name, size)
}
