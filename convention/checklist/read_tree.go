package checklist

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// readTree reads a list in JSON, JSON lines or YAML, with the files next to it. A file that
// does not have the family's form counts as unreadable.
func (l *list) readTree(r *doc.Reader) {
	if !l.readEntries() {
		return
	}
	l.readCurrent(r)
	for i := range l.items {
		l.beside(r, &l.items[i])
	}
	l.readUnlisted(r)
}

// readCurrent reads which part of the list is being worked on.
func (l *list) readCurrent(r *doc.Reader) {
	if l.family.Current == "" {
		return
	}
	if file := r.Open(path.Join(path.Dir(l.file.Path), l.family.Current)); file.Exists() {
		l.here = ledger.Root(file, file.JSON().Object()).In(l.family.CurrentKey)
		l.current = l.here.Plain()
	}
	usual := cmp.Or(valueIn(r, l.file.Path, l.family.UsualIn).Plain(), l.family.Usual)
	if l.current == "" && slices.ContainsFunc(l.items, func(it item) bool {
		return strings.HasPrefix(it.id, usual+":") && !it.status().Closed() && it.status() != reprise.Blocked
	}) {
		l.current = usual
	}
}

// readEntries reads the list alone, and reports whether it has the family's form.
func (l *list) readEntries() bool {
	// An unreadable file is a list if it contains the word for one, and one in which nothing
	// is left may have been.
	l.ours = !l.family.Shared || !l.file.OK() || l.ruined() || slices.ContainsFunc(l.family.Items, func(at string) bool {
		return at != "" && bytes.Contains(l.file.Data, []byte(path.Base(strings.ReplaceAll(at, ".", "/"))))
	})
	var root *doc.Node
	switch l.family.Form {
	case JSON:
		root = l.file.JSONValue()
	case Lines:
		root = l.file.JSONLines()
	case YAML:
		root = l.file.YAMLValue()
	}
	if root == nil {
		return false
	}
	if whole := root.Kind == doc.List && slices.Contains(l.family.Items, ""); !whole && l.file.Top(root) == nil {
		return false
	}
	for _, place := range l.family.Items {
		if l.under(ledger.Root(l.file, root), strings.Split(place, "."), "") {
			break
		}
	}
	l.readNoStatus()
	l.group()
	if k := l.family.Keys.Branch; k != "" && root.Kind == doc.Map {
		l.branch = ledger.Branch(ledger.Root(l.file, root).In(k).Plain())
	}
	if l.family.Form != Lines {
		k := l.family.Keys
		l.readElsewhere(ledger.Root(l.file, root), Keys{ID: cmp.Or(k.ID, "id"), Text: cmp.Or(k.Text, "title|name"), Status: cmp.Or(k.Status, "status")})
		l.readScattered(ledger.Root(l.file, root))
	}
	l.turn()
	return true
}

// turn reads that something is part of one of its tasks the other way round: people write
// it so, and nothing that holds tasks is part of one.
func (l *list) turn() {
	for i := range l.apart {
		whole := &l.apart[i]
		whole.within = slices.DeleteFunc(whole.within, func(id string) bool {
			it := l.find(id)
			if it != nil && whole.holds {
				it.within = append(it.within, whole.id)
			}
			return it != nil && whole.holds
		})
	}
}

// under reads the tasks below a place and reports whether the file has it.
func (l *list) under(v ledger.Value, keys []string, prefix string) (found bool) {
	switch {
	case l.foreign(v, keys):
		l.ours = false
		return false
	case len(keys) == 0 || keys[0] == "":
		for _, e := range v.Entries(0) {
			l.task(e, prefix, len(l.family.Ranks)/2)
		}
		if l.lists == nil {
			l.lists = map[*doc.Node]bool{}
		}
		l.lists[v.Node] = true
		l.there = v.Is(doc.List) || v.Is(doc.Map)
		if !l.there && !v.IsNull() {
			l.lost(v.Line, "the tasks are not a list")
		}
		return true
	case keys[0] == "*":
		without := 0
		for _, e := range v.Entries(0) {
			group, in := e.Is(doc.Map) && len(keys) > 1 || len(keys) == 1 && l.holds(e.Value), e.Name+":"
			if v.Is(doc.List) {
				in = ""
			}
			if group && (v.Is(doc.Map) || len(keys) > 1) && l.under(e.Value, keys[1:], in) {
				found = true
			} else if v.Is(doc.List) {
				without = e.Line
			}
		}
		if found && without > 0 {
			l.lost(without, "an entry has no list of tasks")
		}
		return found
	case !v.Is(doc.Map) || !v.Has(keys[0]):
		return false
	}
	return l.under(v.In(keys[0]), keys[1:], prefix)
}

