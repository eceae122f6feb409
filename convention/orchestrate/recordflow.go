package orchestrate

import (
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// isStoryStep reports whether a step is the story that a state speaks of.
func (c *scribe) isStoryStep(id string) bool {
	s := c.run.Step(id)
	return s != nil && s.Phase == "story" && s.Path != ""
}

// recordWorkflow records an event of a named workflow: with steps, or in the
// short form with the phases behind it.
func (c *scribe) recordWorkflow(p *paper) error {
	var root splice.Path
	for _, key := range []string{"engine_state", "workflow_state"} {
		if n := p.tree.Root().Get(key); n != nil && n.Kind == doc.Map {
			root = splice.Path{key}
			break
		}
	}
	if err := c.workflowEvent(p, root); err != nil {
		return err
	}
	return c.touch(p, root, "updated_at", "updatedAt", "last_updated")
}

func (c *scribe) workflowEvent(p *paper, root splice.Path) error {
	at := under(root, "status")
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		return c.flowStatus(p, at, "active", "active", "in progress", "running")
	case reprise.RunStopped:
		if c.ev.Outcome == "paused" {
			return c.flowStatus(p, at, "paused", "paused")
		}
		return c.flowStatus(p, at, "aborted", "aborted", "abort", "cancelled", "canceled")
	case reprise.RunEnded:
		return c.flowEnded(p, at)
	case reprise.PhaseEnded:
		return c.shortPhase(p, root, c.ev.Phase)
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		return c.noPlace()
	}
	if i, key := workflowStep(p.node(root), c.ev.Step); i >= 0 {
		return c.flowStep(p, root, key, i)
	}
	if c.isStoryStep(c.ev.Step) {
		return c.driveStory(c.run.Step(c.ev.Step).Path)
	}
	if results := p.key(root, "step_results", "stepResults"); results != "" {
		return c.flowResult(p, root, results)
	}
	return c.shortPhase(p, root, c.ev.Step)
}

// flowResult records an event of a step in the form that keeps a result for
// each, by name.
func (c *scribe) flowResult(p *paper, root splice.Path, key string) error {
	name := strings.TrimPrefix(c.ev.Step, "step ")
	list := p.node(under(root, key))
	if list.Kind != doc.Map || !list.Has(name) {
		return c.cannot("%s has no step %q", c.run.ID, oneLine(name, 60))
	}
	status, word, ok := c.eventStatus()
	if !ok {
		return c.noPlace()
	}
	at := under(root, key, name)
	if p.node(at).Kind == doc.Map {
		at = under(at, "status")
	}
	now := plainText(p.node(at))
	if now != "" && stateWord(now) == status {
		return nil
	}
	var words []string
	for _, f := range list.Keys {
		if f.Value.Kind == doc.Map {
			words = append(words, plainText(f.Value.Get("status")))
		}
	}
	word = spellState(status, word, words...)
	p.because("%s is %s", oneLine(c.ev.Step, 40), word)
	if err := p.set(at, word); err != nil {
		return err
	}
	if k := p.key(root, "last_completed_step", "lastCompletedStep"); k != "" && status == reprise.Done {
		return p.set(under(root, k), name)
	}
	return nil
}

// driveStory moves a story by an event about the story as a whole.
func (c *scribe) driveStory(story string) error {
	status, _, ok := c.eventStatus()
	if !ok || status == reprise.Skipped {
		return c.noPlace()
	}
	return c.storyFollows(story, status)
}

// flowStatus sets a status unless a word of the same meaning stands there.
func (c *scribe) flowStatus(p *paper, at splice.Path, word string, same ...string) error {
	now := plainText(p.node(at))
	if slices.Contains(same, doc.Fold(splitCamel(now))) {
		return nil
	}
	if now != "" && now == strings.ToUpper(now) {
		word = strings.ToUpper(word)
	}
	p.because("%s is %s", c.run.ID, word)
	return p.set(at, word)
}

func (c *scribe) flowEnded(p *paper, at splice.Path) error {
	switch c.ev.Outcome {
	case "", "completed", "approved":
		for i := range c.run.Steps {
			if s := &c.run.Steps[i]; s.Phase != "story" && !s.Status.Closed() && !strings.HasSuffix(s.Title, "(optional)") {
				return c.cannot("%s is open", oneLine(s.ID, 60))
			}
		}
		if err := c.flowStatus(p, at, "completed", "completed", "complete", "done"); err != nil {
			return err
		}
		return c.endTime(p, at[:len(at)-1])
	case "aborted":
		return c.flowStatus(p, at, "aborted", "aborted", "abort", "cancelled", "canceled")
	case "failed":
		return c.flowStatus(p, at, "failed", "failed", "error")
	}
	return c.noPlace()
}

// endTime sets when a run was completed, where its file keeps that.
func (c *scribe) endTime(p *paper, at splice.Path) error {
	if key := p.key(at, "completed_at", "completedAt"); key != "" && p.tree.Changed() {
		return p.set(under(at, key), c.stamp(p, p.node(under(at, key))))
	}
	return nil
}

// workflowStep finds a step of a workflow by the id the loader gives it.
func workflowStep(n *doc.Node, id string) (index int, key string) {
	if n == nil || n.Kind != doc.Map {
		return -1, ""
	}
	for _, key := range []string{"steps", "phases"} {
		list := n.Get(key)
		if list == nil {
			continue
		}
		for i, s := range list.Items {
			if s.Kind != doc.Map {
				continue
			}
			own := plainText(s.Get("step_id", "id", "step_index", "index"))
			if own == "" {
				own = strconv.Itoa(i)
			}
			if id == "step "+own {
				return i, key
			}
		}
		return -1, ""
	}
	return -1, ""
}

