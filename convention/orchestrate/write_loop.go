package orchestrate

import (
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// loopEvent records an event of a QA loop and moves its story.
func (c *recorder) loopEvent(lp loop) {
	switch c.ev.Kind {
	case reprise.RunStarted:
		c.loopRuns(lp, "")
	case reprise.RunResumed:
		c.loopRuns(lp, lp.resumed)
	case reprise.RunStopped:
		c.loopHalts(lp)
	case reprise.RunEnded:
		if !c.succeeded() {
			c.loopHalts(lp)
			return
		}
		if ledger.Ruling(lp.last) != reprise.Done {
			c.cannot("the last ruling is %s", quote(lp.last))
		}
		c.loopCompletes(lp)
	case reprise.QuestionAsked:
		if doc.Fold(lp.word) != "escalated" || !lp.hasStatus {
			c.loopStatus(lp, "escalated", lp.escalated)
			c.Set(lp.In(lp.reason), c.ev.Text)
		}
	case reprise.AnswerApplied:
		c.loopAnswer(lp)
	case reprise.QuestionAnswered, reprise.PhaseEnded:
		c.noPlace()
	default:
		switch what, n := loopStep(c.ev.Step, c.ev.Phase, max(lp.iteration, 1)); {
		case n < 1 || n > 1000:
			c.cannot("the loop has no step %q", ledger.Line(c.ev.Step, 60))
		case what == "review":
			c.reviewEvent(lp, n)
		default:
			c.fixEvent(lp, n)
		}
	}
}

// loopStep reads which review or fix is meant: review-2, fix-2, or the story with
// a phase "review, iteration 2 of 5". A phase without a number means the iteration
// at work. n is 0 where none is meant.
func loopStep(step, phase string, atWork int) (what string, n int) {
	if what, number, ok := strings.Cut(step, "-"); ok && oneOf(what, "review|fix") {
		n, _ := strconv.Atoi(number)
		return what, n
	}
	for _, what := range []string{"review", "fix"} {
		if strings.HasPrefix(phase, what) {
			return what, append(doc.Numbers(phase), atWork)[0]
		}
	}
	return "", 0
}

// loopStatus sets the status of a loop, with a time of its own if the dialect has
// one. A dialect without a status tells by its history that it runs or has ended.
func (c *recorder) loopStatus(lp loop, word, stampKey string, same ...string) {
	if !lp.hasStatus {
		if word != lp.running && word != lp.complete {
			c.noPlace()
		}
		return
	}
	if c.runStatus(lp.status, word, same...) && stampKey != "" {
		at := lp.In(stampKey)
		c.Set(at, c.stamp(at))
	}
}

func (c *recorder) loopRuns(lp loop, stampKey string) {
	c.loopStatus(lp, lp.running, stampKey, atWork...)
}
func (c *recorder) loopHalts(lp loop) { c.loopStatus(lp, lp.halted, lp.stopped, "stopped", "paused") }

// loopCompletes ends the loop and closes its story.
func (c *recorder) loopCompletes(lp loop) {
	c.loopStatus(lp, lp.complete, "", complete...)
	c.moveOwn(done)
}

// beginReview makes sure that the iteration is counted and has its entry, which it
// returns.
func (c *recorder) beginReview(lp loop, n int) ledger.Value {
	// History counts too when it is read; the counter is never set back.
	if now, _ := strconv.Atoi(lp.In(lp.counter).Plain()); now < n {
		c.Set(lp.In(lp.counter), n)
		c.because(lp.Value, "iteration %d of the QA loop began", n)
	}
	if e := lp.entry(n); e != nil {
		return e.at
	}
	if !lp.history.IsNull() && !lp.history.Is(doc.List) {
		c.cannot("the history of %s is not a list", lp.File)
		return ledger.Value{}
	}
	entry := splice.Object{{Key: "iteration", Value: n}, {Key: lp.reviewed, Value: c.stamp(lp.lastTime(lp.reviewed))}, {Key: "verdict", Value: nil}}
	c.because(lp.Value, "iteration %d of the QA loop began", n)
	if lp.history.Node == nil {
		c.Set(lp.history, []any{entry})
		return lp.history.Item(0)
	}
	c.Add(lp.history, entry)
	return lp.history.Item(len(lp.history.Items))
}

// lastTime is the last value of a key in the history; without one, the value
// knows only its file.
func (lp loop) lastTime(key string) ledger.Value {
	for i := len(lp.entries) - 1; i >= 0; i-- {
		if v := lp.entries[i].at.In(key); !v.IsNull() {
			return v
		}
	}
	return ledger.Value{File: lp.File}
}

// reviewEvent records what happened to the review of an iteration.
func (c *recorder) reviewEvent(lp loop, n int) {
	switch c.ev.Kind {
	case reprise.StepStarted:
		c.beginReview(lp, n)
		c.loopRuns(lp, "")
	case reprise.StepFinished:
		if c.rejected() {
			c.giveVerdict(lp, n, "REJECT")
			return
		}
		c.giveVerdict(lp, n, "APPROVE")
	case reprise.StepFailed:
		if c.ev.Outcome != "rejected" {
			c.interrupted(lp, n)
			return
		}
		c.giveVerdict(lp, n, "REJECT")
	case reprise.StepBlocked:
		c.giveVerdict(lp, n, "BLOCKED")
	case reprise.StepReset:
		if e := lp.entry(n); e != nil && e.verdict != "" {
			c.because(lp.Value, "the review of iteration %d is done again", n)
			c.Set(e.at.In("verdict"), nil)
		}
	default:
		c.noPlace()
	}
}

// giveVerdict ends a review: the verdict in the words of the other iterations,
// the status of the loop, and the story.
func (c *recorder) giveVerdict(lp loop, n int, word string) {
	want, old := ledger.Ruling(word), lp.entry(n)
	own := c.spellVerdict(lp, want, word)
	// A review that never began sends nothing back, and its number would tell that the fix
	// before it is behind.
	if e := lp.entry(n - 1); want != reprise.Done && old == nil && lp.iteration < n && e != nil && ledger.Ruling(e.verdict) == reprise.Failed && !e.fixed {
		c.cannot("iteration %d is not fixed, and the review of iteration %d has not begun", n-1, n)
		return
	}
	given := old == nil || ledger.Ruling(old.verdict) != want
	if given {
		c.because(lp.Value, "iteration %d of the QA loop: %s", n, word)
	}
	at := c.beginReview(lp, n)
	if given {
		c.Set(at.In("verdict"), own)
	}
	// Sent back without a list of what is wrong, it is not known how much that is.
	found := at.In("issuesFound")
	if known := c.ev.Issues > 0 || want == reprise.Done; lp.counts && known && (found.IsNull() || given && c.ev.Issues > 0) {
		c.Set(found, c.ev.Issues)
	}
	if last := lp.In(lp.lastVerdict); lp.lastVerdict != "" && ledger.Ruling(last.Plain()) != want {
		c.Set(last, own)
	}
	switch want {
	case reprise.Done:
		c.loopCompletes(lp)
	case reprise.Failed:
		c.loopRuns(lp, "")
		c.moveOwn(inProgress)
	}
}

// spellVerdict takes the word that other iterations used for the same verdict,
// or the family they belong to, which has a word for concerns too.
func (c *recorder) spellVerdict(lp loop, want reprise.Status, own string) string {
	if lp.passes && want == reprise.Done && c.ev.Verdict != "" {
		return strings.ToUpper(c.ev.Verdict)
	}
	for _, e := range lp.entries {
		// That another one was passed with concerns, or waived, says nothing of this one.
		if fold := doc.Fold(e.verdict); ledger.Ruling(e.verdict) == want && fold != "concerns" && fold != "waived" && e.verdict == ledger.Line(e.verdict, 40) {
			return e.verdict
		}
	}
	switch {
	case lp.passes && want == reprise.Done:
		return "PASS"
	case lp.passes && want == reprise.Failed:
		return "FAIL"
	}
	return own
}

// interrupted notes that a review or a fix was cut off; only one dialect can.
func (c *recorder) interrupted(lp loop, n int) {
	e := lp.entry(n)
	if !lp.interrupts || e == nil {
		c.noPlace()
		return
	}
	at, reason := e.at.In("interruptedAt"), e.at.In("interruptReason")
	if reason.Plain() != c.ev.Text || at.IsNull() {
		c.because(lp.Value, "iteration %d of the QA loop was cut off", n)
		c.Set(at, c.stamp(at))
		c.Set(reason, c.ev.Text)
	}
}

// fixEvent records what happened to the fix of an iteration.
func (c *recorder) fixEvent(lp loop, n int) {
	e := lp.entry(n)
	if e == nil || ledger.Ruling(e.verdict) != reprise.Failed {
		c.cannot("iteration %d has nothing to fix", n)
		return
	}
	at := e.at.In(lp.fixed)
	fixed, found := at.Plain() != "", e.at.In("issuesFound")
	switch c.ev.Kind {
	case reprise.StepStarted, reprise.StepReset:
		if fixed {
			c.because(lp.Value, "the fix of iteration %d is done again", n)
			if count := e.at.In("issuesFixed"); lp.counts && count.Node != nil {
				c.Set(count, 0)
			}
			c.Set(at, nil)
		}
		if c.ev.Kind == reprise.StepStarted {
			c.loopRuns(lp, "")
		}
	case reprise.StepFinished:
		if !fixed {
			c.because(lp.Value, "iteration %d of the QA loop is fixed", n)
			c.Set(at, c.stamp(lp.lastTime(lp.fixed)))
			// Whoever fixed it says that it is done: all that was found.
			if all, err := strconv.Atoi(found.Plain()); lp.counts && err == nil {
				c.Set(e.at.In("issuesFixed"), all)
			}
		}
		c.moveOwn(inReview)
	case reprise.StepFailed:
		c.interrupted(lp, n)
	default:
		c.noPlace()
	}
}

// loopAnswer acts on a person's answer to an escalation.
func (c *recorder) loopAnswer(lp loop) {
	fold := doc.Fold(c.ev.Text)
	switch more := strings.HasPrefix(fold, "allow more"); {
	case c.ev.Question != "escalation":
		c.noPlace()
	case strings.HasPrefix(fold, "accept"):
		c.waive(lp)
	case more && doc.Fold(lp.word) != "escalated" && lp.iteration < lp.max: // done before
	case more:
		c.because(lp.Value, "a person allowed more iterations")
		c.Set(lp.In(lp.most), lp.iteration+max(lp.max, 1))
		c.loopRuns(lp, lp.resumed)
	case fold == stopIt && lp.hasStatus:
		c.loopHalts(lp)
	default:
		c.noPlace()
	}
}

// waive closes a loop on a person's word: the last ruling is theirs, and
// the previous one is kept next to it.
func (c *recorder) waive(lp loop) {
	if len(lp.entries) == 0 {
		c.noPlace()
		return
	}
	e := lp.entry(lp.entries[len(lp.entries)-1].n)
	if ledger.Ruling(e.verdict) != reprise.Done {
		c.Set(e.at.In("previousVerdict"), e.verdict)
		c.Set(e.at.In("verdict"), "WAIVED")
		c.because(lp.Value, "a person accepted iteration %d as it is", e.n)
	}
	if last := lp.In(lp.lastVerdict); lp.lastVerdict != "" && ledger.Ruling(last.Plain()) != reprise.Done {
		c.Set(last, "WAIVED")
	}
	c.loopCompletes(lp)
}

// moveOwn moves the story that a loop or workflow is about, if it has a file here. One
// that was filed as finished stays there.
func (c *recorder) moveOwn(want class) {
	if story := storyOf(c.run); story != "" {
		if _, ended := folderSays(story); !ended {
			c.moveStory(story, want, c.ev.Text)
		}
	}
}
