package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// TestO1_a_run_is_gone_on_with_where_it_was_worked_on holds the folders around a run
// against each other: the one whose journal knows more counts.
func TestO1_a_run_is_gone_on_with_where_it_was_worked_on(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	shop := filepath.Join(top, "apps", "shop")
	const run = ".agent-memory/runs/one"
	for name, text := range map[string]string{
		"prd.md": "# PRD: One\n", "plan.md": "# Plan\n", "constitution.md": "# Constitution\n",
		"task-graph.json":        `{"tasks":[{"id":"a"},{"id":"b","dependencies":["a"]}]}`,
		"events/x/1.jsonl":       `{"event_type":"task-started","task_id":"a","timestamp":"2026-03-01T09:00:00Z"}` + "\n",
		"../two/prd.md":          "# PRD: Two\n",
		"../two/plan.md":         "# Plan\n",
		"../two/task-graph.json": `{"tasks":[{"id":"a"}]}`,
	} {
		file := filepath.Join(shop, run, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	note := func(dir, path string) {
		t.Helper()
		at = at.Add(time.Minute)
		s, err := durable.Open(dir, durable.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release()
		if _, err := s.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		j, err := journal.Open(s, convention.Find("eventrun"), reprise.Ref{Layout: "eventrun", ID: "one", Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Note(reprise.Event{Kind: reprise.EngineLeft, At: at}); err != nil {
			t.Fatal(err)
		}
	}
	blocked := func(dir string) (out []string) {
		t.Helper()
		j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: at}, Full: true})
		if err != nil || len(j.Runs) != 2 {
			t.Fatalf("%s: %d runs, %v", dir, len(j.Runs), err)
		}
		for _, r := range j.Runs {
			if slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeElsewhere && f.Severity == reprise.Blocking }) {
				out = append(out, r.ID)
			}
		}
		return out
	}
	want := func(when string, atTop, inShop []string) {
		t.Helper()
		if a, b := blocked(top), blocked(shop); !slices.Equal(a, atTop) || !slices.Equal(b, inShop) {
			t.Errorf("%s: blocked above %q, below %q; want %q, %q", when, a, b, atTop, inShop)
		}
	}
	want("nowhere worked on", nil, nil)
	note(shop, run)
	want("worked on below", []string{"one"}, nil)
	note(top, "apps/shop/"+run)
	want("then above", nil, []string{"one"})
	note(shop, run)
	want("and below again", []string{"one"}, nil)

	// A journal that cannot be read is not one that knows nothing.
	logs, err := filepath.Glob(filepath.Join(shop, ".reprise/journal/*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if err := os.WriteFile(logs[0], []byte("garbage\ngarbage\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := project.Judge(t.Context(), top, project.JudgeOptions{Options: project.Options{Now: at}, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range j.Runs {
		damaged := slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool {
			return f.Code == reprise.CodeJournalDamaged && f.Severity == reprise.Blocking
		})
		if damaged != (r.ID == "one") {
			t.Errorf("%s: told of the damaged journal below: %v; %+v", r.ID, damaged, r.Findings)
		}
	}
}
