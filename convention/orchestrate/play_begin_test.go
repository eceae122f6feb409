package orchestrate_test

import (
	"errors"
	"slices"
	"testing"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/orchestrate"
)

// TestOR11_begin_names: a run is called after it was begun what it is called
// when it is found again; its journal depends on it.
func TestOR11_begin_names(t *testing.T) {
	t.Parallel()
	stories := tree("docs/stories/1.2.login.md", draft, "docs/stories/4-1-cart.md", draft, "docs/stories/STORY-123.1-x.md", draft,
		"docs/stories/US-21.md", draft, "docs/stories/epic-1-story-2.md", draft, "docs/stories/epic-7/3.md", draft, "docs/stories/CP-8.1-more.md", draft,
		"docs/stories/add-login.story.md", draft, "docs/stories/m1-start.md", draft, "docs/stories/active/9.10.last.story.md", draft)
	begin := func(kind reprise.Kind, goal reprise.Goal) {
		t.Helper()
		goal.Now = conventiontest.Epoch
		l, files := orchestrate.New(), stories
		ref, events, err := books[kind].Begin(files, goal)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			r, err := l.Load(files, ref)
			if err != nil {
				t.Fatal(err)
			}
			edits, err := l.Record(files, r, ev)
			if err != nil {
				t.Fatal(err)
			}
			if files, err = conventiontest.Apply(files, edits); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := conventiontest.Read(l, files)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if r.Path == ref.Path {
				if r.ID != ref.ID || r.Kind != kind {
					t.Errorf("%s: begun as %s %q, found as %s %q", ref.Path, kind, ref.ID, r.Kind, r.ID)
				}
				return
			}
		}
		t.Errorf("%s %q is not found again at %s", kind, ref.ID, ref.Path)
	}
	for name := range stories {
		begin(reprise.KindStory, reprise.Goal{Path: name})
	}
	for _, kind := range []reprise.Kind{reprise.KindStory, reprise.KindQALoop} { // a person names it by what is shown
		ref, _, err := books[kind].Begin(stories, reprise.Goal{Path: "1.2"})
		if at, _, _ := books[kind].Begin(stories, reprise.Goal{Path: "docs/stories/1.2.login.md"}); err != nil || ref != at {
			t.Errorf("%s 1.2: %v, %v", kind, ref, err)
		}
	}
	begin(reprise.KindStory, reprise.Goal{ID: "5.4"})
	begin(reprise.KindStory, reprise.Goal{ID: "US-7", Text: "x"})
	begin(reprise.KindStory, reprise.Goal{Text: "Let users pay with a card"})
	begin(reprise.KindQALoop, reprise.Goal{ID: "1.2"})
	begin(reprise.KindQALoop, reprise.Goal{Path: "docs/stories/US-21.md"})
	begin(reprise.KindSpecPipeline, reprise.Goal{Text: "Let users pay with a card"})
	begin(reprise.KindEpic, reprise.Goal{ID: "EPIC-4", Text: "4.1"})
	begin(reprise.KindEpic, reprise.Goal{ID: "4", Text: "4.1"})
	begin(reprise.KindWorkflow, reprise.Goal{ID: "greenfield", Text: "dev: x"})
	for _, kind := range []reprise.Kind{reprise.KindStory, reprise.KindQALoop, reprise.KindSpecPipeline, reprise.KindEpic, reprise.KindWorkflow} {
		if ref, _, err := books[kind].Begin(tree(), reprise.Goal{}); !errors.Is(err, reprise.ErrNotFromNothing) {
			t.Errorf("%s begins from nothing at all: %v %v", kind, ref, err)
		}
	}
}

