package specloop

import (
	"strings"

	"reprise/internal/doc"
)

// newIndex is the index.md of a feature that is begun: the sections the loop
// needs, empty, in the columns of the format.
func newIndex(id, description, stamp, status string) []byte {
	if description = cell(description, 4000); !filled(description) {
		description = id
	}
	lines := []string{
		"# Feature Index: " + id,
		"",
		"## Feature Metadata",
		"",
		"| Field | Value |",
		"|---|---|",
		"| **ID** | " + id + " |",
		"| **Branch** | " + id + " |",
		"| **Created** | " + stamp + " |",
		"| **Original Description** | " + strings.ReplaceAll(description, "|", `\|`) + " |",
		"",
		"## Priority Loop State",
		"",
		"| Field | Value |",
		"|---|---|",
		"| **Loop Status** | " + status + " |",
		"| **Current Iteration** | 0 / 10 |",
		"| **Last Activity** | " + stamp + " |",
		"| **Stale Count** | 0 / 3 |",
		"",
		"## Gap Priority Queue",
		"",
		"| Priority | Gap ID | Question | Status | Resolution |",
		"|---|---|---|---|---|",
		"",
		"## Pending Questions",
		"",
		"| ID | Question Summary | Gaps | Options | Status | Answer |",
		"|---|---|---|---|---|---|",
		"",
		"## Gap Resolution History",
		"",
		"| Gap ID | Iteration | Action | Details | Timestamp |",
		"|---|---|---|---|---|",
		"",
	}
	return []byte(strings.Join(lines, "\n"))
}

// cell makes text that fits into one cell of a table: one line, no control
// characters, bounded. A backslash at its end would take the cell's end with it.
func cell(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	s = doc.Clip(strings.Join(strings.Fields(s), " "), limit)
	return strings.TrimRight(s, `\ `)
}
