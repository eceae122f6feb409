package cli

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/settings"
)

// workPresentations are what is shown while and after a run is worked on.
func workPresentations() map[string]func(*page) {
	summary := func(code int, next string, change func(*engine.Summary)) func(*page) {
		return func(f *page) {
			r := storyRun()
			sum := fixtureSummary()
			change(sum)
			f.workSummary(r, sum, code, next)
		}
	}
	board := func(rows int, r *reprise.Run, news ...engine.Progress) func(*page) {
		return func(f *page) {
			b := newBoard(r, func() time.Time { return fixtureNow })
			b.began = before(3*time.Minute + 12*time.Second)
			for _, p := range news {
				b.tell(r.ID, p)
			}
			for _, l := range b.frame(f.columns, rows, f.paint) {
				f.line("%s", l)
			}
		}
	}
	began := func(run, step string, ago time.Duration, attempt int) engine.Progress {
		return engine.Progress{Kind: engine.Began, At: before(ago), Run: run, Step: step, Role: "dev", Attempt: attempt, Done: 2, Total: 4}
	}
	said := func(run, step, text string) engine.Progress {
		return engine.Progress{Kind: engine.Said, At: fixtureNow, Run: run, Step: step, Text: text, Done: 2, Total: 4}
	}
	long := storyRun()
	long.Steps = nil
	for i := range 60 {
		s := reprise.Step{ID: "T" + strings.Repeat("0", 2) + string(rune('A'+i%26)) + string(rune('a'+i/26)), Title: "One of many tasks", Role: "executor", Status: reprise.Pending}
		if i < 30 {
			s.Status = reprise.Done
		}
		long.Steps = append(long.Steps, s)
	}
	return map[string]func(*page){
		"work-board":      board(24, storyRun(), began("4.2", "implement", 62*time.Second, 2), said("4.2", "implement", "running the tests of the writer: 14 of 20 pass")),
		"work-board-wait": board(24, storyRun(), engine.Progress{Kind: engine.Waits, Run: "4.2", Text: "a usage limit", Until: fixtureNow.Add(250 * time.Second), Done: 2, Total: 4}),
		"work-board-low":  board(9, long, began(long.ID, long.Steps[30].ID, 7*time.Second, 1), said(long.ID, long.Steps[30].ID, "reading"), began(long.ID, long.Steps[31].ID, 2*time.Second, 1)),
		"work-board-child": board(24, epicRun(), began(epicRun().ID, "3.4", 90*time.Second, 1), began("3.4", "implement", 80*time.Second, 1), said("3.4", "implement", "writing the form"),
			engine.Progress{Kind: engine.Ended, At: fixtureNow, Run: "3.4", Step: "implement", Outcome: "failed", Text: "exit status 3", Took: 80 * time.Second}),
		"work-board-hostile": func(f *page) {
			r := storyRun()
			poison(reflect.ValueOf(r).Elem())
			board(12, r, began(evil, evil, time.Second, 3), said(evil, evil, evil), engine.Progress{Kind: engine.Waits, Text: evil, Until: fixtureNow.Add(time.Hour * 100)})(f)
		},
		"work-finished": summary(exitOK, "", func(s *engine.Summary) {
			s.State, s.Action, s.Left, s.Failed, s.Reasons = reprise.Complete, reprise.Finish, nil, nil, nil
			s.Skipped = []engine.StepReport{{ID: "qa", Title: "qa", Role: "qa"}}
		}),
		"work-failed": summary(exitUnexpected, "reprise resume 4.2 --from qa", func(*engine.Summary) {}),
		"work-asked": summary(exitNeedsAnswer, "reprise answer 4.2", func(s *engine.Summary) {
			s.Failed = nil
			s.Questions = []reprise.Question{{ID: "ask-implement.1", Text: "Should the export hold cancelled orders, too?", Options: []string{"yes", "no, only those that were paid"}}}
		}),
		"work-wait": summary(exitWait, "reprise resume 4.2", func(s *engine.Summary) {
			s.Failed, s.Action, s.Until, s.Reasons = nil, reprise.Wait, fixtureNow.Add(3*time.Hour), []string{"implement: a usage limit"}
		}),
		"work-unbound": summary(exitBlocked, "reprise resume 4.2", func(s *engine.Summary) {
			s.Finished, s.Failed, s.Launches = nil, nil, 0
			s.Refused = []error{&settings.UnboundError{Role: "dev"}}
		}),
		"work-hostile": func(f *page) {
			r, sum := storyRun(), fixtureSummary()
			sum.Questions = []reprise.Question{{Options: []string{"x"}}}
			sum.Findings = []reprise.Finding{{Severity: reprise.Warning}}
			poison(reflect.ValueOf(r).Elem())
			poison(reflect.ValueOf(sum).Elem())
			sum.Refused = []error{errors.New(evil)}
			f.workSummary(r, sum, exitUnexpected, "reprise status")
		},
		"work-preview": func(f *page) {
			f.workPreview(&engine.Preview{
				Would:  []string{"A snapshot of the state and the working tree is taken first; an undo restores it."},
				Diff:   "--- docs/stories/4.2.story.md\n+++ docs/stories/4.2.story.md\n@@ -60,2 +60,3 @@\n | @po | Ready |\n+| @dev | Ready → InProgress |\n",
				Starts: []engine.PreviewStep{{Step: "implement", Role: "dev", Agent: "coder", Command: []string{"my-agent", "--print", "it's \x1b[2J"}, Dir: ".", Prompt: "You are the developer.\n\n  - read the story\n\x1b]0;x\x07", Expect: []string{"docs/stories/4.2.story.md"}}},
			})
		},
		"work-preview-hostile": func(f *page) {
			p := &engine.Preview{Would: []string{""}, Diff: "", Starts: []engine.PreviewStep{{Command: []string{""}, Expect: []string{""}}}}
			poison(reflect.ValueOf(p).Elem())
			p.Diff = "" // shown as it is, a line at a time
			f.workPreview(p)
		},
		"work-trust": func(f *page) {
			f.trust(&settings.Untrusted{Path: "/home/ada/shop/reprise.yaml", Env: []string{"SHOP_*"}, Templates: []string{"dev.md"}, Scripts: []string{"tools/agent.sh"}, Starts: []settings.Start{
				{Agent: settings.Agent{Name: "coder", Command: []string{"my-agent", "--print", "do it; rm -rf x"}, Approve: "all", Env: map[string]string{"MODE": "batch"}}, Roles: []string{"default", "dev"}},
			}})
		},
		"work-trust-hostile": func(f *page) {
			u := &settings.Untrusted{Env: []string{""}, Templates: []string{""}, Scripts: []string{""}, Starts: []settings.Start{{Agent: settings.Agent{Command: []string{""}}, Roles: []string{""}}}}
			poison(reflect.ValueOf(u).Elem())
			f.trust(u)
		},
	}
}

