package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/sample"
	"reprise/journal"
	"reprise/settings"
)

const costly = `name: costly
steps:
  - {id: a, role: maker, prompt: make it, outputs: [a.txt]}
  - {id: b, needs: [a], role: maker, prompt: make it, outputs: [b.txt]}
  - {id: c, needs: [b], role: maker, prompt: make it, outputs: [c.txt]}
`

// paid is an engine whose agents use half a dollar in each attempt, as they tell at their
// end and write to a transcript before. The budget of a run is 75 cents.
func paid(dir, home string, launched *atomic.Int32, disk func(durable.FS) durable.FS) *engine.Engine {
	spent := []reprise.Request{{Model: "opus", Tokens: reprise.Tokens{Input: 500_000}}}
	play := func(job agent.Job) *agent.Result {
		n := launched.Add(1)
		session := fmt.Sprintf("0000000%d-0000-4000-8000-000000000000", n)
		if job.Learned(session) != nil {
			launched.Add(-1) // it is on record before the process exists
			return &agent.Result{Outcome: agent.Failed}
		}
		folder := filepath.Join(home, ".claude/projects", strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, job.Dir))
		line := fmt.Sprintf(`{"type":"assistant","message":{"id":"m","model":"opus","content":[{"type":"tool_use","id":"c","name":"Bash"}],"usage":{"input_tokens":500000}},"timestamp":%q,"cwd":%q,"sessionId":%q}`+"\n",
			time.Now().UTC().Format(time.RFC3339Nano), job.Dir, session)
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, session+".jsonl"), []byte(line), 0o644)); err != nil {
			return &agent.Result{Outcome: agent.Failed, Reason: err.Error()}
		}
		r := made(job)
		r.Session, r.Spent = session, spent
		return r
	}
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"maker": play})
	e.Environ = append(e.Environ, "HOME="+home)
	e.Settings.Budget.Run, e.Settings.Prices = settings.Limit{Cost: 0.75}, reprise.Prices{"opus": {Input: 1}}
	e.Disk = disk
	return e
}

// A budget stops before the third start wherever the engine dies: what attempts used that
// were cut off is read from their transcripts, everything else from the journal.
func TestA_budget_stops_where_it_should_through_a_kill(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	from := repository(t)
	put(t, from, "flow.yaml", costly)
	git(t, from, "add", "-A")
	git(t, from, "commit", "-q", "-m", "state")
	ref := refOf("costly")
	work := func(dir, home string, launched *atomic.Int32, disk func(durable.FS) durable.FS) (*engine.Summary, error) {
		e := paid(dir, home, launched, disk)
		w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, ref.Path)); err != nil {
			if _, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "costly"}, engine.Choice{}); err != nil {
				return nil, err
			}
		}
		return e.Resume(t.Context(), ref, engine.Choice{})
	}
	asked := func(sum *engine.Summary) bool {
		return sum != nil && len(sum.Questions) == 1 && sum.Questions[0].ID == "budget-run-cost-x2"
	}
	try := func(f fault) (ops int) {
		base := t.TempDir()
		dir, home, launched := filepath.Join(base, "p"), filepath.Join(base, "home"), &atomic.Int32{}
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		sum, err := work(dir, home, launched, f.disk(&ops))
		if f.err != nil {
			sum, err = work(dir, home, launched, nil)
		}
		if err != nil || !asked(sum) || launched.Load() != 2 {
			t.Errorf("%v: %d agents were started, %v, %+v", f, launched.Load(), err, sum)
			return ops
		}
		// An attempt whose session is not on record may have used something.
		if sum.Usage == nil || strings.TrimPrefix(sum.Usage.Money(), "at least ") != "about $1.00" || sum.Usage.Tokens.Total() != 1_000_000 {
			t.Errorf("%v: used %v", f, sum.Usage)
		}
		if err := paid(dir, home, launched, nil).Answer(t.Context(), ref, map[string]string{sum.Questions[0].ID: journal.RaiseOnce}); err != nil {
			t.Errorf("%v: %v", f, err)
		}
		if sum, err = work(dir, home, launched, nil); err != nil || launched.Load() != 3 {
			t.Errorf("%v: raised once: %d agents were started, %v, %+v", f, launched.Load(), err, sum)
		}
		return ops
	}
	ops := try(fault{})
	r := rand.New(rand.NewPCG(seedOf(t), 0))
	var all []fault
	for n := range ops {
		all = append(all, fault{n, syscall.EIO, true})
	}
	parallel(2, few(r, all, 5), func(f fault) { try(f) })
}
