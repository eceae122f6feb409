package eventrun_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/eventrun"
)

const runDir = ".agent-memory/runs/r1/"

// clock is the minute n of the day on which the fixtures' runs continue.
func clock(n int) time.Time { return time.Date(2026, 3, 1, 10, n, 0, 0, time.UTC) }

func file(text string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(text), Mode: 0o644, ModTime: conventiontest.Epoch}
}

// project is an approved run of three tasks; extra files by name below the run.
func project(extra ...string) fstest.MapFS {
	fsys := fstest.MapFS{
		runDir + "prd.md":          file("# PRD: Export\n"),
		runDir + "plan.md":         file("# Plan\n"),
		runDir + "constitution.md": file("# Constitution\n"),
		runDir + "task-graph.json": file(`{"tasks":[{"id":"T001","title":"One"},{"id":"T002","title":"Two","dependencies":["T001"]},{"id":"T003","title":"Three","dependencies":["T002"]}]}`),
	}
	for i := 0; i < len(extra); i += 2 {
		if extra[i+1] == "-" {
			delete(fsys, runDir+extra[i])
			continue
		}
		fsys[runDir+extra[i]] = file(extra[i+1])
	}
	return fsys
}

func step(kind reprise.EventKind, id string, minute int) reprise.Event {
	return reprise.Event{Kind: kind, Step: id, At: clock(minute)}
}

func attempt(ev reprise.Event, n int) reprise.Event {
	ev.Attempt = n
	return ev
}

func text(ev reprise.Event, text string) reprise.Event {
	ev.Text = text
	return ev
}

func ask(kind reprise.EventKind, id, words string, minute int) reprise.Event {
	return reprise.Event{Kind: kind, Question: id, Text: words, At: clock(minute)}
}

// EV8 X8: a run from its first to its last event, through every kind.
func TestEV8_record_a_whole_run(t *testing.T) {
	t.Parallel()
	begin := reprise.Event{Kind: reprise.RunStarted, At: clock(0), Text: `{"title":"Export","tasks":[{"id":"T001","title":"One"},{"id":"T002","title":"Two","dependencies":["T001"]},{"id":"T003","title":"Three"}]}`}
	finish := step(reprise.StepFinished, "T001", 2)
	finish.Commit = "0123456789abcdef0123456789abcdef01234567"
	fsys := conventiontest.Records(t, eventrun.New(), fstest.MapFS{}, "r1",
		conventiontest.Recorded{Event: begin, State: reprise.Interrupted},
		conventiontest.Recorded{Event: attempt(step(reprise.StepStarted, "T001", 1), 1), Status: reprise.InProgress},
		conventiontest.Recorded{Event: finish, Status: reprise.Done},
		conventiontest.Recorded{Event: attempt(step(reprise.StepStarted, "T002", 3), 1), Status: reprise.InProgress},
		conventiontest.Recorded{Event: text(attempt(step(reprise.StepFailed, "T002", 4), 1), "no\ndisk \"left\""), Status: reprise.Failed},
		conventiontest.Recorded{Event: attempt(step(reprise.StepStarted, "T002", 5), 2), Status: reprise.InProgress},
		conventiontest.Recorded{Event: step(reprise.StepReset, "T002", 6), Status: reprise.Pending},
		conventiontest.Recorded{Event: text(step(reprise.StepBlocked, "T002", 7), "no key"), Status: reprise.Blocked},
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "blocked-T002", "use the test key", 8), Moves: []string{"T002"}},
		conventiontest.Recorded{Event: attempt(step(reprise.StepStarted, "T002", 9), 3), Status: reprise.InProgress},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.QuestionAsked, Question: "Q1", Step: "T002", Text: "Which one?", Options: []string{"a", "b"}, At: clock(10)}},
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "Q1", "a", 11)},
		conventiontest.Recorded{Event: ask(reprise.AnswerApplied, "Q1", "", 12)},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "T002", 13), Status: reprise.Done},
		conventiontest.Recorded{Event: text(step(reprise.StepSkipped, "T003", 14), "not needed"), Status: reprise.Skipped},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "2 execution", At: clock(15)}},
		conventiontest.Recorded{Event: step(reprise.StepStarted, "cleanup", 16)},
		conventiontest.Recorded{Event: text(step(reprise.StepFailed, "cleanup", 17), "exit 1")},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "cleanup", 18)},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunResumed, At: clock(19)}},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunEnded, Outcome: "completed", At: clock(20)}, State: reprise.Complete},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunResumed, At: clock(61)}, State: reprise.Interrupted},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStopped, Text: "enough", At: clock(62)}, State: reprise.Stopped},
	)
	r := load(t, fsys)
	if s := r.Step("T001"); len(s.Commits) != 1 || s.Commits[0] != finish.Commit {
		t.Errorf("commits of T001: %q", s.Commits)
	}
	if s := r.Step("T002"); s.Attempts != 3 {
		t.Errorf("T002 has %d attempts", s.Attempts)
	}
	for _, q := range r.Questions {
		if q.ID == "Q1" && (q.Answer != "a" || !q.Applied || len(q.Options) != 2) {
			t.Errorf("question: %+v", q)
		}
	}
	const want = `{"event_type":"run-started","timestamp":"2026-03-01T10:00:00Z","actor":"reprise","event_id":"ID","details":{"feature_name":"Export"}}
{"event_type":"task-started","task_id":"T001","timestamp":"2026-03-01T10:01:00Z","actor":"reprise","event_id":"ID","details":{"attempt":1}}
{"event_type":"task-completed","task_id":"T001","timestamp":"2026-03-01T10:02:00Z","actor":"reprise","event_id":"ID","details":{"commit":"0123456789abcdef0123456789abcdef01234567"}}
`
	if got := ids(fsys[runDir+"events/reprise/20260301-1000.jsonl"].Data); !strings.HasPrefix(got, want) {
		t.Errorf("log:\n%s", got)
	}
	if _, next := fsys[runDir+"events/reprise/20260301-1100.jsonl"]; !next {
		t.Error("the log of the next hour is not there")
	}
}

