package orchestrate_test

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
	"reprise/layout/orchestrate"
)

// TestOR7_Record plays the events of each archive of testdata/record on its
// tree and compares what changes, line by line. An event names its run, and
// for one that is not there yet its kind. The last file `want` is rewritten
// with -update.
func TestOR7_Record(t *testing.T) {
	t.Parallel()
	layouttest.Archives(t, "testdata/record", func(t *testing.T, fsys fstest.MapFS) string {
		events := readEvents(t, fsys["events"].Data)
		delete(fsys, "events")
		return play(t, fsys, events)
	})
}

// happening is an event and the run it happens to.
type happening struct {
	Run, RunKind string
	Steps        []reprise.Step
	reprise.Event
}

func readEvents(t testing.TB, data []byte) []happening {
	t.Helper()
	var out []happening
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var ev happening
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, ev)
	}
	return out
}

// play records one event after the other and describes what each changed, in
// the files and in what is read from them.
func play(t *testing.T, fsys fstest.MapFS, events []happening) string {
	t.Helper()
	l := orchestrate.New()
	var b strings.Builder
	for _, ev := range events {
		runs := read(t, fsys)
		run := pick(runs, ev)
		fmt.Fprintf(&b, "== %s: %s\n", ev.Run, strings.TrimSpace(fmt.Sprintf("%s %s %s%s %s", ev.Kind, ev.Step, ev.Phase, ev.Question, ev.Outcome)))
		edits, err := l.Record(fsys, run, ev.Event)
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
		after := read(t, next)
		if again, err := l.Record(next, pick(after, ev), ev.Event); err != nil || len(again) > 0 {
			t.Errorf("%s %s: recorded, and still %d edits: %v", ev.Kind, ev.Step, len(again), err)
		}
		for _, now := range after {
			was := pick(runs, happening{Run: now.ID})
			for _, line := range differences(was, now) {
				fmt.Fprintf(&b, "-> %s %s\n", now.ID, line)
			}
		}
		fsys = next
	}
	return b.String()
}

// differences tells what is read otherwise than before.
func differences(was, now *reprise.Run) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if was.State != now.State || was.Phase != now.Phase {
		say("is %s in %q: %s", now.State, now.Phase, now.Reason)
	}
	for i := range now.Steps {
		s := &now.Steps[i]
		switch old := was.Step(s.ID); {
		case old == nil:
			say("has a step %s, %s", s.ID, s.Status)
		case old.Status != s.Status:
			say("step %s is %s", s.ID, s.Status)
		}
	}
	for _, q := range now.Questions {
		say("asks %q answered=%t %q", q.ID, q.Answered, q.Answer)
	}
	old := map[string]bool{}
	for _, f := range was.Findings {
		old[f.Code+f.Message] = true
	}
	for _, f := range now.Findings {
		if !old[f.Code+f.Message] {
			say("%s %s: %s", f.Severity, f.Code, f.Message)
		}
	}
	return out
}

func read(t testing.TB, fsys fstest.MapFS) []*reprise.Run {
	t.Helper()
	runs, err := layouttest.Read(orchestrate.New(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func pick(runs []*reprise.Run, ev happening) *reprise.Run {
	for _, r := range runs {
		if r.ID == ev.Run {
			return r
		}
	}
	return &reprise.Run{Ref: reprise.Ref{Layout: "orchestrate", ID: ev.Run, Kind: reprise.Kind(ev.RunKind)}, Steps: ev.Steps}
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
	line := func(sign, text string) {
		if text == "" {
			return
		}
		end := ""
		if !strings.HasSuffix(text, "\n") {
			end = " (no line end)"
		}
		fmt.Fprintf(&out, "  %s%s%s\n", sign, strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r", "\\r"), end)
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			line("-", a[i])
			i++
		default:
			line("+", b[j])
			j++
		}
	}
	return out.String()
}

// OR11: a specification that was being begun when its process was killed is begun:
// the folder alone, or what a killed write left in it, is nothing of it.
func TestOR11_a_specification_is_begun_in_the_folder_a_killed_start_left(t *testing.T) {
	t.Parallel()
	const dir = "docs/specs/login"
	ev := reprise.Event{Kind: reprise.RunStarted, At: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), Text: "Login with a link"}
	ref := reprise.Ref{Layout: "orchestrate", ID: "login", Path: dir, Kind: reprise.KindSpecPipeline}
	for left, begun := range map[string]bool{"": true, ".reprise-0001.tmp": true, "notes.md": true, "requirements.json": false, ".pipeline-state.json": false} {
		fsys := fstest.MapFS{dir: &fstest.MapFile{Mode: fs.ModeDir | 0o755}}
		if left != "" {
			fsys[dir+"/"+left] = &fstest.MapFile{Data: []byte("{}"), Mode: 0o644}
		}
		run, err := (&orchestrate.Layout{}).Load(fsys, ref)
		if err != nil {
			t.Fatal(err)
		}
		run.Ref = ref
		edits, err := (&orchestrate.Layout{}).Record(fsys, run, ev)
		if err != nil {
			t.Fatalf("%q: %v", left, err)
		}
		if begun != (len(edits) == 1) || begun && edits[0].Path != dir+"/.pipeline-state.json" {
			t.Errorf("beside %q: %+v", left, edits)
		}
	}
}

// OR7: the log of a resumption says once how it was held safe.
func TestOR7_a_resumption_is_logged_in_five_lines(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{".aiox/epic-3-state.yaml": &fstest.MapFile{Data: []byte("epic_id: 3\nstatus: in_progress\ncurrent_wave: 1\nwaves:\n  1:\n    status: in_progress\n    stories: [3.1]\nstories:\n  3.1: {status: pending}\n"), Mode: 0o644}}
	l := orchestrate.New()
	for _, r := range read(t, fsys) {
		edits, err := l.Record(fsys, r, reprise.Event{Kind: reprise.RunResumed, At: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC), Phase: "wave 1", Text: "State source: x\nResume point: y\nValidation: 2 warnings"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			if text := string(e.Content); strings.Contains(text, "Workflow resumed") {
				if !strings.HasSuffix(text, "\nValidation: 2 warnings\n") || strings.Count(text, "Validation") != 1 || strings.Count(text, "State source") != 1 {
					t.Errorf("%s", text)
				}
				return
			}
		}
	}
	t.Error("nothing is logged")
}
