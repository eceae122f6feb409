package reprise

import (
	"errors"
	"testing"
)

// TestO3_what_an_answer_stands_for holds what a closed question takes: its options,
// and nothing that has to be guessed at.
func TestO3_what_an_answer_stands_for(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options      []string
		answer, kept string // kept is "" where it is refused
	}{
		{[]string{"go on", "stop: not now"}, "stop: not now", "stop: not now"},
		{[]string{"go on", "stop: not now"}, "Stop", "stop: not now"},
		{[]string{"go on", "stop: not now"}, "stop: I am on holiday", "stop: I am on holiday"},
		{[]string{"go on", "stop: not now"}, "2", "stop: not now"},
		{[]string{"go on", "stop: not now"}, " 1. ", "go on"},
		{[]string{"go on", "stop: not now"}, "  GO   on!", "go on"},
		{[]string{"go on", "stop: not now"}, "go on\nit is fine", "go on\nit is fine"},
		{[]string{"continue", "stop"}, "go on", "continue"},
		{[]string{"continue", "stop"}, "go on: it is fine", "go on: it is fine"},
		{[]string{"continue", "go on"}, "go on", "go on"},
		{[]string{"proceed", "stop"}, "go on", ""},
		{[]string{"go on", "stop"}, "no", ""},
		{[]string{"go on", "stop"}, "cancel", ""},
		{[]string{"go on", "stop"}, "yes", ""},
		{[]string{"go on", "stop"}, "0", ""},
		{[]string{"go on", "stop"}, "3", ""},
		{[]string{"go on", "stop"}, "-1", ""},
		{[]string{"go on", "stop"}, "1, 2", ""},
		{[]string{"go on", "stop"}, "go on?", ""},
		{[]string{"go on", "stop"}, "do not go on", ""},
		{[]string{"go on", "stop"}, "go on never", ""},
		{[]string{"go on", "stop"}, ":", ""},
		{[]string{"go on", "stop"}, "", ""},
		{[]string{"it was finished", "run it again", "leave it out"}, "Yes, it was finished", ""},
		{[]string{"it was finished", "run it again", "leave it out"}, "It was finished.", "it was finished"},
		{[]string{"stop: now", "stop: later", "go on"}, "stop", ""},
		{[]string{"stop: now", "stop: later", "go on"}, "stop: later", "stop: later"},
		{[]string{"stop: now", "stop", "go on"}, "stop", "stop"},
		{[]string{"accept with known gaps", "go on", "abort"}, "accept", "accept with known gaps"},
		{[]string{"accept with known gaps", "go on", "abort"}, "acc", ""},
		{[]string{"accept with known gaps", "go on", "abort"}, "accept nothing", ""},
		{[]string{"approve bootstrap", "approve and continue", "cancel"}, "approve", ""},
		{[]string{"ID", "id"}, "id", "id"},  // the very words come before what means the same
		{[]string{"3", "5", "1"}, "1", "1"}, // its own words come before its number
		{[]string{"approve", "revise", "cancel"}, "Revise: smaller, and 1. approve later", "Revise: smaller, and 1. approve later"},
		{[]string{"approve", "revise", "cancel"}, "approved? not sure", ""},
	} {
		q := Question{ID: "q", Options: c.options, Closed: true}
		kept, err := q.Choose(c.answer)
		var refused *NotOfferedError
		if kept != c.kept || (c.kept == "") != errors.As(err, &refused) {
			t.Errorf("%q to %q: kept %q, %v; want %q", c.answer, c.options, kept, err, c.kept)
		}
		if q.Takes(c.answer) != (c.kept != "") {
			t.Errorf("%q to %q: takes %v", c.answer, c.options, q.Takes(c.answer))
		}
		if kept != "" && q.Option(kept) != q.Option(c.answer) {
			t.Errorf("%q to %q: kept as %q, which stands for %q", c.answer, c.options, kept, q.Option(kept))
		}
		open := Question{ID: "q", Options: c.options}
		if kept, err := open.Choose(c.answer); kept != c.answer || err != nil {
			t.Errorf("an open question keeps %q as %q, %v", c.answer, kept, err)
		}
	}
}
