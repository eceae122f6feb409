package examine_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"reprise"
	"reprise/examine"
)

var update = flag.Bool("update", false, "rewrite docs/reference/checks.md")

// codes reads the constants of codes.go.
func codes(t *testing.T) map[string]string {
	t.Helper()
	src, err := parser.ParseFile(token.NewFileSet(), "../codes.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(src, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if other := out[value]; other != "" {
			t.Errorf("%s and %s are both %q", other, spec.Names[0].Name, value)
		}
		out[value] = spec.Names[0].Name
		return true
	})
	return out
}

func TestX2_every_code_is_documented_once(t *testing.T) {
	t.Parallel()
	want := codes(t)
	seen := map[string]bool{}
	for _, c := range examine.Checks() {
		switch {
		case want[c.Code] == "":
			t.Errorf("the table has %q, which is no constant in codes.go", c.Code)
		case seen[c.Code]:
			t.Errorf("%q occurs twice in the table", c.Code)
		case c.Severity < reprise.Info || c.Severity > reprise.Blocking:
			t.Errorf("%q has no severity", c.Code)
		case !strings.HasSuffix(c.Doc, ".") || strings.Count(c.Doc, ". ") > 0 || len(c.Doc) < 20:
			t.Errorf("%q is not documented by one sentence: %q", c.Code, c.Doc)
		case c.Run == nil && c.Cheap:
			t.Errorf("%q is cheap without being asked", c.Code)
		}
		seen[c.Code] = true
	}
	for code, name := range want {
		if !seen[code] {
			t.Errorf("%s (%q) is not in the table", name, code)
		}
	}
}

func TestX2_docs_are_made_from_the_table(t *testing.T) {
	t.Parallel()
	const name = "../docs/reference/checks.md"
	want := page()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/reference/checks.md is not what the table says; run go test ./examine -update")
	}
}

var statuses = []reprise.Status{
	reprise.Pending, reprise.InProgress, reprise.InReview, reprise.Done,
	reprise.Failed, reprise.Blocked, reprise.Skipped, reprise.Unknown,
}

// page writes docs/reference/checks.md.
func page() []byte {
	var b bytes.Buffer
	b.WriteString("# Checks\n\n" +
		"<!-- Made from the table in examine/examine.go by `go test ./examine -update`; do not edit. -->\n\n" +
		"A finding has a code, a severity, a subject, a message, a source and a hint. Codes are stable: they are never\n" +
		"renamed and never reused. The table shows the usual severity. You must resolve what is `blocking` before you\n" +
		"resume, you can resume despite a `warning` once you know about it, and `info` is worth knowing. Age alone never blocks.\n\n" +
		"| code | severity | found by | meaning |\n|---|---|---|---|\n")
	for _, c := range examine.Checks() {
		by := "`check`"
		switch {
		case c.Run == nil:
			by = "the readers"
		case c.Cheap:
			by = "`status`, `check`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Code, c.Severity, by, c.Doc)
	}
	b.WriteString("\nReaders report what only they can see while they read a file. They also report some of the other codes; if a\n" +
		"check finds the same thing, its finding replaces the reader's.\n\n" +
		"## When a saved state and a step's own file disagree\n\n" +
		"This table is for `status-drift`. Each row has what the saved state says, then what the step's own file says (the\n" +
		"status of a story). `pending` in a file covers Draft and Ready. If the saved state says it was begun, Ready is not a\n" +
		"reset: it is info with `in_progress` and a warning with `in_review`. If every story of an epic is done, and git or a\n" +
		"file shows each, only gates and its end are left; a saved state that is behind is then only info.\n\n" +
		"| saved state | own file | severity | meaning | what to do |\n|---|---|---|---|---|\n")
	for _, saved := range statuses {
		for _, own := range statuses {
			d, _ := examine.DriftOf(saved, own)
			severity := d.Severity.String()
			if severity == "" {
				severity = "–"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", saved, own, severity, d.Meaning, d.Hint)
		}
	}
	return b.Bytes()
}
