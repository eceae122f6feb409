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
	// those that hold the work of one, with when it began.
	Keys    map[string]bool
	Commits map[string]time.Time
	// Spans are the times from the start of an attempt to its end.
	Spans []Span
	// Open tells that an attempt has no end on record: it may have changed anything,
	// until Last at the least, which is when the process that began it last recorded
	// something.
	Open bool
	Last time.Time
}

// Span is a time with both its ends.
type Span struct{ From, To time.Time }

// AtWork reports whether an attempt was at work at a time.
func (t *Traces) AtWork(at time.Time) bool {
	return slices.ContainsFunc(t.Spans, func(s Span) bool { return !at.Before(s.From) && !at.After(s.To) })
}

// Written is a change that was made to a file in a generation.
type Written struct {
	Touch
	Gen uint64
}

// NewTraces gives traces of nothing.
func NewTraces() *Traces {
	return &Traces{Wrote: map[string][]Written{}, Left: map[string][]reprise.Hash{}, Keys: map[string]bool{}, Commits: map[string]time.Time{}}
}

// Read adds what a journal tells, of the generations that count. With an error it holds
// what could be read.
func (t *Traces) Read(store *durable.Store, name string, counts func(generation uint64) bool) error {
	var hist History
	var restored *reprise.Event // an undo that nothing followed may be half done
	var files trail
	last := map[uint64]time.Time{} // by generation
	began := map[string]uint64{}   // in which generation an attempt was begun
	_, err := store.ReadLog(name, func(rec durable.Record) error {
		files.files = nil
		err := files.read(rec, func(e *Entry) {
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
			hist.Add(&e.Event)
			if open != nil && hist.Step(e.Event.Step).Open == nil && counts(rec.Gen) && counts(began[open.Key]) {
				t.Spans = append(t.Spans, Span{open.At, e.Event.At})
			}
			last[rec.Gen], began[e.Event.Key] = e.Event.At, rec.Gen
		})
		if counts(rec.Gen) {
			for _, f := range files.files {
				t.Wrote[f.Path] = append(t.Wrote[f.Path], Written{f, rec.Gen})
			}
		}
		return err
	})
	for _, ev := range hist.Open() {
		if !t.Keys[ev.Key] {
			continue
		}
		t.Open = true
		if at := last[began[ev.Key]]; at.After(t.Last) {
			t.Last = at
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
		t.Commits[ev.Commit] = open.At
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
