package specloop_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/conventiontest"
	"reprise/convention/playtest"
	"reprise/convention/specloop"
	"reprise/internal/sample"
)

const (
	dir   = "specs/001-team-invites/"
	index = dir + ".workflow/index.md"
	spec  = dir + "spec.md"
)

// crew does what it is told: it finds gaps where it is said to, writes and
// applies, and leaves what it was asked for.
type crew struct {
	gaps map[string][]reprise.Gap // by step
	more bool                     // every validation finds something new
}

func (c *crew) work(j playtest.Job) reprise.Reply {
	spec := j.Facts["spec"]
	switch j.Role {
	case "scaffold":
		j.Write(spec, "# Feature Specification: [FEATURE NAME]\n")
	case "spec-writer":
		j.Write(spec, "# Feature Specification: Team invites\n\nA member invites others.\n")
	case "checklist":
		j.Write(j.Facts["checklist"], "# Checklist\n")
	case "spec-clarify", "analyst":
		text := j.Read(spec)
		if j.Role == "analyst" && text == "" {
			text = "# Feature Specification: Team invites\n"
		}
		for _, id := range j.Answers {
			if !strings.Contains(text, id) {
				text += "- " + id + "\n"
			}
		}
		j.Write(spec, text)
	case "validator", "advocate":
		if c.more {
			known := strings.Count(j.Read(index), "| And now")
			return reprise.Reply{Outcome: "done", Gaps: []reprise.Gap{{Priority: "Critical", Question: fmt.Sprintf("And now, after %d?", known)}}}
		}
		return reprise.Reply{Outcome: "done", Gaps: c.gaps[j.Step]}
	case "gap-classifier":
		return reprise.Reply{Outcome: "done", Questions: []reprise.Asked{{Text: "How long and who?", Subject: "G-001, G-002", Options: []string{"7 days", "30 days"}}}}
	}
	return reprise.Reply{Outcome: "done"}
}

// round is a crew whose first validation finds three gaps and no later one any.
func round() *crew {
	return &crew{gaps: map[string][]reprise.Gap{"A3": {
		{ID: "G-001", Priority: "Critical", Question: "How long?"}, {ID: "G-002", Priority: "Important", Question: "Who?"},
		{ID: "G-003", Priority: "Minor", Question: "Colour?"}, {ID: "odd id | of a model", Priority: "Important", Question: "Which | mail?"},
	}}}
}

// player kills at one instruction of three, and at all of them with REPRISE_ALL.
func player(c func() *crew) playtest.Player {
	stride := 3
	if sample.All() {
		stride = 1
	}
	return playtest.Player{
		Stride: stride,
		Layout: specloop.New(), Book: specloop.NewPlaybook(), Goal: reprise.Goal{ID: "001-team-invites", Text: "Team invites: by mail | or link"},
		Agent:  func(j playtest.Job) reprise.Reply { return c().work(j) },
		Answer: func(q reprise.Question) (string, bool) { return "answer to " + q.ID, true },
	}
}

func complete(t testing.TB, r playtest.Result) {
	t.Helper()
	if r.Decision.Action != reprise.Finish || r.Run.State != reprise.Complete {
		t.Errorf("not complete: %s: %s (%s)\n%s\n%s", r.Run.State, r.Run.Reason, r.GaveUp, r.Story(), r.Files[index])
	}
	asked, applied := map[string]int{}, map[string]int{}
	for _, ev := range r.Events {
		switch ev.Kind {
		case reprise.QuestionAsked:
			asked[ev.Text]++
		case reprise.QuestionAnswered:
			applied[ev.Question]++
		}
	}
	for text, n := range asked {
		if n > 1 {
			t.Errorf("%q was asked %d times", text, n)
		}
	}
	for id, n := range applied {
		if n > 1 {
			t.Errorf("%s was answered %d times", id, n)
		}
		if got := strings.Count(string(r.Files[spec].Data), "- "+id+"\n"); got != 1 {
			t.Errorf("%s was applied %d times:\n%s", id, got, r.Files[spec].Data)
		}
	}
}

