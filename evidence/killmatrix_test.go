//go:build linux

package evidence

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/agenttest"
	"reprise/internal/proc"
	"reprise/internal/sample"
)

// headless are the arguments that start each program without a person. What it
// prints is captured, as the engine does.
var headless = map[string][]string{
	"claude":   {"-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5", "go"},
	"codex":    {"exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go"},
	"gemini":   {"-m", "gemini-2.5-flash", "--skip-trust", "--approval-mode", "yolo", "-o", "stream-json", "-p", "go"},
	"opencode": {"run", "--format", "json", "--auto", "-m", "stub/stub-model", "go"},
	"qwen":     {"--approval-mode", "yolo", "-o", "stream-json", "-p", "go"},
	"copilot":  {"--allow-all-tools", "--no-auto-update", "--output-format", "json", "-p", "go"},
}

// quick are those that every run of the tests can afford.
var quick = []string{"codex", "claude"}

// scene is a real agent at work in a project.
type scene struct {
	t   *testing.T
	rig *agenttest.Rig
	cmd *exec.Cmd
	run *reprise.Run
}

func play(t *testing.T, p agent.Preset, script string) *scene {
	t.Helper()
	s := &scene{t: t, rig: agenttest.New(t, p.Name, p.Tested[0], p.Program, script), run: &reprise.Run{State: reprise.Interrupted, Reason: "1 of 2 done"}}
	logs := filepath.Join(s.rig.Dir, ".reprise/logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(logs, "attempt.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	s.cmd = exec.Command(s.rig.Program, headless[p.Name]...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.rig.Dir, log, log
	s.cmd.Env = append(s.rig.Environ(), "GEMINI_CLI_NO_RELAUNCH=true")
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.sweep)
	return s
}

// sweep ends what the agent and its commands left running in the project.
func (s *scene) sweep() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it may have been waited for
	for range 50 {
		left := slices.DeleteFunc(proc.Working(s.rig.Dir).Found, func(w proc.Worker) bool { return w.Above })
		if len(left) == 0 {
			return
		}
		for _, w := range left {
			_ = syscall.Kill(w.PID, syscall.SIGKILL)
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Error("something lives on in the project")
}

// kill ends the agent as a power cut would, and nothing that it started.
func (s *scene) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	// A wrapper leaves the agent itself behind.
	for _, w := range proc.Working(s.rig.Dir).Found {
		if !w.Above && runsCLI(w.Command, s.rig.Name) {
			_ = syscall.Kill(w.PID, syscall.SIGKILL)
		}
	}
	time.Sleep(200 * time.Millisecond)
}

func (s *scene) await(what string, ready func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !ready(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			out, _ := os.ReadFile(filepath.Join(s.rig.Dir, ".reprise/logs/attempt.log"))
			s.t.Fatalf("waited too long for %s; it printed:\n%s", what, out)
		}
	}
}

func (s *scene) file(name string) func() bool {
	return func() bool { _, err := os.Stat(filepath.Join(s.rig.Dir, name)); return err == nil }
}

func (s *scene) look() (reprise.Observed, []reprise.Session, reprise.Decision) {
	s.t.Helper()
	o, list, d := s.gather()
	if len(o.SessionsUnread) > 0 {
		s.t.Errorf("not read: %q", o.SessionsUnread)
	}
	return o, list, d
}

// gather is look, where something may be left that cannot be read.
func (s *scene) gather() (reprise.Observed, []reprise.Session, reprise.Decision) {
	o := Gather(s.t.Context(), s.rig.Dir, []*reprise.Run{s.run}, time.Now(), Options{Environ: s.rig.Environ(), Logs: filepath.Join(s.rig.Dir, ".reprise/logs")})
	return o, o.SessionsOn(s.run), reprise.Next(s.run, o, reprise.Policy{})
}

// inTurn reports whether each session is said to be in a turn, and nothing more is
// known of it.
func inTurn(list []reprise.Session, d reprise.Decision) bool {
	return !slices.ContainsFunc(list, func(s reprise.Session) bool {
		return s.Ended || len(s.Calls) != 1 || s.Calls[0].Tool != "" || !s.Calls[0].Open() || d.Verdict == reprise.Safe
	})
}

const inTool = `{"turns":[{"text":"First.","shell":"echo one > one.txt"},{"text":"Running.","shell":"touch started; sleep 97; echo late > late.txt"},{"text":"Done."}]}`

func TestAC_real_kill_matrix(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for _, p := range agent.Presets() {
		if headless[p.Name] == nil {
			continue
		}
		for i, version := range p.Tested {
			p := p
			p.Tested = []string{version}
			t.Run(p.Name+"-"+version, func(t *testing.T) {
				t.Parallel()
				if (i > 0 || !slices.Contains(quick, p.Name)) && os.Getenv("REPRISE_AGENTS") != "all" {
					t.Skip("takes long: `make test-agents` tries it")
				}
				t.Run("before the first event", func(t *testing.T) { killEarly(t, p) })
				t.Run("in a tool call", func(t *testing.T) { killInTool(t, p) })
				t.Run("between turns", func(t *testing.T) { killBetween(t, p) })
				t.Run("not at all", func(t *testing.T) { leaveAlone(t, p) })
			})
		}
	}
}

