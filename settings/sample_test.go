package settings_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"reprise/settings"
)

func TestThe_sample_reads_back(t *testing.T) {
	t.Parallel()
	for _, presets := range [][]string{{"claude"}, {"codex", "gemini", "qwen"}} {
		env := settings.Named([]string{"ANTHROPIC_API_KEY=x", "ANTHROPIC_BASE_URL=", "HOME=/h", "OPENAI_BASE_URL=u"}, []string{"ANTHROPIC_*"})
		name := filepath.Join(t.TempDir(), settings.FileName)
		if err := os.WriteFile(name, settings.Sample(presets, env), 0o644); err != nil {
			t.Fatal(err)
		}
		s, _, err := settings.Load(settings.Options{User: name})
		if err != nil {
			t.Fatalf("%v\n%s", err, settings.Sample(presets, env))
		}
		for line := range strings.Lines(string(settings.Sample(presets, env))) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 78 { // shown with a margin on a terminal of 80 columns
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if !slices.Equal(s.Env, []string{"ANTHROPIC_API_KEY"}) {
			t.Errorf("env became %q", s.Env)
		}
		if len(s.Agents) != len(presets) {
			t.Errorf("%v became %v", presets, s.Agents)
		}
		if a, err := s.For("dev"); err != nil || a.Preset != presets[0] || a.Approve != "commands" {
			t.Errorf("%v: %v, %v", presets, a, err)
		}
	}
	name := filepath.Join(t.TempDir(), settings.FileName)
	if err := os.WriteFile(name, []byte(settings.Own), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _, err := settings.Load(settings.Options{User: name})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := s.For("dev"); err != nil || len(a.Command) == 0 {
		t.Errorf("a command of one's own: %v, %v", a, err)
	}
}
