package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
	"reprise/settings"
)

// cutEvents is a command that cuts the run's own event file.
const cutEvents = `f=$(ls .agent-memory/runs/one/events/reprise/*); head -c %d $f > cut; cat cut > $f`

func lostFlow(cut int) string {
	return fmt.Sprintf(`name: f
steps:
  - {id: a, command: [sh, -c, "echo A >> log"]}
  - {id: b, needs: [a], command: [sh, -c, %q]}
  - {id: c, needs: [b], command: [sh, -c, "echo C >> log"]}
`, fmt.Sprintf(cutEvents, cut))
}

// TestX4_what_its_files_lost_is_not_done_again_unasked: an agent cuts the event file
// that tells that a step before was finished. The journal knows better: nothing is
// done twice before a person had a say, and what they say is done.
func TestX4_what_its_files_lost_is_not_done_again_unasked(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, cut := range []int{0, 20} {
		for answer, want := range map[string]string{"it is done": "A C", "do it again": "A C A"} {
			t.Run(fmt.Sprint(cut, answer), func(t *testing.T) {
				t.Parallel()
				e := newEngine(repository(t))
				ref := start(t, e, lostFlow(cut))
				sum, err := e.Resume(t.Context(), ref, engine.Choice{})
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Fields(get(t, e.Dir, "log")); count(events(t, e.Dir, ref), reprise.StepStarted, "a") != 1 || slices.Index(got, "A") != 0 {
					t.Fatalf("a was started again; log %q", got)
				}
				if len(sum.Questions) != 1 || !strings.Contains(sum.Questions[0].Text, "a was finished") || sum.Action != reprise.Ask {
					t.Fatalf("asked %+v, %v", sum.Questions, sum.Action)
				}
				if !slices.ContainsFunc(sum.Findings, func(f reprise.Finding) bool {
					return f.Code == reprise.CodeLostCompletion && strings.Contains(f.Message, "no longer say that a was finished")
				}) {
					t.Errorf("nothing was said: %+v", sum.Findings)
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
				got := strings.Fields(get(t, e.Dir, "log"))
				slices.Sort(got)
				wanted := strings.Fields(want)
				slices.Sort(wanted)
				if !slices.Equal(got, wanted) {
					t.Errorf("done: %q, want %q", got, wanted)
				}
			})
		}
	}
}

// TestX4_a_newer_word_opens_a_step_again: whoever adds an event that opens a
// finished step again is heard without a question.
func TestX4_a_newer_word_opens_a_step_again(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, \"echo A >> log\"]}\n  - {id: b, needs: [a], command: [sh, -c, \"test -f go\"], attempts: 1}\n")
	if _, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	put(t, e.Dir, ".agent-memory/runs/one/events/other/1.jsonl", fmt.Sprintf(`{"ts":%q,"type":"task-started","task":"a","actor":"other"}`+"\n", time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)))
	time.Sleep(1100 * time.Millisecond)
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || len(sum.Questions) > 0 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if got := get(t, e.Dir, "log"); got != "A\nA\n" {
		t.Errorf("log %q", got)
	}
	if slices.ContainsFunc(sum.Findings, func(f reprise.Finding) bool { return f.Severity == reprise.Warning }) {
		t.Errorf("it is nagged about: %+v", sum.Findings)
	}
}

// TestX4_a_plan_that_takes_a_finished_step_back_asks: where files keep only how things
// stand, an agent may have written what it had read before. A finished step is not begun
// again before a person had a say, and the end they confirm is put back.
func TestX4_a_plan_that_takes_a_finished_step_back_asks(t *testing.T) {
	t.Parallel()
	const at = ".auto-claude/specs/001-dark"
	dir := repository(t)
	put(t, dir, ".gitignore", ".auto-claude/\n.reprise/\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "ignore")
	put(t, dir, at+"/implementation_plan.json", `{"feature": "Dark mode", "workflow_type": "feature", "status": "in_progress", "phases": [{"id": "p", "name": "P", "subtasks": [
  {"id": "1.1", "description": "one", "status": "pending"},
  {"id": "1.2", "description": "two", "status": "pending"}]}]}
`)
	put(t, dir, at+"/spec.md", "# Dark\n")
	put(t, dir, at+"/requirements.json", `{"task_description":"x"}`)
	e := newEngine(dir)
	e.Settings.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Command: []string{"sh", "-c", `mkdir -p src; echo "$REPRISE_ATTEMPT" > "src/$REPRISE_STEP"
if [ "$REPRISE_STEP" = 1.2 ]; then for f in $(find "` + dir + `" -name implementation_plan.json); do sed -i 's/"completed"/"pending"/' "$f"; done; fi
echo '{"outcome":"done","verdict":"approved"}' > "$REPRISE_RESULT"`}}
	ref := reprise.Ref{Layout: "autoclaude", ID: "001-dark", Path: at, Kind: reprise.KindBuild}
	sum := resumeOnce(t, e, ref, engine.Choice{})
	if len(sum.Questions) != 1 || !strings.Contains(sum.Questions[0].Text, "1.1 was finished at") || !strings.Contains(sum.Questions[0].Text, "no longer say so") {
		t.Fatalf("asked %+v", sum.Questions)
	}
	if r, d := looked(t, dir, ref); d.Action != reprise.Ask || r.Step("1.1").Status.Closed() {
		t.Errorf("check: %v, %v", d.Action, r.Step("1.1").Status)
	}
	if err := e.Answer(t.Context(), ref, map[string]string{sum.Questions[0].ID: "it is done"}); err != nil {
		t.Fatal(err)
	}
	resumeOnce(t, e, ref, engine.Choice{})
	if r, _ := looked(t, dir, ref); !r.Step("1.1").Status.Closed() || count(events(t, dir, ref), reprise.StepStarted, "1.1") != 1 {
		t.Errorf("1.1 is %v, started %d times", r.Step("1.1").Status, count(events(t, dir, ref), reprise.StepStarted, "1.1"))
	}
}

