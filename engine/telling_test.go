package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"reprise"
	"reprise/agent"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/settings"
)

// listener keeps what an engine tells.
type listener struct {
	mu  sync.Mutex
	all []engine.Progress
}

func (l *listener) tell(p engine.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, p)
}

// refusing is a disk that refuses to write once a file is there, and as long as another
// one is.
type refusing struct {
	durable.FS
	once, while string
	err         error
}

func (d refusing) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return refusingFile{f, d}, nil
}

type refusingFile struct {
	durable.File
	disk refusing
}

func (f refusingFile) Write(p []byte) (int, error) {
	_, once := os.Stat(f.disk.once)
	if _, while := os.Stat(f.disk.while); once == nil && while == nil {
		return 0, f.disk.err
	}
	return f.File.Write(p)
}

// TestO1_a_full_disk_is_told_to_whoever_comes_next: the room that was reserved for that
// is freed, and nothing is lost.
func TestO1_a_full_disk_is_told_to_whoever_comes_next(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, 'test -e a.txt || touch .git/full; echo a > a.txt'], on_crash: rerun}\n")
	full := filepath.Join(e.Dir, ".git/full")
	e.Disk = func(under durable.FS) durable.FS {
		return refusing{under, full, filepath.Join(e.Dir, ".reprise/reserve"), syscall.ENOSPC}
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(sum, err)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	e.Disk = nil
	for _, want := range []int{1, 0} {
		sum, err := e.Resume(t.Context(), ref, engine.Choice{})
		if err != nil || sum.State != reprise.Complete {
			t.Fatal(sum, err)
		}
		told := 0
		for _, f := range sum.Findings {
			told += strings.Count(f.Message, "the disk was full")
		}
		if told != want {
			t.Errorf("told %d times, want %d: %+v", told, want, sum.Findings)
		}
	}
}

// TestO1_nothing_is_told_that_is_not_on_record: where the end of an attempt cannot be
// recorded, it is not told either.
func TestO1_nothing_is_told_that_is_not_on_record(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{
		"failed":  "exit 7",
		"blocked": `echo '{"outcome":"blocked"}' > "$REPRISE_RESULT"`,
		"asks":    `echo '{"questions":[{"text":"Which?"}]}' > "$REPRISE_RESULT"`,
		"done":    "echo a > a.txt",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, '"+strings.ReplaceAll("touch .git/full; "+end, "'", "''")+"']}\n")
			e.Disk = func(under durable.FS) durable.FS {
				return refusing{under, filepath.Join(e.Dir, ".git/full"), e.Dir, syscall.EIO}
			}
			var heard listener
			e.Tell = heard.tell
			if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err == nil {
				t.Fatalf("nothing failed: %+v", sum)
			}
			for _, p := range heard.all {
				if p.Kind == engine.Ended || p.Kind == engine.Questions {
					t.Errorf("told %s %s: %s", p.Kind, p.Outcome, p.Text)
				}
			}
		})
	}
}

// eager says something before whoever starts it knows that it was started.
type eager struct{ agent.Agent }

func (a eager) Start(ctx context.Context, job agent.Job) (agent.Session, error) {
	job.Line("early")
	return a.Agent.Start(ctx, job)
}

// TestX8_what_an_agent_says_is_told_after_its_start: a process is at work before its
// start can be told.
func TestX8_what_an_agent_says_is_told_after_its_start(t *testing.T) {
	t.Parallel()
	e := newEngine(repository(t))
	plain := e.Agent
	e.Agent = func(s settings.Agent) (agent.Agent, error) {
		a, err := plain(s)
		return eager{a}, err
	}
	a := e.Settings.Agents["actor"]
	a.Command = []string{"sh", "-c", "echo x > a.txt"}
	e.Settings.Agents["actor"] = a
	var heard listener
	e.Tell = heard.tell
	ref := start(t, e, "name: f\nsteps:\n  - {id: a, role: worker, prompt: p, outputs: [a.txt]}\n")
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Fatal(sum, err)
	}
	kind := func(k engine.ProgressKind) int {
		return slices.IndexFunc(heard.all, func(p engine.Progress) bool { return p.Kind == k && p.Step == "a" })
	}
	if began, said := kind(engine.Began), kind(engine.Said); said < 0 || began < 0 || said < began {
		t.Errorf("began at %d, said at %d", began, said)
	}
}

// TestEV9_an_output_that_is_none_is_told_why: something stands in the place of what a
// step was to leave and is not that.
func TestEV9_an_output_that_is_none_is_told_why(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ makes, says string }{
		"a link out of the project": {"ln -s /etc/hostname o", "o cannot be read: link leads out of the project"},
		"a link to nothing":         {"ln -s gone o", "o cannot be read: link leads to nothing"},
		"a FIFO":                    {"mkfifo o", "o cannot be read: it is a FIFO, not a regular file"},
		"an empty folder":           {"mkdir o", "o is a folder with nothing in it"},
		"empty folders":             {"mkdir -p o/p/q", "o is a folder with nothing in it"},
		"nothing":                   {"true", "o is not there"},
		"a folder":                  {"mkdir o; echo x > o/x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(repository(t))
			e.Settings.Attempts = 1
			ref := start(t, e, "name: f\nsteps:\n  - {id: a, command: [sh, -c, 'test -e o || "+c.makes+"'], outputs: [o]}\n")
			sum, err := e.Resume(t.Context(), ref, engine.Choice{})
			if err != nil {
				t.Fatal(err)
			}
			if done := sum.State == reprise.Complete; done != (c.says == "") {
				t.Fatalf("done %v: %+v", done, sum.Failed)
			}
			if c.says != "" && !strings.Contains(sum.Failed[0].Text, c.says) {
				t.Errorf("said %q, want %q", sum.Failed[0].Text, c.says)
			}
		})
	}
}
