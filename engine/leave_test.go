package engine_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
)

// LR9: plans that are left where a person said so are not over, and are taken up again to their
// end; STATE.md follows.
func TestLR9_what_is_left_is_taken_up_again(t *testing.T) {
	t.Parallel()
	dir := groupProject(t)
	rewrite(t, dir, checkoutState+"clarifications.md", "**Status:** pending\n**Response:**", "**Status:** answered\n**Response:** a link")
	sum, err := newEngine(dir).Resume(t.Context(), checkout, engine.Choice{Until: "02"})
	if err != nil || !sum.Reached {
		t.Errorf("%+v, %v", sum, err)
	}
	if r := loaded(t, dir, checkout); r.State == reprise.Stopped || r.State == reprise.Complete || r.Step("02").Status != reprise.Done || r.Step("03").Status.Closed() {
		t.Errorf("it is %s: %s", r.State, r.Reason)
	}
	if all := events(t, dir, checkout); len(all) == 0 || all[len(all)-1].Kind != reprise.EngineLeft {
		t.Errorf("%+v", all)
	}
	if sum, err := newEngine(dir).Resume(t.Context(), checkout, engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Errorf("afterwards: %+v, %v", sum, err)
	}
	if log := git(t, dir, "log", "--format=%s"); strings.Contains(log, "Resume ") {
		t.Errorf("a resume made a commit of its own:\n%s", log)
	}
	if got := contents(t, dir)[checkoutState+"STATE.md"]; !strings.Contains(got, "Status: Complete\n") {
		t.Errorf("in the end\n%s", got)
	}
}
