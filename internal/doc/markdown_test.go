package doc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"reprise/internal/doc"
)

func markdown(content string) *doc.Markdown {
	_, f := open(content)
	return f.Markdown()
}

func TestLR3_front_matter_stacked_and_none(t *testing.T) {
	t.Parallel()
	m := markdown("---\nstatus: executing\n---\n\n---\nstatus: planning\n---\n# State\nbody\n")
	if m.Front.Get("status").Str() != "executing" || len(m.MoreFront) != 1 || m.MoreFront[0].Get("status").Str() != "planning" {
		t.Errorf("front %+v more %+v", m.Front, m.MoreFront)
	}
	if m.MoreFront[0].Get("status").Line != 6 {
		t.Errorf("line %d", m.MoreFront[0].Get("status").Line)
	}
	if m.Title() != "State" || m.Lines[0].No != 8 {
		t.Errorf("title %q first line %d", m.Title(), m.Lines[0].No)
	}
	for _, s := range []string{"---\n\nprose between two rules\n\n---\n", "---\nkey: never closed\n", "text\n---\na: b\n---\n", ""} {
		if m := markdown(s); m.Front != nil {
			t.Errorf("%q has front matter %+v", s, m.Front)
		}
	}
	if m := markdown("\xef\xbb\xbf---\r\na: b\r\n---\r\n# T\r\n"); m.Front.Get("a").Str() != "b" || m.Title() != "T" {
		t.Error("BOM and CRLF")
	}
}

func TestLR4_examples_and_comments_are_hidden(t *testing.T) {
	t.Parallel()
	m := markdown("# A\n```md\n## Task Group 9\n**Status:** pending\n```\n<!-- **Status:** hidden\n## no -->\n~~~\n```\n~~~\n## B\n**Status:** shown\n")
	var titles []string
	for _, s := range m.Sections() {
		titles = append(titles, s.Title)
	}
	if diff := cmp.Diff([]string{"A", "B"}, titles); diff != "" {
		t.Error(diff)
	}
	labels := m.All().Labels()
	if len(labels) != 1 || labels[0].Value != "shown" || labels[0].Line != 12 {
		t.Errorf("%+v", labels)
	}
}

