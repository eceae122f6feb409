package cli_test

import (
	"os"
	"path/filepath"
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
	readme, err := filepath.Abs("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := filepath.Join(t.TempDir(), "examples")
	if err := os.CopyFS(examples, os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(examples))
	out, stderr, code := run(t, map[string]string{"REPRISE_NOW": "2026-03-20T12:00:00Z", "COLUMNS": "96"}, "status", "examples")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(readme, []byte(before+command+out+"```"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if block != out {
		t.Errorf("the README shows\n%s\nthe program prints\n%s", block, out)
	}
}
