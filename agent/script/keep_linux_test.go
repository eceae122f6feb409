package script_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"reprise/agent"
	"reprise/agent/script"
	"reprise/internal/durable"
	"reprise/internal/proc"
)

func parts() map[string]func(args []string) int {
	return map[string]func([]string) int{"fork-away": forkAway, "engine": engine, "relay": relay}
}

// forkAway starts `sleep` in a session of its own, twice removed, with an empty
// environment and no file of ours; then it ends or, with "stay", hangs. The
// process in the middle ends at once.
func forkAway(args []string) int {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	if args[0] == "middle" {
		for fd := 3; fd < 64; fd++ {
			syscall.CloseOnExec(fd)
		}
		sleep, err := exec.LookPath("sleep")
		if err != nil {
			return 1
		}
		_, err = os.StartProcess(sleep, []string{"sleep", args[1]}, &os.ProcAttr{
			Env: []string{}, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			return 1
		}
		return 0
	}
	cmd := exec.Command(os.Args[0], "middle", args[1])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		return 1
	}
	fmt.Println("forked")
	if args[0] == "stay" {
		time.Sleep(time.Hour)
	}
	return 0
}

// relay is a process that cannot be caught: it starts itself again and ends.
func relay(args []string) int {
	cmd := exec.Command(os.Args[0], args...)
	if len(args) > 1 { // the first one
		cmd = exec.Command(os.Args[0], args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	cmd.Env = []string{partVar + "=relay"}
	if err := cmd.Start(); err != nil {
		return 1
	}
	return 0
}

// engine takes the lease of a project, starts agents and says so.
func engine(args []string) int {
	store, err := durable.Open(args[0], durable.Options{Reserve: -1})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	if _, err := store.Take(context.Background()); err != nil {
		fmt.Println("error", err)
		return 1
	}
	j := agent.Job{
		Token: args[1], Dir: args[0], Inherit: []*os.File{store.LockFile()},
		Env:     append([]string{"PATH=" + os.Getenv("PATH"), partVar + "=fork-away"}, raceEnv...),
		Command: []string{os.Args[0], "stay", args[2]},
	}
	if len(args) > 3 {
		j.Command = args[3:]
	}
	ready := make(chan string, 8)
	j.Line = func(text string) { ready <- text }
	s, err := script.New(script.Options{}).Start(context.Background(), j)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(<-ready, s.PID())
	s.Wait()
	return 0
}

var counter atomic.Int64

// unique is an argument for sleep that no other process has.
func unique() string { return fmt.Sprintf("97.%d%06d", os.Getpid(), counter.Add(1)) }

// with lists the live processes that have this argument.
func with(t testing.TB, arg string) (out []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(b), "sleep\x00") || !strings.Contains(string(b), "\x00"+arg+"\x00") {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pid)
	}
	return out
}

// eventually waits for something that must come, however busy the machine is.
func eventually(t testing.TB, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("still not: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(began)
}

// Requirement O4.
func TestForked_away_descendants_are_named_and_ended(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"end", "stay"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			arg := unique()
			j, _ := job(t, "true")
			j = part(j, "fork-away", how, arg)
			forked := make(chan string, 8)
			j.Line = func(text string) { forked <- text }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := script.New(script.Options{Grace: time.Second}).Start(ctx, j)
			if err != nil {
				t.Fatal(err)
			}
			<-forked
			want := agent.Done
			if how == "stay" {
				if len(with(t, arg)) != 1 {
					t.Error("nothing was forked away")
				}
				cancel()
				want = agent.Stopped
			}
			r := s.Wait()
			if left := with(t, arg); len(left) > 0 {
				t.Errorf("%v live on", left)
			}
			if r.Outcome != want || len(r.LeftOver) != 1 || !strings.Contains(r.LeftOver[0], "sleep "+arg) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Requirement O4.
func TestBackground_children_that_end_by_themselves_are_not_left_over(t *testing.T) {
	t.Parallel()
	var r agent.Result
	for range 50 { // a busy machine may need more than the time they have
		j, _ := job(t, `(sleep 0.01) & exit 0`)
		if r = start(t, j, script.Options{}).Wait(); r.Outcome == agent.Done && len(r.LeftOver) == 0 {
			return
		}
	}
	t.Errorf("%+v", r)
}

// Requirement O4.
func TestDescendants_that_ignore_the_request_are_killed(t *testing.T) {
	t.Parallel()
	arg := unique()
	j, _ := job(t, `(trap '' TERM; touch a; sleep `+arg+`) & (trap '' TERM; touch b; sleep `+arg+`) & until [ -e a ] && [ -e b ]; do sleep 0.01; done; exit 5`)
	began := time.Now()
	r := start(t, j, script.Options{Grace: 200 * time.Millisecond}).Wait()
	if r.Exit != 5 || len(r.LeftOver) < 2 || len(with(t, arg)) != 0 || time.Since(began) < 200*time.Millisecond {
		t.Errorf("%+v after %s", r, time.Since(began))
	}
}

// Requirement O4.
func TestProcess_that_starts_itself_again_forever_is_ended(t *testing.T) {
	t.Parallel()
	j, _ := job(t, "true")
	mark := "relay-" + unique()
	j = part(j, "relay", mark, "first")
	r := start(t, j, script.Options{Grace: 100 * time.Millisecond}).Wait()
	if r.Outcome != agent.Done || len(r.LeftOver) == 0 {
		t.Errorf("%+v", r)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), mark) {
			t.Errorf("%s lives on", file)
		}
	}
}

