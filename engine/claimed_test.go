package engine_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/project"
)

// tickOff is a command that writes the ends of other steps into the run's events.
func tickOff(t *testing.T, steps ...string) string {
	t.Helper()
	var lines []string
	for _, s := range steps {
		lines = append(lines, fmt.Sprintf(`{"event_type":"task-completed","task_id":%q,"timestamp":%q,"actor":"agent","event_id":"x%s"}`, s, shiftedNow().UTC().Format(time.RFC3339Nano), s))
	}
	name := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("f=$(ls .agent-memory/runs/one/events/reprise/*); cat %s >> $f", name)
}

func claimedFlow(command string) string {
	return fmt.Sprintf(`name: f
steps:
  - {id: a, command: [sh, -c, %q]}
  - {id: b, needs: [a], command: [sh, -c, "echo B >> log; touch tested"], outputs: [tested]}
  - {id: c, needs: [b], command: [sh, -c, "echo C >> log"]}
`, command)
}

// looked looks at a run as `check` does.
func looked(t *testing.T, dir string, ref reprise.Ref) (*reprise.Run, reprise.Decision) {
	t.Helper()
	j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: shiftedNow()}, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	r := j.Find(ref)
	if r == nil {
		t.Fatalf("%s is not found", ref.ID)
	}
	return r, j.Decisions[r]
}

func hasCode(list []reprise.Finding, code, subject string) bool {
	return slices.ContainsFunc(list, func(f reprise.Finding) bool { return f.Code == code && f.Subject == subject })
}

// TestO7_X4_what_a_cut_off_attempt_says_of_itself_proves_nothing: an attempt writes that its
// step is done, and its engine is killed. With nothing else that it changed, it may have
// written that before it was done: a person is asked, or it is done again where that may be.
func TestO7_X4_what_a_cut_off_attempt_says_of_itself_proves_nothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work   string
		policy reprise.Ambiguity
		again  bool
	}{
		"alone":                     {"true", reprise.Verify, false},
		"with a commit of it":       {"git add -f .agent-memory && git commit -qm state", reprise.Verify, false},
		"and it may be done again":  {"true", reprise.Rerun, true},
		"and only a person can say": {"true", reprise.AskWho, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, 'echo A >> log']}\n  - {id: b, needs: [a], command: [sh, -c, 'echo B >> log']}\n")
			git(t, e.Dir, "add", "flow.yaml")
			git(t, e.Dir, "commit", "-qm", "flow")
			byAnOlderBuild(t, e, ref, reprise.Event{
				Kind: reprise.StepStarted, Step: "a", Attempt: 1, Key: "k", Policy: c.policy, Base: strings.TrimSpace(git(t, e.Dir, "rev-parse", "HEAD")),
			})
			line := fmt.Sprintf(`{"event_type":"task-completed","task_id":"a","timestamp":%q,"actor":"agent","event_id":"xa"}`, time.Now().UTC().Format(time.RFC3339Nano))
			sh := exec.Command("sh", "-c", "f=$(ls .agent-memory/runs/one/events/reprise/*.jsonl | tail -n 1); echo '"+line+"' >> $f && "+c.work)
			sh.Dir = e.Dir
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			all := events(t, e.Dir, ref)
			if again := count(all, reprise.StepStarted, "a") == 2; again != c.again || count(all, reprise.StepFinished, "a") == 1 != c.again {
				t.Errorf("started again %v, finished %d times", again, count(all, reprise.StepFinished, "a"))
			}
			if asks, begun := len(sum.Questions) == 1, count(all, reprise.StepStarted, "b") > 0; asks == c.again || begun != c.again {
				t.Errorf("asked %+v, b begun %v", sum.Questions, begun)
			}
		})
	}
}

// TestO7_what_an_agent_ticks_off_is_not_done_by_that: an agent writes the ends of other
// steps into the files of the run. The journal knows of no end of them: nothing continues
// from them before a person had a say, and what they say is done.
func TestO7_what_an_agent_ticks_off_is_not_done_by_that(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for answer, want := range map[string]string{"it is done": "C", "do it": "B C"} {
		for _, steps := range [][]string{{"b"}, {"b", "c"}} {
			t.Run(fmt.Sprint(answer, steps), func(t *testing.T) {
				t.Parallel()
				want := want
				if answer == "it is done" && len(steps) == 2 {
					want = ""
				}
				e := newEngine(repository(t))
				ref := start(t, e, claimedFlow(tickOff(t, steps...)))
				sum, err := e.Resume(t.Context(), ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				if len(sum.Questions) != 1 || !strings.Contains(sum.Questions[0].Text, "reprise has no record") || sum.Action != reprise.Ask || sum.State == reprise.Complete {
					t.Fatalf("%v, %v, asked %+v", sum.State, sum.Action, sum.Questions)
				}
				if _, err := os.Stat(filepath.Join(e.Dir, "log")); err == nil {
					t.Fatal("something went on from what only the files say")
				}
				if r, d := looked(t, e.Dir, ref); !hasCode(r.Findings, reprise.CodeUnrecordedEnd, "b") || d.Action != reprise.Ask || r.State == reprise.Complete {
					t.Errorf("check: %v %v %+v", r.State, d.Action, r.Findings)
				}
				// Another process asks the same and nothing else.
				if sum, err = e.Resume(t.Context(), ref, engine.Choice{}); err != nil || len(sum.Questions) != 1 {
					t.Fatalf("%+v, %v", sum, err)
				}
				if err := e.Answer(t.Context(), ref, map[string]string{sum.Questions[0].ID: answer}); err != nil {
					t.Fatal(err)
				}
				if sum, err = e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
					t.Fatalf("%+v, %v", sum, err)
				}
				got := ""
				if b, err := os.ReadFile(filepath.Join(e.Dir, "log")); err == nil {
					got = strings.Join(strings.Fields(string(b)), " ")
				}
				if got != want {
					t.Errorf("log %q, want %q", got, want)
				}
				if r, _ := looked(t, e.Dir, ref); r.State != reprise.Complete || hasCode(r.Findings, reprise.CodeUnrecordedEnd, "b") {
					t.Errorf("in the end: %v %+v", r.State, r.Findings)
				}
			})
		}
	}
}

// TestO7_an_answer_that_an_agent_writes_is_none: only what is on record is what a person
// said.
func TestO7_an_answer_that_an_agent_writes_is_none(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, `name: f
steps:
  - {id: q, ask: {question: "Release?", options: [go on, stop]}}
  - {id: c, needs: [q], command: [sh, -c, "echo C >> log"]}
`)
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || len(sum.Questions) != 1 {
		t.Fatalf("%+v, %v", sum, err)
	}
	logs, err := filepath.Glob(filepath.Join(e.Dir, ref.Path, "events/reprise/*"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	f, err := os.OpenFile(logs[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, `{"event_type":"escalation-resolved","task_id":"q","timestamp":%q,"actor":"agent","event_id":"xq","details":{"escalation_id":"q","resolution":"go on"}}`+"\n", shiftedNow().UTC().Format(time.RFC3339Nano))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if sum, err = e.Resume(t.Context(), ref, engine.Choice{}); err != nil || len(sum.Questions) != 1 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if _, err := os.Stat(filepath.Join(e.Dir, "log")); err == nil {
		t.Fatal("c was started")
	}
}
