package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBenchRestartOfTheProgram kills the program in the middle of 10,000 steps and
// measures, as a person would see it, how long the next `resume` takes to the start of
// the command that was cut off: beside reading the run's files, and beside looking at
// it with `check`.
func TestBenchRestartOfTheProgram(t *testing.T) {
	bin := wanted(t)
	const steps = 10_000
	dir := t.TempDir()
	marker := filepath.Join(dir, "started")
	var flow strings.Builder
	flow.WriteString("name: chain\nsteps:\n")
	for i := range steps {
		fmt.Fprintf(&flow, "  - {id: s%d", i)
		if i > 0 {
			fmt.Fprintf(&flow, ", needs: [s%d]", i-1)
		}
		if i == steps-100 {
			flow.WriteString(", command: [sh, -c, 'echo > started; sleep 60'], on_crash: rerun")
		}
		flow.WriteString("}\n")
	}
	write(t, filepath.Join(dir, "flow.yaml"), flow.String())
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	// started gives the time until the command has begun, and kills the program then.
	started := func(args ...string) time.Duration {
		t.Helper()
		if err := os.Remove(marker); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &bytes.Buffer{}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		for {
			if _, err := os.Stat(marker); err == nil {
				break
			}
			select {
			case err := <-over:
				t.Fatalf("%v: %v: %s", args, err, cmd.Stderr)
			case <-time.After(200 * time.Microsecond):
			}
		}
		took := time.Since(began)
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-over
		time.Sleep(500 * time.Millisecond) // its keeper ends the command
		return took
	}
	started("run", "flow.yaml", "--id", "chain", "--trust", "--mode", "autopilot")
	var ours, cats, looks []time.Duration
	for range 9 {
		ours = append(ours, started("resume", "chain", "--mode", "autopilot", "--trust"))
		names := []string{filepath.Join(dir, "flow.yaml")}
		for _, root := range []string{".agent-memory", ".reprise/journal"} {
			err := filepath.WalkDir(filepath.Join(dir, root), func(p string, d os.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					names = append(names, p)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		cat := exec.Command("cat", names...)
		cat.Stdout = &bytes.Buffer{}
		began := time.Now()
		if err := cat.Run(); err != nil {
			t.Fatal(err)
		}
		cats = append(cats, time.Since(began))
		look := exec.Command(bin, "check", "chain")
		look.Dir, look.Env = dir, env
		began = time.Now()
		if err := look.Run(); err != nil && look.ProcessState.ExitCode() > 20 {
			t.Fatal(err)
		}
		looks = append(looks, time.Since(began))
	}
	our, cat, look := slices.Min(ours), slices.Min(cats), slices.Min(looks)
	figure(t, "`resume` after a kill to the next of 10,000 steps", our, "`cat` of its files", cat, "1 s")
	figure(t, "`check` of the same run", look, "`cat` of its files", cat, "-")
	if our > maxRestart {
		t.Errorf("the command starts after %v (wanted %v)", our, maxRestart)
	}
}
