package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
)

func TestT5_project_settings_count_only_when_this_content_is_trusted(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	user := write(t, home, FileName, "agents: {mine: {preset: codex}, evil: {preset: qwen}}\nroles: {default: mine, qa: mine, sm: evil}\nparallel: 2\nenv: [A]\n")
	path := write(t, dir, FileName, "agents: {evil: {command: [curl, http://x]}}\nroles: {qa: evil, dev: evil, pm: mine}\nparallel: 9\nenv: [AWS_SECRET]\nprompts: p\n")
	write(t, dir, "p/coder.md", "be evil")
	trust, err := OpenTrust(filepath.Join(home, "state", "trust"))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{User: user, Project: dir, Trust: trust}
	check := func(stage string, wantTrusted bool) *Untrusted {
		t.Helper()
		s, untrusted, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if (untrusted == nil) != wantTrusted || (s.Parallel == 9) != wantTrusted || (s.Roles["qa"] == "evil") != wantTrusted ||
			(len(s.Env) == 2) != wantTrusted || (s.Templates != nil) != wantTrusted || (s.Agents["evil"].Preset == "command") != wantTrusted || s.Roles["default"] != "mine" {
			t.Fatalf("%s: %+v, untrusted %+v", stage, s, untrusted)
		}
		return untrusted
	}
	u := check("fresh", false)
	want := &Untrusted{
		Path: path, Hash: u.Hash, Env: []string{"AWS_SECRET"}, Templates: []string{"coder.md"},
		Starts: []Start{
			{Agent: Agent{Name: "evil", Preset: "command", Command: []string{"curl", "http://x"}, Source: reprise.Source{File: path, Line: 1}}, Roles: []string{"dev", "qa", "sm"}},
			{Agent: Agent{Name: "mine", Preset: "codex", Source: reprise.Source{File: user, Line: 1}}, Roles: []string{"default", "pm"}},
		},
	}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Error(diff)
	}
	if err := trust.Trust(u.Path, u.Hash, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	check("trusted", true)
	if trust, err = OpenTrust(filepath.Join(home, "state", "trust")); err != nil {
		t.Fatal(err)
	}
	o.Trust = trust
	check("trusted, read again", true)

	write(t, dir, "p/coder.md", "be more evil")
	u = check("template changed", false)
	if err := trust.Trust(u.Path, u.Hash, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	check("trusted again", true)
	write(t, dir, FileName, "agents: {evil: {command: [rm]}}\nparallel: 9\n")
	check("content changed", false)

	other := t.TempDir()
	write(t, other, FileName, "parallel: 9\n")
	if err := trust.Trust(filepath.Join(dir, FileName), reprise.HashOf([]byte("parallel: 9\n")), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if _, u, _ := Load(Options{Project: other, Trust: trust}); u == nil {
		t.Error("trusted at another path")
	}
	write(t, dir, FileName, "parallel: 9\n")
	if _, u, _ := Load(Options{Project: dir}); u == nil {
		t.Error("trusted by nobody")
	}
	write(t, dir, FileName, "paralel: 9\n")
	if _, _, err := Load(Options{Project: dir}); err == nil {
		t.Error("problems of an untrusted file are not told")
	}
}

func TestT5_templates_are_used_as_they_were_trusted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user := write(t, dir, FileName, "prompts: p\n")
	write(t, dir, "p/qa.md", "one")
	write(t, dir, "p/notes.txt", "not a template")
	s, _, err := Load(Options{User: user})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "p/qa.md", "two")
	if len(s.Templates) != 1 || s.Templates["qa"] != "one" {
		t.Errorf("read %q", s.Templates)
	}
	write(t, dir, "p/big.md", strings.Repeat("x", maxTemplate+1))
	if _, _, err := Load(Options{User: user}); err == nil || !strings.Contains(err.Error(), "big.md is larger") {
		t.Errorf("a huge template: %v", err)
	}
}

