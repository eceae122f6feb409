package splice_test

import (
	"strings"
	"testing"

	"reprise/internal/splice"
)

const story = `---
id: "1.1"
status: Draft # front
tags: [a]
---

# Story 1.1: a title

**Status:** ✅ **In Progress** — by @dev (x)
**Owner**: me
Phase: one
- **Step:** Ready to Execute
> **Quoted:** old
Created: x · **Mode:** yolo · **By:** pm
**Empty:**

## Status

InReview

## State: open

## Priority Loop State

| Field | Value |
|-------|-------|
| **Loop Status** | validating |
| **Current Iteration** | 3 / 10 |
| **Reason** |  |
| Short |

**Loop Status values**: a, b

## Gap Priority Queue

| Priority | Gap ID | Status   |
|----------|--------|----------|
| Critical | G-001  | pending  |
| Minor    | G-010  | a \| b   |
a line of text

### Tasks

- [ ] write it
  - [x] sub
1. [ ] number
- [X] twice

` + "```" + `
**Status:** example
- [ ] write it
| **Loop Status** | x |
` + "```" + `

<!-- **Owner**: hidden -->

## Log

- one

## Notes
## End

text
`

func TestMarkdown_edits_change_their_own_bytes_only(t *testing.T) {
	t.Parallel()
	swap := func(old, next string) string {
		if strings.Count(story, old) != 1 {
			t.Fatalf("%q stands %d times", old, strings.Count(story, old))
		}
		return strings.Replace(story, old, next, 1)
	}
	label := func(w splice.Where, key, value string) func([]byte) ([]byte, error) {
		return md(func(m *splice.Markdown) error { return m.SetLabel(w, key, value) })
	}
	word := func(key, old, value string) func([]byte) ([]byte, error) {
		return md(func(m *splice.Markdown) error { return m.SetWord(splice.Where{}, key, old, value) })
	}
	cell := func(w splice.Where, row splice.Row, column, value string) func([]byte) ([]byte, error) {
		return md(func(m *splice.Markdown) error { return m.SetCell(w, row, column, value) })
	}
	all := splice.Where{}
	gap := func(id string) splice.Row { return splice.Row{Column: "Gap ID", Text: id} }
	tests := []edit{
		{"bold label, whole value", story, swap("✅ **In Progress** — by @dev (x)", "Done"), label(splice.Where{Line: 9}, "Status", "Done")},
		{"bold label, word", story, swap("In Progress", "Done"), md(func(m *splice.Markdown) error { return m.SetWord(splice.Where{Line: 9}, "status", "", "Done") })},
		{"bold label, a word given", story, swap("@dev", "@qa"), md(func(m *splice.Markdown) error { return m.SetWord(splice.Where{Line: 9}, "status", "dev", "qa") })},
		{"colon outside", story, swap("**: me", "**: you"), label(all, "Owner", "you")},
		{"plain label", story, swap("Phase: one", "Phase: two"), label(all, "Phase", "two")},
		{"bold label in a list", story, swap("Ready to Execute", "Executing"), label(all, "Step", "Executing")},
		{"bold label in a quotation", story, swap("old", "new"), label(all, "Quoted", "new")},
		{"label within a line", story, swap("yolo", "interactive"), label(all, "Mode", "interactive")},
		{"last label of a line", story, swap("pm", "qa"), label(all, "By", "qa")},
		{"label without a value", story, swap("**Empty:**", "**Empty:** full"), label(all, "Empty", "full")},
		{"line below a heading", story, swap("InReview", "Done"), label(splice.Where{Line: 19}, "Status", "Done")},
		{"line below a heading, by the heading", story, swap("InReview", "Done"), label(splice.Where{Line: 17}, "Status", "Done")},
		{"line below a heading, by the section", story, swap("InReview", "Done"), label(splice.Where{Section: "Status"}, "Status", "Done")},
		{"heading with a value", story, swap("State: open", "State: shut"), label(all, "State", "shut")},
		{"row of two columns", story, swap("validating", "clarifying"), label(all, "Loop Status", "clarifying")},
		{"row of two columns, word", story, swap("3 / 10", "4 / 10"), word("Current Iteration", "3", "4")},
		{"row with an empty cell", story, swap("**Reason** |  |", "**Reason** | a \\| b |"), label(all, "Reason", "a | b")},
		{"row that lacks its cell", story, swap("| Short |\n", "| Short | x |\n"), cell(all, splice.Row{Column: "Field", Text: "Short"}, "Value", "x")},
		{"cell", story, swap("pending ", "resolved "), cell(all, gap("G-001"), "Status", "resolved")},
		{"cell by the line", story, swap("pending ", "resolved "), cell(splice.Where{Line: 38}, splice.Row{}, "Status", "resolved")},
		{"cell with pipes", story, swap(`a \| b`, `x \| y`), cell(splice.Where{Section: "Gap Priority Queue"}, gap("g 010"), "status", "x | y")},
		{"cell of a key in bold", story, swap("3 / 10", "5 / 10"), cell(all, splice.Row{Column: "field", Text: "Current Iteration"}, "value", "5 / 10")},
		{"front matter", story, swap("Draft # front", "Ready for Review # front"), md(func(m *splice.Markdown) error { return m.SetFront(path{"status"}, "Ready for Review") })},
		{"front matter in quotes", story, swap(`"1.1"`, `"1.10"`), md(func(m *splice.Markdown) error { return m.SetFront(path{"id"}, "1.10") })},
		{"new in front matter", story, swap("tags: [a]\n", "tags: [a]\nupdated: \"2026-01-02\"\n"), md(func(m *splice.Markdown) error { return m.SetFront(path{"updated"}, "2026-01-02") })},
		{"check box by its text", story, strings.Replace(story, "- [ ] write it", "- [x] write it", 1), md(func(m *splice.Markdown) error { return m.SetCheck(all, "write it", true) })},
		{"item with another text", story, swap("1. [ ] number", "1. [ ] number (skipped)"), md(func(m *splice.Markdown) error { return m.SetItem(all, "**Number**", "number (skipped)") })},
		{"check box by folded text", story, swap("1. [ ] number", "1. [x] number"), md(func(m *splice.Markdown) error { return m.SetCheck(all, "**Number**", true) })},
		{"check box cleared", story, swap("- [X] twice", "- [ ] twice"), md(func(m *splice.Markdown) error { return m.SetCheck(splice.Where{Section: "Tasks"}, "twice", false) })},
		{"check box by its line", story, swap("- [x] sub", "- [ ] sub"), md(func(m *splice.Markdown) error { return m.SetCheck(splice.Where{Line: 45}, "", false) })},
		{"row behind the last", "| A | B |\n|---|---|\n| 1 | 2 |\n\ntext\n", "| A | B |\n|---|---|\n| 1 | 2 |\n| x \\| y |   |\n\ntext\n", md(func(m *splice.Markdown) error { return m.AppendRow(all, map[string]string{"a": "x | y"}) })},
		{"row of a padded table", "x\n\n| A    | Bé  |\n|------|-----|\n| 1    | é   |\n", "x\n\n| A    | Bé  |\n|------|-----|\n| 1    | é   |\n| long text | é   |\n", md(func(m *splice.Markdown) error {
			return m.AppendRow(all, map[string]string{"A": "long text", "Bé": "é"})
		})},
		{"first row", "| A | B |\n|---|---|\n", "| A | B |\n|---|---|\n| 1 | 2 |\n", md(func(m *splice.Markdown) error {
			return m.AppendRow(splice.Where{Line: 1}, map[string]string{"A": "1", "B": "2"})
		})},
		{"row without outer pipes", "A | B\n--|--\n1 | 2\n", "A | B\n--|--\n1 | 2\n3 | 4\n", md(func(m *splice.Markdown) error { return m.AppendRow(all, map[string]string{"A": "3", "B": "4"}) })},
		{"line in a section", story, swap("- one\n", "- one\n- two\n"), md(func(m *splice.Markdown) error { return m.AppendLines(splice.Where{Section: "log"}, "- two") })},
		{"line in an empty section", story, swap("## Notes\n", "## Notes\n\nn1\nn2\n"), md(func(m *splice.Markdown) error { return m.AppendLines(splice.Where{Section: "Notes"}, "n1", "n2") })},
		{"line below a table", story, swap("**Loop Status values**: a, b\n", "**Loop Status values**: a, b\nmore\n"), md(func(m *splice.Markdown) error {
			return m.AppendLines(splice.Where{Section: "Priority Loop State"}, "more")
		})},
		{"line right below a table", "## T\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n## U\n", "## T\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\nmore\n\n## U\n", md(func(m *splice.Markdown) error { return m.AppendLines(splice.Where{Section: "T"}, "more") })},
		{"section at the end", story, story + "\n## New\n\n- a\n", md(func(m *splice.Markdown) error { return m.AppendSection(all, 2, "New", "- a") })},
		{"section in a section", story, swap("\n## Notes\n", "\n### Entry\n\n## Notes\n"), md(func(m *splice.Markdown) error { return m.AppendSection(splice.Where{Section: "Log"}, 3, "Entry") })},
		{"section before a heading that follows at once", story, swap("## Notes\n", "## Notes\n\n### Entry\n\nx\n\n"), md(func(m *splice.Markdown) error {
			return m.AppendSection(splice.Where{Section: "Notes"}, 3, "Entry", "x")
		})},
		{"no changes", story, story, md(func(m *splice.Markdown) error {
			for _, err := range []error{
				m.SetLabel(splice.Where{Line: 19}, "Status", "InReview"), m.SetWord(splice.Where{Line: 9}, "Status", "", "In Progress"),
				m.SetCell(all, gap("G-010"), "Status", "a | b"), m.SetCheck(all, "sub", true), m.SetFront(path{"tags"}, []string{"a"}), m.AppendLines(all),
			} {
				if err != nil {
					return err
				}
			}
			if m.Changed() {
				t.Error("a no-op says it changed something")
			}
			return nil
		})},
		{"two blocks of front matter", "---\na: 1\n---\n\n---\nb: 2\n---\nx\n", "---\na: 1\n---\n\n---\nb: 3\n---\nx\n", md(func(m *splice.Markdown) error { return m.SetFront(path{"b"}, 3) })},
		{"empty front matter", "---\n---\nx\n", "---\na: 1\n---\nx\n", md(func(m *splice.Markdown) error { return m.SetFront(path{"a"}, 1) })},
		{"front matter that is not well-formed", "---\ntitle: a: b\nstatus: x # c\n---\nx\n", "---\ntitle: a: b\nstatus: Done # c\n---\nx\n", md(func(m *splice.Markdown) error { return m.SetFront(path{"status"}, "Done") })},
		{"status as a list of boxes", "## Status\n\n- [x] Rascunho\n- [x] Em revisão (APPROVED)\n- [ ] Concluída\n", "## Status\n\n- [x] Rascunho\n- [x] Em revisão (APPROVED)\n- [x] Concluída\n", md(func(m *splice.Markdown) error { return m.SetCheck(splice.Where{Section: "Status"}, "Concluida", true) })},
		{"tabs, blanks and broken characters", "\t**Status:**\tx \t\n\xff\xfe\n", "\t**Status:**\ty \t\n\xff\xfe\n", label(all, "Status", "y")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); run(t, tt) })
	}
}