func TestOR2_labels_in_every_spelling(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]doc.Label{
		"**Status:** InReview":        {Key: "Status", Value: "InReview", Form: doc.BoldLabel},
		"**Status**: Done":            {Key: "Status", Value: "Done", Form: doc.BoldLabel},
		"- **Phase:** Ready":          {Key: "Phase", Value: "Ready", Form: doc.BoldLabel},
		"Status: Draft → Ready":       {Key: "Status", Value: "Draft → Ready", Form: doc.PlainLabel},
		"> Status: Draft":             {Key: "Status", Value: "Draft", Form: doc.PlainLabel},
		"| **Status** | clarifying |": {Key: "Status", Value: "clarifying", Form: doc.TableLabel},
		"1. Status: x":                {Key: "Status", Value: "x", Form: doc.PlainLabel},
	} {
		got := markdown(in + "\n").All().Labels()
		want.Line = 1
		if len(got) != 1 || got[0] != want {
			t.Errorf("%q: %+v", in, got)
		}
	}
	got := markdown("Epic 3 · **Status:** Done · **Owner:** @qa\n").All().Labels()
	if len(got) != 2 || got[0].Value != "Done" || got[0].Form != doc.InlineBold || got[1].Value != "@qa" {
		t.Errorf("%+v", got)
	}
	for _, in := range []string{"https://example.org", "|---|---|", "no label here", "# Heading: x", "12:30"} {
		if got := markdown(in).All().Labels(); len(got) > 0 {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func TestSL8_tables_by_header_with_spans(t *testing.T) {
	t.Parallel()
	content := "## Gaps\r\n\r\n| Priority | Gap ID | Status |\r\n|---|:-:|---|\r\n| Critical | G-001 | resolved | extra |\r\n| a\\|b | | \r\nnot a row? yes\r\n\r\nend\r\n"
	_, f := open(content)
	s, ok := f.Markdown().Section("gaps")
	if !ok {
		t.Fatal("no section")
	}
	tables := s.Tables()
	if len(tables) != 1 || len(tables[0].Rows) != 3 {
		t.Fatalf("%+v", tables)
	}
	tb := tables[0]
	if tb.Column("Gap", "gap id") != 1 || tb.Column("none") != -1 {
		t.Error("columns")
	}
	cell := tb.Rows[0][2]
	if cell.Text != "resolved" || string(f.Data[cell.Start:cell.End]) != "resolved" || cell.Line != 5 {
		t.Errorf("%+v", cell)
	}
	if tb.Rows[1][0].Text != "a|b" || tb.Rows[1][1].Text != "" || len(tb.Rows[1]) != 3 {
		t.Errorf("%+v", tb.Rows[1])
	}
}

func TestLR9_checks(t *testing.T) {
	t.Parallel()
	got := markdown("- [x] one\n  - [ ] two\n* [X] three\n- [?] no\n- [] no\n1. [ ] four\n").All().Checks()
	var text []string
	for _, c := range got {
		text = append(text, c.Text)
	}
	if diff := cmp.Diff([]string{"one", "two", "three", "four"}, text); diff != "" {
		t.Error(diff)
	}
	if !got[0].Ticked || got[1].Ticked {
		t.Errorf("%+v", got)
	}
}

// FuzzMarkdown holds the line scanner against a full Markdown parser: every
// table at the top level that the parser sees outside of lists, quotes and HTML
// is seen here too, with the same cells, and every heading likewise.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{
		"| a | b |\n|---|---|\n| 1 | 2 |\n", "# h\n\n| a |\n|--|\n| x \\| y |\n\n## i ##\n",
		"```\n| a |\n|---|\n```\n", "a | b\n--- | :-:\n1 | 2 | 3\n4\n", "text\n| a | b |\n|---|---|\n> q\n", "| a |\n| - |\n# h\n", "~~~ x\n# no\n~~~\n# yes\n",
		"<!-- x\n# no\n-->\n# yes\n", "| a |\n|---|\n- item\n",
	} {
		f.Add(s)
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table))
	f.Fuzz(func(t *testing.T, content string) {
		if !comparable(content) {
			t.Skip()
		}
		m := markdown(content)
		src := []byte(content)
		var want, got [][]string
		var wantHeads, gotHeads int
		for n := md.Parser().Parse(text.NewReader(src)).FirstChild(); n != nil; n = n.NextSibling() {
			switch n := n.(type) {
			case *ast.Heading:
				wantHeads++
			case *east.Table:
				for row := n.FirstChild(); row != nil; row = row.NextSibling() {
					var cells []string
					for c := row.FirstChild(); c != nil; c = c.NextSibling() {
						if l := c.Lines(); l != nil && l.Len() > 0 {
							seg := l.At(0)
							cells = append(cells, strings.ReplaceAll(strings.TrimSpace(string(seg.Value(src))), `\|`, "|"))
						} else {
							cells = append(cells, "")
						}
					}
					want = append(want, cells)
				}
			}
		}
		gotHeads = len(m.Sections())
		for _, tb := range m.All().Tables() {
			got = append(got, texts(tb.Header))
			for _, row := range tb.Rows {
				got = append(got, texts(row))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("tables of %q (-goldmark +ours):\n%s", content, diff)
		}
		if wantHeads != gotHeads {
			t.Fatalf("headings of %q: goldmark %d, ours %d", content, wantHeads, gotHeads)
		}
	})
}

func texts(cells []doc.Cell) []string {
	var out []string
	for _, c := range cells {
		out = append(out, c.Text)
	}
	return out
}

// comparable leaves out what the line scanner does not claim to follow: nesting
// in lists and quotes, indented code, setext headings, raw HTML, link reference
// definitions, control characters, front matter, and rows without their outer
// pipes that end in empty cells, where parsers differ from each other.
func comparable(s string) bool {
	if strings.ContainsAny(s, "\t\r\x00\f\v\\=<>&[]*+_") {
		return false
	}
	for _, line := range strings.Split(s, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		if trimmed != line {
			return false
		}
		if strings.HasPrefix(trimmed, "-") || strings.Contains(line, "||") || strings.HasSuffix(line, " ") {
			return false
		}
		if bare := strings.Trim(line, "|"); strings.Contains(line, "|") && (line[0] == '|') != (line[len(line)-1] == '|') || bare == "" && line != "" {
			return false
		}
		if trimmed != "" && trimmed[0] >= '0' && trimmed[0] <= '9' {
			return false
		}
		for _, r := range line {
			if r > 126 || r < 32 {
				return false
			}
		}
	}
	return true
}
