package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/internal/sample"
)

// most is the memory that reading a hostile project may take, in KiB.
const most = 500 << 10

// bounded runs the program and gives what it printed. It must end by itself, with a
// verdict, in bounded memory.
func bounded(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // for a busy machine; it takes a second
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = []string{"REPRISE_TEST_PROGRAM=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "REPRISE_NOW=2026-03-01T12:00:00Z"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if code := cmd.ProcessState.ExitCode(); !ok || ctx.Err() != nil || !slices.Contains([]int{0, 3, 10, 11, 12, 30, 40}, code) {
		t.Errorf("%q: %v, exit code %d: %.300s", args, err, code, out.String())
	} else if usage.Maxrss > most {
		t.Errorf("%q: took %d MiB", args, usage.Maxrss>>10)
	}
	return out.String()
}

// traps are what can stand in the place of a state file, and how to see that it would
// harm whoever reads it as usual.
var traps = map[string]struct {
	set  func(name string) error
	live func(name string) error
}{
	"FIFO": {
		func(name string) error { return errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o644)) },
		waits,
	},
	"device": {
		func(name string) error { return errors.Join(os.Remove(name), os.Symlink("/dev/zero", name)) },
		func(name string) error { return gives(name, 32<<20) },
	},
	"sparse file of a TiB": {
		func(name string) error { return os.Truncate(name, 1<<40) },
		func(name string) error { return gives(name, 32<<20) },
	},
	"one line": {
		func(name string) error { return os.WriteFile(name, bytes.Repeat([]byte("a"), 15<<20), 0o644) },
		func(name string) error { return gives(name, 15<<20) },
	},
	"values without end": {
		func(name string) error {
			return os.WriteFile(name, []byte("{"+strings.Repeat("\"a\":{},\n", 1<<20)+"\"a\":1}"), 0o644)
		},
		func(name string) error { return gives(name, 8<<20) },
	},
}

// gives reports whether a file has no end before n bytes.
func gives(name string, n int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(io.Discard, f, n)
	return err
}

// waits reports whether a reader is held up until someone writes: then a writer can be
// opened without waiting.
func waits(name string) error {
	done := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(name)
		done <- err
	}()
	for {
		select {
		case err := <-done:
			return fmt.Errorf("nobody was waited for: %v", err)
		default:
		}
		w, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			_ = syscall.Close(w)
			return <-done
		}
		if !errors.Is(err, syscall.ENXIO) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// T8: whatever stands in the place of a state file, looking at the project ends, in
// bounded memory.
func TestNothing_in_the_place_of_a_state_file_stalls_or_takes_all_memory(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	tried, i := sample.Every(t, 48), 0
	for _, layout := range []string{"autoclaude", "eventrun", "longrun", "gsd", "orchestrate", "specloop"} {
		root := os.DirFS("../../examples/" + layout)
		err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			for _, trap := range slices.Sorted(maps.Keys(traps)) {
				if i++; !tried(i) {
					continue
				}
				t.Run(layout+"/"+name+": "+trap, func(t *testing.T) {
					t.Parallel()
					dir := filepath.Join(t.TempDir(), "project")
					if err := os.CopyFS(dir, root); err != nil {
						t.Fatal(err)
					}
					if err := traps[trap].set(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
					bounded(t, "status", "--all", dir)
					bounded(t, "check", "--json", "--dir", dir)
					if err := traps[trap].live(filepath.Join(dir, name)); err != nil {
						t.Errorf("the trap does no harm: %v", err)
					}
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// Files that are read beside the state.
	for _, name := range []string{".gitignore", "sub/.git", "reprise.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "project")
			if err := os.CopyFS(dir, os.DirFS("../../examples/gsd")); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, nil, 0o644), os.Truncate(name, 1<<40)); err != nil {
				t.Fatal(err)
			}
			bounded(t, "status", dir)
		})
	}
	for _, name := range []string{".reprise", ".reprise/inbox", ".git", ".git/logs/HEAD", "reprise.yaml"} {
		t.Run("a FIFO as "+name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "project")
			if err := os.CopyFS(dir, os.DirFS("../../examples/gsd")); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			fifo := filepath.Join(dir, name)
			if err := errors.Join(os.RemoveAll(fifo), os.MkdirAll(filepath.Dir(fifo), 0o755), syscall.Mkfifo(fifo, 0o644)); err != nil {
				t.Fatal(err)
			}
			bounded(t, "status", dir)
			bounded(t, "check", "--dir", dir)
			bounded(t, "repair", "--dir", dir)
		})
	}
}

