package orchestrate

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// mapAt returns a map inside a map; anything else is absent.
func mapAt(n *doc.Node, name string) *doc.Node {
	v := n.Get(name)
	if v != nil && v.Kind != doc.Map {
		return nil
	}
	return v
}

// bobPhases are the phases of the development cycle executor.
var bobPhases = []struct{ name, role string }{
	{"1_validation", "po"}, {"2_development", "dev"}, {"3_self_healing", "dev"},
	{"4_quality_gate", "qa"}, {"5_push", "devops"}, {"6_checkpoint", "po"},
}

// bob reads .aios/workflow-state/*-state.yaml.
//
// The results are saved before currentPhase moves on, and are never cleared:
// phases behind the current one may be "completed" from an earlier lap. So a
// completed current phase is finished only if no later one has a result.
func (l *loader) bob() {
	run := l.run
	f, n := l.state(reprise.KindWorkflow, "the workflow state cannot be read")
	if n == nil {
		return
	}
	run.Title = n.Get("workflowId", "workflow_id").Str()
	l.timesIn(f, n)
	cur := n.Get("currentPhase", "current_phase")
	at := -1
	for i, p := range bobPhases {
		if cur.Str() == p.name {
			at = i
		}
	}
	run.Phase = cur.Str()
	results := mapAt(n, "phaseResults")
	// accumulatedContext is written last: without it the end of the file, and
	// with it the results of later phases, may be missing.
	whole := n.Has("accumulatedContext") || n.Has("accumulated_context")
	point, later := l.bobSteps(results, at, whole)
	switch {
	case cur.Str() == "workflow_aborted":
		run.State, run.Reason = reprise.Stopped, "the workflow was aborted"
	case cur.Str() == "workflow_paused":
		run.State, run.Reason = reprise.Interrupted, "the workflow was paused"
	case at < 0:
		l.wordStatus(run.ID, cur.Str(), cur.Source())
		run.State, run.Reason = reprise.Interrupted, "its phase "+quote(cur.Str())+" has no meaning here"
		if cur.Str() == "" {
			run.Steps = nil
			l.rebuildStory(f, "the workflow state names no phase")
			l.locks()
			return
		}
	case l.bobFinished(results, at):
		run.State, run.Reason = reprise.Complete, "all six phases are completed and the checkpoint said go"
	default:
		run.State, run.Reason = reprise.Interrupted, "stopped in "+bobPhases[point].name
		if later {
			l.r.Report(reprise.Finding{
				Code: reprise.CodeAmbiguous, Severity: reprise.Info, Subject: run.ID, Source: cur.Source(),
				Message: "phases behind the current one are completed: these are results of an earlier lap, and the current phase is done again",
			})
		}
	}
	l.bobCast(n)
	if run.State == reprise.Interrupted {
		if point < 0 {
			point = 0
		}
		run.Phase = bobPhases[point].name
		run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: run.Phase, Role: run.Step(run.Phase).Role, Reason: run.Reason}}
	}
	story := n.Get("currentStory", "current_story")
	l.attachStory(story.Str(), story.Source(), "workflow state", cur.Str(), inProgress)
	l.locks()
}

// bobCast names who develops and who judges where the state says so. A gate is somebody
// only with the sign of an agent: results stand there too.
func (l *loader) bobCast(n *doc.Node) {
	executor, gate := n.Get("executor").Str(), n.Get("qualityGate", "quality_gate").Str()
	if !strings.HasPrefix(strings.TrimSpace(gate), "@") {
		gate = ""
	}
	for phase, who := range map[string]string{"2_development": role(executor), "3_self_healing": role(executor), "4_quality_gate": role(gate)} {
		if s := l.run.Step(phase); s != nil && who != "" && safeName(who) {
			s.Role = who
		}
	}
}

