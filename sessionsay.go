package reprise

import (
	"cmp"
	"slices"
	"time"
)

// ends say what ended a session.
var ends = map[EndedBy]string{
	EndedKilled: "was killed", EndedClosed: "was closed while it worked", EndedYou: "was interrupted by a person", EndedLimit: "ran into a limit",
	EndedContext: "filled its context", EndedError: "was ended by an error of its model's service", EndedLogin: "was refused its login",
	EndedBilling: "was refused for want of payment", EndedPermission: "was killed while it asked for a permission", EndedReboot: "was cut off when the machine went down",
	EndedFinished: "finished",
}

// Says says how the session ended or what it is doing, as what follows its name.
func (s Session) Says(now time.Time) string {
	switch state := s.State(now); {
	case state == Running:
		return "is at work"
	case state == Waiting && s.Asks != "":
		return "asks for a permission"
	case state == Waiting && s.Owner.Life == Alive:
		return "is open and waits"
	case state == Waiting && s.End.Until.IsZero():
		return "ran into a limit, whose end is unknown"
	case state == Waiting:
		return "ran into a limit until " + s.End.Until.UTC().Format("2006-01-02 15:04 MST")
	case s.End.By == EndedLimit:
		return "ran into a limit, which is over"
	case state == Unreadable:
		return "cannot be read"
	}
	return cmp.Or(ends[s.End.By], "stopped, and why is not on record")
}

// Open lists the calls whose outcome must be determined, the worst first.
func (s Session) Open() []Call {
	out := slices.DeleteFunc(slices.Clone(s.Calls), func(c Call) bool { return !c.Open() })
	slices.SortStableFunc(out, func(a, b Call) int {
		return cmp.Compare(cmp.Or(b.Effect, EffectUnknown), cmp.Or(a.Effect, EffectUnknown))
	})
	return out
}

// Words is the outcome of the call in words. One without a word is unknown, never done.
func (c Call) Words() string {
	return cmp.Or(map[Landing]string{Landed: "it took effect", NotLanded: "it did not take effect", LandedPartly: "it took effect in part"}[c.Landing], "whether it took effect is unknown")
}

// Name is what a person calls the call.
func (c Call) Name() string { return cmp.Or(c.Text, c.Tool, "a call") }
