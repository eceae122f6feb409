package checklist

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
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
	ours   bool // it is a list, even if no task can be read
	names  bool // it names tasks that are not written as such
	there  bool // the place of the tasks is there, even if it is empty
	// conflicted says that it contains both sides of a merge.
	conflicted bool
	items      []item  // those without parts, in file order
	whole      []item  // those with parts: their status follows from their parts
	apart      []item  // entries that are not tasks but that tasks may need
	loose      []loose // boxes that are not tasks
	phases     []phase // headings below which tasks are numbered from the start
	// closedLast are the tasks closed by the latest change that closed any, as far as git
	// was asked.
	closedLast []string
	current    string // the part of the list that the tool says is being worked on
	here       ledger.Value
	overall    []place
	latest     *doc.File // the file of a task that was changed last
	unread     bool      // the file of a task cannot be read
	statuses   []string  // the words for a status that the list says its tasks use
	said       string    // the word that a task is to be recorded with, if that is known
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
	indent          int      // of its box
	until           int      // the line of the next box that is not below it
	heads           bool     // is the heading of its parts
	own             bool     // and has something of its own beside them
	parts           []string // the tasks that are part of it
	rank            int      // its urgency, 0 the most urgent
	needs           []string
	within          []string // what it is part of, if its id does not say
	held            string   // why it is not started, or ""
	stuck           bool     // a line below it says so
	putOff          bool     // its own text says so
	twice           bool     // another task has its number and is done
	places          []place  // where its status is, usually one
	node            ledger.Value
	file            string        // its own, beside the list
	boxes           []reprise.Box // what is not ticked in that
}

// loose is a box that is not a task.
type loose struct {
	text   string
	place  place
	within string // the id of the task above it, or ""
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
}

// deciding returns the place that decides the status of the task: the first that is not
// closed, else the first.
func (it *item) deciding() place {
	for _, p := range it.places {
		if !p.lesser && !p.status.Closed() {
			return p
		}
	}
	return it.places[0]
}

// said returns the word or, with its brackets, the mark in a box.
func (p place) said() string {
	if utf8.RuneCountInString(p.word) == 1 {
		return "[" + strings.ToLower(p.word) + "]"
	}
	return doc.Clip(p.word, 40)
}

func (it *item) status() reprise.Status { return it.deciding().status }

// samples are folders of lists that are no work: they are copied from there, or tests read
// them.
var samples = []string{"templates", "fixtures", "__fixtures__", "testdata"}

// Find implements reprise.Layout. A family's folders are looked for in every folder of
// the tree. Where other files may be, a file without any item and without the heading of
// a list is not one of this family, and neither is one that the project describes itself.
func (l Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	var refs []reprise.Ref
	holding := doc.Index(fsys)
	for _, pattern := range l.family.Lists {
		top, _, _ := strings.Cut(pattern, "/")
		for _, dir := range holding[top] {
			if slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool { return slices.Contains(samples, name) }) {
				continue
			}
			found, err := l.findIn(fsys, dir, pattern)
			if err != nil {
				return nil, err
			}
			refs = append(refs, slices.DeleteFunc(found, func(ref reprise.Ref) bool {
				older := func(o reprise.Ref) bool { return path.Dir(o.Path) == path.Dir(ref.Path) }
				return !strings.Contains(pattern, "*") && slices.ContainsFunc(refs, older)
			})...)
		}
	}
	if len(refs) == 0 {
		return nil, nil
	}
	own, err := Own{}.Find(fsys)
	return slices.DeleteFunc(refs, func(ref reprise.Ref) bool {
		return slices.ContainsFunc(own, func(o reprise.Ref) bool { return o.Path == ref.Path })
	}), err
}

