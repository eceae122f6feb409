package cli_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise/agent"
	"reprise/agent/agenttest"
)

// headless are the arguments by which each program takes one prompt and ends.
var headless = map[string][]string{
	"claude":   {"-p", "hello", "--model", "claude-sonnet-4-5"},
	"codex":    {"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "hello"},
	"gemini":   {"-p", "hello", "-m", "gemini-2.5-flash"},
	"opencode": {"run", "hello"},
	"copilot":  {"-p", "hello", "--allow-all-tools"},
}

// linked puts this test binary, as the program, into a folder of its own.
func linked(t *testing.T) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "it's reprise", "reprise")
	if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// settingsIn reads every file of a folder of settings.
func settingsIn(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(p)
			out[p] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// trustFolder tells the agents that pass over a project's hooks otherwise to trust it.
func trustFolder(t *testing.T, rig *agenttest.Rig) {
	t.Helper()
	name, text := "", ""
	switch rig.Name {
	case "codex":
		name, text = ".codex/config.toml", fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", rig.Dir)
	case "copilot":
		name, text = ".copilot/config.json", fmt.Sprintf(`{"trusted_folders": [%q], "trustedFolders": [%q]}`, rig.Dir, rig.Dir)
	default:
		return
	}
	name = filepath.Join(rig.Home, name)
	old, _ := os.ReadFile(name) // may not be there
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(old, text...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func forAgents(t *testing.T, test func(t *testing.T, p agent.Preset)) {
	t.Helper()
	if os.Getenv("REPRISE_AGENTS") != "all" {
		t.Skip("takes long: `make test-agents` tries it")
	}
	for _, p := range agent.Presets() {
		if headless[p.Name] != nil {
			t.Run(p.Name, func(t *testing.T) { test(t, p) })
		}
	}
}

// The briefing is in the first request of a new session, and uninstalling restores the
// settings byte for byte (issue 17).
func TestAC_real_a_new_session_is_told_what_was_interrupted(t *testing.T) {
	forAgents(t, func(t *testing.T, p agent.Preset) {
		for _, scope := range []string{"--user", "--project"} {
			t.Run(scope, func(t *testing.T) {
				rig := agenttest.New(t, p.Name, p.Tested[0], p.Program, `{"turns":[{"text":"Hello."}]}`)
				program := linked(t)
				if err := os.CopyFS(rig.Dir, os.DirFS("../../examples/longrun")); err != nil {
					t.Fatal(err)
				}
				run := func(name string, args ...string) string {
					t.Helper()
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					defer cancel()
					cmd := exec.CommandContext(ctx, name, args...)
					cmd.Dir, cmd.Env, cmd.WaitDelay = rig.Dir, rig.Environ(), 5*time.Second
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Errorf("%s %v: %v\n%s", name, args, err, out)
					}
					return string(out)
				}
				run("git", "init", "-q")
				trustFolder(t, rig)
				before := settingsIn(t, rig.Home, rig.Dir)
				run(program, "hook", "install", p.Name, scope)
				installed := settingsIn(t, rig.Home, rig.Dir)
				run(program, "hook", "install", p.Name, scope)
				if again := settingsIn(t, rig.Home, rig.Dir); maps.Equal(installed, before) || !maps.Equal(installed, again) {
					t.Errorf("installing gave %v, and again %v", installed, again)
				}
				out := run(rig.Program, headless[p.Name]...)
				const told = "Another session began work in this project"
				seen := ""
				for _, r := range rig.Model.Requests() {
					if !r.Side {
						seen = string(r.Body)
						break
					}
				}
				if !strings.Contains(seen, told) || !strings.Contains(seen, "checkout") {
					at := max(strings.Index(seen, "reprise: "), 0)
					t.Errorf("the first request of %d holds no briefing: %.600s\n%s", len(rig.Model.Requests()), seen[at:], out)
				}
				run(program, "hook", "uninstall", p.Name, scope)
				after := settingsIn(t, rig.Home, rig.Dir)
				for name, text := range installed {
					if old, was := before[name]; text != old {
						if now, is := after[name]; now != old || was != is {
							t.Errorf("%s was %q (%v) and is %q (%v)", name, old, was, now, is)
						}
					}
				}
			})
		}
	})
}
