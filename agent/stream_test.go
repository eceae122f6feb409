package agent

import (
	"strings"
	"testing"
	"time"
)

// Events no one has recorded: how they are understood by their documentation.
func TestSingle_ends(t *testing.T) {
	t.Parallel()
	const (
		begun   = `{"type":"system","subtype":"init","session_id":"s"}` + "\n"
		answer  = `{"type":"assistant","session_id":"s","message":{"model":"m","content":[{"type":"text","text":"Words."}]}}` + "\n"
		closed  = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1767355200,"rateLimitType":"five_hour","unifiedWindows":{"five_hour":{"utilization":1,"resetsAt":1767366000},"seven_day":{"utilization":0.5,"resetsAt":1767999000}}}}` + "\n"
		success = `"type":"result","subtype":"success","session_id":"s"`
		thread  = `{"type":"thread.started","thread_id":"s"}` + "\n" + `{"type":"turn.started"}` + "\n"
	)
	for name, tc := range map[string]struct {
		preset Preset
		lines  string
		exit   int
		want   Outcome
		reason string
	}{
		"type is not first":          {claude, begun + `{"is_error":false,` + success + `}`, 0, Done, ""},
		"error called success":       {claude, begun + `{` + success + `,"is_error":true,"api_error_status":400,"result":"API Error"}`, 0, Failed, "API Error"},
		"no is_error":                {claude, begun + `{` + success + `}`, 0, Lost, "not known"},
		"is_error of another shape":  {claude, begun + `{` + success + `,"is_error":"false"}`, 0, Lost, "not known"},
		"interrupted":                {claude, begun + `{` + success + `,"is_error":false,"terminal_reason":"aborted_tools"}`, 0, Killed, ""},
		"refused":                    {claude, begun + `{` + success + `,"is_error":false,"stop_reason":"refusal","result":"No."}`, 0, Refused, "No."},
		"too many turns":             {claude, begun + `{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (2)"]}`, 1, Failed, "maximum"},
		"budget":                     {claude, begun + `{"type":"result","subtype":"error_max_budget_usd","is_error":true}`, 1, NeedsSetup, "budget"},
		"limit, then an error":       {claude, begun + closed + `{` + success + `,"is_error":true,"result":"You've hit your session limit"}`, 1, Limited, "five hour"},
		"limit called success":       {claude, begun + `{` + success + `,"is_error":false,"result":"You've hit your session limit · resets 7pm (UTC)"}`, 0, Limited, "limit"},
		"limit without an answer":    {claude, begun + closed + `{` + success + `,"is_error":false,"result":""}`, 0, Limited, "limit"},
		"limit, then an answer":      {claude, begun + closed + answer + `{` + success + `,"is_error":false,"result":"Words."}`, 0, Done, ""},
		"words about a limit":        {claude, begun + `{` + success + `,"is_error":false,"result":"I added the usage limit and rate limit tests."}`, 0, Done, ""},
		"question":                   {claude, begun + `{` + success + `,"is_error":false,"permission_denials":[{"tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which database?"}]}}]}`, 0, NeedsPerson, "Which database?"},
		"question of another shape":  {claude, begun + `{` + success + `,"is_error":false,"permission_denials":[{"tool_name":"X","tool_input":{"questions":"Which?"}}]}`, 0, NeedsPerson, "may it use X"},
		"deferred":                   {claude, begun + `{` + success + `,"is_error":false,"deferred_tool_use":{"name":"x"}}`, 0, NeedsPerson, "waits"},
		"work after the end":         {claude, begun + `{` + success + `,"is_error":false}` + "\n" + answer, 0, Lost, ""},
		"exit 0 and nothing":         {claude, "", 0, Lost, ""},
		"codex turn after a turn":    {codex, thread + `{"type":"turn.completed"}` + "\n" + `{"type":"turn.started"}`, 0, Lost, ""},
		"codex error is not the end": {codex, thread + `{"type":"error","message":"Reconnecting... 1/5 (429)"}` + "\n" + `{"type":"turn.completed"}`, 0, Done, ""},
		"codex item error":           {codex, thread + `{"type":"item.completed","item":{"id":"1","type":"error","message":"rate limit"}}` + "\n" + `{"type":"turn.completed"}`, 0, Done, ""},
		"codex declined":             {codex, thread + `{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"rm x","status":"declined"}}` + "\n" + `{"type":"turn.completed"}`, 0, NeedsPerson, "rm x"},
		"gemini odd status":          {gemini, `{"type":"init","session_id":"s"}` + "\n" + `{"type":"result","status":"partial"}`, 0, Failed, "partial"},
		"opencode stop, but exit 1":  {opencode, `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}`, 1, Lost, ""},
		"opencode goes on":           {opencode, `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}` + "\n" + `{"type":"step_start","sessionID":"s"}`, 0, Lost, ""},
		"opencode summary only": {opencode, `{"type":"error","sessionID":"s","error":{"name":"ContextOverflowError","data":{"message":"full"}}}` + "\n" +
			`{"type":"step_start","sessionID":"s"}` + "\n" + `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}`, 1, OutOfContext, "full"},
		"opencode summary and the rest": {opencode, `{"type":"error","sessionID":"s","error":{"name":"ContextOverflowError","data":{"message":"full"}}}` + "\n" +
			`{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}` + "\n" +
			`{"type":"text","sessionID":"s","part":{"synthetic":true,"text":"Continue","metadata":{"compaction_continue":true}}}` + "\n" +
			`{"type":"step_start","sessionID":"s"}` + "\n" + `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}`, 1, Done, ""},
		"copilot interrupted":     {copilot, `{"type":"abort","data":{"reason":"user_abort"}}` + "\n" + `{"type":"result","sessionId":"s","exitCode":0}`, 0, Killed, "interrupted"},
		"copilot exit in the end": {copilot, `{"type":"result","sessionId":"s","exitCode":3}`, 0, Failed, "3"},
	} {
		rec := recording{Preset: tc.preset.Name, Session: "s", Exit: tc.exit}
		r, _ := rec.replay(strings.Split(tc.lines, "\n"))
		if r.Outcome != tc.want || !strings.Contains(r.Reason, tc.reason) {
			t.Errorf("%s: %s (%s), want %s", name, r.Outcome, r.Reason, tc.want)
		}
		if strings.HasPrefix(name, "limit, then an error") && !r.Until.Equal(time.Unix(1767366000, 0)) {
			t.Errorf("%s: until %v", name, r.Until)
		}
	}
}

