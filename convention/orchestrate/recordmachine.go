package orchestrate

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// recordMaster records an event of the master orchestrator: its epics and its
// status.
func (c *scribe) recordMaster(p *paper) error {
	if err := c.masterEvent(p); err != nil {
		return err
	}
	return c.touch(p, nil, "updatedAt", "updated_at", "lastUpdated")
}

func (c *scribe) masterEvent(p *paper) error {
	at := splice.Path{"status"}
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		return c.flowStatus(p, at, "in_progress", "in progress", "active", "running")
	case reprise.RunStopped:
		if c.ev.Outcome == "paused" {
			return c.flowStatus(p, at, "paused", "paused")
		}
		return c.flowStatus(p, at, "aborted", "aborted", "cancelled", "canceled")
	case reprise.RunEnded:
		return c.flowEnded(p, at)
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, reprise.PhaseEnded:
		return c.noPlace()
	}
	entry, scalar, words := masterEpic(p, c.ev.Step)
	if entry == nil {
		if c.isStoryStep(c.ev.Step) {
			return c.driveStory(c.run.Step(c.ev.Step).Path)
		}
		return c.cannot("the orchestrator has no step %q", oneLine(c.ev.Step, 60))
	}
	status, word, ok := c.eventStatus()
	if !ok {
		return c.noPlace()
	}
	where := entry
	if !scalar {
		where = under(entry, "status")
	}
	now := plainText(p.node(where))
	if now != "" && stateWord(now) == status {
		return nil
	}
	word = spellState(status, word, words...)
	p.because("%s is %s", oneLine(c.ev.Step, 40), word)
	if err := p.set(where, word); err != nil {
		return err
	}
	key := map[reprise.Status]string{reprise.InProgress: "startedAt", reprise.Done: "completedAt"}[status]
	if key == "" || scalar || p.key(entry, key) == "" {
		return nil
	}
	return p.set(under(entry, key), c.stamp(p, p.node(under(entry, key))))
}

// masterEpic finds the entry of an epic, with the words the others use.
func masterEpic(p *paper, id string) (at splice.Path, scalar bool, words []string) {
	epics := p.node(splice.Path{"epics"})
	if epics == nil {
		return nil, false, nil
	}
	take := func(name string, v *doc.Node, where splice.Path) {
		isMap := v != nil && v.Kind == doc.Map
		if isMap {
			words = append(words, plainText(v.Get("status")))
		} else {
			words = append(words, plainText(v))
		}
		if id == "epic "+name {
			at, scalar = where, !isMap
		}
	}
	for i, v := range epics.Items {
		take(strconv.Itoa(i+1), v, splice.Path{"epics", i})
	}
	for _, f := range epics.Keys {
		take(f.Name, f.Value, splice.Path{"epics", f.Name})
	}
	return at, scalar, words
}

// recordBuild records an event of a build: its subtasks, their checkpoints and
// its status.
func (c *scribe) recordBuild(p *paper) error {
	if err := c.buildEvent(p); err != nil {
		return err
	}
	return c.touch(p, nil, "updatedAt", "updated_at", "lastUpdated")
}

func (c *scribe) buildEvent(p *paper) error {
	at := splice.Path{"status"}
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		if plainText(p.node(splice.Path{"abandoned"})) == "true" {
			if err := p.set(splice.Path{"abandoned"}, false); err != nil {
				return err
			}
		}
		return c.flowStatus(p, at, "in_progress", "in progress", "active", "running")
	case reprise.RunStopped:
		if c.ev.Outcome == "paused" {
			return c.flowStatus(p, at, "paused", "paused")
		}
		return c.abandon(p, at)
	case reprise.RunEnded:
		return c.buildEnded(p, at)
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, reprise.PhaseEnded, reprise.StepSkipped, reprise.StepBlocked:
		return c.noPlace()
	}
	if c.isStoryStep(c.ev.Step) {
		return c.driveStory(c.run.Step(c.ev.Step).Path)
	}
	return c.subtask(p)
}

