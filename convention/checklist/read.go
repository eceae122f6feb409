package checklist

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// list is one file of tasks as read.
type list struct {
	family *Family
	file   *doc.File
	title  string
	branch string // that it is worked on, "" where it names none
	ours   bool   // it is a list, even if no task can be read
	names  bool   // it names tasks that are not written as such
	there  bool   // the place of the tasks is there, even if it is empty
	// conflicted says that it contains both sides of a merge.
	conflicted bool
	boxes      map[int]item       // by line, each parsed alone; without an id if it is not that of a task
	items      []item             // those without parts, in file order
	at         map[string]int     // where in items an id is, see find
	numbers    map[string]string  // the id of the last task that was added with a number
	same       map[string]string  // the id of the first task with an id, words and section as they stand
	again      map[string]int     // what the next task gets that is called as an earlier one
	ids        map[int]string     // by line, that of the last task that was added with a place there
	whole      []item             // those with parts: their status follows from their parts
	apart      []item             // entries that are not tasks but that tasks may need
	loose      []loose            // boxes that are not tasks, and entries elsewhere
	lists      map[*doc.Node]bool // the lists of tasks that were read
	phases     []phase            // headings below which tasks are numbered from the start
	// closedLast are the tasks closed by the latest change that closed any, as far as git
	// was asked.
	closedLast []string
	current    string // the part of the list that the tool says is being worked on
	here       ledger.Value
	overall    []place
	latest     *doc.File                 // the file of a task that was changed last
	unread     bool                      // the file of a task cannot be read
	statuses   []string                  // the words for a status that the list says its tasks use
	legend     map[string]reprise.Status // of the marks that the list explains itself
	denied     map[string]string         // what it says of marks that mean something else by themselves
	explained  map[int]bool              // the lines of the legend
	among      *among                    // the items, see parts
	wholeAt    map[string][]int          // by id, where in whole
	neededBy   map[string][]int          // by id, where in items the open ones are that need it
	peopled    string                    // current, if it has tasks
	said       string                    // the word that a task is to be recorded with, if that is known
}

// item is one task.
type item struct {
	id, text, phase string
	number          string // its id as written, which several tasks may have
	section         int    // the line of the heading right above it
	parallel        bool
	optional        bool     // need not be done
	person          bool     // only a person can do it
	leads           bool     // stands for its whole phase
	holds           bool     // is no task, but the whole of some
	inside          bool     // its entry is in that of its whole
	indent          int      // of its box
	until           int      // the line of the next box that is not below it
	heads           bool     // is the heading of its parts
	own             bool     // and has something of its own beside them
	parts           []string // the tasks that are part of it
	rank            int      // its urgency, 0 the most urgent
	needs           []string
	within          []string // what it is part of, if its id does not say
	around          []string // that, and what that is part of
	held            string   // why it is not started, or ""
	stuck           bool     // a line below it says so
	putOff          bool     // its own text says so
	said            []string // the pieces of its text that may say how far it is
	twice           bool     // another task has its number and is done
	places          []place  // where its status is, usually one
	node            ledger.Value
	file            string             // its own, beside the list
	boxes           []reprise.Box      // what is not ticked in that
	against         []ledger.Objection // what is said there against its being done
	made            []string           // the files that it makes, or made
}

// loose is a box that is not a task.
type loose struct {
	text   string
	place  place
	within string // the id of the task above it, or ""
	phase  string // of an entry that is named like a task
}

// place is where a file gives the status of a task: a Markdown box or label, or a value.
type place struct {
	word   string
	status reprise.Status
	source reprise.Source
	box    ledger.Text
	label  ledger.Text
	value  ledger.Value
	lesser bool // if they disagree, another place counts
	again  bool // the entry of the previous place says it in other words
	whole  bool // it is that of what the task is part of
	// mark is what in the text of a box says how far the task is, and says what that means.
	mark string
	says reprise.Status
	last string   // the word behind the text that settles which of the two counts
	held string   // why what the box says cannot be started, or ""
	more []string // what is said of the box outside of its own line
}

