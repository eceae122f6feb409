package journal_test

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// notes is a layout of one file for each step, and one for the run, to which every event
// adds a line.
type notes struct{}

func (notes) Name() string                      { return "notes" }
func (notes) Find(fs.FS) ([]reprise.Ref, error) { return []reprise.Ref{notesRef}, nil }
func (notes) Load(fs.FS, reprise.Ref) (*reprise.Run, error) {
	return &reprise.Run{Ref: notesRef, State: reprise.Interrupted}, nil
}

func (notes) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	name := r.Path + "/" + cmp.Or(ev.Step, "plan") + ".md"
	have, err := fs.ReadFile(fsys, name)
	e := reprise.Edit{Path: name, Content: []byte(string(have) + string(ev.Kind) + "\n")}
	if err == nil {
		e.Base = reprise.HashOf(have)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return []reprise.Edit{e}, err
}

var notesRef = reprise.Ref{Layout: "notes", ID: "r", Path: "run", Kind: reprise.KindGraph}

// later is a run of notes that one event is deferred of.
type later struct{ ev reprise.Event }

func (l *later) Advance(ev reprise.Event) bool { l.ev = ev; return true }
func (l *later) Edits(fsys fs.FS) ([]reprise.Edit, error) {
	return notes{}.Record(fsys, &reprise.Run{Ref: notesRef}, l.ev)
}
func (*later) Told() {}

// noted is a project with a run of notes, whose journal is open.
type noted struct {
	t     *testing.T
	dir   string
	store *durable.Store
	*journal.Journal
}

func newNoted(t *testing.T) *noted {
	t.Helper()
	n := &noted{t: t, dir: t.TempDir()}
	n.reopen()
	n.record(reprise.Event{Kind: reprise.RunStarted, At: at})
	return n
}

// reopen opens store and journal as the next process does.
func (n *noted) reopen() {
	n.t.Helper()
	if n.store != nil {
		die(n.t, n.store)
	}
	n.store = take(n.t, n.dir)
	j, err := journal.Open(n.store, notes{}, notesRef)
	if err != nil {
		n.t.Fatal(err)
	}
	n.Journal = j
}

func (n *noted) record(ev reprise.Event) {
	n.t.Helper()
	if _, err := n.Record(n.t.Context(), ev); err != nil {
		n.t.Fatal(err)
	}
}

// wait records an event whose files follow later.
func (n *noted) wait(ev reprise.Event) {
	n.t.Helper()
	if ok, err := n.Defer(n.t.Context(), &later{}, ev); !ok || err != nil {
		n.t.Fatal(ok, err)
	}
}

func (n *noted) read(name string) string {
	b, err := os.ReadFile(filepath.Join(n.dir, name))
	if err != nil && !os.IsNotExist(err) {
		n.t.Fatal(err)
	}
	return string(b)
}

func (n *noted) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

func codes(found []reprise.Finding) string {
	var out []string
	for _, f := range found {
		out = append(out, f.Code+" "+f.Severity.String())
	}
	return strings.Join(out, ", ")
}

func step(kind reprise.EventKind, id string) reprise.Event {
	return reprise.Event{Kind: kind, Step: id, At: at, Attempt: 1}
}

// A file that the journal wrote long ago and that someone changed since is not
// overwritten by an event that still waits for its files; a preview says the same.
func TestDeferred_events_do_not_overwrite_a_file_that_changed_since(t *testing.T) {
	t.Parallel()
	n := newNoted(t)
	n.record(step(reprise.StepStarted, "a"))
	n.record(step(reprise.StepStarted, "b"))
	n.wait(step(reprise.StepFinished, "a"))
	n.write("run/a.md", "theirs\n")
	n.reopen()
	account, err := journal.ReadAccount(n.store, journal.Name(notesRef))
	if err != nil {
		t.Fatal(err)
	}
	dry := durable.NewDryRun(n.store)
	if found, err := account.Bring(t.Context(), n.store, dry, notes{}, notesRef); err != nil || codes(found) != "moved-on info" || len(dry.Edits()) > 0 {
		t.Errorf("a preview: %s, %v, %+v", codes(found), err, dry.Edits())
	}
	if found, err := n.CatchUp(t.Context()); err != nil || codes(found) != "moved-on info" || n.read("run/a.md") != "theirs\n" {
		t.Errorf("catching up: %s, %v, %q", codes(found), err, n.read("run/a.md"))
	}
}

