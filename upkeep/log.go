package upkeep

import (
	"cmp"
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
	if err != nil {
		return &History{Run: r}, err
	}
	return history(store, cmp.Or(name, journal.Name(r.Ref)), r)
}

// LogOf reads the journal of a run that is no longer there, because it was archived, by
// the id it had. nil if there is no such journal.
func (t Tender) LogOf(id string) (*History, error) {
	store, err := t.open()
	if err != nil {
		return nil, err
	}
	names, err := journal.Logs(store)
	older, err2 := store.Logs()
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	for _, name := range append(names, older...) {
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
	h.Entries, _, err = journal.Read(store, name)
	if len(h.Entries) == 0 && err == nil { // of an older build, or nothing
		var account *journal.Account
		account, err = journal.ReadOlder(store, name)
		h.Entries = account.Entries
	}
	if errors.As(err, &h.Damage) {
		err = nil
	}
	return h, err
}
