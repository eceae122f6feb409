package journal_test

import (
	"strings"
	"testing"

	"reprise"
	"reprise/journal"
)

func TestNames_of_journals_are_file_names(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, ref := range []reprise.Ref{
		{Layout: "orchestrate", ID: "3.2", Path: "docs/stories/3.2.md"},
		{Layout: "orchestrate", ID: "3.2", Path: "other/3.2.md"},
		{Layout: "autoclaude", ID: "../../etc/passwd", Path: "x"},
		{Layout: "autoclaude", ID: strings.Repeat("ü", 100), Path: "y"},
		{Layout: "autoclaude", ID: "\x1b[31m", Path: "z"},
	} {
		name := journal.Name(ref)
		if seen[name] || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%+v gives %q", ref, name)
		}
		seen[name] = true
	}
}
