package doc_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/internal/doc"
)

// open reads one file with the given content.
func open(content string) (*doc.Reader, *doc.File) {
	r := doc.NewReader(fstest.MapFS{"d/f": {Data: []byte(content)}})
	return r, r.Open("d/f")
}

func codes(r *doc.Reader) []string {
	var out []string
	for _, f := range r.Findings() {
		out = append(out, f.Code+"@"+f.Source.String())
	}
	return out
}

func TestX2_json_values_know_their_lines(t *testing.T) {
	t.Parallel()
	r, f := open("{\n  \"a\": {\"b\": [1,\n   \"x\\\"y\", true, null]},\n  \"n\": 1.10\n}\n")
	n := f.JSON()
	list := n.Get("a").Get("b")
	if got := list.Source().String(); got != "d/f:2" {
		t.Errorf("list at %s", got)
	}
	for i, want := range []struct {
		text string
		line int
	}{{"1", 2}, {`x"y`, 3}, {"true", 3}, {"null", 3}} {
		item := list.List()[i]
		if item.Text != want.text || item.Line != want.line {
			t.Errorf("item %d: %q at %d", i, item.Text, item.Line)
		}
	}
	if got := n.Get("n").Str(); got != "1.10" {
		t.Errorf("a number lost its spelling: %q", got)
	}
	if got := string(f.Data[list.Items[1].Start:list.Items[1].End]); got != `"x\"y"` {
		t.Errorf("span %q", got)
	}
	if len(codes(r)) > 0 {
		t.Errorf("findings %q", codes(r))
	}
}

