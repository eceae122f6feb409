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
	"sync/atomic"
	"syscall"
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
// the output of a later attempt if no one stopped it.
const workScript = `echo "$REPRISE_STEP $REPRISE_ATTEMPT" >> launched
(sleep 0.02; sleep 30) &
echo half > "out.$REPRISE_STEP.tmp"
sleep 0.01
mv "out.$REPRISE_STEP.tmp" "out.$REPRISE_STEP"
`

// TestO1_O4_O8_L1_random_kills kills engines at random moments, one to eight of
// them at the same project, until the run is finished, again and again. Some are
// paused or asked to stop instead, and some kills are of a keeper or of an agent.
func TestO1_O4_O8_L1_random_kills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills many processes: left out by -short")
	}
	want := 60
	if n, err := strconv.Atoi(os.Getenv("REPRISE_KILLS")); err == nil {
		want = n
	}
	seed := seedOf(t)
	// How long an engine needs tells over what time kills have to be spread.
	calm := &victim{t: t, r: rand.New(rand.NewPCG(seed, 99)), dir: t.TempDir(), run: "calm", tally: &tally{}}
	calm.prepare()
	began := time.Now()
	if out, code := calm.engine().end(); code != exitDone {
		t.Fatalf("undisturbed it ends with %d: %s", code, out)
	}
	needs := time.Since(began)
	var mu sync.Mutex
	var sum tally
	runs := 0
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for n := 0; ; n++ {
				mu.Lock()
				enough := sum.kills >= want || t.Failed()
				mu.Unlock()
				if enough {
					return
				}
				v := &victim{t: t, r: r, dir: t.TempDir(), run: fmt.Sprintf("k%d-%d-%d", os.Getpid(), worker, n), git: n%8 == 7, needs: needs, tally: &tally{}}
				v.play()
				os.RemoveAll(v.dir)
				mu.Lock()
				sum.add(v.tally)
				runs++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d runs, undisturbed %v: %+v", runs, needs.Round(time.Millisecond), sum)
	if want >= 1000 && !t.Failed() && (sum.landed == 0 || sum.rerun == 0 || sum.locked == 0 || want >= 10_000 && sum.below == 0 || sum.asked == 0 || sum.paused == 0) {
		t.Errorf("not everything was tried: %+v", sum)
	}
}

// tally counts what was done to runs and how they took it.
type tally struct {
	kills    int // of engines
	inside   int // of them while an attempt was seen at work; rerun and landed tell of all
	below    int // of keepers and agents
	asked    int // engines that were asked to stop
	paused   int
	locked   int // engines that found someone else at it
	launches int
	landed   int // attempts that were cut off and had landed
	rerun    int // and had not
}

func (s *tally) add(o *tally) {
	s.kills, s.inside, s.below, s.asked, s.paused = s.kills+o.kills, s.inside+o.inside, s.below+o.below, s.asked+o.asked, s.paused+o.paused
	s.locked, s.launches, s.landed, s.rerun = s.locked+o.locked, s.launches+o.launches, s.landed+o.landed, s.rerun+o.rerun
}

// victim is one run that is killed until it is finished.
type victim struct {
	t        testing.TB
	r        *rand.Rand
	dir, run string
	git      bool
	needs    time.Duration
	mu       sync.Mutex
	*tally
}

func (v *victim) prepare() {
	if v.git {
		git(v.t, v.dir, "init", "-q")
	}
	put(v.t, v.dir, "flow.yaml", murdered)
	put(v.t, v.dir, "work.sh", workScript)
}

