package checklist

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Other files describe the same work: one for each task, or one for all of them. The list
// counts; disagreements are reported.

// beside adds the status that the task's own file gives.
func (l *list) beside(r *doc.Reader, it *item) {
	for _, pattern := range l.family.Beside {
		name := path.Join(path.Dir(l.file.Path), strings.ReplaceAll(pattern, "{id}", it.id))
		if !r.Exists(name) {
			continue
		}
		it.file = name
		f := r.Open(name)
		if !f.OK() {
			return
		}
		md := f.Markdown()
		it.text = cmp.Or(md.Title(), it.text)
		l.readOwn(it, f, md)
		if label, ok := md.All().Label(strings.Split(l.family.Label, "|")...); ok {
			it.places = append(it.places, place{
				word: label.Value, status: l.family.means(label.Value), source: f.At(label.Line), label: ledger.Label(f, label), lesser: true,
			})
		}
		return
	}
}

// readOwn reads what a task's own file says of how far the work is.
func (l *list) readOwn(it *item, f *doc.File, md *doc.Markdown) {
	for _, c := range ledger.Work(md, nil) {
		if !c.Ticked {
			it.boxes = append(it.boxes, reprise.Box{Step: it.id, Text: c.Text, Source: f.At(c.Line)})
		}
	}
	if made, ok := md.Section(l.family.Made); ok && l.family.Made != "" {
		it.made = ledger.NamedFiles(made.Lines(), l.project())
	}
	review, unmet := ledger.Objections(md, l.family.Reviews...)
	it.against = append(unmet, review...)
}

// reportAgainst reports tasks that are done although their own files speak against it.
func (l *list) reportAgainst(r *doc.Reader) {
	for i := range l.items {
		it := &l.items[i]
		if len(it.against) == 0 || it.status() != reprise.Done {
			continue
		}
		f := reprise.Finding{
			Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: it.id, Source: reprise.Source{File: it.file, Line: it.against[0].Line},
			Message: "marked done, but its own file says " + ledger.Against(it.against), Hint: "review it again, correct what is out of date, or reopen the task",
		}
		if !slices.ContainsFunc(it.against, func(o ledger.Objection) bool { return !o.Answered }) {
			f.Severity, f.Message, f.Hint = reprise.Info, fmt.Sprintf("its review says %s; all that it asks for is ticked since, and no second review says so", ledger.Against(it.against)), ""
		}
		r.Report(f)
	}
}

// reportBeside reports task files that disagree with the list or are missing. An old
// project has many for closed tasks, which are reported together.
func (l *list) reportBeside(r *doc.Reader, run string) {
	var stale, missing []*item
	kept := slices.ContainsFunc(l.items, func(it item) bool { return it.file != "" })
	for i := range l.items {
		it := &l.items[i]
		decides := it.deciding()
		planned := decides.status == reprise.Pending && stage(decides.word) > 0 // its file comes later
		if kept && it.file == "" && !planned && decides.status != reprise.Skipped {
			missing = append(missing, it)
		}
		for _, p := range it.places {
			switch {
			case !p.lesser || p.status == decides.status || p.status == reprise.Unknown:
			case decides.status.Closed():
				stale = append(stale, it)
			default:
				warn(r, reprise.CodeStatusDrift, it.id, p.source, "make the two agree",
					"it says %q; %s says %q and counts", doc.Clip(p.word, 40), path.Base(l.file.Path), doc.Clip(decides.word, 40))
			}
		}
	}
	list := path.Base(l.file.Path)
	l.tell(r, run, reprise.CodeStatusDrift, stale, "closed in "+list+", and their own files say otherwise: %s; "+list+" counts")
	l.tell(r, run, reprise.CodeMissingArtifact, missing, "in "+list+", and without a file of their own: %s")
}

// tell reports a finding about several tasks: a warning if one of them is open.
func (l *list) tell(r *doc.Reader, run, code string, about []*item, message string) {
	if len(about) == 0 {
		return
	}
	severity := reprise.Info
	if code == reprise.CodeStatusDrift || slices.ContainsFunc(about, func(it *item) bool { return !it.status().Closed() }) {
		severity = reprise.Warning
	}
	r.Report(reprise.Finding{
		Code: code, Severity: severity, Subject: run, Source: about[0].places[len(about[0].places)-1].source, Message: fmt.Sprintf(message, named(about)),
	})
}