func TestX9_damaged_json_is_said(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, message, at string }{
		"cut off":     {"{\"a\":\n 1", "ends too early", "d/f:2"},
		"empty":       {"", "empty", "d/f:1"},
		"two values":  {"{}\n{}", "after top-level value", "d/f:2"},
		"not json":    {"# hello\n", "invalid character", "d/f:1"},
		"NUL":         {"{\n\x00}", "NUL bytes", "d/f:2"},
		"deep":        {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested deeper", "d/f:1"},
		"half a word": {"{\"a\": tru", "ends too early", "d/f:1"},
	} {
		r, f := open(c.content)
		if n := f.JSON(); n != nil {
			t.Errorf("%s: gave %+v", name, n)
		}
		got := r.Findings()
		if len(got) != 1 || got[0].Code != reprise.CodeUnreadable || !strings.Contains(got[0].Message, c.message) || got[0].Source.String() != c.at {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestX9_wrong_types_are_findings_and_nil_is_absent(t *testing.T) {
	t.Parallel()
	r, f := open(`{"list": 3, "map": [1], "int": "x", "bool": 7, "time": "soon", "text": {}}`)
	n := f.JSON()
	n.Get("list").List()
	n.Get("map").Get("k")
	n.Get("int").Int()
	n.Get("bool").Bool()
	n.Get("time").Time()
	n.Get("text").Str()
	if got := len(r.Findings()); got != 6 {
		t.Errorf("%d findings: %q", got, codes(r))
	}
	var absent *doc.Node
	if absent.Get("x").List() != nil || absent.Str() != "" || !absent.Time().IsZero() || absent.Has("x") || absent.Fields() != nil || absent.Strs() != nil {
		t.Error("an absent node says something")
	}
}

func TestX9_duplicate_keys_count_last_and_are_said(t *testing.T) {
	t.Parallel()
	r, f := open("{\"s\": \"done\",\n\"s\": \"open\"}")
	if got := f.JSON().Get("s").Str(); got != "open" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff([]string{"duplicate-key@d/f:2"}, codes(r)); diff != "" {
		t.Error(diff)
	}
	r, f = open("s: done\ns: open\n")
	if f.YAML().Get("s").Str() == "done" {
		t.Error("the first of two keys counted")
	}
	if len(codes(r)) == 0 {
		t.Error("a doubled YAML key was not said")
	}
}

func TestX9_findings_are_bounded(t *testing.T) {
	t.Parallel()
	r, f := open("x")
	f.Report(reprise.Warning, reprise.CodeDamagedLine, 1, "lost", "")
	for i := range 1000 {
		f.Report(reprise.Warning, reprise.CodeDamagedLine, i+1, "lost", "")
	}
	got := r.Findings()
	if len(got) != 11 || !strings.Contains(got[10].Message, "990 more") {
		t.Errorf("%d findings, last %+v", len(got), got[len(got)-1])
	}
}

type refusing struct{ err error }

func (r refusing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: r.err}
}

func TestX9_unreadable_is_not_absent(t *testing.T) {
	t.Parallel()
	for code, err := range map[string]error{
		reprise.CodePermission:  fs.ErrPermission,
		reprise.CodeLinkOutside: doc.ErrOutside,
		reprise.CodeUnreadable:  errors.New("input/output error"),
	} {
		r := doc.NewReader(refusing{err})
		f := r.Open("x")
		if !f.Exists() || f.OK() || f.JSON() != nil || f.YAML() != nil || f.Markdown() != nil {
			t.Errorf("%s: read as %+v", code, f)
		}
		if got := r.Findings(); len(got) != 1 || got[0].Code != code {
			t.Errorf("%s: %+v", code, got)
		}
	}
	r := doc.NewReader(fstest.MapFS{"d/x": {}})
	if f := r.Open("d/none"); f.Exists() || f.JSON() != nil || len(r.Findings()) > 0 {
		t.Error("an absent file was reported")
	}
	if f := r.Open("d"); f.OK() || len(r.Findings()) != 1 || r.Findings()[0].Code != reprise.CodeNotRegular {
		t.Errorf("a folder: %+v", r.Findings())
	}
}

func TestX9_huge_files_are_not_read(t *testing.T) {
	t.Parallel()
	r, f := open(strings.Repeat("x", doc.MaxSize+1))
	if f.OK() || len(r.Findings()) != 1 || r.Findings()[0].Code != reprise.CodeTooLarge {
		t.Errorf("%+v", codes(r))
	}
}

func TestOR2_yaml_keeps_spelling_and_lines(t *testing.T) {
	t.Parallel()
	r, f := open("epic_state:\n  stories:\n    1.10: {status: pending, at: 2026-01-02}\n    '1.2': &s\n      status: completed\n    x: *s\n")
	stories := f.YAML().Get("epic_state").Get("stories").Fields()
	var got []string
	for _, s := range stories {
		got = append(got, s.Name+"="+s.Value.Get("status").Str())
	}
	if diff := cmp.Diff([]string{"1.10=pending", "1.2=completed", "x=completed"}, got); diff != "" {
		t.Error(diff)
	}
	if stories[0].Value.Get("at").Time().IsZero() || stories[0].Line != 3 {
		t.Errorf("first story %+v", stories[0])
	}
	if len(codes(r)) > 0 {
		t.Error(codes(r))
	}
}

func TestOR2_several_yaml_documents_are_joined(t *testing.T) {
	t.Parallel()
	_, f := open("---\na: 1\n---\nb: 2\n")
	n := f.YAML()
	if n.Get("a").Str() != "1" || n.Get("b").Str() != "2" {
		t.Errorf("%+v", n)
	}
}

func TestOR2_broken_yaml_is_read_line_by_line(t *testing.T) {
	t.Parallel()
	r, f := open("execution:\n  title: Studio: the sequel\n  stories:\n    - id: '1.1'\n      file: a.md # here\n    - id: 1.2\n      needs: [1.1, x]\n  waves:\n    1:\n      status: pending\n")
	n := f.YAML().Get("execution")
	if got := n.Get("title").Str(); got != "Studio: the sequel" {
		t.Errorf("title %q", got)
	}
	stories := n.Get("stories").List()
	if len(stories) != 2 || stories[0].Get("file").Str() != "a.md" || stories[1].Get("id").Str() != "1.2" || len(stories[1].Get("needs").Strs()) != 2 {
		t.Errorf("stories %+v", stories)
	}
	if got := n.Get("waves").Get("1").Get("status"); got.Str() != "pending" || got.Line != 10 {
		t.Errorf("wave %+v", got)
	}
	if got := r.Findings(); len(got) != 1 || got[0].Code != reprise.CodeSalvaged {
		t.Errorf("%+v", got)
	}
}

func TestTimes_in_every_spelling(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 3, 1, 14, 5, 0, 0, time.UTC)
	for _, s := range []string{
		"2026-03-01T14:05:00Z", "2026-03-01T14:05:00.000Z", "2026-03-01T15:05:00+01:00", "2026-03-01T14:05:00", "2026-03-01T14:05Z",
		"2026-03-01 14:05:00", "2026-03-01 14:05", "2026-03-01 14:05 UTC", "20260301-1405", "`2026-03-01T14:05:00Z`", "1772373900", "1772373900000",
	} {
		if got, ok := doc.ParseTime(s); !ok || !got.Equal(want) {
			t.Errorf("%s: %v %t", s, got, ok)
		}
	}
	for _, s := range []string{"", "soon", "12", "2026", "2026-13-01", "v1.2", "99999999999999999999"} {
		if got, ok := doc.ParseTime(s); ok {
			t.Errorf("%q read as %v", s, got)
		}
	}
	for s, want := range map[string]string{
		"done on 2026-03-01 by @qa":          "2026-03-01T00:00:00Z",
		"x 2026-03-01T14:05:00Z, then":       "2026-03-01T14:05:00Z",
		"(2026-03-01 14:05) ok":              "2026-03-01T14:05:00Z",
		"id 12026-03-01 then 2026-03-02 end": "2026-03-02T00:00:00Z",
	} {
		if got, ok := doc.FindTime(s); !ok || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %v", s, got)
		}
	}
	if _, ok := doc.FindTime("1234-99-99 99"); ok {
		t.Error("found a time in a number")
	}
}