// deciding returns the place that decides the status of the task: the first that is not
// closed, else the first. If its entry also calls the task closed, its status is unknown.
func (it *item) deciding() place {
	for _, p := range it.places {
		if !p.lesser && !p.status.Closed() {
			if it.contested() {
				p.status = reprise.Unknown
			}
			return p
		}
	}
	return it.places[0]
}

// contested reports whether one entry says both that the task is closed and that it is not.
func (it *item) contested() bool {
	for i, p := range it.places {
		if p.again && p.status.Closed() != it.places[i-1].status.Closed() {
			return true
		}
	}
	return false
}

// said returns the word or, with its brackets, the mark in a box.
func (p place) said() string {
	if utf8.RuneCountInString(p.word) == 1 && !p.again {
		return "[" + strings.ToLower(p.word) + "]"
	}
	return doc.Clip(p.word, 40)
}

func (it *item) status() reprise.Status { return it.deciding().status }

// read reads a list of tasks.
func (l Layout) read(r *doc.Reader, name string) *list {
	out := &list{family: &l.family, file: r.Open(name)}
	if l.family.Form == Boxes {
		out.boxesOnce()
		out.readSplit(r)
		out.ours = out.ours || len(out.items) > 0 || l.family.at(r, name)
	}
	if out.conflicted = out.file.Conflicted(); out.conflicted {
		out.items, out.at, out.whole, out.loose = nil, nil, nil, nil
	}
	switch l.family.Form {
	case Boxes:
	case Files:
		out.readFiles(r)
	default:
		out.readTree(r)
	}
	out.resolve()
	out.readOverall(r)
	return out
}

// add adds a task. One with the id and the words of another in the same section is the
// same task in another place; anywhere else, or with other words, it is a separate task,
// as is every one that has no id but its words. A part belongs to the last task before it
// that has the number of its whole.
func (l *list) add(it item, named bool) {
	it.number = it.id
	it.id = l.below(it.id)
	if l.same == nil {
		l.same, l.again = map[string]string{}, map[string]int{}
	}
	id := it.id
	same := fmt.Sprint(id, "\x00", doc.Fold(it.text), "\x00", it.section)
	if o := l.find(l.same[same]); named && o != nil {
		o.places = append(o.places, it.places...)
		l.placed(&it, o.id)
		return
	}
	for n := max(2, l.again[id]); l.find(it.id) != nil; n++ {
		it.id = fmt.Sprintf("%s~%d", id, n)
		l.again[id] = n + 1
	}
	if l.same[same] == "" {
		l.same[same] = it.id
	}
	l.items = append(l.items, it)
	if l.numbers == nil {
		l.numbers = map[string]string{}
	}
	l.numbers[it.number] = it.id
	l.placed(&it, it.id)
}

// placed notes the lines of the task with an id.
func (l *list) placed(it *item, id string) {
	if l.ids == nil {
		l.ids = map[int]string{}
	}
	for _, p := range it.places {
		l.ids[p.source.Line] = id
	}
}

// below returns a number with the id of the task that it is a part of.
func (l *list) below(number string) string {
	for at := range wholes(number) {
		if id, ok := l.numbers[number[:at]]; ok {
			return id + number[at:]
		}
	}
	return number
}

// maxParts is how many times a number is divided into parts.
const maxParts = 32

// wholes gives the places of the dots in a number, the last one first: what is before one is the
// number of what it may be a part of.
func wholes(number string) iter.Seq[int] {
	return func(yield func(at int) bool) {
		for at, n := strings.LastIndexByte(number, '.'), 0; at > 0 && n < maxParts; at, n = strings.LastIndexByte(number[:at], '.'), n+1 {
			if !yield(at) {
				return
			}
		}
	}
}

