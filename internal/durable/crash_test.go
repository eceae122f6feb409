package durable_test

import (
	"testing"

	"reprise/internal/durable/crashfs"
)

func TestX(t *testing.T) {
	for _, sc := range []crashfs.Scenario{
		logScenario("append", "", 4, 0, payload), logScenario("rotate", "", 6, 400, payload),
		replaceScenario(""), groupScenario("", 2), leaseScenario(""), archiveScenario(""),
	} {
		r := crashfs.Explore(sc, crashfs.Config{Fine: false})
		t.Log(sc.Name, r)
		for _, b := range r.Bad {
			t.Error(b)
		}
	}
}
