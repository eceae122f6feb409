package temporal

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/failure/v1"

	"reprise"
	"reprise/engine"
	"reprise/internal/cli"
)

// An agent that says it is done and changed nothing is told of in the fleet as anywhere
// else, and its run does not end as one without doubt. (issue 19)
func TestA_word_alone_is_told(t *testing.T) {
	t.Parallel()
	const says = `echo '{"outcome":"done","summary":"nothing needed"}' > "$REPRISE_RESULT"`
	for name, c := range map[string]struct {
		does string
		told bool
	}{
		"nothing changed":  {says, true},
		"something is new": {"echo a > a.txt; " + says, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "name: r\nsteps:\n  - {id: a, role: dev, prompt: do it}\n", "reprise.yaml", agentThat(c.does))
			a := b.worker("one")
			in := b.attempted(a)
			in.Decide = true
			l, err := a.land(t.Context(), b.next(), in)
			if err != nil || l.Accepted == nil || l.Next == nil || l.Next.Left == nil {
				t.Fatalf("%+v, %v", l, err)
			}
			left := l.Next.Left
			told := false
			for _, f := range left.Findings {
				told = told || f.Code == reprise.CodeNothingMade
			}
			if told != c.told || (left.Exit == 10) != c.told {
				t.Errorf("exit %d, %+v", left.Exit, left.Findings)
			}
		})
	}
}

// An attempt that leaves a merge or the like under way in its checkout is not done: what
// plain reprise does not commit, the fleet does not either. (issue 19)
func TestA_merge_under_way_is_not_committed(t *testing.T) {
	t.Parallel()
	const git = `g() { git -c user.name=x -c user.email=x@y "$@"; }; echo b > f.txt; g add f.txt; g commit -qm one; g checkout -q -b other HEAD~1; echo c > f.txt; g add f.txt; g commit -qm two; `
	for name, does := range map[string]string{
		"merge":       git + "g merge -q -; true",
		"cherry-pick": git + "g cherry-pick -; true",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fmt.Sprintf("name: r\nsteps:\n  - {id: a, command: [sh, -c, %q], outputs: [f.txt]}\n", does))
			a := b.worker("one")
			d := b.decided(a)
			_, err := a.attempt(t.Context(), t.Context(), b.next(), AttemptInput{Run: b.run, Start: d.Starts[0]}, &words{})
			kept := filepath.Join(a.Mirror.Dir, "kept-r-a-1")
			if err == nil || !isFinal(err) || !strings.Contains(err.Error(), "a "+name+" is under way") || !strings.Contains(err.Error(), kept) {
				t.Fatalf("it is not final, or does not name %s: %v", kept, err)
			}
			lost, failed := whyLost(err)
			l, err := a.land(t.Context(), b.next(), LandInput{Run: b.run, Start: d.Starts[0], Lost: lost, Failed: failed, Final: true, Decide: true})
			if err != nil || l.Accepted != nil || l.Next == nil || l.Next.Left == nil || l.Next.Left.Exit != 11 {
				t.Fatalf("%+v, %v", l, err)
			}
			if has := b.git(b.remote, "ls-tree", "--name-only", Branch("r"), "f.txt"); has != "" {
				t.Error("the branch has its files")
			}
		})
	}
}

// agentThat are the settings of a project whose one agent does this.
func agentThat(does string) string {
	return fmt.Sprintf("agents: {w: {command: [sh, -c, %q]}}\nroles: {default: w}\n", does)
}

// A last step that a run does not have is refused before the run is begun. (issue 19)
func TestUntil_names_a_step_of_the_run(t *testing.T) {
	t.Parallel()
	b := newBench(t, oneStep)
	f := &Fleet{Clone: filepath.Join(b.dir, "clone"), Remote: b.remote}
	for _, c := range []struct {
		what, until string
		wrong       bool
	}{{"flow.yaml", "a", false}, {"flow.yaml", "zz", true}, {"build", "zz", true}} {
		err := f.CheckUntil(t.Context(), c.what, reprise.Goal{Text: "it", ID: "n"}, c.until)
		if step := new(engine.StepError); errors.As(err, &step) != c.wrong || !c.wrong && err != nil || c.wrong && cli.ExitCode(err) != 2 {
			t.Errorf("%s --until %s: %v", c.what, c.until, err)
		}
	}
	if branches := b.git(b.remote, "for-each-ref", "--format=%(refname)", "refs/heads/"+Branch("n")); branches != "" {
		t.Errorf("it was begun: %s", branches)
	}
}

// What is tried again because a worker was lost is told in our words, not in those of the library; what
// a worker said itself stays as it is. (issue 19)
func TestWhat_is_tried_again_is_told_in_our_words(t *testing.T) {
	t.Parallel()
	lost := &failure.Failure{Message: "activity Heartbeat timeout", FailureInfo: &failure.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failure.TimeoutFailureInfo{}}}
	said := &failure.Failure{Message: "reach the remote: no such host", FailureInfo: &failure.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failure.ApplicationFailureInfo{}}}
	for want, why := range map[string]*failure.Failure{"the worker that had it was lost": lost, said.Message: said} {
		if got := whyAgain(why); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
