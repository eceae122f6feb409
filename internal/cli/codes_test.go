package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"reprise"
	"reprise/internal/sample"
	"reprise/report"
)

// The exit code follows from the verdict alone: check, a dry run and resume end with the
// same one wherever nothing is started, whatever the files of a run are like. One in
// twelve scenarios is tried, all with REPRISE_ALL. (issue 15, items 4, 7 and 10)
func TestCheck_a_dry_run_and_resume_end_with_one_code_where_nothing_is_started(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	archives, err := filepath.Glob("../../convention/*/testdata/scenarios/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatalf("%d scenarios, %v", len(archives), err)
	}
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "REPRISE_NOW": "2026-03-01T12:00:00Z"}
	chosen := sample.Every(t, 12)
	for i, archive := range archives {
		if !chosen(i) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			t.Parallel()
			dir := unpacked(t, archive)
			run(t, env, "trust", "--yes", "-C", dir)
			said, _, code := run(t, env, "status", "--all", "--json", dir)
			var status report.Status
			if err := json.Unmarshal([]byte(said), &status); err != nil {
				t.Fatalf("exit %d: %v: %s", code, err, said)
			}
			for _, r := range status.Runs {
				oneCode(t, env, dir, r.Layout+":"+r.Path)
			}
		})
	}
}

// oneCode reports where the three commands do not agree about a run.
func oneCode(t *testing.T, env map[string]string, dir, name string) {
	t.Helper()
	checked, _, want := run(t, env, "check", "-C", dir, "--json", name)
	var doc report.Check
	if err := json.Unmarshal([]byte(checked), &doc); err != nil {
		t.Fatalf("%s: %v: %s", name, err, checked)
	}
	autopilot := []string{"resume", "-C", dir, "--mode", "autopilot", "--json", name}
	shown, told, dry := run(t, env, append(autopilot, "--dry-run")...)
	var preview report.Preview
	if dry == 0 {
		if err := json.Unmarshal([]byte(shown), &preview); err != nil {
			t.Fatalf("%s: %v: %s", name, err, shown)
		}
	}
	starts := doc.Decision.Action == reprise.Start || len(preview.Starts) > 0
	switch {
	case starts && want != 0 && want != 10 && want != 12 || starts && dry != 0:
		t.Errorf("%s: check ends with %d, and a dry run, which starts something, with %d: %s%s", name, want, dry, told, shown)
	case starts:
		return // what it then comes to is for the agents to say
	case dry != want:
		t.Errorf("%s: check ends with %d, a dry run with %d: %s%s", name, want, dry, told, shown)
	}
	if out, told, code := run(t, env, autopilot...); code != want {
		t.Errorf("%s: check ends with %d, resume with %d: %s%s", name, want, code, out, told)
	}
}

// unpacked is a project with the files of a scenario, and an agent for every role.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	ar, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t: t, dir: filepath.Join(t.TempDir(), "project")}
	for _, f := range ar.Files {
		if f.Name != "want" {
			r.write(f.Name, string(f.Data))
		}
	}
	r.write("reprise.yaml", "agents:\n  a: {preset: command, command: [\"true\"]}\nroles:\n  default: a\n")
	return r.dir
}
