// Package journal tells what happened to a run: the records that it is worked on by, as the events
// that every face shows, and what these add up to.
package journal

import (
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
	// Files are those of the layout that followed the event; an older build noted them.
	Files []Touch `json:"files,omitempty"`
}

// Touch is what an event does to one file.
type Touch struct {
	Path   string       `json:"path"`
	Before reprise.Hash `json:"before"`
	After  reprise.Hash `json:"after"`
}

// Name is the name of a run's log: readable, unambiguous, and a file name
// whatever the run is called.
func Name(ref reprise.Ref) string { return ref.LogName() }

// Placed reports whether a log is that of a run of this layout at this path,
// whatever the run is called there.
func Placed(log string, ref reprise.Ref) bool {
	return strings.HasPrefix(log, ref.Layout+"-") && strings.HasSuffix(log, Name(ref)[len(ref.LogStem())-1:])
}

// Names reports whether a log is one of a run with this layout and id, wherever
// the run's files were.
func Names(log string, ref reprise.Ref) bool {
	rest, ok := strings.CutPrefix(log, ref.LogStem())
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

// Account is a journal that was read without the lease.
type Account struct {
	Entries []Entry
	Info    durable.LogInfo
	// Due says that what follows from the last record, of a run on worlds, is not known to be done.
	Due bool
}

// ReadAccount reads a journal by its name without the lease and changes nothing.
// One that does not exist has no entries, and neither has one of an older build. With an
// error the account holds what stands before the place of damage.
func ReadAccount(store *durable.Store, name string) (*Account, error) {
	a := &Account{}
	return a, a.readRecords(store, name)
}

// Read is ReadAccount for the entries alone.
func Read(store *durable.Store, name string) ([]Entry, durable.LogInfo, error) {
	a, err := ReadAccount(store, name)
	return a.Entries, a.Info, err
}
