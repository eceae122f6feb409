package reprise

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyRun draws a run as a layout might load it, sensible or not.
func anyRun(t *rapid.T) *Run {
	status := rapid.SampledFrom([]Status{Pending, InProgress, InReview, Done, Failed, Blocked, Skipped, Unknown})
	n := rapid.IntRange(0, 6).Draw(t, "steps")
	ids := []string{"a", "b", "c", "d", "e", "f", "ghost"}
	r := &Run{
		Ref:    Ref{Layout: "x", ID: "r", Path: "p", Kind: KindGraph},
		State:  rapid.SampledFrom([]State{NotStarted, Interrupted, Waiting, Stopped, Complete, Unreadable}).Draw(t, "state"),
		Reason: "because",
	}
	for i := range n {
		s := Step{ID: ids[i], Status: status.Draw(t, "status"), Needs: rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2).Draw(t, "needs")}
		s.Grade = rapid.SampledFrom([]Grade{0, Claimed, Evidenced, Verified}).Draw(t, "grade")
		if rapid.Bool().Draw(t, "evidence") {
			kind := rapid.SampledFrom([]string{EvidenceCommit, EvidencePartial, EvidenceArtifact}).Draw(t, "kind")
			s.Evidence = append(s.Evidence, Evidence{Kind: kind, Text: "t", For: rapid.Bool().Draw(t, "for")})
		}
		r.Steps = append(r.Steps, s)
		if rapid.Bool().Draw(t, "offer") {
			r.Next = append(r.Next, Unit{ID: s.ID})
		}
	}
	if rapid.Bool().Draw(t, "foreign unit") {
		r.Next = append(r.Next, Unit{ID: "plan the next phase"})
	}
	for range rapid.IntRange(0, 2).Draw(t, "findings") {
		r.Report(Finding{Code: "c", Message: "m", Severity: rapid.SampledFrom([]Severity{Info, Warning, Blocking}).Draw(t, "severity")})
	}
	if rapid.Bool().Draw(t, "question") {
		r.Questions = append(r.Questions, Question{ID: "q", Text: "?", Answered: rapid.Bool().Draw(t, "answered")})
	}
	if n > 0 && rapid.Bool().Draw(t, "artifact") {
		r.Artifacts = append(r.Artifacts, Artifact{
			Name: "x", Path: "x", Presence: rapid.SampledFrom([]Presence{Present, Missing, Unchecked, Damaged}).Draw(t, "presence"),
			Critical: rapid.Bool().Draw(t, "critical"), MadeBy: rapid.SampledFrom(ids).Draw(t, "made by"),
		})
	}
	if rapid.Bool().Draw(t, "owner") {
		r.Owner = &Owner{Agent: "a", Source: Source{File: "lock"}}
	}
	return r
}

