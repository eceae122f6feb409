package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestX10_readme_shows_real_output holds the README's block against what the
// program prints. UPDATE=1 rewrites it.
func TestX10_readme_shows_real_output(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const command = "$ REPRISE_NOW=2026-03-20T12:00:00Z COLUMNS=96 reprise status examples\n"
	before, rest, ok := strings.Cut(string(raw), command)
	if !ok {
		t.Fatal("the README does not show the command")
	}
	block, after, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("the block does not end")
	}
	// A copy without git: when this was committed plays no part.
	examples := filepath.Join(t.TempDir(), "examples")
	if err := os.CopyFS(examples, os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := run(t, map[string]string{"REPRISE_NOW": "2026-03-20T12:00:00Z", "COLUMNS": "96"}, "status", examples)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("../../README.md", []byte(before+command+out+"```"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if block != out {
		t.Errorf("the README shows\n%s\nthe program prints\n%s", block, out)
	}
}

// changing is what differs between two performances of the demo.
var changing = regexp.MustCompile(`\d\d:\d\d:\d\d|kill -9 \d+|\d+ ms later|after [\d.]+s`)

// TestX10_readme_shows_the_demo asks that every line the README shows of the
// demo is one of its lines, in this order; "…" stands for lines left out.
func TestX10_readme_shows_the_demo(t *testing.T) {
	t.Parallel()
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
	shown := strings.Split(changing.ReplaceAllString(s.out.String(), "*"), "\n")
	at, skip := 0, false
	for _, line := range strings.Split(changing.ReplaceAllString(block, "*"), "\n") {
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
