package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/internal/modelstub"
	"reprise/internal/sample"
)

// mainPresets are those whose every end is tried; of the others the way there and
// back.
var mainPresets = []Preset{codex, claude}

// allPresets are those with a program of their own.
func allPresets() []Preset {
	return slices.DeleteFunc(Presets(), func(p Preset) bool { return p.Name == Command })
}

// isMain reports whether every run of the tests drives the latest version of a preset.
func isMain(p Preset) bool {
	return slices.ContainsFunc(mainPresets, func(m Preset) bool { return m.Name == p.Name })
}

// versions are presets, one for each version that is tested.
func versions(list []Preset) (out []Preset) {
	for _, p := range list {
		for i := range p.Tested {
			one := p
			one.Tested = p.Tested[i : i+1]
			out = append(out, one)
		}
	}
	return out
}

func forPresets(t *testing.T, list []Preset, test func(t *testing.T, p Preset)) {
	t.Helper()
	for _, p := range list {
		for i, one := range versions([]Preset{p}) {
			t.Run(one.Name+"-"+one.Tested[0], func(t *testing.T) {
				t.Parallel()
				if (i > 0 || !isMain(p)) && os.Getenv("REPRISE_AGENTS") != "all" {
					t.Skip("takes long: `make test-agents` tries it")
				}
				test(t, one)
			})
		}
	}
}

