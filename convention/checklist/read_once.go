package checklist

import (
	"slices"

	"reprise/internal/doc"
)

// boxLists are the lists of boxes that this process has read.
var boxLists doc.Parsed[*list]

// boxesOnce is readBoxes for a list that is read several times: when it is found, loaded and aimed, in
// each checkout and from each commit that has it.
func (l *list) boxesOnce() {
	if l.family.Name == OwnName { // each project describes its own
		l.readBoxes()
		return
	}
	family, file := l.family, l.file
	*l = boxLists.Of(family.Name, file, func(f *doc.File) *list {
		read := &list{family: family, file: f}
		read.readBoxes()
		kept := read.clone() // without what is worked out again
		kept.file, kept.boxes = nil, nil
		return &kept
	}).clone()
	l.family, l.file = family, file
}

// clone returns a list that can be changed without changing this one.
func (l *list) clone() list {
	out := *l
	out.items, out.whole, out.apart = cloned(l.items), cloned(l.whole), cloned(l.apart)
	out.loose = slices.Clone(l.loose)
	out.at, out.among, out.wholeAt, out.neededBy = nil, nil, nil, nil
	return out
}

func cloned(items []item) []item {
	out := slices.Clone(items)
	for i := range out {
		it := &out[i]
		it.places, it.needs, it.parts = slices.Clone(it.places), slices.Clone(it.needs), slices.Clone(it.parts)
		it.within, it.around, it.made = slices.Clone(it.within), slices.Clone(it.around), slices.Clone(it.made)
		it.boxes, it.against = slices.Clone(it.boxes), slices.Clone(it.against)
	}
	return out
}
