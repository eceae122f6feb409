package reprise_test

import (
	"slices"
	"testing"
	"time"

	"reprise"
)

func keys(options []reprise.Option) []string {
	var out []string
	for _, o := range options {
		out = append(out, o.Key)
	}
	return out
}

func TestOR6_LR8_AC3_EV5_options_follow_the_decision(t *testing.T) {
	t.Parallel()
	story := func() *reprise.Run {
		return &reprise.Run{
			Ref: reprise.Ref{Layout: "orchestrate", ID: "3.2", Kind: reprise.KindStory}, State: reprise.Interrupted,
			Steps: []reprise.Step{{ID: "create", Status: reprise.Done}, {ID: "implement", Status: reprise.InProgress}},
			Next:  []reprise.Unit{{ID: "3.2", Phase: "implement"}},
		}
	}
	cases := []struct {
		name string
		run  func() *reprise.Run
		o    reprise.Observed
		want []string
	}{
		{"a story goes on or starts again", story, reprise.Observed{}, []string{"continue", "fresh", "clean"}},
		{"a question is answered first", func() *reprise.Run {
			r := story()
			r.State, r.Questions = reprise.Waiting, []reprise.Question{{ID: "q", Text: "Which?"}}
			return r
		}, reprise.Observed{}, []string{"answer", "continue", "fresh", "clean"}},
		{"a critical file nobody makes again cannot be worked around", func() *reprise.Run {
			r := story()
			r.Artifacts = []reprise.Artifact{{Path: "s.md", Presence: reprise.Missing, Critical: true}}
			return r
		}, reprise.Observed{}, []string{"fresh", "from-phase", "clean"}},
		{"a phase that lost its output runs again", func() *reprise.Run {
			r := story()
			r.Artifacts = []reprise.Artifact{{Path: "s.md", Presence: reprise.Missing, Critical: true, MadeBy: "create"}}
			return r
		}, reprise.Observed{}, []string{"continue", "fresh", "clean"}},
		{"nothing is left of a finished run", func() *reprise.Run {
			r := story()
			r.State, r.Next, r.Steps[1].Status = reprise.Complete, nil, reprise.Done
			return r
		}, reprise.Observed{}, nil},
		{"a live run offers nothing", func() *reprise.Run {
			r := story()
			r.Owner = &reprise.Owner{Source: reprise.Source{File: "pid"}}
			return r
		}, reprise.Observed{Owners: map[reprise.Source]reprise.OwnerLife{{File: "pid"}: {Life: reprise.Alive}}}, nil},
		{"an unreadable state is not continued", func() *reprise.Run {
			r := story()
			r.Kind, r.State, r.Options = reprise.KindSpecLoop, reprise.Unreadable, []reprise.Option{{Key: "resume"}, {Key: "fresh"}}
			return r
		}, reprise.Observed{}, []string{"fresh"}},
		{"an unreadable state has no plan to restart or to skip", func() *reprise.Run {
			r := story()
			r.Kind, r.State, r.Resume = reprise.KindPlans, reprise.Unreadable, &reprise.ResumeState{Interrupted: true, Type: reprise.PartialPlan}
			return r
		}, reprise.Observed{}, []string{"fresh"}},
		{"an unreadable state has no agent to resume", func() *reprise.Run {
			r := story()
			r.Kind, r.State, r.Resume = reprise.KindPlans, reprise.Unreadable, &reprise.ResumeState{Interrupted: true, Type: reprise.ActiveAgent}
			return r
		}, reprise.Observed{}, []string{"fresh"}},
		{"an unreadable state has no phase to start from", func() *reprise.Run {
			r := story()
			r.State, r.Steps[0].Status = reprise.Unreadable, reprise.Done
			return r
		}, reprise.Observed{}, []string{"fresh", "clean"}},
		{"a graph goes on with a task", func() *reprise.Run {
			r := story()
			r.Kind = reprise.KindGraph
			return r
		}, reprise.Observed{}, []string{"continue", "fresh"}},
		{"a question behind an active agent is not hidden", func() *reprise.Run {
			r := story()
			r.Kind, r.State, r.Questions = reprise.KindPlans, reprise.Waiting, []reprise.Question{{ID: "q", Text: "Which?"}}
			r.Resume = &reprise.ResumeState{Interrupted: true, Type: reprise.ActiveAgent}
			return r
		}, reprise.Observed{}, []string{"answer", "resume-agent", "respawn", "skip", "fresh"}},
		{"the layout's own choices stay", func() *reprise.Run {
			r := story()
			r.Kind, r.Options = reprise.KindBuild, []reprise.Option{{Key: "continue"}, {Key: "review"}, {Key: "merge"}, {Key: "discard"}}
			return r
		}, reprise.Observed{}, []string{"continue", "review", "merge", "discard"}},
	}
	for _, c := range cases {
		r := c.run()
		if got := keys(reprise.Next(r, c.o, reprise.Policy{}).Options(r)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestOR3_bands_of_age(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]string{
		-20 * time.Hour:              reprise.BandUnknown,
		-2 * time.Hour:               reprise.BandFresh, // a time without its zone
		0:                            reprise.BandFresh,
		time.Hour - time.Second:      reprise.BandFresh,
		time.Hour:                    reprise.BandRecent,
		24*time.Hour - time.Second:   reprise.BandRecent,
		24 * time.Hour:               reprise.BandModerate,
		7 * 24 * time.Hour:           reprise.BandModerate,
		7*24*time.Hour + time.Second: reprise.BandStale,
	} {
		r := &reprise.Run{LastActivity: now.Add(-age)}
		if _, got, _ := r.Age(now); got != want {
			t.Errorf("%s is %s, want %s", age, got, want)
		}
	}
	if _, band, ok := (&reprise.Run{}).Age(now); ok || band != reprise.BandUnknown {
		t.Error("no time on record has an age")
	}
}

// LR8: plans that wait for a person are not offered to be continued or begun
// again before the answer: nothing would be started.
func TestLR8_what_starts_nothing_before_the_answer_is_not_offered(t *testing.T) {
	t.Parallel()
	done, total := 1, 3
	r := &reprise.Run{Ref: reprise.Ref{Kind: reprise.KindPlans, Path: ".planning"}, State: reprise.Waiting, Steps: []reprise.Step{{ID: "02-02", Status: reprise.InProgress}}, Questions: []reprise.Question{{ID: "q", Text: "Is the account there?"}}}
	r.Resume = &reprise.ResumeState{Interrupted: true, Type: reprise.PartialPlan, Plan: "02-02", CompletedTasks: &done, TotalTasks: &total}
	offered := func() []string {
		return keys(reprise.Next(r, reprise.Observed{}, reprise.Policy{}).Options(r))
	}
	if got := offered(); !slices.Equal(got, []string{"answer", "skip"}) {
		t.Errorf("before the answer: %v", got)
	}
	r.State, r.Questions, r.Next = reprise.Interrupted, nil, []reprise.Unit{{ID: "02-02"}}
	if got := offered(); !slices.Equal(got, []string{"continue", "restart", "skip"}) {
		t.Errorf("after it: %v", got)
	}
	// What is no step of the files cannot be skipped in them.
	r.Resume, r.Next = nil, []reprise.Unit{{ID: "phase-03"}}
	r.Steps[0].Status = reprise.Done
	if got := offered(); slices.Contains(got, "skip") {
		t.Errorf("planning a phase: %v", got)
	}
}
