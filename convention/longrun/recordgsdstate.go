package longrun

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// planChange is what an event changes in STATE.md of `.planning/`.
type planChange struct {
	word   gsdWord // of the whole; gsdNone leaves it
	plan   planKey // the plan it is about
	counts bool    // the plan is done now and was not before
	what   string  // for the lines that say what was done last
}

// gsdFront and gsdBody are the words for a status above and below.
var (
	gsdFront = map[gsdWord]string{gsdExecuting: "executing", gsdPaused: "paused", gsdMilestone: "completed"}
	gsdBody  = map[gsdWord]string{gsdExecuting: "In progress", gsdPaused: "Paused", gsdMilestone: "Milestone complete", gsdDone: "Phase complete"}
)

// run: events of the whole stand in STATE.md alone. A hand-off is not written:
// it must be removed when the work is taken up again, which an edit cannot do.
func (w *planRecorder) run() error {
	if !w.g.state.exists {
		return cannot("%s is not there", path.Join(w.g.dir, "STATE.md"))
	}
	ended := w.ev.Kind == reprise.RunEnded
	switch {
	case w.ev.Kind == reprise.RunStopped, ended && w.broken():
		return w.state(planChange{word: gsdPaused, what: stopText(w.ev.Text)})
	case ended:
		for _, k := range w.g.open {
			if w.g.isLive[k] || w.g.closed[k] {
				return cannot("the work is not complete: plan %s is open", w.g.id(k))
			}
		}
		return w.state(planChange{word: gsdMilestone, what: "Completed the milestone"})
	}
	what := "Resumed"
	if w.ev.Kind == reprise.RunStarted {
		what = "Started"
	}
	return w.state(planChange{word: gsdExecuting, what: what})
}

// broken reports whether the event is an end before the work was complete.
func (w *planRecorder) broken() bool {
	switch doc.Fold(w.ev.Outcome) {
	case "failed", "aborted", "stopped":
		return true
	}
	return false
}

// state brings STATE.md up to date where it has a place for it.
func (w *planRecorder) state(c planChange) error {
	name := path.Join(w.g.dir, "STATE.md")
	m, err := w.openMarkdown(name, c.what)
	if err != nil || m == nil {
		return err
	}
	if more := m.Doc().MoreFront; len(more) > 0 && w.g.newestFront(w.g.state.file, m.Doc()) != m.Doc().Front {
		return fmt.Errorf("%s: it has several front matters and the first is not the newest: %w", name, splice.ErrUnreadable)
	}
	if err := w.stateWord(m, c); err != nil {
		return inFile(name, err)
	}
	if w.care < carePhase {
		if err := w.statePhaseTo(m, c); err != nil {
			return inFile(name, err)
		}
	}
	if c.counts {
		if err := w.stateCounts(m); err != nil {
			return inFile(name, err)
		}
	}
	if w.care < careProse && w.changed() && !w.ev.At.IsZero() {
		return inFile(name, w.stateProse(m, c))
	}
	return nil
}

// stateWord sets the status, above and below, where it does not say it yet.
func (w *planRecorder) stateWord(m *splice.Markdown, c planChange) error {
	if c.word == gsdNone {
		return nil
	}
	placed := false
	if n := child(m.Doc().Front, "status"); n != nil {
		now, word := readGSDWord(textOf(n)), gsdFront[c.word]
		placed = true
		if word != "" && now != c.word && !(c.word == gsdMilestone && now == gsdDone) {
			if err := m.SetFront(splice.Path{"status"}, word); err != nil {
				return err
			}
		}
	}
	if v, ok := w.g.bodyFields(m.Doc())["status"]; ok {
		placed = true
		if readGSDWord(v.Value) != c.word {
			if err := setAt(m, v, gsdBody[c.word]); err != nil {
				return err
			}
		}
	}
	if !placed && c.plan.phase.none() {
		return cannot("it has no line for the status")
	}
	return nil
}

// statePhaseTo moves the phase forward to that of the plan, with the count of
// plans that belongs to it. It is never moved back: a plan that was left behind
// does not undo what came after it.
func (w *planRecorder) statePhaseTo(m *splice.Markdown, c planChange) error {
	s := &w.g.state
	finished := w.ev.Kind == reprise.StepFinished
	if c.plan.phase.none() || s.phase.none() || !finished && w.ev.Kind != reprise.StepStarted {
		return nil
	}
	fields := w.g.bodyFields(m.Doc())
	if c.plan.phase.compare(s.phase) <= 0 {
		if v, ok := fields["plan"]; ok && c.plan.phase == s.phase && finished {
			if nums := doc.Numbers(v.Value); len(nums) > 0 && nums[0] < c.plan.num {
				value, _ := withNumber(v.Value, c.plan.num)
				return setAt(m, v, value)
			}
		}
		return nil
	}
	for _, key := range []string{"current_phase", "active_phase"} {
		if n := child(m.Doc().Front, key); n != nil {
			if value, ok := w.phaseText(textOf(n), c.plan.phase); ok {
				if err := m.SetFront(splice.Path{key}, value); err != nil {
					return err
				}
			}
		}
	}
	if v, ok := fields["phase"]; ok {
		if value, ok := w.phaseText(v.Value, c.plan.phase); ok {
			if err := setAt(m, v, value); err != nil {
				return err
			}
		}
	}
	if v, ok := fields["plan"]; ok && len(doc.Numbers(v.Value)) > 0 {
		total := 0
		for _, k := range w.g.stepKeys() {
			if k.phase == c.plan.phase {
				total++
			}
		}
		return setAt(m, v, fmt.Sprintf("%d of %d", max(1, c.plan.num), max(total, c.plan.num)))
	}
	return nil
}

