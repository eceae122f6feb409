package cli_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise/internal/demo"
	"reprise/internal/sample"
)

// scene is where the lines of a block are typed.
type scene struct {
	file, begins string            // the block
	make         string            // a script that makes the project and goes there; "" stays where the block before was typed
	then         string            // typed after it
	shows        []string          // of all that is shown
	as           map[string]string // typed instead
	shell        string            // that it is for, if not sh
	cli          string            // the agent that is installed, if not claude
	save         string            // it is a file of this name, and not typed
	keys         [][2]string       // typed when asked, if not what asked says
	not          string            // why it is not typed
}

const (
	// tasks is a project with a list of tasks, begun; the agents are as setup makes them.
	tasks = `mkdir -p p/specs/001-name p/src && cd p && git init -q
printf '# Tasks: Search\n\n- [x] T001 Create src/index.txt\n- [ ] T002 Add src/search.txt\n- [ ] T003 Describe it in docs/search.md\n' > specs/001-name/tasks.md
echo index > src/index.txt && git add -A && git commit -q -m "T001: create the index"`
	example = `cp -r "$EXAMPLES/NAME" p && cd p && git init -q && git add -A && git commit -q -m base`
	setup   = "\nreprise init --yes > ../init && git add -A && git commit -q -m setup"
)

// scenes has every block of the documents that is to be typed into a shell.
var scenes = []scene{
	{file: "README.md", begins: "git clone", not: "it clones and compiles; make test-release installs the packages and starts the program in them"},
	{file: "README.md", begins: "reprise   ", make: strings.ReplaceAll(example, "NAME", ""), keys: [][2]string{{"Resume which run?", "\x1b"}}, shows: []string{"EPIC-2"}},
	{file: "README.md", begins: "go run", not: "it compiles; the test of the demo plays it"},
	{file: "README.md", begins: "reprise init", make: tasks, shows: []string{"default: claude", "Wrote reprise.yaml and trusted it."}},
	{file: "README.md", begins: "reprise hook install claude", make: tasks + setup, shows: []string{"changed", "SAFE to resume", "Finished"}},
	{file: "README.md", begins: "reprise hook install codex", cli: "codex", make: tasks + setup, shows: []string{"codex: changed", "SAFE to resume", "Finished"}},
	{file: "README.md", begins: "reprise hook install gemini", cli: "gemini", make: tasks + setup, shows: []string{"gemini: changed", "SAFE to resume", "Finished"}},
	{file: "README.md", begins: "reprise hook install opencode", cli: "opencode", make: tasks + setup, shows: []string{"opencode: changed", "SAFE to resume", "Finished"}},
	{file: "README.md", begins: "reprise status                   # which plan", make: strings.ReplaceAll(example, "NAME", "gsd") + setup, shows: []string{"http://127.0.0.1"}},
	{file: "README.md", begins: "reprise status                                 # the task", make: tasks + setup, shows: []string{"1/3", "Finished"}},
	{file: "README.md", begins: "reprise status                   # the sprint", make: `mkdir -p p/_bmad-output/implementation-artifacts && cd p && git init -q
printf 'development_status:\n  epic-1: in-progress\n  1-1-cart: done\n  1-2-share: in-progress\n  1-3-sort: ready-for-dev\n' > _bmad-output/implementation-artifacts/sprint-status.yaml
for s in 1-1-cart:done 1-2-share:in-progress 1-3-sort:ready-for-dev; do printf '# Story %s\n\nStatus: %s\n' ${s%:*} ${s#*:} > _bmad-output/implementation-artifacts/${s%:*}.md; done
git add -A && git commit -q -m sprint` + setup, shows: []string{"sprint-status", "Finished"}},
	{file: "README.md", begins: "reprise status --why", make: strings.ReplaceAll(example, "NAME", "orchestrate") + setup},
	{file: "README.md", begins: "reprise check 004", make: strings.ReplaceAll(example, "NAME", "autoclaude") + setup, as: map[string]string{"reprise resume 004": "reprise resume 004 --mode autopilot"}},
	{file: "CONTRIBUTING.md", begins: "make build", not: "make test is what runs this test"},
	{file: "docs/how-to/hooks.md", begins: "reprise hook install claude", make: tasks, shows: []string{"claude: changed", "git: changed"}},
	{file: "docs/how-to/prompt.md", begins: "PS1=", make: tasks, shell: "bash", then: `echo "${PS1@P}"`, shows: []string{"◇ 1 open"}},
	{file: "docs/how-to/prompt.md", begins: "setopt", make: tasks, shell: "zsh", then: `print -P "$RPROMPT"`, shows: []string{"◇ 1 open"}},
	{file: "docs/how-to/run.md", begins: "reprise run sdc", make: strings.ReplaceAll(example, "NAME", "orchestrate") + "\nprintf 'name: release\\nsteps:\\n  - id: tests\\n    command: [\"true\"]\\n' > release.yaml" + setup, shows: []string{"Finished"}},
	{file: "docs/how-to/web.md", begins: "reprise serve", make: tasks + `; mkdir -p ~/projects && cp -r . ~/projects/one && reprise status --known --remember > ../known`,
		as: map[string]string{"127.0.0.1:8080": "127.0.0.1:0"}, shows: []string{"http://127.0.0.1"}}, // another program may have that port
	{file: "docs/reference/agents.md", begins: "#!/bin/sh", make: tasks, save: "agent", then: `printf 'agents: {mine: {command: [./agent]}}\nroles: {default: mine}\n' > reprise.yaml
reprise run tasks --path specs/001-name --trust`, shows: []string{"implemented and tested", "Finished"}},
	{file: "docs/tutorials/task-list.md", begins: "mkdir", shows: []string{"create the index"}},
	{file: "docs/tutorials/task-list.md", begins: "reprise status", shows: []string{"1/3", "T002"}},
	{file: "docs/tutorials/task-list.md", begins: "reprise trust", shows: []string{"trusted", "Nothing was changed", "Finished"}},
	{file: "docs/tutorials/task-list.md", begins: "reprise check", shows: []string{"Nothing was interrupted"}},
}