func killEarly(t *testing.T, p agent.Preset) {
	s := play(t, p, `{"turns":[{"text":"Late.","delay_ms":60000}]}`)
	s.await("a request", func() bool { return len(s.rig.Model.Requests()) > 0 })
	s.kill()
	// It may not have written a whole record before; that cannot be read then, and is said.
	if _, list, d := s.gather(); !inTurn(list, d) || d.Action == reprise.Refuse {
		t.Errorf("%+v\n%+v", list, d)
	}
}

func killInTool(t *testing.T, p agent.Preset) {
	s := play(t, p, inTool)
	s.await("the command", s.file("started"))
	time.Sleep(700 * time.Millisecond)
	if _, list, d := s.look(); d.Action != reprise.Refuse || d.State != reprise.Running {
		t.Errorf("while it works: %+v\n%+v", list, d)
	}
	s.kill()
	// Some take their commands with them, and that may happen while we look.
	lives := func() bool {
		return slices.ContainsFunc(proc.Working(s.rig.Dir).Found, func(w proc.Worker) bool { return strings.Contains(w.Command, "sleep 97") })
	}
	left := lives()
	_, list, d := s.look()
	if left && !lives() {
		left = false
		_, list, d = s.look()
	}
	if left != (d.Action == reprise.Refuse) || !left && slices.Contains(quick, p.Name) {
		t.Errorf("its command lives on, %t: %+v\n%+v", left, list, d)
	}
	s.sweep()
	var o reprise.Observed
	o, list, d = s.look()
	calls := open(list)
	if len(calls) != 1 || calls[0].Landing != reprise.LandedPartly || calls[0].Effect != reprise.EffectFile || !strings.Contains(calls[0].Text, "touch started") {
		t.Fatalf("%+v", list)
	}
	if !slices.ContainsFunc(d.Reasons, func(r string) bool { return strings.Contains(r, "left no result") }) || d.Action == reprise.Refuse {
		t.Errorf("%+v", d)
	}
	registered := p.Name == "claude" || p.Name == "codex" || p.Name == "copilot"
	if life := o.Sessions[0].Owner; registered != (life.Life == reprise.Dead) || life.Life == reprise.Alive {
		t.Errorf("%+v", life)
	}
	s.tear(o.Sessions[0].Path)
}

// open are the calls of sessions that no one may take for done.
func open(list []reprise.Session) (out []reprise.Call) {
	for _, s := range list {
		for _, c := range s.Calls {
			if c.Open() {
				out = append(out, c)
			}
		}
	}
	return out
}

// tear cuts the transcript of a killed session inside its last records, as a
// kill while it writes would: whatever is left, nothing begun looks done.
func (s *scene) tear(path string) {
	s.t.Helper()
	if s.rig.Name == "opencode" {
		path += "-wal" // there the log is what is written
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	begin := bytes.LastIndex(whole, []byte("touch started"))
	// The first record stays: of a file without one nothing is known, and that is said.
	last := max(bytes.LastIndexByte(whole[:max(begin, 0)], '\n'), bytes.IndexByte(whole, '\n')) + 1
	end := len(whole)
	if i := bytes.IndexByte(whole[max(begin, 0):], '\n'); begin >= 0 && i >= 0 {
		end = begin + i // of the record of the call
	}
	for cut := end; cut > last && cut > end-4000; cut -= 113 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			s.t.Fatal(err)
		}
		o, list, d := s.look()
		if slices.ContainsFunc(o.Sessions, func(s reprise.Session) bool { return s.Ended }) {
			s.t.Errorf("cut at %d, it looks ended: %+v", cut, list)
		}
		if len(open(list)) == 0 && s.rig.Name != "opencode" || d.Verdict == reprise.Safe {
			s.t.Errorf("cut at %d, nothing is in the air: %+v", cut, list)
		}
		if s.t.Failed() {
			return
		}
	}
}

func killBetween(t *testing.T, p agent.Preset) {
	s := play(t, p, `{"turns":[{"text":"First.","shell":"echo one > one.txt"},{"text":"Half a sentence","hang":true}]}`)
	s.await("the file", s.file("one.txt"))
	s.await("the next request", func() bool {
		n := 0
		for _, r := range s.rig.Model.Requests() {
			if !r.Side {
				n++
			}
		}
		return n >= 2
	})
	time.Sleep(300 * time.Millisecond)
	s.kill()
	s.sweep()
	if _, list, d := s.look(); len(list) == 0 || !inTurn(list, d) || d.Action == reprise.Refuse {
		t.Errorf("%+v\n%+v", list, d)
	}
}

func leaveAlone(t *testing.T, p agent.Preset) {
	s := play(t, p, `{"turns":[{"text":"First.","shell":"echo one > one.txt"},{"text":"Done."}]}`)
	if err := s.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s.sweep()
	before := pictureOf(t, s.rig.Home)
	_, list, d := s.look()
	if len(list) == 0 || len(open(list)) > 0 || !list[0].Ended || list[0].Owner.Life != reprise.Dead || list[0].Version == "" && p.Name != "gemini" || d.Action == reprise.Refuse {
		t.Errorf("%+v\n%+v", list, d)
	}
	if after := pictureOf(t, s.rig.Home); before != after {
		t.Errorf("the home was changed:\n%s\n%s", before, after)
	}
}

// pictureOf tells names, sizes and times of all files below a folder.
func pictureOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.ModTime().String() + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
