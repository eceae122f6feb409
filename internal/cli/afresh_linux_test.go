package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/script"
	"reprise/engine"
	"reprise/flow"
	"reprise/internal/demo"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
	"reprise/project"
	"reprise/settings"
)

// TestHelper_starts_afresh_and_is_killed is no test but a process of its own: an
// engine that starts the only run of a project afresh and is killed in the moment
// in which its state is in the archive and nothing else is there.
func TestHelper_starts_afresh_and_is_killed(t *testing.T) {
	dir := os.Getenv("REPRISE_TEST_AFRESH")
	if dir == "" {
		t.Skip("it is started by another test")
	}
	j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}})
	if err != nil || len(j.Runs) != 1 {
		t.Fatal(j, err)
	}
	ref := j.Runs[0].Ref
	set := settings.Default()
	set.Agents["nobody"] = settings.Agent{Name: "nobody", Preset: "command", Command: []string{"true"}}
	set.Roles["default"] = "nobody"
	e := &engine.Engine{Dir: dir, Settings: set, Environ: os.Environ(), Now: time.Now, Mode: engine.Autopilot}
	e.Agent = func(settings.Agent) (agent.Agent, error) { return script.New(script.Options{}), nil }
	e.Workflow = func(file string) (*flow.Workflow, reprise.Hash, error) {
		return engine.ReadFlow(filepath.Join(dir, file))
	}
	e.Disk = func(under durable.FS) durable.FS {
		return crashfs.BeforeEach(under, func(int) {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(ref.Path))); err != nil {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		})
	}
	sum, err := e.Resume(context.Background(), ref, engine.Choice{Option: "fresh"})
	t.Fatalf("it was not killed: %+v %v", sum, err)
}

// TestOR9_O1_a_fresh_start_that_was_killed_is_listed_and_resumed types what a
// person types after a fresh start was killed.
func TestOR9_O1_a_fresh_start_that_was_killed_is_listed_and_resumed(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, layout := range []string{"eventrun", "autoclaude"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			play, _ := demo.PlayOf(layout)
			play.Hold = ""
			scene, err := demo.Set(play, filepath.Join(t.TempDir(), "scene"), os.Args[0], time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			call := func(env string, args ...string) (string, int) {
				cmd := exec.Command(os.Args[0], args...)
				cmd.Dir, cmd.Env = scene.Project, append(scene.Environ(os.Environ()), env)
				out, err := cmd.CombinedOutput()
				if err != nil && cmd.ProcessState == nil {
					t.Fatal(err)
				}
				return string(out), cmd.ProcessState.ExitCode()
			}
			says := func(code int, want []string, args ...string) {
				t.Helper()
				out, got := call("REPRISE_TEST_PROGRAM=1", args...)
				if got != code {
					t.Fatalf("%v ends with %d:\n%s", args, got, out)
				}
				for _, w := range want {
					if !strings.Contains(out, w) {
						t.Errorf("%v: no %q in\n%s", args, w, out)
					}
				}
			}
			until := map[string]string{"autoclaude": "discovery"}[layout]
			if until == "" {
				until = play.After[0]
			}
			says(0, nil, append([]string{"run", "--mode", "autopilot", "--trust", "--until", until}, play.Run...)...)
			runs := judgedIn(t, scene.Project)
			if len(runs) != 1 {
				t.Fatal(runs)
			}
			ref := runs[0].Ref
			if out, code := call("REPRISE_TEST_AFRESH="+scene.Project, "-test.run", "^TestHelper_starts_afresh_and_is_killed$"); code != -1 {
				t.Fatalf("it ends with %d: %s", code, out)
			}
			if _, err := os.Stat(filepath.Join(scene.Project, ref.Path)); err == nil {
				t.Fatal("the state is still there")
			}
			says(0, []string{"interrupted", "1 run in"}, "status")
			says(0, []string{ref.ID, `"interrupted"`}, "status", "--json")
			out, _ := call("REPRISE_TEST_PROGRAM=1", "check", ref.ID, "--full")
			if !strings.Contains(out, "being started from scratch") {
				t.Errorf("check says\n%s", out)
			}
			out, code := call("REPRISE_TEST_PROGRAM=1", "resume", "--mode", "autopilot")
			nothing := strings.Contains(out, "plan: the agent said it is done and changed nothing")
			if code != 0 && code != 12 && (code != 10 || !nothing) { // some wait for a person at the end
				t.Fatalf("resume ends with %d:\n%s", code, out)
			}
			for _, person := range play.Person {
				says(0, nil, person.Args...)
			}
			runs = judgedIn(t, scene.Project)
			if len(runs) != 1 || runs[0].Ref != ref || runs[0].State != reprise.Complete {
				t.Errorf("at last there is %+v\n%s", runs, out)
			}
			if boxes, err := filepath.Glob(filepath.Join(scene.Project, ".reprise/archive/*/"+filepath.Base(ref.Path))); err != nil || len(boxes) != 1 {
				t.Errorf("in the archive: %v %v", boxes, err)
			}
		})
	}
}

func judgedIn(t *testing.T, dir string) []*reprise.Run {
	t.Helper()
	j, err := project.Judge(t.Context(), dir, project.JudgeOptions{Options: project.Options{Now: time.Now()}, Full: true})
	if err != nil {
		t.Fatal(err)
	}
	return j.Runs
}
