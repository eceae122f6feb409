package orchestrate

import (
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// loopDialect is how one of the three forms of a QA loop spells its keys and
// words.
type loopDialect struct {
	iteration, max, updated, resumed, stopped, fixed, reviewed, escalated, reason, interrupted string

	running, complete, halted string
	status                    bool // it has a field for the status
	counts                    bool // its entries count issues
	passes                    bool // its words are those of a QA gate: PASS, CONCERNS, FAIL
	last                      string
}

// dialect tells the form of a loop by the keys it has.
func dialect(n *doc.Node) loopDialect {
	d := loopDialect{
		iteration: "currentIteration", max: "maxIterations", updated: "updatedAt", resumed: "resumedAt", stopped: "stoppedAt", fixed: "fixedAt",
		reviewed: "reviewedAt", escalated: "escalatedAt", reason: "escalationReason", interrupted: "interrupted",
		running: "in_progress", complete: "completed", halted: "stopped", status: true, counts: true,
	}
	switch {
	case n.Has("current_iteration") || n.Has("story_id"):
		d.iteration, d.max, d.updated, d.resumed, d.stopped, d.fixed = "current_iteration", "max_iterations", "updated_at", "", "", "fixed_at"
		d.reviewed, d.escalated, d.reason, d.interrupted = "date", "escalated_at", "escalation_reason", ""
		d.status, d.counts, d.passes = n.Has("status"), false, true
	case n.Has("iteration") && !n.Has("currentIteration"):
		d.iteration, d.running, d.complete, d.halted, d.last = "iteration", "running", "complete", "paused", "lastVerdict"
		d.resumed, d.stopped, d.interrupted, d.counts = "", "", "", false
	}
	if n.Has("max_iterations") {
		d.max = "max_iterations"
	}
	for _, e := range n.Get("history").List() {
		word := doc.Fold(e.Get("verdict").Str())
		d.passes = d.passes || word == "pass" || word == "fail" || word == "concerns"
		d.counts = d.counts || e.Get("issuesFound") != nil
	}
	return d
}

// recordLoop records an event of a QA loop and moves its story.
func (c *scribe) recordLoop(p *paper) error {
	root := p.tree.Root()
	d := dialect(root)
	if err := c.loopEvent(p, d, readLoop(root)); err != nil {
		return err
	}
	return c.touch(p, nil, d.updated)
}

func (c *scribe) loopEvent(p *paper, d loopDialect, lp loop) error {
	switch c.ev.Kind {
	case reprise.RunStarted:
		return c.loopStatus(p, d, d.running, "", "in progress", "running", "active")
	case reprise.RunResumed:
		return c.loopStatus(p, d, d.running, d.resumed, "in progress", "running", "active")
	case reprise.RunStopped:
		return c.loopStatus(p, d, d.halted, d.stopped, "stopped", "paused")
	case reprise.RunEnded:
		switch c.ev.Outcome {
		case "", "completed", "approved":
			if v := verdict(lp.last); v != reprise.Done {
				return c.cannot("the last verdict is %s", quote(lp.last))
			}
			if err := c.loopStatus(p, d, d.complete, "", "completed", "complete", "done"); err != nil {
				return err
			}
			return c.loopStory(done)
		}
		return c.loopStatus(p, d, d.halted, d.stopped, "stopped", "paused")
	case reprise.QuestionAsked:
		if !d.status {
			return c.noPlace()
		}
		if doc.Fold(lp.word) == "escalated" {
			return nil
		}
		if err := c.loopStatus(p, d, "escalated", d.escalated, "escalated"); err != nil {
			return err
		}
		return p.set(splice.Path{d.reason}, c.ev.Text)
	case reprise.AnswerApplied:
		return c.loopAnswer(p, d, lp)
	case reprise.QuestionAnswered, reprise.PhaseEnded:
		return c.noPlace()
	}
	what, n := c.loopStep(lp)
	if n < 1 || n > 1000 {
		return c.cannot("the loop has no step %q", oneLine(c.ev.Step, 60))
	}
	if what == "review" {
		return c.reviewEvent(p, d, lp, n)
	}
	return c.fixEvent(p, d, n)
}

// loopStep reads which review or fix is meant: review-2, fix-2, or the story
// with a phase "review, iteration 2 of 5".
func (c *scribe) loopStep(lp loop) (what string, n int) {
	for _, w := range []string{"review", "fix"} {
		if rest, ok := strings.CutPrefix(c.ev.Step, w+"-"); ok {
			n, err := strconv.Atoi(rest)
			if err != nil {
				return "", 0
			}
			return w, n
		}
		if strings.HasPrefix(c.ev.Phase, w) {
			nums := doc.Numbers(c.ev.Phase)
			if len(nums) > 0 {
				return w, nums[0]
			}
			return w, max(lp.iteration, 1)
		}
	}
	return "", 0
}

// loopStatus sets the status of a loop, with a time of its own if the dialect
// has one. A dialect without a status cannot tell.
func (c *scribe) loopStatus(p *paper, d loopDialect, word, stampKey string, same ...string) error {
	if !d.status {
		if word == d.running || word == d.complete {
			return nil // told by the history
		}
		return c.noPlace()
	}
	now := plainText(p.node(splice.Path{"status"}))
	for _, s := range same {
		if doc.Fold(splitCamel(now)) == s {
			return nil
		}
	}
	p.because("the QA loop is %s", word)
	if err := p.set(splice.Path{"status"}, word); err != nil {
		return err
	}
	if stampKey == "" {
		return nil
	}
	return p.set(splice.Path{stampKey}, c.stamp(p, p.node(splice.Path{stampKey})))
}

// entryAt finds the entry of an iteration in the history, -1 if there is none.
func entryAt(p *paper, n int) int {
	h := p.node(splice.Path{"history"})
	if h == nil || h.Kind != doc.List {
		return -1
	}
	for i := len(h.Items) - 1; i >= 0; i-- {
		item := h.Items[i]
		if item.Kind != doc.Map {
			continue
		}
		no := i + 1
		if v, err := strconv.Atoi(plainText(item.Get("iteration"))); err == nil {
			no = v
		}
		if no == n {
			return i
		}
	}
	return -1
}

// beginReview makes sure that the iteration is counted and has its entry.
func (c *scribe) beginReview(p *paper, d loopDialect, n int) (int, error) {
	// History counts too when it is read; the counter is never set back.
	if now, _ := strconv.Atoi(plainText(p.node(splice.Path{d.iteration}))); now < n {
		if err := p.set(splice.Path{d.iteration}, n); err != nil {
			return 0, err
		}
		p.because("iteration %d of the QA loop began", n)
	}
	i := entryAt(p, n)
	if i >= 0 {
		return i, nil
	}
	h := p.node(splice.Path{"history"})
	if h != nil && !h.IsNull() && h.Kind != doc.List {
		return 0, c.cannot("the history of %s is no list", p.path)
	}
	entry := splice.Object{{Key: "iteration", Value: n}, {Key: d.reviewed, Value: c.stamp(p, lastStamp(h, d.reviewed))}, {Key: "verdict", Value: nil}}
	p.because("iteration %d of the QA loop began", n)
	if h == nil {
		if err := p.set(splice.Path{"history"}, []any{entry}); err != nil {
			return 0, err
		}
		return 0, nil
	}
	if err := p.wrap(p.tree.Append(splice.Path{"history"}, entry)); err != nil {
		return 0, err
	}
	return len(h.Items), nil
}

func lastStamp(h *doc.Node, key string) *doc.Node {
	if h == nil || h.Kind != doc.List {
		return nil
	}
	for i := len(h.Items) - 1; i >= 0; i-- {
		if v := h.Items[i]; v.Kind == doc.Map && !v.Get(key).IsNull() {
			return v.Get(key)
		}
	}
	return nil
}

// reviewEvent records what happened to the review of an iteration.
func (c *scribe) reviewEvent(p *paper, d loopDialect, lp loop, n int) error {
	word := ""
	switch c.ev.Kind {
	case reprise.StepStarted:
		if _, err := c.beginReview(p, d, n); err != nil {
			return err
		}
		return c.loopStatus(p, d, d.running, "", "in progress", "running", "active")
	case reprise.StepFinished:
		word = "APPROVE"
		if c.ev.Outcome == "rejected" || c.ev.Outcome == "failed" {
			word = "REJECT"
		}
	case reprise.StepFailed:
		if c.ev.Outcome != "rejected" {
			return c.interrupted(p, d, n)
		}
		word = "REJECT"
	case reprise.StepBlocked:
		word = "BLOCKED"
	case reprise.StepReset:
		i := entryAt(p, n)
		if i < 0 {
			return nil
		}
		at := splice.Path{"history", i, "verdict"}
		if plainText(p.node(at)) == "" {
			return nil
		}
		p.because("the review of iteration %d is done again", n)
		return p.set(at, nil)
	default:
		return c.noPlace()
	}
	return c.giveVerdict(p, d, lp, n, word)
}

// giveVerdict ends a review: the verdict in the words of the other iterations,
// the status of the loop, and the story.
func (c *scribe) giveVerdict(p *paper, d loopDialect, lp loop, n int, word string) error {
	i, err := c.beginReview(p, d, n)
	if err != nil {
		return err
	}
	want := verdict(word)
	own := c.spellVerdict(d, lp, want, word)
	at := splice.Path{"history", i, "verdict"}
	given := verdict(plainText(p.node(at))) != want
	if given {
		if err := p.set(at, own); err != nil {
			return err
		}
		p.why = ""
		p.because("iteration %d of the QA loop: %s", n, word)
	}
	found := splice.Path{"history", i, "issuesFound"}
	// Sent back without a list of what is wrong, it is not known how much that is.
	if known := c.ev.Issues > 0 || want == reprise.Done; d.counts && known && (p.node(found).IsNull() || given && c.ev.Issues > 0) {
		if err := p.set(found, c.ev.Issues); err != nil {
			return err
		}
	}
	if d.last != "" && verdict(plainText(p.node(splice.Path{d.last}))) != want {
		if err := p.set(splice.Path{d.last}, own); err != nil {
			return err
		}
	}
	switch want {
	case reprise.Done:
		if err := c.loopStatus(p, d, d.complete, "", "completed", "complete", "done"); err != nil {
			return err
		}
		return c.loopStory(done)
	case reprise.Failed:
		if err := c.loopStatus(p, d, d.running, "", "in progress", "running", "active"); err != nil {
			return err
		}
		return c.loopStory(inProgress)
	}
	return nil
}

// spellVerdict takes the word that other iterations used for the same verdict,
// or the family they belong to, which has a word for concerns too.
func (c *scribe) spellVerdict(d loopDialect, lp loop, want reprise.Status, own string) string {
	if d.passes && want == reprise.Done && c.ev.Verdict != "" {
		return strings.ToUpper(c.ev.Verdict)
	}
	for _, e := range lp.entries {
		// That another one was passed with concerns, or waived, says nothing of this one.
		if fold := doc.Fold(e.verdict); verdict(e.verdict) == want && fold != "concerns" && fold != "waived" && e.verdict == oneLine(e.verdict, 40) {
			return e.verdict
		}
	}
	if d.passes {
		switch want {
		case reprise.Done:
			return "PASS"
		case reprise.Failed:
			return "FAIL"
		}
	}
	return own
}

// interrupted notes that a review or a fix was cut off; only one dialect can.
func (c *scribe) interrupted(p *paper, d loopDialect, n int) error {
	i := entryAt(p, n)
	if d.interrupted == "" || i < 0 {
		return c.noPlace()
	}
	at := splice.Path{"history", i}
	if plainText(p.node(under(at, "interruptReason"))) == c.ev.Text && !p.node(under(at, "interruptedAt")).IsNull() {
		return nil
	}
	p.because("iteration %d of the QA loop was cut off", n)
	if err := p.set(under(at, "interruptedAt"), c.stamp(p, p.node(under(at, "interruptedAt")))); err != nil {
		return err
	}
	return p.set(under(at, "interruptReason"), c.ev.Text)
}

// fixEvent records what happened to the fix of an iteration.
func (c *scribe) fixEvent(p *paper, d loopDialect, n int) error {
	i := entryAt(p, n)
	if i < 0 || verdict(plainText(p.node(splice.Path{"history", i, "verdict"}))) != reprise.Failed {
		return c.cannot("iteration %d has nothing to fix", n)
	}
	at := splice.Path{"history", i, d.fixed}
	fixed := plainText(p.node(at)) != ""
	switch c.ev.Kind {
	case reprise.StepStarted:
		if fixed {
			return p.unfixed(d, i, n)
		}
		return c.loopStatus(p, d, d.running, "", "in progress", "running", "active")
	case reprise.StepFinished:
		if !fixed {
			p.because("iteration %d of the QA loop is fixed", n)
			if err := p.set(at, c.stamp(p, lastStamp(p.node(splice.Path{"history"}), d.fixed))); err != nil {
				return err
			}
			// Whoever fixed it says that it is done: all that was found.
			if found, err := strconv.Atoi(plainText(p.node(splice.Path{"history", i, "issuesFound"}))); d.counts && err == nil {
				if err := p.set(splice.Path{"history", i, "issuesFixed"}, found); err != nil {
					return err
				}
			}
		}
		return c.loopStory(inReview)
	case reprise.StepFailed:
		return c.interrupted(p, d, n)
	case reprise.StepReset:
		if !fixed {
			return nil
		}
		return p.unfixed(d, i, n)
	}
	return c.noPlace()
}

// unfixed takes back that iteration n, the entry i of the history, was fixed.
func (p *paper) unfixed(d loopDialect, i, n int) error {
	p.because("the fix of iteration %d is done again", n)
	if at := (splice.Path{"history", i, "issuesFixed"}); d.counts && p.node(at) != nil {
		if err := p.set(at, 0); err != nil {
			return err
		}
	}
	return p.set(splice.Path{"history", i, d.fixed}, nil)
}

// loopAnswer acts on a person's answer to an escalation.
func (c *scribe) loopAnswer(p *paper, d loopDialect, lp loop) error {
	fold := doc.Fold(c.ev.Text)
	usedUp := doc.Fold(lp.word) == "escalated" || lp.iteration >= lp.max
	switch {
	case c.ev.Question != "escalation":
		return c.noPlace()
	case strings.HasPrefix(fold, "accept"):
		return c.waive(p, d, lp)
	case !d.status && !strings.HasPrefix(fold, "allow more"):
		return c.noPlace()
	case strings.HasPrefix(fold, "allow more"):
		if !usedUp {
			return nil // done before
		}
		p.because("a person allowed more iterations")
		if err := p.set(splice.Path{d.max}, lp.iteration+max(lp.max, 1)); err != nil {
			return err
		}
		return c.loopStatus(p, d, d.running, d.resumed, "in progress", "running", "active")
	case fold == "stop":
		return c.loopStatus(p, d, d.halted, d.stopped, "stopped", "paused")
	}
	return c.noPlace()
}

// waive closes a loop on a person's word: the last verdict is theirs, and what
// it was stands beside it.
func (c *scribe) waive(p *paper, d loopDialect, lp loop) error {
	if len(lp.entries) == 0 {
		return c.noPlace()
	}
	n := lp.entries[len(lp.entries)-1].n
	at := splice.Path{"history", entryAt(p, n)}
	if old := plainText(p.node(under(at, "verdict"))); verdict(old) != reprise.Done {
		if err := p.set(under(at, "previousVerdict"), old); err != nil {
			return err
		}
		if err := p.set(under(at, "verdict"), "WAIVED"); err != nil {
			return err
		}
		p.because("a person accepted iteration %d as it is", n)
	}
	if d.last != "" && verdict(plainText(p.node(splice.Path{d.last}))) != reprise.Done {
		if err := p.set(splice.Path{d.last}, "WAIVED"); err != nil {
			return err
		}
	}
	if err := c.loopStatus(p, d, d.complete, "", "completed", "complete", "done"); err != nil {
		return err
	}
	return c.loopStory(done)
}

// loopStory moves the story of a loop or workflow, if it has a file here.
func (c *scribe) loopStory(want class) error {
	for _, a := range c.run.Also {
		if a.Kind != reprise.KindStory {
			continue
		}
		if _, ended := folderSay(a.Path); ended {
			return nil // it was filed as finished, and stays so
		}
		return c.moveStory(a.Path, want, c.ev.Text)
	}
	return nil
}
