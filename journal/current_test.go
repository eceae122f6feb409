package journal_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/convention"
	"reprise/convention/conventiontest"
	"reprise/internal/durable"
	"reprise/journal"
)

// onDisk puts the files of an archive into a folder.
func onDisk(t testing.TB, files fstest.MapFS) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	for name, f := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if f.Mode.IsDir() {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// lines are those of sources, which a run that was moved on in memory lacks; the
// file is then the folder of our own logs.
var lines = regexp.MustCompile(`events/reprise(/[0-9-]+\.jsonl(:[0-9]+)?)?`)

func described(r *reprise.Run) string {
	return lines.ReplaceAllString(conventiontest.Describe(r), "events/reprise")
}

// deep is a run with everything in it, to see whether anything was changed.
func deep(r *reprise.Run) string {
	var b strings.Builder
	b.WriteString(conventiontest.Describe(r))
	for i := range r.Steps {
		fmt.Fprintf(&b, "%+v\n", r.Steps[i])
	}
	return b.String()
}

// X8: whatever is recorded about a run of any layout, Current gives what its
// files tell, and nobody changes a run that was given before.
func TestX8_current_is_what_the_files_tell(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("../convention/*/testdata/scenarios/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatal(len(archives), err)
	}
	moved := 0
	for i, archive := range archives {
		// Runs that can be moved on in memory are those of one layout.
		if !strings.Contains(archive, "/eventrun/") && i%6 != 0 || testing.Short() && i%4 != 0 {
			continue
		}
		files := conventiontest.LoadFS(t, archive)
		if len(files) == 0 {
			continue
		}
		dir := onDisk(t, files)
		name := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(archive))))
		l := convention.Find(name)
		runs, err := conventiontest.Read(l, os.DirFS(dir))
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		s := take(t, dir)
		for _, r := range runs {
			moved += follows(t, s, l, r, archive)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if moved < 10 {
		t.Errorf("only %d runs were moved on in memory", moved)
	}
}