func (r *rig) job(t *testing.T) Job {
	t.Helper()
	return Job{
		Run: "run-1", Step: "step-1", Attempt: 1, Role: "coder", Key: "run-1/step-1/1",
		Token:   fmt.Sprintf("%s-%d-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid(), time.Now().UnixNano()),
		Dir:     r.Dir,
		Prompt:  "Do what the task says.\n",
		Result:  filepath.Join(r.Tmp, "result.json"),
		Command: []string{r.Program}, Env: r.Environ(), Timeout: 3 * time.Minute, Silence: 2 * time.Minute,
	}
}

func (r *rig) start(ctx context.Context, t *testing.T, job Job) Session {
	t.Helper()
	a, err := New(Options{Preset: r.preset.Name, Approve: cmp.Or(r.approve, ApproveAll), Model: r.ModelName(), Grace: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Start(ctx, job)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run starts a job and waits for its end; nothing of it may be left then.
func (r *rig) run(t *testing.T, job Job) Result {
	t.Helper()
	res := r.start(t.Context(), t, job).Wait()
	r.NoneLeft(t, job.Token)
	return res
}

// await waits until the project has a file.
func (r *rig) await(t *testing.T, name string) {
	t.Helper()
	for range 2400 {
		if _, err := os.Stat(filepath.Join(r.Dir, name)); err == nil {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("%s never came", name)
}

// awaitSession waits until a session of copilot on disk has a text.
func (r *rig) awaitSession(t *testing.T, text string) {
	t.Helper()
	for range 2400 {
		files, err := filepath.Glob(filepath.Join(r.Home, ".copilot/session-state/*/events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), text) {
				return
			}
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("no session has %q", text)
}

func wantOutcome(t *testing.T, r Result, want Outcome) {
	t.Helper()
	if r.Outcome != want {
		t.Errorf("outcome %s (%s), want %s; exit %d %s\n%s", r.Outcome, r.Reason, want, r.Exit, r.Signal, r.Stderr)
	}
}

func TestAC_real_a_run_of_two_turns_makes_a_file(t *testing.T) {
	t.Parallel()
	forPresets(t, allPresets(), func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"text":"I write the file.","shell":"echo hello > made.txt"},{"text":"The file is written."}]}`)
		job := r.job(t)
		var learned []string
		job.Learned = func(id string) error {
			learned = append(learned, id)
			if p.Chooses && len(r.Model.Requests()) > 0 {
				t.Error("the id was told after the work began")
			}
			return nil
		}
		res := r.run(t, job)
		wantOutcome(t, res, Done)
		if got := r.File("made.txt"); got != "hello\n" {
			t.Errorf("made.txt is %q", got)
		}
		if res.LastText != "The file is written." || len(res.Open) > 0 {
			t.Errorf("last text %q, open %+v", res.LastText, res.Open)
		}
		if len(learned) != 1 || learned[0] != res.Session {
			t.Errorf("learned %v, session %s", learned, res.Session)
		}
		if !slices.ContainsFunc(r.Model.Requests(), func(q modelstub.Request) bool { return strings.Contains(string(q.Body), "Do what the task says.") }) {
			t.Error("the model never saw the prompt")
		}
	})
}

func TestAC_real_killed_in_a_tool_call_and_resumed_in_the_same_session(t *testing.T) {
	t.Parallel()
	forPresets(t, allPresets(), func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"text":"First part.","shell":"echo one >> log.txt"},
			{"text":"Second part.","shell":"touch started; sleep 30; echo late > late.txt"},{"text":"Never said."}]}`)
		job := r.job(t)
		var session string
		job.Learned = func(id string) error { session = id; return nil }
		told := make(chan struct{})
		var once sync.Once
		job.Line = func(text string) {
			if strings.Contains(text, "touch started") {
				once.Do(func() { close(told) })
			}
		}
		s := r.start(t.Context(), t, job)
		r.await(t, "started")
		if p.Name != "opencode" { // it tells of a call when that is over
			<-told
		}
		if p.Name == "copilot" { // it writes its sessions down a moment later
			r.awaitSession(t, "touch started")
		}
		if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		res := s.Wait()
		r.NoneLeft(t, job.Token)
		if res.Outcome != Killed && res.Outcome != Lost {
			t.Errorf("outcome %s (%s)", res.Outcome, res.Reason)
		}
		if session == "" || res.Session != session {
			t.Fatalf("session %q, learned %q", res.Session, session)
		}
		if p.Name != "opencode" && (len(res.Open) != 1 || !strings.Contains(res.Open[0].Input, "touch started")) {
			t.Errorf("open calls %+v", res.Open)
		}
		r.Script(t, `{"turns":[{"text":"Going on.","shell":"echo two >> log.txt"},{"text":"All is done."}]}`)
		job = r.job(t)
		job.Session, job.Resume = session, true
		res = r.run(t, job)
		wantOutcome(t, res, Done)
		if res.Session != session {
			t.Errorf("resumed in %s, want %s", res.Session, session)
		}
		if got := r.File("log.txt"); got != "one\ntwo\n" {
			t.Errorf("log.txt is %q: the finished part was done again, or the rest was not", got)
		}
		if r.File("late.txt") != "" {
			t.Error("the tool lived on after the agent was dead")
		}
		if q := r.Model.Requests(); len(q) == 0 || !strings.Contains(string(q[0].Body), "First part.") {
			t.Error("the model was not told what came before")
		}
	})
}

func TestAC_real_ends_of_a_session(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	for name, tc := range map[string]struct {
		turns string
		want  Outcome
	}{
		"limit":    {`{"error":"rate_limit","headers":{"retry-after":"1"},"repeat":true}`, Limited},
		"quota":    {`{"error":"quota","headers":{"retry-after":"1"},"repeat":true}`, Limited},
		"overflow": {`{"error":"overflow","repeat":true}`, OutOfContext},
		"auth":     {`{"error":"auth","repeat":true}`, NeedsSetup},
		"cut":      {`{"text":"Half a sen","cut":true,"repeat":true}`, Limited}, // an outage is waited for,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forPresets(t, mainPresets, func(t *testing.T, p Preset) {
				r := newRig(t, p, `{"turns":[`+tc.turns+`]}`)
				res := r.run(t, r.job(t))
				wantOutcome(t, res, tc.want)
				if res.Reason == "" {
					t.Error("no reason")
				}
				if tc.want == Limited && res.Account != p.Name {
					t.Errorf("account %q", res.Account)
				}
			})
		})
	}
}

func TestAC_real_dead_endpoint(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	forPresets(t, mainPresets, func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[]}`)
		if err := r.Model.Close(); err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, r.run(t, r.job(t)), Limited) // an outage
	})
}

func TestAC_real_unknown_session(t *testing.T) {
	t.Parallel()
	forPresets(t, mainPresets, func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"shell":"echo oops > made.txt"},{"text":"Done."}]}`)
		for _, id := range []string{"00000000-0000-4000-8000-000000000000", "a-name", ""} {
			job := r.job(t)
			job.Session, job.Resume = id, true
			wantOutcome(t, r.run(t, job), SessionNotFound)
		}
		if r.File("made.txt") != "" || len(r.Model.Requests()) > 0 {
			t.Error("a session that does not exist did work")
		}
	})
}

