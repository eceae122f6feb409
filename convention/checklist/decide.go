package checklist

import (
	"cmp"
	"fmt"
	"slices"

	"reprise"
)

// decide says where the list stands and what may be started.
func (l *list) decide(run *reprise.Run) {
	p := run.Progress()
	switch {
	case !l.file.OK():
		run.State, run.Reason = reprise.Unreadable, "the list of tasks cannot be read"
		return
	case p.Total == 0:
		run.State, run.Reason = reprise.Unreadable, "the list holds no task that can be read"
		return
	case p.Done == p.Total:
		run.State, run.Reason = reprise.Complete, fmt.Sprintf("all %d tasks are ticked", p.Total)
		return
	case p.Done == 0 && !slices.ContainsFunc(l.items, func(it item) bool { return begun(it.status()) }):
		run.State, run.Reason = reprise.NotStarted, fmt.Sprintf("none of %d tasks is ticked", p.Total)
	default:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("%d of %d tasks are ticked", p.Done, p.Total)
	}
	open := l.openFromHere()
	if len(open) == 0 {
		run.State, run.Reason = reprise.Waiting, "no open task can be started: each waits for another, or its status is not known"
		return
	}
	for i, it := range open {
		first := open[0]
		if i > 0 && !(first.parallel && it.parallel && it.phase == first.phase) {
			break
		}
		reason := l.reason(it)
		if i > 0 {
			reason = "may be worked on beside " + first.id
		}
		run.Next = append(run.Next, reprise.Unit{ID: it.id, Path: run.Path, Title: it.text, Phase: it.phase, Role: role, Reason: reason})
	}
	run.Phase = open[0].phase
	run.Options = []reprise.Option{{Key: reprise.OptionContinue, Label: "Continue with " + open[0].id}}
}

func begun(s reprise.Status) bool { return s == reprise.InProgress || s == reprise.InReview }

func (l *list) reason(it *item) string {
	switch {
	case begun(it.status()):
		return "begun and not finished"
	case it.optional:
		return "optional, and nothing else is left"
	}
	return "the first open task behind the last one that is done"
}

// openFromHere gives the tasks that can be worked on in the order in which they would
// be: those that are begun, then those from where the work stands on, then those before
// it, which were passed over, and at last the optional ones.
func (l *list) openFromHere() []*item {
	from := l.front()
	var out []*item
	for i := range l.items {
		if it := &l.items[(from+i)%len(l.items)]; l.ready(it) {
			out = append(out, it)
		}
	}
	slices.SortStableFunc(out, func(a, b *item) int {
		return cmp.Or(first(begun(a.status()), begun(b.status())), first(!a.optional, !b.optional))
	})
	return out
}

// front is where the work stands: the last open task right behind a closed one. A closed
// task with nothing open behind it, such as one that was added at the end and done at
// once, says nothing of the rest.
func (l *list) front() int {
	from := 0
	for i := 1; i < len(l.items); i++ {
		if l.items[i-1].status().Closed() && !l.items[i].status().Closed() {
			from = i
		}
	}
	return from
}

// first orders what something holds for before the rest.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// ready reports whether a task is open and all that it needs is closed.
func (l *list) ready(it *item) bool {
	switch it.status() {
	case reprise.Done, reprise.Skipped, reprise.Blocked, reprise.Unknown:
		return false
	}
	return !slices.ContainsFunc(it.needs, func(id string) bool {
		need := l.find(id)
		return need != nil && !need.status().Closed()
	})
}
