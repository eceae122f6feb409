// Package proc tells whether the process that a record names is the one that
// runs now. A pid alone is never proof of life, the age of a file is never
// proof of death, and what cannot be seen from here is unknown: a live owner is
// never called dead.
//
// Looking signals nothing and writes nothing; the only system call beside
// reading /proc asks whether a pid exists.
//
// The package also keeps hold of a command and of all it starts (Tree), and
// finds and stops what is left of one that lost its keeper (Orphans, Adopted,
// Stop).
package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"reprise"
)

// Identity names one process for all time: a pid is used again, a pid with its
// start time and the boot it belongs to is not.
type Identity struct {
	Host       string
	BootID     string
	PID        int
	StartTicks uint64 // since boot, as the kernel counts
	Namespace  string // of pids, e.g. "pid:[4026531836]"
}

// Process is one process that runs now.
type Process struct {
	PID  int    `json:"pid"`
	Name string `json:"name"` // as the process calls itself: text of others, not to be trusted
	// Command is its command line, shortened; text of others too. It is empty
	// where no one asked for it.
	Command string `json:"command,omitempty"`
	// StartTicks tells it from a later process with the same pid.
	StartTicks uint64 `json:"ticks,omitempty"`
	// Took is who took the lock that it holds: itself, or the process that it inherited
	// the lock from; 0 where no one asked, or that is not known.
	Took int `json:"-"`
}

// String names the process and its command line in one line.
func (p Process) String() string {
	text := p.Command
	if text == "" {
		text = p.Name
	}
	return fmt.Sprintf("%d %s", p.PID, strings.ToValidUTF8(text, "?"))
}

// Users is what is known of who uses a file.
type Users struct {
	Open []Process // have it open
	Near []Process // programs of the given name that work in one of the folders
	// Blind says why others may use it unseen; "" if every process was seen.
	Blind string
}

// The wall clock only counts where a record has no kernel time. It may have
// been set since, the record may hold a day without an hour, or an hour without
// a zone: only what lies beyond that is a contradiction.
const (
	slackSame  = 2 * time.Minute
	slackOther = 26 * time.Hour
)

// Look says whether the owner of a record is alive, and why. Without a pid, or
// without the means of this system, the answer is unknown. Where the process is not seen,
// its lock decides: one that is held is held by something that lives, whatever its name
// and wherever it runs, and one that is free on the machine of the record is no one's.
func Look(o reprise.Owner, now time.Time) reprise.OwnerLife {
	life := look(o, now)
	if life.Life == reprise.Alive || o.Lock == "" {
		return life
	}
	lock, err := LockOf(o.Lock)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return life
	case err != nil:
		return reprise.OwnerLife{Life: reprise.LifeUnknown, Reason: "its lock cannot be examined: " + err.Error()}
	case lock.Held:
		return reprise.OwnerLife{Life: reprise.Alive, Reason: "its lock is held; " + life.Reason}
	case lock.Blind != "":
		return reprise.OwnerLife{Life: reprise.LifeUnknown, Reason: lock.Blind}
	case isHere(o):
		return reprise.OwnerLife{Life: reprise.Dead, Reason: "nothing holds its lock"}
	}
	return life
}

// sameHost compares names of machines; one may be the other's full form.
func sameHost(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if a == b {
		return true
	}
	x, _, longA := strings.Cut(a, ".")
	y, _, longB := strings.Cut(b, ".")
	return x == y && longA != longB
}

// namesHost reports whether a name tells one machine from others.
func namesHost(name string) bool {
	switch strings.ToLower(name) {
	case "", "localhost", "localhost.localdomain", "(none)", "unknown", "127.0.0.1", "::1":
		return false
	}
	return true
}

// isHere reports whether a record is of this boot, or names this machine: its host name,
// where the boot cannot be compared.
func isHere(o reprise.Owner) bool {
	if self, err := Self(); err == nil && o.BootID != "" && self.BootID != "" {
		return o.BootID == self.BootID
	}
	host, err := os.Hostname()
	return err == nil && namesHost(o.Host) && sameHost(o.Host, host)
}
