package doc_test

import (
	"strings"
	"testing"

	"reprise/internal/doc"
)

// TestTaskOf: a task is open unless its box says that it is done, however it is written.
func TestTaskOf(t *testing.T) {
	for line, want := range map[string]string{
		"- [ ] a": "open", "- [x] a": "done", "- [X] a": "done", "* [x] a": "done", "1. [ ] a": "open", "  - [~] a": "open",
		"- [] a": "open", "- [ a": "open", "- [x a": "open", "- ] a": "open", "- ☐ a": "open", "- ⬜ a": "open", "- ☑ a": "done",
		"- ✅ a": "done", "- ✔️ a": "done", "- ❌ a": "open", "- ( ) a": "open", "- (x) a": "done", "-[x] a": "done", "- [ x ] a": "done",
		"- [todo] a": "open", "- [done] a": "done", "- **[ ]** a": "open", "• [ ] a": "open", `- \[ \] a`: "open", "- [✓] a": "done", "- [✅] a": "done", "- [✔️] a": "done", "- [❌] a": "open", "- [in review] a": "open", "- [NEW] a": "", "**a**": "", "*a": "",
		"- a": "", "a [ ] b": "", "- [link](x.md)": "", "- [link][ref]": "", "- [1]: x": "", "- [a tag] b": "", "[x] a": "", "- ": "", "": "",
	} {
		c, ok := doc.TaskOf(doc.Line{Text: line})
		got := map[bool]string{true: "done", false: "open"}[c.Ticked]
		if !ok {
			got = ""
		}
		if got != want || ok && c.Text != "a" {
			t.Errorf("%q is %q (%q), want %q", line, got, c.Text, want)
		}
	}
}

// TestUnended: where a fence or a comment never ends, whoever reads the body learns that
// not all of it is known; front matter and title are read without it.
func TestUnended(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		whole bool
	}{
		"none":                 {"# T\n\n```\n- [ ] a\n```\n", true},
		"a fence":              {"# T\n\n```\n- [ ] a\n", false},
		"a tilde fence":        {"# T\n\n~~~ sh\n# a\n", false},
		"a comment":            {"# T\n\n<!-- x\n| a | b |\n", false},
		"a label":              {"# T\n\n```\nStatus: open\n", false},
		"only code":            {"# T\n\n```\nmake\n", true},
		"nothing behind it":    {"# T\n\n```\n\n", true},
		"the first of several": {"# T\n\n```\n## A\n```\nmake\n```\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, f := doc.Memory("x.md", []byte(c.text))
			m := f.Markdown()
			if m.Title() != "T" || !f.Whole() {
				t.Fatal("the title alone tells of what is behind it")
			}
			m.Sections()
			if f.Whole() != c.whole {
				t.Errorf("whole is %v", f.Whole())
			}
		})
	}
}

// TestTwice: a key that stands twice and says different things tells nothing, once it is
// read.
func TestTwice(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"a": 1, "b": 2}`:                 true,
		`{"a": 1, "a": 2}`:                 false,
		`{"a": 1, "a": 1}`:                 true,
		`{"a": [1], "a": [1]}`:             false,
		`{"b": 1, "b": 2, "a": 1}`:         true, // no one reads b
		`{"b": {"a": 1, "a": 2}, "a": 1}`:  true,
		`{"a": {"c": 1, "c": 2}, "b": 1}`:  true,
		`{"a": null, "a": {"c": 1}}`:       false,
		strings.Repeat(" ", 9) + `{"a":1}`: true,
	} {
		for _, form := range []string{"json", "yaml"} {
			_, f := doc.Memory("x."+form, []byte(text))
			n := f.JSON
			if form == "yaml" {
				n = f.YAML
			}
			n().Get("a")
			if f.Whole() != whole {
				t.Errorf("%s: %s: whole is %v", form, text, f.Whole())
			}
		}
	}
	_, f := doc.Memory("x.json", []byte(`{"b": 1, "b": 2}`))
	if f.JSON().Fields(); f.Whole() {
		t.Error("who reads all entries reads both")
	}
}
