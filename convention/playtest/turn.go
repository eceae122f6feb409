package playtest

import (
	"fmt"
	"io/fs"
	"slices"

	"reprise"
)

// run carries one run to where it stops: a turn after the other.
func (w *world) run(book reprise.Playbook, goal reprise.Goal, ref reprise.Ref) Result {
	w.t.Helper()
	var first []reprise.Event
	if ref.Path == "" {
		if goal.Now.IsZero() {
			goal.Now = w.now()
		}
		var err error
		if ref, first, err = book.Begin(w.files, goal); err != nil {
			w.t.Fatalf("begin: %v", err)
		}
	}
	j := w.journal(ref)
	for _, ev := range first {
		w.record(j, ev)
	}
	res := Result{Ref: ref}
	for res.GaveUp == "" {
		w.turns++
		if w.turns > w.Turns {
			res.GaveUp = fmt.Sprintf("no end after %d turns", w.Turns)
			w.t.Errorf("%s: %s", ref.ID, res.GaveUp)
			break
		}
		if w.Between != nil {
			w.Between(w.turns, w.files)
		}
		if !w.turn(book, j, &res) {
			break
		}
	}
	res.Run = w.load(book, j)
	res.Decision = reprise.Next(res.Run, reprise.Observed{}, reprise.Policy{})
	res.Events = j.events()
	return res
}

// turn does one turn; false when nothing is left that could be done.
func (w *world) turn(book reprise.Playbook, j *journal, res *Result) bool {
	w.t.Helper()
	if w.settleCutOff(book, j) {
		return true
	}
	r := w.load(book, j)
	d := reprise.Next(r, reprise.Observed{}, reprise.Policy{})
	events, err := book.Settle(w.files, r, d)
	if err != nil {
		w.t.Fatalf("settle: %v", err)
	}
	for _, ev := range events {
		w.record(j, ev)
	}
	if len(events) > 0 {
		return true
	}
	switch d.Action {
	case reprise.Start:
	case reprise.Ask:
		// One that was stopped on purpose is not asked about.
		return r.State != reprise.Stopped && w.ask(j, r)
	case reprise.Finish:
		return false
	default:
		res.GaveUp = fmt.Sprintf("%s: %v", d.Action, d.Reasons)
		return false
	}
	return w.work(book, j, r, d, res)
}

// ask puts the open questions to the person; false if no one says anything.
func (w *world) ask(j *journal, r *reprise.Run) bool {
	said := false
	for _, q := range r.PendingQuestions() {
		if w.Answer == nil {
			break
		}
		if text, ok := w.Answer(q); ok {
			w.record(j, reprise.Event{Kind: reprise.QuestionAnswered, Question: q.ID, Text: text, Actor: "person"})
			said = true
		}
	}
	return said
}

// work starts the units that are picked and concludes them. Of units that are
// done at the same time all are started before the first is concluded.
func (w *world) work(book reprise.Playbook, j *journal, r *reprise.Run, d reprise.Decision, res *Result) bool {
	w.t.Helper()
	units := book.Pick(r, d, nil)
	if len(units) == 0 {
		res.GaveUp = "nothing was picked of " + fmt.Sprint(d.Units)
		return false
	}
	var begun []*reprise.Event
	var todo []reprise.Assignment
	moved := false
	for _, u := range units {
		a, err := book.Assign(w.files, r, u)
		if err != nil {
			w.t.Fatalf("assign %s: %v", u.ID, err)
		}
		switch {
		case a.Ask != nil:
			w.question(j, a.Step, *a.Ask)
			moved = true
			continue
		case a.Local != "":
			w.record(j, reprise.Event{Kind: reprise.StepFinished, Step: a.Step, Phase: a.Unit.Phase, Actor: a.Role, Text: a.Local})
			moved = true
			continue
		case w.failures(j, a.Step) >= w.Attempts:
			res.GaveUp = fmt.Sprintf("%s failed %d times", a.Step, w.Attempts)
			continue
		}
		begun, todo = append(begun, w.start(j, a)), append(todo, a)
	}
	if len(todo) > 0 {
		res.GaveUp = ""
	}
	for i, a := range todo {
		moved = w.attempt(book, j, r, a, begun[i]) || moved
	}
	return moved
}

func (w *world) start(j *journal, a reprise.Assignment) *reprise.Event {
	n := 1
	for _, ev := range j.events() {
		if ev.Kind == reprise.StepStarted && ev.Step == a.Step {
			n = ev.Attempt + 1
		}
	}
	expect := slices.Clone(a.Expect)
	for i, e := range expect {
		if data, err := fs.ReadFile(w.files, e.Path); err == nil {
			expect[i].Before = reprise.HashOf(data)
		}
	}
	ev := reprise.Event{
		Kind: reprise.StepStarted, At: w.now(), Step: a.Step, Phase: a.Unit.Phase, Attempt: n, Actor: a.Role,
		Policy: a.Policy, Expect: expect, Key: fmt.Sprintf("%s/%s/%d", j.ref.Path, a.Step, n),
	}
	w.record(j, ev)
	return &ev
}

