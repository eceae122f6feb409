package temporal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/engine/temporal"
	"reprise/internal/shim"
	"reprise/report"
)

// The tests drive the real program against a real server on loopback. REPRISE_TEMPORAL
// names the server's binary, as `make test-fleet` sets it; without it they are left out.

// fleet is a server, and the program that the tests start.
type fleet struct {
	bin, dir string
	port     int
	server   *exec.Cmd
}

var shared fleet

func TestMain(m *testing.M) {
	if handled, code := shim.Main(os.Args[1:]); handled { // the keeper of an attempt
		os.Exit(code)
	}
	code, err := withServer(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withServer(m *testing.M) (int, error) {
	if os.Getenv("REPRISE_TEMPORAL") == "" {
		fmt.Println("fleet: REPRISE_TEMPORAL names no server, the tests that need one are left out; make test-fleet builds it")
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "fleet-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	shared = fleet{dir: dir, bin: filepath.Join(dir, "reprise-fleet")}
	if out, err := exec.Command("go", "build", "-o", shared.bin, "./cmd/reprise-fleet").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("%w: %s", err, out)
	}
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", filepath.Join(dir, "reprise"), "./cmd/reprise").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("%w: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1, err
	}
	shared.port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	if err := shared.up(); err != nil {
		return 1, err
	}
	defer shared.down()
	return m.Run(), nil
}

// up starts the server on its database.
func (f *fleet) up() error {
	f.server = exec.Command(os.Getenv("REPRISE_TEMPORAL"), "server", "start-dev", "--ip", "127.0.0.1", "--port", fmt.Sprint(f.port),
		"--db-filename", filepath.Join(f.dir, "db"), "--headless", "--log-level", "never")
	if err := startWithUs(f.server); err != nil {
		return err
	}
	for range 600 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", f.port)); err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the server does not come up")
}

// startWithUs starts a process that is killed when this one ends. The system kills it when the
// thread ends that started it: that thread is kept.
func startWithUs(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		select {}
	}()
	return <-started
}

// down kills the server.
func (f *fleet) down() {
	_ = f.server.Process.Kill()
	_ = f.server.Wait()
}

// site is a project with its remote, and the workers that take part in it.
type site struct {
	*testing.T
	dir, clone, remote, launches string
	workers                      map[string]*member
}

// reprise.yaml of a site: every role is played by the demo's actor.
const actorSettings = `agents:
  actor: {command: [%q, __play-agent]}
roles: {default: actor}
env: [DEMO_LAUNCHES, DEMO_PAUSE, DEMO_HOLD, FLEET_LOG, WORKER]
backoff: 1s
families:
  todo:
    lists: ["work/*/todo.md"]
    item: '^(?P<id>W\d+) (?P<text>.+)'
`

func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	if shared.server == nil {
		t.Skip("fleet: no server")
	}
	dir := t.TempDir()
	s := &site{T: t, dir: dir, clone: filepath.Join(dir, "clone"), remote: filepath.Join(dir, "remote.git"), launches: filepath.Join(dir, "launches"), workers: map[string]*member{}}
	s.must(exec.Command("git", "init", "-q", "--bare", "-b", "main", s.remote))
	s.must(exec.Command("git", "clone", "-q", s.remote, s.clone))
	s.put("reprise.yaml", fmt.Sprintf(actorSettings, shared.bin))
	for name, text := range files {
		s.put(name, text)
	}
	s.git("checkout", "-q", "-B", "main")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "base")
	s.git("push", "-q", "origin", "main")
	return s
}

func (s *site) must(cmd *exec.Cmd) string {
	s.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
	return string(out)
}

