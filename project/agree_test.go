package project_test

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/script"
	"reprise/convention"
	"reprise/engine"
	"reprise/flow"
	"reprise/internal/durable"
	"reprise/internal/sample"
	"reprise/journal"
	"reprise/project"
	"reprise/settings"
)

// ends are the words of the preview for how the engine ends.
var ends = map[reprise.Action]string{
	reprise.Start: "Then it stops, and can be resumed.", reprise.Ask: "Then it asks you.", reprise.Wait: "Then it waits.",
	reprise.Repair: "Then its state needs a repair.", reprise.Refuse: "Then it refuses to continue.", reprise.Finish: "Then it is finished.",
}

// Whatever check says the next action is, the preview of resume shows, and the engine
// does: all decide from the same View. A third of the scenarios of every convention is
// previewed; a fifth of that is resumed with agents that only start.
// (issue 14, item 3)
func TestCheck_the_preview_and_the_engine_agree_on_what_comes_next(t *testing.T) {
	t.Parallel()
	previewed, resumed := sample.Every(t, 3), sample.Every(t, 15)
	archives, err := filepath.Glob("../convention/*/testdata/scenarios/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatalf("%d scenarios, %v", len(archives), err)
	}
	for i, archive := range archives {
		if !previewed(i) {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(archive))))+"/"+strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			t.Parallel()
			e := scriptedEngine(t, archive)
			j := checked(t, e)
			for _, r := range j.Runs {
				book, err := convention.Playbook(r.Layout, r.Kind)
				if err != nil {
					continue // no one works on such a run
				}
				_, choice, approached := engine.Wish{Mode: engine.Autopilot}.Approach(r, j.Decisions[r])
				var p *engine.Preview
				if err = approached; err == nil {
					p, err = e.Preview(t.Context(), r.Ref, choice)
				}
				agrees(t, j.View(r), p, err, func(u reprise.Unit) reprise.Assignment {
					a, err := book.Assign(os.DirFS(e.Dir), r, u)
					if err != nil {
						t.Errorf("%s: %v", r.ID, err)
					}
					return a
				})
				if resumed(i) && approached == nil {
					apart := scriptedEngine(t, archive) // a resume changes what check said of the other runs
					p, err := apart.Preview(t.Context(), r.Ref, choice)
					follows(t, apart, r.Ref, choice, p, err)
				}
			}
		})
	}
}

