package script_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"reprise/agent"
	"reprise/agent/script"
	"reprise/internal/shim"
)

// The test binary plays agents, and engines, when this variable says which.
const partVar = "REPRISE_SCRIPT_PART"

func TestMain(m *testing.M) {
	if handled, code := shim.Main(os.Args[1:]); handled {
		os.Exit(code)
	}
	if part := os.Getenv(partVar); part != "" {
		os.Exit(play(part))
	}
	goleak.VerifyTestMain(m)
}

// log is a buffer that several goroutines may use.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// job is an attempt by a command of the shell.
func job(t testing.TB, command ...string) (agent.Job, *log) {
	t.Helper()
	dir, out := t.TempDir(), &log{}
	if len(command) == 1 {
		command = []string{"sh", "-c", command[0]}
	}
	return agent.Job{
		Run: "run-1", Step: "step-1", Attempt: 2, Role: "coder", Key: "run-1/step-1/2", Token: token(t),
		Dir: dir, Prompt: "the prompt\n", Result: filepath.Join(dir, "result.json"),
		Command: command, Env: append([]string{"PATH=" + os.Getenv("PATH")}, raceEnv...), Log: out,
	}, out
}

func token(t testing.TB) string {
	return fmt.Sprintf("%s-%d-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid(), time.Now().UnixNano())
}

// part makes the test binary the command.
func part(j agent.Job, name string, args ...string) agent.Job {
	j.Command = append([]string{os.Args[0]}, args...)
	j.Env = append(j.Env, partVar+"="+name)
	return j
}

func start(t testing.TB, j agent.Job, o script.Options) agent.Session {
	t.Helper()
	s, err := script.New(o).Start(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOutcome_of_plain_commands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command string
		outcome agent.Outcome
		exit    int
		signal  string
		reason  string
		problem string
	}{
		"liar":              {`exit 0`, agent.Done, 0, "", "", ""},
		"fails":             {`exit 3`, agent.Failed, 3, "", "exit code 3", ""},
		"tries later":       {`echo 'connection refused, try again in 5 minutes'; exit 75`, agent.Limited, 75, "", "connection refused", ""},
		"later, no words":   {`exit 75`, agent.Limited, 75, "", "exit code 75", ""},
		"fails with 75":     {`echo '{"outcome":"failed","summary":"no way"}' > $REPRISE_RESULT; exit 75`, agent.Failed, 75, "", "no way", ""},
		"asks with 75":      {`echo '{"questions":[{"text":"which?"}]}' > $REPRISE_RESULT; exit 75`, agent.NeedsPerson, 75, "", "question", ""},
		"torn with 75":      {`printf '{"outcome":"do' > $REPRISE_RESULT; exit 75`, agent.Failed, 75, "", "result", "ends too early"},
		"only words":        {`echo 'dial tcp 127.0.0.1:1: connection refused'; exit 1`, agent.Failed, 1, "", "exit code 1", ""},
		"killed":            {`kill -KILL $$; sleep 9`, agent.Killed, -1, "SIGKILL", "SIGKILL", ""},
		"done":              {`echo '{"outcome":"done","summary":"all of it","extra":1}' > $REPRISE_RESULT`, agent.Done, 0, "", "", ""},
		"done, but exit 1":  {`echo '{"outcome":"done"}' > $REPRISE_RESULT; exit 1`, agent.Failed, 1, "", "exit code 1", ""},
		"says failed":       {`echo '{"outcome":"failed","summary":"no way"}' > $REPRISE_RESULT`, agent.Failed, 0, "", "no way", ""},
		"blocked":           {`echo '{"outcome":"blocked"}' > $REPRISE_RESULT`, agent.Failed, 0, "", "blocked", ""},
		"asks":              {`echo '{"outcome":"question","questions":[{"text":"which?"}]}' > $REPRISE_RESULT`, agent.NeedsPerson, 0, "", "question", ""},
		"asks and fails":    {`echo '{"questions":[{"text":"which?"}]}' > $REPRISE_RESULT; exit 1`, agent.NeedsPerson, 1, "", "question", ""},
		"unknown word":      {`echo '{"outcome":"finished"}' > $REPRISE_RESULT`, agent.Failed, 0, "", "finished", "finished"},
		"torn":              {`printf '{"outcome":"do' > $REPRISE_RESULT`, agent.Failed, 0, "", "result", "ends too early"},
		"two values":        {`echo '{}{}' > $REPRISE_RESULT`, agent.Failed, 0, "", "result", "after top-level"},
		"null":              {`echo null > $REPRISE_RESULT`, agent.Failed, 0, "", "result", "not a JSON object"},
		"empty":             {`: > $REPRISE_RESULT`, agent.Failed, 0, "", "result", "it is empty"},
		"doubled":           {`echo '{"outcome":"failed","outcome":"done"}' > $REPRISE_RESULT`, agent.Failed, 0, "", "result", `"outcome" twice`},
		"another case":      {`echo '{"outcome":"failed","Outcome":"done"}' > $REPRISE_RESULT`, agent.Failed, 0, "", "result", `"Outcome", which is written "outcome"`},
		"a folder":          {`mkdir $REPRISE_RESULT`, agent.Failed, 0, "", "result", "not a regular file"},
		"a FIFO":            {`mkfifo $REPRISE_RESULT`, agent.Failed, 0, "", "result", "not a regular file"},
		"a link":            {`echo '{}' > x; ln -s x $REPRISE_RESULT`, agent.Failed, 0, "", "result", "not a regular file"},
		"too large":         {`{ printf '{"summary":"'; head -c 1100000 /dev/zero | tr '\0' x; echo '"}'; } > $REPRISE_RESULT`, agent.Failed, 0, "", "result", "more than"},
		"closes its input":  {`exec <&-; sleep 0.05; exit 0`, agent.Done, 0, "", "", ""},
		"closes its output": {`exec >&- 2>&-; sleep 0.1; exit 4`, agent.Failed, 4, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, _ := job(t, tc.command)
			r := start(t, j, script.Options{}).Wait()
			if r.Outcome != tc.outcome || r.Exit != tc.exit || r.Signal != tc.signal || !strings.Contains(r.Reason, tc.reason) || !strings.Contains(r.ReplyProblem, tc.problem) {
				t.Errorf("%+v", r)
			}
			if (tc.problem == "") != (r.ReplyProblem == "") {
				t.Errorf("problem %q", r.ReplyProblem)
			}
		})
	}
}

