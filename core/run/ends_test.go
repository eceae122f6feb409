//go:build unix

package run_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise/agent"
	"reprise/agent/script"
	"reprise/core"
	"reprise/core/hands"
	"reprise/core/run"
)

// What cannot be bound begins nothing; what cannot be started rests with the reason; a limit of a plain command rests, and counts for nothing.
func TestEnds_without_work(t *testing.T) {
	for name, c := range map[string]struct {
		work                     func(context.Context, run.Assignment) (agent.Agent, agent.Job, error)
		rests                    string
		attempts, failures, cuts int
	}{
		"not bound": {work: func(context.Context, run.Assignment) (agent.Agent, agent.Job, error) {
			return nil, agent.Job{}, errors.New("no agent is configured")
		}, rests: "no agent is configured"},
		"not there": {work: func(context.Context, run.Assignment) (agent.Agent, agent.Job, error) {
			return script.New(script.Options{}), agent.Job{Env: os.Environ(), Command: []string{"no-such-program"}}, nil
		}, rests: "no-such-program", attempts: 1},
		"a limit whose end nobody knows": {work: asks("exit 75", os.Environ()), rests: "exit code 75", attempts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := project(t, 1)
			e := open(t, dir, "")
			defer e.Close()
			e.Config.Work, e.Tries = c.work, 2
			work(t, e, c.rests)
			if p := e.Journal.State.Step("s01"); p.Attempts != c.attempts || p.Failures != c.failures || p.Cuts != c.cuts {
				t.Errorf("%+v", p)
			}
			e.Config.Work = does("echo x >f", os.Environ())
			if q := e.Journal.State.Asked; q != nil {
				if err := e.Answer(q.ID, core.Onto.Key); err != nil {
					t.Fatal(err)
				}
			}
			work(t, e, "the run is over")
		})
	}
}

