package orchestrate_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/playtest"
)

var inReview = strings.Replace(draft, "Draft", "InReview", 1)

// loops are the dialects of a loop state, begun and at different points.
var loops = map[string]string{
	"first dialect": `{
  "storyId": "1.2",
  "currentIteration": 0,
  "maxIterations": 3,
  "status": "in_progress",
  "updatedAt": "2026-01-01T10:00:00.000Z",
  "history": []
}
`,
	"short form": `{
  "storyId": "1.2",
  "iteration": 1,
  "maxIterations": 3,
  "status": "running",
  "lastVerdict": null,
  "history": []
}
`,
	"snake case without a status": `story_id: "1.2"
current_iteration: 1
max_iterations: 3
history:
  - iteration: 1
    date: 2026-01-01
    verdict: null
`,
}

func TestOR11_loop_dialects(t *testing.T) {
	t.Parallel()
	for name, text := range loops {
		files := tree("docs/stories/1.2.login.md", inReview, "qa/1.2/loop-status.json", text, "kept", "x")
		for _, back := range []int{0, 2} {
			p := player(reprise.KindQALoop, reprise.Goal{ID: "1.2"}, reviewer(back, team))
			p.Stride = 1 + back
			p.EveryKill(t, files, func(t testing.TB, r playtest.Result) {
				over()(t, r)
				for _, s := range []string{"review-1", "fix-1", "review-2", "fix-2", "review-3"} {
					if n := r.Count(reprise.StepFinished, s); n > 1 {
						t.Errorf("%s: %s ended %d times", name, s, n)
					}
				}
				if n := r.Ends("fix-2"); n != back/2 {
					t.Errorf("%s: fix-2 was done %d times", name, n)
				}
				only(t, files, r.Files, "docs/stories/1.2.login.md", "qa/1.2/loop-status.json", "src/")
			})
			if t.Failed() {
				return
			}
		}
	}
}

// A dialect that has no place for when something was fixed tells it by its counter.
func TestOR11_loop_that_notes_no_fixes_ends_with_its_review(t *testing.T) {
	t.Parallel()
	const text = "story_id: \"1.2\"\ncurrent_iteration: 2\nmax_iterations: 3\nhistory:\n  - iteration: 1\n    date: 2026-01-01\n    verdict: FAIL\n"
	files := tree("docs/stories/1.2.login.md", inReview, "qa/1.2/loop-status.json", text)
	p := player(reprise.KindQALoop, reprise.Goal{ID: "1.2"}, func(playtest.Job) reprise.Reply {
		return reprise.Reply{Outcome: "done", Verdict: "Concerns"}
	})
	p.EveryKill(t, files, func(t testing.TB, r playtest.Result) {
		over("review-2")(t, r)
		if got := string(r.Files["qa/1.2/loop-status.json"].Data); r.Count(reprise.QuestionAsked, "") > 0 || r.Ends("fix-1") > 0 || !strings.Contains(got, "verdict: CONCERNS") {
			t.Errorf("it was asked, fixed again, or lost the verdict:\n%s\n%s", got, r.Story())
		}
	})
}

// Each time the iterations are used up the person finds that in the state.
func TestOR11_loop_escalates_again(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", inReview, "qa/1.2/loop-status.json", loops["first dialect"])
	p := player(reprise.KindQALoop, reprise.Goal{ID: "1.2"}, reviewer(-1, team))
	asked := 0
	p.Answer = func(reprise.Question) (string, bool) { asked++; return "allow more iterations", asked < 2 }
	r := p.Play(t, files)
	got := string(r.Files["qa/1.2/loop-status.json"].Data)
	for _, want := range []string{`"status": "escalated"`, `"maxIterations": 6`, `"escalationReason": "all 6 iterations are used up`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s\n%s", want, got, r.Story())
		}
	}
}

func TestOR11_loop_from_nothing(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", inReview)
	p := player(reprise.KindQALoop, reprise.Goal{Path: "docs/stories/1.2.login.md"}, reviewer(1, team))
	p.EveryKill(t, files, over("fix-1", "review-2"))
}

func TestOR11_loop_escalates_at_its_maximum(t *testing.T) {
	t.Parallel()
	for name, text := range loops {
		files := tree("docs/stories/1.2.login.md", inReview, "qa/1.2/loop-status.json", text)
		p := player(reprise.KindQALoop, reprise.Goal{ID: "1.2"}, reviewer(-1, team))
		p.Stride = 5
		p.EveryKill(t, files, func(t testing.TB, r playtest.Result) {
			if r.Run.State != reprise.Waiting || len(r.Run.PendingQuestions()) != 1 || r.GaveUp != "" {
				t.Errorf("%s: it is %s: %s %v", name, r.Run.State, r.Run.Reason, r.Run.Questions)
			}
			if n := r.Count(reprise.StepFinished, "review-3"); n != 1 || r.Count(reprise.StepStarted, "review-4") > 0 {
				t.Errorf("%s: the last review ended %d times", name, n)
			}
		})
		p.Answer = func(reprise.Question) (string, bool) { return "accept as it is", true }
		p.Stride = 3
		p.EveryKill(t, files, over())
		asked := 0
		p.Answer = func(reprise.Question) (string, bool) { asked++; return "allow more iterations", asked < 2 }
		if r := p.Play(t, files); r.Count(reprise.StepFinished, "review-6") != 1 || r.Run.State != reprise.Waiting {
			t.Errorf("%s: more iterations: %s\n%s", name, r.Run.State, r.Story())
		}
		p.Answer = func(reprise.Question) (string, bool) { return "stop", true }
		if r := p.Play(t, files); r.Run.State.Open() && r.Run.State != reprise.Waiting {
			t.Errorf("%s: stopped, and it is %s\n%s", name, r.Run.State, r.Story())
		}
	}
}

