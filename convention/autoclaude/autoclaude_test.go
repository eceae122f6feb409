package autoclaude_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/autoclaude"
	"reprise/convention/conventiontest"
	"reprise/internal/tree"
)

func TestScenarios(t *testing.T) {
	conventiontest.Scenarios(t, autoclaude.New(), "testdata/scenarios")
}

func TestConform(t *testing.T) {
	for _, name := range []string{"seed-scenario-4-crash-while-coding", "chunk-era", "seed-scenario-2-plan-and-worktree", "seed-scenario-3-no-plan"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conventiontest.Conform(t, autoclaude.New(), conventiontest.LoadFS(t, "testdata/scenarios/"+name+".txtar"))
		})
	}
}

// one reads a tree with one spec.
func one(t testing.TB, files map[string]string) *reprise.Run {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[".auto-claude/specs/001-x/"+name] = &fstest.MapFile{Data: []byte(data), ModTime: conventiontest.Epoch}
	}
	runs, err := conventiontest.Read(autoclaude.New(), fsys)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0]
}

func planOf(t testing.TB, root any) *reprise.Run {
	t.Helper()
	raw, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return one(t, map[string]string{"implementation_plan.json": string(raw)})
}

type object = map[string]any

// Every spelling of an item's status that the program's own repair accepts,
// and words it does not know.
func TestAC5_StatusWords(t *testing.T) {
	for word, want := range map[string]reprise.Status{
		"pending": reprise.Pending, "not_started": reprise.Pending, "todo": reprise.Pending, "to_do": reprise.Pending, "backlog": reprise.Pending, "queued": reprise.Pending, "Not Started": reprise.Pending,
		"in_progress": reprise.InProgress, "in-progress": reprise.InProgress, "inprogress": reprise.InProgress, "working": reprise.InProgress, "running": reprise.InProgress, "active": reprise.InProgress, "wip": reprise.InProgress,
		"completed": reprise.Done, "done": reprise.Done, "complete": reprise.Done, "finished": reprise.Done, "success": reprise.Done, "completed_successfully": reprise.Done, "COMPLETED": reprise.Done,
		"blocked": reprise.Blocked, "stuck": reprise.Blocked, "waiting": reprise.Blocked,
		"failed": reprise.Failed, "error": reprise.Failed, "errored": reprise.Failed,
		"skipped": reprise.Unknown, "not done": reprise.Unknown, "✅": reprise.Unknown, "true": reprise.Unknown, "completed?": reprise.Done, "incomplete": reprise.Unknown,
	} {
		r := planOf(t, object{"phases": []any{object{"id": "p", "subtasks": []any{object{"id": "a", "status": word}}}}})
		if got := r.Steps[0].Status; got != want {
			t.Errorf("%q means %s, want %s", word, got, want)
		}
		if told := hasCode(r, reprise.CodeUnknownStatus); told != (want == reprise.Unknown) {
			t.Errorf("%q: told=%t", word, told)
		}
	}
}

// Every name of the list of items, in a phase and at the top, with every name
// of an item's id.
func TestAC5_ListAndIDNames(t *testing.T) {
	for _, list := range []string{"subtasks", "chunks", "tasks", "steps", "implementation_steps"} {
		for _, id := range []string{"id", "subtask_id", "chunk_id", "task_id", "step"} {
			items := []any{object{id: "one", "status": "completed"}, object{id: "two", "status": "pending"}}
			for where, root := range map[string]object{
				"phase": {"phases": []any{object{"phase": 1, list: items}}},
				"flat":  {"feature": "f", list: items},
				"both":  {"feature": "f", "phases": []any{}, list: items},
			} {
				r := planOf(t, root)
				if len(r.Next) != 1 || r.Next[0].ID != "two" || r.State != reprise.Interrupted {
					t.Errorf("%s %s %s: %s, next %v", where, list, id, r.State, r.Next)
				}
			}
		}
	}
}

// plan.status decides nothing but the closing of a spec.
func TestAC5_PlanStatus(t *testing.T) {
	for _, status := range []any{nil, "in_progress", "human_review", "backlog", "pending", "ai_review", "qa_approved", "planned", "planning", "queue", "error", "weird", 7} {
		r := planOf(t, object{"status": status, "phases": []any{object{"id": 1, "subtasks": []any{object{"id": "a", "status": "completed"}, object{"id": "b"}}}}})
		if r.State != reprise.Interrupted || r.Next[0].ID != "b" {
			t.Errorf("%v: %s", status, r.State)
		}
	}
	for _, status := range []string{"done", "completed", "complete", "pr_created"} {
		r := planOf(t, object{"status": status, "phases": []any{object{"id": 1, "subtasks": []any{object{"id": "a", "status": "completed"}, object{"id": "b"}}}}})
		if r.State != reprise.Stopped || len(r.Next) > 0 || !hasCode(r, reprise.CodeClosedOpen) {
			t.Errorf("%v: %s", status, r.State)
		}
	}
}

