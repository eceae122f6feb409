package agent

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reprise/internal/shim"
)

// readOnly is a file that nothing can be written to.
func readOnly(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// An agent that gets half of its prompt would work on half of it: it is stopped, and has
// failed whatever it says.
func TestAn_agent_without_its_whole_prompt_has_failed(t *testing.T) {
	t.Parallel()
	s := &session{stdin: readOnly(t), launch: Launch{Stdin: "do it"}, broken: make(chan error, 1)}
	s.feed()
	if err := <-s.broken; !errors.Is(err, syscall.EBADF) {
		t.Errorf("it is stopped because of %v", err)
	}
	var r Result
	if s.ending(&r, shim.Report{}, nil); r.Outcome != Failed || !strings.Contains(r.Reason, "prompt") {
		t.Errorf("it counts as %s: %s", r.Outcome, r.Reason)
	}
}

// A keeper that cannot say that the agent runs ends it at once: the engine would wait for
// its word.
func TestA_keeper_that_cannot_report_ends_its_agent(t *testing.T) {
	t.Parallel()
	theirs, control, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	defer theirs.Close()
	pid := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0], "__keep-attempt", "1h", "0", "sh", "-c", "echo $$ > "+pid+".new; mv "+pid+".new "+pid+"; exec sleep 3600")
	cmd.ExtraFiles = []*os.File{theirs, readOnly(t)}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "bad file descriptor") {
		t.Errorf("the keeper ends with %v: %s", err, out)
	}
	if text, err := os.ReadFile(pid); err == nil {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(text)) + "/cmdline"); err == nil {
			t.Errorf("the agent, process %s, is left", text)
		}
	}
}
