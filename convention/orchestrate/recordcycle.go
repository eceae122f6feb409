package orchestrate

import (
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// recordBob records an event of the development cycle executor: the result of
// a phase, and the phase it goes on with.
func (c *scribe) recordBob(p *paper) error {
	if err := c.bobEvent(p); err != nil {
		return err
	}
	return c.touch(p, nil, "lastUpdated", "last_updated", "updatedAt")
}

func (c *scribe) bobEvent(p *paper) error {
	cur := p.key(nil, "currentPhase", "current_phase")
	if cur == "" {
		return c.noPlace()
	}
	now := plainText(p.node(splice.Path{cur}))
	to := func(phase string) error {
		if now == phase {
			return nil
		}
		p.because("%s is at %s", c.run.ID, phase)
		return p.set(splice.Path{cur}, phase)
	}
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		if now == "workflow_paused" || now == "workflow_aborted" {
			return to(c.bobPoint(p))
		}
		return nil
	case reprise.RunStopped:
		if c.ev.Outcome == "paused" {
			return to("workflow_paused")
		}
		return to("workflow_aborted")
	case reprise.RunEnded:
		if c.run.State == reprise.Complete && (c.ev.Outcome == "" || c.ev.Outcome == "completed") {
			return nil // told by its results
		}
		return c.noPlace()
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		return c.noPlace()
	}
	phase := c.ev.Step
	if c.ev.Kind == reprise.PhaseEnded && phase == "" || c.isStoryStep(phase) && slices.ContainsFunc(bobPhases, func(b struct{ name, role string }) bool { return b.name == c.ev.Phase }) {
		phase = c.ev.Phase
	}
	i := slices.IndexFunc(bobPhases, func(b struct{ name, role string }) bool { return b.name == phase })
	if i < 0 {
		if c.isStoryStep(phase) {
			return c.driveStory(c.run.Step(phase).Path)
		}
		return c.cannot("the cycle has no phase %q", oneLine(phase, 60))
	}
	if err := c.bobPhase(p, i, now, to); err != nil {
		return err
	}
	return c.bobStory(phase)
}

// bobStory moves the story along with the phases: in progress with its
// development, in review before its quality gate, done with the checkpoint. It
// is not done earlier, because a story that is done ends the cycle.
func (c *scribe) bobStory(phase string) error {
	status, _, ok := c.eventStatus()
	if c.ev.Kind == reprise.PhaseEnded {
		status, ok = reprise.Done, c.ev.Outcome != "failed" && c.ev.Outcome != "rejected"
	}
	switch {
	case !ok:
	case phase == "2_development" && status == reprise.InProgress, phase == "4_quality_gate" && status == reprise.Failed:
		return c.loopStory(inProgress)
	case phase == "3_self_healing" && status == reprise.Done:
		return c.loopStory(inReview)
	case phase == "6_checkpoint" && status == reprise.Done:
		return c.loopStory(done)
	}
	return nil
}

// bobPoint is the phase to go on with after a pause: the first without a
// result.
func (c *scribe) bobPoint(p *paper) string {
	for _, b := range bobPhases {
		if !stateWord(plainText(p.node(splice.Path{"phaseResults", b.name, "status"}))).Closed() {
			return b.name
		}
	}
	return bobPhases[0].name
}

// bobResult writes the result of a phase.
func bobResult(p *paper, phase, word string) error {
	entry := splice.Object{{Key: "status", Value: word}}
	if p.node(splice.Path{"phaseResults"}).IsNull() && p.key(nil, "phaseResults") == "" {
		return p.set(splice.Path{"phaseResults"}, splice.Object{{Key: phase, Value: entry}})
	}
	at := splice.Path{"phaseResults", phase}
	if n := p.node(at); n == nil || n.Kind != doc.Map {
		return p.set(at, entry)
	}
	return p.set(under(at, "status"), word)
}

