package reprise_test

import (
	"testing"
	"time"

	"reprise"
)

func TestAn_age_is_told_as_people_say_it(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-20 * time.Hour: "in the future", -time.Hour: "just now", 59 * time.Second: "just now", time.Minute: "1 minute ago",
		59 * time.Minute: "59 minutes ago", time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 48 * time.Hour: "2 days ago",
		21 * 24 * time.Hour: "3 weeks ago", 60 * 24 * time.Hour: "2 months ago", 700 * 24 * time.Hour: "23 months ago", 800 * 24 * time.Hour: "2 years ago",
	} {
		if got := reprise.Ago(now, now.Add(-d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if got := reprise.Ago(now, time.Time{}); got != "unknown" {
		t.Errorf("no time at all: %q", got)
	}
}
