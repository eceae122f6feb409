package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
	"reprise/settings"
)

const asking = `name: asking
title: A step that asks
steps:
  - {id: a, role: worker, prompt: Make a., outputs: [a.txt]}
  - {id: b, needs: [a], role: worker, prompt: Make b., outputs: [b.txt]}
`

// curious are runs in which one step asks: in a layout with a place for
// questions, and in one without.
var curious = map[string]struct {
	layout string
	kind   reprise.Kind
	goal   reprise.Goal
	step   string
	waits  bool
}{
	"flow":  {step: "a"},
	"build": {layout: "autoclaude", kind: reprise.KindBuild, goal: reprise.Goal{ID: "001-health", Text: "Health endpoint"}, step: "subtask-1-1", waits: true},
}

const (
	theQuestion = "Which colour is it to be?"
	theAnswer   = "as green as grass"
	mayI        = "it wants to use the network and may not"
	youMay      = "do without the network"
)

// inquisitive plays the step that asks: first a question in its result, then, in
// the next attempt, for a permission. Everything else is left to the actor.
func inquisitive(e *engine.Engine, step string) {
	real := e.Agent
	e.Agent = func(s settings.Agent) (agent.Agent, error) {
		behind, err := real(s)
		play := func(job agent.Job) *agent.Result {
			if err := told(job); err != nil {
				return &agent.Result{Outcome: agent.Failed, Reason: err.Error()}
			}
			switch {
			case job.Step != step:
			case !strings.Contains(job.Prompt, theAnswer):
				return leave(job, reprise.Reply{Outcome: "question", Questions: []reprise.Asked{{ID: "Q1", Text: theQuestion, Options: []string{theAnswer, "blue"}}}})
			case !strings.Contains(job.Prompt, youMay):
				return &agent.Result{Outcome: agent.NeedsPerson, Asks: []reprise.Asked{{Text: mayI}}, Reason: "a permission was refused"}
			}
			return nil
		}
		return stub{play: play, behind: behind}, err
	}
}