// readUnlisted finds task files for tasks that the list does not have. If such a task is
// open, it is still to be done.
func (l *list) readUnlisted(r *doc.Reader) {
	for _, pattern := range l.family.Beside {
		dir := path.Join(path.Dir(l.file.Path), path.Dir(pattern))
		for _, e := range r.Dir(dir) {
			id, ok := strings.CutSuffix(e.Name(), path.Ext(pattern))
			number := l.family.number(id)
			if !ok || number == "" || slices.ContainsFunc(l.items, func(it item) bool { return l.family.number(it.id) == number }) {
				continue
			}
			f := r.Open(path.Join(dir, e.Name()))
			if label, ok := f.Markdown().All().Label(strings.Split(l.family.Label, "|")...); ok {
				l.loose = append(l.loose, loose{text: label.Value, place: place{status: l.family.means(label.Value), source: f.At(label.Line)}})
			}
		}
	}
}

// number returns the part before the text in an id that has both, or "".
func (f *Family) number(id string) string {
	it, ok := f.match(id)
	if !ok || it.phase == "" {
		return ""
	}
	return strings.TrimSuffix(id, "-"+it.text)
}

// readOverall reads what other files say about the whole list.
func (l *list) readOverall(r *doc.Reader) {
	for _, beside := range slices.Sorted(maps.Keys(l.family.Overall)) {
		name := path.Join(path.Dir(l.file.Path), beside)
		if !r.Exists(name) {
			continue
		}
		f, at := r.Open(name), place{}
		if key := l.family.Overall[beside]; key != "" {
			v := ledger.Root(f, f.JSON()).In(key)
			at = place{word: v.Plain(), source: f.At(0)}
			if v.Node != nil {
				at.source = f.At(v.Line)
			}
		} else {
			at = l.boxOf(f)
		}
		if at.status = l.family.meaning(l.family.Stages, at.word); at.word != "" {
			l.overall = append(l.overall, at)
		}
	}
}

// listed matches the start of an item or a heading about a list, with its box if it has
// one.
var listed = doc.Pattern(`^(?:[-*+]|#+)\s+(?:\[(.)\])?`)

// boxOf returns this list's box in a file that has one for each list.
func (l *list) boxOf(f *doc.File) (at place) {
	folder := regexp.MustCompile(`(?:^|[/(\[])` + regexp.QuoteMeta(path.Base(path.Dir(l.file.Path))) + `(?:[/)\]]|$)`)
	all := f.Markdown().All()
	for _, line := range all.Lines() {
		if m := listed().FindStringSubmatch(line.Text); m != nil {
			at = place{word: m[1], source: f.At(line.No)}
		}
		if !folder.MatchString(line.Text) {
			continue
		}
		boxes := all.Boxes()
		if i := slices.IndexFunc(boxes, func(c doc.Check) bool { return c.Line == at.source.Line }); i >= 0 {
			at.box = ledger.Check(f, boxes[i])
		}
		return at
	}
	return place{}
}

// setOverall marks in the file that has a box for each list how far this one is, once a task of
// it is closed, and if one is opened again. Other files are left to the tool.
func (l *list) setOverall(c *ledger.Changes, it *item, status reprise.Status) {
	others := slices.DeleteFunc(l.unfinishedWholes(), func(w *item) bool { return slices.Contains(l.parts(w), it) })
	over, done := status.Closed() && len(others) == 0 && len(l.left()) == 0, status == reprise.Done
	for i := range l.items {
		if o := &l.items[i]; o.id != it.id {
			over, done = over && (o.optional || o.status().Closed()), done || o.status() == reprise.Done
		}
	}
	for _, at := range l.overall {
		now := reprise.InProgress
		if over {
			now = reprise.Done
		}
		known := at.status == reprise.Pending || at.status == reprise.InProgress || at.status == reprise.Done
		words := slices.DeleteFunc(slices.Clone(l.family.Stages[now]), func(word string) bool { return len(word) > 1 })
		if !at.box.There() || !known || at.status == now || len(words) == 0 || status.Closed() && !done || !status.Closed() && at.status != reprise.Done {
			continue
		}
		c.Mark(at.box, words[0])
		c.Markdown(at.source.File).Because("%s is %s", path.Base(path.Dir(l.file.Path)), now)
	}
}

