package engine_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/journal"
)

// recordAndDie records events of a run as someone who dies right after.
func recordAndDie(t *testing.T, dir string, ref reprise.Ref, events ...reprise.Event) {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Release()
	for held := (*durable.HeldError)(nil); ; time.Sleep(10 * time.Millisecond) {
		// A program that another test starts just now may have the lock for a moment.
		if _, err := store.Take(t.Context()); err == nil {
			break
		} else if !errors.As(err, &held) {
			t.Fatal(err)
		}
	}
	j, err := journal.Open(store, convention.Find(ref.Layout), ref)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if _, err := j.Record(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
}

// TestX10_X4_a_preview_tells_what_was_lost_or_never_written cuts off what the files
// of a run tell, previews how it continues and compares that with how it does: what is
// asked, and what stands in the files then.
func TestX10_X4_a_preview_tells_what_was_lost_or_never_written(t *testing.T) {
	t.Parallel()
	ask := func(id, text string) reprise.Event {
		return reprise.Event{Kind: reprise.QuestionAsked, At: time.Now(), Step: "b", By: "b", Question: id, Text: text, Actor: "dev"}
	}
	for name, setup := range map[string]func(t *testing.T, dir string, ref reprise.Ref, ledger string){
		"the end of a step": func(t *testing.T, dir string, ref reprise.Ref, ledger string) {
			before, _, _ := strings.Cut(get(t, dir, ledger), `"task-completed"`)
			put(t, dir, ledger, before[:strings.LastIndex(before, "\n")+1])
		},
		"a question": func(t *testing.T, dir string, ref reprise.Ref, ledger string) {
			before := get(t, dir, ledger)
			recordAndDie(t, dir, ref, ask("which", "Which one?"))
			put(t, dir, ledger, before)
		},
		"a question, of a file that went on": func(t *testing.T, dir string, ref reprise.Ref, ledger string) {
			before := get(t, dir, ledger)
			recordAndDie(t, dir, ref, ask("which", "Which one?"))
			put(t, dir, ledger, before+"\n")
		},
		"what was to follow": func(t *testing.T, dir string, ref reprise.Ref, ledger string) {
			first := ask("which", "Which one?")
			first.Then = []reprise.Event{ask("when", "When?"), {Kind: reprise.StepReset, Step: "b", Actor: "reprise", Outcome: "question"}}
			recordAndDie(t, dir, ref, first)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, \"echo A >> log\"]}\n  - {id: b, needs: [a], command: [sh, -c, \"test -f go\"], attempts: 1}\n")
			if _, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil {
				t.Fatal(err)
			}
			ledgers, err := filepath.Glob(filepath.Join(e.Dir, ref.Path, "events/reprise/*"))
			if err != nil || len(ledgers) != 1 {
				t.Fatal(ledgers, err)
			}
			ledger, err := filepath.Rel(e.Dir, ledgers[0])
			if err != nil {
				t.Fatal(err)
			}
			setup(t, e.Dir, ref, ledger)
			at := time.Now().Add(time.Minute).Truncate(time.Second)
			e.Now = func() time.Time { return at }
			was, before := stamps(t, e.Dir), files(t, e.Dir)
			p, err := e.Preview(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if stamps(t, e.Dir) != was {
				t.Error("the preview changed something")
			}
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || len(sum.Questions) == 0 || len(p.Starts) != sum.Launches {
				t.Fatalf("%+v, %v", sum, err)
			}
			for _, q := range sum.Questions {
				if !strings.Contains(strings.Join(p.Would, "\n"), q.Text) {
					t.Errorf("it does not say that %q is asked: %q", q.Text, p.Would)
				}
			}
			for _, f := range sum.Findings {
				if !strings.Contains(strings.Join(p.Would, "\n"), f.Message) {
					t.Errorf("it does not say %q: %q", f.Message, p.Would)
				}
			}
			want, have := difference(before, files(t, e.Dir)), perFile(p.Diff)
			for _, list := range []*[]string{&want, &have} {
				*list = slices.DeleteFunc(*list, func(s string) bool { return s == "" })
				for i := range *list {
					(*list)[i] = moments.ReplaceAllString((*list)[i], "$1")
				}
			}
			if !slices.Equal(want, have) {
				t.Errorf("previewed\n%s\nit did\n%s", strings.Join(have, ""), strings.Join(want, ""))
			}
		})
	}
}