// findIn finds the lists that match a pattern in a folder.
func (l Layout) findIn(fsys fs.FS, dir, pattern string) (refs []reprise.Ref, err error) {
	names, err := glob(fsys, dir, pattern)
	for _, name := range names {
		if e := l.family.Elsewhere; e != "" && doc.NewReader(fsys).Exists(path.Join(path.Dir(name), e)) || ofAnother(name, pattern) {
			continue
		}
		if l.family.Shared && !strings.ContainsAny(pattern[:1], "._") { // such a folder is the tool's own
			r := doc.NewReader(fsys)
			if headed := l.family.Form == Boxes && l.family.heads(r.Open(name).Markdown()); !headed {
				if read := l.read(r, name); !read.ours && len(read.items) == 0 {
					continue
				}
			}
		}
		refs = append(refs, l.ref(name, pattern))
	}
	if err != nil || l.family.Shared || l.family.Name == OwnName || !strings.Contains(path.Dir(pattern), "*") {
		return refs, err
	}
	planned, err := l.findPlanned(fsys, dir, pattern)
	return append(refs, planned...), err
}

// findPlanned finds folders that have a list's other files but no list.
func (l Layout) findPlanned(fsys fs.FS, dir, pattern string) (refs []reprise.Ref, err error) {
	for _, beside := range l.family.besides() {
		names, err := glob(fsys, dir, path.Join(path.Dir(pattern), beside))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			same := func(o reprise.Ref) bool { return path.Dir(o.Path) == path.Dir(name) }
			if !doc.NewReader(fsys).Exists(path.Join(path.Dir(name), path.Base(pattern))) && !slices.ContainsFunc(refs, same) {
				refs = append(refs, l.ref(name, pattern))
			}
		}
	}
	return refs, nil
}

// besides returns the files in the folder of a list.
func (f *Family) besides() []string {
	names := append(slices.Clone(f.Inputs), slices.Sorted(maps.Keys(f.Overall))...)
	return slices.DeleteFunc(names, func(name string) bool { return strings.ContainsAny(name, "/{") })
}

// planned reports whether a run has no list yet: its path is that of a file next to it.
func (l Layout) planned(ref reprise.Ref) bool {
	return slices.Contains(l.family.besides(), path.Base(ref.Path)) && !slices.ContainsFunc(slices.Concat(l.family.Lists, []string{l.family.Archived}), func(pattern string) bool {
		_, ok := fits(ref.Path, pattern)
		return ok
	})
}

// loadPlanned returns the run of a missing list.
func (l Layout) loadPlanned(fsys fs.FS, ref reprise.Ref) *reprise.Run {
	r := doc.NewReader(fsys)
	read := &list{family: &l.family, file: r.Open(ref.Path)}
	read.readOverall(r)
	name := path.Join(path.Dir(ref.Path), path.Base(l.family.Lists[0]))
	run := &reprise.Run{Ref: ref, State: reprise.NotStarted, Reason: "it has no list of tasks: there is no " + path.Base(name)}
	run.Active(read.file.MTime, read.file.At(0))
	for _, at := range read.overall {
		switch at.status {
		case reprise.Pending:
		case reprise.Skipped:
			run.State, run.Reason = reprise.Stopped, "it was cancelled"
		default:
			run.State = reprise.Waiting
			run.Reason = fmt.Sprintf("%s says %q, and there is no %s", path.Base(at.source.File), doc.Clip(at.word, 40), path.Base(name))
		}
	}
	run.Findings = r.Findings()
	if run.State != reprise.Stopped {
		run.Report(reprise.Finding{
			Code: reprise.CodeMissingArtifact, Severity: reprise.Warning, Subject: ref.ID, Source: read.file.At(0),
			Message: name + " is missing: it was not written yet, or it was removed",
			Hint:    fmt.Sprintf("let its tool write it; `git log --oneline -- %s` shows whether it existed", reprise.Pasted(name, "FILE")),
		})
	}
	return run
}

