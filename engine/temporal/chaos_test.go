package temporal_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/engine/temporal"
)

// chaosFlow is what each run does: two chains beside each other that meet. Each attempt
// signs the agents' own ledger when it begins and when it has done its work.
func chaosFlow(steps int) string {
	text := "name: chaos\nparallel: 3\nsteps:\n"
	script := `echo "$REPRISE_RUN $REPRISE_STEP $REPRISE_ATTEMPT begin" >> "$FLEET_LOG"; sleep 1; echo "$REPRISE_STEP $REPRISE_ATTEMPT" > "$REPRISE_STEP.txt"; echo "$REPRISE_RUN $REPRISE_STEP $REPRISE_ATTEMPT end" >> "$FLEET_LOG"`
	for i := range steps {
		needs := ""
		if i > 1 {
			needs = fmt.Sprintf("needs: [s%d], ", i-2)
		}
		text += fmt.Sprintf("  - {id: s%d, %scommand: [sh, -c, %s], outputs: [s%d.txt], on_crash: rerun}\n", i, needs, strconv.Quote(script), i)
	}
	return text
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// Workers are killed, frozen for longer than the heartbeat and cut off from the remote and
// from the server, and the server is killed and restarted, while runs are at work. A worker
// that ends by itself is started again, as a service manager does. Every run ends, each step
// is accepted once and in order, what was accepted is what that attempt made, and nothing
// that was pushed is lost. REPRISE_FLEET_FAULTS, REPRISE_FLEET_RUNS and
// REPRISE_FLEET_STEPS say how many.
// (issue 19)
func TestFleet_chaos(t *testing.T) {
	faults, runs, steps := number("REPRISE_FLEET_FAULTS", 6), number("REPRISE_FLEET_RUNS", 2), number("REPRISE_FLEET_STEPS", 6)
	s := newSite(t, map[string]string{
		"flow.yaml":    chaosFlow(steps),
		"reprise.yaml": "env: [FLEET_LOG]\nbackoff: 1s\nattempts: 90\ncutoffs: 90\n",
	})
	seed := uint64(number("REPRISE_SEED", int(time.Now().UnixNano())))
	t.Logf("REPRISE_SEED=%d", seed)
	c := &chaos{site: s, rand: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}, gates: map[string]*gate{}}
	for _, name := range []string{"w1", "w2", "w3"} {
		c.gates[name] = newGate(t)
		if err := c.gates[name].let(); err != nil {
			t.Fatal(err)
		}
		c.begin(name)
	}
	var ids []string
	var over sync.WaitGroup
	open := make(chan struct{}, runs)
	for i := range runs {
		id := fmt.Sprintf("r%d", i)
		ids = append(ids, id)
		c.retry("run", "flow.yaml", "--id", id, "--detach", "--heartbeat", "3s")
		over.Go(func() {
			for {
				if r := s.fleet("resume", id, "--json"); ended(r) {
					open <- struct{}{}
					return
				}
				time.Sleep(time.Second)
			}
		})
	}
	made := 0
	for ; made < faults && len(open) < runs; made++ {
		c.fault()
		time.Sleep(time.Duration(500+c.rand.IntN(2000)) * time.Millisecond)
		c.restart()
	}
	c.lasts.Wait()
	t.Logf("%d faults, while %d of %d runs ended: %v", made, len(open), runs, c.counts)
	if made < faults {
		t.Logf("all runs ended before the other %d faults", faults-made)
	}
	ended := make(chan struct{})
	go func() { over.Wait(); close(ended) }()
	for end := time.Now().Add(15 * time.Minute); ; c.restart() {
		select {
		case <-ended:
		case <-time.After(time.Second):
			if time.Now().After(end) {
				t.Fatalf("not every run ended: %s", s.fleet("status").out)
			}
			continue
		}
		break
	}
	t.Logf("every run ended; workers that ended by themselves: %d", c.counts["restart"])
	for _, id := range ids {
		c.verify(id, steps)
	}
}

// chaos makes faults.
type chaos struct {
	*site
	rand   *rand.Rand
	counts map[string]int
	gates  map[string]*gate
	lasts  sync.WaitGroup // while a fault does
}

// later ends a fault after more than a heartbeat. Meanwhile there may be others.
func (c *chaos) later(end func()) {
	c.lasts.Go(func() {
		time.Sleep(5 * time.Second)
		end()
	})
}

// begin starts a worker.
func (c *chaos) begin(name string) {
	c.Helper()
	c.worker(name, "TEMPORAL_ADDRESS="+c.gates[name].address)
}

// restart starts the workers that have ended again. It also removes the locks that git left
// in the remote when it was killed with a worker, as whoever runs that would: a server's own
// processes do not die with who pushes. Nothing here is frozen for as long.
func (c *chaos) restart() {
	c.Helper()
	locks, err := filepath.Glob(filepath.Join(c.remote, "*.lock"))
	if err != nil {
		c.Fatal(err)
	}
	for _, lock := range locks {
		if info, err := os.Stat(lock); err == nil && time.Since(info.ModTime()) > time.Minute {
			c.counts["lock"]++
			if err := os.Remove(lock); err != nil {
				c.Fatal(err)
			}
		}
	}
	for name, w := range c.workers {
		select {
		case <-w.gone:
			c.counts["restart"]++
			c.begin(name)
		default:
		}
	}
}

