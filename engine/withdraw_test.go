package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/project"
)

// A question whose doubt has gone is closed once, in the journal and in the files of the
// run, and the run continues.
func TestQuestionAboutADoubtThatHasGoneIsClosedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flow   func(t *testing.T) string
		prefix string
		settle func(t *testing.T, log string) // takes the doubt away
	}{
		"the end is in the files again": {
			flow:   func(*testing.T) string { return lostFlow(0) },
			prefix: project.LostPrefix,
			settle: func(t *testing.T, log string) {
				end := fmt.Sprintf(`{"event_type":"task-completed","task_id":"a","timestamp":%q,"actor":"other","event_id":"x"}`, shiftedNow().UTC().Format(time.RFC3339Nano))
				put(t, filepath.Dir(filepath.Dir(log)), "other/1.jsonl", end+"\n")
			},
		},
		"the claim is taken back": {
			flow:   func(t *testing.T) string { return claimedFlow(tickOff(t, "b")) },
			prefix: project.ClaimedPrefix,
			settle: func(t *testing.T, log string) {
				kept := ""
				for line := range strings.Lines(get(t, filepath.Dir(log), filepath.Base(log))) {
					if !strings.Contains(line, `"event_id":"xb"`) {
						kept += line
					}
				}
				if err := os.WriteFile(log, []byte(kept), 0o600); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, c.flow(t))
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil || len(sum.Questions) != 1 || !strings.HasPrefix(sum.Questions[0].ID, c.prefix) {
				t.Fatalf("%+v, %v", sum, err)
			}
			logs, err := filepath.Glob(filepath.Join(e.Dir, ref.Path, "events/reprise/*"))
			if err != nil || len(logs) == 0 {
				t.Fatalf("%v, %v", logs, err)
			}
			c.settle(t, logs[len(logs)-1])
			// A run that does not come to rest must not hang the test.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if sum, err = e.Resume(ctx, ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
				t.Fatalf("%+v, %v", sum, err)
			}
			if n := count(events(t, e.Dir, ref), reprise.QuestionSkipped, ""); n != 1 {
				t.Errorf("it was closed %d times", n)
			}
			// The files alone tell it, too.
			if err := os.RemoveAll(filepath.Join(e.Dir, ".reprise")); err != nil {
				t.Fatal(err)
			}
			if r, _ := looked(t, e.Dir, ref); r.State != reprise.Complete || len(r.PendingQuestions()) > 0 {
				t.Errorf("by its files alone: %v, asks %+v", r.State, r.PendingQuestions())
			}
		})
	}
}

// The question about a start that only the files tell goes when a person has the step
// begin again, also where the journal was lost once more in between.
func TestQuestionAboutALostStartGoesWhenTheStepBeginsAgain(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, "name: f\nsteps:\n  - {id: mail, command: [sh, -c, \"echo sent >> log\"], on_crash: ask}\n")
	begun := fmt.Sprintf(`{"event_type":"task-started","task_id":"mail","timestamp":%q,"actor":"reprise","event_id":"x"}`, shiftedNow().UTC().Format(time.RFC3339Nano))
	put(t, e.Dir, ref.Path+"/events/reprise/later.jsonl", begun+"\n")
	for range 2 {
		if err := os.RemoveAll(filepath.Join(e.Dir, ".reprise")); err != nil {
			t.Fatal(err)
		}
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		if err != nil || len(sum.Questions) != 1 || !strings.HasPrefix(sum.Questions[0].ID, project.BegunPrefix) || sum.Commands != 0 {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sum, err := e.Resume(ctx, ref, engine.Choice{From: "mail"})
	if err != nil || sum.State != reprise.Complete || get(t, e.Dir, "log") != "sent\n" {
		t.Fatalf("%+v, %v", sum, err)
	}
}