// bobPhase records an event of one phase.
func (c *scribe) bobPhase(p *paper, i int, now string, to func(string) error) error {
	name := bobPhases[i].name
	result := func(word string) error { return bobResult(p, name, word) }
	on := func() error { // the cycle is past this phase
		at := slices.IndexFunc(bobPhases, func(b struct{ name, role string }) bool { return b.name == now })
		switch {
		case at > i:
			return nil
		case i+1 == len(bobPhases):
			return to(name)
		}
		return to(bobPhases[i+1].name)
	}
	status, word, ok := c.eventStatus()
	if c.ev.Kind == reprise.PhaseEnded {
		status, word, ok = reprise.Done, "completed", true
		if c.ev.Outcome == "failed" || c.ev.Outcome == "rejected" {
			status, word = reprise.Failed, "failed"
		}
	}
	step := c.run.Step(name)
	if !ok || step == nil {
		return c.noPlace()
	}
	if step.Status == status {
		return nil
	}
	switch status {
	case reprise.InProgress:
		p.because("phase %s began", name)
		// What failed behind it is done again after it.
		for _, b := range bobPhases[i+1:] {
			if st := stateWord(plainText(p.node(splice.Path{"phaseResults", b.name, "status"}))); st == reprise.Failed || st == reprise.Blocked {
				if err := bobResult(p, b.name, "pending"); err != nil {
					return err
				}
			}
		}
		// A result of an earlier lap would tell that the phase is behind it.
		if plainText(p.node(splice.Path{"phaseResults", name, "status"})) != "" {
			if err := result("in_progress"); err != nil {
				return err
			}
		}
		return to(name)
	case reprise.Done, reprise.Skipped:
		p.because("phase %s is %s", name, word)
		if err := result(word); err != nil {
			return err
		}
		if name == "6_checkpoint" && status == reprise.Done {
			if err := p.set(splice.Path{"phaseResults", name, "decision"}, "GO"); err != nil {
				return err
			}
		}
		return on()
	case reprise.Failed, reprise.Blocked:
		p.because("phase %s is %s", name, word)
		if err := to(name); err != nil {
			return err
		}
		return result(word)
	case reprise.Pending:
		if i == 0 || now != name {
			return c.noPlace()
		}
		p.because("phase %s is taken back", name)
		if plainText(p.node(splice.Path{"phaseResults", name, "status"})) != "" {
			return result("pending")
		}
		return nil
	}
	return c.noPlace()
}

// recordSession records an event of a session: the story at work, those done,
// and the last action.
func (c *scribe) recordSession(p *paper) error {
	var root splice.Path
	if n := p.tree.Root().Get("session_state"); n != nil && n.Kind == doc.Map {
		root = splice.Path{"session_state"}
	}
	if err := c.sessionEvent(p, root); err != nil {
		return err
	}
	return c.touch(p, root, "last_updated", "lastUpdated")
}

// sessionActions are the last actions that mean an event.
var sessionActions = map[reprise.EventKind]string{
	reprise.RunStarted: "EPIC_STARTED", reprise.RunResumed: "GO", reprise.RunStopped: "ABORT", reprise.StepStarted: "STORY_STARTED",
	reprise.StepFinished: "STORY_COMPLETED", reprise.StepFailed: "ERROR_OCCURRED", reprise.PhaseEnded: "PHASE_CHANGE", reprise.QuestionAsked: "CHECKPOINT_REACHED",
}

// sessionPhases are the phases in which a session takes a story.
var sessionPhases = []string{"validation", "development", "self_healing", "quality_gate", "push", "checkpoint"}

