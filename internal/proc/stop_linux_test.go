package proc

import (
	"context"
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

// runs starts a command that ends with the test.
func runs(t *testing.T, env []string, files []*os.File, argv ...string) Process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.ExtraFiles = append(env, "PATH="+os.Getenv("PATH")), files
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	if argv[0] == "sh" {
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return Process{PID: id.PID, StartTicks: id.StartTicks}
}

func has(ps []Process, want Process) bool {
	return slices.ContainsFunc(ps, func(p Process) bool { return p.PID == want.PID && p.StartTicks == want.StartTicks })
}

func TestOrphans_by_token_with_those_below_them(t *testing.T) {
	t.Parallel()
	const token = "orphans-by-token"
	marked := runs(t, []string{"REPRISE_TOKEN=" + token}, nil, "sh", "-c", "env -i sleep 61.0625 & echo x; wait")
	other := runs(t, []string{"REPRISE_TOKEN=" + token + "-other", "X=REPRISE_TOKEN=" + token}, nil, "sleep", "60")
	var found []Process
	var below *Process
	for range 100 {
		found = Orphans(token, "")
		for i := range found {
			if found[i].Command == "sleep 61.0625" {
				below = &found[i]
			}
		}
		if below != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if below == nil || !has(found, marked) || has(found, other) {
		t.Fatalf("found %v", found)
	}
	if left := Stop(time.Second, found...); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if there(*below) || there(marked) || !there(other) {
		t.Error("not exactly what was found was stopped")
	}
	if len(Orphans()) > 0 || len(Orphans("")) > 0 {
		t.Error("no token finds processes")
	}
}

// A tool that wraps what it runs fills a line with what it prepares.
func TestOf_a_long_command_line_its_end_is_shown(t *testing.T) {
	t.Parallel()
	got := ending("bash", "/bin/bash -c source "+strings.Repeat("snapshot-", 30)+" && eval 'npm run serve'")
	if !strings.HasPrefix(got, "bash … ") || !strings.HasSuffix(got, "&& eval 'npm run serve'") || len(got) > 180 {
		t.Error(got)
	}
}

func TestStop_signals_nobody_else(t *testing.T) {
	t.Parallel()
	alive := runs(t, nil, nil, "sleep", "60")
	other := alive
	other.StartTicks--
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := Of(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	Stop(0, other, Process{PID: alive.PID}, Process{PID: self.PID, StartTicks: self.StartTicks}, Process{PID: parent.PID, StartTicks: parent.StartTicks})
	if !there(alive) {
		t.Error("a process that only has the same number was stopped")
	}
}

func TestStop_kills_what_does_not_listen(t *testing.T) {
	t.Parallel()
	deaf := runs(t, nil, nil, "sh", "-c", "trap '' TERM; echo x; while :; do sleep 0.02; done")
	began := time.Now()
	if left := Stop(200*time.Millisecond, deaf); len(left) > 0 || there(deaf) || time.Since(began) < 200*time.Millisecond {
		t.Errorf("%v after %s", left, time.Since(began))
	}
	stopped := runs(t, nil, nil, "sleep", "60")
	if err := syscall.Kill(stopped.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if Stop(5*time.Second, stopped); there(stopped) || time.Since(began) > 4*time.Second {
		t.Error("a stopped process was not asked to end")
	}
}

func TestHolders_have_the_lock_or_belong_to_an_attempt_in_the_project(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	held, looks := open(), open()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	holder := runs(t, nil, []*os.File{held}, "sh", "-c", "sleep 61.125 3>&- & echo x; wait")
	looker := runs(t, nil, []*os.File{looks}, "sleep", "60")
	// What closed its files has the project in its environment, by whichever path.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(file), link); err != nil {
		t.Fatal(err)
	}
	marked := runs(t, []string{"REPRISE_PROJECT=" + link}, nil, "sleep", "60")
	other := runs(t, []string{"REPRISE_PROJECT=" + t.TempDir()}, nil, "sleep", "60")
	var found []Process
	for range 100 {
		if found = Holders(file, filepath.Dir(file)); len(found) == 3 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !has(found, holder) || !has(found, marked) || has(found, looker) || has(found, other) || len(found) != 3 || !strings.Contains(fmt.Sprint(found), "sleep 61.125") {
		t.Errorf("%v", found)
	}
	if !has(WhoUses(file, "").Open, looker) {
		t.Error("the looker does not look")
	}
}
