package conventiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
)

// Events plays the events of every archive of a folder, one JSON object a line
// in its file `events`, and compares what play says with the archive's `want`.
// play writes down what an event does and gives the tree with it done.
func Events[E any](t *testing.T, dir string, play func(t *testing.T, out *strings.Builder, fsys fstest.MapFS, ev E) fstest.MapFS) {
	t.Helper()
	Archives(t, dir, func(t *testing.T, fsys fstest.MapFS) string {
		lines := strings.Split(strings.TrimSpace(string(fsys["events"].Data)), "\n")
		delete(fsys, "events")
		var out strings.Builder
		for _, line := range lines {
			var ev E
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			fsys = play(t, &out, fsys, ev)
		}
		return out.String()
	})
}

// Change records an event and writes down what that changes in the files, line by
// line, or that it was refused; the tree stays as it is then, and ok is false. It
// asks that the same event gives no second edit.
func Change(t *testing.T, out *strings.Builder, l reprise.Recorder, fsys fstest.MapFS, load func(fstest.MapFS) *reprise.Run, ev reprise.Event) (next fstest.MapFS, ok bool) {
	t.Helper()
	edits, err := l.Record(fsys, load(fsys), ev)
	if err != nil {
		fmt.Fprintf(out, "refused (no place: %t): %v\n", errors.Is(err, reprise.ErrCannotRecord), err)
		if len(edits) > 0 {
			t.Errorf("%s: an error and %d edits", ev.Kind, len(edits))
		}
		return fsys, false
	}
	if len(edits) == 0 {
		out.WriteString("nothing to change\n")
	}
	if next, err = Apply(fsys, edits); err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		var old []byte
		if f := fsys[e.Path]; f != nil {
			old = f.Data
		}
		fmt.Fprintf(out, "%s (%s)\n%s", e.Path, e.Why, changedLines(string(old), string(next[e.Path].Data)))
	}
	if again, err := l.Record(next, load(next), ev); err != nil || len(again) > 0 {
		t.Errorf("%s %s: recorded, and still %d edits: %v", ev.Kind, ev.Step, len(again), err)
	}
	return next, true
}

// changedLines lists the lines that differ, with \r and a missing last line
// end made visible.
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