// told keeps what an attempt was told, one line each.
func told(job agent.Job) error {
	f, err := os.OpenFile(os.Getenv("TEST_TOLD"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %d %d\n", job.Step, strings.Count(job.Prompt, "| "+theAnswer), strings.Count(job.Prompt, "| "+youMay))
	return err
}

// TestHelper_answers_until_it_is_done is no test but a process for one: DIR,
// NAME and the operation on the disk before which it is killed.
func TestHelper_answers_until_it_is_done(t *testing.T) {
	dir, name := os.Getenv("TEST_DIR"), os.Getenv("TEST_NAME")
	if dir == "" {
		t.Skip("a process of another test")
	}
	n, err := strconv.Atoi(os.Getenv("TEST_KILL"))
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(dir)
	c := curious[name]
	inquisitive(e, c.step)
	var mu sync.Mutex
	at := 0
	e.Disk = func(under durable.FS) durable.FS {
		return crashfs.BeforeEach(under, func(int) {
			mu.Lock()
			defer mu.Unlock()
			if at == n {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			at++
		})
	}
	ref, err := beginCurious(e, name)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		answers := map[string]string{}
		for _, q := range sum.Questions {
			switch q.Text {
			case theQuestion:
				answers[q.ID] = theAnswer
			case mayI:
				answers[q.ID] = youMay
			}
		}
		if len(answers) == 0 {
			if sum.State != reprise.Complete && !c.waits {
				t.Fatalf("%+v", sum)
			}
			break
		}
		if err := e.Answer(t.Context(), ref, answers); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(os.Getenv("TEST_TOLD")+".ops", []byte(strconv.Itoa(at)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func beginCurious(e *engine.Engine, name string) (reprise.Ref, error) {
	ctx := context.Background()
	c := curious[name]
	if c.layout != "" {
		return e.Begin(ctx, c.layout, c.kind, c.goal, engine.Choice{})
	}
	ref := refOf("one")
	if _, err := os.Stat(filepath.Join(e.Dir, ref.Path)); err == nil {
		return ref, nil
	}
	w, hash, err := readFlow(filepath.Join(e.Dir, "flow.yaml"))
	if err != nil {
		return ref, err
	}
	return e.BeginFlow(ctx, w, "flow.yaml", hash, reprise.Goal{ID: "one"}, engine.Choice{})
}

// answered is one run whose questions are answered, killed at most once.
func answered(t *testing.T, from, name string, n int) (dir, log string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "p")
	log = dir + ".told"
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, kill := range []int{n, -1} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHelper_answers_until_it_is_done$")
		cmd.Env = append(os.Environ(), "TEST_DIR="+dir, "TEST_NAME="+name, "TEST_KILL="+strconv.Itoa(kill), "TEST_TOLD="+log)
		cmd.WaitDelay = 3 * time.Second
		if out, err := cmd.CombinedOutput(); err == nil {
			return dir, log
		} else if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("killed before operation %d: %v\n%s", n, err, out)
		}
	}
	t.Fatal("the second engine was killed")
	return dir, log
}

// TestX7_X9_answers_are_delivered_exactly_once kills the engine anywhere between
// the first question and the end: nothing is asked twice, every answer is on
// record once, reaches only the step that asked, and every attempt of it until
// it is finished.
func TestX7_X9_answers_are_delivered_exactly_once(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills many processes: left out by -short")
	}
	points := 3
	if n, err := strconv.Atoi(os.Getenv("REPRISE_KILLS")); err == nil {
		points = n
	}
	for name := range curious {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := repository(t)
			put(t, from, "flow.yaml", asking)
			git(t, from, "add", "-A")
			git(t, from, "commit", "-q", "-m", "flow")
			dir, log := answered(t, from, name, -1)
			checkAnswers(t, dir, log, name, "undisturbed")
			ops, err := strconv.Atoi(get(t, filepath.Dir(log), filepath.Base(log)+".ops"))
			if err != nil || ops < 20 {
				t.Fatalf("%d operations: %v", ops, err)
			}
			offset := int(sample.Seed(t) % uint64(max(1, ops/points)))
			for n := offset; n < ops && !t.Failed(); n += max(1, ops/points) {
				dir, log := answered(t, from, name, n)
				checkAnswers(t, dir, log, name, fmt.Sprintf("killed before operation %d of %d", n, ops))
			}
		})
	}
}

func checkAnswers(t *testing.T, dir, log, name, when string) {
	t.Helper()
	step, ref := curious[name].step, refOf("one")
	if c := curious[name]; c.layout != "" {
		ref = reprise.Ref{Layout: c.layout, ID: c.goal.ID, Path: ".auto-claude/specs/" + c.goal.ID, Kind: c.kind}
	}
	all := events(t, dir, ref)
	asked, answers, applied := map[string]int{}, map[string]int{}, map[string]int{}
	text := map[string]string{}
	finished := 0
	for _, ev := range all {
		switch ev.Kind {
		case reprise.QuestionAsked:
			asked[ev.Text]++
			text[ev.Question] = ev.Text
		case reprise.QuestionAnswered:
			answers[text[ev.Question]]++
		case reprise.AnswerApplied:
			applied[text[ev.Question]]++
		case reprise.StepFinished:
			if ev.Step == step {
				finished++
			}
		}
	}
	for _, q := range []string{theQuestion, mayI} {
		if asked[q] != 1 || answers[q] != 1 || applied[q] != 1 {
			t.Errorf("%s: %q was asked %d times, answered %d, applied %d", when, q, asked[q], answers[q], applied[q])
		}
	}
	if finished != 1 {
		t.Errorf("%s: %s was finished %d times", when, step, finished)
	}
	first, second := 0, 0
	for line := range strings.Lines(get(t, filepath.Dir(log), filepath.Base(log))) {
		var who string
		var a, b int
		if _, err := fmt.Sscan(line, &who, &a, &b); err != nil {
			t.Fatal(line, err)
		}
		switch {
		case who != step && a+b > 0:
			t.Errorf("%s: an answer reached %s", when, who)
		case who == step && (a < first || b < second || a > 1 || b > 1):
			t.Errorf("%s: an attempt was told %d and %d, the one before %d and %d", when, a, b, first, second)
		case who == step:
			first, second = a, b
		}
	}
	if first != 1 || second != 1 {
		t.Errorf("%s: the last attempt was told %d and %d", when, first, second)
	}
	if t.Failed() {
		for _, ev := range all {
			t.Logf("%s %s%s %d %s %q %v", ev.Kind, ev.Step, ev.Question, ev.Attempt, ev.Outcome, ev.Text, ev.Answers)
		}
	}
}

