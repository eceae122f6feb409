package reprise

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func run(layout, id string, state State, hoursAgo int) *Run {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration(hoursAgo) * time.Hour)
	return &Run{Ref: Ref{Layout: layout, ID: id, Path: layout + "/" + id}, State: state, LastActivity: at}
}

func ids(runs []*Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.ID)
	}
	return out
}

func TestX1_merge_keeps_each_list_and_prefers_the_urgent(t *testing.T) {
	t.Parallel()
	a := []*Run{run("a", "a1", Interrupted, 5), run("a", "a2", Complete, 1), run("a", "a3", Interrupted, 2)}
	b := []*Run{run("b", "b1", Interrupted, 1), run("b", "b2", Waiting, 1)}
	got := ids(Merge(a, b))
	want := []string{"b1", "a1", "b2", "a2", "a3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestX10_names_are_short_and_unambiguous(t *testing.T) {
	t.Parallel()
	runs := []*Run{
		run("autoclaude", "004-remove-secrets", Interrupted, 1),
		run("specloop", "005-user-auth", Waiting, 1),
		run("autoclaude", "005-login", Complete, 1),
		run("longrun", "planning", Interrupted, 1),
		run("orchestrate", "3.2", Interrupted, 1),
		run("orchestrate", "3.2", Interrupted, 1),
		run("x", "007", Interrupted, 1),
		run("y", "007-bond", Interrupted, 1),
		run("eventrun", "20260212-0915-csv-export-k3f9", Interrupted, 1),
		run("speckit", "--trust", Interrupted, 1),
		run("eventrun", "20260212-0915--y", Interrupted, 1),
	}
	runs[5].Path = "orchestrate/other/3.2"
	names := Names(runs)
	var got []string
	for _, r := range runs {
		got = append(got, names[r])
	}
	want := []string{"004", "005-user-auth", "005-login", "planning", "orchestrate:orchestrate/3.2", "orchestrate:orchestrate/other/3.2", "007", "007-bond", "csv-export-k3f9", "speckit:--trust", "20260212-0915--y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestX10_every_name_selects_its_run(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		var runs []*Run
		seen := map[string]bool{}
		for range n {
			r := &Run{Ref: Ref{
				Layout: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "layout"),
				ID:     rapid.SampledFrom([]string{"004", "004-x", "004-y", "x", "xy", "3.2"}).Draw(t, "id"),
				Path:   rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "path"),
			}}
			if key := r.Layout + ":" + r.Path; !seen[key] {
				seen[key] = true
				runs = append(runs, r)
			}
		}
		names := Names(runs)
		for _, r := range runs {
			hits := Select(runs, names[r])
			if len(hits) != 1 || hits[0] != r {
				t.Fatalf("name %q of %+v selects %d runs", names[r], r.Ref, len(hits))
			}
		}
	})
}

func TestX10_selecting_by_prefix_and_path(t *testing.T) {
	t.Parallel()
	runs := []*Run{run("autoclaude", "004-remove-secrets", Interrupted, 1), run("autoclaude", "005-login", Complete, 1)}
	for arg, want := range map[string]int{
		"004": 1, "004-rem": 1, "autoclaude/005-login/": 1, "autoclaude:005-login": 1, "00": 2, "nothing": 0, "": 0, "005-LOGIN": 1,
	} {
		if got := len(Select(runs, arg)); got != want {
			t.Errorf("%q selects %d runs, want %d", arg, got, want)
		}
	}
}

func TestX9_a_planned_date_does_not_hide_the_real_one(t *testing.T) {
	t.Parallel()
	limit := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	real := limit.AddDate(0, 0, -3)
	r := &Run{LastActivity: limit.AddDate(0, 5, 0), Steps: []Step{{Claims: []Claim{{At: limit.AddDate(0, 5, 0)}, {At: real, Source: Source{File: "f", Line: 3}}, {At: real.AddDate(0, 0, -1)}}}}}
	if !r.Settle(limit) || !r.LastActivity.Equal(real) || r.LastActivitySource.Line != 3 {
		t.Errorf("%v %v", r.LastActivity, r.LastActivitySource)
	}
	if r.Settle(limit) {
		t.Error("settled twice")
	}
	only := &Run{LastActivity: limit.AddDate(1, 0, 0)}
	if only.Settle(limit) || !only.LastActivity.After(limit) {
		t.Error("the only time on record was thrown away")
	}
}

// What was begun is never listed behind a backlog, whatever the order of resuming is.
func TestByState_WhatWasInterruptedComesBeforeWhatWasNotBegun(t *testing.T) {
	t.Parallel()
	run := func(id string, s State) *Run { return &Run{Ref: Ref{ID: id}, State: s} }
	runs := []*Run{run("3.1", NotStarted), run("2.1", Waiting), run("1.2", Interrupted), run("3.2", NotStarted), run("1.1", Interrupted), run("0.1", Running)}
	var got []string
	for _, r := range ByState(runs, func(r *Run) State { return r.State }) {
		got = append(got, r.ID)
	}
	if want := []string{"0.1", "1.2", "1.1", "2.1", "3.1", "3.2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
