package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// form is a kind of token, put together when the test runs: what scans this repository for
// tokens finds none. Around the secret may stand what calls it one.
type form struct{ name, before, secret, after string }

func formsOf(r *rand.Rand) []form {
	const hex = "0123456789abcdef"
	from := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		b[0], b[n/2] = 'a', '7'
		return string(b)
	}
	upper := func(n int) string {
		return "Q7" + strings.ToUpper(strings.NewReplacer("0", "A", "1", "B", "8", "C", "9", "D").Replace(word(r, n-2)))
	}
	plain := func(name, head string, n int) form { return form{name: name, secret: head + word(r, n)} }
	return []form{
		{name: "AWS", secret: "AK" + "IA" + upper(16)},
		{name: "AWS secret", before: "aws_secret_access_key=", secret: word(r, 40)},
		plain("GitHub", "gh"+"p_", 36), plain("GitHub fine", "github"+"_pat_", 70), plain("GitLab", "gl"+"pat-", 20),
		plain("Slack", "xo"+"xb-", 40), plain("Stripe", "sk"+"_live_", 24), plain("OpenAI", "sk-"+"proj-", 60), plain("Anthropic", "sk-"+"ant-api03-", 80),
		plain("Google", "AI"+"za", 35), plain("npm", "np"+"m_", 36), plain("PyPI", "py"+"pi-", 80),
		{name: "JWT", secret: "ey" + "J" + word(r, 20) + ".ey" + "J" + word(r, 30) + "." + word(r, 40)},
		{name: "URL", before: "https://ada:", secret: word(r, 14), after: "@example.org/x"},
		{name: "Bearer", before: "Authorization: Bearer ", secret: word(r, 30)},
		{name: "Azure", secret: "abc" + "8Q" + "~" + word(r, 34)}, {name: "Azure key", before: "AccountKey=", secret: word(r, 60), after: ";x"},
		{name: "DigitalOcean", secret: "do" + "p_v1_" + from(hex, 64)},
		{name: "SendGrid", secret: "SG" + "." + word(r, 22) + "." + word(r, 43)}, {name: "Twilio", secret: "S" + "K" + from(hex, 32)},
		{name: "Telegram", secret: "123456789" + ":A" + "A" + word(r, 33)},
		{name: "Discord", secret: "MT" + word(r, 24) + "." + word(r, 6) + "." + word(r, 30)},
		plain("Hugging Face", "h"+"f_", 34), {name: "database", before: "postgres://shop:", secret: word(r, 16), after: "@db.example.org/shop"},
		{name: "npmrc", before: "//registry.example.org/:_authToken=", secret: word(r, 30)}, {name: "password", before: "password=", secret: word(r, 12)},
		plain("Databricks", "hv"+"s.", 40), plain("Figma", "fig"+"d_", 40),
	}
}

func (f form) String() string { return f.before + f.secret + f.after }

