package examine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reprise"
	"reprise/examine"
)

func TestOR3_every_pair_of_statuses_is_defined(t *testing.T) {
	t.Parallel()
	n := 0
	for s := reprise.Pending; s.String() != "" && !strings.HasPrefix(s.String(), "invalid"); s++ {
		for own := reprise.Pending; !strings.HasPrefix(own.String(), "invalid"); own++ {
			n++
			d, ok := examine.DriftOf(s, own)
			switch {
			case !ok || d.Meaning == "":
				t.Errorf("%s / %s is not defined", s, own)
			case d.Severity == 0 && s != own:
				t.Errorf("%s / %s are different and taken for consistent", s, own)
			case d.Severity == 0 != (d.Hint == ""):
				t.Errorf("%s / %s: severity %q with hint %q", s, own, d.Severity, d.Hint)
			case s == own && s != reprise.Unknown && d.Severity != 0:
				t.Errorf("%s / %s are the same and called %s", s, own, d.Severity)
			case (s == reprise.Unknown || own == reprise.Unknown) && d.Severity != reprise.Warning:
				t.Errorf("%s / %s: a word without a meaning is %q, not a warning", s, own, d.Severity)
			case s.Closed() && d.Severity == reprise.Blocking:
				t.Errorf("%s / %s blocks, though nothing would be done again", s, own)
			}
		}
	}
	if n != len(statuses)*len(statuses) {
		t.Errorf("%d pairs, the test knows %d statuses", n, len(statuses))
	}
	if _, ok := examine.DriftOf(0, reprise.Done); ok {
		t.Error("unset says something")
	}
}

// epic is a run with one story under way, as state and story tell it.
func epic(saved reprise.Status, word string, own reprise.Status, ownWord string) *reprise.Run {
	const state, story = ".aiox/epic-3-state.yaml", "docs/stories/3.4.story.md"
	return &reprise.Run{
		Ref:   reprise.Ref{Layout: "orchestrate", ID: "EPIC-3", Path: state, Kind: reprise.KindEpic},
		State: reprise.Interrupted,
		Steps: []reprise.Step{{
			ID: "3.4", Phase: "wave 2", Path: story, Status: own,
			Claims: []reprise.Claim{
				{Ledger: "epic state", Status: saved, Word: word, Source: reprise.Source{File: state, Line: 7}},
				{Ledger: "story", Status: own, Word: ownWord, Source: reprise.Source{File: story, Line: 3}, Won: true},
			},
		}},
	}
}

func TestOR3_discrepancies_of_the_seed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		saved    reprise.Status
		word     string
		own      reprise.Status
		ownWord  string
		severity reprise.Severity
		says     string
	}{
		{reprise.InProgress, "InProgress", reprise.InProgress, "InProgress", 0, ""},
		{reprise.InProgress, "InProgress", reprise.Done, "Done", reprise.Blocking, "completed outside this workflow"},
		{reprise.InProgress, "InProgress", reprise.Pending, "Draft", reprise.Blocking, "it was reset, so the saved state is stale"},
		{reprise.InReview, "InReview", reprise.Done, "Done", reprise.Blocking, "QA was completed outside this workflow"},
		{reprise.Pending, "pending", reprise.Pending, "Ready", 0, ""},
		// Not in the seed: a file that no one marked is not one that was reset.
		{reprise.InProgress, "in_progress", reprise.Pending, "✅ Aprovado", reprise.Info, "not marked"},
		{reprise.InReview, "in_review", reprise.Pending, "Ready for Development", reprise.Warning, "neither"},
		{reprise.InProgress, "in_progress", reprise.Pending, "Ready to Draft", reprise.Blocking, "reset"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s and %s", tt.word, tt.ownWord), func(t *testing.T) {
			t.Parallel()
			r := epic(tt.saved, tt.word, tt.own, tt.ownWord)
			found := of(examine.All(r, reprise.Observed{}), reprise.CodeStatusDrift)
			if tt.severity == 0 {
				if len(found) > 0 {
					t.Fatalf("reported: %v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Severity != tt.severity || !strings.Contains(found[0].Message, tt.says) {
				t.Fatalf("want %s %q, got %v", tt.severity, tt.says, found)
			}
			if found[0].Subject != "3.4" || found[0].Source.String() != "docs/stories/3.4.story.md:3" {
				t.Errorf("about %s at %s", found[0].Subject, found[0].Source)
			}
		})
	}
}

