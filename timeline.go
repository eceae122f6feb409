package reprise

import (
	"cmp"
	"slices"
	"time"
)

// Timeline shows when the parts of a run were worked on or waited for, since the run was
// last started. From and To are the first and last moments, both zero if nothing is
// recorded.
type Timeline struct {
	From  time.Time      `json:"from" jsonschema:"the first moment; the zero time if nothing is on record"`
	To    time.Time      `json:"to" jsonschema:"the last moment: now while something lasts"`
	Steps []TimelineStep `json:"steps" jsonschema:"in the order in which they were first worked on or asked about"`
}

// TimelineStep is one row of a timeline. ID is "" for what concerns no single step.
type TimelineStep struct {
	ID    string         `json:"id" jsonschema:"the step; empty for what is about the run as a whole"`
	Spans []TimelineSpan `json:"spans" jsonschema:"in the order in which they began"`
}

// TimelineSpan is one attempt or one wait.
type TimelineSpan struct {
	Kind SpanKind `json:"kind" jsonschema:"limit and person are what is waited for; stopped is an attempt that ended in good order without a result"`
	// Attempt is 0 for a wait.
	Attempt int       `json:"attempt,omitempty" jsonschema:"the number of the attempt; absent for a time of waiting"`
	From    time.Time `json:"from"`
	// To is, for an attempt that was cut off, the last moment at which it is known to
	// have been working.
	To    time.Time `json:"to" jsonschema:"of an attempt that was cut off the last moment of which is known that it was at work"`
	Lasts bool      `json:"lasts,omitempty" jsonschema:"it is not over"`
	// Actor is the role, Agent the session, and Text why it ended or what is asked.
	Actor string `json:"actor,omitempty" jsonschema:"the role"`
	Agent string `json:"agent,omitempty" jsonschema:"the session"`
	Text  string `json:"text,omitempty" jsonschema:"why it ended like that, or what is asked"`
	Usage *Usage `json:"usage,omitempty" jsonschema:"what the attempt used; absent if no agent was at work"`

	// Recorded is when its end was recorded. For an attempt that was cut off, that is
	// when it was found.
	Recorded time.Time `json:"-"`
	// Accepted is, for the last span before its step was accepted, when that was; zero
	// for all others.
	Accepted time.Time `json:"-"`

	question string
	held     bool // its end was seen, To, but git could not commit its work
}

// Took returns its duration.
func (s TimelineSpan) Took() time.Duration { return s.To.Sub(s.From) }

// SpanKind says how an attempt ended, or what a wait is for.
type SpanKind = Enum[spanWords]

// The kinds of spans.
const (
	SpanWorking  SpanKind = iota + 1 // an attempt in progress
	SpanFinished                     // one that was accepted
	SpanFailed
	SpanCutOff  // no one saw it end
	SpanStopped // ended in an orderly way without a result
	SpanLimit   // waiting for a limit to expire
	SpanPerson  // waiting for an answer
)

type spanWords struct{}

func (spanWords) words() (string, []string) {
	return "span", []string{"", "working", "finished", "failed", "cut-off", "stopped", "limit", "person"}
}

// TimelineOf builds the timeline of a run from its journal. working says whether someone
// is working on it now; if not, an attempt without an end was cut off.
func TimelineOf(events []Event, working bool, now time.Time) Timeline {
	t := &timeline{}
	for i := range events {
		t.add(&events[i])
	}
	t.close(working, now)
	return t.Timeline
}

// timeline is a Timeline under construction.
type timeline struct {
	Timeline
	alive time.Time // when an attempt was last known to be working
}

func (t *timeline) add(ev *Event) {
	if ev.Kind == RunStarted {
		*t = timeline{}
	}
	if t.From.IsZero() {
		t.From = ev.At
	}
	if ev.At.After(t.To) {
		t.To = ev.At
	}
	switch ev.Kind {
	case RunResumed:
		t.left()
		return
	case StepStarted:
		t.end(ev, SpanCutOff, t.alive)
		t.wait(ev, SpanLimit, "")
		t.begin(ev.Step, TimelineSpan{Kind: SpanWorking, Attempt: ev.Attempt, From: ev.At, To: ev.At, Actor: ev.Actor, Agent: ev.Agent})
	case SessionKnown:
		if s := t.last(ev.Step, SpanWorking); s != nil && s.Attempt == ev.Attempt {
			s.Agent = ev.Agent
		}
	case StepHeld:
		if s := t.last(ev.Step, SpanWorking); s != nil {
			s.To, s.held = ev.At, true
		}
	case StepFinished, StepSkipped:
		t.end(ev, SpanFinished, ev.At)
		t.wait(ev, SpanLimit, "")
		t.accept(ev)
	case StepFailed:
		t.end(ev, SpanFailed, ev.At)
	case StepBlocked:
		t.end(ev, SpanStopped, ev.At)
	case StepReset:
		t.end(ev, SpanStopped, ev.At)
	case StepDeferred:
		t.end(ev, SpanStopped, ev.At)
		t.begin(ev.Step, TimelineSpan{Kind: SpanLimit, From: ev.At, To: ev.Until, Text: ev.Text})
	case StepResolved:
		if ev.Outcome == string(Rerun) {
			t.end(ev, SpanCutOff, t.alive)
		} else if s := t.last(ev.Step, SpanWorking); s != nil && !s.held {
			s.To, s.held = t.alive, true // its work is settled later; it ended before
		}
		return
	case QuestionAsked:
		t.begin(cmp.Or(ev.By, ev.Step), TimelineSpan{Kind: SpanPerson, From: ev.At, Text: ev.Text, question: ev.Question})
	case QuestionAnswered, QuestionSkipped, AnswerWithdrawn:
		t.wait(ev, SpanPerson, ev.Question)
		return
	case RunEnded, RunStopped, RunRenewed, StateRestored:
		t.over(ev.At)
		return
	case SessionCheckpoint, StepReported, StepOverstepped, CallSettled:
	default:
		return
	}
	t.alive = ev.At
}

