package eventrun_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/eventrun"
)

// wide is a run of n tasks that wait for a few of those before them.
func wide(n int, rnd *rand.Rand) fstest.MapFS {
	type task struct {
		ID    string   `json:"id"`
		Needs []string `json:"dependencies"`
	}
	var tasks []task
	for i := range n {
		t := task{ID: fmt.Sprintf("S%05d", i)}
		for range rnd.IntN(3) {
			if i > 0 {
				if need := fmt.Sprintf("S%05d", rnd.IntN(i)); !slices.Contains(t.Needs, need) {
					t.Needs = append(t.Needs, need)
				}
			}
		}
		tasks = append(tasks, t)
	}
	graph, _ := json.Marshal(map[string]any{"tasks": tasks})
	const begun = `{"event_type":"run-started","timestamp":"2026-01-15T09:00:00Z"}` + "\n"
	return project("task-graph.json", string(graph), "events/orchestrator/20260115-0900.jsonl", begun)
}

func change(t *testing.T, fsys fstest.MapFS, edits []reprise.Edit) {
	t.Helper()
	for _, e := range edits {
		var have []byte
		if f := fsys[e.Path]; f != nil {
			have = f.Data
			if reprise.HashOf(have) != e.Base {
				t.Fatalf("%s is not what the edit was made for", e.Path)
			}
		} else if !e.Base.IsZero() {
			t.Fatalf("%s does not exist", e.Path)
		}
		if !e.Append {
			have = nil
		}
		fsys[e.Path] = &fstest.MapFile{Data: append(bytes.Clone(have), e.Content...), Mode: 0o644, ModTime: conventiontest.Epoch}
	}
}

// view is what Next and an engine look at.
func view(r *reprise.Run) any {
	type step struct {
		ID, Role, Word string
		Status         reprise.Status
		At             time.Time
		Attempts       int
		Commits, Files []string
	}
	var steps []step
	for _, s := range r.Steps {
		v := step{ID: s.ID, Role: s.Role, Status: s.Status, Attempts: s.Attempts, Commits: s.Commits, Files: s.Files}
		if len(s.Claims) > 0 {
			v.Word, v.At = s.Claims[0].Word, s.Claims[0].At
		}
		steps = append(steps, v)
	}
	next := slices.Clone(r.Next)
	for i := range next {
		next[i].Reason = strings.Split(next[i].Reason, " (")[0]
		next[i].Reason = strings.Replace(next[i].Reason, "it was started and no end", "it was started", 1)
		next[i].Reason = strings.Split(next[i].Reason, " is on record")[0]
	}
	return []any{r.State, r.Reason, r.Phase, steps, next, r.LastActivity, r.Progress(), r.Questions, r.Findings}
}

