package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/durable"
)

// sparse makes a file of a size that takes no room on the disk.
func sparse(t *testing.T, name string, size int64) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// X8: a file is hashed however large it is, with no more memory than for a small one.
// It does not run beside other tests: what they use would count.
func TestX8_a_large_file_is_hashed_in_little_memory(t *testing.T) {
	dir := tempDir(t)
	const size = 100 << 20
	sparse(t, filepath.Join(dir, "model.bin"), size)
	s := opened(t, dir)
	if _, err := s.ReadFile("model.bin"); !errors.Is(err, durable.ErrTooLarge) {
		t.Fatalf("it is not large enough to tell anything: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := s.HashFile("model.bin")
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("%d bytes were used", used)
	}
	// head -c 104857600 /dev/zero | sha256sum
	if want := "20492a4d0d84f8beb1767f6616229f85d44c2827b64bdbfb260ee12fa1109e0e"; err != nil || got.String() != want {
		t.Errorf("%s %v", got, err)
	}
}

// T8: a file of a terabyte that nobody wrote is hashed in no time, and its hash is not that of what
// was recorded.
func TestX8_a_sparse_file_is_not_read_to_its_end(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	sparse(t, filepath.Join(dir, "a"), 1<<40)
	sparse(t, filepath.Join(dir, "b"), 1<<40+1)
	s := opened(t, dir)
	a, err := s.HashFile("a")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.HashFile("a"); err != nil || again != a {
		t.Errorf("it changed: %v", err)
	}
	if b, err := s.HashFile("b"); err != nil || b == a {
		t.Errorf("another size has the same hash: %v", err)
	}
}

// The hash is that of what ReadFile reads, and it refuses what ReadFile refuses.
func TestX9_a_hash_is_that_of_what_is_read(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, "empty", "", 0o644)
	write(t, dir, "a/small.md", "small\n", 0o644)
	write(t, dir, "a/block", strings.Repeat("0123456789abcdef", 32<<10), 0o644)
	linkTo(t, dir, "a/small.md", "inside")
	linkTo(t, dir, "../../outside", "out")
	linkTo(t, dir, "none", "dangling")
	s := opened(t, dir)
	for _, name := range []string{"empty", "a/small.md", "a/block", "inside", "out", "dangling", "a", "none", "a/none", "a/small.md/below", "../up", ""} {
		data, readErr := s.ReadFile(name)
		got, err := s.HashFile(name)
		switch {
		case (err == nil) != (readErr == nil) || err != nil && err.Error() != readErr.Error():
			t.Errorf("%q: read %v, hashed %v", name, readErr, err)
		case err == nil && got != reprise.HashOf(data), err != nil && !got.IsZero():
			t.Errorf("%q: %s", name, got)
		case errors.Is(readErr, fs.ErrNotExist) != errors.Is(err, fs.ErrNotExist):
			t.Errorf("%q: read %v, hashed %v", name, readErr, err)
		}
	}
}
