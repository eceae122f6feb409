package evidence_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/evidence"
	"reprise/internal/gitx/gittest"
)

// documents makes a repository with n documents in one commit and a run that
// rests on all of them and was last active after it.
func documents(t *testing.T, n int) (dir string, run *reprise.Run, o reprise.Observed) {
	t.Helper()
	dir = t.TempDir()
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	run = &reprise.Run{Ref: reprise.Ref{ID: "w", Path: "state.yaml", Kind: reprise.KindWorkflow}, State: reprise.Interrupted, LastActivity: at.Add(time.Hour)}
	for i := range n {
		name := fmt.Sprintf("%d.md", i)
		run.Steps = append(run.Steps, reprise.Step{ID: name, Path: name})
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# S\n\n## Acceptance Criteria\n\n- [ ] a\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Begin(t, dir, append(gittest.Environ(dir), "GIT_AUTHOR_DATE="+at.Format(time.RFC3339), "GIT_COMMITTER_DATE="+at.Format(time.RFC3339)))
	return dir, run, evidence.Gather(context.Background(), dir, []*reprise.Run{run}, at.Add(2*time.Hour), evidence.Options{})
}

func TestOR3_changed_sections_are_told_and_ticks_are_not(t *testing.T) {
	t.Parallel()
	dir, run, o := documents(t, 2)
	for name, text := range map[string]string{
		"0.md": "# S\n\n## Acceptance Criteria\n\n- [x] a\n",
		"1.md": "# S\n\n## Acceptance Criteria\n\n- [ ] a\n- [ ] b\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, problem := evidence.Sections(context.Background(), dir, []*reprise.Run{run}, o)
	if problem != "" || len(got) != 1 || len(got["1.md"]) != 1 || got["1.md"][0].Title != "Acceptance Criteria" {
		t.Errorf("%+v %q", got, problem)
	}
}

// A story is a document itself, unless attempts of ours are on record.
func TestOR3_changed_sections_of_a_story(t *testing.T) {
	t.Parallel()
	dir, run, o := documents(t, 1)
	story := &reprise.Run{Ref: reprise.Ref{Path: "0.md", Kind: reprise.KindStory}, State: reprise.Interrupted, LastActivity: run.LastActivity, Steps: []reprise.Step{{ID: "implement"}}}
	if err := os.WriteFile(filepath.Join(dir, "0.md"), []byte("# S\n\n## Acceptance Criteria\n\n- [ ] b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, ours := range []bool{false, true} {
		story.Steps[0].Ours = ours
		if got, problem := evidence.Sections(context.Background(), dir, []*reprise.Run{story}, o); problem != "" || (len(got["0.md"]) == 1) == ours {
			t.Errorf("ours %v: %+v %q", ours, got, problem)
		}
	}
}

func TestX2_documents_that_were_not_compared_are_said(t *testing.T) {
	t.Parallel()
	dir, run, o := documents(t, 70)
	if _, problem := evidence.Sections(context.Background(), dir, []*reprise.Run{run}, o); !strings.Contains(problem, "6 documents") {
		t.Errorf("problem %q", problem)
	}
	if err := os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if _, problem := evidence.Sections(context.Background(), dir, []*reprise.Run{run}, o); problem == "" {
		t.Error("git is gone, and nobody says so")
	}
}

func TestX4_a_command_is_run_on_a_copy(t *testing.T) {
	t.Parallel()
	dir, run, _ := documents(t, 1)
	run.Steps[0].Status, run.Steps[0].Grade = reprise.Done, reprise.Evidenced
	bad := evidence.Verify(context.Background(), dir, "touch made; exit 3")
	if bad.OK || !strings.Contains(bad.Reason, "3") {
		t.Errorf("%+v", bad)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); !os.IsNotExist(err) {
		t.Error("the command ran in the project")
	}
	if bad.Apply(run); run.Steps[0].Grade != reprise.Evidenced || len(run.Findings) != 1 {
		t.Errorf("%+v", run)
	}
	good := evidence.Verify(context.Background(), dir, "test -f 0.md")
	if good.Apply(run); !good.OK || run.Steps[0].Grade != reprise.Verified {
		t.Errorf("%+v %+v", good, run.Steps[0])
	}
}
