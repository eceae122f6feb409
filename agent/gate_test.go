package agent

import (
	"testing"
	"time"
)

func TestA_closed_window_stops_all_and_one_goes_first(t *testing.T) {
	t.Parallel()
	var g Gate
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	enter := func(account string, now int, want bool, again time.Time) {
		t.Helper()
		if when, ok := g.Enter(account, at(now)); ok != want || !when.Equal(again) {
			t.Errorf("after %d s: %v, again %v; want %v, %v", now, ok, when, want, again)
		}
	}
	enter("a", 0, true, time.Time{})
	if until := g.Close("a", at(100), at(0)); !until.Equal(at(100)) {
		t.Errorf("closed until %v", until)
	}
	g.Close("a", at(50), at(1)) // an earlier end does not open it
	enter("a", 99, false, at(100))
	enter("b", 99, true, time.Time{})
	enter("a", 100, true, time.Time{})  // the one that goes first
	enter("a", 101, false, time.Time{}) // the others wait for it
	g.Left("a", false, at(102))         // it never came to an answer
	enter("a", 103, true, time.Time{})
	g.Left("a", true, at(104))
	enter("a", 105, false, at(109))
	enter("a", 109, true, time.Time{})
	enter("a", 110, false, at(114))
	g.Left("a", true, at(300))
	enter("a", 301, true, time.Time{})
	enter("a", 301, true, time.Time{})
}

func TestAn_unknown_end_is_guessed_longer_each_time(t *testing.T) {
	t.Parallel()
	var g Gate
	now := noon
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		until := g.Close("a", time.Time{}, now)
		if got := until.Sub(now); got != want*time.Minute {
			t.Fatalf("guessed %v, want %v min", got, want)
		}
		// All that were under way run into the same limit: that is no news.
		if again := g.Close("a", time.Time{}, now); !again.Equal(until) {
			t.Fatalf("%v, want %v", again, until)
		}
		now = until
		if _, ok := g.Enter("a", now); !ok {
			t.Fatal("nobody may go first")
		}
	}
}
