package longrun

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// Record tells what an event changes in the files of a run, in the version and
// the spelling they already have. A plan is named by its step id, a task of a
// plan of `.long-run/` by the plan's id, a slash and its number: "02/3".
//
// What it returns has been read back: with the edits in place every other plan
// and question reads as before.
func (Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	ref := r.Ref
	if ref.Path == "" {
		ref.Path = placeOf(ref.ID)
	}
	var edits []reprise.Edit
	var err error
	switch {
	case !fs.ValidPath(ref.Path):
		err = fmt.Errorf("%q is no place for a run: %w", doc.Clip(ref.ID, 60), reprise.ErrCannotRecord)
	case path.Base(ref.Path) == longRunDir:
		edits, err = recordLongRun(fsys, ref, ev)
	default:
		edits, err = recordPlanning(fsys, ref, ev)
	}
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", ev.Kind, err)
	}
	return edits, nil
}

// placeOf is where a run that does not exist yet will lie.
func placeOf(id string) string {
	switch id {
	case "planning":
		return planningDir
	case "", "long-run":
		return longRunDir
	}
	return path.Join(id, longRunDir)
}

// cannot says that the files have no place for an event, and why.
func cannot(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, reprise.ErrCannotRecord)...)
}

// book collects the edits of one event. A file is opened once; the edits come
// in the order in which files were opened or created.
type book struct {
	r     *doc.Reader
	pages []*page
}

// page is one file of the book. It is JSON, Markdown or plain text.
type page struct {
	path    string
	why     string
	base    []byte // as it was read
	json    *splice.JSON
	md      *splice.Markdown
	content []byte // of a plain text or a new file
	created bool
}

// now is the content with the edits so far.
func (p *page) now() []byte {
	switch {
	case p.json != nil:
		return p.json.Bytes()
	case p.md != nil:
		return p.md.Bytes()
	}
	return p.content
}

func newBook(fsys fs.FS) *book { return &book{r: doc.NewReader(fsys)} }

// read returns the bytes of a file; exists is false if there is none. A file
// that is there and cannot be read is an error.
func (b *book) read(name string) (data []byte, exists bool, err error) {
	f := b.r.Open(name)
	if f.Exists() && !f.OK() {
		return nil, true, fmt.Errorf("%s: %w", name, splice.ErrUnreadable)
	}
	return f.Data, f.Exists(), nil
}

func (b *book) page(name string) *page {
	for _, p := range b.pages {
		if p.path == name {
			return p
		}
	}
	return nil
}

// openJSON opens a JSON file for editing; nil if there is none.
func (b *book) openJSON(name, why string) (*splice.JSON, error) {
	if p := b.page(name); p != nil {
		return p.json, nil
	}
	data, exists, err := b.read(name)
	if err != nil || !exists {
		return nil, err
	}
	j, err := splice.NewJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b.pages = append(b.pages, &page{path: name, why: why, base: data, json: j})
	return j, nil
}

// openMarkdown opens a Markdown file for editing; nil if there is none. A NUL
// byte shows that what was read is not what was written.
func (b *book) openMarkdown(name, why string) (*splice.Markdown, error) {
	if p := b.page(name); p != nil {
		return p.md, nil
	}
	data, exists, err := b.read(name)
	if err != nil || !exists {
		return nil, err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, fmt.Errorf("%s: NUL bytes: %w", name, splice.ErrUnreadable)
	}
	m, err := splice.NewMarkdown(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b.pages = append(b.pages, &page{path: name, why: why, base: data, md: m})
	return m, nil
}

// create adds a file that is not there.
func (b *book) create(name, content, why string) {
	b.pages = append(b.pages, &page{path: name, why: why, content: []byte(content), created: true})
}

// replace sets the whole content of a small text file.
func (b *book) replace(name string, base []byte, content, why string) {
	b.pages = append(b.pages, &page{path: name, why: why, base: base, content: []byte(content)})
}

// changed reports whether anything was changed so far.
func (b *book) changed() bool { return len(b.edits()) > 0 }

func (b *book) edits() []reprise.Edit {
	var out []reprise.Edit
	for _, p := range b.pages {
		switch {
		case p.created:
			out = append(out, splice.Create(p.path, p.content, p.why))
		case !bytes.Equal(p.base, p.now()):
			out = append(out, splice.Edit(p.path, p.base, p.now(), p.why))
		}
	}
	return out
}

// inFile wraps the error of an edit with the file it is about.
func inFile(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// errDisturbs says that an edit would change what is known of something else:
// the files have no place for the event that is its own.
var errDisturbs = fmt.Errorf("it would change what the files say of other work: %w", reprise.ErrCannotRecord)

// confirm reads the run with the edits in place and asks that everything the
// event is not about reads as before. about holds the ids it may change.
func confirm(fsys fs.FS, ref reprise.Ref, edits []reprise.Edit, about ...string) error {
	if len(edits) == 0 {
		return nil
	}
	was, _ := Layout{}.Load(fsys, ref)
	now, _ := Layout{}.Load(splice.Over(fsys, edits), ref)
	mine := map[string]bool{}
	for _, id := range about {
		mine[id] = true
	}
	for i := range was.Steps {
		s := &was.Steps[i]
		if after := now.Step(s.ID); !mine[s.ID] && (after == nil || after.Status != s.Status) {
			return fmt.Errorf("plan %s: %w", s.ID, errDisturbs)
		}
	}
	asked := map[string]reprise.Question{}
	for _, q := range now.Questions {
		asked[q.ID] = q
	}
	for _, q := range was.Questions {
		after, ok := asked[q.ID]
		if !mine[q.ID] && (!ok || after.Text != q.Text || after.Answered != q.Answered || after.Answer != q.Answer) {
			return fmt.Errorf("question %s: %w", q.ID, errDisturbs)
		}
	}
	for _, f := range now.Findings {
		if (f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeSalvaged) && !reported(was, f) {
			return fmt.Errorf("%s: %w", f.Source, errDisturbs)
		}
	}
	return nil
}

func reported(r *reprise.Run, f reprise.Finding) bool {
	for _, o := range r.Findings {
		if o.Code == f.Code && o.Source.File == f.Source.File {
			return true
		}
	}
	return false
}

// setAt replaces the value of a label.
func setAt(m *splice.Markdown, l doc.Label, value string) error {
	return m.SetLabel(splice.Where{Line: l.Line}, l.Key, value)
}

func resumes(r *reprise.Run) []reprise.ResumeState {
	if r.Resume == nil {
		return nil
	}
	return append([]reprise.ResumeState{*r.Resume}, r.Resume.Also...)
}
