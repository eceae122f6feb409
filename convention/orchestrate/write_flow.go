package orchestrate

import (
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// flowEvent records an event of a named workflow or a build.
func (c *recorder) flowEvent(fm form, root ledger.Value) {
	status := root.In("status")
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		c.runStatus(status, fm.active, atWork...)
	case reprise.RunStopped:
		if c.ev.Outcome == "paused" {
			c.runStatus(status, "paused", "paused")
			return
		}
		c.runStatus(status, fm.halted, append(aborted, fm.halted)...)
	case reprise.RunEnded:
		c.runEnded(root, c.stillOpen(fm, root), fm.halted, "completed_at", "completedAt")
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		c.noPlace()
	case reprise.PhaseEnded:
		c.shortPhase(fm, root, c.ev.Phase)
	default:
		c.flowStep(fm, root)
	}
}

// runEnded closes an epic or a workflow, with the time of that under one of the keys.
// One with an open step is not closed as completed.
func (c *recorder) runEnded(root ledger.Value, open, halted string, keys ...string) {
	status := root.In("status")
	switch {
	case c.succeeded() && open != "":
		c.cannot("%s is open", open)
	case c.succeeded():
		if c.runStatus(status, "completed", complete...) {
			c.setTime(root.In(keys...))
		}
	case c.ev.Outcome == "aborted":
		c.runStatus(status, halted, append(aborted, halted)...)
	case c.ev.Outcome == "failed" && c.shape != epicShape:
		c.runStatus(status, "failed", "failed", "error")
	default:
		c.noPlace()
	}
}

// succeeded reports whether the event is the end of a run that reached its goal.
func (c *recorder) succeeded() bool {
	return oneOf(c.ev.Outcome, "completed|approved") || c.ev.Outcome == ""
}

// stillOpen names a step that keeps a workflow from being completed.
func (c *recorder) stillOpen(fm form, root ledger.Value) string {
	free := map[string]bool{}
	for _, s := range fm.steps {
		for _, row := range s.Rows(root) {
			may, _ := row.At.In(s.mark).Bool()
			free[row.ID] = may
		}
	}
	for i := range c.run.Steps {
		if s := &c.run.Steps[i]; s.Phase != "story" && !s.Status.Closed() && !free[s.ID] {
			return ledger.Line(s.ID, 60)
		}
	}
	return ""
}

// flowStep records an event of one step: in a table of the form, the state's story, or
// what the short form has at work.
func (c *recorder) flowStep(fm form, root ledger.Value) {
	isStory, held := c.isStoryStep(c.ev.Step), false
	for i, s := range fm.steps {
		rows := s.Rows(root)
		row, ok := ledger.Find(rows, c.ev.Step)
		if ok && !(isStory && i > 0) {
			if status, changed := c.setStep(s, rows, row); changed {
				c.flowPoint(root, i, row, status)
			}
			return
		}
		held = held || i > 0 && root.In(s.Keys...).Node != nil
	}
	switch {
	case isStory:
		c.driveStory(c.run.Step(c.ev.Step).Path)
	case held:
		c.cannot("%s has no step %q", c.run.ID, ledger.Line(strings.TrimPrefix(c.ev.Step, "step "), 60))
	default:
		c.shortPhase(fm, root, c.ev.Step)
	}
}

// setStep gives a step of a table the status of the event, in the words of the
// others and with its times. It reports whether that changed anything.
func (c *recorder) setStep(s steps, rows []ledger.Row, row ledger.Row) (status reprise.Status, changed bool) {
	status, ok := c.wanted()
	if now := row.Status.Plain(); !ok || now != "" && stateWord(now) == status {
		return status, false
	}
	word := spell(status, ledger.Words(rows)...)
	c.because(row.At, "%s is %s", ledger.Line(c.ev.Step, 40), word)
	c.Set(row.Status, word)
	key := map[reprise.Status]string{reprise.InProgress: s.Started, reprise.Done: s.Ended}[status]
	timed := slices.ContainsFunc(rows, func(r ledger.Row) bool { return r.At.Has(key) })
	if at := row.At.In(key); key != "" && timed && row.At.Is(doc.Map) {
		c.Set(at, c.stamp(at))
	}
	return status, true
}

