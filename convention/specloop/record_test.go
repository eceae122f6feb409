package specloop_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/specloop"
	"reprise/internal/sample"
)

func clock(n int) time.Time { return time.Date(2026, 3, 1, 10, n, 0, 0, time.UTC) }

func file(text string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(text), Mode: 0o644, ModTime: conventiontest.Epoch}
}

func step(kind reprise.EventKind, id string, minute int) reprise.Event {
	return reprise.Event{Kind: kind, Step: id, At: clock(minute)}
}

func ask(kind reprise.EventKind, id, words string, minute int) reprise.Event {
	return reprise.Event{Kind: kind, Question: id, Text: words, At: clock(minute)}
}

func recorded(ev reprise.Event, status reprise.Status, moves ...string) conventiontest.Recorded {
	return conventiontest.Recorded{Event: ev, Status: status, Moves: moves}
}

const (
	featureDir = "specs/007-team-invites/"
	indexPath  = featureDir + ".workflow/index.md"
	specText   = "# Feature Specification: Team invites\n\nA member invites others by mail.\n"
)

// all are the phases: events of a loop move those that follow.
var all = []string{"A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "B5", "C"}

func load(t *testing.T, fsys fs.FS) *reprise.Run {
	t.Helper()
	runs, err := conventiontest.Read(specloop.New(), fsys)
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	return runs[0]
}

// SL4 SL5 SL8 SL9: a loop of two rounds from its first to its last event.
func TestSL9_record_a_whole_run(t *testing.T) {
	t.Parallel()
	l := specloop.New()
	fsys := conventiontest.Records(t, l, fstest.MapFS{}, "007-team-invites",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStarted, Text: "Members | invite\nothers", At: clock(0)}, State: reprise.NotStarted},
		recorded(step(reprise.StepStarted, "A1", 1), reprise.InProgress),
	)
	fsys[featureDir+"spec.md"] = file("# Feature Specification: [FEATURE NAME]\n")
	fsys = conventiontest.Records(t, l, fsys, "007-team-invites",
		recorded(step(reprise.StepFinished, "A1", 2), reprise.Done),
		recorded(step(reprise.StepStarted, "A2", 3), reprise.InProgress),
		recorded(step(reprise.StepReset, "A2", 4), reprise.Pending),
		recorded(step(reprise.StepStarted, "A2", 5), reprise.InProgress),
	)
	fsys[featureDir+"spec.md"] = file(specText)
	gaps := step(reprise.StepFinished, "A5", 11)
	gaps.Text = `{"gaps":[{"id":"G-001","priority":"critical","question":"How | long?"},{"id":"G-002","priority":"Important","question":"Who?"},{"id":"G-003","priority":"minor"}]}`
	fsys = conventiontest.Records(t, l, fsys, "007-team-invites",
		recorded(step(reprise.StepFinished, "A2", 6), reprise.Done),
		recorded(step(reprise.StepStarted, "A3", 7), reprise.InProgress),
		recorded(step(reprise.StepFinished, "A3", 8), reprise.Done),
		recorded(step(reprise.StepStarted, "A4", 9), reprise.InProgress),
		recorded(step(reprise.StepFinished, "A4", 10), reprise.Done),
		recorded(gaps, reprise.Done),
		recorded(step(reprise.StepStarted, "B1", 12), reprise.InProgress),
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.QuestionAsked, Question: "C1.1", Step: "G-001", Text: "How long\nis an invite | valid?", Options: []string{"7 days", "30 days; or so"}, At: clock(13)}, State: reprise.Waiting, Moves: all},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.QuestionAsked, Question: "C1.2", Text: "Who may invite (G-002)?", At: clock(14)}, State: reprise.Waiting},
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "C1.1", "7 days | not more", 15), State: reprise.Waiting},
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "C1.2", "owners", 16), State: reprise.Interrupted, Moves: all},
		recorded(step(reprise.StepFinished, "B1", 17), reprise.Done),
		recorded(step(reprise.StepStarted, "B2", 18), reprise.InProgress, all...),
		recorded(ask(reprise.AnswerApplied, "C1.1", "", 19), 0),
		recorded(ask(reprise.AnswerApplied, "C1.2", "", 20), 0, all...),
		recorded(step(reprise.StepFinished, "B2", 21), reprise.Done),
		recorded(step(reprise.StepStarted, "B3", 22), reprise.InProgress),
		recorded(step(reprise.StepFinished, "B3", 23), reprise.Done),
		recorded(step(reprise.StepStarted, "B4", 24), reprise.InProgress),
		recorded(step(reprise.StepFinished, "B4", 25), reprise.Done),
		recorded(step(reprise.StepStarted, "B5", 26), reprise.InProgress),
		recorded(step(reprise.StepFinished, "B5", 27), 0, all...),
		recorded(step(reprise.StepStarted, "A5", 28), reprise.InProgress, all...),
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStopped, At: clock(29)}, State: reprise.Stopped, Moves: all},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunResumed, At: clock(30)}, State: reprise.Interrupted, Moves: all},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunEnded, Outcome: "accepted", At: clock(31)}, State: reprise.Complete, Moves: all},
	)
	const want = `# Feature Index: 007-team-invites

## Feature Metadata

| Field | Value |
|---|---|
| **ID** | 007-team-invites |
| **Branch** | 007-team-invites |
| **Created** | 2026-03-01T10:00:00Z |
| **Original Description** | Members \| invite others |

## Priority Loop State

| Field | Value |
|---|---|
| **Loop Status** | completed |
| **Current Iteration** | 2 / 10 |
| **Last Activity** | 2026-03-01T10:31:00Z |
| **Stale Count** | 0 / 3 |
| **Loop Phase** | C done (2026-03-01T10:31:00Z) |
| **Termination Reason** | accepted |

## Gap Priority Queue

| Priority | Gap ID | Question | Status | Resolution |
|---|---|---|---|---|
| Critical | G-001 | How \| long? | resolved | Applied in iteration 1 |
| Important | G-002 | Who? | resolved | Applied in iteration 1 |
| Minor | G-003 |  | pending |  |

## Pending Questions

| ID | Question Summary | Gaps | Options | Status | Answer |
|---|---|---|---|---|---|
| C1.1 | How long is an invite \| valid? | G-001 | 7 days<br>30 days; or so | answered | 7 days \| not more |
| C1.2 | Who may invite (G-002)? | G-002 |  | answered | owners |

## Gap Resolution History

| Gap ID | Iteration | Action | Details | Timestamp |
|---|---|---|---|---|
| G-001 | 1 | resolved | Answer to C1.1: 7 days \| not more | 2026-03-01T10:19:00Z |
| G-002 | 1 | resolved | Answer to C1.2: owners | 2026-03-01T10:20:00Z |
`
	if got := string(fsys[indexPath].Data); got != want {
		t.Errorf("index.md:\n%s", got)
	}
}

