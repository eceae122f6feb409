package checklist_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
	"reprise/convention/playtest"
)

// sprint is a story that waits for its review, as BMAD keeps it.
func sprint(t *testing.T) (playtest.Player, fstest.MapFS) {
	t.Helper()
	f := checklist.Families()[slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == "bmad" })]
	tree := fstest.MapFS{
		"docs/sprint-status.yaml": {Data: []byte("development_status:\n  1-1-cart: review\n")},
		"docs/1-1-cart.md":        {Data: []byte("# Cart\n\nStatus: review\n")},
	}
	return playtest.Player{
		Layout: checklist.New(f), Book: checklist.NewPlaybook(f),
		Ref: reprise.Ref{Layout: f.Name, Kind: reprise.KindTasks, ID: "sprint-status", Path: "docs/sprint-status.yaml"},
	}, tree
}

func TestWhat_a_review_sends_back_is_done_again_or_accepted_as_a_person_says(t *testing.T) {
	t.Parallel()
	for answer, launches := range map[string][]string{
		"fix":    {"reviewer 1-1-cart", "coder 1-1-cart"},
		"accept": {"reviewer 1-1-cart"},
	} {
		p, tree := sprint(t)
		told := ""
		p.Agent = func(j playtest.Job) reprise.Reply {
			if j.Role == "reviewer" {
				return reprise.Reply{Outcome: "done", Verdict: "needs_work", Issues: []string{"no test"}}
			}
			for _, d := range j.Data {
				told += d.Text
			}
			return reprise.Reply{Outcome: "done"}
		}
		p.Answer = func(reprise.Question) (string, bool) { return answer, true }
		r := p.Play(t, tree)
		if r.Run.State != reprise.Complete || !slices.Equal(r.Launches, launches) {
			t.Errorf("%s: %s %s: started %q", answer, r.Run.State, r.GaveUp, r.Launches)
		}
		if answer == "fix" && !strings.Contains(told, "no test") {
			t.Errorf("whoever mends it is not told what the review found: %q", told)
		}
		for kill := 1; kill <= r.Ticks; kill++ {
			p.Kill = kill
			if again := p.Play(t, tree); again.Run.State != reprise.Complete {
				t.Errorf("%s, killed at %d: %s: %s", answer, kill, again.Run.State, again.GaveUp)
			}
		}
	}
}

func TestA_review_without_an_approval_closes_nothing(t *testing.T) {
	t.Parallel()
	for _, verdict := range []string{"", "looks fine, not approved", "rejected", "needs_work"} {
		p, tree := sprint(t)
		p.Agent = func(playtest.Job) reprise.Reply { return reprise.Reply{Outcome: "done", Verdict: verdict} }
		r := p.Play(t, tree)
		if s := r.Run.Step("1-1-cart"); s.Status != reprise.InReview {
			t.Errorf("%q: %s after %q", verdict, s.Status, r.Launches)
		}
	}
}