// ids blanks the ids, which are hashes.
func ids(log []byte) string {
	var b strings.Builder
	for text := range strings.Lines(string(log)) {
		if head, tail, ok := strings.Cut(text, `"event_id":"`); ok {
			_, tail, _ = strings.Cut(tail, `"`)
			text = head + `"event_id":"ID"` + tail
		}
		b.WriteString(text)
	}
	return b.String()
}

func load(t *testing.T, fsys fs.FS) *reprise.Run {
	t.Helper()
	runs, err := conventiontest.Read(eventrun.New(), fsys)
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	return runs[0]
}

func record(t *testing.T, fsys fstest.MapFS, ev reprise.Event) ([]reprise.Edit, error) {
	t.Helper()
	return eventrun.Layout{}.Record(fsys, load(t, fsys), ev)
}

// EV5: the hard gate, answered in each way.
func TestEV5_record_approval(t *testing.T) {
	t.Parallel()
	waiting := project("constitution.md", "-")
	for answer, want := range map[string]struct {
		state reprise.State
		next  string
	}{
		"approve":         {reprise.Interrupted, "constitution"},
		"Revise: smaller": {reprise.Interrupted, "plan"},
		"cancel":          {reprise.Waiting, ""},
	} {
		fsys := conventiontest.Records(t, eventrun.New(), waiting, "r1",
			conventiontest.Recorded{Event: ask(reprise.QuestionAsked, "plan-approval", "?", 1), State: reprise.Waiting},
			conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "plan-approval", answer, 2), State: want.state})
		r := load(t, fsys)
		if next := append(r.Next, reprise.Unit{})[0].ID; next != want.next {
			t.Errorf("%s: next is %q, want %q", answer, next, want.next)
		}
	}
}

