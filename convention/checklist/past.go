package checklist

import (
	"io/fs"
	"slices"

	"reprise"
	"reprise/internal/doc"
)

// Aim lets the run continue behind the tasks that were closed last, by what earlier
// versions of its list say, the newest first.
func (l Layout) Aim(fsys fs.FS, r *reprise.Run, past []reprise.Version) {
	if len(r.Next) == 0 && len(r.Questions) == 0 || l.family.Form != Boxes {
		return
	}
	now := l.read(doc.NewReader(fsys), r.Path)
	newer, by := now.closed(), reprise.Uncommitted
	if len(newer) == 0 {
		return // whoever plans it moves it
	}
	for _, v := range past {
		_, file := doc.Memory(r.Path, v.Content)
		then := &list{family: &l.family, file: file}
		then.readBoxes()
		older := then.closed()
		now.closedLast = slices.DeleteFunc(newer, func(id string) bool { return slices.Contains(older, id) })
		if len(now.closedLast) > 0 {
			break
		}
		newer, by = older, v.Commit
	}
	r.Moved = by
	now.decide(r)
	now.reportPassed(r)
}

// closed are the ids of the tasks that are closed.
func (l *list) closed() (ids []string) {
	for i := range l.items {
		if l.items[i].status().Closed() {
			ids = append(ids, l.items[i].id)
		}
	}
	return ids
}