func (v *victim) play() {
	t := v.t
	v.prepare()
	// Kills stop after a while: once faults stop the run must finish.
	most := 10 + v.r.IntN(80)
	for v.kills < most && !v.round(1+v.r.IntN(8)) {
	}
	for {
		out, code := v.engine().end()
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

// round starts some engines at once, does something to each at a moment of its
// own, and reports whether one of them finished the run.
func (v *victim) round(engines int) (finished bool) {
	var wg sync.WaitGroup
	for i := range engines {
		after := time.Duration(v.r.Int64N(int64(v.needs*6/5) + 1))
		switch {
		case i > 0:
			after /= 32 // most would find someone at it, and are killed before they do
		case v.r.IntN(4) > 0:
			after /= 12 // few get to the end
		}
		aimed, what, short := i == 0 && v.r.IntN(8) == 0, v.r.IntN(40), time.Duration(v.r.IntN(30))*time.Millisecond
		wg.Go(func() {
			e := v.engine()
			done := make(chan struct{})
			defer close(done)
			go func() {
				if aimed {
					v.nextLaunch(done, v.needs*2)
					after = short
				}
				select {
				case <-done:
				case <-time.After(after):
					v.strike(e, what)
				}
			}()
			out, code := e.end()
			v.mu.Lock()
			defer v.mu.Unlock()
			switch {
			case code == -1:
				v.kills++
			case code == exitDone:
				finished = true
			case code == exitHeld:
				v.locked++
			case (code == exitLeft || code == exitStopped) && e.asked.Load():
				v.asked++
			default:
				v.t.Errorf("%s: an engine ends with %d: %s", v.run, code, out)
				for name, all := range journals(v.t, v.dir) {
					for _, ev := range all {
						v.t.Logf("%s %s %s %d %s %s", name, ev.Kind, ev.Step, ev.Attempt, ev.Outcome, ev.Text)
					}
				}
			}
		})
	}
	wg.Wait()
	return finished
}

// nextLaunch waits until one more attempt has begun.
func (v *victim) nextLaunch(done <-chan struct{}, most time.Duration) {
	size := func() int64 {
		info, err := os.Stat(filepath.Join(v.dir, "launched"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	was := size()
	for end := time.Now().Add(most); time.Now().Before(end) && size() == was; {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// strike does to an engine, or to what it started, what was drawn for it.
func (v *victim) strike(e *process, what int) {
	var below []string
	if what == 4 || what == 5 {
		below = marked(v.run)
	}
	count := func(n *int) { v.mu.Lock(); *n++; v.mu.Unlock() }
	switch {
	case what == 0:
		e.asked.Store(true)
		_ = e.cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(v.needs)
	case what == 1:
		e.asked.Store(true)
		_ = e.cmd.Process.Signal(os.Interrupt)
		time.Sleep(v.needs)
	case what < 4:
		// Longer than anybody waits for a dying one; others try meanwhile.
		count(&v.paused)
		_ = e.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(v.needs / 2)
		if what == 2 {
			_ = e.cmd.Process.Signal(syscall.SIGCONT)
			time.Sleep(v.needs / 2)
		}
	case what < 6 && len(below) > 0 && v.spare():
		// A keeper or an agent: its engine sees that and continues.
		pid, _, _ := strings.Cut(below[len(below)/2], " ")
		if n, err := strconv.Atoi(pid); err == nil && syscall.Kill(n, syscall.SIGKILL) == nil {
			count(&v.below)
		}
		time.Sleep(v.needs / 2)
		below = marked(v.run)
	}
	if len(below) > 0 {
		count(&v.inside)
	}
	_ = e.cmd.Process.Kill()
}

// spare allows a single kill below an engine for each run: an attempt that fails
// twice in the same way is left to a person, which is shown elsewhere.
func (v *victim) spare() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.below == 0
}

// process is an engine in a process of its own.
type process struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	asked atomic.Bool // to stop
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

// end waits for the process; -1 if it was killed.
func (p *process) end() (string, int) {
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
	bad := false
	wrong := func(format string, args ...any) {
		bad = true
		t.Errorf(v.run+": "+format, args...)
	}
	for _, step := range []string{"a", "b", "c", "d", "e", "f"} {
		if n := count(all, reprise.StepFinished, step); n != 1 {
			wrong("%s has %d accepted completions", step, n)
		}
		ended := count(all, reprise.StepFailed, step) // and those that were stopped or cut off
		for _, ev := range all {
			switch {
			case ev.Step != step:
			case ev.Kind == reprise.StepReset && ev.Outcome == "stopped":
				ended++
			case ev.Kind == reprise.StepResolved && ev.Outcome == string(reprise.Rerun):
				ended, v.rerun = ended+1, v.rerun+1
			case ev.Kind == reprise.StepResolved:
				v.landed++
			}
		}
		if launched[step] > 1+ended {
			wrong("%s was launched %d times with %d attempts that failed, were stopped or cut off", step, launched[step], ended)
		}
		if step != "e" {
			if got := strings.TrimSpace(get(t, v.dir, "out."+step)); got != "half" {
				wrong("out.%s is %q", step, got)
			}
		}
	}
	if left := marked(v.run); len(left) > 0 {
		wrong("processes are left over: %v", left)
	}
	if v.git {
		git(t, v.dir, "fsck", "--no-dangling", "--no-progress")
	}
	if bad {
		for _, ev := range all {
			t.Logf("%s %s %s %d %s %s", v.run, ev.Kind, ev.Step, ev.Attempt, ev.Outcome, ev.Text)
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