// Whatever was cut off, and whatever a person has said of it since: what check says comes
// next is what the preview shows and the engine does. Each of two steps is still to do,
// done, or cut off under each policy, asked about or answered. (issue 15, rows 4 and 20)
func TestCheck_the_preview_and_the_engine_agree_on_what_was_cut_off(t *testing.T) {
	t.Parallel()
	const before, over, unanswered = "before", "over", "asked"
	states := []string{before, over, string(reprise.Rerun), string(reprise.Verify), string(reprise.AskWho), unanswered, "it was finished", "run it again", "leave it out"}
	drawn := sample.Every(t, 5)
	for i := range len(states) * len(states) {
		of := map[string]string{"a": states[i/len(states)], "b": states[i%len(states)]}
		if !drawn(i) {
			continue
		}
		t.Run(of["a"]+", "+of["b"], func(t *testing.T) {
			t.Parallel()
			e, ref := cutOffRun(t, func(step string) reprise.Ambiguity {
				if policy := reprise.Ambiguity(of[step]); policy == reprise.Rerun || policy == reprise.Verify {
					return policy
				}
				return reprise.AskWho
			})
			answers := map[string]string{}
			for _, step := range []string{"a", "b"} {
				begun := reprise.Event{Kind: reprise.StepStarted, At: e.Now(), Step: step, Attempt: 1, Key: "k", Policy: reprise.AskWho}
				asked := reprise.Event{Kind: reprise.QuestionAsked, At: e.Now(), Step: step, Question: "cut-off-" + step + "-1", Text: "Was " + step + " finished?", Options: states[6:], Closed: true, Actor: "reprise"}
				switch said := of[step]; said {
				case before:
				case over:
					dies(t, e.Dir, ref, begun, reprise.Event{Kind: reprise.StepFinished, At: e.Now(), Step: step, Attempt: 1, Key: "k"})
				case string(reprise.Rerun), string(reprise.Verify), string(reprise.AskWho):
					begun.Policy = reprise.Ambiguity(said)
					dies(t, e.Dir, ref, begun)
				case unanswered:
					dies(t, e.Dir, ref, begun, asked)
				default:
					dies(t, e.Dir, ref, begun, asked)
					answers[asked.Question] = said
				}
			}
			if err := e.Answer(t.Context(), ref, answers); err != nil {
				t.Fatal(err)
			}
			j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{
				Options: project.Options{Now: e.Now()}, Full: true, Environ: e.Environ, Foresee: engine.Foresee(e.Dir, e.Now()),
			})
			if err != nil {
				t.Fatal(err)
			}
			v := j.View(j.Find(ref))
			_, choice, approached := engine.Wish{Mode: engine.Autopilot}.Approach(v.Run, v.Decision)
			var p *engine.Preview
			if err = approached; err == nil {
				p, err = e.Preview(t.Context(), ref, choice)
			}
			agrees(t, v, p, err, func(u reprise.Unit) reprise.Assignment { return reprise.Assignment{Unit: u, Step: u.ID} })
			if err == nil {
				var says []string
				for _, u := range v.Decision.Units {
					says = append(says, u.ID)
				}
				for _, s := range p.Starts {
					if !slices.Contains(says, s.Step) {
						t.Errorf("check says that %v may be started, the preview starts %s", says, s.Step)
					}
				}
				if point := v.Decision.Point; point != nil && slices.Contains(p.Would, point.ID+" is not started again: a person said that it was finished.") {
					t.Errorf("check says that it goes on at %s, the preview: %q", point.ID, p.Would)
				}
				follows(t, e, ref, choice, p, nil)
			}
		})
	}
}

