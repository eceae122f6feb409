package orchestrate

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// flow reads the state of a named workflow or a build.
func (l *loader) flow(f *doc.File, fm form, root ledger.Value) {
	run, st := l.run, root.Get("status")
	l.timesIn(f, root)
	run.Branch = stateBranch(root)
	l.place(root)
	l.workflowSteps(fm, root)
	l.workflowArtifacts(root)
	l.workflowState(root)
	if word := doc.Fold(st.Str()); fm.halted == "abandoned" && run.State == reprise.Waiting && (word == "failed" || word == "error") {
		run.State, run.Reason = reprise.Interrupted, "the build "+word+" and can be resumed"
	}
	if hint := storyHint(root); hint.Node != nil && run.Phase != confirmPhase {
		l.attachStory(hint.Str(), hint.Source(), fm.ledger, st.Str(), inProgress)
	}
}

// place reads where a workflow works: a checkout inside the project.
func (l *loader) place(root ledger.Value) {
	at := root.In("worktree")
	if at.Is(doc.Map) {
		l.run.Branch = cmp.Or(ledger.Branch(at.Get("branch").Plain()), l.run.Branch)
		at = at.In("path")
	}
	name := strings.ReplaceAll(at.Plain(), `\`, "/")
	if p := path.Join(l.project(), name); name != "" && !path.IsAbs(name) && !strings.Contains(name, ":") && fsPath(p) && p != "." {
		l.run.Worktree = p
	}
}

// storyHint finds the story a workflow works on.
func storyHint(root ledger.Value) ledger.Value {
	for _, in := range []ledger.Value{root, root.In("target_context"), root.In("context")} {
		if v := in.In("story_id", "storyId", "story", "current_story", "currentStory", "story_path", "story_file"); v.Plain() != "" {
			return v
		}
	}
	return ledger.Value{}
}

// workflowSteps reads the list of steps, whatever they are counted from, else
// the results of steps by name, else the phases behind the one at work.
func (l *loader) workflowSteps(fm form, root ledger.Value) {
	if len(fm.steps) > 0 {
		table, results := fm.steps[0], fm.steps[1]
		root.Get(table.Keys...).List() // reports what is no list
		if rows := table.Rows(root); len(rows) > 0 {
			l.readSteps(table, fm.ledger, rows)
			l.passOver(root, rows)
			return
		}
		if rows := results.Rows(root); len(rows) > 0 && root.In(results.Keys...).Is(doc.Map) {
			l.readSteps(results, fm.ledger, rows)
			l.uncounted(fm, root, len(rows))
			return
		}
	}
	sh := fm.short
	behind, cur := root.Get(sh.behind...), root.Get(sh.current...)
	for _, s := range behind.Strs() {
		l.run.Steps = append(l.run.Steps, claimed(fm.ledger, s, s, sh.role, reprise.Done, sh.behind[0], behind.Source()))
	}
	if id := cur.Str(); id != "" && l.run.Step(id) == nil {
		who := cmp.Or(role(root.Get(sh.agent...).Str()), sh.role)
		l.run.Steps = append(l.run.Steps, claimed(fm.ledger, id, sh.called+" "+id, who, reprise.InProgress, sh.current[0], cur.Source()))
	}
}

// uncounted adds a step for those that were not begun: results are kept only of
// the others, and these are only counted.
func (l *loader) uncounted(fm form, root ledger.Value, known int) {
	total := root.Get("action_steps_total", "steps_total", "total_steps")
	if all, ok := total.Int(); ok && all > known && stateWord(root.Get("status").Str()) != reprise.Done {
		phase := root.Get("current_phase", "currentPhase").Str()
		step := claimed(fm.ledger, "step "+strconv.Itoa(known+1), phase, "", reprise.Pending, "not begun", total.Source())
		step.Title = "what follows in the workflow's definition"
		l.run.Steps = append(l.run.Steps, step)
	}
}

// passOver marks as left out the steps that need not be done and that the
// workflow has gone past: one after them was begun, or is the one at work.
func (l *loader) passOver(root ledger.Value, rows []ledger.Row) {
	past := lastBegun(rows)
	if id := root.Get("current_step_id", "currentStepId").Str(); id != "" {
		past = max(past, slices.IndexFunc(rows, func(r ledger.Row) bool { return r.At.Get("step_id", "id", "action", "name").Str() == id }))
	}
	for i := range rows {
		may, _ := rows[i].At.In("optional").Bool()
		l.free = append(l.free, may)
		if s := &l.run.Steps[i]; i < past && s.Status == reprise.Pending && optional(rows[i]) {
			s.Status = reprise.Skipped
			for j := range s.Claims {
				s.Claims[j].Status = reprise.Skipped
			}
		}
	}
}

func (l *loader) workflowArtifacts(root ledger.Value) {
	list := root.In("artifacts")
	if !list.Is(doc.List) {
		return
	}
	for _, a := range list.Entries(0) {
		maker := "step " + a.In("step_id", "step_index", "step", "created_by_step").Plain()
		switch {
		case !a.Is(doc.Map):
			l.artifact("artifact", a.Str(), a.Source())
		case l.run.Step(maker) == nil:
			l.artifact("artifact", a.Get("path", "file").Str(), a.Source())
		default:
			l.artifactOf(maker, a.Get("path", "file").Str(), a.Source())
		}
	}
}

// workflowState decides by the status word and the steps.
func (l *loader) workflowState(root ledger.Value) {
	run, st := l.run, root.Get("status")
	word, at := st.Str(), st.Source()
	var open *reprise.Step
	first := slices.IndexFunc(run.Steps, func(s reprise.Step) bool { return !s.Status.Closed() })
	if first >= 0 {
		open = &run.Steps[first]
		run.Phase = cmp.Or(open.Phase, open.ID)
	}
	switch fold := doc.Fold(splitCamel(word)); fold {
	case "completed", "complete", "done":
		if open == nil {
			run.State, run.Phase, run.Reason = reprise.Complete, "completed", "the workflow is completed"
			return
		}
		if open.Status == reprise.Pending && first < len(l.free) && l.free[first] {
			run.State, run.Phase, run.Reason = reprise.Complete, "completed", "the workflow is completed; an optional step was skipped"
			return
		}
		run.State, run.Reason = reprise.Waiting, "the workflow is marked completed while "+quote(open.ID)+" is open"
		l.report(reprise.Warning, reprise.CodeFalseCompletion, run.ID, at, run.Reason, "finish or skip the step, or correct its status")
	case "aborted", "abort", "cancelled", "canceled":
		run.State, run.Phase, run.Reason = reprise.Stopped, fold, "the workflow was "+fold
		return
	case "pending", "not started":
		run.State, run.Reason = reprise.NotStarted, "the workflow was set up but not begun"
	case "active", "in progress", "running", "paused", "interrupted", "abandoned":
		run.State, run.Reason = reprise.Interrupted, "the workflow is "+fold+": begun but not finished"
	case "failed", "error", "blocked":
		run.State, run.Reason = reprise.Waiting, "the workflow is "+fold+": a person has to look"
	default:
		if word == "" && len(run.Steps) == 0 {
			l.rebuildStory(l.r.Open(run.Path), "the workflow state says neither status nor steps")
			return
		}
		l.wordStatus(run.ID, word, at)
		run.State, run.Reason = reprise.Interrupted, "its status does not say that it has ended"
	}
	l.workflowNext(root, open)
}

func (l *loader) workflowNext(root ledger.Value, open *reprise.Step) {
	run := l.run
	if open != nil {
		run.Next = []reprise.Unit{{ID: open.ID, Path: run.Path, Title: open.Title, Phase: run.Phase, Role: open.Role, Reason: "the first step that is not completed"}}
		return
	}
	phase := root.Get("current_step_id", "current_phase", "next_phase").Str()
	if phase == "" && len(run.Steps) > 0 {
		phase = closing
	}
	run.Phase = cmp.Or(run.Phase, phase)
	run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Title: run.Title, Phase: phase, Role: role(root.Get("current_agent").Str()), Reason: "no step is open, but the workflow is not closed"}}
}

// bob reads the state of the development cycle executor.
//
// The results are saved before currentPhase moves on, and are never cleared:
// phases behind the current one may be "completed" from an earlier round. So a
// completed current phase is finished only if no later one has a result.
func (l *loader) bob(f *doc.File, b bob) {
	run, cur := l.run, b.phase
	l.timesIn(f, b.Value)
	at := bobPhases.index(cur.Str())
	run.Phase = cur.Str()
	point, later := l.bobSteps(b, at)
	switch {
	case cur.Str() == "workflow_aborted":
		run.State, run.Reason = reprise.Stopped, "the workflow was aborted"
	case cur.Str() == "workflow_paused":
		run.State, run.Reason = reprise.Interrupted, "the workflow was paused"
	case cur.Str() == "":
		run.Steps = nil
		l.rebuildStory(f, "the workflow state names no phase")
		return
	case at < 0:
		l.wordStatus(run.ID, cur.Str(), cur.Source())
		run.State, run.Reason = reprise.Interrupted, "its phase "+quote(cur.Str())+" is unknown here"
	case l.bobFinished(b, at):
		run.State, run.Reason = reprise.Complete, "all six phases are completed and the checkpoint said go"
	default:
		run.State, run.Reason = reprise.Interrupted, "stopped in "+bobPhases[point].name
		if later {
			l.report(reprise.Info, reprise.CodeAmbiguous, run.ID, cur.Source(),
				"phases behind the current one are completed: these are results of an earlier lap, and the current phase is done again", "")
		}
	}
	l.bobRoles(b)
	if run.State == reprise.Interrupted {
		run.Phase = bobPhases[point].name
		run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: run.Phase, Role: run.Step(run.Phase).Role, Reason: run.Reason}}
	}
	story := b.Get("currentStory", "current_story")
	l.attachStory(story.Str(), story.Source(), forms[bobShape].ledger, cur.Str(), inProgress)
}

// bobRoles names who develops and who judges where the state says so. A gate is
// someone only with the sign of an agent: results stand there too.
func (l *loader) bobRoles(b bob) {
	executor, gate := b.Get("executor").Str(), b.Get("qualityGate", "quality_gate").Str()
	if !strings.HasPrefix(strings.TrimSpace(gate), "@") {
		gate = ""
	}
	for phase, who := range map[string]string{bobDevelop: role(executor), bobHeal: role(executor), bobGate: role(gate)} {
		if s := l.run.Step(phase); s != nil && isName(who) {
			s.Role = who
		}
	}
}

// bobSteps writes the phases and gives the one to continue with.
func (l *loader) bobSteps(b bob, at int) (point int, later bool) {
	for i := at + 1; at >= 0 && i < len(bobPhases); i++ {
		later = later || b.closed(i)
	}
	// accumulatedContext is written last: without it the end of the file, and
	// with it the results of later phases, may be missing.
	whole := b.Has("accumulatedContext") || b.Has("accumulated_context")
	point = at
	switch {
	case at < 0: // paused
		point = min(b.firstOpen(), len(bobPhases)-1)
	case b.closed(at) && !later && whole && at+1 < len(bobPhases):
		point = at + 1
	}
	for i, p := range bobPhases {
		result, st := b.result(i)
		step := reprise.Step{ID: p.name, Phase: p.name, Role: p.role, Status: reprise.Pending, Source: st.Source()}
		made := result.In("implementation")
		step.Files = l.filesOf(made.In("files_created").Node, made.In("files_modified").Node)
		if hash := result.In("push_result").In("commit_hash").Plain(); hash != "" {
			step.Commits = []string{hash}
		}
		word := stateWord(st.Str())
		switch {
		case i < point:
			// The cycle has passed it; done it is only by its result.
			if step.Status = reprise.Unknown; word.Closed() {
				step.Status = word
			}
		case i == point && point == at:
			step.Status = reprise.InProgress
			if st.Node != nil && (word == reprise.Failed || word == reprise.Blocked || word == reprise.Pending) {
				step.Status = word
			}
		}
		if st.Node != nil {
			step.Claims = []reprise.Claim{{Ledger: "phaseResults", Status: step.Status, Word: st.Str(), Source: st.Source(), Won: true}}
		}
		l.run.Steps = append(l.run.Steps, step)
	}
	return point, later
}

// bobFinished: the end is not written. A story that is through stands at the
// checkpoint, or, after "go", at the first phase again.
func (l *loader) bobFinished(b bob, at int) bool {
	if at != 0 && at != len(bobPhases)-1 || b.firstOpen() < len(bobPhases) || doc.Fold(b.results.In(bobEnd).In("decision").Plain()) != "go" {
		return false
	}
	for i := range l.run.Steps {
		if s := &l.run.Steps[i]; s.Status != reprise.Skipped {
			s.Status = reprise.Done
			for j := range s.Claims {
				s.Claims[j].Status = reprise.Done
			}
		}
	}
	return true
}
