package splice_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/sample"
	"reprise/internal/splice"
)

// budget bounds how many bytes are parsed for the real edits of one file.
const budget = 64 << 10

// tally counts what was done over all files.
type tally struct {
	sync.Mutex
	count map[string]int
}

func (c *tally) add(what string, n int) {
	c.Lock()
	defer c.Unlock()
	c.count[what] += n
}

// TestCorpus_round_trip makes, on one file in five of the corpus, a no-op of every
// value and a real edit of as many as fit the budget, spread over the file.
func TestCorpus_round_trip(t *testing.T) {
	t.Parallel()
	root := filepath.FromSlash("../../../shared/corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no corpus at " + root)
	}
	roundTripAll(t, root, sample.Every(t, 5))
}

// TestExamples_round_trip does the same on the examples of the repository.
func TestExamples_round_trip(t *testing.T) {
	t.Parallel()
	roundTripAll(t, filepath.FromSlash("../../examples"), func(int) bool { return true })
}

func roundTripAll(t *testing.T, root string, chosen func(i int) bool) {
	t.Helper()
	c := &tally{count: map[string]int{}}
	var files []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(" .json .yaml .yml .md .jsonl ", " "+filepath.Ext(p)+" ") {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	work := make(chan string)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for p := range work {
				roundTrip(t, c, p)
			}
		})
	}
	for i, p := range files {
		if chosen(i) {
			work <- p
		}
	}
	close(work)
	wg.Wait()
	for _, k := range slices.Sorted(maps.Keys(c.count)) {
		t.Logf("%-28s %d", k, c.count[k])
	}
	for _, kind := range []string{"json", "yaml", "md"} {
		done, refused := c.count[kind+" edits"], c.count[kind+" refused"]
		if done == 0 || refused*50 > done {
			t.Errorf("%s: %d edits, %d refused", kind, done, refused)
		}
	}
}

func roundTrip(t *testing.T, c *tally, p string) {
	data, err := os.ReadFile(p)
	if err != nil {
		t.Error(err)
		return
	}
	switch filepath.Ext(p) {
	case ".md":
		roundTripMarkdown(t, c, p, data)
	case ".jsonl":
		next, err := splice.AppendRecord(data, map[string]int{"a": 1})
		if err != nil || !bytes.HasPrefix(next, data) {
			t.Errorf("%s: %v", p, err)
		}
		c.add("jsonl files", 1)
	case ".json":
		roundTripTree(t, c, "json", p, data, func(data []byte) (tree, error) { return splice.NewJSON(data) })
	default:
		roundTripTree(t, c, "yaml", p, data, func(data []byte) (tree, error) { return splice.NewYAML(data) })
	}
}

// tree is what JSON and YAML have in common.
type tree interface {
	Root() *doc.Node
	Bytes() []byte
	Changed() bool
	Set(splice.Path, any) error
	Put(splice.Path, any) error
	Append(splice.Path, any) error
}

// place is a node with its path.
type place struct {
	path splice.Path
	node *doc.Node
}

// walk lists all nodes; of keys that stand twice the last one.
func walk(n *doc.Node, at splice.Path, out *[]place) {
	*out = append(*out, place{slices.Clone(at), n})
	for i, k := range n.Keys {
		if slices.ContainsFunc(n.Keys[i+1:], func(f doc.Field) bool { return f.Name == k.Name }) {
			continue
		}
		walk(k.Value, append(at, k.Name), out)
	}
	for i, item := range n.Items {
		walk(item, append(at, i), out)
	}
}

// value gives a scalar as a Go value; ok is false for numbers JSON has not.
func value(n *doc.Node) (v any, ok bool) {
	switch n.Kind {
	case doc.Null:
		return nil, true
	case doc.Bool:
		return strings.EqualFold(n.Text, "true"), true
	case doc.Number:
		return json.Number(n.Text), json.Valid([]byte(n.Text))
	}
	return n.Text, n.Kind == doc.String
}

