package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/sample"
)

// What an accepted step left and something else than the run changed is asked about
// before anything builds on it; what the run changed itself is not.
func TestNothing_builds_on_an_output_that_something_else_changed(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	const flow = `name: f
steps:
  - {id: a, outputs: [out/a], command: [sh, -c, "echo A >> log; mkdir -p out; echo a > out/a"]}
  - {id: b, needs: [a], attempts: 1, command: [sh, -c, "echo B >> log; echo b >> out/a; test ! -e stop"]}
  - {id: c, needs: [a, b], command: [sh, -c, "echo C >> log"]}
`
	commit := func(t *testing.T, dir, text, trailer string) {
		put(t, dir, "out/a", text)
		git(t, dir, "add", "out")
		git(t, dir, "commit", "-q", "-m", "change\n\n"+trailer)
	}
	cutOff := func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
		recordAndDie(t, e.Dir, ref, reprise.Event{Kind: reprise.StepStarted, At: time.Now(), Step: "b", Attempt: 1, Key: "k"})
	}
	for name, c := range map[string]struct {
		until  string
		change func(t *testing.T, e *engine.Engine, ref reprise.Ref)
		answer string // "" where nothing is asked
		log    string
	}{
		"a later step":            {"", func(*testing.T, *engine.Engine, reprise.Ref) {}, "", "A B C"},
		"a later step that fails": {"", func(t *testing.T, e *engine.Engine, _ reprise.Ref) { put(t, e.Dir, "stop", "") }, "", "A B"},
		"a commit of others, used": {"a", func(t *testing.T, e *engine.Engine, _ reprise.Ref) {
			commit(t, e.Dir, "other\n", "")
		}, "use it as it is", "A B C"},
		"a commit of others, done again": {"a", func(t *testing.T, e *engine.Engine, _ reprise.Ref) {
			commit(t, e.Dir, "other\n", "")
		}, "do it again", "A A B C"},
		"a person, not committed": {"a", func(t *testing.T, e *engine.Engine, _ reprise.Ref) {
			put(t, e.Dir, "out/a", "other\n")
		}, "use it as it is", "A B C"},
		"something that cannot be read in its place": {"a", func(t *testing.T, e *engine.Engine, _ reprise.Ref) {
			if err := errors.Join(os.Remove(filepath.Join(e.Dir, "out/a")), os.Symlink(os.DevNull, filepath.Join(e.Dir, "out/a"))); err != nil {
				t.Fatal(err)
			}
		}, "use it as it is", "A B C"},
		"an attempt that was cut off": {"a", func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
			cutOff(t, e, ref)
			put(t, e.Dir, "out/a", "a\nhalf\n")
		}, "", "A B C"},
		"something that emptied it while an attempt was cut off": {"a", func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
			cutOff(t, e, ref)
			put(t, e.Dir, "out/a", "")
		}, "do it again", "A A B C"},
		"a commit of others while an attempt was cut off": {"a", func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
			cutOff(t, e, ref)
			commit(t, e.Dir, "other\n", "")
		}, "do it again", "A A B C"},
		"a commit of the run while an attempt was cut off": {"a", func(t *testing.T, e *engine.Engine, ref reprise.Ref) {
			cutOff(t, e, ref)
			all := events(t, e.Dir, ref)
			ended := all[slices.IndexFunc(all, func(ev reprise.Event) bool { return ev.Kind == reprise.StepFinished })]
			commit(t, e.Dir, "ours\n", reprise.TrailerKey+": "+strings.Replace(ended.Key, "/a#", "/b#", 1))
		}, "", "A B C"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			put(t, e.Dir, ".gitignore", "log\nstop\n")
			ref := start(t, e, flow)
			if c.until != "" {
				resumeOnce(t, e, ref, engine.Choice{Until: c.until})
			}
			c.change(t, e, ref)
			sum := resumeOnce(t, e, ref, engine.Choice{})
			if asked := len(sum.Questions) > 0; asked != (c.answer != "") {
				t.Fatalf("asked %+v", sum.Questions)
			}
			if c.answer != "" {
				if got := get(t, e.Dir, "log"); got != "A\n" {
					t.Fatalf("before the answer, %q was done", got)
				}
				if err := e.Answer(t.Context(), ref, map[string]string{sum.Questions[0].ID: c.answer}); err != nil {
					t.Fatal(err)
				}
				resumeOnce(t, e, ref, engine.Choice{})
			}
			if got := strings.Join(strings.Fields(get(t, e.Dir, "log")), " "); got != c.log {
				t.Errorf("done: %q, want %q", got, c.log)
			}
		})
	}
}

func resumeOnce(t *testing.T, e *engine.Engine, ref reprise.Ref, c engine.Choice) *engine.Summary {
	t.Helper()
	sum, err := e.Resume(t.Context(), ref, c)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
