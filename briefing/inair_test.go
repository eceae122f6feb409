package briefing

import (
	"strings"
	"testing"

	"reprise"
)

func TestCalls_without_a_result_are_told_with_what_became_of_them(t *testing.T) {
	t.Parallel()
	call := func(effect reprise.Effect, landing reprise.Landing, whole string) reprise.Call {
		return reprise.Call{Tool: "Bash", Text: "short", Whole: whole, Effect: effect, Landing: landing, Signs: []string{"a sign"}}
	}
	passed := call(reprise.EffectFile, reprise.LandingUnknown, "touch passed")
	passed.Passed = true
	got := InAir([]reprise.Session{{CLI: "gemini", ID: "s1", Calls: []reprise.Call{
		call(reprise.EffectRemoteGit, reprise.LandingUnknown, "git push\norigin"), call(reprise.EffectFile, reprise.Landed, "touch a"),
		call(reprise.EffectNone, reprise.NotLanded, "ls"), passed,
	}}})
	want := "- gemini session s1 began Bash: git push origin; remote-git effect, unknown: a sign; to find out, " + (reprise.Call{Effect: reprise.EffectRemoteGit}).Look() + "\n" +
		"- gemini session s1 began Bash: touch a; local-file effect, landed: a sign\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if InAir(nil) != "" {
		t.Error("nothing is told")
	}
}

// However much there is to say, a call that may have happened stays whole.
func TestA_call_in_a_briefing_is_not_cut(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("make check; ", 20) + "git push origin main"
	in := Input{Run: &reprise.Run{Ref: reprise.Ref{ID: "r", Path: "p"}, State: reprise.Interrupted}}
	in.Observed.Sessions = []reprise.Session{{CLI: "claude", ID: "94281cd5-0274-431a-bdca-ec3e3497d904", Calls: []reprise.Call{{Tool: "Bash", Text: text, Effect: reprise.EffectRemoteGit}}}}
	for range 400 {
		in.Run.Findings = append(in.Run.Findings, reprise.Finding{Severity: reprise.Warning, Message: strings.Repeat("a long finding ", 30)})
	}
	if got := Make(in).Text(); !strings.Contains(got, text) || !strings.Contains(got, "; to find out, "+in.Observed.Sessions[0].Calls[0].Look()) || len([]rune(got)) > MaxChars {
		t.Errorf("%d characters:\n%s", len([]rune(got)), got)
	}
}

// What was skipped was not done: it is told apart from what stays valid.
func TestSkipped_steps_are_not_told_as_done(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Ref: reprise.Ref{ID: "r", Path: "p"}, State: reprise.Interrupted, Steps: []reprise.Step{
		{ID: "a", Status: reprise.Done}, {ID: "b", Status: reprise.Skipped}, {ID: "c", Status: reprise.Pending},
	}}
	got := Make(Input{Run: r, Decision: reprise.Next(r, reprise.Observed{}, reprise.Policy{})}).Text()
	for _, want := range []string{"do not redo what stays valid: a [", "do not do what was left out: b ["} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said:\n%s", want, got)
		}
	}
}
