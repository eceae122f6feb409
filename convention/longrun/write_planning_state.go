package longrun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// planChange is what an event changes in STATE.md of `.planning/`.
type planChange struct {
	word   gsdWord // of the whole; gsdNone leaves it
	plan   *plan   // the plan it is about, nil for none
	counts int     // 1 where the plan is done now and was not before, -1 where it is no longer
	what   string  // for the lines that say what was done last
}

// gsdFront and gsdBody are the words for a status above and below.
var (
	gsdFront = map[gsdWord]string{gsdExecuting: "executing", gsdPaused: "paused", gsdMilestone: "completed"}
	gsdBody  = map[gsdWord]string{gsdExecuting: "In progress", gsdPaused: "Paused", gsdMilestone: "Milestone complete", gsdDone: "Phase complete"}
)

// run: events of the whole stand in STATE.md alone. A hand-off is not written:
// it must be removed when the work is resumed, which an edit cannot do.
func (w *planningRecorder) run() {
	if !w.g.state.exists {
		w.Fail(ledger.Cannot("%s is not there", w.g.state.file.Path))
		return
	}
	ended := w.ev.Kind == reprise.RunEnded
	switch {
	case w.ev.Kind == reprise.RunStopped, ended && w.broken():
		w.state(planChange{word: gsdPaused, what: stopText(w.ev.Text)})
	case ended:
		for _, p := range w.g.open {
			if p.live || p.closed {
				w.Fail(ledger.Cannot("the work is not complete: plan %s is open", p.id))
			}
		}
		w.state(planChange{word: gsdMilestone, what: "Completed the milestone"})
	case w.ev.Kind == reprise.RunStarted:
		w.state(planChange{word: gsdExecuting, what: "Started"})
	default:
		w.state(planChange{word: gsdExecuting, what: "Resumed"})
	}
}

// broken reports whether the event is an end before the work was complete.
func (w *planningRecorder) broken() bool {
	return slices.Contains([]string{"failed", "aborted", "stopped"}, doc.Fold(w.ev.Outcome))
}

// state brings STATE.md up to date where it has a place for it. The body comes
// first: a change above it could move its lines.
func (w *planningRecorder) state(c planChange) {
	s := &w.g.state
	if !s.exists {
		return
	}
	w.Markdown(s.file.Path).Because("%s", c.what)
	if s.stacked {
		w.Fail(fmt.Errorf("%s: it has several front matters and the first is not the newest: %w", s.file.Path, splice.ErrUnreadable))
		return
	}
	w.stateWord(c)
	if w.caution < leavePhase && c.plan != nil {
		w.statePhase(c.plan)
	}
	if c.counts != 0 {
		w.stateCounts(c.counts)
	}
	if w.caution < leaveProse && w.Changed() && !w.ev.At.IsZero() && !w.takesUp() {
		w.stateProse(c)
	}
}

// takesUp reports whether the event only resumes what a hand-off left. The hand-off
// counts until the work moves on, and would not if STATE.md had a later date.
func (w *planningRecorder) takesUp() bool {
	return w.g.hand != nil && slices.Contains([]reprise.EventKind{reprise.RunStarted, reprise.RunResumed, reprise.StepStarted}, w.ev.Kind)
}

// stateWord sets the status, above and below, where it does not say it yet.
func (w *planningRecorder) stateWord(c planChange) {
	s := &w.g.state
	above, below := s.at("status"), s.fields["status"]
	if c.word == gsdNone {
		return
	}
	if !above.There() && !below.There() && c.plan == nil {
		w.Fail(ledger.Cannot("%s: it has no line for the status", s.file.Path))
		return
	}
	if readGSDWord(below.Value) != c.word {
		w.set(below, gsdBody[c.word])
	}
	now, word := readGSDWord(above.Value), gsdFront[c.word]
	if word != "" && now != c.word && !(c.word == gsdMilestone && now == gsdDone) {
		w.set(above, word)
	}
}

// statePhase moves the phase forward to that of the plan, with the count of
// plans that belongs to it. Only a plan that is reopened moves it back: one that
// was left behind does not undo what came after it.
func (w *planningRecorder) statePhase(p *plan) {
	s := &w.g.state
	finished := w.ev.Kind == reprise.StepFinished
	if s.phase.none() || !finished && !w.reopens && w.ev.Kind != reprise.StepStarted {
		return
	}
	at := s.fields["plan"]
	nums := doc.Numbers(at.Value)
	if c := p.phase.compare(s.phase); c == 0 || c < 0 != w.reopens {
		if p.phase == s.phase && finished && len(nums) > 0 && nums[0] < p.num {
			value, _ := withNumber(at.Value, p.num)
			w.set(at, value)
		}
		return
	}
	if len(nums) > 0 {
		total := len(within(w.g.plans.sorted(), p.phase))
		w.set(at, fmt.Sprintf("%d of %d", max(1, p.num), max(total, p.num)))
	}
	for _, t := range []ledger.Text{s.fields["phase"], s.at("current_phase"), s.at("active_phase")} {
		if value, ok := w.phaseText(t.Value, p.phase); ok {
			w.set(t, value)
		}
	}
}

