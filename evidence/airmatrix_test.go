//go:build linux

package evidence

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/examine"
)

// recorded are sessions of each CLI in four parts: up to the prompt, the record
// of a call, its result, and the end of the turn.
var recorded = map[string]struct {
	file  string
	parts [4]string
}{
	"claude": {".claude/projects/FOLDER/s1.jsonl", [4]string{
		`{"type":"user","message":{"role":"user","content":"go"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1","version":"2.1.325"}`,
		`{"message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"./deploy --all"}}],"role":"assistant","stop_reason":"tool_use"},"timestamp":"NOW","cwd":"DIR","type":"assistant"}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c1","type":"tool_result","content":"ok"}]},"timestamp":"NOW"}`,
		`{"message":{"content":[{"type":"text","text":"Done."}],"role":"assistant","stop_reason":"end_turn"},"timestamp":"NOW","type":"assistant"}`,
	}},
	"codex": {".codex/sessions/2026/11/15/rollout-s1.jsonl", [4]string{
		`{"timestamp":"NOW","type":"session_meta","payload":{"id":"s1","cwd":"DIR","cli_version":"0.166.0"}}` + "\n" + `{"timestamp":"NOW","type":"event_msg","payload":{"type":"task_started"}}`,
		`{"timestamp":"NOW","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"./deploy --all\"}","call_id":"c1"}}`,
		`{"timestamp":"NOW","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Process exited with code 0"}}`,
		`{"timestamp":"NOW","type":"event_msg","payload":{"type":"task_complete"}}`,
	}},
	"qwen": {".qwen/projects/FOLDER/chats/s1.jsonl", [4]string{
		`{"uuid":"a","sessionId":"s1","timestamp":"NOW","type":"user","cwd":"DIR","version":"0.15.10","message":{"role":"user","parts":[{"text":"go"}]}}`,
		`{"uuid":"b","sessionId":"s1","timestamp":"NOW","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"run_shell_command","args":{"command":"./deploy --all"}}}]}}`,
		`{"uuid":"c","sessionId":"s1","timestamp":"NOW","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","response":{"output":"ok"}}}]}}`,
		`{"uuid":"d","sessionId":"s1","timestamp":"NOW","type":"assistant","message":{"role":"model","parts":[{"text":"Done."}]}}`,
	}},
	"copilot": {".copilot/session-state/s1/events.jsonl", [4]string{
		`{"type":"session.start","data":{"sessionId":"s1","copilotVersion":"1.0.102","context":{"cwd":"DIR"}},"timestamp":"NOW"}` + "\n" + `{"type":"user.message","data":{"content":"go"},"timestamp":"NOW"}`,
		`{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":"./deploy --all"}},"timestamp":"NOW"}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c1","result":{"content":"ok"}},"timestamp":"NOW"}`,
		`{"type":"assistant.message","data":{"content":"Done.","toolRequests":[]},"timestamp":"NOW"}`,
	}},
	"gemini": {"LOG", [4]string{
		`{"type":"init","timestamp":"NOW","session_id":"s1"}`,
		`{"type":"tool_use","timestamp":"NOW","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"./deploy --all"}}`,
		`{"type":"tool_result","timestamp":"NOW","tool_id":"c1","status":"success"}`,
		`{"type":"result","timestamp":"NOW","status":"success"}`,
	}},
}

// The whole way from a transcript to what check says: whatever moment a CLI was
// killed at, a call without a result and a turn without an end are never passed over,
// and finished ones never shown as open.
func TestAC_kill_matrix_of_recorded_sessions(t *testing.T) {
	t.Parallel()
	for cli, r := range recorded {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			folder := strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(d.dir)
			file := strings.ReplaceAll(r.file, "FOLDER", folder)
			if file == "LOG" {
				file = "../" + "repo/.reprise/logs/a.log"
			}
			says := func(moment, content string, inAir bool) {
				t.Helper()
				d.put(file, content)
				o := d.gather()
				found := slices.ContainsFunc(examine.All(d.run, o), func(f reprise.Finding) bool {
					return f.Code == reprise.CodeCallInAir && f.Severity == reprise.Warning
				})
				decision := reprise.Next(d.run, o, reprise.Policy{})
				caution := slices.ContainsFunc(decision.Reasons, func(r string) bool { return strings.Contains(r, "left no result") })
				if found != inAir || caution != inAir {
					t.Errorf("%s: finding %t, reason %t: %+v", moment, found, caution, o.Sessions)
				}
				for _, s := range o.Sessions {
					if inAir && s.Ended || slices.ContainsFunc(s.Calls, func(c reprise.Call) bool { return c.Landing == reprise.Landed }) {
						t.Errorf("%s: shown as done: %+v", moment, s)
					}
				}
			}
			p := r.parts
			if cli == "gemini" { // what an attempt of ours printed; it printed nothing
				says("before the first event", "", false)
			} else {
				// Killed before its first event, or emptied by a power cut: no one knows.
				d.put(file, "")
				o := d.gather()
				if got := reprise.Next(d.run, o, reprise.Policy{}); len(o.SessionsUnread) != 1 || got.Action != reprise.Ask {
					t.Errorf("an empty transcript: %v %v, unread %v", got.Action, got.Reasons, o.SessionsUnread)
				}
			}
			says("after the prompt", p[0]+"\n", true)
			says("in a tool call", p[0]+"\n"+p[1]+"\n", true)
			says("between turns", p[0]+"\n"+p[1]+"\n"+p[2]+"\n", true)
			says("at the end", strings.Join(p[:], "\n")+"\n", false)
			for cut := 1; cut < len(p[1]); cut += 13 {
				says(fmt.Sprintf("writing the call, byte %d", cut), p[0]+"\n"+p[1][:cut], true)
			}
			for cut := 1; cut < len(p[2]); cut += 13 {
				says(fmt.Sprintf("writing its result, byte %d", cut), p[0]+"\n"+p[1]+"\n"+p[2][:cut], true)
			}
		})
	}
}