func (c *scribe) abandon(p *paper, at splice.Path) error {
	if err := c.flowStatus(p, at, "abandoned", "abandoned"); err != nil || !p.tree.Changed() {
		return err
	}
	for _, kv := range []struct {
		key   string
		value any
	}{{"abandoned", true}, {"abandonedAt", c.stamp(p, p.node(splice.Path{"abandonedAt"}))}, {"abandonedReason", c.ev.Text}} {
		if p.key(nil, kv.key) == "" {
			continue
		}
		if err := p.set(splice.Path{kv.key}, kv.value); err != nil {
			return err
		}
	}
	return nil
}

func (c *scribe) buildEnded(p *paper, at splice.Path) error {
	switch c.ev.Outcome {
	case "", "completed", "approved":
		if cur := plainText(currentSubtask(p.tree.Root())); cur != "" && !contains(p, cur) {
			return c.cannot("subtask %s is open", oneLine(cur, 40))
		}
		return c.flowStatus(p, at, "completed", "completed", "complete", "done")
	case "aborted":
		return c.abandon(p, at)
	case "failed":
		return c.flowStatus(p, at, "failed", "failed", "error")
	}
	return c.noPlace()
}

// subtasks returns the list of completed subtasks.
func subtasks(p *paper) (key string, list *doc.Node) {
	key = p.key(nil, "completedSubtasks", "completed_subtasks")
	if key == "" {
		return "", nil
	}
	return key, p.node(splice.Path{key})
}

func contains(p *paper, id string) bool {
	_, list := subtasks(p)
	if list == nil || list.Kind != doc.List {
		return false
	}
	return slices.ContainsFunc(list.Items, func(n *doc.Node) bool {
		if n.Kind == doc.Map {
			return plainText(n.Get("id", "subtaskId")) == id
		}
		return plainText(n) == id
	})
}

// subtask records an event of one subtask. Any id may be started: the plan that
// lists them is kept elsewhere.
func (c *scribe) subtask(p *paper) error {
	id := c.ev.Step
	cur := p.key(nil, "currentSubtask", "current_subtask")
	if id == "" || id != oneLine(id, 80) || cur == "" {
		return c.noPlace()
	}
	now := p.node(splice.Path{cur})
	if now != nil && now.Kind == doc.Map {
		return c.cannot("the subtask at work is kept as a map")
	}
	status, _, _ := c.eventStatus()
	switch status {
	case reprise.InProgress:
		if contains(p, id) {
			return c.cannot("subtask %s is completed", id)
		}
		if plainText(now) != id {
			p.because("subtask %s began", id)
			if err := p.set(splice.Path{cur}, id); err != nil {
				return err
			}
		}
		return c.flowStatus(p, splice.Path{"status"}, "in_progress", "in progress", "active", "running", "")
	case reprise.Done:
		return c.subtaskDone(p, id)
	case reprise.Failed:
		return c.subtaskFailed(p, id)
	case reprise.Pending:
		if contains(p, id) {
			return c.cannot("subtask %s is completed", id)
		}
		if plainText(now) != id {
			return nil
		}
		p.because("subtask %s is taken back", id)
		return p.set(splice.Path{cur}, nil)
	}
	return c.noPlace()
}

// subtaskDone adds the subtask to those completed, with a checkpoint where the
// build keeps them.
func (c *scribe) subtaskDone(p *paper, id string) error {
	if contains(p, id) {
		return nil
	}
	key, list := subtasks(p)
	if key == "" {
		return c.noPlace()
	}
	var value any = id
	if n := len(list.Items); n > 0 && list.Items[n-1].Kind == doc.Map {
		name := "id"
		if list.Items[n-1].Has("subtaskId") {
			name = "subtaskId"
		}
		value = splice.Object{{Key: name, Value: id}}
	}
	p.because("subtask %s is completed", id)
	if err := p.wrap(p.tree.Append(splice.Path{key}, value)); err != nil {
		return err
	}
	count := splice.Path{"metrics", "completedSubtasks"}
	if n, err := strconv.Atoi(plainText(p.node(count))); err == nil {
		if err := p.set(count, n+1); err != nil {
			return err
		}
	}
	if cps := p.node(splice.Path{"checkpoints"}); cps != nil && cps.Kind == doc.List {
		if err := p.wrap(p.tree.Append(splice.Path{"checkpoints"}, c.checkpoint(p, id))); err != nil {
			return err
		}
	}
	if p.key(nil, "lastCheckpoint") != "" {
		return p.set(splice.Path{"lastCheckpoint"}, c.stamp(p, p.node(splice.Path{"lastCheckpoint"})))
	}
	return nil
}

