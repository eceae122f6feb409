package engine_test

import (
	"context"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
)

// LR9: whoever leaves plans that are not done says so in STATE.md, here because it was to
// stop there. Who only waits for a person did not take them up and writes nothing.
func TestLR9_what_is_left_is_not_called_executing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(dir string) engine.Choice
		want    string
	}{
		"until a task": {func(dir string) engine.Choice {
			rewrite(t, dir, checkoutState+"clarifications.md", "**Status:** pending\n**Response:**", "**Status:** answered\n**Response:** a link")
			return engine.Choice{Until: "02"}
		}, "Status: Stopped\n"},
	} {
		dir := groupProject(t)
		e := newEngine(dir)
		choice := c.prepare(dir)
		if _, err := e.Resume(t.Context(), checkout, choice); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := contents(t, dir)[checkoutState+"STATE.md"]; !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
		r := loaded(t, dir, checkout)
		if r.State == reprise.Stopped || r.State == reprise.Complete {
			t.Errorf("%s: it is %s: %s", name, r.State, r.Reason)
		}
		all := events(t, dir, checkout)
		if n := len(all); n < 2 || all[n-1].Kind != reprise.EngineLeft || all[n-2].Kind != reprise.RunStopped || all[n-2].Outcome != "paused" {
			t.Errorf("%s: %+v", name, all)
		}
		// It is taken up again as ever, to its end.
		e = newEngine(dir)
		e.Ask = func(context.Context, reprise.Question) (string, bool) { return "only a link", true }
		if sum, err := e.Resume(t.Context(), checkout, engine.Choice{}); err != nil || sum.State != reprise.Complete {
			t.Errorf("%s: afterwards: %+v, %v", name, sum, err)
		}
		if got := contents(t, dir)[checkoutState+"STATE.md"]; !strings.Contains(got, "Status: Complete\n") {
			t.Errorf("%s: in the end\n%s", name, got)
		}
	}
}
