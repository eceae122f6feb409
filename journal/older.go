package journal

import (
	"encoding/json"
	"fmt"

	"reprise"
	"reprise/internal/durable"
)

// ReadOlder is ReadAccount for the journal that an older build kept of a run. It is only shown:
// what was done is told by the files of the run and by git.
func ReadOlder(store *durable.Store, name string) (*Account, error) {
	a := &Account{}
	var err error
	a.Info, err = store.ReadLog(name, func(rec durable.Record) error {
		if rec.Kind != "event" {
			return nil
		}
		e := Entry{Seq: rec.Seq, Generation: rec.Gen, Source: reprise.Source{File: rec.File, Line: rec.Line}}
		if err := json.Unmarshal(rec.Payload, &e); err != nil {
			return fmt.Errorf("read journal entry %d: %w", rec.Seq, err)
		}
		a.Entries = append(a.Entries, e)
		return nil
	})
	return a, err
}
