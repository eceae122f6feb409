package orchestrate

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise"
)

func TestOR2_StatusVocabulary(t *testing.T) {
	t.Parallel()
	words := map[class][]string{
		draft: {
			"Draft", "DRAFT", "Rascunho", "📋 Draft", "📝", "Ready to Draft", "backlog", "todo", "To Do", "Draft para @qa", "Draft operacional",
			"🔮 Futuro", "Draft → Ready (após aprovação)", "Not Started", "Pending", "草稿", "0%",
			"A fazer", "Em planejamento", "Borrador", "Por hacer", "Brouillon", "À faire", "Entwurf", "Bozza", "Черновик", "未着手", "초안",
			"[ ] In Progress / [ ] Complete", "Draft | Approved | InProgress | Review | Done",
		},
		ready: {
			"Ready", "Approved", "APPROVED", "Ready for Development", "READY FOR DEVELOPMENT", "Ready to Start", "Aprovado", "GO", "Validated",
			"**Ready**", `"Ready"`, "✅ Approved", "Ready (PO 9.5/10)", "已批准",
			"Aprovado pelo PO", "Approved (QA pending)", "Listo para desarrollo", "Prêt", "Bereit", "[x] Draft [x] Approved [ ] Done",
		},
		inProgress: {
			"InProgress", "In Progress", "in_progress", "in-progress", "doing", "🚧 DOING", "🚀 ACTIVE", "Active", "Em andamento", "Em execução",
			"Partial", "Parcial", "🟡", "80% complete", "Partially done", "Not done", "almost done", "QA FAILED", "进行中",
			"QA Rejected", "Review failed", "Changes Requested", "Needs rework", "Reopened", "~~Done~~ Reopened", "80 % done",
			"Phase 1 complete, phase 2 pending", "Tasks 1-3 done, task 4 pending",
			"En progreso", "En cours", "In Bearbeitung", "In corso", "В работе", "進行中", "진행 중", "[ ] Draft | [x] In Progress | [ ] Done",
		},
		inReview: {
			"Ready for Review", "READY FOR REVIEW", "ready-for-review", "ReadyForReview", "Ready Review", "InReview", "In Review", "Review", "REVIEW",
			"Em revisão", "Em auditoria", "Implemented - aguardando validacao", "Implementado", "Ready for PO review",
			"**InReview** — implementado por @dev", "Completed - Ready for Review", "Done, pending QA", "Dev Complete", "✅ Ready for Review", "待审查",
			"Ready to review by QA", "Ready to merge", "Ready for retest", "Complete (needs QA)", "Done | QA pending", "PR open", "Em PR", "UAT",
			"Listo para revisión", "En revue", "レビュー中", "리뷰 대기",
		},
		done: {
			"Done", "DONE", "done", "Completed", "✅ Completed", "Complete", "Concluída", "Concluida", "Published", "Accepted", "Ready for Deploy",
			"Superseded", "✅ QA GATE PASS — DONE", "✅", "Done ✅ (2026-01-02)", "100% complete", "已完成",
			"Aprovada pelo QA", "Em produção", "Production ready", "Done (was blocked by 2.1)", "Done [see notes]", "Done [x]",
			"Completado", "Terminée", "Abgeschlossen", "Completato", "Завершено", "Hoàn thành", "完了", "완료",
			"Done!", "Done (11-Jul)", "Done - v2.2.3 (#12, `b2f3f17`)", "✅ Done (QA Gate: PASS - Quality Score 95/100)", "Done → Done (final)",
			"**Done** ✅ (Merged to main via PR #12 - 2025-11-22)", "Done (7/7)", "[Done](../done.md)", "Done (All ACs met, QA approved 80/100)",
		},
		doubtful: {
			"Non terminé", "Не завершено", "Abgeschlossen: nein", "No Done yet", "Done? No - still failing", "DONE (QA: FAIL)",
			"Done - reverted in abc1234", "Concluído parcialmente", "❌ Done", "Not published", "Undone, was Done", "!Done", "≠ Done", "Done: false",
			"Done (3/7)", "3 of 7 done", "Done → Reopened", "Phase 2 complete", "部分完成", "部分 完成", "Done ⚠️", "Done (in QA)", "Done by Friday", "<s>Done</s>",
			"Done [ ]", "Done, but the tests are red", "Done —\u00a0except the migration", "~Done", "nicht fertig",
		},
		blocked: {"Blocked", "BLOCKED — waiting for the key", "ONDA B BLOQUEADA", "⚠️ DEPLOYMENT FAILED", "On Hold", "阻塞", "Ready, blocked by 2.1", "In Progress (blocked by 2.1)", "Em espera"},
		dropped: {"❌ Cancelled", "N/A (not applicable)", "Cancelled", "Deprecated", "已废弃", "Won't do", "Duplicate"},
		unknown: {"Not cancelled", "✓ **Secure**", "AssetStatus enum", "Quantum", "Unblocked-ish", "✅ Secure", "✅ RESOLVED", "Scaffolded"},
		noClass: {"", "**", "—"},
	}
	for want, list := range words {
		for _, w := range list {
			if got := classify(w); got != want {
				t.Errorf("classify(%q) = %s, want %s", w, got, want)
			}
		}
	}
	for word, want := range map[string]class{"Em revisão (APPROVED by @po)": ready, "Rascunho": draft, "Concluída": done, "Em execução": inProgress, "Ready for Review": inReview} {
		if got := boxClass(word); got != want {
			t.Errorf("boxClass(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestOR3_EveryPairHasAMeaning(t *testing.T) {
	t.Parallel()
	for s := reprise.Pending; s <= reprise.Unknown; s++ {
		for c := noClass; c <= dropped; c++ {
			if meaning(s, c) == "" {
				t.Errorf("%s and %s have no meaning together", s, c)
			}
		}
	}
	for _, row := range []struct {
		state reprise.Status
		story class
		want  string
	}{
		{reprise.InProgress, inProgress, "consistent"},
		{reprise.InProgress, done, "the story was completed outside this workflow"},
		{reprise.InProgress, draft, "the story was reset: the state is stale"},
		{reprise.InReview, done, "the review was completed outside this workflow"},
		{reprise.Pending, ready, "validated while paused"},
	} {
		if got := meaning(row.state, row.story); got != row.want {
			t.Errorf("%s, %s: %q, want %q", row.state, row.story, got, row.want)
		}
	}
}

func TestOR2_StoryIDs(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]string{
		"docs/stories/3.2.story.md":                      "3.2 epic 3 [3 2]",
		"docs/stories/1.10.login.md":                     "1.10 epic 1 [1 10]",
		"docs/stories/4-1-cart.md":                       "4-1 epic 4 [4 1]",
		"docs/stories/STORY-123.1-sync.md":               "123.1 epic 123 [123 1]",
		"docs/stories/US-21-reply.md":                    "US-21 epic US [21]",
		"docs/stories/CP-8.1.story.md":                   "CP-8.1 epic CP-8 [8 1]",
		"docs/stories/CP-IMP-2.story.md":                 "CP-IMP-2 epic CP-IMP [2]",
		"docs/stories/TD-001.story.md":                   "TD-001 epic TD [1]",
		"docs/stories/story-MX-16-20260527-map.md":       "MX-16 epic MX [16]",
		"docs/stories/story-track-ai-011a-deploy.md":     "track-ai-011a epic TRACK-AI [11 1]",
		"docs/stories/epic-1-story-2.md":                 "epic-1-story-2 epic 1 [1 2]",
		"docs/stories/E1-S3-x.md":                        "E1-S3 epic 1 [1 3]",
		"docs/stories/epic-7/3.md":                       "7.3 epic 7 [7 3]",
		"docs/stories/active/story-m1-base.md":           "m1 epic M [1]",
		"docs/stories/story-dashboard-implementation.md": "dashboard-implementation epic  []",
		"docs/stories/user-story-5-pay.md":               "5 epic  [5]",
		"docs/stories/5.4.1.fix.md":                      "5.4.1 epic 5 [5 4 1]",
		"docs/stories/3.10/story.md":                     "3.10 epic 3 [3 10]",
		"docs/stories/epic-2/2.4/story.md":               "2.4 epic 2 [2 4]",
		"docs/stories/payments/story.md":                 "story epic  []",
		"docs/stories/v1-phase-12-deploy.md":             "v1-phase-12 epic V1-PHASE [12]",
		"docs/stories/v2-1.3-login.md":                   "v2-1.3 epic V2-1 [1 3]",
		"docs/stories/v2-new-parser.md":                  "v2 epic V [2]",
		"docs/stories/HOTFIX-2026-04-12-batch.md":        "HOTFIX-2026-04-12-batch epic  []",
		"docs/stories/2026-04-12-3.1-import.md":          "3.1 epic 3 [3 1]",
	} {
		k := storyKey(p)
		parts := make([]string, 0, 4)
		for _, n := range k.order() {
			parts = append(parts, strconv.Itoa(n))
		}
		if got := k.id + " epic " + k.epicName() + " [" + strings.Join(parts, " ") + "]"; got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}

func TestOR2_Dates(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"| 2026-03-01 | @dev | Draft → Ready |": "2026-03-01",
		"from 2026-03-01 to 2026/3/14":          "2026-03-14",
		"Criada: 14/03/2026":                    "2026-03-14",
		"3/14/2026":                             "2026-03-14",
		"March 14, 2026":                        "2026-03-14",
		"Updated Mar 4 2026 by me":              "2026-03-04",
		"更新 2026年3月1日":                          "2026-03-01",
		"**Data:** 24 de abril de 2026":         "2026-04-24",
		"1º de março de 2026":                   "2026-03-01",
		"Criada em 1 de março de 2026":          "2026-03-01",
		"le 3 août 2026":                        "2026-08-03",
		"2 juin 2026":                           "2026-06-02",
		"written 14 March 2026":                 "2026-03-14",
		"12 tests em 2026":                      "",
		"sprint 3 mar 2026":                     "2026-03-03",
		"2026-03-05T20:55:00Z":                  "2026-03-05",
		"20260304":                              "",
		"version 1.2026-03-01":                  "",
		"2026-13-40":                            "",
		"token expires 2026-03-01":              "",
		"nothing here":                          "",
		"1999-01-01 and 120260-01-01":           "",
		"commit 12026-03-01":                    "",
		"see 2026":                              "",
	} {
		got := ""
		if d := dates([]byte(line)); len(d) > 0 {
			got = d[0].day.Format("2006-01-02")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestOR2_RankIsAnOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var runs []*reprise.Run
	for _, id := range []string{"2.1", "1.1", "10.1", "1.2"} {
		runs = append(runs, &reprise.Run{
			Ref: reprise.Ref{ID: id, Path: "docs/stories/" + id + ".story.md", Kind: reprise.KindStory}, State: reprise.NotStarted,
		})
	}
	runs = append(runs, &reprise.Run{Ref: reprise.Ref{ID: "EPIC-1", Path: ".aiox/epic-EPIC-1-state.yaml", Kind: reprise.KindEpic}, State: reprise.Interrupted, LastActivity: at})
	New().Rank(runs, reprise.Observed{Now: at})
	first := make([]string, 0, len(runs))
	for _, r := range runs {
		first = append(first, r.ID)
	}
	slices.Reverse(runs)
	New().Rank(runs, reprise.Observed{Now: at})
	second := make([]string, 0, len(runs))
	for _, r := range runs {
		second = append(second, r.ID)
	}
	if !slices.Equal(first, second) {
		t.Errorf("the order depends on the order before: %v and %v", first, second)
	}
	New().Rank(nil, reprise.Observed{})
}

func TestThe_page_of_the_format_has_the_weights_that_stories_are_ranked_by(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/formats/orchestrate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range terms {
		i := strings.Index(string(page), "\n| "+term.name+" | ")
		row, _, _ := strings.Cut(string(page)[i+1:], "\n")
		if i < 0 || !strings.Contains(row, " | "+strconv.FormatFloat(term.weight, 'f', -1, 64)+" | ") {
			t.Errorf("%s weighs %v, and the page says %q", term.name, term.weight, row)
		}
	}
}
