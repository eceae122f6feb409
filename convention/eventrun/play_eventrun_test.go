package eventrun_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/convention/eventrun"
	"reprise/convention/playtest"
)

var now = time.Date(2026, 3, 20, 12, 30, 0, 0, time.UTC)

const graph = `{"title":"Export as CSV","tasks":[
 {"id":"T001","title":"Write the encoder","dependencies":[]},
 {"id":"T002","title":"Add the button","dependencies":[]},
 {"id":"T003","title":"Connect both","dependencies":["T001","T002"]}]}`

// diligent does what each role is for and nothing else.
func diligent(j playtest.Job) reprise.Reply {
	switch j.Step {
	case "prd":
		j.Write(j.Expect[0].Path, "# PRD: CSV export\n\n"+j.Data[0].Text+"\n")
	case "task-graph":
		j.Write(j.Expect[0].Path, graph)
	case "plan", "constitution", "pr-prep":
		old := j.Read(j.Expect[0].Path)
		j.Write(j.Expect[0].Path, old+"# "+j.Step+"\n")
	case "cleanup", "consolidation":
	default:
		j.Write("src/"+j.Step+".go", "package src\n")
	}
	return reprise.Reply{Outcome: "done"}
}

func approve(q reprise.Question) (string, bool) { return "approve", q.ID == "plan-approval" }

