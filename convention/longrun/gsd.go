package longrun

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// gsd is one `.planning/` folder while it is read.
type gsd struct {
	r     *doc.Reader
	run   *reprise.Run
	dir   string
	state gsdState
	road  roadmap
	agent *agents
	plans map[planKey]*gsdPlan
	sums  map[planKey]*gsdSummary

	left     map[string]phaseNo // folders whose number another folder uses
	strange  map[phaseNo]bool   // phases whose plans are of an earlier milestone, as far as asked
	handoffs []handoffFile
	checks   []handoffFile // VERIFICATION and UAT files

	done     map[planKey]bool
	open     []planKey // no summary that closes them, not superseded
	recorded map[planKey]bool
	closed   map[planKey]bool
	orphan   map[planKey]bool
	live     []planKey // what is really left to do
	isLive   map[planKey]bool

	current   phaseNo // the phase in which work goes on; none if nothing is live
	offered   []planKey
	why       map[planKey]string
	agentPlan planKey // the plan of an agent that can be believed
	agentLive bool
	hand      *handoff // the hand-off that can be believed
	parallel  bool     // plans of one wave run side by side

	reused map[phaseNo]time.Time // phases whose numbers an earlier milestone used, since when they are new
}

// gsdFiles prove a `.planning/` folder to be GSD's. Other tools keep notes in
// folders of that name.
var gsdFiles = []string{
	"STATE.md", "ROADMAP.md", "PROJECT.md", "HANDOFF.json", "agent-history.json", "current-agent-id.txt", "MILESTONES.md",
}

func holdsPlanning(fsys fs.FS, dir string) bool {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return false // reported by the file system; nothing shows that it is GSD's
	}
	for _, e := range entries {
		if slices.Contains(gsdFiles, e.Name()) || isHandoff(e.Name()) {
			return true
		}
		if e.Name() != "phases" || !e.IsDir() {
			continue
		}
		phases, err := fs.ReadDir(fsys, path.Join(dir, "phases"))
		if err != nil {
			return true
		}
		for _, p := range phases {
			if _, ok := phaseOfFolder(p.Name(), false); ok && p.IsDir() {
				return true
			}
		}
	}
	return false
}

func isHandoff(name string) bool {
	switch name {
	case "HANDOFF.json", ".continue-here.md", ".continue-here", "continue-here.md":
		return true
	}
	return false
}

func loadPlanning(r *doc.Reader, run *reprise.Run) *gsd {
	g := &gsd{
		r: r, run: run, dir: run.Path,
		plans: map[planKey]*gsdPlan{}, sums: map[planKey]*gsdSummary{}, why: map[planKey]string{}, strange: map[phaseNo]bool{},
	}
	g.readState()
	g.readRoadmap()
	g.settleRivals()
	g.scan(g.dir, phaseNo{}, false, 0)
	g.tidyKeys()
	g.tidyRecords()
	g.agent = readAgents(r, run, g.dir)
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
	if run.LastActivity.IsZero() {
		useFileTimes(r, run, g.dir, "STATE.md", "ROADMAP.md", "agent-history.json", "current-agent-id.txt", "HANDOFF.json", "PROJECT.md")
	}
	return g
}

// readParallel reads config.json: waves run in parallel unless it says no.
func (g *gsd) readParallel() bool {
	n := g.r.Open(path.Join(g.dir, "config.json")).JSON().Get("parallelization")
	if n != nil && n.Kind == doc.Map {
		n = n.Get("enabled")
	}
	on, ok := n.Bool()
	return on || !ok
}

