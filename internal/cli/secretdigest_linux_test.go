package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestS4_X8_a_digest_is_the_same_for_everybody takes the digest of one and the same
// project in two shells: one that knows the values of its sessions' secrets, and one
// that does not. What is left out where it is shown does not make it another project.
func TestS4_X8_a_digest_is_the_same_for_everybody(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), t.TempDir()
	const known = "plainwordsofmine"
	leave(t, dir, home, []spill{{"Bash", `{"command":"./send ` + known + ` now"}`}, {"Write", `{"file_path":"DIR/` + known + `.txt","content":"x"}`}})
	env := append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "HOME="+home, "XDG_STATE_HOME="+home+"/state", "XDG_CONFIG_HOME="+home+"/config", "CLAUDE_CONFIG_DIR="+home+"/.claude")
	digest := func(more ...string) string {
		cmd := exec.Command(os.Args[0], "check", "--json")
		cmd.Dir, cmd.Env = dir, append(env[:len(env):len(env)], more...)
		out, _ := cmd.Output()
		var doc struct{ Digest string }
		if err := json.Unmarshal(out, &doc); err != nil || doc.Digest == "" {
			t.Fatalf("%v: %s", err, out)
		}
		return doc.Digest
	}
	if one, again := digest(), digest(); one != again {
		t.Fatalf("%s, and again %s", one, again)
	}
	if one, other := digest(), digest("SHOP_API_TOKEN="+known); one != other {
		t.Errorf("%s, and where the value is known %s", one, other)
	}
	before := digest()
	files, err := filepath.Glob(filepath.Join(home, ".claude/projects/*/s1.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Replace(string(text), known+" now", known+" twice", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if digest() == before {
		t.Error("another call, and the same digest")
	}
}