// Requirement O4.
func TestAttempts_at_the_same_time_leave_each_other_alone(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			arg := unique()
			// Half of them end early and are swept while the others work.
			command := `setsid sleep ` + arg + ` & exit 0`
			if i%2 == 0 {
				command = `sleep ` + arg + ` & child=$!; sleep 1; kill -0 $child && kill $child && echo alive`
			}
			j, out := job(t, command)
			r := start(t, j, script.Options{Grace: time.Second}).Wait()
			if r.Outcome != agent.Done || (i%2 == 0) != (out.String() == "alive\n") || len(r.LeftOver) != i%2 {
				t.Errorf("attempt %d: %+v, %s", i, r, out)
			}
		})
	}
	wg.Wait()
}

func free(dir string) bool {
	s, err := durable.Open(dir, durable.Options{Reserve: -1})
	if err != nil {
		return false
	}
	defer s.Release()
	_, err = s.Take(context.Background())
	return err == nil
}

// startEngine starts an engine with an attempt; it gives the agent's pid.
func startEngine(t *testing.T, args ...string) (cmd *exec.Cmd, pid int) {
	t.Helper()
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), partVar+"=engine")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscanf(line, "forked %d", &pid); err != nil {
		t.Fatal(line, err)
	}
	return cmd, pid
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	parent, err := strconv.Atoi(strings.Fields(string(b[strings.LastIndexByte(string(b), ')'):]))[2])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

