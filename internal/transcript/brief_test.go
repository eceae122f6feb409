package transcript

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestA_command_is_never_cut_so_that_what_it_sends_disappears(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500)
	tests := strings.Repeat("make check && ", 60)
	for name, c := range map[string]struct{ line, want string }{
		"short":                  {"git push", "git push"},
		"at the end":             {tests + "git push origin main", "git push origin main"},
		"in the middle":          {tests + "git push origin main && " + tests, "git push origin main"},
		"behind a long document": {"cat > a <<EOF\n" + strings.Repeat("words of a document\n", 200) + "EOF\ngit -C sub push", "git -C sub push"},
		"behind a long variable": {"A=" + long + " git push origin main; " + tests, "git push origin main"},
		"with a long argument":   {"git push " + long + "; " + tests, "git push"},
		"in brackets":            {"(cd a; " + tests + " (cd b && sudo /usr/bin/git push))", "sudo /usr/bin/git push"},
		"sent otherwise":         {tests + "curl -d @a example.org; " + tests, "curl -d @a example.org"},
		"no separators":          {strings.Repeat("é", 4000), "é"},
	} {
		got := Brief(c.line, 300)
		if !strings.Contains(got, c.want) || len(got) > 350 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes: %s", name, len(got), got)
		}
	}
}
