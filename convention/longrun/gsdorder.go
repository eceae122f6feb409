package longrun

import (
	"cmp"
	"slices"
	"strconv"

	"reprise"
)

// maxOffered bounds how many plans are offered: a person reads them.
const maxOffered = 4

// smaller is by how much plan files of one wave must differ in size before the
// smaller one is expected to be finished first. Small differences mean nothing.
const smaller = 1.2

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
		for _, c := range candidates {
			if c.compare(p) >= 0 {
				return c
			}
		}
		return phaseNo{}
	}
	at, reached := g.state.phase, g.frontier()
	if at.none() {
		g.current = candidates[0]
		if !reached.none() {
			g.current = from(reached)
		}
	} else {
		skipped := slices.ContainsFunc(candidates, func(p phaseNo) bool {
			return p.compare(at) > 0 && p.compare(reached) < 0 && !g.started(p)
		})
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
	now  []planKey // may be started, all of one wave
	rest []planKey // later waves, and plans that wait for others
	old  []planKey // passed over by later plans
}

// waves gives each plan of a phase its wave: the declared one; else one more
// than the highest it depends on; else one more than the plan before it.
func (g *gsd) waves(phase phaseNo) map[planKey]int {
	w := map[planKey]int{}
	highest := 0
	for _, k := range g.allKeys() {
		if k.phase != phase {
			continue
		}
		p := g.plans[k]
		switch {
		case p != nil && p.wave >= 0:
			w[k] = p.wave
		case p != nil && p.declared:
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
	var fresh, old, ready, blocked, done []planKey
	for k := range g.done {
		if k.phase == phase {
			done = append(done, k)
		}
	}
	for _, k := range g.liveIn(phase) {
		if passedOver(k, w, done) {
			old = append(old, k)
		} else {
			fresh = append(fresh, k)
		}
	}
	for _, k := range fresh {
		if len(g.openNeeds(k)) == 0 {
			ready = append(ready, k)
		} else {
			blocked = append(blocked, k)
		}
	}
	slices.SortFunc(blocked, func(a, b planKey) int { return cmp.Or(cmp.Compare(w[a], w[b]), a.compare(b)) })
	if len(ready) == 0 {
		ready = g.unblockers(old, blocked, fresh)
	}
	ready = g.byWave(ready, w)
	var l lineup
	for _, k := range ready {
		if w[k] == w[ready[0]] {
			l.now = append(l.now, k)
		} else {
			l.rest = append(l.rest, k)
		}
	}
	for _, k := range g.state.next {
		if slices.Contains(l.now, k) {
			l.now = append([]planKey{k}, without(l.now, []planKey{k})...)
			break
		}
	}
	l.rest = append(l.rest, without(blocked, l.now)...)
	l.old = without(old, append(slices.Clone(l.now), l.rest...))
	slices.SortFunc(l.old, func(a, b planKey) int { return cmp.Or(g.personFirst(a, b), a.compare(b)) })
	return l
}

// unblockers finds what to start where nothing is ready: passed plans that
// others need, else passed plans, else the first one (a cycle).
func (g *gsd) unblockers(old, blocked, fresh []planKey) []planKey {
	var needed, free []planKey
	for _, k := range old {
		if slices.ContainsFunc(blocked, func(b planKey) bool { return slices.Contains(g.openNeeds(b), k) }) {
			needed = append(needed, k)
		}
		if len(g.openNeeds(k)) == 0 {
			free = append(free, k)
		}
	}
	for _, list := range [][]planKey{needed, free, fresh[:min(1, len(fresh))], old[:min(1, len(old))]} {
		if len(list) > 0 {
			return slices.Clone(list)
		}
	}
	return nil
}

func passedOver(k planKey, w map[planKey]int, done []planKey) bool {
	return slices.ContainsFunc(done, func(j planKey) bool { return w[j] > w[k] && j.compare(k) > 0 })
}

// openNeeds lists the live plans a plan depends on.
func (g *gsd) openNeeds(k planKey) []planKey {
	var out []planKey
	for _, d := range g.plans[k].needs {
		if d != k && g.isLive[d] {
			out = append(out, d)
		}
	}
	return out
}

func (g *gsd) personFirst(a, b planKey) int {
	return cmp.Compare(count(g.plans[a].human), count(g.plans[b].human))
}

// byWave sorts plans by wave, those that need a person last, then by number.
// Where a wave is declared and runs in parallel, a clearly smaller plan goes
// first: all are started together and less work is finished sooner.
func (g *gsd) byWave(keys []planKey, w map[planKey]int) []planKey {
	slices.SortFunc(keys, func(a, b planKey) int {
		return cmp.Or(cmp.Compare(w[a], w[b]), g.personFirst(a, b), a.compare(b))
	})
	if !g.parallel {
		return keys
	}
	var out []planKey
	for len(keys) > 0 {
		var group []planKey
		declared, least := true, g.plans[keys[0]].size
		for _, k := range keys {
			if w[k] == w[keys[0]] && g.personFirst(k, keys[0]) == 0 {
				group = append(group, k)
				declared = declared && g.plans[k].wave >= 0
				least = min(least, g.plans[k].size)
			}
		}
		pick := group[0]
		for _, k := range group {
			if declared && float64(g.plans[k].size) <= float64(least)*smaller {
				pick = k
				break
			}
		}
		out = append(out, pick)
		keys = without(keys, []planKey{pick})
	}
	return out
}

func without(keys, gone []planKey) []planKey {
	var out []planKey
	for _, k := range keys {
		if !slices.Contains(gone, k) {
			out = append(out, k)
		}
	}
	return out
}

// offer lists the plans that may be started: those of the wave; the next one if
// the wave holds only one (it may merely lack its summary), unless it declares
// that it waits; one that was passed over; the first of the next phase, which is often taken up early; and one
// left open in an earlier phase.
func (g *gsd) offer() {
	if g.current.none() {
		for _, k := range g.open {
			if g.closed[k] {
				g.add(k, "its phase is recorded complete, but its own box is not ticked and it has no summary")
				break
			}
		}
		return
	}
	l := g.lineUp(g.current)
	for _, k := range l.now[:min(len(l.now), maxOffered)] {
		reason := "first open plan of " + g.phaseName(g.current)
		if len(l.now) > 1 {
			reason = "open plan of " + g.phaseName(g.current) + ", in a wave of " + strconv.Itoa(len(l.now))
		}
		g.add(k, reason)
	}
	if len(l.now) == 1 && len(l.rest) > 0 && len(g.openNeeds(l.rest[0])) == 0 && len(g.done) > 0 {
		g.add(l.rest[0], "after "+g.id(l.now[0])+", in case that one only lacks its summary")
	}
	if len(l.old) > 0 {
		g.add(l.old[0], "passed over: later plans of its phase are done")
	}
	if g.started(g.current) {
		for _, p := range g.livePhases() {
			if p.compare(g.current) > 0 {
				if next := g.lineUp(p); len(next.now) > 0 {
					g.add(next.now[0], "first plan of the next planned phase")
				}
				break
			}
		}
	}
	for _, k := range g.open {
		c := k.phase.compare(g.current)
		if c > 0 || c == 0 && !g.recorded[k] && !g.closed[k] {
			continue
		}
		reason := "left open in an earlier phase"
		if g.recorded[k] {
			reason = "recorded as done, its summary is missing"
		}
		g.add(k, reason)
		break
	}
	g.offered = g.offered[:min(len(g.offered), maxOffered)]
}

func (g *gsd) add(k planKey, reason string) {
	if !slices.Contains(g.offered, k) {
		g.offered = append(g.offered, k)
		g.why[k] = reason
	}
}

// promote puts a plan first.
func (g *gsd) promote(k planKey, reason string) {
	g.offered = append([]planKey{k}, without(g.offered, []planKey{k})...)
	g.why[k] = reason
}

// units turns the offer into units.
func (g *gsd) units() []reprise.Unit {
	var out []reprise.Unit
	for _, k := range g.offered {
		u := reprise.Unit{ID: g.id(k), Path: g.pathOf(k), Phase: "phase " + k.phase.String(), Role: "executor", Reason: g.why[k]}
		if g.recorded[k] {
			// The plan is closed; what may be started is its bookkeeping.
			u.ID += "-SUMMARY"
			u.Title = "Check the work and write the missing summary"
		} else if p := g.plans[k]; p != nil {
			u.Title = p.title
			if p.human {
				u.Reason += "; it needs a person (autonomous: false)"
			}
		} else {
			u.Title = g.road.boxes[k].text
		}
		if u.Title == "" && g.agentLive && k == g.agentPlan {
			u.Title = plainText(g.agent.entry.task)
		}
		if u.Path == "" {
			u.Path = g.dir
		}
		out = append(out, u)
	}
	return out
}
