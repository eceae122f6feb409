package fleetcli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"reprise"
	"reprise/engine/temporal"
)

// Whoever gives a run back without its server is told the commands that continue it, as often
// as they ask. (issue 19)
func TestA_run_given_back_twice_names_the_commands_again(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	remote, clone := filepath.Join(dir, "remote.git"), filepath.Join(dir, "clone")
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", clone, "-c", "user.name=u", "-c", "user.email=u@x"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if err := os.Mkdir(clone, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "--bare", "-b", "main", remote)
	git("init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(clone, "flow.yaml"), []byte("name: r\nsteps:\n  - {id: a, role: dev, prompt: do}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "-q", "-m", "base")
	git("remote", "add", "origin", remote)
	git("push", "-q", "origin", "main")
	if _, err := (&temporal.Fleet{Clone: clone, Remote: remote}).Begin(t.Context(), "flow.yaml", reprise.Goal{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("in a checkout: `(.*)`\\.")
	var named [2]string
	for i, want := range []int{0, 3} {
		var out, errOut bytes.Buffer
		code := Main([]string{"stop", "r", "--server-gone", "-C", clone}, &out, &errOut)
		if code != want {
			t.Errorf("exit %d: %s%s", code, out.String(), errOut.String())
		}
		named[i] = strings.Join(commands.FindStringSubmatch(out.String()), " ")
	}
	if named[0] == "" || named[0] != named[1] {
		t.Errorf("the commands are %q, then %q", named[0], named[1])
	}
}
