package autoclaude

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise"
)

// readCopies reads every copy of the plan and lets one of them win. A copy
// that cannot be read loses to any that can and lists items; but where no copy
// lists any, a broken one is not passed over: it may be the plan.
func (l *loader) readCopies() {
	broken := false
	for _, dir := range l.where.copies {
		p := readPlan(l.fsys, dir)
		l.copies = append(l.copies, p)
		broken = broken || p.broken
		if p.ok() && (l.plan == nil || p.ahead(l.plan) || p.same(l.plan)) {
			l.plan = p
		}
	}
	if l.plan != nil && len(l.plan.items) == 0 && broken {
		l.plan = nil
	}
	if l.plan == nil {
		return
	}
	for _, p := range l.copies {
		switch {
		case p == l.plan || !p.file.Exists():
		case p.broken:
			l.rd.Report(reprise.Finding{
				Code: reprise.CodeSalvaged, Severity: reprise.Warning, Subject: planFile, Source: p.file.At(0),
				Message: fmt.Sprintf("this copy of the plan cannot be read; the one in %s is used instead", strconv.Quote(l.plan.dir)),
				Hint:    "copy the readable plan over the broken one",
			})
		default:
			l.compare(p)
		}
	}
}

// ahead reports whether p knows more of the work than q.
func (p *plan) ahead(q *plan) bool {
	if a, b := p.done(), q.done(); a != b {
		return a > b
	}
	if (len(p.items) > 0) != (len(q.items) > 0) {
		return len(p.items) > 0
	}
	if p.qa != q.qa {
		return p.qa > q.qa
	}
	return p.latest().After(q.latest())
}

// same reports whether p is a later copy of q, byte for byte. Then it says the
// same, and it is the one in the checkout where the work continues.
func (p *plan) same(q *plan) bool {
	return len(p.items) > 0 && bytes.Equal(p.file.Data, q.file.Data)
}

func (p *plan) latest() time.Time {
	var last time.Time
	for _, n := range p.times {
		if t := n.Time(); t.After(last) {
			last = t
		}
	}
	return last
}

// compare reports in what a copy differs from the one that won. Times differ
// always and count for nothing.
func (l *loader) compare(lost *plan) {
	won := l.plan
	var diffs []string
	if a, b := won.done(), lost.done(); a != b || len(won.items) != len(lost.items) {
		diffs = append(diffs, fmt.Sprintf("%d of %d items are completed there, %d of %d here", a, len(won.items), b, len(lost.items)))
	}
	changed := 0
	for _, it := range won.items {
		at, known := lost.ids[it.step.ID]
		if !known || lost.items[at].step.Status != it.step.Status {
			changed++
		}
	}
	if changed > 0 {
		diffs = append(diffs, fmt.Sprintf("items that differ: %d", changed))
	}
	if won.qa != lost.qa {
		diffs = append(diffs, "the QA sign-off differs")
	}
	if closing(won.status) != closing(lost.status) {
		diffs = append(diffs, "one of them is closed")
	}
	if len(diffs) == 0 {
		return
	}
	l.rd.Report(reprise.Finding{
		Code: reprise.CodePlanCopies, Severity: reprise.Warning, Subject: l.run.ID, Source: lost.file.At(0),
		Message: fmt.Sprintf("this copy of the plan differs from the one in %s, which is further along and is used: %s",
			strconv.Quote(won.dir), strings.Join(diffs, "; ")),
		Hint: "copy the plan that is ahead over the other before starting the original program: it copies the project's over the worktree's",
	})
}

// addCopies adds what the other copies say about each item as claims that lost. That
// they differ is reported once, for the whole plan.
func (l *loader) addCopies() {
	for _, p := range l.copies {
		if p == l.plan || !p.ok() {
			continue
		}
		for i := range l.run.Steps {
			s := &l.run.Steps[i]
			at, known := p.ids[s.ID]
			if !known || len(p.items[at].step.Claims) == 0 {
				continue
			}
			c := p.items[at].step.Claims[0]
			c.Ledger, c.Won = p.file.Path, false
			s.Claims = append(s.Claims, c)
		}
	}
}

// closed reports whether a person, or the program on a person's word, closed
// the spec. The desktop program writes that into the project's copy, agents
// write into the copy they work on, so either counts.
func (l *loader) closed() (p *plan, ok bool) {
	for _, p := range []*plan{l.copies[0], l.plan} {
		if p != nil && p.ok() && closing(p.status) {
			return p, true
		}
	}
	return nil, false
}
