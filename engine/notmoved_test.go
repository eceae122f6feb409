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

// A fresh start whose state cannot be moved, as in a folder that is mounted, is
// refused once, and the run can still be continued as it was.
func TestOR9_a_fresh_start_that_cannot_be_carried_out_does_not_hold_the_run(t *testing.T) {
	t.Parallel()
	dir, ref := stopped(t, "build")
	before := oldState(t, dir, ref)
	e := newEngine(dir)
	e.Disk = func(under durable.FS) durable.FS { return elsewhere{under} }
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{Option: "fresh"}); err == nil {
		t.Fatalf("it was not refused: %v", sum)
	}
	if !maps.EqualFunc(oldState(t, dir, ref), before, slices.Equal[[]string]) {
		t.Error("the state was changed")
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatalf("it cannot be gone on with: %v", err)
	}
	if sum.State != reprise.Complete && sum.State != reprise.Waiting || len(sum.Finished) == 0 {
		t.Errorf("%v %q %v", sum.State, sum.Reasons, sum.Failed)
	}
}
