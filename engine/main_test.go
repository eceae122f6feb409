package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
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
	"reprise/internal/gitx/gittest"
	"reprise/internal/shim"
	"reprise/journal"
	"reprise/settings"
)

// TestMain lets the test program be what it starts: the keeper of an attempt,
// and an engine of its own that can be killed.
func TestMain(m *testing.M) {
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "act" {
		if err := demo.Act(os.Getenv); err != nil {
			fmt.Fprintln(os.Stderr, "act:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "work-on" {
		os.Exit(workOn(os.Args[2:]))
	}
	if len(os.Args) > 4 && os.Args[1] == "carry" {
		os.Exit(carry(os.Args[2:]))
	}
	// Most of these tests wait for the processes that they start. A flag of the call is
	// read later, and wins.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	var err error
	if keep, err = os.MkdirTemp("", "engine-test-"); err == nil {
		err = gittest.User(keep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(keep)
	os.Exit(code)
}

// keep is a folder for what several tests share.
var keep string

// Exit codes of workOn.
const (
	exitDone    = 0
	exitLeft    = 3
	exitHeld    = 20
	exitStopped = 21
)

// workOn is an engine in a process of its own: DIR RUN FILE.
func workOn(args []string) int {
	dir, run, file := args[0], args[1], args[2]
	e := newEngine(dir)
	e.StopOrphans, e.Settings.Attempts = true, 1000
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ref := refOf(run)
	if _, err := os.Stat(filepath.Join(dir, ref.Path)); err != nil {
		w, hash, err := readFlow(filepath.Join(dir, file))
		if err == nil {
			_, err = e.BeginFlow(ctx, w, file, hash, reprise.Goal{ID: run}, engine.Choice{})
		}
		if err != nil && ctx.Err() != nil {
			return exitStopped
		}
		if code := codeOf(err); code != exitDone && !strings.Contains(err.Error(), "there already") {
			return code
		}
	}
	sum, err := e.Resume(ctx, ref, engine.Choice{})
	if err != nil && ctx.Err() != nil {
		return exitStopped // whatever was cut short by it
	}
	if code := codeOf(err); code != exitDone {
		return code
	}
	if sum.State != reprise.Complete {
		fmt.Fprintf(os.Stderr, "%v %v %q failed %v\n", sum.State, sum.Action, sum.Reasons, sum.Failed)
		return exitLeft
	}
	return exitDone
}

func codeOf(err error) int {
	var (
		held   *durable.HeldError
		unsafe *engine.UnsafeError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &held), errors.As(err, &unsafe) && unsafe.Outcome() == reprise.OutcomeHeld:
		return exitHeld // by its lease, or by a process that has just let go of it and still ends
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "work-on:", err) // nobody asked it to stop
		return exitStopped
	}
	fmt.Fprintln(os.Stderr, "work-on:", err)
	return 1
}

func refOf(run string) reprise.Ref {
	return reprise.Ref{Layout: "eventrun", ID: run, Path: ".agent-memory/runs/" + run, Kind: reprise.KindGraph}
}

func readFlow(name string) (*flow.Workflow, reprise.Hash, error) { return engine.ReadFlow(name) }

// newEngine is an engine with plain commands and short pauses.
func newEngine(dir string) *engine.Engine {
	set := settings.Default()
	set.Backoff, set.Grace, set.Cutoffs, set.Silence, set.Timeout = time.Millisecond, 200*time.Millisecond, 10_000, 0, 10*time.Minute
	set.Parallel = 3
	set.Agents["actor"] = settings.Agent{Name: "actor", Preset: "command", Command: []string{os.Args[0], "act"}, Env: map[string]string{
		"DEMO_LAUNCHES": filepath.Join(dir, "launched"), "DEMO_GAPS": "1",
	}}
	set.Roles["default"] = "actor"
	return &engine.Engine{
		Dir: dir, Settings: set, Environ: os.Environ(), Now: time.Now, Mode: engine.Autopilot,
		Agent: func(a settings.Agent) (agent.Agent, error) {
			return script.New(script.Options{Grace: set.Grace, MaxLog: set.MaxLog}), nil
		},
		Workflow: func(file string) (*flow.Workflow, reprise.Hash, error) { return readFlow(filepath.Join(dir, file)) },
	}
}

// put writes a file of a project.
func put(t testing.TB, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// git runs git in a project.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	// Without a template a new repository has no sample hooks to be copied about.
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", "-c", "init.templateDir="}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a project in a repository with one commit.
func repository(t testing.TB) string {
	t.Helper()
	oneCommit.Do(func() {
		dir := t.TempDir()
		git(t, dir, "init", "-q")
		put(t, dir, "NOTES.md", "# project\n")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-q", "-m", "begin")
		oneCommit.files = snapshot(t, dir)
	})
	dir := t.TempDir()
	for name, text := range oneCommit.files {
		put(t, dir, name, text)
	}
	return dir
}

// oneCommit are the files of the repository that every other one is a copy of.
var oneCommit struct {
	sync.Once
	files map[string]string
}

// snapshot reads every file below a folder.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err == nil {
			out[rel] = get(t, dir, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// events reads the journal of a run.
func events(t testing.TB, dir string, ref reprise.Ref) []reprise.Event {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := journal.Read(store, journal.Name(ref))
	if err != nil {
		t.Fatal(err)
	}
	var out []reprise.Event
	for _, e := range entries {
		out = append(out, e.Event)
	}
	return out
}

// count counts events of a kind about a step; "" stands for any.
func count(all []reprise.Event, kind reprise.EventKind, step string) int {
	n := 0
	for _, ev := range all {
		if ev.Kind == kind && (step == "" || ev.Step == step) {
			n++
		}
	}
	return n
}

// begin starts a workflow file and works on it in this process.
func begin(t testing.TB, e *engine.Engine, run, file string) *engine.Summary {
	t.Helper()
	w, hash, err := readFlow(filepath.Join(e.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := e.BeginFlow(t.Context(), w, file, hash, reprise.Goal{ID: run}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := e.Resume(t.Context(), ref, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
