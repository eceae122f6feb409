package project_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/project"
)

// judge judges a folder of the corpus as it stands, without git: the corpus
// carries none.
func judge(t *testing.T, dir string, now time.Time) *project.Judgement {
	t.Helper()
	// A copy, so that the repository this test runs in is not asked.
	copied := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	j, err := project.Judge(context.Background(), copied, project.JudgeOptions{Options: project.Options{Now: now}, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestX1_corpus_finished_projects_stay_quiet: nothing blocks and nothing is
// called interrupted where everything is done.
func TestX1_corpus_finished_projects_stay_quiet(t *testing.T) {
	t.Parallel()
	base := corpus(t)
	quiet := func(dir string, pick func(*reprise.Run) bool) {
		t.Helper()
		j := judge(t, dir, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
		for _, r := range j.Runs {
			if !pick(r) {
				continue
			}
			d := j.Decisions[r]
			if d.State == reprise.Interrupted || d.State == reprise.Running || d.Verdict == reprise.BlockedVerdict {
				t.Errorf("%s %s: %s, %s: %q", filepath.Base(dir), r.ID, d.State, d.Verdict, d.Reasons)
			}
			for _, f := range r.Findings {
				if f.Severity == reprise.Blocking {
					t.Errorf("%s %s: blocked by %s: %s", filepath.Base(dir), r.ID, f.Code, f.Message)
				}
			}
		}
	}
	n := 0
	for _, row := range table(t, base+"/expected/gsd-projects.tsv") {
		if strings.HasPrefix(row["verdict_by_eye"], "complete") {
			n++
			quiet(filepath.Join(base, "gsd", row["dir"]), func(r *reprise.Run) bool { return r.Layout == "longrun" })
		}
	}
	for _, row := range table(t, base+"/expected/autoclaude-specs.tsv") {
		dir := filepath.Join(base, "autoclaude", row["snapshot_dir"])
		if _, err := os.Stat(dir); err != nil || row["verdict"] != "complete" {
			continue
		}
		n++
		spec := filepath.Base(row["spec_dir"])
		quiet(dir, func(r *reprise.Run) bool { return r.ID == spec })
	}
	quiet(filepath.Join(base, "orchestrate/vxavierr__aios-hub"), func(*reprise.Run) bool { return true })
	if n < 20 {
		t.Errorf("only %d finished projects were looked at", n)
	}
}

// TestX2_corpus_reasons_are_told: what the judgements by eye name as the reason
// is among what is said.
func TestX2_corpus_reasons_are_told(t *testing.T) {
	t.Parallel()
	base := corpus(t)
	for _, c := range []struct {
		dir, run string
		codes    []string
		words    []string // in the reasons or findings
	}{
		{"autoclaude/AndyMik90__Auto-Claude@ad2d725e6", "003-bug-on-manual-tasks", nil, []string{"rejected"}},
		{"autoclaude/AndyMik90__Auto-Claude@5e56890f7", "011-interactive-onboarding-wizard", nil, []string{"rejected"}},
		{"autoclaude/jmcconocha__organizeme@8aeb0fc4d", "001-i-need-a-way-to-manage-my-developent-projects-i-am", nil, []string{"subtask-6-3", "in progress"}},
		{"autoclaude/sipsyai__claude_agent_ui", "011-create-frontend-tests-and-bug-tracking-task", []string{reprise.CodeClosedOpen}, nil},
		{"autoclaude/AndyMik90__Auto-Claude@5844aef21-fixture", "001-git-integration-for-template-storage", []string{reprise.CodeRetryLoop}, []string{"rejected"}},
		{"gsd/randyellis-wealthberry__alvin@2a4b3fd", "planning", []string{reprise.CodeStaleMarker}, []string{"12-02"}},
		{"gsd/gsd-build__get-shit-done~carterchen@e386c1455", "planning", []string{reprise.CodeAmbiguous}, nil},
		{"orchestrate/luizfosc__aios-core", "m1", nil, []string{"8 boxes"}},
		{"orchestrate/Jcnok__aiox-ray", "1.4", []string{reprise.CodeStatusDrift}, []string{"PASS"}},
		{"orchestrate/SynkraAI__aiox-core", "124.6", []string{reprise.CodeStatusDrift}, nil},
	} {
		j := judge(t, filepath.Join(base, c.dir), time.Date(2026, 5, 21, 0, 0, 0, 0, time.UTC))
		var run *reprise.Run
		for _, r := range j.Runs {
			if r.ID == c.run {
				run = r
			}
		}
		if run == nil {
			t.Errorf("%s: no run %s", c.dir, c.run)
			continue
		}
		said := strings.Join(j.Decisions[run].Reasons, "\n") + "\n" + run.Reason
		codes := map[string]bool{}
		for _, f := range run.Findings {
			codes[f.Code] = true
			said += "\n" + f.Message
		}
		for _, u := range j.Decisions[run].Units {
			said += "\n" + u.ID
		}
		for _, code := range c.codes {
			if !codes[code] {
				t.Errorf("%s %s: no %s in %v", c.dir, c.run, code, codes)
			}
		}
		for _, w := range c.words {
			if !strings.Contains(said, w) {
				t.Errorf("%s %s: %q is not said in:\n%s", c.dir, c.run, w, said)
			}
		}
	}
}
