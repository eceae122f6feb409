package doc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise/internal/doc"
)

// places lists every scalar of a tree as path=span.
func places(data []byte, n *doc.Node, at string) []string {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case doc.Map:
		var out []string
		for _, k := range n.Keys {
			out = append(out, places(data, k.Value, at+"."+k.Name)...)
		}
		return out
	case doc.List:
		var out []string
		for i, item := range n.Items {
			out = append(out, places(data, item, fmt.Sprintf("%s.%d", at, i))...)
		}
		return out
	}
	if n.Start == 0 && n.End == 0 {
		return []string{at + " has none"}
	}
	return []string{at + "=" + string(data[n.Start:n.End])}
}

func TestYAML_values_know_where_they_stand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"plain, quoted and commented", "a: b # c\nd: \"e \\\" f\" # g\nh: 'i''j'\n", []string{".a=b", `.d="e \" f"`, ".h='i''j'"}},
		{"multibyte before", "é: [ä, \"ö\", 3]\n", []string{".é.0=ä", `.é.1="ö"`, ".é.2=3"}},
		{"windows line ends and mark", "\ufeffa: b\r\nc:\r\n  - d\r\n  - e: f\r\n", []string{".a=b", ".c.0=d", ".c.1.e=f"}},
		{"values left out", "a:\nb: # c\nd:\n  -\n  - x\ne: {f: , g: 1}\n", []string{".a=", ".b=", ".d.0=", ".d.1=x", ".e.f=", ".e.g=1"}},
		{"over several lines", "a: b c\n  d\ne: |\n  f\n  # g\nh: >-\n  i\n  j\n\nk: \"l\n  m\"\n", []string{".a=b c\n  d", ".e=|\n  f\n  # g", ".h=>-\n  i\n  j", ".k=\"l\n  m\""}},
		{"anchors, tags and aliases", "a: &x b\nc: *x\nd: !!str 5\ne: &y\n  f: 1\ng: *y\nh: &z\ni: 2\n", []string{".a=b", ".c has none", ".d=5", ".e.f=1", ".g.f has none", ".h=", ".i=2"}},
		{"several documents", "a: 1\n---\nb: 2\n...\n---\nc: 3\n", []string{".a=1", ".b=2", ".c=3"}},
		{"other line ends", "a: 1\rb: 2\u2028c: 3\u0085d: 4\n", []string{".a=1", ".b=2", ".c=3", ".d=4"}},
		{"lines within text", "a: \"x\u2028y\"\nb: 1\n", []string{".a=\"x\u2028y\"", ".b=1"}},
		{"not well-formed", "a: Studio: b\nc:   d # e\nl:\n  - x\n  -  k: \"v\"\n    w: 1\nn:\nm: [q, 'r' ]\n", []string{".a=Studio: b", ".c=d", ".l.0=x", `.l.1.k="v"`, ".l.1.w=1", ".m.0=q", ".m.1='r'"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, f := open(tt.in)
			if diff := cmp.Diff(tt.want, places(f.Data, f.YAML(), "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestYAML_collections_know_where_they_stand(t *testing.T) {
	t.Parallel()
	_, f := open("x:\n  a:\n  - 1\n  - 2\n  b: &n\n    # c\n    d: 3\n  e: {f: [1, [2, 3]], g: {}, h: [\n    # i\n  ] }\n")
	root := f.YAML().Get("x")
	for name, n := range map[string]*doc.Node{
		"- 1\n  - 2": root.Get("a"), "d: 3": root.Get("b"), "[1, [2, 3]]": root.Get("e").Get("f"), "{}": root.Get("e").Get("g"),
		"[\n    # i\n  ]": root.Get("e").Get("h"),
	} {
		if got := string(f.Data[n.Start:n.End]); got != name {
			t.Errorf("%q, want %q", got, name)
		}
	}
	if got := string(f.Data[root.Start:root.End]); !strings.HasPrefix(got, "a:") || !strings.HasSuffix(got, "] }") {
		t.Errorf("block %q", got)
	}
}

func TestFront_matter_values_stand_at_offsets_of_the_file(t *testing.T) {
	t.Parallel()
	_, f := open("\ufeff---\r\nstatus: draft # x\r\n---\r\n\r\n---\nid: \"7\"\ntitle: a: b\n---\nbody\n")
	m := f.Markdown()
	got := append(places(f.Data, m.Front, ""), places(f.Data, m.MoreFront[0], "")...)
	if diff := cmp.Diff([]string{".status=draft", `.id="7"`, ".title=a: b"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzYAMLPlaces(f *testing.F) {
	for _, seed := range []string{"a: b\n", "- {a: [1, 'x']}\n", "a: &x |\n  b\nc: *x\n", "a: b: c\n- d\n", "é: \"\u2028\"\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, file := open(string(data))
		var check func(n *doc.Node)
		check = func(n *doc.Node) {
			if n == nil {
				return
			}
			if n.Start < 0 || n.End < n.Start || n.End > len(data) {
				t.Fatalf("span [%d,%d) of %d bytes", n.Start, n.End, len(data))
			}
			for _, k := range n.Keys {
				check(k.Value)
			}
			for _, item := range n.Items {
				check(item)
			}
		}
		check(file.YAML())
	})
}
