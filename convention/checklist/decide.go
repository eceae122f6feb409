package checklist

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// decide determines where the list stands and what may be started.
func (l *list) decide(run *reprise.Run) {
	p, done := run.Progress(), "done"
	if l.family.Form == Boxes {
		done = "ticked"
	}
	open := slices.ContainsFunc(run.Steps, func(s reprise.Step) bool { return s.Due() })
	so := fmt.Sprintf("%d of %d tasks are %s", p.Done-p.Skipped, p.Total, done)
	if p.Skipped > 0 {
		so += fmt.Sprintf(", %d skipped", p.Skipped)
	}
	switch {
	case l.conflicted:
		run.State, run.Reason = reprise.Unreadable, doc.Conflict
		return
	case !l.file.OK():
		run.State, run.Reason = reprise.Unreadable, "the list of tasks cannot be read"
		return
	case l.empty():
		run.State, run.Reason = reprise.NotStarted, "the list has no tasks"
		return
	case p.Total == 0 && l.unfinished() == nil:
		run.State, run.Reason = reprise.Unreadable, "the list contains no readable task"
		if len(l.phases) > 0 && len(l.left()) > 0 {
			run.Reason = "a plan without boxes: which of its tasks are done is unknown"
		}
		return
	case !open && (!l.file.Whole() || l.unread):
		run.State, run.Reason = reprise.Unreadable, "part of the list cannot be read; of the rest "+so
		return
	case open && slices.ContainsFunc(l.overall, func(p place) bool { return p.status == reprise.Skipped }):
		run.State, run.Reason = reprise.Stopped, "it was cancelled, and "+so
		return
	case l.archived() && open:
		run.State, run.Reason = reprise.Stopped, "it was archived, and "+so
		return
	case !open && l.unfinished() != nil:
		run.State, run.Reason = reprise.Waiting, l.stillOpen(done)
		return
	case !open && len(l.left()) > 0:
		own, others := l.elsewhere(l.left())
		if len(own) == 0 {
			run.State, run.Reason = reprise.Waiting, fmt.Sprintf("every task is %s, but tasks are open in %s", done, path.Base(others[0].place.source.File))
			return
		}
		run.State, run.Reason = reprise.Waiting, fmt.Sprintf("every task is %s, but items that are not written as tasks are open: %d", done, len(l.left()))
		return
	case !open && p.Done < p.Total:
		run.State, run.Reason = reprise.Complete, fmt.Sprintf("everything required is %s, and optional tasks are left: %d", done, p.Total-p.Done)
		return
	case !open:
		run.State, run.Reason = reprise.Complete, so
		if p.Skipped == 0 {
			run.Reason = fmt.Sprintf("all %d tasks are %s", p.Total, done)
		}
		return
	case p.Done == 0 && !slices.ContainsFunc(slices.Concat(l.items, l.whole), func(it item) bool { return begun(it.status()) && !it.leads }):
		run.State, run.Reason = reprise.NotStarted, fmt.Sprintf("none of %d tasks is %s", p.Total, done)
	default:
		run.State, run.Reason = reprise.Interrupted, so
	}
	if !l.offer(run) {
		run.State, run.Reason = reprise.Waiting, "nothing open can be started: "+l.whyNot()
	}
}

// empty reports whether the list was completely read and has no tasks, as its tool makes
// it.
func (l *list) empty() bool {
	return l.there && l.file.Whole() && len(l.items) == 0 && len(l.left()) == 0 && l.unfinished() == nil
}

// whyNot says why the first open task cannot be started.
func (l *list) whyNot() string {
	for i := range l.items {
		it := &l.items[i]
		switch needs := l.openNeeds(it); {
		case it.status().Closed() || it.spare() || l.isElsewhere(it):
			continue
		case it.contested():
			return it.id + " is said to be closed and to be open"
		case it.held != "":
			return it.id + ": " + it.held
		case len(needs) > 0:
			return it.id + " needs " + strings.Join(needs[:min(3, len(needs))], ", ")
		default:
			return fmt.Sprintf("%s is %q", it.id, it.deciding().said())
		}
	}
	if l.unfinished() != nil {
		return l.stillOpen("closed")
	}
	return "every task is closed"
}

