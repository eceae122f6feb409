package checklist

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// readFiles reads a list whose tasks are files of their own: the fields of a task are the
// front matter of its file. The list itself is the file that describes them all, with the
// words that it has for a status.
func (l *list) readFiles(r *doc.Reader) {
	root := l.file.YAMLValue()
	l.ours = !l.family.Shared || !l.file.OK() || root == nil || l.ruined()
	if l.ruined() {
		l.lost(1, "it does not say which words its tasks have for a status")
	}
	if root != nil {
		words := ledger.Root(l.file, root).In(l.family.Statuses)
		l.ours = l.ours || words.Is(doc.List)
		for _, e := range words.Entries(0) {
			l.statuses = append(l.statuses, e.Plain())
		}
	}
	for _, pattern := range l.family.Files {
		dir := path.Join(path.Dir(l.file.Path), path.Dir(pattern))
		for _, e := range r.Dir(dir) {
			if ok, _ := path.Match(path.Base(pattern), e.Name()); ok {
				l.readFile(r.Open(path.Join(dir, e.Name())))
			}
		}
	}
	l.there = l.ours && !l.unread
	slices.SortStableFunc(l.items, func(a, b item) int { return slices.Compare(numbersIn(a.id), numbersIn(b.id)) })
	for i := range l.items {
		for n, id := range l.items[i].needs {
			l.items[i].needs[n] = l.meantBy(id)
		}
	}
	l.group()
}

// readFile reads the file of a task.
func (l *list) readFile(f *doc.File) {
	md := f.Markdown()
	if md == nil {
		l.unread = true // opening it told why
		return
	}
	if md.Front == nil || ledger.Root(f, md.Front).In(l.family.Keys.ID).Plain() == "" {
		l.unread = true
		f.Lost(reprise.CodeUnreadable, 0, "it has no front matter with the id of a task, so which task it is and whether it is done is unknown",
			"look at it by hand; git may have an earlier version of the file")
		return
	}
	if l.latest == nil || f.MTime.After(l.latest.MTime) {
		l.latest = f
	}
	front, count := ledger.Root(f, md.Front), len(l.items)
	l.task(ledger.Entry{Value: front}, "", len(l.family.Ranks)/2)
	it := l.find(front.In(l.family.Keys.ID).Plain())
	if len(l.items) > count {
		it = &l.items[count]
	}
	if it == nil {
		return
	}
	at := &it.places[len(it.places)-1]
	at.label, at.source, at.value = ledger.Front(f, md, l.family.Keys.Status), f.At(cmp.Or(at.source.Line, 1)), ledger.Value{}
	it.node, it.file = ledger.Value{}, f.Path
	l.readOwn(it, f, md)
}

// means returns the status that a word stands for. Of the words that the list says its tasks
// use, those between one that means to do and one that means done are begun. The place of a
// word says nothing else: what a list ends with need not be done.
func (l *list) means(word string) reprise.Status {
	known := func(status reprise.Status) int {
		return slices.IndexFunc(l.statuses, func(used string) bool { return l.family.means(used) == status })
	}
	status := l.family.means(word)
	at := slices.IndexFunc(l.statuses, func(used string) bool { return l.family.same(used, word) })
	if first := known(reprise.Pending); status == reprise.Unknown && first >= 0 && first < at && at < known(reprise.Done) {
		return reprise.InProgress
	}
	return status
}

// meantBy returns the id of the task that another one names, possibly by a prefix that was
// changed since; else what it names.
func (l *list) meantBy(id string) string {
	number := func(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }
	for _, same := range []func(o string) bool{
		func(o string) bool { return strings.EqualFold(o, id) },
		func(o string) bool { return number(o) == number(id) },
	} {
		if i := slices.IndexFunc(l.items, func(o item) bool { return same(o.id) }); i >= 0 {
			return l.items[i].id
		}
	}
	return id
}

// numbersIn returns the numbers in an id.
func numbersIn(id string) (out []int) {
	for _, digits := range strings.FieldsFunc(id, func(r rune) bool { return r < '0' || r > '9' }) {
		n, _ := strconv.Atoi(digits) // one that is too long is the last
		out = append(out, n)
	}
	return out
}