// ofAnother reports whether a list is where another family keeps its own, by a more
// specific pattern: .kiro/specs/a/tasks.md is Kiro's and not Spec Kit's.
func ofAnother(name, pattern string) bool {
	return slices.ContainsFunc(families(), func(f Family) bool {
		return slices.ContainsFunc(f.Lists, func(p string) bool {
			_, ok := fits(name, p)
			return ok && strings.Count(p, "/") > strings.Count(pattern, "/")
		})
	})
}

// fits reports whether a file is where a pattern says, in a folder of the project.
func fits(name, pattern string) (folder string, ok bool) {
	parts := strings.Split(name, "/")
	at := len(parts) - 1 - strings.Count(pattern, "/")
	if at < 0 {
		return "", false
	}
	ok, _ = path.Match(pattern, path.Join(parts[at:]...))
	return path.Join(parts[:at]...), ok
}

// archived reports whether the list is in the archive.
func (l *list) archived() bool {
	_, ok := fits(l.file.Path, l.family.Archived)
	return ok
}

// PutAway returns the archived place of a list that is no longer where it was, or false.
func (l Layout) PutAway(fsys fs.FS, ref reprise.Ref) (reprise.Ref, bool) {
	for _, pattern := range l.family.Lists {
		top, ok := fits(ref.Path, pattern)
		if !ok || l.family.Archived == "" {
			continue
		}
		names, _ := glob(fsys, cmp.Or(top, "."), l.family.Archived) // unreadable folders are not known to have it
		for _, name := range slices.Backward(names) {
			if folder := path.Base(path.Dir(name)); folder == ref.ID || strings.HasSuffix(folder, "-"+ref.ID) {
				return reprise.Ref{Layout: ref.Layout, Kind: reprise.KindTasks, ID: ref.ID, Path: name}, true
			}
		}
	}
	return reprise.Ref{}, false
}

// glob returns the names below a folder that match a pattern, including dangling links.
func glob(fsys fs.FS, top, pattern string) (out []string, err error) {
	below, err := fs.Sub(fsys, top)
	if err != nil {
		return nil, err
	}
	dirs, err := fs.Glob(below, path.Dir(pattern))
	for _, dir := range dirs {
		dir = path.Join(top, dir)
		if info, err := fs.Stat(fsys, dir); err != nil || !info.IsDir() {
			continue
		}
		for _, e := range doc.NewReader(fsys).Dir(dir) {
			if ok, _ := path.Match(path.Base(pattern), e.Name()); ok {
				out = append(out, path.Join(dir, e.Name()))
			}
		}
	}
	return out, err
}

