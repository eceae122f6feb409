//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reprise/internal/sample"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestX9_permission_errors_name_path_and_cause runs as a user who may not read
// everything, with real files and real permissions.
func TestX9_permission_errors_name_path_and_cause(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"shut/.planning": 0o755, ".auto-claude/specs/001-a": 0o755, ".auto-claude/specs/002-b": 0o755} {
		if err := os.MkdirAll(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	plan := `{"feature":"A","phases":[{"id":"p","name":"P","subtasks":[{"id":"s1","status":"completed"},{"id":"s2","status":"pending"}]}]}`
	for _, name := range []string{"001-a", "002-b"} {
		if err := os.WriteFile(filepath.Join(dir, ".auto-claude/specs", name, "implementation_plan.json"), []byte(plan), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"shut": 0, ".auto-claude/specs/002-b/implementation_plan.json": 0} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "shut"), 0o755) })
	for p := dir; p != "/"; p = filepath.Dir(p) {
		os.Chmod(p, 0o755) // the way to the folder must be open to the other user
	}
	out := asNobody(t, dir, "status", "--json", dir)
	type finding struct{ Code, Source string }
	var doc struct {
		Runs []struct {
			ID, State string
			Findings  []finding
		}
		Findings []struct{ Code, Subject, Message string }
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(doc.Findings) != 1 || doc.Findings[0].Code != "permission" || doc.Findings[0].Subject != "shut" || !strings.Contains(doc.Findings[0].Message, "permission denied") {
		t.Errorf("findings of the folder: %+v", doc.Findings)
	}
	states := map[string]string{}
	for _, r := range doc.Runs {
		states[r.ID] = r.State
		if r.ID == "002-b" && !slices.ContainsFunc(r.Findings, func(f finding) bool { return f.Code == "permission" }) {
			t.Errorf("002-b: %+v", r.Findings)
		}
	}
	if states["001-a"] != "interrupted" || states["002-b"] != "unreadable" {
		t.Errorf("states %v", states)
	}
}

// asNobody runs the program without root's rights; it must end well.
func asNobody(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	out, told, code := nobody(t)(dir, args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, told)
	}
	return out
}

// no one copies the program to where everybody may read it and gives what runs it without
// root's rights.
func nobody(t *testing.T) func(dir string, args ...string) (out []byte, told string, code int) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "reprise")
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(bin, program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for p := bin; p != "/"; p = filepath.Dir(p) {
		os.Chmod(p, 0o755)
	}
	return func(dir string, args ...string) ([]byte, string, int) {
		t.Helper()
		cmd := exec.Command(bin, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "REPRISE_TEST_PROGRAM=1")
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		for errors.Is(err, syscall.ETXTBSY) { // a process that another test starts holds the copy open until its exec
			cmd = &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Dir: cmd.Dir, Env: cmd.Env, Stderr: &stderr, SysProcAttr: cmd.SysProcAttr}
			out, err = cmd.Output()
		}
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out, stderr.String(), cmd.ProcessState.ExitCode()
	}
}

// X2 X9 OR9: what may not be read is said, with what to do, and is never "nothing
// there" nor safe.
func TestX2_X9_what_may_not_be_read_is_not_nothing(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	run := nobody(t)
	const project, state, log = ".", ".auto-claude", ".reprise/journal/LOG"
	for _, tc := range []struct {
		shut    string
		mode    fs.FileMode
		command string
		code    int
	}{
		{project, 0, "status", 40}, {project, 0, "check", 40}, {project, 0, "undo", 40}, {project, 0, "clean", 40},
		{project, 0o111, "status", 40}, {project, 0o111, "check", 40}, {project, 0o111, "detect", 40}, {project, 0o111, "resume", 40},
		{project, 0o444, "status", 40}, {project, 0o444, "check", 40}, {project, 0o444, "repair", 40},
		{state, 0, "status", 40}, {state, 0, "status --short", 40}, {state, 0, "check", 40}, {state, 0, "clean", 40}, {state, 0, "log", 40}, {state, 0, "brief", 40}, {state, 0, "repair", 40},
		{".reprise", 0, "status", 0}, {".reprise", 0, "check", 11}, {".reprise", 0, "clean", 40}, {".reprise", 0, "undo", 40}, {".reprise", 0, "resume", 11},
		{".reprise/journal", 0, "check", 11}, {".reprise/journal", 0, "log", 40},
		{log, 0, "check", 11}, {log, 0, "log", 40},
		{".reprise/lock", 0, "check", 11}, {".reprise/lock", 0, "clean", 11},
		{".reprise/snapshots", 0, "undo", 40},
	} {
		t.Run(fmt.Sprintf("%s %o %s", tc.shut, tc.mode, tc.command), func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{
				"spec.md":                  "# Vault\n",
				"implementation_plan.json": `{"feature": "Vault", "phases": [{"id": "p", "subtasks": [{"id": "s1", "status": "completed"}, {"id": "s2", "status": "pending"}]}]}`,
			} {
				at := filepath.Join(dir, ".auto-claude/specs/004-vault", name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			for p := dir; p != "/"; p = filepath.Dir(p) {
				os.Chmod(p, 0o755)
			}
			give := func(p string, _ fs.DirEntry, err error) error {
				if err == nil && os.Geteuid() == 0 {
					err = os.Lchown(p, 65534, 65534)
				}
				return err
			}
			if err := filepath.WalkDir(dir, give); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"clean", "-y"}, {"undo", "1", "-y"}} {
				if _, told, code := run(dir, args...); code != 0 {
					t.Fatalf("%q: %d %s", args, code, told)
				}
			}
			shut := filepath.Join(dir, tc.shut)
			if tc.shut == log {
				all, err := filepath.Glob(filepath.Join(dir, ".reprise/journal/*.log"))
				if err != nil || len(all) != 1 {
					t.Fatal(all, err)
				}
				shut = all[0]
			}
			if err := os.Chmod(shut, tc.mode); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(shut, 0o755)
			args := []string{tc.command, "-C", dir}
			switch tc.command {
			case "status":
				args = []string{"status", dir}
			case "status --short":
				args = []string{"status", "--short", dir}
			case "clean", "repair":
				args = append(args, "--yes")
			case "resume":
				args = append(args, "--mode", "autopilot")
			}
			out, told, code := run("/", args...)
			text := string(out) + told
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if !strings.Contains(text, "permission denied") || strings.Contains(text, "No workflow state found in /") {
				t.Error("it is not said")
			}
			helps := func(said string) bool {
				return strings.Contains(said, "ls -ld") || strings.Contains(said, "chmod -R u+rwX")
			}
			if tc.command == "check" && tc.code == 11 && !helps(text) || told != "" && !helps(told) && !strings.Contains(told, "` shows what blocks") {
				t.Error("nothing says what to do")
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}
