package engine_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/gitx"
	"reprise/internal/gitx/gittest"
)

// A git that does not answer is not "no repository" and not "no commit": nothing is
// started, nothing is promised, and once git answers the work continues.
func TestA_git_that_does_not_answer_stops_the_work(t *testing.T) {
	t.Parallel()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for name, unanswered := range map[string]string{
		"anything":                    "*",
		"which commit holds a step":   "*--grep=*",
		"where the repository is":     "*rev-parse*--git-common-dir*",
		"which settings are in force": "*config*--list*",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			put(t, e.Dir, ".gitignore", "log\n")
			ref := start(t, e, `name: f
steps:
  - {id: a, outputs: [a.txt], command: [sh, -c, "echo A >> log; echo a > a.txt"]}
  - {id: b, needs: [a], command: [sh, -c, "echo B >> log"]}
`)
			// The first step was committed, and then engine and keeper were killed.
			const key = "flow/one/a#1"
			recordAndDie(t, e.Dir, ref, reprise.Event{Kind: reprise.StepStarted, At: time.Now(), Step: "a", Attempt: 1, Key: key})
			put(t, e.Dir, "a.txt", "a\n")
			git(t, e.Dir, "add", "a.txt")
			git(t, e.Dir, "commit", "-q", "-m", "a\n\n"+reprise.TrailerKey+": "+key+reprise.TrailerAccepted)
			bin := t.TempDir()
			gittest.Program(t, filepath.Join(bin, "git"), "#!/bin/sh\ncase \"$*\" in "+unanswered+") kill -9 $$ ;; esac\nexec "+real+" \"$@\"\n")
			environ := e.Environ
			e.Environ = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			var silent *gitx.NoAnswerError
			if _, err := e.Preview(t.Context(), ref, engine.Choice{}); !errors.As(err, &silent) || silent.Hint() == "" {
				t.Errorf("preview: %v", err)
			}
			if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); !errors.As(err, &silent) || silent.Hint() == "" {
				t.Errorf("resume: %+v, %v", sum, err)
			}
			if _, err := os.Stat(filepath.Join(e.Dir, "log")); err == nil {
				t.Errorf("done without git: %s", get(t, e.Dir, "log"))
			}
			e.Environ = environ
			if sum := resumeOnce(t, e, ref, engine.Choice{}); sum.State != reprise.Complete {
				t.Errorf("%+v", sum)
			}
			if got := get(t, e.Dir, "log"); got != "B\n" {
				t.Errorf("done once git answers: %q", got)
			}
		})
	}
}

// Git that falls silent while a step is at work proves nothing of how it ended: it is not
// accepted until git answers.
func TestA_git_that_falls_silent_during_a_step_leaves_its_end_open(t *testing.T) {
	t.Parallel()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for name, unanswered := range map[string]string{
		"what was stashed": "*refs/stash*",
		"whether the commit it began on is still there": "*merge-base*",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			put(t, e.Dir, "earlier", "put away\n") // without any stash git is not asked for one
			git(t, e.Dir, "stash", "push", "-q", "-u")
			put(t, e.Dir, ".gitignore", "log\n")
			bin := t.TempDir()
			silent := filepath.Join(bin, "silent")
			ref := start(t, e, `name: f
steps:
  - {id: a, outputs: [a.txt], command: [sh, -c, "[ -e log ] || touch `+silent+`; echo A >> log; echo a >> a.txt; git add a.txt; git commit -qm a"]}
`)
			gittest.Program(t, filepath.Join(bin, "git"), "#!/bin/sh\ncase \"$*\" in "+unanswered+") [ ! -e "+silent+" ] || kill -9 $$ ;; esac\nexec "+real+" \"$@\"\n")
			e.Environ = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err == nil || len(sum.Finished) > 0 {
				t.Errorf("resume: %+v, %v", sum, err)
			}
			if err := os.Remove(silent); err != nil {
				t.Fatal(err)
			}
			if sum := resumeOnce(t, e, ref, engine.Choice{}); sum.State != reprise.Complete {
				t.Errorf("%+v", sum)
			}
		})
	}
}
