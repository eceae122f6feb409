package engine

import (
	"time"

	"reprise"
	"reprise/journal"
	"reprise/project"
)

// View is all that one turn is decided from, as plain data: the run as whoever looks
// at it sees it, too, and what only whoever works on it knows.
type View struct {
	*project.View
	// Stopping tells that a person wants it to stop: nothing more is begun.
	Stopping bool
	// Letters are answers that wait to be taken in.
	Letters []Letter
	// Used are answers, by question, that a finished step used and that are not on
	// record as applied, with the step.
	Used map[string]string
	// Unmarked tells that steps which git shows to be done may have to be marked.
	Unmarked bool
	// Open are attempts whose end nobody saw and that nobody works on, the oldest first.
	Open []reprise.Event
	// Due is what the playbook wants recorded before the next unit is started.
	Due []reprise.Event
	// Alone tells that the next units need nobody and can be recorded in a row.
	Alone bool
	// Held are steps whose work is whole and cannot be committed.
	Held map[string]bool
	// Offers are units that come next, up to the first that may be started.
	Offers []Offer
	// Reached tells that the step is closed which a person named as the last.
	Reached bool
	// Patient tells that limits are waited for.
	Patient bool
	// Askable tells that a person can be asked. LeftOpen are questions that they saw and
	// left open.
	Askable  bool
	LeftOpen map[string]bool
}

// Letter is an answer that waits in the inbox, with its line there.
type Letter struct {
	journal.Letter
	Line []byte
}

// Offer is a unit that comes next, with what it needs.
type Offer struct {
	reprise.Assignment
	Problem error     // why that cannot be told
	Never   string    // why it is left to a person
	From    time.Time // when it may be started
}

// Op is one thing that a turn wants done. Its parts are done in this order.
type Op struct {
	Notice   []reprise.Finding
	Record   []reprise.Event // they belong together
	Phase    bool            // Record is what the playbook wants
	Question []reprise.Asked // for the record, to be asked later
	Reopened []string        // steps that are done again though they were accepted
	TakeOut  [][]byte        // lines of the inbox
	Mark     bool            // what git shows to be done
	Settle   []reprise.Event // attempts whose end nobody saw
	// BeginAt records that the work begins again at a step, and then the rest of Record.
	BeginAt string
	Row     bool // record the units that need nobody
	Refuse  *Offer
	Park    *Offer
	Start   *reprise.Assignment
	Await   bool // until something ends, or until a time
	Until   time.Time
	Ask     []reprise.Question
	Leave   bool
}

// Rule says what is due by a view, nothing if it is not its turn. It touches no disk,
// no process and no clock.
type Rule func(v *View) []Op

// rules are asked in this order, each turn from the beginning; the first that wants
// something done has its way. They are the algorithm.
var rules = []Rule{
	hearAnswers,
	whenIdle(applyAnswers),
	whenIdle(markLanded),
	whenIdle(askChanged),
	whenIdle(settleOpen),
	whenIdle(askDoubts),
	whenIdle(settlePhase),
	leaveHeld,
	startInARow,
	startNext,
	awaitWork,
	leaveOnPurpose,
	sleepUntil,
	askPerson,
	leaveAtLast,
}

// turn gives what is to be done next. There always is something: at last, to leave.
func turn(v *View) []Op {
	for _, rule := range rules {
		if ops := rule(v); len(ops) > 0 {
			return ops
		}
	}
	return nil
}

// whenIdle asks a rule only while nothing is at work.
func whenIdle(rule Rule) Rule {
	return func(v *View) []Op {
		if len(v.AtWork) > 0 || v.Stopping {
			return nil
		}
		return rule(v)
	}
}
