package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// More than can be read in time is no reason for silence: what is not known is told.
func TestA_hook_tells_what_it_could_not_read(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 4000 {
		name := filepath.Join(dir, "specs", fmt.Sprintf("%04d-feature", i), "tasks.md")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("# Tasks: Feature\n\n- [x] T001 Write it\n- [ ] T002 Test it\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said := ""
	for try := 0; said == "" && try < 5; try++ { // on a busy machine a process may begin too late for anything
		cmd := exec.Command(own, "hook", "run", "claude", "start")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "REPRISE_TEST_PROGRAM=1", "REPRISE_TEST_HURRY=1")
		out, err := cmd.CombinedOutput()
		if said = string(out); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if !strings.Contains(said, "reprise status") {
		t.Errorf("it said %q", said)
	}
}