// statuses by kind of event, for steps of any ledger.
var statuses = map[reprise.EventKind]reprise.Status{
	reprise.StepStarted: reprise.InProgress, reprise.StepFinished: reprise.Done, reprise.StepFailed: reprise.Failed,
	reprise.StepBlocked: reprise.Blocked, reprise.StepSkipped: reprise.Skipped, reprise.StepReset: reprise.Pending,
}

// SL8 X9: each kind of event, on each step and question of each scenario: it
// fits or is refused, it is told once, what it says is read back, and nothing
// that was readable is lost.
func TestSL8_record_on_every_scenario(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	played, at := 0, 0
	picked := sample.Every(t, 4)
	for _, name := range files {
		fsys := conventiontest.LoadFS(t, name)
		runs, err := conventiontest.Read(specloop.New(), fsys)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			var events []reprise.Event
			for i := range r.Steps {
				for kind := range statuses {
					events = append(events, step(kind, r.Steps[i].ID, 1))
				}
			}
			for _, q := range r.Questions {
				events = append(events, ask(reprise.QuestionAnswered, q.ID, "an | answer", 1), ask(reprise.AnswerApplied, q.ID, "", 1))
			}
			events = append(events, ask(reprise.QuestionAsked, "C9.9", "Why | not?", 1),
				reprise.Event{Kind: reprise.RunEnded, At: clock(1)}, reprise.Event{Kind: reprise.RunStopped, At: clock(1)}, reprise.Event{Kind: reprise.RunResumed, At: clock(1)})
			for _, ev := range events {
				if at++; picked(at) {
					played += playOne(t, filepath.Base(name), fsys, r, ev)
				}
			}
		}
	}
	if played < 200 {
		t.Errorf("only %d events were recorded", played)
	}
}

