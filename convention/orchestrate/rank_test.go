package orchestrate

import (
	"testing"
	"time"

	"reprise"
)

// ranked is a story for the tests of the ranking: its number and how far it is.
func ranked(id string, status reprise.Status) *reprise.Run {
	return &reprise.Run{
		Ref: reprise.Ref{ID: id, Path: "docs/stories/" + id + ".story.md", Kind: reprise.KindStory}, State: reprise.NotStarted,
		Steps: []reprise.Step{{Status: status, Claims: []reprise.Claim{{Status: status, Won: true}}}},
	}
}

// commitTo is a commit that changes the stories with these numbers.
func commitTo(subject string, ids ...string) reprise.Commit {
	c := reprise.Commit{Subject: subject, OnHead: true}
	for _, id := range ids {
		c.Files = append(c.Files, reprise.FileChange{Path: "docs/stories/" + id + ".story.md"})
	}
	return c
}

func TestRanking_EachTermSaysWhatItIsNamedFor(t *testing.T) {
	t.Parallel()
	const open, review, done = reprise.Pending, reprise.InReview, reprise.Done
	waiting, vague := ranked("1.1", open), ranked("1.1", reprise.Unknown)
	waiting.State = reprise.Waiting
	for name, test := range map[string]struct {
		runs    []*reprise.Run // the first is looked at
		commits []reprise.Commit
		term    int
		want    float64
	}{
		"the story changed last has no age":               {[]*reprise.Run{ranked("1.1", open)}, []reprise.Commit{commitTo("", "1.1")}, storyAge, 0},
		"a story is as old as the changes since":          {[]*reprise.Run{ranked("1.1", open), ranked("1.2", open)}, []reprise.Commit{commitTo("", "1.2"), commitTo("", "1.1")}, storyAge, 1},
		"an epic is as old as its youngest story":         {[]*reprise.Run{ranked("1.1", open), ranked("1.2", done)}, []reprise.Commit{commitTo("", "1.2"), commitTo("", "1.1")}, epicAge, 0},
		"another epic's change makes an epic older":       {[]*reprise.Run{ranked("1.1", open), ranked("2.1", open)}, []reprise.Commit{commitTo("", "2.1"), commitTo("", "1.1")}, epicAge, 1},
		"a story in review is in review":                  {[]*reprise.Run{ranked("1.1", review)}, nil, inReviewNow, 1},
		"with nothing to go by half the reviews are left": {[]*reprise.Run{ranked("1.1", review)}, nil, reviewsLeft, 0.5},
		"a closed review speaks for closing":              {[]*reprise.Run{ranked("1.2", review), ranked("1.1", done)}, nil, reviewsLeft, 0.25},
		"an open review speaks against closing":           {[]*reprise.Run{ranked("1.2", review), ranked("1.1", review)}, nil, reviewsLeft, 0.75},
		"the habit does not matter to a story not made":   {[]*reprise.Run{ranked("1.2", open), ranked("1.1", review)}, nil, reviewsLeft, 0},
		"the last commit names a story":                   {[]*reprise.Run{ranked("1.1", open)}, []reprise.Commit{commitTo("feat: login [Story 1.1]", "1.1")}, namedLast, 1},
		"an earlier commit does not":                      {[]*reprise.Run{ranked("1.1", open)}, []reprise.Commit{commitTo("tidy up", "1.1"), commitTo("story 1.1", "1.1")}, namedLast, 0},
		"the story behind the one changed last":           {[]*reprise.Run{ranked("2.1", open), ranked("1.2", review)}, []reprise.Commit{commitTo("", "1.2"), commitTo("", "2.1")}, behindLast, 1},
		"the one behind that is not":                      {[]*reprise.Run{ranked("2.2", open), ranked("2.1", open), ranked("1.2", review)}, []reprise.Commit{commitTo("", "1.2"), commitTo("", "2.1")}, behindLast, 0},
		"the story behind the one made last is its heir":  {[]*reprise.Run{ranked("1.3", open), ranked("1.2", done), ranked("1.4", open)}, nil, heir, 1},
		"the one behind the heir is not":                  {[]*reprise.Run{ranked("1.4", open), ranked("1.2", done), ranked("1.3", open)}, nil, heir, 0},
		"a story of another epic is no heir":              {[]*reprise.Run{ranked("2.1", open), ranked("1.2", done)}, nil, heir, 0},
		"nothing is open before the first open story":     {[]*reprise.Run{ranked("1.2", open), ranked("1.1", done), ranked("1.3", open)}, nil, allBefore, 1},
		"something is open before the second":             {[]*reprise.Run{ranked("1.3", open), ranked("1.2", open)}, nil, allBefore, 0},
		"a story waits":                                   {[]*reprise.Run{waiting}, nil, waitsForPerson, 1},
		"a word without a meaning is no status":           {[]*reprise.Run{vague}, nil, withoutStatus, 1},
		"a story with a status has one":                   {[]*reprise.Run{ranked("1.1", open)}, nil, withoutStatus, 0},
		"a commit that changes many stories makes no age": {manyStories(), []reprise.Commit{manyChanges(), commitTo("", "1.2"), commitTo("", "1.1")}, storyAge, 2 - 0.41503749927884376},
	} {
		k := newRanking(test.runs, reprise.Observed{Git: &reprise.Git{Commits: test.commits}})
		if got := k.values(k.stories[test.runs[0]])[test.term]; got != test.want {
			t.Errorf("%s: %s is %v, want %v", name, terms[test.term].name, got, test.want)
		}
	}
}

