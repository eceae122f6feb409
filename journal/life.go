package journal

import (
	"reprise"
)

// Life is what a journal says about its run: whether it was begun and neither ended nor
// given up, so that its files should exist.
type Life struct {
	// Run is the run, zero where no event names its place.
	Run reprise.Ref
	// Open is set if it was worked on, and neither ended, archived nor taken back since.
	// A run that was only begun is not open: beginning it again repeats nothing.
	Open bool
}

// LifeOf follows the entries of a journal.
func LifeOf(entries []Entry) Life {
	var l Life
	begun := false // here
	for i := range entries {
		ev := &entries[i].Event
		if ev.Run != nil {
			l.Run = reprise.Ref(*ev.Run)
		}
		switch ev.Kind {
		case reprise.RunStarted:
			l.Open, begun = false, true
		case reprise.EngineLeft, reprise.RunEnded, reprise.RunStopped:
			l.Open = l.Open && !Over(ev)
		case reprise.RunResumed, reprise.WorktreeReady:
			l.Open = l.Open || !begun
		default:
			l.Open = true
		}
	}
	return l
}

// Over reports whether an event says that nothing is left to do of a run, or that it was
// stopped on purpose.
func Over(ev *reprise.Event) bool {
	switch ev.Kind {
	case reprise.RunEnded:
		return true
	case reprise.RunStopped:
		return ev.Outcome != "paused"
	case reprise.EngineLeft:
		return ev.Outcome == reprise.Finish.String()
	}
	return false
}
