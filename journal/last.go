package journal

import (
	"path/filepath"

	records "reprise/core/journal"
	"reprise/internal/durable"
)

// LastEntries gives, by the name of the journal, what happened last, as far as a
// quick look at its end shows it: for telling which journals are worth reading.
func LastEntries(store *durable.Store) (map[string]Entry, error) {
	last, err := store.LastRecords()
	if err != nil {
		return nil, err
	}
	out := map[string]Entry{}
	for name, rec := range last {
		// Reading the journal itself reports records that cannot be read.
		_ = new(trail).read(rec, func(e *Entry) { out[name] = *e })
	}
	names, err := ofRecords(store)
	for _, name := range names {
		tail, _ := records.Tail(filepath.Join(runsOf(store), name)) // likewise
		t := NewTeller(name)
		for _, r := range tail {
			t.Tell(r)
		}
		if n := len(t.out); n > 0 {
			out[name] = t.out[n-1]
		}
	}
	return out, err
}