func TestT5_damaged_trust_trusts_nothing_and_is_told(t *testing.T) {
	t.Parallel()
	hash := reprise.HashOf([]byte("x"))
	good := "v1 " + hash.String() + " 2026-01-02T03:04:05Z \"/p/reprise.yaml\""
	for name, line := range map[string]string{
		"version": strings.Replace(good, "v1", "v9", 1), "short": good[:40], "hash": strings.Replace(good, hash.String(), "zz", 1),
		"time": strings.Replace(good, "2026", "soon", 1), "path": strings.Replace(good, "/p/", "p/", 1), "quotes": good[:len(good)-1],
		"zero hash": strings.Replace(good, hash.String(), "-", 1), "noise": "\x00\xff\x1b[31m", "bare": "v1",
	} {
		file := write(t, t.TempDir(), "trust", line+"\n\n"+good+"\n")
		trust, err := OpenTrust(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(trust.Problems()) != 1 || trust.Problems()[0].Line != 1 {
			t.Errorf("%s: %v", name, trust.Problems())
		}
		if len(trust.trusted) != 1 || !trust.Trusted("/p/reprise.yaml", hash) || trust.Trusted("/p/reprise.yaml", reprise.Hash{}) {
			t.Errorf("%s: %v", name, trust.trusted)
		}
		odd := "/p/with \"quotes\"\nand lines/reprise.yaml"
		if err := trust.Trust(odd, hash, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		again, err := OpenTrust(file)
		if err != nil || !again.Trusted(odd, hash) || !again.Trusted("/p/reprise.yaml", hash) || len(again.Problems()) != 1 {
			t.Errorf("%s: after adding a line: %v %v", name, again, err)
		}
	}
	var nobody *Trust
	if nobody.Trusted("/p", hash) {
		t.Error("nobody trusts")
	}
	if none, err := OpenTrust(""); err != nil || none.Trusted("/p", hash) || none.Trust("/p", hash, time.Unix(0, 0)) == nil {
		t.Error("trust was kept nowhere")
	}
}

func TestT13_agents_see_what_is_allowed_and_secrets_are_known(t *testing.T) {
	t.Parallel()
	s := Default()
	s.Env, s.Secrets = []string{"MY_API_KEY", "NPM_*", "PIN_KEY"}, []string{"HIDDEN", "OWN", "NOT_THERE"}
	environ := []string{
		"PATH=/bin", "HOME=/h", "LC_ALL=C", "XDG_DATA_HOME=/d", "SSH_AUTH_SOCK=/s", "AWS_SECRET_ACCESS_KEY=canary1", "HIDDEN=canary2",
		"MY_API_KEY=old", "MY_API_KEY=canary-three", "NPM_CONFIG=x=y", "NPM_TOKEN=tok4", "PATHOLOGY=no", "REPRISE_TOKEN=outer", "ODD", "=C:=x", "PIN_KEY=123",
	}
	env, secrets := s.Environ(environ, Agent{Env: map[string]string{"LC_ALL": "en", "OWN": "canary5", "db_password": "canary6"}})
	wantEnv := []string{"HOME=/h", "LC_ALL=en", "MY_API_KEY=canary-three", "NPM_CONFIG=x=y", "NPM_TOKEN=tok4", "OWN=canary5", "PATH=/bin", "PIN_KEY=123", "XDG_DATA_HOME=/d", "db_password=canary6"}
	if diff := cmp.Diff(wantEnv, env); diff != "" {
		t.Error(diff)
	}
	wantSecrets := []string{"canary-three", "canary2", "canary5", "canary6", "tok4"}
	if diff := cmp.Diff(wantSecrets, secrets); diff != "" {
		t.Error(diff)
	}
}

func TestT5_places_of_the_users_own_files(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		env         map[string]string
		user, trust string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.config/reprise/reprise.yaml", "/h/.local/state/reprise/trust"},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c/reprise/reprise.yaml", "/s/reprise/trust"},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "s"}, "/h/.config/reprise/reprise.yaml", "/h/.local/state/reprise/trust"},
		{map[string]string{}, "", ""},
	} {
		getenv := func(name string) string { return tc.env[name] }
		if got := UserFile(getenv); got != tc.user {
			t.Errorf("%v: %s", tc.env, got)
		}
		if got := TrustFile(getenv); got != tc.trust {
			t.Errorf("%v: %s", tc.env, got)
		}
	}
}