// X8: what is moved on in memory is what the files tell, event by event, and the
// files tell the same whether they are told of each event or of all at once.
func TestX8_a_tracked_run_is_the_run_on_disk(t *testing.T) {
	t.Parallel()
	l := eventrun.Layout{}
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		each := wide(20, rnd)
		ref := reprise.Ref{Layout: eventrun.Name, ID: "r1", Path: strings.TrimSuffix(runDir, "/"), Kind: reprise.KindGraph}
		together := fstest.MapFS{}
		for name, f := range each {
			together[name] = f
		}
		load := func(fsys fstest.MapFS) *reprise.Run {
			r, err := l.Load(fsys, ref)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		run := load(together)
		track := l.Track(together, run)
		project := func() {
			edits, err := track.Edits(together)
			if err != nil {
				t.Fatal(err)
			}
			change(t, together, edits)
			track.Told()
		}
		slow := 0
		for i := 0; run.State == reprise.Interrupted && len(run.Next) > 0 && run.Step(run.Next[0].ID) != nil; i++ {
			u := run.Next[rnd.IntN(min(len(run.Next), 3))]
			ev := reprise.Event{Kind: reprise.StepStarted, Step: u.ID, At: clock(0).Add(time.Duration(i) * time.Second), Attempt: 1, Actor: "executor"}
			if run.Step(u.ID).Status == reprise.InProgress {
				ev.Kind, ev.Commit = reprise.StepFinished, "0123456789abcdef0123456789abcdef01234567"
				switch rnd.IntN(5) {
				case 0:
					ev.Kind, ev.Commit = reprise.StepSkipped, ""
				case 1:
					ev.Kind, ev.Commit, ev.Outcome = reprise.StepReset, "", "cut-off"
				}
			}
			if rnd.IntN(6) == 0 {
				ev = reprise.Event{Kind: reprise.RunResumed, At: ev.At, Actor: "reprise", Outcome: "autopilot", Text: "Resume point: " + u.ID}
			}
			edits, err := l.Record(each, load(each), ev)
			if err != nil {
				t.Fatal(err)
			}
			change(t, each, edits)
			if !track.Advance(ev) {
				slow++
				project()
				edits, err := l.Record(together, load(together), ev)
				if err != nil {
					t.Fatal(err)
				}
				change(t, together, edits)
				run = load(together)
				track = l.Track(together, run)
			}
			if d := cmp.Diff(view(load(each)), view(run)); d != "" {
				t.Fatalf("seed %d, after %s of %s: %s", seed, ev.Kind, ev.Step, d)
			}
			if rnd.IntN(10) == 0 {
				project()
			}
		}
		project()
		if slow > 1 {
			t.Errorf("seed %d: %d events needed the files; only the last may", seed, slow)
		}
		if d := cmp.Diff(view(load(each)), view(load(together))); d != "" {
			t.Errorf("seed %d: the files differ: %s", seed, d)
		}
		for name, f := range each {
			if string(together[name].Data) != string(f.Data) {
				t.Errorf("seed %d: %s differs:\n%s\n%s", seed, name, f.Data, together[name].Data)
			}
		}
	}
}

// X8: where only the files can tell what follows, nothing is moved on.
func TestX8_what_cannot_be_tracked_is_not(t *testing.T) {
	t.Parallel()
	l := eventrun.Layout{}
	ref := reprise.Ref{Layout: eventrun.Name, ID: "r1", Path: strings.TrimSuffix(runDir, "/"), Kind: reprise.KindGraph}
	for name, tc := range map[string]struct {
		fsys fstest.MapFS
		ev   reprise.Event
	}{
		"a failure":            {project(), step(reprise.StepFailed, "T001", 1)},
		"a block":              {project(), step(reprise.StepBlocked, "T001", 1)},
		"not runnable":         {project(), step(reprise.StepStarted, "T002", 1)},
		"no task":              {project(), step(reprise.StepStarted, "cleanup", 1)},
		"no approval":          {project("constitution.md", "-"), step(reprise.StepStarted, "T001", 1)},
		"a cycle":              {project("task-graph.json", `{"tasks":[{"id":"T001"},{"id":"A","dependencies":["B"]},{"id":"B","dependencies":["A"]}]}`), step(reprise.StepStarted, "T001", 1)},
		"the last task":        {project("task-graph.json", `{"tasks":[{"id":"T001"}]}`), step(reprise.StepFinished, "T001", 1)},
		"a question":           {project("events/x/1.jsonl", `{"event_type":"escalation","escalation_id":"e","description":"?","timestamp":"2026-03-01T09:00:00Z"}`+"\n"), step(reprise.StepStarted, "T001", 1)},
		"nothing to take back": {project(), step(reprise.StepReset, "T001", 1)},
		"taken back against the graph": {
			project("task-graph.json", `{"tasks":[{"id":"T001","status":"in_progress"},{"id":"T002","dependencies":["T001"]}]}`,
				"events/x/1.jsonl", `{"event_type":"task-started","task_id":"T001","timestamp":"2026-03-01T09:00:00Z"}`+"\n"), step(reprise.StepReset, "T001", 1),
		},
		"beside a ledger": {
			project("workflow-state.json", `{"status":"paused"}`, "events/x/1.jsonl", `{"event_type":"task-started","task_id":"T001","timestamp":"2026-03-01T09:00:00Z"}`+"\n"),
			step(reprise.StepFinished, "T001", 1),
		},
		"others' attempts": {project("events/x/1.jsonl", `{"event_type":"task-started","task_id":"T001","timestamp":"2026-03-01T09:00:00Z"}`+"\n"), attempt(step(reprise.StepStarted, "T001", 1), 2)},
	} {
		r, err := l.Load(tc.fsys, ref)
		if err != nil {
			t.Fatal(err)
		}
		before := view(r)
		track := l.Track(tc.fsys, r)
		if track.Advance(tc.ev) {
			t.Errorf("%s: it was moved on", name)
		}
		if d := cmp.Diff(before, view(r)); d != "" {
			t.Errorf("%s: it was changed: %s", name, d)
		}
		if edits, err := track.Edits(tc.fsys); err != nil || len(edits) > 0 {
			t.Errorf("%s: %+v, %v", name, edits, err)
		}
	}
}

