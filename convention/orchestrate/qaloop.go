package orchestrate

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// defaultIterations is the maximum of a loop whose file does not say.
const defaultIterations = 5

// loopLedger is the name under which QA loops are quoted.
const loopLedger = "QA loop"

// qaLoop reads loop-status.json in its three dialects: camel case with a
// status, the short form with iteration and lastVerdict, and snake case in
// YAML without a status.
func (l *loader) qaLoop() {
	run := l.run
	f, n := l.state(reprise.KindQALoop, "the status of the QA loop cannot be read")
	if n == nil {
		return
	}
	if id := n.Get("storyId", "story_id").Str(); id != "" {
		run.ID = "qa-loop-" + id
	}
	l.timesIn(f, n)
	loop := readLoop(n)
	l.lap = loop
	l.loopSteps(loop)
	story := n.Get("storyId", "story_id")
	hint := story.Str()
	if hint == "" {
		if parent := path.Base(path.Dir(run.Path)); parent != "qa" {
			hint = parent
		}
	}
	l.loopState(n, loop)
	l.attachStory(hint, story.Source(), loopLedger, loop.word, inReview)
	l.locks()
}

// loop is a QA loop with its history.
type loop struct {
	iteration, max int
	word           string
	at             reprise.Source
	entries        []loopEntry
	last           string // the last verdict on record
}

type loopEntry struct {
	n       int
	verdict string
	fixed   bool
	unsaid  bool // there is no place for when it was fixed, which one dialect has not
	at      reprise.Source
}

func readLoop(n *doc.Node) loop {
	lp := loop{max: defaultIterations}
	if v, ok := n.Get("currentIteration", "current_iteration", "iteration").Int(); ok {
		lp.iteration = v
	}
	if v, ok := n.Get("maxIterations", "max_iterations").Int(); ok && v > 0 {
		lp.max = v
	}
	st := n.Get("status")
	lp.word, lp.at = st.Str(), st.Source()
	for i, h := range n.Get("history").List() {
		if h.Kind != doc.Map {
			continue
		}
		e := loopEntry{n: i + 1, verdict: h.Get("verdict").Str(), at: h.Source()}
		if v, ok := h.Get("iteration").Int(); ok {
			e.n = v
		}
		fixed := h.Get("fixedAt", "fixed_at")
		e.fixed, e.unsaid = fixed.Str() != "", fixed == nil
		lp.entries = append(lp.entries, e)
		lp.last = e.verdict
		lp.iteration = max(lp.iteration, e.n)
	}
	if len(lp.entries) == 0 {
		lp.last = n.Get("lastVerdict", "last_verdict").Str()
	}
	return lp
}

// behind reports whether the loop went on after an iteration that was sent back: a
// later one was reviewed, or the counter moved on and fixes are not noted.
func (lp loop) behind(e loopEntry) bool {
	return e.unsaid && lp.iteration > e.n || slices.ContainsFunc(lp.entries, func(later loopEntry) bool {
		return later.n > e.n && verdict(later.verdict) != reprise.Pending
	})
}

// verdict gives the meaning of a review's verdict.
func verdict(word string) reprise.Status {
	switch f := doc.Fold(word); {
	case f == "":
		return reprise.Pending
	case strings.HasPrefix(f, "approve"), strings.HasPrefix(f, "pass"), f == "concerns", f == "waived":
		return reprise.Done
	case strings.HasPrefix(f, "reject"), strings.HasPrefix(f, "fail"), f == "needs work", f == "changes requested":
		return reprise.Failed
	case strings.HasPrefix(f, "block"):
		return reprise.Blocked
	}
	return reprise.Unknown
}

func (l *loader) loopSteps(lp loop) {
	for _, e := range lp.entries {
		phase := fmt.Sprintf("iteration %d", e.n)
		v := verdict(e.verdict)
		review := reprise.Step{ID: fmt.Sprintf("review-%d", e.n), Phase: phase, Role: "qa", Source: e.at, Status: reprise.Done}
		switch v {
		case reprise.Pending:
			review.Status = reprise.InProgress
		case reprise.Unknown:
			review.Status = reprise.Unknown
			l.wordStatus(phase, e.verdict, e.at)
		}
		review.Claims = []reprise.Claim{{Ledger: loopLedger, Status: review.Status, Word: e.verdict, Source: e.at, Won: true}}
		l.run.Steps = append(l.run.Steps, review)
		if v == reprise.Failed {
			fix := reprise.Step{ID: fmt.Sprintf("fix-%d", e.n), Phase: phase, Role: "dev", Source: e.at, Status: reprise.InProgress}
			word := "fixedAt missing"
			switch {
			case e.fixed:
				fix.Status, word = reprise.Done, "fixedAt"
			case lp.behind(e):
				fix.Status, word = reprise.Done, fmt.Sprintf("iteration %d began", e.n+1)
			}
			fix.Claims = []reprise.Claim{{Ledger: loopLedger, Status: fix.Status, Word: word, Source: e.at, Won: true}}
			l.run.Steps = append(l.run.Steps, fix)
		}
	}
}

