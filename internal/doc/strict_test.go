package doc_test

import (
	"errors"
	"strings"
	"testing"

	"reprise/internal/doc"
)

func TestX2_problems_show_their_line_with_a_caret(t *testing.T) {
	t.Parallel()
	long := "k: [" + strings.Repeat("x, ", 200) + "{}, " + strings.Repeat("y, ", 200) + "z]"
	for name, tc := range map[string]struct{ content, want string }{
		"plain":       {"k: {a: b}\n", "f:1:4: a map stands where text belongs\n    1 | k: {a: b}\n      |    ^"},
		"letters":     {"\"kä→\": 1\n'k': []\n", "f:2:6: a list stands where text belongs\n    2 | 'k': []\n      |      ^"},
		"wide before": {"x: {ä: 1, k: []}\n", "f:1:4: "},
		"BOM":         {"\ufeffk: []\n", "f:1:4: a list stands where text belongs\n    1 | k: []\n      |    ^"},
		"CRLF":        {"a: 1\r\nk: []\r\n", "f:2:4: a list stands where text belongs\n    2 | k: []\n      |    ^"},
		"tab":         {"k:\t[]\n", "f:1:4: a list stands where text belongs\n    1 | k: []\n      |    ^"},
		"syntax":      {"a: 1\nk: [1\nb: 2\n", "not valid YAML"},
		"invisible":   {"k: [] # \u202eevil\n", "    1 | k: [] # \ufffdevil\n"},
	} {
		strict, root := doc.ParseStrict("f", []byte(tc.content))
		for _, e := range root.Entries() {
			if e.Name == "k" || e.Name == "x" {
				e.Value.Text()
			}
		}
		err := strict.Err()
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", name, err, tc.want)
		}
	}
	strict, root := doc.ParseStrict("f", []byte(long))
	for _, v := range root.Fields("k").At("k").List() {
		v.Text()
	}
	var problems doc.Problems
	if !errors.As(strict.Err(), &problems) || len(problems) != 1 {
		t.Fatalf("%v", strict.Err())
	}
	lines := strings.Split(problems[0].String(), "\n")
	if len(lines) != 3 || len(lines[1]) > 200 {
		t.Fatalf("a long line: %q", lines)
	}
	if caret := []rune(lines[1])[strings.Index(lines[2], "^")]; caret != '{' {
		t.Errorf("the caret stands below %q:\n%s", caret, problems[0])
	}
}

func TestX2_near_words(t *testing.T) {
	t.Parallel()
	known := []string{"agents", "roles", "env", "parallel", "max_log"}
	for word, want := range map[string]string{
		"agent": "agents", "Agents": "agents", "paralell": "parallel", "maxlog": "max_log", "enviroment": "", "x": "", "rolse": "roles", "": "", strings.Repeat("a", 1000): "",
	} {
		if got := doc.Near(word, known); got != want {
			t.Errorf("%.20s: %q, want %q", word, got, want)
		}
	}
}