func wantWhole(t testing.TB, r playtest.Result, steps ...string) {
	t.Helper()
	if r.Run.State != reprise.Complete || r.Decision.Action != reprise.Finish {
		t.Errorf("the run is %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
	for _, s := range steps {
		if n := r.Ends(s); n != 1 {
			t.Errorf("%s has %d accepted ends", s, n)
		}
	}
	for name := range r.Files {
		if dir := path.Dir(name); strings.Contains(name, "/events/") && path.Base(dir) != "reprise" {
			t.Errorf("%s: an event outside our own folder", name)
		}
	}
}

var stages = []string{"prd", "plan", "task-graph", "constitution", "T001", "T002", "T003", "cleanup", "pr-prep", "consolidation"}

func TestEV9_from_words_to_the_end_whatever_kills_it(t *testing.T) {
	t.Parallel()
	p := playtest.Player{
		Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Agent: diligent, Answer: approve,
		Goal: reprise.Goal{Text: "Let people export their table as CSV", Now: now},
	}
	p.EveryKill(t, fstest.MapFS{}, func(t testing.TB, r playtest.Result) {
		wantWhole(t, r, stages...)
		if got := r.Count(reprise.PhaseEnded, ""); got > 4 {
			t.Errorf("%d phases ended", got)
		}
	})
	r := p.Play(t, fstest.MapFS{})
	want := []string{
		"spec-writer prd", "planner plan", "task-breaker task-graph", "orchestrator constitution", "executor T001", "executor T002", "executor T003",
		"cleanup cleanup", "pr-prep pr-prep", "memory-consolidator consolidation",
	}
	if d := cmp.Diff(want, r.Launches); d != "" {
		t.Errorf("launches: %s", d)
	}
	if !strings.HasPrefix(r.Ref.ID, "20260320-1230-let-people-export-their-table-") || len(path.Ext(r.Ref.ID)) > 0 {
		t.Errorf("the run is called %s", r.Ref.ID)
	}
	if text := string(r.Files[r.Ref.Path+"/prd.md"].Data); !strings.Contains(text, "export their table as CSV") {
		t.Errorf("the goal did not reach the spec-writer: %q", text)
	}
	if len(r.Run.Findings) > 0 {
		t.Errorf("findings about a run that went well: %+v", r.Run.Findings)
	}
}

func TestEV9_from_a_graph(t *testing.T) {
	t.Parallel()
	p := playtest.Player{Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Agent: diligent, Goal: reprise.Goal{Text: graph, Now: now}}
	p.EveryKill(t, fstest.MapFS{}, func(t testing.TB, r playtest.Result) { wantWhole(t, r, stages[4:]...) })
	p.Goal = reprise.Goal{Path: "tasks.json", ID: "mine", Now: now}
	r := p.Play(t, fstest.MapFS{"tasks.json": {Data: []byte(graph)}})
	wantWhole(t, r, stages[4:]...)
	if r.Ref.ID != "mine" {
		t.Errorf("the run is called %s", r.Ref.ID)
	}
}

func TestEV9_a_workflow_of_one_s_own_is_its_tasks(t *testing.T) {
	t.Parallel()
	book := eventrun.WithSteps(func(id string) (reprise.Assignment, bool) {
		a := reprise.Assignment{Role: "dev", Command: []string{"make", id}, Timeout: time.Minute, Attempts: 2}
		if id == "T003" {
			a = reprise.Assignment{Local: "a milestone"}
		}
		return a, strings.HasPrefix(id, "T")
	})
	p := playtest.Player{Layout: eventrun.New(), Book: book, Goal: reprise.Goal{Text: graph, Now: now}, Agent: func(j playtest.Job) reprise.Reply {
		if want := []string{"make", j.Step}; !slices.Equal(j.Command, want) || j.Timeout != time.Minute {
			t.Errorf("%s runs %q", j.Step, j.Command)
		}
		return reprise.Reply{}
	}}
	p.EveryKill(t, fstest.MapFS{}, func(t testing.TB, r playtest.Result) {
		wantWhole(t, r, "T001", "T002", "T003")
		if slices.ContainsFunc(r.Launches, func(l string) bool { return strings.HasSuffix(l, "T003") }) {
			t.Error("something was started for a milestone")
		}
	})
	if _, err := book.Assign(fstest.MapFS{}, &reprise.Run{Steps: []reprise.Step{{ID: "X"}}}, reprise.Unit{ID: "X"}); err == nil {
		t.Error("a task that the file does not name was assigned")
	}
}

func TestEV5_nothing_is_executed_without_approval(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		answers []string
		state   reprise.State
		plans   int
		tasks   int
	}{
		{"nobody answers", nil, reprise.Waiting, 1, 0},
		{"cancel", []string{"cancel"}, reprise.Stopped, 1, 0},
		{"revise once", []string{"revise: fewer tasks", "approve"}, reprise.Complete, 2, 3},
		{"revise twice", []string{"revise", "revise", "approve"}, reprise.Complete, 3, 3},
	} {
		n := 0
		p := playtest.Player{
			Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Agent: diligent, Goal: reprise.Goal{Text: "Export", Now: now},
			Answer: func(reprise.Question) (string, bool) {
				if n++; n > len(tc.answers) {
					return "", false
				}
				return tc.answers[n-1], true
			},
		}
		r := p.Play(t, fstest.MapFS{})
		plans, tasks := 0, 0
		for _, l := range r.Launches {
			if strings.HasSuffix(l, " plan") {
				plans++
			}
			if strings.Contains(l, " T") {
				tasks++
			}
		}
		if r.Run.State != tc.state || plans != tc.plans || tasks != tc.tasks {
			t.Errorf("%s: %s, %d plans, %d tasks\n%s", tc.name, r.Run.State, plans, tasks, r.Story())
		}
	}
}

func TestEV4_a_graph_that_cannot_be_worked_off_is_made_again(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"cycle":   `{"tasks":[{"id":"A","dependencies":["B"]},{"id":"B","dependencies":["A"]}]}`,
		"unknown": `{"tasks":[{"id":"A","dependencies":["Z"]}]}`,
		"empty":   `{"tasks":[]}`,
		"torn":    `{"tasks":[{"id":"A"`,
	} {
		p := playtest.Player{
			Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Answer: approve, Goal: reprise.Goal{Text: "Export", Now: now},
			Agent: func(j playtest.Job) reprise.Reply {
				if j.Step == "plan" && j.Facts["graph"] != "" {
					j.Write(j.Facts["graph"], graph)
				}
				if j.Step == "task-graph" && j.Attempt == 1 {
					j.Write(j.Expect[0].Path, first)
					return reprise.Reply{Outcome: "done"}
				}
				return diligent(j)
			},
		}
		r := p.Play(t, fstest.MapFS{})
		if r.Count(reprise.StepFailed, "task-graph") != 1 {
			t.Errorf("%s: the graph was accepted, or what followed did not come:\n%s", name, r.Story())
		}
		if name == "torn" {
			if r.Run.State != reprise.Unreadable {
				t.Errorf("a torn graph leaves the run %s", r.Run.State)
			}
			continue // that is for `reprise repair`
		}
		wantWhole(t, r, stages[3:]...)
	}
}

