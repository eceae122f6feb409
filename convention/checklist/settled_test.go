package checklist_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
)

// Whatever a text says beside its box, what is recorded of a task is read as that, and of its words
// at most one that settles a status is gone.
func TestRecording_a_task_keeps_its_words_and_is_read_as_recorded(t *testing.T) {
	t.Parallel()
	const name = "specs/001-a/tasks.md"
	words := []string{
		"migrate", "the", "users", "**table**", "in", "db/users.sql", "—", "-", ":", "NOT DONE", "**NOT DONE**", "**NOT STARTED**", "NOT STARTED", "**NOT DONE**:",
		"(PENDING)", "(pending)", "[WIP]", "(not done)", "(NOT DONE)", "— DONE", "DONE", "(done)", "Done:", "❌", "✅", "⏳", "(BLOCKED: vendor)", "(FAILED - tests)", "**Make it (PENDING)**",
		"because the API is down", "**NOT DONE because it is down**", "(NOT DONE because of it)", "(deferred)", "(skipped)", "(SKIPPED)", "DEFERRED:", "~~old~~", "TODO:", "INCOMPLETE", "(x)", "[US1]", "(incomplete)", "__TODO__", "(pending docs)", "(done, tests pending)", ": partial", "(N/A)", "*partial*", "(completed 2025-01-02)",
	}
	layout := layoutOf("speckit")
	r := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		text := ""
		for n := 1 + r.IntN(4); n > 0; n-- {
			text += " " + words[r.IntN(len(words))]
		}
		line := "- [" + string(" x"[r.IntN(2)]) + "] T001" + text
		want := []reprise.Status{reprise.Done, reprise.Pending, reprise.Skipped}[r.IntN(3)]
		kind := map[reprise.Status]reprise.EventKind{reprise.Done: reprise.StepFinished, reprise.Pending: reprise.StepReset, reprise.Skipped: reprise.StepSkipped}[want]
		list := "# Tasks: a\n\n" + line + "\n- [ ] T002 b\n"
		run := loadList(t, "speckit", name, list)
		if len(run.Steps) != 2 || run.Steps[0].ID != "T001" {
			continue
		}
		edits, err := layout.Record(fstest.MapFS{name: {Data: []byte(list)}}, run, reprise.Event{Kind: kind, Step: "T001"})
		if err != nil {
			t.Fatalf("%q, %s: %v", line, want, err)
		}
		if len(edits) > 0 {
			list = string(edits[0].Content)
		}
		got := strings.Split(list, "\n")[2]
		if now := loadList(t, "speckit", name, list).Steps[0].Status; now != want && (len(edits) > 0 || want == run.Steps[0].Status) {
			t.Errorf("%q, %s: it became %q, which is read as %s", line, want, got, now)
		}
		if !kept(strings.Fields(line[5:]), strings.Fields(got[5:])) {
			t.Errorf("%q, %s: it became %q", line, want, got)
		}
	}
}

// kept reports whether the words of a text are all in another one in their order, except for the
// word that settles the status.
func kept(was, now []string) bool {
	last := len(was) - 1
	settled := last >= 0 && slices.Contains([]string{"(done)", "(pending)", "(skipped)"}, was[last])
	return begins(now, was) || settled && begins(now, was[:last])
}

// begins reports whether a text is another one, with at most one word behind it.
func begins(text, other []string) bool {
	return len(text) <= len(other)+1 && len(text) >= len(other) && slices.Equal(text[:len(other)], other)
}
