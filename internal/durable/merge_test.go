package durable_test

import (
	"testing"

	"reprise/internal/durable"
)

// Both changes are in the merged text, or it is refused.
func TestChanges_of_two_are_merged_where_they_do_not_meet(t *testing.T) {
	t.Parallel()
	const base = "# T\n- [x] a\n- [x] b\n- [ ] c\n"
	for name, c := range map[string]struct{ one, other, want string }{
		"nothing":                       {base, base, base},
		"only one":                      {"# T\n- [ ] a\n- [x] b\n- [ ] c\n", base, "# T\n- [ ] a\n- [x] b\n- [ ] c\n"},
		"other lines":                   {"# T\n- [x] a\n- [ ] b\n- [ ] c\n", "# U\n- [x] a\n- [x] b\n- [ ] c\n- [ ] d\n", "# U\n- [x] a\n- [ ] b\n- [ ] c\n- [ ] d\n"},
		"the same line":                 {"# T\n- [x] a\n- [ ] b\n- [ ] c\n", "# T\n- [x] a\n- [x] b now\n- [ ] c\n", "# T\n- [x] a\n- [ ] b now\n- [ ] c\n"},
		"lines before":                  {"# T\n- [ ] a\n- [ ] b\n- [ ] c\n", "# T\n\n- [x] 0\n- [x] a\n- [x] b\n- [ ] c\n", "# T\n\n- [x] 0\n- [ ] a\n- [ ] b\n- [ ] c\n"},
		"the same change":               {"# T\n- [ ] a\n- [x] b\n- [ ] c\n", "# T\n- [ ] a\n- [x] b\n- [ ] c\n", "# T\n- [ ] a\n- [x] b\n- [ ] c\n"},
		"the same place":                {"# T\n- [ ] a\n- [x] b\n- [ ] c\n", "# T\n- [-] a\n- [x] b\n- [ ] c\n", ""},
		"a line that one changed":       {"# T\n- [ ] a\n- [x] b\n- [ ] c\n", "# T\n- [x] b\n- [ ] c\n", ""},
		"lines added in the same place": {base + "- d\n", base + "- e\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := durable.Merge([]byte(base), []byte(c.one), []byte(c.other))
			if string(got) != c.want || ok != (c.want != "") {
				t.Errorf("%v, %q; want %q", ok, got, c.want)
			}
		})
	}
}
