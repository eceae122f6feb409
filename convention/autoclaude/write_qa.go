package autoclaude

import (
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// recordQA records the verdict of QA and the end of fixing. That a session of
// QA began, failed or was cut off leaves no word: the sign-off stands until
// there is another.
func (w *writer) recordQA() {
	switch {
	case !w.planned(), w.ev.Kind == reprise.StepReset:
		return
	case w.ev.Kind != reprise.StepFinished:
		w.cannot("%s of %s leaves no word in the plan", w.ev.Kind, w.ev.Step)
		return
	}
	if w.ev.Attempt > 0 {
		w.reopen() // when it began, the spec was open, and only a person closes it
	}
	if w.ev.Step == stepQAFix {
		w.signOff("fixes_applied")
		return
	}
	switch word := doc.Fold(w.ev.Outcome); {
	case word == "approved" || word == "rejected":
		w.signOff(word)
	case (word == "" || word == "completed") && (w.l.plan.qa == qaApproved || w.l.plan.qa == qaRejected):
		// The reviewer signed it itself.
	default:
		w.cannot("a review ends as approved or as rejected, not as %s", quoteWord(w.ev.Outcome))
	}
}

// signOff sets qa_signoff in the copy that counts, and in any other that would
// count in its place. An approval moves the plan to a person's review.
func (w *writer) signOff(word string) {
	if !w.planned() {
		return
	}
	want, p := qaMeaning(word), w.l.plan
	for range w.l.copies {
		w.sign(p, word)
		now := w.counting()
		if now == nil || w.Err() != nil {
			return
		}
		if now.qa == want && !(want == qaFixed && now.qaOpen) {
			w.agrees(now)
			return
		}
		if p = w.copyIn(now.dir); p == nil {
			return
		}
	}
}

func (w *writer) sign(p *plan, word string) {
	w.Structured(p.file.Path).Because("QA: %s", word)
	ready := word == "fixes_applied"
	if p.qa == qaMeaning(word) && !(ready && p.qaOpen) {
		return
	}
	switch n := p.root.In("qa_signoff"); {
	case n.IsNull():
		w.Set(n, w.signature(p, word, ready))
	case n.Kind != doc.Map:
		w.Set(n, word)
	default:
		w.Set(n.In("status"), word)
		if at := n.In("ready_for_qa_revalidation"); ready || at.Node != nil {
			w.Set(at, ready)
		}
		w.Stamp(n.In("timestamp"), w.ev.At, p.timeSample())
	}
	w.addRound(p, word)
	if qaMeaning(word) == qaApproved && (!closing(p.status) || w.ev.Attempt > 0) {
		w.setPlanStatus(p, "human_review", false)
	}
	w.planTimes(p)
}

// signature is a sign-off that is made.
func (w *writer) signature(p *plan, word string, ready bool) splice.Object {
	sign := splice.Object{{Key: "status", Value: word}}
	if !w.ev.At.IsZero() {
		sign = append(sign, splice.Member{Key: "timestamp", Value: ledger.SpellTime(w.ev.At, p.timeSample(), "")})
	}
	if ready {
		sign = append(sign, splice.Member{Key: "ready_for_qa_revalidation", Value: true})
	}
	return sign
}

// addRound adds a verdict to the rounds of QA: the program gives up after fifty.
// A plan that keeps none yet gets them with the first rejection, so that it is
// on record how often there was one.
func (w *writer) addRound(p *plan, word string) {
	rounds := p.root.In("qa_iteration_history")
	if w.ev.Step != stepQAReview || rounds.IsNull() && word != "rejected" || !rounds.IsNull() && rounds.Kind != doc.List {
		return
	}
	number := p.rounds + 1
	round := splice.Object{{Key: "iteration", Value: number}, {Key: "status", Value: word}}
	if !w.ev.At.IsZero() {
		round = append(round, splice.Member{Key: "timestamp", Value: ledger.SpellTime(w.ev.At, p.timeSample(), "")})
	}
	round = append(round, splice.Member{Key: "issues", Value: w.issues(word)})
	if rounds.IsNull() {
		w.Set(rounds, []any{round})
		return
	}
	w.Add(rounds, round)
	for _, stat := range []splice.Member{{Key: "total_iterations", Value: number}, {Key: "last_iteration", Value: number}, {Key: "last_status", Value: word}} {
		if at := p.root.In("qa_stats").In(stat.Key); at.Is(doc.Number) || at.Is(doc.String) {
			w.Set(at, stat.Value)
		}
	}
}

// issues are what a rejection names, one for each line of the event's text.
func (w *writer) issues(word string) []any {
	out := []any{}
	if word != "rejected" {
		return out
	}
	for line := range strings.Lines(ledger.Prose(w.ev.Text, 16<<10)) {
		if line = oneLine(line, 500); line != "" && len(out) < 100 {
			out = append(out, splice.Object{{Key: "title", Value: line}})
		}
	}
	return out
}
