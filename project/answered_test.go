package project_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/engine"
	"reprise/project"
	"reprise/settings"
)

// Once a question is answered, whichever it is and whatever the answer, check, the preview
// and the engine still agree. Each case is what an attempt, or somebody after it, leaves
// behind. (issue 15)
func TestCheck_the_preview_and_the_engine_agree_once_a_question_is_answered(t *testing.T) {
	t.Parallel()
	const list, tasks = "specs/001-cart/tasks.md", "# Tasks: Cart\n\n- [ ] T001 Make it\n- [ ] T002 Test it\n- [ ] T003 Show it\n"
	write := func(t *testing.T, dir, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, list), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		asks    string // how the name of the question begins
		attempt string // the list after the first attempt
		then    string // the list after the engine left, "" if that does not change it
	}{
		"one removed":        {"removed-", strings.Replace(tasks, "- [ ] T002 Test it\n", "", 1), ""},
		"all others removed": {"removed-", "# Tasks: Cart\n\n- [ ] T001 Make it\n", ""},
		"another ticked":     {"claimed-", strings.Replace(tasks, "[ ] T002", "[x] T002", 1), ""},
		"all others ticked":  {"claimed-", strings.ReplaceAll(strings.ReplaceAll(tasks, "[ ] T002", "[x] T002"), "[ ] T003", "[x] T003"), ""},
		"its end lost":       {"lost-", strings.Replace(tasks, "- [ ] T002 Test it\n", "", 1), tasks},
		"contradicts itself": {"unknown-", strings.Replace(tasks, "[ ] T002 Test it", "[x] T002 Test it (PENDING)", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for option, options := 0, 1; option < options; option++ {
				e := scriptedEngine(t, "../convention/eventrun/testdata/scenarios/intake.txtar")
				e.Dir = t.TempDir()
				if err := os.MkdirAll(filepath.Join(e.Dir, filepath.Dir(list)), 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, e.Dir, tasks)
				look := func() (*project.Judgement, *reprise.Run) {
					j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{
						Options: project.Options{Now: e.Now()}, Full: true, Environ: e.Environ, Foresee: engine.Foresee(e.Dir, e.Now()),
					})
					if err != nil || len(j.Runs) != 1 {
						t.Fatalf("%+v, %v", j, err)
					}
					return j, j.Runs[0]
				}
				_, r := look()
				first, ref := *e, r.Ref
				first.Agent = func(settings.Agent) (agent.Agent, error) {
					return acting{func() {
						write(t, e.Dir, c.attempt)
						if err := os.WriteFile(filepath.Join(e.Dir, "cart.go"), []byte("package cart\n"), 0o644); err != nil {
							t.Error(err)
						}
					}}, nil
				}
				if _, err := first.Resume(t.Context(), ref, reprise.Choice{Until: "T001"}); err != nil {
					t.Fatal(err)
				}
				if c.then != "" {
					write(t, e.Dir, c.then)
				}
				j, r := look()
				open := j.Decisions[r].Unanswered(r)
				at := slices.IndexFunc(open, func(q reprise.Question) bool { return strings.HasPrefix(q.ID, c.asks) })
				if at < 0 {
					t.Fatalf("asked is %+v: %q", open, j.Decisions[r].Reasons)
				}
				options = len(open[at].Options)
				if err := e.Answer(t.Context(), ref, map[string]string{open[at].ID: open[at].Options[option]}); err != nil {
					t.Fatal(err)
				}
				j, r = look()
				d := j.Decisions[r]
				_, choice, approached := engine.Wish{Mode: engine.Autopilot}.Approach(r, d)
				p, err := (*engine.Preview)(nil), approached
				if err == nil {
					p, err = e.Preview(t.Context(), ref, choice)
				}
				t.Logf("%q: %s %q", open[at].Options[option], d.Action, d.Reasons)
				if d.Action == reprise.Start && d.Point == nil {
					if err != nil || len(p.Starts) > 0 || !slices.Contains(p.Would, ends[reprise.Finish]) {
						t.Errorf("check says that nothing is left (%q), the preview %+v, %v", d.Reasons, p, err)
					}
				} else {
					agrees(t, j.View(r), p, err, func(u reprise.Unit) reprise.Assignment {
						book, err := convention.Playbook(r.Layout, r.Kind)
						if err != nil {
							t.Fatal(err)
						}
						a, err := book.Assign(os.DirFS(e.Dir), r, u)
						if err != nil {
							t.Error(err)
						}
						return a
					})
				}
				if approached == nil {
					follows(t, e, ref, choice, p, err)
				}
			}
		})
	}
}

// acting is an agent that does its work at once.
type acting struct{ play func() }

func (a acting) Start(context.Context, agent.Job) (agent.Session, error) {
	a.play()
	return ended{}, nil
}

type ended struct{}

func (ended) PID() int           { return 0 }
func (ended) Wait() agent.Result { return agent.Result{Outcome: agent.Done} }
func (ended) Kill()              {}
