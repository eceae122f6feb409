package orchestrate_test

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/orchestrate"
	"reprise/convention/playtest"
)

var books = map[reprise.Kind]reprise.Playbook{
	reprise.KindStory: orchestrate.Story{}, reprise.KindSpecPipeline: orchestrate.Pipeline{}, reprise.KindQALoop: orchestrate.Loop{},
	reprise.KindEpic: orchestrate.Epic{}, reprise.KindWorkflow: orchestrate.Workflow{},
}

func player(kind reprise.Kind, goal reprise.Goal, agent func(playtest.Job) reprise.Reply) playtest.Player {
	return playtest.Player{Layout: orchestrate.New(), Book: books[kind], Books: books, Goal: goal, Agent: agent}
}

// tree makes a project of files given as name and text.
func tree(files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i+1 < len(files); i += 2 {
		out[files[i]] = &fstest.MapFile{Data: []byte(files[i+1]), Mode: 0o644}
	}
	return out
}

// team is a scripted team in which everybody does what is asked of them.
func team(job playtest.Job) reprise.Reply {
	name := job.Facts["story"]
	switch {
	case job.Step == "create":
		text := job.Read(name)
		if text == "" {
			text = "# Story\n\n**Status:** Draft\n\n## Acceptance Criteria\n\n"
		}
		job.Write(name, strings.Replace(text, "## Acceptance Criteria\n", "## Acceptance Criteria\n\n1. It works.\n", 1))
		return reprise.Reply{Outcome: "done"}
	case job.Facts["output"] != "":
		text := `{"made": true}`
		if strings.HasSuffix(job.Facts["output"], ".md") {
			text = fmt.Sprintf("# Spec %d\n", job.Attempt)
		}
		job.Write(job.Facts["output"], text)
	case job.Role == "dev":
		job.Write("src/"+strings.ReplaceAll(job.Step, " ", "-")+".go", "package src\n")
	}
	return reprise.Reply{Outcome: "done", Verdict: "approved", Summary: "as asked"}
}

// reviewer sends work back n times and then approves; below zero never.
func reviewer(n int, next func(playtest.Job) reprise.Reply) func(playtest.Job) reprise.Reply {
	return func(job playtest.Job) reprise.Reply {
		reviews := job.Step == "qa" || strings.HasPrefix(job.Step, "review-") || job.Step == "critique" || job.Step == "4_quality_gate"
		reply := next(job)
		if reviews && (n < 0 || sent(job) < n) {
			reply.Verdict, reply.Issues = "needs_work", []string{"a test is missing"}
		}
		return reply
	}
}

// sent is how often the work was sent back before this attempt.
func sent(job playtest.Job) int {
	if rest, ok := strings.CutPrefix(job.Step, "review-"); ok {
		n := 0
		fmt.Sscan(rest, &n)
		return n - 1
	}
	return job.Run.Step(job.Step).Rejected
}

// over asks that the run is at its end and every step was accepted once.
func over(steps ...string) func(testing.TB, playtest.Result) {
	return func(t testing.TB, r playtest.Result) {
		t.Helper()
		if r.Decision.Action != reprise.Finish || r.Run.State != reprise.Complete {
			t.Errorf("it is %s in %q (%s): %v", r.Run.State, r.Run.Phase, r.Run.Reason, r.Decision.Reasons)
		}
		for _, s := range steps {
			if n := r.Ends(s); n != 1 {
				t.Errorf("%s was accepted %d times", s, n)
			}
		}
	}
}

// only asks that nothing but these files is other than it was.
func only(t testing.TB, before, after fs.FS, names ...string) {
	t.Helper()
	old, now := before.(fstest.MapFS), after.(fstest.MapFS)
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, b := old[name], now[name]
		same := a != nil && b != nil && string(a.Data) == string(b.Data)
		if !same && !slices.ContainsFunc(names, func(n string) bool { return n == name || strings.HasSuffix(n, "/") && strings.HasPrefix(name, n) }) {
			t.Errorf("%s changed", name)
		}
	}
}

