package doc_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/internal/doc"
)

// heard is a file system that is told what was not understood.
type heard struct {
	fs.FS
	unread []string
}

// A JSON document with bytes that are no text, of another type or without any of the
// known keys is not what stood there.
func TestJSONThatIsAnotherDocumentIsUnread(t *testing.T) {
	t.Parallel()
	for text, unread := range map[string]bool{
		`{"commits": []}`:                   false,
		`{"metadata": {}, "more": 1}`:       false,
		`{}`:                                true,
		`[]`:                                true,
		`null`:                              true,
		`42`:                                true,
		`{"tasks": "nope"}`:                 true,
		`[1, 2]`:                            true,
		`"commits"`:                         true,
		"{\"commits\": [], \"a\xff\": 1}":   true,
		"{\"commits\": [], \"a\": \"é\"}\n": false,
	} {
		h := &heard{FS: fstest.MapFS{"a.json": {Data: []byte(text)}}}
		if doc.NewReader(h).Open("a.json").JSON().Object("commits", "metadata"); (len(h.unread) > 0) != unread {
			t.Errorf("%q: unread is %q", text, h.unread)
		}
	}
}

// A state file is a map or a list with something in it. One value, or brackets with nothing
// between them, is nothing that such a file says. (issue 15, row 1)
func TestA_state_file_of_one_bare_or_empty_value_is_unread(t *testing.T) {
	t.Parallel()
	for text, unread := range map[string]bool{`null`: true, `42`: true, `"nope"`: true, `true`: true, `[]`: true, `{}`: true, `[0]`: false, `{"a": null}`: false} {
		for form, read := range map[string]func(*doc.File) *doc.Node{"JSON": (*doc.File).JSON, "YAML": (*doc.File).YAML} {
			h := &heard{FS: fstest.MapFS{"a": {Data: []byte(text)}}}
			if n := read(doc.NewReader(h).Open("a")); (n == nil) != unread || (len(h.unread) > 0) != unread {
				t.Errorf("%s %q: %v, unread is %q", form, text, n, h.unread)
			}
		}
	}
}

func (h *heard) Unread(f reprise.Finding) { h.unread = append(h.unread, f.Message) }

// A Markdown file that is empty, holds another format or ends in the middle of a line
// tells nothing that can be relied on; one that only lacks its last line end does.
// (issue 15, row 1)
func TestMarkdownThatCannotBeWholeIsUnread(t *testing.T) {
	t.Parallel()
	for text, unread := range map[string]bool{
		"":                                  true,
		" \n\n":                             true,
		"\ufeff":                            true,
		"{\"tasks\": \"nope\"}\n":           true,
		"[1, 2]":                            true,
		"# A\n\n## Active clarif":           true,
		"# A\n\n**Asked:** today\n**Ques":   true,
		"# A\n\n| Field | Value |\n|---|":   false,
		"# A\n\n| Field | Value |\n|---|--": true,
		"# A\n\nvalues: `done` | `te":       true,
		"# A\n\n- [":                        true,
		"# A\n":                             false,
		"# A\n\n```sh\nmake\n```":           false,
		"# A\n\n```sh\nmake\n  ```  ":       false,
		"# A\n\n**Ques\n":                   false,
		"# A\n\n- prose without an end":     false,
		"# A\n\n**Status:** pending":        false,
		"# A\n\n- [x] done [FR-001]":        false,
	} {
		h := &heard{FS: fstest.MapFS{"a.md": {Data: []byte(text)}}}
		if doc.NewReader(h).Open("a.md").Markdown(); (len(h.unread) > 0) != unread {
			t.Errorf("%q: unread is %q", text, h.unread)
		}
	}
}
