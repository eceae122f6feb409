package checklist_test

import (
	"slices"
	"strings"
	"testing"

	"reprise"
	pick "reprise/internal/sample"
)

// notDone are the words and signs that say of a task that it is not done.
var notDone = []string{
	"pending", "not started", "not done", "not finished", "not completed", "not implemented", "incomplete", "unfinished", "in progress", "wip", "partial", "partially", "partially done",
	"untested", "not tested", "not yet tested", "needs testing", "needs review", "50% done", "90% complete",
	"blocked", "on hold", "paused", "failed", "⏳", "🔄", "🚧", "❌", "✗", "☐", "⬜", "⏸", "⛔",
}

// putOff are those that say that it will not be done, or not now.
var putOff = []string{"deferred", "postponed", "skipped", "cancelled", "canceled", "dropped", "obsolete", "superseded", "⏭"}

// said are the places where people say how far a task is. WORD stands for the word, and ID for
// what the task has in place of a number.
var said = []string{
	"ID the task (WORD)", "ID the task [WORD]", "ID the task (WORD).", "ID the task — WORD", "ID the task - WORD", "ID the task – WORD", "ID the task -- WORD", "ID WORD -- the task", "ID the task. WORD", "ID the task **WORD**", "ID the task (Status: WORD)",
	"ID the task Status: WORD", "ID the task\n  Status: WORD", "ID the task\n  that goes on (WORD)", "ID the task\n  that goes on — WORD", "ID the task\n  WORD: no key", "ID the task\n  - **Status**: WORD", "ID [WORD] the task", "ID (WORD) the task", "ID **WORD** the task", "ID **WORD**: the task", "ID WORD: the task",
	"ID WORD — the task", "[WORD] ID the task", "(WORD) ID the task", "**WORD** ID the task", "WORD: ID the task", "ID the task (WORD: no key)", "ID the task (WORD - no key)", "ID the task — WORD (no key)",
}

// However a line that stands for a task says that the task is not done, the list is never further
// along than before, and the line does not vanish.
func TestWhat_says_that_a_task_is_not_done_never_makes_the_list_more_complete(t *testing.T) {
	t.Parallel()
	drawn, n := pick.Every(t, 4), 0
	const front = "---\ndescription: \"a\"\nowner: b\n---\n\n"
	for _, c := range []struct{ family, name, head, id, other string }{
		{"speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n", "T002", "T001"},
		{"openspec", "openspec/changes/a/tasks.md", "## 1. Work\n\n", "1.2", "1.1"},
		{"kiro", ".kiro/specs/a/tasks.md", "# Implementation Plan\n\n", "2.", "1."},
		{"speckit", "specs/001-a/tasks.md", front + "# Tasks: a\n\n", "T002", "T001"},
		{"openspec", "openspec/changes/a/tasks.md", front + "## 1. Work\n\n", "1.2", "1.1"},
		{"kiro", ".kiro/specs/a/tasks.md", front + "# Implementation Plan\n\n", "2.", "1."},
		{"openspec", "openspec/changes/a/tasks.md", "## Work\n\n", "Write", "Read"}, // without numbers
	} {
		for _, place := range said {
			if c.id == "Write" && !strings.HasPrefix(place, "ID the task") {
				continue // where a number would be, words are what the task is about
			}
			for i, word := range append(notDone, putOff...) {
				for _, word := range slices.Compact([]string{word, strings.ToUpper(word)}) {
					for _, bullet := range []string{"- [x] ", "- [ ] ", "- "} {
						if n++; !drawn(n) {
							continue
						}
						line := bullet + strings.NewReplacer("WORD", word, "ID", c.id).Replace(place)
						run := loadList(t, c.family, c.name, c.head+"- [x] "+c.other+" it\n"+line+"\n")
						p := run.Progress()
						if p.Done-p.Skipped > 1 {
							t.Errorf("%s %q is done: %s, %s", c.family, line, run.State, run.Reason)
						}
						plain := bullet == "- " && (i >= len(notDone) || c.id == "Write" || word == "❌" || word == "✗")
						if i < len(notDone) && run.State == reprise.Complete && !plain || bullet != "- " && p.Total != 2 {
							t.Errorf("%s %q: %s, %s", c.family, line, run.State, run.Reason)
						}
					}
				}
			}
		}
	}
}

