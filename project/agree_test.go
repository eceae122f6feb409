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
	"reprise/internal/sample"
	"reprise/project"
	"reprise/settings"
)

// ends are the words of the preview for how the engine ends.
var ends = map[reprise.Action]string{
	reprise.Start: "Then it stops, and can be resumed.", reprise.Ask: "Then it asks you.", reprise.Wait: "Then it waits.",
	reprise.Repair: "Then its state needs a repair.", reprise.Refuse: "Then it refuses to continue.", reprise.Finish: "Then it is finished.",
}

// Whatever check says the next action is, the preview of resume shows, and the engine
// does: all decide from the same View. A sixth of the scenarios of every convention is
// previewed; a fifth of that is resumed with agents that only start.
// (issue 14, item 3)
func TestCheck_the_preview_and_the_engine_agree_on_what_comes_next(t *testing.T) {
	t.Parallel()
	previewed, resumed := sample.Every(t, 6), sample.Every(t, 30)
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
				if err != nil || slices.Contains([]reprise.Kind{reprise.KindTasks, reprise.KindPlans, reprise.KindSpecLoop}, r.Kind) {
					continue // no one works on such a run, or the core does, whose preview is its own decision
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