// phaseText writes another phase into "3 of 5 (Checkout)", "Phase 3: Checkout"
// or "03". What follows the number and is not the count is its name.
func (w *planRecorder) phaseText(old string, p phaseNo) (string, bool) {
	head := ""
	if len(old) > 6 && strings.EqualFold(old[:6], "phase ") {
		head, old = old[:6], old[6:]
	}
	end := 0
	for end < len(old) && (old[end] >= '0' && old[end] <= '9' || old[end] == '.') {
		end++
	}
	if end == 0 {
		return "", false
	}
	number, rest := p.String(), old[end:]
	if old[0] != '0' {
		number = strings.TrimLeft(number, "0")
	}
	count := ""
	if after, ok := strings.CutPrefix(rest, " of "); ok {
		i := 0
		for i < len(after) && after[i] >= '0' && after[i] <= '9' {
			i++
		}
		count, rest = " of "+after[:i], after[i:]
		if total, err := strconv.Atoi(after[:i]); err != nil || p.n[0] > total {
			count = "" // of another milestone
		}
	}
	title := ""
	if ph := w.g.road.phases[p]; ph != nil {
		title = line(ph.title, 80)
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

// stateCounts counts one more plan, above and in the bar below. A count that is
// not understood is left alone.
func (w *planRecorder) stateCounts(m *splice.Markdown) error {
	progress := child(m.Doc().Front, "progress")
	done, okDone := number(child(progress, "completed_plans"))
	total, okTotal := number(child(progress, "total_plans"))
	shares := w.shares()
	if okDone && okTotal && done < total && (!w.behind || [2]int{done, total} == shares[0]) {
		shares = append([][2]int{{done, total}}, shares...)
		old, ok := number(child(progress, "percent"))
		if err := m.SetFront(splice.Path{"progress", "completed_plans"}, done+1); err != nil {
			return err
		}
		if ok && (old == percent(done, total) || old == 100*done/total) {
			if err := m.SetFront(splice.Path{"progress", "percent"}, percent(done+1, total)); err != nil {
				return err
			}
		}
	}
	v, ok := pick(statements(m.Doc().All()), "Progress")
	if !ok {
		return nil
	}
	_, after, _ := strings.Cut(v.Value, "]")
	old := doc.Numbers(after)
	for _, s := range shares {
		known := len(old) > 0 && (old[0] == percent(s[0], s[1]) || old[0] == 100*s[0]/s[1])
		if strings.Contains(after, "/") && !strings.Contains(after, fmt.Sprintf("%d/%d", s[0], s[1])) {
			known = false
		}
		if bar, ok := withBar(v.Value, s[0]+1, s[1]); ok && known {
			return setAt(m, v, bar)
		}
	}
	return nil
}

// shares are the counts a bar may stand for: of all plans, and of those of the
// phase.
func (w *planRecorder) shares() [][2]int {
	k, _ := w.planOf(w.ev.Step)
	all, inPhase := [2]int{}, [2]int{}
	for _, other := range w.g.stepKeys() {
		n := 0
		if (w.g.done[other] || w.g.recorded[other]) && !(w.behind && other == k) {
			n = 1
		}
		all[0], all[1] = all[0]+n, all[1]+1
		if other.phase == k.phase {
			inPhase[0], inPhase[1] = inPhase[0]+n, inPhase[1]+1
		}
	}
	return [][2]int{all, inPhase}
}

func number(n *doc.Node) (int, bool) {
	v, err := strconv.Atoi(textOf(n))
	return v, err == nil && v >= 0
}

// stateProse says when and by what the work moved last.
func (w *planRecorder) stateProse(m *splice.Markdown, c planChange) error {
	ends := w.ev.Kind == reprise.StepFinished || w.ev.Kind == reprise.RunStopped
	front := m.Doc().Front
	set := func(key, value string) error {
		if n := child(front, key); n == nil || n.Kind == doc.Map || n.Kind == doc.List {
			return nil
		}
		return m.SetFront(splice.Path{key}, value)
	}
	if err := set("last_updated", timeLike(textOf(child(front, "last_updated")), w.ev.At)); err != nil {
		return err
	}
	if err := set("last_activity", activity(textOf(child(front, "last_activity")), w.ev.At, c.what)); err != nil {
		return err
	}
	stopped := c.what
	if why := line(w.ev.Text, 200); why != "" && w.ev.Kind == reprise.RunStopped {
		stopped = why
	}
	if ends {
		if err := set("stopped_at", stopped); err != nil {
			return err
		}
	}
	fields := w.g.bodyFields(m.Doc())
	if v, ok := fields["activity"]; ok {
		if err := setAt(m, v, activity(v.Value, w.ev.At, c.what)); err != nil {
			return err
		}
	}
	if v, ok := fields["stopped"]; ok && ends {
		if err := setAt(m, v, stopped); err != nil {
			return err
		}
	}
	if v, ok := fields["session"]; ok {
		if _, timed := doc.ParseTime(v.Value); timed {
			return setAt(m, v, timeLike(v.Value, w.ev.At))
		}
	}
	return nil
}