// foreign reports whether the value at the last key belongs to another program: not a
// list where one belongs, a list of bare names, or a whole file without a status.
func (l *list) foreign(v ledger.Value, keys []string) bool {
	switch {
	case !l.family.Shared || len(keys) > 1 || len(keys) == 1 && keys[0] != "":
		return false
	case !v.Is(doc.List):
		return len(keys) == 1
	}
	entries := v.Entries(0)
	return len(entries) > 0 && len(keys) == 1 && !l.holds(v) || len(entries) > 0 && !slices.ContainsFunc(entries, func(e ledger.Entry) bool { return !e.Is(doc.String) })
}

// holds reports whether a value is a list with an entry that has a status.
func (l *list) holds(v ledger.Value) bool {
	return v.Is(doc.List) && slices.ContainsFunc(v.Entries(0), func(e ledger.Entry) bool {
		return e.Is(doc.Map) && spelled(e.Value, l.family.Keys.Status).Node != nil
	})
}

// lost reports that part of the list cannot be understood.
func (l *list) lost(line int, message string) {
	l.file.Lost(reprise.CodeUnreadable, line, message, "look at it by hand; git may have an earlier version of the file")
}

// task reads one task and its parts. An entry that is not a map is the status itself, and
// its key the id. rank applies if the task does not give its urgency.
func (l *list) task(e ledger.Entry, prefix string, rank int) {
	f := l.family
	if sort := e.In(f.Sort[0]); f.Sort[0] != "" && e.Is(doc.Map) && !sort.IsNull() && sort.Plain() != f.Sort[1] {
		return
	}
	values, id, named := []ledger.Value{e.Value}, e.Name, true
	if e.Is(doc.Map) {
		values = allSpelled(e.Value, cmp.Or(f.Keys.Status, "status"))
		if _, err := strconv.Atoi(e.Name); err == nil {
			e.Name = "" // its place in a list is not its id
		}
		if id = cmp.Or(e.In(f.Keys.ID).Plain(), e.Name); id == "" && f.Unnumbered {
			named, id = false, idOf(spelled(e.Value, f.Keys.Text).Plain())
		}
	} else if e.IsNull() && f.Form == Lines {
		return // reported when it was read
	} else if f.Keys.ID != "" {
		l.lost(e.Line, "an entry is not written as a task")
		return
	}
	it, ok := f.match(id)
	aside, whole := f.aside(id, e.Value)
	if phase, leads := f.leads(id); leads {
		it, ok, aside, whole = item{id: id, phase: phase, leads: true}, true, false, false
	}
	switch {
	case !ok && id != "":
		return
	case !ok:
		l.lost(e.Line, "a task has no id")
		return
	}
	if whole := prefix[strings.LastIndexByte(prefix, ':')+1:]; strings.HasSuffix(whole, ".") {
		it.id = strings.TrimPrefix(it.id, whole) // a part may be called by its whole id
	}
	it.id, it.node, it.holds, it.inside = prefix+it.id, e.Value, whole, strings.HasSuffix(prefix, ".")
	for i, v := range values {
		at := place{value: v, word: v.Plain(), status: l.means(v.Plain()), source: l.file.At(e.Line), again: i > 0}
		if v.Node != nil {
			at.source = l.file.At(v.Line)
		}
		it.places = append(it.places, at)
	}
	if slices.ContainsFunc(it.places, func(p place) bool { return p.status == reprise.Skipped }) {
		for i := range it.places { // a no does not deny that it is left out
			if p := &it.places[i]; yesNo(p.word) && !p.status.Closed() {
				p.status = reprise.Skipped
			}
		}
	}
	if e.Is(doc.Map) && f.Keys.Reason != "" && f.means(e.In(f.Keys.Reason).Plain()) == reprise.Skipped {
		for i := range it.places {
			if p := &it.places[i]; p.status == reprise.Done {
				p.status = reprise.Skipped
			}
		}
	}
	if e.Is(doc.Map) {
		it.text = cmp.Or(spelled(e.Value, f.Keys.Text).Plain(), it.text)
		it.rank = f.rank(e.Value, rank)
		l.needs(e.Value, &it)
		if until := e.In(f.Keys.Later); f.Keys.Later != "" && until.Plain() > l.file.MTime.UTC().Format(time.RFC3339) {
			it.held = "it is postponed until " + doc.Clip(until.Plain(), 40)
		}
		// A reason in the place of a yes holds as well.
		if held := e.In(f.Keys.Held); held.Plain() != "" && held.Plain() != "false" || len(held.Entries(0)) > 0 {
			it.held = "it is marked " + f.Keys.Held
		}
	}
	if it.leads {
		l.whole = append(l.whole, it)
		return
	}
	if aside || whole {
		l.apart = append(l.apart, it)
		return
	}
	it.phase = cmp.Or(it.phase, strings.TrimSuffix(prefix, ":"))
	l.add(it, named)
	for _, part := range l.listed(e.Value, f.Keys.Parts) {
		l.task(part, it.id+".", it.rank)
	}
}

