package checklist

import (
	"io/fs"
	"slices"

	"reprise"
	"reprise/internal/doc"
)

// Aim lets the run continue after the tasks closed last, according to earlier versions of
// its list, newest first. What the journal says about the run stays. A list that lost all
// its tasks since the last commit is damaged.
func (l Layout) Aim(fsys fs.FS, r *reprise.Run, past []reprise.Version) {
	if len(r.Steps) == 0 && r.State == reprise.NotStarted && len(past) > 0 {
		l.emptied(r, past[0])
		return
	}
	if len(r.Next) == 0 && len(r.Questions) == 0 || l.family.Form != Boxes {
		return
	}
	now := l.read(doc.NewReader(fsys), r.Path)
	was := now.decided(r.Ref)
	if len(was.Next) == 0 && len(was.Questions) == 0 {
		return
	}
	newer, by := now.closed(), reprise.Uncommitted
	if len(newer) == 0 {
		return // the tool that plans it moves it
	}
	for _, v := range past {
		_, file := doc.Memory(r.Path, v.Content)
		then := &list{family: &l.family, file: file}
		then.boxesOnce()
		older := then.closed()
		were := make(map[string]bool, len(older))
		for _, id := range older {
			were[id] = true
		}
		now.closedLast = slices.DeleteFunc(newer, func(id string) bool { return were[id] })
		if len(now.closedLast) > 0 {
			break
		}
		newer, by = older, v.Commit
	}
	r.Moved = by
	aimed := now.decided(r.Ref)
	if r.State == was.State {
		r.State, r.Reason = aimed.State, aimed.Reason
	}
	r.Next, r.Phase, r.Options = aimed.Next, aimed.Phase, aimed.Options
	r.Questions = slices.DeleteFunc(r.Questions, func(q reprise.Question) bool { return was.Question(q.ID) != nil && aimed.Question(q.ID) == nil })
	for _, q := range aimed.Questions {
		if r.Question(q.ID) == nil {
			r.Questions = append(r.Questions, q)
		}
	}
	now.reportPassed(r)
}

// emptied makes a run without tasks unreadable if git has tasks in its list.
func (l Layout) emptied(r *reprise.Run, last reprise.Version) {
	_, file := doc.Memory(r.Path, last.Content)
	then := &list{family: &l.family, file: file}
	if then.readEntries(); len(then.items) == 0 {
		return
	}
	r.State, r.Reason = reprise.Unreadable, "the list has no tasks left, and its last commit has some"
	r.Lose(r.Path, r.Reason, restores(r.Path))
}

// decided returns the run according to the list alone.
func (l *list) decided(ref reprise.Ref) *reprise.Run {
	r := &reprise.Run{Ref: ref, Branch: l.branch, Steps: slices.Grow([]reprise.Step(nil), len(l.items))}
	for i := range l.items {
		r.Steps = append(r.Steps, l.step(&l.items[i]))
		if l.items[i].status() == reprise.Done {
			r.Boxes = append(r.Boxes, l.items[i].boxes...)
		}
	}
	l.decide(r)
	return r
}

// closed returns the ids of the closed tasks.
func (l *list) closed() (ids []string) {
	for i := range l.items {
		if l.items[i].status().Closed() {
			ids = append(ids, l.items[i].id)
		}
	}
	return ids
}
