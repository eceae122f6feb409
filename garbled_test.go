package reprise_test

import (
	"strings"
	"testing"

	"reprise"
)

// Text in any encoding that people write in is text; what a power cut or another program
// leaves in its place is none.
func TestWhat_is_no_text_is_told_from_text_in_another_encoding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data string
		want bool
	}{
		"nothing":           {"", false},
		"UTF-8":             {"# Überblick\n- [x] Prüfen\n", false},
		"Latin-1":           {"# \xdcberblick\n- [x] Pr\xfcfen und absenden\n", false},
		"a NUL in a text":   {strings.Repeat("text ", 10) + "\x00", false},
		"NULs":              {strings.Repeat("\x00", 40), true},
		"NULs at the end":   {"# Plan\n" + strings.Repeat("\x00", 40), true},
		"UTF-16":            {"\xff\xfe#\x00 \x00P\x00l\x00a\x00n\x00", true},
		"the head of a ZIP": {"PK\x03\x04\x14\x00\x00\x00\x08\x00\xa5\x8c\xf1", true},
	} {
		if got := reprise.Garbled([]byte(c.data)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