// group removes the tasks with parts from the list. The whole is the phase of its parts. A task that has only
// optional parts remains one. If tasks themselves say what they are part of, or the whole
// has something of its own to do, it is also a task, which comes after its parts.
func (l *list) group() {
	parts := partsAmong(l.items)
	for i := range l.items {
		whole := &l.items[i]
		for _, part := range parts.of(whole) {
			part.phase = whole.text
			part.optional = part.optional || whole.optional
			if l.family.Keys.Within != "" || whole.own && !part.optional {
				whole.parts = append(whole.parts, part.id)
			}
		}
	}
	all := l.items
	l.items, l.at, l.among = nil, nil, nil
	for _, it := range all {
		required := func(part *item) bool { return it.optional || !part.optional }
		if l.family.Keys.Within == "" && !it.own && slices.ContainsFunc(parts.of(&it), required) {
			l.whole = append(l.whole, it)
		} else {
			l.items = append(l.items, it)
		}
	}
}

// among are tasks by what they may be a part of: the beginnings of their ids, their phases, and
// what is around them.
type among struct {
	items                  []item
	byID, byPhase, byWhole map[string][]int
}

func partsAmong(items []item) *among {
	a := &among{items: items, byID: map[string][]int{}, byPhase: map[string][]int{}, byWhole: map[string][]int{}}
	for i := range items {
		it := &items[i]
		for at := range wholes(it.id) {
			a.byID[it.id[:at]] = append(a.byID[it.id[:at]], i)
		}
		a.byPhase[it.phase] = append(a.byPhase[it.phase], i)
		for _, id := range it.around {
			a.byWhole[id] = append(a.byWhole[id], i)
		}
	}
	return a
}

// of returns those that are parts of another one.
func (a *among) of(whole *item) (out []*item) {
	at := slices.DeleteFunc(slices.Clone(a.byID[whole.id]), func(i int) bool { return !whole.has(&a.items[i]) })
	if whole.leads {
		at = append(at, a.byPhase[whole.phase]...)
	}
	if whole.holds {
		at = append(at, a.byWhole[whole.id]...)
	}
	slices.Sort(at)
	for _, i := range slices.Compact(at) {
		out = append(out, &a.items[i])
	}
	return out
}

// parts returns the tasks of the list that are parts of another one. It is asked once they are all
// resolved.
func (l *list) parts(whole *item) []*item {
	if l.among == nil || len(l.among.items) != len(l.items) || len(l.items) > 0 && &l.among.items[0] != &l.items[0] {
		l.among = partsAmong(l.items)
	}
	return l.among.of(whole)
}

// has reports whether a task is part of this one by its id, which is that of the whole, a
// dot and more. The id alone does not say so of boxes: people also number the task that
// they insert after 12 as 12.5. A part stands below its whole, with more indentation or
// where the whole is its heading.
func (it *item) has(part *item) bool {
	if n := len(it.id); len(part.id) <= n || part.id[n] != '.' || part.id[:n] != it.id {
		return false
	}
	whole, at := it.places[0], part.places[0]
	return !whole.box.There() || !at.box.There() || whole.source.Line < at.source.Line && at.source.Line < it.until && (it.indent < part.indent || it.heads)
}

// find returns the first task with an id, or nil. Lists have thousands of tasks, so where each is
// is remembered; whoever takes tasks out forgets it. Those that were added since are looked at.
func (l *list) find(id string) *item {
	if i, ok := l.at[id]; l.at == nil || ok && l.items[i].id != id { // they were sorted
		l.at = make(map[string]int, len(l.items))
	}
	for i := len(l.at); i < len(l.items); i++ {
		if _, ok := l.at[l.items[i].id]; !ok {
			l.at[l.items[i].id] = i
		}
	}
	if i, ok := l.at[id]; ok {
		return &l.items[i]
	}
	return nil
}

