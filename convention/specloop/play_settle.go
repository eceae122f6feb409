package specloop

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Settle makes the decisions of the loop that the files alone decide: which
// questions are asked, whether another round follows, and how it ends.
func (Book) Settle(fsys fs.FS, r *reprise.Run, _ reprise.Decision) ([]reprise.Event, error) {
	at := standing(r)
	if at == "" {
		return settleOther(fsys, r), nil
	}
	ix := read(fsys, r)
	answers, limit := unused(r)
	if limit != nil && len(answers) == 0 && len(r.PendingQuestions()) == 0 {
		return ix.decided(limit), nil
	}
	switch pending := r.PendingQuestions(); {
	case !written(fsys, r), limit != nil, slices.ContainsFunc(pending, func(q reprise.Question) bool { return isLimit(q.ID) }):
		return nil, nil
	case len(pending) > 0 && at == "B1" && ix.mark.ok && ix.mark.phase == "B1" && ix.mark.word == markStarted:
		return questions(r, ix, nil), nil // a crash may have cut off the rest of them
	case len(pending) > 0 || len(answers) > 0:
		return nil, nil
	}
	switch at {
	case "B1":
		return questions(r, ix, nil), nil
	case "B4", "B5":
		return ix.end(r), nil
	case "C":
		if len(ix.left()) == 0 {
			return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "success"}}, nil
		}
		return ix.end(r), nil
	}
	return nil, nil
}

// end decides about another round. A loop that has used up its rounds, or that
// no longer resolves anything, is for a person to judge.
func (ix *index) end(r *reprise.Run) []reprise.Event {
	left := ix.left()
	switch {
	case len(left) == 0:
		return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "success"}}
	case ix.usedUp():
		return askLimit(r, fmt.Sprintf("after %d iterations", ix.iteration.n), len(left))
	case ix.stale.n >= ix.stale.limit(maxStale):
		return askLimit(r, fmt.Sprintf("and the last %d rounds resolved none", ix.stale.n), len(left))
	}
	return []reprise.Event{{Kind: reprise.StepFinished, Step: "B5", Text: fmt.Sprintf("another round: %d critical or important gaps are open", len(left))}}
}

// The answers to the question about the limit.
const (
	limitAccept = "accept with known gaps"
	limitGoOn   = "continue"
	limitAbort  = "abort"
	limitPrefix = "limit-"
)

func isLimit(id string) bool { return strings.HasPrefix(id, limitPrefix) }

// askLimit asks a person how to continue. The text names no gap: a question that
// names one is read as a question about it.
func askLimit(r *reprise.Run, why string, left int) []reprise.Event {
	n := 1
	for _, q := range r.Questions {
		if isLimit(q.ID) {
			n++
		}
	}
	return []reprise.Event{{
		Kind: reprise.QuestionAsked, Question: fmt.Sprintf("%s%d", limitPrefix, n),
		Text:    fmt.Sprintf("Critical or important gaps are still open (%d) %s. How should it continue?", left, why),
		Options: []string{limitAccept, limitGoOn, limitAbort}, Closed: true,
	}}
}

// decided acts on a person's answer about the limit. One event records both the answer
// and what follows from it. An answer that is not one of the options changes nothing, and
// the question is asked again.
func (ix *index) decided(q *reprise.Question) []reprise.Event {
	ev := reprise.Event{Text: handOver(nil, []string{q.ID})}
	offered := reprise.Question{Options: []string{limitAccept, limitGoOn, limitAbort}}
	switch offered.Option(q.Answer) {
	case limitAccept:
		ev.Kind, ev.Outcome = reprise.RunEnded, "stale_accepted"
		if ix.usedUp() {
			ev.Outcome = "max_iterations"
		}
	case limitAbort:
		ev.Kind = reprise.RunStopped
	default:
		return []reprise.Event{{Kind: reprise.AnswerApplied, Question: q.ID, Text: q.Answer}}
	case limitGoOn:
		ev.Kind, ev.Step = reprise.StepFinished, "B5"
	}
	return []reprise.Event{ev}
}

// questions asks about the gaps that are open and that no question covers: in
// the words of those that were made for them, else in the gap's own.
func questions(r *reprise.Run, ix *index, made []reprise.Asked) []reprise.Event {
	var out []reprise.Event
	taken, covered := map[string]bool{}, map[string]bool{}
	ask := func(q reprise.Asked, gaps string) {
		out = append(out, reprise.Event{
			Kind: reprise.QuestionAsked, Question: newID(r, taken, ix.iteration.n), Step: gaps, Text: q.Text, Options: q.Options,
		})
	}
	left := ix.left()
	for _, q := range r.Questions {
		for _, g := range left {
			covered[g.id] = covered[g.id] || !q.Applied && playNames(q.Subject, g.id)
		}
	}
	for _, q := range made {
		var about []string
		for _, g := range left {
			if !covered[g.id] && playNames(q.Subject+" "+q.Text, g.id) {
				about = append(about, g.id)
				covered[g.id] = true
			}
		}
		if len(about) > 0 && strings.TrimSpace(q.Text) != "" {
			ask(q, strings.Join(about, ", "))
		}
	}
	for _, g := range left {
		if covered[g.id] {
			continue
		}
		text := g.question
		if strings.Trim(text, "-— ") == "" {
			text = "How is this gap to be closed?"
		}
		ask(reprise.Asked{Text: text}, g.id)
	}
	return out
}

// names reports whether a text names an id as a word of its own.
func playNames(text, id string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;()[]|\t\n?!:\"'`", r) }) {
		if doc.Fold(strings.Trim(word, ".")) == doc.Fold(id) {
			return true
		}
	}
	return false
}

// handOver is the text that passes gaps and applied answers to the convention.
func handOver(gaps []reprise.Gap, applied []string) string {
	text, err := json.Marshal(struct {
		Gaps    []reprise.Gap `json:"gaps,omitempty"`
		Applied []string      `json:"applied,omitempty"`
	}{gaps, applied})
	if err != nil {
		return "" // strings alone always marshal
	}
	return string(text)
}
