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
// phase in the list of phases there; STATE.md being beyond it.
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

// choosePhase finds the phase in which work goes on. STATE.md is written after
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

// lineUp orders the live plans of a phase. A wave is started only when the one
// before it is done, so an open plan with a later plan of a later wave done was
// skipped. Plans that need a person come last in their wave: the others do not
// wait.
func (g *gsd) lineUp(phase phaseNo) lineup {
	w := g.waves(phase)
	var fresh, old, ready, blocked []*plan
	done := within(g.done, phase)
	open := within(g.live, phase)
	if len(g.live) == 0 {
		open = keep(within(g.open, phase), func(p *plan) bool { return p.closed })
	}
	for _, p := range open {
		passed := slices.ContainsFunc(done, func(j *plan) bool { return w[j.planKey] > w[p.planKey] && j.compare(p.planKey) > 0 })
		switch {
		case passed:
			old = append(old, p)
			continue
		case len(g.openNeeds(p)) == 0:
			ready = append(ready, p)
		default:
			blocked = append(blocked, p)
		}
		fresh = append(fresh, p)
	}
	slices.SortFunc(blocked, func(a, b *plan) int {
		return cmp.Or(cmp.Compare(w[a.planKey], w[b.planKey]), a.compare(b.planKey))
	})
	if len(ready) == 0 {
		ready = g.unblockers(old, blocked, fresh)
	}
	ready = g.byWave(ready, w)
	var l lineup
	for _, p := range ready {
		if w[p.planKey] == w[ready[0].planKey] {
			l.now = append(l.now, p)
		} else {
			l.rest = append(l.rest, p)
		}
	}
	for _, k := range g.state.next {
		if p := g.plans[k]; slices.Contains(l.now, p) {
			l.now = append([]*plan{p}, without(l.now, p)...)
			break
		}
	}
	l.rest = append(l.rest, without(blocked, l.now...)...)
	l.old = without(without(old, l.now...), l.rest...)
	slices.SortFunc(l.old, func(a, b *plan) int { return cmp.Or(personLast(a, b), a.compare(b.planKey)) })
	return l
}

// unblockers finds what to start where nothing is ready: passed plans that
// others need, else passed plans, else the first one (a cycle).
func (g *gsd) unblockers(old, blocked, fresh []*plan) []*plan {
	needed := keep(old, func(p *plan) bool {
		return slices.ContainsFunc(blocked, func(b *plan) bool { return slices.Contains(g.openNeeds(b), p) })
	})
	free := keep(old, func(p *plan) bool { return len(g.openNeeds(p)) == 0 })
	for _, list := range [][]*plan{needed, free, fresh[:min(1, len(fresh))], old[:min(1, len(old))]} {
		if len(list) > 0 {
			return slices.Clone(list)
		}
	}
	return nil
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

func personLast(a, b *plan) int { return cmp.Compare(count(a.human), count(b.human)) }

// byWave sorts plans by wave, those that need a person last, then by number.
// Where a wave is declared and runs in parallel, all of it is started together:
// a plan that later ones of its wave have overtaken takes longer than the others,
// and a clearly smaller one is finished sooner.
func (g *gsd) byWave(plans []*plan, w map[planKey]int) []*plan {
	overtaken := func(p *plan) int {
		return len(keep(within(g.done, p.phase), func(d *plan) bool { return w[d.planKey] == w[p.planKey] && d.compare(p.planKey) > 0 }))
	}
	order := func(a, b *plan) int {
		return cmp.Or(cmp.Compare(w[a.planKey], w[b.planKey]), personLast(a, b), cmp.Compare(overtaken(a), overtaken(b)))
	}
	slices.SortFunc(plans, func(a, b *plan) int { return cmp.Or(order(a, b), a.compare(b.planKey)) })
	if !g.parallel {
		return plans
	}
	var out []*plan
	for len(plans) > 0 {
		first := plans[0]
		group := keep(plans, func(p *plan) bool { return order(p, first) == 0 })
		declared, least := true, first.size
		for _, p := range group {
			declared, least = declared && p.wave >= 0, min(least, p.size)
		}
		pick := group[0]
		for _, p := range group {
			if declared && float64(p.size) <= float64(least)*smaller {
				pick = p
				break
			}
		}
		out, plans = append(out, pick), without(plans, pick)
	}
	return out
}

// offer lists the plans that may be started: those of the wave; the next one if
// the wave holds only one (it may merely lack its summary), unless it declares
// that it waits; one that was passed over; the first of the next phase, which is
// often taken up early; and one left open in an earlier phase.
func (g *gsd) offer() {
	if g.current.none() {
		g.offerUnrecorded()
		return
	}
	l, next := g.lineUp(g.current), g.nextPhase()
	if next != nil && !next.human && !slices.ContainsFunc(l.now, func(p *plan) bool { return !p.human }) {
		g.add(next, "first plan of the next planned phase; what is left of this one needs a person")
	}
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
		g.add(l.old[0], "passed over: later plans of its phase are done")
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
			reason = "recorded as done, its summary is missing"
		}
		g.add(p, reason)
		break
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
			g.add(p, "recorded as done, its summary is missing")
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
		u := reprise.Unit{ID: p.id, Path: p.file(), Phase: "phase " + p.phase.String(), Role: "executor", Reason: p.why}
		switch {
		case p.recorded:
			// The plan is closed; what may be started is its bookkeeping.
			u.ID += "-SUMMARY"
			u.Title = "Check the work and write the missing summary"
		case p.path != "":
			u.Title = p.title
			if p.human {
				u.Reason += "; it needs a person (autonomous: false)"
			}
		case p.box != nil:
			u.Title = p.box.text
		}
		if u.Title == "" && p == g.agentPlan {
			u.Title = plainText(g.agent.entry.task)
		}
		if u.Path == "" {
			u.Path = g.dir
		}
		out = append(out, u)
	}
	return out
}
