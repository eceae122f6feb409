package cli_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"reprise/internal/sample"
	"slices"
	"strings"
	"testing"
)

// X7: a fresh start names the undo that takes all of it back. What it began anew is its own
// there, as is what runs below it wrote: every file is as it was, in every convention.
func TestX7_a_fresh_start_is_undone_completely(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell for the agents")
	}
	for layout, run := range map[string]string{
		"autoclaude": "004", "eventrun": "csv-export-k3f9", "orchestrate": "EPIC-2", // on worlds it is a record, which begins the run anew
	} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "project")
			if err := os.CopyFS(dir, os.DirFS("../../examples/"+layout)); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{
				"reprise.yaml": "agents: {w: {command: [sh, work.sh]}}\nroles: {default: w}\nattempts: 1\n",
				"work.sh": "cat > /dev/null\nmkdir -p made\necho x >> made/$REPRISE_RUN-$REPRISE_STEP.txt\n" +
					`echo '{"outcome":"done","summary":"did it","verdict":"approved"}' > "$REPRISE_RESULT"`,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			call := func(name string, args ...string) string {
				cmd := exec.Command(name, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "XDG_STATE_HOME="+filepath.Join(filepath.Dir(dir), "state"), "COLUMNS=400",
					"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org")
				out, err := cmd.CombinedOutput()
				if err != nil && cmd.ProcessState == nil {
					t.Fatal(err)
				}
				return string(out)
			}
			call("git", "init", "-q", "-b", "main")
			call("git", "add", "-A")
			call("git", "commit", "-q", "-m", "base")
			then := filesOf(t, dir)
			out := call(os.Args[0], "resume", run, "--fresh", "--mode", "autopilot", "--trust", "--yes")
			named := regexp.MustCompile("`reprise (undo [0-9]+)` takes back what it changed").FindStringSubmatch(out)
			if named == nil || maps.Equal(filesOf(t, dir), then) {
				t.Fatalf("nothing was begun, or no undo is named:\n%s", out)
			}
			out = call(os.Args[0], append(strings.Fields(named[1]), "--yes")...)
			now := filesOf(t, dir)
			for _, name := range slices.Sorted(maps.Keys(then)) {
				if now[name] != then[name] {
					t.Errorf("%s is not as it was", name)
				}
			}
			if len(now) != len(then) || strings.Contains(out, "Changed by others") {
				t.Errorf("%d files, then %d; the undo says\n%s", len(now), len(then), out)
			}
		})
	}
}

// filesOf are the files of a project with their content.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == ".reprise" {
				return filepath.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(name)
		out[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