// phaseText writes another phase into "3 of 5 (Checkout)", "Phase 3: Checkout"
// or "03". What follows the number and is not the count is its name.
func (w *planningRecorder) phaseText(old string, p phaseNo) (string, bool) {
	head := ""
	if len(old) > 6 && strings.EqualFold(old[:6], "phase ") {
		head, old = old[:6], old[6:]
	}
	rest := strings.TrimLeft(old, "0123456789.")
	if len(rest) == len(old) {
		return "", false
	}
	number := p.String()
	if old[0] != '0' {
		number = strings.TrimLeft(number, "0")
	}
	count := ""
	if after, ok := strings.CutPrefix(rest, " of "); ok {
		rest = strings.TrimLeft(after, "0123456789")
		digits := after[:len(after)-len(rest)]
		if total, err := strconv.Atoi(digits); err == nil && p.n[0] <= total { // else of another milestone
			count = " of " + digits
		}
	}
	title := ""
	if ph := w.g.road.phases[p]; ph != nil {
		title = ledger.MarkdownLine(ph.title, 80)
	}
	switch trimmed := strings.TrimSpace(rest); {
	case trimmed == "" || title == "":
		rest = ""
	case trimmed[0] == '(':
		rest = " (" + title + ")"
	default:
		rest = ": " + title
	}
	return head + number + count + rest, true
}

// share is how many plans of how many are done.
type share struct{ done, total int }

// stands reports whether a percentage stands for the share.
func (s share) stands(percentage int) bool {
	return s.total > 0 && (percentage == percent(s.done, s.total) || percentage == 100*s.done/s.total)
}

// stateCounts counts one plan more or less, above and in the bar below. A count that is
// not understood is left alone.
func (w *planningRecorder) stateCounts(by int) {
	s := &w.g.state
	done, total, old := s.at("progress", "completed_plans"), s.at("progress", "total_plans"), s.at("progress", "percent")
	var above share
	var okDone, okTotal bool
	above.done, okDone = number(done.Value)
	above.total, okTotal = number(total.Value)
	shares := w.shares()
	counted := okDone && okTotal && above.done+by <= above.total && (!w.behind && !w.reopens || above == shares[0])
	if counted {
		shares = append([]share{above}, shares...)
	}
	if bar, ok := movedBar(s.fields["progress"].Value, shares, by); ok {
		w.set(s.fields["progress"], bar)
	}
	if counted {
		w.set(done, above.done+by)
		if n, ok := number(old.Value); ok && above.stands(n) {
			w.set(old, percent(above.done+by, above.total))
		}
	}
}

// movedBar moves a bar by one plan, if it stands for one of the shares.
func movedBar(old string, shares []share, by int) (string, bool) {
	_, after, _ := strings.Cut(old, "]")
	nums := doc.Numbers(after)
	for _, s := range shares {
		if len(nums) == 0 || !s.stands(nums[0]) || strings.Contains(after, "/") && !strings.Contains(after, fmt.Sprintf("%d/%d", s.done, s.total)) {
			continue
		}
		if bar, ok := withBar(old, s.done+by, s.total); ok {
			return bar, true
		}
	}
	return "", false
}

// shares are the counts a bar may stand for before the event: of all plans, and of those
// of the phase.
func (w *planningRecorder) shares() []share {
	all, inPhase := share{}, share{}
	for _, p := range w.g.plans.sorted() {
		n := count((p.done || p.recorded) && !(w.behind && p == w.about) || w.reopens && (p.ticked() || p == w.about))
		all = share{all.done + n, all.total + 1}
		if p.phase == w.about.phase {
			inPhase = share{inPhase.done + n, inPhase.total + 1}
		}
	}
	return []share{all, inPhase}
}

// stateProse says when and by what the work moved last.
func (w *planningRecorder) stateProse(c planChange) {
	s := &w.g.state
	if t := s.fields["session"]; t.There() {
		if _, timed := doc.ParseTime(t.Value); timed {
			w.SetText(t, w.spell(t.Value))
		}
	}
	w.set(s.fields["activity"], w.activity(s.fields["activity"].Value, c.what))
	if w.reopens || w.ev.Kind == reprise.StepFinished || w.ev.Kind == reprise.RunStopped {
		stopped := c.what
		if why := ledger.MarkdownLine(w.ev.Text, 200); why != "" && w.ev.Kind == reprise.RunStopped {
			stopped = why
		}
		w.set(s.fields["stopped"], stopped)
		w.set(s.at("stopped_at"), stopped)
	}
	w.set(s.at("last_updated"), w.spell(s.at("last_updated").Value))
	w.set(s.at("last_activity"), w.activity(s.at("last_activity").Value, c.what))
}