// A story that failed here and is open in its file was taken up elsewhere only if
// something else changed that file.
func TestDriftOfAStoryThatFailedHere(t *testing.T) {
	t.Parallel()
	for _, own := range []reprise.Status{reprise.InProgress, reprise.InReview} {
		r := epic(reprise.Failed, "failed", own, "open")
		story := &reprise.Run{Ref: reprise.Ref{Path: r.Steps[0].Path}}
		world := reprise.Observed{Peers: []*reprise.Run{story}}
		severity := func() reprise.Severity { return of(examine.All(r, world), reprise.CodeStatusDrift)[0].Severity }
		if got := severity(); got != reprise.Warning {
			t.Errorf("%s, begun elsewhere: %s", own, got)
		}
		r.Steps[0].Ours = true
		if got := severity(); got != reprise.Info {
			t.Errorf("%s, begun here: %s", own, got)
		}
		story.Report(reprise.Finding{Code: reprise.CodeMovedOn, Severity: reprise.Info})
		if got := severity(); got != reprise.Warning {
			t.Errorf("%s, changed since: %s", own, got)
		}
	}
}

func TestOR3_drift_is_left_to_the_reader(t *testing.T) {
	t.Parallel()
	closed := epic(reprise.InProgress, "in_progress", reprise.Done, "Done")
	closed.State = reprise.Complete
	plan := epic(reprise.Done, "complete", reprise.Pending, "planned")
	plan.Kind = reprise.KindPlans
	ownFile := epic(reprise.InProgress, "in_progress", reprise.Done, "Done")
	ownFile.Path = ownFile.Steps[0].Path
	noClaim := epic(reprise.InProgress, "in_progress", reprise.Done, "Done")
	noClaim.Steps[0].Claims = noClaim.Steps[0].Claims[:1]
	for name, r := range map[string]*reprise.Run{"closed run": closed, "plan file": plan, "phases of a story": ownFile, "one claim": noClaim} {
		if found := of(examine.All(r, reprise.Observed{}), reprise.CodeStatusDrift); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
}

func of(all []reprise.Finding, code string) []reprise.Finding {
	var out []reprise.Finding
	for _, f := range all {
		if f.Code == code {
			out = append(out, f)
		}
	}
	return out
}

// TestOR3_an_epic_of_which_only_the_end_is_left_is_not_blocked where every story is
// done and something shows that; one that only says so, or that is open, blocks.
func TestOR3_an_epic_of_which_only_the_end_is_left_is_not_blocked(t *testing.T) {
	t.Parallel()
	landed := reprise.Evidence{Kind: reprise.EvidenceCommit, For: true}
	for name, c := range map[string]struct {
		status   reprise.Status // of the other story
		evidence []reprise.Evidence
		want     reprise.Severity
	}{
		"every story landed":       {reprise.Done, []reprise.Evidence{landed}, reprise.Info},
		"only words":               {reprise.Done, nil, reprise.Blocking},
		"something speaks against": {reprise.Done, []reprise.Evidence{landed, {Kind: reprise.EvidenceArtifact}}, reprise.Blocking},
		"another story is open":    {reprise.Pending, []reprise.Evidence{landed}, reprise.Blocking},
		"another was left out":     {reprise.Skipped, nil, reprise.Info},
	} {
		r := epic(reprise.InProgress, "in_progress", reprise.Done, "Done")
		r.Steps[0].Evidence = []reprise.Evidence{landed}
		r.Steps = append(r.Steps, reprise.Step{ID: "3.5", Phase: "wave 2", Status: c.status, Evidence: c.evidence})
		for i := range r.Steps {
			if len(r.Steps[i].Evidence) > 0 {
				r.Steps[i].Grade = reprise.Evidenced
			}
		}
		found := examine.All(r, reprise.Observed{})
		i := slices.IndexFunc(found, func(f reprise.Finding) bool { return f.Code == reprise.CodeStatusDrift })
		if i < 0 || found[i].Severity != c.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
