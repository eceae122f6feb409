package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someID = "0f8fad5b-d9cb-469f-a165-70867728950e"

// Nothing of a state file is among the arguments: the prompt is read from
// standard input.
func TestCommands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		preset  Preset
		approve Approval
		resume  bool
		want    string
	}{
		{claude, "", false, "-p --output-format stream-json --verbose --permission-mode acceptEdits PERMITTED --model m --session-id " + someID},
		{claude, ApproveAll, true, "-p --output-format stream-json --verbose --dangerously-skip-permissions --model m --resume " + someID},
		{claude, ApproveNone, true, "-p --output-format stream-json --verbose --model m --resume " + someID},
		{codex, "", false, `exec --json --skip-git-repo-check -c sandbox_mode="workspace-write" -m m -`},
		{codex, ApproveAll, true, "exec resume --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m m " + someID + " -"},
		{gemini, "", false, "-o stream-json --approval-mode auto_edit PERMITTED -m m --session-id " + someID},
		{gemini, ApproveAll, true, "-o stream-json --approval-mode yolo -m m -r " + someID},
		{opencode, "", false, "run --format json --print-logs --log-level ERROR -m m"},
		{opencode, ApproveAll, false, "run --format json --print-logs --log-level ERROR --auto -m m"},
		{opencode, ApproveNone, true, "run --format json --print-logs --log-level ERROR -m m -s " + someID},
		{qwen, "", false, "-o stream-json --approval-mode auto-edit PERMITTED -m m --session-id " + someID},
		{copilot, "", true, "--output-format json --no-auto-update --no-ask-user --allow-tool=write PERMITTED --model m --resume=" + someID},
		{copilot, ApproveNone, false, "--output-format json --no-auto-update --no-ask-user --model m --session-id=" + someID},
	} {
		got := slices.Concat(tc.preset.argv(Options{Model: "m", Approve: tc.approve}, Job{Resume: tc.resume}, someID), tc.preset.last)
		permitted, _ := tc.preset.permitted(tc.approve, Job{})
		tc.want = strings.ReplaceAll(tc.want, "PERMITTED", strings.Join(permitted, " "))
		if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.preset.Name, diff)
		}
	}
}

// A fake claude shows how a driver calls it.
func TestDriver_starts_what_a_person_named(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "mine")
	body := "#!/bin/sh\nprintf '%s\\n' \"$@\" > args\ncat > prompt\n" +
		`printf '{"type":"result","subtype":"success","is_error":false,"session_id":"` + someID + `"}\n'` + "\n"
	if err := os.WriteFile(program, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		command []string
		with    string
		without string
	}{
		"program":           {[]string{program}, "acceptEdits", "--extra"},
		"program and flags": {[]string{program, "--extra"}, "--extra", "nothing"},
		"own approval":      {[]string{program, "--permission-mode=plan"}, "--permission-mode=plan", "acceptEdits"},
	} {
		a, err := New(Options{Preset: "claude", Command: []string{"never"}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.Start(t.Context(), Job{Dir: dir, Prompt: "the prompt", Command: tc.command, Session: someID, Env: []string{"PATH=" + os.Getenv("PATH")}, Token: name})
		if err != nil {
			t.Fatal(err)
		}
		if r := s.Wait(); r.Outcome != Done || r.Session != someID {
			t.Errorf("%s: %+v", name, r)
		}
		args, err := os.ReadFile(filepath.Join(dir, "args"))
		if err != nil || !strings.Contains(string(args), tc.with) || strings.Contains(string(args), tc.without) || strings.Contains(string(args), "the prompt") {
			t.Errorf("%s: %q %v", name, args, err)
		}
		if prompt, err := os.ReadFile(filepath.Join(dir, "prompt")); err != nil || string(prompt) != "the prompt" {
			t.Errorf("%s: %q %v", name, prompt, err)
		}
	}
}

func TestAn_id_that_cannot_be_kept_starts_nothing(t *testing.T) {
	t.Parallel()
	a, err := New(Options{Preset: "claude", Command: []string{"/nonexistent"}})
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	if _, err := a.Start(t.Context(), Job{Learned: func(string) error { return full }}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if _, err := a.Start(t.Context(), Job{Session: "../x"}); err == nil {
		t.Error("an id of no form was taken")
	}
}

func TestUnknown_preset(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Preset: "nobody"})
	if e, ok := errors.AsType[*UnknownPresetError](err); !ok || !strings.Contains(e.Hint(), "claude, codex, copilot, gemini, opencode, qwen, command") {
		t.Errorf("%v", err)
	}
}

func TestNative_program_behind_a_wrapper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, f := range []string{
		"lib/node_modules/@openai/codex/bin/codex.js",
		"lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64/bin/codex",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/node_modules/@openai/codex/bin/codex.js", filepath.Join(dir, "bin/codex")); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nonexistent:" + filepath.Join(dir, "bin")}
	if got := behind("codex", codex.native, env); !strings.HasSuffix(got, "vendor/x86_64/bin/codex") {
		t.Errorf("%s", got)
	}
	if got := behind("claude", nil, env); got != "claude" {
		t.Errorf("%s", got)
	}
}

func TestLook_for_programs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, body := range map[string]string{"claude": "echo '2.1.300 (Claude Code)'", "codex": "echo codex-cli 9.0.1", "gemini": "exit 3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, i := range Look(context.Background(), []string{"PATH=" + dir}, t.TempDir()) {
		got[i.Preset.Name] = i.Version + ": " + i.Problem
	}
	want := map[string]string{
		"claude": "2.1.300: was tested with 2.1.325 and 2.1.197; what it prints may have changed", "codex": "9.0.1: was tested with 0.166.0; what it prints may have changed",
		"gemini": ": does not report its version: exit status 3", "copilot": ": not installed", "opencode": ": not installed", "qwen": ": not installed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the tests fetch is what the presets say they were tested with.
func TestPinned_versions(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`(?m)^(PINNED|OTHERS) := (.*)$`).FindAllStringSubmatch(string(makefile), -1)
	if len(pinned) != 2 {
		t.Fatal(pinned)
	}
	fetched := map[string][]string{"PINNED": strings.Fields(pinned[0][2]), "OTHERS": strings.Fields(pinned[1][2])}
	tested := map[string][]string{}
	for _, p := range allPresets() {
		for i, version := range p.Tested {
			list := "OTHERS"
			if i == 0 && isMain(p) {
				list = "PINNED"
			}
			tested[list] = append(tested[list], p.Name+"-"+version)
		}
	}
	for name, list := range tested {
		slices.Sort(list)
		slices.Sort(fetched[name])
		if diff := cmp.Diff(list, fetched[name]); diff != "" {
			t.Errorf("%s: what is tested, and what make fetches (-want +got):\n%s", name, diff)
		}
	}
}
