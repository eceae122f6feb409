package journal

import "reprise/internal/durable"

// LastEntries gives, by the name of the journal, what happened last, as far as a
// quick look at its end shows it: for telling which journals are worth reading.
func LastEntries(store *durable.Store) (map[string]Entry, error) {
	records, err := store.LastRecords()
	if err != nil {
		return nil, err
	}
	out := map[string]Entry{}
	for name, rec := range records {
		var read reader
		if rec.Kind == kindEvent && read.record(rec, nil) == nil {
			out[name] = read.e
		}
	}
	return out, nil
}
