package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// oddNames are what somebody may call a driver; the empty one is no name at all.
var oddNames = []string{"plain", "", "a b", "x=y", "ü", "a.b"}

// programKeys lists every key of git's settings that may name a program, as far as their names
// tell, each section with free names in the middle with each of the last words that there are:
// what git does not tell of is among them, too.
func programKeys(t *testing.T) (plain []string, free, last map[string]bool) {
	t.Helper()
	var all []string
	for _, list := range []string{"--config", "--config-for-completion"} {
		out, err := exec.Command("git", "help", list).Output()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(string(out))...)
	}
	program := regexp.MustCompile(`(?i)(command|program|cmd|path|helper|textconv|clean|smudge|process|driver|editor|pager|hook|proxy|tool|askpass|external|fsmonitor|browser|vcs|pack|event|update)$`)
	other := regexp.MustCompile(`(?i)^(advice|color|column|include|status|fsck|pack|submodule)\.|quotepath|untracked`) // of these a path is no value
	free, last = map[string]bool{}, map[string]bool{"process": true, "event": true}
	for _, key := range all {
		section, rest, _ := strings.Cut(key, ".")
		switch {
		case section == "" || other.MatchString(key):
		case strings.HasPrefix(rest, "<") || strings.HasPrefix(rest, "*"):
			free[section] = true
			if word := rest[strings.LastIndex(rest, ".")+1:]; program.MatchString(word) && word != "cachetextconv" { // that is a yes or a no
				last[word] = true
			}
		case program.MatchString(key) && strings.Count(key, ".") == 1:
			plain = append(plain, key)
		}
	}
	if len(plain) < 15 || !free["filter"] || !free["merge"] || !free["diff"] || !last["clean"] || !last["command"] || !last["textconv"] || !last["driver"] {
		t.Fatalf("git tells of few keys: %q %v %v", plain, free, last)
	}
	return plain, free, last
}

// planted is a file of settings in which every key that may name a program names one.
func planted(t *testing.T, program, hooks string) string {
	plain, free, last := programKeys(t)
	var b strings.Builder
	for _, key := range plain {
		section, name, _ := strings.Cut(key, ".")
		value := program
		if strings.EqualFold(key, "core.hooksPath") {
			value = hooks
		}
		fmt.Fprintf(&b, "[%s]\n\t%s = %s\n", section, name, value)
	}
	for _, name := range oddNames {
		fmt.Fprintf(&b, "[submodule %q]\n\tupdate = !%s\n[hook %q]\n\tcommand = %s\n\tevent = reference-transaction\n", name, program, name, program)
		for section := range free {
			if section == "hook" || section == "alias" || section == "includeIf" {
				continue
			}
			fmt.Fprintf(&b, "[%s %q]\n", section, name)
			for word := range last {
				fmt.Fprintf(&b, "\t%s = %s\n", word, program)
			}
		}
	}
	for _, command := range []string{"status", "log", "diff", "config"} {
		fmt.Fprintf(&b, "[alias]\n\t%s = !%s\n[pager]\n\t%s = %s\n", command, program, command, program)
	}
	return b.String()
}

