package engine_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/agent/agenttest"
	"reprise/engine"
	"reprise/internal/modelstub"
	"reprise/settings"
)

const twoSteps = `name: two
title: Two steps of a real agent
steps:
  - id: first
    role: coder
    prompt: Write first.txt.
    outputs: [first.txt]
  - id: second
    needs: [first]
    role: coder
    prompt: Write second.txt.
    outputs: [second.txt]
`

// realEngine is an engine whose agent is a real program with a scripted model.
func realEngine(t *testing.T, preset, script string) (*engine.Engine, *agenttest.Rig) {
	t.Helper()
	all := agent.Presets()
	p := all[slices.IndexFunc(all, func(p agent.Preset) bool { return p.Name == preset })]
	r := agenttest.New(t, p.Name, p.Tested[0], p.Program, script)
	git(t, r.Dir, "init", "-q")
	put(t, r.Dir, "flow.yaml", twoSteps)
	git(t, r.Dir, "add", ".")
	git(t, r.Dir, "commit", "-q", "-m", "begin")
	e := newEngine(r.Dir)
	env := map[string]string{}
	for _, v := range r.Environ() {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	e.Settings.Agents["real"] = settings.Agent{Name: "real", Preset: preset, Command: []string{r.Program}, Model: r.ModelName(), Env: env}
	e.Settings.Roles["default"] = "real"
	e.Settings.Grace = 2 * time.Second
	e.Agent = func(a settings.Agent) (agent.Agent, error) {
		return agent.New(agent.Options{Preset: a.Preset, Command: a.Command, Model: a.Model, Approve: agent.ApproveAll, Grace: e.Settings.Grace})
	}
	return e, r
}

func TestAC_real_agents_carry_a_workflow_to_its_end(t *testing.T) {
	t.Parallel()
	for _, preset := range []string{"codex", "claude"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			e, r := realEngine(t, preset, `{"turns":[{"text":"One.","shell":"echo one > first.txt"},{"text":"Done."},{"text":"Two.","shell":"echo two > second.txt"},{"text":"Done."}]}`)
			sum := begin(t, e, "one", "flow.yaml")
			if sum.State != reprise.Complete || sum.Launches != 2 {
				t.Fatalf("%+v", sum)
			}
			if r.File("first.txt") != "one\n" || r.File("second.txt") != "two\n" {
				t.Errorf("first %q, second %q", r.File("first.txt"), r.File("second.txt"))
			}
			r.NoneLeft(t, "")
		})
	}
}

func TestAC_real_agents_killed_in_a_tool_call_go_on_in_the_same_session(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the agent is found in the process table")
	}
	for _, preset := range []string{"codex", "claude", "gemini", "opencode", "qwen", "copilot"} {
		t.Run(preset, func(t *testing.T) {
			t.Parallel()
			if preset != "codex" && preset != "claude" && os.Getenv("REPRISE_AGENTS") != "all" {
				t.Skip("takes long: `make test-agents` tries it")
			}
			e, r := realEngine(t, preset, `{"turns":[{"text":"One.","shell":"echo one > first.txt"},{"text":"Done."},
				{"text":"Half.","shell":"echo half >> log.txt"},{"text":"Rest.","shell":"touch started; sleep 60; `+strings.Repeat("true; ", 60)+`git push nowhere main; echo late > late.txt"},
				{"text":"Going on.","shell":"echo two > second.txt"},{"text":"Done."}]}`)
			go killOnce(r)
			sum := begin(t, e, "one", "flow.yaml")
			if sum.State != reprise.Complete || sum.Launches != 3 {
				t.Fatalf("%+v", sum)
			}
			if r.File("log.txt") != "half\n" || r.File("second.txt") != "two\n" || r.File("late.txt") != "" {
				t.Errorf("log %q, second %q, late %q", r.File("log.txt"), r.File("second.txt"), r.File("late.txt"))
			}
			var sessions []string
			for _, ev := range events(t, r.Dir, refOf("one")) {
				if ev.Kind == reprise.SessionKnown && ev.Step == "second" {
					sessions = append(sessions, ev.Agent)
				}
			}
			if len(slices.Compact(sessions)) != 1 {
				t.Errorf("sessions %v, want one", sessions)
			}
			if !slices.ContainsFunc(r.Model.Requests(), func(q modelstub.Request) bool {
				_, told, found := strings.Cut(string(q.Body), "name: calls without a result")
				told, _, _ = strings.Cut(told, ">>>DATA")
				return found && strings.Contains(told, "git push nowhere main") && strings.Contains(told, "remote-git effect, ") && strings.Contains(told, "git ls-remote")
			}) {
				t.Error("the agent that continued was not told of the push that was cut off")
			}
			r.NoneLeft(t, "")
		})
	}
}

// killOnce kills the agent, and it alone, in the middle of its long tool call.
func killOnce(r *agenttest.Rig) {
	self, _ := os.Executable()
	for range 9600 {
		if _, err := os.Stat(filepath.Join(r.Dir, "started")); err == nil {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range pids {
		cwd, _ := os.Readlink(p + "/cwd")
		exe, _ := os.Readlink(p + "/exe")
		if cwd == r.Dir && exe != self && !slices.Contains([]string{"bash", "dash", "sh", "sleep", "git"}, filepath.Base(exe)) {
			pid, _ := strconv.Atoi(filepath.Base(p))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
