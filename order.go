package reprise

import (
	"cmp"
	"slices"
	"strings"
)

// urgency ranks states by how much someone who asks "what was interrupted here?" wants to
// see them first.
func urgency(s State) int {
	switch s {
	case Running:
		return 0
	case Interrupted:
		return 1
	case Waiting:
		return 2
	case Unreadable:
		return 3
	case NotStarted:
		return 4
	case Stopped:
		return 5
	case Complete:
		return 6
	}
	return 7
}

// Reason is one factor in a run's position among the others. If runs are ordered by a
// sum, it contributes Value times Weight.
type Reason struct {
	Term          string
	Value, Weight float64
	Why           string
}

// Points is the factor's contribution to the sum.
func (r Reason) Points() float64 { return r.Value * r.Weight }

// Reasons returns what determines a run's position among the others in its state: its
// layout's rule if it has one, otherwise the general rule.
func (r *Run) Reasons() []Reason {
	if len(r.Placed) > 0 {
		return r.Placed
	}
	return []Reason{{Term: "last active", Why: "the run that was active last comes first"}}
}

// Shown returns the state by which a run is sorted. A run that was cut off may have a
// question to answer first, but is listed with the interrupted ones; one that nobody ticks comes
// after those in which work is known to be left.
func (r *Run) Shown(state State) State {
	switch {
	case r.CutOff() && state == Waiting:
		return Interrupted
	case r.Untold && state == Interrupted:
		return NotStarted
	}
	return state
}

// ByState sorts runs in display order: interrupted, then waiting, unreadable and not
// begun. Runs in the same state keep their order.
func ByState[R any](runs []R, state func(R) State) []R {
	out := slices.Clone(runs)
	slices.SortStableFunc(out, func(a, b R) int { return cmp.Compare(urgency(state(a)), urgency(state(b))) })
	return out
}

// Compare orders two runs by the general rule: interrupted, waiting, unreadable, not
// begun, closed; within these, the most recently active first; ties by path.
func Compare(a, b *Run) int {
	return cmp.Or(
		cmp.Compare(urgency(a.Shown(a.State)), urgency(b.Shown(b.State))),
		b.LastActivity.Compare(a.LastActivity),
		strings.Compare(a.Path, b.Path),
		strings.Compare(a.Layout, b.Layout),
	)
}

// Merge joins sorted lists into one, comparing their heads by the general rule. The order
// within each list is kept: a layout's own order prevails among its runs.
func Merge(lists ...[]*Run) []*Run {
	var out []*Run
	for {
		best := -1
		for i, list := range lists {
			if len(list) > 0 && (best < 0 || Compare(list[0], lists[best][0]) < 0) {
				best = i
			}
		}
		if best < 0 {
			return out
		}
		out = append(out, lists[best][0])
		lists[best] = lists[best][1:]
	}
}

// Names gives every run a short name that is unique among them: the number its id begins
// with or what follows a time stamp; else the id; either with the run's project in front;
// else layout:id; else layout:path. The same runs always get the same names.
func Names(runs []*Run) map[*Run]string {
	names := make(map[*Run]string, len(runs))
	forms := []func(*Run) string{
		func(r *Run) string { return shortID(r.ID) },
		func(r *Run) string { return r.ID },
		func(r *Run) string { return inProject(r, cmp.Or(shortID(r.ID), r.ID)) },
		func(r *Run) string { return inProject(r, r.ID) },
		func(r *Run) string { return r.Layout + ":" + r.ID },
		func(r *Run) string { return r.Exact() },
	}
	taken, ids := map[string]bool{}, map[string]bool{}
	for _, r := range runs {
		ids[r.ID] = true
	}
	rest := runs
	for _, form := range forms {
		count := map[string]int{}
		for _, r := range runs {
			count[form(r)]++
		}
		var left []*Run
		for _, r := range rest {
			name := form(r)
			// A name that is also another run's full id would mislead, and a command
			// would take a name that begins with a dash for an option.
			if name == "" || name[0] == '-' || count[name] > 1 || taken[name] || (ids[name] && name != r.ID) {
				left = append(left, r)
				continue
			}
			names[r], taken[name] = name, true
		}
		rest = left
	}
	for _, r := range rest {
		names[r] = r.Exact()
	}
	return names
}

// inProject puts a run's project in front of its name.
func inProject(r *Run, name string) string {
	if r.Project == "" {
		return ""
	}
	return r.Project + "/" + name
}

// shortID returns the number of an id like 004-title, the name in one like
// 20260212-0915-name or 2026-02-12-name, and "" for any other id.
func shortID(id string) string {
	head, rest, ok := strings.Cut(id, "-")
	if !ok || !digits(head) {
		return ""
	}
	if parts := strings.SplitN(id, "-", 4); len(parts) == 4 && len(head) == 4 && digits(parts[1]) && digits(parts[2]) {
		return parts[3]
	}
	if len(head) >= 2 && len(head) <= 4 {
		return head
	}
	clock, name, ok := strings.Cut(rest, "-")
	if len(head) == 8 && ok && digits(clock) && len(clock) >= 4 {
		return name
	}
	return ""
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Select returns the runs an argument refers to: the one with exactly that name, id,
// path, layout:id or project/name, otherwise all whose name, id or path begins with it.
// More than one result means that the argument is ambiguous.
func Select(runs []*Run, arg string) []*Run {
	arg = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(arg, "./"), "…"), "/")
	names := Names(runs)
	begins := func(r *Run, fold func(string) string) bool {
		return strings.HasPrefix(fold(r.ID), fold(arg)) || strings.HasPrefix(fold(names[r]), fold(arg))
	}
	exact := []func(*Run) bool{
		func(r *Run) bool { return names[r] == arg },
		func(r *Run) bool { return r.Path == arg },
		func(r *Run) bool { return r.Layout+":"+r.ID == arg || r.Exact() == arg },
		func(r *Run) bool { return r.ID == arg },
		func(r *Run) bool { return inProject(r, r.ID) == arg || inProject(r, names[r]) == arg },
		func(r *Run) bool { return begins(r, strings.Clone) },
		func(r *Run) bool { return begins(r, strings.ToLower) },
		func(r *Run) bool {
			return strings.HasPrefix(r.Path, arg) || strings.HasPrefix(r.Exact(), arg)
		},
	}
	if arg == "" {
		return nil
	}
	for _, match := range exact {
		var hits []*Run
		for _, r := range runs {
			if match(r) {
				hits = append(hits, r)
			}
		}
		if len(hits) > 0 {
			return hits
		}
	}
	return nil
}
