package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// recording is a session of a real program: what it printed and how it ended.
type recording struct {
	Preset, Version, Case string
	Resume                bool
	Session               string // asked for
	Exit                  int
	Signal                string
	Ours                  Outcome // it was ended by us, for this
	Want                  Outcome
	Stdout, Stderr        string
}

const streams = "testdata/streams"

// situations are what is recorded of every program.
var situations = []struct {
	name    string
	script  string
	approve Approval
	resume  string // the session to continue with
	signal  syscall.Signal
	want    Outcome
}{
	{name: "success", script: `{"turns":[{"text":"I write the file.","shell":"echo hello > made.txt"},{"text":"The file is written."}]}`, want: Done},
	{name: "killed-in-tool", script: longTool, signal: syscall.SIGKILL, want: Killed},
	{name: "stopped-in-tool", script: longTool, signal: syscall.SIGTERM, want: Killed},
	{name: "limit", script: `{"turns":[{"error":"rate_limit","headers":{"retry-after":"1"},"repeat":true}]}`, want: Limited},
	{name: "quota", script: `{"turns":[{"error":"quota","repeat":true}]}`, want: Limited},
	{name: "overflow", script: `{"turns":[{"error":"overflow","repeat":true}]}`, want: OutOfContext},
	{name: "auth", script: `{"turns":[{"error":"auth","repeat":true}]}`, want: NeedsSetup},
	{name: "unknown-session", script: `{"turns":[]}`, resume: "00000000-0000-4000-8000-000000000000", want: SessionNotFound},
	{name: "denied", script: `{"turns":[{"text":"I fetch it.","shell":"curl -sS http://127.0.0.1:1/ > made.txt"},{"text":"I could not."}]}`, approve: ApproveEdits, want: NeedsPerson},
}

// particular are outcomes that differ, by preset and situation.
var particular = map[string]Outcome{
	// It exits as if all were well, and its end is missing.
	"gemini/stopped-in-tool": Lost,
}

// escalated is the script of codex for a call that is denied: in its sandbox every command
// runs, and what is denied is to leave it.
const escalated = `{"turns":[{"text":"I fetch it.","tool":"exec_command","args":{"cmd":"curl -sS http://127.0.0.1:1/ > made.txt",
	"sandbox_permissions":"require_escalated","justification":"It needs the network."}},{"text":"I could not."}]}`

const longTool = `{"turns":[{"text":"This takes a while.","shell":"touch started; sleep 3; echo late > late.txt"},{"text":"Finished."}]}`

// TestRecord makes the recordings anew. What it leaves is looked at by a person
// before it is committed.
func TestRecord(t *testing.T) {
	only := os.Getenv("REPRISE_RECORD")
	if only == "" {
		t.Skip("makes recordings of the real programs: `make record-agents`")
	}
	for _, p := range versions(allPresets()) {
		folder := p.Name + "-" + p.Tested[0]
		for _, s := range situations {
			if only != "all" && !strings.HasPrefix(folder+"/"+s.name, only) {
				continue
			}
			t.Run(folder+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				script := s.script
				if p.Name == "codex" && s.name == "denied" {
					script = escalated
				}
				r := newRig(t, p, script)
				approve := s.approve
				if approve == "" {
					approve = ApproveAll
				}
				rec := recording{Preset: p.Name, Version: p.Tested[0], Case: s.name, Want: s.want, Resume: s.resume != "", Session: s.resume}
				if want, ok := particular[p.Name+"/"+s.name]; ok {
					rec.Want = want
				}
				if rec.Resume && p.Name == "opencode" {
					rec.Session = "ses_0000000000000000000000dead"
				}
				if !rec.Resume && p.Chooses {
					rec.Session = newID()
				}
				argv := slices.Concat(p.argv(Options{Approve: approve, Model: r.ModelName()}, Job{Resume: rec.Resume}, rec.Session), p.last)
				r.record(t, &rec, argv, s.signal)
				rec.save(t, r)
			})
		}
	}
}