func roundTripTree(t *testing.T, c *tally, kind, p string, data []byte, open func([]byte) (tree, error)) {
	d, err := open(data)
	if err != nil {
		if !errors.Is(err, splice.ErrUnreadable) {
			t.Errorf("%s: %v", p, err)
		}
		c.add(kind+" unreadable files", 1)
		return
	}
	c.add(kind+" files", 1)
	var all []place
	walk(d.Root(), nil, &all)
	for _, at := range all {
		if v, ok := value(at.node); ok && !strings.Contains(at.node.Text, "\ufffd") {
			if err := d.Set(at.path, v); err != nil {
				t.Errorf("%s: no-op of %s: %v", p, at.path, err)
			}
			c.add(kind+" no-ops", 1)
		}
	}
	if d.Changed() || !bytes.Equal(d.Bytes(), data) {
		t.Errorf("%s: no-ops changed the file", p)
		return
	}
	step := max(1, len(all)*len(data)/budget)
	for i := len(data) % step; i < len(all); i += step {
		d, err := open(data)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			return
		}
		realEdit(t, c, kind, p, data, d, all[i], i)
	}
}

func realEdit(t *testing.T, c *tally, kind, p string, data []byte, d tree, at place, i int) {
	var err error
	var get func(n *doc.Node) *doc.Node
	want := []any{"changed", 42, true, "a: \"b\" # é\n", "1.10", nil}[i%6]
	switch at.node.Kind {
	case doc.Map:
		err = d.Put(append(at.path, "zz-new"), want)
		get = func(n *doc.Node) *doc.Node { return n.Get("zz-new") }
	case doc.List:
		err = d.Append(at.path, want)
		get = func(n *doc.Node) *doc.Node { return n.List()[len(n.List())-1] }
	default:
		if v, ok := value(at.node); ok && v == want {
			want = "other"
		}
		err = d.Set(at.path, want)
		get = func(n *doc.Node) *doc.Node { return n }
	}
	if err != nil {
		if !bytes.Equal(d.Bytes(), data) {
			t.Errorf("%s: refused and changed: %s", p, at.path)
		}
		c.add(kind+" refused", 1)
		c.add(fmt.Sprintf("  %s: %v", kind, errors.Unwrap(err)), 1)
		if testing.Verbose() && kind == "yaml" {
			t.Logf("%s: %v", p, err)
		}
		return
	}
	c.add(kind+" edits", 1)
	next := d.Bytes()
	if gone, most := lost(data, next), mayGo(data, at.node); gone > most {
		t.Errorf("%s: %s: %d bytes are gone, the value has %d", p, at.path, gone, most)
	}
	n := d.Root()
	for _, step := range at.path {
		if key, ok := step.(string); ok {
			n = n.Get(key)
		} else {
			n = n.List()[step.(int)]
		}
	}
	got := get(n)
	if got == nil {
		t.Errorf("%s: %s is not there", p, at.path)
	} else if v, ok := value(got); !ok || fmt.Sprint(v) != fmt.Sprint(want) {
		t.Errorf("%s: %s reads %v, want %v", p, at.path, v, want)
	}
}

// mayGo returns how many bytes an edit of a node may replace: its own and, for
// an empty collection, the blanks before it.
func mayGo(data []byte, n *doc.Node) int {
	switch {
	case len(n.Keys)+len(n.Items) > 0:
		return 0 // entries are added
	case n.Kind == doc.Map || n.Kind == doc.List:
		before := data[:n.Start]
		return n.End - len(bytes.TrimRight(before, " \t"))
	}
	return n.End - n.Start
}

// mdEdit is one edit of a Markdown file, and the same without a change. What it
// may replace is at most a line, or a value of the front matter, or nothing.
type mdEdit struct {
	what       string
	line       int
	front      *doc.Node
	noop, real func(m *splice.Markdown) error
}

