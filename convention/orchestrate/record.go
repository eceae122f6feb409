package orchestrate

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

var _ reprise.Recorder = (*Layout)(nil)

// Record tells what an event means in the files of a run. The story's status is
// moved along with the state that drives it, so that the two do not drift.
//
// A file that cannot be read whole is never edited: the error names it. Times
// come from the event alone and are spelled as the file spells its own.
func (*Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	c := &scribe{r: doc.NewReader(fsys), run: r, ev: ev, said: ev.Text, files: map[string]*paper{}}
	c.ev.Text = oneLine(ev.Text, maxText)
	if err := c.record(); err != nil {
		return nil, fmt.Errorf("record %s of %s: %w", ev.Kind, r.ID, err)
	}
	return c.edits(), nil
}

// maxText bounds what of an event's text is written.
const maxText = 300

// scribe carries what is needed while one event is recorded.
type scribe struct {
	r     *doc.Reader
	run   *reprise.Run
	ev    reprise.Event
	said  string // the text of ev as it came, with its lines
	files map[string]*paper
	order []string
}

// paper is one file with its edits so far.
type paper struct {
	path string
	tree tree
	md   *splice.Markdown
	base []byte
	next []byte // a file that is made or added to, nil otherwise
	made bool
	why  string
	// rebased: the editor was begun anew on top of earlier edits, so that it
	// no longer knows what was read.
	rebased bool
}

// tree is a JSON or YAML file while it is edited.
type tree interface {
	Root() *doc.Node
	Set(path splice.Path, value any) error
	Put(path splice.Path, value any) error
	Append(path splice.Path, value any) error
	Changed() bool
	Edit(path, why string) (reprise.Edit, bool)
}

func (c *scribe) record() error {
	sh := shapeOf(c.run.Path)
	if c.ev.Kind == reprise.RunStarted && !c.there() {
		return c.begin()
	}
	if c.ev.Kind == reprise.RunStarted && c.run.Kind == reprise.KindSpecPipeline {
		return nil // its outputs are there
	}
	if c.ev.Kind == reprise.RunStopped && c.run.State == reprise.Complete {
		return nil // it has ended already
	}
	if c.run.Kind == reprise.KindSpecPipeline {
		return c.recordSpec()
	}
	if (sh == noShape || sh == epicShape) && c.goesOn() {
		return nil
	}
	if sh == noShape {
		return c.recordStory()
	}
	p, err := c.state(c.run.Path)
	if err != nil {
		return err
	}
	switch sh {
	case epicShape:
		err = c.recordEpic(p)
	case loopShape:
		err = c.recordLoop(p)
	case workflowShape, nexosShape:
		err = c.recordWorkflow(p)
	case bobShape:
		err = c.recordBob(p)
	case sessionShape:
		err = c.recordSession(p)
	case masterShape:
		err = c.recordMaster(p)
	case buildShape:
		err = c.recordBuild(p)
	}
	if err == nil && c.ev.Kind == reprise.RunResumed {
		c.logResumed() // the state tells it too
	}
	return err
}

// goesOn reports whether an attempt was taken back only to be made again: what
// it began stays begun, and a story stays where its phases brought it.
func (c *scribe) goesOn() bool {
	if c.ev.Kind != reprise.StepReset {
		return false
	}
	switch c.ev.Outcome {
	case "cut-off", "question", "waiting", "stopped", "limited", "lost":
		return true
	}
	return false
}

// cannot is the answer where the files have no place for the event.
func (c *scribe) cannot(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), reprise.ErrCannotRecord)
}

func (c *scribe) noPlace() error {
	return c.cannot("%s has no place for it", path.Base(c.run.Path))
}

