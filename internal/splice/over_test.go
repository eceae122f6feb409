package splice_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

func TestSL5_edits_can_be_read_back_before_they_are_made(t *testing.T) {
	t.Parallel()
	under := fstest.MapFS{"a/x": {Data: []byte("old")}, "a/y": {Data: []byte("same")}}
	over := splice.Over(under, []reprise.Edit{{Path: "a/x", Content: []byte("new")}, {Path: "a/z/deep", Content: []byte("made")}})
	for name, want := range map[string]string{"a/x": "new", "a/y": "same", "a/z/deep": "made"} {
		if got, err := fs.ReadFile(over, name); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	list, err := fs.ReadDir(over, "a")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"x", "y", "z"}, names); diff != "" {
		t.Error(diff)
	}
	if string(under["a/x"].Data) != "old" {
		t.Error("the edit was made")
	}
}

func TestPath_finds_what_stands_there(t *testing.T) {
	t.Parallel()
	r := doc.NewReader(fstest.MapFS{"f": {Data: []byte(`{"a": [{"b": "c"}]}`)}})
	root := r.Open("f").JSON()
	if got := (splice.Path{"a", 0, "b"}).In(root); got.Str() != "c" {
		t.Errorf("%+v", got)
	}
	for _, p := range []splice.Path{{"x"}, {"a", 1}, {"a", -1}, {"a", "b"}, {0}} {
		if got := p.In(root); got != nil {
			t.Errorf("%v gives %+v", p, got)
		}
	}
}
