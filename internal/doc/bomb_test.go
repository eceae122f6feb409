package doc_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"reprise"
	"reprise/internal/doc"
)

// bombs are small files that are large once they are read, and what is to be said of
// each: that it is too large, or not well-formed.
var bombs = map[string]struct {
	text, code string
	read       func(*doc.File)
}{
	"wide JSON":         {"[" + strings.Repeat("{},", 1<<20) + "{}]", reprise.CodeTooLarge, func(f *doc.File) { f.JSON() }},
	"one key for ever":  {"{" + strings.Repeat(`"a":1,`, 1<<19) + `"a":1}`, reprise.CodeTooLarge, func(f *doc.File) { f.JSON() }},
	"deep JSON":         {strings.Repeat("[", 1<<17), reprise.CodeUnreadable, func(f *doc.File) { f.JSON() }},
	"deep objects":      {strings.Repeat(`{"a":`, 1<<20), reprise.CodeTooLarge, func(f *doc.File) { f.JSON() }},
	"lines of nothing":  {strings.Repeat("{}\n", 1<<20), reprise.CodeTooLarge, func(f *doc.File) { f.JSONLines() }},
	"aliases of YAML":   {aliases(), reprise.CodeUnreadable, func(f *doc.File) { f.YAML() }},
	"deep YAML":         {strings.Repeat("[{a: ", 1<<14), reprise.CodeUnreadable, func(f *doc.File) { f.YAML() }},
	"much YAML":         {strings.Repeat("- a\n", 1<<20+1), reprise.CodeTooLarge, func(f *doc.File) { f.YAML() }},
	"lines of Markdown": {strings.Repeat("- [ ] a\n", 1<<19), reprise.CodeTooLarge, func(f *doc.File) { f.Markdown() }},
	"cells of Markdown": {strings.Repeat("|", 1<<22), reprise.CodeTooLarge, func(f *doc.File) { f.Markdown() }},
}

// aliases is the YAML document of nine levels that each name the one below nine times.
func aliases() string {
	text := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := byte('b'); c <= 'i'; c++ {
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	return text
}

// T8: a small file cannot take all memory, whatever is in it.
func TestBombs_are_refused_in_bounded_memory(t *testing.T) {
	for name, b := range bombs {
		var r *doc.Reader
		took := allocated(func() {
			var f *doc.File
			r, f = open(b.text)
			b.read(f)
			if f.OK() && b.code == reprise.CodeTooLarge {
				t.Errorf("%s: it counts as read", name)
			}
		})
		if took > 200<<20 {
			t.Errorf("%s: %d MiB for %d KiB", name, took>>20, len(b.text)>>10)
		}
		said := codes(r)
		if len(said) == 0 || !strings.HasPrefix(said[0], b.code) && !strings.HasPrefix(said[0], reprise.CodeSalvaged) {
			t.Errorf("%s: %q, want %s", name, said, b.code)
		}
	}
	// They are bombs: the usual ways to read them take many times their size, or would.
	wide := bombs["wide JSON"].text
	if took := allocated(func() { var v any; _ = json.Unmarshal([]byte(wide), &v) }); took < 16*uint64(len(wide)) {
		t.Errorf("%d bytes of wide JSON take %d: it is no bomb", len(wide), took)
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(aliases()), &root); err != nil {
		t.Fatal(err)
	}
	if n := leaves(&root, map[*yaml.Node]int{}); n < 1<<28 {
		t.Errorf("the aliases stand for %d values: they are no bomb", n)
	}
}

// leaves counts what a YAML document holds once its aliases are followed.
func leaves(n *yaml.Node, known map[*yaml.Node]int) (count int) {
	if n.Kind == yaml.AliasNode {
		return known[n.Alias] // it stands before
	}
	for _, c := range n.Content {
		count += leaves(c, known)
	}
	known[n] = max(count, 1)
	return known[n]
}

// allocated tells how many bytes a function asks for in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
