package orchestrate

import (
	"fmt"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// workflow reads the state of a named workflow: flat with steps, under
// engine_state, or the short form with current_phase and phases_completed.
func (l *loader) workflow() {
	run := l.run
	f, n := l.state(reprise.KindWorkflow, "the workflow state cannot be read")
	if n == nil {
		return
	}
	if inner := n.Get("engine_state", "workflow_state"); inner != nil && inner.Kind == doc.Map {
		n = inner
	}
	run.Title = n.Get("workflow_name", "workflowName", "workflow", "workflow_id").Str()
	l.timesIn(f, n)
	run.Branch = stateBranch(n)
	l.workflowSteps(n)
	l.workflowArtifacts(n)
	st := n.Get("status")
	l.workflowState(n, st.Str(), st.Source())
	if hint := storyHint(n); hint != nil && run.Phase != confirmPhase {
		l.attachStory(hint.Str(), hint.Source(), "workflow state", st.Str(), inProgress)
	}
	l.locks()
}

// storyHint finds the story a workflow works on.
func storyHint(n *doc.Node) *doc.Node {
	for _, in := range []*doc.Node{n, n.Get("target_context"), n.Get("context")} {
		if in == nil || in.Kind != doc.Map {
			continue
		}
		v := in.Get("story_id", "storyId", "story", "current_story", "currentStory", "story_path", "story_file")
		if v != nil && v.Kind != doc.Map && v.Kind != doc.List && v.Str() != "" {
			return v
		}
	}
	return nil
}

// workflowSteps reads the list of steps, whatever they are counted from, else
// the results of steps by name, else the phases behind the one at work.
func (l *loader) workflowSteps(n *doc.Node) {
	var nodes []*doc.Node // of the steps, at the same places
	for i, s := range n.Get("steps", "phases").List() {
		if s.Kind != doc.Map {
			continue
		}
		id := s.Get("step_id", "id", "step_index", "index").Str()
		if id == "" {
			id = strconv.Itoa(i)
		}
		st := s.Get("status")
		step := reprise.Step{
			ID: "step " + id, Title: s.Get("action", "name", "title", "description").Str(), Phase: s.Get("phase").Str(),
			Role: role(s.Get("agent").Str()), Status: l.wordStatus("step "+id, st.Str(), st.Source()), Source: s.Source(),
		}
		if step.Phase == "" {
			step.Phase = step.Title
		}
		if st != nil {
			step.Claims = []reprise.Claim{{Ledger: "workflow state", Status: step.Status, Word: st.Str(), Source: st.Source(), Won: true}}
		}
		if opt, ok := s.Get("optional").Bool(); ok && opt {
			step.Title = strings.TrimSpace(step.Title + " (optional)")
		}
		l.run.Steps = append(l.run.Steps, step)
		nodes = append(nodes, s)
	}
	if len(l.run.Steps) > 0 {
		l.passOver(n, nodes)
		return
	}
	if results := n.Get("step_results", "stepResults"); results != nil && results.Kind == doc.Map && len(results.Keys) > 0 {
		l.stepResults(n, results)
		return
	}
	done := n.Get("phases_completed", "phasesCompleted")
	for _, s := range done.Strs() {
		l.run.Steps = append(l.run.Steps, reprise.Step{
			ID: s, Phase: s, Status: reprise.Done, Source: done.Source(),
			Claims: []reprise.Claim{{Ledger: "workflow state", Status: reprise.Done, Word: "phases_completed", Source: done.Source(), Won: true}},
		})
	}
	if cur := n.Get("current_phase", "currentPhase"); cur.Str() != "" && l.run.Step(cur.Str()) == nil {
		l.run.Steps = append(l.run.Steps, reprise.Step{
			ID: cur.Str(), Phase: "phase " + cur.Str(), Role: role(n.Get("current_agent", "currentAgent").Str()), Status: reprise.InProgress, Source: cur.Source(),
			Claims: []reprise.Claim{{Ledger: "workflow state", Status: reprise.InProgress, Word: "current_phase", Source: cur.Source(), Won: true}},
		})
	}
}

// passOver marks as left out the steps that need not be done and that the
// workflow has gone past: one after them was begun, or is the one at work.
func (l *loader) passOver(n *doc.Node, nodes []*doc.Node) {
	steps := l.run.Steps
	past := lastBegun(nodes)
	if id := n.Get("current_step_id", "currentStepId").Str(); id != "" {
		for i, s := range nodes {
			if s.Get("step_id", "id", "action", "name").Str() == id {
				past = max(past, i)
				break
			}
		}
	}
	for i := range steps {
		if i < past && steps[i].Status == reprise.Pending && dispensable(nodes[i]) {
			steps[i].Status = reprise.Skipped
			for j := range steps[i].Claims {
				steps[i].Claims[j].Status = reprise.Skipped
			}
		}
	}
}

// lastBegun returns the place of the last step that was begun, -1 if none was.
func lastBegun(nodes []*doc.Node) int {
	for i := len(nodes) - 1; i >= 0; i-- {
		if nodes[i].Kind != doc.Map {
			continue
		}
		if s := stateWord(plainText(nodes[i].Get("status"))); s.Closed() || s == reprise.InProgress || s == reprise.InReview {
			return i
		}
	}
	return -1
}

// dispensable reports whether a step is optional or done only on a condition.
func dispensable(s *doc.Node) bool {
	if s.Kind != doc.Map {
		return false
	}
	opt, ok := s.Get("optional").Bool()
	return ok && opt || plainText(s.Get("condition")) != ""
}

// stepResults reads the form that keeps a result for each step that was begun,
// by its name. Steps that were not begun are only counted.
func (l *loader) stepResults(n, results *doc.Node) {
	for _, f := range results.Keys {
		st := f.Value
		if st.Kind == doc.Map {
			st = st.Get("status")
		}
		step := reprise.Step{ID: "step " + f.Name, Phase: f.Name, Status: l.wordStatus("step "+f.Name, st.Str(), f.Value.Source()), Source: f.Value.Source()}
		step.Claims = []reprise.Claim{{Ledger: "workflow state", Status: step.Status, Word: st.Str(), Source: f.Value.Source(), Won: true}}
		l.run.Steps = append(l.run.Steps, step)
	}
	total := n.Get("action_steps_total", "steps_total", "total_steps")
	if all, ok := total.Int(); ok && all > len(results.Keys) && stateWord(n.Get("status").Str()) != reprise.Done {
		l.run.Steps = append(l.run.Steps, reprise.Step{
			ID: "step " + strconv.Itoa(len(results.Keys)+1), Title: "what follows in the workflow's definition", Phase: n.Get("current_phase", "currentPhase").Str(),
			Status: reprise.Pending, Source: total.Source(),
			Claims: []reprise.Claim{{Ledger: "workflow state", Status: reprise.Pending, Word: "not begun", Source: total.Source(), Won: true}},
		})
	}
}

func (l *loader) workflowArtifacts(n *doc.Node) {
	list := n.Get("artifacts")
	if list == nil || list.Kind != doc.List {
		return
	}
	for _, a := range list.Items {
		if a.Kind != doc.Map {
			l.artifact("artifact", a.Str(), "", false, a.Source())
			continue
		}
		name, maker := a.Get("path", "file").Str(), plainText(a.Get("step_id", "step_index", "step", "created_by_step"))
		if maker == "" || l.run.Step("step "+maker) == nil {
			l.artifact("artifact", name, "", false, a.Source())
			continue
		}
		l.artifactOf("step "+maker, name, a.Source())
	}
}

// workflowState decides by the status word and the steps.
func (l *loader) workflowState(n *doc.Node, word string, at reprise.Source) {
	run := l.run
	var open *reprise.Step
	for i := range run.Steps {
		if s := &run.Steps[i]; !s.Status.Closed() {
			open = s
			break
		}
	}
	if open != nil {
		run.Phase = open.Phase
		if run.Phase == "" {
			run.Phase = open.ID
		}
	}
	switch fold := doc.Fold(splitCamel(word)); fold {
	case "completed", "complete", "done":
		if open == nil {
			run.State, run.Phase, run.Reason = reprise.Complete, "completed", "the workflow is completed"
			return
		}
		if open.Status == reprise.Pending && strings.HasSuffix(open.Title, "(optional)") {
			run.State, run.Phase, run.Reason = reprise.Complete, "completed", "the workflow is completed; an optional step was left out"
			return
		}
		run.State, run.Reason = reprise.Waiting, "the workflow is called completed while "+quote(open.ID)+" is open"
		l.r.Report(reprise.Finding{
			Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: run.ID, Source: at,
			Message: run.Reason, Hint: "finish or skip the step, or correct its status",
		})
	case "aborted", "abort", "cancelled", "canceled":
		run.State, run.Phase, run.Reason = reprise.Stopped, fold, "the workflow was "+fold
		return
	case "pending", "not started":
		run.State, run.Reason = reprise.NotStarted, "the workflow was set up and not begun"
	case "active", "in progress", "running", "paused", "interrupted", "abandoned":
		run.State, run.Reason = reprise.Interrupted, "the workflow is "+fold+": begun and not finished"
	case "failed", "error", "blocked":
		run.State, run.Reason = reprise.Waiting, "the workflow is "+fold+": a person has to look"
	default:
		if word != "" {
			l.wordStatus(run.ID, word, at)
		}
		run.State, run.Reason = reprise.Interrupted, "its status does not say that it has ended"
		if word == "" && len(run.Steps) == 0 {
			l.rebuildStory(l.r.Open(run.Path), "the workflow state says neither status nor steps")
			return
		}
	}
	l.workflowNext(n, open)
}

func (l *loader) workflowNext(n *doc.Node, open *reprise.Step) {
	run := l.run
	if open != nil {
		run.Next = []reprise.Unit{{ID: open.ID, Path: run.Path, Title: open.Title, Phase: run.Phase, Role: open.Role, Reason: "the first step that is not completed"}}
		return
	}
	phase := n.Get("current_step_id", "current_phase", "next_phase").Str()
	if phase == "" && len(run.Steps) > 0 {
		phase = "close"
	}
	if run.Phase == "" {
		run.Phase = phase
	}
	run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Title: run.Title, Phase: phase, Role: role(n.Get("current_agent").Str()), Reason: "no step is open, but the workflow was not closed"}}
}

