package ledger

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// Changes collects what one event changes in the files of a run. A file is opened
// at its first change and edited once; the edits come in the order in which the
// files were opened. The first error sticks: from then on every call does
// nothing, and Edits returns that error and no edits.
type Changes struct {
	reader *doc.Reader
	files  []*File
	err    error
}

// NewChanges begins a set of changes to files of fsys.
func NewChanges(fsys fs.FS) *Changes { return &Changes{reader: doc.NewReader(fsys)} }

// Reader is what the files are read with. A convention that reads its model with it
// reads each file once, and Damaged knows what was wrong with it.
func (c *Changes) Reader() *doc.Reader { return c.reader }

// Fail keeps the first error.
func (c *Changes) Fail(err error) {
	if c.err == nil && err != nil {
		c.err = err
	}
}

// Err gives the first error, nil if all changes fit so far.
func (c *Changes) Err() error { return c.err }

// Edits gives one edit for each file that changed.
func (c *Changes) Edits() ([]reprise.Edit, error) {
	if c.err != nil {
		return nil, c.err
	}
	var out []reprise.Edit
	for _, f := range c.files {
		if e, changed := f.edit(); changed {
			out = append(out, e)
		}
	}
	return out, nil
}

// Changed reports whether anything changed so far.
func (c *Changes) Changed() bool {
	return slices.ContainsFunc(c.files, func(f *File) bool { _, changed := f.edit(); return changed })
}

// FS shows the files with the changes so far in place, to be read back before
// they count.
func (c *Changes) FS() fs.FS {
	edits, err := c.Edits()
	if err != nil {
		return c.reader.FS()
	}
	return splice.Over(c.reader.FS(), edits)
}

// File is one file while it is changed. The methods of a nil File, which stands
// for one that could not be opened, do nothing: its Changes holds the error.
type File struct {
	Path    string
	changes *Changes
	why     string
	base    []byte // as it was read, nil for a file that is made
	tree    Tree
	md      *splice.Markdown
	content []byte // of a plain text or a new file
	made    bool
	appends bool
}

// Tree is a JSON or YAML file while it is edited.
type Tree interface {
	Root() *doc.Node
	Put(path splice.Path, value any) error
	Append(path splice.Path, value any) error
	Bytes() []byte
}

func (f *File) now() []byte {
	switch {
	case f.tree != nil:
		return f.tree.Bytes()
	case f.md != nil:
		return f.md.Bytes()
	}
	return f.content
}

func (f *File) edit() (e reprise.Edit, changed bool) {
	switch {
	case f.made:
		return splice.Create(f.Path, f.now(), f.why), true
	case bytes.Equal(f.base, f.now()):
		return reprise.Edit{}, false
	case f.appends:
		if e, err := splice.Tail(f.Path, f.base, f.now(), f.why); err == nil {
			return e, true
		}
	}
	return splice.Edit(f.Path, f.base, f.now(), f.why), true
}

// Changed reports whether the file is not what was read.
func (f *File) Changed() bool {
	if f == nil {
		return false
	}
	_, changed := f.edit()
	return changed
}

// Bytes is the content of the file with the changes so far.
func (f *File) Bytes() []byte {
	if f == nil {
		return nil
	}
	return f.now()
}

// Replace gives the open Markdown file another content: an edit that splice has no
// words for, or what it was before an edit that did not read back.
func (f *File) Replace(content []byte) {
	if f == nil || f.changes.err != nil {
		return
	}
	md, err := splice.NewMarkdown(content)
	f.keep(err)
	if err == nil {
		f.md = md
	}
}

// Append adds text at the end of a file.
func (c *Changes) Append(name, text, why string) {
	if f := c.whole(name, why); f != nil {
		f.content, f.appends = slices.Concat(f.base, []byte(text)), true
	}
}

// whole opens a file, there or not, that is to get another content as a whole.
func (c *Changes) whole(name, why string) *File {
	if c.err != nil {
		return nil
	}
	read := c.reader.Open(name)
	if read.Exists() && !read.OK() {
		c.Fail(c.Damaged(name))
		return nil
	}
	f := &File{Path: name, changes: c, base: read.Data, content: read.Data, why: why, made: !read.Exists()}
	c.files = append(c.files, f)
	return f
}

// Because says what the change of the file is for. The first reason stays.
func (f *File) Because(format string, args ...any) {
	if f != nil && f.why == "" {
		f.why = doc.Clip(fmt.Sprintf(format, args...), 160)
	}
}

// Do runs an edit of the Markdown file that no Text stands for. It is not called
// after an error.
func (f *File) Do(edit func(m *splice.Markdown) error) {
	if f == nil || f.changes.err != nil || f.md == nil {
		return
	}
	f.keep(edit(f.md))
}

// Root is the document as it reads with the changes so far, JSON or YAML.
func (f *File) Root() Value {
	if f == nil || f.tree == nil {
		return Value{}
	}
	return Value{Node: f.tree.Root(), File: f.Path}
}

// Doc is the Markdown file as it reads with the changes so far, nil for others.
func (f *File) Doc() *doc.Markdown {
	if f == nil || f.md == nil {
		return nil
	}
	return f.md.Doc()
}

// keep turns the error of an edit into that of all changes, with the file's name.
func (f *File) keep(err error) {
	if err != nil {
		f.changes.Fail(fmt.Errorf("%s: %w", f.Path, err))
	}
}

