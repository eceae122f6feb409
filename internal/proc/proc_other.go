//go:build !linux

package proc

import (
	"errors"
	"os"
	"time"

	"reprise"
)

func look(reprise.Owner, time.Time) reprise.OwnerLife {
	return reprise.OwnerLife{Life: reprise.LifeUnknown, Reason: "processes cannot be examined on this system"}
}

// Self returns errors.ErrUnsupported on this system.
func Self() (Identity, error) { return Identity{}, errors.ErrUnsupported }

// Of returns errors.ErrUnsupported on this system.
func Of(int) (Identity, error) { return Identity{}, errors.ErrUnsupported }

// Running returns errors.ErrUnsupported on this system.
func Running(int) (Identity, error) { return Identity{}, errors.ErrUnsupported }

// WhoUses sees no one on this system, and says so.
func WhoUses(file, program string, dirs ...string) Users {
	return Users{Blind: "processes cannot be examined on this system"}
}

// Orphans sees no one on this system.
func Orphans(tokens ...string) []Process { return nil }

// Holders sees no one on this system.
func Holders(file, project string) []Process { return nil }

// Adopted sees no one on this system.
func Adopted(since uint64, except func(pid int) bool) []Process { return nil }

// Stop signals no one on this system: no process can be told from a later one
// with its number.
func Stop(grace time.Duration, found ...Process) (left []Process) { return found }

// Working sees no one on this system, and says so.
func Working(dirs ...string) Workers {
	return Workers{Blind: "processes cannot be examined on this system"}
}

// IsAbove knows no one but this process on this system.
func IsAbove(pid int) bool { return pid == os.Getpid() }

// LockOf tells whether someone holds a lock on a file. It is tried, for an instant.
func LockOf(file string) (Lock, error) { return tryLock(file) }