// flowPoint keeps the fields that say where a workflow stands, as the file counts.
// table is the table of the form that the step stands in.
func (c *recorder) flowPoint(root ledger.Value, table int, row ledger.Row, status reprise.Status) {
	switch last := root.In("last_completed_step", "lastCompletedStep"); {
	case table == 0:
		c.currentStep(c.Now(root))
	case last.Node != nil && status == reprise.Done:
		c.Set(last, row.Name)
	}
	if status == reprise.InProgress && table == 0 {
		c.runStatus(root.In("status"), "active", append(slices.Clone(atWork), "")...)
	}
}

// currentStep writes which step a workflow is at.
func (c *recorder) currentStep(root ledger.Value) {
	rows := formOf(workflowShape).steps[0].Rows(root)
	point, closed, past := -1, 0, lastBegun(rows)
	for i, row := range rows {
		if st := row.Status.Plain(); st != "" && stateWord(st).Closed() {
			closed++
		} else if point < 0 && !(i < past && optional(row)) {
			point = i
		}
	}
	if count := root.In("steps_completed", "stepsCompleted"); count.Is(doc.Number) {
		c.Set(count, closed)
	}
	if point < 0 {
		return // the last one stays the current one
	}
	at := rows[point].At
	if index := root.In("current_step_index", "currentStepIndex"); index.Node != nil {
		n, err := strconv.Atoi(at.In("step_index", "index").Plain())
		if err != nil {
			n = at.Path[len(at.Path)-1].(int)
		}
		c.Set(index, n)
	}
	// The field holds whatever the steps are called by.
	id := root.In("current_step_id", "currentStepId")
	now := id.Plain()
	for _, name := range []string{"step_id", "id", "action", "name"} {
		called := slices.ContainsFunc(rows, func(r ledger.Row) bool { return r.At.In(name).Plain() == now })
		if own := at.In(name).Plain(); id.Node != nil && own != "" && (called || now == "") {
			c.Set(id, own)
			return
		}
	}
}

// shortPhase records an event in the short form: what is at work, and what is behind
// it.
func (c *recorder) shortPhase(fm form, root ledger.Value, phase string) {
	called := fm.short.called
	phase = strings.TrimPrefix(phase, called+" ")
	cur, behind := root.In(fm.short.current...), root.In(fm.short.behind...)
	switch {
	case cur.Node == nil && behind.Node == nil || phase == "" || phase != ledger.Line(phase, 80):
		c.cannot("%s has no step %q", c.run.ID, ledger.Line(phase, 60))
	case c.ev.Kind == reprise.StepStarted:
		if cur.Node == nil || cur.Plain() == phase {
			return
		}
		c.because(root, "%s %s began", called, phase)
		c.Set(cur, likeBefore(cur, phase))
		if who := root.In(fm.short.agent...); who.Node != nil && c.actor() != "" {
			c.Set(who, agent(c.actor(), who.Plain()))
		}
	case c.ev.Kind != reprise.StepFinished && c.ev.Kind != reprise.PhaseEnded || c.rejected() || behind.Node == nil:
		c.noPlace()
	default:
		sample := cur
		for _, item := range behind.Entries(0) {
			if item.Plain() == phase {
				return
			}
			sample = behind.Item(0)
		}
		c.because(root, "%s %s is behind it", called, phase)
		c.Add(behind, likeBefore(sample, phase))
	}
}

// isStoryStep reports whether a step is the story that a state is about.
func (c *recorder) isStoryStep(id string) bool {
	s := c.run.Step(id)
	return s != nil && s.Phase == "story" && s.Path != ""
}
