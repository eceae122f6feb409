package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/sample"
)

const awaiting = `name: awaiting
title: A question beside other work
steps:
  - {id: slow, role: worker, prompt: Take your time.}
  - {id: colour, ask: {question: "Which colour is it to be?"}}
  - {id: paint, needs: [colour], role: worker, prompt: Paint it.}
`

// office is a run that waits for an answer while one of its steps is at work, and
// the inbox of its project.
type office struct {
	t      *testing.T
	dir    string
	inbox  string
	engine *engine.Engine

	release chan struct{} // ends the step that is at work
	slow    chan struct{} // closed once it is
	painted chan string   // what the step after the question was told
	sum     *engine.Summary
	err     error
	over    chan struct{}

	mu    sync.Mutex
	taken func() // called once while an answer is being taken in
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{t: t, dir: repository(t), release: make(chan struct{}), slow: make(chan struct{}), painted: make(chan string, 9), over: make(chan struct{})}
	o.inbox = filepath.Join(o.dir, ".reprise", "inbox")
	put(t, o.dir, "flow.yaml", awaiting)
	o.engine = stubbed(o.dir, map[string]func(agent.Job) *agent.Result{"worker": func(job agent.Job) *agent.Result {
		if job.Step == "slow" {
			close(o.slow)
			<-o.release
		} else {
			o.painted <- job.Prompt
		}
		return leave(job, reprise.Reply{Outcome: "done"})
	}})
	o.engine.Now = func() time.Time {
		// What happens while an answer is taken in happens between reading the
		// inbox and taking the answer out of it.
		o.mu.Lock()
		taken := o.taken
		if taken != nil && strings.Contains(string(debug.Stack()), "(*work).put(") {
			o.taken = nil
			defer taken()
		}
		o.mu.Unlock()
		return time.Now()
	}
	w, hash, err := readFlow(filepath.Join(o.dir, "flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.engine.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "one"}, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	return o
}

// open lets the engine work until the slow step is at work and the question asked.
func (o *office) open() *office {
	go func() {
		defer close(o.over)
		o.sum, o.err = o.engine.Resume(o.t.Context(), refOf("one"), engine.Choice{})
	}()
	select {
	case <-o.slow:
	case <-o.over:
		o.t.Fatalf("nothing was at work: %v", o.err)
	}
	for count(events(o.t, o.dir, refOf("one")), reprise.QuestionAsked, "colour") == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	return o
}

// letter is the line of an answer.
func (o *office) letter(answer string) string { return o.letterTo("colour", answer) }

func (o *office) letterTo(question, answer string) string {
	ref := refOf("one")
	line, err := json.Marshal(map[string]any{"layout": ref.Layout, "path": ref.Path, "question": question, "answer": answer, "at": time.Now()})
	if err != nil {
		o.t.Fatal(err)
	}
	return string(line) + "\n"
}

func (o *office) write(text string) {
	o.t.Helper()
	if err := os.WriteFile(o.inbox, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) read() string {
	o.t.Helper()
	data, err := os.ReadFile(o.inbox)
	if err != nil {
		o.t.Fatal(err)
	}
	return string(data)
}

// answered waits until the answer reached the step that needs it.
func (o *office) answered(want string) {
	o.t.Helper()
	select {
	case prompt := <-o.painted:
		if !strings.Contains(prompt, want) {
			o.t.Errorf("the step was not told %q", want)
		}
	case <-o.over:
		o.t.Fatalf("the answer was not taken in: %v; the inbox holds %q", o.err, o.read())
	}
}

// close lets the run come to its end and gives the findings of one code.
func (o *office) close(code string) []reprise.Finding {
	o.t.Helper()
	close(o.release)
	<-o.over
	if o.err != nil || o.sum.State != reprise.Complete {
		o.t.Fatalf("%+v %v", o.sum, o.err)
	}
	return slices.DeleteFunc(slices.Clone(o.sum.Findings), func(f reprise.Finding) bool { return f.Code != code })
}

// recorded are the answers on record.
func (o *office) recorded() (out []string) {
	for _, ev := range events(o.t, o.dir, refOf("one")) {
		if ev.Kind == reprise.QuestionAnswered {
			out = append(out, ev.Text)
		}
	}
	return out
}

const torn = `{"layout":"eventrun","path":".agent-memory/runs/one","question":"colour","answ`

// TestO3_D5_a_damaged_line_in_the_inbox holds up no answer behind it, is told of
// once however often the inbox is looked at, and stays where it is.
func TestO3_D5_a_damaged_line_in_the_inbox(t *testing.T) {
	t.Parallel()
	o := newOffice(t).open()
	o.write(torn + "\n" + "\n  \t\r\n" + o.letter("green"))
	o.answered("green")
	time.Sleep(2500 * time.Millisecond) // it is looked at every second
	told := o.close(reprise.CodeDamagedLine)
	if len(told) != 1 || told[0].Source.File != ".reprise/inbox" || told[0].Source.Line != 1 || told[0].Hint == "" {
		t.Errorf("told %+v", told)
	}
	if got := o.recorded(); !slices.Equal(got, []string{"green"}) {
		t.Errorf("recorded %q", got)
	}
	if got := o.read(); got != torn+"\n"+"\n  \t\r\n" {
		t.Errorf("the inbox holds %q", got)
	}
}

// TestO3_D5_an_answer_after_a_torn_line_is_one_of_its_own posts behind a line
// without an end.
func TestO3_D5_an_answer_after_a_torn_line_is_one_of_its_own(t *testing.T) {
	t.Parallel()
	o := newOffice(t).open()
	o.write(torn)
	if err := newEngine(o.dir).Answer(t.Context(), refOf("one"), map[string]string{"colour": "green"}); err != nil {
		t.Fatal(err)
	}
	o.answered("green")
	if told := o.close(reprise.CodeDamagedLine); len(told) != 1 {
		t.Errorf("told %+v", told)
	}
	if got := o.read(); strings.TrimSpace(got) != torn {
		t.Errorf("the inbox holds %q", got)
	}
}

// TestO3_D5_every_damaged_line_is_told_of tells of lines that are no answers for
// different reasons, one finding each.
func TestO3_D5_every_damaged_line_is_told_of(t *testing.T) {
	t.Parallel()
	o := newOffice(t).open()
	bad := "null\n[]\n{}\n" + torn + "\n" + torn + "\n\"text\"\n{\"layout\":\"eventrun\",\"path\":\".agent-memory/runs/one\",\"question\":\"colour\"}\n\xff\xfe\n"
	o.write(bad + o.letter("green"))
	o.answered("green")
	// The same line twice is the same thing to say.
	if told := o.close(reprise.CodeDamagedLine); len(told) != 7 {
		t.Errorf("%d are told of: %+v", len(told), told)
	}
	if got := o.read(); got != bad {
		t.Errorf("the inbox holds %q", got)
	}
	if got := o.recorded(); !slices.Equal(got, []string{"green"}) {
		t.Errorf("recorded %q", got)
	}
}

// TestX3_a_person_changes_the_inbox_while_an_answer_is_taken_in leaves everything
// they wrote as it is.
func TestX3_a_person_changes_the_inbox_while_an_answer_is_taken_in(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, c := range map[string]struct {
		change func(o *office, line string)
		left   func(o *office, line string) string // what the inbox holds at the end
		late   int                                 // answers that are told to have come too late
	}{
		"adds lines": {
			func(o *office, line string) { o.write("before\n" + line + "after") },
			func(*office, string) string { return "before\nafter" }, 0,
		},
		"quotes the line": {
			func(o *office, line string) { o.write("was: " + line) },
			func(_ *office, line string) string { return "was: " + line }, 0,
		},
		"changes the answer": {
			func(o *office, line string) { o.write(strings.Replace(line, "green", "blue", 1)) },
			func(*office, string) string { return "" }, 1,
		},
		"gives it twice": {
			func(o *office, line string) { o.write(line + line) },
			func(*office, string) string { return "" }, 0,
		},
		"takes it away": {
			func(o *office, line string) { o.write("") },
			func(*office, string) string { return "" }, 0,
		},
		"takes the file away": {
			func(o *office, line string) {
				if err := os.Remove(o.inbox); err != nil {
					o.t.Error(err)
				}
			},
			func(*office, string) string { return "" }, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t).open()
			o.t = t
			line := o.letter("green")
			changed := make(chan struct{})
			o.mu.Lock()
			o.taken = func() { c.change(o, line); close(changed) }
			o.mu.Unlock()
			o.write(line)
			o.answered("green")
			<-changed
			time.Sleep(1500 * time.Millisecond)
			if told := o.close(reprise.CodePendingQuestion); len(told) != c.late || c.late > 0 && !strings.Contains(told[0].Message, "colour") {
				t.Errorf("told %+v", told)
			}
			if got, want := o.read(), c.left(o, line); got != want {
				t.Errorf("the inbox holds %q, want %q", got, want)
			}
			if got := o.recorded(); !slices.Equal(got, []string{"green"}) {
				t.Errorf("recorded %q", got)
			}
		})
	}
}

// TestX3_an_inbox_that_cannot_be_read stops no one's work.
func TestX3_an_inbox_that_cannot_be_read(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if err := os.MkdirAll(o.inbox, 0o755); err != nil {
		t.Fatal(err)
	}
	o.open()
	time.Sleep(2500 * time.Millisecond)
	close(o.release)
	<-o.over
	if o.err != nil || o.sum.State != reprise.Waiting && len(o.sum.Questions) != 1 {
		t.Fatalf("%+v %v", o.sum, o.err)
	}
	told := slices.DeleteFunc(slices.Clone(o.sum.Findings), func(f reprise.Finding) bool { return f.Code != reprise.CodeUnreadable })
	if len(told) != 1 || told[0].Source.File != ".reprise/inbox" {
		t.Errorf("told %+v", told)
	}
}

// TestO3_D5_runs_within_a_run_tell_of_a_damaged_line_once looks at the inbox from
// several runs at once.
func TestO3_D5_runs_within_a_run_tell_of_a_damaged_line_once(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(workflows, func(w workflow) bool { return w.name == "epic" })
	w := workflows[i]
	e := w.project(t)
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, e.Dir, ".reprise/inbox", torn+"\n")
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v %v", sum, err)
	}
	told := slices.DeleteFunc(slices.Clone(sum.Findings), func(f reprise.Finding) bool { return f.Code != reprise.CodeDamagedLine })
	if len(told) != 1 {
		t.Errorf("told %d times: %+v", len(told), told)
	}
}