func TestOR11_loop_words(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", inReview, "qa/1.2/loop-status.json", loops["first dialect"])
	for word, want := range map[string]reprise.State{
		"approved": reprise.Complete, "PASS": reprise.Complete, "concerns": reprise.Complete, "waived": reprise.Complete,
		"blocked": reprise.Waiting, "": reprise.Interrupted, "lgtm?": reprise.Interrupted, "approved, mostly": reprise.Interrupted, "not approved": reprise.Waiting,
	} {
		p := player(reprise.KindQALoop, reprise.Goal{ID: "1.2"}, func(job playtest.Job) reprise.Reply {
			return reprise.Reply{Outcome: "done", Verdict: word}
		})
		if r := p.Play(t, files); r.Run.State != want {
			t.Errorf("%q: it is %s (%s)\n%s", word, r.Run.State, r.Run.Reason, r.Story())
		}
	}
	// The verdict may stand in the state instead.
	p := player(reprise.KindQALoop, reprise.Goal{ID: "1.2"}, func(job playtest.Job) reprise.Reply {
		job.Write("qa/1.2/loop-status.json", strings.Replace(job.Read("qa/1.2/loop-status.json"), `"verdict": null`, `"verdict": "PASS"`, 1))
		return reprise.Reply{Outcome: "done"}
	})
	over("review-1")(t, p.Play(t, files))
}

func TestOR11_loop_story_closed_outside(t *testing.T) {
	t.Parallel()
	files := tree("docs/stories/1.2.login.md", inReview, "qa/1.2/loop-status.json", loops["first dialect"])
	p := player(reprise.KindQALoop, reprise.Goal{ID: "1.2"}, reviewer(-1, team))
	p.Between = func(turn int, files fstest.MapFS) {
		if turn >= 2 {
			files["docs/stories/1.2.login.md"] = &fstest.MapFile{Data: []byte(strings.Replace(draft, "Draft", "Done", 1))}
		}
	}
	r := p.Play(t, files)
	if r.Run.State != reprise.Complete || r.Decision.Action != reprise.Ask || len(r.Run.PendingQuestions()) != 1 {
		t.Errorf("it is %s: %s %v", r.Run.State, r.Run.Reason, r.Run.Questions)
	}
	p.Answer = func(reprise.Question) (string, bool) { return "close it", true }
	over()(t, p.Play(t, files))
}

func TestOR11_pipeline(t *testing.T) {
	t.Parallel()
	for _, back := range []int{0, 1} {
		p := player(reprise.KindSpecPipeline, reprise.Goal{Text: "Let users log in"}, reviewer(back, team))
		p.EveryKill(t, tree("x", "x"), func(t testing.TB, r playtest.Result) {
			over()(t, r)
			if n := r.Ends("critique"); n > 1 {
				t.Errorf("the critique was accepted %d times", n)
			}
			for _, s := range []string{"gather", "assess", "research"} {
				if r.Ends(s) > 1 {
					t.Errorf("%s was done %d times", s, r.Ends(s))
				}
			}
			only(t, tree("x", "x"), r.Files, "docs/specs/let-users-log-in/", "docs/stories/let-users-log-in.story.md")
		})
	}
	p := player(reprise.KindSpecPipeline, reprise.Goal{Text: "Let users log in"}, reviewer(-1, team))
	if r := p.Play(t, tree()); r.Run.State != reprise.Waiting || r.Count(reprise.StepFinished, "critique") != 3 || r.Ends("create") > 0 {
		t.Errorf("never approved: %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
	p.Answer = func(reprise.Question) (string, bool) { return "accept as it is", true }
	over("create")(t, p.Play(t, tree()))
	// More iterations are more: no story is made of what was sent back.
	said := "stop"
	p.Answer = func(reprise.Question) (string, bool) {
		if said == "stop" {
			said = "allow more iterations"
		} else {
			said = "stop"
		}
		return said, true
	}
	if r := p.Play(t, tree()); r.Count(reprise.StepFinished, "critique") != 6 || r.Ends("create") > 0 {
		t.Errorf("more iterations: %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
	p.Answer = func(reprise.Question) (string, bool) { return "stop", true }
	if r := p.Play(t, tree()); r.Run.State != reprise.Stopped || r.Ends("create") > 0 {
		t.Errorf("stopped: %s (%s)\n%s", r.Run.State, r.Run.Reason, r.Story())
	}
	// Nothing made, or something that cannot be read.
	for _, text := range []string{"", "{"} {
		p := player(reprise.KindSpecPipeline, reprise.Goal{Text: "Let users log in"}, func(job playtest.Job) reprise.Reply {
			if text != "" {
				job.Write(job.Facts["output"], text)
			}
			return reprise.Reply{Outcome: "done"}
		})
		if r := p.Play(t, tree()); r.Ends("gather") != 0 || r.Count(reprise.StepFailed, "gather") != 3 {
			t.Errorf("%q: %s\n%s", text, r.Run.State, r.Story())
		}
	}
}
