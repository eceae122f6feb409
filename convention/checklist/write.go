package checklist

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Record implements reprise.Recorder. What a list has no word for stays in the journal
// alone. A task with parts follows its parts.
func (l Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	if l.planned(r.Ref) {
		return nil, ledger.Cannot("%s has no list of tasks", r.ID)
	}
	changes := ledger.NewChanges(fsys)
	read := l.read(changes.Reader(), r.Path)
	if it := read.find(ev.Question); ev.Kind == reprise.QuestionAnswered && it != nil && it.person && ev.Text == personDid {
		ev.Kind, ev.Step = reprise.StepFinished, it.id
	}
	if ev.Kind == reprise.QuestionAnswered && read.current != "" && ev.Question == read.whereID() {
		changes.Set(read.here, ev.Text)
		changes.Structured(read.here.Source().File).Because("work continues in %s", ev.Text)
		return changes.Edits()
	}
	status, ok := ledger.Wanted(ev.Kind)
	if !ok {
		return nil, ledger.Cannot("a list of tasks has no place for %s", ev.Kind)
	}
	if !read.file.OK() {
		return nil, changes.Damaged(r.Path)
	}
	it := read.find(ev.Step)
	if it == nil && ev.Listed != nil && l.family.Form == Boxes {
		return l.putBack(changes, read, ev.Listed)
	}
	if it == nil {
		return nil, ledger.Cannot("%s lists no task %q", r.Path, doc.Clip(ev.Step, 60))
	}
	if ev.Kind == reprise.StepReset && ev.Outcome == cutOff && !read.lacks(it, reprise.InProgress) {
		status = reprise.InProgress // what is begun comes before the rest
	}
	if read.lacks(it, status) && status != reprise.Skipped && it.status().Closed() {
		status = reprise.Pending // that it is open again can be said
	}
	if read.lacks(it, status) && read.unlisted(status) {
		word := slices.Concat(l.family.Words[status], []string{status.String()})[0]
		return nil, ledger.Cannot("%s in %s are %s, and none of them means %s; add %q there", l.family.Statuses, r.Path, strings.Join(read.statuses, ", "), status, word)
	}
	if read.lacks(it, status) {
		return nil, ledger.Cannot("a list of tasks has no word for %s", status)
	}
	if it.status() == reprise.InReview && (status == reprise.InProgress || status == reprise.Pending || ev.Outcome == made) {
		return nil, nil // the result stays in review, whoever works on it
	}
	if l.family.Form == Lines {
		changes.JSONLines(r.Path)
	}
	if !it.is(status) {
		read.said = saidOf(r.Step(it.id), status)
		if err := l.owned(changes.Reader(), r.Path, it, status); err != nil {
			return nil, err
		}
		read.set(changes, it, status, ev)
	}
	if status == reprise.Done {
		read.tickBelow(changes, it) // ticking its own box may have left these
	}
	for _, whole := range read.holding() {
		if slices.Contains(read.parts(whole), it) {
			read.follow(changes, whole, it, status, ev)
		}
	}
	read.setOverall(changes, it, status)
	return changes.Edits()
}

// lacks reports whether a task has no way to say a status: the family has no word for it,
// or the list does not name it, or the task only says yes or no. That it is left out is said
// beside a box, and beside a yes or no.
func (l *list) lacks(it *item, status reprise.Status) bool {
	if l.unlisted(status) {
		return true
	}
	if skips := status == reprise.Skipped; skips && (it.places[0].box.There() || it.places[0].label.There() && len(l.family.Stages[status]) > 0 || l.family.besideYesNo(it).Path != nil) {
		return false
	}
	says := func(p place) bool { return !yesNo(p.word) }
	return len(l.family.Words[status]) == 0 || status != reprise.Done && status != reprise.Pending && !slices.ContainsFunc(it.places, says)
}

// unlisted reports whether the list names the words for a status, and none means this one.
func (l *list) unlisted(status reprise.Status) bool {
	return len(l.statuses) > 0 && !slices.ContainsFunc(l.statuses, func(word string) bool { return l.means(word) == status })
}

