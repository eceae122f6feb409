package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
	"reprise/journal"
)

var (
	flowRef   = reprise.Ref{Layout: "eventrun", ID: "r1", Path: ".agent-memory/runs/r1", Kind: reprise.KindGraph}
	flowFiles = map[string]string{
		"prd.md": "# PRD: Export\n", "plan.md": "# Plan\n", "constitution.md": "# Constitution\n",
		"events/orchestrator/1.jsonl": `{"event_type":"run-started","timestamp":"2026-01-15T09:00:00Z"}` + "\n",
		"task-graph.json":             `{"tasks":[{"id":"S1"},{"id":"S2","dependencies":["S1"]},{"id":"S3","dependencies":["S1"]},{"id":"S4","dependencies":["S2","S3"]},{"id":"S5","dependencies":["S4"]}]}`,
	}
)

// deferAll works steps off in memory and projects after every third event. acked
// is told of each event that is durable.
func deferAll(s *durable.Store, l reprise.Layout, steps []string, acked func(int)) error {
	ctx := context.Background()
	j, err := journal.Open(s, l, flowRef)
	if err != nil {
		return err
	}
	if _, err := j.CatchUp(ctx); err != nil {
		return err
	}
	run, err := l.Load(s, flowRef)
	if err != nil {
		return err
	}
	track := l.(reprise.Tracker).Track(s, run)
	for i, step := range steps {
		for k, kind := range []reprise.EventKind{reprise.StepStarted, reprise.StepFinished} {
			n := 2*i + k + 1
			ev := reprise.Event{Kind: kind, Step: step, At: at.Add(time.Duration(n) * time.Second), Attempt: 1}
			ok, err := j.Defer(ctx, track, ev)
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("%s of %s cannot be deferred", kind, step)
			}
			acked(n)
			if n%3 == 0 {
				if err := j.Project(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// TestD1_O1_X7_deferred_events_reach_the_files_whatever_crashes crashes the
// recording of deferred events everywhere: after recovery the files tell every
// event that was acknowledged, in order and once.
func TestD1_O1_X7_deferred_events_reach_the_files_whatever_crashes(t *testing.T) {
	t.Parallel()
	l := find("eventrun")
	cfg := crashfs.Config{NoDeep: true, NoFail: true, Kills: sample.Every(t, 20), Cuts: sample.Every(t, 9)}
	if os.Getenv("REPRISE_CRASH") != "" {
		cfg = crashfs.Config{}
	}
	r := crashfs.Explore(crashfs.Scenario{
		Name: "deferred",
		Start: func(d *crashfs.FS) error {
			for name, text := range flowFiles {
				d.Put(flowRef.Path+"/"+name, []byte(text), 0o644)
			}
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, err := open(d)
			if err != nil {
				return err
			}
			if err := deferAll(s, l, []string{"S1", "S2"}, func(n int) { ack(fmt.Sprint(n)) }); err != nil {
				return err
			}
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			s, err := open(d)
			if err != nil {
				return "", err
			}
			j, err := journal.Open(s, l, flowRef)
			if err != nil {
				return "", err
			}
			if _, err := j.CatchUp(context.Background()); err != nil {
				return "", err
			}
			return followed(s, l, len(acked))
		},
	}, cfg)
	t.Log(r)
	for _, bad := range r.Bad {
		t.Error(bad)
	}
	if r.Capped > 0 || r.States < 20 {
		t.Errorf("%d states, %d were left out", r.States, r.Capped)
	}
}

// followed checks that the files tell what the journal tells, once.
func followed(s *durable.Store, l reprise.Layout, acked int) (string, error) {
	entries, _, err := journal.Read(s, journal.Name(flowRef))
	if err != nil {
		return "", err
	}
	if len(entries) < acked {
		return "", fmt.Errorf("%d events were acknowledged, the journal has %d", acked, len(entries))
	}
	run, err := l.Load(s, flowRef)
	if err != nil {
		return "", err
	}
	want := map[string]reprise.Status{}
	for _, e := range entries {
		want[e.Event.Step] = reprise.InProgress
		if e.Event.Kind == reprise.StepFinished {
			want[e.Event.Step] = reprise.Done
		}
	}
	for id, status := range want {
		if got := run.Step(id).Status; got != status {
			return "", fmt.Errorf("%s is %s in the files, %s in the journal", id, got, status)
		}
		if n := run.Step(id).Attempts; n != 1 {
			return "", fmt.Errorf("%s was told %d times", id, n)
		}
	}
	if findings, err := look(s, flowRef); err != nil || len(findings) > 0 {
		return "", fmt.Errorf("after catching up: %+v, %v", findings, err)
	}
	return fmt.Sprintln(len(entries)) + conventiontest.Describe(run), nil
}

func flowProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range flowFiles {
		at := filepath.Join(dir, flowRef.Path, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// die ends the use of a store as a kill would: nothing is projected.
func die(t *testing.T, s *durable.Store) {
	t.Helper()
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestX7_deferred_events_are_caught_up_with(t *testing.T) {
	t.Parallel()
	dir, l := flowProject(t), find("eventrun")
	s := take(t, dir)
	if err := deferAll(s, l, []string{"S1", "S2"}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	findings, err := look(s, flowRef)
	if err != nil || len(findings) != 1 || findings[0].Code != reprise.CodeRolledForward {
		t.Errorf("one event is behind: %+v, %v", findings, err)
	}
	die(t, s)
	s = take(t, dir)
	var seen []string
	j, findings, caught, err := journal.OpenRun(context.Background(), s, l, flowRef, func(e *journal.Entry) { seen = append(seen, string(e.Event.Kind)+" "+e.Event.Step) })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"step_started S1", "step_finished S1", "step_started S2", "step_finished S2"}, seen); d != "" {
		t.Error(d)
	}
	if len(findings) != 1 || findings[0].Code != reprise.CodeRolledForward || caught.Step("S2").Status != reprise.Done {
		t.Errorf("%+v, %+v", findings, caught)
	}
	if _, err := followed(s, l, 4); err != nil {
		t.Error(err)
	}
	if findings, err := j.CatchUp(context.Background()); err != nil || len(findings) > 0 {
		t.Errorf("caught up with twice: %+v, %v", findings, err)
	}
	// A record of the usual kind behind deferred ones: in order.
	run, err := l.Load(s, flowRef)
	if err != nil {
		t.Fatal(err)
	}
	track := l.(reprise.Tracker).Track(s, run)
	late := at.Add(time.Hour)
	if ok, err := j.Defer(context.Background(), track, reprise.Event{Kind: reprise.StepStarted, Step: "S3", At: late, Attempt: 1}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := j.Record(context.Background(), reprise.Event{Kind: reprise.StepFailed, Step: "S3", At: late.Add(1), Attempt: 1, Text: "no"}); err != nil {
		t.Fatal(err)
	}
	if run, err := l.Load(s, flowRef); err != nil || run.Step("S3").Status != reprise.Failed || j.Deferred() != 0 {
		t.Errorf("S3 is %+v, %v", run.Step("S3"), err)
	}
}

func TestX3_deferred_events_leave_what_somebody_else_wrote_alone(t *testing.T) {
	t.Parallel()
	dir, l := flowProject(t), find("eventrun")
	s := take(t, dir)
	if err := deferAll(s, l, []string{"S1", "S2"}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	die(t, s)
	log := logOf(t, dir)
	theirs := []byte("{\"event_type\":\"task-completed\",\"task_id\":\"S1\",\"timestamp\":\"2026-03-21T00:00:00Z\"}\n")
	if err := os.WriteFile(log, theirs, 0o644); err != nil {
		t.Fatal(err)
	}
	s = take(t, dir)
	j, err := journal.Open(s, l, flowRef)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := j.CatchUp(context.Background())
	if err != nil || len(findings) != 1 || findings[0].Code != reprise.CodeMovedOn {
		t.Errorf("%+v, %v", findings, err)
	}
	if now, err := os.ReadFile(log); err != nil || string(now) != string(theirs) {
		t.Errorf("it was changed: %q %v", now, err)
	}
	if j.Deferred() != 0 {
		t.Errorf("%d events wait for files that are not ours any more", j.Deferred())
	}
}

func TestX7_undone_deferred_events_are_not_brought_up_again(t *testing.T) {
	t.Parallel()
	dir, l := flowProject(t), find("eventrun")
	s := take(t, dir)
	if err := deferAll(s, l, []string{"S1", "S2"}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if err := journal.Restored(s, reprise.Event{Kind: reprise.StateRestored, At: at.Add(time.Hour)}, nil, nil); err != nil {
		t.Fatal(err)
	}
	die(t, s)
	s = take(t, dir)
	j, err := journal.Open(s, l, flowRef)
	if err != nil {
		t.Fatal(err)
	}
	if findings, err := j.CatchUp(context.Background()); err != nil || len(findings) > 0 {
		t.Errorf("%+v, %v", findings, err)
	}
	if run, err := l.Load(s, flowRef); err != nil || run.Step("S2").Status == reprise.Done {
		t.Errorf("S2 is done again, %v", err)
	}
}

// D5: every field, and text of every sort.
func TestD5_entries_are_read_as_they_were_written(t *testing.T) {
	t.Parallel()
	dir := flowProject(t)
	s := take(t, dir)
	j, err := journal.Open(s, find("eventrun"), flowRef)
	if err != nil {
		t.Fatal(err)
	}
	var want []reprise.Event
	for i, text := range []string{"", "plain", `quote " and \ slash`, "new\nline", "ü 日本 \u2028", "<a&b>", strings.Repeat("x", 70_000), "}", `","kind":"run_ended`} {
		want = append(want,
			reprise.Event{Kind: reprise.StepFailed, At: at.Add(time.Duration(i) * time.Nanosecond), Step: "S1", Attempt: i, Text: text, Cause: "c"},
			reprise.Event{Kind: reprise.StepStarted, At: at.In(time.FixedZone("", 3600)), Step: text, Attempt: 1, Actor: text, Agent: "a", Key: "k", Policy: reprise.Rerun,
				Expect: []reprise.Expected{{Path: "p", Changed: true}}},
			reprise.Event{Kind: reprise.QuestionAsked, At: at, Question: text, Phase: text, Outcome: text, Commit: "c", Options: []string{text}, Until: at})
	}
	for _, ev := range want {
		if err := j.Note(ev); err != nil {
			t.Fatal(err)
		}
	}
	entries, _, err := journal.Read(s, journal.Name(flowRef))
	if err != nil {
		t.Fatal(err)
	}
	var got []reprise.Event
	for _, e := range entries {
		got = append(got, e.Event)
	}
	for i := range want {
		// What encoding/json makes of it is what is meant.
		raw, err := json.Marshal(want[i])
		if err != nil {
			t.Fatal(err)
		}
		want[i] = reprise.Event{}
		if err := json.Unmarshal(raw, &want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
