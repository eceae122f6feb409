package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

// Crash point: engine and keeper are killed together (SIGKILL) while something that the
// agent started works on with its files closed. It holds no lease, and its result is
// proof. Requirement O4.
func TestWhat_outlives_engine_and_keeper_is_waited_for_and_its_step_not_started_again(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc to find what is left")
	}
	dir := repository(t)
	put(t, dir, "flow.yaml", "name: left\nsteps:\n  - {id: a, command: [sh, agent.sh], outputs: [a.txt]}\n")
	put(t, dir, "agent.sh", `engine=$(sed 's/.*) . //' /proc/$PPID/stat | cut -d' ' -f1)
setsid sh works-on.sh $PPID $engine 3>&- 4>&- >/dev/null 2>&1 &
wait
`)
	put(t, dir, "works-on.sh", `echo "started $REPRISE_ATTEMPT" >> ledger
# Stopped first, neither sees the other die and ends what is left.
[ "$REPRISE_ATTEMPT" != 1 ] || { kill -STOP $1 $2; kill -9 $1 $2; }
while [ ! -e go ]; do sleep 0.01; done
echo whole > a.txt
echo '{"outcome": "done"}' > "$REPRISE_RESULT"
echo "finished $REPRISE_ATTEMPT" >> ledger
`)
	v := &victim{t: t, dir: dir, run: "left-" + filepath.Base(filepath.Dir(dir))}
	if out, code := v.engine().end(); code != -1 {
		t.Fatalf("the engine was not killed: %d %s", code, out)
	}
	e := newEngine(dir)
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Noticed && strings.Contains(p.Text, "left running") {
			put(t, dir, "go", "")
		}
	}
	if r, _ := judgedRun(t, e, refOf(v.run), true); r.Owner == nil || !r.Owner.Orphan {
		t.Errorf("it is not called running: %+v", r.Owner)
	}
	sum, err := e.Resume(t.Context(), refOf(v.run), engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	if got := get(t, dir, "ledger"); got != "started 1\nfinished 1\n" {
		t.Errorf("the ledger of the agents:\n%s", got)
	}
}

// TestX10_an_agent_that_kills_the_engine kills the whole process group of the
// engine, once; the next engine settles what it left.
func TestX10_an_agent_that_kills_the_engine(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc to find the engine")
	}
	dir := repository(t)
	put(t, dir, "flow.yaml", `name: group
steps:
  - {id: a, command: [sh, kill.sh], outputs: [a.txt], on_crash: verify}
  - {id: b, needs: [a], command: [sh, -c, 'echo b > b.txt'], outputs: [b.txt]}
`)
	// The parent of an agent is its keeper, whose parent is the engine.
	put(t, dir, "kill.sh", `echo launched >> launched
if [ ! -e once ]; then
	: > once
	engine=$(sed 's/.*) . //' /proc/$PPID/stat | cut -d' ' -f1)
	kill -9 "-$engine"
	sleep 100
fi
echo a > a.txt
`)
	start := func() (string, int) {
		v := &victim{t: t, dir: dir, run: "group-" + filepath.Base(filepath.Dir(dir))}
		p := &process{cmd: exec.Command(os.Args[0], "work-on", v.dir, v.run, "flow.yaml")}
		p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.out, &p.out, 3*time.Second
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return p.end()
	}
	began := time.Now()
	if out, code := start(); code != -1 || time.Since(began) > 30*time.Second {
		t.Fatalf("the engine was not killed: %d %s", code, out)
	}
	if out, code := start(); code != exitDone {
		t.Fatalf("%d %s", code, out)
	}
	if n := len(strings.Fields(get(t, dir, "launched"))); n != 2 {
		t.Errorf("launched %d times", n)
	}
	if left := marked("group-" + filepath.Base(filepath.Dir(dir))); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestX10_a_full_disk lets an agent fill the disk of the project.
func TestX10_a_full_disk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	put(t, dir, "flow.yaml", `name: full
steps:
  - {id: a, command: [sh, -c, 'echo a > a.txt'], outputs: [a.txt]}
  - {id: b, needs: [a], command: [sh, -c, 'echo >> launched; if [ ! -e room ]; then cat /dev/zero > big; exit 1; fi; echo b > b.txt'], outputs: [b.txt], attempts: 2}
`)
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(dir)
	ref, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "full"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	t.Logf("full: %v %+v", err, sum)
	told := fmt.Sprint(err)
	if sum != nil {
		told += fmt.Sprint(sum.Reasons, sum.Failed)
	}
	if !strings.Contains(told, "space") && !strings.Contains(told, "exit code 1") {
		t.Errorf("nobody says that the disk is full: %s", told)
	}
	if n := len(strings.Split(get(t, dir, "launched"), "\n")) - 1; n > 2 {
		t.Errorf("launched %d times", n)
	}
	// A person makes room.
	if err := os.Remove(filepath.Join(dir, "big")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "room", "")
	e.Ask = answering
	if sum, err = e.Resume(t.Context(), ref, engine.Choice{From: "b"}); err != nil || sum.State != reprise.Complete {
		t.Errorf("%v %+v", err, sum)
	}
}

