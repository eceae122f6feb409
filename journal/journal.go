// Package journal keeps what happens to a run: the event first, then what it
// means in the files of the run's own layout.
//
// The journal in .reprise/ is one ledger among the others, checksummed and only
// ever added to. An event is durable there before any file of the layout says
// it; each entry names the files that are to follow, with their hashes before
// and after. So after a crash at any instruction the next opening knows which
// event was on its way: files that are still as they were are brought up to it,
// and files that somebody else has changed are left alone and reported.
package journal

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// Entry is one event of a journal.
type Entry struct {
	Seq        uint64        `json:"-"`
	Generation uint64        `json:"-"`
	Event      reprise.Event `json:"event"`
	// Files are those of the layout that follow the event.
	Files []Touch `json:"files,omitempty"`
	// Nowhere tells that the layout has no place for the event.
	Nowhere bool `json:"nowhere,omitempty"`
}

// Touch is what an event does to one file.
type Touch struct {
	Path   string       `json:"path"`
	Before reprise.Hash `json:"before"`
	After  reprise.Hash `json:"after"`
}

// kindEvent is the kind of our records in the log.
const kindEvent = "event"

// Journal is the journal of one run, open for recording.
type Journal struct {
	store  *durable.Store
	log    *durable.Log
	layout reprise.Layout
	ref    reprise.Ref
	name   string
}

// Name is the name of a run's log: readable, unambiguous, and a file name
// whatever the run is called.
func Name(ref reprise.Ref) string {
	sum := reprise.HashOf([]byte(ref.Layout + "\x00" + ref.Path))
	return stem(ref) + hex.EncodeToString(sum[:4])
}

// Names reports whether a log is one of a run with this layout and id, wherever
// the run's files were.
func Names(log string, ref reprise.Ref) bool {
	rest, ok := strings.CutPrefix(log, stem(ref))
	return ok && len(rest) == 8
}

// stem is a log's name without what tells two runs of one name apart.
func stem(ref reprise.Ref) string {
	var b strings.Builder
	for _, r := range strings.ToLower(ref.ID) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
		if b.Len() == 32 {
			break
		}
	}
	slug := strings.Trim(b.String(), "-")
	if slug == "" {
		slug = "run"
	}
	return ref.Layout + "-" + slug + "-"
}

// Open opens the journal of a run for recording. The store's lease must be held.
func Open(store *durable.Store, layout reprise.Layout, ref reprise.Ref) (*Journal, error) {
	name := Name(ref)
	log, err := store.Log(name)
	if err != nil {
		return nil, fmt.Errorf("open journal of %s: %w", ref.ID, err)
	}
	return &Journal{store: store, log: log, layout: layout, ref: ref, name: name}, nil
}

// Read reads a journal by its name without the lease and changes nothing. One
// that does not exist has no entries.
func Read(store *durable.Store, name string) ([]Entry, durable.LogInfo, error) {
	var out []Entry
	info, err := store.ReadLog(name, func(rec durable.Record) error {
		if rec.Kind != kindEvent {
			return nil
		}
		var e Entry
		if err := json.Unmarshal(rec.Payload, &e); err != nil {
			return fmt.Errorf("read journal entry %d: %w", rec.Seq, err)
		}
		e.Seq, e.Generation = rec.Seq, rec.Gen
		out = append(out, e)
		return nil
	})
	return out, info, err
}

// Record records an event: durable in the journal first, then in the files of
// the layout, all of them or none. It returns what was changed there.
//
// If the process dies after the event is in the journal, CatchUp of the next one
// brings the files up to it. An error after that point leaves the event recorded.
func (j *Journal) Record(ctx context.Context, ev reprise.Event) ([]reprise.Edit, error) {
	edits, nowhere, err := j.edits(ev)
	if err != nil {
		return nil, err
	}
	entry := Entry{Event: ev, Nowhere: nowhere}
	for _, e := range edits {
		after, err := j.after(e)
		if err != nil {
			return nil, err
		}
		entry.Files = append(entry.Files, Touch{Path: e.Path, Before: e.Base, After: after})
	}
	payload, err := json.Marshal(entry)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	// crash: before-event
	if _, err := j.log.Append(kindEvent, payload); err != nil {
		return nil, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	// crash: event-recorded
	if len(edits) == 0 {
		return nil, nil
	}
	if err := j.store.Apply(ctx, edits); err != nil {
		return nil, fmt.Errorf("project %s: %w", ev.Kind, err)
	}
	// crash: event-projected
	return edits, nil
}

// edits asks the layout what an event means in its files as they are now.
func (j *Journal) edits(ev reprise.Event) (edits []reprise.Edit, nowhere bool, err error) {
	run, err := j.layout.Load(j.store, j.ref)
	if err != nil {
		return nil, false, fmt.Errorf("load %s: %w", j.ref.Path, err)
	}
	edits, err = j.layout.Record(j.store, run, ev)
	if errors.Is(err, reprise.ErrCannotRecord) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return edits, false, nil
}

// after is the hash of a file once an edit is made.
func (j *Journal) after(e reprise.Edit) (reprise.Hash, error) {
	if !e.Append {
		return reprise.HashOf(e.Content), nil
	}
	if e.Base.IsZero() {
		return reprise.HashOf(e.Content), nil
	}
	have, err := j.store.ReadFile(e.Path)
	if err != nil {
		return reprise.Hash{}, err
	}
	return reprise.HashOf(append(have, e.Content...)), nil
}

// hash is that of a file as it is now, zero if there is none.
func hash(store *durable.Store, name string) (reprise.Hash, error) {
	data, err := store.ReadFile(name)
	if isMissing(err) {
		return reprise.Hash{}, nil
	}
	if err != nil {
		return reprise.Hash{}, err
	}
	return reprise.HashOf(data), nil
}

// Note records an event in the journal alone, for what happens to the state as
// a whole and not in it.
func (j *Journal) Note(ev reprise.Event) error { return note(j.log, ev) }

// Restored tells every journal of a project that an earlier state is about to be
// brought back, so that nobody takes what is undone for what is unfinished.
func Restored(store *durable.Store, ev reprise.Event) error {
	names, err := store.Logs()
	if err != nil {
		return err
	}
	for _, name := range names {
		log, err := store.Log(name)
		if err != nil {
			return err
		}
		if err := note(log, ev); err != nil {
			return err
		}
	}
	return nil
}

func note(log *durable.Log, ev reprise.Event) error {
	payload, err := json.Marshal(Entry{Event: ev, Nowhere: true})
	if err != nil {
		return fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	if _, err := log.Append(kindEvent, payload); err != nil {
		return fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return nil
}