// bobSteps writes the phases and gives the one to go on with.
func (l *loader) bobSteps(results *doc.Node, at int, whole bool) (point int, later bool) {
	has := func(i int) bool {
		return stateWord(mapAt(results, bobPhases[i].name).Get("status").Str()).Closed()
	}
	for i := at + 1; at >= 0 && i < len(bobPhases); i++ {
		later = later || has(i)
	}
	point = at
	if at >= 0 && has(at) && !later && whole && at+1 < len(bobPhases) {
		point = at + 1
	}
	first := at
	if at < 0 { // paused: the first phase without a result
		for first = 0; first < len(bobPhases)-1 && has(first); first++ {
		}
		point = first
	}
	for i, p := range bobPhases {
		st := mapAt(results, p.name).Get("status")
		step := reprise.Step{ID: p.name, Phase: p.name, Role: p.role, Status: reprise.Pending, Source: st.Source()}
		if made := mapAt(mapAt(results, p.name), "implementation"); made != nil {
			step.Files = l.filesOf(made.Get("files_created"), made.Get("files_modified"))
		}
		if hash := plainText(mapAt(mapAt(results, p.name), "push_result").Get("commit_hash")); hash != "" {
			step.Commits = []string{hash}
		}
		switch {
		case i < point:
			// The cycle has passed it; done it is only by its result.
			step.Status = reprise.Unknown
			if w := stateWord(st.Str()); w.Closed() {
				step.Status = w
			}
		case i == point && point == at:
			step.Status = reprise.InProgress
			if w := stateWord(st.Str()); st != nil && (w == reprise.Failed || w == reprise.Blocked || w == reprise.Pending) {
				step.Status = w
			}
		}
		if st != nil {
			step.Claims = []reprise.Claim{{Ledger: "phaseResults", Status: step.Status, Word: st.Str(), Source: st.Source(), Won: true}}
		}
		l.run.Steps = append(l.run.Steps, step)
	}
	return point, later
}

// bobFinished: the end is not written. A story that is through stands at the
// checkpoint, or, after "go", at the first phase again.
func (l *loader) bobFinished(results *doc.Node, at int) bool {
	if at != 0 && at != len(bobPhases)-1 {
		return false
	}
	for _, p := range bobPhases {
		if !stateWord(mapAt(results, p.name).Get("status").Str()).Closed() {
			return false
		}
	}
	if doc.Fold(mapAt(results, "6_checkpoint").Get("decision").Str()) != "go" {
		return false
	}
	for i := range l.run.Steps {
		s := &l.run.Steps[i]
		if s.Status == reprise.Skipped {
			continue
		}
		s.Status = reprise.Done
		for j := range s.Claims {
			s.Claims[j].Status = reprise.Done
		}
	}
	return true
}

// master reads .aiox/master-orchestrator/*.json.
func (l *loader) master() {
	run := l.run
	f, n := l.state(reprise.KindWorkflow, "the orchestrator's state cannot be read")
	if n == nil {
		return
	}
	run.Title = n.Get("workflowId").Str()
	l.timesIn(f, n)
	run.Branch = stateBranch(n)
	l.masterSteps(n.Get("epics"))
	st := n.Get("status")
	l.workflowState(n, st.Str(), st.Source())
	if hint := storyHint(n); hint != nil {
		l.attachStory(hint.Str(), hint.Source(), "orchestrator state", st.Str(), inProgress)
	}
	l.locks()
}

// masterSteps reads the epics, a map by number or a list.
func (l *loader) masterSteps(epics *doc.Node) {
	if epics.IsNull() {
		return
	}
	add := func(id string, v *doc.Node) {
		st, word := v, ""
		if v != nil && v.Kind == doc.Map {
			st = v.Get("status")
		}
		if st != nil && (st.Kind == doc.Map || st.Kind == doc.List) {
			st = nil
		}
		word = st.Str()
		step := reprise.Step{ID: "epic " + id, Title: nodeTitle(v), Phase: "epic " + id, Status: l.wordStatus("epic "+id, word, st.Source()), Source: v.Source()}
		if st != nil {
			step.Claims = []reprise.Claim{{Ledger: "orchestrator state", Status: step.Status, Word: word, Source: st.Source(), Won: true}}
		}
		l.run.Steps = append(l.run.Steps, step)
	}
	if epics.Kind == doc.List {
		for i, v := range epics.Items {
			add(strconv.Itoa(i+1), v)
		}
		return
	}
	for _, f := range epics.Fields() {
		add(f.Name, f.Value)
	}
	sort.SliceStable(l.run.Steps, func(i, j int) bool {
		a, b := doc.Numbers(l.run.Steps[i].ID), doc.Numbers(l.run.Steps[j].ID)
		return len(a) > 0 && len(b) > 0 && a[0] < b[0]
	})
}

