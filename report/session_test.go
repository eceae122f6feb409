package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"reprise"
	"reprise/report"
)

// What no one looked at is unknown in the document, never done.
func TestAC_calls_without_a_landing_are_unknown(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{State: reprise.Interrupted}
	o := reprise.Observed{Sessions: []reprise.Session{
		{CLI: "codex", Dir: ".", Calls: []reprise.Call{{Tool: "exec_command"}}},
		{CLI: "claude", Dir: ".", Caller: true}, {CLI: "qwen", Dir: "../other"},
	}}
	b, err := json.Marshal(report.NewCheck("/p", "interactive", o, report.NewChecked("", r, reprise.Next(r, o, reprise.Policy{}), o)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"state":"unknown"`, `"effect":"unknown"`, `"life":"unknown"`, `"sessions_unread":[]`, `"signs":[]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	if strings.Contains(string(b), "qwen") || strings.Contains(string(b), `"cli":"claude"`) {
		t.Errorf("sessions that are none of its concern: %s", b)
	}
}
