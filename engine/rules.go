package engine

import (
	"time"

	"reprise"
)

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
