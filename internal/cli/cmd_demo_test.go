package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/demo"
	"reprise/report"
)

// TestX10_demo_of_every_layout is the whole program: a kill with SIGKILL, and
// everything to its end.
func TestX10_demo_of_every_layout(t *testing.T) {
	t.Parallel()
	for _, p := range demo.Plays() {
		t.Run(p.Layout, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			dir := filepath.Join(t.TempDir(), "a new one")
			s := program(t, t.TempDir(), home, "demo", "--layout", p.Layout, "--dir", dir, "--pause", "20ms")
			if code := s.end(); code != 0 {
				t.Fatalf("exit %d\n%s", code, s.text())
			}
			for _, want := range []string{
				"$ reprise run ", "✗ kill -9 ", "$ reprise status", "$ reprise check", "$ reprise resume --mode autopilot", "cut off by the kill; rerun",
				"✓ No step that was finished before the kill was started again.", "✓ The run is complete",
			} {
				if !strings.Contains(s.text(), want) {
					t.Errorf("no %q in\n%s", want, s.text())
				}
			}
			if strings.Contains(s.text(), "\x1b") {
				t.Error("escapes in a pipe")
			}
			if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
				t.Errorf("it touched the user's own settings: %v %v", left, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "project", ".git")); err != nil {
				t.Error("the folder was not kept:", err)
			}
		})
	}
}

func TestX10_demo_for_programs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	s := program(t, t.TempDir(), t.TempDir(), "demo", "--json", "--keep=false", "--dir", dir, "--pause", "20ms")
	if code := s.end(); code != 0 {
		t.Fatalf("exit %d\n%s", code, s.text())
	}
	if err := validate("demo.v1.json", s.out.Bytes()); err != nil {
		t.Error(err)
	}
	var doc report.Demo
	if err := json.Unmarshal(s.out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if !doc.Proven || len(doc.Steps) != 6 || doc.Kept || len(doc.Processes)+len(doc.Problems) > 0 {
		t.Errorf("%+v", doc)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was kept")
	}
}

func TestX10_demo_called_wrongly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"it can be longrun, ", []string{"--layout", "nothing"}},
		{"is not empty", []string{"--dir", "."}},
		{"unknown command", []string{"eventrun"}},
	} {
		if _, stderr, code := run(t, nil, append([]string{"demo"}, c.args...)...); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %s", c.args, code, stderr)
		}
	}
}