// TestX9_an_answer_given_while_the_engine_works reaches the step at once, while
// another one is still at work.
func TestX9_an_answer_given_while_the_engine_works(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", "name: both\ntitle: Side by side\nparallel: 2\nsteps:\n"+
		"  - {id: a, role: asks, prompt: Make a., outputs: [a.txt]}\n  - {id: b, role: takes-long, prompt: Make b., outputs: [b.txt]}\n")
	release, used := make(chan struct{}), make(chan struct{})
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{
		"asks": func(job agent.Job) *agent.Result {
			if !strings.Contains(job.Prompt, theAnswer) {
				return leave(job, reprise.Reply{Outcome: "question", Questions: []reprise.Asked{{ID: "Q1", Text: theQuestion, Subject: "colours"}}})
			}
			close(used)
			return made(job)
		},
		"takes-long": func(job agent.Job) *agent.Result { <-release; return made(job) },
	})
	answered := make(chan struct{})
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Ended && p.Outcome == "question" {
			go func() {
				// Until the question is on record.
				for stubbed(dir, nil).Answer(context.Background(), refOf("one"), map[string]string{"Q1": theAnswer}) != nil {
					time.Sleep(20 * time.Millisecond)
				}
				close(answered)
			}()
		}
	}
	go func() {
		<-used
		close(release)
	}()
	sum := begin(t, e, "one", "flow.yaml")
	<-answered
	all := events(t, dir, refOf("one"))
	if sum.State != reprise.Complete || count(all, reprise.QuestionAsked, "") != 1 || count(all, reprise.AnswerApplied, "") != 1 || count(all, reprise.StepStarted, "a") != 2 {
		t.Errorf("%+v", sum)
		for _, ev := range all {
			t.Logf("%s %s%s %d %s %q %v", ev.Kind, ev.Step, ev.Question, ev.Attempt, ev.Outcome, ev.Text, ev.Answers)
		}
	}
}

// TestX9_agents_number_their_questions_from_one: another question under the same
// name is another question, and one that was answered is not asked for ever.
func TestX9_agents_number_their_questions_from_one(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", asking)
	launched := &launches{}
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"worker": func(job agent.Job) *agent.Result {
		launched.begin(job.Step)
		if job.Step == "a" && strings.Contains(job.Prompt, "| answer to a") {
			return made(job)
		}
		return leave(job, reprise.Reply{Outcome: "question", Questions: []reprise.Asked{{ID: "Q1", Text: "What of " + job.Step + "?"}}})
	}})
	e.Ask = func(_ context.Context, q reprise.Question) (string, bool) { return "answer to " + q.Text[8:9], true }
	sum := begin(t, e, "one", "flow.yaml")
	all := events(t, dir, refOf("one"))
	if count(all, reprise.QuestionAsked, "a") != 1 || count(all, reprise.QuestionAsked, "b") != 1 {
		t.Errorf("asked %d times about a, %d about b", count(all, reprise.QuestionAsked, "a"), count(all, reprise.QuestionAsked, "b"))
	}
	// b asks again whatever it is told: that is a failure, and bounded.
	if len(sum.Failed) == 0 || len(launched.steps) > 3+e.Settings.Attempts {
		t.Errorf("failed %+v, launched %s", sum.Failed, launched)
	}
}

