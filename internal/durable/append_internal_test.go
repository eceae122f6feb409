package durable

import "testing"

// What stands behind the place of an append that was cut off decides whether it is
// completed: what someone else wrote there is never overwritten.
func TestWhat_came_of_an_append(t *testing.T) {
	t.Parallel()
	const before, added = "a\n", "new\n"
	for name, c := range map[string]struct {
		rest string
		want appended
	}{
		"nothing":                               {"", appendPending},
		"a part of it":                          {"ne", appendPending},
		"blocks that were never written":        {"\x00\x00\x00\x00", appendPending},
		"a part and blocks":                     {"ne\x00\x00", appendPending},
		"all of it":                             {added, appendDone},
		"all of it behind something else":       {"theirs\n" + added, appendDone},
		"all of it and something else":          {added + "theirs\n", appendDone},
		"something else":                        {"oh\n", appendForeign},
		"something longer":                      {"theirs\n", appendForeign},
		"a part of it and something behind":     {"ne\x00\x00theirs\n", appendForeign},
		"something that begins in the same way": {"nay\n", appendForeign},
	} {
		if got := howAppended([]byte(before+c.rest), planned{Offset: int64(len(before)), Content: []byte(added)}); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := howAppended([]byte("a"), planned{Offset: int64(len(before)), Content: []byte(added)}); got != appendForeign {
		t.Errorf("a file that is shorter now: %d", got)
	}
}
