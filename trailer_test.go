package reprise

import "testing"

// TestPastedWordsMeanNothingElseToAShell holds that text from files gets into a command
// that a person may paste only if it is plain.
func TestPastedWordsMeanNothingElseToAShell(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"004-export": "004-export", "4.2": "4.2", "../shop/a_b": "../shop/a_b", "master:2": "master:2", "T8~2": "T8~2", "a@b+c": "a@b+c",
		"": "RUN", "-rf": "RUN", "~me": "RUN", "@a": "RUN", ":a": "RUN", "+a": "RUN", "a b": "'a b'", "it's": `'it'\''s'`, "a;b": "'a;b'", "$(x)": "'$(x)'", "é": "'é'",
		"a\nb": "RUN", "a  b": "RUN", "a\u00a0b": "RUN", "a`b": "RUN", `a\b`: "RUN", "*": "RUN", "a?": "RUN", "[a]": "RUN", "a\u202eb": "RUN", "a\xffb": "RUN", "' -rf": `''\'' -rf'`, "- a": "RUN",
	} {
		if got := Pasted(word, "RUN"); got != want {
			t.Errorf("%q: %q", word, got)
		}
	}
}