func TestAC_real_silence_is_ended(t *testing.T) {
	t.Parallel()
	forPresets(t, mainPresets, func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"text":"One moment","hang":true,"repeat":true}]}`)
		job := r.job(t)
		job.Silence = 4 * time.Second
		wantOutcome(t, r.run(t, job), TimedOut)
	})
}

// One that waits for the end of a limit in silence is ended by the same watchdog,
// but it is the limit that counts.
func TestAC_real_silence_in_a_limit_is_a_limit(t *testing.T) {
	t.Parallel()
	r := newRig(t, codex, `{"turns":[{"error":"rate_limit","headers":{"retry-after":"3600"},"repeat":true}]}`)
	job := r.job(t)
	job.Silence = 5 * time.Second
	wantOutcome(t, r.run(t, job), Limited)
}

func TestAC_real_stopped_in_a_tool_call(t *testing.T) {
	t.Parallel()
	forPresets(t, allPresets(), func(t *testing.T, p Preset) {
		r := newRig(t, p, longTool)
		job := r.job(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := r.start(ctx, t, job)
		r.await(t, "started")
		cancel()
		wantOutcome(t, s.Wait(), Stopped)
		r.NoneLeft(t, job.Token)
		if r.File("late.txt") != "" {
			t.Error("the tool lived on")
		}
	})
}

// A fail of writing the id down ends the agent before its work counts.
func TestAC_real_an_id_that_cannot_be_kept_stops_the_agent(t *testing.T) {
	t.Parallel()
	r := newRig(t, codex, `{"turns":[{"delay_ms":3000,"shell":"echo oops > made.txt"},{"text":"Done."}]}`)
	job := r.job(t)
	job.Learned = func(string) error { return errors.New("the disk is full") }
	res := r.run(t, job)
	if res.Outcome == Done || r.File("made.txt") != "" {
		t.Errorf("%s (%s)", res.Outcome, res.Reason)
	}
}

// Killed before it said anything: a session that we named is unknown to the
// program, one that it would have named to us.
func TestAC_real_killed_before_its_first_event(t *testing.T) {
	t.Parallel()
	forPresets(t, mainPresets, func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"shell":"echo oops > made.txt"},{"text":"Done."}]}`)
		job := r.job(t)
		s := r.start(t.Context(), t, job)
		if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		res := s.Wait()
		r.NoneLeft(t, job.Token)
		wantOutcome(t, res, Killed)
		if len(res.Open) > 0 || (res.Session != "") != p.Chooses {
			t.Errorf("session %q, open %+v", res.Session, res.Open)
		}
		job = r.job(t)
		job.Session, job.Resume = res.Session, true
		wantOutcome(t, r.run(t, job), SessionNotFound)
		if r.File("made.txt") != "" {
			t.Error("it did work")
		}
	})
}

