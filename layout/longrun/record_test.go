package longrun_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/layout/layouttest"
	"reprise/layout/longrun"
)

// TestLR9_Record plays the events of each archive of testdata/record on its
// tree and compares what changes, line by line. The last file `want` is
// rewritten with -update.
func TestLR9_Record(t *testing.T) {
	t.Parallel()
	layouttest.Archives(t, "testdata/record", func(t *testing.T, fsys fstest.MapFS) string {
		events := readEvents(t, fsys["events"].Data)
		delete(fsys, "events")
		return play(t, fsys, events)
	})
}

func readEvents(t *testing.T, data []byte) []reprise.Event {
	t.Helper()
	var out []reprise.Event
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var ev reprise.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, ev)
	}
	return out
}

// play records one event after the other and describes what each changed.
func play(t *testing.T, fsys fstest.MapFS, events []reprise.Event) string {
	t.Helper()
	var b strings.Builder
	for _, ev := range events {
		run := theRun(t, fsys)
		fmt.Fprintf(&b, "== %s %s%s\n", ev.Kind, ev.Step, ev.Question)
		edits, err := longrun.Layout{}.Record(fsys, run, ev)
		if err != nil {
			fmt.Fprintf(&b, "refused (no place: %t): %v\n", errors.Is(err, reprise.ErrCannotRecord), err)
			if len(edits) > 0 {
				t.Errorf("%s: an error and %d edits", ev.Kind, len(edits))
			}
			continue
		}
		if len(edits) == 0 {
			b.WriteString("nothing to change\n")
		}
		next, err := layouttest.Apply(fsys, edits)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			var old []byte
			if f := fsys[e.Path]; f != nil {
				old = f.Data
			}
			fmt.Fprintf(&b, "%s (%s)\n%s", e.Path, e.Why, changedLines(string(old), string(next[e.Path].Data)))
		}
		after := theRun(t, next)
		if again, err := (longrun.Layout{}).Record(next, after, ev); err != nil || len(again) > 0 {
			t.Errorf("%s %s: recorded, and still %d edits: %v", ev.Kind, ev.Step, len(again), err)
		}
		fmt.Fprintf(&b, "-> %s: %s\n", after.State, after.Reason)
		for i := range after.Steps {
			s := &after.Steps[i]
			if old := run.Step(s.ID); old == nil || old.Status != s.Status {
				fmt.Fprintf(&b, "-> step %s is %s\n", s.ID, s.Status)
			}
		}
		for _, f := range after.Findings {
			fmt.Fprintf(&b, "-> %s %s %s: %s\n", f.Severity, f.Code, f.Source, f.Message)
		}
		fsys = next
	}
	return b.String()
}

func theRun(t *testing.T, fsys fs.FS) *reprise.Run {
	t.Helper()
	runs, err := layouttest.Read(longrun.New(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) == 0 {
		return &reprise.Run{Ref: reprise.Ref{Layout: "longrun", ID: "long-run"}}
	}
	return runs[0]
}

// changedLines lists the lines that differ, with \r made visible.
func changedLines(old, next string) string {
	a, b := strings.SplitAfter(old, "\n"), strings.SplitAfter(next, "\n")
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	show := func(sign, line string) {
		if line == "" {
			return
		}
		end := ""
		if !strings.HasSuffix(line, "\n") {
			end = " (no line end)"
		}
		out.WriteString("  " + sign + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\r", "\\r") + end + "\n")
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			show("-", a[i])
			i++
		default:
			show("+", b[j])
			j++
		}
	}
	return out.String()
}

func at(hour int) time.Time { return time.Date(2026, 1, 16, hour, 30, 0, 0, time.UTC) }
