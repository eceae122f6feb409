package hostile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
	"unicode"

	"reprise/internal/hostile"
)

// T1, T3, T6, T7: the payloads that the other tests put in every field do harm where
// nothing stands in their way. A payload that harms no one would prove nothing there.
func TestPayloads_do_harm_where_nothing_guards(t *testing.T) {
	t.Parallel()
	harms := map[string]func(t *testing.T, payload string) bool{
		"a shell runs it": func(t *testing.T, payload string) bool {
			dir := t.TempDir()
			cmd := exec.Command("/bin/sh", "-c", "echo "+payload)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
			_ = cmd.Run() // the rest of it may be no command
			_, err := os.Lstat(filepath.Join(dir, hostile.Mark))
			return err == nil
		},
		"an option of git": func(t *testing.T, payload string) bool {
			dir := t.TempDir()
			cmd := exec.Command("git", "diff", "--no-index", payload, os.DevNull, "/etc/hostname")
			cmd.Dir = dir
			_ = cmd.Run() // the two differ
			_, err := os.Lstat(filepath.Join(dir, hostile.Mark))
			return err == nil
		},
		"a path out of the folder": func(t *testing.T, payload string) bool {
			return filepath.IsAbs(payload) || strings.HasPrefix(filepath.Join("project", "runs", payload), "..")
		},
		"a terminal obeys it": func(_ *testing.T, payload string) bool {
			return strings.ContainsFunc(payload, func(r rune) bool {
				return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
			})
		},
		"a line of its own": func(_ *testing.T, payload string) bool {
			return strings.Contains("Subject: "+payload, "\nReprise-Step: forged")
		},
		"an end of the data": func(_ *testing.T, payload string) bool { return strings.HasPrefix(payload, ">>>DATA ") },
		"a template fills it": func(_ *testing.T, payload string) bool {
			var out strings.Builder
			tmpl, err := template.New("").Parse(payload)
			return err == nil && tmpl.Execute(&out, map[string]any{"Dir": "/secret", "Blocks": nil}) == nil && strings.Contains(out.String(), "/secret")
		},
		"no text at all":     func(_ *testing.T, payload string) bool { return strings.ToValidUTF8(payload, "") != payload },
		"longer than a line": func(_ *testing.T, payload string) bool { return len(payload) > 1<<16 },
	}
	seen := map[string]bool{}
	for _, payload := range hostile.Payloads {
		for harm, does := range harms {
			if !slices.ContainsFunc([]byte(payload), func(b byte) bool { return b == 0 }) && does(t, payload) {
				seen[harm] = true
			}
		}
	}
	for harm := range harms {
		if !seen[harm] {
			t.Errorf("no payload is %q", harm)
		}
	}
}
