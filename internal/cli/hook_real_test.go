package cli_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	"qwen":     {"-p", "hello"},
	"opencode": {"run", "hello"},
	"copilot":  {"-p", "hello", "--allow-all-tools"},
}

// twoSteps is a workflow that can be left in the middle.
const twoSteps = "name: parts\nsteps:\n  - id: a\n    command: [\"true\"]\n  - id: b\n    needs: [a]\n    command: [\"true\"]\n"

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
// Others write into settings that are there: they find what they would write.
func trustFolder(t *testing.T, rig *agenttest.Rig) {
	t.Helper()
	name, text := "", ""
	if rig.Name == "qwen" {
		for _, dir := range []string{rig.Home, rig.Dir} {
			if err := os.MkdirAll(filepath.Join(dir, ".qwen"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, ".qwen", "settings.json"), []byte("{\n  \"$version\": 4\n}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
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
				run := func(name string, args ...string) string { return inRig(t, rig, program, name, args...) }
				run("git", "init", "-q")
				if err := os.WriteFile(filepath.Join(rig.Dir, "flow.yaml"), []byte(twoSteps), 0o644); err != nil {
					t.Fatal(err)
				}
				run(program, "run", "flow.yaml", "--id", "one", "--until", "a", "--mode", "autopilot", "--trust")
				trustFolder(t, rig)
				before := settingsIn(t, rig.Home, rig.Dir)
				run(program, "hook", "install", p.Name, scope)
				installed := settingsIn(t, rig.Home, rig.Dir)
				run(program, "hook", "install", p.Name, scope)
				again := settingsIn(t, rig.Home, rig.Dir)
				if maps.Equal(installed, before) {
					t.Error("installing changed nothing")
				}
				for name := range again {
					if again[name] != installed[name] {
						t.Errorf("installing again changed %s from %q to %q", name, installed[name], again[name])
					}
				}
				out := run(rig.Program, headless[p.Name]...)
				seen := firstRequest(rig)
				if !strings.Contains(seen, interruptedHere) || !strings.Contains(seen, "checkout") {
					at := max(strings.Index(seen, "reprise: "), 0)
					t.Errorf("the first request of %d holds no briefing: %.600s\n%s", len(rig.Model.Requests()), seen[at:], out)
				}
				if inbox := rig.File(".reprise/inbox"); !strings.Contains(inbox, `"cli":"`+p.Name+`"`) {
					t.Errorf("the session left no checkpoint: %q", inbox)
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

// plugged are the ways in which each agent takes our plugin or extension: commands that
// come first, and what is added to its arguments. DIR stands for the folder of plugins.
var plugged = map[string]struct {
	first [][]string
	args  []string
}{
	"claude": {first: [][]string{{"plugin", "validate", "--strict", "DIR/claude"}}, args: []string{"--plugin-dir", "DIR/claude/plugins/reprise"}},
	"codex":  {first: [][]string{{"plugin", "marketplace", "add", "DIR/codex"}, {"plugin", "add", "reprise@reprise-tools"}}},
	"gemini": {first: [][]string{{"extensions", "link", "DIR/gemini", "--consent"}}},
}

// The plugins validate, are taken by the real programs, and tell the same, once where the
// hook is installed too (issue 17).
func TestAC_real_a_plugin_tells_what_was_interrupted(t *testing.T) {
	dir, err := filepath.Abs("../../integrations")
	if err != nil {
		t.Fatal(err)
	}
	forAgents(t, func(t *testing.T, p agent.Preset) {
		way, has := plugged[p.Name]
		if !has {
			t.Skip("it has no plugin of ours")
		}
		rig := agenttest.New(t, p.Name, p.Tested[0], p.Program, `{"turns":[{"text":"Hello."}]}`)
		if p.Name == "codex" {
			config := filepath.Join(rig.Home, ".codex/config.toml")
			text, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(config, []byte(strings.Replace(string(text), "plugins = false", "plugins = true", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.CopyFS(rig.Dir, os.DirFS("../../examples/longrun")); err != nil {
			t.Fatal(err)
		}
		out, program := "", linked(t)
		trustFolder(t, rig)
		inRig(t, rig, program, program, "hook", "install", p.Name, "--user")
		for _, args := range append(way.first, append(slices.Clone(headless[p.Name]), way.args...)) {
			for i := range args {
				args[i] = strings.Replace(args[i], "DIR", dir, 1)
			}
			out += inRig(t, rig, program, rig.Program, args...)
		}
		if seen := firstRequest(rig); strings.Count(seen, interruptedHere) != 1 {
			t.Errorf("the first request holds the briefing %d times: %.600s\n%s", strings.Count(seen, interruptedHere), seen, out)
		}
	})
}

// The commands of the plugin are known by their names, and the model gets what they say
// with what was typed (issue 17).
func TestAC_real_claude_knows_the_commands_of_the_plugin(t *testing.T) {
	dir, err := filepath.Abs("../../integrations/claude/plugins/reprise")
	if err != nil {
		t.Fatal(err)
	}
	forAgents(t, func(t *testing.T, p agent.Preset) {
		if p.Name != "claude" {
			t.Skip("only claude has commands of a plugin without a terminal")
		}
		for typed, want := range map[string]string{"/reprise:status": "Run `reprise status` in this project", "/reprise:resume checkout": "the interrupted run checkout continued"} {
			rig := agenttest.New(t, p.Name, p.Tested[0], p.Program, `{"turns":[{"text":"I look.","shell":"reprise status"},{"text":"Done."}]}`)
			if err := os.CopyFS(rig.Dir, os.DirFS("../../examples/longrun")); err != nil {
				t.Fatal(err)
			}
			args := slices.Clone(headless[p.Name])
			args[slices.Index(args, "-p")+1] = typed
			out := inRig(t, rig, linked(t), rig.Program, append(args, "--plugin-dir", dir)...)
			if seen := firstRequest(rig); !strings.Contains(seen, want) {
				t.Errorf("%s: %q is not in the first request: %.2000s\n%s", typed, want, seen, out)
			}
			asked := rig.Model.Requests()
			if last := string(asked[len(asked)-1].Body); typed == "/reprise:status" && !strings.Contains(last, "1 run in ") {
				t.Errorf("the command was not allowed to look: %.3000s", last)
			}
		}
	})
}

// interruptedHere is said in the briefing that a hook gives.
const interruptedHere = "work in this project was interrupted"

// firstRequest is what the model was asked first, titles and summaries left out.
func firstRequest(rig *agenttest.Rig) string {
	for _, r := range rig.Model.Requests() {
		if !r.Side {
			return string(r.Body)
		}
	}
	return ""
}

// inRig runs a command as the agent would be, with a program of ours on its PATH.
func inRig(t *testing.T, rig *agenttest.Rig, program, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = rig.Dir, 5*time.Second
	cmd.Env = append(rig.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
