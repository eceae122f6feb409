package splice_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reprise/internal/doc"
	"reprise/internal/splice"
)

// flat lists a tree: every node with its path, kind and text, keys that stand
// twice included.
func flat(n *doc.Node, at string, out []string) []string {
	text := n.Text
	if n.Kind == doc.Null || n.Kind == doc.Map || n.Kind == doc.List {
		text = ""
	}
	out = append(out, fmt.Sprintf("%s %d %q", at, n.Kind, text))
	for _, k := range n.Keys {
		out = flat(k.Value, fmt.Sprintf("%s.%q", at, k.Name), out)
	}
	for i, item := range n.Items {
		out = flat(item, fmt.Sprintf("%s.%d", at, i), out)
	}
	return out
}

// checkTree makes one edit, chosen by which and how, and holds the outcome
// against the contract of the package. It reports whether the edit was made.
func checkTree(t rapid.TB, data []byte, open func([]byte) (tree, error), which, how uint, val any) bool {
	t.Helper()
	before := slices.Clone(data)
	d, err := open(data)
	if err != nil {
		return false
	}
	var all []place
	walk(d.Root(), nil, &all)
	at := all[which%uint(len(all))]
	old := flat(d.Root(), "", nil)
	added := ""
	switch {
	case at.node.Kind == doc.Map && how%2 == 0:
		err = d.Put(append(at.path, "new key"), val)
		added = "new key"
	case at.node.Kind == doc.List && how%2 == 0:
		err = d.Append(at.path, val)
		added = "item"
	default:
		err = d.Set(at.path, val)
	}
	if !bytes.Equal(before, data) {
		t.Fatalf("the input was written to")
	}
	next := d.Bytes()
	var typed *splice.Error
	if err != nil {
		if !errors.As(err, &typed) || !bytes.Equal(next, data) {
			t.Fatalf("refused with %v, changed %v", err, !bytes.Equal(next, data))
		}
		return false
	}
	if gone, most := lost(data, next), mayGo(data, at.node); gone > most {
		t.Fatalf("%d bytes of %q are gone in %q, at most %d may be", gone, data, next, most)
	}
	again, err := open(next)
	if err != nil {
		t.Fatalf("%q: %v", next, err)
	}
	was, is := old, flat(again.Root(), "", nil)
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	switch want := fmt.Sprintf("%q", fmt.Sprint(val)); {
	case len(was)+len(is) == 0: // no change
		if added == "" && !bytes.Equal(next, data) {
			t.Fatalf("%q became %q, which reads the same", data, next)
		}
	case added == "" && (len(was) != 1 || len(is) != 1), added != "" && (len(was) != 0 || len(is) != 1):
		t.Fatalf("%q became %q: %q instead of %q", data, next, is, was)
	case val != nil && !strings.HasSuffix(is[0], want):
		t.Fatalf("%q became %q: reads %s, want %s", data, next, is[0], want)
	}
	return true
}

func openJSON(data []byte) (tree, error) { return splice.NewJSON(data) }
func openYAML(data []byte) (tree, error) { return splice.NewYAML(data) }

// checkMarkdown makes one edit of a Markdown file and holds it against the
// contract. It reports whether the edit was made.
func checkMarkdown(t rapid.TB, data []byte, which, how uint, val string) bool {
	t.Helper()
	m, err := splice.NewMarkdown(data)
	if err != nil {
		return false
	}
	edits := markdownEdits(m)
	e := edits[which%uint(len(edits))]
	do := e.real
	line := e.line
	if fields := m.Fields(splice.Where{}, ""); how%3 == 0 && len(fields) > 0 {
		f := fields[which%uint(len(fields))]
		line = f.Line
		do = func(m *splice.Markdown) error { return m.SetLabel(splice.Where{Line: f.Line}, f.Key, val) }
	} else if how%7 == 0 {
		line = 0
		do = func(m *splice.Markdown) error { return m.AppendLines(splice.Where{}, val) }
	} else if how%11 == 0 {
		line = -1
		do = func(m *splice.Markdown) error { return m.SetFront(splice.Path{"status"}, val) }
	}
	old := m.Doc()
	err = do(m)
	next := m.Bytes()
	if err != nil {
		var typed *splice.Error
		if !errors.As(err, &typed) || !bytes.Equal(next, data) {
			t.Fatalf("refused with %v, changed %v", err, !bytes.Equal(next, data))
		}
		return false
	}
	if line > 0 { // one line of the body, the rest byte by byte
		a, b := bytes.SplitAfter(data, []byte("\n")), bytes.SplitAfter(next, []byte("\n"))
		if len(a) != len(b) {
			t.Fatalf("%q became %q: other lines", data, next)
		}
		for i := range a {
			if i != line-1 && !bytes.Equal(a[i], b[i]) {
				t.Fatalf("%q became %q: line %d changed, not %d", data, next, i+1, line)
			}
		}
	} else if line == 0 && lost(data, next) > 0 {
		t.Fatalf("%q became %q: bytes are gone", data, next)
	}
	if a, b := old.Front, m.Doc().Front; line >= 0 && a != nil && !slices.Equal(flat(a, "", nil), flat(b, "", nil)) {
		t.Fatalf("%q became %q: front matter changed", data, next)
	}
	return true
}