// Between two turns the first call is over, and its end is on record.
func TestAC_real_killed_between_turns(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	forPresets(t, mainPresets, func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"text":"First part.","shell":"echo one >> log.txt"},{"text":"Thinking about","hang":true}]}`)
		job := r.job(t)
		var session string
		job.Learned = func(id string) error { session = id; return nil }
		s := r.start(t.Context(), t, job)
		r.await(t, "log.txt")
		for len(r.Model.Requests()) < 2 {
			time.Sleep(25 * time.Millisecond)
		}
		if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		res := s.Wait()
		r.NoneLeft(t, job.Token)
		wantOutcome(t, res, Killed)
		if len(res.Open) > 0 {
			t.Errorf("open calls %+v", res.Open)
		}
		r.Script(t, `{"turns":[{"text":"Nothing is left to do."}]}`)
		job = r.job(t)
		job.Session, job.Resume = session, true
		wantOutcome(t, r.run(t, job), Done)
		if got := r.File("log.txt"); got != "one\n" {
			t.Errorf("log.txt is %q", got)
		}
	})
}

// By default a program may do what our own prompt asks for, and commit. What it refuses a
// person can grant, in the words that it offers, also in the session that continues.
func TestAC_real_what_is_refused_can_be_granted(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	forPresets(t, allPresets(), func(t *testing.T, p Preset) {
		call, granted, made := `"shell":"git init -q made"`, `"shell":"git init -q made"`, "made/.git/HEAD"
		if p.Name == "codex" { // its sandbox lets every command run, and keeps git's folder as it is
			call = `"tool":"exec_command","args":{"cmd":"echo x > .git/made","sandbox_permissions":"require_escalated","justification":"Because."}`
			granted, made = `"shell":"echo x > .git/made"`, ".git/made"
		}
		script := `{"turns":[{"text":"I commit.","shell":"git add -A && git commit -q -m begun"},{"text":"I make it.",` + call + `},{"text":"That is all."}]}`
		r := newRig(t, p, script)
		r.approve = ApproveEdits
		r.git(t, "init", "-q")
		if err := os.WriteFile(filepath.Join(r.Dir, "a.txt"), []byte("a\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		job := r.job(t)
		job.GitDir = filepath.Join(r.Dir, ".git")
		res := r.run(t, job)
		wantOutcome(t, res, NeedsPerson)
		if r.git(t, "log", "--format=%s") != "begun\n" && r.sandboxed(t) {
			t.Error("it could not commit")
		}
		if len(res.Asks) != 1 || res.Asks[0].Grant == nil || r.File(made) != "" {
			t.Fatalf("asks %+v", res.Asks)
		}
		r.Script(t, `{"turns":[{"text":"I make it.",`+granted+`},{"text":"That is all."}]}`)
		job = r.job(t)
		job.Session, job.Resume, job.Grants = res.Session, true, res.Asks[0].Grant.Once
		wantOutcome(t, r.run(t, job), Done)
		if r.File(made) == "" {
			t.Errorf("%q did not allow it", job.Grants)
		}
		if res.Asks[0].Grant.Wide {
			return // its option says so
		}
		r.Script(t, `{"turns":[{"text":"I make more.","shell":"git init -q made/more"},{"text":"And more.","shell":"git init -q made -b other"},{"text":"That is all."}]}`)
		once := job.Grants
		job = r.job(t)
		job.Grants = once
		wantOutcome(t, r.run(t, job), NeedsPerson)
		if r.File("made/more/.git/HEAD") != "" || strings.Contains(r.File(made), "other") {
			t.Errorf("%q allows more than the call", once)
		}
	})
}

// What claude is offered to allow it allows, and what it would refuse again is not offered:
// whether it sees through the text that a command is given decides.
func TestAC_real_claude_allows_what_is_offered(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	forPresets(t, []Preset{claude}, func(t *testing.T, p Preset) {
		for call, offered := range map[string]bool{
			"git init -q made <<E\n$(git --version)\nE": false, "git init -q made <<E\nplain\nE": false,
			"git init -q made <<'E'\nplain\nE": true, "git init -q made <<'E' > log\nplain\nE": false,
		} {
			text, err := json.Marshal(call)
			if err != nil {
				t.Fatal(err)
			}
			script := `{"turns":[{"text":"I make it.","shell":` + string(text) + `},{"text":"That is all."}]}`
			r := newRig(t, p, script)
			r.approve = ApproveEdits
			res := r.run(t, r.job(t))
			if len(res.Asks) != 1 || r.File("made/.git/HEAD") != "" || (res.Asks[0].Grant != nil) != offered {
				t.Errorf("%q: asks %+v", call, res.Asks)
				continue
			}
			grants := []string{"Bash(git init -q made)"} // what would be offered without that rule
			if g := res.Asks[0].Grant; g != nil {
				grants = g.Once
			}
			r.Script(t, script)
			job := r.job(t)
			job.Grants = grants
			if res = r.run(t, job); (r.File("made/.git/HEAD") != "") != offered || (len(res.Asks) == 0) != offered {
				t.Errorf("%q: %q allowed it: %t, asks %+v", call, grants, !offered, res.Asks)
			}
		}
	})
}

// What a fresh configuration allows is enough to build and to test without anybody there.
//
// Issue 41, item 10.
func TestAC_real_commands_build_and_test(t *testing.T) {
	t.Parallel()
	forPresets(t, allPresets(), func(t *testing.T, p Preset) {
		r := newRig(t, p, `{"turns":[{"text":"I build.","shell":"printf 'echo built > made.txt' > build.sh && sh build.sh"},`+
			`{"text":"I test.","shell":"sh -c 'test -s made.txt' && env X=1 sh -c 'echo passed > tested.txt'"},{"text":"It is built and tested."}]}`)
		r.approve = ApproveCommands
		res := r.run(t, r.job(t))
		wantOutcome(t, res, Done)
		if got := r.File("tested.txt"); got != "passed\n" && r.sandboxed(t) {
			t.Errorf("tested.txt is %q, asks %+v", got, res.Asks)
		}
	})
}

// sandboxed reports whether the program can run commands at all here: the sandbox of codex
// needs namespaces, which a container may lack.
func (r *rig) sandboxed(t *testing.T) bool {
	t.Helper()
	if r.preset.Name != "codex" {
		return true
	}
	err := exec.Command(filepath.Join(filepath.Dir(r.Program), "codex-resources/bwrap"), "--ro-bind", "/", "/", "true").Run()
	if err != nil {
		t.Logf("the sandbox of codex does not work here: %v", err)
	}
	return err == nil
}

func (r *rig) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, r.Environ()
	out, err := cmd.Output()
	if err != nil {
		t.Log(err)
	}
	return string(out)
}

// What an attempt used is what the model told, whether its session was new, resumed or
// killed in the middle of a call.
func TestAC_real_figures_are_those_of_the_model(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	forPresets(t, allPresets(), func(t *testing.T, p Preset) {
		const usage = `"usage":{"input":%d,"cache_read":300,"cache_write":50,"output":70,"reasoning":20}`
		r := newRig(t, p, fmt.Sprintf(`{"turns":[{"text":"I write the file.","shell":"echo hello > made.txt",`+usage+`},{"text":"The file is written.",`+usage+`}]}`, 1000, 1100))
		// Only anthropic's interface tells what a cache took in, and none of reasoning.
		one := func(input int64) reprise.Tokens {
			if p.Name == "claude" {
				return reprise.Tokens{Input: input, CacheRead: 300, CacheWrite: 50, Output: 70}
			}
			return reprise.Tokens{Input: input + 50, CacheRead: 300, Output: 70, Reasoning: 20}
		}
		check := func(how string, res Result, requests ...reprise.Tokens) {
			t.Helper()
			var want []reprise.Request
			for _, r := range requests {
				want = append(want, reprise.Request{Tokens: r})
			}
			whole, got := reprise.UsageOf(want, nil), reprise.UsageOf(res.Spent, nil)
			if got.Tokens == nil || *got.Tokens != *whole.Tokens {
				t.Errorf("%s: %v, want %+v", how, got.Tokens, *whole.Tokens)
			}
			if got.Model == "" {
				t.Errorf("%s: no model is named", how)
			}
			if told := p.Name == "claude" && how != "killed"; told != (got.Cost != nil) {
				t.Errorf("%s: cost %v", how, got.Cost)
			}
		}
		job := r.job(t)
		res := r.run(t, job)
		check("new", res, one(1000), one(1100))

		r.Script(t, fmt.Sprintf(`{"turns":[{"text":"again",`+usage+`}]}`, 2000))
		job = r.job(t)
		job.Session, job.Resume = res.Session, true
		sent := []reprise.Tokens{one(2000)}
		res = r.run(t, job)
		for range r.Model.Requests()[1:] { // qwen looks for what to remember
			sent = append(sent, reprise.Tokens{Input: 100, Output: 10})
		}
		check("resumed", res, sent...)

		r.Script(t, fmt.Sprintf(`{"turns":[{"text":"This takes a while.","shell":"touch started; sleep 30",`+usage+`}]}`, 3000))
		job = r.job(t)
		job.Session, job.Resume = res.Session, true
		began := time.Now()
		s := r.start(t.Context(), t, job)
		r.await(t, "started")
		time.Sleep(300 * time.Millisecond)
		s.Kill()
		res = s.Wait()
		if p.Name == "opencode" { // it writes figures down when the step is over
			if u := reprise.UsageOf(res.Spent, nil); !res.More || u.Tokens != nil {
				t.Errorf("killed: %+v, more %v", res.Spent, res.More)
			}
			return
		}
		check("killed", res, one(3000))
		found, ok := Recorded(p.Name, job.Env, r.Dir, res.Session, began)
		if sent := one(3000); !ok || found.Context != sent.Sent() {
			t.Errorf("a resumed session sends %d tokens again, want %d", found.Context, sent.Sent())
		}
	})
}
