//go:build linux

package evidence

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/internal/proc"
	"reprise/internal/transcript"
)

// desk is a project and a home with the stores of agents.
type desk struct {
	place
	home string
	run  *reprise.Run
	// before counts the lines that were put before those of a recording.
	before int
}

func newDesk(t *testing.T) desk {
	t.Helper()
	p := newPlace(t)
	d := desk{place: p, home: filepath.Join(filepath.Dir(p.dir), "home"), run: &reprise.Run{State: reprise.Interrupted}}
	d.environ = append(d.environ, "HOME="+d.home)
	d.commit("README", "Begin")
	return d
}

// put writes a file of the home; DIR and NOW in it stand for the project and
// for this moment.
func (d desk) put(name, content string) {
	d.t.Helper()
	content = strings.NewReplacer("DIR", d.dir, "NOW", time.Now().UTC().Format(time.RFC3339Nano)).Replace(content)
	at := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d desk) file(name, content string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(content), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d desk) gather() reprise.Observed {
	d.t.Helper()
	return Gather(d.t.Context(), d.dir, []*reprise.Run{d.run}, time.Now(), Options{Environ: d.environ, Logs: filepath.Join(d.dir, ".reprise/logs")})
}

// claude leaves a transcript of claude whose last call has no result.
func (d desk) claude(tool, input string) {
	d.put(d.claudeFolder()+"/s1.jsonl", `{"type":"user","message":{"role":"user","content":"go"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1","version":"2.1.197"}
{"type":"assistant","message":{"role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c1","name":"`+tool+`","input":`+input+`}]},"timestamp":"NOW","cwd":"DIR","sessionId":"s1"}
`)
}

// claudeFolder is where claude keeps its sessions in the project.
func (d desk) claudeFolder() string {
	return ".claude/projects/" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, d.dir)
}

func only(t *testing.T, o reprise.Observed) (reprise.Session, reprise.Call) {
	t.Helper()
	if len(o.Sessions) != 1 || len(o.Sessions[0].Calls) != 1 || len(o.SessionsUnread) > 0 {
		t.Fatalf("%+v %q", o.Sessions, o.SessionsUnread)
	}
	return o.Sessions[0], o.Sessions[0].Calls[0]
}