// offer sets what may be started, and reports whether there is anything.
func (l *list) offer(run *reprise.Run) bool {
	open := l.openFromHere()
	run.Next, run.Questions = nil, nil
	if len(open) == 0 {
		return l.askWhere(run)
	}
	if l.askPerson(run, l.verifying(open[0])) {
		return true
	}
	for i, it := range open {
		first := open[0]
		if i > 0 && !(first.parallel && it.parallel && it.phase == first.phase) {
			break
		}
		reason := "may be done in parallel with " + first.id
		if i == 0 {
			reason = l.reason(it)
		}
		run.Next = append(run.Next, reprise.Unit{ID: it.id, Path: run.Path, Title: it.text, Phase: it.phase, Role: it.role(), Reason: reason})
	}
	run.Phase = open[0].phase
	run.Options = []reprise.Option{reprise.ContinueWith(run.Next[0])}
	return true
}

// verifying returns the first task before another one that only a person can do and that is
// open, else that one: nothing after it is started, even if something was.
func (l *list) verifying(it *item) *item {
	for i := range l.items {
		if o := &l.items[i]; o == it || o.person && l.ready(o) && !o.spare() {
			return o
		}
	}
	return it
}

// askPerson asks for a task that only a person can do, and reports whether it is one.
func (l *list) askPerson(run *reprise.Run, it *item) bool {
	if !it.person {
		return false
	}
	run.State, run.Reason, run.Phase = reprise.Waiting, it.id+" is for a person", it.phase
	run.Questions = []reprise.Question{{
		ID: it.id, Subject: it.id, Text: "Do this yourself, then say so: " + it.text, Options: []string{personDid}, Closed: true, Source: it.places[0].source,
	}}
	return true
}

