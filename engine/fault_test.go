package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
)

// faulty is a workflow with a role, a command and a milestone, all done in this process
// but for the command.
const faulty = `name: faulty
steps:
  - {id: a, role: maker, prompt: make it, outputs: [a.txt]}
  - {id: half, needs: [a]}
  - {id: b, needs: [half], command: [sh, -c, 'echo b > b.txt'], outputs: [b.txt]}
  - {id: c, needs: [b], role: maker, prompt: make it, outputs: [c.txt]}
`

// fault is an error of the disk at one operation, or from that one on.
type fault struct {
	at   int
	err  error
	from bool
}

func (f fault) String() string {
	if f.from {
		return fmt.Sprintf("%v from operation %d on", f.err, f.at)
	}
	return fmt.Sprintf("%v at operation %d", f.err, f.at)
}

// disk counts the operations of all stores of an engine together.
func (f fault) disk(count *int) func(durable.FS) durable.FS {
	var mu sync.Mutex
	return func(under durable.FS) durable.FS {
		return crashfs.Failing(under, func(int) error {
			mu.Lock()
			defer mu.Unlock()
			at := *count
			*count++
			if f.err != nil && (at == f.at || f.from && at > f.at) {
				return f.err
			}
			return nil
		})
	}
}

// worked is what came of working on a project.
type worked struct {
	sum *engine.Summary
	err error
}

// workFaulty begins the workflow and works on it until the engine leaves.
func workFaulty(t testing.TB, dir string, disk func(durable.FS) durable.FS) (out worked) {
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"maker": made})
	e.Disk = disk
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ref := refOf("faulty")
	if _, err := os.Stat(filepath.Join(dir, ref.Path)); err != nil {
		if ref, out.err = e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "faulty"}, engine.Choice{}); out.err != nil {
			return out
		}
	}
	out.sum, out.err = e.Resume(t.Context(), ref, engine.Choice{})
	return out
}

// Every error on the way to the disk ends the engine within a bound and is said: either
// all steps are done and on record, or the error names what the disk refused. The next
// engine comes to the end, with every step accepted once. Requirements D8, L1.
// A few of the operations are drawn with a seed; REPRISE_ALL takes them all.
func TestEvery_error_of_the_disk_is_said_and_ends_within_a_bound(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	from := repository(t)
	put(t, from, "flow.yaml", faulty)
	git(t, from, "add", "-A")
	git(t, from, "commit", "-q", "-m", "state")
	copied := func() string {
		dir := filepath.Join(t.TempDir(), "p")
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	ops := 0
	if out := workFaulty(t, copied(), fault{}.disk(&ops)); out.err != nil || out.sum.State != reprise.Complete {
		t.Fatalf("undisturbed: %+v, %v", out.sum, out.err)
	}
	var all []fault
	for n := range ops {
		for _, errno := range []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS} {
			all = append(all, fault{n, errno, false}, fault{n, errno, true})
		}
	}
	r := rand.New(rand.NewPCG(seedOf(t), 0))
	tried := few(r, all, 8)
	parallel(2, tried, func(f fault) {
		dir, at := copied(), 0
		done := make(chan worked, 1)
		go func() { done <- workFaulty(t, dir, f.disk(&at)) }()
		var out worked
		select {
		case out = <-done:
		case <-time.After(5 * time.Minute):
			t.Errorf("%v: it hangs", f)
			return
		}
		whole := out.err == nil && out.sum.State == reprise.Complete
		if !whole && !errors.Is(out.err, f.err) {
			t.Errorf("%v: it is not said: %v, %+v", f, out.err, out.sum)
		}
		at = 0
		if out := workFaulty(t, dir, fault{}.disk(&at)); out.err != nil || out.sum.State != reprise.Complete {
			t.Errorf("%v: the next engine: %v, %+v", f, out.err, out.sum)
			return
		}
		recorded := events(t, dir, refOf("faulty"))
		for _, step := range []string{"a", "half", "b", "c"} {
			if n := count(recorded, reprise.StepFinished, step); n != 1 {
				t.Errorf("%v: %s has %d accepted ends", f, step, n)
			}
		}
	})
	t.Logf("%d of %d faults at %d operations", len(tried), len(all), ops)
}
