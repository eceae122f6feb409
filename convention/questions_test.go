package convention_test

import (
	"cmp"
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/convention/conventiontest"
)

// asker is a run in whose files a question has a place.
type asker struct {
	layout, scenario string
	id               string // of the question; the only one that has a place, if set
	fsys             fstest.MapFS
	run              *reprise.Run
	clock            time.Time
}

// askers are one run of each convention and form that keeps questions.
var askers = map[string]asker{
	"event run":     {layout: "eventrun", scenario: "eventrun/testdata/scenarios/execution.txtar"},
	"long run":      {layout: "longrun", scenario: "longrun/testdata/scenarios/lr3-between-plans.txtar"},
	"hand-off":      {layout: "longrun", scenario: "longrun/testdata/scenarios/gsd-handoff.txtar"},
	"specification": {layout: "specloop", scenario: "specloop/testdata/scenarios/clarifying-b1.txtar"},
	"turns":         {layout: "specloop", scenario: "specloop/testdata/scenarios/successor-turns.txtar"},
	"epic":          {layout: "orchestrate", scenario: "orchestrate/testdata/scenarios/epic-cut-off.txtar"},
	"review":        {layout: "autoclaude", scenario: "autoclaude/testdata/record/holds-and-questions.txtar", id: "QA_ESCALATION.md"},
}

func (a *asker) name() string { return cmp.Or(a.id, "colour") }

// record records an event about the question, and reports whether the files have a place
// for it.
func (a *asker) record(t *testing.T, kind reprise.EventKind, text string) bool {
	t.Helper()
	a.clock = a.clock.Add(time.Minute)
	edits, err := convention.Find(a.layout).Record(a.fsys, a.run, reprise.Event{Kind: kind, Question: a.name(), Text: text, At: a.clock})
	if errors.Is(err, reprise.ErrCannotRecord) {
		return false
	}
	if err == nil {
		a.fsys, err = conventiontest.Apply(a.fsys, edits)
	}
	if err == nil {
		a.run, err = reprise.Load(convention.Find(a.layout), a.fsys, a.run.Ref)
	}
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return true
}

// asks puts the question on record in a copy of the run.
func (a asker) asks(t *testing.T) *asker {
	t.Helper()
	a.fsys, a.clock = conventiontest.LoadFS(t, a.scenario), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	runs, err := conventiontest.Read(convention.Find(a.layout), a.fsys)
	if err != nil || len(runs) == 0 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	a.run = runs[0]
	if !a.record(t, reprise.QuestionAsked, "Which colour?") || len(a.pending()) != 1 {
		t.Fatalf("it was not asked: %+v", a.run.Questions)
	}
	return &a
}

func (a *asker) pending() (out []reprise.Question) {
	for _, q := range a.run.PendingQuestions() {
		if q.ID == a.name() {
			out = append(out, q)
		}
	}
	return out
}

// A question that is withdrawn must not be asked by the files: the run would wait for an
// answer that no one needs.
func TestQuestionThatIsWithdrawnIsClosedInTheFiles(t *testing.T) {
	t.Parallel()
	for name, a := range askers {
		if a.id != "" {
			continue // the state of the run asks it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := a.asks(t)
			if !a.record(t, reprise.QuestionSkipped, "nobody needs it any longer") || len(a.pending()) > 0 {
				t.Errorf("it is still asked: %+v", a.run.Questions)
			}
		})
	}
}

// An answer can be changed until something used it, and no longer.
func TestAnswerCanBeChangedUntilItIsUsed(t *testing.T) {
	t.Parallel()
	for name, a := range askers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := a.asks(t)
			for _, answer := range []string{"red", "green", "red", "blue"} {
				if !a.record(t, reprise.QuestionAnswered, answer) {
					t.Fatalf("%s is not taken", answer)
				}
				if q := a.run.Question(a.name()); q == nil || !q.Answered || q.Answer != answer {
					t.Fatalf("%s: %+v", answer, q)
				}
			}
			if a.run.Question(a.name()).Applied || !a.record(t, reprise.AnswerApplied, "blue") {
				return // the journal or what follows tells that it was used
			}
			a.record(t, reprise.QuestionAnswered, "red")
			if q := a.run.Question(a.name()); q != nil && q.Answer != "blue" {
				t.Errorf("an answer that was used was changed: %+v", q)
			}
		})
	}
}
