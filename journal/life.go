package journal

import (
	"strings"

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
	// Restored is the snapshot that was brought back last, "" if none was since it was
	// begun. Where nothing was done after that, the run should be there if it is in
	// that snapshot.
	Restored string

	// start is where it was begun here, -1 if that was someone else or an earlier
	// state was brought back since; restored is where that was, -1 if it was not.
	start, restored int
}

// LifeOf follows the entries of a journal.
func LifeOf(entries []Entry) Life {
	l := Life{start: -1, restored: -1}
	for i := range entries {
		ev := &entries[i].Event
		if ev.Run != nil {
			l.Run = reprise.Ref(*ev.Run)
		}
		switch ev.Kind {
		case reprise.RunStarted:
			l.Open, l.Restored, l.start, l.restored = false, "", i, -1
		case reprise.StateRestored:
			// It may be one from before the run: only what is done next tells.
			l.Open, l.start, l.restored = false, -1, i
			l.Restored = strings.TrimPrefix(ev.Text, restoredText)
		case reprise.EngineLeft, reprise.RunEnded, reprise.RunStopped:
			l.Open = l.Open && !Over(ev)
		case reprise.RunRenewed, reprise.RunResumed, reprise.WorktreeReady:
			l.Open = l.Open || l.start < 0
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

// restoredText begins the text of an event that tells which snapshot was brought back.
const restoredText = "snapshot "