// playOne records an event on a run of a tree and checks what holds for every
// event. It returns 1 if something was written.
func playOne(t *testing.T, what string, fsys fstest.MapFS, r *reprise.Run, ev reprise.Event) int {
	t.Helper()
	l := specloop.Layout{}
	what = strings.Join([]string{what, r.ID, string(ev.Kind), ev.Step + ev.Question}, " ")
	edits, err := l.Record(fsys, r, ev)
	if err != nil || len(edits) == 0 {
		if len(edits) > 0 {
			t.Errorf("%s: %d edits and %v", what, len(edits), err)
		}
		return 0
	}
	next, err := conventiontest.Apply(fsys, edits)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	after, err := l.Load(next, r.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if more, err := l.Record(next, after, ev); err != nil || len(more) > 0 {
		t.Errorf("%s: still %d edits, %v\n%s", what, len(more), err, edits[0].Content)
	}
	if s := after.Step(ev.Step); ev.Step != "" && statuses[ev.Kind] != 0 && (s == nil || s.Status != statuses[ev.Kind]) && !excused(after, ev) {
		t.Errorf("%s: %+v", what, s)
	}
	if len(after.Questions) < len(r.Questions) && ev.Kind != reprise.StepFinished && ev.Kind != reprise.QuestionAnswered && !strings.HasPrefix(string(ev.Kind), "run") && strings.HasSuffix(edits[0].Path, "index.md") {
		t.Errorf("%s: %d of %d questions are left", what, len(after.Questions), len(r.Questions))
	}
	for _, f := range after.Findings {
		broken := f.Code == reprise.CodeDamagedLine || f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeDuplicateID || f.Code == reprise.CodeSalvaged
		for _, old := range r.Findings {
			broken = broken && (old.Code != f.Code)
		}
		if broken {
			t.Errorf("%s: %+v", what, f)
		}
	}
	return 1
}

// excused are the ends that lead round to the beginning.
func excused(after *reprise.Run, ev reprise.Event) bool {
	s := after.Step(ev.Step)
	return ev.Kind == reprise.StepFinished && s != nil && (s.Status == reprise.Pending && (s.ID == "B5" || strings.HasSuffix(s.ID, ".user")) || s.Status.Closed())
}

func tree(t *testing.T, name, id string) (fstest.MapFS, *reprise.Run) {
	t.Helper()
	fsys := conventiontest.LoadFS(t, "testdata/scenarios/"+name+".txtar")
	runs, err := conventiontest.Read(specloop.New(), fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		if r.ID == id {
			return fsys, r
		}
	}
	t.Fatalf("no run %s in %s", id, name)
	return nil, nil
}

// SL8: of a file with CRLF, a BOM and odd tables only the cells that an event
// is about change.
func TestSL8_record_changes_only_its_own_bytes(t *testing.T) {
	t.Parallel()
	const text = "\ufeff# Feature Index: 007-team-invites\n\n<!-- | **Loop Status** | validating | -->\n\n## Priority Loop State\n\n" +
		"|Field|Value|\n|:--|--:|\n|**Loop Status**|`clarifying`|\n|**Current Iteration**|  1 / 10  |\n|**Last Activity**|2026-01-02T14:03:00+00:00|\n|**Stale Count**|0 / 3|\n|**Odd**|kept  |\n\n" +
		"```\n| **Loop Status** | completed |\n```\n\n## Pending Questions\n\n| ID | Question Summary | Gaps | Status |\n|---|---|---|---|\n| **C1.1** | Why? | G-1 | _awaiting_answer_ |\n\n" +
		"## Gap Priority Queue\n\n| Status | Extra | Gap ID | Priority |\n|---|---|---|---|\n| clarifying | x | G-1 | Critical |\n\nlast line without an end"
	crlf := strings.ReplaceAll(text, "\n", "\r\n")
	fsys := fstest.MapFS{indexPath: file(crlf), featureDir + "spec.md": file(specText)}
	next := conventiontest.Records(t, specloop.New(), fsys, "007-team-invites",
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "C1.1", "so", 1), State: reprise.Interrupted, Moves: all},
		recorded(ask(reprise.AnswerApplied, "C1.1", "", 2), 0, all...))
	want := strings.NewReplacer(
		"2026-01-02T14:03:00+00:00", "2026-03-01T10:02:00+00:00",
		"_awaiting_answer_", "answered", "| clarifying | x |", "| resolved | x |",
	).Replace(text) + "\n\n## User Answers\n\n| ID | Answer |\n|---|---|\n| C1.1 | so |\n\n## Gap Resolution History\n\n" +
		"| Gap ID | Iteration | Action | Details | Timestamp |\n|---|---|---|---|---|\n| G-1 | 1 | resolved | Answer to C1.1: so | 2026-03-01T10:02:00+00:00 |"
	if got := string(next[indexPath].Data); got != strings.ReplaceAll(want, "\n", "\r\n") {
		t.Errorf("got %q\nwant %q", got, strings.ReplaceAll(want, "\n", "\r\n"))
	}
}

