package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
)

// What the programs printed of the figures that a scripted model told: 1000 tokens in,
// 300 from a cache, 50 into it, 70 out of them 20 for reasoning, then 1100, 310, 60, 80,
// 30; and 2000, 400, 70, 90, 40 when the session was resumed. All but claude's model has
// no figure for what a cache took in, so that this is input there.
func TestRecorded_ends_give_what_the_attempt_used(t *testing.T) {
	t.Parallel()
	money := func(amount float64) *float64 { return &amount }
	both := reprise.Tokens{Input: 2210, CacheRead: 610, Output: 150, Reasoning: 50}
	for name, c := range map[string]struct {
		preset  string
		resumes bool
		lines   string
		want    []reprise.Request
	}{
		"claude 2.1.197, resumed": {"claude", true, `{"type":"result","subtype":"success","is_error":false,"session_id":"S","result":"again","total_cost_usd":0.0077325,"usage":{"input_tokens":2000,"cache_creation_input_tokens":70,"cache_read_input_tokens":400,"output_tokens":90},"modelUsage":{"claude-sonnet-4-5":{"inputTokens":2000,"outputTokens":90,"cacheReadInputTokens":400,"cacheCreationInputTokens":70,"webSearchRequests":0,"costUSD":0.0077325}}}`,
			[]reprise.Request{{Model: "claude-sonnet-4-5", Tokens: reprise.Tokens{Input: 2000, CacheRead: 400, CacheWrite: 70, Output: 90}, Cost: money(0.0077325)}}},
		"claude 2.1.325, resumed: its totals are those of the session": {"claude", true, `{"subtype":"success","is_error":false,"session_id":"S","result":"again","total_cost_usd":0.016878,"modelUsage":{"claude-sonnet-4-5":{"inputTokens":4100,"outputTokens":240,"cacheReadInputTokens":1010,"cacheCreationInputTokens":180,"costUSD":0.016878}},"model_usage_since_last_result":{"claude-sonnet-4-5":{"inputTokens":2000,"outputTokens":90,"cacheReadInputTokens":400,"cacheCreationInputTokens":70,"costUSD":0.0077325}},"type":"result"}`,
			[]reprise.Request{{Model: "claude-sonnet-4-5", Tokens: reprise.Tokens{Input: 2000, CacheRead: 400, CacheWrite: 70, Output: 90}, Cost: money(0.0077325)}}},
		"claude with two models": {"claude", false, `{"type":"result","subtype":"success","is_error":false,"session_id":"S","modelUsage":{"opus":{"inputTokens":5,"outputTokens":6,"costUSD":0.5},"haiku":{"inputTokens":7,"outputTokens":8,"costUSD":0.01}}}`,
			[]reprise.Request{{Model: "haiku", Tokens: reprise.Tokens{Input: 7, Output: 8}, Cost: money(0.01)}, {Model: "opus", Tokens: reprise.Tokens{Input: 5, Output: 6}, Cost: money(0.5)}}},
		"claude that asked no model": {"claude", false, `{"type":"result","subtype":"success","is_error":true,"session_id":"S","result":"Invalid API key","modelUsage":{}}`,
			noRequest()},
		"claude that names no model": {"claude", false, `{"type":"result","subtype":"success","is_error":false,"session_id":"S","total_cost_usd":1.5,"usage":{"input_tokens":100,"output_tokens":50}}`,
			[]reprise.Request{{Model: "m", Tokens: reprise.Tokens{Input: 100, Output: 50}, Cost: money(1.5)}}},
		"claude without figures": {"claude", false, `{"type":"result","subtype":"success","is_error":false,"session_id":"S"}`, nil},
		"codex": {"codex", false, `{"type":"thread.started","thread_id":"S"}
{"type":"turn.completed","usage":{"input_tokens":2820,"cached_input_tokens":610,"cache_write_input_tokens":0,"output_tokens":150,"reasoning_output_tokens":50}}`,
			[]reprise.Request{{Model: "m", Tokens: both}}},
		"codex, resumed: its totals are those of the session": {"codex", true, `{"type":"thread.started","thread_id":"S"}
{"type":"turn.completed","usage":{"input_tokens":5290,"cached_input_tokens":1010,"cache_write_input_tokens":0,"output_tokens":240,"reasoning_output_tokens":90}}`, nil},
		"gemini": {"gemini", false, `{"type":"init","session_id":"S"}
{"type":"result","status":"success","stats":{"total_tokens":2970,"input_tokens":2820,"output_tokens":100,"cached":610,"input":2210,"duration_ms":269,"tool_calls":1,"models":{"stub-model":{"total_tokens":2970,"input_tokens":2820,"output_tokens":100,"cached":610,"input":2210}}}}`,
			[]reprise.Request{{Model: "stub-model", Tokens: both}}},
		"opencode": {"opencode", false, `{"type":"step_finish","sessionID":"S","part":{"reason":"tool-calls","type":"step-finish","tokens":{"total":1420,"input":1050,"output":50,"reasoning":20,"cache":{"write":0,"read":300}},"cost":0}}
{"type":"step_finish","sessionID":"S","part":{"reason":"stop","type":"step-finish","tokens":{"total":1550,"input":1160,"output":50,"reasoning":30,"cache":{"write":0,"read":310}},"cost":0.25}}`,
			[]reprise.Request{
				{Model: "m", Tokens: reprise.Tokens{Input: 1050, CacheRead: 300, Output: 70, Reasoning: 20}},
				{Model: "m", Tokens: reprise.Tokens{Input: 1160, CacheRead: 310, Output: 80, Reasoning: 30}, Cost: money(0.25)},
			}},
		"opencode that was cut off in a step": {"opencode", false, `{"type":"step_finish","sessionID":"S","part":{"reason":"tool-calls","type":"step-finish","tokens":{"input":1050,"output":50,"reasoning":20,"cache":{"write":0,"read":300}},"cost":0}}
{"type":"step_start","sessionID":"S","part":{}}`, nil},
		"qwen": {"qwen", false, `{"type":"result","subtype":"success","is_error":false,"session_id":"S","result":"ok","usage":{"input_tokens":2820,"output_tokens":150,"cache_read_input_tokens":610,"total_tokens":2970}}`,
			[]reprise.Request{{Model: "m", Tokens: reprise.Tokens{Input: 2210, CacheRead: 610, Output: 150}}}},
		"qwen, resumed: its totals are those of the session": {"qwen", true, `{"type":"result","subtype":"success","is_error":false,"session_id":"S","result":"ok","usage":{"input_tokens":5390,"output_tokens":250,"cache_read_input_tokens":1010,"total_tokens":5640}}`, nil},
		"copilot": {"copilot", false, `{"type":"result","sessionId":"S","exitCode":0,"usage":{"premiumRequests":0,"totalApiDurationMs":31}}`, nil},
		"figures of another shape are not known, and the end still counts": {"gemini", false, `{"type":"result","status":"success","stats":{"models":[1,2]}}`, nil},
	} {
		p := recording{Preset: c.preset}.preset()
		s := p.stream(func() time.Time { return noon })
		s.resumes = c.resumes
		for line := range strings.Lines(c.lines) {
			if _, err := s.line([]byte(line), p.read, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		r := Result{Outcome: Done}
		s.judge(&r, "")
		s.spentIn(&r, c.preset, "provider/m", nil, t.TempDir(), noon)
		if diff := cmp.Diff(c.want, r.Spent); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if strings.Contains(name, "still counts") && r.Outcome != Done {
			t.Errorf("%s: %s", name, r.Outcome)
		}
	}
}

// A transcript without a figure tells that nothing was used only if no request can have
// been under way.
func TestWhat_a_cut_off_session_used_is_not_nothing(t *testing.T) {
	t.Parallel()
	asked := `{"type":"user","message":{"role":"user","content":"go"},"timestamp":"2026-11-15T00:00:01Z","cwd":"DIR","sessionId":"s1"}` + "\n"
	left := `{"type":"user","message":{"role":"user","content":"[Request interrupted by user]"},"timestamp":"2026-11-15T00:00:02Z","cwd":"DIR","sessionId":"s1"}` + "\n"
	for name, c := range map[string]struct {
		records string
		want    []reprise.Request
	}{
		"cut off in its first request": {asked, nil},
		"ended by a person":            {asked + left, noRequest()},
	} {
		home, dir := t.TempDir(), t.TempDir()
		file := filepath.Join(home, "projects", strings.NewReplacer("/", "-", ".", "-", "_", "-").Replace(dir), "s1.jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(c.records, "DIR", dir)), 0o644); err != nil {
			t.Fatal(err)
		}
		got, ok := Recorded("claude", []string{"CLAUDE_CONFIG_DIR=" + home}, dir, "s1", time.Time{})
		if diff := cmp.Diff(c.want, got.Requests); diff != "" || !ok || got.More != (c.want == nil) {
			t.Errorf("%s: found %t, more %t (-want +got):\n%s", name, ok, got.More, diff)
		}
	}
}
