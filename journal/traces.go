package journal

import (
	"slices"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// Traces are the changes by reprise and its agents that journals record, to distinguish
// them from other changes.
type Traces struct {
	// Wrote are the files of conventions with all that was ever written to them, and what
	// was found there.
	Wrote map[string][]Written
	// Left are the files that attempts changed and no commit holds, from the root of
	// the repository, with what each was then; zero where that is not known.
	Left map[string][]reprise.Hash
	// Keys are what the commits of the attempts carry in their trailer; Commits are
	// those that hold the work of one, with its start. Heads are the commits that were
	// checked out when one ended whose work no commit is known to hold, likewise.
	Keys           map[string]bool
	Commits, Heads map[string]reprise.Event
	// Spans are the times in which attempts were at work.
	Spans []Span
}

// Span is the time in which an attempt is known to have been at work: until the process
// that began it recorded its end, or left in an orderly way.
type Span struct {
	From, To time.Time
	// Cut tells that no such end is on record: then To is the last record of that process.
	// The attempt may have changed anything after that, until Until, when another process
	// settled it; zero if none did.
	Cut   bool
	Until time.Time
	Start reprise.Event
	// Headed tells that it is on record which commit was checked out in the end.
	Headed bool
}

// AtWork reports whether an attempt is known to have been at work at a time.
func (t *Traces) AtWork(at time.Time) bool {
	return slices.ContainsFunc(t.Spans, func(s Span) bool { return !at.Before(s.From) && !at.After(s.To) })
}

// MaybeAtWork reports whether an attempt that was cut off may have been at work at a time.
func (t *Traces) MaybeAtWork(at time.Time) bool {
	return slices.ContainsFunc(t.Spans, func(s Span) bool {
		return s.Cut && !at.Before(s.From) && (s.Until.IsZero() || !at.After(s.Until))
	})
}

// MaybeMade reports whether a commit, made in the second from a time on, may be that of an
// attempt whose end does not tell which commits are.
func (t *Traces) MaybeMade(at time.Time) bool {
	return slices.ContainsFunc(t.Spans, func(s Span) bool {
		until := s.To
		if s.Cut {
			until = s.Until
		}
		return !s.Headed && at.Add(time.Second).After(s.From) && (until.IsZero() || !at.After(until))
	})
}

// Written is a change that was made to a file in a generation. At is when; in one journal
// no change has an earlier time than the one before it.
type Written struct {
	Touch
	Gen uint64
	At  time.Time
}

// NewTraces gives traces of nothing.
func NewTraces() *Traces {
	return &Traces{Wrote: map[string][]Written{}, Left: map[string][]reprise.Hash{}, Keys: map[string]bool{}, Commits: map[string]reprise.Event{}, Heads: map[string]reprise.Event{}}
}

// Read adds what a journal tells, of the generations that count. With an error it holds
// what could be read.
func (t *Traces) Read(store *durable.Store, name string, counts func(generation uint64) bool) error {
	var hist History
	var restored *reprise.Event // an undo that nothing followed may be half done
	var files trail
	var at time.Time
	last := map[uint64]time.Time{} // by generation
	left := map[uint64]bool{}      // whether the process of a generation left in an orderly way
	headed := map[string]bool{}    // whether it is known what was checked out when its engine left
	began := map[string]uint64{}   // in which generation an attempt was begun
	_, err := store.ReadLog(name, func(rec durable.Record) error {
		files.files = nil
		err := files.read(rec, func(e *Entry) {
			if e.Event.At.After(at) {
				at = e.Event.At
			}
			if restored != nil {
				hist.Add(restored)
				restored = nil
			}
			if e.Event.Kind == reprise.StateRestored {
				restored = &e.Event
				return
			}
			open := hist.Step(e.Event.Step).Open
			if counts(rec.Gen) {
				t.add(&e.Event, open)
			}
			for _, still := range hist.Open() {
				if e.Event.Kind == reprise.EngineLeft && counts(rec.Gen) && began[still.Key] == rec.Gen {
					t.add(&e.Event, &still)
					headed[still.Key] = e.Event.Head != ""
				}
			}
			hist.Add(&e.Event)
			if open != nil && hist.Step(e.Event.Step).Open == nil && counts(began[open.Key]) {
				span := Span{From: open.At, To: e.Event.At, Start: *open, Headed: headed[open.Key] || e.Event.Head != "" || e.Event.Commit != ""}
				if gen := began[open.Key]; gen != rec.Gen { // another process settled it
					span.To, span.Cut, span.Until = last[gen], !left[gen], e.Event.At
				}
				t.Spans = append(t.Spans, span)
			}
			left[rec.Gen] = e.Event.Kind == reprise.EngineLeft
			last[rec.Gen], began[e.Event.Key] = e.Event.At, rec.Gen
		})
		if counts(rec.Gen) {
			for _, f := range files.files {
				t.Wrote[f.Path] = append(t.Wrote[f.Path], Written{f, rec.Gen, at})
			}
		}
		return err
	})
	for _, ev := range hist.Open() {
		if t.Keys[ev.Key] {
			gen := began[ev.Key]
			t.Spans = append(t.Spans, Span{From: ev.At, To: last[gen], Cut: !left[gen], Start: ev, Headed: headed[ev.Key]})
		}
	}
	return err
}

// add adds an event; open is the attempt of its step that has no end before it.
func (t *Traces) add(ev, open *reprise.Event) {
	if ev.Key != "" {
		t.Keys[ev.Key] = true
	}
	if ev.Commit != "" && open != nil && ev.Kind == reprise.StepFinished {
		t.Commits[ev.Commit] = *open
	}
	if ev.Head != "" && open != nil && open.Base != ev.Head {
		t.Heads[ev.Head] = *open
	}
	for _, name := range ev.Left {
		if !slices.ContainsFunc(ev.Work, func(f reprise.Expected) bool { return f.Path == name }) {
			t.Left[name] = append(t.Left[name], reprise.Hash{})
		}
	}
	for _, f := range ev.Work {
		t.Left[f.Path] = append(t.Left[f.Path], f.Before)
	}
}
