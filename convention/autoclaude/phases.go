package autoclaude

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// dependency is a word of a phase's depends_on.
type dependency struct {
	phase  int
	word   string
	source reprise.Source
}

// resolve turns the words of depends_on into phases. Ids and numbers are mixed
// in real plans, as text and as numbers, so they are compared as text.
func (p *plan) resolve() {
	named := p.phaseNames()
	for _, d := range p.pending {
		ph := &p.phases[d.phase]
		need, known := named[d.word]
		if !known {
			ph.loose = true
			p.rd.Report(reprise.Finding{
				Code: reprise.CodeUnknownDependency, Severity: reprise.Warning, Subject: ph.name, Source: d.source,
				Message: fmt.Sprintf("phase %s depends on %s, which is not a phase of the plan; it waits for all phases before it instead",
					strconv.Quote(ph.name), strconv.Quote(doc.Clip(d.word, 40))),
				Hint: "correct depends_on",
			})
			continue
		}
		ph.needs = append(ph.needs, need)
	}
	p.findCycles()
	p.markDone()
}

// phaseNames maps what a phase may be called to the phase. Where two phases
// share a word, the one that has it as its proper id is meant.
func (p *plan) phaseNames() map[string]int {
	named := map[string]int{}
	add := func(word string, i int) {
		if _, taken := named[word]; !taken {
			named[word] = i
		}
	}
	for rank := range phaseKeys {
		for i, ph := range p.phases {
			if rank < len(ph.keys) {
				add(ph.keys[rank], i)
			}
		}
	}
	for i, ph := range p.phases {
		add(ph.name, i)
	}
	return named
}

// findCycles marks phases that wait for each other: those that are left when
// phases nothing more is needed for are taken away, from both ends. File order
// takes the place of their dependencies: it is a valid order in every plan
// that was looked at.
func (p *plan) findCycles() {
	back := make([][]int, len(p.phases))
	needs := make([][]int, len(p.phases))
	for i, ph := range p.phases {
		needs[i] = ph.needs
		for _, need := range ph.needs {
			back[need] = append(back[need], i)
		}
	}
	left := make([]bool, len(p.phases))
	for i := range left {
		left[i] = true
	}
	peel(left, needs, back)
	peel(left, back, needs)
	var names []string
	first := -1
	for i := range p.phases {
		if !left[i] {
			continue
		}
		p.phases[i].loose = true
		if names = append(names, strconv.Quote(p.phases[i].name)); first < 0 {
			first = i
		}
	}
	if first < 0 {
		return
	}
	p.rd.Report(reprise.Finding{
		Code: reprise.CodeCycle, Severity: reprise.Warning, Subject: "phases", Source: p.phases[first].source,
		Message: "phases wait for each other: " + doc.Clip(strings.Join(names, ", "), 300) + "; they are taken in file order",
		Hint:    "correct depends_on",
	})
}

// peel takes away, again and again, what has no edge left in out; in holds the
// same edges the other way round.
func peel(left []bool, out, in [][]int) {
	count := make([]int, len(left))
	var free []int
	for i := range left {
		if !left[i] {
			continue
		}
		for _, j := range out[i] {
			if left[j] {
				count[i]++
			}
		}
		if count[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		left[i] = false
		for _, j := range in[i] {
			if left[j] {
				if count[j]--; count[j] == 0 {
					free = append(free, j)
				}
			}
		}
	}
}

// markDone notes for each phase whether all its items are closed, and whether
// all phases before it are. A phase without items holds nothing up.
func (p *plan) markDone() {
	before := true
	for i := range p.phases {
		ph := &p.phases[i]
		ph.after, ph.done = before, true
		for _, at := range ph.items {
			ph.done = ph.done && p.items[at].step.Status.Closed()
		}
		before = before && ph.done
	}
}

// available reports whether the phases this one depends on are complete.
func (p *plan) available(ph *phase) bool {
	if ph.loose {
		return ph.after
	}
	for _, need := range ph.needs {
		if !p.phases[need].done {
			return false
		}
	}
	return true
}

// maxOffered bounds the units offered at once: the recommended one and a few
// that can be worked on in parallel.
const maxOffered = 3

// startable lists the items that may be worked on now, the recommended first:
// what was in progress, then the first pending item of the first phase whose
// dependencies are complete. Beside it stand items that are independent of it
// by the plan's own word, then failed ones that can be tried again.
func (p *plan) startable() []int {
	var lead, beside, failed []int
	taken := make([]bool, len(p.phases)) // someone works in it
	for at, it := range p.items {
		if it.step.Status == reprise.InProgress {
			lead = append(lead, at)
			taken[it.phase] = true
		}
	}
	for i := range p.phases {
		ph := &p.phases[i]
		if !p.available(ph) {
			continue
		}
		for _, at := range ph.items {
			switch p.items[at].step.Status {
			case reprise.Pending:
				switch {
				case len(lead) == 0:
					lead = append(lead, at)
				case taken[i] && !ph.parallel || !taken[i] && !ph.independent():
					continue
				case len(beside) < maxOffered:
					beside = append(beside, at)
				}
				taken[i] = true
			case reprise.Failed:
				failed = append(failed, at)
			}
		}
	}
	out := slices.Concat(lead, beside, failed)
	return out[:min(len(out), maxOffered)]
}

// independent reports whether the phase can be worked on in parallel with others. One
// that does not say what it needs is open to the program, but may well build
// on the phases before it, so those must be complete.
func (ph *phase) independent() bool { return ph.declared && !ph.loose || ph.after }
