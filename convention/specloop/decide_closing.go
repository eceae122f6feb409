package specloop

import (
	"fmt"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// ends tells whether a termination reason ends a specification as complete or
// leaves it open.
func ends(reason string) (done, known bool) {
	switch reason {
	case "success", "max iterations", "stale accepted", "accepted":
		return true, true
	case "aborted", "manual edit", "stale", "no progress":
		return false, true
	}
	return false, false
}

// terminated is a loop that was ended. Which reason decides whether work is
// left: the format ends aborts with this status, but a model may write it for
// an accepted specification as well.
func (l *loader) terminated(ix *index) point {
	reason := doc.Fold(ix.reason.text)
	done, known := ends(reason)
	if ix.reason.given() && known && done {
		if at, back := l.withoutSpec(ix, "terminated"); back && l.spec.exists {
			return at
		}
		l.openAtEnd(ix, reason)
		return newPoint("C", reprise.Complete, fmt.Sprintf("terminated for the reason %q, which accepts the specification (%s)", ix.reason.text, ix.gapText()))
	}
	at, marked := l.byMark(ix, "")
	if !marked {
		at = l.byEvidence(ix)
	}
	at = at.decidedBy(theRecord, reprise.Blocked)
	at.state = reprise.Stopped
	switch {
	case !ix.reason.given():
		ix.file.Report(reprise.Info, reprise.CodeAmbiguous, ix.status.line, "terminated without a reason; it counts as aborted, and its state is kept", "add the row Termination Reason")
		at.reason = "terminated without a recorded reason; its state is kept (" + ix.gapText() + ")"
	case !known:
		ix.file.Report(reprise.Warning, reprise.CodeUnknownStatus, ix.reason.line,
			fmt.Sprintf("termination reason %q is unknown in this format; it is not taken for success", doc.Clip(ix.reason.text, 60)), "")
		at.reason = fmt.Sprintf("terminated for the unknown reason %q; its state is kept (%s)", doc.Clip(ix.reason.text, 40), ix.gapText())
	default:
		at.reason = fmt.Sprintf("terminated for the reason %q; its state is kept for a later resume (%s)", ix.reason.text, ix.gapText())
	}
	if n := ix.countGaps(gap.open); n > 0 {
		ix.file.Report(reprise.Info, reprise.CodeClosedOpen, ix.status.line, fmt.Sprintf("ended with %s open", ledger.Plural(n, "gap")), "resume it, or start from scratch")
	}
	return at
}

func (l *loader) completed(ix *index) point {
	reason := doc.Fold(ix.reason.text)
	done, known := ends(reason)
	if ix.reason.given() && known && !done && (reason == "aborted" || reason == "manual edit") {
		ix.file.Report(reprise.Warning, reprise.CodeStatusDrift, ix.reason.line,
			fmt.Sprintf("loop status completed, but the termination reason is %q, which leaves the work open", ix.reason.text), "correct the one or the other")
		at := l.byEvidence(ix).decidedBy(theRecord, reprise.Done)
		at.state, at.reason = reprise.Stopped, fmt.Sprintf("marked completed but ended for the reason %q: it was not finished", ix.reason.text)
		return at
	}
	if ix.reason.given() && !known {
		ix.file.Report(reprise.Info, reprise.CodeUnknownStatus, ix.reason.line, fmt.Sprintf("termination reason %q is unknown in this format", doc.Clip(ix.reason.text, 60)), "")
	}
	if at, back := l.withoutSpec(ix, "completed"); back && l.spec.exists {
		return at // a template is no specification, whoever called it completed
	}
	l.openAtEnd(ix, reason)
	text := "the specification loop is completed"
	if ix.reason.given() {
		text += fmt.Sprintf(" (%s)", doc.Clip(ix.reason.text, 40))
	}
	return newPoint("C", reprise.Complete, text+"; "+ix.gapText())
}

// openAtEnd reports what a closed loop left open. Ends that accept known gaps
// do so on purpose; success with an open serious gap contradicts itself.
func (l *loader) openAtEnd(ix *index, reason string) {
	var open []string
	for _, g := range ix.gaps {
		if g.open() && g.serious() {
			open = append(open, doc.Clip(g.id, 20))
		}
	}
	pending, unused := ix.openQuestions()
	accepted := reason == "max iterations" || reason == "stale accepted" || reason == "accepted"
	switch {
	case len(open) > 0 && accepted:
		ix.file.Report(reprise.Info, reprise.CodeClosedOpen, ix.status.line,
			fmt.Sprintf("closed with %s open: %s", ledger.Plural(len(open), "critical or important gap"), list(open)), "the specification was accepted as it is; resume it to close them")
	case len(open) > 0:
		ix.file.Report(reprise.Warning, reprise.CodeFalseCompletion, ix.status.line,
			fmt.Sprintf("completed, but %s still open: %s", ledger.Plural(len(open), "critical or important gap"), list(open)), "look at the gap queue before you build on this specification")
	}
	if pending+unused > 0 {
		ix.file.Report(reprise.Warning, reprise.CodeFalseCompletion, ix.status.line,
			fmt.Sprintf("completed with %s without an answer and %s not applied", ledger.Plural(pending, "question"), ledger.Plural(unused, "answer")), "look at the questions before you build on this specification")
	}
}

func list(items []string) string {
	if len(items) > 5 {
		return strings.Join(items[:5], ", ") + " and " + strconv.Itoa(len(items)-5) + " more"
	}
	return strings.Join(items, ", ")
}

// looped reports whether the loop has resolved anything yet.
func (ix *index) looped() bool {
	return len(ix.history) > 0 || ix.countGaps(func(g gap) bool { return g.status == gapResolved }) > 0
}

// anyTrace reports whether the loop has left any work behind.
func (ix *index) anyTrace() bool {
	return len(ix.gaps) > 0 || len(ix.history) > 0 || len(ix.questions) > 0
}

// anyOpen reports whether something is visibly left to do.
func (ix *index) anyOpen() bool {
	pending, unused := ix.openQuestions()
	return pending+unused+ix.countGaps(gap.open) > 0
}

func (ix *index) countGaps(is func(gap) bool) int {
	n := 0
	for _, g := range ix.gaps {
		if is(g) {
			n++
		}
	}
	return n
}

// openQuestions counts the loop's questions without an answer, and answers that
// were not used yet.
func (ix *index) openQuestions() (pending, unused int) {
	for _, q := range ix.questions {
		switch {
		case q.workflow != "specify":
		case q.status == asked:
			pending++
		case q.status == answered && !q.applied:
			unused++
		}
	}
	return pending, unused
}

// gapText sums the gap queue up in words.
func (ix *index) gapText() string {
	if len(ix.gaps) == 0 {
		return "no gaps recorded"
	}
	open := map[string]int{}
	order := []string{"critical", "important", "minor", "other"}
	for _, g := range ix.gaps {
		if !g.open() {
			continue
		}
		switch p := doc.Fold(g.priority); p {
		case "critical", "important", "minor":
			open[p]++
		default:
			open["other"]++
		}
	}
	var parts []string
	for _, p := range order {
		if open[p] > 0 {
			parts = append(parts, strconv.Itoa(open[p])+" "+p)
		}
	}
	closed := len(ix.gaps) - ix.countGaps(gap.open)
	if len(parts) == 0 {
		return fmt.Sprintf("gaps: none open, %d closed", closed)
	}
	return fmt.Sprintf("gaps: %s open, %d closed", strings.Join(parts, ", "), closed)
}

func (ix *index) rowWord(name string) value {
	for _, w := range ix.workflows {
		if w.name == name {
			return w.word
		}
	}
	return value{}
}