// loopState finds the resume point. The iteration is counted up before its
// review, so a review without a verdict was cut off and is done again.
func (l *loader) loopState(n *doc.Node, lp loop) {
	run := l.run
	at, phase, role := l.loopPoint(lp)
	run.Phase = phase
	fold := doc.Fold(splitCamel(lp.word))
	switch fold {
	case "idle":
		run.State, run.Reason = reprise.NotStarted, "the loop is idle"
	case "pending":
		run.State, run.Reason = reprise.NotStarted, "the loop was set up and not begun"
	case "completed", "complete", "done":
		if v := verdict(lp.last); v == reprise.Failed || v == reprise.Blocked {
			run.State, run.Reason = reprise.Waiting, "the loop is called completed with the verdict "+quote(lp.last)
			l.r.Report(reprise.Finding{
				Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: run.ID, Source: lp.at,
				Message: run.Reason, Hint: "review the story once more, or close the loop on purpose",
			})
			break
		}
		run.State, run.Reason = reprise.Complete, "the loop is completed"
		return
	case "escalated":
		run.State, run.Reason = reprise.Waiting, "the loop was escalated to a person"
		l.askEscalation(lp, n.Get("escalationReason", "escalation_reason").Str(), n.Get("escalatedAt", "escalated_at"))
	case "in progress", "inprogress", "running", "active", "stopped", "paused", "":
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the loop stopped in %s", phase)
		if fold == "stopped" || fold == "paused" {
			run.Reason = fmt.Sprintf("the loop was %s in %s and can be resumed", fold, phase)
		}
	default:
		l.wordStatus(run.ID, lp.word, lp.at)
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the loop is %s, which has no meaning here", quote(lp.word))
	}
	if run.State == reprise.Interrupted {
		switch {
		case verdict(lp.last) == reprise.Done && len(lp.entries) > 0:
			// Without a status the verdict is all there is; with one that
			// says otherwise the crash came between verdict and status.
			run.State, run.Reason = reprise.Complete, "the last review approved it"
			return
		case verdict(lp.last) == reprise.Blocked:
			run.State, run.Reason = reprise.Waiting, "the last review called it blocked"
		case at > lp.max:
			run.State, run.Reason = reprise.Waiting, fmt.Sprintf("all %d iterations are used up: a person has to decide", lp.max)
			// Nobody is told of it yet: what stands there of an escalation is an earlier one's.
			l.askEscalation(lp, "", nil)
		}
	}
	run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: phase, Role: role, Reason: run.Reason}}
}

// loopPoint gives the iteration to go on with, its phase and who does it.
func (l *loader) loopPoint(lp loop) (n int, phase, role string) {
	n, what, role := max(lp.iteration, 1), "review", "qa"
	if k := len(lp.entries); k > 0 {
		e := lp.entries[k-1]
		switch v := verdict(e.verdict); {
		case lp.iteration > e.n:
			n = lp.iteration // counted up, and nothing of it on record
		case v == reprise.Failed && !e.fixed:
			n, what, role = e.n, "fix", "dev"
		case v == reprise.Failed:
			n = e.n + 1
		default:
			n = e.n
		}
	} else if verdict(lp.last) == reprise.Failed {
		what, role = "fix", "dev"
	}
	if n > lp.max {
		return n, fmt.Sprintf("escalate after iteration %d of %d", lp.max, lp.max), "po"
	}
	return n, fmt.Sprintf("%s, iteration %d of %d", what, n, lp.max), role
}

// askEscalation asks how the loop should go on. reason and when are those of the
// escalation on record, where it was escalated.
func (l *loader) askEscalation(lp loop, reason string, when *doc.Node) {
	text := fmt.Sprintf("The QA loop stands at iteration %d of %d with the last verdict %s. How should it go on?", lp.iteration, lp.max, quote(lp.last))
	if reason != "" {
		text += " Reason given: " + doc.Clip(reason, 200)
	}
	var asked time.Time
	if when != nil {
		asked = when.Time()
	}
	at := lp.at
	if at.File == "" {
		at = reprise.Source{File: l.run.Path, Line: 1}
	}
	l.run.Questions = append(l.run.Questions, reprise.Question{
		ID: "escalation", Subject: "qa loop", Text: text, AskedAt: asked, Source: at,
		Options: []string{"allow more iterations", "accept as it is", "stop"}, Closed: true,
	})
}

// isIdle reports whether a loop was never begun and has no story here: tools
// leave such files behind when they are set up or tried out.
func isIdle(run *reprise.Run) bool {
	return run.State == reprise.NotStarted && len(run.Steps) == 0 && len(run.Findings) == 0 && len(run.Also) == 0
}