// reportOverall reports that another file calls the whole list done, or not done, and the
// tasks disagree. A list that is done weighs where the tool looks up what to do next, in the file
// with a box for each; nothing goes by a word that it wrote once.
func (l *list) reportOverall(r *doc.Reader, run *reprise.Run) {
	p := run.Progress()
	for _, at := range l.overall {
		code, severity, hint := reprise.CodeStatusDrift, reprise.Warning, ""
		if p.Done == p.Total && !at.box.There() {
			severity = reprise.Info
		} else if p.Done == p.Total {
			code, hint = reprise.CodeClosedOpen, "mark it there as done if it is over; its tool does the first list that is not"
		}
		if p.Total == 0 || at.status == reprise.Skipped || (at.status == reprise.Done) == (p.Done == p.Total) {
			continue
		}
		r.Report(reprise.Finding{
			Code: code, Severity: severity, Subject: run.ID, Source: at.source,
			Message: fmt.Sprintf("%s says %q of this list, of which %d of %d tasks are done; the tasks count", path.Base(at.source.File), at.said(), p.Done, p.Total), Hint: hint,
		})
	}
}

// reportApproval reports that nobody approved the tasks, which blocks a list that has not
// begun. In one that has, the file is out of date.
func (l *list) reportApproval(r *doc.Reader, run *reprise.Run) {
	v := valueIn(r, l.file.Path, l.family.Approval)
	if v.Plain() != "false" || len(run.Next) == 0 {
		return
	}
	severity := reprise.Info
	if run.State == reprise.NotStarted {
		severity = reprise.Blocking
	}
	r.Report(reprise.Finding{
		Code: reprise.CodeAmbiguous, Severity: severity, Subject: run.ID, Source: v.Source(), Message: "it says that the tasks are not approved",
		Hint: "read " + path.Base(l.file.Path) + "; if it is right, set " + l.family.Approval[1] + " to true",
	})
}

// reportGates reports what is not ticked of what the tool has a person tick before the work. In
// a list that is over it says nothing. One that cannot be read says nothing of the tasks: it is
// told, and they are as the list has them.
func (l *list) reportGates(r *doc.Reader, run *reprise.Run) {
	if l.family.Gates == "" || len(run.Next) == 0 {
		return
	}
	dir, form := path.Split(path.Join(path.Dir(l.file.Path), l.family.Gates))
	var open []string
	var first reprise.Source
	aside := doc.NewReader(doc.Unheard(r.FS()))
	for _, e := range aside.Dir(path.Clean(dir)) {
		if is, err := path.Match(form, e.Name()); err != nil || !is {
			continue
		}
		f := aside.Open(path.Join(dir, e.Name()))
		if !f.OK() {
			continue
		}
		boxes := f.Markdown().All().Boxes()
		left := slices.DeleteFunc(slices.Clone(boxes), func(c doc.Check) bool { return l.family.means(c.Mark).Closed() })
		if len(left) == 0 {
			continue
		}
		if open = append(open, fmt.Sprintf("%d of %d in %s", len(left), len(boxes), e.Name())); first.File == "" {
			first = f.At(left[0].Line)
		}
	}
	for _, f := range aside.Findings() {
		f.Severity = min(f.Severity, reprise.Warning)
		r.Report(f)
	}
	if len(open) > 0 {
		warn(r, reprise.CodeAmbiguous, run.ID, first, "tick what holds; resuming goes on without it",
			"%s asks before it goes on while a checklist is open: not ticked are %s", l.family.Name, some(open, 3))
	}
}

// valueIn returns the value in a JSON file next to a list, under keys separated by dots.
func valueIn(r *doc.Reader, list string, at [2]string) ledger.Value {
	name := path.Join(path.Dir(list), at[0])
	if at[0] == "" || !r.Exists(name) {
		return ledger.Value{}
	}
	f := r.Open(name)
	v := ledger.Root(f, f.JSON())
	for _, key := range strings.Split(at[1], ".") {
		v = v.In(key)
	}
	return v
}
