package upkeep

import (
	"errors"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/project"
)

// History is what the journal of one run holds.
type History struct {
	Run     *reprise.Run
	Entries []journal.Entry
	// Damage is set where the journal cannot be trusted from some place on.
	Damage *durable.DamageError
}

// Log reads the journal of a run. It changes nothing.
func (t Tender) Log(r *reprise.Run) (*History, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	name, err := project.JournalOf(store, r)
	if name == "" || err != nil {
		return &History{Run: r}, err
	}
	return history(store, name, r)
}

// LogOf reads the journal of a run that is no longer there, because it was archived, by
// the id it had. nil if there is no such journal.
func (t Tender) LogOf(id string) (*History, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	names, err := journal.Logs(store)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		layout, _, _ := strings.Cut(name, "-")
		if ref := (reprise.Ref{Layout: layout, ID: id}); journal.Names(name, ref) {
			return history(store, name, &reprise.Run{Ref: ref})
		}
	}
	return nil, nil
}

func history(store *durable.Store, name string, r *reprise.Run) (*History, error) {
	h := &History{Run: r}
	var err error
	if h.Entries, _, err = journal.Read(store, name); errors.As(err, &h.Damage) {
		err = nil
	}
	return h, err
}