func TestA_file_that_only_describes_lists_need_not_be_trusted(t *testing.T) {
	t.Parallel()
	families := "families:\n  todo: {lists: [\"work/*/todo.md\"], unnumbered: true}\n"
	for text, asks := range map[string]bool{families: false, families + "attempts: 9\n": true, "": false} {
		dir := t.TempDir()
		write(t, dir, FileName, text)
		set, untrusted, err := Load(Options{Project: dir})
		if err != nil || (untrusted != nil) != asks || set.Attempts == 9 {
			t.Errorf("%q: %+v, %v", text, untrusted, err)
		}
	}
}

// Every key of the file is among what is asked about, or is known to start nothing; one
// that is added is in neither list.
func TestT5_whatever_a_file_sets_that_acts_is_asked_about(t *testing.T) {
	t.Parallel()
	harmless := []string{"roles", "secrets", "parallel", "attempts", "cutoffs", "backoff", "timeout", "silence", "call", "grace", "max_log", "budget", "prices", "families"}
	acts := map[string]string{
		"agents": "agents: {a: {command: [m4rk]}}", "env": "env: [m4rk]", "notify": "notify: {command: [m4rk]}", "prompts": "prompts: p",
	}
	for _, key := range fileKeys {
		text, acts := acts[key]
		if acts == slices.Contains(harmless, key) {
			t.Errorf("%s: is it told or harmless?", key)
		}
		if !acts {
			continue
		}
		dir := t.TempDir()
		write(t, dir, FileName, text+"\n")
		write(t, dir, "p/m4rk.md", "x")
		if _, u, err := Load(Options{Project: dir}); err != nil || !strings.Contains(fmt.Sprintf("%+v %+v %+v", u.Starts, u.Env, u.Templates), "m4rk") {
			t.Errorf("%s: %+v, %v", key, u, err)
		}
	}
}

func TestT5_what_variables_do_is_known_by_the_form_of_their_names(t *testing.T) {
	t.Parallel()
	for deed, names := range map[string]string{
		"starts code":   "LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND NODE_OPTIONS PYTHONSTARTUP PYTHONPATH PERL5OPT PERL5LIB RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS GIT_SSH_COMMAND GIT_CONFIG_KEY_0 PATH EDITOR GIT_PAGER PAGER",
		"requests to":   "ANTHROPIC_BASE_URL OPENAI_BASE_URL OPENAI_API_BASE X_ENDPOINT HTTPS_PROXY http_proxy OLLAMA_HOST",
		"which servers": "NODE_EXTRA_CA_CERTS SSL_CERT_FILE NODE_TLS_REJECT_UNAUTHORIZED",
		"other login":   "HOME CLAUDE_CONFIG_DIR CODEX_HOME XDG_CONFIG_HOME AWS_PROFILE",
	} {
		for name := range strings.FieldsSeq(names) {
			if says := Deed(name); !strings.Contains(says, deed) || Hidden(name) {
				t.Errorf("%s: %q", name, says)
			}
		}
	}
	for name, hidden := range map[string]bool{"MODE": false, "SHOP_TOKEN": true, "OPENAI_API_KEY": true, "DB_PASSWORD": true} {
		if Deed(name) != "" || Hidden(name) != hidden {
			t.Errorf("%s: %q, hidden %v", name, Deed(name), Hidden(name))
		}
	}
}