func TestFold_joins_spellings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"✅ **In_Progress**": "in progress", "Em revisão": "em revisao", "CONCLUÍDA": "concluida", "Ready-for-Review": "ready for review",
		"n/a": "n/a", "1.10": "1.10", "Done.": "done", "": "", "🟡": "", "진행 중": "진행 중", "Concluída": "concluida",
	} {
		if got := doc.Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
	if got := doc.Numbers("12.1-03 v99999999999"); !reflect.DeepEqual(got, []int{12, 1, 3}) {
		t.Errorf("Numbers %v", got)
	}
}

// FuzzJSON holds the reader against the standard library: the same documents
// are valid, and what is valid has spans that hold the values.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"x\"",null,true]}`, `[]`, `"\u00e9"`, `{"a":{"a":{}}}`, `1e9`, "{\"a\":\r\n1}", `{"a":1`, `[1,]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		r, file := open(content)
		n := file.JSONValue()
		valid := json.Valid([]byte(strings.TrimPrefix(content, "\xef\xbb\xbf"))) && !strings.Contains(content, "\x00")
		if (n != nil) != valid && !nested(r) {
			t.Fatalf("read %t, valid %t: %q", n != nil, valid, content)
		}
		if n == nil {
			if len(r.Findings()) == 0 {
				t.Fatal("nothing, and nobody said why")
			}
			return
		}
		checkSpans(t, file.Data, n)
	})
}

func nested(r *doc.Reader) bool {
	fs := r.Findings()
	return len(fs) > 0 && strings.Contains(fs[len(fs)-1].Message, "nested deeper")
}

func checkSpans(t *testing.T, data []byte, n *doc.Node) {
	t.Helper()
	if n.Start < 0 || n.End > len(data) || n.Start >= n.End || !json.Valid(data[n.Start:n.End]) {
		t.Fatalf("span [%d,%d) of %q holds no value", n.Start, n.End, data)
	}
	if n.Kind == doc.String {
		var s string
		if err := json.Unmarshal(data[n.Start:n.End], &s); err != nil || s != n.Text {
			t.Fatalf("span %q, text %q", data[n.Start:n.End], n.Text)
		}
	}
	for _, item := range n.Items {
		checkSpans(t, data, item)
	}
	for _, k := range n.Keys {
		checkSpans(t, data, k.Value)
	}
}

// FuzzYAML asks for an answer or a reason, for any text.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, y]\n", "a: b: c\n- x\n", "&a [*a]", "? {a: b}\n: c", "a: |\n  b\n", "\t- x", "---\n...\n---\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		r, file := open(content)
		if n := file.YAML(); n == nil && len(r.Findings()) == 0 {
			t.Fatalf("nothing, and nobody said why: %q", content)
		}
	})
}

// What two people told is not known, wherever it stands.
func TestA_file_with_both_sides_of_a_conflict_is_not_read(t *testing.T) {
	t.Parallel()
	for text, conflicted := range map[string]bool{
		"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n":        true,
		"# T\n\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n": true,
		"=======\n<<<<<<< HEAD\na\n>>>>>>> x\n":           false,
		"Title\n=======\n\n>>>>>>> x\n":                   false,
		"a <<<<<<< HEAD\n=======\n>>>>>>> x\n":            false,
		"":                                                false,
	} {
		r, f := doc.Memory("notes.md", []byte(text))
		if f.OK() == conflicted || len(r.Findings()) > 0 != conflicted {
			t.Errorf("%q: %t, %v", text, f.OK(), r.Findings())
		}
	}
}
