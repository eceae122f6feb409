package cli_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reprise/internal/sample"
	"slices"
	"strings"
	"testing"
	"time"
)

// spill is a call of a session that holds a secret: a tool and its input, with %s
// for the secret.
type spill struct{ tool, input string }

// spills are ways in which a session leaves a secret in its transcript, in a place
// or in a form that tells it.
var spills = []spill{
	{"Bash", `{"command":"curl -H \"Authorization: Bearer %s\" https://example.org/deploy"}`},
	{"Bash", `{"command":"DB_PASSWORD=%s ./migrate up && touch done"}`},
	{"Bash", `{"command":"./login --password %s --yes","description":"log in"}`},
	{"Bash", `{"command":"psql postgres://shop:%s@db.example.org/shop -c 'delete from carts'"}`},
	{"Bash", `{"command":"export NPM_TOKEN='%s'; npm publish"}`},
	{"Bash", `{"command":"git checkout -b STRIPE_SECRET_KEY=%s"}`},
	{"Bash", `{"command":"git add -A && git commit -m 'use API_TOKEN=%s'"}`},
	{"Bash", `{"command":"touch PASSWORD=%s && rm -rf build"}`},
	{"Bash", `{"command":"echo late > 'notes/ACCESS_TOKEN=%s.md'"}`},
	{"Bash", `{"command":["bash","-lc","APP_SECRET=%s make deploy"]}`},
	{"Write", `{"file_path":"DIR/out/PASSWORD=%s/x.md","content":"new\n"}`},
	{"Edit", `{"file_path":"DIR/CLIENT_SECRET=%s","old_string":"a","new_string":"b"}`},
	{"mcp__shop__pay?token=%s", `{"amount":3}`},
	{"Bash", `{"command":"printf 'USER=a\\nDB_PASSWORD=%s\\n' > .env"}`},
	{"Bash", `{"command":"cat > .env <<'EOF'\nAPI_KEY=%s\nEOF\n./up"}`},
	{"Bash", `{"command":"tool '{\"password\":\"%s\"}'"}`},
}

// formed are secrets that are told by their form wherever they stand.
var formed = []func(r *rand.Rand) string{
	func(r *rand.Rand) string { return "ghp_" + word(r, 36) },
	func(r *rand.Rand) string { return "sk-ant-api03-" + word(r, 60) },
	func(r *rand.Rand) string { return "AIza" + word(r, 35) },
	func(r *rand.Rand) string { return "xoxb-" + word(r, 30) },
	func(r *rand.Rand) string {
		return `-----BEGIN PRIVATE KEY-----\n` + word(r, 64) + `\n` + word(r, 64) + `\n-----END PRIVATE KEY-----`
	},
}

func word(r *rand.Rand, n int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	b[n/2], b[n/2-1] = '7', 'f'
	return string(b)
}

// told reports whether a part of a secret that could be used is in a text.
func told(text, secret string) (string, bool) {
	for i := 0; i+8 <= len(secret); i += 4 {
		if part := secret[i : i+8]; !strings.Contains("-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----", part) && !strings.Contains("sk-ant-api03-", part) && strings.Contains(text, part) {
			return part, true
		}
	}
	return "", false
}

