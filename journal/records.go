package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/core"
	records "reprise/core/journal"
	"reprise/internal/durable"
)

// Logs lists the journals of a project: those of runs on worlds, and older ones.
func Logs(store *durable.Store) ([]string, error) {
	names, err := store.Logs()
	if err != nil {
		return nil, err
	}
	worlds, err := ofRecords(store)
	names = append(names, worlds...)
	slices.Sort(names)
	return slices.Compact(names), err
}

// ofRecords lists the runs on worlds.
func ofRecords(store *durable.Store) (names []string, err error) {
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

// readRecords gives the records of a run on worlds as the events that they are for those who
// look. ok is false if it has none.
func (a *Account) readRecords(store *durable.Store, name string) (ok bool, err error) {
	dir := filepath.Join(runsOf(store), name)
	t := NewTeller(name)
	err = records.Read(dir, func(r core.Record) error {
		t.Tell(r)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if errors.Is(err, records.ErrDamaged) {
		err = &durable.DamageError{Log: name, Path: recordsFile(name), Cause: err.Error()}
	}
	a.Entries, a.Info.Records, a.Due = t.out, len(t.out), t.due
	for i := range a.Entries {
		a.trail.add(&a.Entries[i])
	}
	return true, err
}

func recordsFile(name string) string { return durable.StateDir + "/runs/" + name + "/journal" }

// Teller tells records as events.
type Teller struct {
	file  string
	out   []Entry
	run   string
	over  bool        // the last record ended the run, and left it
	lease uint64      // of who works on it
	due   bool        // the move of the last record that has one is not known to be made
	done  map[int]int // the entry of a finished step, by the number of its record
	asked map[string]*core.Ask
}

// NewTeller tells the records of a run.
func NewTeller(name string) *Teller {
	return &Teller{file: recordsFile(name), asked: map[string]*core.Ask{}}
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
		t.out = append(t.out, Entry{Seq: uint64(r.Seq), Generation: t.lease, Source: reprise.Source{File: t.file, Line: r.Seq}, Event: ev, Nowhere: true})
	}
	switch {
	case r.Begin != nil && t.run != "":
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
		add(reprise.Event{Kind: reprise.StepStarted, Step: s.Step, Listed: &reprise.Listed{ID: s.Step, Title: s.Title}, Attempt: s.Attempt, Key: t.run + "/" + s.Step, Base: s.Head.Commit, Branch: strings.TrimPrefix(s.Head.Branch, "refs/heads/")})
	case r.End != nil:
		t.end(r, add)
	case r.Made != nil:
		if i, ok := t.done[r.Made.Of]; ok {
			t.out[i].Event.Commit = r.Made.Head.Commit
		}
	case r.Ask != nil:
		t.ask(r.Ask, add)
	case r.Answer != nil:
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
		if q != nil && q.Of != nil && q.Of.Filed {
			add(ev)
			break
		}
		if q != nil {
			ev.By = q.Step
		}
		add(ev)
		add(reprise.Event{Kind: reprise.AnswerApplied, Question: r.Answer.ID})
	case r.Undo != nil:
		add(reprise.Event{Kind: reprise.StepReset, Step: r.Undo.Step, Text: r.Undo.Why, Actor: reprise.Person})
	case r.Plan != nil && r.Plan.Skips != "":
		add(reprise.Event{Kind: reprise.QuestionSkipped, Question: r.Plan.Skips, Actor: reprise.Person})
	case r.Note != nil && r.Note.Left != "" && t.over: // which says it
	case r.Note != nil && r.Note.Left != "":
		add(reprise.Event{Kind: reprise.EngineLeft, Outcome: r.Note.Left, Text: r.Note.Text})
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
	ev, over := reprise.Event{Step: e.Step, Attempt: e.Attempt, Text: e.Why}, "" // why it is not under way any more
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
		ev.Kind, ev.Until, ev.Account, ev.Outcome, over = reprise.StepDeferred, e.Until, e.Account, reprise.AwaitsLimit, "limited"
	case core.Passed:
		ev.Kind, ev.Actor = reprise.StepSkipped, reprise.Person
	case core.Asking:
		ev.Kind, ev.Outcome = reprise.StepReset, "question"
	case core.Paused:
		ev.Kind, ev.Outcome = reprise.StepReset, "stopped"
	default: // it is begun again
		ev.Kind, ev.Outcome, over = reprise.StepResolved, string(reprise.Rerun), "cut-off"
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

func (t *Teller) ask(q *core.Ask, add func(reprise.Event)) {
	t.asked[q.ID] = q
	add(Asked(q))
}

// Asked is a question of a run on worlds as an event.
func Asked(q *core.Ask) reprise.Event {
	ev := reprise.Event{Kind: reprise.QuestionAsked, Question: q.ID, Step: q.Step}
	if q.Of != nil {
		ev.By, ev.Text, ev.Options, ev.Closed = q.Step, q.Of.Text, q.Of.Options, q.Of.Closed
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
