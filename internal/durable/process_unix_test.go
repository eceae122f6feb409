//go:build unix

package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
)

func TestProcesses_paused_holder_is_not_robbed(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	cmd, line := other(t, "hold", dir)
	if !strings.HasPrefix(line, "taken ") {
		t.Fatal(line)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	var held *durable.HeldError
	if _, err := s.Take(t.Context()); !errors.As(err, &held) || held.Holder.PID != cmd.Process.Pid || held.Holder.StartTicks == 0 {
		t.Fatalf("a paused holder is robbed: %v", err)
	}
}

func TestLock_odd_files_in_its_place(t *testing.T) {
	t.Parallel()
	lock := func(dir string) string { return filepath.Join(dir, ".reprise", "lock") }
	for name, put := range map[string]func(dir string) error{
		"FIFO":   func(dir string) error { return syscall.Mkfifo(lock(dir), 0o600) },
		"link":   func(dir string) error { return os.Symlink("/etc/hostname", lock(dir)) },
		"inside": func(dir string) error { return os.Symlink("../other", lock(dir)) },
		"folder": func(dir string) error { return os.Mkdir(lock(dir), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			write(t, dir, "other", "other", 0o600)
			if err := os.Mkdir(filepath.Join(dir, ".reprise"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(dir); err != nil {
				t.Fatal(err)
			}
			s, err := durable.Open(dir, durable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Release()
			var odd *durable.NotRegularError
			if _, err := s.Take(t.Context()); !errors.As(err, &odd) {
				t.Errorf("taken: %v", err)
			}
		})
	}
}

func TestLock_replaced_under_the_holder_fences_it(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(lock string) error{
		"unlinked": os.Remove,
		"moved":    func(lock string) error { return os.Rename(lock, lock+".old") },
		"replaced": func(lock string) error {
			if err := os.WriteFile(lock+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(lock+".new", lock)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			write(t, dir, "STATE.md", "one", 0o644)
			s, err := durable.Open(dir, durable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Release()
			first, err := s.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Log("run")
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(filepath.Join(dir, ".reprise", "lock")); err != nil {
				t.Fatal(err)
			}
			second, err := durable.Open(dir, durable.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer second.Release()
			rep, err := second.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if rep.Generation <= first.Generation {
				t.Errorf("generation %d after %d", rep.Generation, first.Generation)
			}
			if _, err := l.Append("step", json.RawMessage(`1`)); !errors.Is(err, durable.ErrFenced) {
				t.Errorf("the first holder still appends: %v", err)
			}
			if err := s.Replace("STATE.md", reprise.HashOf([]byte("one")), []byte("two")); !errors.Is(err, durable.ErrPoisoned) {
				t.Errorf("the first holder still writes: %v", err)
			}
		})
	}
}

// playKill does the work of the kill test and kills itself before operation n.
func playKill(dir string) int {
	n, _ := strconv.Atoi(os.Getenv("REPRISE_DURABLE_N"))
	disk, err := durable.OpenFS(dir)
	if err != nil {
		return 1
	}
	disk = crashfs.StopBefore(disk, n, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} })
	s := durable.OpenOn(disk, durable.Options{Reserve: -1})
	if _, err := s.Take(context.Background()); err != nil {
		fmt.Println("error", err)
		return 1
	}
	l, err := s.Log("run")
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	for i := 1; i <= 2; i++ {
		if _, err := l.Append("step", payload(i)); err != nil {
			return 1
		}
		fmt.Println("ack", i)
		if err := s.Apply(context.Background(), groupEdits(i)); err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("group", i)
	}
	return 0
}

// TestKill_at_every_operation_of_the_real_disk runs the real thing and kills it
// with SIGKILL before each of its operations.
func TestKill_at_every_operation_of_the_real_disk(t *testing.T) {
	t.Parallel()
	take := sample.Every(t, 6)
	kills := 0
	for n := 0; ; n++ {
		if !take(n) {
			continue
		}
		dir := tempDir(t)
		for name, content := range groupFiles(0) {
			write(t, dir, name, content, 0o644)
		}
		cmd := exec.Command(os.Args[0], dir)
		cmd.Env = append(os.Environ(), partVar+"=kill", fmt.Sprint("REPRISE_DURABLE_N=", n))
		out, err := cmd.Output()
		if err == nil {
			break
		}
		if !cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			t.Fatalf("operation %d: %v %s", n, err, out)
		}
		kills++
		s := durable.OpenOn(mustFS(t, dir), durable.Options{Reserve: -1})
		rep, err := s.Take(t.Context())
		if err != nil || len(rep.Conflicts) > 0 {
			t.Fatalf("operation %d: %+v %v", n, rep, err)
		}
		if _, err := s.Log("run"); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		got, err := recordsOf(s, "run")
		if err != nil || len(got) < strings.Count(string(out), "ack") {
			t.Fatalf("operation %d: acknowledged %q, there is %v, %v", n, out, got, err)
		}
		groups := strings.Count(string(out), "group")
		if !hasGroup(t, dir, groups) && !hasGroup(t, dir, groups+1) {
			t.Fatalf("operation %d: acknowledged %q, and the files are of neither state", n, out)
		}
		s.Release()
		os.RemoveAll(dir)
	}
	t.Logf("%d kills", kills)
}

func mustFS(t testing.TB, dir string) durable.FS {
	t.Helper()
	disk, err := durable.OpenFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	return disk
}

func hasGroup(t testing.TB, dir string, n int) bool {
	t.Helper()
	for name, content := range groupFiles(n) {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != content {
			return false
		}
	}
	return true
}
