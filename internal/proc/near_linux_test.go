package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
)

func TestX5_who_works_in_a_folder(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "61")
	cmd.Dir = below
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Skip("there is no sleep program")
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	w := Working(dir)
	if len(w.Found) != 1 || w.Found[0].PID != cmd.Process.Pid || w.Found[0].Dir != below || w.Found[0].Above || !strings.HasSuffix(w.Found[0].Command, "sleep 61") {
		t.Fatalf("%+v", w)
	}
	if age := w.Found[0].Started.Sub(began); age < -3*time.Second || age > 3*time.Second {
		t.Errorf("started %s off", age)
	}
	if w := Working(dir + "x"); len(w.Found) != 0 {
		t.Errorf("%+v", w.Found)
	}
	if !IsAbove(os.Getpid()) || !IsAbove(os.Getppid()) || IsAbove(cmd.Process.Pid) {
		t.Error("who started whom is not told")
	}
	if _, err := Running(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := Running(cmd.Process.Pid); errors.Is(err, fs.ErrNotExist) {
			break // it is a zombie: no one has waited for it
		}
		if time.Now().After(deadline) {
			t.Fatal("a zombie is called running")
		}
	}
	if w := Working(dir); len(w.Found) != 0 {
		t.Errorf("%+v", w.Found)
	}
}

func TestX5_a_lock_is_seen_without_being_taken(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	if _, err := LockOf(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if l, err := LockOf(name); err != nil || l.Held || l.Blind != "" {
		t.Errorf("free: %+v %v", l, err)
	}
	if l, err := tryLock(name); err != nil || l.Held {
		t.Errorf("tried while free: %+v %v", l, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if l, err := LockOf(name); err != nil || !l.Held && l.Blind == "" || l.Held && l.PID != os.Getpid() {
		t.Errorf("held: %+v %v", l, err)
	}
	if l, err := tryLock(name); err != nil || !l.Held {
		t.Errorf("tried while held: %+v %v", l, err)
	}
	if _, err := os.Stat(name + "x"); err == nil {
		t.Error("a file was made")
	}
}

// Where a process is not seen, its lock decides.
func TestLook_believes_a_lock_before_a_number(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	const gone = 1 << 30 // no kernel has so many
	here := reprise.Owner{Host: self.Host, BootID: self.BootID, PID: gone, StartTicks: 1, Lock: file}
	contained := here
	contained.Host = "3f9c0d1e"
	away := contained
	away.BootID = "of-another-machine"
	nameless := reprise.Owner{Lock: file}
	held, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	look := func(o reprise.Owner) reprise.Life { return Look(o, time.Now()).Life }
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]reprise.Owner{"here": here, "contained": contained, "away": away, "nameless": nameless} {
		if got := look(o); got != reprise.Alive {
			t.Errorf("%s, locked: %v", name, got)
		}
	}
	held.Close()
	for name, o := range map[string]reprise.Owner{"here": here, "contained": contained} {
		if got := look(o); got != reprise.Dead {
			t.Errorf("%s, free: %v", name, got)
		}
	}
	for name, o := range map[string]reprise.Owner{"away": away, "nameless": nameless} {
		if got := look(o); got != reprise.LifeUnknown {
			t.Errorf("%s, free: %v", name, got)
		}
	}
}

// Where there are many locks the kernel's list may lack one that is held.
func TestLockOf_tries_a_lock_that_a_long_list_lacks(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(
		os.MkdirAll(filepath.Join(root, "self", "ns"), 0o700),
		os.Symlink(initialNamespace, filepath.Join(root, "self", "ns", "pid")),
		os.WriteFile(filepath.Join(root, "lock"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(filepath.Join(root, "lock"))
	if err == nil {
		err = syscall.Flock(int(held.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for lines, want := range map[int]bool{1: false, os.Getpagesize() / 40: true} {
		list := strings.Repeat("1: FLOCK  ADVISORY  WRITE 9052 fe:00:1 0 EOF\n", lines)
		if err := os.WriteFile(filepath.Join(root, "locks"), []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := (table{root: root}).lockOf(filepath.Join(root, "lock")); got.Held != want || err != nil {
			t.Errorf("%d lines: %+v, %v", lines, got, err)
		}
	}
}