func TestEV3_failed_and_blocked_tasks(t *testing.T) {
	t.Parallel()
	play := func(reply func(j playtest.Job) (reprise.Reply, bool), answer func(reprise.Question) (string, bool)) playtest.Result {
		p := playtest.Player{Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Goal: reprise.Goal{Text: graph, Now: now}, Answer: answer, Agent: func(j playtest.Job) reprise.Reply {
			if r, ok := reply(j); ok {
				return r
			}
			return diligent(j)
		}}
		return p.Play(t, fstest.MapFS{})
	}
	once := play(func(j playtest.Job) (reprise.Reply, bool) {
		return reprise.Reply{Outcome: "failed", Summary: "no"}, j.Step == "T002" && j.Attempt == 1
	}, nil)
	wantWhole(t, once, stages[4:]...)

	blocked := play(func(j playtest.Job) (reprise.Reply, bool) {
		return reprise.Reply{Outcome: "blocked", Summary: "no key"}, j.Step == "T002" && j.Attempt == 1
	}, func(q reprise.Question) (string, bool) { return "the key is in the vault", q.ID == "blocked-T002" })
	wantWhole(t, blocked, stages[4:]...)

	skipped := play(func(j playtest.Job) (reprise.Reply, bool) {
		return reprise.Reply{Outcome: "blocked", Summary: "no key"}, j.Step == "T002"
	}, func(q reprise.Question) (string, bool) { return "skip it", q.ID == "blocked-T002" })
	wantWhole(t, skipped, "T001", "T003")

	asked := play(func(j playtest.Job) (reprise.Reply, bool) {
		if j.Step != "T001" || j.Attempt > 1 {
			if j.Step == "T001" && !slices.Contains(j.Answers, "sep") && j.Attempt == 2 {
				t.Logf("answers: %v", j.Answers)
			}
			return reprise.Reply{}, false
		}
		return reprise.Reply{Outcome: "question", Questions: []reprise.Asked{{ID: "sep", Text: "Comma or semicolon?"}}}, true
	}, func(q reprise.Question) (string, bool) { return "comma", q.ID == "sep" })
	wantWhole(t, asked, stages[4:]...)
}

func TestEV3_verification_where_the_run_has_it(t *testing.T) {
	t.Parallel()
	rejected := false
	p := playtest.Player{
		Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Goal: reprise.Goal{Text: graph, Now: now},
		Agent: func(j playtest.Job) reprise.Reply {
			switch {
			case j.Role == "executor":
				return reprise.Reply{Outcome: "done", Verdict: "implemented"}
			case j.Role == "verifier" && j.Step == "T002" && !rejected:
				rejected = true
				return reprise.Reply{Outcome: "done", Verdict: "rejected", Issues: []string{"no test"}}
			case j.Role == "verifier":
				return reprise.Reply{Outcome: "done", Verdict: "approved"}
			}
			return diligent(j)
		},
	}
	r := p.Play(t, fstest.MapFS{})
	if r.Run.State != reprise.Complete {
		t.Fatalf("%s\n%s", r.Run.Reason, r.Story())
	}
	count := map[string]int{}
	for _, l := range r.Launches {
		count[l]++
	}
	want := map[string]int{"executor T001": 1, "verifier T001": 1, "executor T002": 2, "verifier T002": 2, "executor T003": 1, "verifier T003": 1}
	for l, n := range want {
		if count[l] != n {
			t.Errorf("%s: %d times, want %d", l, count[l], n)
		}
	}
	var log string
	for name, f := range r.Files {
		if strings.Contains(name, "/events/") {
			log += string(f.Data)
		}
	}
	for _, word := range []string{"task-implemented", "task-verification-started", "task-verified", "task-verification-failed"} {
		if !strings.Contains(log, word) {
			t.Errorf("no %s on record", word)
		}
	}
}

func TestEV7_a_torn_line_of_somebody_else_costs_that_line(t *testing.T) {
	t.Parallel()
	p := playtest.Player{Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Agent: diligent, Goal: reprise.Goal{Text: graph, ID: "r", Now: now}}
	p.Between = func(turn int, files fstest.MapFS) {
		if turn == 1 {
			name := ".agent-memory/runs/r/events/executor-1/20260320-1200.jsonl"
			files[name] = &fstest.MapFile{Data: []byte(`{"event_type":"task-completed","task_id":"T001","timestamp":"2026-03-20T12:00:00Z"}` + "\n" + `{"event_type":"task-comp`), Mode: 0o644}
		}
	}
	r := p.Play(t, fstest.MapFS{})
	if r.Run.State != reprise.Complete || r.Ends("T001") != 0 || r.Ends("T002") != 1 {
		t.Errorf("%s\n%s", r.Run.Reason, r.Story())
	}
	if !slices.ContainsFunc(r.Run.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeDamagedLine && f.Source.Line == 2 }) {
		t.Errorf("the torn line is not named: %+v", r.Run.Findings)
	}
}

