package engine

import (
	"time"

	"reprise"
)

// Elsewhere names an attempt that is on record as started and works in another process,
// perhaps on another machine. Number is its fencing token: once the journal has an end of
// that attempt, no other end of it is recorded.
type Elsewhere struct {
	Run    reprise.Ref `json:",omitzero"` // the child run that it is of, zero for the run itself
	Step   string
	Number int
}

// Carried is what a process that works on a part of a run tells the next one. It may be
// lost, as with any crash.
type Carried struct {
	Parked   map[string]string `json:",omitempty"`
	Denied   map[string]bool   `json:",omitempty"`
	LastDone string            `json:",omitempty"`
	Waits    []Waiting         `json:",omitempty"`
	Refused  []string          `json:",omitempty"` // why steps could not be started
	// Children are the child runs at work, by step.
	Children map[string]reprise.Ref `json:",omitempty"`
	// Runs are what is told of child runs, by path. Only that of the outermost run has them.
	Runs map[string]*Carried `json:",omitempty"`
}

// Waiting is a question of a child run that was left with it, and the step that the child
// run does.
type Waiting struct {
	Step          string
	Run           reprise.Ref
	ID            string
	Text, Subject string
	Options       []string `json:",omitempty"`
	Closed        bool     `json:",omitempty"`
	AskedAt       time.Time
	whole         *reprise.Question // what is not carried of it, too
}

func waitingFor(step string, run reprise.Ref, q *reprise.Question) Waiting {
	return Waiting{step, run, q.ID, q.Text, q.Subject, q.Options, q.Closed, q.AskedAt, q}
}

// Question is what is asked.
func (q *Waiting) Question() reprise.Question {
	if q.whole != nil {
		return *q.whole
	}
	return reprise.Question{ID: q.ID, Text: q.Text, Subject: q.Subject, Options: q.Options, Closed: q.Closed, AskedAt: q.AskedAt}
}
