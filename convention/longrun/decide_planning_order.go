package longrun

import (
	"cmp"
	"slices"
	"strconv"

	"reprise"
)

// maxOffered bounds how many plans are offered: a person reads them.
const maxOffered = 3

// smaller is by how much plan files of one wave must differ in size before the
// smaller one is expected to be finished first. Small differences mean nothing.
const smaller = 1.2

// classify sorts the open plans into those left to do and those that only look
// open. A missing summary is often bookkeeping; a single record can run ahead
// of the work. So a plan counts as done without a summary only where two
// records agree, of: its box (or, without a box of its own, its phase's) in
// ROADMAP.md; its row in the metrics of STATE.md; "Completed NN-MM" there; its
// phase in the list of phases there; STATE.md being beyond it. Where the boxes of
// its phase are kept, an open box of its own contradicts STATE.md, and it is open.
func (g *gsd) classify() {
	for _, p := range g.filed {
		if p.summary != nil && p.summary.status.Closed() {
			p.done = true
			g.done = append(g.done, p)
			continue
		}
		if p.path == "" || p.takenOut() {
			continue
		}
		g.open = append(g.open, p)
		_, metric := g.state.metric[p.planKey]
		_, said := g.state.said[p.planKey]
		_, closed := g.state.phases[p.phase]
		later := p.box == nil && g.road.lists(p.phase) // written after the list: what is said of the phase does not speak of it
		covered := p.box == nil && !later
		tick, past := p.ticked() || covered && g.road.done(p.phase), g.beyond(p)
		listed := closed && (p.ticked() || covered)
		switch {
		case p.summary != nil: // its own summary says that it is not done; nothing overrules that
			p.live = true
		case (metric || said) && g.contested(p):
			p.live, p.disputed = true, true
		case (tick || metric || said || listed) && count(tick, metric, said, listed, past) >= 2:
			p.recorded = true
		case later:
			p.live = true
		case (g.road.done(p.phase) || closed) && count(true, metric, said, past) >= 2:
			p.closed = true
		case p.phase != g.state.phase && (len(g.road.phases) > 0 && g.road.phases[p.phase] == nil || p.phase.n[0] == backlog):
			p.orphan = true
		default:
			p.live = true
		}
	}
	isLive := func(p *plan) bool { return p.live }
	g.live = keep(g.open, isLive)
	ahead := func(p *plan) bool { return p.phase.compare(g.state.phase) >= 0 }
	if slices.ContainsFunc(g.live, ahead) || g.state.whole() {
		return
	}
	// Nothing that ROADMAP.md lists lies ahead: it is only behind.
	none := len(g.live) == 0
	for _, p := range g.open {
		if p.orphan && p.phase.n[0] != backlog && (none || ahead(p)) {
			p.live, p.orphan = true, false
		}
	}
	g.live = keep(g.open, isLive)
}

// contested reports whether ROADMAP.md calls a plan open in a phase whose finished
// plans it has ticked.
func (g *gsd) contested(p *plan) bool {
	kept := func(d *plan) bool { return d.ticked() && d.summary != nil && d.summary.status.Closed() }
	return p.box != nil && !p.box.ticked && slices.ContainsFunc(within(g.filed, p.phase), kept)
}

func count(facts ...bool) (n int) {
	for _, f := range facts {
		if f {
			n++
		}
	}
	return n
}

// beyond reports whether STATE.md has gone past a plan.
func (g *gsd) beyond(p *plan) bool {
	s := &g.state
	if s.whole() || !s.exists {
		return true
	}
	c := p.phase.compare(s.phase)
	return !s.phase.none() && (c < 0 || c == 0 && (s.status == gsdDone || s.status == gsdVerifying))
}

