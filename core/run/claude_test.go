//go:build unix

package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"reprise/agent"
	"reprise/agent/agenttest"
	"reprise/core"
	"reprise/core/run"
	"reprise/internal/sample"
)

// claude starts the real CLI, on a scripted model.
type claude struct {
	Program, Model string
	Env            []string
	Approve        agent.Approval
}

func (c claude) work(_ context.Context, a run.Assignment) (agent.Agent, agent.Job, error) {
	by, err := agent.New(agent.Options{Preset: "claude", Approve: c.Approve, Model: c.Model, Account: "acme", Grace: 2 * time.Second})
	j := agent.Job{Command: []string{c.Program}, Env: c.Env, Session: a.Session, Resume: a.Session != "", Timeout: time.Minute}
	j.Prompt = job("", nil, a).Env[0]
	return by, j, err
}

// The core with the real claude: each row is a first model, what is seen with it, and a second
// model that goes on.
func TestClaude(t *testing.T) {
	const goesOn = `{"turns":[{"text":"Going on.","shell":"echo two >>log.txt"},{"text":"All is done."}]}`
	for name, c := range map[string]struct {
		approve   agent.Approval
		first     string
		when      string // the engine is killed once this file is there
		rests     string
		check     func(t *testing.T, s *core.State, rest core.Rest)
		answer    string
		log, work string
	}{
		"a step": {first: `{"turns":[{"text":"I write.","shell":"echo one >>log.txt"},{"text":"Done."}]}`, rests: "the run is over", work: "PLAN.md\nlog.txt\n", log: "one\n"},
		"nothing is no work": {first: `{"turns":[{"text":"Done.","repeat":true}]}`, rests: "is open", check: func(t *testing.T, s *core.State, _ core.Rest) {
			if s.Step("s01").Failures != 2 || s.Asked == nil {
				t.Errorf("%+v", s)
			}
		}},
		"killed in a call, and continued": {first: `{"turns":[{"text":"First part.","shell":"echo one >>log.txt"},{"text":"Second part.","shell":"echo half >half.txt; echo >started.new; sleep 60"}]}`,
			when: "started.new", log: "one\ntwo\n", work: "PLAN.md\nhalf.txt\nlog.txt\n"},
		"killed in a call that reaches out": {first: `{"turns":[{"text":"First part.","shell":"echo one >>log.txt; curl -s http://127.0.0.1:1/deploy; echo >started.new; sleep 60"}]}`, when: "started.new",
			rests: "is open", check: func(t *testing.T, s *core.State, _ core.Rest) {
				if s.Asked == nil || len(s.Asked.Facts.Outside) != 1 || !strings.Contains(s.Asked.Shows, "127.0.0.1:1/deploy") {
					t.Errorf("%+v", s.Asked)
				}
			}, answer: core.Onto.Key, log: "one\ntwo\n", work: "PLAN.md\nlog.txt\n"},
		"killed after one": {first: `{"turns":[{"text":"First part.","shell":"echo one >>log.txt; curl -s http://127.0.0.1:1/deploy"},{"text":"Second part.","shell":"echo >started.new; sleep 60"}]}`, when: "started.new",
			log: "one\ntwo\n", work: "PLAN.md\nlog.txt\n"}, // the session that is continued has its result
		"a limit": {first: `{"turns":[{"error":"rate_limit","headers":{"retry-after":"1"},"repeat":true}]}`, rests: "", check: func(t *testing.T, s *core.State, rest core.Rest) {
			if p := s.Step("s01"); p.Failures+p.Cuts != 0 || len(s.Limits) != 1 {
				t.Errorf("%+v, %+v", s, p)
			}
		}, log: "two\n", work: "PLAN.md\nlog.txt\n"},
		"a full session": {first: `{"turns":[{"error":"overflow"},{"text":"Anew.","shell":"echo one >>log.txt"},{"text":"Done."}]}`, rests: "the run is over", log: "one\n", work: "PLAN.md\nlog.txt\n"},
		"no sign-in": {first: `{"turns":[{"error":"auth","repeat":true}]}`, rests: "", check: func(t *testing.T, s *core.State, rest core.Rest) {
			if p := s.Step("s01"); p.Failures+p.Cuts != 0 || p.Attempts != 1 || rest.Why == "" {
				t.Errorf("%+v", s)
			}
		}, log: "two\n", work: "PLAN.md\nlog.txt\n"},
		"a question": {first: `{"turns":[{"text":"I ask.","shell":"echo '{\"outcome\":\"question\",\"questions\":[{\"text\":\"which colour?\"}]}' >$REPRISE_RESULT"},{"text":"I wait."}]}`, rests: "is open",
			answer: "blue", log: "two\n", work: "PLAN.md\nlog.txt\n"},
		"a permission": {approve: agent.ApproveEdits, first: `{"turns":[{"text":"I fetch.","shell":"git init -q made"},{"text":"I could not."}]}`, rests: "is open", check: func(t *testing.T, s *core.State, _ core.Rest) {
			if s.Asked == nil || len(s.Asked.Of.Grant) == 0 || !s.Asked.Of.Closed {
				t.Errorf("%+v", s.Asked)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sample.Drawn(t)
			dir, _ := project(t, 1)
			rig := agenttest.New(t, "claude", "2.1.325", "claude", c.first)
			if c.approve == "" {
				c.approve = agent.ApproveAll
			}
			actor := func() claude { return claude{rig.Program, rig.ModelName(), rig.Environ(), c.approve} }
			begin := func() *run.Engine {
				cfg := config(dir)
				cfg.Work, cfg.Tell, cfg.Tries = actor().work, nil, 2
				e, err := run.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			if c.when != "" {
				text, err := json.Marshal(actor())
				if err != nil {
					t.Fatal(err)
				}
				t.Setenv("ORACLE_CLAUDE", string(text))
				killed(t, dir, "", c.when)
				rig.Script(t, goesOn)
			}
			e := begin()
			if c.when == "" || c.answer != "" {
				rest, err := e.Work(t.Context())
				if err != nil || !strings.Contains(rest.Why, c.rests) {
					t.Fatalf("%+v, %v", rest, err)
				}
				if c.check != nil {
					c.check(t, &e.Journal.State, rest)
				}
				if c.rests == "the run is over" || c.log == "" {
					e.Close()
					if got := read(t, dir, "log.txt"); got != c.log {
						t.Errorf("log.txt: %q", got)
					}
					return
				}
				if q := e.Journal.State.Asked; q != nil {
					if err := e.Answer(q.ID, c.answer); err != nil {
						t.Fatal(err)
					}
				}
				e.Close()
				if c.when == "" {
					rig.Script(t, goesOn)
				}
				for _, at := range e.Journal.State.Limits {
					time.Sleep(time.Until(at))
				}
				e = begin()
			}
			defer e.Close()
			work(t, e, "the run is over")
			if got := read(t, dir, "log.txt"); got != c.log {
				t.Errorf("log.txt: %q", got)
			}
			if got := shell(t, dir, `git show --format= --name-only; git status --porcelain`); got != c.work {
				t.Errorf("%s", got)
			}
			if q := rig.Model.Requests(); c.when != "" && (len(q) == 0 || !strings.Contains(string(q[0].Body), "First part.")) {
				t.Error("its session was not continued")
			}
		})
	}
}
