package specloop_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/specloop"
)

// X9: no text breaks a table, and what else was asked stays.
func FuzzRecord(f *testing.F) {
	f.Add("question_asked", "", "C3.1", "a|b\nc\x00`*_\\", "x;y")
	f.Add("question_answered", "", "C2.1", strings.Repeat("| x ", 3000), "")
	f.Add("step_finished", "A5", "", `{"gaps":[{"id":"G-9","question":"a|b\n<!--"}]}`, "")
	f.Add("run_ended", "", "", "-->", "max_iterations")
	f.Add("run_started", "", "", "# |\\", "")
	ar := "testdata/scenarios/clarifying-b1.txtar"
	f.Fuzz(func(t *testing.T, kind, id, question, words, more string) {
		ev := reprise.Event{Kind: reprise.EventKind(kind), Step: id, Question: question, Text: words, Options: []string{more, words}, Outcome: more, At: clock(1)}
		fsys := conventiontest.LoadFS(t, ar)
		before := load(t, fsys)
		if ev.Kind == reprise.RunStarted {
			fsys, before = fstest.MapFS{}, &reprise.Run{Ref: reprise.Ref{Layout: "specloop", ID: "001-a", Kind: reprise.KindSpecLoop}}
		}
		edits, err := specloop.Layout{}.Record(fsys, before, ev)
		if err != nil || len(edits) == 0 {
			return
		}
		next, err := conventiontest.Apply(fsys, edits)
		if err != nil {
			t.Fatal(err)
		}
		after := load(t, next)
		if again, err := (specloop.Layout{}).Record(next, after, ev); err != nil || len(again) > 0 {
			t.Fatalf("still %d edits: %v\n%s", len(again), err, edits[0].Content)
		}
		if len(after.Questions) < len(before.Questions) {
			t.Fatalf("questions: %+v", after.Questions)
		}
		for i, q := range before.Questions {
			if now := after.Questions[i]; now.ID != q.ID || now.Text != q.Text || q.ID != ev.Question && now.Answered != q.Answered {
				t.Fatalf("question %+v became %+v", q, now)
			}
		}
		for _, found := range after.Findings {
			if found.Code == reprise.CodeDamagedLine || found.Code == reprise.CodeUnreadable || found.Code == reprise.CodeDuplicateID {
				t.Fatalf("%+v", found)
			}
		}
	})
}