func TestSL9_from_nothing_to_the_end_and_through_every_kill(t *testing.T) {
	t.Parallel()
	player(round).EveryKill(t, fstest.MapFS{"README.md": file("mine\n")}, func(t testing.TB, r playtest.Result) {
		complete(t, r)
		for name := range r.Files {
			if !strings.HasPrefix(name, dir) && string(r.Files["README.md"].Data) != "mine\n" {
				t.Errorf("%s was touched", name)
			}
		}
		for _, want := range []string{"resolved", "Applied in iteration 1", "**Termination Reason** | success"} {
			if !strings.Contains(string(r.Files[index].Data), want) {
				t.Errorf("index.md does not say %q:\n%s", want, r.Files[index].Data)
			}
		}
		for _, step := range []string{"A1", "A2", "A4", "B2"} {
			if r.Ends(step) != 1 {
				t.Errorf("%s ended %d times:\n%s", step, r.Ends(step), r.Story())
			}
		}
		if p := len(r.Launches); p > 8 {
			t.Errorf("%d launches: %v", p, r.Launches)
		}
	})
}

func TestSL9_nothing_is_asked_where_no_gap_is_found(t *testing.T) {
	t.Parallel()
	p := player(func() *crew { return &crew{} })
	p.Answer = nil
	r := p.Play(t, fstest.MapFS{})
	complete(t, r)
	if len(r.Launches) != 4 {
		t.Errorf("launches: %v", r.Launches)
	}
}

// always is a crew whose validator is never content.
func always() *crew { return &crew{more: true} }

func TestSL9_a_validator_that_always_finds_gaps_ends_with_a_person(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		say    string
		state  reprise.State
		reason string
		tree   fstest.MapFS
		rounds int
	}{
		{"accept with known gaps", reprise.Complete, "max_iterations", fstest.MapFS{}, 10},
		{"Abort.", reprise.Stopped, "aborted", conventiontest.LoadFS(t, "testdata/play/at-the-limit.txtar"), 0},
	} {
		p := player(always)
		p.Answer = func(q reprise.Question) (string, bool) {
			if strings.HasPrefix(q.ID, "limit-") {
				return c.say, true
			}
			return "so be it", true
		}
		r := p.Play(t, c.tree)
		if r.Run.State != c.state || !strings.Contains(string(r.Files[index].Data), "**Termination Reason** | "+c.reason) {
			t.Errorf("%s: %s (%s)\n%s", c.say, r.Run.State, r.Run.Reason, r.Files[index].Data)
		}
		if n := r.Ends("B2"); n != c.rounds {
			t.Errorf("%d rounds:\n%s", n, r.Story())
		}
	}
}

func TestSL9_going_on_at_the_limit_is_asked_anew_each_round_and_survives_kills(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/at-the-limit.txtar")
	p := player(always)
	p.Goal = reprise.Goal{ID: "001-team-invites"}
	p.Answer = func(q reprise.Question) (string, bool) {
		if !strings.HasPrefix(q.ID, "limit-") {
			return "so be it", true
		}
		if q.ID == "limit-1" {
			return "go on", true
		}
		return "accept", true
	}
	p.EveryKill(t, tree, func(t testing.TB, r playtest.Result) {
		if r.Run.State != reprise.Complete || r.Count(reprise.QuestionAsked, "") != 4 || !strings.Contains(string(r.Files[index].Data), "10 / 10") {
			t.Errorf("%s (%s)\n%s\n%s", r.Run.State, r.GaveUp, r.Story(), r.Files[index].Data)
		}
	})
}

func TestSL9_stale_rounds_end_with_a_person(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/at-the-limit.txtar")
	tree[index] = file(strings.NewReplacer("| 10 / 10 |", "| 4 / 10 |", "| 0 / 3 |", "| 3 / 3 |").Replace(string(tree[index].Data)))
	p := player(always)
	p.Goal = reprise.Goal{ID: "001-team-invites"}
	p.Answer = func(q reprise.Question) (string, bool) { return "accept with known gaps", true }
	r := p.Play(t, tree)
	if !strings.Contains(string(r.Files[index].Data), "stale_accepted") {
		t.Errorf("%s\n%s", r.Story(), r.Files[index].Data)
	}
}

// acceptAtLimit answers every question, and accepts the gaps in the end.
func acceptAtLimit(q reprise.Question) (string, bool) {
	if strings.HasPrefix(q.ID, "limit-") {
		return "accept with known gaps", true
	}
	return "answer to " + q.ID, true
}