// SL4 SL8: the unified tables of the later template keep their own columns.
func TestSL4_record_in_the_template_s_columns(t *testing.T) {
	t.Parallel()
	fsys, _ := tree(t, "clarifying-b2-unified", "001-a")
	next := conventiontest.Records(t, specloop.New(), fsys, "001-a",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.QuestionAsked, Question: "Q-C2", Step: "G-004", Text: "Which | one?", Options: []string{"a", "b"}, At: clock(1)}, State: reprise.Waiting, Moves: all})
	index := string(next["specs/001-a/.workflow/index.md"].Data)
	for _, line := range []string{
		`| Q-C2 | specify |  | Which \| one? | a; b | Important | pending |`,
		`| Important | G-004 | CHK004 | FR-004 | Validity | clarifying | 0 | Q-C1, Q-C2 |`, // no other column says what is asked
		"| **Last Activity** | 2026-03-01T10:01:00Z |", "| **Loop Phase** | B1 started (2026-03-01T10:01:00Z) |",
	} {
		if !strings.Contains(index, line+"\n") {
			t.Errorf("no line %s in\n%s", line, index)
		}
	}
}

// SL5: a mark that another writer left behind does not count.
func TestSL5_a_mark_counts_only_with_its_last_activity(t *testing.T) {
	t.Parallel()
	state := func(status, mark, at string) fstest.MapFS {
		return fstest.MapFS{featureDir + "spec.md": file(specText), indexPath: file("# Feature Index: x\n\n## Priority Loop State\n\n| Field | Value |\n|---|---|\n| **Loop Status** | " +
			status + " |\n| **Current Iteration** | 1 / 10 |\n| **Last Activity** | " + at + " |\n| **Loop Phase** | " + mark + " |\n")}
	}
	const at = "2026-03-01T10:00:00Z"
	for _, tt := range []struct{ status, mark, at, want string }{
		{"validating", "A4 started (" + at + ")", at, "A4"},
		{"validating", "A4 done (" + at + ")", at, "A5"},
		{"validating", "B5 done (" + at + ")", at, "C"},
		{"validating", "A5 done (" + at + ")", at, "B4"},
		{"validating", "A4 started (" + at + ")", "2026-03-01T11:00:00Z", "A3"},
		{"validating", "A4 begun (" + at + ")", at, "A3"},
		{"validating", "Z9 started (" + at + ")", at, "A3"},
		{"validating", "A4 started", at, "A3"},
		{"spec_writing", "A4 started (" + at + ")", at, "A2"},
		{"clarifying", "B1 started (" + at + ")", at, "B1"},
	} {
		r := load(t, state(tt.status, tt.mark, tt.at))
		if len(r.Next) == 0 || r.Next[0].ID != tt.want {
			t.Errorf("%+v: next is %+v", tt, r.Next)
		}
	}
}