// cutOffRun begins a run of two steps, the policies of which are given, and two that need them.
func cutOffRun(t *testing.T, policy func(step string) reprise.Ambiguity) (*engine.Engine, reprise.Ref) {
	t.Helper()
	e := scriptedEngine(t, "")
	file := filepath.Join(e.Dir, "flow.yaml")
	text := "name: f\nparallel: 3\nsteps:\n"
	for _, step := range []string{"a", "b"} {
		text += "  - {id: " + step + ", role: any, prompt: do, on_crash: " + string(policy(step)) + "}\n"
	}
	text += "  - {id: c, needs: [a], role: any, prompt: do}\n  - {id: d, needs: [a, b], role: any, prompt: do}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	e.Workflow = func(string) (*flow.Workflow, reprise.Hash, error) { return engine.ReadFlow(file) }
	wf, hash, err := engine.ReadFlow(file)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := e.BeginFlow(t.Context(), wf, "flow.yaml", hash, reprise.Goal{ID: "one"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return e, ref
}

// dies records events of a run as an engine does that is killed after them.
func dies(t *testing.T, dir string, ref reprise.Ref, events ...reprise.Event) {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Release()
	for held := (*durable.HeldError)(nil); ; time.Sleep(10 * time.Millisecond) {
		// A program that another test starts just now may have the lock for a moment.
		if _, err := store.Take(t.Context()); err == nil {
			break
		} else if !errors.As(err, &held) {
			t.Fatal(err)
		}
	}
	j, err := journal.Open(store, convention.Find(ref.Layout), ref)
	for _, ev := range events {
		if err == nil {
			_, err = j.Record(t.Context(), ev)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// agrees reports where a preview does something else than the decision of a view says.
func agrees(t *testing.T, v *project.View, p *engine.Preview, err error, assign func(reprise.Unit) reprise.Assignment) {
	t.Helper()
	d, id := v.Decision, v.Run.Layout+":"+v.Run.ID
	switch want, got := d.Outcome(), cameTo(p, err); {
	case got == want, got == reprise.OutcomeOK && (want == reprise.OutcomeCaution || len(d.Waits) > 0):
	case d.Action == reprise.Finish && got == reprise.OutcomeOK: // the command says before that nothing is left
	case d.State == reprise.Stopped && got == reprise.OutcomeNothing: // a person ended it
	default:
		t.Errorf("%s: check comes to %d, the preview to %d (%q, %v): %+v", id, want, got, d.Reasons, err, p)
	}
	var nobody *engine.UnattendedError
	switch {
	case d.Verdict == reprise.BlockedVerdict:
		if err == nil {
			t.Errorf("%s: check says blocked (%q), the preview %+v", id, d.Reasons, p)
		}
		return
	case errors.As(err, &nobody) && d.Action == reprise.Ask:
		return
	case err != nil:
		t.Errorf("%s: check says %s, the preview refuses: %v", id, d.Action, err)
		return
	}
	var starts []string
	for _, s := range p.Starts {
		starts = append(starts, s.Step)
	}
	would := strings.Join(p.Would, "\n")
	switch d.Action {
	case reprise.Finish:
		if len(starts) > 0 {
			t.Errorf("%s: check says that nothing is left, the preview starts %v", id, starts)
		}
	case reprise.Ask:
		if len(starts) > 0 && len(d.Waits) == 0 {
			t.Errorf("%s: check says that a person is asked (%q), the preview starts %v: %s", id, d.Reasons, starts, would)
		}
	case reprise.Start:
		if len(starts) == 0 && would == "" {
			t.Errorf("%s: check says start %s, the preview does nothing", id, d.Point.ID)
		}
		if len(starts) == 0 {
			return
		}
		a, first := assign(*d.Point), p.Starts[0]
		if a.Local != "" && strings.Contains(would, d.Point.ID+" is recorded as done") {
			return // it needs no one, and what is started comes after it
		}
		if child := a.Child != nil; child != (first.Run != "") || !child && first.Step != cmp.Or(a.Step, d.Point.ID) {
			t.Errorf("%s: check says start %s (%s), the preview starts %v of %q: %s\n%q", id, d.Point.ID, a.Step, starts, first.Run, would, d.Reasons)
		}
	}
}

// cameTo is what a preview came to: the exit code follows from it.
func cameTo(p *engine.Preview, err error) reprise.Outcome {
	var came interface{ Outcome() reprise.Outcome }
	switch {
	case err == nil:
		return p.Outcome
	case errors.As(err, &came):
		return came.Outcome()
	}
	return reprise.OutcomeFailed
}

// Whatever option check offers, the engine does what its preview shows: in a sample of the
// scenarios, each option of each run is previewed and taken. (issue 14, item 3)
func TestThe_engine_does_what_the_preview_of_an_option_shows(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("../convention/*/testdata/scenarios/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatalf("%d scenarios, %v", len(archives), err)
	}
	drawn := sample.Every(t, 40)
	for i, archive := range archives {
		if !drawn(i) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			t.Parallel()
			for _, o := range optionsOf(t, archive) {
				e := scriptedEngine(t, archive)
				choice := reprise.Choice{Option: o.key}
				p, err := e.Preview(t.Context(), o.ref, choice)
				follows(t, e, o.ref, choice, p, err)
			}
		})
	}
}

// scriptedEngine unpacks a scenario, "" for none, and gives an engine for it, whose agents are a command
// that does nothing.
func scriptedEngine(t *testing.T, archive string) *engine.Engine {
	t.Helper()
	dir := t.TempDir()
	if archive != "" {
		unpackScenario(t, archive, dir)
	}
	if err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(name, time.Time{}, time.Now().Add(-time.Minute)) // it was there before anything is started
	}); err != nil {
		t.Fatal(err)
	}
	set := settings.Default()
	set.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Command: []string{"true"}}
	set.Roles["default"] = "actor"
	return &engine.Engine{
		Dir: dir, Settings: set, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, Mode: engine.Autopilot,
		Now:   time.Now, // the times of files are compared with it
		Agent: func(settings.Agent) (agent.Agent, error) { return script.New(script.Options{}), nil },
	}
}

