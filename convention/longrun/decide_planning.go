package longrun

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// decide sets state, reason, phase and next. An open plan that no two records
// call done beats any "complete" in prose; "complete" counts only where nothing
// is open on disk.
func (g *gsd) decide() {
	run := g.run
	run.Title = g.title()
	run.Phase = g.phaseNow()
	run.Next = g.units()
	closed := len(keep(g.open, func(p *plan) bool { return p.closed }))
	switch {
	case g.agentPlan != nil:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("agent %s worked on plan %s and left no summary", doc.Clip(g.agent.id, 40), g.agentPlan.id)
	case g.hand != nil:
		g.decideHandoff()
	case len(g.live) > 0:
		g.decideOpen()
	case g.state.exists && !g.state.file.OK() && !slices.ContainsFunc(g.filed, func(p *plan) bool { return p.summary != nil }):
		run.State, run.Reason = reprise.Unreadable, "STATE.md cannot be read, and nothing else says where the project stands"
	case g.state.status == gsdVerifying && g.state.body != gsdMilestone:
		g.verify()
	case closed > 0 && !g.state.whole():
		run.State = reprise.Interrupted
		run.Reason = fmt.Sprintf("the phases are recorded complete; neither ticked nor summarised: %s", ledger.Plural(closed, "plan"))
	case g.allDone():
		g.decideComplete()
	case g.onlyAgents():
		g.decideAgents()
	default:
		g.decideBetween()
	}
	if len(run.PendingQuestions()) > 0 && run.State == reprise.Interrupted && g.agentPlan == nil {
		run.State = reprise.Waiting
	}
	g.resumeState()
}

func (g *gsd) title() string {
	m := g.r.Open(path.Join(g.dir, "PROJECT.md")).Markdown()
	return cmp.Or(plainText(m.Title()), g.state.milestone, g.run.ID)
}

func (g *gsd) phaseNow() string {
	if p := cmp.Or(g.current, g.state.phase); !p.none() {
		return g.phaseName(p)
	}
	return doc.Clip(plainText(g.state.phaseText), 60)
}

// decideHandoff: someone paused on purpose and wrote down how to continue.
func (g *gsd) decideHandoff() {
	h, run := g.hand, g.run
	run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("paused with %s", path.Base(h.file))
	if h.task != "" {
		run.Reason += fmt.Sprintf(" at task %s", doc.Clip(h.task, 40))
		if h.total > 0 {
			run.Reason += fmt.Sprintf(" of %d", h.total)
		}
	}
	if open := h.open(); len(open) > 0 {
		run.State = reprise.Waiting
		needs := " need"
		if len(open) == 1 {
			needs = " needs"
		}
		run.Reason += "; " + ledger.Plural(len(open), "item") + needs + " a person"
	}
	if g.state.status == gsdWaiting {
		run.State = reprise.Waiting
		run.Reason += fmt.Sprintf("; STATE.md says %q", doc.Clip(g.state.word, 80))
	}
	named := h.plan != nil && len(g.offered) > 0 && g.offered[0] == h.plan
	if len(run.Next) > 0 && (named || h.next == "") {
		if h.next != "" {
			run.Next[0].Reason += ": " + doc.Clip(oneLine(h.next), 200)
		}
		return
	}
	unit := reprise.Unit{ID: "continue", Path: h.file, Title: doc.Clip(oneLine(h.next), 200), Role: "executor", Reason: "the next action written down in " + path.Base(h.file)}
	if !h.phase.none() {
		unit.Phase = "phase " + h.phase.String()
	}
	unit.Title = cmp.Or(unit.Title, "Continue as "+path.Base(h.file)+" says")
	if len(run.Next) > 0 && !h.phase.none() && len(within(g.live, h.phase)) == 0 {
		// What was written down is about a phase without plans of its own.
		run.Next = append([]reprise.Unit{unit}, run.Next[:min(len(run.Next), maxOffered-1)]...)
		return
	}
	if len(run.Next) > 0 {
		// An open plan comes first; what was written down belongs to it.
		run.Next[0].Reason += "; " + path.Base(h.file) + ": " + unit.Title
		return
	}
	run.Next = []reprise.Unit{unit}
}

