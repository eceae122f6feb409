package reprise

import (
	"testing"
	"time"
)

// Each row is a run in the middle of its work with something beside it that must show in
// the decision: whoever trusts "safe" or "start" pays for a wrong one.
func TestWhat_is_decided_about_a_run(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	session := func(change func(*Session)) func(*Run, *Observed) {
		return func(_ *Run, o *Observed) {
			s := Session{CLI: "claude", Dir: ".", Ended: true, Last: now, Owner: OwnerLife{Life: Dead, Reason: "r"}}
			change(&s)
			o.Sessions = []Session{s}
		}
	}
	call := func(l Landing) func(*Run, *Observed) {
		return session(func(s *Session) { s.Calls = []Call{{Tool: "Bash", Effect: EffectRemoteGit, Landing: l}} })
	}
	finding := func(s Severity) func(*Run, *Observed) {
		return func(r *Run, _ *Observed) { r.Report(Finding{Code: "c", Message: "m", Severity: s}) }
	}
	needs := func(id string) func(*Run, *Observed) {
		return func(r *Run, _ *Observed) { r.Steps[1].Needs = []string{id} }
	}
	for name, c := range map[string]struct {
		change  func(*Run, *Observed)
		action  Action
		state   State
		verdict Verdict
	}{
		"nothing beside it": {func(*Run, *Observed) {}, Start, Interrupted, Safe},

		"it needs what is done":      {needs("1"), Start, Interrupted, Safe},
		"it needs what nobody knows": {needs("ghost"), Ask, Interrupted, Caution},
		"it needs what is not done": {func(r *Run, _ *Observed) {
			r.Steps[1].Needs, r.Steps[2].Needs, r.Next = []string{"3"}, nil, []Unit{{ID: "2"}, {ID: "3"}}
		}, Start, Interrupted, Safe},
		"it needs what was left out, which needs what is not done": {func(r *Run, _ *Observed) {
			r.Steps[0].Status, r.Steps[0].Needs, r.Steps[1].Needs, r.Steps[2].Needs = Skipped, []string{"3"}, []string{"1"}, nil
			r.Next = []Unit{{ID: "2"}}
		}, Start, Interrupted, Safe},
		"a file it rests on is missing": {func(r *Run, _ *Observed) {
			r.Artifacts = []Artifact{{Path: "spec.md", Presence: Missing, Critical: true}}
		}, Start, Interrupted, Caution},

		"evidence against a finished step": {func(r *Run, _ *Observed) {
			r.Steps[0].Evidence = []Evidence{{Kind: EvidenceCommit, Text: "no such commit"}}
		}, Start, Interrupted, Caution},
		"worth knowing":         {finding(Info), Start, Interrupted, Safe},
		"a warning":             {finding(Warning), Start, Interrupted, Caution},
		"something that blocks": {finding(Blocking), Refuse, Interrupted, BlockedVerdict},

		"marked complete while a step is open": {func(r *Run, _ *Observed) { r.State = Complete }, Ask, Waiting, Caution},
		"complete, and git did not answer":     {func(r *Run, o *Observed) { r.State, r.Steps, o.Git = Complete, r.Steps[:1], &Git{Unheard: true} }, Finish, Complete, Caution},
		"complete":                             {func(r *Run, _ *Observed) { r.State, r.Steps = Complete, r.Steps[:1] }, Finish, Complete, VerdictNone},
		"a question will be asked":             {func(r *Run, _ *Observed) { r.Asks = []Asked{{Text: "Was it finished?"}} }, Ask, Waiting, Caution},

		"a session at work":                  {session(func(s *Session) { s.Owner.Life, s.Ended = Alive, false }), Refuse, Running, BlockedVerdict},
		"a session at work in a subfolder":   {session(func(s *Session) { s.Owner.Life, s.Ended, s.Dir = Alive, false, "web" }), Refuse, Running, BlockedVerdict},
		"a session that waits at its prompt": {session(func(s *Session) { s.Owner.Life = Alive }), Ask, Waiting, Caution},
		"a session at work elsewhere":        {session(func(s *Session) { s.Owner.Life, s.Ended, s.Dir = Alive, false, "../other" }), Start, Interrupted, Safe},
		"the session that asks":              {session(func(s *Session) { s.Owner.Life, s.Ended, s.Caller = Alive, false, true }), Start, Interrupted, Safe},
		"a session that is over":             {session(func(*Session) {}), Start, Interrupted, Safe},
		"a call that nobody looked at":       {call(0), Start, Interrupted, Caution},
		"a call that landed in part":         {call(LandedPartly), Start, Interrupted, Caution},
		"a call of which nobody can tell":    {call(LandingUnknown), Start, Interrupted, Caution},
		"a call that landed":                 {call(Landed), Start, Interrupted, Safe},
		"a call that did not land":           {call(NotLanded), Start, Interrupted, Safe},
		"a call that the session went past":  {session(func(s *Session) { s.Calls = []Call{{Tool: "Bash", Effect: EffectGit, Passed: true}} }), Start, Interrupted, Safe},
	} {
		r := &Run{
			State: Interrupted, Reason: "1 of 3 done", LastActivity: now, Steps: steps(Step{ID: "1", Status: Done}, Step{ID: "2", Status: Pending}, Step{ID: "3", Status: Pending, Needs: []string{"2"}}),
			Next: []Unit{{ID: "2"}},
		}
		o := Observed{Now: now}
		c.change(r, &o)
		d := Next(r, o, Policy{})
		if d.Action != c.action || d.State != c.state || d.Verdict != c.verdict {
			t.Errorf("%s: %s, %s, %s %q, want %s, %s, %s", name, d.Action, d.State, d.Verdict, d.Reasons, c.action, c.state, c.verdict)
		}
		for _, u := range d.Units {
			for _, id := range r.Step(u.ID).Needs {
				if need := r.Step(id); need == nil || !need.Status.Closed() || need.Status == Skipped {
					t.Errorf("%s: %s may be started, which needs %s", name, u.ID, id)
				}
			}
		}
		want := c.verdict
		if c.verdict == Safe || c.action == Finish && c.verdict == VerdictNone {
			want = UncheckedVerdict
		}
		if quick := Next(r, o, Policy{Quick: true}); quick.Verdict != want {
			t.Errorf("%s: a quick look says %s", name, quick.Verdict)
		}
	}
}