// SL5: the round that resolves nothing makes the loop stale; status, iteration
// and activity are in one edit.
func TestSL5_record_rounds(t *testing.T) {
	t.Parallel()
	fsys := conventiontest.Records(t, specloop.New(), fstest.MapFS{featureDir + "spec.md": file(specText), indexPath: file("# Feature Index: x\n\n## Priority Loop State\n\n| Field | Value |\n|---|---|\n" +
		"| Loop Status | validating |\n| Current Iteration | 2 / 10 |\n| Last Activity | 2026-01-02 |\n| Stale Count | 1 / 3 |\n\n## Gap Priority Queue\n\n| Priority | Gap ID | Status |\n|---|---|---|\n| Critical | G-1 | pending |\n")}, "007-team-invites",
		recorded(step(reprise.StepStarted, "B5", 1), reprise.InProgress, all...),
		recorded(step(reprise.StepFinished, "B5", 2), 0, all...))
	index := string(fsys[indexPath].Data)
	for _, line := range []string{"| Loop Status | validating |", "| Current Iteration | 3 / 10 |", "| Last Activity | 2026-03-01 |", "| Stale Count | 2 / 3 |", "| Loop Phase | B5 done (2026-03-01) |"} {
		if !strings.Contains(index, line+"\n") {
			t.Errorf("no line %s in\n%s", line, index)
		}
	}
}

// SL9: the turns of the second family, with a question of a person.
func TestSL9_record_turns(t *testing.T) {
	t.Parallel()
	const name = featureDir + ".workflow/context.md"
	fsys := fstest.MapFS{featureDir + "spec.md": file(specText), name: file("---\ntype: specification-request\nstatus: awaiting-analyst # whose turn\niteration: 1\nfeature_id: 007-team-invites\nupdated: 2026-02-01T10:00:00Z\n---\n\n# Request\n")}
	turns := []string{"specify.analyst", "specify.advocate", "specify.user"}
	fsys = conventiontest.Records(t, specloop.New(), fsys, "007-team-invites",
		recorded(step(reprise.StepStarted, "specify.analyst", 1), reprise.InProgress),
		recorded(step(reprise.StepFinished, "specify.analyst", 2), reprise.Done, turns...),
		conventiontest.Recorded{Event: ask(reprise.QuestionAsked, "G1", "How | many?", 3), State: reprise.Waiting, Moves: turns},
		conventiontest.Recorded{Event: ask(reprise.QuestionAsked, "G2", "Who?", 4), State: reprise.Waiting},
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "G1", "20", 5), State: reprise.Waiting},
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "G2", "owners", 6), State: reprise.Interrupted, Moves: turns},
		conventiontest.Recorded{Event: ask(reprise.AnswerApplied, "G2", "", 7), Cannot: true},
		conventiontest.Recorded{Event: step(reprise.StepFailed, "specify.analyst", 8), Cannot: true},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunStopped, At: clock(9)}, State: reprise.Stopped, Moves: turns},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunResumed, At: clock(10)}, State: reprise.Interrupted, Moves: turns},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunEnded, At: clock(11)}, State: reprise.Complete, Moves: turns})
	const want = "---\ntype: specification-request\nstatus: completed # whose turn\niteration: 1\nfeature_id: 007-team-invites\nupdated: 2026-03-01T10:11:00Z\n---\n\n# Request\n\n" +
		"## Clarification Log\n\n### Iteration 1\n\n#### Gaps Identified\n\n| Gap ID | Severity | Description |\n|---|---|---|\n| G1 | Important | How \\| many? |\n| G2 | Important | Who? |\n\n" +
		"#### User Answers\n\n| Gap ID | Question | Answer |\n|---|---|---|\n| G1 | How \\| many? | 20 |\n| G2 | Who? | owners |\n"
	if got := string(fsys[name].Data); got != want {
		t.Errorf("context.md:\n%s", got)
	}
}