// ended reports whether a process is gone, or only waits to be collected.
func ended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// Requirement O4.
func TestEngine_and_shim_killed_together_leave_what_can_be_found(t *testing.T) {
	t.Parallel()
	dir, arg, tok := t.TempDir(), unique(), token(t)
	// One tool keeps the token, one only the lease.
	cmd, pid := startEngine(t, dir, tok, arg, "sh", "-c", "setsid sleep "+arg+" & env -i setsid sleep "+arg+" & sleep 0.1; echo forked; wait")
	shim := parentOf(t, pid)
	for _, stop := range []int{shim, cmd.Process.Pid} {
		if err := syscall.Kill(stop, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	for _, kill := range []int{cmd.Process.Pid, shim} {
		if err := syscall.Kill(kill, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	eventually(t, "the agent died with its shim", func() bool { return ended(pid) && ended(shim) })
	holders := proc.Holders(filepath.Join(dir, ".reprise", "lock"), dir)
	if len(holders) != 2 || len(proc.Orphans(tok)) != 1 || free(dir) {
		t.Errorf("%v hold the lease, %v have the token", holders, proc.Orphans(tok))
	}
	if left := proc.Stop(time.Second, holders...); len(left) > 0 || len(with(t, arg)) > 0 {
		t.Errorf("%v do not end", left)
	}
	eventually(t, "the lease is free", func() bool { return free(dir) })
}

// Requirement O4.
func TestKilled_engine_leaves_no_process_and_a_free_lease(t *testing.T) {
	t.Parallel()
	for round := range 5 {
		dir, arg, tok := t.TempDir(), unique(), token(t)
		cmd, _ := startEngine(t, dir, tok, arg)
		if len(with(t, arg)) != 1 || len(proc.Orphans(tok)) < 2 || free(dir) {
			t.Fatal("the attempt does not run as it should")
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		took := eventually(t, "the lease is free", func() bool { return free(dir) })
		if left := with(t, arg); len(left) > 0 {
			t.Errorf("%v live on with the lease free", left)
		}
		eventually(t, "nothing of the attempt is left", func() bool { return len(proc.Orphans(tok)) == 0 })
		_ = cmd.Wait()
		t.Logf("round %d: %s", round, took)
	}
}

// Requirement O4.
func TestKilled_shim_leaves_no_process(t *testing.T) {
	// Not in parallel: what is swept is all that this process inherits.
	arg := unique()
	j, _ := job(t, "true")
	j = part(j, "fork-away", "stay", arg)
	forked := make(chan string, 8)
	j.Line = func(text string) { forked <- text }
	s := start(t, j, script.Options{})
	<-forked
	if err := syscall.Kill(parentOf(t, s.PID()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r := s.Wait()
	if left := append(with(t, arg), pids(proc.Orphans(j.Token))...); len(left) > 0 {
		t.Errorf("%v live on", left)
	}
	if r.Outcome != agent.Lost || !strings.Contains(strings.Join(r.LeftOver, "\n"), "sleep "+arg) {
		t.Errorf("%+v", r)
	}
}

// Requirement O4.
func TestShim_killed_at_any_moment(t *testing.T) {
	// Not in parallel, for the same reason.
	for round := range 12 {
		arg := unique()
		j, _ := job(t, "true")
		j = part(j, "fork-away", "stay", arg)
		s := start(t, j, script.Options{})
		shim := parentOf(t, s.PID())
		time.Sleep(time.Duration(round) * 2 * time.Millisecond)
		if err := syscall.Kill(shim, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r := s.Wait()
		if left := append(with(t, arg), pids(proc.Orphans(j.Token))...); len(left) > 0 || r.Outcome != agent.Lost {
			t.Errorf("round %d: %v live on, %+v", round, left, r)
		}
	}
}

func TestStop_signal_to_the_shim_is_a_request(t *testing.T) {
	t.Parallel()
	j, _ := job(t, "sleep 60")
	s := start(t, j, script.Options{})
	if err := syscall.Kill(parentOf(t, s.PID()), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := s.Wait(); r.Outcome != agent.Stopped {
		t.Errorf("%+v", r)
	}
}

func pids(ps []proc.Process) (out []int) {
	for _, p := range ps {
		out = append(out, p.PID)
	}
	return out
}

// Requirement O4.
func TestLease_is_held_as_long_as_anything_lives(t *testing.T) {
	t.Parallel()
	j, _ := job(t, `(trap '' TERM; touch deaf; sleep 60) & until [ -e deaf ]; do sleep 0.01; done; exit 0`)
	store, err := durable.Open(j.Dir, durable.Options{Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.Inherit = []*os.File{store.LockFile()}
	s := start(t, j, script.Options{Grace: 3 * time.Second})
	if err := store.Release(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the agent has ended", func() bool { return ended(s.PID()) })
	if free(j.Dir) {
		t.Error("the lease is free while a descendant lives")
	}
	s.Wait()
	if !free(j.Dir) {
		t.Error("the lease is not free when all is gone")
	}
}

// Requirement O4.
func TestEngine_killed_at_any_moment(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		dir, arg, tok := t.TempDir(), unique(), token(t)
		cmd := exec.Command(os.Args[0], dir, tok, arg)
		cmd.Env = append(os.Environ(), partVar+"=engine")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(round) * 4 * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		eventually(t, "the lease is free", func() bool { return free(dir) })
		// A process gives its files back a moment before it is gone.
		eventually(t, fmt.Sprintf("nothing lives on in round %d", round), func() bool {
			return len(with(t, arg)) == 0 && len(proc.Orphans(tok)) == 0
		})
	}
}
