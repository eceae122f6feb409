package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/settings"
)

// files reads all files of a project but git's and ours.
func files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".reprise") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[filepath.ToSlash(rel)] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stamps tells of everything below a folder what a change of any kind would
// change, git's files too.
func stamps(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if d.IsDir() {
			size = 0
		}
		fmt.Fprintf(&out, "%s %s %d %d\n", p, info.Mode(), size, info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// difference is what became of files, one diff for each that changed.
func difference(before, after map[string][]byte) []string {
	names := slices.Sorted(maps.Keys(after))
	var out []string
	for _, name := range names {
		now := after[name]
		if now == nil {
			now = []byte{}
		}
		if was, there := before[name]; !there {
			out = append(out, durable.Diff(name, nil, now))
		} else if !bytes.Equal(was, now) {
			out = append(out, durable.Diff(name, was, now))
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			out = append(out, "gone: "+name)
		}
	}
	slices.Sort(out)
	return out
}

// perFile takes a diff of several files apart.
func perFile(diff string) []string {
	var out []string
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "--- ") {
			out = append(out, "")
		}
		if len(out) == 0 {
			return []string{diff}
		}
		out[len(out)-1] += line
	}
	slices.Sort(out)
	return out
}

var moments = regexp.MustCompile(`("timestamp"|"event_id"):"[^"]*"`)

// firstLaunch is what stood when the first agent was started for real.
type firstLaunch struct {
	job   agent.Job
	files map[string][]byte
}

// launchFirst works on a run until the first agent is started, and stops there.
func launchFirst(t *testing.T, e *engine.Engine, begin func() (reprise.Ref, error)) firstLaunch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got *firstLaunch
	e.Agent = func(settings.Agent) (agent.Agent, error) {
		return stub{play: func(job agent.Job) *agent.Result {
			if got == nil {
				got = &firstLaunch{job, files(t, e.Dir)}
			}
			cancel()
			return &agent.Result{Outcome: agent.Stopped}
		}}, nil
	}
	ref, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resume(ctx, ref, engine.Choice{}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got == nil {
		t.Fatal("nothing was started")
	}
	return *got
}

// TestX10_O2_a_preview_of_a_start_is_what_starting_does previews the start of
// every workflow, then starts it at the same moment and compares: the files when
// the first agent begins, the step and what the agent is told. Nothing but the
// real start may leave a trace.
func TestX10_O2_a_preview_of_a_start_is_what_starting_does(t *testing.T) {
	t.Parallel()
	all := append(slices.Clone(workflows), workflow{name: "file", files: map[string]string{"flow.yaml": "name: own\nsteps:\n  - {id: begin}\n  - {id: write, needs: [begin], role: dev, prompt: Write it., outputs: [a.txt]}\n"}, goal: reprise.Goal{ID: "own"}})
	for _, w := range all {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.project(t)
			e.Parallel = 1
			at := time.Now().Truncate(time.Second)
			e.Now = func() time.Time { return at }
			preview := func() (*engine.Preview, error) {
				return e.PreviewBegin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{})
			}
			begin := func() (reprise.Ref, error) { return e.Begin(t.Context(), w.layout, w.kind, w.goal, engine.Choice{}) }
			if w.name == "file" {
				wf, hash, err := readFlow(filepath.Join(e.Dir, "flow.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				preview = func() (*engine.Preview, error) {
					return e.PreviewFlow(t.Context(), wf, "flow.yaml", hash, w.goal, engine.Choice{})
				}
				begin = func() (reprise.Ref, error) {
					return e.BeginFlow(t.Context(), wf, "flow.yaml", hash, w.goal, engine.Choice{})
				}
			}
			was, before := stamps(t, e.Dir), files(t, e.Dir)
			p, err := preview()
			if err != nil {
				t.Fatal(err)
			}
			if now := stamps(t, e.Dir); now != was {
				t.Errorf("the preview changed something:\n%s\n%s", was, now)
			}
			if len(p.Starts) != 1 {
				t.Fatalf("it starts %d: %q", len(p.Starts), p.Would)
			}
			real := launchFirst(t, e, begin)
			st := p.Starts[0]
			if st.Step != real.job.Step || st.Role != real.job.Role || st.Attempt != real.job.Attempt {
				t.Errorf("previewed %s as %s, attempt %d; started %s as %s, attempt %d", st.Step, st.Role, st.Attempt, real.job.Step, real.job.Role, real.job.Attempt)
			}
			if st.Prompt != real.job.Prompt {
				t.Errorf("previewed prompt\n%s\nthe agent was told\n%s", st.Prompt, real.job.Prompt)
			}
			if st.Prompt == "" || st.Problem != "" || len(st.Command) == 0 || st.Agent == "" {
				t.Errorf("%+v", st)
			}
			want, have := difference(before, real.files), perFile(p.Diff)
			if w.name == "file" {
				// Steps that need no one are recorded in a burst, which takes the
				// time as the clock says, also if that stands still.
				for _, list := range [][]string{want, have} {
					for i := range list {
						list[i] = moments.ReplaceAllString(list[i], "$1")
					}
				}
			}
			if !slices.Equal(want, have) {
				t.Errorf("previewed\n%s\nstarting did\n%s", strings.Join(have, ""), strings.Join(want, ""))
			}
		})
	}
}

