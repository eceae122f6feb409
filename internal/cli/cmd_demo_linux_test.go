package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"reprise/internal/demo"
	"reprise/internal/sample"
	"reprise/report"
)

// TestX10_demo_of_every_layout is the whole program: a kill with SIGKILL, and
// everything to its end. A commit tries some of the layouts, a night all.
func TestX10_demo_of_every_layout(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	drawn := sample.Every(t, 3)
	for i, p := range demo.Plays() {
		if !drawn(i) {
			continue
		}
		t.Run(p.Layout, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			dir := filepath.Join(t.TempDir(), "a new one")
			s := program(t, t.TempDir(), home, "demo", "--convention", p.Layout, "--dir", dir, "--pause", "20ms")
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
			if strings.Contains(s.text(), "\x1b") || strings.Contains(s.text(), `{"`) {
				t.Errorf("escapes or objects in what a person reads:\n%s", s.text())
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

func TestX10_demo_ends_with_the_code_of_its_signal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	s := program(t, t.TempDir(), t.TempDir(), "demo", "--dir", dir, "--pause", "20s")
	eventually(t, func() bool { return exists(dir, "project/.reprise") })
	s.signal(syscall.SIGTERM)
	if code := s.end(); code != 143 {
		t.Errorf("exit %d\n%s", code, s.text())
	}
}

func TestX10_demo_for_programs(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
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
		{"it can be longrun, ", []string{"--convention", "nothing"}},
		{"is not empty", []string{"--dir", "."}},
		{"wrong number of arguments", []string{"eventrun"}},
	} {
		if _, stderr, code := run(t, nil, append([]string{"demo"}, c.args...)...); code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %s", c.args, code, stderr)
		}
	}
}

func TestX10_demo_stopped_by_a_person(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	s := program(t, t.TempDir(), t.TempDir(), "demo", "--dir", dir, "--pause", "30s")
	eventually(t, func() bool { return exists(dir, "launches") })
	s.signal(os.Interrupt)
	if code := s.end(); code != 130 || !strings.Contains(s.out.String(), "Stopped. What there is stays in") {
		t.Errorf("exit %d\n%s", code, s.text())
	}
	if left := livesOf(dir); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// changing is what differs between two performances of the demo.
var changing = regexp.MustCompile(`\d\d:\d\d:\d\d|kill -9 \d+|\d+ ms later|after [\d.]+s`)

// performed returns the lines of a performance without what differs between two of them. Steps
// that work side by side tell of it in any order.
func performed(text string) []string {
	lines := strings.Split(changing.ReplaceAllString(text, "*"), "\n")
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && strings.HasPrefix(lines[to], "*  ") {
			to++
		}
		slices.Sort(lines[from:to])
		from = to + 1
	}
	return lines
}

// TestX10_readme_shows_the_demo asks that every line the README shows of the
// demo is one of its lines, in this order; "…" stands for lines left out.
func TestX10_readme_shows_the_demo(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(raw), "$ reprise demo\n")
	if !ok {
		t.Fatal("the README does not show the demo")
	}
	block, _, _ := strings.Cut(rest, "\n```")
	if first := strings.Index(string(raw), "go run ./cmd/reprise "); !strings.HasPrefix(string(raw[first:]), "go run ./cmd/reprise demo") {
		t.Error("the demo is not the first command")
	}
	s := program(t, t.TempDir(), t.TempDir(), "demo", "--dir", filepath.Join(t.TempDir(), "d"), "--pause", "50ms")
	if code := s.end(); code != 0 {
		t.Fatalf("exit %d\n%s", code, s.text())
	}
	shown := performed(s.out.String())
	at, skip := 0, false
	for _, line := range performed(block) {
		if line == "…" {
			skip = true
			continue
		}
		n := slices.Index(shown[at:], line)
		if n < 0 || n > 0 && !skip {
			t.Errorf("the README shows %q where the program prints\n%s", line, strings.Join(shown[at:], "\n"))
			return
		}
		at, skip = at+n+1, false
	}
}