func (c *scribe) sessionEvent(p *paper, root splice.Path) error {
	action := sessionActions[c.ev.Kind]
	if c.ev.Kind == reprise.RunStopped && c.ev.Outcome == "paused" {
		action = "PAUSE"
	}
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed, reprise.RunStopped, reprise.QuestionAsked:
		return c.lastAction(p, root, action, "", "")
	case reprise.RunEnded:
		if c.run.State == reprise.Complete && (c.ev.Outcome == "" || c.ev.Outcome == "completed") {
			return nil
		}
		return c.noPlace()
	case reprise.PhaseEnded:
		return c.sessionPhase(p, root, action)
	case reprise.QuestionAnswered, reprise.AnswerApplied, reprise.StepSkipped, reprise.StepBlocked, reprise.StepReset:
		return c.noPlace()
	}
	return c.sessionStory(p, root, action)
}

// lastAction writes what was done last. Where it stands already nothing is
// written, whatever its time.
func (c *scribe) lastAction(p *paper, root splice.Path, action, story, phase string) error {
	at := under(root, "last_action")
	n := p.node(at)
	if n == nil || n.Kind != doc.Map {
		return c.noPlace()
	}
	if plainText(n.Get("type")) == action && (story == "" || plainText(n.Get("story")) == story) && (phase == "" || plainText(n.Get("phase")) == phase) {
		return nil
	}
	p.because("the last action of the session is %s", action)
	if err := p.set(under(at, "type"), action); err != nil {
		return err
	}
	if p.key(at, "timestamp") != "" {
		if err := p.set(under(at, "timestamp"), c.stamp(p, n.Get("timestamp"))); err != nil {
			return err
		}
	}
	for _, kv := range [][2]string{{"story", story}, {"phase", phase}} {
		if kv[1] != "" && p.key(at, kv[0]) != "" {
			if err := p.set(under(at, kv[0]), kv[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *scribe) sessionPhase(p *paper, root splice.Path, action string) error {
	i := slices.Index(sessionPhases, c.ev.Phase)
	at := under(root, "workflow", "current_phase")
	now := slices.Index(sessionPhases, plainText(p.node(at)))
	switch {
	case i < 0 || i+1 == len(sessionPhases) || c.ev.Outcome == "failed" || c.ev.Outcome == "rejected":
		return c.noPlace()
	case now > i:
		return nil
	}
	p.because("phase %s of the session is behind it", c.ev.Phase)
	if err := p.set(at, sessionPhases[i+1]); err != nil {
		return err
	}
	return c.lastAction(p, root, action, "", sessionPhases[i+1])
}

func (c *scribe) sessionStory(p *paper, root splice.Path, action string) error {
	id := c.ev.Step
	step := c.run.Step(id)
	if step == nil {
		return c.cannot("the session has no story %q", oneLine(id, 60))
	}
	progress := under(root, "progress")
	cur := under(progress, "current_story")
	named := plainText(p.node(cur))
	doneList := p.node(under(progress, "stories_done"))
	isDone := doneList != nil && doneList.Kind == doc.List && slices.ContainsFunc(doneList.Items, func(n *doc.Node) bool { return plainText(n) == id })
	// The state may name a story by its path.
	same := named == id || named != "" && nameKey(stem(named[strings.LastIndexByte(named, '/')+1:])).id == id
	status, _, _ := c.eventStatus()
	switch status {
	case reprise.InProgress:
		if isDone {
			return c.cannot("story %s is done in this session", oneLine(id, 40))
		}
		if !same {
			p.because("story %s began", oneLine(id, 40))
			if err := p.set(cur, id); err != nil {
				return err
			}
		}
	case reprise.Done:
		if !isDone {
			p.because("story %s is done", oneLine(id, 40))
			if err := p.wrap(p.tree.Append(under(progress, "stories_done"), id)); err != nil {
				return err
			}
			if same {
				if err := p.set(cur, nil); err != nil {
					return err
				}
			}
		}
	}
	if status == reprise.Failed || p.tree.Changed() {
		if err := c.lastAction(p, root, action, id, ""); err != nil {
			return err
		}
	}
	if step.Path == "" || status == reprise.Failed {
		return nil
	}
	return c.storyFollows(step.Path, status)
}
