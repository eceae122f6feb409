package agent

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestA_tool_call_has_a_limit_of_its_own(t *testing.T) {
	t.Parallel()
	both := Job{Silence: time.Minute, Call: time.Hour}
	for name, c := range map[string]struct {
		job     Job
		quiet   time.Duration
		calling bool
		want    error
	}{
		"it speaks":                {both, time.Second, false, nil},
		"it is silent":             {both, 2 * time.Minute, false, errSilence},
		"its call is at work":      {both, 2 * time.Minute, true, nil},
		"its call does not end":    {both, 2 * time.Hour, true, errCall},
		"a call may take for ever": {Job{Silence: time.Minute}, 100 * time.Hour, true, nil},
		"silence may, too":         {Job{Call: time.Minute}, 100 * time.Hour, false, nil},
	} {
		if got := c.job.overdue(c.quiet, c.calling); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Of every CLI it is known when a call is under way. One that shows its calls when they
// are over tells when a step begins and ends.
func TestA_call_under_way_is_told_by_the_stream(t *testing.T) {
	t.Parallel()
	for preset, lines := range map[string][2]string{
		"claude": {
			`{"type":"assistant","session_id":"s","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"make"}}]}}`,
			`{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"1"}]}}`,
		},
		"codex": {
			`{"type":"item.started","item":{"id":"1","type":"command_execution","command":"make"}}`,
			`{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"make"}}`,
		},
		"gemini": {
			`{"type":"tool_use","tool_id":"1","tool_name":"run_shell_command","parameters":{"command":"make"}}`,
			`{"type":"tool_result","tool_id":"1"}`,
		},
		"copilot": {
			`{"type":"tool.execution_start","data":{"toolCallId":"1","toolName":"bash","arguments":{"command":"make"}}}`,
			`{"type":"tool.execution_complete","data":{"toolCallId":"1"}}`,
		},
		"opencode": {
			`{"type":"step_start","sessionID":"s"}`,
			`{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls"}}`,
		},
	} {
		rec := recording{Preset: preset, Session: "s"}
		if _, s := rec.replay(lines[:1]); !s.busy() {
			t.Errorf("%s: nothing is under way after %s", preset, lines[0])
		}
		if _, s := rec.replay(lines[:]); s.busy() {
			t.Errorf("%s: something is under way after %s", preset, lines[1])
		}
	}
}

func TestThe_call_that_took_too_long_is_named_whole(t *testing.T) {
	t.Parallel()
	command := strings.Repeat("make check && ", 30) + "git push origin main"
	rec := recording{Preset: "codex", Session: "s"}
	_, s := rec.replay([]string{`{"type":"item.started","item":{"id":"1","type":"command_execution","command":"` + command + `"}}`})
	r := Result{Outcome: TimedOut, Reason: "it was stopped"}
	s.judge(&r, "")
	if len(r.Open) != 1 || r.Open[0].Input != command || !strings.Contains(r.Reason, "make check") {
		t.Errorf("%s, open %+v", r.Reason, r.Open)
	}
}

// The others give a long command back to the model after some seconds.
func TestAC_real_a_long_tool_call_is_no_silence(t *testing.T) {
	t.Parallel()
	if os.Getenv("REPRISE_AGENTS") != "all" {
		t.Skip("takes long: `make test-agents` tries it")
	}
	forPresets(t, []Preset{claude, gemini, opencode}, func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"text":"It takes long.","shell":"timeout 55 tail -f /dev/null; echo one > one.txt"},{"text":"Done."}]}`)
		job := r.job(t)
		job.Silence, job.Call = 45*time.Second, 2*time.Minute
		wantOutcome(t, r.run(t, job), Done)
		if r.File("one.txt") == "" {
			t.Error("the call was cut off")
		}
		r.Script(t, `{"turns":[{"text":"It takes long.","shell":"timeout 90 tail -f /dev/null"},{"text":"Never","hang":true}]}`)
		job = r.job(t)
		job.Silence, job.Call = 2*time.Minute, 20*time.Second
		res := r.run(t, job)
		wantOutcome(t, res, TimedOut)
		if !strings.Contains(res.Reason, "a tool call gave no sign of life") {
			t.Error(res.Reason)
		}
	})
}