func manyStories() (out []*reprise.Run) {
	for _, id := range []string{"1.1", "1.2", "1.3", "1.4", "1.5", "1.6"} {
		out = append(out, ranked(id, reprise.Pending))
	}
	return out
}

func manyChanges() reprise.Commit {
	c := commitTo("format all stories")
	for _, r := range manyStories() {
		c.Files = append(c.Files, reprise.FileChange{Path: r.Path})
	}
	return c
}

func TestRanking_AStateLeadsOnlyWhileTheWorkAgreesWithIt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		state reprise.State
		since time.Duration // from the state to the last commit of a story
		again bool          // that commit is not the first one
		leads bool
	}{
		"a state of the same day":                  {reprise.Interrupted, 5 * time.Hour, true, true},
		"a state later than the work":              {reprise.Interrupted, -5 * time.Hour, true, true},
		"a state older than the last story commit": {reprise.Interrupted, 30 * time.Hour, true, false},
		"a state imported with the stories":        {reprise.Interrupted, 30 * time.Hour, false, true},
		"a state that is blocked":                  {reprise.Waiting, 0, true, false},
	} {
		state := &reprise.Run{Ref: reprise.Ref{ID: "EPIC-1", Path: ".aiox/epic-1-state.yaml", Kind: reprise.KindEpic}, State: test.state, LastActivity: at.Add(-test.since)}
		last := commitTo("", "1.1")
		last.At = at
		runs := []*reprise.Run{ranked("1.1", reprise.Pending), state}
		commits := []reprise.Commit{last}
		if test.again {
			commits = append(commits, commitTo("", "1.1"))
		}
		New().Rank(runs, reprise.Observed{Now: at, Git: &reprise.Git{Commits: commits}})
		if leads := runs[0] == state; leads != test.leads {
			t.Errorf("%s: stands in front: %v, want %v", name, leads, test.leads)
		}
	}
}

func TestRanking_ReadsTheIdsOfACommitSubject(t *testing.T) {
	t.Parallel()
	for subject, want := range map[string]string{
		"feat: login [Story 2.2]":               "2.2",
		"docs(story-2.4): mark as done":         "2.4",
		"feat(wis): registry [WIS-2]":           "WIS-2",
		"docs: validate 15 stories (score 9)":   "",
		"feat: story 15":                        "15",
		"feat: INS-3.3 license recovery (#143)": "INS-3.3",
		"chore: nothing in particular":          "",
	} {
		got := ""
		for _, k := range keysIn(subject) {
			got += k.id
		}
		if got != want {
			t.Errorf("%q names %q, want %q", subject, got, want)
		}
	}
}