func TestMarkdown_refuses(t *testing.T) {
	t.Parallel()
	all := splice.Where{}
	m := func(do func(m *splice.Markdown) error) func([]byte) ([]byte, error) { return md(do) }
	tests := []refusal{
		{"two fields of a name", story, splice.ErrAmbiguous, m(func(m *splice.Markdown) error { return m.SetLabel(all, "Status", "x") })},
		{"two sections of a title", "## A\nx: 1\n## A\n", splice.ErrAmbiguous, m(func(m *splice.Markdown) error { return m.SetLabel(splice.Where{Section: "A"}, "x", "2") })},
		{"a field that is hidden", "```\n**Status:** x\n```\n", splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetLabel(all, "Status", "y") })},
		{"no section", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetLabel(splice.Where{Section: "zz"}, "x", "2") })},
		{"no name", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetLabel(all, "", "2") })},
		{"a word that is not there", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetWord(all, "Phase", "on", "x") })},
		{"a value of two lines", story, splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.SetLabel(all, "Phase", "a\nb") })},
		{"a value with a label in it", story, splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.SetLabel(all, "Owner", "a **B:** c") })},
		{"a value that opens a fence", "## Status\nx\n\ny\n", splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.SetLabel(all, "Status", "```") })},
		{"a cell of two lines", story, splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.SetCell(all, splice.Row{"Gap ID", "G-001"}, "Status", "a\nb") })},
		{"no row", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetCell(all, splice.Row{"Gap ID", "G-9"}, "Status", "x") })},
		{"no column", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetCell(all, splice.Row{"Gap ID", "G-001"}, "Nope", "x") })},
		{"two rows", "| A | B |\n|---|---|\n| 1 | 2 |\n| 1 | 3 |\n", splice.ErrAmbiguous, m(func(m *splice.Markdown) error { return m.SetCell(all, splice.Row{"A", "1"}, "B", "x") })},
		{"two tables", "| A | B |\n|---|---|\n\n| A | B |\n|---|---|\n", splice.ErrAmbiguous, m(func(m *splice.Markdown) error { return m.AppendRow(all, map[string]string{"A": "x"}) })},
		{"a row with a column too many", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.AppendRow(all, map[string]string{"Gap ID": "x", "Zed": "y"}) })},
		{"a row of two lines", story, splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.AppendRow(all, map[string]string{"Gap ID": "x\ny"}) })},
		{"no item", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetItem(all, "nope", "a") })},
		{"item of two lines", story, splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.SetItem(all, "**Number**", "a\n- [x] b") })},
		{"no box", story, splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetCheck(all, "nope", true) })},
		{"two boxes", "- [ ] a\n- [ ] a\n", splice.ErrAmbiguous, m(func(m *splice.Markdown) error { return m.SetCheck(all, "a", true) })},
		{"no front matter", "text\n", splice.ErrNotFound, m(func(m *splice.Markdown) error { return m.SetFront(path{"a"}, 1) })},
		{"front matter that would end", "---\na: 1\n---\n", splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.SetFront(path{"b\n---\n"}, 1) })},
		{"lines in a fence that is open", "## A\n```\n", splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.AppendLines(splice.Where{Section: "A"}, "x") })},
		{"a line that opens a fence", "## A\nx\n\n## B\n", splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.AppendLines(splice.Where{Section: "A"}, "```") })},
		{"a line of two", "## A\n", splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.AppendLines(splice.Where{Section: "A"}, "a\nb") })},
		{"a section of the wrong level", "## A\n", splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.AppendSection(splice.Where{Section: "A"}, 2, "B") })},
		{"a section without a title", "## A\n", splice.ErrUnfit, m(func(m *splice.Markdown) error { return m.AppendSection(all, 2, " ##") })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { t.Parallel(); refused(t, tt) })
	}
}

func TestMarkdown_fields_lists_every_syntax(t *testing.T) {
	t.Parallel()
	m, err := splice.NewMarkdown([]byte(story))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range m.Fields(splice.Where{}, "Status") {
		got = append(got, f.Value)
	}
	if want := "✅ **In Progress** — by @dev (x)|InReview"; strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}