// A part of a broken object never passes for an object, whatever it looks like.
func TestNo_part_of_an_object_is_an_object(t *testing.T) {
	t.Parallel()
	const fake = `{"type":"result","subtype":"success","is_error":false,"session_id":"s"}`
	call := `{"type":"assistant","session_id":"s","message":{"content":[{"type":"tool_use","id":"1","name":"Write","input":` + fake + `}]}}`
	rec := recording{Preset: "claude", Session: "s"}
	for at := range call {
		for _, lines := range [][]string{{call[:at]}, {call[:at], call[at:]}, {call[:at], "x", call[at:]}, {call[:at] + "\x00" + call[at:]}, {call[at:]}} {
			if lines[0] == fake {
				continue
			}
			if r, _ := rec.replay(lines); r.Outcome == Done {
				t.Fatalf("done by %q", lines)
			}
		}
	}
}

// However its output is mangled, a session without its end is not done, and
// what is kept of it is bounded.
func FuzzStream(f *testing.F) {
	for _, rec := range recordings(f) {
		f.Add(rec.Preset, rec.Stdout)
	}
	ends := map[string]string{"claude": "is_error", "codex": "turn.completed", "copilot": "exitCode", "gemini": "success", "opencode": "step_finish", "qwen": "is_error"}
	f.Fuzz(func(t *testing.T, preset, output string) {
		end, known := ends[preset]
		if !known {
			t.Skip()
		}
		rec := recording{Preset: preset}
		r, s := rec.replay(strings.Split(output, "\n"))
		// Escapes can spell a word in many ways, and names are read in any case.
		if r.Outcome == Done && !strings.Contains(output, `\u`) && !strings.Contains(strings.ToLower(output), strings.ToLower(end)) {
			t.Errorf("done without %s", end)
		}
		if len(s.text) > maxText || len(s.open) > maxKept || len(s.cut.rest) > maxRest {
			t.Error("more is kept than may be")
		}
	})
}