// choosePhase finds the phase in which work continues. STATE.md is written after
// the plans or not at all, so a summary in a later phase shows that the work has
// passed it; unless a planned phase between the two was never begun, for then
// the phases are simply done out of order.
func (g *gsd) choosePhase() {
	candidates := g.livePhases()
	if len(candidates) == 0 {
		return
	}
	from := func(p phaseNo) phaseNo {
		if i := slices.IndexFunc(candidates, func(c phaseNo) bool { return c.compare(p) >= 0 }); i >= 0 {
			return candidates[i]
		}
		return phaseNo{}
	}
	at, reached := g.state.phase, g.frontier()
	skipped := slices.ContainsFunc(candidates, func(p phaseNo) bool {
		return p.compare(at) > 0 && p.compare(reached) < 0 && !g.started(p)
	})
	switch {
	case at.none() && reached.none():
		g.current = candidates[0]
	case at.none():
		g.current = from(reached)
	default:
		if !reached.none() && reached.compare(at) > 0 && !skipped {
			g.current = from(reached)
		}
		if g.current.none() {
			g.current = from(at)
		}
	}
	if g.current.none() {
		// STATE.md ran ahead to a phase without plans: the most recent
		// unfinished phase is the loose end.
		g.current = candidates[0]
		for _, p := range candidates {
			if g.started(p) {
				g.current = p
			}
		}
	}
}

// lineup is the order of the live plans of one phase.
type lineup struct {
	now  []*plan // may be started, all of one wave
	rest []*plan // later waves, and plans that wait for others
	old  []*plan // passed over by later plans
}

// waves gives each plan of a phase its wave: the declared one; else one more
// than the highest it depends on; else one more than the plan before it.
func (g *gsd) waves(phase phaseNo) map[planKey]int {
	w := map[planKey]int{}
	highest := 0
	for _, p := range within(g.filed, phase) {
		k := p.planKey
		switch {
		case p.path != "" && p.wave >= 0:
			w[k] = p.wave
		case p.path != "" && p.declared:
			w[k] = 1
			for _, d := range p.needs {
				if d.phase == phase {
					w[k] = max(w[k], w[d]+1)
				}
			}
		default:
			w[k] = highest + 1
		}
		highest = max(highest, w[k])
	}
	return w
}

// lineUp orders the live plans of a phase, or where nothing is live those whose
// phase is closed without them. First comes what waits for nothing. A wave is
// started only when the one before it is done, so an open plan with a later plan of
// a later wave done was passed over; those that others wait for come before the
// rest of them. In a wave, plans that need a person come last: the others do not
// wait. All of a wave is started together, so a plan that later ones of its wave
// have overtaken takes longer than the others.
func (g *gsd) lineUp(phase phaseNo) (l lineup) {
	w, done, open := g.waves(phase), within(g.done, phase), within(g.live, phase)
	if len(g.live) == 0 {
		open = keep(within(g.open, phase), func(p *plan) bool { return p.closed })
	}
	waits := func(p *plan) bool { return len(g.openNeeds(p)) > 0 }
	behind := func(p *plan, wave int) []*plan { // the finished plans with a higher number, of later waves or of its own
		return keep(done, func(d *plan) bool { return cmp.Compare(w[d.planKey], w[p.planKey]) == wave && d.compare(p.planKey) > 0 })
	}
	passed := func(p *plan) bool { return len(behind(p, 1)) > 0 }
	wanted := func(p *plan) bool {
		return slices.ContainsFunc(open, func(q *plan) bool { return !passed(q) && slices.Contains(g.openNeeds(q), p) })
	}
	rank := map[*plan][6]int{}
	for _, p := range open {
		rank[p] = [6]int{count(waits(p)), count(passed(p)), count(passed(p) && !wanted(p)), w[p.planKey], count(p.human), len(behind(p, 0))}
	}
	slices.SortStableFunc(open, func(a, b *plan) int {
		x, y := rank[a], rank[b]
		return cmp.Or(slices.Compare(x[:], y[:]), a.compare(b.planKey))
	})
	if g.parallel {
		open = smallerFirst(open, rank)
	}
	for _, p := range open {
		r, first := rank[p], rank[open[0]]
		switch {
		case p == open[0] || !waits(open[0]) && slices.Equal(r[:4], first[:4]):
			l.now = append(l.now, p)
		case passed(p) && !passed(open[0]):
			l.old = append(l.old, p)
		default:
			l.rest = append(l.rest, p)
		}
	}
	for _, k := range g.state.next {
		if p := g.plans[k]; slices.Contains(l.now, p) {
			l.now = append([]*plan{p}, without(l.now, p)...)
			break
		}
	}
	return l
}

