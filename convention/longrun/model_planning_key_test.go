package longrun

import "testing"

// TestX2_GSDFileNames: which plan a file is about, by its name and its folder.
func TestX2_GSDFileNames(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"04-mail/04-01-PLAN.md":            "04-01",
		"04-mail/04-00-PLAN.md":            "04-00",
		"04-mail/04-PLAN.md":               "04",
		"04-mail/PLAN.md":                  "04",
		"04-mail/04-B-PLAN.md":             "04-B",
		"04-mail/04-b-plan.md":             "04", // a slug; letters of plans are capitals
		"04-mail/04-mail-02-PLAN.md":       "04-02",
		"04-mail/04-mail-queue-02-PLAN.md": "04-02",
		"04-mail-2/04-mail-2-PLAN.md":      "04",
		"04-mail-2/04-mail-2-03-PLAN.md":   "04-03",
		"04-mail/04-mail-04-02-PLAN.md":    "04-02",
		"04-mail/04-01-FIX.md":             "04-01fix",
		"04/PLAN.md":                       "04",
		"04-mail/04-PLAN-B.md":             "04-B",
		"04-mail/04-PLAN-notes.md":         "",
		"04-mail/phase-4-plan-1-x-PLAN.md": "04-01",
		"04-mail/phase-4-plan-2.md":        "04-02",
		"phase-4/phase-4-01-PLAN.md":       "04-01",
		"phase-4/phase-4-PLAN.md":          "04",
	} {
		folder, _ := phaseOfFolder("04", false)
		got := ""
		if k, _, ok := fileKey(file, folder, "PLAN"); ok {
			got = k.String()
		}
		if got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}

// TestX2_GSDPlanWords: plans named in prose.
func TestX2_GSDPlanWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"05-01": "05-01", "05-01-PLAN.md": "05-01", "(12.1-03)": "12.1-03", "05-A": "05-A",
		"05-mail-02-PLAN.md": "05-02", "05-week-2-03": "05-03", "05-week-05-03": "05-03", "CK-05-03": "05-03",
		"2026-02-10": "", "mail": "", "05": "",
	} {
		got := ""
		if k, ok := planIn(word); ok {
			got = k.String()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
}
