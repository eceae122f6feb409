package engine_test

import (
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// takeSoon takes the lease. A process that another test is just starting has our
// lock for a moment, until it is the program that it is to be.
func takeSoon(t *testing.T, s *durable.Store) {
	t.Helper()
	var err error
	for range 500 {
		if _, err = s.Take(t.Context()); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal(err)
}

// happens records events about a run, as an engine does, and gives the files that
// the last one changed. bare events stand in the journal alone.
func happens(t *testing.T, dir string, r *reprise.Run, bare bool, all ...reprise.Event) (touched []string) {
	t.Helper()
	s, err := durable.Open(dir, durable.Options{Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	takeSoon(t, s)
	j, err := journal.Open(s, convention.Find(r.Layout), r.Ref)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Minute)
	for i, ev := range all {
		ev.At = at.Add(time.Duration(i) * time.Second)
		switch {
		case bare, ev.Kind == reprise.StepDeferred, ev.Kind == reprise.SessionKnown, ev.Kind == reprise.EngineLeft:
			err = j.Note(ev)
		default:
			var edits []reprise.Edit
			if edits, err = j.Record(t.Context(), ev); err == nil {
				touched = nil
				for _, e := range edits {
					touched = append(touched, e.Path)
				}
			}
		}
		if err != nil {
			t.Logf("%s of %s: %v", ev.Kind, r.ID, err)
			return touched
		}
	}
	return touched
}