// opened gives the file of this name if it is open already.
func (c *Changes) opened(name string) *File {
	for _, f := range c.files {
		if f.Path == name {
			return f
		}
	}
	return nil
}

// open reads a file for editing and hands it to parse. A file that is missing,
// cannot be read whole or is not what it should be is never written to: that is
// the error of all changes.
func (c *Changes) open(name string, parse func(f *File, data []byte, read *doc.File) error) *File {
	if f := c.opened(name); f != nil || c.err != nil {
		return f
	}
	read := c.reader.Open(name)
	switch {
	case !read.Exists():
		c.Fail(fmt.Errorf("%s: %w", name, fs.ErrNotExist))
		return nil
	case !read.OK():
		c.Fail(c.Damaged(name))
		return nil
	}
	f := &File{Path: name, changes: c, base: read.Data}
	if err := parse(f, read.Data, read); err != nil {
		c.Fail(err)
		return nil
	}
	c.files = append(c.files, f)
	return f
}

// Damaged is the error for a file that is not whole, with what is wrong with it.
func (c *Changes) Damaged(name string) error {
	why := "it is not what it should be"
	for _, f := range c.reader.Findings() {
		if f.Source.File == name {
			why = f.Message
			break
		}
	}
	return fmt.Errorf("%s is damaged and is not written to: %s", name, why)
}

// JSONLines opens a file of JSON lines, whatever its name.
func (c *Changes) JSONLines(name string) *File {
	return c.open(name, func(f *File, data []byte, _ *doc.File) error { return f.parse(splice.NewJSONLines(data)) })
}

// Structured opens a JSON or YAML file, told apart by what it begins with, or one of
// JSON lines, told by its name. One that had to be read line by line counts as damaged.
func (c *Changes) Structured(name string) *File {
	return c.open(name, func(f *File, data []byte, read *doc.File) (err error) {
		if strings.HasSuffix(name, ".jsonl") {
			return f.parse(splice.NewJSONLines(data))
		}
		if IsJSON(data) {
			if err = f.parse(splice.NewJSON(data)); err == nil {
				return nil
			}
			if strings.HasSuffix(name, ".json") {
				read.JSONValue() // reports what is wrong
				return c.Damaged(name)
			}
		}
		// What begins like JSON may be YAML in braces.
		if n := read.YAMLValue(); n == nil || Found(c.reader.Findings(), name, reprise.CodeSalvaged, reprise.CodeUnreadable) {
			return c.Damaged(name)
		}
		return f.parse(splice.NewYAML(data))
	})
}

// parse takes a tree unless it could not be read; a nil pointer must not become
// a Tree.
func (f *File) parse(t Tree, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	f.tree = t
	return nil
}

// IsJSON reports whether a text begins as a JSON object or list does.
func IsJSON(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\ufeff")), " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// Found reports whether a finding about a file has one of the codes.
func Found(findings []reprise.Finding, file string, codes ...string) bool {
	return slices.ContainsFunc(findings, func(f reprise.Finding) bool { return f.Source.File == file && slices.Contains(codes, f.Code) })
}

// Markdown opens a Markdown file. A NUL byte shows that what is there is not what
// was written.
func (c *Changes) Markdown(name string) *File {
	return c.open(name, func(f *File, data []byte, _ *doc.File) (err error) {
		if bytes.IndexByte(data, 0) >= 0 {
			return fmt.Errorf("%s: NUL bytes: %w", name, splice.ErrUnreadable)
		}
		f.md, err = splice.NewMarkdown(data)
		return err
	})
}

// Create makes a file. One that holds JSON can be changed further. The store
// refuses it if there is one by then.
func (c *Changes) Create(name string, content []byte, why string) {
	if c.err != nil {
		return
	}
	f := &File{Path: name, changes: c, made: true, content: content, why: why}
	if IsJSON(content) {
		c.Fail(f.parse(splice.NewJSON(content)))
	}
	c.files = append(c.files, f)
}

// NewMarkdown makes a Markdown file that is edited further before it is written.
func (c *Changes) NewMarkdown(name string, content []byte) *File {
	if c.err != nil {
		return nil
	}
	f := &File{Path: name, changes: c, made: true}
	md, err := splice.NewMarkdown(content)
	if f.keep(err); err != nil {
		return nil
	}
	f.md = md
	c.files = append(c.files, f)
	return f
}

// Rewrite gives a file, there or not, a whole new content.
func (c *Changes) Rewrite(name string, content []byte, why string) {
	if !c.reader.Open(name).Exists() {
		c.Create(name, content, why)
	} else if f := c.whole(name, why); f != nil {
		f.content = content
	}
}

// recordWindow is how much of the end of a file tells how its lines are written.
const recordWindow = 4 << 10

// AppendRecord adds a record to a file of JSON lines, which is made where there
// is none, and returns the size of the file with it. The time it takes does not
// grow with the records added before.
func (c *Changes) AppendRecord(name string, record any, why string) (size int) {
	if c.err != nil {
		return 0
	}
	f := c.opened(name)
	if f == nil {
		if f = c.whole(name, why); f == nil {
			return 0
		}
		f.content, f.appends = slices.Clip(f.base), true
	}
	end := f.content[max(0, len(f.content)-recordWindow):]
	next, err := splice.AppendRecord(end, record)
	f.keep(err)
	if err == nil {
		f.content = append(f.content, next[len(end):]...)
	}
	return len(f.content)
}
