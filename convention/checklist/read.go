package checklist

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// list is one file of tasks as it was read.
type list struct {
	file   *doc.File
	title  string
	headed bool // its heading is that of a list
	items  []item
	other  int // boxes without an id
}

// item is one task. Boxes are the places where it stands, mostly one.
type item struct {
	id, text, phase string
	parallel        bool
	boxes           []ledger.Text
}

// done reports whether every box of the item is ticked.
func (it item) done() bool {
	return !slices.ContainsFunc(it.boxes, func(b ledger.Text) bool { return !b.Ticked })
}

// Find implements reprise.Layout. A file without a single item and without the
// heading of a list is not one of this family.
func (l Layout) Find(fsys fs.FS) ([]reprise.Ref, error) {
	names, err := fs.Glob(fsys, l.family.Lists)
	if err != nil {
		return nil, err
	}
	var refs []reprise.Ref
	for _, name := range names {
		dir := path.Dir(name)
		if _, err := fs.Stat(fsys, path.Join(dir, l.family.Elsewhere)); l.family.Elsewhere != "" && err == nil {
			continue
		}
		read := l.read(doc.NewReader(fsys), name)
		if read.file.OK() && len(read.items) == 0 && !read.headed && len(strings.TrimSpace(string(read.file.Data))) > 0 && !damaged(read.file.Data) {
			continue
		}
		refs = append(refs, l.ref(name))
	}
	return refs, nil
}

func (l Layout) ref(name string) reprise.Ref {
	return reprise.Ref{Layout: l.family.Name, Kind: reprise.KindTasks, ID: path.Base(path.Dir(name)), Path: name}
}

// damaged reports whether a text cannot be what somebody wrote.
func damaged(data []byte) bool { return slices.Contains(data, 0) }

// read reads a list of tasks.
func (l Layout) read(r *doc.Reader, name string) *list {
	out := &list{file: r.Open(name)}
	md := out.file.Markdown()
	if md == nil {
		return out
	}
	out.title, out.headed = strings.CutPrefix(md.Title(), l.family.Title)
	out.title = strings.TrimSpace(out.title)
	sections := md.Sections()
	at := map[string]int{}
	for _, c := range md.All().Checks() {
		m := l.family.Item.FindStringSubmatch(c.Text)
		if m == nil {
			out.other++
			continue
		}
		box := ledger.Check(out.file, c)
		if i, twice := at[m[1]]; twice {
			out.items[i].boxes = append(out.items[i].boxes, box)
			continue
		}
		at[m[1]] = len(out.items)
		tags, text := cutTags(m[2])
		out.items = append(out.items, item{
			id: m[1], text: text, phase: phaseAt(sections, c.Line), boxes: []ledger.Text{box},
			parallel: slices.Contains(tags, l.family.Parallel),
		})
	}
	return out
}

// cutTags parts an item's text from the tags in brackets that it begins with.
func cutTags(text string) (tags []string, rest string) {
	rest = strings.TrimSpace(text)
	for strings.HasPrefix(rest, "[") {
		tag, after, ok := strings.Cut(rest, "]")
		if !ok || strings.TrimSpace(after) == "" || strings.HasPrefix(after, "(") {
			break
		}
		tags, rest = append(tags, tag+"]"), strings.TrimSpace(after)
	}
	return tags, rest
}

// phaseAt is the heading below the title that a line stands under.
func phaseAt(sections []doc.Section, line int) string {
	phase := ""
	for _, s := range sections {
		if s.Level == 2 && s.Line < line {
			phase = s.Title
		}
	}
	return phase
}

// Load implements reprise.Layout.
func (l Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	r := doc.NewReader(fsys)
	read := l.read(r, ref.Path)
	run := &reprise.Run{Ref: ref, Title: read.title}
	run.Active(read.file.MTime, read.file.At(0))
	for _, it := range read.items {
		run.Steps = append(run.Steps, l.step(read.file, it))
		if len(it.boxes) > 1 {
			r.Report(reprise.Finding{
				Code: reprise.CodeDuplicateID, Severity: reprise.Warning, Subject: it.id, Source: read.file.At(it.boxes[1].Line),
				Message: fmt.Sprintf("%s stands %d times in the list; it counts as done once every box is ticked", it.id, len(it.boxes)),
			})
		}
	}
	if read.other > 0 && len(read.items) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeAmbiguous, Severity: reprise.Info, Subject: ref.ID, Source: read.file.At(0),
			Message: fmt.Sprintf("boxes without a task id do not count as tasks; there are %d", read.other),
		})
	}
	l.decide(run, read)
	run.Findings = r.Findings()
	if run.State == reprise.Unreadable && len(run.Findings) == 0 {
		run.Report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Blocking, Subject: ref.ID, Source: read.file.At(0),
			Message: run.Reason, Hint: "bring the file back from git: git log -- " + ref.Path,
		})
	}
	return run, nil
}

func (l Layout) step(f *doc.File, it item) reprise.Step {
	s := reprise.Step{ID: it.id, Title: it.text, Phase: it.phase, Path: f.Path, Role: role, Status: reprise.Pending, Source: f.At(it.boxes[0].Line)}
	if it.done() {
		s.Status = reprise.Done
	}
	for i, b := range it.boxes {
		claim := reprise.Claim{Ledger: path.Base(f.Path), Status: reprise.Pending, Word: "[ ]", Source: f.At(b.Line)}
		if b.Ticked {
			claim.Status, claim.Word = reprise.Done, "[x]"
		}
		won := slices.IndexFunc(it.boxes, func(o ledger.Text) bool { return o.Ticked == it.done() })
		claim.Won = i == won
		s.Claims = append(s.Claims, claim)
	}
	return s
}

// decide says where the list stands and what may be started. The next item is the
// first open one behind the last that is done: items before it were passed over.
// Items that are marked as parallel are offered with it as far as they follow it
// in its phase.
func (l Layout) decide(run *reprise.Run, read *list) {
	p := run.Progress()
	switch {
	case !read.file.OK():
		run.State, run.Reason = reprise.Unreadable, "the list of tasks cannot be read"
		return
	case p.Total == 0:
		run.State, run.Reason = reprise.Unreadable, "the list holds no task that can be read"
		return
	case p.Done == p.Total:
		run.State, run.Reason = reprise.Complete, fmt.Sprintf("all %d tasks are ticked", p.Total)
		return
	case p.Done == 0:
		run.State, run.Reason = reprise.NotStarted, fmt.Sprintf("none of %d tasks is ticked", p.Total)
	default:
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("%d of %d tasks are ticked", p.Done, p.Total)
	}
	open := read.openFromHere()
	for i, it := range open {
		first := open[0]
		if i > 0 && !(first.parallel && it.parallel && it.phase == first.phase) {
			break
		}
		reason := "the first open task behind the last one that is done"
		if i > 0 {
			reason = "may be worked on beside " + first.id
		}
		run.Next = append(run.Next, reprise.Unit{ID: it.id, Path: run.Path, Title: it.text, Phase: it.phase, Role: role, Reason: reason})
	}
	run.Phase = open[0].phase
	run.Options = []reprise.Option{{Key: reprise.OptionContinue, Label: "Continue with " + open[0].id}}
}

// openFromHere gives the open items in the order in which they would be done:
// those behind the last that is done, then those before it.
func (read *list) openFromHere() []item {
	last := -1
	for i, it := range read.items {
		if it.done() {
			last = i
		}
	}
	var out []item
	for i := range read.items {
		if it := read.items[(last+1+i)%len(read.items)]; !it.done() {
			out = append(out, it)
		}
	}
	return out
}