// TestT13_tokens_of_every_form_are_in_no_output plants tokens of every form, and twins that
// are none, in the titles of steps, in words that make findings and in what an agent prints,
// and looks for them in everything that leaves the program.
//
// Requirement T13.
func TestT13_tokens_of_every_form_are_in_no_output(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(40, 7))
	forms := formsOf(r)
	key := []string{"-----BEGIN " + "PRIVATE KEY-----", word(r, 64), word(r, 64), word(r, 20), "-----END " + "PRIVATE KEY-----"}
	twins := []string{
		"8c1f2ab40211d0e8c1f2ab40211d0e8c1f2ab402", "550e8400-e29b-41d4-a716-446655440000", "v1:0123456789abcdef0123456789abcdef", "src/token_key_test.go",
	}
	dir, home := t.TempDir(), t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var tasks, printed strings.Builder
	tasks.WriteString("# Tasks: Shop\n\n## Phase 1: Setup\n\n")
	type subtask map[string]string
	var subtasks []subtask
	for i, f := range forms {
		box := " "
		if i == 0 {
			box = "x"
		}
		fmt.Fprintf(&tasks, "- [%s] T%03d Send %s in src/f%d.go\n", box, i+1, f, i)
		fmt.Fprintf(&printed, "printed %s\n", f)
		subtasks = append(subtasks, subtask{"id": fmt.Sprint("s", i), "description": "Use " + f.String(), "status": "status of " + f.String()})
	}
	for _, twin := range twins {
		fmt.Fprintf(&tasks, "- [ ] T%03d Keep %s here\n", 900+len(twin), twin)
		fmt.Fprintf(&printed, "printed %s\n", twin)
	}
	printed.WriteString(strings.Join(key, "\n") + "\nthe last words\n")
	put(filepath.Join(dir, "specs/001-shop/tasks.md"), tasks.String())
	put(filepath.Join(dir, "specs/001-shop/spec.md"), "# Feature Specification: Shop "+forms[2].String()+"\n")
	plan, err := json.Marshal(map[string]any{"feature": "Pay with " + forms[3].String(), "phases": []any{map[string]any{"id": "p", "name": "P", "subtasks": subtasks}}})
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(dir, ".auto-claude/specs/002-pay/implementation_plan.json"), string(plan))
	put(filepath.Join(dir, "printed.txt"), printed.String())
	put(filepath.Join(dir, "flow.yaml"), "name: flow\ntitle: Flow "+forms[4].String()+"\nsteps:\n  - id: build\n    title: Build "+forms[5].String()+"\n    command: [sh, -c, \"cat printed.txt; exit 1\"]\n")
	env := append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home+"/config", "XDG_CACHE_HOME="+home+"/cache", "COLUMNS=200",
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org")
	kept := map[string]bool{}
	check := func(name string, out []byte) {
		t.Helper()
		text := string(out)
		if strings.HasSuffix(name, "--json") {
			text += strings.Join(allTexts(t, out), "\n")
		}
		for _, f := range forms {
			if part, is := leaks(text, f.secret); is {
				t.Errorf("%s tells %q of %s: %s", name, part, f.name, around(text, part))
			}
		}
		for _, line := range key[1:4] {
			if strings.Contains(text, line[:12]) {
				t.Errorf("%s tells of the key: %s", name, around(text, line[:12]))
			}
		}
		for _, twin := range twins {
			kept[twin] = kept[twin] || strings.Contains(text, twin)
		}
	}
	run := func(in string, argv ...string) []byte {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		var out, told bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, strings.NewReader(in), &out, &told
		_ = cmd.Run()
		check(strings.Join(argv[1:], " ")+", beside", told.Bytes())
		return out.Bytes()
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "base"}} {
		run("", append([]string{"git"}, args...)...)
	}
	check("run", run("", os.Args[0], "run", "flow.yaml", "--id", "r1", "--trust", "--mode", "autopilot"))
	for _, line := range []string{
		"status", "status --all", "status --json", "detect", "detect --json", "check r1 --json", "check r1 --full", "check 001 --full", "check 001 --json", "check 002 --full", "check 002 --json",
		"check 001 --verify=cat&&false", "brief r1", "brief 001 --json", "brief 002", "log r1", "log r1 build --full", "log r1 build --full --json", "log r1 --json", "log r1 --timeline", "log r1 build --diff",
		"report r1", "report 001", "report 002", "resume r1 --dry-run", "resume r1 --dry-run --json", "resume 001 --dry-run", "resume 001 --dry-run --json", "resume 002 --mode preflight",
		"repair --dry-run", "clean --dry-run", "undo r1 --dry-run", "hook run claude start", "status --short",
	} {
		args := strings.Fields(line)
		for i, a := range args {
			if a == "--verify=cat&&false" {
				args[i] = "--verify=cat printed.txt; false"
			}
		}
		out := run("{}", append([]string{os.Args[0]}, args...)...)
		check(line, out)
		if strings.HasPrefix(line, "check") || strings.HasPrefix(line, "log r1 build --full") || strings.HasPrefix(line, "report") {
			if !strings.Contains(string(out), "[redacted: ") {
				t.Errorf("%s tells nothing of what was planted: %s", line, out)
			}
		}
	}
	for _, twin := range twins {
		if !kept[twin] {
			t.Errorf("%s is shown nowhere", twin)
		}
	}

	var calls strings.Builder
	calls.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i, call := range []string{`"status","arguments":{}`, `"check","arguments":{"run":"001"}`, `"brief","arguments":{"run":"r1"}`, `"log","arguments":{"run":"r1","step":"build"}`} {
		fmt.Fprintf(&calls, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s}}`+"\n", i+1, call)
	}
	cmd := exec.Command(os.Args[0], "mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Env = dir, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(in, calls.String())
	for answers := json.NewDecoder(out); bytes.Count(said.Bytes(), []byte("\n")) < 5; {
		var one json.RawMessage
		if err := answers.Decode(&one); err != nil {
			t.Fatalf("%v after %s", err, said.Bytes())
		}
		said.Write(append(one, '\n'))
	}
	in.Close()
	_ = cmd.Wait()
	if !strings.Contains(said.String(), "[redacted: ") {
		t.Errorf("mcp tells nothing of the runs: %.2000s", said.String())
	}
	check("mcp", said.Bytes())

	server := exec.Command(os.Args[0], "serve", "--no-browser")
	server.Dir, server.Env = dir, env
	address, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	var url string
	if _, err := fmt.Fscan(address, &url); err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	pages := []string{url}
	seen := map[string]bool{url: true}
	for len(pages) > 0 && len(seen) < 60 {
		res, err := browser.Get(pages[0])
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		_, _ = page.ReadFrom(res.Body)
		res.Body.Close()
		check("page "+strings.TrimPrefix(pages[0], url), page.Bytes())
		for _, link := range strings.Split(page.String(), `href="`)[1:] {
			link, _, _ = strings.Cut(link, `"`)
			to, err := res.Request.URL.Parse(strings.ReplaceAll(link, "&amp;", "&"))
			if err != nil || to.Host != res.Request.URL.Host || strings.HasPrefix(to.Path, "/assets/") || seen[to.String()] {
				continue
			}
			seen[to.String()] = true
			pages = append(pages, to.String())
		}
		pages = pages[1:]
	}
	if len(seen) < 4 {
		t.Errorf("only %d pages", len(seen))
	}
}

// leaks reports whether a part of a secret that could be used is in a text.
func leaks(text, secret string) (string, bool) {
	for i := min(12, len(secret)-8); i+8 <= len(secret); i += 4 {
		if part := secret[i : i+8]; strings.Contains(text, part) {
			return part, true
		}
	}
	return "", false
}