// askWhere asks where to continue once everything is closed where the tool says that the
// work is, and reports whether it does.
func (l *list) askWhere(run *reprise.Run) bool {
	if whole := l.unfinished(); whole != nil && !l.isElsewhere(whole) {
		return false
	}
	var others []string
	for i := range l.items {
		it := &l.items[i]
		if it.status().Closed() || it.spare() {
			continue
		}
		if !l.isElsewhere(it) {
			return false
		}
		if other, _, _ := strings.Cut(it.id, ":"); !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	run.State, run.Reason = reprise.Waiting, fmt.Sprintf("everything in %s is closed; open tasks are in %s", l.current, doc.Clip(strings.Join(others, ", "), 120))
	run.Questions = []reprise.Question{{
		ID: l.whereID(), Subject: l.current, Text: "Everything in " + l.current + " is closed. Where does the work continue?", Options: others, Closed: true,
		Source: l.here.Source(),
	}}
	return true
}

// whereID is the id of the question where to continue.
func (l *list) whereID() string { return l.family.CurrentKey + "-" + l.current }

func begun(s reprise.Status) bool { return nearness(s) < 2 }

func (l *list) reason(it *item) string {
	switch {
	case it.status() == reprise.InReview:
		return "done, but not accepted yet"
	case it.status() == reprise.InProgress:
		return "begun but not finished"
	case l.neededByBegun()[it.id] != "":
		return "needed by " + l.neededByBegun()[it.id] + ", which is begun"
	case l.wholeBegun(it) != "":
		return "a part of " + l.wholeBegun(it) + ", which is begun"
	case l.family.Keys.Needs != "":
		return "open, and everything it needs is done"
	}
	switch {
	case l.isHere(it):
		return "the first open task in the phase that the list names"
	case len(l.closedLast) > 0:
		return "the first open task after what was done last"
	case !slices.ContainsFunc(l.items, func(o item) bool { return o.status() == reprise.Done }):
		return "the first open task"
	}
	return "the first open task after the last finished one"
}

// openFromHere returns the tasks that can be worked on, in order: those closest to
// completion, then the most urgent, each from the current position on. Earlier ones were
// passed over. Optional tasks are not included.
func (l *list) openFromHere() []*item {
	from := l.front()
	var out []*item
	for i := range l.items {
		if it := &l.items[(from+i)%len(l.items)]; l.ready(it) && !it.spare() && !l.isElsewhere(it) {
			out = append(out, it)
		}
	}
	before, keys, phases := l.neededByBegun(), map[*item][]int{}, map[string]bool{} // those with a task that is done
	for i := range l.items {
		if it := &l.items[i]; l.family.Whole != "" && it.status() == reprise.Done {
			phases[it.phase] = true
		}
	}
	for _, it := range out {
		keys[it] = []int{
			nearness(it.status()), after(before[it.id] != ""), after(l.wholeBegun(it) != ""),
			after(phases[it.phase]), stage(it.deciding().word), it.rank,
		}
	}
	slices.SortStableFunc(out, func(a, b *item) int { return slices.Compare(keys[a], keys[b]) })
	return out
}

// neededByBegun returns the open tasks that a begun task needs, directly or indirectly,
// with the id of that task.
func (l *list) neededByBegun() map[string]string {
	out := map[string]string{}
	var need func(it *item, by string)
	need = func(it *item, by string) {
		for _, id := range l.openNeeds(it) {
			if out[id] == "" {
				out[id] = by
				need(l.find(id), by)
			}
		}
	}
	for i := range l.items {
		if it := &l.items[i]; begun(it.status()) {
			need(it, it.id)
		}
	}
	return out
}

// openNeeds returns the open tasks that a task needs.
func (l *list) openNeeds(it *item) []string {
	return slices.DeleteFunc(slices.Clone(it.needs), func(id string) bool {
		need := l.find(id)
		return need == nil || need.status().Closed()
	})
}

// reliedOn reports whether an open task needs a task with parts.
func (l *list) reliedOn(whole *item) bool {
	if l.neededBy == nil {
		l.neededBy = map[string][]int{}
		for i := range l.items {
			for _, id := range l.items[i].needs {
				if !l.items[i].status().Closed() {
					l.neededBy[id] = append(l.neededBy[id], i)
				}
			}
		}
	}
	return slices.ContainsFunc(l.parts(whole), func(part *item) bool {
		return whole.has(part) && slices.ContainsFunc(l.neededBy[part.id], func(i int) bool { return !whole.has(&l.items[i]) })
	})
}

// skippedNeeds returns the skipped tasks that a task needs. A tool that removes tasks
// from its list does not say why.
func (l *list) skippedNeeds(it *item) (out []*item) {
	for _, id := range it.needs {
		if need := l.find(id); need != nil && need.status() == reprise.Skipped && !l.family.Pruned {
			out = append(out, need)
		}
	}
	return out
}

// wholeBegun returns a begun task that this one is part of, or "".
func (l *list) wholeBegun(it *item) string {
	for _, w := range l.wholesOf(it) {
		if begun(w.status()) {
			return w.id
		}
	}
	return ""
}

// reportPassed names the tasks that the work passed over, replacing earlier findings
// about that.
func (l *list) reportPassed(run *reprise.Run) {
	run.Findings = slices.DeleteFunc(run.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeAbandoned })
	if l.family.Form != Boxes || len(run.Next) == 0 {
		return
	}
	var passed []*item
	for i := range l.items[:l.front()] {
		if it := &l.items[i]; l.ready(it) && !it.optional && !begun(it.status()) {
			passed = append(passed, it)
		}
	}
	if len(passed) == 0 || run.Next[0].ID == passed[0].id {
		return
	}
	run.Report(reprise.Finding{
		Code: reprise.CodeAbandoned, Severity: reprise.Warning, Subject: passed[0].id, Source: passed[0].places[0].source,
		Message: fmt.Sprintf("open, but work continued beyond it: %s; it comes after the others", doc.Clip(named(passed), 120)),
		Hint:    "tick what is done; mark what is postponed DEFERRED",
	})
}

// named lists the ids of tasks, only the first of many.
func named(items []*item) string {
	var ids []string
	for _, it := range items {
		ids = append(ids, it.id)
	}
	return some(ids, 4)
}