func anyObserved(t *rapid.T) Observed {
	o := Observed{Now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	if rapid.Bool().Draw(t, "looked at the owner") {
		o.Owners = map[Source]OwnerLife{{File: "lock"}: {Life: rapid.SampledFrom([]Life{Alive, Dead, LifeUnknown}).Draw(t, "life"), Reason: "r"}}
	}
	for range rapid.IntRange(0, 2).Draw(t, "sessions") {
		s := Session{
			CLI: "claude", Dir: rapid.SampledFrom([]string{".", "sub", "../other"}).Draw(t, "dir"), Caller: rapid.Bool().Draw(t, "caller"),
			Owner: OwnerLife{Life: rapid.SampledFrom([]Life{0, Alive, Dead, LifeUnknown}).Draw(t, "session life"), Reason: "r"},
		}
		for range rapid.IntRange(0, 2).Draw(t, "calls") {
			s.Calls = append(s.Calls, Call{
				Tool: "Bash", Effect: Effect(rapid.IntRange(0, 7).Draw(t, "effect")), Landing: Landing(rapid.IntRange(0, 4).Draw(t, "landing")), Passed: rapid.Bool().Draw(t, "passed"),
			})
		}
		o.Sessions = append(o.Sessions, s)
	}
	return o
}

func TestX1_X4_next_holds_its_promises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, o := anyRun(t), anyObserved(t)
		rules := Policy{Grade: rapid.SampledFrom([]Grade{0, Claimed, Evidenced, Verified}).Draw(t, "asked")}
		before := clone(r)
		d := Next(r, o, rules)
		if !reflect.DeepEqual(before, r) {
			t.Fatal("the run was changed")
		}
		if again := Next(r, o, rules); !reflect.DeepEqual(d, again) {
			t.Fatalf("two answers:\n%+v\n%+v", d, again)
		}
		if d.Action == 0 || d.State == 0 || d.Verdict == 0 || len(d.Reasons) == 0 {
			t.Fatalf("incomplete: %+v", d)
		}
		if d.Verdict == Safe && r.Worst() == Blocking {
			t.Fatalf("safe with a blocking finding: %+v", d)
		}
		if (d.Action == Start) && (r.Worst() == Blocking || d.Verdict == BlockedVerdict) {
			t.Fatalf("starts although blocked: %+v", d)
		}
		open := slices.ContainsFunc(r.Steps, func(s Step) bool { return !s.Status.Closed() })
		if d.State == Complete && open || d.Action == Finish && open {
			t.Fatalf("complete with an open step: %+v", d)
		}
		verify := map[string]bool{}
		for _, u := range d.Verify {
			verify[u.ID] = true
		}
		for _, u := range d.Units {
			s := r.Step(u.ID)
			if s == nil || verify[u.ID] || slices.Contains(d.Again, u.ID) {
				continue
			}
			if s.Status.Closed() {
				t.Fatalf("offers %s, which is closed: %+v", u.ID, d)
			}
			for _, id := range s.Needs {
				if need := r.Step(id); need == nil || (!need.Status.Closed() && !verify[id]) {
					t.Fatalf("offers %s, which needs %s: %+v", u.ID, id, d)
				}
			}
		}
		for _, u := range d.Units {
			if s := r.Step(u.ID); s != nil && s.Landed() && !s.Status.Closed() && s.Status != InReview && !verify[u.ID] {
				t.Fatalf("offers %s for doing again: %+v", u.ID, d)
			}
		}
		if d.Point != nil && (len(d.Units) == 0 || d.Units[0] != *d.Point) {
			t.Fatalf("the point is not the first unit: %+v", d)
		}
		if (d.Action == Finish || d.Action == Repair || d.Action == Refuse && d.State == Running) && d.Point != nil {
			t.Fatalf("%s with a point: %+v", d.Action, d)
		}
		if o.Owners != nil && r.Owner != nil && o.Owners[r.Owner.Source].Life == Alive && d.Action != Refuse {
			t.Fatalf("a live owner is not respected: %+v", d)
		}
		for _, s := range o.SessionsOn(r) {
			if s.Owner.Life == Alive && d.Action != Refuse {
				t.Fatalf("a live session is not respected: %+v", d)
			}
			for _, c := range s.Calls {
				if unsure := c.Landing == 0 || c.Landing == LandedPartly || c.Landing == LandingUnknown; unsure && !c.Passed && c.Effect != EffectNone && d.Verdict == Safe {
					t.Fatalf("safe with a call in the air: %+v", d)
				}
			}
		}
		for i := range r.Steps {
			if s := &r.Steps[i]; s.Status == Unknown && slices.Contains(d.Keep, s.ID) {
				t.Fatalf("unknown became done: %s", s.ID)
			}
		}
	})
}

func clone(r *Run) *Run {
	c := *r
	c.Steps = slices.Clone(r.Steps)
	c.Next = slices.Clone(r.Next)
	c.Findings = slices.Clone(r.Findings)
	c.Questions = slices.Clone(r.Questions)
	c.Artifacts = slices.Clone(r.Artifacts)
	return &c
}

func steps(list ...Step) []Step { return list }

func TestAC6_a_committed_step_is_not_offered_again(t *testing.T) {
	t.Parallel()
	commit := []Evidence{{Kind: EvidenceCommit, Text: "commit 950ad7c", For: true}}
	r := &Run{
		State: Interrupted, Reason: "1 of 3 done",
		Steps: steps(Step{ID: "1", Status: Done}, Step{ID: "2", Status: InProgress, Evidence: commit}, Step{ID: "3", Status: Pending, Needs: []string{"2"}}),
		Next:  []Unit{{ID: "2"}},
	}
	d := Next(r, Observed{}, Policy{})
	if d.Action != Start || d.Point.ID != "3" || len(d.Verify) != 1 || d.Verify[0].ID != "2" || d.Verdict != Caution {
		t.Errorf("%+v", d)
	}
	r.Steps = r.Steps[:2]
	if d := Next(r, Observed{}, Policy{}); d.Point == nil || d.Point.ID != "2" || d.Action != Start {
		t.Errorf("the last one is to be checked: %+v", d)
	}
	r.Steps[1].Evidence[0].Kind = EvidencePartial
	if d := Next(r, Observed{}, Policy{}); d.Point.ID != "2" || len(d.Verify) != 0 || d.Verdict != Safe {
		t.Errorf("begun is not landed: %+v", d)
	}
}

