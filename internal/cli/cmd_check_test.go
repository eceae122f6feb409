package cli

import (
	"testing"

	"reprise"
)

func TestX1_exit_code_says_the_verdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		d    reprise.Decision
		want int
	}{
		{"safe", reprise.Decision{Action: reprise.Start, State: reprise.Interrupted, Verdict: reprise.Safe}, 0},
		{"nothing left", reprise.Decision{Action: reprise.Finish, State: reprise.Complete, Verdict: reprise.VerdictNone}, 3},
		{"caution", reprise.Decision{Action: reprise.Start, State: reprise.Interrupted, Verdict: reprise.Caution}, 10},
		{"blocked", reprise.Decision{Action: reprise.Refuse, State: reprise.Interrupted, Verdict: reprise.BlockedVerdict}, 11},
		{"blocked goes before a question", reprise.Decision{Action: reprise.Ask, State: reprise.Waiting, Verdict: reprise.BlockedVerdict}, 11},
		{"question", reprise.Decision{Action: reprise.Ask, State: reprise.Waiting, Verdict: reprise.Caution}, 12},
		{"stopped on purpose", reprise.Decision{Action: reprise.Ask, State: reprise.Stopped, Verdict: reprise.Caution}, 3},
		{"alive", reprise.Decision{Action: reprise.Refuse, State: reprise.Running, Verdict: reprise.BlockedVerdict}, 20},
		{"unreadable", reprise.Decision{Action: reprise.Repair, State: reprise.Unreadable, Verdict: reprise.BlockedVerdict}, 40},
	} {
		if got := outcomeCodes[c.d.Outcome()]; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestX10_check_flags(t *testing.T) {
	t.Parallel()
	opts, err := checkFlags{mode: "preflight", grade: "verified", verify: "make test"}.options()
	if err != nil || opts.Grade != reprise.Verified || opts.Verify != "make test" || !opts.Full {
		t.Errorf("%+v, %v", opts, err)
	}
	for _, flags := range []checkFlags{{mode: "fast"}, {mode: "interactive", grade: "certain"}} {
		if _, err := flags.options(); err == nil || ExitCode(err) != exitUsage {
			t.Errorf("%+v: %v", flags, err)
		}
	}
}