// checkpoint is the record of a subtask that was completed. Its id is made of
// the time and the subtask: the same event gives the same checkpoint.
func (c *scribe) checkpoint(p *paper, id string) splice.Object {
	var commit any
	if hash := oneLine(c.ev.Commit, 64); hash != "" {
		commit = hash
	}
	return splice.Object{
		{Key: "id", Value: "cp-" + strconv.FormatInt(c.ev.At.UnixMilli(), 36) + "-" + reprise.HashOf([]byte(id)).String()[:8]},
		{Key: "timestamp", Value: c.stamp(p, nil)}, {Key: "subtaskId", Value: id}, {Key: "status", Value: "completed"},
		{Key: "gitCommit", Value: commit}, {Key: "filesModified", Value: []any{}},
	}
}

// subtaskFailed adds a failed attempt; the subtask stays the one at work.
func (c *scribe) subtaskFailed(p *paper, id string) error {
	key := p.key(nil, "failedAttempts", "failed_attempts")
	if key == "" {
		return c.noPlace()
	}
	at, attempt := c.stamp(p, nil), 1
	for _, item := range p.node(splice.Path{key}).Items {
		if item.Kind != doc.Map || plainText(item.Get("subtaskId", "subtask_id")) != id {
			continue
		}
		if plainText(item.Get("timestamp")) == fmt.Sprint(at) {
			return nil
		}
		attempt++
	}
	if c.ev.Attempt > 0 {
		attempt = c.ev.Attempt
	}
	p.because("subtask %s failed", id)
	return p.wrap(p.tree.Append(splice.Path{key}, splice.Object{
		{Key: "subtaskId", Value: id}, {Key: "attempt", Value: attempt}, {Key: "timestamp", Value: at}, {Key: "error", Value: c.ev.Text},
	}))
}

// recordSpec records an event of a specification. Its outputs tell how far it
// is; the state file, where there is one, is kept in step with them.
func (c *scribe) recordSpec() error {
	if c.ev.Kind == reprise.RunResumed {
		if !c.logResumed() {
			return c.noPlace()
		}
		return nil
	}
	phase := c.ev.Step
	if c.ev.Kind == reprise.PhaseEnded {
		phase = c.ev.Phase
	}
	i := slices.IndexFunc(pipelinePhases, func(x struct{ phase, role, artifact string }) bool { return x.phase == phase })
	if i < 0 || c.ev.Kind != reprise.StepFinished && c.ev.Kind != reprise.PhaseEnded || c.ev.Outcome == "failed" || c.ev.Outcome == "rejected" {
		return c.noPlace()
	}
	// A critique may have been accepted by more than its own file says.
	made := func(a reprise.Artifact) bool { return a.MadeBy == phase && a.Presence == reprise.Present }
	if s := c.run.Step(phase); s == nil || !s.Status.Closed() && !slices.ContainsFunc(c.run.Artifacts, made) {
		return c.cannot("the output of %s is not there", phase)
	}
	name := path.Join(c.run.Path, ".pipeline-state.json")
	if !c.r.Exists(name) {
		return nil // the output tells
	}
	p, err := c.state(name)
	if err != nil {
		return err
	}
	key := p.key(nil, "status", "state", "phase", "currentPhase")
	if key == "" {
		key = "status"
	}
	if pipelineState(plainText(p.node(splice.Path{key}))) > i {
		return nil
	}
	word := []string{"requirements_gathered", "complexity_assessed", "research_complete", "spec_written", "critique_complete"}[i]
	p.because("%s is behind the specification", phase)
	if err := p.set(splice.Path{key}, word); err != nil {
		return err
	}
	return c.touch(p, nil, "updatedAt", "updated_at", "lastUpdated")
}
