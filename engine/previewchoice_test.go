package engine_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/engine"
	"reprise/internal/gitx"
	"reprise/internal/sample"
	"reprise/settings"
)

// launchWith continues with a run in a chosen way until the first agent is started,
// and stops there; nil if none is.
func launchWith(t *testing.T, e *engine.Engine, ref reprise.Ref, c engine.Choice) (*firstLaunch, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got *firstLaunch
	own := *e
	own.Agent = func(settings.Agent) (agent.Agent, error) {
		return stub{play: func(job agent.Job) *agent.Result {
			if got == nil {
				got = &firstLaunch{job, files(t, e.Dir)}
			}
			cancel()
			return &agent.Result{Outcome: agent.Stopped}
		}}, nil
	}
	_, err := own.Resume(ctx, ref, c)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return got, err
}

// saved keeps a project and gives what brings it back.
func saved(t *testing.T, dir string) func() {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "kept")
	run := func(name string, args ...string) {
		if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	run("cp", "-a", dir, kept)
	return func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		run("cp", "-a", kept, dir)
	}
}

// outside leaves out what lies at a place.
func outside(of map[string][]byte, place string) map[string][]byte {
	out := map[string][]byte{}
	for name, data := range of {
		if name != place && !strings.HasPrefix(name, place+"/") {
			out[name] = data
		}
	}
	return out
}

// samePreview holds a preview of a choice against what it does.
func samePreview(t *testing.T, e *engine.Engine, ref reprise.Ref, c engine.Choice) *engine.Preview {
	t.Helper()
	was, before := stamps(t, e.Dir), files(t, e.Dir)
	p, perr := e.Preview(t.Context(), ref, c)
	if now := stamps(t, e.Dir); now != was {
		t.Errorf("%+v: the preview changed something", c)
	}
	real, rerr := launchWith(t, e, ref, c)
	if rerr != nil || perr != nil {
		if rerr == nil || perr == nil || rerr.Error() != perr.Error() {
			t.Errorf("%+v: previewed %v; it is %v", c, perr, rerr)
		}
		return p
	}
	if real == nil || len(p.Starts) == 0 {
		if real != nil || len(p.Starts) > 0 {
			t.Errorf("%+v: previewed %+v %q; started %+v", c, p.Starts, p.Would, real)
		}
		return p
	}
	st := p.Starts[0]
	if st.Step != real.job.Step || st.Role != real.job.Role || st.Attempt != real.job.Attempt {
		t.Errorf("%+v: previewed %s as %s, attempt %d; started %s as %s, attempt %d", c, st.Step, st.Role, st.Attempt, real.job.Step, real.job.Role, real.job.Attempt)
	}
	if st.Dir != "." {
		return p
	}
	if st.Prompt != real.job.Prompt {
		t.Errorf("%+v: previewed prompt\n%s\nthe agent was told\n%s", c, st.Prompt, real.job.Prompt)
	}
	if (c.Option == "fresh" || c.Option == "discard") && ref.Kind != reprise.KindStory {
		before = outside(outside(before, ref.Path), ".auto-claude/worktrees") // they are archived first
	}
	want, have := difference(before, real.files), perFile(p.Diff)
	want = slices.DeleteFunc(want, func(s string) bool { // what is archived is told in words
		name, gone := strings.CutPrefix(strings.TrimSpace(s), "gone: ")
		return gone && slices.Contains(p.Would, name+" is archived.")
	})
	for _, list := range []*[]string{&want, &have} {
		*list = slices.DeleteFunc(*list, func(s string) bool { return s == "" })
		for i := range *list {
			if ref.Layout == "eventrun" {
				(*list)[i] = moments.ReplaceAllString((*list)[i], "$1")
			}
		}
	}
	if !slices.Equal(want, have) {
		t.Errorf("%+v: previewed\n%s\nit did\n%s", c, strings.Join(have, ""), strings.Join(want, ""))
	}
	return p
}

