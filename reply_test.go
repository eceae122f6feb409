package reprise_test

import (
	"testing"

	"reprise"
)

func TestRulingOf_only_whole_phrases_count(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]reprise.Ruling{
		"": reprise.NoRuling, " \n": reprise.NoRuling,
		"approved": reprise.Passes, "✅ **APPROVED**": reprise.Passes, "Pass.": reprise.Passes, "waived": reprise.Passes,
		"concerns": reprise.PassesWithConcerns, "CONCERNS": reprise.PassesWithConcerns,
		"rejected": reprise.SendsBack, "needs_work": reprise.SendsBack, "NO-GO": reprise.SendsBack, "not approved": reprise.SendsBack,
		"blocked": reprise.Holds,
		"lgtm?":   reprise.UnclearRuling, "approved, mostly": reprise.UnclearRuling, "❌": reprise.UnclearRuling, "done": reprise.UnclearRuling,
	} {
		if got := reprise.RulingOf(word); got != want {
			t.Errorf("%q: %d, not %d", word, got, want)
		}
	}
}