// besideYesNo returns where a task that only says yes or no can say more, nothing if it has no
// such place.
func (f *Family) besideYesNo(it *item) ledger.Value {
	key, _, _ := strings.Cut(f.Keys.Status, "|")
	says := func(p place) bool { return !yesNo(p.word) }
	if key == "" || !it.node.Is(doc.Map) || it.node.Has(key) || slices.ContainsFunc(it.places, says) || len(f.Words[reprise.Skipped]) == 0 {
		return ledger.Value{}
	}
	return it.node.In(key)
}

// saidOf returns the word by which a step has a status, "" if it has another.
func saidOf(s *reprise.Step, status reprise.Status) string {
	if s != nil {
		for _, c := range s.Claims {
			if c.Status == status {
				return c.Word
			}
		}
	}
	return ""
}

// cutOff is the outcome of a task that is reset because its attempt was cut off.
const cutOff = "cut-off"

// is reports whether every place gives the task this status.
func (it *item) is(status reprise.Status) bool {
	return !slices.ContainsFunc(it.places, func(p place) bool { return p.status != status })
}

// owned returns the error for a list that is only a copy of what its tool keeps.
func (l Layout) owned(r *doc.Reader, list string, it *item, status reprise.Status) error {
	owner := l.owner(r, list)
	if owner == "" {
		return nil
	}
	return ledger.Cannot("the list is a copy of %s, which is not written to; run %s", owner, l.command(it.id, status))
}

// owner returns where the tool keeps the original of the list, or "".
func (l Layout) owner(r *doc.Reader, list string) string {
	for _, beside := range slices.Sorted(maps.Keys(l.family.Owner)) {
		name, key := path.Join(path.Dir(list), beside), l.family.Owner[beside]
		switch {
		case !r.Exists(name):
		case key == "":
			return name
		default:
			if f := r.Open(name); ledger.Root(f, f.JSON()).In(key).Plain() == l.family.OwnedBy {
				return "the " + l.family.OwnedBy + " database that " + name + " names"
			}
		}
	}
	return ""
}

// command returns the command that tells the tool the status of a task.
func (l Layout) command(id string, status reprise.Status) string {
	return "`" + strings.ReplaceAll(l.family.Commands[status], "{id}", reprise.Pasted(id, "ID")) + "`"
}

// tickBelow ticks the boxes below a done task.
func (l *list) tickBelow(c *ledger.Changes, it *item) {
	for _, b := range l.loose {
		if b.within == it.id && !b.place.status.Closed() {
			if b.place.label.There() {
				c.SetText(b.place.label, l.labelWord(reprise.Done))
			} else {
				c.Tick(b.place.box, true)
			}
			l.because(c, b.place.source.File, it, reprise.Done)
		}
	}
}

// set writes a status in every place of a task, with the times that its form has.
func (l *list) set(c *ledger.Changes, it *item, status reprise.Status, ev reprise.Event) {
	if more := l.family.besideYesNo(it); status == reprise.Skipped && more.Path != nil {
		c.Set(more, l.word(status))
		l.because(c, l.file.Path, it, status)
		l.stamp(c, it, status, ev.At)
		return
	}
	skips := status == reprise.Skipped && len(l.family.Words[status]) == 0
	for _, p := range it.places {
		if p.whole {
			continue // it follows
		}
		reworded, mark := "", l.legendMark(status)
		if p.box.There() {
			if status == reprise.Done && mark == "" && l.denied["x"] != "" {
				p.more = append(slices.Clone(p.more), l.denied["x"]) // a tick will not say it alone
			}
			reworded = l.family.reworded(&p, status, skips)
		}
		switch {
		case p.status == status && reworded == p.box.Value, p.again && it.places[0].mark != "":
			continue
		case p.box.There() && skips:
			c.Tick(p.box, false)
		case p.box.There() && mark != "":
			c.Mark(p.box, mark)
		case p.box.There() && (status == reprise.Done || status == reprise.Pending):
			c.Tick(p.box, status == reprise.Done)
		case p.box.There():
			c.Mark(p.box, l.word(status))
		case p.label.There():
			c.SetText(p.label, l.labelWord(status))
		case p.value.Is(doc.Bool):
			c.Set(p.value, status == reprise.Done)
		case yesNo(p.word):
			c.Set(p.value, strconv.FormatBool(status == reprise.Done))
		case status == reprise.Skipped && l.family.Keys.Reason != "":
			c.Set(p.value, l.word(reprise.Done))
		default:
			c.Set(p.value, l.word(status))
		}
		if reworded != p.box.Value {
			c.Reword(p.box, reworded)
		}
		l.because(c, p.source.File, it, status)
	}
	if reason := it.node.In(l.family.Keys.Reason); l.family.Keys.Reason != "" && status == reprise.Skipped {
		c.Set(reason, leftOutBy)
	} else if l.family.Keys.Reason != "" && !reason.IsNull() && (!status.Closed() || reason.Plain() == leftOutBy) {
		c.Set(reason, nil)
	}
	l.stamp(c, it, status, ev.At)
}