const draft = `# Login

**Status:** Draft

## Acceptance Criteria

1. A user can log in.

## Tasks

- [ ] form

## Change Log

| Date | Version | Description | Author |
|------|---------|-------------|--------|
| 2026-01-01 | 0.1 | created | sm |
`

func TestOR11_story_from_nothing(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindStory, reprise.Goal{ID: "1.4", Text: "As a user I want to log in"}, team)
	p.EveryKill(t, tree("README.md", "x"), func(t testing.TB, r playtest.Result) {
		over("validate", "implement", "qa")(t, r)
		// Cut off after its work it is seen to be written, and not written twice.
		if n := r.Ends("create"); n > 1 || n == 0 && r.Count(reprise.StepResolved, "create") == 0 {
			t.Errorf("created %d times", n)
		}
		only(t, tree("README.md", "x"), r.Files, "docs/stories/1.4.story.md", "src/")
	})
}

func TestOR11_story_sent_back(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", draft, "other.txt", "kept")
	p := player(reprise.KindStory, reprise.Goal{Path: "docs/stories/1.2.login.md"}, reviewer(2, team))
	p.EveryKill(t, files, func(t testing.TB, r playtest.Result) {
		over("validate", "qa")(t, r)
		if n := r.Ends("implement"); n != 3 {
			t.Errorf("implemented %d times", n)
		}
		only(t, files, r.Files, "docs/stories/1.2.login.md", "src/")
	})
}

func TestOR11_story_never_approved(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", draft)
	for answer, want := range map[string]struct {
		state reprise.State
		qa    int
	}{"": {reprise.Waiting, 0}, "accept as it is": {reprise.Complete, 1}, "stop": {reprise.Waiting, 0}} {
		p := player(reprise.KindStory, reprise.Goal{Path: "docs/stories/1.2.login.md"}, reviewer(-1, team))
		if answer != "" {
			p.Answer = func(q reprise.Question) (string, bool) { return answer, true }
		}
		check := func(t testing.TB, r playtest.Result) {
			if r.Run.State != want.state || r.GaveUp != "" {
				t.Errorf("%q: it is %s: %s %s", answer, r.Run.State, r.Run.Reason, r.GaveUp)
			}
			if r.Ends("qa") < want.qa || r.Ends("qa") > want.qa {
				t.Errorf("%q: the review was accepted %d times", answer, r.Ends("qa"))
			}
			if answer == "" && len(r.Run.PendingQuestions()) == 0 {
				t.Error("nobody is asked")
			}
			if n := r.Count(reprise.StepFinished, "qa"); n > 6 {
				t.Errorf("%d reviews", n)
			}
		}
		if answer == "accept as it is" {
			p.Stride = 5
			p.EveryKill(t, files, check)
		} else {
			check(t, p.Play(t, files))
		}
	}
	// More iterations are as many again, and then a person is asked again.
	asked := 0
	p := player(reprise.KindStory, reprise.Goal{Path: "docs/stories/1.2.login.md"}, reviewer(-1, team))
	p.Answer = func(reprise.Question) (string, bool) { asked++; return "allow more iterations", asked < 3 }
	if r := p.Play(t, files); r.Run.State != reprise.Waiting || asked != 3 || r.Count(reprise.StepFinished, "qa") != 15 {
		t.Errorf("asked %d times, %d reviews, it is %s", asked, r.Count(reprise.StepFinished, "qa"), r.Run.State)
	}
}

