package engine

import (
	"slices"
	"strings"

	"reprise"
	"reprise/project"
)

// askChanged asks a person where what the work is measured by was changed by somebody
// else than an attempt, and does what they said. It is asked once for what stands
// there, before attempts that were cut off are settled.
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

// askDoubts asks a person about steps of which the files and the journal do not tell
// the same, and does what they said: done once must not become done twice because a
// file was cut, and what the files alone call done is only a claim.
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

// followDoubt are the events that do what a person said. An answer that says neither is
// used up, and the question comes again.
func followDoubt(v *View, d project.Doubt, q *reprise.Question) (then []reprise.Event) {
	ends := slices.Clone(d.Ends)
	slices.SortStableFunc(ends, func(a, b reprise.Event) int { return a.At.Compare(b.At) })
	said := q.Option(q.Answer)
	for _, end := range ends {
		switch said {
		case d.Done:
			end.At = zeroTime
			then = append(then, end)
		case d.Again:
			then = append(then, resetBy(end.Step))
		}
	}
	if said == d.Again {
		then = append(then, withdrawals(v, "what it was said of is done again", anyStep)...)
	}
	return append(then, reprise.Event{Kind: reprise.AnswerApplied, Question: q.ID, Text: q.Answer, Actor: actor})
}

// withdrawDoubts takes questions back that do not stand any longer.
func withdrawDoubts(v *View) (ops []Op) {
	for _, q := range v.Run.PendingQuestions() {
		doubt := strings.HasPrefix(q.ID, project.LostPrefix) || strings.HasPrefix(q.ID, project.ClaimedPrefix)
		if doubt && !slices.ContainsFunc(v.Doubts, func(d project.Doubt) bool { return d.Question.ID == q.ID }) {
			ops = append(ops, Op{Record: []reprise.Event{{Kind: reprise.AnswerApplied, Question: q.ID, Text: "the files have changed since; it is not asked any more", Actor: actor}}})
		}
	}
	return ops
}

// withdrawals take back what a person answered to the workflow itself and nothing was
// done with yet: an approval must not count for other work than it was given for. What
// they told an agent stays, and so does what they said of something that has happened
// or of a step that does not rest on what is done again.
func withdrawals(v *View, why string, rests func(step string) bool) []reprise.Event {
	var out []reprise.Event
	for _, q := range v.Run.Questions {
		past := strings.HasPrefix(q.ID, project.LostPrefix) || strings.HasPrefix(q.ID, project.ClaimedPrefix) || strings.HasPrefix(q.ID, cutOffPrefix)
		if q.Answered && !q.Applied && q.By == "" && !past && v.Used[q.ID] == "" && (v.Run.Step(q.Subject) == nil || rests(q.Subject)) {
			out = append(out, reprise.Event{Kind: reprise.AnswerWithdrawn, Step: q.Subject, Question: q.ID, Text: why, Actor: person})
		}
	}
	return out
}