func TestContract_environment_prompt_and_folder(t *testing.T) {
	t.Parallel()
	j, out := job(t, `cat; env | sort; pwd; ls -l /proc/self/fd 2>/dev/null | grep -c pipe`)
	j.Env = append(j.Env, "A=1")
	j.Session = "s-1"
	r := start(t, j, script.Options{}).Wait()
	text := out.String()
	for _, want := range []string{
		"the prompt\n", "A=1\n", "REPRISE_RUN=run-1\n", "REPRISE_STEP=step-1\n", "REPRISE_ATTEMPT=2\n", "REPRISE_ROLE=coder\n",
		"REPRISE_RESULT=" + j.Result + "\n", "REPRISE_TRAILER=Reprise-Step: run-1/step-1/2\n", "REPRISE_TOKEN=" + j.Token + "\n", "\n" + j.Dir + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "=")
		switch name {
		case "PATH", "A", "GORACE", "PWD", "OLDPWD", "SHLVL", "_": // the last four are the shell's own
		default:
			if strings.Contains(line, "=") && !strings.HasPrefix(name, "REPRISE_") {
				t.Errorf("it sees %q", line)
			}
		}
	}
	if r.Outcome != agent.Done || r.Bytes != int64(len(text)) || r.Dropped != 0 || r.Session != "s-1" {
		t.Errorf("%+v", r)
	}
}

func TestStart_errors_name_the_command_and_what_to_do(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, tc := range map[string]struct {
		argv []string
		dir  string
		is   error
		hint string
	}{
		"no such name":        {argv: []string{"no-such-agent-anywhere"}, is: fs.ErrNotExist, hint: "install"},
		"no such file":        {argv: []string{filepath.Join(dir, "none")}, is: fs.ErrNotExist, hint: "missing"},
		"not executable":      {argv: []string{write("data", "x", 0o644)}, is: fs.ErrPermission, hint: "chmod"},
		"a folder":            {argv: []string{dir}, hint: "by hand"},
		"no program":          {argv: []string{write("noexec", "hello", 0o755)}, is: syscall.ENOEXEC, hint: "#!"},
		"interpreter missing": {argv: []string{write("script", "#!/no/such/interpreter\n", 0o755)}, is: fs.ErrNotExist, hint: "first line"},
		"no folder":           {argv: []string{"true"}, dir: filepath.Join(dir, "gone"), is: fs.ErrNotExist, hint: "gone"},
		"too long":            {argv: []string{"true", strings.Repeat("x", 1<<20)}, is: syscall.E2BIG, hint: "too long"},
		"nothing":             {argv: []string{}, hint: "settings"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, _ := job(t, "true")
			j.Command = tc.argv
			if tc.dir != "" {
				j.Dir = tc.dir
			}
			s, err := script.New(script.Options{}).Start(t.Context(), j)
			var failed *agent.StartError
			if s != nil || !errors.As(err, &failed) {
				t.Fatalf("%v %v", s, err)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
			if len(tc.argv) > 0 && !strings.Contains(err.Error(), tc.argv[0]) {
				t.Errorf("%v does not name the command", err)
			}
			if !strings.Contains(failed.Hint(), tc.hint) {
				t.Errorf("hint %q", failed.Hint())
			}
		})
	}
}