// build reads plan/build-state.json. Failed builds may be resumed.
func (l *loader) build() {
	run := l.run
	f, n := l.state(reprise.KindWorkflow, "the build state cannot be read")
	if n == nil {
		return
	}
	l.timesIn(f, n)
	l.buildPlace(n)
	l.buildSteps(n)
	st := n.Get("status")
	fold := doc.Fold(splitCamel(st.Str()))
	cur := currentSubtask(n)
	l.workflowState(n, st.Str(), st.Source())
	if fold == "failed" || fold == "abandoned" || fold == "stopped" {
		run.State, run.Reason = reprise.Interrupted, "the build "+fold+" and can be resumed"
	}
	if run.State.Open() && len(run.Next) == 0 || run.State == reprise.Interrupted {
		if id := cur.Str(); id != "" {
			if s := run.Step(id); s == nil || !s.Status.Closed() {
				run.Phase = "subtask " + id
				run.Next = []reprise.Unit{{ID: id, Path: run.Path, Phase: run.Phase, Role: "dev", Reason: "the subtask that was at work"}}
			}
		}
	}
	if hint := storyHint(n); hint != nil {
		l.attachStory(hint.Str(), hint.Source(), "build state", st.Str(), inProgress)
	}
	l.locks()
}

// buildPlace reads where a build works: a checkout inside the project.
func (l *loader) buildPlace(n *doc.Node) {
	l.run.Branch = stateBranch(n)
	at := n.Get("worktree")
	if at != nil && at.Kind == doc.Map {
		if b := branchName(at.Get("branch")); b != "" {
			l.run.Branch = b
		}
		at = at.Get("path")
	}
	name := strings.ReplaceAll(plainText(at), `\`, "/")
	if p := path.Join(l.project(), name); name != "" && !path.IsAbs(name) && !strings.Contains(name, ":") && fsPath(p) && p != "." {
		l.run.Worktree = p
	}
}

func currentSubtask(n *doc.Node) *doc.Node {
	cur := n.Get("currentSubtask", "current_subtask")
	if cur != nil && cur.Kind == doc.Map {
		cur = cur.Get("id", "subtaskId")
	}
	return cur
}

// checkpoints adds to the subtasks what their checkpoints hold: commits and
// files. The subtask at work is a step too.
func (l *loader) checkpoints(n *doc.Node) {
	list := n.Get("checkpoints")
	for _, c := range list.List() {
		if c.Kind != doc.Map {
			continue
		}
		s := l.run.Step(plainText(c.Get("subtaskId", "subtask_id", "subtask")))
		if s == nil {
			continue
		}
		if hash := plainText(c.Get("gitCommit", "git_commit", "commit")); hash != "" {
			s.Commits = append(s.Commits, hash)
		}
		s.Files = append(s.Files, l.filesOf(c.Get("filesModified", "files_modified"))...)
	}
	for _, a := range n.Get("failedAttempts", "failed_attempts").List() {
		if a.Kind == doc.Map {
			if s := l.run.Step(plainText(a.Get("subtaskId", "subtask_id", "subtask"))); s != nil {
				s.Attempts++
			}
		}
	}
}

// buildSteps reads completed and failed subtasks and the one at work.
func (l *loader) buildSteps(n *doc.Node) {
	for _, part := range []struct {
		key    string
		status reprise.Status
	}{{"completedSubtasks", reprise.Done}, {"failedSubtasks", reprise.Failed}} {
		list := n.Get(part.key, snake(part.key))
		if list == nil || list.Kind != doc.List {
			continue
		}
		for i, v := range list.Items {
			id := ""
			if v.Kind == doc.Map {
				id = v.Get("id", "subtaskId").Str()
			} else {
				id = v.Str()
			}
			if id == "" {
				id = fmt.Sprintf("%s %d", part.key, i+1)
			}
			if l.run.Step(id) != nil {
				continue
			}
			l.run.Steps = append(l.run.Steps, reprise.Step{
				ID: id, Phase: "subtask", Role: "dev", Status: part.status, Source: v.Source(),
				Claims: []reprise.Claim{{Ledger: "build state", Status: part.status, Word: part.key, Source: v.Source(), Won: true}},
			})
		}
	}
	if cur := currentSubtask(n); cur.Str() != "" && l.run.Step(cur.Str()) == nil {
		l.run.Steps = append(l.run.Steps, reprise.Step{
			ID: cur.Str(), Phase: "subtask", Role: "dev", Status: reprise.InProgress, Source: cur.Source(),
			Claims: []reprise.Claim{{Ledger: "build state", Status: reprise.InProgress, Word: "currentSubtask", Source: cur.Source(), Won: true}},
		})
	}
	l.checkpoints(n)
}

func snake(camel string) string {
	var out []byte
	for i := 0; i < len(camel); i++ {
		if camel[i] >= 'A' && camel[i] <= 'Z' {
			out = append(out, '_', camel[i]|0x20)
			continue
		}
		out = append(out, camel[i])
	}
	return string(out)
}