func markdownEdits(m *splice.Markdown) []mdEdit {
	var out []mdEdit
	for _, f := range m.Fields(splice.Where{}, "") {
		w := splice.Where{Line: f.Line}
		if doc.Fold(f.Key) == "" {
			continue // no name by which it could be found
		}
		out = append(out,
			mdEdit{"label", f.Line, nil, func(m *splice.Markdown) error { return m.SetLabel(w, f.Key, f.Value) }, func(m *splice.Markdown) error { return m.SetLabel(w, f.Key, "Changed ✓") }})
		if doc.Fold(f.Value) == "" {
			continue // no word in it
		}
		out = append(out,
			mdEdit{"word", f.Line, nil, nil, func(m *splice.Markdown) error { return m.SetWord(w, f.Key, "", "Changed") }})
	}
	for _, c := range m.Doc().All().Checks() {
		w := splice.Where{Line: c.Line}
		out = append(out, mdEdit{"check", c.Line, nil, func(m *splice.Markdown) error { return m.SetCheck(w, c.Text, c.Ticked) }, func(m *splice.Markdown) error { return m.SetCheck(w, "", !c.Ticked) }})
	}
	for _, table := range m.Doc().All().Tables() {
		for _, row := range table.Rows {
			for i, cell := range row {
				name := table.Header[i].Text
				if table.Column(name) != i {
					continue
				}
				w := splice.Where{Line: cell.Line}
				out = append(out, mdEdit{"cell", cell.Line, nil, func(m *splice.Markdown) error { return m.SetCell(w, splice.Row{}, name, cell.Text) }, func(m *splice.Markdown) error { return m.SetCell(w, splice.Row{}, name, "new | cell") }})
			}
		}
		out = append(out, mdEdit{"row", 0, nil, nil, func(m *splice.Markdown) error {
			return m.AppendRow(splice.Where{Line: table.Line}, map[string]string{table.Header[0].Text: "x"})
		}})
	}
	for _, s := range m.Doc().Sections() {
		w := splice.Where{Section: s.Title, Line: s.Line}
		out = append(out, mdEdit{"line", 0, nil, nil, func(m *splice.Markdown) error { return m.AppendLines(w, "- added") }})
	}
	if front := m.Doc().Front; front != nil {
		var all []place
		walk(front, nil, &all)
		for _, at := range all {
			if v, ok := value(at.node); ok {
				out = append(out, mdEdit{"front", -1, at.node, func(m *splice.Markdown) error { return m.SetFront(at.path, v) }, func(m *splice.Markdown) error { return m.SetFront(at.path, "new: value") }})
			}
		}
	}
	return append(out, mdEdit{"section", 0, nil, nil, func(m *splice.Markdown) error { return m.AppendSection(splice.Where{}, 2, "New", "x") }})
}

func roundTripMarkdown(t *testing.T, c *tally, p string, data []byte) {
	m, err := splice.NewMarkdown(data)
	if err != nil {
		if !reprise.UTF16(data) { // which is never written
			t.Errorf("%s: %v", p, err)
		}
		return
	}
	c.add("md files", 1)
	edits := markdownEdits(m)
	for _, e := range edits {
		if e.noop == nil {
			continue // an addition
		}
		if err := e.noop(m); errors.Is(err, splice.ErrAmbiguous) {
			c.add("md ambiguous: one name twice on a line", 1)
			continue
		} else if err != nil {
			t.Errorf("%s:%d: no-op of %s: %v", p, e.line, e.what, err)
		}
		c.add("md no-ops", 1)
	}
	if m.Changed() {
		t.Errorf("%s: no-ops changed the file", p)
		return
	}
	step := max(1, len(edits)*len(data)*2/budget)
	for i := len(data) % step; i < len(edits); i += step {
		e := edits[i]
		m, err := splice.NewMarkdown(data)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			return
		}
		if err := e.real(m); err != nil {
			if m.Changed() {
				t.Errorf("%s:%d: refused and changed", p, e.line)
			}
			c.add("md refused", 1)
			c.add(fmt.Sprintf("  md %s: %v", e.what, errors.Unwrap(err)), 1)
			if testing.Verbose() {
				t.Logf("%s:%d: %s: %v", p, e.line, e.what, err)
			}
			continue
		}
		c.add("md edits", 1)
		c.add("  md "+e.what, 1)
		next, most := m.Bytes(), 0
		if e.line > 0 {
			lines := bytes.SplitAfter(data, []byte("\n"))
			most = len(bytes.TrimRight(lines[e.line-1], "\r\n"))
		} else if e.front != nil {
			most = mayGo(data, e.front)
		}
		if gone := lost(data, next); gone > most || !m.Changed() {
			t.Errorf("%s:%d: %s: %d bytes are gone, at most %d may be", p, e.line, e.what, gone, most)
		}
	}
}