func TestOR11_story_validation_sends_back(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindStory, reprise.Goal{Path: "docs/stories/1.2.login.md"}, func(job playtest.Job) reprise.Reply {
		if job.Step == "validate" && job.Run.Step("validate").Rejected < 2 {
			return reprise.Reply{Outcome: "done", Verdict: "NO-GO", Issues: []string{"criteria are vague"}}
		}
		if job.Step == "create" {
			job.Write(job.Facts["story"], job.Read(job.Facts["story"])+"\nclearer\n")
			return reprise.Reply{Outcome: "done"}
		}
		return team(job)
	})
	p.EveryKill(t, tree("docs/stories/1.2.login.md", draft), func(t testing.TB, r playtest.Result) {
		over("validate", "implement", "qa")(t, r)
		if n := r.Ends("create"); n != 2 {
			t.Errorf("written again %d times", n)
		}
	})
}

func TestOR11_story_agents_that_lie(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", draft)
	empty := tree()
	for name, tt := range map[string]struct {
		files fstest.MapFS
		goal  reprise.Goal
		reply reprise.Reply
		step  string
	}{
		"nothing written":      {empty, reprise.Goal{ID: "2.1", Text: "x"}, reprise.Reply{Outcome: "done"}, "create"},
		"validation says none": {files, reprise.Goal{ID: "1.2"}, reprise.Reply{Outcome: "done"}, "validate"},
		"unknown word":         {files, reprise.Goal{ID: "1.2"}, reprise.Reply{Outcome: "done", Verdict: "looks fine, not approved"}, "validate"},
		"it says failed":       {files, reprise.Goal{ID: "1.2"}, reprise.Reply{Outcome: "failed", Verdict: "approved"}, "validate"},
	} {
		p := player(reprise.KindStory, tt.goal, func(playtest.Job) reprise.Reply { return tt.reply })
		r := p.Play(t, tt.files)
		if r.Run.State == reprise.Complete || r.Ends(tt.step) != 0 || r.Count(reprise.StepFailed, tt.step) != 3 || r.GaveUp == "" {
			t.Errorf("%s: it is %s\n%s", name, r.Run.State, r.Story())
		}
	}
	// A reviewer without a word leaves the story where it was.
	p := player(reprise.KindStory, reprise.Goal{ID: "1.2"}, func(job playtest.Job) reprise.Reply {
		if job.Step == "qa" {
			return reprise.Reply{Outcome: "done", Summary: "approved"}
		}
		return team(job)
	})
	if r := p.Play(t, files); r.Run.Phase == "done" || r.Ends("qa") != 0 {
		t.Errorf("a review without a verdict: %s in %s\n%s", r.Run.State, r.Run.Phase, r.Story())
	}
}

// TestOR11_story_status_written_by_agents: they may move the status themselves;
// the review is not passed over.
func TestOR11_story_status_written_by_agents(t *testing.T) {
	t.Parallel()
	words := map[string]string{"validate": "Ready", "implement": "Done", "qa": "Done"}
	p := player(reprise.KindStory, reprise.Goal{ID: "1.2"}, func(job playtest.Job) reprise.Reply {
		text := job.Read(job.Facts["story"])
		_, rest, _ := strings.Cut(text, "**Status:** ")
		old, _, _ := strings.Cut(rest, "\n")
		job.Write(job.Facts["story"], strings.Replace(text, "**Status:** "+old, "**Status:** "+words[job.Step], 1))
		return reprise.Reply{Outcome: "done"}
	})
	r := p.Play(t, tree("docs/stories/1.2.login.md", draft))
	over("validate", "implement", "qa")(t, r)
	if t.Failed() {
		t.Log(r.Story())
	}
}

func TestOR11_story_closed_meanwhile(t *testing.T) {
	t.Parallel()
	p := player(reprise.KindStory, reprise.Goal{ID: "1.2"}, team)
	p.Between = func(turn int, files fstest.MapFS) {
		if turn == 3 {
			files["docs/stories/1.2.login.md"] = &fstest.MapFile{Data: []byte(strings.Replace(draft, "Draft", "Done", 1))}
		}
	}
	r := p.Play(t, tree("docs/stories/1.2.login.md", draft))
	if over()(t, r); r.Ends("qa") != 0 {
		t.Errorf("a story that is closed was reviewed\n%s", r.Story())
	}
}
