package longrun

import (
	"strings"
	"testing"
)

// TestX2_GSDStatusWords: the vocabulary of STATE.md as met in real projects.
func TestX2_GSDStatusWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gsdWord{
		"":                 gsdNone,
		"unknown":          gsdNone,
		"—":                gsdNone,
		"executing":        gsdExecuting,
		"In progress":      gsdExecuting,
		"진행 중":             gsdExecuting,
		"05-02 complete":   gsdExecuting,
		"Plan 2 complete":  gsdExecuting,
		"Ready to execute": gsdReady,
		"Planned, 4 plans": gsdReady,
		"계획 완료":            gsdReady,
		"Ready to plan":    gsdPlanning,
		"planning":         gsdPlanning,
		"Not started":      gsdPlanning,
		"Discussing":       gsdPlanning,
		"Phase complete":   gsdDone,
		"✅ Complete — run `/gsd:verify-work 4`": gsdDone,
		"Phase complete /gsd:plan-phase 5":      gsdDone,
		"✅":                                     gsdDone,
		"incomplete":                            gsdOther,
		"not complete":                          gsdOther,
		"Verifying":                             gsdVerifying,
		"Ready for verification":                gsdVerifying,
		"Awaiting human verification":           gsdVerifying,
		"Needs UAT":                             gsdVerifying,
		"Blocked on legal":                      gsdWaiting,
		"waiting for review":                    gsdWaiting,
		"Paused":                                gsdPaused,
		"stopped at plan 3":                     gsdPaused,
		"Milestone complete":                    gsdMilestone,
		"v1.0 shipped, planning v1.1":           gsdMilestone,
		"v2.1 milestone complete":               gsdMilestone,
		"Between milestones":                    gsdMilestone,
		"All phases complete":                   gsdMilestone,
		"Awaiting next milestone":               gsdMilestone,
		"v1.0 shipped. Aguardando definição":    gsdMilestone,
		"Milestone v1.0 Account Pages shipped":  gsdMilestone,
		"All 4 phases complete":                 gsdMilestone,
		"No active milestone":                   gsdMilestone,
		"v0.1 里程碑已完成":                           gsdMilestone,
		"Milestone v1.1 started":                gsdOther,
		"Defining requirements for v1.1":        gsdPlanning,
		"All 4 plans executed":                  gsdOther,
		"Aguardando aprovação":                  gsdWaiting,
		"Em andamento":                          gsdExecuting,
		"进行中":                                   gsdExecuting,
		"Fase concluída":                        gsdDone,
		"musing":                                gsdOther,
	} {
		if got := readGSDWord(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

// TestX2_RunWords: the statuses of `.long-run/STATE.md`.
func TestX2_RunWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]runWord{
		"Initializing": wordSetup, "Transforming": wordSetup, "Ready to Execute": wordReady,
		"Executing": wordExecuting, "In Progress": wordExecuting, "Completed plan 2": wordExecuting,
		"Complete": wordComplete, "**Complete** (3/3)": wordComplete, "Stopped": wordStopped,
		"Interrupted (SIGINT)": wordInterrupted, "Failed": wordFailed, "Incomplete": wordUnknown, "": wordUnknown,
	} {
		if got := readRunWord(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

// TestLR_PhaseIn: where a text names a phase, and where it does not.
func TestLR_PhaseIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"3 of 8": "03", "Phase 3: x": "03", "CK-03": "03", "05 (x) — EXECUTING": "05", "4/4": "04",
		"12.1 of 15": "12.1", "**Phase 7**": "07", "None (between milestones)": "?", "Pre-phase": "?",
		"v1.2 shipped": "?", "2026-02-01": "?", "Not started": "?", "run `/gsd:plan-phase 4`": "?", "🚧 3": "03", "": "?",
		"Milestone v2 — Phase 11 done": "11",
	} {
		p, _ := phaseIn(text, true)
		if p.String() != want {
			t.Errorf("%q names phase %s, want %s", text, p, want)
		}
	}
}

// TestLR_Temporary: the names of temporary files.
func TestLR_Temporary(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"STATE.md.tmp.12": "STATE.md", "STATE.md.tmp.x": "", "STATE.md.tmp": "", ".tmp.1": "", "a.tmp.1.tmp.2": "a.tmp.1"} {
		if got, _ := temporary(name); got != want {
			t.Errorf("%q is a temporary of %q, want %q", name, got, want)
		}
	}
}

// TestX2_GSDPlanLabels: where `Plan: X` of STATE.md says that the plan is done.
func TestX2_GSDPlanLabels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"01 (complete)": 1, "02 complete (plan 2 of 2)": 2, "1 of 3 in current phase — COMPLETE": 1, "2 of 3 complete": 2,
		"2 of 3": -1, "3 of 3 (2 complete)": -1, "0 of 3 in current phase": -1, "Not started": -1, "—": -1, "2": -1, "": -1,
	} {
		got, ok := planDone(text)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

// TestX2_GSDCompleted: plans that prose calls done.
func TestX2_GSDCompleted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-02-10 — Completed 05-01-PLAN.md":           "05-01",
		"Completed 05-mail/05-01-PLAN.md — waits":        "05-01",
		"Completed 05-mail/02-PLAN.md":                   "05-02",
		"Completed 05-01 + 05-02 (built, not looked at)": "05-01 05-02",
		"Completed 05-01, 05-02 and 05-03":               "05-01 05-02 05-03",
		"Completed Phase 5 Plan 02: the queue":           "05-02",
		"Completed Phase 5, Plan 2":                      "05-02",
		"Completed quick task 260331-uy2":                "",
		"Completed Phase 5":                              "",
		"05-01 complete":                                 "",
	} {
		var got []string
		for _, k := range completedIn(text) {
			got = append(got, k.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