// retry calls a command until it succeeds: the server may be down.
func (c *chaos) retry(args ...string) {
	c.Helper()
	c.until(fmt.Sprint(args, " succeeds"), func() bool { return c.fleet(args...).code == 0 })
}

func (c *chaos) fault() {
	c.Helper()
	name := []string{"w1", "w2", "w3"}[c.rand.IntN(3)]
	w := c.workers[name]
	kind := []string{"kill", "kill", "stop", "stop", "remote", "server", "cut"}[c.rand.IntN(7)]
	c.counts[kind]++
	switch kind {
	case "kill":
		w.kill()
		c.begin(name)
	case "stop":
		_ = w.Process.Signal(syscall.SIGSTOP)
		c.later(func() { _ = w.Process.Signal(syscall.SIGCONT) })
	case "remote":
		if err := os.Rename(c.remote, c.remote+".away"); err != nil {
			c.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		if err := os.Rename(c.remote+".away", c.remote); err != nil {
			c.Fatal(err)
		}
	case "cut":
		c.gates[name].shut()
		c.later(func() {
			if err := c.gates[name].let(); err != nil {
				c.Error(err)
			}
		})
	case "server":
		shared.down()
		if err := shared.up(); err != nil {
			c.Fatal(err)
		}
	}
}

var keyed = regexp.MustCompile(`^(?:\S+)/(\S+)#(\d+)@`)

// verify holds the branch of a run against the agents' own ledger.
func (c *chaos) verify(id string, steps int) {
	c.Helper()
	dir := c.checkout(id)
	log := exec.Command("git", "log", "--first-parent", "--reverse", "--format=%(trailers:key="+reprise.TrailerKey+",valueonly)", "HEAD")
	log.Dir = dir
	place, accepted := map[string]int{}, map[string]string{}
	for line := range strings.Lines(c.must(log)) {
		key, ok := strings.CutSuffix(strings.TrimSpace(line), reprise.TrailerAccepted)
		m := keyed.FindStringSubmatch(key)
		if !ok || m == nil {
			continue
		}
		if accepted[m[1]] != "" {
			c.Errorf("%s: %s was accepted twice", id, m[1])
		}
		place[m[1]], accepted[m[1]] = len(place), m[2]
	}
	text, _ := os.ReadFile(c.launches)
	ledger := string(text)
	for i := range steps {
		step := fmt.Sprintf("s%d", i)
		if accepted[step] == "" {
			c.Errorf("%s: %s was never accepted", id, step)
			continue
		}
		if i > 1 && place[fmt.Sprintf("s%d", i-2)] > place[step] {
			c.Errorf("%s: %s was accepted before what it needs", id, step)
		}
		// An attempt whose agent is not started ends with the work that a worker kept of an
		// earlier one, because the remote refused it.
		number, began := accepted[step], func(number string) int {
			return strings.Count(ledger, fmt.Sprintf("%s %s %s begin\n", id, step, number))
		}
		made, err := os.ReadFile(filepath.Join(dir, step+".txt"))
		if began(number) == 0 {
			number = strings.TrimSpace(strings.TrimPrefix(string(made), step))
		}
		if !strings.Contains(ledger, fmt.Sprintf("%s %s %s end\n", id, step, number)) {
			c.Errorf("%s: the work of attempt %s of %s was accepted, and it never ended", id, number, step)
		}
		if began(number) != 1 {
			c.Errorf("%s: attempt %s of %s was not started once", id, number, step)
		}
		if want := step + " " + number + "\n"; err != nil || string(made) != want {
			c.Errorf("%s: %s holds %q, want %q: %v", id, step, made, want, err)
		}
	}
	// What was pushed is still there, whole: on the branch, or on the ref of its attempt.
	pushed := c.must(exec.Command("git", "--git-dir", c.remote, "log", "--format=%s", "refs/heads/"+temporal.Branch(id), "--glob=refs/reprise/"+id))
	for step, number := range accepted {
		if !strings.Contains(pushed, fmt.Sprintf("%s: attempt %s (done)\n", step, number)) {
			c.Errorf("%s: attempt %s of %s is not on the remote", id, number, step)
		}
	}
	refs := exec.Command("git", "--git-dir", c.remote, "for-each-ref", "--format=%(refname)", "--merged", "refs/heads/"+temporal.Branch(id), "refs/reprise/"+id)
	c.Logf("%s: refs of attempts that the branch has: %d", id, len(strings.Fields(c.must(refs))))
	c.must(exec.Command("git", "--git-dir", c.remote, "fsck", "--connectivity-only", "refs/heads/"+temporal.Branch(id)))
}
