package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
)

// fakeTable is a process table made of files.
type fakeTable struct {
	t   *testing.T
	dir string
	now time.Time
}

const bootTime = 1_700_000_000

func newTable(t *testing.T, namespace string) fakeTable {
	f := fakeTable{t: t, dir: t.TempDir(), now: time.Unix(bootTime+1_000_000, 0)}
	f.write("stat", fmt.Sprintf("cpu 1\nbtime %d\n", bootTime))
	f.write("sys/kernel/random/boot_id", "this-boot\n")
	f.write("self/ns/.keep", "")
	if err := os.Symlink(namespace, filepath.Join(f.dir, "self/ns/pid")); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f fakeTable) write(name, text string) {
	f.t.Helper()
	file := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f fakeTable) process(pid int, state string, threads int, seconds uint64, nspid string) {
	f.write(fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (a) b) %s 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 %d 1 1\n", pid, state, threads, seconds*ticksPerSecond))
	f.write(fmt.Sprintf("%d/status", pid), "Name:\ta\nNSpid:\t"+nspid+"\n")
}

func (f fakeTable) table() table {
	return table{root: f.dir, host: "here", exists: func(pid int) error {
		if pid == 77 {
			return syscall.EPERM
		}
		return syscall.ESRCH
	}}
}

func TestLook(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(bootTime+seconds, 0) }
	const day = 24 * 60 * 60
	for _, c := range []struct {
		name      string
		owner     reprise.Owner
		namespace string
		want      reprise.Life
		reason    string
	}{
		{"another host", reprise.Owner{Host: "there", PID: 10}, "", reprise.LifeUnknown, "another host"},
		{"another host whose boot is also another", reprise.Owner{Host: "there", BootID: "old", PID: 10}, "", reprise.LifeUnknown, "another host"},
		{"another host name on this boot", reprise.Owner{Host: "box", BootID: "this-boot", PID: 99}, "", reprise.LifeUnknown, "container"},
		{"this host, another boot", reprise.Owner{Host: "HERE.local", BootID: "old", PID: 10}, "", reprise.Dead, "restarted"},
		{"no host, another boot", reprise.Owner{BootID: "old", PID: 10}, "", reprise.LifeUnknown, "another boot"},
		{"a host name that names none", reprise.Owner{Host: "localhost", PID: 99}, "", reprise.LifeUnknown, "names no host"},
		{"no such process here", reprise.Owner{Host: "here", PID: 99}, "", reprise.Dead, "no process 99"},
		{"no such process on this boot", reprise.Owner{BootID: "this-boot", PID: 99}, "", reprise.Dead, "no process 99"},
		{"no such process, no host", reprise.Owner{PID: 99, StartedAt: at(5 * day)}, "", reprise.LifeUnknown, "names no host"},
		{"no such process, no host, run out", reprise.Owner{PID: 99, Expires: at(10)}, "", reprise.Dead, "run out"},
		{"no such process, no host, not run out", reprise.Owner{PID: 99, Expires: at(100 * day)}, "", reprise.LifeUnknown, "names no host"},
		{"no such process, no host, before this boot", reprise.Owner{PID: 99, StartedAt: at(-3 * day)}, "", reprise.Dead, "older"},
		{"no such process, no host, perhaps before this boot", reprise.Owner{PID: 99, StartedAt: at(-3600)}, "", reprise.LifeUnknown, "names no host"},
		{"no process on record", reprise.Owner{Agent: "x", StartedAt: at(-3 * day)}, "", reprise.LifeUnknown, "names no process"},
		{"no process on record, two signs", reprise.Owner{Agent: "x", StartedAt: at(-3 * day), Expires: at(0)}, "", reprise.Dead, "names no process"},
		{"the very process", reprise.Owner{Host: "here", PID: 10, StartTicks: 10_000}, "", reprise.Alive, "recorded start time"},
		{"the very process, no host", reprise.Owner{PID: 10, StartTicks: 10_000}, "", reprise.Alive, "recorded start time"},
		{"number used again", reprise.Owner{Host: "here", PID: 10, StartTicks: 9_999}, "", reprise.Dead, "used again"},
		{"number used again, no host", reprise.Owner{PID: 10, StartTicks: 9_999}, "", reprise.LifeUnknown, "names no host"},
		{"was there when the record was made", reprise.Owner{Host: "here", PID: 10, StartedAt: at(500)}, "", reprise.Alive, "was there"},
		{"started long after the record", reprise.Owner{Host: "here", PID: 11, StartedAt: at(500)}, "", reprise.Dead, "used again"},
		{"started soon after the record", reprise.Owner{Host: "here", PID: 11, StartedAt: at(4 * day)}, "", reprise.LifeUnknown, "time zones"},
		{"a pid alone", reprise.Owner{Host: "here", PID: 10}, "", reprise.LifeUnknown, "nothing tells"},
		{"zombie", reprise.Owner{Host: "here", PID: 12, StartTicks: 10_000}, "", reprise.Dead, "ended"},
		{"zombie, no host", reprise.Owner{PID: 12, StartTicks: 10_000}, "", reprise.Dead, "ended"},
		{"zombie by a pid alone, no host", reprise.Owner{PID: 12}, "", reprise.LifeUnknown, "ended"},
		{"leader ended, threads go on", reprise.Owner{Host: "here", PID: 13, StartTicks: 10_000}, "", reprise.Alive, "recorded start time"},
		{"stopped", reprise.Owner{Host: "here", PID: 14, StartTicks: 10_000}, "", reprise.Alive, "stopped"},
		{"another user's and hidden", reprise.Owner{Host: "here", PID: 77}, "", reprise.Alive, "another user"},
		{"inside a container of this machine", reprise.Owner{Host: "here", PID: 7, StartTicks: 20_000}, "", reprise.Alive, "namespace"},
		{"perhaps inside a container", reprise.Owner{Host: "here", PID: 7}, "", reprise.LifeUnknown, "namespace"},
		{"not seen from inside a namespace", reprise.Owner{Host: "here", PID: 99, BootID: "this-boot"}, "pid:[1]", reprise.LifeUnknown, "namespace"},
		{"another number seen from inside", reprise.Owner{Host: "here", PID: 10, StartTicks: 9_999}, "pid:[1]", reprise.LifeUnknown, "namespace"},
		{"seen from inside a namespace", reprise.Owner{Host: "here", PID: 10, StartTicks: 10_000}, "pid:[1]", reprise.Alive, "start time"},
		{"a record from the future proves nothing", reprise.Owner{PID: 99, StartedAt: at(1000 * day)}, "", reprise.LifeUnknown, "names no host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.namespace == "" {
				c.namespace = initialNamespace
			}
			f := newTable(t, c.namespace)
			f.process(10, "S", 1, 100, "10")
			f.process(11, "S", 1, 4*day+7200, "11")
			f.process(12, "Z", 1, 100, "12")
			f.process(13, "Z", 3, 100, "13")
			f.process(14, "T", 1, 100, "14")
			f.process(500, "S", 1, 200, "500\t7")
			got := f.table().look(c.owner, f.now)
			if got.Life != c.want || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("%v: %s", got.Life, got.Reason)
			}
		})
	}
}

