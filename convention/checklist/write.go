package checklist

import (
	"io/fs"
	"slices"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Record implements reprise.Recorder. A list has a word for what is done and for
// what is open, and no other: the rest stays in the journal alone.
func (l Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	status, ok := ledger.Wanted(ev.Kind)
	if !ok {
		return nil, ledger.Cannot("a list of tasks has no place for %s", ev.Kind)
	}
	read := l.read(doc.NewReader(fsys), r.Path)
	if !read.file.OK() {
		return nil, ledger.NewChanges(fsys).Damaged(r.Path)
	}
	i := slices.IndexFunc(read.items, func(it item) bool { return it.id == ev.Step })
	if i < 0 {
		return nil, ledger.Cannot("%s lists no task %q", r.Path, doc.Clip(ev.Step, 60))
	}
	it := read.items[i]
	switch {
	case status == reprise.Skipped, status != reprise.Done && status != reprise.Pending && !it.done():
		return nil, ledger.Cannot("a list of tasks has no word for %s", status)
	case (status == reprise.Done) == it.done():
		return nil, nil
	}
	changes := ledger.NewChanges(fsys)
	changes.Markdown(r.Path).Because("task %s is %s", it.id, status)
	for _, box := range it.boxes {
		changes.Tick(box, status == reprise.Done)
	}
	return changes.Edits()
}
