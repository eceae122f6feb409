package examine_test

import (
	"testing"

	"reprise"
)

// What an agent CLI has under way where the run works weighs as much as it can cost.
func TestSessions_beside_a_run(t *testing.T) {
	t.Parallel()
	session := func(change func(*reprise.Session)) *scene {
		return quiet().with(func(s *scene) {
			one := reprise.Session{CLI: "claude", ID: "s1", Dir: ".", Ended: true, Last: now, Owner: reprise.OwnerLife{Life: reprise.Dead, Reason: "seen"}}
			change(&one)
			s.o.Sessions = []reprise.Session{one}
		})
	}
	live := func(change func(*reprise.Session)) *scene {
		return session(func(s *reprise.Session) { s.Owner.Life, s.Ended = reprise.Alive, false; change(s) })
	}
	call := func(c reprise.Call) *scene {
		c.Tool, c.Text = "Bash", "git push"
		return session(func(s *reprise.Session) { s.Calls = []reprise.Call{c} })
	}
	push := reprise.EffectRemoteGit
	for _, c := range []caseOf{
		{"at work", reprise.CodeSessionLive, live(func(*reprise.Session) {}), info, `a "claude" session is working in ".": seen`},
		{"at work in a subfolder", reprise.CodeSessionLive, live(func(s *reprise.Session) { s.Dir = "web" }), info, "is working"},
		{"in a call", reprise.CodeSessionLive, live(func(s *reprise.Session) { s.Ended, s.Calls = true, []reprise.Call{{Effect: push}} }), info, "is working"},
		{"elsewhere", reprise.CodeSessionLive, live(func(s *reprise.Session) { s.Dir = "../other" }), 0, ""},
		{"the one that asks", reprise.CodeSessionLive, live(func(s *reprise.Session) { s.Caller = true }), 0, ""},
		{"over", reprise.CodeSessionLive, session(func(*reprise.Session) {}), 0, ""},

		{"nobody looked", reprise.CodeCallInAir, call(reprise.Call{Effect: push}), warning, "whether it took effect is unknown"},
		{"nobody can tell", reprise.CodeCallInAir, call(reprise.Call{Effect: push, Landing: reprise.LandingUnknown}), warning, "is unknown"},
		{"in part", reprise.CodeCallInAir, call(reprise.Call{Effect: push, Landing: reprise.LandedPartly}), warning, "in part"},
		{"landed", reprise.CodeCallInAir, call(reprise.Call{Effect: push, Landing: reprise.Landed}), info, "it took effect"},
		{"not landed", reprise.CodeCallInAir, call(reprise.Call{Effect: push, Landing: reprise.NotLanded}), info, "it did not take effect"},
		{"only read", reprise.CodeCallInAir, call(reprise.Call{Effect: reprise.EffectNone}), 0, ""},
		{"gone past", reprise.CodeCallInAir, call(reprise.Call{Effect: push, Passed: true}), 0, ""},
	} {
		c.check(t)
	}
}
