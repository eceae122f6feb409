package reprise_test

import (
	"strings"
	"testing"

	"reprise"
)

// One rule for the sessions of every CLI: what is at work refuses, what waits at its
// prompt wants a person, and what was left in a turn or a call makes cautious.
func TestA_session_in_the_folder_weighs_the_same_whatever_its_CLI(t *testing.T) {
	t.Parallel()
	alive, dead := reprise.OwnerLife{Life: reprise.Alive, Reason: "process 7 runs"}, reprise.OwnerLife{Life: reprise.Dead}
	turn := reprise.Call{Text: "a turn", Effect: reprise.EffectUnknown, Landing: reprise.LandingUnknown}
	passed := turn
	passed.Passed = true
	for name, c := range map[string]struct {
		session reprise.Session
		action  reprise.Action
		verdict reprise.Verdict
		reason  string
		holds   bool
	}{
		"at work":                {reprise.Session{Owner: alive, Calls: []reprise.Call{turn}}, reprise.Refuse, reprise.BlockedVerdict, "is at work in the same folder: process 7 runs", false},
		"waits":                  {reprise.Session{Owner: alive, Ended: true}, reprise.Ask, reprise.Caution, "is open in the same folder and waits: process 7 runs", true},
		"waits beside a command": {reprise.Session{Owner: alive, Ended: true, Calls: []reprise.Call{turn}}, reprise.Refuse, reprise.BlockedVerdict, "is at work", false},
		"called us":              {reprise.Session{Owner: alive, Caller: true}, reprise.Start, reprise.Safe, "", false},
		"ended well":             {reprise.Session{Owner: dead, Ended: true}, reprise.Start, reprise.Safe, "", false},
		"ended in a turn":        {reprise.Session{Owner: dead, Calls: []reprise.Call{turn}}, reprise.Start, reprise.Caution, `began "a turn" and left no result`, false},
		"was continued":          {reprise.Session{Owner: dead, Ended: true, Calls: []reprise.Call{passed}}, reprise.Start, reprise.Safe, "", false},
	} {
		for _, cli := range []string{"claude", "codex", "gemini", "opencode", "qwen", "copilot"} {
			s := c.session
			s.CLI, s.Dir = cli, "."
			r := &reprise.Run{State: reprise.Interrupted, Steps: []reprise.Step{{ID: "a", Status: reprise.Pending}}, Next: []reprise.Unit{{ID: "a"}}}
			d := reprise.Next(r, reprise.Observed{Sessions: []reprise.Session{s}}, reprise.Policy{})
			if d.Action != c.action || d.Verdict != c.verdict || !strings.Contains(strings.Join(d.Reasons, "\n"), c.reason) || d.Holds(r) != c.holds {
				t.Errorf("%s, %s: %s, %s, holds %t: %q", cli, name, d.Action, d.Verdict, d.Holds(r), d.Reasons)
			}
		}
	}
}

func TestA_long_command_is_named_whole(t *testing.T) {
	t.Parallel()
	command := strings.Repeat("make check; ", 8) + "git push origin main"
	s := reprise.Session{CLI: "gemini", Dir: ".", Calls: []reprise.Call{{Tool: "Bash", Text: command, Effect: reprise.EffectRemoteGit}}}
	d := reprise.Next(&reprise.Run{State: reprise.Interrupted}, reprise.Observed{Sessions: []reprise.Session{s}}, reprise.Policy{})
	if !strings.Contains(strings.Join(d.Reasons, "\n"), "git push origin main") {
		t.Errorf("%q", d.Reasons)
	}
}

// What lives is gone on with where it is open: a second one would work against it.
func TestA_session_that_lives_is_not_continued_by_a_command(t *testing.T) {
	t.Parallel()
	s := reprise.Session{CLI: "claude", ID: "5d0c1f4e-9a51-4a37-8b34-0c8b0acb0000", Folder: "/code/shop"}
	for life, want := range map[reprise.Life]string{reprise.Alive: "", reprise.Dead: "cd /code/shop && claude --resume " + s.ID, reprise.LifeUnknown: "cd /code/shop && claude --resume " + s.ID} {
		if s.Owner.Life = life; s.Next() != want {
			t.Errorf("%v: %q", life, s.Next())
		}
	}
}