// EV5: the other questions a run asks by its state.
func TestEV5_record_answers(t *testing.T) {
	t.Parallel()
	failing := `{"event_type":"task-failed","task_id":"T001","timestamp":"2026-03-01T09:00:0%dZ"}` + "\n"
	tests := map[string]struct {
		fsys   fstest.MapFS
		ev     reprise.Event
		state  reprise.State
		moves  []string
		cannot bool
	}{
		"retry": {
			fsys:  project("events/executor/a.jsonl", fmt.Sprintf(failing+failing+failing, 1, 2, 3)),
			ev:    ask(reprise.QuestionAnswered, "retry-T001", "retry", 1),
			state: reprise.Interrupted,
		},
		"retry, skipped": {
			fsys:  project("events/executor/a.jsonl", fmt.Sprintf(failing+failing+failing, 1, 2, 3)),
			ev:    ask(reprise.QuestionAnswered, "retry-T001", "skip it", 1),
			state: reprise.Interrupted, moves: []string{"T001"},
		},
		"retry, given up": {
			fsys:  project("events/executor/a.jsonl", fmt.Sprintf(failing+failing+failing, 1, 2, 3)),
			ev:    ask(reprise.QuestionAnswered, "retry-T001", "stop", 1),
			state: reprise.Stopped,
		},
		"retry, in words that say nothing": {
			fsys:   project("events/executor/a.jsonl", fmt.Sprintf(failing+failing+failing, 1, 2, 3)),
			ev:     ask(reprise.QuestionAnswered, "retry-T001", "no, do not try again", 1),
			cannot: true,
		},
		"failed run, in words that say nothing": {
			fsys:   project("events/orchestrator/a.jsonl", `{"event_type":"run-failed","timestamp":"2026-03-01T09:00:00Z"}`+"\n"),
			ev:     ask(reprise.QuestionAnswered, "run-failed", "no", 1),
			cannot: true,
		},
		"blocked, skipped": {
			fsys:  project("events/executor/a.jsonl", `{"event_type":"task-blocked","task_id":"T001","timestamp":"2026-03-01T09:00:00Z"}`+"\n"),
			ev:    ask(reprise.QuestionAnswered, "blocked-T001", "skip", 1),
			state: reprise.Interrupted, moves: []string{"T001"},
		},
		"failed run, taken up": {
			fsys:  project("events/orchestrator/a.jsonl", `{"event_type":"run-failed","timestamp":"2026-03-01T09:00:00Z"}`+"\n"),
			ev:    ask(reprise.QuestionAnswered, "run-failed", "resume", 1),
			state: reprise.Interrupted,
		},
		"failed run, given up": {
			fsys:  project("events/orchestrator/a.jsonl", `{"event_type":"run-failed","timestamp":"2026-03-01T09:00:00Z"}`+"\n"),
			ev:    ask(reprise.QuestionAnswered, "run-failed", "stop", 1),
			state: reprise.Stopped,
		},
		"tools": {
			fsys:  project("constitution.md", "-", "task-graph.json", "-", "events/orchestrator/a.jsonl", `{"type":"dependency_installation_pending","timestamp":"2026-03-01T09:00:00Z"}`+"\n"),
			ev:    ask(reprise.QuestionAnswered, "dependencies", "installed", 1),
			state: reprise.Interrupted,
		},
		"graph that cannot be done": {
			fsys:   project("task-graph.json", `{"tasks":[{"id":"T001","dependencies":["X"]}]}`),
			ev:     ask(reprise.QuestionAnswered, "dependencies", "go on", 1),
			cannot: true,
		},
		"review": {
			fsys: project("pr-checklist.md", "# Checklist\n", "task-graph.json", `{"tasks":[{"id":"T001","status":"done"}]}`,
				"events/pr-prep/a.jsonl", `{"event_type":"ready-for-human-review","timestamp":"2026-03-01T09:00:00Z"}`+"\n"),
			ev:    ask(reprise.QuestionAnswered, "pr-review", "fine", 1),
			state: reprise.Interrupted,
		},
		"state file": {
			fsys:  project("workflow-state.json", `{"workflow":{"current_phase":9,"status":"in_progress"},"updated_at":"2026-03-01T09:00:00Z","phases":{"phase_9_execution":{"status":"waiting_user"}}}`),
			ev:    ask(reprise.QuestionAnswered, "phase-9-execution", "go on", 1),
			state: reprise.Interrupted,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conventiontest.Records(t, eventrun.New(), tt.fsys, "r1", conventiontest.Recorded{Event: tt.ev, State: tt.state, Moves: tt.moves, Cannot: tt.cannot})
		})
	}
}

