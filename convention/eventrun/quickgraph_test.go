package eventrun

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/internal/doc"
)

// graphs are read quickly, or not at all.
var graphs = []struct {
	text  string
	quick bool
}{
	{`{"tasks":[{"id":"A"}]}`, true},
	{`{"title":"T","tasks":[{"id":"A","title":"a","dependencies":[]},{"id":" B ","dependencies":["A","A"," "]}]}`, true},
	{"{\n \"title\": \"ü\",\r\n\t\"tasks\": [\n {\"id\": \"A\",\n \"phase\":\"1\"},\n\n {\"id\": \"B\", \"title\":\"say \\\"x\\\"\\nand more\"}\n]}\n", true},
	{`{"title":"T","workflow":{"file":"ci.yaml","sha256":"00"},"tasks":[{"id":"A","files":["a.go"," ","b.go"]}]}`, true},
	{`{"workflow":{"file":"ci.yaml","sha256":"` + strings.Repeat("0a", 32) + `"},"tasks":[{"id":"A","max_attempts":12},{"id":"B","max_attempts": 1 }]}`, true},
	{`{"workflow":{"file":"ci.yaml","sha256":"` + strings.Repeat("0a", 32) + `"},"tasks":[{"id":"A","max_attempts":101}]}`, false},
	{`{"workflow":{"file":"ci.yaml","sha256":"` + strings.Repeat("0a", 32) + `"},"tasks":[{"id":"A","max_attempts":"4"}]}`, false},
	{`{"workflow":{"file":"ci.yaml","sha256":"` + strings.Repeat("0a", 32) + `"},"tasks":[{"id":"A","max_attempts":04}]}`, false},
	{`{"tasks":[{"id":"A","max_attempts":12}]}`, false},
	{`{"workflow":{"file":"x","file":"y"},"tasks":[{"id":"A"}]}`, false},
	{`{"tasks":[{"id":"A","status":"completed"}]}`, false},
	{`{"tasks":[{"id":"A","id":"B"}]}`, false},
	{`{"tasks":[{"id":"A","dependencies":[{"id":"B"}]}]}`, false},
	{`{"tasks":[{"id":"A\u0041"}]}`, false},
	{`{"tasks":[{"title":"a"}]}`, false},
	{`{"tasks":[]}`, false},
	{`{"tasks":[{"id":"A"}]`, false},
	{`{"tasks":[{"id":"A"}]} x`, false},
	{`{"tasks":[{"id":"A"},]}`, false},
	{`{"tasks":{"A":{}}}`, false},
	{"{\"tasks\":[{\"id\":\"A\x00\"}]}", false},
	{"{\"tasks\":[{\"id\":\"A\xff\"}]}", false},
	{"\ufeff" + `{"tasks":[{"id":"A"}]}`, false},
}

// readBoth reads a graph in both ways.
func readBoth(text string) (quick, slow graph, ok bool, findings []reprise.Finding) {
	fsys := fstest.MapFS{"task-graph.json": {Data: []byte(text)}}
	quick.file, slow.file = "task-graph.json", "task-graph.json"
	quick.origin, slow.origin = originIn([]byte(text)), originIn([]byte(text))
	ok = quickGraph(&quick, []byte(text))
	l := &loading{r: doc.NewReader(fsys), dir: "."}
	if root := l.json(l.r.Open("task-graph.json")); root != nil {
		l.fillGraph(&slow, root)
	}
	return quick, slow, ok, l.r.Findings()
}

func sameGraph(t *testing.T, text string, quick, slow graph, findings []reprise.Finding) {
	t.Helper()
	for _, n := range slow.nodes {
		n.statusAt = reprise.Source{}
	}
	if d := cmp.Diff(slow, quick, cmp.AllowUnexported(graph{}, node{})); d != "" || len(findings) > 0 {
		t.Errorf("%q: %s, findings %+v", text, d, findings)
	}
}

func TestEV2_graphs_are_read_the_same_quickly(t *testing.T) {
	t.Parallel()
	for _, tc := range graphs {
		quick, slow, ok, findings := readBoth(tc.text)
		if ok != tc.quick {
			t.Errorf("%q: read quickly %v, want %v", tc.text, ok, tc.quick)
		}
		if ok {
			sameGraph(t, tc.text, quick, slow, findings)
		}
	}
}

func FuzzQuickGraph(f *testing.F) {
	for _, tc := range graphs {
		f.Add(tc.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quick, slow, ok, findings := readBoth(text)
		if ok && !strings.Contains(text, "```") {
			sameGraph(t, text, quick, slow, findings)
		}
	})
}
