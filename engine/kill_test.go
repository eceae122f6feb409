package engine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
)

// murdered is a workflow whose steps run side by side, leave processes behind
// and may each be cut off anywhere.
const murdered = `name: murdered
title: A workflow that is killed
parallel: 3
steps:
  - {id: a, command: [sh, work.sh], outputs: [out.a], on_crash: verify}
  - {id: b, needs: [a], command: [sh, work.sh], outputs: [out.b], on_crash: verify}
  - {id: c, needs: [a], command: [sh, work.sh], outputs: [out.c], on_crash: rerun}
  - {id: d, needs: [a], command: [sh, work.sh], outputs: [out.d], verify: [test, -s, out.d], on_crash: verify}
  - {id: e, needs: [b, c, d]}
  - {id: f, needs: [e], command: [sh, work.sh], outputs: [out.f], on_crash: verify}
`

// workScript does a little, and forks a child that would outlive it and spoil
// the output of a later attempt if nobody stopped it.
const workScript = `echo "$REPRISE_STEP $REPRISE_ATTEMPT" >> launched
(sleep 0.02; sleep 30) &
echo half > "out.$REPRISE_STEP.tmp"
sleep 0.01
mv "out.$REPRISE_STEP.tmp" "out.$REPRISE_STEP"
`

// TestO1_O4_O8_L1_random_kills kills engines at random moments, one to eight of
// them at the same project, until the run is finished, again and again.
func TestO1_O4_O8_L1_random_kills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills many processes: left out by -short")
	}
	want := 2000
	if n, err := strconv.Atoi(os.Getenv("REPRISE_KILLS")); err == nil {
		want = n
	}
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("REPRISE_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("REPRISE_SEED=%d", seed)
	var mu sync.Mutex
	kills, runs, launches, locked := 0, 0, 0, 0
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := 0; ; n++ {
				mu.Lock()
				enough := kills >= want || t.Failed()
				mu.Unlock()
				if enough {
					return
				}
				v := &victim{t: t, r: r, dir: t.TempDir(), run: fmt.Sprintf("k%d-%d", worker, n), git: n%8 == 7}
				v.play()
				mu.Lock()
				kills, runs, launches, locked = kills+v.kills, runs+1, launches+v.launches, locked+v.locked
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d kills in %d runs, %d launches, %d times locked out", kills, runs, launches, locked)
}

// victim is one run that is killed until it is finished.
type victim struct {
	t        testing.TB
	r        *rand.Rand
	dir, run string
	git      bool
	kills    int
	launches int
	locked   int
}

func (v *victim) play() {
	t := v.t
	if v.git {
		git(t, v.dir, "init", "-q")
	}
	put(t, v.dir, "flow.yaml", murdered)
	put(t, v.dir, "work.sh", workScript)
	// Kills stop after a while: once faults stop the run must finish.
	most := 5 + v.r.IntN(60)
	began := time.Now()
	for v.kills < most {
		if v.round(1 + v.r.IntN(8)) {
			break
		}
		if time.Since(began) > 3*time.Minute {
			t.Errorf("%s: no end after %d kills", v.dir, v.kills)
			return
		}
	}
	for range 5 {
		out, code := v.engine().end(time.Minute)
		if code == exitDone {
			break
		}
		if code != exitHeld {
			t.Errorf("%s: after %d kills it ends with %d: %s", v.run, v.kills, code, out)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	v.check()
}

// round starts some engines at once, kills each at a moment of its own, and
// reports whether one of them finished the run.
func (v *victim) round(engines int) (finished bool) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range engines {
		// Most of what can go wrong lies in the first tenths of a second.
		after := time.Duration(v.r.IntN(1+v.r.IntN(400))) * time.Millisecond
		wg.Go(func() {
			e := v.engine()
			out, code := e.end(after)
			mu.Lock()
			defer mu.Unlock()
			switch code {
			case -1:
				v.kills++
			case exitDone:
				finished = true
			case exitHeld:
				v.locked++
			default:
				v.t.Errorf("%s: an engine ends with %d: %s", v.run, code, out)
			}
		})
	}
	wg.Wait()
	return finished
}

// process is an engine in a process of its own.
type process struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

func (v *victim) engine() *process {
	p := &process{cmd: exec.Command(os.Args[0], "work-on", v.dir, v.run, "flow.yaml")}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	// What a killed engine started may hold its output open.
	p.cmd.WaitDelay = 3 * time.Second
	if err := p.cmd.Start(); err != nil {
		v.t.Error(err)
	}
	return p
}

// end waits for the process and kills it after a time; -1 if it was killed.
func (p *process) end(after time.Duration) (string, int) {
	timer := time.AfterFunc(after, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
	return p.out.String(), p.cmd.ProcessState.ExitCode()
}

// check holds what is left against the invariants.
func (v *victim) check() {
	t := v.t
	all := events(t, v.dir, refOf(v.run))
	launched := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(get(t, v.dir, "launched")), "\n") {
		step, _, _ := strings.Cut(line, " ")
		launched[step]++
		v.launches++
	}
	for _, step := range []string{"a", "b", "c", "d", "e", "f"} {
		if n := count(all, reprise.StepFinished, step); n != 1 {
			t.Errorf("%s: %s has %d accepted completions", v.run, step, n)
		}
		cut := 0
		for _, ev := range all {
			if ev.Kind == reprise.StepResolved && ev.Step == step && ev.Outcome == string(reprise.Rerun) {
				cut++
			}
		}
		if launched[step] > 1+cut {
			t.Errorf("%s: %s was launched %d times with %d attempts cut off", v.run, step, launched[step], cut)
		}
		if step != "e" {
			if got := strings.TrimSpace(get(t, v.dir, "out."+step)); got != "half" {
				t.Errorf("%s: out.%s is %q", v.run, step, got)
			}
		}
	}
	if left := marked(v.run); len(left) > 0 {
		t.Errorf("%s: processes are left over: %v", v.run, left)
	}
	if t.Failed() {
		for _, ev := range all {
			t.Logf("%s %s %d %s %s", ev.Kind, ev.Step, ev.Attempt, ev.Outcome, ev.Text)
		}
	}
}

// marked finds live processes of a run's attempts.
func marked(run string) []string {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	var out []string
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(env, []byte("REPRISE_RUN="+run+"\x00")) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		out = append(out, filepath.Base(filepath.Dir(name))+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
	}
	return out
}