// T8: a folder of a run with files without number is told of, and blocks the run;
// elsewhere they are only passed by. REPRISE_ALL makes a million of each.
func TestFiles_without_number_are_told_of_in_bounded_time_and_memory(t *testing.T) {
	t.Parallel()
	many := 51_000
	if sample.All() {
		many = 1_000_000
	}
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(dir, os.DirFS("../../examples/gsd")); err != nil {
		t.Fatal(err)
	}
	phase := filepath.Join(dir, ".planning/phases/02-reminders")
	fill := func(folder, form string, from, to int) {
		t.Helper()
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := from; i < to; i++ {
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf(form, i)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Each file counts as a plan: without a bound there would be as many steps.
	fill(phase, "02-%d-PLAN.md", 100, 300)
	if out := bounded(t, "check", "--json", "--dir", dir); !strings.Contains(out, `"02-299"`) {
		t.Errorf("a plan that is there is not among the steps: the files do no harm: %.2000s", out)
	}
	if sample.All() {
		fill(filepath.Join(dir, "src"), "f%d.txt", 0, many)
	}
	fill(phase, "02-%d-PLAN.md", 300, many)
	out := bounded(t, "check", "--dir", dir)
	if !strings.Contains(out, "BLOCKED") || !strings.Contains(out, "more than 50000 files") {
		t.Errorf("check says %.2000s", out)
	}
	bounded(t, "status", dir)
}

// T8: a pipe in the place of a file that git reads holds nobody up: git is not asked, and which
// file it is is said.
func TestT8_a_pipe_in_the_place_of_a_file_of_git_holds_nobody_up(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		".gitignore": "", ".gitattributes": "", ".gitmodules": "", ".git/info/exclude": "", ".git/info/attributes": "", ".git/index": "", ".git/config": "", ".git/HEAD": "",
		".git/packed-refs": "", ".git/refs/heads/other": "", "src/deep/.gitignore": "",
		"included": "[include]\n\tpath = \"../inc\\\nluded\" ; so\n", ".git/by": "[includeIf \"gitdir:**\"] path=by\n", "rules": "[core]\n\texcludesFile = rules\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			git := func(args ...string) {
				t.Helper()
				cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %q: %v %s", args, err, out)
				}
			}
			put := func(file, text string) {
				t.Helper()
				file = filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			git("init", "-q", "-b", "main")
			put("specs/001-x/tasks.md", "# Tasks\n\n- [x] T001 one\n- [ ] T002 two\n")
			put(".specify/memory/constitution.md", "x\n")
			put("src/deep/code", "x\n")
			git("add", "-A")
			git("commit", "-q", "-m", "base")
			if config != "" {
				text, err := os.ReadFile(filepath.Join(dir, ".git/config"))
				if err != nil {
					t.Fatal(err)
				}
				put(".git/config", string(text)+config)
			}
			at := filepath.Join(dir, name)
			os.Remove(at)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), syscall.Mkfifo(at, 0o644)); err != nil {
				t.Fatal(err)
			}
			status := bounded(t, "status", "-C", dir)
			check := bounded(t, "check", "--json", "-C", dir)
			if !strings.Contains(status, "001") || !strings.Contains(check, filepath.Base(name)) || !strings.Contains(check, "not a regular file") {
				t.Errorf("status:\n%s\ncheck:\n%s", status, check)
			}
		})
	}
}
