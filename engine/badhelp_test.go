package engine_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
)

// run runs a command of a person in a project.
func run(t testing.TB, dir string, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}

func newEngineAt(dir string, now func() time.Time) *engine.Engine {
	e := newEngine(dir)
	e.Now = now
	return e
}

// resumeUntilItWaits resumes a run and stops once it waits for a time, as a process that is
// stopped then.
func resumeUntilItWaits(t testing.TB, e *engine.Engine, ref reprise.Ref) (*engine.Summary, error) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Waits {
			stop()
		}
	}
	return e.Resume(ctx, ref, engine.Choice{})
}