// SL9: the phases of the workflows that follow, in both families.
func TestSL9_record_later_workflows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ scenario, id, from, to, last string }{
		{"plan-interrupted", "007-team-invites", "P1", "P2", "P3"},
		{"successor-plan-open", "007-team-invites", "plan.datamodel", "plan.contracts", "plan.contracts"},
	} {
		fsys, r := tree(t, tt.scenario, tt.id)
		var moves []string
		for _, s := range r.Steps {
			moves = append(moves, s.ID)
		}
		fsys = conventiontest.Records(t, specloop.New(), fsys, tt.id,
			recorded(step(reprise.StepFinished, tt.from, 1), reprise.Done, moves...),
			recorded(step(reprise.StepStarted, tt.to, 2), reprise.InProgress, moves...),
			conventiontest.Recorded{Event: step(reprise.StepFinished, tt.last, 3), Status: reprise.Done, State: reprise.Complete, Moves: moves})
		if s := fsys["specs/007-team-invites/.workflow/plan-context.md"]; !strings.Contains(string(s.Data), "completed") {
			t.Errorf("%s: %s", tt.scenario, s.Data)
		}
	}
}

// SL9: nodes of a graph, in the words of their types; the context follows the
// end.
func TestSL9_record_nodes(t *testing.T) {
	t.Parallel()
	fsys, r := tree(t, "graph-open", "007-team-invites")
	var moves []string
	for _, s := range r.Steps {
		moves = append(moves, s.ID)
	}
	fsys = conventiontest.Records(t, specloop.New(), fsys, r.ID,
		recorded(step(reprise.StepStarted, "analyst-review", 1), reprise.InProgress),
		recorded(step(reprise.StepFailed, "analyst-review", 2), reprise.Failed),
		recorded(step(reprise.StepReset, "analyst-review", 3), reprise.Pending),
		recorded(step(reprise.StepStarted, "analyst-review", 4), reprise.InProgress),
		recorded(step(reprise.StepFinished, "analyst-review", 5), reprise.Done),
		recorded(step(reprise.StepFinished, "advocate-review", 6), reprise.Done),
		conventiontest.Recorded{Event: ask(reprise.QuestionAsked, "Q1", "?", 7), Cannot: true},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.RunEnded, At: clock(8)}, State: reprise.Complete, Moves: moves})
	graph := string(fsys[featureDir+".workflow/dags/specify-strategy.json"].Data)
	for _, part := range []string{`"status": "passed"`, `"completed_at": "2026-03-01T10:05:00+00:00"`, `"completed_at": "2026-03-01T10:08:00+00:00"`} {
		if !strings.Contains(graph, part) {
			t.Errorf("no %s in\n%s", part, graph)
		}
	}
	if c := fsys[featureDir+".workflow/context.md"]; c != nil && !strings.Contains(string(c.Data), "status: completed") {
		t.Errorf("context.md:\n%s", c.Data)
	}

	fsys, r = tree(t, "graph-decision", "001-a")
	conventiontest.Records(t, specloop.New(), fsys, r.ID,
		conventiontest.Recorded{Event: ask(reprise.QuestionAnswered, "human-clarification", "both\n\"x\"", 1), Moves: []string{"human-clarification"}, State: reprise.Interrupted})
}