func follows(t *testing.T, s *durable.Store, l reprise.Layout, r *reprise.Run, archive string) (moved int) {
	t.Helper()
	ctx := context.Background()
	j, _, _, err := journal.OpenRun(ctx, s, l, r.Ref)
	if err != nil {
		t.Errorf("%s %s: %v", archive, r.ID, err)
		return 0
	}
	when := time.Now().UTC()
	all := []reprise.Event{{Kind: reprise.RunResumed, Actor: "reprise", Outcome: "autopilot", Text: "Resume point: x"}}
	for _, u := range r.Next {
		if r.Step(u.ID) != nil {
			all = append(all, reprise.Event{Kind: reprise.StepStarted, Step: u.ID, Attempt: 1}, reprise.Event{Kind: reprise.RunResumed, Actor: "reprise", Outcome: "interactive"},
				reprise.Event{Kind: reprise.StepReset, Step: u.ID, Attempt: 1, Actor: "reprise"}, reprise.Event{Kind: reprise.RunResumed})
			break
		}
	}
	for i, ev := range all {
		ev.At = when.Add(time.Duration(i) * time.Second)
		before, err := j.Current()
		if err != nil {
			t.Errorf("%s %s: %v", archive, r.ID, err)
			return moved
		}
		was := deep(before)
		edits, err := j.Record(ctx, ev)
		if err != nil {
			return moved // what a layout refuses is not the question here
		}
		if now := deep(before); now != was {
			t.Errorf("%s %s: %s changed a run that was given before:\n%s", archive, r.ID, ev.Kind, cmp.Diff(was, now))
		}
		have, err := j.Current()
		if err != nil {
			t.Errorf("%s %s: %v", archive, r.ID, err)
			return moved
		}
		if ev.Kind == reprise.RunResumed && len(edits) > 0 && have.LastActivitySource.Line == 0 {
			moved++
		}
		want, err := l.Load(s, r.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(described(want), described(have)); d != "" {
			t.Errorf("%s %s after %s (-the files +current):\n%s", filepath.Base(archive), r.ID, ev.Kind, d)
			return moved
		}
	}
	return moved
}

// resumable is a run of tasks without a log of ours, and its journal after it was
// gone on with.
func resumable(t *testing.T, l reprise.Layout) (string, *durable.Store, *journal.Journal) {
	t.Helper()
	dir := flowProject(t)
	write := func(name, text string) {
		at := filepath.Join(dir, flowRef.Path, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("events/one.jsonl", `{"event_type":"task-completed","task_id":"S1","timestamp":"2026-03-19T00:00:00Z"}`+"\n")
	s := take(t, dir)
	j, _, _, err := journal.OpenRun(context.Background(), s, l, flowRef)
	if err != nil {
		t.Fatal(err)
	}
	return dir, s, j
}

const theirEvent = `{"event_type":"task-completed","task_id":"S2","timestamp":"2026-03-21T00:00:00Z"}` + "\n"

// X8: what somebody else puts beside our first log is seen.
func TestX8_a_log_beside_our_first_one_is_seen(t *testing.T) {
	t.Parallel()
	l := find("eventrun")
	dir, s, j := resumable(t, l)
	if _, err := j.Record(context.Background(), reprise.Event{Kind: reprise.RunResumed, At: at}); err != nil {
		t.Fatal(err)
	}
	before, err := j.Current()
	if err != nil || before.Step("S2").Status != reprise.Pending {
		t.Fatalf("%+v, %v", before, err)
	}
	if err := os.WriteFile(filepath.Join(dir, flowRef.Path, "events/reprise/20260321-0000.jsonl"), []byte(theirEvent), 0o644); err != nil {
		t.Fatal(err)
	}
	have, err := j.Current()
	if err != nil {
		t.Fatal(err)
	}
	want, err := l.Load(s, flowRef)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(described(want), described(have)); d != "" {
		t.Errorf("-the files +current:\n%s", d)
	}
}

// meddling is a layout in whose files somebody writes just before it looks what
// an event means in them.
type meddling struct {
	reprise.Layout
	before func()
}

func (m meddling) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	m.before()
	return m.Layout.Record(fsys, r, ev)
}

func (m meddling) Track(fsys fs.FS, r *reprise.Run) reprise.Track {
	return m.Layout.(reprise.Tracker).Track(fsys, r)
}

// X3, X8: what somebody else adds to our log in the moment in which we do is seen.
func TestX3_X8_what_is_added_to_our_log_meanwhile_is_seen(t *testing.T) {
	t.Parallel()
	m := &meddling{Layout: find("eventrun"), before: func() {}}
	dir, s, j := resumable(t, m)
	if _, err := j.Record(context.Background(), reprise.Event{Kind: reprise.RunResumed, At: at}); err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(dir, flowRef.Path, "events/reprise/*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	m.before = func() {
		f, err := os.OpenFile(logs[0], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(theirEvent); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := j.Record(context.Background(), reprise.Event{Kind: reprise.RunResumed, At: at.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	have, err := j.Current()
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Layout.Load(s, flowRef)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(described(want), described(have)); d != "" {
		t.Errorf("-the files +current:\n%s", d)
	}
}

// X8: what is recorded about a run that was moved on in memory is what is
// recorded about one that was read, whatever the clock says.
func TestX8_records_behind_a_resumed_run_are_the_same(t *testing.T) {
	t.Parallel()
	l := find("eventrun")
	for _, late := range []time.Duration{-time.Hour, 0, time.Second} {
		for _, next := range []reprise.Event{
			{Kind: reprise.StepStarted, Step: "S2", Attempt: 1}, {Kind: reprise.StepFinished, Step: "S2", Attempt: 1}, {Kind: reprise.StepFailed, Step: "S2", Attempt: 1, Text: "no"},
			{Kind: reprise.RunStopped, Outcome: "paused"}, {Kind: reprise.RunResumed}, {Kind: reprise.QuestionAsked, Question: "Q1", Text: "?"}, {Kind: reprise.StepReset, Step: "S1"},
			{Kind: reprise.RunEnded, Outcome: "completed"}, {Kind: reprise.PhaseEnded, Phase: "execution"}, {Kind: reprise.StepBlocked, Step: "S2", Text: "no"},
		} {
			var got [2]string
			for i := range got {
				dir, s, j := resumable(t, l)
				if _, err := j.Record(context.Background(), reprise.Event{Kind: reprise.RunResumed, At: at}); err != nil {
					t.Fatal(err)
				}
				if i == 1 { // as somebody who reads it all
					var err error
					if j, err = journal.Open(s, l, flowRef); err != nil {
						t.Fatal(err)
					}
				}
				next.At = at.Add(late)
				_, err := j.Record(context.Background(), next)
				logs, _ := filepath.Glob(filepath.Join(dir, flowRef.Path, "events/reprise/*.jsonl"))
				got[i] = fmt.Sprintln(err)
				for _, log := range logs {
					data, err := os.ReadFile(log)
					if err != nil {
						t.Fatal(err)
					}
					got[i] += string(data)
				}
			}
			if got[0] != got[1] {
				t.Errorf("%s %v later (-read +moved on):\n%s", next.Kind, late, cmp.Diff(got[1], got[0]))
			}
		}
	}
}

// X8: what we record in an hour after the one in which the run was gone on with is
// seen: it stands in a log of its own.
func TestX8_what_is_recorded_in_the_next_hour_is_seen(t *testing.T) {
	t.Parallel()
	l := find("eventrun")
	_, _, j := resumable(t, l)
	if _, err := j.Record(context.Background(), reprise.Event{Kind: reprise.RunResumed, At: at}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Record(context.Background(), reprise.Event{Kind: reprise.StepFinished, Step: "S2", Attempt: 1, At: at.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	run, err := j.Current()
	if err != nil {
		t.Fatal(err)
	}
	if s := run.Step("S2"); s.Status != reprise.Done {
		t.Errorf("S2 is %s after its end was recorded", s.Status)
	}
}