var values = rapid.OneOf(
	rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](12), rapid.Just[any](-0.5), rapid.Just[any](""),
	rapid.Map(rapid.SampledFrom([]string{"done", "In Progress", "yes", "1.10", "2026-01-02", "a: b", "x # y", "- z", "é\u2028", "a\nb", "'", `"\`, "[", "*x", "~", "#", "|", "null", " pad "}), func(s string) any { return s }),
	rapid.Map(rapid.StringN(0, 12, 40), func(s string) any { return s }),
)

// someJSON draws a document and its layout.
func someJSON(t *rapid.T) []byte {
	nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "nl")
	blank := func() string {
		return rapid.SampledFrom([]string{"", "", " ", "  ", "\t", nl, nl + "  "}).Draw(t, "blank")
	}
	var write func(depth int) string
	write = func(depth int) string {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		n := rapid.IntRange(0, 4).Draw(t, "n")
		switch {
		case depth < 4 && kind < 3:
			var parts []string
			for range n {
				key := rapid.SampledFrom([]string{`"a"`, `"b"`, `"status"`, `"\u00e9"`, `"k.1"`, `""`}).Draw(t, "key")
				parts = append(parts, blank()+key+blank()+":"+blank()+write(depth+1)+blank())
			}
			return "{" + strings.Join(parts, ",") + blank() + "}"
		case depth < 4 && kind < 5:
			var parts []string
			for range n {
				parts = append(parts, blank()+write(depth+1)+blank())
			}
			return "[" + strings.Join(parts, ",") + blank() + "]"
		}
		return rapid.SampledFrom([]string{"1", "-2.50", "1e9", "true", "false", "null", `"x"`, `"a\"b\n"`, `"é"`, "\"\xff\"", `""`, "12345678901234567890"}).Draw(t, "scalar")
	}
	return []byte(rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "bom") + blank() + write(0) + blank())
}

// someYAML draws a document with blocks, flows, comments and odd line ends.
func someYAML(t *rapid.T) []byte {
	var b strings.Builder
	nl := func() {
		b.WriteString(rapid.SampledFrom([]string{"", "", "", " # c", "  "}).Draw(t, "tail"))
		b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\n\n", "\n# note\n"}).Draw(t, "nl"))
	}
	scalar := func() string {
		return rapid.SampledFrom([]string{"x", "two words", "1", "1.10", "true", "~", "", "'it''s'", `"q \" é"`, "2026-01-02", "[a, {b: 1}]", "{}", "[]", "{k: v, l: }", "é", "a:b", "Studio: x"}).Draw(t, "scalar")
	}
	unit := rapid.SampledFrom([]string{"  ", "    "}).Draw(t, "unit")
	var node func(indent string, depth int)
	node = func(indent string, depth int) {
		list := rapid.IntRange(0, 3).Draw(t, "list") == 0
		for i := range rapid.IntRange(1, 4).Draw(t, "n") {
			head := fmt.Sprintf("%s%s:", indent, rapid.SampledFrom([]string{"a", "status", "é", `"1.1"`, "7"}).Draw(t, "key")+fmt.Sprint(i))
			if strings.Contains(head, `"`) {
				head = indent + `"1.` + fmt.Sprint(i) + `":`
			}
			if list {
				head = indent + "-"
			}
			b.WriteString(head)
			if depth < 3 && rapid.IntRange(0, 2).Draw(t, "deep") == 0 {
				b.WriteString("\n")
				node(indent+unit, depth+1)
				continue
			}
			if s := scalar(); s != "" {
				b.WriteString(" " + s)
			}
			nl()
		}
	}
	b.WriteString(rapid.SampledFrom([]string{"", "\ufeff", "# top\n", "---\n"}).Draw(t, "top"))
	node("", 0)
	out := b.String()
	if rapid.Bool().Draw(t, "cut") {
		out = strings.TrimRight(out, "\r\n")
	}
	return []byte(out)
}