// classify sorts the open plans into those left to do and those that only look
// open. A missing summary is often bookkeeping; a single record can run ahead
// of the work. So a plan counts as done without a summary only where two
// records agree, of: its box (or, without a box of its own, its phase's) in
// ROADMAP.md; its row in the metrics of STATE.md; "Completed NN-MM" there; its
// phase in the list of phases there; STATE.md being beyond it.
func (g *gsd) classify() {
	g.done, g.recorded, g.closed, g.orphan = map[planKey]bool{}, map[planKey]bool{}, map[planKey]bool{}, map[planKey]bool{}
	for k, s := range g.sums {
		if s.status.Closed() {
			g.done[k] = true
		}
	}
	for _, k := range g.allKeys() {
		if p := g.plans[k]; p != nil && !g.done[k] && p.superseded == "" {
			g.open = append(g.open, k)
		}
	}
	for _, k := range g.open {
		tick, _ := g.ticked(k)
		_, metric := g.state.metric[k]
		_, said := g.state.said[k]
		past := g.beyond(k)
		own, boxed := g.road.boxes[k]
		_, closed := g.state.phases[k.phase]
		listed := closed && (own.ticked || !boxed)
		switch {
		case g.sums[k] != nil:
			// Its own summary says that it is not done; nothing overrules that.
			g.live = append(g.live, k)
		case (tick || metric || said || listed) && count(tick, metric, said, listed, past) >= 2:
			g.recorded[k] = true
		case (g.road.done(k.phase) || closed) && count(true, metric, said, past) >= 2:
			g.closed[k] = true
		case k.phase != g.state.phase && (len(g.road.phases) > 0 && g.road.phases[k.phase] == nil || k.phase.n[0] == backlog):
			g.orphan[k] = true
		default:
			g.live = append(g.live, k)
		}
	}
	if len(g.live) == 0 && !g.state.whole() {
		// Nothing else is left to do: ROADMAP.md is only behind.
		for _, k := range g.open {
			if g.orphan[k] && k.phase.n[0] != backlog {
				g.live = append(g.live, k)
				delete(g.orphan, k)
			}
		}
	}
	g.isLive = map[planKey]bool{}
	for _, k := range g.live {
		g.isLive[k] = true
	}
}

func count(facts ...bool) (n int) {
	for _, f := range facts {
		if f {
			n++
		}
	}
	return n
}

// ticked gives a plan's box in ROADMAP.md; without one the phase's counts.
func (g *gsd) ticked(k planKey) (ticked bool, at reprise.Source) {
	if b, ok := g.road.boxes[k]; ok {
		return b.ticked, b.source
	}
	if ph := g.road.phases[k.phase]; ph != nil {
		return ph.done, ph.source
	}
	return false, reprise.Source{}
}

// beyond reports whether STATE.md has gone past a plan.
func (g *gsd) beyond(k planKey) bool {
	s := &g.state
	if s.whole() || !s.exists {
		return true
	}
	if s.phase.none() {
		return false
	}
	c := k.phase.compare(s.phase)
	return c < 0 || c == 0 && (s.status == gsdDone || s.status == gsdVerifying)
}

// started reports whether a plan of the phase is done.
func (g *gsd) started(p phaseNo) bool {
	for k := range g.done {
		if k.phase == p {
			return true
		}
	}
	return false
}

// frontier is the highest phase with a completed plan, of those ROADMAP.md
// lists if it lists any of them. Phases of an earlier milestone do not count.
func (g *gsd) frontier() phaseNo {
	var known, any phaseNo
	for k := range g.done {
		if any.none() || k.phase.compare(any) > 0 {
			any = k.phase
		}
		listed := len(g.road.phases) == 0 || g.road.phases[k.phase] != nil && !g.foreign(k.phase)
		if listed && k.phase.n[0] != backlog && (known.none() || k.phase.compare(known) > 0) {
			known = k.phase
		}
	}
	if known.none() {
		return any
	}
	return known
}

// livePhases lists the phases with live plans, in order.
func (g *gsd) livePhases() []phaseNo {
	var out []phaseNo
	for _, k := range g.live {
		if !slices.Contains(out, k.phase) {
			out = append(out, k.phase)
		}
	}
	slices.SortFunc(out, phaseNo.compare)
	return out
}

func (g *gsd) liveIn(p phaseNo) []planKey {
	var out []planKey
	for _, k := range g.live {
		if k.phase == p {
			out = append(out, k)
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

// id gives a plan's name as its file spells it.
func (g *gsd) id(k planKey) string {
	if p := g.plans[k]; p != nil {
		return p.id
	}
	if s := g.sums[k]; s != nil {
		return s.id
	}
	return k.String()
}

func (g *gsd) ids(keys []planKey) string {
	var out []string
	for i, k := range keys {
		if i == 8 {
			out = append(out, fmt.Sprintf("and %d more", len(keys)-i))
			break
		}
		out = append(out, g.id(k))
	}
	return strings.Join(out, ", ")
}