// OR8: an epic that is begun afresh keeps what must be done beside its stories: none of
// it is done any more, and what whoever carried it on had asked is gone.
func TestOR8_a_fresh_epic_keeps_its_conditions(t *testing.T) {
	t.Parallel()
	const at = ".aiox/epic-EPIC-6-state.yaml"
	files := tree(at, `epic_state:
  epicId: EPIC-6
  status: active
  current_wave: 1
  total_waves: 1
  prerequisites:
    PRE-2: { status: completed, owner: "@architect", artifact: docs/inventory.md, task: "List: all \"services\"" }
    PRE-1: { status: pending, owner: "@devops", conditional: true }
  waves:
    1:
      status: in_progress
      stories:
        "6.1": { status: completed }
  merge_preconditions:
    - id: PRE-M1
      severity: blocking
      task: set the secret
      status: resolved
      answer: done
  owner_pending:
    - "OWN-1: run the smoke test"
    - { id: gate-1, task: "Wave 1 was rejected. How should it continue?", status: resolved, answer: stop }
    - { id: OWN-2, task: sign the contract, status: pending }
`)
	l := orchestrate.New()
	ref := reprise.Ref{Layout: "orchestrate", ID: "EPIC-6", Path: at, Kind: reprise.KindEpic}
	load := func() *reprise.Run {
		r, err := l.Load(files, ref)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	was, book := load(), books[reprise.KindEpic]
	given, err := book.(reprise.Giver).GivenOf(files, was)
	if err != nil {
		t.Fatal(err)
	}
	goal := reprise.Goal{ID: ref.ID, Path: at, Text: book.(reprise.Goaler).GoalOf(files, was), Given: given, Now: conventiontest.Epoch}
	delete(files, at)
	_, events, err := book.Begin(files, goal)
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	edits, err := l.Record(files, load(), events[0])
	if err != nil {
		t.Fatal(err)
	}
	if files, err = conventiontest.Apply(files, edits); err != nil {
		t.Fatal(err)
	}
	now := load()
	var got []string
	for _, s := range now.Steps {
		got = append(got, s.ID+" "+s.Status.String()+" "+s.Role+" "+s.Title)
	}
	for _, q := range now.Questions {
		got = append(got, q.ID+" "+q.Text)
	}
	want := []string{"PRE-2 pending architect List: all \"services\"", "PRE-1 pending devops (conditional)", "6.1 pending dev ", "PRE-M1 set the secret", "owner-1 OWN-1: run the smoke test", "OWN-2 sign the contract"}
	if !slices.Equal(got, want) || len(now.Findings) > len(was.Findings) {
		t.Errorf("%q\n%+v\n%s", got, now.Findings, files[at].Data)
	}
}

// OR5: who looks at a story and who works on it agree that it is written again once its
// validation sent it back, and validated once it was.
func TestOR5_a_story_that_was_sent_back_is_written_next(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", draft)
	ref := reprise.Ref{Layout: "orchestrate", ID: "1.2", Path: "docs/stories/1.2.login.md", Kind: reprise.KindStory}
	book := books[reprise.KindStory]
	var events []reprise.Event
	for _, next := range []struct{ step, outcome, then string }{
		{"", "", "validate"}, {"validate", "rejected", "create"}, {"create", "completed", "validate"}, {"validate", "rejected", "create"},
	} {
		if next.step != "" {
			events = append(events, reprise.Event{Kind: reprise.StepStarted, Step: next.step, Attempt: 1}, reprise.Event{Kind: reprise.StepFinished, Step: next.step, Attempt: 1, Outcome: next.outcome})
		}
		r, err := orchestrate.New().Load(files, ref)
		if err != nil {
			t.Fatal(err)
		}
		r.Recall(events)
		book.(reprise.Aimer).Aim(files, r)
		a, err := book.Assign(files, r, r.Next[0])
		if err != nil || len(r.Next) != 1 || r.Phase != next.then || r.Next[0].Phase != next.then || a.Step != next.then || a.Role != r.Next[0].Role {
			t.Errorf("after %d events: %q, next %+v, assigned %s to %s, %v", len(events), r.Phase, r.Next, a.Step, a.Role, err)
		}
	}
}