// dead is what can be said of a process that is gone: less in a container.
func deadHere() reprise.Life {
	if system().seesAll() {
		return reprise.Dead
	}
	return reprise.LifeUnknown
}

func owner(t *testing.T, pid int) reprise.Owner {
	t.Helper()
	id, err := Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return reprise.Owner{Host: id.Host, BootID: id.BootID, PID: id.PID, StartTicks: id.StartTicks}
}

func TestLook_at_real_processes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	if !namesHost(system().host) {
		t.Skip("this machine has no name")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := owner(t, cmd.Process.Pid)
	clock := reprise.Owner{Host: o.Host, PID: o.PID, StartedAt: now.Add(time.Second)}
	for _, o := range []reprise.Owner{o, clock} {
		if got := Look(o, now); got.Life != reprise.Alive {
			t.Errorf("living: %+v", got)
		}
	}
	reused := o
	reused.StartTicks--
	if got := Look(reused, now); got.Life != deadHere() || !strings.Contains(got.Reason, "used again") {
		t.Errorf("number used again: %+v", got)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Killed and not waited for: a zombie.
	deadline := time.Now().Add(5 * time.Second)
	for {
		if s, err := system().read(o.PID); err == nil && s.state == 'Z' {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no zombie")
		}
		time.Sleep(time.Millisecond)
	}
	if err := syscall.Kill(o.PID, 0); err != nil {
		t.Errorf("a zombie still answers to its pid: %v", err)
	}
	if got := Look(o, now); got.Life != reprise.Dead || !strings.Contains(got.Reason, "ended") {
		t.Errorf("zombie: %+v", got)
	}
	_ = cmd.Wait()
	if got := Look(o, now); got.Life != deadHere() {
		t.Errorf("gone: %+v", got)
	}
}

func TestLook_from_inside_a_pid_namespace(t *testing.T) {
	if pid := os.Getenv("PROC_LOOK_AT"); pid != "" {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		host, _ := os.Hostname()
		got := Look(reprise.Owner{Host: host, BootID: system().bootID(), PID: n, StartTicks: 1}, time.Now())
		fmt.Printf("LOOK %v: %s\n", got.Life, got.Reason)
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("pid namespaces cannot be made here: %v %s", err, out)
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", self, "-test.run", "^TestLook_from_inside_a_pid_namespace$")
	// This process is alive and cannot be seen from in there.
	cmd.Env = append(os.Environ(), "PROC_LOOK_AT="+strconv.Itoa(os.Getpid()))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "LOOK unknown") {
		t.Errorf("%v\n%s", err, out)
	}
	// And the other way round: a process in there, seen from here.
	if !system().seesAll() {
		return
	}
	inner := exec.Command("unshare", "--pid", "--fork", "--kill-child", "sleep", "60")
	if err := inner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inner.Process.Kill(); _ = inner.Wait() }()
	for range 500 {
		kids, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", inner.Process.Pid, inner.Process.Pid))
		if kid, err := strconv.Atoi(strings.TrimSpace(string(kids))); err == nil {
			s, err := system().read(kid)
			in, nested := system().innerPID(kid)
			if err == nil && nested && s.name == "sleep" {
				host, _ := os.Hostname()
				got := Look(reprise.Owner{Host: host, BootID: system().bootID(), PID: in, StartTicks: s.ticks}, time.Now())
				if got.Life != reprise.Alive || !strings.Contains(got.Reason, "namespace") {
					t.Errorf("%+v", got)
				}
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Skip("the inner process was not found")
}

func TestWhoUses(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "index.lock")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if u := WhoUses(file, "no-such-program", dir); len(u.Open) > 0 || len(u.Near) > 0 {
		t.Errorf("nobody: %+v", u)
	}
	near := exec.Command("sleep", "60")
	near.Dir = dir
	held := exec.Command("sh", "-c", "exec sleep 60 3>>index.lock")
	held.Dir = dir
	for _, cmd := range []*exec.Cmd{near, held} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	}
	var u Users
	for range 500 {
		if u = WhoUses(file, "sleep", dir); len(u.Open) == 1 && len(u.Near) == 1 && u.Open[0].Name == "sleep" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(u.Open) != 1 || u.Open[0].PID != held.Process.Pid || len(u.Near) != 1 || u.Near[0].PID != near.Process.Pid {
		t.Errorf("%+v, want %d open and %d near", u, held.Process.Pid, near.Process.Pid)
	}
}

// A process that cannot be examined is no unknown owner of a file that it cannot have made:
// on a busy machine other users' processes come and go.
//
// Issue 41, item 11.
func TestWho_cannot_have_made_a_file_does_not_hold_it(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "index.lock")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		uid, state string
		blind      bool
	}{
		"the owner's":                   {fmt.Sprint(os.Getuid()), "S", true},
		"another's":                     {fmt.Sprint(os.Getuid() + 1), "S", false},
		"nobody knows whose":            {"", "S", true},
		"the owner's, and it has ended": {fmt.Sprint(os.Getuid()), "Z", false},
	} {
		f := newTable(t, initialNamespace)
		f.process(20, tc.state, 1, 100, "20")
		if tc.uid != "" {
			f.write("20/status", "Name:\tgit\nUid:"+strings.Repeat("\t"+tc.uid, 4)+"\nGid:\t0\t0\t0\t0\n")
		}
		if u := f.table().whoUses(file, "a) b", nil); (u.Blind != "") != tc.blind {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestSelf(t *testing.T) {
	t.Parallel()
	a, err := Self()
	if err != nil || a.PID != os.Getpid() || a.BootID == "" || a.StartTicks == 0 || a.Namespace == "" {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := Of(1 << 30); err == nil {
		t.Error("a process that cannot be")
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 1 1\n"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseStat(b) })
}
