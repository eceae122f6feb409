package cli_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise/report"
)

const vaultPlan = `{"feature": "Vault", "created_at": "2026-02-27T10:00:00Z", "updated_at": "2026-03-01T11:30:00Z", "status": "in_progress", "phases": [
 {"id": "phase-1", "name": "One", "subtasks": [
  {"id": "subtask-1-1", "description": "client", "status": "completed"},
  {"id": "subtask-1-2", "description": "cache", "status": "STATUS"}]}]}
`

func plan(status string) string { return strings.ReplaceAll(vaultPlan, "STATUS", status) }

const spec = ".auto-claude/specs/004-vault/"

// TestAC7_the_four_scenarios_of_the_seed, with real worktrees.
func TestAC7_the_four_scenarios_of_the_seed(t *testing.T) {
	t.Parallel()
	worktree := func(r *repo, place, status string) {
		r.git("worktree", "add", "-q", "-b", "auto-claude/004-vault", place)
		r.write(filepath.Join(place, spec, "implementation_plan.json"), plan(status))
	}
	for name, c := range map[string]struct {
		make    func(r *repo)
		point   string
		role    string
		options []string
		codes   []string
	}{
		"plan without worktree": {
			point: "subtask-1-2", role: "coder", options: []string{"continue"},
		},
		"plan and worktree": {
			make:  func(r *repo) { worktree(r, ".auto-claude/worktrees/tasks/004-vault", "pending") },
			point: "subtask-1-2", role: "coder", options: []string{"continue", "review", "merge", "discard"},
		},
		"plan and worktree in the old place": {
			make:  func(r *repo) { worktree(r, ".worktrees/004-vault", "pending") },
			point: "subtask-1-2", role: "coder", options: []string{"continue", "review", "merge", "discard"},
		},
		"no plan": {
			make: func(r *repo) {
				r.git("rm", "-q", spec+"implementation_plan.json")
				r.git("commit", "-q", "-m", "no plan")
			},
			role: "planner",
		},
		"crash while coding": {
			make: func(r *repo) {
				worktree(r, ".auto-claude/worktrees/tasks/004-vault", "in_progress")
				r.write(".auto-claude/worktrees/tasks/004-vault/main.go", "package half\n")
			},
			point: "subtask-1-2", role: "coder", options: []string{"continue", "review", "merge", "discard"}, codes: []string{"uncommitted-work"},
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			if c.make != nil {
				c.make(r)
			}
			doc, _ := check(t, r.dir, "004")
			if doc.Decision == nil || doc.Decision.Point == nil {
				t.Fatalf("nothing to go on with: %+v", doc.Decision)
			}
			if p := doc.Decision.Point; c.point != "" && p.ID != c.point || c.role != "" && p.Role != c.role {
				t.Errorf("point %+v, want %s by %s", p, c.point, c.role)
			}
			var keys []string
			for _, o := range doc.Options {
				keys = append(keys, o.Key)
			}
			for _, k := range c.options {
				if !slices.Contains(keys, k) {
					t.Errorf("no %s among %q", k, keys)
				}
			}
			for _, code := range c.codes {
				if !slices.ContainsFunc(doc.Findings, func(f report.Finding) bool { return f.Code == code }) {
					t.Errorf("no %s among %+v", code, doc.Findings)
				}
			}
		})
	}
}
