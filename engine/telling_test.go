package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/settings"
)

// listener keeps what an engine tells.
type listener struct {
	mu  sync.Mutex
	all []engine.Progress
}

func (l *listener) tell(p engine.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, p)
}

// eager says something before whoever starts it knows that it was started.
type eager struct{ agent.Agent }

func (a eager) Start(ctx context.Context, job agent.Job) (agent.Session, error) {
	job.Line("early")
	return a.Agent.Start(ctx, job)
}

// TestX8_what_an_agent_says_is_told_after_its_start: a process is at work before its
// start can be told.
func TestX8_what_an_agent_says_is_told_after_its_start(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	plain := e.Agent
	e.Agent = func(s settings.Agent) (agent.Agent, error) {
		a, err := plain(s)
		return eager{a}, err
	}
	a := e.Settings.Agents["actor"]
	a.Command = []string{"sh", "-c", "echo x > a.txt"}
	e.Settings.Agents["actor"] = a
	var heard listener
	e.Tell = heard.tell
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: p, outputs: [a.txt]}\n")
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Fatal(sum, err)
	}
	kind := func(k engine.ProgressKind) int {
		return slices.IndexFunc(heard.all, func(p engine.Progress) bool { return p.Kind == k && p.Step == "a" })
	}
	if began, said := kind(engine.Began), kind(engine.Said); said < 0 || began < 0 || said < began {
		t.Errorf("began at %d, said at %d", began, said)
	}
}

// TestEV9_an_output_that_is_none_is_told_why: something stands in the place of what a
// step was to leave and is not that.
func TestEV9_an_output_that_is_none_is_told_why(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ makes, says string }{
		"a link out of the project": {"ln -s /etc/hostname o", "o is a link that leads out of the project"},
		"a link to nothing":         {"ln -s gone o", "o is a link to nothing"},
		"a FIFO":                    {"mkfifo o", "o is neither a file nor a folder"},
		"an empty folder":           {"mkdir o", "o is a folder with nothing in it"},
		"empty folders":             {"mkdir -p o/p/q", "o is a folder with nothing in it"},
		"nothing":                   {"true", "o is not there"},
		"a folder":                  {"mkdir o; echo x > o/x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			e.Settings.Attempts = 1
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, 'test -e o || "+c.makes+"'], outputs: [o]}\n")
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if done := sum.State == reprise.Complete; done != (c.says == "") {
				t.Fatalf("done %v: %+v", done, sum.Failed)
			}
			if c.says != "" && !strings.Contains(sum.Failed[0].Text, c.says) {
				t.Errorf("said %q, want %q", sum.Failed[0].Text, c.says)
			}
		})
	}
}