// EV5 X2: a question that was answered and is asked again is open, with the options it
// has now; what was said before does not count, what is said then does.
func TestEV5_record_a_question_that_is_asked_again(t *testing.T) {
	t.Parallel()
	fsys, l := project(), eventrun.New()
	asked := func(minute int, options ...string) reprise.Event {
		return reprise.Event{Kind: reprise.QuestionAsked, Step: "T001", Question: "q1", Text: "Ship it?", Options: options, Closed: true, At: clock(minute)}
	}
	for i, c := range []struct {
		ev   reprise.Event
		want reprise.Question
	}{
		{asked(1, "go on", "stop"), reprise.Question{Options: []string{"go on", "stop"}}},
		{asked(2, "go on", "stop"), reprise.Question{Options: []string{"go on", "stop"}}},
		{ask(reprise.QuestionAnswered, "q1", "go on", 3), reprise.Question{Options: []string{"go on", "stop"}, Answered: true, Answer: "go on"}},
		{ask(reprise.AnswerApplied, "q1", "go on", 4), reprise.Question{Options: []string{"go on", "stop"}, Answered: true, Applied: true, Answer: "go on"}},
		{asked(5, "now", "later"), reprise.Question{Options: []string{"now", "later"}}},
		{ask(reprise.QuestionAnswered, "q1", "later", 6), reprise.Question{Options: []string{"now", "later"}, Answered: true, Answer: "later"}},
	} {
		r, err := l.Load(fsys, reprise.Ref{Layout: "eventrun", ID: "r1", Path: strings.TrimSuffix(runDir, "/"), Kind: reprise.KindGraph})
		if err != nil {
			t.Fatal(err)
		}
		edits, err := l.Record(fsys, r, c.ev)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			before := ""
			if have := fsys[e.Path]; have != nil && e.Append {
				before = string(have.Data)
			}
			fsys[e.Path] = file(before + string(e.Content))
		}
		if r, err = l.Load(fsys, r.Ref); err != nil || len(r.Questions) != 1 {
			t.Fatalf("%d: %v, %+v", i, err, r.Questions)
		}
		q := r.Questions[0]
		if q.Answered != c.want.Answered || q.Applied != c.want.Applied || q.Answer != c.want.Answer || !slices.Equal(q.Options, c.want.Options) {
			t.Errorf("%d: %+v, want %+v", i, q, c.want)
		}
	}
}

// EV8: the spelling of the other writers is taken over.
func TestEV8_record_spelling(t *testing.T) {
	t.Parallel()
	at := `"timestamp":"2026-03-01T09:00:00Z"}` + "\n"
	for name, tt := range map[string]struct{ file, content, want string }{
		"hyphens":    {"events/executor/a.jsonl", `{"event_type":"task-claimed","task_id":"T009",` + at, `{"event_type":"task-started",`},
		"underscore": {"events/executor/a.jsonl", `{"type":"task_claimed","task_id":"T009",` + at, `{"type":"task_started",`},
		"event":      {"events/executor/a.jsonl", `{"event":"task_claimed","task_id":"T009",` + at, `{"event":"task_started",`},
		"no tasks":   {"events/orchestrator/a.jsonl", `{"type":"phase_transition","to_phase":2,` + at, `{"type":"task_started",`},
		"tasks win": {"events/a/a.jsonl", `{"type":"phase_transition","to_phase":2,` + at + `{"event_type":"task-claimed","task_id":"T009",` + at,
			`{"event_type":"task-started",`},
		"yaml":    {"events/0001-x.yaml", "event_type: task_claimed\ntask_id: T009\ntimestamp: 2026-03-01T09:00:00Z\n", `{"event_type":"task_started",`},
		"garbage": {"events/executor/a.jsonl", "\x00\x00{{{\n", `{"event_type":"task-started",`},
	} {
		edits, err := record(t, project(tt.file, tt.content), step(reprise.StepStarted, "T001", 1))
		if err != nil || len(edits) != 1 || !bytes.HasPrefix(edits[0].Content, []byte(tt.want)) {
			t.Errorf("%s: %v %s", name, err, edits[0].Content)
		}
	}
}

