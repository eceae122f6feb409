package journal

import (
	"reprise"
	"reprise/internal/durable"
)

// LastKinds gives, by the name of the journal, what happened last, as far as a
// quick look at its end shows it: for telling which journals are worth reading.
func LastKinds(store *durable.Store) (map[string]reprise.EventKind, error) {
	records, err := store.LastRecords()
	if err != nil {
		return nil, err
	}
	out := map[string]reprise.EventKind{}
	for name, rec := range records {
		var read reader
		if rec.Kind == kindEvent && read.record(rec, nil) == nil {
			out[name] = read.e.Event.Kind
		}
	}
	return out, nil
}