// The three kinds of times in real files, and what is no time.
func TestAC5_Times(t *testing.T) {
	for written, want := range map[string]string{
		"2026-01-17T22:32:56.123Z":         "2026-01-17T22:32:56Z",
		"2026-01-17T22:32:56.123456":       "2026-01-17T22:32:56Z",
		"2026-01-17T22:32:56.123456+01:00": "2026-01-17T21:32:56Z",
		"2026-01-17T22:32:56+00:00":        "2026-01-17T22:32:56Z",
		"2026-01-17T15:00:00":              "2026-01-17T15:00:00Z",
		"yesterday":                        "2026-01-02T03:04:05Z", // the file's own
	} {
		r := planOf(t, object{"last_updated": written, "phases": []any{object{"id": 1, "subtasks": []any{object{"id": "a"}}}}})
		if got := r.LastActivity.UTC().Format("2006-01-02T15:04:05Z07:00"); got != want {
			t.Errorf("%q gives %s, want %s", written, got, want)
		}
	}
}

// A file of secrets lies beside the specs: it must not even be opened, and
// neither must the project index, which can quote connection strings, nor the
// log, which grows to megabytes.
func TestX9_SecretsAreNeverOpened(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, name := range []string{"seed-scenario-2-plan-and-worktree", "seed-scenario-3-no-plan", "worktree-copies", "leftovers"} {
		maps.Copy(fsys, conventiontest.LoadFS(t, "testdata/scenarios/"+name+".txtar"))
	}
	for _, dir := range []string{".auto-claude/", ".auto-claude/specs/001-dark-mode/", ".worktrees/auto-claude/.auto-claude/"} {
		for _, name := range []string{".env", ".env.local", "project_index.json", "task_logs.json"} {
			fsys[dir+name] = &fstest.MapFile{Data: []byte("SECRET=1")}
		}
	}
	if _, err := conventiontest.Read(autoclaude.New(), guard{t, fsys}); err != nil {
		t.Fatal(err)
	}
}

// guard fails the test when a secret is opened; asking whether it exists goes
// through Stat of the embedded file system and is allowed.
type guard struct {
	t *testing.T
	fstest.MapFS
}

// Open implements fs.FS.
func (g guard) Open(name string) (fs.File, error) {
	if base := filepath.Base(name); strings.HasPrefix(base, ".env") || base == "project_index.json" || base == "task_logs.json" {
		g.t.Errorf("%s was opened", name)
	}
	return g.MapFS.Open(name)
}