func (g *gsd) decideOpen() {
	run := g.run
	first, s := g.offered[0], g.state.status
	switch {
	case s == gsdWaiting:
		run.State, run.Reason = reprise.Waiting, fmt.Sprintf("STATE.md says %q", doc.Clip(g.state.word, 80))
	case !g.begun() && g.live[0].phase.compare(g.state.phase) >= 0 && s != gsdExecuting && s != gsdPaused:
		run.State, run.Reason = reprise.NotStarted, fmt.Sprintf("%s planned, none begun", ledger.Plural(len(g.live), "plan"))
	case first.human && !slices.ContainsFunc(g.lineUp(first.phase).now, func(p *plan) bool { return !p.human }):
		run.State, run.Reason = reprise.Waiting, fmt.Sprintf("plan %s needs a person (autonomous: false)", first.id)
	default:
		run.State = reprise.Interrupted
		run.Reason = fmt.Sprintf("%s, %s open; %s comes next", g.doneText(first.phase), ledger.Plural(len(g.live), "plan"), first.id)
	}
}

// doneText tells how many plans of a phase are done, were left out, or are done by
// the records alone.
func (g *gsd) doneText(p phaseNo) string {
	done := within(g.done, p)
	out := len(keep(done, (*plan).skipped))
	text := ledger.Plural(len(done)-out, "plan") + " of " + g.phaseName(p) + " done"
	if out > 0 {
		text += fmt.Sprintf(", %d skipped", out)
	}
	if recorded := len(keep(within(g.open, p), func(p *plan) bool { return p.recorded })); recorded > 0 {
		text += fmt.Sprintf(", %d recorded done without a summary", recorded)
	}
	return text
}

func (g *gsd) verify() {
	phase := cmp.Or(g.state.phase, g.frontier())
	g.run.State, g.run.Reason = reprise.Waiting, fmt.Sprintf("all plans are done and STATE.md says %q", doc.Clip(g.state.word, 80))
	unit := reprise.Unit{ID: "verify", Path: g.dir, Title: "Verify the work", Role: "verifier", Reason: g.run.Reason}
	if !phase.none() {
		unit.ID, unit.Title, unit.Phase = "verify-phase-"+phase.String(), "Verify "+g.phaseName(phase), "phase "+phase.String()
	}
	g.run.Next = append([]reprise.Unit{unit}, g.run.Next...)
}

// pendingPhases lists the phases of ROADMAP.md that are not finished: not
// called done, and not with all their plans done, recorded or ticked.
func (g *gsd) pendingPhases() []phaseNo {
	var out []phaseNo
	for _, p := range g.road.sorted() {
		if _, listed := g.state.phases[p]; listed || g.road.done(p) || p.n[0] == backlog {
			continue
		}
		plans := within(g.plans.sorted(), p)
		open := func(p *plan) bool { return !p.done && !p.recorded && !p.ticked() }
		if len(plans) == 0 || slices.ContainsFunc(plans, open) || g.foreign(p) {
			out = append(out, p)
		}
	}
	return out
}

func (g *gsd) allDone() bool {
	if g.state.status == gsdMilestone || g.state.frontDone() {
		return true
	}
	if len(g.pendingPhases()) > 0 {
		return false
	}
	return g.state.body == gsdMilestone || len(g.road.phases) > 0 && (len(g.done) > 0 || g.state.exists)
}

func (g *gsd) decideComplete() {
	run := g.run
	run.State, run.Next = reprise.Complete, nil
	g.leaveOut()
	why := "every phase of ROADMAP.md is finished"
	if g.finished = !g.state.whole(); !g.finished {
		why = fmt.Sprintf("STATE.md says %q and no plan is open", doc.Clip(g.state.wholeWord(), 60))
	}
	run.Reason = why + "; a new milestone can be begun"
	for _, p := range g.pendingPhases() {
		if g.state.status != gsdMilestone && (g.state.phase.none() || p.compare(g.state.phase) > 0) {
			run.Reason = why + "; ROADMAP.md continues with " + g.phaseName(p)
			break
		}
	}
}

// leaveOut closes the plans that a finished project never took up: they lie
// outside its roadmap, and their ledger is the one that calls the whole done. A
// complete run has no open step.
func (g *gsd) leaveOut() {
	ledger := "ROADMAP.md"
	if g.state.whole() {
		ledger = "STATE.md"
	}
	for i := range g.run.Steps {
		s := &g.run.Steps[i]
		if s.Status.Closed() {
			continue
		}
		for c := range s.Claims {
			s.Claims[c].Won = false
		}
		s.Status = reprise.Skipped
		s.Claims = append(s.Claims, reprise.Claim{
			Ledger: ledger, Status: reprise.Skipped, Word: "the whole is done without it", Source: reprise.Source{File: path.Join(g.dir, ledger)}, Won: true,
		})
	}
}