// A task of a list whose box lost its tick, or says nothing any more, is not done again
// and not passed over before a person had a say.
func TestA_list_that_lost_a_tick_asks_before_anything_is_started(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const file = "specs/001-x/tasks.md"
	list := func(boxes ...string) string {
		text := "# Tasks: X\n\n"
		for i, box := range boxes {
			text += fmt.Sprintf("- [%s] T00%d task\n", box, i+1)
		}
		return text
	}
	for name, c := range map[string]struct {
		until        string   // what is done here first
		boxes        []string // of the list then
		answer, want string
	}{
		"unticked, done":           {"T002", []string{"x", " ", " "}, "keep", "T001 T002 T003"},
		"unticked, again":          {"T002", []string{"x", " ", " "}, "open", "T001 T002 T002 T003"},
		"no box, done":             {"T002", []string{"\xff", "x", " "}, "keep", "T001 T002 T003"},
		"no box of others, done":   {"", []string{"x", "\xff", " "}, "keep", "T003"},
		"no box of others, do it":  {"", []string{"x", "\xff", " "}, "open", "T002 T003"},
		"no box before all others": {"", []string{"\xff", " ", " "}, "keep", "T002 T003"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			put(t, dir, file, list(" ", " ", " "))
			put(t, dir, "specs/001-x/spec.md", "# X\n")
			e := newEngine(dir)
			e.Settings.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Command: []string{
				"sh", "-c", `echo "$REPRISE_STEP" >> log; echo '{"outcome":"done"}' > "$REPRISE_RESULT"`,
			}}
			ref := reprise.Ref{Layout: "speckit", ID: "001-x", Path: file, Kind: reprise.KindTasks}
			if c.until != "" {
				resumeOnce(t, e, ref, engine.Choice{Until: c.until})
			}
			put(t, dir, file, list(c.boxes...))
			if r, d := looked(t, dir, ref); d.Action != reprise.Ask || r.State == reprise.NotStarted {
				t.Errorf("check: %v, %v", d.Action, r.State)
			}
			sum := resumeOnce(t, e, ref, engine.Choice{})
			if len(sum.Questions) != 1 || sum.Launches > 0 {
				t.Fatalf("asked %+v, started %d", sum.Questions, sum.Launches)
			}
			var none *reprise.NotOfferedError
			if err := e.Answer(t.Context(), ref, map[string]string{sum.Questions[0].ID: "perhaps"}); !errors.As(err, &none) || len(none.Options) < 2 {
				t.Error(err)
			}
			if err := e.Answer(t.Context(), ref, map[string]string{sum.Questions[0].ID: c.answer}); err != nil {
				t.Fatal(err)
			}
			if sum := resumeOnce(t, e, ref, engine.Choice{}); sum.State != reprise.Complete || get(t, dir, file) != list("x", "x", "x") {
				t.Errorf("%v, list %q", sum.State, get(t, dir, file))
			}
			if got := strings.Join(strings.Fields(get(t, dir, "log")), " "); got != c.want {
				t.Errorf("done: %q, want %q", got, c.want)
			}
		})
	}
}

func resumeOnce(t *testing.T, e *engine.Engine, ref reprise.Ref, c engine.Choice) *engine.Summary {
	t.Helper()
	sum, err := e.Resume(t.Context(), ref, c)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
