package cli_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"reprise/internal/cli"
)

func TestX9_text_from_files_is_harmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":              `\u{1b}[31mred\u{1b}[0m`,
		"a\nb\r\n c":                      "a b c",
		"\u202egnp.exe":                   `\u{202e}gnp.exe`,
		"bell\x07":                        `bell\u{7}`,
		"\xff\xfe":                        `\xff\xfe`,
		"zero\u200bwidth":                 `zero\u{200b}width`,
		"  trim  ":                        "trim",
		"ünï 진행 ✅":                        "ünï 진행 ✅",
		"c1\u009b31m":                     `c1\u{9b}31m`,
		"line\u2028sep":                   "line sep",
		"z" + strings.Repeat("\u0301", 6): "z" + strings.Repeat("\u0301", 4) + `\u{301}\u{301}`,
	} {
		if got := cli.Plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := cli.Plain(rapid.String().Draw(t, "s"))
		for _, r := range s {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) {
				t.Fatalf("%q holds %U", s, r)
			}
		}
	})
}
