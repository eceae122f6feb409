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
		// Reading the journal itself reports records that cannot be read.
		_ = new(trail).read(rec, func(e *Entry) { out[name] = *e })
	}
	return out, nil
}