// someMarkdown draws a file of the lines that occur in real ones.
func someMarkdown(t *rapid.T) []byte {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{
		"", "", "text", "# Title", "## Status", "## Status: open", "### Log", "**Status:** Draft", "**Status**: ✅ **Done** — x", "Status: Ready",
		"- **Phase:** one", "a · **Mode:** yolo · **By:** me", "> **Q:** z", "**Empty:**", "| A | B |", "|---|---|", "| 1 | 2 |", "| **Loop Status** | x \\| y |",
		"|  | |", "| short |", "A | B", "- [ ] open", "  - [x] done", "* [X] also", "```", "~~~", "<!-- note", "-->", "---", "status: x", "key: 1", "\xff\xfe", "\ttab", "trailing  ",
	}), 0, 25).Draw(t, "lines")
	var b strings.Builder
	b.WriteString(rapid.SampledFrom([]string{"", "", "\ufeff", "---\nstatus: Draft # c\nn: 1\n---\n", "---\r\nstatus: 'x'\r\n---\r\n", "---\ntitle: a: b\nstatus: x\n---\n"}).Draw(t, "front"))
	for i, line := range lines {
		b.WriteString(line)
		if i+1 < len(lines) || rapid.Bool().Draw(t, "last") {
			b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "nl"))
		}
	}
	return []byte(b.String())
}

func TestProperty_edits_change_only_their_own_bytes(t *testing.T) {
	t.Parallel()
	pick := rapid.UintMax(1 << 16)
	for name, check := range map[string]func(*rapid.T) bool{
		"json": func(t *rapid.T) bool {
			return checkTree(t, someJSON(t), openJSON, pick.Draw(t, "which"), pick.Draw(t, "how"), values.Draw(t, "value"))
		},
		"yaml": func(t *rapid.T) bool {
			return checkTree(t, someYAML(t), openYAML, pick.Draw(t, "which"), pick.Draw(t, "how"), values.Draw(t, "value"))
		},
		"markdown": func(t *rapid.T) bool {
			return checkMarkdown(t, someMarkdown(t), pick.Draw(t, "which"), pick.Draw(t, "how"), fmt.Sprint(values.Draw(t, "value")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried, made := 0, 0
			for range 20 { // a check is 100 documents
				rapid.Check(t, func(t *rapid.T) {
					tried++
					if check(t) {
						made++
					}
				})
			}
			t.Logf("%d documents, %d edits made", tried, made)
			if made*3 < tried {
				t.Errorf("only %d of %d edits were made", made, tried)
			}
		})
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(plan), uint(5), uint(0), "x")
	f.Add([]byte("[]"), uint(0), uint(0), "\u00e9")
	f.Fuzz(func(t *testing.T, data []byte, which, how uint, val string) {
		checkTree(t, data, openJSON, which, how, fuzzValue(how, val))
	})
}

func FuzzYAML(f *testing.F) {
	f.Add([]byte(epic), uint(5), uint(0), "x")
	f.Add([]byte("a: b: c\nd:\n- e\n"), uint(3), uint(2), "- x")
	f.Add([]byte("a: |+\n  x\n\n\n? b\n: [c, *d]\n"), uint(1), uint(0), "y")
	f.Fuzz(func(t *testing.T, data []byte, which, how uint, val string) {
		checkTree(t, data, openYAML, which, how, fuzzValue(how, val))
	})
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte(story), uint(5), uint(0), "x")
	f.Add([]byte("| A |\n|-|\n||\n"), uint(3), uint(1), "a|b")
	f.Fuzz(func(t *testing.T, data []byte, which, how uint, val string) {
		checkMarkdown(t, data, which, how, val)
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("{\"a\": 1}\n{"), "x")
	f.Fuzz(func(t *testing.T, data []byte, val string) {
		next, err := splice.AppendRecord(data, map[string]string{"v": val})
		if err != nil {
			return
		}
		tail, ok := bytes.CutPrefix(next, data)
		if !ok || tail[len(tail)-1] != '\n' {
			t.Fatalf("%q became %q", data, next)
		}
		d, err := splice.NewJSON(bytes.TrimSpace(tail))
		if err != nil || d.Root().Get("v").Str() != val {
			t.Fatalf("%q does not read back: %v", tail, err)
		}
	})
}

// fuzzValue makes values of several kinds of two inputs.
func fuzzValue(how uint, val string) any {
	switch how % 13 {
	case 1:
		return nil
	case 3:
		return true
	case 5:
		return int(how)
	}
	return val
}
