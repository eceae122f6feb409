package checklist

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// readElsewhere finds entries with a status that are not where the family has its tasks: in
// lists or, where an entry itself is the status, under a name with a number, as tasks have one.
// What is open there is left to do, and no one would be assigned.
func (l *list) readElsewhere(v ledger.Value, k Keys) {
	if v.Node == nil || l.lists[v.Node] {
		return
	}
	entries := v.Entries(0)
	for _, e := range entries {
		l.readElsewhere(e.Value, k)
		status := l.means(e.Plain())
		if l.there && l.family.Keys.Status == "" && v.Is(doc.Map) && e.Is(doc.String) && len(numbersIn(e.Name)) > 0 && status != reprise.Unknown && !yesNo(e.Plain()) && !status.Closed() {
			l.loose = append(l.loose, loose{text: e.Name + ": " + e.Plain(), place: place{word: e.Plain(), status: status, source: l.file.At(e.Line)}})
		}
	}
	name := func(e ledger.Entry) string { return cmp.Or(spelled(e.Value, k.Text).Plain(), e.In(k.ID).Plain()) }
	if !v.Is(doc.List) || len(entries) == 0 || slices.ContainsFunc(entries, func(e ledger.Entry) bool {
		return !e.Is(doc.Map) || name(e) == "" || spelled(e.Value, k.Status).Node == nil
	}) {
		return
	}
	l.ours = true
	for _, e := range entries {
		for _, said := range allSpelled(e.Value, k.Status) {
			if status := l.means(said.Plain()); !status.Closed() {
				l.loose = append(l.loose, loose{text: name(e), place: place{word: said.Plain(), status: status, source: l.file.At(said.Line)}})
				break
			}
		}
	}
}

// readScattered finds what has a status in a file that has no task and no entry where the
// family has them: by its name it is a list, in a form that is not known.
func (l *list) readScattered(root ledger.Value) {
	if len(l.items)+len(l.whole)+len(l.apart)+len(l.loose) > 0 || l.there {
		return
	}
	said := 0
	var look func(v ledger.Value, name string)
	look = func(v ledger.Value, name string) {
		for _, e := range v.Entries(0) {
			in := strings.TrimPrefix(name+"."+e.Name, ".")
			look(e.Value, e.Name)
			status := l.means(e.Plain())
			if !v.Is(doc.Map) || !e.Is(doc.String) || status == reprise.Unknown || yesNo(e.Plain()) {
				continue
			}
			said++
			if !status.Closed() {
				l.loose = append(l.loose, loose{text: in + ": " + e.Plain(), place: place{word: e.Plain(), status: status, source: l.file.At(e.Line)}})
			}
		}
	}
	if look(root, ""); said < 2 { // one alone may be that of the file
		l.loose = nil
		return
	}
	l.ours = true
}

// readNoStatus takes out what is listed among the tasks and has no status. Where the entry
// itself is the status, anything may stand there, and only a status is ever replaced. A word
// that is not known is one if it has the form of a word, and if the entry is named like a
// task and is the only one with its number.
func (l *list) readNoStatus() {
	word := func(r rune) bool { return unicode.IsLetter(r) || strings.ContainsRune(" -_", r) }
	named := map[string]string{} // by number, the id of a task that has it, or "" of several
	for i := range l.items {
		id := l.items[i].id
		if number := l.family.number(id); number != "" {
			if was, twice := named[number]; twice && was != id {
				id = ""
			}
			named[number] = id
		}
	}
	l.at = nil
	l.items = slices.DeleteFunc(l.items, func(it item) bool {
		p := it.deciding()
		if it.node.Is(doc.Map) || p.status != reprise.Unknown || p.value.Node == nil {
			return false
		}
		number := l.family.number(it.id)
		alone := number == "" || named[number] == it.id
		if alone && (number != "" || l.family.Item == nil) && strings.TrimFunc(p.word, word) == "" {
			return false
		}
		l.loose = append(l.loose, loose{text: it.id + ": " + p.word, phase: it.phase, place: place{source: p.source}})
		return true
	})
}
