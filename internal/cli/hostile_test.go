//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"reprise/internal/hostile"
	"reprise/internal/sample"
)

// looking are the commands that only look at a project.
var looking = [][]string{{"status"}, {"status", "--json"}, {"check"}, {"check", "--json"}, {"brief"}, {"log"}, {"report"}, {"detect"}, {"resume", "--dry-run"}}

// stores are places of what agent CLIs write down, in a home folder; DIR stands for the project.
var stores = []string{
	".claude/projects/DIR/0b1c2d3e-0000-4000-8000-000000000001.jsonl", ".claude/sessions/4242.json", ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-0b1c2d3e-0000-4000-8000-000000000001.jsonl",
	".gemini/projects.json", ".copilot/session-state/0b1c2d3e-0000-4000-8000-000000000001/events.jsonl", ".local/share/opencode/opencode.db", ".cursor/chats/a/b/store.db",
}

// T8: whatever is in the place of a file that a look reads, it ends in time and in little memory. The
// processor time of the program is measured, so that a busy machine does not count.
func TestT8_a_look_at_a_hostile_tree_ends_in_time(t *testing.T) {
	t.Parallel()
	var archives []string
	for _, pattern := range []string{"*/testdata/scenarios/*.txtar", "*/testdata/scenarios/*/*.txtar"} {
		found, err := filepath.Glob(filepath.Join("../../convention", pattern))
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, found...)
	}
	turn, i, known := sample.Every(t, 3000), 0, map[string]bool{}
	for _, archive := range archives {
		ar, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		places := []string{}
		for _, f := range ar.Files {
			key := filepath.Dir(archive) + " " + filepath.Base(f.Name)
			if f.Name != "want" && !strings.ContainsAny(f.Name, "?") && !strings.HasSuffix(f.Name, "/") && !known[key] {
				known[key] = true
				places = append(places, f.Name)
			}
		}
		if len(places) > 0 {
			places = append(places, ".gitignore", ".reprise/journal/a.jsonl", ".reprise/lease", "reprise.yaml")
			for _, s := range stores {
				places = append(places, "HOME/"+s)
			}
		}
		for _, place := range places {
			for _, odd := range hostile.Odds {
				if i++; !turn(i) {
					continue
				}
				lookAt(t, ar, archive, place, odd)
			}
		}
	}
	t.Logf("%d cases", i)
}

func lookAt(t *testing.T, ar *txtar.Archive, archive, place string, odd hostile.Odd) {
	t.Helper()
	top := t.TempDir()
	root, home := filepath.Join(top, "p"), filepath.Join(top, "h")
	write := func(name string, data []byte) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.MkdirAll(home, 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range ar.Files {
		if name, _, _ := strings.Cut(f.Name, "?"); name != "want" && !strings.HasSuffix(name, "/") {
			write(filepath.Join(root, name), f.Data)
		}
	}
	at := filepath.Join(root, place)
	if in, ok := strings.CutPrefix(place, "HOME/"); ok {
		at = filepath.Join(home, strings.ReplaceAll(in, "DIR", strings.ReplaceAll(root, "/", "-")))
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.RemoveAll(at)); err != nil {
		t.Fatal(err)
	}
	if err := odd.Make(at); err != nil {
		t.Logf("no %s here: %v", odd.Name, err)
		return
	}
	for _, args := range looking {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		cmd := exec.CommandContext(ctx, "reprise", args...)
		var out bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = root, &out, &out, time.Second
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir()}
		_ = cmd.Run() // its code tells of the run
		hung := ctx.Err() != nil
		cancel()
		used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			t.Fatal("the machine does not say what a program used")
		}
		took, most := time.Duration(used.Utime.Nano()+used.Stime.Nano()), 5*time.Second
		if args[0] != "status" { // what looks closely
			most = 20 * time.Second
		}
		// On Linux, the only system where it is asserted, it is counted in KiB.
		if mb := used.Maxrss >> 10; hung || took > most || mb > 200 || bytes.Contains(out.Bytes(), []byte("panic")) || bytes.Contains(out.Bytes(), []byte("goroutine ")) {
			t.Errorf("%s: %s in the place of %s: %v: %v of processor time, %d MB, %v\n%.600s", archive, odd.Name, place, args, took, mb, cmd.ProcessState, out.String())
		}
	}
}
