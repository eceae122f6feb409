package checklist_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
)

func TestWhat_an_attempt_wrote_of_its_own_task_that_is_not_finished_is_found(t *testing.T) {
	t.Parallel()
	const name, entry = "specs/001-a/tasks.md", "- [ ] T002 Retry failed jobs (pending ones too)\n  - [ ] one\n  - [ ] two\n"
	ticked := strings.Replace(entry, "[ ] T002", "[x] T002", 1)
	for now, want := range map[string]string{
		entry:                                   "",
		ticked:                                  "",
		strings.ReplaceAll(entry, "[ ]", "[x]"): "",
		strings.Replace(ticked, "too)", "too) (done: 3 files)", 1):                                               "",
		strings.Replace(ticked, "too)", "too), with the failed login", 1):                                        "",
		strings.Replace(ticked, "too)", "too) ✅", 1):                                                             "",
		strings.Replace(ticked, "too)", "too) — re-opened the pool", 1):                                          "",
		strings.Replace(entry, "too)", "too) (PENDING)", 1):                                                      `"(PENDING)"`,
		strings.Replace(entry, "too)", "too) (failed)", 1):                                                       `"(failed)"`,
		strings.Replace(entry, "too)", "too) ⏳", 1):                                                              `"⏳"`,
		strings.Replace(entry, "too)", "too) NOT DONE", 1):                                                       `"NOT DONE"`,
		strings.Replace(entry, "too)", "too) (blocked by vendor)", 1):                                            `"(blocked by vendor)"`,
		strings.Replace(entry, "Retry", "DEFERRED: no key. Retry", 1):                                            `"DEFERRED: no key."`,
		strings.Replace(entry, "Retry", "❌ tests fail: Retry", 1):                                                `"❌ tests fail:"`,
		strings.Replace(ticked, "too)", "too) (partial)", 1):                                                     `"(partial)"`,
		strings.Replace(ticked, "too)", "too) — pending", 1):                                                     `"— pending"`,
		strings.Replace(ticked, "too)", "too). The UI is not done yet", 1):                                       "The UI is not done yet",
		strings.Replace(ticked, "[ ] one", "[x] one", 1):                                                         `"two"`,
		strings.ReplaceAll(entry, "[ ]", "[x]") + "\n  - [ ] write tests\n":                                      `"write tests"`,
		strings.ReplaceAll(entry, "[ ]", "[x]") + "  - DEFERRED: the tests\n":                                    `"- DEFERRED: the tests"`,
		strings.ReplaceAll(entry, "[ ]", "[x]") + "DEFERRED: the tests, no staging\n":                            `"DEFERRED: the tests, no staging"`,
		strings.ReplaceAll(entry, "[ ]", "[x]") + "\n- Remaining: the frontend\n":                                `"- Remaining: the frontend"`,
		strings.ReplaceAll(entry, "[ ]", "[x]") + "- Pending: stood here before\n":                               "",
		strings.ReplaceAll(entry, "[ ]", "[x]") + "  - the tests pass, nothing is skipped\n":                     "",
		strings.Replace(ticked, "too)", "too) — deferred to v2", 1):                                              `"— deferred to v2"`,
		ticked + "  - [ ] tests are missing\n":                                                                   `"one"`,
		strings.Replace(strings.ReplaceAll(entry, "[ ]", "[x]"), "two\n", "two\n  - [ ] tests are missing\n", 1): `"tests are missing"`,
	} {
		list := func(entry string) (fstest.MapFS, *reprise.Run) {
			text := "# Tasks: a\n\n- [x] T001 a\n" + entry + "- Pending: stood here before\n- [ ] T003 c\n  - [ ] three\n"
			return fstest.MapFS{name: {Data: []byte(text)}}, loadList(t, "speckit", name, text)
		}
		was := checklist.Open(list(entry))[0]
		tree, run := list(now)
		if got := checklist.Left(tree, run, was); was.ID != "T002" || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, not %q", now, got, want)
		}
	}
}
