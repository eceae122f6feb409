package upkeep

import (
	"errors"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// History is what the journal of one run holds.
type History struct {
	Run     *reprise.Run
	Entries []journal.Entry
	// Damage is set where the journal cannot be trusted from some place on.
	Damage *durable.DamageError
	Info   durable.LogInfo
}

// Log reads the journal of a run. It changes nothing.
func (t Tender) Log(r *reprise.Run) (*History, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	h := &History{Run: r}
	h.Entries, h.Info, err = journal.Read(store, r.Ref)
	if errors.As(err, &h.Damage) {
		err = nil
	}
	return h, err
}
