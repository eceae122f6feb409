package ledger_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

var at = time.Date(2026, 3, 1, 10, 4, 5, 678_000_000, time.UTC)

func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func root(fsys fs.FS, name string) ledger.Value {
	f := doc.NewReader(fsys).Open(name)
	if ledger.IsJSON(f.Data) {
		return ledger.Root(f, f.JSON())
	}
	return ledger.Root(f, f.YAML())
}

func content(t *testing.T, c *ledger.Changes, name string) string {
	t.Helper()
	data, err := fs.ReadFile(c.FS(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTimes_are_spelled_like_the_sample(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sample string
		want   any
	}{
		{"2025-01-02", "2026-03-01"},
		{"2025/01/02", "2026/03/01"},
		{"31/12/2025", "01/03/2026"},
		{"2025-01-02 03:04", "2026-03-01 10:04"},
		{"2025-01-02T03:04:05", "2026-03-01T10:04:05"},
		{"2025-01-02T03:04:05Z", "2026-03-01T10:04:05Z"},
		{"2025-01-02T03:04:05.123456Z", "2026-03-01T10:04:05.678000Z"},
		{"2025-01-02T03:04:05+02:00", "2026-03-01T12:04:05+02:00"},
		{"2025-01-02T03:04:05+00:00", "2026-03-01T10:04:05+00:00"},
		{"1735787045", int64(1772359445)},
		{"1735787045000", int64(1772359445678)},
		{"soon", "2026-03-01T10:04:05.678Z"},
		{"", "2026-03-01T10:04:05.678Z"},
	} {
		if got := ledger.SpellTime(at, c.sample, ""); got != c.want {
			t.Errorf("%q: %v, want %v", c.sample, got, c.want)
		}
	}
}

func TestWords_are_spelled_like_their_neighbours(t *testing.T) {
	t.Parallel()
	done := func(w string) bool { return doc.Fold(w) == "done" || doc.Fold(w) == "completed" }
	for _, c := range []struct {
		own, want  string
		neighbours []string
	}{
		{"completed", "completed", nil},
		{"completed", "Done", []string{"pending", "Done"}},
		{"in_progress", "in-progress", []string{"not-started"}},
		{"in_progress", "IN_PROGRESS", []string{"TODO", "LATER"}},
		{"in_progress", "In Progress", []string{"Not Started"}},
		{"completed", "completed", []string{"two\nlines"}},
	} {
		if got := ledger.SpellWord(c.own, done, c.neighbours...); got != c.want {
			t.Errorf("%s beside %q: %q, want %q", c.own, c.neighbours, got, c.want)
		}
	}
}

func TestA_value_is_written_where_it_was_read(t *testing.T) {
	t.Parallel()
	fsys := files("s.json", `{"waves": {"2": {"status": "pending"}, "1": {"status": "pending"}}}`, "s.yaml", "waves:\n  - status: pending # first\n  - id: b\n")
	for _, c := range []struct {
		file, want string
		place      func(ledger.Value) ledger.Value
	}{
		{"s.json", `{"waves": {"2": {"status": "pending"}, "1": {"status": "done"}}}`, func(v ledger.Value) ledger.Value { return v.In("waves").In("1").In("state", "status") }},
		{"s.yaml", "waves:\n  - status: done # first\n  - id: b\n", func(v ledger.Value) ledger.Value { return v.In("waves").Item(0).In("status") }},
		{"s.yaml", "waves:\n  - status: pending # first\n  - id: b\n    status: done\n", func(v ledger.Value) ledger.Value { return v.In("waves").Entries(1)[1].In("status") }},
	} {
		changes := ledger.NewChanges(fsys)
		changes.Set(c.place(root(fsys, c.file)), "done")
		if err := changes.Err(); err != nil {
			t.Fatal(err)
		}
		if got := content(t, changes, c.file); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.file, got, c.want)
		}
	}
}

