package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"encoding/json"

	"reprise/convention/conventiontest"
	"reprise/internal/sample"
)

// hintsTried is how many commands are run one after the other at most.
const hintsTried = 10

const (
	hintSettings = "agents: {any: {command: [sh, agent.sh]}}\nroles: {default: any}\nattempts: 1\n"
	hintAgent    = "cat > /dev/null\n" + `echo '{"outcome":"done","verdict":"PASS","summary":"did it"}' > "$REPRISE_RESULT"` + "\n"
)

// Issue 15, row 10: every command that the program names works when it is pasted. The
// scenarios of all conventions are looked at and resumed as a person would; each command
// that is named on the way is run as it stands. None may be refused for how it is called
// or name what is not there, and what is refused must not lead back to itself for ever.
func TestEvery_command_that_is_named_works_when_pasted(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to paste into")
	}
	root := filepath.Join("..", "..")
	archives, err := filepath.Glob(filepath.Join(root, "convention", "*", "testdata", "scenarios", "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*"))
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	cases := slices.Concat(archives, examples)
	chosen := sample.Every(t, 90)
	for i, name := range cases {
		if !chosen(i) {
			continue
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.NewReplacer("/testdata/scenarios", "", ".txtar", "").Replace(filepath.ToSlash(rel)), func(t *testing.T) {
			t.Parallel()
			p := newPasting(t, name, []string{"project", "my project", "it's a project"}[i%3])
			p.follow("reprise status")
			for _, run := range p.begun() {
				p.follow("reprise check " + run)
				p.follow("reprise resume " + run + " --mode autopilot")
			}
		})
	}
}

// pasting is a project in which commands are run as a person would paste them.
type pasting struct {
	t    *testing.T
	dir  string
	home string
	seen map[string]bool // commands that were run, by what the project was then
}

// newPasting copies a project into a folder with this name.
func newPasting(t *testing.T, from, as string) *pasting {
	t.Helper()
	p := &pasting{t: t, dir: filepath.Join(t.TempDir(), as), home: t.TempDir(), seen: map[string]bool{}}
	var tree fs.FS = os.DirFS(from)
	if strings.HasSuffix(from, ".txtar") {
		tree = conventiontest.LoadFS(t, from)
	}
	if err := os.CopyFS(p.dir, tree); err != nil {
		t.Fatal(err)
	}
	r := &repo{t: t, dir: p.dir}
	r.write("reprise.yaml", hintSettings)
	r.write("agent.sh", hintAgent)
	r.git("init", "-q", "-b", "main")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "base")
	return p
}

