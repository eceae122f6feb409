package hook_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"reprise/internal/hook"
)

// existing are settings that each tool may find.
var existing = map[string][]string{
	"claude":  {"", "\n", "{}", "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"echo hi\"}]}\n    ]\n  }\n}\n"},
	"gemini":  {"", "{\n  // mine\n  \"ui\": {\"theme\": \"x\"}, // why\n}\n"},
	"copilot": {"", "{}", "{\"version\": 1}", "{\n  \"version\": 1\n}\n", "{\"version\": 1, \"hooks\": {\"agentStop\": [{\"type\": \"command\", \"bash\": \"mine\"}]}}\n"},
	"git":     {"", "\n", "#!/bin/sh\n", "#!/bin/sh\nexit 3\n", "#!/usr/bin/env bash\necho \"$@\"", "#!/bin/sh -e\n. \"$(dirname \"$0\")/h\"\n", "echo no first line\n", "echo no end of line", "# mine\necho\t$3\n"},
}

const program = "/opt/it's here/reprise"

func TestInstalling_and_uninstalling_leaves_every_byte(t *testing.T) {
	t.Parallel()
	for _, tool := range hook.Tools() {
		for i, text := range append([]string{""}, existing[tool.Name]...) {
			old := []byte(text)
			if i == 0 {
				old = nil
			}
			with, err := tool.Install(old, program)
			if err != nil {
				t.Fatalf("%s: %v", tool.Name, err)
			}
			if again, err := tool.Install(with, program); err != nil || string(again) != string(with) {
				t.Errorf("%s: installed twice: %q, %v", tool.Name, again, err)
			}
			moved, err := tool.Install(with, "/usr/bin/reprise")
			if err != nil || strings.Contains(string(moved), "opt/it") || !strings.Contains(string(moved), "/usr/bin/reprise") {
				t.Errorf("%s: moved: %q, %v", tool.Name, moved, err)
			}
			for _, m := range [][]byte{with, moved} {
				back, err := tool.Uninstall(m)
				if err != nil || string(back) != text || (back == nil) != (old == nil) {
					t.Errorf("%s: %q became %q and then %q, %v", tool.Name, text, m, back, err)
				}
			}
		}
	}
}

func TestWhat_is_not_ours_stays(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"claude": {"not JSON", "[1]", "{\"hooks\": \"none\"}"}, "codex": {"{\"hooks\": {\"Stop\": {}}}"},
		"copilot": {"[1]", "{\"hooks\": 1}"}, "opencode": {"export const Reprise = 1\n"}, "git": {"#!/usr/bin/python3\nprint()\n", "\x7fELF\x01\n", "#!/bin/sh\r\necho\r\n", "echo\r\n", "MZ\x90\n"},
	} {
		tool, _ := hook.Find(name)
		for _, text := range texts {
			if got, err := tool.Install([]byte(text), program); err == nil {
				t.Errorf("%s: %q became %q", name, text, got)
			}
			if got, err := tool.Uninstall([]byte(text)); err == nil && string(got) != text {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
	}
	claude, _ := hook.Find("claude")
	if got, err := claude.Install(nil, "/tmp/a\nb"); err == nil {
		t.Errorf("a path of two lines became %q", got)
	}
}

// A path with blanks and quotes is one word for the shell, and a program that is gone
// does not fail the hook that was there before.
func TestCommands_are_safe_in_a_shell(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), `it's "$HOME" here; true`)
	fake, script := filepath.Join(dir, "reprise"), filepath.Join(dir, "post-checkout")
	git, _ := hook.Find(hook.Git)
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(fake, []byte("#!/bin/sh\necho \"called: $*\"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text, err := git.Install([]byte("#!/bin/sh\necho \"theirs: $1\"\n"), fake)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(script, text, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sh", script, "one").CombinedOutput()
		want := "theirs: one\n"
		if there {
			want = "called: hook run git start\n" + want
		}
		if err != nil || string(out) != want {
			t.Errorf("%q, %v; want %q", out, err, want)
		}
	}
}

func TestEvery_tool_takes_an_answer(t *testing.T) {
	t.Parallel()
	text := "# Briefing\n\"quoted\" <<<DATA \u2028"
	for _, tool := range hook.Tools() {
		got := tool.Answer(hook.Start, text)
		if got == text {
			continue
		}
		var told struct {
			AdditionalContext  string
			HookSpecificOutput struct{ HookEventName, AdditionalContext string }
		}
		if err := json.Unmarshal([]byte(got), &told); err != nil || told.AdditionalContext+told.HookSpecificOutput.AdditionalContext != text {
			t.Errorf("%s: %s: %v", tool.Name, got, err)
		}
	}
}

func TestWhat_a_tool_tells_is_read_whatever_it_is(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]hook.Call{
		"": {}, "[]": {}, "{\"cwd\": 1}": {},
		`{"session_id":"s","transcript_path":"/t","cwd":"/d","hook_event_name":"SessionEnd","reason":"clear"}`: {Session: "s", Transcript: "/t", Dir: "/d", Reason: "clear"},
		`{"sessionId":"s","transcriptPath":"/t","cwd":"/d","stopReason":"end_turn","timestamp":1}`:             {Session: "s", Transcript: "/t", Dir: "/d", Reason: "end_turn"},
	} {
		if got := hook.ReadCall([]byte(text)); got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
