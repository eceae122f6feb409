package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	evil "reprise/internal/hostile"
	"reprise/internal/sample"
	"reprise/project"
)

// TestX9_hostile_text_on_the_terminal shows projects with hostile text in their
// fields with every command that shows runs, plain and as JSON. REPRISE_ALL=1
// takes every value.
func TestX9_hostile_text_on_the_terminal(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	nth := 41
	if os.Getenv("REPRISE_ALL") != "" {
		nth = 1
	}
	for _, layout := range []string{"autoclaude", "eventrun", "longrun", "gsd", "orchestrate", "specloop"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			root := os.DirFS("../../examples/" + layout)
			err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := fs.ReadFile(root, p)
				tree[p] = &fstest.MapFile{Data: data}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range evil.Mutate(tree, len(layout), nth) {
				showHostile(t, m)
			}
		})
	}
}

// hostileAgent keeps what it is started with, and makes what it should.
const hostileAgent = `n=$(ls "$KEEP" | wc -l); mkdir -p "$KEEP/$n"
printf '%s\n' "$0" "$@" > "$KEEP/$n/argv"; pwd > "$KEEP/$n/cwd"; env > "$KEEP/$n/env"; cat > "$KEEP/$n/prompt"
exit 0
`

func showHostile(t *testing.T, m evil.Mutation) {
	t.Helper()
	around := t.TempDir()
	dir, keep := filepath.Join(around, "project"), filepath.Join(around, "keep")
	for name, file := range m.FS {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"agent.sh":                    hostileAgent,
		"config/reprise/reprise.yaml": fmt.Sprintf("agents:\n  rec: {command: [sh, %q, one, two], env: {KEEP: %q}}\nroles: {default: rec}\nattempts: 1\nbackoff: 1ms\n", filepath.Join(around, "agent.sh"), keep),
		"keep/.begun":                 "",
	} {
		name = filepath.Join(around, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"REPRISE_NOW": "2026-03-01T12:00:00Z", "COLUMNS": "100", "HOME": filepath.Join(around, "home"),
		"XDG_CONFIG_HOME": filepath.Join(around, "config"), "XDG_STATE_HOME": filepath.Join(around, "state"),
	}
	res, err := project.Read(t.Context(), dir, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls := [][]string{{"status", "--all", dir}, {"status", "--json", dir}}
	for i, r := range res.Runs {
		if i == 2 {
			break
		}
		for _, args := range [][]string{
			{"check", "--dir", dir, r.ID}, {"check", "--json", "--dir", dir, r.ID}, {"detect", "--dir", dir, r.ID}, {"log", "--dir", dir, r.ID},
			{"resume", "--dry-run", "--mode", "autopilot", "--dir", dir, r.ID}, {"resume", "--dry-run", "--json", "--mode", "autopilot", "--dir", dir, r.ID},
			{"resume", "--mode", "autopilot", "--dir", dir, r.ID}, {"resume", "--json", "--mode", "autopilot", "--dir", dir, r.ID},
			{"answer", "--list", "--dir", dir, r.ID},
		} {
			calls = append(calls, args)
		}
	}
	for _, args := range calls {
		stdout, stderr, code := run(t, env, args...)
		if code == 70 || strings.Contains(stderr, "goroutine") {
			t.Errorf("%q: %q ends with %d: %s", m.Name, args, code, stderr)
		}
		if code == 2 && strings.Contains(stderr, "unknown") {
			t.Fatalf("%q: %s", args, stderr)
		}
		for _, r := range stdout + stderr {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r >= 0xe0000 && r < 0xe1000) {
				t.Errorf("%q: %U in what %q prints", m.Name, r, args)
				break
			}
		}
	}
	launched, err := filepath.Glob(filepath.Join(keep, "*", "argv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range launched {
		argv, err := os.ReadFile(name)
		if want := filepath.Join(around, "agent.sh") + "\none\ntwo\n"; err != nil || string(argv) != want {
			t.Errorf("%q: argv %q, want %q", m.Name, argv, want)
		}
		cwd, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cwd"))
		if err != nil || !strings.HasPrefix(string(cwd), dir) {
			t.Errorf("%q: started in %q", m.Name, cwd)
		}
	}
	// Commands in values would have left a file of this name.
	for _, place := range []string{dir, around, "."} {
		if _, err := os.Lstat(filepath.Join(place, evil.Mark)); err == nil {
			t.Errorf("%q: %s was made in %s", m.Name, evil.Mark, place)
		}
	}
	if _, err := os.Lstat(filepath.Join(around, "home")); err == nil {
		t.Errorf("%q: something was written to HOME", m.Name)
	}
}
