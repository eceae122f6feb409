package ledger_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/internal/doc"
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
		"REPROVADO":                      reprise.Failed,
		"no-go":                          reprise.Failed,
		"[✓ Ready for Done]":             reprise.Done,
		"[✓ Ready for Done] / [✗ Changes Required - See unchecked items above]": reprise.Unknown,
	} {
		if got := ledger.Ruling(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}

// What a review says against its work is found in the ways that reviews are written, and what
// accepts the work since settles it: not a status that may be that of a part. (issue 15, row 6)
func TestObjectionsOfAReview(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"### Recommended Status\n\n[✗ Changes Required - See unchecked items below]":                      1,
		"### Recommended Status\n\n[✓ Ready for Done] / [✗ Changes Required - See unchecked items above]": 0,
		"- All ACs Met: ✗ refund is not booked":                                                           1,
		"- All ACs Met: [✓/✗] [notes]":                                                                    0,
		"- AC1: FAIL (no mail is sent)":                                                                   1,
		"- AC8: No critical issues":                                                                       0,
		"- AC2: fail fast where it is empty":                                                              0,
		"QA decision: **FAIL** - 2 blockers":                                                              1,
		"**Veredito:** REPROVADO":                                                                         1,
		"**Status:** Changes Required":                                                                    1,
		"**Review Status:** Changes Requested":                                                            1,
		"**Previous Verdict:** FAIL":                                                                      0,
		"**Status:** Changes Required\n\n**Status:** Approved":                                            0,
		"Gate: FAIL\n\n### Lint\n\n**Status:** PASS":                                                      1,
		"**Status:** FAIL\n\nGate: PASS":                                                                  0,
		"**Outcome:** Changes needed":                                                                     1,
		"**Outcome:** Not approved":                                                                       1,
		"**Outcome:** Not ready. It is verified later":                                                    1,
		"**Outcome:** Fixes required":                                                                     1,
		"**Final Verdict:** Do not merge":                                                                 1,
		"**Outcome:** Incomplete":                                                                         1,
		"**Outcome:** Not approved because two tests fail":                                                1,
		"**Outcome:** Disapproved":                                                                        1,
		"**Outcome:** ❌":                                                                                  1,
		"**Outcome:** Pending":                                                                            1,
		"**Outcome:** Pending\n\n**Outcome:** Approved ✅":                                                 0,
		"**Recommendation:** Reject":                                                                      1,
		"**Overall Assessment:** Needs work":                                                              1,
		"**Recommendation:** Block requests of other sites":                                               0,
		"### Recommendation\n\nBlock requests":                                                            0,
		"**Outcome:** Changes Requested\n\n**Recommendation:** Go":                                        1,
		"**Outcome:** No changes required":                                                                0,
		"**Outcome:** All 3 issues fixed":                                                                 0,
		"**Outcome:** LGTM":                                                                               0,
		"**Outcome:** APPROVE":                                                                            0,
		"**Verdict:** Ready for Done":                                                                     0,
		"**Verdict:** [to be filled in]":                                                                  0,
		"**Verdict:** Every criterion is met and has a test":                                              0,
		"| Decision | Reason |\n|---|---|\n| Use a queue | x |":                                           0,
		"| AC1 | Works | NOT IMPLEMENTED | - |":                                                           1,
		"| AC1 | Works | IMPLEMENTED | - |":                                                               0,
		"| T | [x] | NOT DONE | - |":                                                                      1,
		"| 3 | what is not done in time is lost | ✅ |":                                                    0,
	} {
		m := doc.NewReader(fstest.MapFS{"s.md": {Data: []byte("# S\n\n## QA Results\n\n" + text + "\n")}}).Open("s.md").Markdown()
		if got, _ := ledger.Objections(m, "qa results"); len(got) != want {
			t.Errorf("%q: %v, want %d", text, got, want)
		}
	}
}

// What a review asks for may be ticked, and no second review accept it: that is not the same as a
// review that nobody answered.
func TestObjectionIsAnsweredByItsActionItems(t *testing.T) {
	t.Parallel()
	const review, next = "\n## QA Results\n\nOutcome: Changes Requested\n", "\n## QA Results (again)\n\nOutcome: Changes Requested\n"
	const ticked, open = "\n### Action Items\n\n- [x] a\n- [x] b\n", "\n### Action Items\n\n- [x] a\n- [ ] b\n"
	for text, want := range map[string][]bool{
		review:                                  {false},
		review + ticked:                         {true},
		review + open:                           {false},
		review + ticked + next:                  {true, false},
		review + "\n### Checked\n\n- [x] AC1\n": {false},
		"\n## Tasks\n\n### Review Follow-ups (AI)\n\n- [x] a\n" + review:        {true},
		"\n## Tasks\n\n### Review Follow-ups (AI)\n\n- [x] a\n" + review + next: {false, false},
		review + "\n- AC1: FAIL\n" + ticked:                                     {true, false},
	} {
		m := doc.NewReader(fstest.MapFS{"s.md": {Data: []byte("# S\n" + text)}}).Open("s.md").Markdown()
		var got []bool
		all, _ := ledger.Objections(m, "qa results")
		for _, o := range all {
			got = append(got, o.Answered)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
