package autoclaude

import (
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// recordQA records the verdict of QA and the end of fixing. That a session of
// QA began, failed or was cut off leaves no word: the sign-off stands until
// there is another.
func (w *writer) recordQA() error {
	p := w.l.plan
	if p == nil {
		if err := w.l.brokenPlan(); err != nil {
			return err
		}
		return cannot("there is no plan that QA could sign")
	}
	if w.ev.Kind == reprise.StepReset {
		return nil
	}
	if w.ev.Kind != reprise.StepFinished {
		return cannot("%s of %s leaves no word in the plan", w.ev.Kind, w.ev.Step)
	}
	if w.ev.Step == stepQAFix {
		return w.signOff("fixes_applied")
	}
	switch doc.Fold(w.ev.Outcome) {
	case "approved":
		return w.signOff("approved")
	case "rejected":
		return w.signOff("rejected")
	case "", "completed":
		if p.qa == qaApproved || p.qa == qaRejected {
			return nil // the reviewer signed it itself
		}
	}
	return cannot("a review ends as approved or as rejected, not as %s", quoteWord(w.ev.Outcome))
}

// signOff sets qa_signoff in the copy that counts, and in any other that would
// count in its place. An approval moves the plan to a person's review.
func (w *writer) signOff(word string) error {
	if w.l.plan == nil {
		if err := w.l.brokenPlan(); err != nil {
			return err
		}
		return cannot("there is no plan that QA could sign")
	}
	want := qaMeaning(word)
	p := w.l.plan
	for range w.l.copies {
		if err := w.sign(p, word); err != nil {
			return err
		}
		now := w.counting()
		if now == nil {
			return nil
		}
		if now.qa == want && !(want == qaFixed && now.qaOpen) {
			return w.agrees(now)
		}
		if p = w.copyIn(now.dir); p == nil {
			return nil
		}
	}
	return nil
}

func (w *writer) sign(p *plan, word string) error {
	t, err := w.open(p.file.Path, "QA: "+word)
	if err != nil {
		return err
	}
	n := t.at(nil, "qa_signoff")
	ready := word == "fixes_applied"
	told := p.qa == qaMeaning(word) && !(ready && p.qaOpen)
	switch {
	case told:
		return nil
	case n.IsNull():
		sign := splice.Object{{Key: "status", Value: word}}
		if !w.ev.At.IsZero() {
			sign = append(sign, splice.Member{Key: "timestamp", Value: respell(p.timeSample(), w.ev.At)})
		}
		if ready {
			sign = append(sign, splice.Member{Key: "ready_for_qa_revalidation", Value: true})
		}
		err = t.put(sign, nil, "qa_signoff")
	case n.Kind != doc.Map:
		err = t.put(word, nil, "qa_signoff")
	default:
		err = w.signMap(p, t, word, ready)
	}
	if err != nil {
		return err
	}
	if err := w.addRound(p, t, word); err != nil {
		return err
	}
	if qaMeaning(word) == qaApproved && !closing(p.status) {
		if err := w.setPlanStatus(p, "human_review", false); err != nil {
			return err
		}
	}
	return w.planTimes(p, t)
}

func (w *writer) signMap(p *plan, t *target, word string, ready bool) error {
	at := []any{"qa_signoff"}
	if err := t.put(word, at, "status"); err != nil {
		return err
	}
	if ready || t.at(at, "ready_for_qa_revalidation") != nil {
		if err := t.put(ready, at, "ready_for_qa_revalidation"); err != nil {
			return err
		}
	}
	return w.touch(t, p.timeSample(), at, "timestamp")
}

// addRound adds a verdict to the rounds of QA: the program gives up after fifty.
// A plan that keeps none yet gets them with the first rejection, so that it is
// on record how often there was one.
func (w *writer) addRound(p *plan, t *target, word string) error {
	rounds := t.at(nil, "qa_iteration_history")
	if w.ev.Step != stepQAReview || rounds.IsNull() && word != "rejected" || !rounds.IsNull() && rounds.Kind != doc.List {
		return nil
	}
	number := 1
	if !rounds.IsNull() {
		number += len(rounds.Items)
	}
	round := splice.Object{{Key: "iteration", Value: number}, {Key: "status", Value: word}}
	if !w.ev.At.IsZero() {
		round = append(round, splice.Member{Key: "timestamp", Value: respell(p.timeSample(), w.ev.At)})
	}
	round = append(round, splice.Member{Key: "issues", Value: w.issues(word)})
	if rounds.IsNull() {
		return t.put([]any{round}, nil, "qa_iteration_history")
	}
	if err := t.add(round, "qa_iteration_history"); err != nil {
		return err
	}
	stats := map[string]any{"total_iterations": number, "last_iteration": number, "last_status": word}
	for _, key := range []string{"total_iterations", "last_iteration", "last_status"} {
		if n := t.at(nil, "qa_stats", key); n != nil && (n.Kind == doc.Number || n.Kind == doc.String) {
			if err := t.put(stats[key], nil, "qa_stats", key); err != nil {
				return err
			}
		}
	}
	return nil
}

// issues are what a rejection names, one for each line of the event's text.
func (w *writer) issues(word string) []any {
	out := []any{}
	if word != "rejected" {
		return out
	}
	for line := range strings.Lines(tidy(w.ev.Text, 16<<10)) {
		if line = oneLine(line, 500); line != "" && len(out) < 100 {
			out = append(out, splice.Object{{Key: "title", Value: line}})
		}
	}
	return out
}