// state opens a state file for editing. One that is damaged is refused.
func (c *scribe) state(name string) (*paper, error) {
	if p := c.files[name]; p != nil {
		return p, nil
	}
	f := c.r.Open(name)
	if !f.Exists() {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if !f.OK() {
		return nil, c.damaged(name)
	}
	// Read as the loader reads it, to know whether it had to be salvaged.
	n := parseStructured(f)
	if n == nil || n.Kind != doc.Map || c.salvaged(name) {
		return nil, c.damaged(name)
	}
	p := &paper{path: name, base: f.Data}
	var err error
	if isJSONText(f) {
		p.tree, err = newTree(splice.NewJSON(f.Data))
	} else {
		p.tree, err = newTree(splice.NewYAML(f.Data))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c.keep(p)
	return p, nil
}

// newTree keeps a nil pointer from becoming a tree.
func newTree[T tree](t T, err error) (tree, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (c *scribe) salvaged(name string) bool {
	for _, f := range c.r.Findings() {
		if f.Source.File == name && (f.Code == reprise.CodeSalvaged || f.Code == reprise.CodeUnreadable || f.Code == reprise.CodeTooLarge) {
			return true
		}
	}
	return false
}

// damaged is the error about a file that is not whole, with what is wrong.
func (c *scribe) damaged(name string) error {
	why := "it is not what it should be"
	for _, f := range c.r.Findings() {
		if f.Source.File == name {
			why = f.Message
			break
		}
	}
	return fmt.Errorf("%s is damaged and is not written to: %s", name, why)
}

func (c *scribe) keep(p *paper) {
	c.files[p.path] = p
	c.order = append(c.order, p.path)
}

// edits collects the changes, one for each file, in the order in which the
// files were opened.
func (c *scribe) edits() []reprise.Edit {
	var out []reprise.Edit
	for _, name := range c.order {
		p := c.files[name]
		why := p.why
		if why == "" {
			why = string(c.ev.Kind)
		}
		switch {
		case p.made:
			out = append(out, splice.Create(p.path, p.next, why))
		case p.next != nil:
			if e, err := splice.Tail(p.path, p.base, p.next, why); err == nil {
				out = append(out, e)
			}
		case p.tree != nil:
			if e, ok := p.tree.Edit(p.path, why); ok {
				out = append(out, e)
			}
		case p.md != nil && p.rebased:
			if next := p.md.Bytes(); !bytes.Equal(next, p.base) {
				out = append(out, splice.Edit(p.path, p.base, next, why))
			}
		case p.md != nil:
			if e, ok := p.md.Edit(p.path, why); ok {
				out = append(out, e)
			}
		}
	}
	return out
}

// because notes what a change of a file is for.
func (p *paper) because(format string, args ...any) {
	if p.why == "" {
		p.why = doc.Clip(fmt.Sprintf(format, args...), 160)
	}
}

// set sets a scalar, or adds its key where it is missing.
func (p *paper) set(at splice.Path, value any) error {
	if err := p.tree.Put(at, value); err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	return nil
}

// under makes a path below another without sharing its memory.
func under(at splice.Path, more ...any) splice.Path {
	return append(append(make(splice.Path, 0, len(at)+len(more)), at...), more...)
}

// node returns what stands at a path.
func (p *paper) node(at splice.Path) *doc.Node { return at.In(p.tree.Root()) }

// key returns the spelling of a key that a map has, "" if it has none of them.
func (p *paper) key(at splice.Path, names ...string) string {
	n := p.node(at)
	for _, name := range names {
		if n.Has(name) {
			return name
		}
	}
	return ""
}

// touch sets the time of the last change if anything changed. Of several keys
// the first that the file has is used; without any nothing is added.
func (c *scribe) touch(p *paper, at splice.Path, names ...string) error {
	if !p.tree.Changed() {
		return nil
	}
	if name := p.key(at, names...); name != "" {
		return p.set(under(at, name), c.stamp(p, p.node(under(at, name))))
	}
	return nil
}

// stamp spells the time of the event as the file spells its times: like the
// value that is replaced, else like any other time of the file.
func (c *scribe) stamp(p *paper, old *doc.Node) any {
	model := plainText(old)
	if _, ok := doc.ParseTime(model); !ok {
		model = ""
		if p.tree != nil {
			model = anyTime(p.tree.Root(), 0)
		}
	}
	_, isJSON := p.tree.(*splice.JSON)
	return spellTime(c.ev.At, model, isJSON)
}

// anyTime returns the most precise time of a file.
func anyTime(n *doc.Node, depth int) (best string) {
	if n == nil || depth > 8 {
		return ""
	}
	take := func(t string) {
		if len(t) > len(best) {
			best = t
		}
	}
	for _, f := range n.Keys {
		low := strings.ToLower(f.Name)
		if t := plainText(f.Value); t != "" && (strings.HasSuffix(low, "at") || strings.Contains(low, "updated") || low == "timestamp" || low == "date") {
			if _, ok := doc.ParseTime(t); ok {
				take(t)
			}
			continue
		}
		take(anyTime(f.Value, depth+1))
	}
	for _, item := range n.Items {
		take(anyTime(item, depth+1))
	}
	return best
}

// spellTime writes a time in the form of another: date only, with or without
// fractions, zone and T, or as a number.
func spellTime(t time.Time, model string, isJSON bool) any {
	t = t.UTC()
	digits := strings.Trim(model, "0123456789") == ""
	switch {
	case model == "" && isJSON:
		return t.Format("2006-01-02T15:04:05.000Z07:00")
	case model == "":
		return t.Format(time.RFC3339)
	case digits && len(model) == 13:
		return t.UnixMilli()
	case digits && len(model) == 10:
		return t.Unix()
	case len(model) == len("2006-01-02") && model[4] == '-':
		return t.Format("2006-01-02")
	case len(model) == len("2006-01-02") && model[4] == '/':
		return t.Format("2006/01/02")
	case len(model) == len("02/01/2006") && model[2] == '/':
		return t.Format("02/01/2006")
	}
	form := "2006-01-02T15:04:05"
	if !strings.Contains(model, "T") {
		form = "2006-01-02 15:04:05"
	}
	if _, frac, ok := strings.Cut(model, "."); ok {
		n := 0
		for n < len(frac) && n < 9 && isDigit(frac[n]) {
			n++
		}
		if n > 0 {
			form += "." + strings.Repeat("0", n)
		}
	} else if strings.Count(model, ":") == 1 {
		form = strings.TrimSuffix(form, ":05")
	}
	if z := zone(model); z != nil {
		t = t.In(z)
		form += "Z07:00"
	}
	return t.Format(form)
}

// zone reads the offset of a time; nil where it has none.
func zone(model string) *time.Location {
	if strings.HasSuffix(model, "Z") {
		return time.UTC
	}
	if len(model) < 20 {
		return nil
	}
	end := model[len(model)-6:]
	if end[0] != '+' && end[0] != '-' || end[3] != ':' {
		return nil
	}
	h, err1 := strconv.Atoi(end[1:3])
	m, err2 := strconv.Atoi(end[4:])
	if err1 != nil || err2 != nil || h > 14 || m > 59 {
		return nil
	}
	offset := h*3600 + m*60
	if end[0] == '-' {
		offset = -offset
	}
	return time.FixedZone("", offset)
}

// oneLine makes text safe for one line of any format: no line ends, no control
// or direction characters, nothing that opens a comment, and not too long.
func oneLine(s string, n int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029', r == '\u0085':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	s = strings.ReplaceAll(strings.ReplaceAll(s, "<!--", "< !--"), "-->", "-- >")
	return doc.Clip(strings.Join(strings.Fields(s), " "), n)
}

// safeName reports whether an id can be part of a file name or a key.
func safeName(id string) bool {
	if id == "" || len(id) > 100 || strings.HasPrefix(id, ".") || strings.HasPrefix(id, "-") {
		return false
	}
	for _, r := range id {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_", r) {
			return false
		}
	}
	return true
}

// agent writes a role as agents are written: with the sign or without.
func agent(role string, models ...string) string {
	role = strings.TrimPrefix(oneLine(role, 40), "@")
	if role == "" {
		return ""
	}
	for _, m := range models {
		if m != "" {
			if strings.HasPrefix(m, "@") {
				return "@" + role
			}
			return role
		}
	}
	return "@" + role
}