// aside reports whether an entry is not a task, and whether it is the whole of some.
func (f *Family) aside(id string, v ledger.Value) (aside, whole bool) {
	in := func(marks map[string][]string) bool {
		for key, words := range marks {
			if v.Is(doc.Map) && slices.Contains(words, v.In(key).Plain()) {
				return true
			}
		}
		return false
	}
	if in(f.NoTasks) {
		return true, false
	}
	if f.Aside == nil {
		return false, in(f.Wholes)
	}
	m := f.Aside.FindStringSubmatch(id)
	return m != nil, m != nil && m[f.Aside.SubexpIndex("whole")] != ""
}

// spelled returns the value under a name that may have several spellings: the first that
// exists.
func spelled(v ledger.Value, names string) ledger.Value { return allSpelled(v, names)[0] }

// allSpelled returns the values under all spellings of a name that exist, else that under
// the first.
func allSpelled(v ledger.Value, names string) (out []ledger.Value) {
	all := strings.Split(names, "|")
	for _, name := range all {
		if v.Has(name) {
			out = append(out, v.In(name))
		}
	}
	if out == nil {
		out = []ledger.Value{v.In(all[0])}
	}
	return out
}

// listed returns the items of the list under a key of a task, none if the family has no
// such key. A task that needs one other may say so without a list.
func (l *list) listed(v ledger.Value, key string) []ledger.Entry {
	if key == "" || !v.Is(doc.Map) {
		return nil
	}
	in := spelled(v, key)
	if one := in.Plain(); key == l.family.Keys.Needs && (one != "" || in.Is(doc.String)) {
		return []ledger.Entry{{Value: in}}[:min(1, len(one))]
	}
	if !in.IsNull() && !in.Is(doc.List) {
		l.lost(in.Line, key+" is not a list")
		return nil
	}
	entries := in.Entries(0)
	if key == l.family.Keys.Parts && l.family.Shared && !l.holds(in) {
		return nil // steps in words
	}
	return entries
}

// leads returns the phase that the entry with this id describes.
func (f *Family) leads(id string) (phase string, ok bool) {
	before, after, ok := strings.Cut(f.Whole, "{phase}")
	if !ok || !strings.HasPrefix(id, before) || !strings.HasSuffix(id, after) || len(id) < len(before)+len(after) {
		return "", false
	}
	phase = id[len(before) : len(id)-len(after)]
	return phase, doc.Digits(phase)
}

// rank returns how urgent a task is, or otherwise if it does not say.
func (f *Family) rank(v ledger.Value, otherwise int) int {
	if f.Keys.Rank == "" {
		return 0
	}
	if i := slices.Index(f.Ranks, doc.Fold(v.In(f.Keys.Rank).Plain())); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(v.In(f.Keys.Rank).Plain()); err == nil {
		return n
	}
	return otherwise
}

// needs reads the ids that a task says come before it, and what it is part of, as
// written.
func (l *list) needs(v ledger.Value, it *item) {
	k := l.family.Keys
	for _, e := range l.listed(v, k.Needs) {
		id, within := e.Plain(), false
		if e.Is(doc.Map) && k.Needed != "" {
			because := e.In(k.Because).Plain()
			within = because == k.Within
			if !within && !slices.Contains(k.Blocks, because) {
				continue
			}
			id = e.In(k.Needed).Plain()
		}
		switch {
		case id == "":
			l.lost(e.Line, "what a task needs is not written as an id")
		case within:
			it.within = append(it.within, id)
		default:
			it.needs = append(it.needs, id)
		}
	}
}