// asked is what a person is asked, and types.
var asked = [][2]string{{"[y/N] ", "y\n"}, {"Your choice (1-", "1\n"}, {"Answer (Enter to leave it open): ", "1\n"}, {"Resume which run?", "\r"}, {"http://127.0.0.1:", "\x03"}}

// Every block that is to be typed is typed, on a terminal, and every line of it does what
// it is there for: the program neither refuses it nor fails.
func TestDocuments_can_be_followed_by_typing_what_they_say(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	bin, top := t.TempDir(), t.TempDir()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"agent":   strings.ReplaceAll(everyAgent, "ACTOR", demo.Word),
		"my-tool": "#!/bin/sh\nprintf '%s\\n' \"$2\" >> src/search.txt; mkdir -p docs; date >> docs/search.md; git add -A\n",
		"reprise": "#!/bin/sh\nexec \"" + os.Args[0] + "\" \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		if err := os.Mkdir(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../agent", filepath.Join(bin, name, name)); err != nil {
			t.Fatal(err)
		}
	}
	// Not the folders of the system: a real agent may be installed there.
	for _, name := range []string{"bash", "cat", "cp", "date", "git", "mkdir", "rm", "sed", "sh", "true", "zsh"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	home := ""
	at, seen := map[string]string{}, map[int]bool{}
	for _, b := range blocks(t) {
		if b.language == "yaml" && strings.HasPrefix(b.file, "docs/tutorials/") {
			if err := os.WriteFile(filepath.Join(at[b.file], "reprise.yaml"), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Contains([]string{"sh", "console", "yaml", "text", "fish", "toml", "tmux"}, b.language) && !strings.HasPrefix(b.file, "prompt/") {
			t.Errorf("%s: nothing says how this block is tried:\n%s", b.file, b.text)
		}
		if b.language != "sh" {
			continue // console and yaml have tests of their own; of other programs nothing is run
		}
		n := slices.IndexFunc(scenes, func(s scene) bool { return s.file == b.file && strings.HasPrefix(b.text, s.begins) })
		if n < 0 || seen[n] {
			t.Errorf("%s: no scene says where this is typed:\n%s", b.file, b.text)
			continue
		}
		seen[n] = true
		s := scenes[n]
		if s.not != "" {
			continue
		}
		if s.shell == "" {
			s.shell = "sh"
		} else if _, err := exec.LookPath(s.shell); err != nil {
			t.Logf("%s: %s is not here", b.file, s.shell)
			continue
		}
		parts := strings.Split(strings.TrimSpace(b.text), "\n")
		if strings.Contains(b.text, "<<") || s.shell != "sh" {
			parts = []string{b.text + s.then} // they are one
		} else if s.save != "" {
			parts = nil
		}
		if s.then != "" && s.shell == "sh" {
			parts = append(parts, s.then)
		}
		dir := at[b.file]
		if s.make != "" || dir == "" {
			if home, err = os.MkdirTemp(top, ""); err != nil {
				t.Fatal(err)
			}
			dir = home
		}
		if s.make != "" {
			parts = append([]string{s.make}, parts...)
		}
		var shown strings.Builder
		for i, part := range parts {
			for from, to := range s.as {
				part = strings.ReplaceAll(part, from, to)
			}
			if s.save != "" && i == 1 {
				if err := os.WriteFile(filepath.Join(dir, s.save), []byte(b.text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			c := commandOnTerminal(t, dir, 100, 40, []string{
				"PATH=" + filepath.Join(bin, cmp.Or(s.cli, "claude")) + ":" + bin, "HOME=" + home, "EXAMPLES=" + examples, "WENT=" + filepath.Join(top, "went"),
				"PAGER=cat", "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
			}, exec.Command(s.shell, "-c", "trap : INT\n"+part+"\ncode=$?; pwd > \"$WENT\"; exit $code"))
			if s.keys == nil {
				s.keys = asked
			}
			c.answer(s.keys)
			code := c.end()
			shown.WriteString(c.text())
			if went, err := os.ReadFile(filepath.Join(top, "went")); err == nil {
				dir = strings.TrimSpace(string(went))
			}
			// Safe, caution, nothing is left, it needs an answer, Ctrl-C.
			if !slices.Contains([]int{0, 3, 10, 12, 130}, code) {
				t.Errorf("%s: $ %s\nexit code %d\n%s", b.file, part, code, c.text())
			}
		}
		at[b.file] = dir
		for _, want := range s.shows {
			if !strings.Contains(shown.String(), want) {
				t.Errorf("%s: typing\n%snever shows %q:\n%s", b.file, b.text, want, shown.String())
			}
		}
	}
	for n, s := range scenes {
		if !seen[n] {
			t.Errorf("%s has no block that begins with %q", s.file, s.begins)
		}
	}
}

// answer types what is asked for until the program is gone.
func (c *console) answer(asked [][2]string) {
	c.t.Helper()
	done := 0
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text := c.text()
		for _, a := range asked {
			if strings.Contains(text[min(done, len(text)):], a[0]) {
				done = len(text)
				c.send(a[1])
				break
			}
		}
		select {
		case <-c.read:
			return
		default:
		}
	}
	c.t.Errorf("it is not asked for anything that is known, and does not end:\n%s", strings.Join(c.lines(), "\n"))
}

// everyAgent answers as the CLI would whose name it is called by; the actor of the demo
// does the work.
const everyAgent = `#!/bin/sh
cli=${0##*/}
for word; do
  case $before in --session-id|--resume) id=$word ;; esac
  case $word in --version)
    case $cli in claude) echo 2.1.325 ;; codex) echo codex-cli 0.166.0 ;; gemini) echo 0.61.0 ;; opencode) echo 1.18.33 ;; esac
    exit ;;
  esac
  before=$word
done
reprise ACTOR > /dev/null || exit 1
mkdir -p src docs
date >> src/search.txt
date >> docs/search.md
case $cli in
  claude) echo '{"type":"system","subtype":"init","session_id":"'$id'"}'
    echo '{"type":"result","subtype":"success","is_error":false,"result":"made it","session_id":"'$id'"}' ;;
  codex) echo '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}'
    echo '{"type":"turn.started"}'
    echo '{"type":"turn.completed","usage":{"input_tokens":9,"output_tokens":1}}' ;;
  gemini) echo '{"type":"init","session_id":"'$id'","model":"gemini-2.5-flash"}'
    echo '{"type":"result","status":"success"}' ;;
  opencode) echo '{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}'
    echo '{"type":"step_finish","sessionID":"ses_1","part":{"type":"step-finish","reason":"stop"}}' ;;
esac
`
