package orchestrate_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
)

// happening is an event and the run it happens to.
type happening struct {
	Run, RunKind string
	Steps        []reprise.Step
	reprise.Event
}

// TestOR7_Record plays the events of each archive of testdata/record on its
// tree and compares what changes, in the files and in what is read from them. An
// event names its run, and for one that is not there yet its kind.
func TestOR7_Record(t *testing.T) {
	t.Parallel()
	conventiontest.Events(t, "testdata/record", func(t *testing.T, out *strings.Builder, fsys fstest.MapFS, ev happening) fstest.MapFS {
		fmt.Fprintf(out, "== %s: %s\n", ev.Run, strings.TrimSpace(fmt.Sprintf("%s %s %s%s %s", ev.Kind, ev.Step, ev.Phase, ev.Question, ev.Outcome)))
		load := func(fsys fstest.MapFS) *reprise.Run { return pick(read(t, fsys), ev) }
		next, ok := conventiontest.Change(t, out, orchestrate.New(), fsys, load, ev.Event)
		if !ok {
			return fsys
		}
		before := read(t, fsys)
		for _, now := range read(t, next) {
			for _, line := range differences(pick(before, happening{Run: now.ID}), now) {
				fmt.Fprintf(out, "-> %s %s\n", now.ID, line)
			}
		}
		return next
	})
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
	runs, err := conventiontest.Read(orchestrate.New(), fsys)
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

// OR1 OR7: the log of a resumption says once how it was held safe, and why where that
// is said; what is said too much is left out, and none of it is markup.
func TestOR1_OR7_a_resumption_is_logged_in_a_few_lines(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"2 warnings": "2 warnings\n",
		"2 warnings\nHeld safe: autopilot\n\nWarning: a <!-- b\nWarning: \x1b[31mc": "2 warnings\nHeld safe: autopilot\nWarning: a < !-- b\nWarning: [31mc\n",
		"clean" + strings.Repeat("\nx", 100):                                        "clean\n" + strings.Repeat("x\n", 13),
	} {
		resumptionLogged(t, said, want)
	}
}

func resumptionLogged(t *testing.T, said, want string) {
	t.Helper()
	fsys := fstest.MapFS{".aiox/epic-3-state.yaml": &fstest.MapFile{Data: []byte("epic_id: 3\nstatus: in_progress\ncurrent_wave: 1\nwaves:\n  1:\n    status: in_progress\n    stories: [3.1]\nstories:\n  3.1: {status: pending}\n"), Mode: 0o644}}
	l := orchestrate.New()
	for _, r := range read(t, fsys) {
		edits, err := l.Record(fsys, r, reprise.Event{Kind: reprise.RunResumed, At: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC), Phase: "wave 1", Text: "State source: x\nResume point: y\nValidation: " + said})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			if text := string(e.Content); strings.Contains(text, "Workflow resumed") {
				if !strings.HasSuffix(text, "\nValidation: "+want) || strings.Count(text, "Validation") != 1 || strings.Count(text, "State source") != 1 {
					t.Errorf("%s", text)
				}
				return
			}
		}
	}
	t.Error("nothing is logged")
}