// TestX9_a_question_holds_up_only_what_waits_for_it: a step that a person is asked
// about waits, and all that needs it; what needs no one is done.
func TestX9_a_question_holds_up_only_what_waits_for_it(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, `name: f
steps:
  - {id: q, ask: {question: "Colour?", options: [red, blue]}}
  - {id: paint, needs: [q], command: [touch, painted]}
  - {id: b, command: [sh, -c, "echo B >> log"]}
  - {id: c, needs: [b], command: [sh, -c, "echo C >> log"]}
`)
	for range 2 {
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		if err != nil || sum.Action != reprise.Ask || len(sum.Questions) != 1 {
			t.Fatalf("%+v, %v", sum, err)
		}
		if got := get(t, e.Dir, "log"); got != "B\nC\n" {
			t.Fatalf("log %q", got)
		}
		if all := events(t, e.Dir, ref); count(all, reprise.StepStarted, "paint") != 0 {
			t.Fatal("what waits for the answer was started")
		}
	}
	if err := e.Answer(t.Context(), ref, map[string]string{"q": "red"}); err != nil {
		t.Fatal(err)
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
}

// TestA_refused_call_becomes_a_question_that_grants_it: the answer reaches the program, not
// only the prompt; what was granted once ends with the step.
func TestA_refused_call_becomes_a_question_that_grants_it(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", asking)
	grant := &reprise.Grant{Agent: "claude", Once: []string{"Bash(npm test x:*)"}, Run: []string{"Bash(npm test:*)"}}
	var got [][]string
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"worker": func(job agent.Job) *agent.Result {
		got = append(got, job.Grants)
		if len(job.Grants) == 0 {
			return &agent.Result{Outcome: agent.NeedsPerson, Asks: []reprise.Asked{{Text: "may it use Bash: npm test x", Options: grant.Options(), Closed: true, Grant: grant}}}
		}
		return made(job)
	}})
	for name, a := range e.Settings.Agents {
		a.Preset = "claude"
		e.Settings.Agents[name] = a
	}
	if sum := begin(t, e, "one", "flow.yaml"); sum.Outcome() != reprise.OutcomeAsk || len(sum.Questions) != 1 || sum.Questions[0].Options[1] != "allow in this run: Bash(npm test:*)" {
		t.Fatalf("%+v", sum)
	}
	for i, words := range []string{"allow once", "2"} {
		sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{})
		if err != nil || len(sum.Questions) != 1 {
			t.Fatalf("%d: %+v, %v", i, sum, err)
		}
		if err := e.Answer(t.Context(), refOf("one"), map[string]string{sum.Questions[0].ID: "yes"}); err == nil {
			t.Error("a word that is no option was taken")
		}
		if err := e.Answer(t.Context(), refOf("one"), map[string]string{sum.Questions[0].ID: words}); err != nil {
			t.Fatal(err)
		}
	}
	if sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
	if fmt.Sprint(got) != "[[] [Bash(npm test x:*)] [] [Bash(npm test:*)]]" {
		t.Errorf("told %q", got)
	}
}

// TestAn_agent_that_is_not_signed_in_is_no_question: it is said what to do, the run is
// blocked, and the next resume tries again at no cost.
func TestAn_agent_that_is_not_signed_in_is_no_question(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, "flow.yaml", asking)
	ready := false
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"worker": func(job agent.Job) *agent.Result {
		if !ready {
			return &agent.Result{Outcome: agent.NeedsSetup, Reason: "Invalid API key"}
		}
		return made(job)
	}})
	sum := begin(t, e, "one", "flow.yaml")
	for range 3 {
		if sum.Outcome() != reprise.OutcomeBlocked || len(sum.Questions)+len(sum.Failed) > 0 || len(sum.Refused) != 1 || !strings.Contains(sum.Refused[0].Error(), "is not ready: Invalid API key") {
			t.Fatalf("%+v", sum)
		}
		if verb, _ := sum.FollowUp(); verb != "resume" {
			t.Errorf("next is %s", verb)
		}
		var err error
		if sum, err = e.Resume(t.Context(), refOf("one"), engine.Choice{}); err != nil {
			t.Fatal(err)
		}
	}
	ready = true
	if sum, err := e.Resume(t.Context(), refOf("one"), engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v, %v", sum, err)
	}
}
