// Package journal keeps what happens to a run: the event first, then what it
// means in the files of the run's own layout.
//
// The journal in .reprise/ is one ledger among the others, checksummed and only
// ever added to. An event is durable there before any file of the layout says
// it; each entry names the files that are to follow, with their hashes before
// and after. So after a crash at any instruction the next opening knows which
// event was on its way: files that are still as they were are brought up to it,
// and files that someone else has changed are left alone and reported.
package journal

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
)

// Entry is one event of a journal.
type Entry struct {
	Seq        uint64 `json:"-"`
	Generation uint64 `json:"-"`
	// Source is its place in the file, for reading without the lease.
	Source reprise.Source `json:"-"`
	Event  reprise.Event  `json:"event"`
	// Files are those of the layout that follow the event.
	Files []Touch `json:"files,omitempty"`
	// Nowhere tells that the layout has no place for the event.
	Nowhere bool `json:"nowhere,omitempty"`
	// Deferred tells that the files follow later, together with those of other
	// events.
	Deferred bool `json:"deferred,omitempty"`
}

// Touch is what an event does to one file.
type Touch struct {
	Path   string       `json:"path"`
	Before reprise.Hash `json:"before"`
	After  reprise.Hash `json:"after"`
}

// The kinds of our records in the log.
const (
	kindEvent = "event"
	kindFiles = "files" // deferred events are on their way into the files
)

// Journal is the journal of one run, open for recording.
type Journal struct {
	store  *durable.Store
	log    *durable.Log
	layout reprise.Layout
	ref    reprise.Ref
	name   string

	seq     uint64 // of the last record that the trail knows
	trail   trail
	pending reprise.Track // whose files have not been told of all its events
	still   *Still        // nil where anyone may change the files
}

// Still says that no one but this process changes the files of the run.
func (j *Journal) Still(s *Still) { j.still = s }

// Name is the name of a run's log: readable, unambiguous, and a file name
// whatever the run is called.
func Name(ref reprise.Ref) string { return stem(ref) + mark(ref) }

// mark tells two runs of one name apart.
func mark(ref reprise.Ref) string {
	sum := reprise.HashOf([]byte(ref.Layout + "\x00" + ref.Path))
	return hex.EncodeToString(sum[:4])
}

// Placed reports whether a log is that of a run of this layout at this path,
// whatever the run is called there.
func Placed(log string, ref reprise.Ref) bool {
	return strings.HasPrefix(log, ref.Layout+"-") && strings.HasSuffix(log, "-"+mark(ref))
}

// Names reports whether a log is one of a run with this layout and id, wherever
// the run's files were.
func Names(log string, ref reprise.Ref) bool {
	rest, ok := strings.CutPrefix(log, stem(ref))
	return ok && len(rest) == 8
}

// MadeLog reports whether an agent's log may be that of an attempt at the run of a journal.
func MadeLog(name, log string) bool {
	slug := strings.TrimRight(name[:max(len(name)-8, 0)], "-")
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(log))
	return strings.HasPrefix(plain, slug)
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

// Open opens the journal of a run for recording and hands what is on record to
// each, in order; it must not keep the entry. The store's lease must be held.
func Open(store *durable.Store, layout reprise.Layout, ref reprise.Ref, each ...func(*Entry)) (*Journal, error) {
	j := &Journal{store: store, layout: layout, ref: ref, name: Name(ref)}
	err := j.open(durable.Mark{}, func(bool) func(durable.Record) error {
		return func(rec durable.Record) error {
			return j.trail.read(rec, func(e *Entry) {
				for _, fn := range each {
					fn(e)
				}
			})
		}
	})
	if err != nil {
		return nil, err
	}
	return j, nil
}

func (j *Journal) open(after durable.Mark, reader func(known bool) func(durable.Record) error) error {
	log, err := j.store.OpenLogAfter(j.name, after, reader)
	if err != nil {
		return fmt.Errorf("open journal of %s: %w", j.ref.ID, err)
	}
	j.log, j.seq = log, log.Seq()
	return nil
}

// Account is a journal that was read without the lease.
type Account struct {
	Entries []Entry
	Info    durable.LogInfo
	// Due says that what follows from the last record, of a run on worlds, is not known to be done.
	Due   bool
	trail trail
}

// ReadAccount reads a journal by its name without the lease and changes nothing.
// One that does not exist has no entries. With an error the account holds what
// stands before the place of damage.
func ReadAccount(store *durable.Store, name string) (*Account, error) {
	a := &Account{}
	if is, err := a.readRecords(store, name); is || err != nil {
		return a, err
	}
	var err error
	a.Info, err = store.ReadLog(name, func(rec durable.Record) error {
		return a.trail.read(rec, func(e *Entry) { a.Entries = append(a.Entries, *e) })
	})
	return a, err
}

// ReadUndone is ReadAccount without an undo that nothing followed: it may be half done.
func ReadUndone(store *durable.Store, name string) (*Account, error) {
	a := &Account{}
	if is, err := a.readRecords(store, name); is || err != nil {
		return a, err
	}
	var undone []durable.Record
	take := func(rec durable.Record) error {
		return a.trail.read(rec, func(e *Entry) { a.Entries = append(a.Entries, *e) })
	}
	var err error
	a.Info, err = store.ReadLog(name, func(rec durable.Record) error {
		var e Entry
		if rec.Kind == kindEvent && json.Unmarshal(rec.Payload, &e) == nil && e.Event.Kind == reprise.StateRestored {
			rec.Payload = slices.Clone(rec.Payload)
			undone = append(undone, rec)
			return nil
		}
		for _, earlier := range undone {
			if err := take(earlier); err != nil {
				return err
			}
		}
		undone = nil
		return take(rec)
	})
	return a, err
}

