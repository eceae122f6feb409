package ledger_test

import (
	"testing"

	"reprise"
	"reprise/internal/ledger"
)

// A verdict is read as a whole: one that asks or takes itself back is unknown, and an
// explanation behind it changes nothing. (issue 15, row 1)
func TestVerdictIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]reprise.Status{
		"":                               reprise.Pending,
		"PASS":                           reprise.Done,
		"PASS_WITH_CONCERNS":             reprise.Done,
		"**PASS** — 0 failed checks":     reprise.Done,
		"PASS (sem FAIL blocker)":        reprise.Done,
		"PASS -> docs/qa/gates/1.1.yml":  reprise.Done,
		"approved with notes":            reprise.Done,
		"Passed? no":                     reprise.Unknown,
		"passed: no":                     reprise.Unknown,
		"not passed":                     reprise.Unknown,
		"passable":                       reprise.Unknown,
		"PASS / CONCERNS / FAIL":         reprise.Unknown,
		"approval pending":               reprise.Unknown,
		"REJECT":                         reprise.Failed,
		"FAIL — 8 files are not covered": reprise.Failed,
		"needs work":                     reprise.Failed,
		"BLOCKED":                        reprise.Blocked,
		"failsafe":                       reprise.Unknown,
		"Changes Requested":              reprise.Failed,
		"No changes required":            reprise.Unknown,
	} {
		if got := ledger.Ruling(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}
