package journal

import (
	"path/filepath"

	records "reprise/core/journal"
	"reprise/internal/durable"
)

// LastEntries gives, by the name of the journal, what happened last, as far as a
// quick look at its end shows it: for telling which journals are worth reading.
func LastEntries(store *durable.Store) (map[string]Entry, error) {
	out := map[string]Entry{}
	names, err := Logs(store)
	for _, name := range names {
		tail, _ := records.Tail(filepath.Join(runsOf(store), name)) // reading all of it reports what cannot be read
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
