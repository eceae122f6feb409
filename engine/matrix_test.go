package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
)

// small is a workflow file with two processes and a milestone between them.
const small = `name: small
title: A small workflow
steps:
  - {id: one, command: [sh, work.sh], outputs: [out.one], on_crash: verify}
  - {id: half, needs: [one]}
  - {id: two, needs: [half], command: [sh, work.sh], outputs: [out.two], verify: [test, -s, out.two], on_crash: verify}
`

const smallScript = `echo "$REPRISE_RUN $REPRISE_STEP $REPRISE_ATTEMPT $REPRISE_TOKEN" >> "$DEMO_LAUNCHES"
echo whole > "out.$REPRISE_STEP.tmp" && mv "out.$REPRISE_STEP.tmp" "out.$REPRISE_STEP"
`

// everyWorkflow are the workflow file and all kinds.
func everyWorkflow() []string {
	out := []string{"file"}
	for _, w := range workflows {
		out = append(out, w.name)
	}
	return out
}

// carry is an engine in a process of its own that starts or takes up a workflow
// of the table: DIR NAME N SITES. It kills itself before its N-th operation on
// the disk; SITES is a file that gets the call path of every operation up to
// there, one in each line.
func carry(args []string) int {
	dir, name, sites := args[0], args[1], args[3]
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return codeOf(err)
	}
	e := newEngine(dir)
	e.StopOrphans, e.Ask = true, answering
	e.Environ = append(e.Environ, "DEMO_LAUNCHES="+launchesOf(dir))
	e.Settings.Agents["actor"].Env["DEMO_LAUNCHES"] = launchesOf(dir)
	e.Settings.Env = append(e.Settings.Env, "DEMO_LAUNCHES")
	e.Disk = killedBefore(n, sites)
	sum, err := takeUp(e, name)
	if code := codeOf(err); code != exitDone {
		return code
	}
	if sum.State == reprise.Complete || sum.State == reprise.Waiting && waits(name) {
		return exitDone
	}
	fmt.Fprintf(os.Stderr, "%v %v %q failed %+v left %v questions %+v\n", sum.State, sum.Action, sum.Reasons, sum.Failed, sum.Left, sum.Questions)
	return exitLeft
}

func launchesOf(dir string) string { return dir + ".launches" }

func waits(name string) bool {
	for _, w := range workflows {
		if w.name == name {
			return w.waits
		}
	}
	return false
}

// takeUp continues with the run of a workflow, or starts it if there is none.
func takeUp(e *engine.Engine, name string) (*engine.Summary, error) {
	ctx := context.Background()
	if name == "file" {
		ref := refOf("small")
		if _, err := os.Stat(filepath.Join(e.Dir, ref.Path)); err != nil {
			w, hash, err := readFlow(filepath.Join(e.Dir, "flow.yaml"))
			if err != nil {
				return nil, err
			}
			if _, err := e.BeginFlow(ctx, w, "flow.yaml", hash, reprise.Goal{ID: "small"}, engine.Choice{}); err != nil {
				return nil, err
			}
		}
		return e.Resume(ctx, ref, engine.Choice{})
	}
	for _, w := range workflows {
		if w.name != name {
			continue
		}
		goal := w.goal
		if goal.ID == "" && goal.Path == "" {
			goal.ID = "killed"
		}
		ref, err := e.Begin(ctx, w.layout, w.kind, goal, engine.Choice{})
		if err != nil {
			return nil, err
		}
		return e.Resume(ctx, ref, engine.Choice{})
	}
	return nil, fmt.Errorf("no workflow is called %s", name)
}