func TestAfter_the_first_error_nothing_changes(t *testing.T) {
	t.Parallel()
	fsys := files("a.json", `{"x": 1}`, "torn.json", `{"x": `)
	c := ledger.NewChanges(fsys)
	c.Set(root(fsys, "a.json").In("x"), 2)
	c.Set(ledger.Value{File: "torn.json", Path: []any{"x"}}, 2)
	c.Set(root(fsys, "a.json").In("x"), 3)
	c.Create("b.json", nil, "new")
	edits, err := c.Edits()
	if err == nil || !strings.Contains(err.Error(), "torn.json") || len(edits) != 0 {
		t.Errorf("%d edits, %v", len(edits), err)
	}
	missing := ledger.NewChanges(fsys)
	missing.Set(ledger.Value{File: "none.json", Path: []any{"x"}}, 1)
	if !errors.Is(missing.Err(), fs.ErrNotExist) {
		t.Errorf("a missing file: %v", missing.Err())
	}
}

func TestA_time_moves_forward_only_and_is_never_added(t *testing.T) {
	t.Parallel()
	fsys := files("s.json", `{"old": "2025-01-01T00:00:00Z", "later": "2030-01-01", "none": null}`)
	c := ledger.NewChanges(fsys)
	for _, key := range []string{"old", "later", "none", "absent"} {
		c.Touch(root(fsys, "s.json").In(key), at, "2025-01-01")
	}
	if got, want := content(t, c, "s.json"), `{"old": "2026-03-01T10:04:05Z", "later": "2030-01-01", "none": "2026-03-01"}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestA_text_of_Markdown_is_written_where_it_was_read(t *testing.T) {
	t.Parallel()
	fsys := files("s.md", "# S\n\n**Status:** Draft\n\n| Step | State |\n|---|---|\n| a | open |\n\n- [ ] T001 first\n")
	f := doc.NewReader(fsys).Open("s.md")
	all := f.Markdown().All()
	label, _ := all.Label("Status")
	c := ledger.NewChanges(fsys)
	c.SetText(ledger.Label(f, label), "Done")
	c.SetText(ledger.Cell(f, "State", all.Tables()[0].Rows[0][1]), "closed")
	c.Tick(ledger.Check(f, all.Checks()[0]), true)
	want := "# S\n\n**Status:** Done\n\n| Step | State |\n|---|---|\n| a | closed |\n\n- [x] T001 first\n"
	if got := content(t, c, "s.md"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestA_step_gets_its_status_in_the_words_of_the_others(t *testing.T) {
	t.Parallel()
	fsys := files("s.json", `{"steps": [{"id": "a", "status": "COMPLETE", "ended": "2025-01-01"}, {"id": "b", "status": "TODO"}, "note"]}`)
	means := func(w string) reprise.Status {
		if doc.Fold(w) == "complete" {
			return reprise.Done
		}
		return reprise.Pending
	}
	steps := ledger.Steps{Keys: []string{"steps"}, ID: []string{"id"}, Prefix: "step ", Maps: true, Ended: "ended"}
	rows := steps.Rows(root(fsys, "s.json"))
	row, ok := ledger.Find(rows, "step b")
	if !ok || len(rows) != 2 {
		t.Fatalf("%+v", rows)
	}
	c := ledger.NewChanges(fsys)
	c.Set(row.Status, ledger.SpellWord("completed", func(w string) bool { return means(w) == reprise.Done }, ledger.Words(rows)...))
	if got, want := content(t, c, "s.json"), `{"steps": [{"id": "a", "status": "COMPLETE", "ended": "2025-01-01"}, {"id": "b", "status": "COMPLETE"}, "note"]}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// loadLines reads a run of one step a line; a line with a NUL is damage.
func loadLines(fsys fs.FS) *reprise.Run {
	run := &reprise.Run{Ref: reprise.Ref{Path: "run"}, State: reprise.Interrupted}
	data, _ := fs.ReadFile(fsys, "run")
	for line := range strings.Lines(string(data)) {
		id, word, _ := strings.Cut(strings.TrimSpace(line), " ")
		status := reprise.Pending
		switch word {
		case "done":
			status = reprise.Done
		case "?":
			run.Report(reprise.Finding{Code: reprise.CodeIntegrity, Source: reprise.Source{File: "run"}})
		}
		run.Steps = append(run.Steps, reprise.Step{ID: id, Status: status})
	}
	return run
}

func TestA_mend_counts_only_if_it_reads_back(t *testing.T) {
	t.Parallel()
	fsys := files("run", "a done\nb ?\nc ?\n")
	replace := func(old, word string) func(c *ledger.Changes) {
		return func(c *ledger.Changes) {
			c.Rewrite("run", []byte(strings.Replace(string(c.Reader().Open("run").Data), old, word, 1)), "")
		}
	}
	mends := ledger.Mend(loadLines, fsys, []ledger.Proposal{
		{What: "finishes b", From: "a guess", Make: replace("b ?", "b done")},
		{What: "loses a", From: "a guess", Make: replace("a done\n", "")},
		{What: "opens a", From: "a guess", Make: replace("a done\nb ?", "a open\nb open")},
		{What: "opens b", From: "the plan", Make: replace("b ?", "b open")},
		{What: "changes nothing that is damaged", From: "a guess", Make: replace("b open", "b closed")},
		{What: "opens c", From: "the plan", Make: replace("c ?", "c open")},
	})
	if len(mends) != 1 || mends[0].What != "opens b; opens c" || mends[0].From != "the plan" || len(mends[0].Edits) != 1 {
		t.Fatalf("%+v", mends)
	}
	if got := mends[0].Edits[0]; string(got.Content) != "a done\nb open\nc open\n" || got.Base != reprise.HashOf([]byte("a done\nb ?\nc ?\n")) {
		t.Errorf("%s on %s", got.Content, got.Base)
	}
}

func TestAn_edit_that_changes_other_work_has_no_place(t *testing.T) {
	t.Parallel()
	fsys := files("run", "a done\nb open\n")
	for _, c := range []struct {
		content string
		about   []string
		ok      bool
	}{
		{"a done\nb done\n", []string{"b"}, true},
		{"a done\nb done\n", nil, false},
		{"a done\n", []string{"a"}, false},
	} {
		edits := []reprise.Edit{{Path: "run", Content: []byte(c.content)}}
		if err := ledger.Undisturbed(loadLines, fsys, edits, c.about...); (err == nil) != c.ok || err != nil && !errors.Is(err, reprise.ErrCannotRecord) {
			t.Errorf("%q about %v: %v", c.content, c.about, err)
		}
	}
}

func TestA_value_of_the_front_matter_is_set_or_added(t *testing.T) {
	t.Parallel()
	fsys := files("s.md", "---\nstatus: open # mine\nprogress:\n  done: 1\n---\n\nStatus: open\n")
	f := doc.NewReader(fsys).Open("s.md")
	md := f.Markdown()
	status, done, why := ledger.Front(f, md, "status"), ledger.Front(f, md, "progress", "done"), ledger.Front(f, md, "reason")
	if status.Value != "open" || done.Value != "1" || !status.There() || why.There() || ledger.Front(f, md, "progress").There() {
		t.Fatalf("%+v %+v %+v", status, done, why)
	}
	c := ledger.NewChanges(fsys)
	c.SetText(status, "done")
	c.SetText(done, 2)
	c.SetText(why, "it works")
	if got, want := content(t, c, "s.md"), "---\nstatus: done # mine\nprogress:\n  done: 2\nreason: it works\n---\n\nStatus: open\n"; got != want || c.Err() != nil {
		t.Errorf("%v\n%s", c.Err(), got)
	}
}

func TestItems_of_a_list_are_dropped_from_its_beginning(t *testing.T) {
	t.Parallel()
	for items, want := range map[int]string{0: `{"left": ["a", {"b": 1}, "c"]}`, 2: `{"left": ["c"]}`, 3: `{"left": []}`, 4: ""} {
		fsys := files("c.json", `{"left": ["a", {"b": 1}, "c"]}`)
		c := ledger.NewChanges(fsys)
		c.Drop(root(fsys, "c.json").In("left"), items)
		if got := content(t, c, "c.json"); want != "" && got != want || (want == "") != (c.Err() != nil) {
			t.Errorf("%d: %s, %v", items, got, c.Err())
		}
	}
}
