package cli_test

import (
	"os"
	"os/exec"
	"testing"
)

// A tool that never closes our input is not waited for.
func TestA_hook_answers_in_time_or_says_nothing(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, "hook", "run", "claude", "start")
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "REPRISE_TEST_HURRY=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("it ended with %v and said %q", err, out)
	}
}