// attempt has the work of one unit done. It reports whether anything happened
// that is worth another turn.
func (w *world) attempt(book reprise.Playbook, j *journal, r *reprise.Run, a reprise.Assignment, start *reprise.Event) bool {
	w.t.Helper()
	var reply reprise.Reply
	if a.Child != nil {
		child := w.Books[a.Child.Kind]
		if child == nil {
			w.t.Fatalf("no playbook for the child %s", a.Child.Kind)
		}
		goal := reprise.Goal{Text: a.Unit.Title, ID: a.Child.ID, Path: a.Child.Path, Now: w.now()}
		got := w.run(child, goal, reprise.Ref{})
		switch {
		case got.Decision.Action == reprise.Finish:
			reply.Outcome = "done"
		case got.GaveUp != "":
			reply = reprise.Reply{Outcome: "failed", Summary: got.GaveUp}
		default:
			w.record(j, reprise.Event{Kind: reprise.StepReset, Step: a.Step, Attempt: start.Attempt, Outcome: "waiting", Text: got.Run.Reason})
			return false // the parent waits with it
		}
	} else {
		w.launches = append(w.launches, a.Role+" "+a.Step)
		reply = w.Agent(Job{Assignment: a, Run: r, Attempt: start.Attempt, Files: w.files})
		w.tick() // its work is there, its result file is not
		if _, err := book.Assign(w.files, w.load(book, j), a.Unit); err != nil {
			w.t.Errorf("with its work there it cannot be done again: %v", err)
		}
	}
	w.replies[start.Key] = reply
	w.tick()
	return w.conclude(book, j, a, *start, reply)
}

// left reports whether everything is there that an attempt should leave.
func (w *world) left(start reprise.Event) bool {
	return !slices.ContainsFunc(start.Expect, func(e reprise.Expected) bool {
		data, err := fs.ReadFile(w.files, e.Path)
		return err != nil || e.Changed && reprise.HashOf(data) == e.Before
	})
}

// conclude judges an attempt that ended.
func (w *world) conclude(book reprise.Playbook, j *journal, a reprise.Assignment, start reprise.Event, reply reprise.Reply) bool {
	w.t.Helper()
	end := reprise.Event{Kind: reprise.StepFailed, Step: a.Step, Phase: a.Unit.Phase, Attempt: start.Attempt, Actor: a.Role, Text: reply.Summary}
	switch reply.Outcome {
	case "failed":
		w.record(j, end)
		return true
	case "blocked":
		end.Kind = reprise.StepBlocked
		w.record(j, end)
		return false
	case "question":
		for _, q := range reply.Questions {
			w.question(j, a.Step, q)
		}
		w.record(j, reprise.Event{Kind: reprise.StepReset, Step: a.Step, Attempt: start.Attempt, Outcome: "question"})
		return true
	}
	if !w.left(start) {
		end.Text = "it did not leave what it should"
		w.record(j, end)
		return true
	}
	c := book.Conclude(w.files, w.load(book, j).AsFiled(a.Step), a, reply)
	if c.Text != "" {
		end.Text = c.Text
	}
	end.Outcome, end.Verdict, end.Issues = c.Outcome, c.Verdict, c.Issues
	asked := len(c.Questions) > 0
	switch {
	case c.Problem != "":
		end.Outcome, end.Text = "", c.Problem
	case c.Failed:
	case c.Blocked:
		end.Kind = reprise.StepBlocked
	case asked && !c.Finished:
		end.Kind = ""
	default:
		end.Kind = reprise.StepFinished
	}
	if end.Kind != "" {
		w.record(j, end)
	}
	for _, ev := range c.Then {
		w.record(j, ev)
	}
	for _, q := range c.Questions {
		w.question(j, a.Step, q)
	}
	if end.Kind == reprise.StepFinished {
		for _, id := range a.Answers {
			w.record(j, reprise.Event{Kind: reprise.AnswerApplied, Question: id})
		}
	}
	return true
}

func (w *world) question(j *journal, step string, q reprise.Asked) {
	id := q.ID
	if id == "" {
		id = "ask-" + step
	}
	w.record(j, reprise.Event{Kind: reprise.QuestionAsked, Step: step, Question: id, Text: q.Text, Options: q.Options, Closed: q.Closed})
}

// failures counts those of a step in a row.
func (w *world) failures(j *journal, step string) int {
	n := 0
	for _, ev := range j.events() {
		switch {
		case ev.Step != step:
		case ev.Kind == reprise.StepFailed:
			n++
		case ev.Kind == reprise.StepFinished, ev.Kind == reprise.StepReset:
			n = 0
		}
	}
	return n
}

// settleCutOff settles the first attempt whose end is not on record: with its
// result file it is concluded, without one it runs again.
func (w *world) settleCutOff(book reprise.Playbook, j *journal) bool {
	w.t.Helper()
	open := map[string]reprise.Event{}
	for _, ev := range j.events() {
		switch ev.Kind {
		case reprise.StepStarted:
			open[ev.Step] = ev
		case reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepResolved, reprise.StepReset, reprise.QuestionAsked:
			delete(open, ev.Step)
		}
	}
	for _, start := range open {
		reply, ok := w.replies[start.Key]
		if st := w.load(book, j).AsFiled(start.Step).Step(start.Step); !ok && st != nil && st.Status.Closed() && w.left(start) {
			ok = true // the agent wrote the state itself before it died, and a person says that it was finished
		}
		if !ok {
			w.record(j, reprise.Event{Kind: reprise.StepResolved, Step: start.Step, Attempt: start.Attempt, Outcome: string(reprise.Rerun)})
			w.record(j, reprise.Event{Kind: reprise.StepReset, Step: start.Step, Attempt: start.Attempt, Outcome: "cut-off"})
			return true
		}
		a := reprise.Assignment{
			Unit: reprise.Unit{ID: start.Step, Phase: start.Phase, Role: start.Actor}, Step: start.Step, Role: start.Actor,
			Expect: start.Expect, Policy: start.Policy,
		}
		w.conclude(book, j, a, start, reply)
		return true
	}
	return false
}
