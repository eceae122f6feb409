package durable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise/internal/durable"
	"reprise/internal/sample"
)

// The test binary plays other processes when this variable says which part.
const partVar = "REPRISE_DURABLE_PART"

func TestMain(m *testing.M) {
	if part := os.Getenv(partVar); part != "" {
		os.Exit(play(part))
	}
	os.Exit(m.Run())
}

// play is another process: it takes the lease of the folder in its argument.
func play(part string) int {
	dir := os.Args[len(os.Args)-1]
	if special := parts()[part]; special != nil {
		return special(dir)
	}
	s, err := durable.Open(dir, durable.Options{Reserve: -1})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	rep, err := s.Take(context.Background())
	var held *durable.HeldError
	if errors.As(err, &held) {
		fmt.Println("held", held.Holder.PID)
		return 20
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	switch part {
	case "append":
		l, err := s.Log("run")
		if err == nil {
			_, err = l.Append("step", json.RawMessage(fmt.Sprintf(`{"pid":%d}`, os.Getpid())))
		}
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("taken", rep.Generation)
		_ = s.Release()
	case "hold":
		fmt.Println("taken", rep.Generation)
		io.Copy(io.Discard, os.Stdin)
	case "parent":
		// A child that knows nothing of us inherits the lock and outlives us.
		child := exec.Command("sleep", "60")
		child.ExtraFiles = []*os.File{s.LockFile()}
		if err := child.Start(); err != nil {
			fmt.Println("error", err)
			return 1
		}
		fmt.Println("taken", child.Process.Pid)
		io.Copy(io.Discard, os.Stdin)
	}
	return 0
}

// other starts a process and gives its first line.
func other(t testing.TB, part, dir string) (cmd *exec.Cmd, line string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), partVar+"="+part)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ = bufio.NewReader(out).ReadString('\n')
	return cmd, strings.TrimSpace(line)
}

// takeFreed takes a lease that no one is to hold any more. The kernel frees a lock when
// it comes to it; and a process that another test starts has all of our descriptors
// from its fork to its exec, that of a lock among them. What never comes is for the
// limit of all tests.
func takeFreed(ctx context.Context, s *durable.Store) (*durable.Report, error) {
	for {
		rep, err := s.Take(ctx)
		var held *durable.HeldError
		if !errors.As(err, &held) {
			return rep, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func takers() (processes, rounds int) {
	if sample.All() {
		return 16, 50
	}
	return 16, 4
}

func TestProcesses_one_goes_on_the_others_name_it(t *testing.T) {
	t.Parallel()
	processes, rounds := takers()
	dir := tempDir(t)
	taken, locked := 0, 0
	for range rounds {
		lines := make([]string, processes)
		codes := make([]int, processes)
		var wg sync.WaitGroup
		for i := range processes {
			wg.Go(func() {
				cmd := exec.Command(os.Args[0], dir)
				cmd.Env = append(os.Environ(), partVar+"=append")
				out, _ := cmd.Output()
				lines[i], codes[i] = strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
			})
		}
		wg.Wait()
		for i, line := range lines {
			switch {
			case codes[i] == 0 && strings.HasPrefix(line, "taken "):
				taken++
			case codes[i] == 20 && strings.HasPrefix(line, "held "):
				locked++
			default:
				t.Fatalf("a taker ended with %d and said %q", codes[i], line)
			}
		}
	}
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	records := 0
	var last uint64
	info, err := s.ReadLog("run", func(r durable.Record) error {
		if r.Gen <= last {
			t.Errorf("generation %d after %d", r.Gen, last)
		}
		last = r.Gen
		records++
		return nil
	})
	if err != nil || records != taken || len(info.Stale) > 0 {
		t.Fatalf("%d takings and %d records, %+v, %v", taken, records, info, err)
	}
	t.Logf("%d takers in %d rounds: %d went on, %d were locked out, none doubled", processes, rounds, taken, locked)
}

func TestProcesses_dead_parent_with_a_living_child_still_holds(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	cmd, line := other(t, "parent", dir)
	child, err := strconv.Atoi(strings.TrimPrefix(line, "taken "))
	if err != nil {
		t.Fatal(line)
	}
	sleeper, err := os.FindProcess(child)
	if err != nil {
		t.Fatal(err)
	}
	defer sleeper.Kill()
	holder := cmd.Process.Pid
	cmd.Process.Kill()
	cmd.Wait()
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	before := picture(t, filepath.Join(dir, ".reprise"))
	var held *durable.HeldError
	if _, err := s.Take(t.Context()); !errors.As(err, &held) || held.Holder.PID != holder {
		t.Fatalf("a lease whose holder's child lives: %v", err)
	}
	if after := picture(t, filepath.Join(dir, ".reprise")); after != before {
		t.Errorf("being refused changed something\n%s\n%s", before, after)
	}
	sleeper.Kill()
	if _, err := takeFreed(t.Context(), s); err != nil {
		t.Error(err)
	}
}

func TestCopied_project_is_noticed(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Release()
	second := filepath.Join(tempDir(t), "copy")
	if out, err := exec.Command("cp", "-a", dir, second).CombinedOutput(); err != nil {
		t.Skipf("cp: %s", out)
	}
	before := picture(t, filepath.Join(second, ".reprise"))
	c, err := durable.Open(second, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	var copied *durable.CopiedError
	if _, err := c.Take(t.Context()); !errors.As(err, &copied) || copied.From != dir {
		t.Fatalf("a copy is taken: %v", err)
	}
	if after := picture(t, filepath.Join(second, ".reprise")); after != before {
		t.Error("the copy was changed")
	}
	adopted, err := durable.Open(second, durable.Options{Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	defer adopted.Release()
	if _, err := adopted.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(filepath.Dir(dir), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	m, err := durable.Open(moved, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	rep, err := takeFreed(t.Context(), m)
	if err != nil || len(rep.Notes) == 0 {
		t.Errorf("a moved project: %+v %v", rep, err)
	}
}

// A released lease can be taken again at once, however many children other
// goroutines are starting meanwhile.
func TestProcesses_a_release_does_not_wait_for_children_being_started(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	var starters sync.WaitGroup
	for range 4 {
		starters.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_ = exec.Command("true").Run()
				}
			}
		})
	}
	defer starters.Wait()
	defer close(done)
	dir := tempDir(t)
	for i := range 60 {
		s, err := durable.Open(dir, durable.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Take(t.Context()); err != nil {
			t.Fatalf("taking %d: %v", i, err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