// smallerFirst puts a clearly smaller plan before the others of its rank: all are
// started together, and less work is finished sooner. It counts only where the
// waves are declared.
func smallerFirst(plans []*plan, rank map[*plan][6]int) (out []*plan) {
	for len(plans) > 0 {
		group := keep(plans, func(p *plan) bool { return rank[p] == rank[plans[0]] })
		least := slices.MinFunc(group, func(a, b *plan) int { return cmp.Compare(a.size, b.size) }).size
		pick := group[0]
		if !slices.ContainsFunc(group, func(p *plan) bool { return p.wave < 0 }) {
			pick = group[slices.IndexFunc(group, func(p *plan) bool { return float64(p.size) <= float64(least)*smaller })]
		}
		out, plans = append(out, pick), without(plans, pick)
	}
	return out
}

// openNeeds lists the live plans a plan depends on.
func (g *gsd) openNeeds(p *plan) []*plan {
	return keep(g.plans.needed(p), func(d *plan) bool { return d != p && d.live && !g.used(d) })
}

// used reports whether a finished plan depended on a plan: then that one lacks
// only its summary, and nothing waits for it.
func (g *gsd) used(p *plan) bool {
	return slices.ContainsFunc(g.done, func(done *plan) bool { return slices.Contains(done.needs, p.planKey) })
}

// waitsFor lists the plans that must be closed before a plan is started: those it
// depends on and, as phases run in the order of their numbers, those that only a
// person can do in the phase in which work continues. A plan of a phase that can do
// without that one does not wait for it, nor does one that a hand-off or an agent put
// first, and no plan does if the phase itself needs a later one.
func (g *gsd) waitsFor(p *plan) []*plan {
	needs := keep(g.plans.needed(p), func(d *plan) bool { return d.filed() && !g.used(d) })
	present := within(g.live, g.current)
	later := func(d *plan) bool {
		return slices.ContainsFunc(d.needs, func(k planKey) bool { return k.phase.compare(g.current) > 0 })
	}
	if !p.live || p.phase.compare(g.current) <= 0 || p == g.offered[0] || g.unhindered(p.phase) || slices.ContainsFunc(present, later) {
		return needs
	}
	return append(needs, without(keep(present, func(d *plan) bool { return d.human }), needs...)...)
}

// unhindered reports whether ROADMAP.md says what a phase depends on, and all of that
// is finished.
func (g *gsd) unhindered(phase phaseNo) bool {
	ph := g.road.phases[phase]
	if ph == nil || ph.needs == nil {
		return false
	}
	pending := g.pendingPhases()
	return !slices.ContainsFunc(ph.needs, func(p phaseNo) bool { return g.road.phases[p] == nil || slices.Contains(pending, p) })
}

