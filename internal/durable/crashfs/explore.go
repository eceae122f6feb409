package crashfs

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Scenario is a piece of work and what must be true after a crash in it.
type Scenario struct {
	Name string
	// Start makes the state before; all of it is durable. It may be nil.
	Start func(d *FS) error
	// Work is the process. It calls ack with every fact that it tells the
	// world, when it tells it. It must do the same operations every time.
	Work func(d *FS, ack func(fact string)) error
	// Recover is the next process: it opens the store, checks that everything
	// in acked holds, and returns a text of all that it would act on. It is
	// called on states of every kind, also on its own leftovers.
	Recover func(d *FS, acked []string) (string, error)
}

// Config says how far an exploration goes.
type Config struct {
	Models []Model // nil stands for both
	Fine   bool    // tear small writes at every byte
	// Limit is the number of states at one point of time beyond which the
	// rest is left out and counted; zero stands for 200,000.
	Limit int
	// NoCut, NoDeep, NoKill and NoFail leave out cuts during the work, cuts
	// during the recovery after them, kills that are followed by a cut, and
	// operations that fail.
	NoCut, NoDeep, NoKill, NoFail bool
	// Enough ends the exploration after so many failures; zero stands for 10.
	Enough int
	// Kills says before which operations the work is killed or fails, Cuts which of
	// the states are looked at that a cut during the work may leave, both by their
	// number. nil stands for all of them.
	Kills, Cuts func(n int) bool
}

// Result is what an exploration found.
type Result struct {
	States int // distinct states of the disk from which recovery was checked
	Runs   int // recoveries in all
	Ops    int // operations of the work
	Capped int // states that were left out
	Bad    []string
}

// String gives one line.
func (r Result) String() string {
	return fmt.Sprintf("%d operations, %d distinct states, %d recoveries, %d left out, %d bad", r.Ops, r.States, r.Runs, r.Capped, len(r.Bad))
}

type explorer struct {
	sc   Scenario
	cfg  Config
	res  Result
	seen map[string]bool
	cut  int // how many states cuts have left
}

// Explore checks a scenario from every state that a crash may leave.
func Explore(sc Scenario, cfg Config) Result {
	if cfg.Models == nil {
		cfg.Models = []Model{Weak, Ordered}
	}
	if cfg.Limit == 0 {
		cfg.Limit = 200_000
	}
	if cfg.Enough == 0 {
		cfg.Enough = 10
	}
	all := func(int) bool { return true }
	if cfg.Kills == nil {
		cfg.Kills = all
	}
	if cfg.Cuts == nil {
		cfg.Cuts = all
	}
	e := &explorer{sc: sc, cfg: cfg, seen: map[string]bool{}}
	whole, acks, err := e.run(nil)
	if err != nil {
		e.bad("without a crash: %v", err)
		return e.res
	}
	e.res.Ops = len(whole.trace)
	for _, m := range cfg.Models {
		if !cfg.NoCut {
			e.cuts(m, whole, acks)
		}
		if !cfg.NoKill {
			e.kills(m)
		}
		if !cfg.NoFail {
			e.fails(m)
		}
	}
	return e.res
}

func (e *explorer) bad(format string, args ...any) {
	e.res.Bad = append(e.res.Bad, fmt.Sprintf(format, args...))
}

func (e *explorer) enough() bool { return len(e.res.Bad) >= e.cfg.Enough }

// ack is a fact and how many operations had been done when it was told.
type ack struct {
	at   int
	fact string
}

func told(acks []ack, at int) (out []string) {
	for _, a := range acks {
		if a.at <= at {
			out = append(out, a.fact)
		}
	}
	return out
}

// run runs the work on a new disk, under an injector.
func (e *explorer) run(inject func(n int, o op) fault) (d *FS, acks []ack, err error) {
	d = New()
	if e.sc.Start != nil {
		if err := e.sc.Start(d); err != nil {
			return d, nil, fmt.Errorf("start: %w", err)
		}
	}
	d.Settle()
	d.inject = inject
	err = process(func() error {
		return e.sc.Work(d, func(fact string) { acks = append(acks, ack{len(d.trace), fact}) })
	})
	d.Restart()
	return d, acks, err
}

// Kill runs fn as a process that is killed before its n-th operation from now,
// counted from 0, and reports whether it was. What it did stays in the cache.
func (d *FS) Kill(n int, fn func() error) (was bool, err error) {
	begun := len(d.trace)
	d.inject = func(i int, _ op) fault { return fault{kill: i >= begun+n} }
	err = process(fn)
	d.Restart()
	if errors.Is(err, errKilled) {
		return true, nil
	}
	return false, err
}

// Clone gives a copy in which everything is durable.
func (d *FS) Clone() *FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.snapshot().boot(d.next)
}

// errKilled is what a killed process returns.
var errKilled = errors.New("killed")

// process runs a process that may be killed.
func process(fn func() error) (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if _, ok := r.(killed); !ok {
			err = fmt.Errorf("panic: %v", r)
			return
		}
		err = errKilled
	}()
	return fn()
}

// recovery runs the recovery once.
func (e *explorer) recovery(d *FS, acked []string) (digest string, err error) {
	e.res.Runs++
	err = process(func() (err error) {
		digest, err = e.sc.Recover(d, acked)
		return err
	})
	d.Restart()
	return digest, err
}