// EV3 EV8: an event counts although another clock was ahead, and tells its own
// time beside the one that orders it.
func TestEV3_record_behind_a_clock_that_is_ahead(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"2026-03-01T10:01:00Z", "2099-01-01T00:00:00Z"} {
		fsys := project("events/verifier/a.jsonl", `{"event_type":"task-started","task_id":"T001","timestamp":"`+at+`"}`+"\n")
		ev := step(reprise.StepFinished, "T001", 1)
		got := conventiontest.Records(t, eventrun.New(), fsys, "r1", conventiontest.Recorded{Event: ev, Status: reprise.Done},
			conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStopped, At: clock(1)}, State: reprise.Stopped})
		log := string(got[runDir+"events/reprise/20260301-1000.jsonl"].Data)
		if !strings.Contains(log, `"recorded_at":"2026-03-01T10:01:00Z"`) {
			t.Errorf("%s: %s", at, log)
		}
	}
}

// EV8 X9: what stands in our log stays, byte for byte; a torn line is left as a
// line of its own, and an event that was torn is told again.
func TestEV8_record_after_a_torn_write(t *testing.T) {
	t.Parallel()
	ev := attempt(step(reprise.StepStarted, "T001", 1), 1)
	const log = runDir + "events/reprise/20260301-1000.jsonl"
	edits, err := record(t, project(), ev)
	if err != nil {
		t.Fatal(err)
	}
	whole := edits[0].Content
	for cut := range len(whole) {
		fsys := project()
		fsys[log] = &fstest.MapFile{Data: whole[:cut], Mode: 0o644}
		got := conventiontest.Records(t, eventrun.New(), fsys, "r1", conventiontest.Recorded{Event: ev, Status: reprise.InProgress})
		if data := got[log].Data; !bytes.HasPrefix(data, whole[:cut]) {
			t.Fatalf("cut after %d: %q", cut, data)
		}
	}
}