// killKeepers kills the keepers of the attempts of this process, and git where that is at
// work.
func killKeepers() {
	threads, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range threads {
		children, _ := os.ReadFile(name)
		for pid := range strings.FieldsSeq(string(children)) {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// killedBefore counts the operations of all stores of this process together, a line of
// sites each; where the way to one is long to find, it is told of the one that kills, and
// of all where none does. Before every other one the keepers are killed with the engine.
func killedBefore(n int, sites string) func(durable.FS) durable.FS {
	var mu sync.Mutex
	at := 0
	out, err := os.Create(sites)
	return func(under durable.FS) durable.FS {
		return crashfs.BeforeEach(under, func(int) {
			mu.Lock()
			defer mu.Unlock()
			var way string
			if n < 0 || at == n {
				way = site()
			}
			if err == nil {
				_, err = fmt.Fprintln(out, way)
			}
			if at == n {
				if n%2 == 1 {
					killKeepers()
				}
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			at++
		})
	}
}

// site is the way through engine, journal and worktree to where we are.
func site() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var out []string
	for {
		f, more := frames.Next()
		for _, room := range []string{"reprise/engine.", "reprise/journal.", "reprise/worktree."} {
			if strings.HasPrefix(f.Function, room) {
				out = append(out, fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(f.File)), filepath.Base(f.File), f.Line))
			}
		}
		if !more {
			break
		}
	}
	slices.Reverse(out)
	return strings.Join(out, " ")
}

// template makes the project a workflow is started in, once.
func template(t testing.TB, name string) string {
	dir := repository(t)
	if name == "file" {
		put(t, dir, "flow.yaml", small)
		put(t, dir, "work.sh", smallScript)
	}
	for _, w := range workflows {
		if w.name == name {
			for file, text := range w.files {
				put(t, dir, file, text)
			}
		}
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "state")
	return dir
}

// killed is one project that is worked on until its end.
type killed struct {
	name, dir string
	// cut is where the first engine was killed, "" if it ran through.
	cut   string
	sites []string
}

// play works on a copy of a project with an engine that dies before its n-th
// operation, and then with one that does not.
func play(t testing.TB, from, name string, n int) (k killed, err error) {
	k = killed{name: name, dir: filepath.Join(t.TempDir(), "p")}
	if err := os.CopyFS(k.dir, os.DirFS(from)); err != nil {
		return k, err
	}
	out, code := k.engine(n)
	if data, err := os.ReadFile(k.dir + ".sites"); err == nil {
		k.sites = strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
	switch {
	case code == exitDone:
		return k, nil
	case code != -1:
		return k, fmt.Errorf("the first engine ends with %d: %s", code, out)
	}
	k.cut = k.sites[len(k.sites)-1]
	if out, code = k.next(); code != exitDone {
		return k, fmt.Errorf("the second engine ends with %d: %s", code, out)
	}
	return k, nil
}

// calm is a workflow that no one killed: the project it was started in, the ways to
// the disk, and what came of it.
type calm struct {
	from  string
	sites []string
	came  outcome
}

// calms are the calm runs by workflow, each played once.
var calms sync.Map

func undisturbed(t testing.TB, name string) *calm {
	t.Helper()
	once, _ := calms.LoadOrStore(name, sync.OnceValues(func() (*calm, error) {
		// It outlives the test that happens to come first.
		from, err := os.MkdirTemp(keep, name)
		if err != nil {
			return nil, err
		}
		if err := os.CopyFS(from, os.DirFS(template(t, name))); err != nil {
			return nil, err
		}
		k, err := play(t, from, name, -1)
		if err != nil {
			return nil, err
		}
		return &calm{from: from, sites: k.sites, came: k.outcome(t)}, nil
	}))
	c, err := once.(func() (*calm, error))()
	if err != nil {
		t.Fatalf("%s, undisturbed: %v", name, err)
	}
	return c
}

func (k *killed) engine(n int) (string, int) {
	cmd := exec.Command(os.Args[0], "carry", k.dir, k.name, strconv.Itoa(n), k.dir+".sites")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 3 * time.Second
	timer := time.AfterFunc(10*time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return err.Error(), 99
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// next is an engine after one that was killed. A keeper or a git of that may still be at
// work, and holds the lease until it has ended: the next one is turned away until then.
func (k *killed) next() (out string, code int) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if out, code = k.engine(-1); code != exitHeld || time.Now().After(deadline) {
			return out, code
		}
	}
}

// TestO1_O8_killed_before_an_operation_of_every_kind kills an engine at every way
// that leads through it to the disk, in a workflow that goes there, and lets
// another finish: what comes of it is what comes of an undisturbed run.
// A few of these ways are drawn with a seed; REPRISE_MATRIX=1 takes them all, and
// REPRISE_MATRIX=all kills before every single operation of every workflow.
func TestO1_O8_killed_before_an_operation_of_every_kind(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills many processes: left out by -short")
	}
	names := everyWorkflow()
	if only := os.Getenv("REPRISE_WORKFLOW"); only != "" {
		names = strings.Split(only, ",")
	}
	seed := seedOf(t)
	r := rand.New(rand.NewPCG(seed, 0))
	type point struct {
		name string
		n    int
	}
	at := map[string][]point{} // by site
	lengths := map[string]int{}
	var points []point
	ops := 0
	for _, name := range names {
		k := undisturbed(t, name)
		ops += len(k.sites)
		lengths[name] = len(k.sites)
		for n, site := range k.sites {
			at[site] = append(at[site], point{name, n})
			points = append(points, point{name, n})
		}
		t.Logf("%s: %d operations", name, len(k.sites))
	}
	if os.Getenv("REPRISE_MATRIX") == "" {
		points = points[:0]
		for _, all := range at {
			// Where several workflows go the same way, the shorter ones show
			// the same in less time.
			slices.SortStableFunc(all, func(a, b point) int { return lengths[a.name] - lengths[b.name] })
			short := slices.IndexFunc(all, func(p point) bool { return lengths[p.name] > 2*lengths[all[0].name] })
			if short < 0 {
				short = len(all)
			}
			points = append(points, all[r.IntN(short)])
		}
		slices.SortFunc(points, func(a, b point) int { return cmp.Or(strings.Compare(a.name, b.name), a.n-b.n) })
		points = few(r, points, 9)
	} else if stride, err := strconv.Atoi(os.Getenv("REPRISE_MATRIX")); err == nil {
		points = slices.DeleteFunc(points, func(p point) bool { return p.n%stride != int(seed)%stride })
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(strings.Compare(a.name, b.name), a.n-b.n) })
	var mu sync.Mutex
	hit := map[string]bool{}
	kills, bad := 0, 0
	parallel(2, points, func(p point) {
		whole := undisturbed(t, p.name)
		k, err := play(t, whole.from, p.name, p.n)
		var problems []string
		if err != nil {
			problems = []string{err.Error()}
		} else {
			problems = whole.came.compare(k.outcome(t))
		}
		mu.Lock()
		defer mu.Unlock()
		if k.cut != "" {
			kills++
			hit[k.cut] = true
		}
		if len(problems) > 0 {
			bad++
			t.Errorf("%s killed before operation %d (%s):\n  %s", p.name, p.n, k.cut, strings.Join(problems, "\n  "))
			if bad <= 3 {
				k.dump(t)
			}
		}
		os.RemoveAll(filepath.Dir(k.dir))
	})
	t.Logf("%d kills at %d of %d ways to the disk; %d operations in all", kills, len(hit), len(at), ops)
}