// Read is ReadAccount for the entries alone.
func Read(store *durable.Store, name string) ([]Entry, durable.LogInfo, error) {
	a, err := ReadAccount(store, name)
	return a.Entries, a.Info, err
}

// Record records an event: durable in the journal first, then in the files of
// the layout, all of them or none. It returns what was changed there.
//
// If the process dies after the event is in the journal, CatchUp of the next one
// brings the files up to it. An error after that point leaves the event recorded.
// What is to happen between the two is done by between.
func (j *Journal) Record(ctx context.Context, ev reprise.Event, between ...func()) ([]reprise.Edit, error) {
	if err := j.Project(ctx); err != nil {
		return nil, err
	}
	run, err := j.Current()
	if err != nil {
		return nil, err
	}
	edits, nowhere, err := j.edits(run, ev)
	if err != nil {
		return nil, err
	}
	return edits, j.carryOut(ctx, ev, edits, nowhere, between)
}

// carryOut makes an event durable, first in the journal and then in the files.
func (j *Journal) carryOut(ctx context.Context, ev reprise.Event, edits []reprise.Edit, nowhere bool, between []func()) error {
	files, err := j.touches(edits)
	if err != nil {
		return err
	}
	// crash: before-event
	if err := j.append(Entry{Event: ev, Nowhere: nowhere, Files: files}); err != nil {
		return fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	// crash: event-recorded
	for _, do := range between {
		do()
	}
	if len(edits) == 0 {
		return nil
	}
	if err := j.store.Apply(ctx, edits); err != nil {
		return fmt.Errorf("project %s: %w", ev.Kind, err)
	}
	// crash: event-projected
	return nil
}

// Current gives the run as its files tell it now. It must not be changed.
func (j *Journal) Current() (*reprise.Run, error) {
	run, err := j.still.load(j.store, j.layout, j.ref)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", j.ref.Path, err)
	}
	return run, nil
}

// edits asks the layout what an event means in its files as they are now.
func (j *Journal) edits(run *reprise.Run, ev reprise.Event) (edits []reprise.Edit, nowhere bool, err error) {
	return editsOf(j.layout, j.store, run, ev)
}

func editsOf(layout reprise.Layout, store reprise.Store, run *reprise.Run, ev reprise.Event) (edits []reprise.Edit, nowhere bool, err error) {
	edits, err = layout.Record(store, run, filed(ev))
	if errors.Is(err, reprise.ErrCannotRecord) || err != nil && run.State == reprise.Unreadable {
		// Files that cannot be read take nothing in; they are mended first.
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return edits, false, nil
}

// append makes an entry durable.
func (j *Journal) append(e Entry) error {
	if err := j.put(kindEvent, e); err != nil {
		return err
	}
	j.trail.add(&e)
	return nil
}

// tell makes a record of files durable.
func (j *Journal) tell(p projection) error {
	p.Again = j.trail.again
	if err := j.put(kindFiles, p); err != nil {
		return err
	}
	j.trail.project(p)
	return nil
}

func (j *Journal) put(kind string, v any) error {
	was := j.log.Seq()
	if err := appendTo(j.log, kind, v); err != nil {
		return err
	}
	if j.seq == was {
		j.seq = j.log.Seq()
	}
	return nil
}

func appendTo(log *durable.Log, kind string, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = log.Append(kind, payload)
	return err
}

// touches tells what edits do to their files.
func (j *Journal) touches(edits []reprise.Edit) ([]Touch, error) {
	var out []Touch
	for _, e := range edits {
		// What the files cannot take is not recorded as on its way to them.
		if err := j.store.CanWrite(e.Path); err != nil {
			return nil, err
		}
		after, err := j.after(e)
		if err != nil {
			return nil, err
		}
		out = append(out, Touch{Path: e.Path, Before: e.Base, After: after})
	}
	return out, nil
}

// after is the hash of a file once an edit is made.
func (j *Journal) after(e reprise.Edit) (reprise.Hash, error) {
	if !e.Append {
		return reprise.HashOf(e.Content), nil
	}
	if e.Base.IsZero() {
		return reprise.HashOf(e.Content), nil
	}
	return j.store.HashFile(e.Path, e.Content)
}

// hash returns the hash of a file as it is now, zero if there is none.
func hash(store *durable.Store, name string) (reprise.Hash, error) {
	if is, err := isThere(store, name); !is {
		return reprise.Hash{}, err
	}
	return store.HashFile(name)
}

// isThere reports whether there is a file of a name; a folder in its place is none.
func isThere(store *durable.Store, name string) (bool, error) {
	info, err := store.Stat(name)
	if isMissing(err) {
		return false, nil
	}
	return err == nil && !info.IsDir(), err
}

// Note records an event in the journal alone, for what happens to the state as
// a whole and not in it.
func (j *Journal) Note(ev reprise.Event) error {
	if err := j.append(Entry{Event: ev, Nowhere: true}); err != nil {
		return fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return nil
}

// Restored records in every journal of a project, or in those that told selects, that an
// earlier state is about to be restored, so that undone work does not count as unfinished.
func Restored(store *durable.Store, ev reprise.Event, told func(log string) bool, doubts map[string][]reprise.Event) error {
	names, err := store.Logs()
	if err != nil {
		return err
	}
	for _, name := range names {
		if told != nil && !told(name) {
			continue
		}
		log, err := store.Log(name)
		if err != nil {
			return err
		}
		ev.Doubts = doubts[name]
		if err := appendTo(log, kindEvent, Entry{Event: ev, Nowhere: true}); err != nil {
			return fmt.Errorf("record %s: %w", ev.Kind, err)
		}
	}
	return nil
}