// Files that are as they were before an event are behind it only if it is the latest: with
// another one behind it, someone has taken the change back.
func TestFiles_that_were_taken_back_are_not_brought_up(t *testing.T) {
	t.Parallel()
	n := newNoted(t)
	n.record(step(reprise.StepStarted, "a"))
	before := n.read("run/a.md")
	n.record(step(reprise.StepFinished, "a"))
	if err := n.Note(reprise.Event{Kind: reprise.EngineLeft, At: at}); err != nil {
		t.Fatal(err)
	}
	n.write("run/a.md", before)
	n.reopen()
	if found, err := n.CatchUp(t.Context()); err != nil || len(found) > 0 || n.read("run/a.md") != before {
		t.Errorf("%s, %v, %q", codes(found), err, n.read("run/a.md"))
	}
}

// Where the files cannot take an event, it is not on record either: no one would ever
// bring them up to it.
func TestAn_event_that_its_files_cannot_take_is_not_recorded(t *testing.T) {
	t.Parallel()
	n := newNoted(t)
	n.write("run/other.md", "other\n")
	if err := os.Symlink("other.md", filepath.Join(n.dir, "run/a.md")); err != nil {
		t.Fatal(err)
	}
	var link *durable.LinkError
	if _, err := n.Record(t.Context(), step(reprise.StepStarted, "a")); !errors.As(err, &link) {
		t.Errorf("%v", err)
	}
	if entries, _, err := journal.Read(n.store, journal.Name(notesRef)); err != nil || len(entries) != 1 {
		t.Errorf("%+v, %v", entries, err)
	}
}

// An undo is of the whole project: each of its journals has to know.
func TestEvery_journal_is_told_of_an_earlier_state(t *testing.T) {
	t.Parallel()
	n := newNoted(t)
	for _, id := range []string{"second", "third"} {
		ref := reprise.Ref{Layout: "notes", ID: id, Path: id}
		j, err := journal.Open(n.store, notes{}, ref)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Note(step(reprise.StepStarted, "a")); err != nil {
			t.Fatal(err)
		}
	}
	restored := reprise.Event{Kind: reprise.StateRestored, At: at, Text: "snapshot 000001"}
	if err := journal.Restored(n.store, restored, func(log string) bool { return !strings.Contains(log, "third") }, nil); err != nil {
		t.Fatal(err)
	}
	logs, err := n.store.Logs()
	if err != nil || len(logs) != 3 {
		t.Fatal(logs, err)
	}
	for _, log := range logs {
		entries, _, err := journal.Read(n.store, log)
		if err != nil || len(entries) == 0 {
			t.Fatal(entries, err)
		}
		if told := entries[len(entries)-1].Event.Kind == reprise.StateRestored; told == strings.Contains(log, "third") {
			t.Errorf("%s ends with %s", log, entries[len(entries)-1].Event.Kind)
		}
	}
}

// watched looks at the project just before a file is put in its place.
type watched struct {
	durable.FS
	look func(to string)
}

func (d watched) Rename(from, to string) error {
	d.look(to)
	return d.FS.Rename(from, to)
}