func (s *site) put(name, text string) {
	s.Helper()
	name = filepath.Join(s.clone, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

func (s *site) git(args ...string) string {
	s.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = s.clone
	return strings.TrimSpace(s.must(cmd))
}

func (s *site) env(more ...string) []string {
	home := filepath.Join(s.dir, "home")
	return append([]string{
		"PATH=" + shared.dir + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "DEMO_LAUNCHES=" + s.launches, "FLEET_LOG=" + s.launches,
		fmt.Sprintf("TEMPORAL_ADDRESS=127.0.0.1:%d", shared.port),
	}, more...)
}

// worker starts a worker that trusts everything; it is killed at the end of the test.
func (s *site) worker(name string, env ...string) *member {
	return s.workerWith(name, []string{"--trust"}, env...)
}

// workerWith starts a worker with flags of its own.
func (s *site) workerWith(name string, flags []string, env ...string) *member {
	s.Helper()
	cmd := exec.Command(shared.bin, append([]string{"worker", "--name", name, "--parallel", fmt.Sprint(number("REPRISE_FLEET_SLOTS", 2)), "--work", filepath.Join(s.dir, "worker-"+name), "-C", s.clone}, flags...)...)
	cmd.Env = s.env(append(env, "WORKER="+name)...)
	log, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		s.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr, cmd.Stdout = log, log
	if err := startWithUs(cmd); err != nil {
		s.Fatal(err)
	}
	m := &member{cmd, make(chan struct{})}
	go func() { _ = cmd.Wait(); close(m.gone) }()
	s.workers[name] = m
	s.Cleanup(func() {
		m.kill()
		m.rest()
		if s.Failed() {
			text, _ := os.ReadFile(log.Name())
			s.Logf("worker %s: %s", name, text)
		}
	})
	return m
}

// result is what a command said.
type result struct {
	out, err string
	code     int
}

// ended reports whether a run that was followed came to its end: then, or before anyone
// followed it.
func ended(r result) bool { return r.code == 0 || r.code == 3 }

func (s *site) fleet(args ...string) result {
	s.Helper()
	return s.program(shared.bin, append(args, "-C", s.clone)...)
}

func (s *site) program(bin string, args ...string) result {
	s.Helper()
	return s.programWith(nil, bin, args...)
}

// programWith is program with variables of its own.
func (s *site) programWith(env []string, bin string, args ...string) result {
	s.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Env = s.env(env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	return result{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// summary is the document that a command ended with.
func (s *site) summary(r result) report.Summary {
	s.Helper()
	var sum report.Summary
	if err := json.Unmarshal([]byte(r.out), &sum); err != nil {
		s.Fatalf("exit %d: %v in %q, %s", r.code, err, r.out, r.err)
	}
	if sum.Kind == "" || sum.ID == "" {
		s.Errorf("it does not say what it is about: %s", r.out)
	}
	if null := regexp.MustCompile(`"(finished|failed|skipped|parked|left|reasons|questions|findings)":null`).FindString(r.out); null != "" {
		s.Errorf("a list is null: %s", null)
	}
	return sum
}

// checkout fetches the branch of a run and checks it out.
func (s *site) checkout(run string) string {
	s.Helper()
	dir := filepath.Join(s.dir, "seen-"+run)
	if err := os.RemoveAll(dir); err != nil {
		s.Fatal(err)
	}
	s.must(exec.Command("git", "clone", "-q", "-b", temporal.Branch(run), s.remote, dir))
	return dir
}

// until waits for a condition.
func (s *site) until(what string, ok func() bool) {
	s.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if ok() {
			return
		}
	}
	s.Fatalf("it never came that %s\n%s", what, s.fleet("status").out)
}

// attempts counts the lines that agents left of a step of a run.
func (s *site) attempts(run, step string) (n int) {
	text, _ := os.ReadFile(s.launches)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, run+" "+step+" ") {
			n++
		}
	}
	return n
}

// launched are the lines that agents left.
func (s *site) launched() string {
	text, _ := os.ReadFile(s.launches)
	return string(text)
}

// landed are the commits on the branch of a run that accept an attempt, by step.
func (s *site) landed(run string) map[string]int {
	s.Helper()
	dir := s.checkout(run)
	cmd := exec.Command("git", "log", "--format=%(trailers:key="+reprise.TrailerKey+",valueonly)", "HEAD")
	cmd.Dir = dir
	out := map[string]int{}
	for line := range strings.Lines(s.must(cmd)) {
		key, accepted := strings.CutSuffix(strings.TrimSpace(line), reprise.TrailerAccepted)
		if _, step, ok := strings.Cut(key, "/"); ok && accepted {
			step, _, _ = strings.Cut(step, "#")
			out[step]++
		}
	}
	return out
}

// record keeps the history of a run in testdata, where REPRISE_RECORD asks for it.
func (s *site) record(run string) {
	s.Helper()
	if os.Getenv("REPRISE_RECORD") == "" {
		return
	}
	id := temporal.Identity(s.remote) + ":" + run
	out := s.must(exec.Command(os.Getenv("REPRISE_TEMPORAL"), "workflow", "show", "-w", id, "--output", "json", "--address", fmt.Sprintf("127.0.0.1:%d", shared.port)))
	out = regexp.MustCompile(`"identity": "[^"]*"`).ReplaceAllString(out, `"identity": "worker"`)
	if err := os.WriteFile(filepath.Join("testdata", "histories", run+".json"), []byte(out), 0o644); err != nil {
		s.Fatal(err)
	}
}