// record runs the program to its end, or to a signal in the middle of a tool
// call. A program that would try for ever is ended by us.
func (r *rig) record(t *testing.T, rec *recording, argv []string, sig syscall.Signal) {
	t.Helper()
	cmd := exec.Command(behind(r.Program, r.preset.native, nil), argv...)
	cmd.Dir, cmd.Env = r.Dir, append(r.Environ(), r.preset.env...)
	cmd.Stdin = strings.NewReader("Do what the task says.\n")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // qwen 0.24 is the child of a wrapper
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	patience := 2 * time.Minute
	if rec.Want == Limited {
		patience = 25 * time.Second // some try for longer
	}
	timer := time.AfterFunc(patience, func() {
		rec.Ours = TimedOut
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may be gone by now
	})
	defer timer.Stop()
	if sig != 0 {
		for range 600 {
			if _, err := os.Stat(filepath.Join(r.Dir, "started")); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		rec.Signal = status.Signal().String()
	} else {
		rec.Exit = status.ExitStatus()
	}
	rec.Stdout, rec.Stderr = out.String(), stderr.String()
	t.Logf("%s: exit %d %s, %d requests", rec.Case, rec.Exit, rec.Signal, len(r.Model.Requests()))
}

var (
	ports  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	frames = regexp.MustCompile(`(?m)^\s+at .*\n`)
	stamps = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d[-.]\d+Z`)
)

// save writes a recording, shortened and without anything of this machine.
func (rec *recording) save(t *testing.T, r *rig) {
	t.Helper()
	var lines []string
	last := ""
	for line := range strings.Lines(rec.Stdout) {
		short := shorten(strings.TrimSuffix(line, "\n"))
		if kind := strings.TrimRight(stamps.ReplaceAllString(short, ""), "\n"); strings.Contains(kind, "background_tasks_changed") {
			if last == "background" {
				continue
			}
			last = "background"
		} else {
			last = ""
		}
		lines = append(lines, short)
	}
	scrub := func(text string) string {
		text = frames.ReplaceAllString(text, "")
		agents, _ := filepath.EvalSymlinks("../bin/agents")
		for _, p := range [][2]string{
			{r.Home, "/home/agent"}, {r.Dir, "/project"}, {r.Tmp, "/scratch"}, {filepath.Dir(r.Home), "/base"}, {agents, "/agents"},
			{strings.ReplaceAll(r.Dir, "/", "-"), "-project"},
		} {
			text = strings.ReplaceAll(text, p[0], p[1])
		}
		return ports.ReplaceAllString(stamps.ReplaceAllString(text, "2026-01-02T03:04:05.006Z"), "127.0.0.1:1")
	}
	a := &txtar.Archive{
		Comment: fmt.Appendf(nil, "Recorded of %s %s; long values are left out.\nresume: %v\nsession: %s\nexit: %d\nsignal: %s\nours: %s\noutcome: %s\n",
			rec.Preset, rec.Version, rec.Resume, rec.Session, rec.Exit, rec.Signal, rec.Ours, rec.Want),
		Files: []txtar.File{
			{Name: "stdout", Data: []byte(scrub(strings.Join(lines, "\n")))},
			{Name: "stderr", Data: []byte(scrub(rec.Stderr))},
		},
	}
	dir := filepath.Join(streams, rec.Preset+"-"+rec.Version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, rec.Case+".txtar"), txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shorten leaves long lists and texts out of an event.
func shorten(line string) string {
	var v any
	if json.Unmarshal([]byte(line), &v) != nil {
		return line
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(prune(v)) != nil {
		return line
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"usage", "modelUsage", "slash_commands", "tools", "skills", "agents", "memory_paths", "stats"} {
			delete(v, k)
		}
		for k, x := range v {
			v[k] = prune(x)
		}
	case []any:
		if len(v) > 8 {
			return []any{}
		}
		for i, x := range v {
			v[i] = prune(x)
		}
	case string:
		if r := []rune(v); len(r) > 400 {
			return string(r[:400]) + "…"
		}
	}
	return v
}
