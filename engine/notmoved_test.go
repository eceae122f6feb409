package engine_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
)

// elsewhere is a disk on which the archive lies on another file system than the
// runs.
type elsewhere struct{ durable.FS }

func (d elsewhere) Rename(from, to string) error {
	if strings.HasPrefix(to, ".reprise/archive/") {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return d.FS.Rename(from, to)
}