// The validator reports one gap after every answer, by its id or by its question
// alone: three rounds count as stale, and at the end of the next a person decides.
func TestSL9_a_gap_that_is_reported_again_makes_the_loop_stale(t *testing.T) {
	t.Parallel()
	for _, again := range []reprise.Gap{
		{ID: "G-001", Priority: "Critical", Question: "How long is it valid?"},
		{ID: "G-077", Priority: "Critical", Question: "how **long**"},
		{Priority: "Critical", Question: "How long?"},
	} {
		c := &crew{gaps: map[string][]reprise.Gap{"A3": {{ID: "G-001", Priority: "Critical", Question: "How long?"}}, "B3": {again}}}
		p := player(func() *crew { return c })
		p.Answer = acceptAtLimit
		r := p.Play(t, fstest.MapFS{})
		text := string(r.Files[index].Data)
		if r.Ends("B2") != 4 || !strings.Contains(text, "stale_accepted") || !strings.Contains(text, "**Stale Count** | 3 / 3") || strings.Contains(text, "G-002") {
			t.Errorf("%+v: %d rounds, %s (%s)\n%s\n%s", again, r.Ends("B2"), r.Run.State, r.GaveUp, r.Story(), text)
		}
		for _, id := range []string{"C1.1", "C2.1", "C3.1", "C4.1"} {
			if got := strings.Count(string(r.Files[spec].Data), "- "+id+"\n"); got != 1 {
				t.Errorf("%+v: %s was applied %d times\n%s", again, id, got, r.Story())
			}
		}
	}
}

func TestSL9_a_gap_that_is_reported_again_survives_kills(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/at-the-limit.txtar")
	tree[index] = file(strings.NewReplacer("| 10 / 10 |", "| 4 / 10 |", "| 0 / 3 |", "| 2 / 3 |").Replace(string(tree[index].Data)))
	c := &crew{gaps: map[string][]reprise.Gap{"B3": {{ID: "G-002", Priority: "Important", Question: "Who?"}}}}
	p := player(func() *crew { return c })
	p.Goal, p.Answer = reprise.Goal{ID: "001-team-invites"}, acceptAtLimit
	p.EveryKill(t, tree, func(t testing.TB, r playtest.Result) {
		text := string(r.Files[index].Data)
		if !strings.Contains(text, "stale_accepted") || r.Ends("B2") != 1 || strings.Count(text, "| G-002 |") != 3 || r.Count(reprise.QuestionAsked, "") != 2 {
			t.Errorf("%s (%s)\n%s\n%s", r.Run.State, r.GaveUp, r.Story(), text)
		}
	})
}

func TestSL9_nobody_answers_and_the_run_waits(t *testing.T) {
	t.Parallel()
	p := player(round)
	p.Answer = nil
	r := p.Play(t, fstest.MapFS{})
	if r.Run.State != reprise.Waiting || len(r.Run.PendingQuestions()) != 2 {
		t.Errorf("%s\n%s", r.Run.State, r.Story())
	}
	if q := r.Run.PendingQuestions()[0]; q.Subject != "G-001, G-002" || !slices.Equal(q.Options, []string{"7 days", "30 days"}) {
		t.Errorf("%+v", q)
	}
}

func TestSL9_agents_that_lie_do_not_count(t *testing.T) {
	t.Parallel()
	for role, step := range map[string]string{"scaffold": "A1", "spec-writer": "A2", "checklist": "A4", "spec-clarify": "B2"} {
		p := player(round)
		honest := p.Agent
		p.Agent = func(j playtest.Job) reprise.Reply {
			if j.Role == role {
				return reprise.Reply{Outcome: "done", Summary: `{"applied":["C1.1"],"gaps":[{"id":"G-9"}]}`}
			}
			return honest(j)
		}
		r := p.Play(t, fstest.MapFS{})
		if r.GaveUp == "" || r.Ends(step) != 0 || r.Run.State == reprise.Complete {
			t.Errorf("%s: %s\n%s", role, r.GaveUp, r.Story())
		}
	}
	p := player(func() *crew { return &crew{} })
	honest := p.Agent
	p.Agent = func(j playtest.Job) reprise.Reply {
		if j.Role == "validator" {
			return reprise.Reply{Outcome: "done", Verdict: "needs_work"}
		}
		return honest(j)
	}
	if r := p.Play(t, fstest.MapFS{}); r.GaveUp == "" {
		t.Errorf("a verdict without a gap counted:\n%s", r.Story())
	}
}

func TestSL9_questions_of_the_writer_come_before_the_specification(t *testing.T) {
	t.Parallel()
	p := player(func() *crew { return &crew{} })
	honest := p.Agent
	p.Agent = func(j playtest.Job) reprise.Reply {
		if j.Step == "A2" {
			return reprise.Reply{Outcome: "question", Questions: []reprise.Asked{{ID: "Q1", Text: "For whom?"}}}
		}
		if j.Step == "B2" {
			j.Write(spec, "# Feature Specification: Team invites\n\n- Q1\n")
			return reprise.Reply{}
		}
		return honest(j)
	}
	r := p.Play(t, fstest.MapFS{})
	complete(t, r)
	if !slices.Contains(r.Launches, "validator A3") || !slices.Contains(r.Launches, "checklist A4") {
		t.Errorf("%v", r.Launches)
	}
}

