package checklist

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"reprise"
	"reprise/internal/doc"
)

// dependsOn matches how people write into a task's text, or on a line below it, which others
// come before it: in brackets, set off in underscores, or in a sentence. In a sentence a bare
// number is not an id, unless it is called a task.
var dependsOn = sync.OnceValue(func() *regexp.Regexp {
	const word = `(?:depends(?:[ -]on)?|dependency|dependencies|deps?|blocked[ -](?:by|on)|needs|requires|prerequisites?)`
	const id = `(?:(?:tasks? )?[A-Z][\w.-]*\d[a-z]?\b|tasks? \d[\d.]*)`
	return regexp.MustCompile(`(?i)[(\[{](?:` + word + `|after):? ([^()\[\]{}]+)[)\]}]|` +
		`_` + word + `: *([^_]+)_|` +
		`\b` + word + `\b[:*_]* +\**(` + id + `(?:(?:,? and |, ?| & |, ?& ?| ?[-–—] ?)\**` + id + `)*)`)
})

// inDependsOn are parts of every word of dependsOn: without any of them it is not tried, which takes long.
var inDependsOn = []string{"dep", "blocked", "need", "requi", "after"}

// needed returns the ids that a task's text names as coming before it. Anything that is
// not an id is a remark.
func (f *Family) needed(text string) (ids []string) {
	if low := strings.ToLower(text); !slices.ContainsFunc(inDependsOn, func(part string) bool { return strings.Contains(low, part) }) {
		return nil
	}
	text = strings.NewReplacer("\u2010", "-", "\u2011", "-").Replace(text)
	for _, m := range dependsOn().FindAllStringSubmatch(text, -1) {
		for _, word := range strings.FieldsFunc(m[1]+m[2]+m[3], func(r rune) bool { return r == ',' || r == '&' || unicode.IsSpace(r) }) {
			if id := f.idAlone(word); id != "" {
				ids = append(ids, id)
			} else if ends := f.ends(word); ends != nil {
				ids = append(ids, upTo(ends[0], ends[1])...)
			}
		}
	}
	return ids
}

// ends returns the first and the last id of those that a word gives as the one up to the
// other, none if it does not.
func (f *Family) ends(word string) []string {
	first, last, _ := strings.Cut(strings.NewReplacer("–", "-", "—", "-", "..", "-").Replace(word), "-")
	if from, to := f.idAlone(first), f.idAlone(last); from != "" && to != "" {
		return []string{from, to}
	}
	return nil
}

// maxID is longer than any id that a person or a tool writes.
const maxID = 256

// idAlone returns the id that a word is, "" if it is none. A family may know its ids only by
// the text that follows.
func (f *Family) idAlone(word string) string {
	if word == "" || len(word) > maxID {
		return ""
	}
	for _, text := range []string{"", " x", ": x"} {
		if it, ok := f.match(word + text); ok && f.Item != nil && (it.text == "" || it.text == "x") {
			return it.id
		}
	}
	return ""
}

// upTo returns the ids from one up to another that differs from it only in its last
// number.
func upTo(from, to string) (ids []string) {
	prefix := strings.TrimRight(from, "0123456789")
	n, err := strconv.Atoi(from[len(prefix):])
	last, errTo := strconv.Atoi(strings.TrimPrefix(to, prefix))
	for i := n; err == nil && errTo == nil && i <= min(last, n+100); i++ {
		ids = append(ids, fmt.Sprintf("%s%0*d", prefix, len(from)-len(prefix), i))
	}
	return ids
}

// resolve maps the ids that tasks mention to tasks. An id may omit what it shares with
// its neighbours: the prefix of its list, or of the task it is part of. Needing a task
// means needing all its parts, and a part needs whatever the whole does.
func (l *list) resolve() {
	all := l.entries()
	for i := range l.items {
		it := &l.items[i]
		var needs []string
		for _, whole := range append(l.wholes(it, all), it) {
			if whole.id != it.id {
				it.around = append(it.around, whole.id)
				it.follow(whole)
			}
			for _, id := range whole.needs {
				needs = append(needs, l.need(it, whole, id, all)...)
			}
		}
		slices.Sort(needs)
		it.needs = slices.DeleteFunc(slices.Compact(needs), func(id string) bool { return id == it.id })
	}
	for i := range l.items { // not earlier: what a whole needs, its parts need too
		it := &l.items[i]
		it.needs = append(it.needs, it.parts...)
		if gone := l.skippedNeeds(it); len(gone) > 0 && it.held == "" {
			it.held = fmt.Sprintf("it needs %s, which will not be done", gone[0].id)
		}
	}
}

