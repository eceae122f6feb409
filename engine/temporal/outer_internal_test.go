package temporal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/engine"
	"reprise/internal/cli"
)

// newEpic has a run of an epic of two stories, one in each wave, whose agent signs launches.
func newEpic(t *testing.T) (b *bench, launches func() string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	story := "\n\n## Status\n\nReady\n\n## Acceptance Criteria\n\n1. It works.\n\n## Tasks\n\n- [ ] Make it\n"
	b = newBenchOf(t, "epic", reprise.Goal{Path: "docs/stories/EPIC-7-EXECUTION.yaml"},
		"docs/stories/EPIC-7-EXECUTION.yaml", "epic_id: \"7\"\ntitle: Things\nwaves:\n  - number: 1\n    stories:\n      - {id: \"7.1\", title: One}\n  - number: 2\n    stories:\n      - {id: \"7.2\", title: Two}\n",
		"docs/stories/7.1.story.md", "# Story 7.1: One"+story, "docs/stories/7.2.story.md", "# Story 7.2: Two"+story,
		"agent.sh", "cat > /dev/null\necho \"$REPRISE_RUN/$REPRISE_STEP#$REPRISE_ATTEMPT\" >> '"+log+"'\necho made > made-$REPRISE_RUN-$REPRISE_STEP.txt\necho '{\"outcome\":\"done\",\"verdict\":\"PASS\"}' > \"$REPRISE_RESULT\"\n",
		"reprise.yaml", "agents: {any: {command: [sh, agent.sh]}}\nroles: {default: any}\n")
	return b, func() string {
		text, _ := os.ReadFile(log)
		return strings.Join(strings.Fields(string(text)), " ")
	}
}

// refusedOne has an attempt made whose push the remote refuses, and lands that.
func (b *bench) refusedOne(a *Activities) *Landing {
	b.Helper()
	s := b.carriedOn(a)
	_, err := a.attempt(b.Context(), b.Context(), b.next(), AttemptInput{Run: b.run, Start: s}, &words{})
	in := LandInput{Run: b.run, Start: s, Final: isFinal(err), Decide: true}
	in.Kept, in.Where = isKept(err)
	in.Lost, in.Failed = whyLost(err)
	l, err := a.land(b.Context(), b.next(), in)
	if err != nil || !in.Kept || l.Next == nil {
		b.Fatalf("%+v, %+v, %v", in, l, err)
	}
	return l
}

// carriedOn decides what comes next, with what the turns tell each other.
func (b *bench) carriedOn(a *Activities) Start {
	b.Helper()
	d := b.decided(a)
	b.run.Carried = d.Carried
	return d.Starts[0]
}

// What holds for the steps of a run holds for those of the runs within it: a push that the remote
// refuses costs neither an attempt, and what is finished lands once it is allowed. What a person
// is told to type names steps of the run. (issue 19)
func TestWhat_was_refused_within_a_run_is_not_done_again(t *testing.T) {
	t.Parallel()
	b, launches := newEpic(t)
	a, f := b.worker("one"), &Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}
	b.refuse("refs/reprise/")
	for i := range 4 { // more than a step has attempts
		l := b.refusedOne(a)
		if l.Next.Left == nil || len(l.Next.Starts)+len(l.Next.Left.Parked)+len(l.Next.Left.Failed) > 0 || l.Next.Left.Exit != 11 || l.Next.Left.Next != "reprise-fleet resume 7" {
			t.Fatalf("%d: %+v %+v", i, l.Next, l.Next.Left)
		}
		b.run.Taken, b.run.Carried = false, engine.Carried{} // a workflow that was started since
	}
	var kept *KeptAwayError
	if _, err := f.release(t.Context(), "7"); !errors.As(err, &kept) || !strings.Contains(kept.Hint(), "resume 7 --until 7.1`") || !strings.Contains(kept.Hint(), "resume 7 --from 7.1`") {
		t.Errorf("it is given back: %v", reprise.HintOf(err))
	}
	if err := os.Remove(filepath.Join(b.remote, "hooks", "pre-receive")); err != nil {
		t.Fatal(err)
	}
	in := b.tried(a, b.carriedOn(a))
	if l, err := a.land(t.Context(), b.next(), in); err != nil || l.Accepted == nil || l.Accepted.ID != "implement" {
		t.Errorf("%+v, %v", l, err)
	}
	if got := launches(); got != "7.1/implement#1" {
		t.Errorf("agents were started for %s", got)
	}
	if got := b.git(b.remote, "show", Branch("7")+":made-7.1-implement.txt"); got != "made" {
		t.Errorf("the branch has %q", got)
	}
}

// A person who has a step done again has only those steps of runs within the run done again that
// rest on it. (issue 19)
func TestWhat_is_done_again_of_runs_within_a_run(t *testing.T) {
	t.Parallel()
	b, _ := newEpic(t)
	b.run.Choice.From = "7.2"
	clone := filepath.Join(b.dir, "clone")
	b.git(clone, "fetch", "-q", "origin")
	b.git(clone, "checkout", "-q", Branch("7"))
	again, err := doneAgain(t.Context(), clone, &b.run)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"docs/stories/7.1.story.md:implement": false, "docs/stories/7.2.story.md:implement": true, "7.2": true, "7.1": false, "unknown": true} {
		if got := again(key); got != want {
			t.Errorf("%s is done again: %v", key, got)
		}
	}
}

// A step that a run of its own does pushes nothing itself: without a server, the attempts of that
// run tell whether an agent may be at work. (issue 19)
func TestA_run_within_a_run_is_heard_of_by_its_attempts(t *testing.T) {
	t.Parallel()
	b, launches := newEpic(t)
	a, f := b.worker("one"), &Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}
	s := b.carriedOn(a)
	var unheard *UnheardError
	if err := f.GiveBack(t.Context(), "7", false); !errors.As(err, &unheard) || cli.ExitCode(err) != 11 || !strings.Contains(err.Error(), "attempt 1 of 7.1/implement: ") {
		t.Fatalf("nothing is pushed: %v", err)
	}
	b.tried(a, s)
	if err := f.GiveBack(t.Context(), "7", false); err != nil {
		t.Errorf("it is pushed: %v", err)
	}
	if got := b.git(b.remote, "show", Branch("7")+":made-7.1-implement.txt"); got != "made" || launches() != "7.1/implement#1" {
		t.Errorf("the branch has %q after %s", got, launches())
	}
}
