package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/cli"
	"reprise/internal/gitx/gittest"
	"reprise/settings"
)

// unstarted is a project with an agent, a story and a workflow file, and the
// environment of someone who trusts the settings and not the workflow.
func unstarted(t *testing.T) (dir string, env map[string]string) {
	t.Helper()
	dir = t.TempDir()
	env = map[string]string{"HOME": t.TempDir(), "XDG_STATE_HOME": filepath.Join(t.TempDir(), "state"), "REPRISE_NOW": "2026-03-01T12:00:00Z", "COLUMNS": "80"}
	for name, text := range map[string]string{
		"reprise.yaml":              "agents:\n  coder: {command: [sh, agent.sh]}\nroles: {default: coder}\n",
		"release.yaml":              "name: release\ntitle: Ship the shop\nsteps:\n  - {id: build, command: [sh, -c, \"touch built\"], outputs: [built]}\n  - {id: ship, needs: [build], role: dev, prompt: Ship it.}\n",
		"agent.sh":                  "touch started\n",
		"docs/stories/4.2.story.md": "# Story 4.2: Export\n\n**Status:** Ready\n\n## Acceptance Criteria\n\n1. It exports.\n\n## Tasks\n\n- [ ] Export\n",
	} {
		gittest.Write(t, dir, name, text)
	}
	gittest.Begin(t, dir, gittest.Environ(dir))
	return dir, env
}

