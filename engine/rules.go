package engine

import (
	"reflect"
	"strings"
	"time"

	"reprise"
	"reprise/journal"
	"reprise/project"
)

// View is all that a turn is decided from, as plain data: the run as status and check see
// it, and what only the engine that works on it knows.
type View struct {
	*project.View
	Memory
	// Stopping is set once the user wants it to stop: nothing more is started.
	Stopping bool
	// Letters are answers in the inbox.
	Letters []Letter
	// Used maps questions to the finished steps that used their answers, as long as no
	// record says that they were applied.
	Used map[string]string
	// Open are attempts of an earlier process without an end on record, the oldest first.
	Open []reprise.Event
	// Due is what the playbook wants recorded before the next unit is started.
	Due []reprise.Event
	// Alone is set where the next units need no agent and can be recorded in a row.
	Alone bool
	// Offers are the units that come next, up to the first that may be started.
	Offers []Offer
	// Reached is set once the step is closed that the user named as the last.
	Reached bool
	// Patient makes it wait for limits.
	Patient bool
	// Askable is set where a person can be asked.
	Askable bool
	// Spending is what was used, against what may be.
	Spending Spending
}

// Letter is an answer in the inbox, with its line there.
type Letter struct {
	journal.Letter
	Line []byte
}

// Offer is a unit that comes next.
type Offer struct {
	reprise.Assignment
	Problem error     // why it cannot be assigned
	Never   string    // why only a person can have it tried again
	From    time.Time // when it may be started
}

// Op is one thing to do in a turn. Its parts are done in this order.
type Op struct {
	Notice   []reprise.Finding
	Record   []reprise.Event // a group: after a crash, the rest of it is recorded first
	Phase    bool            // Record comes from the playbook
	Question []reprise.Asked // to put on record
	TakeOut  [][]byte        // lines to take out of the inbox
	Mark     bool            // mark the steps that git shows to be done
	Settle   []reprise.Event // attempts without an end on record
	// BeginAt resets the steps from this one on, before Record.
	BeginAt string
	Row     bool // record the units that need no agent
	Refuse  *Offer
	Park    *Offer
	Start   *reprise.Assignment
	Await   bool // wait until something ends, or until Until
	Until   time.Time
	Ask     []reprise.Question
	Leave   bool
}

// onlyRecords reports whether an op does nothing but put something on record.
func (op Op) onlyRecords() bool {
	if len(op.Record)+len(op.Question) == 0 {
		return false
	}
	op.Notice, op.Record, op.Phase, op.Question, op.BeginAt = nil, nil, false, nil, ""
	return reflect.ValueOf(op).IsZero()
}

// what names the first thing that an op puts on record.
func (op Op) what() string {
	if len(op.Record) > 0 {
		ev := &op.Record[0]
		return strings.TrimSpace(string(ev.Kind) + " " + first(ev.Question, ev.Step))
	}
	return "the question " + op.Question[0].ID
}

// Rule says what is to be done in a view; nothing if the rule does not apply. It touches
// no disk, no process and no clock.
type Rule func(v *View) []Op

// rules is the algorithm: each turn asks them in this order, and does what the first says
// that applies.
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
	askBudget,
	startNext,
	awaitWork,
	leaveOnPurpose,
	sleepUntil,
	askPerson,
	leaveAtLast,
}

// Turn decides what to do next. There always is something: at last, to leave.
func Turn(v *View) []Op {
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