// T4: whatever the settings of a repository call their programs, and wherever these settings
// stand, no command that looks runs one of them.
func TestT4_looking_runs_no_program_that_settings_of_git_name(t *testing.T) {
	t.Parallel()
	const attributes = "* filter= diff= merge=\nf0 filter=plain diff=plain merge=plain\nf2 filter=x=y diff=x=y merge=x=y\nf3 filter=ü diff=ü merge=ü\nf4 filter=a.b diff=a.b merge=a.b\n"
	for name, at := range map[string]struct{ settings, lead, attributes string }{
		"config":      {".git/config", "", ".gitattributes"},
		"include":     {"settings", "[include]\n\tpath = ../settings\n", ".git/info/attributes"},
		"include if":  {"settings", "[includeIf \"gitdir:**\"]\n\tpath = ../settings\n", ".gitattributes"},
		"of worktree": {".git/config.worktree", "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n", ".git/info/attributes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			dir, home, mark, program := filepath.Join(base, "project"), filepath.Join(base, "home"), filepath.Join(base, "mark"), filepath.Join(base, "program")
			put := func(file, text string, perm os.FileMode) {
				t.Helper()
				file = filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, perm)
				if err == nil {
					_, err = f.WriteString(text)
					f.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			env := append(os.Environ(), append(fixedNow, "REPRISE_TEST_PROGRAM=1", "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "GIT_CONFIG_NOSYSTEM=1",
				"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t")...)
			do := func(program string, args ...string) (string, error) {
				cmd := exec.Command(program, args...)
				cmd.Dir, cmd.Env = dir, env
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			git := func(args ...string) {
				t.Helper()
				if out, err := do("git", args...); err != nil {
					t.Fatalf("git %q: %v %s", args, err, out)
				}
			}
			put("specs/001-x/tasks.md", "# Tasks\n\n- [x] T001 one\n- [ ] T002 two\n", 0o644)
			put(".specify/memory/constitution.md", "x\n", 0o644)
			for i := range 6 {
				put(fmt.Sprint("f", i), "text\n", 0o644)
			}
			put("../program", "#!/bin/sh\necho \"$0 $*\" >> '"+mark+"'\ncat\n", 0o755)
			for _, hook := range []string{"reference-transaction", "post-index-change", "post-checkout", "pre-commit", "fsmonitor-watchman"} {
				put("../hooks/"+hook, "#!/bin/sh\necho \"$0\" >> '"+mark+"'\n", 0o755)
			}
			git("init", "-q", "-b", "main")
			if at.attributes == ".gitattributes" {
				put(at.attributes, attributes, 0o644)
			}
			git("add", "-A")
			git("commit", "-q", "-m", "base")
			put(".git/info/attributes", "", 0o644)
			if at.attributes != ".gitattributes" {
				put(at.attributes, attributes, 0o644)
			}
			put("f2", "more\n", 0o644)
			long := time.Now().Add(-time.Hour)
			for _, file := range []string{"f0", "f1", "f3", "f4", "specs/001-x/tasks.md"} { // git must look into them
				if err := os.Chtimes(filepath.Join(dir, file), long, long); err != nil {
					t.Fatal(err)
				}
			}
			looks := [][]string{{"status"}, {"check"}, {"brief"}, {"log"}, {"detect"}, {"resume", "--dry-run"}, {"status", "--json"}, {"check", "--json"}}
			told := make([]string, len(looks))
			for i, look := range looks {
				told[i], _ = do(os.Args[0], look...)
			}
			put(".git/config", at.lead, 0o644)
			put(at.settings, planted(t, program, filepath.Join(base, "hooks")), 0o644)
			ran := func() string {
				text, _ := os.ReadFile(mark)
				os.Remove(mark)
				return string(text)
			}
			ran()
			for i, look := range looks {
				now, _ := do(os.Args[0], look...)
				if by := ran(); by != "" {
					t.Errorf("%q ran a program of the repository: %s", look, by)
				}
				if strings.Contains(now, "git") && strings.Contains(now, "fatal") || len(now) < len(told[i])/2 {
					t.Errorf("%q says less:\n%s\nbefore:\n%s", look, now, told[i])
				}
			}
			cmd := exec.Command(os.Args[0], "mcp")
			cmd.Dir, cmd.Env = dir, env
			in, err := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			if err != nil || err2 != nil || cmd.Start() != nil {
				t.Fatal(err, err2)
			}
			answers := bufio.NewReader(out)
			for _, call := range []string{
				`"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`,
				`"method":"tools/call","params":{"name":"status","arguments":{}}`, `"method":"tools/call","params":{"name":"check","arguments":{}}`,
			} {
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,%s}`+"\n", call)
				if _, err := answers.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			in.Close()
			_ = cmd.Wait()
			get := browsed(t, servedAt(t, env, dir))
			get("/")
			if by := ran(); by != "" {
				t.Errorf("the server ran a program of the repository: %s", by)
			}
			for _, plain := range []string{"status", "diff"} {
				if out, _ := do("git", plain); !strings.Contains(ran(), program) {
					t.Errorf("the trap does not work: git %s ran nothing: %s", plain, out)
				}
			}
		})
	}
}