// The work is stopped: the agent is asked, or killed, its end counts for nothing, and the next
// engine continues what it left.
func TestStopped_by_a_person(t *testing.T) {
	for _, hard := range []bool{false, true} {
		dir, _ := project(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		kill := make(chan struct{})
		cfg := config(dir)
		var kinds []run.Kind
		cfg.Tell = func(p run.Progress) {
			if p.Kind != run.Said {
				kinds = append(kinds, p.Kind)
			}
		}
		cfg.Hard, cfg.Work = kill, func(_ context.Context, a run.Assignment) (agent.Agent, agent.Job, error) {
			return script.New(script.Options{Grace: map[bool]time.Duration{false: 30 * time.Second, true: time.Hour}[hard]}),
				job(`trap 'test `+map[bool]string{false: "1", true: "0"}[hard]+` = 1 && { echo said >>half; exit; }' TERM; echo half >half; while :; do sleep 0.1; done`, os.Environ(), a), nil
		}
		e, err := run.Open(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for read(t, dir, "half") == "" {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
			if hard {
				close(kill)
			}
		}()
		work := func(ctx context.Context, want string) {
			t.Helper()
			if rest, err := e.Work(ctx); err != nil || !strings.Contains(rest.Why, want) {
				t.Fatalf("%+v, %v", rest, err)
			}
		}
		work(ctx, "it was stopped")
		if p := e.Journal.State.Step("s01"); p.Failures+p.Cuts != 0 || len(e.Journal.State.Open) > 0 {
			t.Errorf("%+v", p)
		}
		if got := read(t, dir, "half"); hard != (got == "half\n") {
			t.Errorf("half: %q", got)
		}
		e.Close()
		if !slices.Equal(kinds, []run.Kind{run.Began, run.Ended}) {
			t.Errorf("%q", kinds)
		}
		e = open(t, dir, `echo whole >>half`)
		work(t.Context(), "the run is over")
		e.Close()
	}
}

// C5: an attempt is cut off after it pushed. The question says so, with what git knows of it; a
// step that may be done twice is begun again unasked.
func TestC5_what_reached_out_is_said(t *testing.T) {
	for name, policy := range map[string]string{"asks": "", "rerun": " (rerun)"} {
		t.Run(name, func(t *testing.T) {
			dir, outside := project(t, 1)
			put(t, dir, "PLAN.md", "- [ ] s01: push it"+policy+"\n")
			shell(t, dir, `git init -q --bare `+outside+`/there; git remote add origin `+outside+`/there; git commit -qam plan`)
			killed(t, dir, `echo half >half; git push -q origin main 2>/dev/null; echo x >ready.new; sleep 60`, "ready.new")
			e := open(t, dir, "echo whole >half")
			defer e.Close()
			if policy == "" {
				work(t, e, "is open")
				if q := e.Journal.State.Asked; len(q.Facts.Outside) != 1 || !strings.Contains(q.Shows, "that a push moved origin/main to commit") {
					t.Errorf("%+v", q)
				}
				return
			}
			work(t, e, "the run is over")
		})
	}
}

// C5: the calls of a CLI's own session are facts: those without a result, and those whose
// result only that session knows.
func TestC5_calls_of_a_session(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	a := hands.At(dir, "s01", 1)
	filed := ".claude/projects/" + regexp.MustCompile("[^A-Za-z0-9]").ReplaceAllString(dir, "-")
	if err := os.MkdirAll(filepath.Join(home, filed), 0o700); err != nil {
		t.Fatal(err)
	}
	const id = "0b5c4f2e-9a57-4a43-8d43-0e5f6a1f0001"
	at := time.Now().Add(time.Second).UTC().Format(time.RFC3339)
	use := func(n, command string) string {
		return `{"type":"assistant","sessionId":"` + id + `","cwd":"` + dir + `","timestamp":"` + at + `","message":{"role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"` + n + `","name":"Bash","input":{"command":"` + command + `"}}]}}` + "\n"
	}
	result := func(n string) string {
		return `{"type":"user","sessionId":"` + id + `","timestamp":"` + at + `","message":{"role":"user","content":[{"tool_use_id":"` + n + `","type":"tool_result","content":"ok"}]}}` + "\n"
	}
	text := `{"type":"user","sessionId":"` + id + `","cwd":"` + dir + `","timestamp":"` + at + `","message":{"role":"user","content":"go"}}` + "\n" +
		use("c1", "curl -X POST example.org/deploy") + result("c1") + use("c2", "make test") + result("c2") + use("c3", "cat f") + result("c3") + use("c4", "make release")
	put(t, home, filed+"/"+id+".jsonl", text)
	by, err := agent.New(agent.Options{Preset: "claude", Command: []string{"/bin/true"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Start(t.Context(), nil, by, agent.Job{Dir: dir, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Session: id, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	got := a.Calls(a.Git(), nil)
	if want := []string{"make release (no result on record)", "curl -X POST example.org/deploy"}; !slices.Equal(got.Outside, want) || !slices.Equal(got.Open, want[:1]) || !got.Continues {
		t.Errorf("%+v", got)
	}
}

// A check that leaves files of its own says something of the world with them.
func TestCheck(t *testing.T) {
	dir, _ := project(t, 1)
	put(t, dir, "mine.txt", "one\n")
	e := open(t, dir, `echo x >>f`)
	defer e.Close()
	e.Tries, e.Convention = 2, checked{e.Convention}
	e.Check = func(core.Step) (agent.Agent, agent.Job, bool) {
		return script.New(script.Options{}), agent.Job{Env: os.Environ(), Command: []string{"sh", "-c", "date +%N >>built; test $(wc -l <f) -gt 1 || { echo too few; exit 1; }"}}, true
	}
	work(t, e, "the run is over")
	if p := e.Journal.State.Step("s01"); p.Attempts != 2 || strings.Count(read(t, dir, "built"), "\n") != 2 {
		t.Errorf("%+v, %q", p, read(t, dir, "built"))
	}
}

type checked struct{ core.Convention }

// Load wants a check of every step.
func (c checked) Load(fsys fs.FS, plan string) (core.Shape, error) {
	shape, err := c.Convention.Load(fsys, plan)
	for i := range shape.Steps {
		shape.Steps[i].Verify = true
	}
	return shape, err
}
