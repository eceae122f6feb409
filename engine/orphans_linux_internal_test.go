package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"reprise/internal/durable"
	"reprise/settings"
)

// What a dead engine left is stopped. Its processes may let go of the lease between the last
// look at it and the stop, and a rival may take it: that one is alive, and is not stopped.
func TestStopOrphans_spares_a_rival_that_has_just_taken_the_project(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no flock to take the lock with")
	}
	set := settings.Default()
	set.Grace = 100 * time.Millisecond
	for name, c := range map[string]struct {
		script string
		stops  bool
	}{
		"a rival takes it":       {`exec flock -F "$0" sleep 60`, false},
		"who took it is no more": {`exec 9>>"$0"; flock 9; exec sleep 60`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			lock := filepath.Join(dir, filepath.FromSlash(durable.LockPath))
			if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", c.script, lock)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			e := &Engine{Dir: dir, Settings: set, Now: time.Now}
			for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				if found := e.holders(); len(found) == 1 && found[0].PID == cmd.Process.Pid && found[0].Name == "sleep" {
					break
				}
				if time.Since(began) > time.Minute {
					t.Fatal("no one holds the lock")
				}
			}
			if err := e.stopOrphans(durable.Holder{PID: 1 << 30}); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if !c.stops {
					t.Errorf("the rival was stopped: %v", err)
				}
			case <-time.After(time.Second):
				if c.stops {
					t.Error("what a dead one left is still at work")
				}
			}
		})
	}
}