func (l Layout) ref(name, pattern string) reprise.Ref {
	ref := reprise.Ref{Layout: l.family.Name, Kind: reprise.KindTasks, ID: path.Base(path.Dir(name)), Path: name}
	if !strings.Contains(path.Dir(pattern), "*") {
		ref.ID = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	if l.family.Form == Files {
		ref.ID = strings.TrimPrefix(path.Base(path.Dir(name)), ".")
	}
	return ref
}

// read reads a list of tasks.
func (l Layout) read(r *doc.Reader, name string) *list {
	out := &list{family: &l.family, file: r.Open(name)}
	if l.family.Form == Boxes {
		out.readBoxes()
		out.ours = out.ours || len(out.items) > 0
	}
	if out.conflicted = out.file.Conflicted(); out.conflicted {
		out.items, out.whole, out.loose = nil, nil, nil
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
	id := it.id
	for n := 2; ; n++ {
		i := slices.IndexFunc(l.items, func(o item) bool { return o.id == it.id })
		if i < 0 {
			break
		}
		if o := l.items[i]; named && o.id == it.id && doc.Fold(o.text) == doc.Fold(it.text) && o.section == it.section {
			l.items[i].places = append(l.items[i].places, it.places...)
			return
		}
		it.id = fmt.Sprintf("%s~%d", id, n)
	}
	l.items = append(l.items, it)
}

// below returns a number with the id of the task that it is a part of.
func (l *list) below(number string) string {
	for at := strings.LastIndexByte(number, '.'); at > 0; at = strings.LastIndexByte(number[:at], '.') {
		for _, whole := range slices.Backward(l.items) {
			if whole.number == number[:at] {
				return whole.id + number[at:]
			}
		}
	}
	return number
}

// group removes the tasks with parts from the list. The whole is the phase of its parts. A task that has only
// optional parts remains one. If tasks themselves say what they are part of, or the whole
// has something of its own to do, it is also a task, which comes after its parts.
func (l *list) group() {
	for i := range l.items {
		whole := &l.items[i]
		for _, part := range l.parts(whole, l.items) {
			part.phase = whole.text
			part.optional = part.optional || whole.optional
			if l.family.Keys.Within != "" || whole.own && !part.optional {
				whole.parts = append(whole.parts, part.id)
			}
		}
	}
	all := l.items
	l.items = nil
	for _, it := range all {
		required := func(part *item) bool { return it.optional || !part.optional }
		if l.family.Keys.Within == "" && !it.own && slices.ContainsFunc(l.parts(&it, all), required) {
			l.whole = append(l.whole, it)
		} else {
			l.items = append(l.items, it)
		}
	}
}

// parts returns the tasks that are parts of another one.
func (l *list) parts(whole *item, among []item) (out []*item) {
	for i := range among {
		if o := &among[i]; whole.has(o) || whole.leads && o.phase == whole.phase {
			out = append(out, o)
		}
	}
	return out
}

// has reports whether a task is part of this one by its id, which is that of the whole, a
// dot and more. The id alone does not say so of boxes: people also number the task that
// they insert after 12 as 12.5. A part stands below its whole, with more indentation or
// where the whole is its heading.
func (it *item) has(part *item) bool {
	if !strings.HasPrefix(part.id, it.id+".") {
		return false
	}
	whole, at := it.places[0], part.places[0]
	return !whole.box.There() || !at.box.There() || whole.source.Line < at.source.Line && at.source.Line < it.until && (it.indent < part.indent || it.heads)
}

// find returns the task with an id, or nil.
func (l *list) find(id string) *item {
	i := slices.IndexFunc(l.items, func(it item) bool { return it.id == id })
	if i < 0 {
		return nil
	}
	return &l.items[i]
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
		read.report(r, &read.items[i])
	}
	for i := range read.whole {
		if read.whole[i].stuck {
			read.report(r, &read.whole[i])
		}
		read.reportWhole(r, &read.whole[i])
	}
	read.reportPutOff(r, ref.ID)
	read.reportLeft(r, ref.ID)
	read.reportBeside(r, ref.ID)
	read.reportOverall(r, run)
	read.reportApproval(r, run)
	if owner := l.owner(r, ref.Path); owner != "" && len(run.Next) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Blocking, Subject: ref.ID, Source: read.file.At(0),
			Message: "the list is a copy of " + owner + ", which may be further along, and the end of a task could not be recorded there",
			Hint:    "do the task, and record it with " + l.command(run.Next[0].ID, reprise.Done),
		})
	}
	run.Findings = r.Findings()
	read.reportPassed(run)
	if run.State == reprise.Unreadable && len(run.Findings) == 0 {
		run.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: ref.ID, Source: read.file.At(0),
			Message: run.Reason,
			Hint:    restores(ref.Path),
		})
	}
	return run, nil
}

// restores says how to get the tasks of a list back.
func restores(list string) string {
	return "`git checkout HEAD -- " + reprise.Pasted(list, "FILE") + "` restores the committed version, `reprise undo` lists the snapshots; or write the tasks again"
}

func (l *list) step(it *item) reprise.Step {
	decides := it.deciding()
	s := reprise.Step{
		ID: it.id, Title: it.text, Phase: it.phase, Path: l.file.Path, Role: it.role(),
		Status: decides.status, Optional: it.spare(), Needs: it.needs, Source: it.places[0].source,
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
