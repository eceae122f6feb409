package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/settings"
)

// stub is an agent that lives in this process.
type stub struct {
	// play does the work of an attempt; nil leaves it to the agent behind.
	play func(job agent.Job) *agent.Result
	// behind does what play leaves, nil for no one.
	behind agent.Agent
}

func (s stub) Start(ctx context.Context, job agent.Job) (agent.Session, error) {
	done := make(chan *agent.Result, 1)
	if s.behind != nil {
		if r := s.play(job); r != nil {
			done <- r
			return played{done}, nil
		}
		return s.behind.Start(ctx, job)
	}
	go func() { done <- s.play(job) }()
	return played{done}, nil
}

type played struct{ done chan *agent.Result }

func (played) PID() int             { return 0 }
func (p played) Wait() agent.Result { return *<-p.done }
func (played) Kill()                {}

// leave leaves a reply as agents do, and gives the result that goes with it.
func leave(job agent.Job, reply reprise.Reply) *agent.Result {
	data, err := json.Marshal(reply)
	if err == nil {
		err = os.WriteFile(job.Result, data, 0o644)
	}
	if err != nil {
		return &agent.Result{Outcome: agent.Failed, Reason: err.Error()}
	}
	return &agent.Result{Outcome: agent.Done, Reply: &reply}
}

// made makes what a job is expected to leave.
func made(job agent.Job) *agent.Result {
	for _, name := range job.Expect {
		if err := os.WriteFile(job.Dir+"/"+name, []byte(job.Step+"\n"), 0o644); err != nil {
			return &agent.Result{Outcome: agent.Failed, Reason: err.Error()}
		}
	}
	return leave(job, reprise.Reply{Outcome: "done", Summary: "made " + job.Step})
}

// stubbed is an engine whose agents, by their names in the settings, are played.
func stubbed(dir string, play map[string]func(agent.Job) *agent.Result) *engine.Engine {
	e := newEngine(dir)
	for name := range play {
		e.Settings.Agents[name] = settings.Agent{Name: name, Preset: "claude"}
		e.Settings.Roles[name] = name
	}
	real := e.Agent
	e.Agent = func(s settings.Agent) (agent.Agent, error) {
		if p := play[s.Name]; p != nil {
			return stub{play: p}, nil
		}
		return real(s)
	}
	return e
}

// clock is a clock that runs faster than the world.
type clock struct {
	mu    sync.Mutex
	base  time.Time
	since time.Time
	speed time.Duration
}

func newClock(base time.Time, speed int) *clock {
	return &clock{base: base, since: time.Now(), speed: time.Duration(speed)}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base.Add(time.Since(c.since) * c.speed)
}

// launches counts attempts, and how many were at work at once.
type launches struct {
	mu       sync.Mutex
	steps    []string
	at, most int
}

func (l *launches) begin(step string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, step)
	l.at++
	l.most = max(l.most, l.at)
}

func (l *launches) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at--
}

func (l *launches) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.steps)
}
