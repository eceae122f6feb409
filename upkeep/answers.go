package upkeep

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// What a person answered is the person's, whatever file it stands in. An undo takes the
// files back and keeps the answers: they are recorded once more, in the files as they
// are then.

// answer is what a person answered since a snapshot.
type answer struct {
	run *reprise.Run
	ev  reprise.Event
	// goes tells that the question is taken back as well: it was asked since, or only
	// the journal knows it.
	goes bool
}

// String says what becomes of it.
func (a *answer) String() string {
	if a.goes {
		return fmt.Sprintf("your answer to %s of %s goes with the question, which is asked again when it comes up", a.ev.Question, a.run.ID)
	}
	return fmt.Sprintf("your answer to %s of %s", a.ev.Question, a.run.ID)
}

// answersSince lists what a person answered since a snapshot was taken, of those of the
// runs that it is about.
func answersSince(store *durable.Store, snap *durable.Snapshot, runs []*reprise.Run) (out []answer, err error) {
	names, err := journal.Logs(store)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		name := journal.Name(r.Ref)
		if !slices.Contains(names, name) || !isOf(snap, name) {
			continue
		}
		entries, _, err := journal.Read(store, name)
		if err != nil {
			continue // the plan says what it cannot tell apart for that
		}
		asked, given := map[string]bool{}, map[string]reprise.Event{}
		for i := range entries {
			e := &entries[i]
			if e.Generation < snap.Gen || e.Generation == snap.Gen && e.Event.At.Before(snap.At) {
				continue
			}
			switch ev := e.Event; ev.Kind {
			case reprise.StateRestored:
				if ev.Text != restoredTo(snap.ID) { // else an undo of this one was cut off
					clear(given)
				}
			case reprise.QuestionAsked:
				asked[ev.Question] = true
			case reprise.QuestionAnswered:
				if ev.Actor == reprise.Person {
					given[ev.Question] = ev
				}
			case reprise.AnswerWithdrawn, reprise.QuestionSkipped:
				delete(given, ev.Question)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(given)) {
			out = append(out, answer{r, given[id], asked[id] || r.Question(id) == nil})
		}
	}
	return out, nil
}

// answerAgain records answers to questions that are open again.
func answerAgain(ctx context.Context, t Tender, store *durable.Store, answers []answer) error {
	for _, a := range answers {
		_, now, err := load(store, a.run)
		if err != nil {
			return err
		}
		if q := now.Question(a.ev.Question); a.goes || q == nil || q.Answered {
			continue
		}
		j, err := caughtUp(ctx, store, now)
		if err != nil {
			return err
		}
		a.ev.At = t.Now
		if _, err := j.Record(ctx, a.ev); err != nil {
			return fmt.Errorf("keep your answer to %s: %w", a.ev.Question, err)
		}
	}
	return nil
}
