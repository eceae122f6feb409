package orchestrate

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

// flowEvent records an event of a named workflow, the master orchestrator or a
// build.
func (c *recorder) flowEvent(fm form, root ledger.Value) {
	status, isBuild := root.In("status"), c.shape == buildShape
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		if gone := root.In("abandoned"); isBuild && gone.Plain() == "true" {
			c.Set(gone, false)
		}
		c.runStatus(status, fm.active, atWork...)
	case reprise.RunStopped:
		switch {
		case c.ev.Outcome == "paused":
			c.runStatus(status, "paused", "paused")
		case isBuild:
			c.abandon(root)
		default:
			c.runStatus(status, "aborted", aborted...)
		}
	case reprise.RunEnded:
		c.runEnded(root, c.stillOpen(fm, root), "completed_at", "completedAt")
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		c.noPlace()
	case reprise.PhaseEnded:
		if c.shape == masterShape || isBuild {
			c.noPlace()
			return
		}
		c.shortPhase(root, c.ev.Phase)
	default:
		c.flowStep(fm, root)
	}
}

// runEnded closes an epic or a workflow, with the time of that under one of the keys.
// One with an open step is not closed as completed.
func (c *recorder) runEnded(root ledger.Value, open string, keys ...string) {
	status := root.In("status")
	switch {
	case c.succeeded() && open != "":
		c.cannot("%s is open", open)
	case c.succeeded():
		if c.runStatus(status, "completed", complete...) {
			c.setTime(root.In(keys...))
		}
	case c.ev.Outcome == "aborted" && c.shape == buildShape:
		c.abandon(root)
	case c.ev.Outcome == "aborted":
		c.runStatus(status, "aborted", aborted...)
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
	if c.shape == buildShape {
		b := readBuild(root)
		if id := b.at().Plain(); id != "" && !b.has(id) {
			return "subtask " + ledger.Line(id, 40)
		}
		return ""
	}
	free := map[string]bool{}
	for _, s := range fm.steps {
		for _, row := range s.rows(root) {
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

// flowStep records an event of one step: in a table of the form, the state's story, a
// subtask, or a phase of the short form.
func (c *recorder) flowStep(fm form, root ledger.Value) {
	isStory, held := c.isStoryStep(c.ev.Step), false
	for i, s := range fm.steps {
		rows := s.rows(root)
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
	case c.shape == buildShape && (c.ev.Kind == reprise.StepSkipped || c.ev.Kind == reprise.StepBlocked):
		c.noPlace()
	case isStory:
		c.driveStory(c.run.Step(c.ev.Step).Path)
	case c.shape == masterShape:
		c.cannot("the orchestrator has no step %q", ledger.Line(c.ev.Step, 60))
	case c.shape == buildShape:
		c.subtask(readBuild(root))
	case held:
		c.cannot("%s has no step %q", c.run.ID, ledger.Line(strings.TrimPrefix(c.ev.Step, "step "), 60))
	default:
		c.shortPhase(root, c.ev.Step)
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
	timed := slices.ContainsFunc(rows, func(r ledger.Row) bool { return r.At.Has(key) && (!s.own || r.ID == row.ID) })
	if at := row.At.In(key); key != "" && timed && row.At.Is(doc.Map) {
		c.Set(at, c.stamp(at))
	}
	return status, true
}

// flowPoint keeps the fields that say where a workflow stands, as the file counts.
// table is the table of the form that the step stands in.
func (c *recorder) flowPoint(root ledger.Value, table int, row ledger.Row, status reprise.Status) {
	switch last := root.In("last_completed_step", "lastCompletedStep"); {
	case c.shape == masterShape:
		return
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
	rows := formOf(workflowShape).steps[0].rows(root)
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

// shortPhase records an event in the short form: the phase at work, and those
// behind it. It knows no failure.
func (c *recorder) shortPhase(root ledger.Value, phase string) {
	phase = strings.TrimPrefix(phase, "phase ")
	cur, behind := root.In("current_phase", "currentPhase"), root.In("phases_completed", "phasesCompleted")
	switch {
	case cur.Node == nil && behind.Node == nil || phase == "" || phase != ledger.Line(phase, 80):
		c.cannot("%s has no step %q", c.run.ID, ledger.Line(phase, 60))
	case c.ev.Kind == reprise.StepStarted:
		if cur.Node == nil || cur.Plain() == phase {
			return
		}
		c.because(root, "phase %s began", phase)
		c.Set(cur, likeBefore(cur, phase))
		if who := root.In("current_agent", "currentAgent"); who.Node != nil && c.actor() != "" {
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
		c.because(root, "phase %s is behind it", phase)
		c.Add(behind, likeBefore(sample, phase))
	}
}

// isStoryStep reports whether a step is the story that a state is about.
func (c *recorder) isStoryStep(id string) bool {
	s := c.run.Step(id)
	return s != nil && s.Phase == "story" && s.Path != ""
}

// abandon marks a build as given up, where it keeps that.
func (c *recorder) abandon(root ledger.Value) {
	if !c.runStatus(root.In("status"), "abandoned", "abandoned") {
		return
	}
	for key, value := range map[string]any{"abandoned": true, "abandonedReason": c.ev.Text} {
		if at := root.In(key); at.Node != nil {
			c.Set(at, value)
		}
	}
	c.setTime(root.In("abandonedAt"))
}

// subtask records an event of one subtask of a build. Any id may be started: the
// plan that lists them is kept elsewhere.
func (c *recorder) subtask(b build) {
	id := c.ev.Step
	status, ok := c.wanted()
	switch {
	case !ok:
	case id == "" || id != ledger.Line(id, 80) || b.current.Node == nil:
		c.noPlace()
	case b.current.Is(doc.Map):
		c.cannot("the subtask at work is kept as a map")
	case status == reprise.Failed:
		c.subtaskFailed(b, id)
	case status == reprise.Done:
		if !b.has(id) {
			c.subtaskDone(b, id)
		}
	case b.has(id):
		c.cannot("subtask %s is completed", id)
	case status == reprise.InProgress:
		if b.current.Plain() != id {
			c.because(b.Value, "subtask %s began", id)
			c.Set(b.current, id)
		}
		c.runStatus(b.In("status"), "in_progress", append(slices.Clone(atWork), "")...)
	case b.current.Plain() == id:
		c.because(b.Value, "subtask %s is taken back", id)
		c.Set(b.current, nil)
	}
}

// subtaskDone adds the subtask to those completed, with a checkpoint where the
// build keeps them. The checkpoint's id is made of the time and the subtask: the
// same event gives the same checkpoint.
func (c *recorder) subtaskDone(b build, id string) {
	if b.completed.Node == nil {
		c.noPlace()
		return
	}
	var value any = id
	if all := b.completed.Entries(0); len(all) > 0 && all[len(all)-1].Is(doc.Map) {
		name := "id"
		if all[len(all)-1].Has("subtaskId") {
			name = "subtaskId"
		}
		value = splice.Object{{Key: name, Value: id}}
	}
	c.because(b.Value, "subtask %s is completed", id)
	c.Add(b.completed, value)
	count := b.In("metrics").In("completedSubtasks")
	if n, err := strconv.Atoi(count.Plain()); err == nil {
		c.Set(count, n+1)
	}
	if list := b.In("checkpoints"); list.Is(doc.List) {
		var commit any
		if hash := ledger.Line(c.ev.Commit, 64); hash != "" {
			commit = hash
		}
		c.Add(list, splice.Object{
			{Key: "id", Value: "cp-" + strconv.FormatInt(c.ev.At.UnixMilli(), 36) + "-" + reprise.HashOf([]byte(id)).String()[:8]},
			{Key: "timestamp", Value: c.stamp(list)}, {Key: "subtaskId", Value: id}, {Key: "status", Value: "completed"},
			{Key: "gitCommit", Value: commit}, {Key: "filesModified", Value: []any{}},
		})
	}
	c.setTime(b.In("lastCheckpoint"))
}

// subtaskFailed adds a failed attempt; the subtask stays the one at work.
func (c *recorder) subtaskFailed(b build, id string) {
	list := b.In("failedAttempts", "failed_attempts")
	if list.Node == nil {
		c.noPlace()
		return
	}
	at, attempt := c.stamp(list), 1
	for _, item := range list.Entries(0) {
		if item.In("subtaskId", "subtask_id").Plain() != id {
			continue
		}
		if item.In("timestamp").Plain() == fmt.Sprint(at) {
			return
		}
		attempt++
	}
	if c.ev.Attempt > 0 {
		attempt = c.ev.Attempt
	}
	c.because(b.Value, "subtask %s failed", id)
	c.Add(list, splice.Object{{Key: "subtaskId", Value: id}, {Key: "attempt", Value: attempt}, {Key: "timestamp", Value: at}, {Key: "error", Value: c.ev.Text}})
}
