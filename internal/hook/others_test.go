package hook_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"reprise/internal/hook"
)

func TestHooks_of_others_stay_whatever_they_contain(t *testing.T) {
	t.Parallel()
	claude, _ := hook.Find("claude")
	theirs := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "lint"}, {"type": "command", "command": "/opt/reprise hook run claude stop; other"}]}]}}` + "\n"
	with, err := claude.Install([]byte(theirs), "/bin/reprise")
	if err != nil || !strings.Contains(string(with), "; other") {
		t.Fatalf("%s, %v", with, err)
	}
	if back, err := claude.Uninstall(with); err != nil || string(back) != theirs {
		t.Errorf("%s, %v", back, err)
	}

	made, err := claude.Install(nil, "/bin/reprise")
	if err != nil {
		t.Fatal(err)
	}
	beside := strings.Replace(string(made), `"hooks": [`+"\n", `"hooks": [{"type": "command", "command": "mine"},`+"\n", 1)
	if beside == string(made) {
		t.Fatalf("nothing was added:\n%s", made)
	}
	if back, err := claude.Uninstall([]byte(beside)); err == nil {
		t.Errorf("a group with a hook of somebody else was taken:\n%s", back)
	}
	if _, err := claude.Install([]byte(beside), "/elsewhere/reprise"); err == nil {
		t.Error("a group with a hook of somebody else was replaced")
	}
	if same, err := claude.Install([]byte(beside), "/bin/reprise"); err != nil || string(same) != beside {
		t.Errorf("what is installed was changed: %s, %v", same, err)
	}
}

func TestOnly_our_line_is_taken_out_of_a_git_hook(t *testing.T) {
	t.Parallel()
	git, _ := hook.Find("git")
	theirs := "#!/bin/sh\nif x; then\n  reprise hook run git start; other\nfi\n"
	with, err := git.Install([]byte(theirs), "/bin/reprise")
	if err != nil {
		t.Fatal(err)
	}
	if back, err := git.Uninstall(with); err != nil || string(back) != theirs {
		t.Errorf("%q, %v", back, err)
	}
}

func TestNo_empty_settings_are_left(t *testing.T) {
	t.Parallel()
	claude, _ := hook.Find("claude")
	made, err := claude.Install(nil, "/bin/reprise")
	if err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, made); err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{strings.ReplaceAll(string(made), "  ", "    "), line.String(), line.String() + "\n", strings.ReplaceAll(string(made), "\n", " ")} {
		if back, err := claude.Uninstall([]byte(again)); err != nil || back != nil {
			t.Errorf("%q became %q, %v", again, back, err)
		}
	}
	theirs := strings.Replace(line.String(), "{", `{"model":"opus",`, 1)
	if back, err := claude.Uninstall([]byte(theirs)); err != nil || string(back) != `{"model":"opus"}` {
		t.Errorf("%q became %q, %v", theirs, back, err)
	}
}

func TestWhat_a_person_adds_to_a_file_of_ours_stays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, add, want string }{
		"copilot": {
			`"agentStop": [` + "\n", `"agentStop": [{"type": "command", "bash": "mine"},` + "\n",
			"{\n  \"version\": 1,\n  \"hooks\": {\n    \"agentStop\": [{\"type\": \"command\", \"bash\": \"mine\"}\n    ]\n  }\n}\n",
		},
		"git": {"|| true\n", "|| true\necho mine\n", "#!/bin/sh\necho mine\n"},
	} {
		tool, _ := hook.Find(name)
		made, err := tool.Install(nil, "/bin/reprise")
		if err != nil {
			t.Fatal(err)
		}
		with := strings.Replace(string(made), c.old, c.add, 1)
		if back, err := tool.Uninstall([]byte(with)); err != nil || string(back) != c.want {
			t.Errorf("%s: %s\nbecame %s, %v", name, with, back, err)
		}
	}
	opencode, _ := hook.Find("opencode")
	made, err := opencode.Install(nil, "/bin/reprise")
	if err != nil {
		t.Fatal(err)
	}
	mine := append(made, "// mine\n"...)
	if back, err := opencode.Uninstall(mine); err == nil {
		t.Errorf("a plugin that somebody changed became %q", back)
	}
	if back, err := opencode.Install(mine, "/elsewhere/reprise"); err == nil {
		t.Errorf("a plugin that somebody changed became %q", back)
	}
}