// EV8: nothing is recorded where it cannot be, and why is said.
func TestEV8_record_refusals(t *testing.T) {
	t.Parallel()
	const log = "events/reprise/20260301-1000.jsonl"
	folder := project()
	folder[runDir+log] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	fifo := project()
	fifo[runDir+log] = &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}
	for name, tt := range map[string]struct {
		fsys   fstest.MapFS
		ev     reprise.Event
		cannot bool
	}{
		"no time":             {fsys: project(), ev: reprise.Event{Kind: reprise.StepStarted, Step: "T001"}},
		"a folder":            {fsys: folder, ev: step(reprise.StepStarted, "T001", 1)},
		"a FIFO":              {fsys: fifo, ev: step(reprise.StepStarted, "T001", 1)},
		"events is a file":    {fsys: project("events", "x"), ev: step(reprise.StepStarted, "T001", 1)},
		"an unknown task":     {fsys: project(), ev: step(reprise.StepStarted, "T999", 1), cannot: true},
		"a skipped document":  {fsys: project(), ev: step(reprise.StepSkipped, "prd", 1), cannot: true},
		"an unknown phase":    {fsys: project(), ev: reprise.Event{Kind: reprise.PhaseEnded, Phase: "9 lunch", At: clock(1)}, cannot: true},
		"no word of approval": {fsys: project("constitution.md", "-"), ev: ask(reprise.QuestionAnswered, "plan-approval", "yes", 1), cannot: true},
		"no clear approval":   {fsys: project("constitution.md", "-"), ev: ask(reprise.QuestionAnswered, "plan-approval", "approved? not sure", 1), cannot: true},
		"no such question":    {fsys: project(), ev: ask(reprise.QuestionAnswered, "Q9", "a", 1), cannot: true},
		"nothing to apply":    {fsys: project(), ev: ask(reprise.AnswerApplied, "Q9", "", 1), cannot: true},
		"an unknown kind":     {fsys: project(), ev: reprise.Event{Kind: "lunch", At: clock(1)}, cannot: true},
		"a second start":      {fsys: project(), ev: reprise.Event{Kind: reprise.RunStarted, At: clock(1)}},
	} {
		edits, err := record(t, tt.fsys, tt.ev)
		if err == nil || len(edits) > 0 || errors.Is(err, reprise.ErrCannotRecord) != tt.cannot {
			t.Errorf("%s: %d edits, %v", name, len(edits), err)
		}
	}
	for _, id := range []string{"", "..", "a/b", "x\ny", `a\b`, ".hidden", strings.Repeat("x", 200)} {
		r := &reprise.Run{Ref: reprise.Ref{Layout: eventrun.Name, ID: id}}
		if edits, err := (eventrun.Layout{}).Record(fstest.MapFS{}, r, reprise.Event{Kind: reprise.RunStarted, At: clock(0)}); err == nil {
			t.Errorf("run %q: %d edits", id, len(edits))
		}
	}
	for _, graph := range []string{`{`, `{}`, `{"tasks":[]}`, `{"tasks":[{"id":""}]}`, `{"tasks":[{"id":"A"},{"id":"A"}]}`, `{"tasks":1}`} {
		r := &reprise.Run{Ref: reprise.Ref{Layout: eventrun.Name, ID: "r1"}}
		if edits, err := (eventrun.Layout{}).Record(fstest.MapFS{}, r, reprise.Event{Kind: reprise.RunStarted, Text: graph, At: clock(0)}); err == nil {
			t.Errorf("graph %s: %d edits", graph, len(edits))
		}
	}
}

// EV1: words begin a run at its intake, and its documents are told on the way.
func TestEV1_record_a_run_from_words(t *testing.T) {
	t.Parallel()
	fsys := conventiontest.Records(t, eventrun.New(), fstest.MapFS{}, "20260301-1000-export-a1b2",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStarted, Text: "export to CSV", At: clock(0)}, State: reprise.Interrupted},
		conventiontest.Recorded{Event: step(reprise.StepStarted, "prd", 1)},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "prd", 2)},
		conventiontest.Recorded{Event: step(reprise.StepStarted, "task-graph", 3)},
		conventiontest.Recorded{Event: step(reprise.StepFinished, "task-graph", 4)},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "0 intake", At: clock(5)}},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunEnded, Outcome: "aborted", At: clock(6)}, State: reprise.Stopped},
	)
	if r := load(t, fsys); len(r.Steps) != 0 || r.Step("graph") != nil {
		t.Errorf("documents became tasks: %+v", r.Steps)
	}
}

// EV3: a task that awaits its verification is verified in the verifier's words.
func TestEV3_record_verification(t *testing.T) {
	t.Parallel()
	made := project("events/executor/a.jsonl", `{"event_type":"task-implemented","task_id":"T001","timestamp":"2026-03-01T09:00:00Z"}`+"\n")
	for kind, want := range map[reprise.EventKind]reprise.Status{reprise.StepFinished: reprise.Done, reprise.StepFailed: reprise.Failed} {
		begin := step(reprise.StepStarted, "T001", 1)
		begin.Actor = "verifier"
		fsys := conventiontest.Records(t, eventrun.New(), made, "r1",
			conventiontest.Recorded{Event: begin, Status: reprise.InProgress},
			conventiontest.Recorded{Event: step(kind, "T001", 2), Status: want})
		if log := string(fsys[runDir+"events/reprise/20260301-1000.jsonl"].Data); !strings.Contains(log, "task-verif") || strings.Contains(log, "task-started") {
			t.Error(log)
		}
	}
}

