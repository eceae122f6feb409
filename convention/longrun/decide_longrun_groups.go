package longrun

import (
	"fmt"
	"strconv"
	"strings"

	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// taskGroup is how a heading or a plan names a task group: "Task Group 3: ui",
// "3: ui", "ui". The number is that of the group among the tasks, and not of a
// plan: one group may have several plans.
type taskGroup struct {
	num  int    // 0: none
	name string // folded, without the number
	all  string // folded, with it
}

func readGroup(text string) taskGroup {
	g := taskGroup{all: strings.TrimSpace(strings.TrimPrefix(doc.Fold(ledger.MarkdownLine(text, 200)), "task group"))}
	g.name = g.all
	first, rest, _ := strings.Cut(g.all, " ")
	if n, err := strconv.Atoi(first); err == nil && n > 0 && doc.Digits(first) {
		g.num, g.name = n, rest
	}
	return g
}

// of reports whether a plan says that it is of this group. A heading of our own
// has the number of the plan before what the plan calls its group, or its title if
// it names none.
func (g taskGroup) of(p *plan) bool {
	clipped := readGroup(ledger.MarkdownLine(p.title, 80))
	if p.group == "" {
		return g.num == p.num && g.name != "" && g.name == clipped.all
	}
	own := readGroup(p.group)
	switch {
	case g.name != "" && (g.name == own.all || g.name == clipped.all):
		return true
	case g.num > 0 && own.num > 0:
		return g.num == own.num && (g.name == own.name || g.name == "" || own.name == "")
	}
	return g.name != "" && g.name == own.name
}

// groupOf gives the plans that a question is about, in their order. Where that is
// not certain it gives none and says why: a plan left out by mistake would never
// be done.
func (l *longRun) groupOf(subject string) (ids []string, why string) {
	g := readGroup(subject)
	var found []*plan
	last := 0
	for i, p := range l.plans {
		if !p.read && !p.status.Closed() {
			return nil, fmt.Sprintf("the group of plan %s is unknown: its file is missing or cannot be read", p.id)
		}
		if !g.of(p) {
			continue
		}
		if n := len(found); n > 0 {
			before := found[n-1]
			switch {
			case !strings.EqualFold(p.group, before.group):
				return nil, fmt.Sprintf("it could be plan %s (%s) or plan %s (%s)", before.id, before.group, p.id, p.group)
			case i != last+1:
				return nil, fmt.Sprintf("plan %s and plan %s have the same group but other plans between them; which is meant is unclear", before.id, p.id)
			}
		}
		found, last = append(found, p), i
		ids = append(ids, p.id)
	}
	switch {
	case l.blind:
		return nil, "the folders of plans and summaries cannot be listed"
	case l.missingPlans() > 0:
		return nil, fmt.Sprintf("STATE.md counts %s, but files mention %d", ledger.Plural(l.state.total, "plan"), len(l.plans))
	case len(found) == 0:
		return nil, "no plan says that it belongs to that group"
	}
	return ids, ""
}