// trusts is what a person did who trusts files of the project as they are.
func trusts(t *testing.T, dir string, env map[string]string, names ...string) {
	t.Helper()
	trust, err := settings.OpenTrust(settings.TrustFile(func(k string) string { return env[k] }))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := trust.Trust(filepath.Join(dir, name), reprise.HashOf(data), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
}

// stamps tells of everything below folders what a change of any kind would change.
func stamps(t *testing.T, dirs ...string) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				fmt.Fprintf(&out, "%s %s %d\n", p, info.Mode(), info.ModTime().UnixNano())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// starts are the ways to start each kind of run from nothing, with what a
// preview must say of it.
var starts = []struct {
	args []string
	want []string
}{
	{[]string{"sdc", "Export the list"}, []string{"+++ b/docs/stories/export-the-list.story.md", "Starts create:", "role:    sm"}},
	{[]string{"spec-pipeline", "Export the list"}, []string{"docs/specs/export-the-list/.pipeline-state.json", "Starts gather:", "role:    pm"}},
	{[]string{"qa-loop", "--id", "4.2"}, []string{"+++ b/qa/4.2/loop-status.json", "Starts review-1:", "role:    qa"}},
	{[]string{"epic", "--id", "7", "4.2;"}, []string{"epic-7-state.yaml", "4.2 is done by its own run, 4.2.", "Starts implement of 4.2:", "+**Status:** InProgress"}},
	{[]string{"spec-loop", "Export the list"}, []string{"+++ b/specs/001-export-the-list/.workflow/index.md", "Starts A1:", "expects: specs/001-export-the-list/spec.md"}},
	{[]string{"build", "Export the list"}, []string{"+++ b/.auto-claude/specs/001-export-the-list/requirements.json", "Starts discovery:"}},
	{[]string{"plans", "Export the list"}, []string{"+++ b/specs/export-the-list/.long-run/STATE.md", "Starts transform:"}},
	{[]string{"graph", "--id", "one", "Export the list"}, []string{".agent-memory/runs/one/events/", "Starts prd:"}},
	{[]string{"release.yaml", "--id", "one"}, []string{".agent-memory/runs/one/task-graph.json", "Starts build:", "command: sh -c 'touch built'"}},
}

// TestX10_O2_run_dry_run_shows_a_start_and_changes_nothing previews every kind of
// run, in words and as JSON.
func TestX10_O2_run_dry_run_shows_a_start_and_changes_nothing(t *testing.T) {
	t.Parallel()
	dir, env := unstarted(t)
	home := env["HOME"]
	trusts(t, dir, env, "release.yaml", "reprise.yaml")
	was := stamps(t, dir, home, env["XDG_STATE_HOME"])
	for _, s := range starts {
		args := append([]string{"run", "--dry-run", "--dir", dir}, s.args...)
		for _, columns := range []int{80, 120} {
			env["COLUMNS"] = fmt.Sprint(columns)
			out, errOut, code := run(t, env, args...)
			if code != 0 || errOut != "" {
				t.Errorf("%q: %d: %s", s.args, code, errOut)
			}
			for _, want := range append(s.want, "Nothing was changed or started.", "agent:", "in:      .") {
				if !strings.Contains(out, want) {
					t.Errorf("%q does not show %q:\n%s", s.args, want, out)
				}
			}
			inDiff := false
			for line := range strings.Lines(out) {
				line = strings.TrimRight(line, "\n")
				// A diff is shown as it is.
				inDiff = line == "Changes of state files:" || inDiff && line != ""
				if !inDiff && cli.Width(line) > columns && !cli.OneCommand(line) {
					t.Errorf("%q: %d columns: %s", s.args, cli.Width(line), line)
				}
			}
		}
		out, errOut, code := run(t, env, append(args, "--json")...)
		if code != 0 || errOut != "" {
			t.Errorf("%q: %d: %s", s.args, code, errOut)
		}
		if err := validate("preview.v1.json", []byte(out)); err != nil {
			t.Errorf("%q: %v", s.args, err)
		}
	}
	if now := stamps(t, dir, home, env["XDG_STATE_HOME"]); now != was {
		t.Errorf("something was changed:\n%s\n%s", was, now)
	}
	if _, err := os.Stat(filepath.Join(dir, ".reprise")); err == nil {
		t.Error("there is a state folder")
	}
}

// TestS2_run_dry_run_trusts_nothing refuses what no one trusted and writes no
// trust down.
func TestS2_run_dry_run_trusts_nothing(t *testing.T) {
	t.Parallel()
	dir, env := unstarted(t)
	for _, args := range [][]string{{"sdc", "Export"}, {"release.yaml"}} {
		out, errOut, code := run(t, env, append([]string{"run", "--dry-run", "--dir", dir}, args...)...)
		if code != 11 || !strings.Contains(errOut, "it is not trusted yet") || strings.Contains(out, "Starts") {
			t.Errorf("%q: %d: %s%s", args, code, out, errOut)
		}
	}
	if _, err := os.Stat(env["XDG_STATE_HOME"]); err == nil {
		t.Error("something was written where trust is kept")
	}
	if _, err := os.Stat(filepath.Join(dir, ".reprise")); err == nil {
		t.Error("there is a state folder")
	}
}

// TestS2_a_dry_run_with_trust_keeps_none: what a person trusts for a look counts for
// that look alone.
func TestS2_a_dry_run_with_trust_keeps_none(t *testing.T) {
	t.Parallel()
	dir, env := unstarted(t)
	for _, args := range [][]string{{"run", "sdc", "Export"}, {"run", "release.yaml"}, {"resume", "4.2"}} {
		args = append(args, "--dry-run", "--dir", dir)
		for range 2 {
			out, errOut, code := run(t, env, append(args, "--trust")...)
			if code != 0 || !strings.Contains(out, "Starts") {
				t.Errorf("%q: %d: %s%s", args, code, out, errOut)
			}
		}
		if _, errOut, code := run(t, env, args...); code != 11 {
			t.Errorf("%q without --trust: %d: %s", args, code, errOut)
		}
	}
	if _, err := os.Stat(env["XDG_STATE_HOME"]); err == nil {
		t.Error("something was written where trust is kept")
	}
}

// TestX10_a_preview_of_a_start_as_it_looks holds the words of a preview to what
// was looked at.
func TestX10_a_preview_of_a_start_as_it_looks(t *testing.T) {
	t.Parallel()
	dir, env := unstarted(t)
	for _, columns := range []string{"80", "120"} {
		env["COLUMNS"] = columns
		out, errOut, code := run(t, env, "run", "spec-loop", "Export the list as CSV", "--dry-run", "--trust", "--dir", dir)
		if code != 0 {
			t.Fatal(errOut)
		}
		// The prompt names the folder, whose length is not ours to say.
		prompt, end, ok := strings.Cut(out, "    | ## The step\n")
		_, end, cut := strings.Cut(end, "\n\nNothing was")
		if !ok || !cut {
			t.Fatalf("no prompt: %s", out)
		}
		out = prompt + "    | …\n\nNothing was" + end
		// Time continues while it is looked at, and fences are made of all of it.
		out = regexp.MustCompile(`T12:00:\d\dZ`).ReplaceAllString(out, "T12:00:00Z")
		out = regexp.MustCompile(`DATA [0-9a-f]{32}`).ReplaceAllString(out, "DATA "+strings.Repeat("0", 32))
		file := filepath.Join("testdata", "golden", "run-dry-"+columns+".txt")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != out {
			t.Errorf("%s:\n%s\nwant\n%s", file, out, want)
		}
	}
}