// X9: no text breaks the log, and other tasks and questions stay as they were.
func FuzzRecord(f *testing.F) {
	f.Add("step_failed", "T001", "Q1", "a\nb\x00|\"'\\{}\u2028\xff", "a1b2c3d")
	f.Add("question_asked", "", "Q 1\n", strings.Repeat("x", 20000), "")
	f.Add("run_started", "", "", `{"title":"a\nb","tasks":[{"id":"x\ny","title":"# z"}]}`, "")
	f.Fuzz(func(t *testing.T, kind, id, question, words, commit string) {
		ev := reprise.Event{Kind: reprise.EventKind(kind), Step: id, Question: question, Text: words, Commit: commit, Options: []string{words}, Actor: id, At: clock(1)}
		fsys := project("events/executor/a.jsonl", `{"event_type":"task-blocked","task_id":"T003","timestamp":"2026-03-01T09:00:00Z"}`+"\n")
		before := load(t, fsys)
		if ev.Kind == reprise.RunStarted {
			fsys, before = fstest.MapFS{}, &reprise.Run{Ref: reprise.Ref{Layout: eventrun.Name, ID: "r1"}}
		}
		edits, err := eventrun.Layout{}.Record(fsys, before, ev)
		if err != nil {
			return
		}
		next, err := conventiontest.Apply(fsys, edits)
		if err != nil {
			t.Fatal(err)
		}
		if len(next) == 0 {
			return
		}
		after := load(t, next)
		if more, err := (eventrun.Layout{}).Record(next, after, ev); err != nil || len(more) > 0 {
			t.Fatalf("still %d edits: %v", len(more), err)
		}
		for _, s := range before.Steps {
			if now := after.Step(s.ID); now == nil || now.Status != s.Status && s.ID != ev.Step && ev.Question == "" {
				t.Fatalf("%s became %+v", s.ID, now)
			}
		}
		for _, found := range after.Findings {
			if found.Code == reprise.CodeDamagedLine || found.Code == reprise.CodeSalvaged {
				t.Fatalf("%+v", found)
			}
		}
	})
}

// EV8 X9: each kind of event, on each task of each scenario: the task is what
// the event says, the others are what they were, and no byte that was there
// changed.
func TestEV8_record_on_every_scenario(t *testing.T) {
	t.Parallel()
	kinds := map[reprise.EventKind]reprise.Status{
		reprise.StepStarted: reprise.InProgress, reprise.StepFinished: reprise.Done, reprise.StepFailed: reprise.Failed,
		reprise.StepBlocked: reprise.Blocked, reprise.StepSkipped: reprise.Skipped, reprise.StepReset: reprise.Pending,
	}
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		fsys := conventiontest.LoadFS(t, name)
		runs, err := conventiontest.Read(eventrun.New(), fsys)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, r := range runs {
			if seen[r.ID] {
				continue // Records finds a run by its id
			}
			seen[r.ID] = true
			for i := range r.Steps {
				if i == 5 {
					break
				}
				for kind, want := range kinds {
					ev := reprise.Event{Kind: kind, Step: r.Steps[i].ID, At: clock(1), Text: "because"}
					next := conventiontest.Records(t, eventrun.New(), fsys, r.ID, conventiontest.Recorded{Event: ev, Status: want})
					for p, f := range fsys {
						if !bytes.Equal(f.Data, next[p].Data) {
							t.Errorf("%s: %s of %s changed %s", name, kind, ev.Step, p)
						}
					}
				}
			}
			for _, kind := range []reprise.EventKind{reprise.RunResumed, reprise.RunStopped, reprise.RunEnded} {
				p := r.Progress()
				if kind == reprise.RunEnded && r.State == reprise.Unreadable {
					continue
				}
				want := conventiontest.Recorded{Event: reprise.Event{Kind: kind, At: clock(1)}}
				switch {
				case kind == reprise.RunStopped:
					want.State, want.Cannot = reprise.Stopped, r.State == reprise.Complete
				case kind == reprise.RunEnded:
					want.State, want.Cannot = reprise.Complete, p.Done < p.Total || p.Total == 0
				}
				conventiontest.Records(t, eventrun.New(), fsys, r.ID, want)
			}
		}
	}
}