// choicesFor are all ways to continue with a run, with steps of its own; also some that
// cannot be meant.
func choicesFor(r *reprise.Run) []engine.Choice {
	var out []engine.Choice
	for _, option := range []string{"", "continue", "resume", "resume-agent", "respawn", "restart", "skip", "skip-group", "fresh", "review", "merge", "discard", "nonsense"} {
		out = append(out, engine.Choice{Option: option})
	}
	out = append(out, engine.Choice{From: "nonsense"}, engine.Choice{Skip: []string{"nonsense"}})
	var closed, open string
	for i := range r.Steps {
		s := &r.Steps[i]
		switch {
		case s.Status.Closed():
			closed = s.ID
		case open == "":
			open = s.ID
		}
	}
	for _, step := range []string{closed, open} {
		if step != "" {
			out = append(out, engine.Choice{Option: "from-phase", From: step}, engine.Choice{Skip: []string{step}}, engine.Choice{Option: "fresh", Skip: []string{step}})
		}
	}
	if open != "" && closed != "" {
		out = append(out, engine.Choice{From: closed, Skip: []string{open}}, engine.Choice{Until: closed})
	}
	return out
}

// TestX10_O2_a_preview_of_a_choice_is_what_it_does stops every workflow on its way
// and once it waits or is done, and holds the preview of every way to continue against
// what it does: refused with the same words, or the same edits before the same first
// step. One way in eleven is drawn, others for each workflow.
func TestX10_O2_a_preview_of_a_choice_is_what_it_does(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	drawn := sample.Every(t, 11)
	for k, w := range workflows {
		for name, after := range map[string]int{"middle": 2, "end": 100} {
			if name == "end" && w.name != "build" && w.name != "sdc" {
				continue
			}
			t.Run(w.name+"-"+name, func(t *testing.T) {
				t.Parallel()
				e, ref, _, _ := w.stopped(t, after)
				at := time.Now().Add(time.Minute).Truncate(time.Second)
				e.Now, e.Ask, e.Adopt = func() time.Time { return at }, nil, true
				run, err := convention.Find(ref.Layout).Load(os.DirFS(e.Dir), ref)
				if err != nil {
					t.Fatal(err)
				}
				back := saved(t, e.Dir)
				for i, c := range choicesFor(run) {
					if !drawn(i + k) {
						continue
					}
					back()
					samePreview(t, e, ref, c)
				}
			})
		}
	}
}

// healthBuilt is a build that is done and not merged.
func healthBuilt(t *testing.T) (*engine.Engine, reprise.Ref) {
	t.Helper()
	w := workflow{layout: "autoclaude", kind: reprise.KindBuild, goal: reprise.Goal{ID: "001-health", Text: "Health endpoint"}}
	e := w.project(t)
	ref, err := e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil {
		t.Fatal(err)
	}
	return e, ref
}

// TestX10_a_preview_of_a_merge_says_what_is_merged_into_what, and one of giving up
// what was built where it is kept.
func TestX10_a_preview_of_a_merge_says_what_is_merged_into_what(t *testing.T) {
	t.Parallel()
	e, ref := healthBuilt(t)
	branch := "auto-claude/" + ref.ID
	head := strings.TrimSpace(git(t, e.Dir, "rev-parse", branch))[:12]
	into := strings.TrimSpace(git(t, e.Dir, "branch", "--show-current"))
	for option, want := range map[string][]string{
		"merge":   {branch + " at " + head, "is merged into " + into},
		"discard": {branch + " at " + head + " is kept as reprise/discarded/", "begins again"},
		"review":  {"What was built is shown, and nothing is changed: branch " + branch + " at " + head},
	} {
		p, err := e.Preview(t.Context(), ref, engine.Choice{Option: option})
		if err != nil {
			t.Errorf("%s: %v", option, err)
			continue
		}
		for _, text := range want {
			if !strings.Contains(strings.Join(p.Would, "\n"), text) {
				t.Errorf("%s: it does not say %q: %q", option, text, p.Would)
			}
		}
	}
	put(t, e.Dir, "README.md", "changed by hand\n")
	samePreview(t, e, ref, engine.Choice{Option: "merge"})
}