func TestSL4_each_crash_of_the_seed_to_the_end(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"scaffold-empty", "scaffold", "writing", "validating", "waiting", "answered", "iterating"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := conventiontest.LoadFS(t, "testdata/play/crash-"+name+".txtar")
			p := player(round)
			p.Goal = reprise.Goal{}
			p.Ref = reprise.Ref{Layout: "specloop", ID: "001-team-invites", Path: "specs/001-team-invites", Kind: reprise.KindSpecLoop}
			check := func(t testing.TB, r playtest.Result) {
				complete(t, r)
				if name == "answered" && r.Count(reprise.QuestionAsked, "") > 0 {
					t.Errorf("an answer on record was asked for again:\n%s", r.Story())
				}
			}
			if name == "answered" || name == "waiting" {
				p.EveryKill(t, tree, check)
				return
			}
			check(t, p.Play(t, tree))
		})
	}
}

func TestSL8_only_cells_change(t *testing.T) {
	t.Parallel()
	tree := conventiontest.LoadFS(t, "testdata/play/crash-answered.txtar")
	before := strings.Split(string(tree[index].Data), "\n")
	p := player(func() *crew { return &crew{} })
	p.Ref = reprise.Ref{Layout: "specloop", ID: "001-team-invites", Path: "specs/001-team-invites", Kind: reprise.KindSpecLoop}
	r := p.Play(t, tree)
	complete(t, r)
	after := string(r.Files[index].Data)
	for _, line := range before {
		if !strings.Contains(line, "Loop Status") && !strings.Contains(line, "Iteration") && !strings.Contains(line, "Activity") &&
			!strings.Contains(line, "G-00") && !strings.Contains(line, "C1.") && !strings.Contains(after, line) {
			t.Errorf("gone: %q", line)
		}
	}
}

func TestSL9_an_agent_that_writes_the_state_itself(t *testing.T) {
	t.Parallel()
	p := player(round)
	honest := p.Agent
	p.Agent = func(j playtest.Job) reprise.Reply {
		reply := honest(j)
		if j.Role == "checklist" {
			j.Write(index, strings.Replace(j.Read(index), "| Minor | G-003 | Colour? | pending |", "| Minor | G-003 | Colour? | deferred |", 1))
		}
		if j.Step == "A2" {
			j.Write(index, strings.Replace(j.Read(index), "| **Loop Status** | spec_writing |", "| **Loop Status** | validating |", 1))
		}
		return reply
	}
	r := p.Play(t, fstest.MapFS{})
	complete(t, r)
	if !strings.Contains(string(r.Files[index].Data), "deferred") {
		t.Errorf("%s", r.Files[index].Data)
	}
}

func TestSL9_begin(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"specs/007-a/spec.md": file("x"), "specs/2024-notes/x": file(""), index: file("x")}
	for _, c := range []struct {
		goal reprise.Goal
		path string
		new  bool
	}{
		{reprise.Goal{Text: "Über: pay BY card, now and then"}, "specs/008-ber-pay-by-card-now", true},
		{reprise.Goal{ID: "001-team-invites", Text: "again"}, "specs/001-team-invites", false},
		{reprise.Goal{Path: "specs/001-team-invites/spec.md"}, "specs/001-team-invites", false},
		{reprise.Goal{Path: "specs/007-a/", Text: "x"}, "specs/007-a", true},
	} {
		ref, events, err := specloop.NewPlaybook().Begin(tree, c.goal)
		if err != nil || ref.Path != c.path || (len(events) > 0) != c.new {
			t.Errorf("%+v: %+v %v %v", c.goal, ref, events, err)
		}
	}
	for _, goal := range []reprise.Goal{{}, {ID: "009-x"}, {ID: "../x", Text: "x"}, {Path: "/etc", Text: "x"}, {ID: "a b", Text: "x"}, {ID: "..", Text: "x"}} {
		if ref, _, err := specloop.NewPlaybook().Begin(tree, goal); err == nil {
			t.Errorf("%+v: %+v", goal, ref)
		}
	}
	if _, _, err := specloop.NewPlaybook().Begin(tree, reprise.Goal{ID: "009-x"}); !errors.Is(err, reprise.ErrNotFromNothing) {
		t.Error(err)
	}
}