// leftOutBy is the reason that is written for a task that was closed because it is left out.
const leftOutBy = "skipped"

// word returns the word for a status in this list: for done, the one that its other tasks
// use. A yes or no is none.
func (l *list) word(status reprise.Status) string {
	return l.spelt(slices.DeleteFunc(slices.Clone(l.family.Words[status]), yesNo), status)
}

func yesNo(word string) bool { return word == "true" || word == "false" }

// labelWord returns the word for a status on a line of its own.
func (l *list) labelWord(status reprise.Status) string {
	if words := l.family.Stages[status]; len(words) > 0 {
		return l.spelt(words, status)
	}
	return l.word(status)
}

// spelt returns the word that the task was already read with, else the one that the list
// says it uses, else the first of some words or, for done, of those that its tasks have.
func (l *list) spelt(words []string, status reprise.Status) string {
	if slices.Contains(words, l.said) {
		return l.said
	}
	for _, means := range []func(word string) reprise.Status{l.family.means, l.means} {
		if i := slices.IndexFunc(l.statuses, func(used string) bool { return means(used) == status }); i >= 0 {
			return l.statuses[i]
		}
	}
	used := func(word string) bool {
		return slices.ContainsFunc(slices.Concat(l.items, l.whole), func(it item) bool { return it.deciding().word == word })
	}
	if i := slices.IndexFunc(words, used); i >= 0 && status == reprise.Done {
		return words[i]
	}
	return words[0]
}

// stamp writes the times of a task: when it was last changed, if it has that, and when it
// ended. A reopened task has not ended.
func (l *list) stamp(c *ledger.Changes, it *item, status reprise.Status, at time.Time) {
	k := l.family.Keys
	if !it.node.Is(doc.Map) || at.IsZero() {
		return
	}
	sample := ""
	if k.Changed != "" {
		sample = it.node.In(k.Changed).Plain()
		c.Touch(it.node.In(k.Changed), at, sample)
	}
	switch {
	case k.Ended == "":
	case status.Closed():
		c.Stamp(it.node.In(k.Ended), at, sample)
	case !it.node.In(k.Ended).IsNull():
		c.Set(it.node.In(k.Ended), nil)
	}
}

// because says what a file's change is for.
func (l *list) because(c *ledger.Changes, name string, it *item, status reprise.Status) {
	if l.family.Form == Boxes && name == l.file.Path || strings.HasSuffix(name, ".md") {
		c.Markdown(name).Because("task %s is %s", it.id, status)
	} else {
		c.Structured(name).Because("task %s is %s", it.id, status)
	}
}

// follow closes a task with the last of its required parts, and reopens it with the first
// that is reopened. It is done if one of them is, and else left out like them.
func (l *list) follow(c *ledger.Changes, whole, part *item, status reprise.Status, ev reprise.Event) {
	open := slices.ContainsFunc(l.parts(whole), func(o *item) bool {
		return o.id != part.id && !o.optional && !o.status().Closed()
	}) || whole.leads && slices.ContainsFunc(l.left(), func(b loose) bool { return b.phase == whole.phase })
	done := status == reprise.Done || slices.ContainsFunc(l.parts(whole), func(o *item) bool { return o.id != part.id && o.status() == reprise.Done })
	switch was := whole.status(); {
	case status == reprise.Skipped && !open && !was.Closed() && !done && !l.lacks(whole, status):
		l.set(c, whole, status, ev)
	case status.Closed() && !open && !was.Closed(), status == reprise.Done && !open && was == reprise.Skipped:
		l.set(c, whole, reprise.Done, ev)
		l.tickBelow(c, whole)
	case !status.Closed() && whole.status().Closed():
		again := reprise.Pending
		if whole.leads || len(l.family.Stages) > 0 {
			again = reprise.InProgress // some of it was done before
		}
		l.set(c, whole, again, ev)
	}
}
