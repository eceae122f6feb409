package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/agent"
	"reprise/agent/agenttest"
	"reprise/internal/proc"
	"reprise/report"
)

// A real session that dies in a push, in a project without a list, is told by every face: which
// call was in the air, how to find out what became of it, and what continues it (issue 41, item 1).
func TestAC_real_a_session_killed_in_a_push_is_told(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"claude": {"-p", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5", "publish the login page"},
		"codex":  {"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "publish the login page"},
	} {
		presets := agent.Presets()
		p := presets[slices.IndexFunc(presets, func(p agent.Preset) bool { return p.Name == name })]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := agenttest.New(t, p.Name, p.Tested[0], p.Program, `{"turns":[{"text":"The page is ready, now I push it.","shell":"git push origin main"},{"text":"Done."}]}`)
			setup := exec.Command("sh", "-ec", `git init -q -b main; git commit -q --allow-empty -m base; git init -q --bare "$TMPDIR/remote.git"; git remote add origin "$TMPDIR/remote.git"`)
			setup.Dir, setup.Env = rig.Dir, rig.Environ()
			if out, err := setup.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.WriteFile(filepath.Join(rig.Dir, ".git/hooks/pre-push"), []byte("#!/bin/sh\ntouch .git/pushing\nexec sleep 600\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(rig.Program, args...)
			cmd.Dir, cmd.Env = rig.Dir, rig.Environ()
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			sweep := func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // it may have been waited for
				for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
					left := slices.DeleteFunc(proc.Working(rig.Dir).Found, func(w proc.Worker) bool { return w.Above })
					for _, w := range left {
						_ = syscall.Kill(w.PID, syscall.SIGKILL)
					}
					if len(left) == 0 {
						return
					}
				}
			}
			t.Cleanup(sweep)
			pushing := filepath.Join(rig.Dir, ".git/pushing")
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
				if _, err := os.Stat(pushing); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%s pushes nothing; it asked %d times", name, len(rig.Model.Requests()))
				}
			}
			time.Sleep(time.Second) // the record of the call is written beside the call
			sweep()

			ask := func(want int, args ...string) string {
				t.Helper()
				cmd := exec.Command(os.Args[0], args...)
				cmd.Dir, cmd.Env = rig.Dir, append(rig.Environ(), "REPRISE_TEST_PROGRAM=1", "COLUMNS=200", "XDG_STATE_HOME="+rig.Tmp+"/state")
				var told strings.Builder
				cmd.Stderr = &told
				out, err := cmd.Output()
				if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
					t.Errorf("%q: %v: %s%s", args, err, out, told.String())
				}
				return string(out)
			}
			var doc report.Check
			if err := json.Unmarshal([]byte(ask(10, "check", "--json")), &doc); err != nil || len(doc.Sessions) != 1 {
				t.Fatalf("%v: %+v", err, doc.Sessions)
			}
			s := doc.Sessions[0]
			if len(s.Calls) != 1 || !strings.Contains(s.Calls[0].What, "git push origin main") || s.Calls[0].State.String() != "unknown" || !strings.Contains(s.Calls[0].Look, "git ls-remote") {
				t.Errorf("%+v", s.Calls)
			}
			if !strings.Contains(s.FirstPrompt, "publish the login page") || s.CLI != name || s.Next == "" || doc.Next != s.Next {
				t.Errorf("%+v, next %q", s, doc.Next)
			}
			for _, face := range []struct {
				code int
				args []string
			}{
				{0, []string{"status"}}, {0, nil}, {10, []string{"check"}}, {0, []string{"brief"}}, {0, []string{"hook", "run", name, "start"}}, {0, []string{"report"}},
				{0, []string{"status", "--json"}},
			} {
				out := ask(face.code, face.args...)
				for _, part := range []string{"git push origin main", "unknown", "git ls-remote", s.ID, "publish the login page"} {
					if !strings.Contains(out, part) {
						t.Errorf("%q does not tell %q:\n%s", face.args, part, out)
					}
				}
				if len(face.args) > 1 && face.args[0] == "hook" && len(out) > 1600 { // with what the tool's own form adds
					t.Errorf("a hook says %d bytes", len(out))
				}
			}
		})
	}
}
