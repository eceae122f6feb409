//go:build unix

package hostile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Odd is what may be in the place of a file that a look reads. Make puts it there, where nothing is;
// an error tells that this machine cannot have it.
type Odd struct {
	Name string
	Make func(at string) error
}

// Odds are all of them. None takes much room on the disk.
var Odds = []Odd{
	{"a sparse file of 1 TB", sparse(1 << 40)},
	{"a line of 1 GB", sparse(1 << 30)},
	{"5 MB of NULs", text(bytes.Repeat([]byte{0}, 5<<20))},
	{"8 MB of brackets", text(bytes.Repeat([]byte("["), 8<<20))},
	{"a line of JSON", text([]byte(`{"tasks":[` + strings.Repeat(`{"id":1,"status":"done","title":"pending (partial): TODO, depends on T001"},`, 4000) + `{}]}`))},
	{"4 MB of boxes", text(bytes.Repeat([]byte("- [ ] T001 do this (pending), which depends on T002\n"), 80_000))},
	{"a named pipe", func(at string) error { return syscall.Mkfifo(at, 0o600) }},
	{"a device", func(at string) error { return syscall.Mknod(at, syscall.S_IFCHR|0o600, 1<<8|5) }}, // that of /dev/zero
	{"a link to a device", func(at string) error { return os.Symlink("/dev/zero", at) }},
	{"a link out", func(at string) error { return os.Symlink("/etc/passwd", at) }},
	{"a link to itself", func(at string) error { return os.Symlink(filepath.Base(at), at) }},
	{"a link to all", func(at string) error { return os.Symlink("/", at) }},
	{"a deep folder", func(at string) error { return os.MkdirAll(filepath.Join(at, strings.Repeat("d/", 900)), 0o755) }},
	{"a socket", func(at string) error { return syscall.Mknod(at, syscall.S_IFSOCK|0o600, 0) }},
}

func sparse(size int64) func(at string) error {
	return func(at string) error {
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(at, size)
	}
}

func text(data []byte) func(at string) error {
	return func(at string) error { return os.WriteFile(at, data, 0o600) }
}
