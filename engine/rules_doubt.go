package engine

import (
	"slices"
	"strings"

	"reprise"
	"reprise/project"
)

// askChanged asks a person where something else than an attempt changed what the work is
// measured by, and does what they answered. It asks once for each content, before
// interrupted attempts are settled.
func askChanged(v *View) []Op {
	for _, q := range v.Run.Questions {
		if !strings.HasPrefix(q.ID, project.ChangedPrefix) || !q.Answered || q.Applied {
			continue
		}
		op := Op{Record: []reprise.Event{{Kind: reprise.AnswerApplied, Question: q.ID, Text: q.Answer, Actor: actor}}}
		if q.Option(q.Answer) == project.ChangedAgain {
			op.BeginAt = "implement"
		}
		return []Op{op}
	}
	if v.Changed == nil || !v.Changed.Asks || v.Run.Question(v.Changed.Question()) != nil {
		return nil
	}
	return []Op{{Question: []reprise.Asked{v.Changed.Asked()}}}
}

// askDoubts asks a person about steps where the files and the journal disagree, and does
// what they answered: a truncated file must not have a step done twice, and what only the
// files call done is a claim.
func askDoubts(v *View) []Op {
	if ops := withdrawDoubts(v); len(ops) > 0 {
		return ops
	}
	for _, d := range v.Doubts {
		q := v.Run.Question(d.Question.ID)
		switch {
		case q == nil:
			return []Op{{Notice: []reprise.Finding{d.Finding}, Question: []reprise.Asked{d.Question}}}
		case q.Answered:
			return []Op{{Record: followDoubt(v, d, q)}}
		}
	}
	return nil
}

// followDoubt gives the events that do what a person answered. An answer that is neither
// option is used up, and the question is asked again.
func followDoubt(v *View, d project.Doubt, q *reprise.Question) (then []reprise.Event) {
	ends := slices.Clone(d.Ends)
	slices.SortStableFunc(ends, func(a, b reprise.Event) int { return a.At.Compare(b.At) })
	said := q.Option(q.Answer)
	applied := reprise.Event{Kind: reprise.AnswerApplied, Question: q.ID, Text: q.Answer, Actor: actor}
	for _, end := range ends {
		switch said {
		case "": // no option
		case d.Done:
			if end.Listed != nil && end.Listed.Text != "" { // the list says itself what is left out of it
				reset := putBack(end)
				reset.Text = "it is put back to say that it is left out"
				then = append(then, reset)
			}
			end.At, end.Listed = zeroTime, nil
			then = append(then, end)
		case d.Again:
			reset := putBack(end)
			if d.Prefix == project.ClaimedPrefix {
				reset.Outcome, reset.Text = reprise.NotDone, "a person said that it is not done"
			}
			then = append(then, reset)
		case d.Skip:
			then = append(then, leftOut(end.Step))
		}
	}
	if said == d.Again {
		then = append(then, withdrawals(v, "the step it was about is done again", anyStep)...)
	}
	return append(then, applied)
}

// putBack gives the event that opens a step again and, if it was deleted, puts it back.
func putBack(end reprise.Event) reprise.Event {
	reset := resetBy(end.Step)
	reset.Listed = end.Listed
	return reset
}

// withdrawDoubts closes questions that are over, and says so of those that an agent asked.
func withdrawDoubts(v *View) (ops []Op) {
	for _, id := range v.Lapsed {
		op := Op{Record: []reprise.Event{{Kind: reprise.QuestionSkipped, Question: id, Text: "the files have changed since; it is no longer asked", Actor: actor}}}
		if q := v.Run.Question(id); q != nil && q.By != "" {
			op.Notice = []reprise.Finding{project.Over(v.Run, *q)}
		}
		ops = append(ops, op)
	}
	return ops
}

// withdrawals take back answers to the workflow itself that nothing used yet: an approval
// counts only for the work it was given for. Answers to an agent stay, and so do those
// about something that has happened or about a step that does not rest on what is done
// again.
func withdrawals(v *View, why string, rests func(step string) bool) []reprise.Event {
	var out []reprise.Event
	for _, q := range v.Run.Questions {
		past := project.AsksDoubt(q.ID) || strings.HasPrefix(q.ID, cutOffPrefix)
		if q.Answered && !q.Applied && q.By == "" && !past && v.Used[q.ID] == "" && (v.Run.Step(q.Subject) == nil || rests(q.Subject)) {
			out = append(out, reprise.Event{Kind: reprise.AnswerWithdrawn, Step: q.Subject, Question: q.ID, Text: why, Actor: person})
		}
	}
	return out
}