func (g *gsd) decideAgents() {
	run := g.run
	switch {
	case len(g.offered) > 0:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("there is only the id of an agent, which names plan %s", g.offered[0])
	case len(g.agent.entries) > 0:
		run.State, run.Reason = reprise.Waiting, "there is only the history of agents, and none is working: what comes next is not on record"
		g.ambiguous("the files of the phases are missing")
	case g.agent.marker || g.agent.exists:
		run.State, run.Reason = reprise.Unreadable, "there are only files of agents, and they name no plan"
		g.ambiguous("the files of the phases are missing")
	default:
		run.State, run.Reason = reprise.NotStarted, "the project was set up, but no roadmap is written yet"
		run.Next = []reprise.Unit{{ID: "roadmap", Path: g.dir, Title: "Write the roadmap", Role: "planner", Reason: run.Reason}}
	}
}

func (g *gsd) ambiguous(message string) {
	warn(g.r, reprise.CodeAmbiguous, g.run.ID, reprise.Source{File: g.dir}, message, "check whether they are on another branch or were not committed")
}

// decideBetween: no plan on disk is open and the project is not complete. Either
// ROADMAP.md lists a plan of a begun phase whose file is not there, or the next
// phase has to be planned.
func (g *gsd) decideBetween() {
	run, s := g.run, g.state.status
	if p := g.unwritten(); p != nil && (s == gsdExecuting || s == gsdPaused || s == gsdReady || s == gsdOther || s == gsdNone) {
		g.add(p, "listed in ROADMAP.md, but its plan file is missing")
		run.Next = g.units()
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("%s is in progress and plan %s of ROADMAP.md is open", g.phaseName(p.phase), p)
		warn(g.r, reprise.CodeMissingArtifact, p.String(), p.box.source, fmt.Sprintf("plan %s is listed in ROADMAP.md, but its plan file is missing", p), "it may be uncommitted; otherwise plan the phase again")
		return
	}
	pending := g.pendingPhases()
	from := cmp.Or(g.state.phase, g.frontier())
	target := from
	if len(pending) > 0 {
		target = pending[max(0, slices.IndexFunc(pending, func(p phaseNo) bool { return p.compare(from) >= 0 }))]
	}
	word := doc.Clip(g.state.word, 80)
	switch {
	case s == gsdWaiting:
		run.State, run.Reason = reprise.Waiting, fmt.Sprintf("STATE.md says %q", word)
	case s == gsdExecuting || s == gsdPaused:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("STATE.md says %q and no plan is open", word)
	case g.begun():
		g.between = true
		run.State, run.Reason = reprise.Waiting, "between phases: no plan is open and the next phase is not planned"
	default:
		run.State, run.Reason = reprise.NotStarted, "no plan is written yet"
	}
	unit := reprise.Unit{ID: "plan", Path: g.dir, Title: "Plan the next phase", Role: "planner", Reason: run.Reason}
	switch {
	case target.none():
	case len(pending) == 0 && g.started(target):
		// Its plans are all done, and no roadmap says what follows.
		unit.Title = "Plan what follows " + g.phaseName(target)
	default:
		unit.ID, unit.Title, unit.Phase = "phase-"+target.String(), "Plan "+g.phaseName(target), "phase "+target.String()
	}
	run.Next = append(run.Next, unit)
}

// unwritten finds the first unticked plan of ROADMAP.md without a file, in a
// phase that was begun.
func (g *gsd) unwritten() *plan {
	return firstPlan(g.plans.sorted(), func(p *plan) bool {
		return p.unwritten() && !g.road.done(p.phase) && g.started(p.phase) && (g.state.phase.none() || p.phase == g.state.phase)
	})
}

// resumeState gives the answer in the form of the seed where an agent or a
// hand-off says more than the steps do.
func (g *gsd) resumeState() {
	var found []reprise.ResumeState
	if e := g.agent.entry; g.agentPlan != nil {
		found = append(found, reprise.ResumeState{Interrupted: true, Type: reprise.ActiveAgent, AgentID: g.agent.id, Plan: g.agentPlan.id, Status: e.word, Timestamp: e.stamp})
	}
	if h := g.hand; h != nil && h.plan != nil && h.total > 0 && h.counted {
		s := reprise.ResumeState{Interrupted: true, Type: reprise.PartialPlan, Plan: h.plan.id, CompletedTasks: &h.completed, TotalTasks: &h.total}
		if n := len(h.commits); n > 0 {
			s.LastCommit = h.commits[n-1]
		}
		found = append(found, s)
	}
	if len(found) > 0 {
		g.run.Resume = firstOf(found, g.run)
	}
}