func fixtureSummary() *engine.Summary {
	r := storyRun()
	return &engine.Summary{
		Run: r.Ref, State: reprise.Interrupted, Action: reprise.Ask, Reasons: []string{"implement: failed 3 times: the tests do not pass"},
		Finished: []engine.StepReport{{ID: "validate", Title: "validate", Role: "po", Attempt: 1, Took: 12 * time.Second, Text: "ten of ten criteria are met", Commit: "8c1f2ab40211"}},
		Failed:   []engine.StepReport{{ID: "implement", Title: "implement", Role: "dev", Attempt: 3, Took: 62 * time.Second, Text: "the tests do not pass", Log: ".reprise/work/4.2/implement-3.log"}},
		Left:     []string{"implement", "qa"}, Snapshot: "0004", Started: before(5 * time.Minute), Ended: fixtureNow, Launches: 4,
	}
}

func TestX10_a_live_view_is_never_higher_or_wider_than_its_terminal(t *testing.T) {
	t.Parallel()
	r := epicRun()
	b := newBoard(r, func() time.Time { return fixtureNow })
	for i := range r.Steps {
		b.tell(r.ID, engine.Progress{Kind: engine.Began, At: fixtureNow, Run: r.ID, Step: r.Steps[i].ID, Attempt: 2})
		b.tell(r.ID, engine.Progress{Kind: engine.Said, At: fixtureNow, Run: r.ID, Step: r.Steps[i].ID, Text: evil})
	}
	b.tell(r.ID, engine.Progress{Kind: engine.Waits, Run: r.ID, Text: evil, Until: fixtureNow.Add(time.Minute)})
	b.reply = "`reprise answer x`"
	for _, step := range []string{"p", "q", "r", "s", "t"} {
		b.tell(r.ID, engine.Progress{Kind: engine.Questions, Run: r.ID, Step: step, Text: evil})
	}
	v := page{}
	for columns := 20; columns < 160; columns += 9 {
		for rows := 6; rows < 60; rows += 5 {
			lines := b.frame(columns, rows, v.paint)
			if len(lines) > rows-1 {
				t.Fatalf("%d lines on %d rows", len(lines), rows)
			}
			for _, l := range lines {
				if width(l) > columns {
					t.Fatalf("%d columns of %d: %q", width(l), columns, l)
				}
			}
		}
	}
}