func TestX4_done_below_the_grade_is_not_passed_over(t *testing.T) {
	t.Parallel()
	r := &Run{State: Interrupted, Reason: "x", Steps: steps(
		Step{ID: "1", Status: Done, Grade: Claimed},
		Step{ID: "2", Status: Done, Grade: Evidenced},
		Step{ID: "3", Status: Done, Grade: Claimed, Evidence: []Evidence{{Kind: EvidenceCommit, Text: "recorded commit is not in this repository"}}},
		Step{ID: "4", Status: Pending},
		Step{ID: "5", Status: Skipped, Evidence: []Evidence{{Kind: EvidenceCommit, Text: "recorded commit is not in this repository"}}},
	), Next: []Unit{{ID: "4"}}}
	ids := func(units []Unit) (out []string) {
		for _, u := range units {
			out = append(out, u.ID)
		}
		return out
	}
	if got := ids(Next(r, Observed{}, Policy{}).Doubtful); !slices.Equal(got, []string{"3"}) {
		t.Errorf("claimed is enough: %q", got)
	}
	if got := ids(Next(r, Observed{}, Policy{Grade: Evidenced}).Doubtful); !slices.Equal(got, []string{"1", "3"}) {
		t.Errorf("evidence asked for: %q", got)
	}
}

func TestOR4_a_missing_output_sends_the_run_back(t *testing.T) {
	t.Parallel()
	r := &Run{State: Interrupted, Reason: "x", Steps: steps(
		Step{ID: "gather", Status: Done}, Step{ID: "write", Status: Done}, Step{ID: "critique", Status: Pending}),
		Next:      []Unit{{ID: "critique"}},
		Artifacts: []Artifact{{Name: "spec", Path: "spec.md", Presence: Missing, Critical: true, MadeBy: "write", NeededBy: "critique"}},
	}
	d := Next(r, Observed{}, Policy{})
	if d.Point.ID != "write" || !slices.Equal(d.Again, []string{"write"}) || !slices.Equal(d.Keep, []string{"gather"}) || len(d.Missing) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestX5_a_live_owner_blocks(t *testing.T) {
	t.Parallel()
	at := Source{File: "lock"}
	r := &Run{State: Interrupted, Reason: "x", Steps: steps(Step{ID: "1", Status: Pending}), Next: []Unit{{ID: "1"}}, Owner: &Owner{Source: at}}
	for life, want := range map[Life]Action{Alive: Refuse, Dead: Start, LifeUnknown: Start} {
		d := Next(r, Observed{Owners: map[Source]OwnerLife{at: {Life: life, Reason: "pid 7"}}}, Policy{})
		if d.Action != want {
			t.Errorf("%s: %+v", life, d)
		}
		if life == Alive && d.State != Running {
			t.Errorf("%+v", d)
		}
	}
}

func TestC5_a_limit_of_a_wrong_clock_holds_nothing_up(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for until, want := range map[time.Duration]Action{time.Hour: Wait, 10 * 365 * 24 * time.Hour: Start} {
		r := &Run{State: Interrupted, Until: now.Add(until), Steps: []Step{{ID: "a", Status: Pending}}, Next: []Unit{{ID: "a"}}}
		if d := Next(r, Observed{Now: now}, Policy{}); d.Action != want {
			t.Errorf("a limit for another %s: %s, want %s", until, d.Action, want)
		}
	}
}

// What has used up its attempts is not where a run continues, and what else there is goes
// on without it; where nothing else is, a person has to say.
func TestX1_Next_leaves_what_is_spent_to_a_person(t *testing.T) {
	t.Parallel()
	steps := []Step{{ID: "a", Status: Failed}, {ID: "b", Status: Pending}}
	next := []Unit{{ID: "a"}, {ID: "b"}}
	for name, c := range map[string]struct {
		spent  []Spent
		action Action
		state  State
		point  string
	}{
		"none": {nil, Start, Interrupted, "a"},
		"one":  {[]Spent{{"a", "a", "failed once"}}, Start, Interrupted, "b"},
		"all":  {[]Spent{{"a", "a", "failed once"}, {"b", "b", "failed once"}}, Ask, Waiting, "a"},
	} {
		r := &Run{Ref: Ref{Kind: KindGraph}, State: Interrupted, Steps: steps, Next: next, Spent: c.spent}
		d := Next(r, Observed{}, Policy{})
		if d.Action != c.action || d.State != c.state || d.Point == nil || d.Point.ID != c.point {
			t.Errorf("%s: %v %v %+v", name, d.Action, d.State, d.Point)
		}
		if again := slices.ContainsFunc(d.Options(r), func(o Option) bool { return o.Key == "restart" }); again != (name == "all") {
			t.Errorf("%s: %+v", name, d.Options(r))
		}
		if len(r.Next) != 2 || r.Next[0].ID != "a" || r.Next[1].ID != "b" {
			t.Errorf("%s: the run was changed: %+v", name, r.Next)
		}
	}
}
