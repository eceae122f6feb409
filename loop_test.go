package reprise_test

import (
	"testing"

	"reprise"
)

func TestLoop_is_told_in_one_line(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]reprise.Loop{
		"B1 ask (clarifying, iteration 2 / 10)": {At: "B1 ask", Status: "clarifying", Iteration: "2 / 10"},
		"A1 scaffold (no state file)":           {At: "A1 scaffold", Status: "no state file"},
		"plan: running (iteration 2)":           {At: "plan: running", Iteration: "2"},
		"unknown":                               {At: "unknown"},
	} {
		if got := l.String(); got != want {
			t.Errorf("%+v is told as %q, want %q", l, got, want)
		}
	}
}