func TestWhat_a_list_says_beside_its_boxes_is_read(t *testing.T) {
	t.Parallel()
	const waits, goes = reprise.Waiting, reprise.Complete
	for _, c := range []struct {
		more    string
		want    reprise.State
		total   int
		skipped int
	}{
		// The legend of the marks is no task, and may say that a tick is none.
		{"\nLegend: [x] = done, [ ] = open\n", goes, 2, 0},
		{"\n## Legend\n- [ ] Not started\n- [x] Done\n- [~] In progress\n- [x] means completed\n", goes, 2, 0},
		{"\nLegend: [x] = in progress\n", waits, 2, 0},
		{"\n- [x]: in progress\n", waits, 2, 0},
		{"\nx = cancelled\n", goes, 2, 2},
		{"\n- [ ] Done\n", waits, 2, 0}, // not what an open box means
		{"\n## Legend\n- [-] Cancelled\n- [ ] Not started\n- [x] Done\n", goes, 2, 0},
		{"\n**Key**\n- [-] Cancelled\n", goes, 2, 0},
		{"\n| Mark | Meaning |\n|---|---|\n| [ ] | Not started |\n| [-] | Cancelled |\n| [x] | Done |\n", goes, 2, 0},
		// Sections of what is open.
		{"\n## Remaining Tasks\n- wire the login\n", waits, 2, 0},
		{"\n## ⏳ Pending\n1. wire the login\n", waits, 2, 0},
		{"\n## Not Done\n- T002 b\n", waits, 2, 0},
		{"\n## 4. Remaining Tasks (2)\n- wire the login\n", waits, 2, 0},
		{"\n## Remaining\n\n| # | Task |\n|---|---|\n| 2 | wire the login |\n", waits, 2, 0},
		{"\n## Remaining\n\n| Task | Status |\n|---|---|\n| wire the login | done |\n", goes, 2, 0},
		{"\n## Remaining\n\nWire the login and write the docs.\n", waits, 2, 0},
		{"\n## Remaining\n\n### First\n- wire the login\n", waits, 2, 0},
		{"\n**Remaining Tasks:**\n- wire the login\n", waits, 2, 0},
		{"\nRemaining:\n1. wire the login\n", waits, 2, 0},
		{"\n**Remaining:** the login, the docs\n", waits, 2, 0},
		{"- Remaining: the login\n", waits, 2, 0},
		{"- **Remaining:**\n  - the login\n", waits, 2, 0},
		{"\n## What's left\n- wire the login\n", waits, 2, 0},
		{"\n## Still to do\n- wire the login\n", waits, 2, 0},
		{"\n## 剩余任务\n- 登录\n", waits, 2, 0},
		{"\n## Noch offen\n- Anmeldung\n", waits, 2, 0},
		{"\n## Remaining Tasks\n- None\n", goes, 2, 0},
		{"\n## Remaining\n- None — all done\n", goes, 2, 0},
		{"\n## Remaining\n\nNothing is left.\n", goes, 2, 0},
		{"\n## Remaining\n\nThere is no remaining work.\n", goes, 2, 0},
		{"\n## Remaining\n\nThe list is complete.\n", goes, 2, 0},
		{"\n## Remaining\n\n✅ **All tasks completed**: it is out.\n\nIdeas:\n- a history\n", goes, 2, 0},
		{"\n## Remaining\n- None of the pages has a title\n", waits, 2, 0},
		{"\n## Remaining (optional)\n- a history\n", goes, 2, 0},
		{"\n**Remaining:** 0\n\n**Outstanding** - This is work of the best kind.\n", goes, 2, 0},
		{"\n## Remaining Tasks\n- ✅ wire the login\n\n## Open Questions\n- why\n\n## Pending States\n- yellow\n", goes, 2, 0},
		// The status of a section stands before its boxes, that of a box below it.
		{"- [ ] T003 c\n  - Status: blocked\n- [ ] T004 d\n", reprise.Interrupted, 4, 0},
		{"\n## Later\n\n**Status**: Blocked\n\n- [ ] T003 c\n- [ ] T004 d\n", waits, 4, 0},
		{"\n## Later (BLOCKED)\n\n- [ ] T003 c\n\n### Part\n\n- [ ] T004 d\n", waits, 4, 0},
		{"\n## Phase 2: Mobile — DEFERRED to v2\n\n- [ ] T003 c\n", waits, 3, 0},
		{"\n## ~~Phase 2: Old~~\n\n- [ ] T003 c\n", waits, 3, 0},
		{"\n## Phase 2: Blocked users and skipped tests\n\n- [ ] T003 c\n", reprise.Interrupted, 3, 0},
		{"\n## 🚫 Bans\n\n- [ ] T003 c\n", reprise.Interrupted, 3, 0},
		// Items among their siblings.
		{"- [T003] c\n", waits, 2, 0},
		{"- NOT DONE: T003 c\n", waits, 2, 0},
		{"- NOT DONE: wire the login\n", waits, 2, 0},
		{"- DEFERRED: wire the login\n", waits, 2, 0},
		{"- **Blocked**: wire the login\n", waits, 2, 0},
		{"- **Blocked**: none\n- wire the login (deferred to v2)\n", goes, 2, 0},
		{"\n- **Blocked**: it waits for another\n- **Done**: nothing is left of it\n", goes, 2, 0},
		{"- [x] [PENDING] T003 c\n", waits, 3, 0},
		// At the end, what is open is enough to doubt a tick, and no reason not to start.
		{"- [x] T003 c (partially)\n", waits, 3, 0},
		{"- [x] T003 c: partial\n", waits, 3, 0},
		{"- [x] T003 c (pending docs)\n", waits, 3, 0},
		{"- [x] T003 c (done, tests pending)\n", waits, 3, 0},
		{"- [x] T003 c - partially done, tests missing\n", waits, 3, 0},
		{"- [x] T003 c (pendente)\n", waits, 3, 0},
		{"- [x] T003 c (untested)\n", waits, 3, 0},
		{"- [x] T003 c (not tested on Windows)\n", waits, 3, 0},
		{"- [x] T003 c (built, not tested)\n", waits, 3, 0},
		{"- [x] T003 c ⚠️ needs review\n", waits, 3, 0},
		{"- [x] T003 c (exists but needs review)\n", waits, 3, 0},
		{"- [x] T003 c 🟡 in progress\n", waits, 3, 0},
		{"- [x] T003 c (~70% done)\n", waits, 3, 0},
		{"- [x] T003 c — 90% complete\n", waits, 3, 0},
		{"- [x] T003 c (half done)\n", waits, 3, 0},
		{"- [x] T003 c (mostly complete)\n", waits, 3, 0},
		{"- [x] T003 c (partially done, the page is missing)\n", waits, 3, 0},
		{"- [x] T003 c (to be completed)\n", waits, 3, 0},
		{"- [x] T003 c (stub only)\n", waits, 3, 0},
		{"- [x] T003 c (reverted)\n", waits, 3, 0},
		{"- [x] T003 c (tests failing)\n", waits, 3, 0},
		{"- [x] T003 c (broken)\n", waits, 3, 0},
		{"- [x] T003 c (needs rework)\n", waits, 3, 0},
		{"- [x] T003 c (not working yet)\n", waits, 3, 0},
		{"- [x] T003 c (doesn't work)\n", waits, 3, 0},
		{"- [x] T003 c (waiting for Bob)\n", waits, 3, 0},
		{"- [x] T003 find links that are broken\n- [x] T004 show a spinner while waiting for data\n- [x] T005 retry when not working\n- [x] T006 tests failing on purpose are marked\n", goes, 6, 0},
		{"- [x] T003 c\n  - Note: only partly done, the page is missing\n", waits, 3, 0},
		{"- [x] T003 c\n  - **Note:** partial - the page is missing\n", waits, 3, 0},
		{"- [x] T003 c\n  - ⚠️ Partial: the page is missing\n", waits, 3, 0},
		{"- [x] T003 c\n  - Note: pending orders are shown\n- [x] T004 filter (pending, done)\n- [x] T005 undo what is half done or reverted\n", goes, 5, 0},
		{"- [x] T003 c (100% done)\n- [x] T004 refund a part (50%)\n- [x] T005 🟡 d\n- [x] T006 count what is untested\n", goes, 6, 0},
		{"- [x] T003 add the tabs (Items, Needs Review)\n- [x] T004 show the states (ready, denied, not tested)\n", goes, 4, 0},
		{"\n## Nice-to-have (0% complete)\n- [x] T003 c\n", goes, 3, 0},
		{"- [ ] T003 test the import (untested)\n", reprise.Interrupted, 3, 0},
		{"- [ ] T003 show a badge (pending count)\n", reprise.Interrupted, 3, 0},
		{"- [x] T003 show the states (pending, approved, rejected)\n- [x] T004 hide it (when pending)\n- [x] T005 add the default: pending\n", goes, 5, 0},
		// What an open box says of itself is weighed, too.
		{"- [ ] DONE: T003 c\n- [ ] T004 d (completed 2025-01-02)\n- [ ] T005 e (out of scope)\n- [ ] T006 f — N/A\n", waits, 6, 0},
		{"- [x] T003 c (N/A: no server)\n- [✓] T004 d\n- [✅] T005 e\n- [✔️] T006 f\n", goes, 6, 1},
		{"- [x] ~~T003~~\n", goes, 3, 0},
		{"- [x] ~~T003 c~~ (cancelled)\n", goes, 3, 1},
		{"- [x] T003 c (deferred to v2)\n", goes, 3, 1},
		{"- [x] write the docs (partial)\n", waits, 2, 0},
		{"- [x] T003 show `pending` (blocked by T002), failed and deferred jobs\n", goes, 3, 0},
		{"- [x] T003 add a status column: pending, done or failed\n", goes, 3, 0},
		{"- [x] T003 TODO: take out the flags\n", goes, 3, 0},
	} {
		run := loadList(t, "speckit", "specs/001-a/tasks.md", "# Tasks: a\n\n- [x] T001 a\n- [x] T002 b\n"+c.more)
		if p := run.Progress(); run.State != c.want || p.Total != c.total || p.Skipped != c.skipped {
			t.Errorf("%q: %s, %s", c.more, run.State, run.Reason)
		}
	}
}
