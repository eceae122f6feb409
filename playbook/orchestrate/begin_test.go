package orchestrate_test

import (
	"errors"
	"testing"

	"reprise"
	"reprise/layout/layouttest"
	layout "reprise/layout/orchestrate"
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
		goal.Now = layouttest.Epoch
		l, files := layout.New(), stories
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
			if files, err = layouttest.Apply(files, edits); err != nil {
				t.Fatal(err)
			}
		}
		runs, err := layouttest.Read(l, files)
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