// SL4: what is on disk outweighs what an event claims, and what is not whole is
// not called complete.
func TestSL4_record_refusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scenario, id string
		ev           reprise.Event
		cannot       bool
	}{
		{"spec-writing", "001-a", step(reprise.StepFinished, "A2", 1), true}, // the template is no specification
		{"clarifying-b1", "007-team-invites", step(reprise.StepFinished, "B1", 1), true},
		{"clarifying-b2-answers-on-disk", "007-team-invites", step(reprise.StepFinished, "B2", 1), true},
		{"clarifying-b1", "007-team-invites", reprise.Event{Kind: reprise.RunEnded, At: clock(1)}, true},
		{"completed", "007-team-invites", reprise.Event{Kind: reprise.RunStopped, At: clock(1)}, true},
		{"clarifying-b1", "007-team-invites", step(reprise.StepFailed, "B1", 1), true},
		{"clarifying-b1", "007-team-invites", step(reprise.StepStarted, "Z9", 1), true},
		{"clarifying-b1", "007-team-invites", ask(reprise.QuestionAnswered, "C9.9", "x", 1), true},
		{"clarifying-b1", "007-team-invites", ask(reprise.AnswerApplied, "C2.1", "x", 1), true},
		{"clarifying-b1", "007-team-invites", ask(reprise.QuestionAsked, "a\nb", "x", 1), false},
		{"clarifying-b1", "007-team-invites", ask(reprise.QuestionAsked, "{{x}}", "x", 1), false},
		{"clarifying-b1", "007-team-invites", reprise.Event{Kind: reprise.RunStarted, At: clock(1)}, false},
		{"clarifying-b1", "007-team-invites", reprise.Event{Kind: reprise.RunStopped}, false},
		{"clarifying-b1", "007-team-invites", reprise.Event{Kind: reprise.PhaseEnded, Phase: "lunch", At: clock(1)}, true},
		{"damaged-tables", "001-a", reprise.Event{Kind: reprise.RunEnded, At: clock(1)}, false},
		{"graph-damaged", "001-a", reprise.Event{Kind: reprise.RunStopped, At: clock(1)}, false},
	} {
		fsys, r := tree(t, tt.scenario, tt.id)
		edits, err := specloop.Layout{}.Record(fsys, r, tt.ev)
		if err == nil || len(edits) > 0 || errors.Is(err, reprise.ErrCannotRecord) != tt.cannot {
			t.Errorf("%s %s %s: %d edits, %v", tt.scenario, tt.ev.Kind, tt.ev.Step+tt.ev.Question, len(edits), err)
		}
	}
	for _, id := range []string{"", "..", "a/b", "x y", "x\n"} {
		r := &reprise.Run{Ref: reprise.Ref{Layout: "specloop", ID: id}}
		if edits, err := (specloop.Layout{}).Record(fstest.MapFS{}, r, reprise.Event{Kind: reprise.RunStarted, At: clock(0)}); err == nil {
			t.Errorf("feature %q: %d edits", id, len(edits))
		}
	}
}

// SL9: the end of a workflow closes it; words for a phase end that phase.
func TestSL9_record_phase_ended(t *testing.T) {
	t.Parallel()
	fsys, _ := tree(t, "plan-interrupted", "007-team-invites")
	conventiontest.Records(t, specloop.New(), fsys, "007-team-invites",
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "P1 domain model", At: clock(1)}, Moves: []string{"P1", "P2"}, State: reprise.Interrupted},
		conventiontest.Recorded{Event: reprise.Event{Kind: reprise.PhaseEnded, Phase: "plan", At: clock(2)}, Moves: []string{"P2", "P3"}, State: reprise.Complete})
}