// begun names the first runs that were begun and are open.
func (p *pasting) begun() []string {
	p.t.Helper()
	out, told, _ := p.paste("reprise status --json")
	var doc struct {
		Runs []struct{ ID, Layout, Path, State string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		p.t.Fatalf("%v: %s%s", err, out, told)
	}
	var names []string
	for _, r := range doc.Runs {
		if r.State != "complete" && len(names) < 2 {
			names = append(names, pasted(r.Layout+":"+r.Path))
		}
	}
	return names
}

// pasted is a word as a shell takes it.
func pasted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// paste runs a command line in the project with no one at the keyboard.
func (p *pasting) paste(line string) (out, told string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `reprise() { "$PROGRAM" "$@"; }`+"\n"+line)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PROGRAM="+os.Args[0], "REPRISE_TEST_PROGRAM=1", "REPRISE_NOW=2026-03-01T12:00:00Z", "COLUMNS=80",
		"HOME="+p.home, "XDG_STATE_HOME="+p.home, "XDG_CONFIG_HOME="+p.home, "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		p.t.Fatalf("%s: %v %v", line, err, ctx.Err())
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// pastedCall is a command that was run, and what came of it.
type pastedCall struct {
	line  string
	from  string // the command that named it
	text  string // what it printed
	code  int
	named []string // the commands that it named
	moved bool     // it changed something
}

// follow runs a command, then those that it names, and those that they name. What was
// named before a change is said of what was there then: it is not tried after it.
func (p *pasting) follow(first string) {
	p.t.Helper()
	calls := map[string]*pastedCall{}
	todo := []*pastedCall{{line: first}}
	for n := 0; len(todo) > 0 && n < hintsTried; n++ {
		c := todo[0]
		todo = todo[1:]
		before := p.print()
		if p.seen[before+c.line] {
			continue
		}
		p.seen[before+c.line] = true
		p.call(c)
		c.moved = p.print() != before
		p.t.Logf("%s: exit code %d, changed %t, names %q", c.line, c.code, c.moved, c.named)
		calls[c.line] = c
		if c.moved {
			todo = nil
		}
		c.moved = c.moved || c.trusts()
		for _, line := range c.named {
			todo = append(todo, &pastedCall{line: line, from: c.line})
		}
		// An undo would be the last thing tried.
		slices.SortStableFunc(todo, func(a, b *pastedCall) int { return a.takesBack() - b.takesBack() })
	}
	for _, c := range calls {
		if c.refused() && len(todo) == 0 && goesRound(calls, c) {
			p.t.Errorf("%s\nends with %d; nothing that it leads to changes anything or says what a person is to do:\n%s", c.line, c.code, indented(c.text))
		}
	}
}

// trusts tells whether it changed what the user trusts, which is kept outside of projects.
func (c *pastedCall) trusts() bool {
	return c.code == 0 && strings.HasPrefix(c.line, "reprise trust ") && strings.Contains(c.line, " --yes")
}

// takesBack is 1 for an undo.
func (c *pastedCall) takesBack() int {
	if strings.HasPrefix(c.line, "reprise undo") {
		return 1
	}
	return 0
}

// call runs a command and judges it by itself.
func (p *pasting) call(c *pastedCall) {
	p.t.Helper()
	out, told, code := p.paste(c.line)
	c.text, c.code = out+told, code
	if c.from != "" && code == 2 {
		p.t.Errorf("%s\nnames a command that is refused: %s\n%s", c.from, c.line, indented(c.text))
		return
	}
	if broken := brokenCommand.FindString(c.text); broken != "" {
		p.t.Errorf("%s\nprints a command that cannot be pasted: %s", c.line, broken)
	}
	for _, line := range namedCommands(c.text) {
		if word := placeholder.FindString(line); word != "" {
			p.t.Errorf("%s\nnames a command with a place to fill in, %s: %s\n%s", c.line, word, line, indented(c.text))
			continue
		}
		c.named = append(c.named, strings.Replace(line, "--text '…'", "--text 'as you like'", 1))
	}
	if c.refused() && len(c.named) == 0 && !c.instructs() {
		p.t.Errorf("%s\nends with %d and names nothing that can be done:\n%s", c.line, code, indented(c.text))
	}
}

// refused tells whether a command did not do what it was for.
func (c *pastedCall) refused() bool { return slices.Contains([]int{1, 2, 11, 12, 13, 40}, c.code) }

// instructs tells whether it says what a person can do by hand.
func (c *pastedCall) instructs() bool { return strings.Contains(c.text, "to do:") }

// goesRound tells whether a command leads nowhere: whatever it names, and whatever that
// names, changed nothing, and a person is told nothing that they could do by hand.
func goesRound(calls map[string]*pastedCall, from *pastedCall) bool {
	seen := map[string]bool{from.line: true}
	for todo := []*pastedCall{from}; len(todo) > 0; todo = todo[1:] {
		c := todo[0]
		if c.moved || c.instructs() {
			return false
		}
		for _, line := range c.named {
			if next := calls[line]; !seen[line] {
				if next == nil {
					return false // tried before, from somewhere else
				}
				seen[line] = true
				todo = append(todo, next)
			}
		}
	}
	return true
}

var (
	quotedCommand = regexp.MustCompile("`(reprise [^`\n]+)`")
	brokenCommand = regexp.MustCompile("`[a-z]+ [^`\n]*\n[^`\n]*`")
	nextCommand   = regexp.MustCompile(`(?m)^\s*(?:Next|or): (reprise .+)$`)
	placeholder   = regexp.MustCompile(`\b(RUN|STEP|FILE|KIND|DIR|KEY|QUESTION|TEXT|SNAPSHOT)\b`)
)

// namedCommands lists the commands that a text names, each once.
func namedCommands(text string) []string {
	var list []string
	for _, re := range []*regexp.Regexp{quotedCommand, nextCommand} {
		for _, hit := range re.FindAllStringSubmatch(text, -1) {
			if line := strings.TrimSpace(hit[1]); !slices.Contains(list, line) {
				list = append(list, line)
			}
		}
	}
	return list
}

// print is a fingerprint of all files of the project but git's.
func (p *pasting) print() string {
	p.t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(p.dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(sum, "%s\x00%d\x00%s", name, len(data), data)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