// fresh reports whether a state was not checked before.
func (e *explorer) fresh(im *image, acked []string, want string) bool {
	key := fmt.Sprint(im.key(), len(acked), want)
	if e.seen[key] {
		return false
	}
	e.seen[key] = true
	e.res.States++
	return true
}

// cuts checks power cuts during the work, and cuts during the recovery after.
func (e *explorer) cuts(m Model, whole *FS, acks []ack) {
	c := newCursor(whole.base, m)
	for k := 0; k <= len(whole.trace) && !e.enough(); k++ {
		if k > 0 {
			c.step(whole.trace[k-1])
		}
		acked := told(acks, k)
		e.res.Capped += c.images(e.cfg.Limit, e.cfg.Fine, func(im *image) {
			if e.cut++; !e.cfg.Cuts(e.cut) || e.enough() || !e.fresh(im, acked, "") {
				return
			}
			e.after(im, whole, acked, fmt.Sprintf("%s model, cut after %s", m, at(whole.trace, k)), m)
		})
	}
}

// after recovers from one state, twice, and then with a cut at every operation
// of the recovery.
func (e *explorer) after(im *image, from *FS, acked []string, where string, m Model) {
	d := im.boot(from.next)
	digest, err := e.recovery(d, acked)
	if err != nil {
		e.bad("%s: %v", where, err)
		return
	}
	first := d.trace
	again, err := e.recovery(d, acked)
	if err != nil || again != digest {
		e.bad("%s: recovering twice gives %q, then %q, %v", where, digest, again, err)
		return
	}
	if e.cfg.NoDeep {
		return
	}
	c := newCursor(d.base, m)
	for j := 0; j <= len(first) && !e.enough(); j++ {
		if j > 0 {
			c.step(first[j-1])
		}
		e.res.Capped += c.images(e.cfg.Limit, false, func(deep *image) {
			if e.enough() || !e.fresh(deep, acked, digest) {
				return
			}
			got, err := e.recovery(deep.boot(d.next), acked)
			if err != nil || got != digest {
				e.bad("%s, then in recovery after %s: %q instead of %q, %v", where, at(first, j), got, digest, err)
			}
		})
	}
}

// kills checks a kill, a recovery from what is in the cache, and a cut at every
// operation of that recovery and after it.
func (e *explorer) kills(m Model) {
	for k := 0; k <= e.res.Ops && !e.enough(); k++ {
		if !e.cfg.Kills(k) {
			continue
		}
		d, acks, _ := e.run(func(n int, _ op) fault { return fault{kill: n >= k} })
		acked := told(acks, k)
		digest, err := e.recovery(d, acked)
		where := fmt.Sprintf("%s model, killed after %s", m, at(d.trace, k))
		if err != nil {
			e.bad("%s: %v", where, err)
			continue
		}
		e.cutsBehind(d, k, acked, digest, where, m)
	}
}

// cutsBehind checks cuts from operation k on; behind the last one, what the
// recovery has told must hold as well.
func (e *explorer) cutsBehind(d *FS, k int, acked []string, digest, where string, m Model) {
	c := newCursor(d.base, m)
	trace := d.trace
	for j := 0; j <= len(trace) && !e.enough(); j++ {
		if j > 0 {
			c.step(trace[j-1])
		}
		if j < k {
			continue
		}
		want := ""
		if j == len(trace) {
			want = digest
		}
		e.res.Capped += c.images(e.cfg.Limit, false, func(im *image) {
			if e.enough() || !e.fresh(im, acked, want) {
				return
			}
			got, err := e.recovery(im.boot(d.next), acked)
			if err != nil || (want != "" && got != want) {
				e.bad("%s, recovered, cut after %s: %q instead of %q, %v", where, at(trace, j), got, want, err)
			}
		})
	}
}

// fails lets every operation fail, once and from then on, and checks a restart
// and a cut after that. A failed fsync drops what it should have written.
func (e *explorer) fails(m Model) {
	for n := 0; n < e.res.Ops && !e.enough(); n++ {
		if !e.cfg.Kills(n) {
			continue
		}
		for _, kind := range []struct {
			name   string
			err    error
			sticky bool
			half   bool
		}{{"EIO once", syscall.EIO, false, false}, {"ENOSPC from there on", syscall.ENOSPC, true, true}, {"ENOSPC once, half written", syscall.ENOSPC, false, true}} {
			d, acks, _ := e.run(func(i int, o op) fault {
				if i == n || (kind.sticky && i > n) {
					return fault{err: kind.err, partial: kind.half}
				}
				return fault{}
			})
			where := fmt.Sprintf("%s model, %s at %s", m, kind.name, at(d.trace, n+1))
			k := len(d.trace)
			acked := told(acks, k)
			digest, err := e.recovery(d, acked)
			if err != nil {
				e.bad("%s: %v", where, err)
				continue
			}
			e.cutsBehind(d, k, acked, digest, where, m)
		}
	}
}

// at names an operation of a trace.
func at(trace []op, k int) string {
	if k == 0 || len(trace) == 0 {
		return "the beginning"
	}
	k = min(k, len(trace))
	o := trace[k-1]
	return fmt.Sprintf("operation %d (%s)", k, strings.TrimSpace(opNames[o.kind]+" "+o.label))
}
