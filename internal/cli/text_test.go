package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
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

// What stands between backticks is there to be pasted: a line is not broken in it, and no
// text is cut in it.
func TestX9_a_command_is_neither_broken_nor_cut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"first `git commit -m removed -- docs/stories/2.3.card-payment.md`, then go on": {"first", "`git commit -m removed -- docs/stories/2.3.card-payment.md`,", "then go on"},
		"say (`reprise check a b`) once more":                                           {"say (`reprise check a b`)", "once more"},
		"a stray ` mark and longer words here":                                          {"a stray ` mark and longer", "words here"},
	} {
		if got := cli.Wrap(in, 25); !slices.Equal(got, want) {
			t.Errorf("wrap(%q) = %q", in, got)
		}
	}
	for in, want := range map[string]string{
		"first `git commit -m removed`, then": "first …",
		"`git x` and then something else":     "`git x` and then s…",
		"`chmod -R u+rwX some/folder`":        "chmod -R u+rwX so…",
	} {
		if got := cli.Fit(in, 19); got != want {
			t.Errorf("fit(%q) = %q, want %q", in, got, want)
		}
	}
	if got := cli.Wrap("`"+strings.Repeat("long ", 2000)+"`", 40); len(got) < 100 {
		t.Errorf("what nobody pastes takes %d lines", len(got))
	}
}

// What a person decides about must be what is started: two commands never look the same.
func TestX9_words_of_a_command_are_shown_exactly(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"make":                             "make",
		"":                                 "''",
		"a b":                              "'a b'",
		"a   b ":                           "'a   b '",
		"it's":                             `'it'\''s'`,
		`a\nb`:                             `'a\nb'`,
		"# harmless\ntouch x":              `$'# harmless\ntouch x'`,
		"a\tb\r":                           `$'a\tb\r'`,
		"it's\n\\":                         `$'it\'s\n\\'`,
		"\x1b[31m":                         `$'\x1b[31m'`,
		"\u202egnp.exe":                    `$'\u202egnp.exe'`,
		"a\u00a0b\u3000c":                  `$'a\u00a0b\u3000c'`,
		"\xff":                             `$'\xff'`,
		"\U000e0041":                       `$'\U000e0041'`,
		"진행 ✅":                             "'진행 ✅'",
		"a" + strings.Repeat(" ", 9) + "b": "$'a" + strings.Repeat(`\x20`, 9) + "b'",
	} {
		if got := cli.Quoted(in); got != want {
			t.Errorf("quoted(%q) = %s, want %s", in, got, want)
		}
	}
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.SampledFrom([]rune("a   '\\nx\n\t\u00a0$\u0301"))).Draw(t, "s")
		got := cli.Quoted(in)
		if other, ok := seen[got]; ok && other != in {
			t.Fatalf("%q and %q are both shown as %s", in, other, got)
		}
		seen[got] = in
		if plain := cli.Plain(strings.ReplaceAll(got, " ", "_")); plain != strings.ReplaceAll(got, " ", "_") {
			t.Fatalf("%q is not fit for a terminal", got)
		}
		lines := cli.WrapExact(got, 16)
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, " ") || cli.Width(l) > 16 }); i >= 0 {
			t.Fatalf("line %d of %q", i, lines)
		}
		if strings.Join(lines, "") != got {
			t.Fatalf("%q became %q", got, lines)
		}
	})
}

// T8, T13: a list of a document that is too long to be in memory as a whole is written one by one; what
// comes out is what would have, and nothing that looks like a secret or that a terminal obeys.
func TestA_long_document_is_written_part_by_part(t *testing.T) {
	type part struct {
		Name string   `json:"name"`
		More []string `json:"more"`
		None *int     `json:"none,omitempty"`
	}
	type document struct {
		Schema string   `json:"schema"`
		First  []part   `json:"first"`
		Names  []string `json:"names"`
		Empty  []part   `json:"empty"`
		Few    []part   `json:"few"`
		Left   []part   `json:"left,omitempty"`
		Last   *part    `json:"last"`
	}
	doc := document{Schema: "\n  \"first\": []", Empty: []part{}, Few: []part{{Name: "<a>"}}, Left: make([]part, 100)}
	for i := range 200 {
		doc.First = append(doc.First, part{Name: strings.Repeat("x", i), More: make([]string, i%3)})
		doc.Names = append(doc.Names, "\n  \"names\": []")
	}
	var want, got bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := errors.Join(enc.Encode(doc), cli.Encode(&got, doc)); err != nil {
		t.Fatal(err)
	}
	if want.String() != got.String() {
		t.Errorf("%.2000s", got.String())
	}
	got.Reset()
	doc.First[150].Name = "ghp_0123456789abcdefABCDEF0123456789abcd \u009b1m"
	if err := cli.Encode(&got, doc); err != nil || strings.Contains(got.String(), "ghp_0123") || strings.Contains(got.String(), "\u009b") || !json.Valid(got.Bytes()) {
		t.Errorf("%v\n%.2000s", err, got.String())
	}
}
