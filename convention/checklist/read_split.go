package checklist

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"reprise/internal/doc"
)

// copied matches what a name says of a file that is another version of a list, and no part of it.
var copied = doc.Pattern(`(?i)(?:^|[^a-z])(?:old|bak|backup|orig|original|archived?|copy|draft|legacy|deprecated|superseded|templates?|examples?|samples?|v\d+|\d{4}-?\d\d-?\d\d)(?:[^a-z]|$)`)

// readSplit finds the open tasks in the other files of a list that people split because it grew too
// long: tasks-phase2.md beside tasks.md. Tools read only the list, and so nobody would be assigned
// these. One that the list has, too, with the same words, was copied, and the list counts.
func (l *list) readSplit(r *doc.Reader) {
	dir, name := path.Split(l.file.Path)
	if !slices.ContainsFunc(l.family.Lists, func(p string) bool {
		_, ok := fits(l.file.Path, p)
		return ok && path.Base(p) == name && strings.Contains(path.Dir(p), "*")
	}) {
		return
	}
	ext := path.Ext(name)
	for _, e := range r.Dir(path.Clean(dir)) {
		more, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ext), strings.TrimSuffix(name, ext))
		if !ok || more == "" || path.Ext(e.Name()) != ext || unicode.IsLetter([]rune(more)[0]) || copied().MatchString(more) || described(r, dir+e.Name()) {
			continue
		}
		part := &list{family: l.family, file: r.Open(dir + e.Name())}
		part.boxesOnce()
		for _, it := range part.items {
			same := l.find(it.id)
			if it.status().Closed() || it.spare() || same != nil && doc.Fold(same.text) == doc.Fold(it.text) {
				continue
			}
			l.loose = append(l.loose, loose{text: it.number + " " + it.text, place: it.deciding()})
		}
	}
}

// described reports whether a file is a list of a family that the project describes itself.
func described(r *doc.Reader, name string) bool {
	own, _ := describe(r.FS()) // what is wrong with that is reported elsewhere
	return slices.ContainsFunc(own, func(f Family) bool {
		return slices.ContainsFunc(f.Lists, func(p string) bool { _, ok := fits(name, p); return ok })
	})
}

// elsewhere splits what is left into that in the list itself and that in other files.
func (l *list) elsewhere(left []loose) (own, others []loose) {
	for _, b := range left {
		if b.place.source.File == l.file.Path || l.family.Form != Boxes {
			own = append(own, b)
		} else {
			others = append(others, b)
		}
	}
	return own, others
}
