//go:build !linux

package proc

import (
	"errors"
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

// WhoUses sees nobody on this system, and says so.
func WhoUses(file, program string, dirs ...string) Users {
	return Users{Blind: "processes cannot be examined on this system"}
}