// TestX10_a_preview_of_a_start_that_is_begun_already tells of the run that is
// there, also where its beginning was cut off.
func TestX10_a_preview_of_a_start_that_is_begun_already(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	goal := reprise.Goal{ID: "one", Text: "CSV export"}
	first, err := e.PreviewBegin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.Diff, "run-started") {
		t.Fatalf("it is not made: %s", first.Diff)
	}
	ref, err := e.Begin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	there, err := e.PreviewBegin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(there.Diff, "+{\"event_type\":\"run-started\"") || len(there.Starts) != 1 {
		t.Errorf("it is made twice: %s", there.Diff)
	}
	// Whoever began it was killed before its files were there.
	if err := os.RemoveAll(filepath.Join(e.Dir, ref.Path)); err != nil {
		t.Fatal(err)
	}
	cut, err := e.PreviewBegin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(cut.Diff, "+{\"event_type\":\"run-started\""); n != 1 || len(cut.Starts) != 1 {
		t.Errorf("it is made %d times: %s", n, cut.Diff)
	}
}

// X10: a start that would be unsafe is refused before anything is made, and its preview
// says why.
func TestA_start_that_is_unsafe_makes_nothing_and_its_preview_says_why(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	put(t, dir, ".git/MERGE_HEAD", strings.TrimSpace(git(t, dir, "rev-parse", "HEAD"))+"\n")
	e := newEngine(dir)
	goal := reprise.Goal{ID: "one", Text: "CSV export"}
	p, err := e.PreviewBegin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	was := stamps(t, dir)
	_, err = e.Begin(t.Context(), "eventrun", reprise.KindGraph, goal, engine.Choice{})
	var unsafe *engine.UnsafeError
	if refused := errors.As(err, &unsafe); !refused || len(p.Starts) > 0 {
		t.Fatalf("begin: %v; preview: %q, %d starts", err, p.Would, len(p.Starts))
	}
	if stamps(t, dir) != was {
		t.Error("something was made before it was refused")
	}
	for _, reason := range unsafe.Reasons {
		if !slices.Contains(p.Would, reason) {
			t.Errorf("the preview does not say %q: %q", reason, p.Would)
		}
	}
}

// A step that no one is configured for is shown with the reason, not left out.
func TestA_preview_shows_a_step_that_has_no_agent(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	e.Settings.Roles = nil
	p, err := e.PreviewBegin(t.Context(), "eventrun", reprise.KindGraph, reprise.Goal{ID: "one", Text: "CSV export"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Starts) != 1 || !strings.Contains(p.Starts[0].Problem, "no agent") || p.Starts[0].Step == "" || p.Starts[0].Attempt != 1 {
		t.Errorf("%+v", p)
	}
}

// A preview of steps that need no one is what recording them in a row does, and ends
// after a hundred of them: the lines it shows are those that its files are told.
func TestX10_a_preview_of_many_steps_that_need_nobody(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		steps, shown int
		more         bool
	}{{30, 30, false}, {150, 100, true}} {
		dir := t.TempDir()
		var flow strings.Builder
		flow.WriteString("name: chain\nsteps:\n")
		for i := range c.steps {
			fmt.Fprintf(&flow, "  - {id: s%d, needs: [%s]}\n", i, strings.TrimSuffix(fmt.Sprintf("s%d", i-1), "s-1"))
		}
		put(t, dir, "flow.yaml", flow.String())
		e := newEngine(dir)
		w, hash, err := readFlow(filepath.Join(dir, "flow.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		ref, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "chain"}, engine.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.Preview(t.Context(), ref, engine.Choice{})
		if err != nil {
			t.Fatal(err)
		}
		would := strings.Join(p.Would, "\n")
		if got := strings.Count(would, " is recorded as done: "); got != c.shown {
			t.Errorf("%d steps are shown of %d:\n%s", got, c.steps, would)
		}
		if got := strings.Contains(would, "More steps follow that need no input."); got != c.more {
			t.Errorf("more follow: %v of %d", got, c.steps)
		}
		if got := strings.Count(p.Diff, `"task-completed"`); got != c.shown {
			t.Errorf("the files are told of %d steps of %d:\n%s", got, c.steps, p.Diff)
		}
	}
}