// session reads docs/stories/.session-state.yaml.
func (l *loader) session() {
	run := l.run
	f, n := l.state(reprise.KindWorkflow, "the session state cannot be read")
	if n == nil {
		return
	}
	if inner := n.Get("session_state"); inner != nil && inner.Kind == doc.Map {
		n = inner
	}
	l.timesIn(f, n)
	run.Title = mapAt(n, "epic").Get("title").Str()
	run.Branch = stateBranch(n)
	progress, wf, last := mapAt(n, "progress"), mapAt(n, "workflow"), mapAt(n, "last_action")
	doneList := progress.Get("stories_done")
	for _, id := range doneList.Strs() {
		run.Steps = append(run.Steps, sessionStep(id, reprise.Done, "stories_done", doneList.Source()))
	}
	cur := progress.Get("current_story")
	pending := progress.Get("stories_pending")
	var left []string // those listed as pending that are not done since
	for _, id := range pending.Strs() {
		if run.Step(id) == nil {
			left = append(left, id)
		}
	}
	for _, id := range left {
		if id != cur.Str() && run.Step(id) == nil {
			run.Steps = append(run.Steps, sessionStep(id, reprise.Pending, "stories_pending", pending.Source()))
		}
	}
	run.Phase = wf.Get("current_phase").Str()
	action := strings.ToUpper(last.Get("type").Str())
	switch {
	case action == "ABORT":
		run.State, run.Reason = reprise.Stopped, "the session was aborted"
		return
	case cur.Str() == "" && len(left) == 0 && len(run.Steps) > 0:
		run.State, run.Reason = reprise.Complete, "no story is left in the session"
		return
	case cur.Str() == "" && len(run.Steps) == 0:
		l.unreadable("the session state names no story")
		return
	case action == "PAUSE":
		run.State, run.Reason = reprise.Interrupted, "the session was paused"
	default:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the session ended after %s without a pause", quote(action))
	}
	next := cur.Str()
	if next == "" {
		next = left[0]
	}
	phaseRole := map[string]string{"validation": "po", "development": "dev", "self_healing": "dev", "quality_gate": "qa", "push": "devops", "checkpoint": "po"}[run.Phase]
	run.Next = []reprise.Unit{{ID: next, Path: run.Path, Phase: run.Phase, Role: phaseRole, Reason: run.Reason}}
	l.attachStory(next, cur.Source(), "session state", run.Phase, inProgress)
	if run.Step(next) == nil {
		run.Steps = append(run.Steps, sessionStep(next, reprise.InProgress, "current_story", cur.Source()))
	}
	if s := run.Step(next); s != nil {
		s.Files = append(s.Files, l.filesOf(mapAt(n, "context_snapshot").Get("files_modified"))...)
	}
	l.locks()
}

func sessionStep(id string, s reprise.Status, word string, at reprise.Source) reprise.Step {
	return reprise.Step{ID: id, Phase: "story", Status: s, Source: at, Claims: []reprise.Claim{{Ledger: "session state", Status: s, Word: word, Source: at, Won: true}}}
}