// TestX10_AC9_a_preview_of_a_merge_names_the_files_that_conflict, as the merge does.
func TestX10_AC9_a_preview_of_a_merge_names_the_files_that_conflict(t *testing.T) {
	t.Parallel()
	e, ref := healthBuilt(t)
	built := strings.Fields(git(t, e.Dir, "diff", "--name-only", "--diff-filter=A", "HEAD...auto-claude/"+ref.ID))[0]
	put(t, e.Dir, built, "written by hand meanwhile\n")
	git(t, e.Dir, "add", built)
	git(t, e.Dir, "commit", "-q", "-m", "by hand")
	_, err := e.Preview(t.Context(), ref, engine.Choice{Option: "merge"})
	if conflict, ok := errors.AsType[*gitx.ConflictError](err); !ok || !slices.Equal(conflict.Files, []string{built}) {
		t.Errorf("the preview says %v", err)
	}
	samePreview(t, e, ref, engine.Choice{Option: "merge"})
}

// TestEV7_X10_a_preview_asks_what_came_of_a_step_that_must_not_be_done_twice previews
// a run whose engine died in a step that asks then.
func TestEV7_X10_a_preview_asks_what_came_of_a_step_that_must_not_be_done_twice(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	dir := e.Dir
	ref := start(t, e, "name: own\nsteps:\n  - {id: mail, role: dev, prompt: Send it., on_crash: ask}\n  - {id: write, needs: [mail], role: dev, prompt: Write it.}\n")
	recordAndDie(t, dir, ref, reprise.Event{Kind: reprise.StepStarted, At: time.Now(), Step: "mail", Actor: "dev", Attempt: 1, Policy: reprise.AskWho, Key: "one/mail#1"})
	at := time.Now().Add(time.Minute).Truncate(time.Second)
	e.Ask, e.Now = nil, func() time.Time { return at }
	p := samePreview(t, e, ref, engine.Choice{})
	if p == nil || !strings.Contains(strings.Join(p.Would, "\n"), "A person is asked what became of it; mail is not started before that.") {
		t.Fatalf("%+v", p)
	}
	q := func() string {
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		if err != nil || len(sum.Questions) != 1 {
			t.Fatalf("%+v %v", sum, err)
		}
		return sum.Questions[0].ID
	}()
	back := saved(t, dir)
	for _, answer := range []string{"it was finished", "run it again", "leave it out"} {
		back()
		if err := e.Answer(t.Context(), ref, map[string]string{q: answer}); err != nil {
			t.Fatal(err)
		}
		p, err := e.Preview(t.Context(), ref, engine.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		real, err := launchWith(t, e, ref, engine.Choice{})
		if err != nil || real == nil || len(p.Starts) != 1 || p.Starts[0].Step != real.job.Step || p.Starts[0].Attempt != real.job.Attempt || p.Starts[0].Prompt != real.job.Prompt {
			t.Errorf("%s: previewed %+v; started %+v: %v", answer, p, real, err)
		}
	}
}

// TestX10_OR9_a_preview_of_a_fresh_epic takes back what stories were left at, each in
// a file that is not archived, and more than one.
func TestX10_OR9_a_preview_of_a_fresh_epic(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	state := "epic_state:\n  epicId: EPIC-2\n  status: active\n  started_at: \"2026-02-27T09:00:00Z\"\n  current_wave: 1\n  total_waves: 1\n  waves:\n    1:\n      status: in_progress\n      stories:\n"
	for id, status := range map[string]string{"2.1": "In Progress", "2.2": "Ready for Review"} {
		put(t, dir, "docs/stories/"+id+".story.md", "# Story "+id+"\n\n**Status:** "+status+"\n\n## Acceptance Criteria\n\n- [ ] a\n")
	}
	state += "        \"2.1\": {status: in_progress}\n        \"2.2\": {status: in_review}\n"
	ref := reprise.Ref{Layout: "orchestrate", ID: "EPIC-2", Path: ".aiox/epic-EPIC-2-state.yaml", Kind: reprise.KindEpic}
	put(t, dir, ref.Path, state)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "epic")
	e := newEngine(dir)
	e.Parallel = 1
	at := time.Now().Add(time.Minute).Truncate(time.Second)
	e.Now, e.Adopt = func() time.Time { return at }, true
	if p := samePreview(t, e, ref, engine.Choice{Option: "fresh"}); p == nil || !strings.Contains(p.Diff, "+**Status:** Ready\n") {
		t.Errorf("the preview takes nothing back: %+v", p)
	}
}
