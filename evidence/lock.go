package evidence

import (
	"fmt"

	"reprise"
	"reprise/internal/proc"
)

// verdict says what is to be held of a lock that these processes use. The name
// of a process is its own choice and is quoted.
func verdict(u proc.Users) (holder string, life reprise.Life, reason string) {
	name := func(p proc.Process) string { return fmt.Sprintf("%d (%q)", p.PID, p.Name) }
	switch {
	case len(u.Open) > 0:
		return name(u.Open[0]), reprise.Alive, fmt.Sprintf("process %s has it open", name(u.Open[0]))
	case len(u.Near) > 0:
		return name(u.Near[0]), reprise.LifeUnknown, fmt.Sprintf("no process has it open, but git process %s works in this repository", name(u.Near[0]))
	case u.Blind != "":
		return "", reprise.LifeUnknown, "no process was found that has it open, but " + u.Blind
	}
	return "", reprise.Dead, "no process has it open, and no git process works in this repository"
}