// frameOf is what the live view shows of a board.
func frameOf(b *board, columns, rows int) string {
	v := page{}
	return strings.Join(b.frame(columns, rows, v.paint), "\n") + "\n"
}

func holds(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestX10_the_live_view_follows_what_is_taken_back_and_asked(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Ref: reprise.Ref{ID: "t", Kind: reprise.KindGraph}, Steps: []reprise.Step{
		{ID: "a", Status: reprise.Done}, {ID: "c", Status: reprise.Done}, {ID: "z", Status: reprise.Failed},
	}}
	b := newBoard(r, func() time.Time { return fixtureNow })
	b.reply = "`reprise answer t`"
	holds(t, frameOf(b, 80, 24), "✓ a", "✓ c", "✗ z")

	// Begun again from the first: what stands in the files counts, and a new step is there.
	again := &reprise.Run{Ref: r.Ref, Steps: []reprise.Step{
		{ID: "a", Status: reprise.Pending}, {ID: "c", Status: reprise.Pending}, {ID: "z", Status: reprise.Pending}, {ID: "new", Status: reprise.Pending},
	}}
	b.tell("t", engine.Progress{Kind: engine.Working, Run: "t", State: again, Total: 4})
	holds(t, frameOf(b, 80, 24), "0 of 4 done", "○ a", "○ c", "○ z", "○ new")

	// The first line of an agent may come before its start is told.
	b.tell("t", engine.Progress{Kind: engine.Said, Run: "t", Step: "a", Attempt: 2, Text: "reading", At: fixtureNow})
	b.tell("t", engine.Progress{Kind: engine.Began, Run: "t", Step: "a", Attempt: 2, At: fixtureNow})
	holds(t, frameOf(b, 80, 24), "◐ a", "      reading")

	// A question that waits beside it is told, with how it is answered, until it is.
	b.tell("t", engine.Progress{Kind: engine.Questions, Run: "t", Step: "c", Text: "Shall it be\x1b[2J released?"})
	holds(t, frameOf(b, 80, 24), "◇ c", `◇ c waits for an answer: Shall it be\u{1b}[2J released?`, "`reprise answer t` in another terminal")
	again.Steps[0].Status = reprise.InProgress
	again.Questions = []reprise.Question{{ID: "q", By: "c", Text: "Which?"}}
	b.tell("t", engine.Progress{Kind: engine.Working, Run: "t", State: again})
	holds(t, frameOf(b, 80, 24), "◐ a", "◇ c waits for an answer: Which?")
	again.Questions = nil
	b.tell("t", engine.Progress{Kind: engine.Working, Run: "t", State: again})
	if text := frameOf(b, 80, 24); strings.Contains(text, "◇") || strings.Contains(text, "answer") {
		t.Errorf("it still waits:\n%s", text)
	}

	// What was told of an attempt stays until the files say that the step is closed, or open again.
	b.tell("t", engine.Progress{Kind: engine.Ended, Run: "t", Step: "a", Outcome: "failed", Text: "no", At: fixtureNow})
	again.Steps[0].Status = reprise.Pending
	b.tell("t", engine.Progress{Kind: engine.Working, Run: "t", State: again})
	holds(t, frameOf(b, 80, 24), "✗ a")
	again.Steps[0].Status = reprise.Done
	b.tell("t", engine.Progress{Kind: engine.Working, Run: "t", State: again})
	holds(t, frameOf(b, 80, 24), "✓ a")
	again.Steps[0].Status = reprise.Pending
	b.tell("t", engine.Progress{Kind: engine.Working, Run: "t", State: again})
	holds(t, frameOf(b, 80, 24), "○ a")
}

