package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/core"
	records "reprise/core/journal"
	"reprise/internal/durable"
)

// Logs lists the journals of a project. Those of older builds, which are not worked on any more,
// are none of them.
func Logs(store *durable.Store) (names []string, err error) {
	runs, err := os.ReadDir(runsOf(store))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, run := range runs {
		if run.IsDir() && OnWorlds(store, run.Name()) {
			names = append(names, run.Name())
		}
	}
	return names, nil
}

func runsOf(store *durable.Store) string {
	return filepath.Join(store.Dir(), durable.StateDir, "runs")
}

// OnWorlds reports whether a run is worked on with worlds: its journal is one of records. One
// that cannot be looked at counts: reading it says why.
func OnWorlds(store *durable.Store, name string) bool {
	_, err := os.Lstat(filepath.Join(runsOf(store), name, "journal"))
	return !errors.Is(err, fs.ErrNotExist)
}

// readRecords gives the records of a run as the events that they are for those who look.
func (a *Account) readRecords(store *durable.Store, name string) error {
	t := NewTeller(name)
	err := records.Read(filepath.Join(runsOf(store), name), func(r core.Record) error {
		t.Tell(r)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, records.ErrDamaged) {
		err = &durable.DamageError{Log: name, Path: recordsFile(name), Cause: err.Error()}
	}
	a.Entries, a.Info.Records, a.Due = t.out, len(t.out), t.due
	return err
}

// OutputOf is the path, in the project, of what the agent of an attempt of a run on worlds said.
func OutputOf(ref reprise.Ref, step string, attempt int) string {
	return durable.StateDir + "/runs/" + Name(ref) + "/" + reprise.AttemptFolder(step, attempt) + "/log"
}

// GiveUp notes in the records of a run on worlds that it is given up. Steps that are open where its
// files come back open it again.
func GiveUp(store *durable.Store, ref reprise.Ref, why string, at time.Time) error {
	if !OnWorlds(store, Name(ref)) {
		return nil
	}
	j, err := records.Open(filepath.Join(runsOf(store), Name(ref)))
	if err != nil {
		return err
	}
	if j.State.Seq > 0 {
		_, err = j.Append(core.Record{Close: &core.Close{Why: why, Complete: true}}, at)
	}
	return errors.Join(err, j.Close())
}

// ErrReplaced is given where something else changed the journal of a run that is worked on.
var ErrReplaced = records.ErrReplaced

func recordsFile(name string) string { return durable.StateDir + "/runs/" + name + "/journal" }

// Teller tells records as events.
type Teller struct {
	name  string
	file  string
	out   []Entry
	run   string
	over  bool        // the last record ended the run, and left it
	lease uint64      // of who works on it
	due   bool        // the move of the last record that has one is not known to be made
	done  map[int]int // the entry of a finished step, by the number of its record
	asked map[string]*core.Ask
	open  *core.Ask // nobody answered it yet
}

// NewTeller tells the records of a run.
func NewTeller(name string) *Teller {
	return &Teller{name: name, file: recordsFile(name), asked: map[string]*core.Ask{}}
}

// Tell adds a record, and gives what it tells.
func (t *Teller) Tell(r core.Record) []Entry {
	from := len(t.out)
	if t.due = t.due || r.Move() != nil; r.Made != nil {
		t.due = false
	}
	if t.tell(r); r.Made == nil {
		t.over = r.Close != nil
	}
	return t.out[from:]
}

func (t *Teller) tell(r core.Record) {
	if r.Note != nil && r.Note.Lease > 0 {
		t.lease = r.Note.Lease
	}
	add := func(ev reprise.Event) {
		ev.At = r.At
		t.out = append(t.out, Entry{Seq: uint64(r.Seq), Generation: t.lease, Source: reprise.Source{File: t.file, Line: r.Seq}, Event: ev})
	}
	if t.settles(r) {
		add(reprise.Event{Kind: reprise.QuestionSkipped, Question: t.open.ID, Text: "something was done about it"})
		t.open = nil
	}
	switch {
	case r.Begin != nil && (t.run != "" || r.Begin.Move != nil):
		t.run = r.Begin.Run
		add(reprise.Event{Kind: reprise.RunStarted, Text: r.Begin.Text, Actor: reprise.Person, Run: &reprise.Place{Layout: r.Begin.Of, ID: r.Begin.ID, Path: r.Begin.Plan, Kind: reprise.Kind(r.Begin.Kind)}})
	case r.Plan != nil && r.Plan.Revised:
		add(reprise.Event{Kind: reprise.RunRevised, Text: r.Plan.Why, Actor: reprise.Person})
	case r.Begin != nil:
		t.run = r.Begin.Run
		add(reprise.Event{Kind: reprise.RunResumed, Text: "the first time here", Run: &reprise.Place{Layout: r.Begin.Of, ID: r.Begin.ID, Path: r.Begin.Plan, Kind: reprise.Kind(r.Begin.Kind)}})
	case r.Start != nil:
		s := r.Start
		if s.Inner != "" {
			break // the run that does it tells of its attempts
		}
		add(reprise.Event{Kind: reprise.StepStarted, Step: s.Step, Listed: &reprise.Listed{ID: s.Step, Title: s.Title}, Attempt: s.Attempt, Key: t.name + "/" + s.Step, Base: s.Head.Commit, Branch: strings.TrimPrefix(s.Head.Branch, "refs/heads/"), Measure: s.Measure})
	case r.End != nil:
		t.end(r, add)
	case r.Made != nil:
		if i, ok := t.done[r.Made.Of]; ok {
			t.out[i].Event.Commit = r.Made.Head.Commit
		}
	case r.Ask != nil:
		t.ask(r.Ask, add)
	case r.Answer != nil:
		t.open = nil
		if r.Answer.Lapsed != "" {
			add(reprise.Event{Kind: reprise.QuestionSkipped, Question: r.Answer.ID, Text: r.Answer.Lapsed})
			break
		}
		text := r.Answer.Text
		if text == "" {
			text = r.Answer.Option
		}
		ev := reprise.Event{Kind: reprise.QuestionAnswered, Question: r.Answer.ID, Text: text, Actor: reprise.Person}
		q := t.asked[r.Answer.ID]
		if q != nil && q.Of != nil && (q.Of.Filed || r.Answer.Move != nil) { // its files have it, and say when it is used
			add(ev)
			break
		}
		if q != nil {
			ev.By = q.Step
		}
		add(ev)
		add(reprise.Event{Kind: reprise.AnswerApplied, Question: r.Answer.ID})
		if q != nil && q.Of != nil && len(q.More) > 0 {
			t.ask(q.Following(), add)
		}
	case r.Undo != nil:
		add(reprise.Event{Kind: reprise.StepReset, Step: r.Undo.Step, Text: r.Undo.Why, Actor: reprise.Person})
	case r.Plan != nil && r.Plan.Site != nil && r.Plan.Site.Place == core.Branch:
		add(reprise.Event{Kind: reprise.WorktreeReady, Text: r.Plan.Site.At, Commit: r.Plan.Site.Base})
	case r.Plan != nil && r.Plan.Skips != "":
		add(reprise.Event{Kind: reprise.QuestionSkipped, Question: r.Plan.Skips, Actor: reprise.Person})
	case r.Note != nil && r.Note.Left != "" && t.over: // which says it
	case r.Note != nil && r.Note.Left != "":
		add(reprise.Event{Kind: reprise.EngineLeft, Outcome: r.Note.Left, Text: r.Note.Text})
	case r.Note != nil && len(r.Note.Letter) > 0:
		switch l, err := ReadLetter(r.Note.Letter); {
		case err != nil: // of another version
		case l.Session != nil:
			add(l.Session.Event())
		case l.Reported != nil:
			add(l.Reported.Event())
		}
	case r.Note != nil && r.Note.Call != "":
		add(reprise.Event{Kind: reprise.CallSettled, Question: r.Note.Call, Text: r.Note.Text, Outcome: r.Note.Landed, Actor: reprise.Person})
	case r.Note != nil && r.Note.Taken != "":
		add(reprise.Event{Kind: reprise.RunResumed, Outcome: r.Note.Taken, Text: r.Note.Text})
	case r.Close != nil:
		add(reprise.Event{Kind: reprise.EngineLeft, Outcome: reprise.Finish.String(), Text: r.Close.Why})
	}
}

func (t *Teller) end(r core.Record, add func(reprise.Event)) {
	e := r.End
	ev, over := reprise.Event{Step: e.Step, Attempt: e.Attempt, Text: e.Why, Agent: e.Session, Measure: e.Measure}, "" // why it is not under way any more
	switch e.Outcome {
	case core.Done:
		if t.done == nil {
			t.done = map[int]int{}
		}
		t.done[r.Seq] = len(t.out)
		ev.Kind, ev.Text, ev.Outcome = reprise.StepFinished, "", e.Says
	case core.Failed:
		ev.Kind = reprise.StepFailed
	case core.Limited:
		ev.Kind, ev.Until, ev.Account, ev.Outcome, over = reprise.StepDeferred, e.Until, e.Account, e.Awaits, "limited"
	case core.Passed:
		ev.Kind, ev.Actor = reprise.StepSkipped, reprise.Person
	case core.Asking:
		ev.Kind, ev.Outcome = reprise.StepReset, "question"
	case core.Paused:
		if ev.Kind, ev.Outcome = reprise.StepReset, "stopped"; e.Awaits != "" {
			ev.Outcome = e.Awaits
		}
	default: // it is begun again
		ev.Kind, ev.Outcome, over = reprise.StepResolved, string(reprise.Rerun), "cut-off"
	}
	if e.Lost && ev.Kind == reprise.StepResolved {
		ev.Cause = SessionLost
	}
	if len(e.Usage) > 0 {
		ev.Usage = &reprise.Usage{}
		if json.Unmarshal(e.Usage, ev.Usage) != nil { // of another version: it is not known
			unknown := reprise.UsageOf(nil, nil)
			ev.Usage = &unknown
		}
	}
	add(ev)
	if over != "" {
		add(reprise.Event{Kind: reprise.StepReset, Outcome: over, Step: e.Step, Attempt: e.Attempt, Text: e.Why})
	}
	for _, other := range e.Marked {
		ev := reprise.Event{Kind: reprise.StepOverstepped, Step: other, By: e.Step}
		if other == e.Step { // it says so still, and that was not accepted
			ev.Says = &reprise.Says{Status: reprise.Done}
		}
		add(ev)
	}
	for _, id := range e.Uses {
		add(reprise.Event{Kind: reprise.AnswerApplied, Step: e.Step, Question: id})
	}
	if e.Ask != nil {
		t.ask(e.Ask, add)
	}
}

// settles reports whether a record takes back the open question, as the state that is folded from it does.
func (t *Teller) settles(r core.Record) bool {
	if t.open == nil {
		return false
	}
	about := func(step string) bool { return t.open.Step == step || t.open.Step == "" }
	switch {
	case r.Begin != nil:
		return true
	case r.Start != nil:
		return about(r.Start.Step)
	case r.End != nil:
		return about(r.End.Step)
	case r.Undo != nil:
		return about(r.Undo.Step)
	}
	return r.Plan != nil && r.Plan.Revised && t.open.Of == nil
}

func (t *Teller) ask(q *core.Ask, add func(reprise.Event)) {
	t.asked[q.ID], t.open = q, q
	add(Asked(q))
}

// Asked is a question of a run on worlds as an event.
func Asked(q *core.Ask) reprise.Event {
	ev := reprise.Event{Kind: reprise.QuestionAsked, Question: q.ID, Step: q.Step}
	if q.Of != nil {
		if ev.Text, ev.Options, ev.Closed = q.Of.Text, q.Of.Options, q.Of.Closed; !q.Of.Lapses {
			ev.By = q.Step
		}
		if q.Of.ID != q.ID {
			ev.Own = q.Of.ID
		}
		if grant := (reprise.Grant{}); len(q.Of.Grant) > 0 && json.Unmarshal(q.Of.Grant, &grant) == nil {
			ev.Grant = &grant
		}
		return ev
	}
	ev.Text, ev.Closed = q.Says+", but "+q.Shows, true
	for _, o := range q.Options {
		ev.Options = append(ev.Options, o.String())
	}
	add := func(name, text string) {
		if text != "" {
			ev.Facts = append(ev.Facts, name+text)
		}
	}
	add("", q.Facts.Stat)
	add("files: ", strings.Join(q.Facts.Files, ", "))
	add("commits: ", strings.Join(q.Facts.Commits, "; "))
	add("reached out: ", strings.Join(q.Facts.Outside, "; "))
	if q.Facts.Attempts > 0 {
		add("attempts: ", strconv.Itoa(q.Facts.Attempts))
	}
	add("it failed last: ", q.Facts.Failure)
	add("its last words: ", q.Facts.Words)
	return ev
}

// Chosen gives the key of the option that an answer to such a question is, "" if it is none.
func Chosen(q *core.Ask, answer string) string {
	ev := Asked(q)
	option := (&reprise.Question{Options: ev.Options, Closed: true}).Option(answer)
	if q.Of == nil {
		option, _, _ = strings.Cut(option, ":")
	}
	return option
}
