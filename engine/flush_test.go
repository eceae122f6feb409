package engine_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
)

// flushes is a disk that knows whether it was flushed since a branch moved.
type flushes struct {
	durable.FS
	branch  string // the file of it
	before  string // what stood there at first
	flushed atomic.Bool
	early   atomic.Bool // an end was recorded before
	ends    atomic.Int32
}

func (d *flushes) Flush() error {
	err := d.FS.Flush()
	if now, readErr := os.ReadFile(d.branch); readErr == nil && string(now) != d.before {
		d.flushed.Store(true)
	}
	return err
}

func (d *flushes) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return flushesFile{f, d}, nil
}

type flushesFile struct {
	durable.File
	disk *flushes
}

func (f flushesFile) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"kind":"`+string(reprise.StepFinished))) {
		f.disk.ends.Add(1)
		f.disk.early.Store(!f.disk.flushed.Load())
	}
	return f.File.Write(p)
}

// Git does not flush all that it writes: the end of a step is recorded once the commit
// that holds its work survives a power cut.
func TestThe_work_of_a_step_is_flushed_before_it_is_recorded(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: make it, outputs: [out/a.txt]}\n")
	disk := &flushes{branch: filepath.Join(e.Dir, ".git/refs/heads/main")}
	disk.before = get(t, e.Dir, ".git/refs/heads/main")
	e.Disk = func(under durable.FS) durable.FS { disk.FS = under; return disk }
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete || len(sum.Finished) != 1 || sum.Finished[0].Commit == "" {
		t.Fatalf("%+v, %v", sum, err)
	}
	if disk.ends.Load() == 0 || disk.early.Load() {
		t.Errorf("%d ends on record, the last of them before the flush: %v", disk.ends.Load(), disk.early.Load())
	}
}