// X8: a task that left files is taken back in memory as its files tell it.
func TestX8_what_was_left_is_taken_back_with_its_task(t *testing.T) {
	t.Parallel()
	l := eventrun.Layout{}
	ref := reprise.Ref{Layout: eventrun.Name, ID: "r1", Path: strings.TrimSuffix(runDir, "/"), Kind: reprise.KindGraph}
	fsys := project("events/x/1.jsonl", `{"event_type":"task-completed","task_id":"T001","files_modified":["a.go"],"timestamp":"2026-03-01T09:00:00Z"}`+"\n"+
		`{"event_type":"task-started","task_id":"T001","timestamp":"2026-03-01T09:01:00Z"}`+"\n")
	run, err := l.Load(fsys, ref)
	if err != nil {
		t.Fatal(err)
	}
	track := l.Track(fsys, run)
	if !track.Advance(step(reprise.StepReset, "T001", 1)) {
		t.Fatal("it was not moved on")
	}
	edits, err := track.Edits(fsys)
	if err != nil {
		t.Fatal(err)
	}
	change(t, fsys, edits)
	again, err := l.Load(fsys, ref)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(view(again), view(run)); d != "" || len(run.Steps[0].Files) > 0 {
		t.Error(d)
	}
}

// EV8: our log continues in a new file before it is large, and an event that
// stands in a file before is told still.
func TestEV8_our_log_rolls_over(t *testing.T) {
	t.Parallel()
	l := eventrun.Layout{}
	rnd := rand.New(rand.NewPCG(1, 1))
	fsys := wide(1000, rnd)
	ref := reprise.Ref{Layout: eventrun.Name, ID: "r1", Path: strings.TrimSuffix(runDir, "/"), Kind: reprise.KindGraph}
	run, err := l.Load(fsys, ref)
	if err != nil {
		t.Fatal(err)
	}
	track := l.Track(fsys, run)
	var first reprise.Event
	for i := range 950 {
		for _, kind := range []reprise.EventKind{reprise.StepStarted, reprise.StepFinished} {
			ev := reprise.Event{Kind: kind, Step: run.Next[0].ID, At: clock(0).Add(time.Duration(i) * time.Millisecond), Attempt: 1, Agent: strings.Repeat("x", 150)}
			if i == 0 {
				first = ev
			}
			if !track.Advance(ev) {
				t.Fatalf("%s of %s was not moved on", ev.Kind, ev.Step)
			}
		}
	}
	edits, err := track.Edits(fsys)
	if err != nil || len(edits) < 2 {
		t.Fatalf("%d edits, %v", len(edits), err)
	}
	for _, e := range edits {
		if len(e.Content) > 300<<10 {
			t.Errorf("%s has %d bytes", e.Path, len(e.Content))
		}
	}
	change(t, fsys, edits)
	track.Told()
	again, err := l.Load(fsys, ref)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(view(again), view(run)); d != "" {
		t.Error(d)
	}
	if edits, err := l.Record(fsys, again, first); err != nil || len(edits) > 0 {
		t.Errorf("what is told is told again: %+v, %v", edits, err)
	}
	if edits, err := track.Edits(fsys); err != nil || len(edits) > 0 {
		t.Errorf("what is told is told again: %d edits, %v", len(edits), err)
	}
}