// front returns where the work stands: where the list itself says; else the open task
// right after the one closed last, according to git; else the last open task right after
// a closed one. A closed task with nothing open after it, such as one added at the end
// and done at once, says nothing about the rest.
func (l *list) front() int {
	if i := slices.IndexFunc(l.items, func(it item) bool { return l.isHere(&it) && l.ready(&it) }); i >= 0 {
		return i
	}
	from, lately, last := 0, 0, -1 // last is the previous task that was not skipped
	closedLast := map[string]bool{}
	for _, id := range l.closedLast {
		closedLast[id] = true
	}
	// Doing one of the tasks that may be done in parallel does not pass the others over: run is where
	// those around the current one begin, and open the first of them that can be started.
	run, open, opens := 0, -1, make([]int, len(l.items)) // before each
	for i := range l.items {
		it := &l.items[i]
		if i == 0 || !it.parallel || !l.items[run].parallel || it.phase != l.items[run].phase {
			run, open = i, -1
		}
		opens[i] = open
		if open < 0 && it.parallel && l.ready(it) {
			open = i
		}
		status := it.status()
		if status == reprise.Skipped {
			continue
		}
		if last >= 0 && l.items[last].status() == reprise.Done && !status.Closed() {
			if from = i; opens[last] >= 0 {
				from = opens[last]
			}
			if closedLast[l.items[last].id] {
				lately = i
			}
		}
		last = i
	}
	return cmp.Or(lately, from)
}

// nearness orders begun tasks by how little is left of them.
func nearness(s reprise.Status) int {
	switch s {
	case reprise.InReview:
		return 0
	case reprise.InProgress:
		return 1
	}
	return 2
}

// isElsewhere reports whether a task is not where the tool says that the work is.
func (l *list) isElsewhere(it *item) bool {
	in := func(it item) bool { return strings.HasPrefix(it.id, l.current+":") }
	if l.current == "" || in(*it) {
		return false
	}
	if l.peopled != l.current && slices.ContainsFunc(l.items, in) {
		l.peopled = l.current
	}
	return l.peopled == l.current
}

// isHere reports whether a task is in, or is, the part of the list that is being worked
// on.
func (l *list) isHere(it *item) bool {
	if l.current == "" || l.family.Position == nil {
		return false
	}
	return slices.ContainsFunc([]string{it.text, it.phase}, func(title string) bool { return l.family.within(title) == l.current })
}

// unfinished returns a task with parts, or another entry that holds tasks, that is itself
// open, or nil: some parts may be missing, or not written yet.
func (l *list) unfinished() *item {
	wholes := l.unfinishedWholes()
	if len(wholes) == 0 {
		return nil
	}
	return wholes[0]
}

// unfinishedWholes returns everything that is unfinished in this way.
func (l *list) unfinishedWholes() []*item {
	return slices.DeleteFunc(l.holding(), func(w *item) bool { return w.optional || w.status().Closed() })
}

// holding returns what has parts or is there for them.
func (l *list) holding() (out []*item) {
	for i := range l.whole {
		out = append(out, &l.whole[i])
	}
	for i := range l.apart {
		if w := &l.apart[i]; w.holds {
			out = append(out, w)
		}
	}
	return out
}

// stillOpen says what is unfinished; done is what its tasks are.
func (l *list) stillOpen(done string) string {
	whole := l.unfinished()
	switch {
	case len(l.items) == 0:
		return fmt.Sprintf("%s is %q, and no task of it is written", whole.id, whole.deciding().said())
	case len(l.parts(whole)) == 0:
		return fmt.Sprintf("every task is %s, but %s is still %q", done, whole.id, whole.deciding().said())
	}
	return fmt.Sprintf("every required part is %s, but %s itself is still %q", done, whole.id, whole.deciding().said())
}

// after orders what something holds for before what it does not.
func after(holds bool) int {
	if holds {
		return 0
	}
	return 1
}

// ready reports whether a task is open and everything it needs is closed.
func (l *list) ready(it *item) bool {
	switch it.status() {
	case reprise.Done, reprise.Skipped, reprise.Blocked, reprise.Unknown:
		return false
	}
	return it.held == "" && len(l.openNeeds(it)) == 0
}

// spare reports whether a task is optional and not begun.
func (it *item) spare() bool {
	return it.optional && (it.status() == reprise.Pending || it.status() == reprise.Blocked)
}
