package engine_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

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

// contextSoon ends after a moment: a process that is stopped while it waits.
func contextSoon(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 300*time.Millisecond)
}

// contextOnceLaunched ends a moment after the given number of launches.
func contextOnceLaunched(t testing.TB, launches func() int, want int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for launches() < want && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		cancel()
	}()
	return ctx, cancel
}