// offer lists the plans that may be started: those of the wave; the next one if
// the wave holds only one (it may merely lack its summary), unless it declares
// that it waits; one that was passed over; the first of the next phase, which is
// often begun early; and one left open in an earlier phase.
func (g *gsd) offer() {
	if g.current.none() {
		g.offerUnrecorded()
		return
	}
	l, next := g.lineUp(g.current), g.nextPhase()
	for _, p := range l.now[:min(len(l.now), maxOffered)] {
		reason := "first open plan of " + g.phaseName(g.current)
		if len(l.now) > 1 {
			reason = "open plan of " + g.phaseName(g.current) + ", in a wave of " + strconv.Itoa(len(l.now))
		}
		g.add(p, reason)
	}
	if len(l.now) == 1 && len(l.rest) > 0 && len(g.openNeeds(l.rest[0])) == 0 && len(g.done) > 0 {
		g.add(l.rest[0], "after "+l.now[0].id+", in case that one only lacks its summary")
	}
	if len(l.old) > 0 {
		g.add(l.old[0], "skipped: later plans of its phase are done")
	}
	if next != nil {
		g.add(next, "first plan of the next planned phase")
	}
	for _, p := range g.open {
		c := p.phase.compare(g.current)
		if c > 0 || c == 0 && !p.recorded && !p.closed {
			continue
		}
		reason := "left open in an earlier phase"
		if p.recorded {
			reason = "recorded as done, but its summary is missing"
		}
		g.add(p, reason)
		break
	}
	if next != nil && g.unhindered(next.phase) && !next.human && !slices.ContainsFunc(l.now, func(p *plan) bool { return !p.human }) {
		g.promote(next, "first plan of "+g.phaseName(next.phase)+", which does not wait for what needs a person in "+g.phaseName(g.current))
	}
	g.offered = g.offered[:min(len(g.offered), maxOffered)]
}

// nextPhase is the first plan of the phase that is planned after the current one,
// nil if there is none or the current one was not begun.
func (g *gsd) nextPhase() *plan {
	phases := g.livePhases()
	i := slices.IndexFunc(phases, func(p phaseNo) bool { return p.compare(g.current) > 0 })
	if i < 0 || !g.started(g.current) {
		return nil
	}
	if l := g.lineUp(phases[i]); len(l.now) > 0 {
		return l.now[0]
	}
	return nil
}

// offerUnrecorded is for a project that has nothing left to do by its records:
// plans whose phase is recorded complete and which themselves are not, and what
// the phase that was finished last lacks of its summaries.
func (g *gsd) offerUnrecorded() {
	closed := keep(g.open, func(p *plan) bool { return p.closed })
	if len(closed) > 0 {
		for _, p := range g.lineUp(closed[0].phase).now {
			g.add(p, "its phase is recorded complete, but its own box is not ticked and it has no summary")
		}
	}
	for _, p := range within(g.open, g.state.phase) {
		if p.recorded {
			g.add(p, "recorded as done, but its summary is missing")
		}
	}
	g.offered = g.offered[:min(len(g.offered), maxOffered)]
}

func (g *gsd) add(p *plan, reason string) {
	if !slices.Contains(g.offered, p) {
		g.plans[p.planKey] = p
		g.offered = append(g.offered, p)
		p.why = reason
	}
}

// promote puts a plan first.
func (g *gsd) promote(p *plan, reason string) {
	g.plans[p.planKey] = p
	g.offered = append([]*plan{p}, without(g.offered, p)...)
	p.why = reason
}

// units turns the offer into units.
func (g *gsd) units() []reprise.Unit {
	var out []reprise.Unit
	for _, p := range g.offered {
		u := reprise.Unit{ID: p.id, Path: cmp.Or(p.file(), g.dir), Phase: "phase " + p.phase.String(), Role: "executor", Reason: p.why}
		switch {
		case p.recorded:
			// The plan is closed; what may be started is its bookkeeping.
			u.ID += "-SUMMARY"
			u.Title = "Check the work and write the missing summary"
		case p.path != "":
			u.Title = p.title
			if p.human {
				u.Role, u.Reason = "person", u.Reason+"; it needs a person (autonomous: false)"
			}
		case p.box != nil:
			u.Title = p.box.text
		}
		if u.Title == "" && p == g.agentPlan {
			u.Title = plainText(g.agent.entry.task)
		}
		out = append(out, u)
	}
	return out
}