// At any moment at which a file tells an event the journal has it, with the name of the
// file.
func TestThe_event_comes_before_the_files(t *testing.T) {
	t.Parallel()
	dir, seen := t.TempDir(), 0
	look := func(to string) {
		if to != "run/a.md" {
			return
		}
		seen++
		logs, err := filepath.Glob(filepath.Join(dir, ".reprise/journal/*.log"))
		if err != nil || len(logs) != 1 {
			t.Fatal(logs, err)
		}
		if b, err := os.ReadFile(logs[0]); err != nil || bytes.Count(b, []byte(`"path":"run/a.md"`)) != seen {
			t.Errorf("the file changes for the %d. time, and the journal has %s, %v", seen, b, err)
		}
	}
	s, err := durable.Open(dir, durable.Options{Disk: func(under durable.FS) durable.FS { return watched{under, look} }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	j, err := journal.Open(s, notes{}, notesRef)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Record(t.Context(), step(reprise.StepStarted, "a")); err != nil {
		t.Fatal(err)
	}
	if ok, err := j.Defer(t.Context(), &later{}, step(reprise.StepFinished, "a")); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := j.Project(t.Context()); err != nil || seen != 2 {
		t.Errorf("%d changes, %v", seen, err)
	}
}

// A file that the journal wrote and that is gone is missed, and while the one that says
// what the run is is gone, nothing is written beside it.
func TestFiles_that_are_gone_are_missed(t *testing.T) {
	t.Parallel()
	for gone, want := range map[string]string{"run/plan.md": "state-gone blocking", "run/a.md": "state-gone warning, rolled-forward info", "": "rolled-forward info"} {
		n := newNoted(t)
		n.record(step(reprise.StepStarted, "a"))
		n.wait(step(reprise.StepStarted, "b"))
		if gone != "" {
			if err := os.Remove(filepath.Join(n.dir, gone)); err != nil {
				t.Fatal(err)
			}
		}
		n.reopen()
		found, err := n.CatchUp(t.Context())
		if err != nil || codes(found) != want {
			t.Errorf("without %s: %s, %v, want %s", gone, codes(found), err, want)
		}
		if wrote := n.read("run/b.md") != ""; wrote != (gone != "run/plan.md") {
			t.Errorf("without %s: b was written: %v", gone, wrote)
		}
	}
}

// An end that was accepted stands against files that call the step open, unless they say
// so with a later word.
func TestAn_accepted_end_that_the_files_lost(t *testing.T) {
	t.Parallel()
	end := &reprise.Event{Kind: reprise.StepFinished, Step: "a", Attempt: 1, At: at}
	open := func(status reprise.Status, claims ...reprise.Claim) *reprise.Step {
		return &reprise.Step{ID: "a", Status: status, Claims: claims}
	}
	for name, c := range map[string]struct {
		step     *reprise.Step
		accepted *reprise.Event
		doubt    bool
	}{
		"the files call it open":       {open(reprise.Pending), end, true},
		"by an older word":             {open(reprise.Pending, reprise.Claim{At: at.Add(-1)}), end, true},
		"by a newer word":              {open(reprise.Pending, reprise.Claim{At: at.Add(1)}), end, false},
		"by a word of the same moment": {open(reprise.Pending, reprise.Claim{At: at}), end, false},
		"the files call it done":       {open(reprise.Done), end, false},
		"it waits for its review":      {open(reprise.InReview), end, false},
		"nothing was accepted":         {open(reprise.Pending), nil, false},
		"the files do not have it":     {nil, end, false},
	} {
		if got := (journal.StepHistory{Accepted: c.accepted}).Reopened(c.step); (got != nil) != c.doubt {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The attempt that uses the budget up is the last one before a person is asked.
func TestA_budget_is_spent_by_the_attempt_that_uses_it_up(t *testing.T) {
	t.Parallel()
	failed := func(outcome string) *reprise.Event { return &reprise.Event{Outcome: outcome, Text: "why"} }
	for name, c := range map[string]struct {
		history journal.StepHistory
		want    string
	}{
		"nothing happened":       {journal.StepHistory{}, ""},
		"one is left":            {journal.StepHistory{Failures: 2, LastFailure: failed("failed")}, ""},
		"failed as often":        {journal.StepHistory{Failures: 3, LastFailure: failed("failed")}, "failed 3 times: why"},
		"failed more often":      {journal.StepHistory{Failures: 4, LastFailure: failed("failed")}, "failed 4 times: why"},
		"one cut-off is left":    {journal.StepHistory{Cutoffs: 4}, ""},
		"cut off as often":       {journal.StepHistory{Cutoffs: 5}, "was cut off 5 times without an end"},
		"failed in the same way": {journal.StepHistory{Failures: 2, LastFailure: failed(journal.SameAgain)}, "failed twice in the same way, with nothing changed between the two: why"},
		"its own run waits":      {journal.StepHistory{Failures: 1, LastFailure: failed(journal.Pointless)}, "why"},
	} {
		if got := c.history.Spent(journal.Budget{Attempts: 3, Cutoffs: 5}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A run that someone worked on is missed where its files are gone, until it was ended,
// stopped on purpose or taken back.
func TestA_run_should_be_there_until_it_is_over(t *testing.T) {
	t.Parallel()
	begun, work := reprise.Event{Kind: reprise.RunStarted}, reprise.Event{Kind: reprise.StepStarted, Step: "a"}
	for name, c := range map[string]struct {
		events []reprise.Event
		open   bool
	}{
		"nothing happened":     {nil, false},
		"only begun":           {[]reprise.Event{begun}, false},
		"worked on":            {[]reprise.Event{begun, work}, true},
		"begun elsewhere":      {[]reprise.Event{{Kind: reprise.RunResumed}}, true},
		"ended":                {[]reprise.Event{begun, work, {Kind: reprise.RunEnded}}, false},
		"stopped on purpose":   {[]reprise.Event{begun, work, {Kind: reprise.RunStopped}}, false},
		"paused":               {[]reprise.Event{begun, work, {Kind: reprise.RunStopped, Outcome: "paused"}}, true},
		"left with more to do": {[]reprise.Event{begun, work, {Kind: reprise.EngineLeft, Outcome: reprise.Ask.String()}}, true},
		"left with nothing":    {[]reprise.Event{begun, work, {Kind: reprise.EngineLeft, Outcome: reprise.Finish.String()}}, false},
		"taken back":           {[]reprise.Event{begun, work, {Kind: reprise.StateRestored, Text: "snapshot 000001"}}, false},
		"begun again":          {[]reprise.Event{begun, work, begun}, false},
	} {
		var entries []journal.Entry
		for _, ev := range c.events {
			entries = append(entries, journal.Entry{Event: ev})
		}
		if life := journal.LifeOf(entries); life.Open != c.open {
			t.Errorf("%s: %+v", name, life)
		}
	}
}