func TestEV2_a_lost_document_is_made_again(t *testing.T) {
	t.Parallel()
	lost := false
	p := playtest.Player{Layout: eventrun.New(), Book: eventrun.NewPlaybook(), Agent: diligent, Answer: approve, Goal: reprise.Goal{Text: "Export", Now: now}}
	p.Between = func(turn int, files fstest.MapFS) {
		for name := range files {
			if strings.HasSuffix(name, "/constitution.md") && !lost {
				lost = true
				delete(files, path.Join(path.Dir(name), "plan.md"))
			}
		}
	}
	r := p.Play(t, fstest.MapFS{})
	if r.Run.State != reprise.Complete || r.Ends("plan") != 2 || r.Ends("T001") != 1 {
		t.Errorf("%s\n%s", r.Run.Reason, r.Story())
	}
}

func TestEV9_names_and_goals(t *testing.T) {
	t.Parallel()
	book := eventrun.NewPlaybook()
	seen := map[string]bool{}
	files := fstest.MapFS{}
	for i, text := range []string{"Fix it", "Fix it", "../../etc/passwd; rm -rf /", strings.Repeat("ü", 300), "日本語", `{"title":"A b","tasks":[{"id":"x"}]}`} {
		ref, events, err := book.Begin(files, reprise.Goal{Text: text, Now: now})
		if err != nil || len(events) != 1 || seen[ref.ID] {
			t.Fatalf("%q: %v %v %v", text, ref, events, err)
		}
		seen[ref.ID] = true
		if strings.Trim(ref.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(ref.ID) > 80 || ref.Path != ".agent-memory/runs/"+ref.ID {
			t.Errorf("%q gives %q", text, ref.ID)
		}
		files[fmt.Sprintf("%s/prd.md", ref.Path)] = &fstest.MapFile{Data: []byte(fmt.Sprint(i))}
	}
	for _, g := range []reprise.Goal{{Now: now}, {Now: now, Text: "x", ID: "../up"}, {Now: now, Path: "nowhere.json"}, {Now: now, Text: "{not json"},
		{Now: now, Text: `{"tasks":[{"id":"a","dependencies":["b"]},{"id":"b","dependencies":["a"]}]}`},
		{Now: now, Text: `{"tasks":[{"id":"a","dependencies":["z"]}]}`},
	} {
		if _, _, err := book.Begin(files, g); err == nil {
			t.Errorf("%+v was accepted", g)
		}
	}
	for id := range seen {
		if _, events, err := book.Begin(files, reprise.Goal{ID: id, Now: now}); err != nil || len(events) > 0 {
			t.Errorf("a run that is there is begun again: %v %v", events, err)
		}
	}
}

// Only a known approval verifies a task.
func TestEV3_a_verifier_that_does_not_approve_verifies_nothing(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]reprise.Conclusion{
		"reject": {Failed: true}, "not approved": {Failed: true}, "changes requested": {Failed: true}, "no": {Failed: true}, "concerns": {Failed: true},
		"blocked": {Blocked: true}, "": {Problem: "the verification gave no ruling"}, "hm": {Problem: `the ruling "hm" is unknown here`},
		"Approved.": {}, "verified": {},
	} {
		r := &reprise.Run{Ref: reprise.Ref{Layout: "eventrun", ID: "r", Path: "runs/r", Kind: reprise.KindGraph}, State: reprise.Interrupted,
			Steps: []reprise.Step{{ID: "T1", Status: reprise.InProgress, Role: "verifier"}, {ID: "T2"}}}
		c := eventrun.NewPlaybook().Conclude(fstest.MapFS{}, r, reprise.Assignment{Step: "T1", Role: "verifier"}, reprise.Reply{Outcome: "done", Verdict: word})
		if c.Failed != want.Failed || c.Blocked != want.Blocked || c.Problem != want.Problem {
			t.Errorf("%q: %+v", word, c)
		}
	}
}