// follow holds a task if the whole it is part of is blocked, or if the heading above it says
// that everything below is done, and skips it with the whole. Where the entry of the whole holds
// those of its parts, done is said of them, too, so whether an open one is done is unknown: tools
// close the parts with the whole, or no longer look at them. A parent's ticked box does not say
// that much: people tick it early.
func (it *item) follow(whole *item) {
	switch whole.status() {
	case reprise.Done:
		if whole.places[0].label.There() {
			it.held = whole.id + " is " + whole.deciding().word
		} else if it.inside && whole.has(it) && !stops(it.status()) && !it.status().Closed() {
			p := whole.deciding()
			it.places = append(it.places, place{word: p.word, status: p.status, source: p.source, again: true, whole: true})
		}
	case reprise.Blocked:
		it.held = whole.id + " is " + whole.deciding().word
		if whole.held != "" {
			it.held = whole.id + ": " + whole.held
		}
	case reprise.Skipped:
		for i := range it.places {
			if p := &it.places[i]; !p.status.Closed() {
				p.status = reprise.Skipped
			}
		}
	}
}

// entries are those of a list by their id. Of one that several have, the first.
type entries struct {
	parts        *among
	tasks, apart map[string]*item
	tagged       map[string][]string // the ids of tasks by what comes behind a colon
}

func (l *list) entries() entries {
	out := entries{partsAmong(l.items), map[string]*item{}, map[string]*item{}, map[string][]string{}}
	for _, of := range []struct {
		items []item
		by    map[string]*item
	}{{l.items, out.tasks}, {l.whole, out.tasks}, {l.apart, out.apart}} {
		for i := range of.items {
			it := &of.items[i]
			if of.by[it.id] == nil {
				of.by[it.id] = it
			}
		}
	}
	for _, items := range [][]item{l.items, l.whole} {
		for _, it := range items {
			for i := range it.id {
				if it.id[i] == ':' {
					out.tagged[it.id[i+1:]] = append(out.tagged[it.id[i+1:]], it.id)
				}
			}
		}
	}
	return out
}

// need returns the tasks that an id stands for which a task needs, itself or through its
// whole. Whether something not in the list is done is unknown, so the task is not
// started.
func (l *list) need(it, by *item, id string, all entries) []string {
	found, apart := l.named(by.id, id, all), all.apart[id]
	switch {
	case l.family.Foreign != "" && strings.HasPrefix(id, l.family.Foreign):
		it.held = "it needs " + doc.Clip(id, 60) + ", which another project has"
	case apart != nil && !apart.status().Closed():
		it.held = "it needs " + id
	case apart == nil && len(found) == 0 && !l.family.Pruned && l.family.Form != Boxes:
		it.held = "it needs " + doc.Clip(id, 40) + ", which the list does not have"
	}
	return found
}

// wholesOf returns the tasks with parts that a task is part of by its id.
func (l *list) wholesOf(it *item) (out []*item) {
	if len(l.whole) == 0 {
		return nil
	}
	if l.wholeAt == nil {
		l.wholeAt = map[string][]int{}
		for i := range l.whole {
			l.wholeAt[l.whole[i].id] = append(l.wholeAt[l.whole[i].id], i)
		}
	}
	var above []int
	for at := range wholes(it.id) {
		above = append(above, l.wholeAt[it.id[:at]]...)
	}
	slices.Sort(above)
	for _, i := range above {
		if w := &l.whole[i]; w.has(it) {
			out = append(out, w)
		}
	}
	return out
}

// wholes returns the tasks and other entries that a task is part of, by its id or by its
// own account, and those that these are part of.
func (l *list) wholes(it *item, all entries) (out []*item) {
	out = l.wholesOf(it)
	within := slices.Clone(it.within)
	for i := 0; i < len(within); i++ {
		for _, w := range []*item{all.apart[within[i]], l.find(within[i])} {
			if w == nil || w.id == it.id {
				continue
			}
			out = append(out, w)
			for _, id := range w.within {
				if !slices.Contains(within, id) {
					within = append(within, id)
				}
			}
		}
	}
	return out
}

// named returns the tasks that an id stands for next to the task of another id: of those in
// other places, all.
func (l *list) named(beside, id string, all entries) []string {
	for prefix := beside; ; {
		cut := strings.LastIndexAny(prefix, ".:")
		full := prefix[:cut+1] + id
		if whole := all.tasks[full]; whole != nil {
			if l.find(full) != nil {
				return []string{full}
			}
			var out []string
			for _, part := range all.parts.of(whole) {
				out = append(out, part.id)
			}
			return out
		}
		if cut < 0 {
			return all.tagged[id]
		}
		prefix = prefix[:cut]
	}
}
