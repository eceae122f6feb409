package engine_test

import (
	"os"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/settings"
)

// SL4, SL9: another tool was killed after it had worked an answer into the specification.
// An agent that finds it there and changes nothing is told what is still to be done, and
// the next attempt can do it.
func TestSL4_SL9_who_finds_an_answer_applied_is_told_to_list_it(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	if err := os.CopyFS(dir, os.DirFS("../examples/specloop")); err != nil {
		t.Fatal(err)
	}
	rewrite(t, dir, "specs/012-team-invites/spec.md", "An invite expires.", "An invite is valid for 7 days; the owner may send it again.")
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-q", "-m", "state")
	e := newEngine(dir)
	e.Settings.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Command: []string{"sh", "-c", `
		cat > "$REPRISE_RESULT.prompt"
		if grep -q 'once its id is listed there, also where the text says it already: C2.1' "$REPRISE_RESULT.prompt"; then
			printf '\n## Clarifications\n\n- C2.1: 7 days\n' >> specs/012-team-invites/spec.md
		fi
		echo '{"outcome":"done","summary":"the text says it already"}' > "$REPRISE_RESULT"`}}
	ref := reprise.Ref{Layout: "specloop", ID: "012-team-invites", Path: "specs/012-team-invites/.workflow", Kind: reprise.KindSpecLoop}
	if _, err := e.Resume(t.Context(), ref, engine.Choice{Until: "B2"}); err != nil {
		t.Fatal(err)
	}
	all := events(t, dir, ref)
	if count(all, reprise.StepFinished, "B2") != 1 || count(all, reprise.StepFailed, "B2") != 1 {
		for _, ev := range all {
			t.Logf("%s %s %s", ev.Kind, ev.Step, ev.Text)
		}
		t.Errorf("B2 was not accepted at the second attempt:\n%s", contents(t, dir)["specs/012-team-invites/spec.md"])
	}
}
