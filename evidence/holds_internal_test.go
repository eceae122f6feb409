package evidence

import "testing"

// A process carries out a part of a call if its command line stands in the call as words do: `sleep 4`
// has nothing to do with `sleep 45`.
func TestA_part_of_a_call_ends_where_words_end(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		all, part string
		want      bool
	}{
		{"touch started; sleep 45", "sleep 45", true}, {"touch started; sleep 45", "sleep 4", false}, {"cd x&&npm run test", "npm run test", true},
		{"go test ./...", "go test ./a", false}, {"sh -c 'sleep 45; sleep 4'", "sleep 4", true}, {"make all", "all", true}, {"unmake all", "make all", false}, {"", "x", false},
	} {
		if holds(c.all, c.part) != c.want {
			t.Errorf("%q in %q: %v", c.part, c.all, !c.want)
		}
	}
}
