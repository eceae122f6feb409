//go:build unix

package run_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise/core"
	"reprise/core/journal"
	"reprise/core/world"
)

func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv("REPRISE_BENCH") == "" {
		t.Skip("measures time: `make bench`")
	}
}

// longPlan is a plan of n steps that are done and recorded, and some more.
func longPlan(t *testing.T, n, more int) string {
	dir, _ := project(t, 1)
	var plan strings.Builder
	for i := 1; i <= n+more; i++ {
		mark := map[bool]string{true: "x", false: " "}[i <= n]
		fmt.Fprintf(&plan, "- [%s] s%05d: step %d\n", mark, i, i)
	}
	put(t, dir, "PLAN.md", plan.String())
	gitUntil(dir, "commit", "-q", "-am", "plan")
	recorded(t, dir, n)
	return dir
}

// TestBench_step: a step behind 10,000 others costs at most four times the CPU of one behind 100.
func TestBench_step(t *testing.T) {
	wanted(t)
	const more = 50
	cost := map[int]time.Duration{}
	for _, n := range []int{100, 10_000} {
		dir := longPlan(t, n, more)
		cpu, _ := process(t, dir, "echo x >>file; echo x >>other")
		cost[n] = cpu / more
	}
	ratio := float64(cost[10_000]) / float64(cost[100])
	t.Logf("figure: CPU of a step behind 10,000 others | %v | behind 100 %v | %.3g × | at most 4", cost[10_000], cost[100], ratio)
	if ratio > 4 {
		t.Errorf("%.1f times", ratio)
	}
}

// TestBench_restart: a run of 10,000 steps that was killed starts its next step within a second.
func TestBench_restart(t *testing.T) {
	wanted(t)
	dir := longPlan(t, 10_000, 50)
	put(t, dir, ".gitignore", "ready\n*.new\n")
	gitUntil(dir, "commit", "-q", "-am", "ignore")
	var ours, cats []time.Duration
	for range 4 { // a fifth cut would be asked about
		os.Remove(filepath.Join(dir, "ready"))
		began := time.Now()
		killed(t, dir, `echo half >>half; date +%s%N >ready; sleep 60`, "ready")
		at, err := strconv.ParseInt(strings.TrimSpace(read(t, dir, "ready")), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ours = append(ours, time.Unix(0, at).Sub(began))
		began = time.Now()
		for _, name := range []string{"PLAN.md", ".reprise/runs/run/journal"} {
			read(t, dir, name)
		}
		cats = append(cats, time.Since(began))
	}
	our, cat := slices.Min(ours[1:]), slices.Min(cats)
	t.Logf("figure: a killed run of 10,000 steps, to its next step | %v | reading its files %v | %.3g × | 1 s", our, cat, float64(our)/float64(cat))
	if our > time.Second {
		t.Errorf("%v", our)
	}
}

// TestBench_world: a world of 50,000 files takes at most twice as long as `git status`.
func TestBench_world(t *testing.T) {
	wanted(t)
	dir, _ := project(t, 1)
	for i := range 500 {
		folder := filepath.Join(dir, fmt.Sprintf("d%03d", i))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for k := range 100 {
			put(t, folder, fmt.Sprintf("f%d", k), fmt.Sprintln(i, k))
		}
	}
	gitUntil(dir, "add", ".")
	gitUntil(dir, "commit", "-q", "-m", "many")
	r, err := world.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var ours, theirs []time.Duration
	for i := range 9 {
		put(t, dir, "d000/f0", fmt.Sprintln("changed", i))
		put(t, dir, "d499/f0", fmt.Sprintln("changed", i))
		began := time.Now()
		if _, err := r.Take(context.Background()); err != nil {
			t.Fatal(err)
		}
		ours = append(ours, time.Since(began))
		began = time.Now()
		gitUntil(dir, "status")
		theirs = append(theirs, time.Since(began))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	our, their := ours[len(ours)/2], theirs[len(theirs)/2]
	t.Logf("figure: a world of 50,000 files | %v | `git status` %v | %.3g × | at most 2", our, their, float64(our)/float64(their))
	if our > 2*their {
		t.Errorf("%.1f times", float64(our)/float64(their))
	}
}

// recorded writes a journal of n steps that were done.
func recorded(t *testing.T, dir string, n int) {
	j, err := journal.Open(filepath.Join(dir, ".reprise/runs/run"))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	world := core.World(strings.TrimSpace(gitUntil(dir, "rev-parse", "HEAD^{tree}")))
	head := core.Head{Commit: strings.TrimSpace(gitUntil(dir, "rev-parse", "HEAD")), Branch: "refs/heads/main"}
	add := func(r core.Record) {
		if _, err := j.Note(r, time.Now()); err != nil { // without a sync for each
			t.Fatal(err)
		}
	}
	add(core.Record{Begin: &core.Begin{Run: "run", Plan: "PLAN.md"}})
	for i := 1; i <= n; i++ {
		step := fmt.Sprintf("s%05d", i)
		add(core.Record{Start: &core.Start{Step: step, Attempt: 1, Before: world, Head: head, Staged: world}})
		add(core.Record{End: &core.End{Step: step, Attempt: 1, Outcome: core.Done, Before: world, After: world, Why: "its agent ended well",
			Move: &core.Move{Base: world, From: world, To: world, Head: head, Message: step + ": step\n\nReprise-Step: run/" + step}}})
		add(core.Record{Made: &core.Made{Of: j.State.Due.Seq, Head: head}})
	}
	add(core.Record{Note: &core.Note{Text: "measured"}})
}

// process runs an engine in a process and gives what it and all below it cost.
func process(t *testing.T, dir, command string) (cpu, wall time.Duration) {
	cmd := exec.Command(self())
	cmd.Env = append(os.Environ(), "ORACLE=engine", "ORACLE_DIR="+dir, "ORACLE_COMMAND="+command)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(began)
}
