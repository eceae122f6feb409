package longrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// gsd is one `.planning/` folder: what its files say, and what follows from it.
type gsd struct {
	r     *doc.Reader
	run   *reprise.Run
	dir   string
	state gsdState
	road  roadmap
	agent *agents
	plans planSet // every plan that anything mentions
	filed []*plan // those with a PLAN or a SUMMARY file, in order

	handoffs []handoffFile
	checks   []phaseCheck

	done []*plan // closed by their summaries
	open []*plan // no summary that closes them, not superseded
	live []*plan // what is really left to do

	current   phaseNo // the phase in which work continues; none if nothing is live
	offered   []*plan
	agentPlan *plan    // the plan of an agent that can be believed
	hand      *handoff // the hand-off that can be believed
	parallel  bool     // plans of one wave run side by side
	finished  bool     // every phase of ROADMAP.md is finished, and STATE.md does not say so
	between   bool     // no plan is open and the next phase is not planned

	reused map[phaseNo]time.Time // phases whose numbers an earlier milestone used, since when they are new
}

func loadPlanning(r *doc.Reader, run *reprise.Run) *gsd {
	g := &gsd{r: r, run: run, dir: run.Path, plans: planSet{}, reused: map[phaseNo]time.Time{}}
	g.readState()
	g.readRoadmap()
	g.scan(g.dir, phaseNo{}, false, 0)
	g.tidyKeys()
	g.agent = readAgents(r, run, g.dir)
	g.tidyRecords()
	g.parallel = g.readParallel()
	g.classify()
	g.choosePhase()
	g.offer()
	g.judgeAgent()
	g.judgeHandoffs()
	g.readReused()
	g.steps()
	g.findings()
	g.decide()
	g.checkVerification()
	if run.LastActivity.IsZero() {
		useFileTimes(r, run, g.dir, "STATE.md", "ROADMAP.md", "agent-history.json", "current-agent-id.txt", "HANDOFF.json", "PROJECT.md")
	}
	return g
}

// look returns the plan with a key; it is empty if nothing mentions it.
func (g *gsd) look(k planKey) *plan {
	if p := g.plans[k]; p != nil {
		return p
	}
	return &plan{planKey: k, id: k.String()}
}

// filed reports whether a plan has a PLAN or a SUMMARY file.
func (p *plan) filed() bool { return p.path != "" || p.summary != nil }

// file is the PLAN file of a plan, or else its SUMMARY.
func (p *plan) file() string {
	return cmp.Or(p.path, p.summary.name())
}

// ticked reports whether the plan's own box in ROADMAP.md is ticked.
func (p *plan) ticked() bool { return p.box != nil && p.box.ticked }

// takenOut reports whether the plan is to be left undone, by its own file or by its
// box: `- [ ] 14-01: DEFERRED to phase 21`.
func (p *plan) takenOut() bool {
	return p.superseded != "" || p.box != nil && !p.box.ticked && takenOut(p.box.text)
}

// unwritten reports whether ROADMAP.md lists the plan as open and its file is not
// there.
func (p *plan) unwritten() bool { return p.box != nil && !p.box.ticked && p.path == "" && !p.done }

// skipped reports whether the summary of a plan says that it was left out.
func (p *plan) skipped() bool { return p.summary != nil && p.summary.status == reprise.Skipped }

// keep gives the plans of a list that something holds for.
func keep(list []*plan, holds func(p *plan) bool) (out []*plan) {
	for _, p := range list {
		if holds(p) {
			out = append(out, p)
		}
	}
	return out
}

// firstPlan gives the first plan of a list that something holds for, nil if there is none.
func firstPlan(list []*plan, holds func(p *plan) bool) *plan {
	if i := slices.IndexFunc(list, holds); i >= 0 {
		return list[i]
	}
	return nil
}

// within gives the plans of a list that are of a phase.
func within(list []*plan, phase phaseNo) []*plan {
	return keep(list, func(p *plan) bool { return p.phase == phase })
}

func without(list []*plan, gone ...*plan) []*plan {
	return keep(list, func(p *plan) bool { return !slices.Contains(gone, p) })
}

// started reports whether a plan of the phase is done.
func (g *gsd) started(p phaseNo) bool { return len(within(g.done, p)) > 0 }

// frontier is the highest phase with a completed plan, of those ROADMAP.md
// lists if it lists any of them. Phases of an earlier milestone do not count.
func (g *gsd) frontier() phaseNo {
	for _, p := range slices.Backward(g.done) {
		listed := len(g.road.phases) == 0 || g.road.phases[p.phase] != nil && !g.foreign(p.phase)
		if listed && p.phase.n[0] != backlog {
			return p.phase
		}
	}
	if n := len(g.done); n > 0 {
		return g.done[n-1].phase
	}
	return phaseNo{}
}

// livePhases lists the phases with live plans, in order.
func (g *gsd) livePhases() []phaseNo {
	var out []phaseNo
	for _, p := range g.live {
		if !slices.Contains(out, p.phase) {
			out = append(out, p.phase)
		}
	}
	return out
}

// phaseName gives "phase 06 (Analyzer)".
func (g *gsd) phaseName(p phaseNo) string {
	if ph := g.road.phases[p]; ph != nil && ph.title != "" {
		return fmt.Sprintf("phase %s (%s)", p, doc.Clip(ph.title, 60))
	}
	return "phase " + p.String()
}

// ids names plans in a message.
func ids(list []*plan) string {
	var out []string
	for i, p := range list {
		if i == 8 {
			out = append(out, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		out = append(out, p.id)
	}
	return strings.Join(out, ", ")
}

// anyTick reports whether a plan is ticked off in ROADMAP.md.
func (g *gsd) anyTick() bool {
	return slices.ContainsFunc(g.plans.sorted(), (*plan).ticked)
}

// begun reports whether any record shows finished work.
func (g *gsd) begun() bool {
	return len(g.done) > 0 || g.anyTick() || len(g.state.phases) > 0 || slices.ContainsFunc(g.road.sorted(), g.road.done)
}

// onlyAgents: nothing but the files of agents is there.
func (g *gsd) onlyAgents() bool {
	return !g.state.exists && !g.road.exists && len(g.filed) == 0
}
