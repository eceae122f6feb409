package longrun_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/longrun"
)

// TestLR9_Record plays the events of each archive of testdata/record on its
// tree and compares what changes, line by line.
func TestLR9_Record(t *testing.T) {
	t.Parallel()
	conventiontest.Events(t, "testdata/record", func(t *testing.T, out *strings.Builder, fsys fstest.MapFS, ev reprise.Event) fstest.MapFS {
		fmt.Fprintf(out, "== %s %s%s\n", ev.Kind, ev.Step, ev.Question)
		load := func(fsys fstest.MapFS) *reprise.Run { return theRun(t, fsys) }
		next, ok := conventiontest.Change(t, out, longrun.Layout{}, fsys, load, ev)
		if !ok {
			return fsys
		}
		before, after := load(fsys), load(next)
		fmt.Fprintf(out, "-> %s: %s\n", after.State, after.Reason)
		for i := range after.Steps {
			s := &after.Steps[i]
			if old := before.Step(s.ID); old == nil || old.Status != s.Status {
				fmt.Fprintf(out, "-> step %s is %s\n", s.ID, s.Status)
			}
		}
		for _, f := range after.Findings {
			fmt.Fprintf(out, "-> %s %s %s: %s\n", f.Severity, f.Code, f.Source, f.Message)
		}
		return next
	})
}

func theRun(t *testing.T, fsys fs.FS) *reprise.Run {
	t.Helper()
	runs, err := conventiontest.Read(longrun.New(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) == 0 {
		return &reprise.Run{Ref: reprise.Ref{Layout: "longrun", ID: "long-run"}}
	}
	return runs[0]
}

func at(hour int) time.Time { return time.Date(2026, 1, 16, hour, 30, 0, 0, time.UTC) }