func TestX10_a_small_terminal_shows_how_far_it_is_and_what_fits(t *testing.T) {
	t.Parallel()
	r := &reprise.Run{Ref: reprise.Ref{ID: "20261115-1800-live-hk15", Kind: reprise.KindGraph}}
	for i := range 12 {
		r.Steps = append(r.Steps, reprise.Step{ID: fmt.Sprintf("s%d", i), Status: reprise.Pending})
	}
	b := newBoard(r, func() time.Time { return fixtureNow })
	for _, step := range []string{"s0", "s2", "s4"} {
		b.tell(r.ID, engine.Progress{Kind: engine.Began, At: fixtureNow, Run: r.ID, Step: step, Attempt: 1, Total: 12})
		b.tell(r.ID, engine.Progress{Kind: engine.Said, At: fixtureNow, Run: r.ID, Step: step, Attempt: 1, Text: "says " + step, Total: 12})
	}
	text := frameOf(b, 40, 10)
	holds(t, text, "0 of 12 done, 12 left", "says s4")
	if n := strings.Count(text, "\n"); n != 9 {
		t.Errorf("%d of 9 lines are used:\n%s", n, text)
	}
	holds(t, frameOf(b, 20, 10), "0 of 12 done")
	holds(t, frameOf(b, 80, 24), "Task graph 20261115-1800-live-hk15 · 0 of 12 done, 12 left · 0s")
}

func TestX10_a_log_has_one_harmless_line_for_each_event(t *testing.T) {
	t.Parallel()
	l := &lineLog{said: map[string]time.Time{}}
	for _, c := range []struct {
		p    engine.Progress
		want string
	}{
		{engine.Progress{Kind: engine.Began, Step: "implement", Role: "dev", Attempt: 2}, "12:00:00  implement  started @dev, attempt 2"},
		{engine.Progress{Kind: engine.Said, Step: "implement", Text: "soon after"}, ""},
		{engine.Progress{Kind: engine.Said, Step: "implement", At: fixtureNow.Add(time.Minute), Text: "later\x1b[2J"}, `12:01:00  implement  | later\u{1b}[2J`},
		{engine.Progress{Kind: engine.Ended, Step: "implement", Outcome: "done", Took: 62 * time.Second, Text: "all\ngood", Done: 3, Total: 4}, "12:00:00  implement  done after 1m02s: all good (3 of 4 done)"},
		{engine.Progress{Kind: engine.Noticed, Step: "qa", Text: "outlived"}, "12:00:00  ! qa: outlived"},
		{engine.Progress{Kind: engine.Questions, Step: "qa", Text: "Which?"}, "12:00:00  qa  asks: Which?"},
		{engine.Progress{Kind: engine.Working}, ""},
		{engine.Progress{Kind: engine.Ended, Run: "3.4", Step: "qa", Outcome: "done"}, "12:00:00  3.4 / qa  done (0 of 0 done)"},
	} {
		if c.p.At.IsZero() {
			c.p.At = fixtureNow
		}
		if c.p.Run == "" {
			c.p.Run = "4.2"
		}
		if got := l.line("4.2", c.p); got != c.want {
			t.Errorf("%+v\n got %q\nwant %q", c.p, got, c.want)
		}
	}
}

func TestX9_answers_with_control_characters_are_refused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes":                                "",
		"two\nlines\tand a tab":              "",
		"$(rm -rf /); `id` && true":          "", // text, never a command
		"":                                   "empty",
		" \n":                                "empty",
		"\x1b[2J":                            "U+001B at byte 1",
		"a\u202eb":                           "U+202E",
		"bad \xff":                           "UTF-8",
		"nul\x00":                            "U+0000 at byte 4",
		strings.Repeat("long", (64<<10)/4+1): "more than",
	} {
		err := reprise.CheckText(text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestX1_an_unknown_outcome_is_never_done(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "finish", "DONE?", "ok"} {
		if s := outcomeStatus(word); s.Closed() {
			t.Errorf("%q is %s", word, s)
		}
	}
}