// seedOf gives the seed of a random test and says it.
func seedOf(t testing.TB) uint64 {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("REPRISE_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("REPRISE_SEED=%d", seed)
	return seed
}

// few draws some of many points, which keep their order; all of them with
// REPRISE_MATRIX or REPRISE_ALL, as every night.
func few[T any](r *rand.Rand, points []T, n int) []T {
	if os.Getenv("REPRISE_MATRIX") != "" || sample.All() || len(points) <= n {
		return points
	}
	drawn := r.Perm(len(points))[:n]
	slices.Sort(drawn)
	var out []T
	for _, i := range drawn {
		out = append(out, points[i])
	}
	return out
}

// parallel does something with every item, a few at a time.
func parallel[T any](workers int, items []T, do func(T)) {
	next := make(chan T)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for item := range next {
				do(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	wg.Wait()
}

// TestO1_marks_lie_between_operations holds the marks in the sources against the
// documentation, and each against the ways on which operations are killed: one
// must lie before it in its function, or after it.
func TestO1_marks_lie_between_operations(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	documented := get(t, "..", "docs/explanation/durability.md")
	ways := map[string][]int{}
	for _, name := range []string{"file", "graph", "spec-loop"} {
		for _, site := range undisturbed(t, name).sites {
			for frame := range strings.FieldsSeq(site) {
				file, line, _ := strings.Cut(frame, ":")
				n, err := strconv.Atoi(line)
				if err != nil {
					t.Fatal(err)
				}
				ways[file] = append(ways[file], n)
			}
		}
	}
	for _, room := range []string{"engine", "journal"} {
		names, err := filepath.Glob("../" + room + "/*.go")
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			begins := 0 // the function we are in
			mark, marked := "", 0
			for i, line := range append(strings.Split(get(t, ".", name), "\n"), "func ") {
				is, found := strings.CutPrefix(strings.TrimSpace(line), "// crash: ")
				switch {
				case found:
					mark, marked = is, i+1
					if !strings.Contains(documented, "`"+mark+"`") {
						t.Errorf("%s:%d: docs/explanation/durability.md does not tell of %s", name, marked, mark)
					}
				case strings.HasPrefix(line, "func "):
					near := func(n int) bool { return n > begins && n <= i }
					if mark != "" && !slices.ContainsFunc(ways[room+"/"+filepath.Base(name)], near) {
						t.Errorf("%s:%d: no operation is near %s", name, marked, mark)
					}
					begins, mark = i+1, ""
				}
			}
		}
	}
}