// flowStep records an event of one step, and where the workflow stands now.
func (c *scribe) flowStep(p *paper, root splice.Path, key string, i int) error {
	status, word, ok := c.eventStatus()
	if !ok {
		return c.noPlace()
	}
	list := p.node(under(root, key))
	var words []string
	timed := map[string]bool{}
	for _, s := range list.Items {
		if s.Kind == doc.Map {
			words = append(words, plainText(s.Get("status")))
			for _, k := range []string{"started_at", "completed_at"} {
				timed[k] = timed[k] || s.Has(k)
			}
		}
	}
	at := under(root, key, i)
	now := plainText(p.node(under(at, "status")))
	if now != "" && stateWord(now) == status {
		return nil
	}
	word = spellState(status, word, words...)
	p.because("%s is %s", oneLine(c.ev.Step, 40), word)
	if err := p.set(under(at, "status"), word); err != nil {
		return err
	}
	for _, t := range []struct {
		key string
		on  reprise.Status
	}{{"started_at", reprise.InProgress}, {"completed_at", reprise.Done}} {
		if timed[t.key] && status == t.on {
			if err := p.set(under(at, t.key), c.stamp(p, p.node(under(at, t.key)))); err != nil {
				return err
			}
		}
	}
	if err := c.flowPoint(p, root, key); err != nil {
		return err
	}
	if status == reprise.InProgress {
		return c.flowStatus(p, under(root, "status"), "active", "active", "in progress", "running", "")
	}
	return nil
}

// flowPoint keeps the fields that name the step at work, as the file counts.
func (c *scribe) flowPoint(p *paper, root splice.Path, key string) error {
	list := p.node(under(root, key)).Items
	point, closed, past := -1, 0, lastBegun(list)
	for i, s := range list {
		if s.Kind != doc.Map {
			continue
		}
		if st := plainText(s.Get("status")); st != "" && stateWord(st).Closed() {
			closed++
		} else if point < 0 && !(i < past && dispensable(s)) {
			point = i
		}
	}
	if k := p.key(root, "steps_completed", "stepsCompleted"); k != "" && p.node(under(root, k)).Kind == doc.Number {
		if err := p.set(under(root, k), closed); err != nil {
			return err
		}
	}
	if point < 0 {
		return nil // the last one stays the current one
	}
	if k := p.key(root, "current_step_index", "currentStepIndex"); k != "" {
		n := point
		if v, err := strconv.Atoi(plainText(list[point].Get("step_index", "index"))); err == nil {
			n = v
		}
		if err := p.set(under(root, k), n); err != nil {
			return err
		}
	}
	k := p.key(root, "current_step_id", "currentStepId")
	if k == "" {
		return nil
	}
	// The field holds whatever the steps are called by.
	now := plainText(p.node(under(root, k)))
	for _, name := range []string{"step_id", "id", "action", "name"} {
		called := slices.ContainsFunc(list, func(s *doc.Node) bool { return s.Kind == doc.Map && plainText(s.Get(name)) == now })
		if id := plainText(list[point].Get(name)); id != "" && (called || now == "") {
			return p.set(under(root, k), id)
		}
	}
	return nil
}

// shortPhase records an event in the short form: the phase at work, and those
// behind it. It knows no failure.
func (c *scribe) shortPhase(p *paper, root splice.Path, phase string) error {
	phase = strings.TrimPrefix(phase, "phase ")
	cur := p.key(root, "current_phase", "currentPhase")
	behind := p.key(root, "phases_completed", "phasesCompleted")
	if cur == "" && behind == "" || phase == "" || phase != oneLine(phase, 80) {
		return c.cannot("%s has no step %q", c.run.ID, oneLine(phase, 60))
	}
	var value any = phase
	switch c.ev.Kind {
	case reprise.StepStarted:
		if cur == "" || plainText(p.node(under(root, cur))) == phase {
			return nil
		}
		if n, err := strconv.Atoi(phase); err == nil && p.node(under(root, cur)).Kind == doc.Number {
			value = n
		}
		p.because("phase %s began", phase)
		if err := p.set(under(root, cur), value); err != nil {
			return err
		}
		if k := p.key(root, "current_agent", "currentAgent"); k != "" && c.actor() != "" {
			return p.set(under(root, k), agent(c.actor(), plainText(p.node(under(root, k)))))
		}
		return nil
	case reprise.StepFinished, reprise.PhaseEnded:
		if c.ev.Outcome == "failed" || c.ev.Outcome == "rejected" || behind == "" {
			return c.noPlace()
		}
		list := p.node(under(root, behind))
		if list.Kind == doc.List {
			for _, item := range list.Items {
				if plainText(item) == phase {
					return nil
				}
			}
		}
		numbers := list.Kind == doc.List && len(list.Items) > 0 && list.Items[0].Kind == doc.Number
		if n, err := strconv.Atoi(phase); err == nil && (numbers || len(list.Items) == 0 && isNumber(p.node(under(root, cur)))) {
			value = n
		}
		p.because("phase %s is behind it", phase)
		return p.wrap(p.tree.Append(under(root, behind), value))
	}
	return c.noPlace()
}

func isNumber(n *doc.Node) bool { return n != nil && n.Kind == doc.Number }