// A linked checkout is left out of listings; its copy of the plan is found by
// name, and as a run of its own once the project's is gone.
func TestAC2_LinkedWorktrees(t *testing.T) {
	plan := func(second string) string {
		return fmt.Sprintf(`{"phases":[{"id":1,"subtasks":[{"id":"a","status":"completed"},{"id":"b","status":%q},{"id":"c"}]}]}`, second)
	}
	for _, place := range []string{".worktrees/001-x", ".worktrees/auto-claude", ".auto-claude/worktrees/tasks/001-x"} {
		dir := t.TempDir()
		write := func(name, data string) {
			t.Helper()
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		read := func() *reprise.Run {
			t.Helper()
			fsys, err := tree.Open(dir, tree.Options{Marks: []string{".auto-claude"}})
			if err != nil {
				t.Fatal(err)
			}
			defer fsys.Close()
			runs, err := conventiontest.Read(autoclaude.New(), fsys)
			if err != nil || len(runs) != 1 {
				t.Fatalf("%s: %d runs, %v", place, len(runs), err)
			}
			return runs[0]
		}
		write(".gitignore", ".worktrees/\n.auto-claude/\n")
		write(place+"/.git", "gitdir: /elsewhere/.git/worktrees/001-x\n")
		write(place+"/.auto-claude/specs/001-x/implementation_plan.json", plan("completed"))
		write(".auto-claude/specs/001-x/implementation_plan.json", plan("pending"))
		if r := read(); r.Path != ".auto-claude/specs/001-x" || r.Next[0].ID != "c" || !hasCode(r, reprise.CodePlanCopies) || len(r.Options) != 4 {
			t.Errorf("%s: %s", place, conventiontest.Describe(r))
		}
		if err := os.RemoveAll(filepath.Join(dir, ".auto-claude", "specs")); err != nil {
			t.Fatal(err)
		}
		if r := read(); r.Path != place+"/.auto-claude/specs/001-x" || r.Next[0].ID != "c" {
			t.Errorf("%s alone: %s", place, conventiontest.Describe(r))
		}
	}
}

// The example of the project shows what its README says.
func TestAC7_Example(t *testing.T) {
	runs, err := conventiontest.Read(autoclaude.New(), os.DirFS("../../examples/autoclaude"))
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if r := runs[0]; r.State != reprise.Waiting || r.Phase != "human review" {
		t.Error(conventiontest.Describe(r))
	}
	r := runs[1]
	if p := r.Progress(); r.State != reprise.Interrupted || p != (reprise.Progress{Done: 4, Total: 7}) || len(r.Next) != 1 || r.Next[0].ID != "subtask-2-3" {
		t.Error(conventiontest.Describe(r))
	}
}

// Plans made to grow without bounds are read in time that grows with their size.
func TestX9_HugePlans(t *testing.T) {
	var phases, same []string
	for i := range 20_000 {
		phases = append(phases, fmt.Sprintf(`{"id":%d,"depends_on":[%d,0,"x"],"subtasks":[{"id":"a"},{"id":"a"}]}`, i, (i+1)%20_000))
		same = append(same, `{"id":"a","status":"in_progress"}`)
	}
	r := one(t, map[string]string{"implementation_plan.json": `{"phases":[` + strings.Join(phases, ",") + `]}`})
	if len(r.Steps) != 40_000 || r.State != reprise.NotStarted {
		t.Errorf("%d steps, %s", len(r.Steps), r.State)
	}
	r = one(t, map[string]string{"implementation_plan.json": `{"subtasks":[` + strings.Join(same, ",") + `]}`})
	if len(r.Next) != 3 {
		t.Errorf("%d offered", len(r.Next))
	}
}

func hasCode(r *reprise.Run, code string) bool {
	for _, f := range r.Findings {
		if f.Code == code {
			return true
		}
	}
	return false
}

// checkAny asks of a run from arbitrary input what holds for every run.
func checkAny(t *testing.T, r *reprise.Run) {
	t.Helper()
	if r.State == 0 || r.Reason == "" {
		t.Fatalf("no state or no reason: %+v", r)
	}
	if r.State == reprise.Complete && (len(r.Next) > 0 || len(r.Steps) == 0 || r.Progress().Done != len(r.Steps)) {
		t.Fatalf("complete with something open:\n%s", conventiontest.Describe(r))
	}
	for _, u := range r.Next {
		if s := r.Step(u.ID); s != nil && s.Status.Closed() {
			t.Fatalf("%q is closed and offered", u.ID)
		}
	}
}

func FuzzPlan(f *testing.F) {
	for _, name := range []string{"chunk-era", "phase-dependencies", "item-and-phase-ids", "two-lists-in-one-phase", "flat-plans", "closed-specs", "qa-states"} {
		for file, data := range conventiontest.LoadFS(f, "testdata/scenarios/"+name+".txtar") {
			if strings.HasSuffix(file, "implementation_plan.json") {
				f.Add(data.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkAny(t, one(t, map[string]string{"implementation_plan.json": string(data)}))
	})
}

func FuzzMemory(f *testing.F) {
	for file, data := range conventiontest.LoadFS(f, "testdata/scenarios/stuck-items.txtar") {
		if strings.HasSuffix(file, "attempt_history.json") {
			f.Add(data.Data, []byte(`{"commits":[{"hash":"abc","subtask_id":"1-2"}]}`), []byte(`{"approved":false}`))
		}
	}
	plan := `{"phases":[{"id":1,"subtasks":[{"id":"1-1","status":"completed"},{"id":"1-2"}]}]}`
	f.Fuzz(func(t *testing.T, history, commits, review []byte) {
		r := one(t, map[string]string{
			"implementation_plan.json":    plan,
			"memory/attempt_history.json": string(history),
			"memory/build_commits.json":   string(commits),
			"review_state.json":           string(review),
		})
		checkAny(t, r)
		if r.Progress().Done != 1 {
			t.Fatalf("records changed what is done:\n%s", conventiontest.Describe(r))
		}
	})
}

func FuzzSpecPhases(f *testing.F) {
	f.Add([]byte(`{"complexity":"complex"}`), []byte(`{}`), []byte("# Spec"), []byte(`{"resetTimestamp":"2026-02-01T15:00:00Z"}`))
	f.Add([]byte(`{"recommended_phases":["research"]}`), []byte(`{"a`), []byte(""), []byte(`{`))
	f.Fuzz(func(t *testing.T, complexity, requirements, spec, limit []byte) {
		r := one(t, map[string]string{
			"complexity_assessment.json": string(complexity),
			"requirements.json":          string(requirements),
			"spec.md":                    string(spec),
			"RATE_LIMIT_PAUSE":           string(limit),
		})
		checkAny(t, r)
		if r.State == reprise.Complete {
			t.Fatal("complete without a plan")
		}
	})
}