// TestX10_OR11_retries_are_counted_across_restarts runs one attempt in each
// process and looks at when and how often there is another.
func TestX10_OR11_retries_are_counted_across_restarts(t *testing.T) {
	t.Parallel()
	dir, out := repository(t), t.TempDir()
	put(t, dir, "flow.yaml", fmt.Sprintf(`name: retries
steps:
  - {id: a, command: [sh, -c, 'echo "$REPRISE_ATTEMPT" >> %[1]s/launches; date +%%s%%N > noise; [ -e %[1]s/good ] && echo a > a.txt'], outputs: [a.txt], attempts: 3, backoff: 1h}
`, out))
	var ahead atomic.Int64 // of the real clock
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	resume := func(c engine.Choice) *engine.Summary {
		t.Helper()
		sum, err := newEngineAt(dir, clock).Resume(t.Context(), refOf("retries"), c)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	launches := func() int {
		data, _ := os.ReadFile(filepath.Join(out, "launches"))
		return strings.Count(string(data), "\n")
	}
	e := newEngineAt(dir, clock)
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "retries"}, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	// The pause is the longest there is, five minutes: too long to sit out in
	// a test, and on record for the next process.
	for attempt := 1; attempt <= 3; attempt++ {
		sum, err := resumeUntilItWaits(t, newEngineAt(dir, clock), refOf("retries"))
		if err != nil {
			t.Fatal(err)
		}
		if launches() != attempt {
			t.Fatalf("%d launches after %d rounds: %+v", launches(), attempt, sum)
		}
		// Too early: the back-off is on record.
		ahead.Add(int64(time.Minute))
		if attempt < 3 {
			if _, err := resumeUntilItWaits(t, newEngineAt(dir, clock), refOf("retries")); err != nil {
				t.Fatal(err)
			}
			if launches() != attempt {
				t.Errorf("a restart did not keep the pause: %d launches", launches())
			}
		}
		ahead.Add(int64(10 * time.Minute))
	}
	if sum := resume(engine.Choice{}); launches() != 3 || sum.State == reprise.Complete {
		t.Errorf("the budget was not kept: %d launches, %+v", launches(), sum)
	}
	put(t, out, "good", "")
	if sum := resume(engine.Choice{From: "a"}); sum.State != reprise.Complete || launches() != 4 {
		t.Errorf("--from does not forgive: %d launches, %+v", launches(), sum)
	}
}

// smallDisk mounts a small disk and gives its folder.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m", "small", dir).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be made here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return dir
}

// A run that could not be recorded is not begun: nothing of it is on the full disk.
// (issue 15, item 8)
func TestNothing_is_begun_on_a_full_disk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	put(t, dir, "flow.yaml", "name: full\nsteps:\n  - {id: a, command: [sh, -c, 'echo a > a.txt'], outputs: [a.txt]}\n")
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "big", strings.Repeat("x", 16<<20-64<<10))
	begin := func() error {
		_, err := newEngine(dir).BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "full"}, engine.Choice{})
		return err
	}
	if err := begin(); err == nil || !strings.Contains(err.Error(), "free on the disk") {
		t.Errorf("%v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "big")), begin()); err != nil {
		t.Error(err)
	}
}

// A step that fills the disk costs one attempt at most: nothing is started that could not be
// recorded, and with room again the run continues. (issue 15, item 8)
func TestNothing_is_started_on_a_disk_that_a_step_filled(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t)
	put(t, dir, "flow.yaml", "name: fills\nsteps:\n  - {id: a, command: [sh, fill.sh], outputs: [a.txt]}\n")
	put(t, dir, "fill.sh", "echo started >> launches\n[ -e room ] || { dd if=/dev/zero of=big bs=1k; truncate -s -600K big; exit 1; }\necho a > a.txt\n")
	e := newEngine(dir)
	w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "fills"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.Outcome() != reprise.OutcomeBlocked || get(t, dir, "launches") != "started\n" {
		t.Errorf("%+v, %v: %q", sum, err, get(t, dir, "launches"))
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "big")), os.WriteFile(filepath.Join(dir, "room"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Errorf("%+v, %v", sum, err)
	}
}