func TestAC_what_became_of_a_call(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, input string
		before      func(d desk)
		after       func(d desk)
		effect      reprise.Effect
		want        reprise.Landing
	}{
		"write that landed":         {"Write", `{"file_path":"DIR/a","content":"new\n"}`, nil, func(d desk) { d.file("a", "new\n") }, reprise.EffectFile, reprise.Landed},
		"write that did not":        {"Write", `{"file_path":"DIR/a","content":"new\n"}`, nil, nil, reprise.EffectFile, reprise.NotLanded},
		"write cut short":           {"Write", `{"file_path":"DIR/a","content":"new\n"}`, nil, func(d desk) { d.file("a", "ne") }, reprise.EffectFile, reprise.LandingUnknown},
		"write over something else": {"Write", `{"file_path":"DIR/a","content":"new\n"}`, nil, func(d desk) { d.file("a", "other") }, reprise.EffectFile, reprise.LandingUnknown},
		"old file":                  {"Write", `{"file_path":"DIR/a","content":"new\n"}`, func(d desk) { d.file("a", "other"); d.age("a") }, nil, reprise.EffectFile, reprise.NotLanded},
		"edit that landed":          {"Edit", `{"file_path":"DIR/a","old_string":"x","new_string":"y"}`, nil, func(d desk) { d.file("a", "a y b") }, reprise.EffectFile, reprise.Landed},
		"edit that did not":         {"Edit", `{"file_path":"DIR/a","old_string":"x","new_string":"y"}`, nil, func(d desk) { d.file("a", "a x b") }, reprise.EffectFile, reprise.NotLanded},
		"edit, neither":             {"Edit", `{"file_path":"DIR/a","old_string":"x","new_string":"y"}`, nil, func(d desk) { d.file("a", "zzz") }, reprise.EffectFile, reprise.LandingUnknown},
		"insertion":                 {"Edit", `{"file_path":"DIR/a","old_string":"x","new_string":"x then y"}`, nil, func(d desk) { d.file("a", "a x b") }, reprise.EffectFile, reprise.NotLanded},
		"patch in part":             {"apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n+one\n*** Add File: b\n+two\n*** End Patch"}`, nil, func(d desk) { d.file("a", "one\n") }, reprise.EffectFile, reprise.LandedPartly},
		"command in part":           {"Bash", `{"command":"touch started; sleep 60; echo late > late.txt"}`, nil, func(d desk) { d.file("started", "") }, reprise.EffectFile, reprise.LandedPartly},
		"command, all of it":        {"Bash", `{"command":"touch started; echo late > late.txt"}`, nil, func(d desk) { d.file("started", ""); d.file("late.txt", "late\n") }, reprise.EffectFile, reprise.Landed},
		"command, nothing":          {"Bash", `{"command":"touch started; echo late > late.txt"}`, nil, nil, reprise.EffectFile, reprise.NotLanded},
		"output begun":              {"Bash", `{"command":"date > now"}`, nil, func(d desk) { d.file("now", "") }, reprise.EffectFile, reprise.LandingUnknown},
		"commit that landed":        {"Bash", `{"command":"git add -A && git commit -m 'Add a'"}`, nil, func(d desk) { d.commit("a", "Add a") }, reprise.EffectGit, reprise.Landed},
		"commit that did not":       {"Bash", `{"command":"git add -A && git commit -m 'Add a'"}`, nil, nil, reprise.EffectGit, reprise.NotLanded},
		"branch that landed":        {"Bash", `{"command":"git checkout -b topic"}`, nil, func(d desk) { d.git("branch", "topic") }, reprise.EffectGit, reprise.Landed},
		"push":                      {"Bash", `{"command":"git commit -m 'Add a' && git push"}`, nil, func(d desk) { d.commit("a", "Add a") }, reprise.EffectRemoteGit, reprise.LandingUnknown},
		"unknown program":           {"Bash", `{"command":"./deploy && touch done"}`, nil, nil, reprise.EffectUnknown, reprise.LandingUnknown},
		"unknown program, done":     {"Bash", `{"command":"./deploy; touch done"}`, nil, func(d desk) { d.file("done", "") }, reprise.EffectUnknown, reprise.LandingUnknown},
		"tool of others":            {"mcp__x__write", `{"file_path":"DIR/a","content":"new\n"}`, nil, func(d desk) { d.file("a", "new\n") }, reprise.EffectUnknown, reprise.LandingUnknown},
		"only reads":                {"Read", `{"file_path":"DIR/a"}`, nil, nil, reprise.EffectNone, reprise.NotLanded},
		"outside":                   {"Write", `{"file_path":"/etc/hostname","content":"new\n"}`, nil, nil, reprise.EffectFile, reprise.LandingUnknown},
		"through a link":            {"Write", `{"file_path":"DIR/out/x","content":"new\n"}`, func(d desk) { d.link("out", d.home) }, nil, reprise.EffectFile, reprise.LandingUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.place.t = t
			if c.before != nil {
				c.before(d)
			}
			d.claude(c.tool, c.input)
			if c.after != nil {
				c.after(d)
			}
			o := d.gather()
			s, call := only(t, o)
			if call.Effect != c.effect || call.Landing != c.want || len(call.Signs) == 0 {
				t.Errorf("%s, %s: %q", call.Effect, call.Landing, call.Signs)
			}
			if s.CLI != "claude" || s.Dir != "." || s.Version != "2.1.197" || s.Ended {
				t.Errorf("%+v", s)
			}
			d2 := reprise.Next(d.run, o, reprise.Policy{})
			if unsure := c.want == reprise.LandingUnknown || c.want == reprise.LandedPartly; unsure && d2.Verdict == reprise.Safe {
				t.Errorf("safe with this in the air: %+v", d2)
			}
		})
	}
}

// age makes a file of the project look old.
func (d desk) age(name string) {
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(d.dir, name), then, then); err != nil {
		d.t.Fatal(err)
	}
}

func (d desk) link(name, to string) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Symlink(to, filepath.Join(d.dir, name)); err != nil {
		d.t.Fatal(err)
	}
}

// start runs a command in the project until the test ends. It has the name of a
// program by a link to it.
func (d desk) start(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		d.t.Skip("there is no sleep program")
	}
	cmd := exec.Command(sleep, args...)
	cmd.Args[0], cmd.Dir = name, d.dir
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func ticks(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))[19]
}

func TestAC_a_live_session_is_told_by_what_the_program_keeps(t *testing.T) {
	t.Parallel()
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.claude("Read", `{"file_path":"DIR/a"}`)
		p := d.start("something", "60")
		entry := func(ticks string) {
			d.put(fmt.Sprintf(".claude/sessions/%d.json", p.Process.Pid), fmt.Sprintf(`{"pid":%d,"sessionId":"s1","cwd":"DIR","startedAt":1,"procStart":"%s","version":"2.1.197"}`, p.Process.Pid, ticks))
		}
		entry(ticks(t, p.Process.Pid))
		s, _ := only(t, d.gather())
		if s.Owner.Life != reprise.Alive {
			t.Errorf("registered and running: %+v", s.Owner)
		}
		if got := reprise.Next(d.run, d.gather(), reprise.Policy{}); got.Action != reprise.Refuse || got.State != reprise.Running {
			t.Errorf("%+v", got)
		}
		entry("7")
		if s, _ := only(t, d.gather()); s.Owner.Life != reprise.Dead || !strings.Contains(s.Owner.Reason, ", and ") {
			t.Errorf("the number was used again: %+v", s.Owner)
		}
		entry(ticks(t, p.Process.Pid))
		_ = p.Process.Kill()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			s, _ := only(t, d.gather())
			if s.Owner.Life == reprise.Dead {
				break // ended, and not collected by us yet
			}
			if time.Now().After(deadline) {
				t.Fatalf("ended: %+v", s.Owner)
			}
		}
		_ = p.Wait()
		if s, _ := only(t, d.gather()); s.Owner.Life != reprise.Dead {
			t.Errorf("gone: %+v", s.Owner)
		}
		d.put(".claude/sessions/1.json", `{"pid":`)
		if o := d.gather(); len(o.SessionsUnread) != 1 {
			t.Errorf("a damaged entry is not told: %q", o.SessionsUnread)
		}
	})
	t.Run("claude before its first record", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.start("claude", "60")
		d.put(".claude/sessions/1.json", fmt.Sprintf(`{"pid":%d,"sessionId":"s9","cwd":"DIR","procStart":"%s"}`, p.Process.Pid, ticks(t, p.Process.Pid)))
		if o := d.gather(); len(o.Sessions) != 1 || o.Sessions[0].ID != "s9" || o.Sessions[0].Owner.Life != reprise.Alive {
			t.Errorf("%+v", o.Sessions)
		}
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.put(".codex/sessions/2026/11/15/rollout-s1.jsonl", `{"timestamp":"NOW","type":"session_meta","payload":{"id":"s1","cwd":"DIR","cli_version":"0.166.0"}}
{"timestamp":"NOW","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"c1"}}
`)
		if s, _ := only(t, d.gather()); s.Owner.Life != reprise.LifeUnknown {
			t.Errorf("one sign is not enough: %+v", s.Owner)
		}
		d.put(".codex/thread-writer-locks/s1.lock", "")
		if s, _ := only(t, d.gather()); s.Owner.Life != reprise.Dead {
			t.Errorf("free: %+v", s.Owner)
		}
		lock := filepath.Join(d.home, ".codex/thread-writer-locks/s1.lock")
		f, err := os.Open(lock)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		// We hold it ourselves, as a program that calls us would.
		if s, _ := only(t, d.gather()); s.Owner.Life != reprise.Alive || !s.Caller {
			t.Errorf("held by whoever calls: %+v", s)
		}
		f.Close()
		holder := exec.Command("flock", lock, "sleep", "60")
		holder.Dir, holder.SysProcAttr = d.home, &syscall.SysProcAttr{Setpgid: true}
		if err := holder.Start(); err != nil {
			t.Skip("there is no flock program")
		}
		t.Cleanup(func() { _ = syscall.Kill(-holder.Process.Pid, syscall.SIGKILL); _ = holder.Wait() })
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			s, _ := only(t, d.gather())
			if s.Owner.Life == reprise.Alive && !s.Caller {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("held by another: %+v", s)
			}
		}
	})
	t.Run("copilot", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.start("copilot", "60")
		d.put(".copilot/session-state/s1/events.jsonl", `{"type":"session.start","data":{"sessionId":"s1","copilotVersion":"1.0.102","context":{"cwd":"DIR"}},"timestamp":"NOW"}
{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":"make"}},"timestamp":"NOW"}
`)
		d.put(fmt.Sprintf(".copilot/session-state/s1/inuse.%d.lock", p.Process.Pid), "")
		if s, _ := only(t, d.gather()); s.Owner.Life != reprise.Alive {
			t.Errorf("%+v", s.Owner)
		}
		_ = p.Process.Kill()
		_ = p.Wait()
		if s, _ := only(t, d.gather()); s.Owner.Life != reprise.Dead {
			t.Errorf("%+v", s.Owner)
		}
	})
	t.Run("a program without a registry", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.start("gemini", "60")
		if o := d.gather(); len(o.Sessions) != 1 || o.Sessions[0].CLI != "gemini" || o.Sessions[0].Owner.Life != reprise.Alive {
			t.Errorf("%+v", o.Sessions)
		}
	})
	t.Run("a program that came later", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		folder := strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(d.dir)
		d.put(".qwen/projects/"+folder+"/chats/s1.jsonl", `{"uuid":"a","sessionId":"s1","timestamp":"2026-01-02T03:04:05Z","type":"user","cwd":"DIR","version":"0.15.10","message":{"parts":[{"text":"go"}]}}
{"uuid":"b","sessionId":"s1","timestamp":"2026-01-02T03:04:06Z","type":"assistant","message":{"parts":[{"functionCall":{"id":"c1","name":"run_shell_command","args":{"command":"./deploy"}}}]}}
`)
		d.start("qwen", "60")
		o := d.gather()
		if len(o.Sessions) != 2 || o.Sessions[0].ID != "" || o.Sessions[0].Owner.Life != reprise.Alive || o.Sessions[1].ID != "s1" || o.Sessions[1].Owner.Life != reprise.LifeUnknown {
			t.Errorf("%+v", o.Sessions)
		}
	})
	t.Run("a session elsewhere", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		d.claude("Bash", `{"command":"make"}`)
		other := newDesk(t)
		other.home, other.environ = d.home, d.environ
		if o := other.gather(); len(o.Sessions) != 0 {
			t.Errorf("%+v", o.Sessions)
		}
	})
}

// A command that outlives its agent still works in the folder.
func TestAC_a_command_that_lives_on_is_found(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.claude("Bash", `{"command":"touch started; sleep 61; echo late > late.txt"}`)
	cmd := exec.Command("bash", "-c", "touch started; sleep 61; echo late > late.txt")
	cmd.Dir, cmd.SysProcAttr = d.dir, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Skip("there is no bash")
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(d.dir, "started")); err == nil || time.Now().After(deadline) {
			break
		}
	}
	s, call := only(t, d.gather())
	if s.Owner.Life != reprise.Alive || call.Landing != reprise.LandingUnknown || !strings.Contains(call.Signs[0], "still carries it out") {
		t.Errorf("%+v", s)
	}
}

// What was under way in gemini is in our own log alone.
func TestAC_gemini_is_told_by_our_log(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.put(".gemini/tmp/x/.project_root", "DIR")
	d.put(".gemini/tmp/x/chats/session-1.jsonl", `{"sessionId":"s1","startTime":"NOW","kind":"main"}
{"id":"a","timestamp":"NOW","type":"gemini","content":"Running."}
`)
	o := d.gather()
	if s, call := only(t, o); s.Ended || !call.Open() || call.Tool != "" {
		t.Fatalf("%+v", o.Sessions)
	}
	d.run.Reason, d.run.Next = "1 of 2 done", []reprise.Unit{{ID: "b"}}
	if got := reprise.Next(d.run, o, reprise.Policy{}); got.Verdict != reprise.Caution || got.Action != reprise.Start {
		t.Errorf("a session that may have ended in a call is passed over: %+v", got)
	}
	if err := os.MkdirAll(filepath.Join(d.dir, ".reprise/logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.file(".reprise/logs/a.log", `{"type":"init","timestamp":"`+time.Now().UTC().Format(time.RFC3339Nano)+`","session_id":"s1"}
{"type":"tool_use","timestamp":"`+time.Now().UTC().Format(time.RFC3339Nano)+`","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"touch here"}}
`)
	if _, call := only(t, d.gather()); call.Landing != reprise.NotLanded || call.Text != "touch here" {
		t.Errorf("%+v", call)
	}
}

// Of gemini alone it is not on record whether its last turn is over. While it runs, the
// processes that it started since tell; once it is gone, those that were started in the
// way of agents.
func TestA_turn_of_which_nothing_is_on_record_is_told_by_processes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	process := func(pid, parent int, command string, started time.Duration) proc.Worker {
		return proc.Worker{Process: proc.Process{PID: pid, Name: command, Command: command}, Parent: parent, Started: now.Add(started), Detached: parent == 1}
	}
	gemini := process(10, 9, "gemini", -time.Hour)
	for name, c := range map[string]struct {
		others []proc.Worker
		want   reprise.Life
		ended  bool
	}{
		"it waits":                    {[]proc.Worker{gemini}, reprise.Alive, true},
		"a server that it began with": {[]proc.Worker{gemini, process(11, 10, "mcp", -time.Hour)}, reprise.Alive, true},
		"somebody else's":             {[]proc.Worker{gemini, process(11, 2, "vim", 0)}, reprise.Alive, true},
		"its command":                 {[]proc.Worker{gemini, process(11, 10, "bash", 0)}, reprise.Alive, false},
		"a command of its command":    {[]proc.Worker{gemini, process(11, 10, "bash", -time.Hour), process(12, 11, "git push", 0)}, reprise.Alive, false},
		"it is gone":                  {nil, reprise.LifeUnknown, false},
		"its command lives on":        {[]proc.Worker{process(11, 1, "bash -c git push", 0)}, reprise.Alive, false},
		"an older one is not its own": {[]proc.Worker{process(11, 1, "tmux", -2*time.Hour)}, reprise.LifeUnknown, false},
		"nor is one with a terminal":  {[]proc.Worker{process(11, 2, "bash", 0)}, reprise.LifeUnknown, false},
	} {
		a := &air{root: "/p", real: "/p", dirs: []string{"/p"}, now: now, env: func(string) string { return "" }, stores: map[string]string{}}
		for i := range c.others {
			c.others[i].Dir = "/p"
		}
		a.workers.Found = c.others
		s := &transcript.Session{
			CLI: "gemini", ID: "s", Dir: "/p", Started: now.Add(-time.Hour), Last: now, Unsure: true, Calls: []transcript.Call{{ID: "turn", Turn: true}},
		}
		got := a.judge([]*transcript.Session{s}, transcript.Query{})
		if len(got) != 1 || got[0].Owner.Life != c.want || got[0].Ended != c.ended || got[0].Busy() == c.ended {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A session that told through a hook that its turn had ended, and wrote nothing since, has
// nothing under way; one with a call without a result has, whatever it told.
func TestA_turn_is_over_once_the_session_told_so(t *testing.T) {
	t.Parallel()
	now := time.Now()
	turn, call := transcript.Call{ID: "turn", Turn: true}, transcript.Call{ID: "c", Tool: "Bash"}
	for name, c := range map[string]struct {
		told  reprise.Checkpoint
		calls []transcript.Call
		ended bool
	}{
		"it stopped":                 {reprise.Checkpoint{CLI: "gemini", ID: "s", Moment: "stop", At: now}, []transcript.Call{turn}, true},
		"it continued since":         {reprise.Checkpoint{CLI: "gemini", ID: "s", Moment: "stop", At: now.Add(-time.Second)}, []transcript.Call{turn}, false},
		"it was ended":               {reprise.Checkpoint{CLI: "gemini", ID: "s", Moment: "end", At: now}, []transcript.Call{turn}, false},
		"it was compacted":           {reprise.Checkpoint{CLI: "gemini", ID: "s", Moment: "compact", At: now}, []transcript.Call{turn}, false},
		"another one told":           {reprise.Checkpoint{CLI: "gemini", ID: "x", Moment: "stop", At: now}, []transcript.Call{turn}, false},
		"one of another CLI told":    {reprise.Checkpoint{CLI: "claude", ID: "s", Moment: "stop", At: now}, []transcript.Call{turn}, false},
		"a call of it has no result": {reprise.Checkpoint{CLI: "gemini", ID: "s", Moment: "stop", At: now}, []transcript.Call{call, turn}, false},
	} {
		a := &air{root: "/p", real: "/p", dirs: []string{"/p"}, now: now, env: func(string) string { return "" }, stores: map[string]string{}, told: []reprise.Checkpoint{c.told}}
		s := &transcript.Session{CLI: "gemini", ID: "s", Dir: "/p", Started: now.Add(-time.Hour), Last: now, Unsure: true, Calls: c.calls}
		got := a.judge([]*transcript.Session{s}, transcript.Query{})
		if len(got) != 1 || got[0].Ended != c.ended || got[0].Busy() == c.ended {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// codex leaves a daemon and what updates it behind, in the folder it was started in.
func TestA_daemon_is_no_session(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"codex":                     true,
		"/opt/codex exec --json go": true,
		"codex app-server":          true, // one that an editor talks to
		"codex app-server --listen unix:// --managed-daemon": false,
		"codex app-server daemon pid-update-loop":            false,
		"node /x/@openai/codex/bin/codex.js":                 true,
		"vim codex":                                          false,
	} {
		if got := runsCLI(line, transcript.Codex); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

// A later session in the same folder tells nothing of what an earlier one left without a
// result, whatever it did and however many there are.
func TestA_later_session_hides_no_call(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.claude("Bash", `{"command":"git push origin main"}`)
	for i := range 2 * sessionsEach {
		later := time.Now().Add(time.Duration(i) * time.Minute).UTC().Format(time.RFC3339Nano)
		d.put(fmt.Sprintf("%s/later%d.jsonl", d.claudeFolder(), i), strings.ReplaceAll(`{"type":"user","message":{"role":"user","content":"go"},"timestamp":"LATER","cwd":"DIR","sessionId":"later"}
{"type":"assistant","message":{"role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"hi"}]},"timestamp":"LATER","cwd":"DIR","sessionId":"later"}
`, "LATER", later))
	}
	o := d.gather()
	got := reprise.Next(d.run, o, reprise.Policy{})
	if text := strings.Join(got.Reasons, "\n"); got.Verdict == reprise.Safe || !strings.Contains(text, "git push origin main") || len(o.SessionsUnread) > 0 {
		t.Errorf("%+v %q", got, o.SessionsUnread)
	}
	// Neither work that was accepted since nor time settles it; a person does.
	d.run.Proven, d.run.LastActivity = time.Now().Add(time.Hour), time.Now().Add(48*time.Hour)
	if got := reprise.Next(d.run, o, reprise.Policy{}); !strings.Contains(strings.Join(got.Reasons, "\n"), "git push") {
		t.Errorf("history settles it: %+v", got)
	}
	asked := o.CallsAsked(d.run)
	if len(asked) != 1 {
		t.Fatalf("asks %+v", asked)
	}
	o.Settle(map[string]reprise.Landing{asked[0].ID: reprise.Landed})
	if got := reprise.Next(d.run, o, reprise.Policy{}); strings.Contains(strings.Join(got.Reasons, "\n"), "git push") {
		t.Errorf("what a person settled weighs: %+v", got)
	}
}

// What cannot be read is unknown: nothing is safe then, and where it was written since the
// last sign of life of the run, a person is asked first.
func TestA_transcript_that_cannot_be_read_weighs(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(content string) string{
		"zeros":                   func(c string) string { return strings.Repeat("\x00", len(c)) },
		"cut in its first record": func(c string) string { return c[:100] },
		"another encoding":        func(c string) string { return strings.ReplaceAll(c, "{", "\xff\xfe{\x00") },
	} {
		d := newDesk(t)
		d.claude("Bash", `{"command":"git push"}`)
		at := d.claudeFolder() + "/s1.jsonl"
		content, err := os.ReadFile(filepath.Join(d.home, at))
		if err != nil {
			t.Fatal(err)
		}
		d.put(at, spoil(string(content)))
		d.run.Next = []reprise.Unit{{ID: "b"}}
		o := d.gather()
		for last, want := range map[time.Duration]reprise.Action{-time.Hour: reprise.Ask, time.Hour: reprise.Start} {
			d.run.LastActivity = time.Now().Add(last)
			if got := reprise.Next(d.run, o, reprise.Policy{}); got.Verdict != reprise.Caution || got.Action != want {
				t.Errorf("%s, last active %s from now: %+v %q", name, last, got, o.SessionsUnread)
			}
		}
		d.run.LastActivity = time.Now().Add(48 * time.Hour)
		if got := reprise.Next(d.run, o, reprise.Policy{}); got.Verdict != reprise.Safe {
			t.Errorf("%s: it is history: %+v", name, got)
		}
	}
	// The end of a transcript that a power cut turned into zeros hides what stood there.
	d := newDesk(t)
	d.put(d.claudeFolder()+"/s1.jsonl", `{"type":"user","message":{"role":"user","content":"go"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1"}
{"type":"assistant","message":{"role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"hi"}]},"timestamp":"NOW","cwd":"DIR","sessionId":"s1"}
`+strings.Repeat("\x00", 4096))
	if s, call := only(t, d.gather()); s.Ended || !call.Open() {
		t.Errorf("%+v", s)
	}
}

// An attempt of ours that was killed in a call is told by what it printed, where its own
// transcript is not found or has less.
func TestA_call_of_an_attempt_is_told_by_its_log(t *testing.T) {
	t.Parallel()
	for cli, log := range map[string]string{
		"claude": `{"type":"system","subtype":"init","cwd":"DIR","session_id":"s1","claude_code_version":"2.1.325"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"git push"}}],"role":"assistant","stop_reason":null},"session_id":"s1"}
`,
		"qwen": `{"type":"system","subtype":"init","cwd":"DIR","session_id":"s1","qwen_code_version":"0.24.4"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"run_shell_command","input":{"command":"git push"}}],"role":"assistant","stop_reason":null},"session_id":"s1"}
`,
		"codex": `{"type":"thread.started","thread_id":"s1"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'git push'","status":"in_progress"}}
`,
	} {
		d := newDesk(t)
		d.put("../repo/.reprise/logs/a.log", log)
		s, call := only(t, d.gather())
		if s.CLI != cli || s.ID != "s1" || !call.Open() || call.Effect != reprise.EffectRemoteGit || !strings.Contains(call.Text, "git push") {
			t.Errorf("%s: %+v", cli, s)
		}
		if cli != "claude" {
			continue
		}
		d.put(d.claudeFolder()+"/s1.jsonl", `{"type":"user","message":{"role":"user","content":"go"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1"}`+"\n")
		if o := d.gather(); len(o.Sessions) != 1 || len(o.Sessions[0].Calls) != 2 || o.Sessions[0].Calls[1].Text != "git push" {
			t.Errorf("the transcript was not written yet: %+v", o.Sessions)
		}
		d.put("../repo/.reprise/logs/a.log", log+`{"type":"result","subtype":"success","is_error":false,"session_id":"s1"}`+"\n")
		if err := os.RemoveAll(filepath.Join(d.home, ".claude")); err != nil {
			t.Fatal(err)
		}
		if o := d.gather(); len(o.Sessions) != 1 || !o.Sessions[0].Calls[0].Open() {
			t.Errorf("its end takes back no call: %+v", o.Sessions)
		}
	}
}