// match parses a text by the family's Item. ok is false for anything that is not a task.
func (f *Family) match(text string) (it item, ok bool) {
	if f.Item == nil {
		return item{id: text}, text != "" && f.Form != Boxes
	}
	m := f.Item.FindStringSubmatch(text)
	if m == nil {
		return item{}, false
	}
	group := func(name string) string {
		if i := f.Item.SubexpIndex(name); i >= 0 {
			return m[i]
		}
		return ""
	}
	it = item{id: group("id"), text: group("text"), phase: group("phase"), optional: group("optional") != ""}
	return it, it.id != ""
}

// Load implements reprise.Layout.
func (l Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	if l.planned(ref) {
		return l.loadPlanned(fsys, ref), nil
	}
	r := doc.NewReader(fsys)
	read := l.read(r, ref.Path)
	run := read.decided(ref)
	run.Title = read.title
	run.Active(read.file.MTime, read.file.At(0))
	if read.latest != nil {
		run.Active(read.latest.MTime, read.latest.At(0))
	}
	for i := range read.items {
		read.report(r, run.ID, &read.items[i])
	}
	for _, whole := range read.holding() {
		if whole.stuck {
			read.report(r, run.ID, whole)
		}
		read.reportWhole(r, run, whole)
	}
	read.reportUnfinished(r, run)
	read.reportPutOff(r, ref.ID)
	read.reportLeft(r, ref.ID)
	read.reportBeside(r, ref.ID)
	read.reportAgainst(r)
	read.reportOverall(r, run)
	read.reportApproval(r, run)
	read.reportGates(r, run)
	if owner := l.owner(r, ref.Path); owner != "" && len(run.Next) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Blocking, Subject: ref.ID, Source: read.file.At(0),
			Message: "the list is a copy of " + owner + ", which may be further along, and the end of a task could not be recorded there",
			Hint:    "do the task, and record it with " + l.command(run.Next[0].ID, reprise.Done),
		})
	}
	if len(run.Next) > 0 && read.unlisted(reprise.Done) {
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Blocking, Subject: ref.ID, Source: read.file.At(0),
			Message: "no word under " + l.family.Statuses + " is known to mean done, so the end of a task could not be recorded",
			Hint:    "add " + strconv.Quote(l.family.Words[reprise.Done][0]) + " to " + l.family.Statuses + " in " + ref.Path + ", or use it in place of the word that means done there",
		})
	}
	run.Findings = r.Findings()
	read.reportPassed(run)
	if run.State == reprise.Unreadable && len(run.Findings) == 0 {
		run.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: ref.ID, Source: read.file.At(0),
			Message: run.Reason,
			Hint:    "`git log -p -- " + reprise.Pasted(ref.Path, "FILE") + "` shows what it held, `reprise undo` lists the snapshots; write the tasks again" + read.writes(),
		})
	}
	return run, nil
}

// writes says how tasks are written in a list of boxes, after a sentence about writing them.
func (l *list) writes() string {
	if l.family.Form != Boxes {
		return ""
	}
	return ", each on a line of its own: `- [ ]`, or `- [x]` if it is done, then its id and text"
}

// restores says how to get the tasks of a list back that the last commit has.
func restores(list string) string {
	return "`git checkout HEAD -- " + reprise.Pasted(list, "FILE") + "` restores the committed version, `reprise undo` lists the snapshots; or write the tasks again"
}

func (l *list) step(it *item) reprise.Step {
	decides := it.deciding()
	s := reprise.Step{
		ID: it.id, Title: it.text, Phase: it.phase, Path: l.file.Path, Role: it.role(),
		Status: decides.status, Optional: it.spare(), Needs: it.needs, Made: it.made, Source: it.places[0].source,
	}
	if l.family.Form == Files {
		s.Path = it.file
	}
	for _, p := range it.places {
		word := p.word
		if p.box.There() {
			word = "[" + strings.ToLower(word) + "]"
		}
		s.Claims = append(s.Claims, reprise.Claim{
			Ledger: path.Base(p.source.File), Status: p.status, Word: word, Source: p.source, Won: p.source == decides.source && p.word == decides.word,
		})
	}
	return s
}
