package demo

import (
	"fmt"
	"slices"

	"reprise"
)

// Proof is what the journal and the agents' own log say together.
type Proof struct {
	Steps []StepProof // in the order they were first launched or finished
	// Problems are sentences; the proof holds if there are none.
	Problems []string
}

// StepProof is what happened to one step.
type StepProof struct {
	ID       string
	Launches int  // by the agents' own log
	Finished int  // accepted completions, by the journal
	Before   bool // it was finished when the engine was killed
	CutOff   bool // it was at work then
	Asked    bool // it ended with a question to a person
	// Resolution is how an attempt that was cut off was settled, and Why.
	Resolution, Why string
}

// Moment is how far things had come when the engine was killed.
type Moment struct{ Events, Launches int }

// Prove holds the events of a run against what its agents told: every step has
// exactly one accepted completion (or asked a person), none that was finished before the kill was
// launched again, what was cut off was settled by an event, and nothing was
// launched more often than once and once more for each attempt given up. Steps
// that no one is launched for (a person's command, a decision) count by their
// events alone.
func Prove(events []reprise.Event, launches []Launch, killed Moment) Proof {
	t := tally{steps: map[string]*StepProof{}, again: map[string]int{}}
	for i, ev := range events {
		t.event(ev, i < killed.Events)
	}
	for i, l := range launches {
		s := t.step(l.Step)
		s.Launches++
		if i >= killed.Launches && s.Before {
			t.problem("%s was finished before the kill and launched again", l.Step)
		}
	}
	cut := 0
	for _, id := range t.order {
		s := t.steps[id]
		switch {
		case s.Finished == 0 && !s.Asked:
			t.problem("%s was never finished", id)
		case s.Finished > 1:
			t.problem("%s was accepted as finished %d times", id, s.Finished)
		}
		if s.Launches > 1+t.again[id] {
			t.problem("%s was launched %d times with %d attempts given up", id, s.Launches, t.again[id])
		}
		if s.CutOff {
			cut++
			if s.Resolution == "" {
				t.problem("%s was cut off and nothing says how that was settled", id)
			}
		}
		t.Steps = append(t.Steps, *s)
	}
	if cut == 0 {
		t.problem("nothing was at work when the engine was killed")
	}
	return t.Proof
}

type tally struct {
	Proof
	steps map[string]*StepProof
	order []string
	again map[string]int // attempts given up: cut off, or waiting for an answer
}

func (t *tally) problem(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.Problems, text) {
		t.Problems = append(t.Problems, text)
	}
}

func (t *tally) step(id string) *StepProof {
	if t.steps[id] == nil {
		t.steps[id] = &StepProof{ID: id}
		t.order = append(t.order, id)
	}
	return t.steps[id]
}

func (t *tally) event(ev reprise.Event, before bool) {
	switch ev.Kind {
	case reprise.StepStarted:
		s := t.step(ev.Step)
		s.CutOff = s.CutOff || before
	case reprise.StepFinished:
		s := t.step(ev.Step)
		s.Finished++
		if before {
			s.Before, s.CutOff = true, false
		}
	case reprise.StepFailed:
		t.again[ev.Step]++
		if before {
			t.step(ev.Step).CutOff = false
		}
	case reprise.StepReset:
		if ev.Outcome == "question" {
			t.step(ev.Step).Asked = true
			t.again[ev.Step]++
		}
	case reprise.StepResolved:
		s := t.step(ev.Step)
		s.Resolution, s.Why = ev.Outcome, ev.Text
		if ev.Outcome == string(reprise.Rerun) {
			t.again[ev.Step]++
		}
	}
}
