package doc_test

import (
	"strings"
	"testing"

	"reprise/internal/doc"
)

// A text is read again when it, or its name, is another one, when reading it left something
// to tell, and once several others were read since.
func TestMemo_gives_only_what_the_same_text_made(t *testing.T) {
	t.Parallel()
	var m doc.Memo[int]
	reads := 0
	of := func(name, text string, keep bool) int {
		return m.Of(name, []byte(text), func() (int, bool) { reads++; return reads, keep })
	}
	large := strings.Repeat("a", 20<<10)
	for i, c := range []struct {
		name, text string
		keep       bool
		want       int
	}{
		{"a", large, true, 1}, {"a", large, true, 1}, {"b", large, true, 2}, {"a", large + "b", true, 3}, {"a", large, true, 1},
		{"c", large, false, 4}, {"c", large, true, 5}, {"c", large, true, 5}, // four are remembered by now
		{"d", large, true, 6}, {"a", large, true, 7},
		{"small", "a", true, 8}, {"small", "a", true, 9},
	} {
		if got := of(c.name, c.text, c.keep); got != c.want {
			t.Errorf("%d: %s gives what was read as number %d, not %d", i, c.name, got, c.want)
		}
	}
}