// begin adds a span to the row of a step.
func (t *timeline) begin(step string, s TimelineSpan) {
	i := slices.IndexFunc(t.Steps, func(row TimelineStep) bool { return row.ID == step })
	if i < 0 {
		i, t.Steps = len(t.Steps), append(t.Steps, TimelineStep{ID: step})
	}
	s.Lasts = true
	t.Steps[i].Spans = append(t.Steps[i].Spans, s)
}

// last returns the unfinished span of a step of this kind, or nil.
func (t *timeline) last(step string, kind SpanKind) (found *TimelineSpan) {
	for s := range t.lasting {
		if s.Kind == kind && s.of == step {
			found = s.TimelineSpan
		}
	}
	return found
}

type span struct {
	*TimelineSpan
	of string
}

// lasting iterates over the unfinished spans.
func (t *timeline) lasting(yield func(span) bool) {
	for i := range t.Steps {
		for k := range t.Steps[i].Spans {
			if s := &t.Steps[i].Spans[k]; s.Lasts && !yield(span{s, t.Steps[i].ID}) {
				return
			}
		}
	}
}

// end ends the current attempt at a step and keeps what the event says about it.
func (t *timeline) end(ev *Event, kind SpanKind, at time.Time) {
	s := t.last(ev.Step, SpanWorking)
	if s == nil || ev.Kind != StepStarted && ev.Attempt != 0 && ev.Attempt < s.Attempt {
		return
	}
	if !s.held && at.After(s.From) {
		s.To = at
	}
	s.Kind, s.Lasts, s.Recorded = kind, false, ev.At
	if ev.Kind != StepStarted {
		s.Text, s.Usage, s.Agent = ev.Text, ev.Usage, cmp.Or(s.Agent, ev.Agent)
	}
}

// accept marks the last span before a step was accepted.
func (t *timeline) accept(ev *Event) {
	i := slices.IndexFunc(t.Steps, func(row TimelineStep) bool { return row.ID == ev.Step })
	if i < 0 {
		return
	}
	spans := t.Steps[i].Spans
	if last := &spans[len(spans)-1]; last.Accepted.IsZero() {
		last.Accepted = ev.At
	}
}

// wait ends a step's wait for a limit or for the answer to a question.
func (t *timeline) wait(ev *Event, kind SpanKind, question string) {
	for s := range t.lasting {
		if s.Kind == kind && s.question == question && (question != "" || s.of == ev.Step) {
			s.Lasts, s.Recorded = false, ev.At
			if s.To.IsZero() || ev.At.Before(s.To) {
				s.To = ev.At
			}
		}
	}
}

// left ends the attempts that no one was working on when the run was resumed: they ended
// when last seen.
func (t *timeline) left() {
	for s := range t.lasting {
		if s.Kind == SpanWorking && !s.held {
			s.To, s.held = t.alive, true
		}
	}
}

// over ends every unfinished span.
func (t *timeline) over(at time.Time) {
	for s := range t.lasting {
		switch {
		case s.Kind == SpanWorking:
			s.Kind = SpanStopped
			s.To = at
		case s.To.IsZero() || at.Before(s.To):
			s.To = at
		}
		s.Lasts, s.Recorded = false, at
	}
}

// close brings the timeline up to the present.
func (t *timeline) close(working bool, now time.Time) {
	for s := range t.lasting {
		switch {
		case s.Kind == SpanLimit && !s.To.After(now):
			s.Lasts = false
		case s.Kind == SpanWorking && !working:
			s.Kind, s.Lasts = SpanCutOff, false
			if !s.held && t.alive.After(s.From) {
				s.To = t.alive
			}
		default:
			s.To = now
		}
		if s.To.After(t.To) {
			t.To = s.To
		}
	}
}