// checked is what check says of the project of an engine.
func checked(t *testing.T, e *engine.Engine) *project.Judgement {
	t.Helper()
	j, err := project.Judge(t.Context(), e.Dir, project.JudgeOptions{Options: project.Options{Now: e.Now()}, Full: true, Environ: e.Environ})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

type offered struct {
	ref reprise.Ref
	key string
}

// optionsOf lists the options of every run in a scenario that the engine carries out.
func optionsOf(t *testing.T, archive string) (out []offered) {
	t.Helper()
	j := checked(t, scriptedEngine(t, archive))
	for _, r := range j.Runs {
		if _, err := convention.Playbook(r.Layout, r.Kind); err != nil {
			continue
		}
		for _, o := range j.Decisions[r].Options(r) {
			// The command itself mends the state and asks, before the engine works.
			if o.Key != reprise.OptionRepair && o.Key != reprise.OptionAnswer {
				out = append(out, offered{r.Ref, o.Key})
			}
		}
	}
	return out
}

// follows resumes a run and reports where the first thing that the engine does is not
// what the preview said: what it starts, what it asks, why it refuses or leaves.
func follows(t *testing.T, by *engine.Engine, ref reprise.Ref, choice reprise.Choice, p *engine.Preview, refused error) {
	t.Helper()
	id := ref.Layout + ":" + ref.ID
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	once := &starter{stop: stop}
	e, began := *by, time.Now()
	e.Now = func() time.Time { return by.Now().Add(time.Since(began)) }
	e.Agent = func(settings.Agent) (agent.Agent, error) { return once, nil }
	var asked []string
	e.Tell = func(p engine.Progress) {
		// What is asked later is about what it has started itself.
		if _, started := once.first(); p.Kind == engine.Questions && !started {
			asked = append(asked, p.Text)
		}
	}
	sum, err := e.Resume(ctx, ref, choice)
	first, started := once.first()
	switch {
	case (err != nil) != (refused != nil) || err != nil && !strings.HasSuffix(err.Error(), refused.Error()):
		t.Errorf("%s: the preview ends with %v, the engine with %v", id, refused, err)
		return
	case err != nil:
		return
	case started && len(p.Starts) == 0:
		t.Errorf("%s: the preview starts nothing (%q), the engine starts %s of %s", id, p.Would, first.Step, first.Run)
	case started:
		want := p.Starts[0]
		if want.Step != first.Step || want.Attempt != first.Attempt || cmp.Or(want.Run, ref.ID) != first.Run {
			t.Errorf("%s: the preview starts attempt %d of %s %s, the engine attempt %d of %s %s", id, want.Attempt, want.Run, want.Step, first.Attempt, first.Run, first.Step)
		}
	case len(p.Starts) > 0:
		t.Errorf("%s: the preview starts %s, the engine starts nothing: %s %q", id, p.Starts[0].Step, sum.Action, sum.Reasons)
	case !slices.Contains(p.Would, ends[sum.Action]) && !slices.Contains(p.Would, "Nothing would be started."):
		t.Errorf("%s: the preview says %q, the engine ends with %s", id, p.Would, sum.Action)
	}
	for _, text := range asked {
		if !slices.Contains(p.Would, "A person is asked: "+text) {
			t.Errorf("%s: the engine asks %q, which the preview does not say: %q", id, text, p.Would)
		}
	}
}

// starter is an agent without a process: it takes its job, has the engine stopped, and
// ends as an agent does that is told to stop.
type starter struct {
	stop context.CancelFunc
	mu   sync.Mutex
	jobs []agent.Job
}

func (s *starter) Start(_ context.Context, job agent.Job) (agent.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, job)
	s.stop()
	return s, nil
}

func (s *starter) first() (agent.Job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.jobs) == 0 {
		return agent.Job{}, false
	}
	return s.jobs[0], true
}

func (*starter) PID() int           { return 0 }
func (*starter) Wait() agent.Result { return agent.Result{Outcome: agent.Stopped} }
func (*starter) Kill()              {}

func unpackScenario(t *testing.T, archive, dir string) {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	name, files := "", map[string]string{}
	for line := range strings.Lines(string(data)) {
		if head, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(head, " --") {
			name = strings.TrimSuffix(head, " --")
			files[name] = ""
			continue
		}
		files[name] += line
	}
	delete(files, "")
	delete(files, "want")
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
