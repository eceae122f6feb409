//go:build unix

package run_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise/core"
	"reprise/core/journal"
)

// TestMeasure gives the cost of a step after n recorded ones, and of a restart.
//
//	MEASURE=100,10000 go test ./core/run -run Measure -v
func TestMeasure(t *testing.T) {
	if os.Getenv("MEASURE") == "" {
		t.Skip("measures time: set MEASURE=100,10000")
	}
	for text := range strings.SplitSeq(os.Getenv("MEASURE"), ",") {
		var n int
		fmt.Sscan(text, &n)
		t.Run(text, func(t *testing.T) {
			const more = 50
			dir, _ := project(t, 1)
			var plan strings.Builder
			for i := 1; i <= n+more; i++ {
				mark := map[bool]string{true: "x", false: " "}[i <= n]
				fmt.Fprintf(&plan, "- [%s] s%05d: step %d\n", mark, i, i)
			}
			put(t, dir, "PLAN.md", plan.String())
			gitUntil(dir, "commit", "-q", "-am", "plan")
			recorded(t, dir, n)
			put(t, dir, ".git/MERGE_HEAD", "") // it opens, looks, decides, and rests
			for range 3 {
				cpu, wall := process(t, dir, ":")
				t.Logf("%d steps recorded: restart: CPU %v, wall %v", n, cpu, wall)
			}
			os.Remove(filepath.Join(dir, ".git/MERGE_HEAD"))
			cpu, wall := process(t, dir, "echo x >>file")
			t.Logf("%d steps recorded: %d more: CPU %v a step, wall %v a step", n, more, cpu/more, wall/more)
		})
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
		if _, err := j.Append(r, time.Now()); err != nil {
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