// TestS4_secrets_of_sessions_are_in_no_output leaves sessions whose calls hold
// random secrets, by their place, by their form and by a value of the environment,
// and looks for them in everything that tells of sessions.
func TestS4_secrets_of_sessions_are_in_no_output(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 7))
			dir, home := t.TempDir(), t.TempDir()
			known := "qv " + word(r, 12) + " " + word(r, 9)
			own := "vq " + word(r, 14)
			var secrets []string
			var calls []spill
			for _, s := range spills {
				secret := word(r, 12+r.IntN(20))
				secrets = append(secrets, secret)
				calls = append(calls, spill{strings.ReplaceAll(s.tool, "%s", secret), strings.ReplaceAll(s.input, "%s", secret)})
			}
			for _, f := range formed {
				for _, s := range []spill{{"Bash", `{"command":"./send %s now"}`}, {"Write", `{"file_path":"DIR/%s.txt","content":"x"}`}, {"Bash", `{"command":"echo '%s' > key && ./use key"}`}} {
					secret := f(r)
					secrets = append(secrets, strings.ReplaceAll(secret, `\n`, "\n"))
					calls = append(calls, spill{s.tool, strings.ReplaceAll(s.input, "%s", secret)})
				}
			}
			for _, value := range []string{known, own} {
				secrets = append(secrets, value, base64.StdEncoding.EncodeToString([]byte(value))[2:])
				calls = append(calls, spill{"Bash", `{"command":"./send '` + value + `' now"}`}, spill{"Bash", `{"command":"./send ` + base64.StdEncoding.EncodeToString([]byte(value)) + ` now"}`})
			}
			leave(t, dir, home, calls)
			env := append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home+"/config", "COLUMNS=200", "CLAUDE_CONFIG_DIR="+home+"/.claude",
				"SHOP_API_TOKEN="+known, "SHOP_CODE="+own)
			for _, args := range [][]string{
				{"check"}, {"check", "--mode", "preflight"}, {"check", "--json"}, {"check", "--json", "--mode", "preflight"},
				{"brief"}, {"brief", "--json"}, {"brief", "--for", "claude"}, {"resume", "--dry-run"}, {"resume", "--dry-run", "--json"}, {"resume", "--mode", "preflight"},
				{"detect", "--json"}, {"status"}, {"status", "--json"},
			} {
				cmd := exec.Command(os.Args[0], args...)
				cmd.Dir, cmd.Env = dir, env
				out, _ := cmd.CombinedOutput()
				text := string(out)
				if slices.Contains(args, "--json") {
					text += strings.Join(allTexts(t, out), "\n")
				}
				if (args[0] == "check" || args[0] == "brief") && !strings.Contains(text, "[redacted") {
					t.Errorf("%q tells nothing of the calls: %s", args, out)
				}
				for _, secret := range secrets {
					if part, is := told(text, secret); is {
						t.Errorf("%q tells %q of %q: %s", args, part, secret, around(text, part))
					}
				}
			}
		})
	}
}

func around(text, part string) string {
	i := strings.Index(text, part)
	return text[max(0, i-120):min(len(text), i+80)]
}

// allTexts lists every text of a JSON document as it is when it was read.
func allTexts(t *testing.T, document []byte) (out []string) {
	t.Helper()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	var doc any
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Errorf("%v: %s", err, document)
	}
	walk(doc)
	return out
}

// leave makes a project with a run that was interrupted and a session in it whose
// calls have no results.
func leave(t *testing.T, dir, home string, calls []spill) {
	t.Helper()
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(dir, ".auto-claude/specs/001-a/implementation_plan.json"), `{"feature":"A","phases":[{"id":"p","name":"P","subtasks":[{"id":"s1","status":"completed"},{"id":"s2","status":"in_progress"}]}]}`)
	put(filepath.Join(home, "config/reprise/reprise.yaml"), "agents: {coder: {command: [cat]}}\nroles: {default: coder}\nsecrets: [SHOP_CODE]\n")
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	folder := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, real)
	now := time.Now().UTC().Format(time.RFC3339Nano)
	var text strings.Builder
	fmt.Fprintf(&text, `{"type":"user","message":{"role":"user","content":"go"},"timestamp":%q,"cwd":%q,"sessionId":"s1","version":"2.1.197"}`+"\n", now, real)
	for i, c := range calls {
		fmt.Fprintf(&text, `{"type":"assistant","message":{"role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c%d","name":%q,"input":%s}]},"timestamp":%q,"cwd":%q,"sessionId":"s1"}`+"\n",
			i, c.tool, strings.ReplaceAll(c.input, "DIR", real), now, real)
	}
	put(filepath.Join(home, ".claude/projects", folder, "s1.jsonl"), text.String())
}