func TestStop_ways_to_end_an_agent(t *testing.T) {
	t.Parallel()
	const hang = `trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done`
	const deaf = `trap '' TERM INT HUP; echo ready; while :; do sleep 0.02; done`
	grace := 300 * time.Millisecond
	for name, tc := range map[string]struct {
		command string
		change  func(*agent.Job)
		stop    func(s agent.Session, cancel func())
		outcome agent.Outcome
		reason  string
		killed  bool // it must take the grace
	}{
		"asked":          {command: hang, stop: func(_ agent.Session, cancel func()) { cancel() }, outcome: agent.Stopped},
		"asked and deaf": {command: deaf, stop: func(_ agent.Session, cancel func()) { cancel() }, outcome: agent.Stopped, killed: true},
		"asked and stopped": {command: `echo ready; kill -STOP $$`, outcome: agent.Stopped,
			stop: func(_ agent.Session, cancel func()) { cancel() }},
		"killed":          {command: deaf, stop: func(s agent.Session, _ func()) { s.Kill() }, outcome: agent.Stopped},
		"too long":        {command: hang, change: func(j *agent.Job) { j.Timeout = 200 * time.Millisecond }, outcome: agent.TimedOut, reason: "200ms"},
		"silent":          {command: hang, change: func(j *agent.Job) { j.Silence = 200 * time.Millisecond }, outcome: agent.TimedOut, reason: "printed nothing"},
		"silent and deaf": {command: deaf, change: func(j *agent.Job) { j.Silence = 3 * time.Second }, outcome: agent.TimedOut, killed: true},
		"talks": {command: `for i in 1 2 3 4 5; do echo $i; sleep 1; done`, outcome: agent.Done,
			change: func(j *agent.Job) { j.Silence = 4 * time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, _ := job(t, tc.command)
			if tc.change != nil {
				tc.change(&j)
			}
			ready := make(chan struct{})
			var once sync.Once
			j.Line = func(string) { once.Do(func() { close(ready) }) }
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, err := script.New(script.Options{Grace: grace}).Start(ctx, j)
			if err != nil {
				t.Fatal(err)
			}
			if tc.stop != nil {
				<-ready
			}
			began := time.Now()
			if tc.stop != nil {
				tc.stop(s, cancel)
			}
			r := s.Wait()
			if r.Outcome != tc.outcome || !strings.Contains(r.Reason, tc.reason) {
				t.Errorf("%+v", r)
			}
			if took := time.Since(began); tc.killed && took < grace {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestStop_before_the_start(t *testing.T) {
	t.Parallel()
	j, _ := job(t, "true")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := script.New(script.Options{}).Start(ctx, j); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestPrompt_that_nobody_reads(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{"ends": "exit 0", "closes": "exec <&-; exit 0", "reads a part": "head -c 5 >/dev/null"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, _ := job(t, command)
			j.Prompt = strings.Repeat("x", 4<<20)
			if r := start(t, j, script.Options{}).Wait(); r.Outcome != agent.Done {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestFlood_fills_neither_memory_nor_log(t *testing.T) {
	t.Parallel()
	const total, most = floodMB << 20, 1 << 20
	j, out := job(t, "true")
	j = part(j, "flood")
	j.Secrets = []string{"a-secret-of-some-length"}
	said := 0
	j.Line = func(string) { said++ }
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	r := start(t, j, script.Options{MaxLog: most}).Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("memory grew by %d MB", grown>>20)
	}
	text := out.String()
	if r.Outcome != agent.Done || r.Bytes != total+int64(len("the end\n")) {
		t.Errorf("%+v", r)
	}
	if len(text) > most+200 || r.Dropped != r.Bytes-most {
		t.Errorf("%d bytes are kept, %d dropped", len(text), r.Dropped)
	}
	if !strings.HasPrefix(text, "flood flood") || !strings.HasSuffix(text, "the end\n") || !strings.Contains(text, fmt.Sprintf("%d bytes of output were left out", r.Dropped)) {
		t.Errorf("%.60q … %q", text, text[len(text)-60:])
	}
	if said == 0 || time.Duration(said)*50*time.Millisecond > time.Since(began)+time.Second {
		t.Errorf("%d lines were told in %s", said, time.Since(began))
	}
	t.Logf("%d MB in %s", floodMB, time.Since(began))
}

// Requirement T13.
func TestSecrets_do_not_reach_log_line_or_result(t *testing.T) {
	t.Parallel()
	const secret = `s3cr3t/"key"+with&odd chars`
	j, out := job(t, `
printf 's3cr3t/"ke'; sleep 0.05; printf 'y"+with&odd'; sleep 0.05; printf ' chars\n'
printf '%s' 'user:s3cr3t/"key"+with&odd chars' | base64
printf '%s\n' 's3cr3t/\"key\"+with&odd chars' 's3cr3t/\"key\"+with\u0026odd chars' 's3cr3t%2F%22key%22%2Bwith%26odd+chars' 's3cr3t%2f%22key%22%2bwith%26odd+chars'
printf '%s' '{"outcome":"failed","summary":"it is s3cr3t/\"key\"+with&odd chars","issues":["s3cr3t/\"key\"+with&odd chars"]}' > $REPRISE_RESULT
printf 'end s3cr3t/"key"+wi'`)
	j.Secrets = []string{secret, "x"}
	var lines []string
	j.Line = func(text string) { lines = append(lines, text) }
	r := start(t, j, script.Options{}).Wait()
	all := out.String() + strings.Join(lines, "\n") + r.Reason + r.Reply.Summary + r.Reply.Issues[0]
	for _, bad := range []string{"s3cr3t", "czNjcjN0", "MzY3IzdC", "zM2NyM3", "with&odd"} {
		if strings.Contains(all, bad) {
			t.Errorf("%q is in\n%s", bad, all)
		}
	}
	if strings.Count(out.String(), "[redacted]") != 7 {
		t.Errorf("%s", out.String())
	}
	if !strings.Contains(r.Reason, "it is [redacted]") || len(lines) == 0 {
		t.Errorf("%+v %q", r, lines)
	}
}

func TestLine_is_fit_for_a_terminal(t *testing.T) {
	t.Parallel()
	j, _ := job(t, `printf 'one\033[31mred\033[0m\033]0;title\007 two\001\342\200\256'`)
	var last string
	j.Line = func(text string) { last = text }
	r := start(t, j, script.Options{}).Wait()
	if last != "onered two" || r.LastText != last {
		t.Errorf("%q, %+v", last, r)
	}
}

// broken is a log on a full disk.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestLog_that_cannot_be_written_does_not_stop_the_agent(t *testing.T) {
	t.Parallel()
	j, _ := job(t, `head -c 3000000 /dev/zero; exit 0`)
	j.Log = broken{}
	r := start(t, j, script.Options{}).Wait()
	if r.Outcome != agent.Done || r.Dropped != 3000000 || !strings.Contains(r.Reason, "log is incomplete") {
		t.Errorf("%+v", r)
	}
}

func TestStream_of_a_preset(t *testing.T) {
	t.Parallel()
	j, out := job(t, "true")
	var got []string
	var said string
	j.Line = func(text string) { said = text }
	j.Secrets = []string{"hunter2hunter2"}
	l := agent.Launch{
		Argv: []string{"sh", "-c", `echo '{"a":1}'; echo noise >&2; printf '{"s":"hunter2hunter2"}\r\n'; sleep 9`}, Grace: time.Second,
		Stream: func(line []byte) (string, error) {
			got = append(got, string(line))
			if strings.Contains(string(line), "hunter2") {
				return "hunter2hunter2!", errors.New("enough of hunter2hunter2")
			}
			return "", nil
		},
		Finish: func(r *agent.Result) { r.LastText = "last hunter2hunter2" },
	}
	s, err := l.Start(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Wait()
	if r.Outcome != agent.Failed || r.Reason != "it was stopped: enough of [redacted]" || r.LastText != "last [redacted]" {
		t.Errorf("%+v", r)
	}
	if fmt.Sprint(got) != `[{"a":1} {"s":"hunter2hunter2"}]` || said != "[redacted]!" {
		t.Errorf("%q, told %q", got, said)
	}
	if text := out.String(); !strings.Contains(text, "noise") || strings.Contains(text, "hunter2") {
		t.Errorf("%s", text)
	}
}

// play is another process.
func play(part string) int {
	switch part {
	case "flood":
		block := bytes.Repeat([]byte("flood "), 1<<20/6+1)[:1<<20]
		for range floodMB {
			if _, err := os.Stdout.Write(block); err != nil {
				return 1
			}
		}
		fmt.Println("the end")
		return 0
	}
	if special := parts()[part]; special != nil {
		return special(os.Args[1:])
	}
	fmt.Fprintln(os.Stderr, "no part", part)
	return 2
}
