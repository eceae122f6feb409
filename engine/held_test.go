package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/convention"
	"reprise/convention/conventiontest"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/sample"
	"reprise/journal"
	"reprise/project"
)

// lay puts the files of an archive on the disk, with checkouts that are real ones
// where it has any.
func lay(t testing.TB, dir string, files fstest.MapFS) {
	t.Helper()
	checkouts := map[string]bool{}
	write := func(name string, f *fstest.MapFile) {
		at := filepath.Join(dir, name)
		if f.Mode.IsDir() {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			return
		}
		put(t, dir, name, string(f.Data))
	}
	for name, f := range files {
		if below, ok := strings.CutPrefix(name, ".worktrees/"); ok {
			folder, _, deep := strings.Cut(below, "/")
			if deep {
				checkouts[folder] = true
			}
			continue
		}
		write(name, f)
	}
	git(t, dir, "add", "-A", "-f")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "state")
	for folder := range checkouts {
		git(t, dir, "worktree", "add", "-q", "-b", "auto-claude/"+folder, ".worktrees/"+folder)
	}
	for name, f := range files {
		if strings.HasPrefix(name, ".worktrees/") {
			write(name, f)
		}
	}
}

// ofJournal are findings that tell how the files stood to the journal: one who
// holds the run says what was done about it, one who looks what is left.
func ofJournal(f reprise.Finding) bool {
	return f.Code == reprise.CodeRolledForward || f.Code == reprise.CodeMovedOn
}

// saw writes down all that a look said.
func saw(t testing.TB, l engine.Look) string {
	t.Helper()
	run := *l.Run
	run.Findings = slices.DeleteFunc(slices.Clone(run.Findings), ofJournal)
	for i := range run.Findings {
		// The two file systems refuse to list a file in words of their own.
		run.Findings[i].Message = strings.ReplaceAll(run.Findings[i].Message, "not implemented", "not a directory")
	}
	d, err := json.MarshalIndent(l.Decision, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(conventiontest.Describe(&run))
	for i := range run.Steps {
		s := &run.Steps[i]
		fmt.Fprintf(&b, "graded %q %s ours=%t rejected=%d ended=%t %+v\n", s.ID, s.Grade, s.Ours, s.Rejected, s.Ended > 0, s.Evidence)
	}
	fmt.Fprintf(&b, "until %s git=%t\n%s\n", run.Until.UTC(), l.Git != nil, d)
	return b.String()
}

// sameLooks holds against each other what is said of a run that is held and of
// the same run with all of it read again.
func sameLooks(t *testing.T, dir string, ref reprise.Ref) {
	t.Helper()
	e := newEngine(dir)
	now := time.Now()
	e.Now = func() time.Time { return now }
	var held, read engine.Look
	var err error
	for range 500 {
		var other *durable.HeldError
		if held, read, err = e.Looks(t.Context(), ref, nil); !errors.As(err, &other) {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		t.Logf("%s %s: %v", ref.Layout, ref.ID, err)
		return
	}
	compared.Add(1)
	if d := cmp.Diff(saw(t, read), saw(t, held)); d != "" {
		t.Errorf("%s %s (-read again +held):\n%s", ref.Layout, ref.ID, d)
	}
}

// compared counts the pairs of looks.
var compared atomic.Int64

// states are things that happen to a run between two engines. Each gives what is
// to be recorded about a run.
var states = []struct {
	name string
	do   func(t *testing.T, dir string, r *reprise.Run)
}{
	{"as it is", func(*testing.T, string, *reprise.Run) {}},
	{"begun", func(t *testing.T, dir string, r *reprise.Run) { happens(t, dir, r, false, begins(r)...) }},
	{"limited", func(t *testing.T, dir string, r *reprise.Run) {
		all := begins(r)
		if len(all) > 0 {
			all = append(all, reprise.Event{Kind: reprise.StepDeferred, Step: all[0].Step, Until: time.Now().Add(time.Hour)})
		}
		happens(t, dir, r, false, all...)
	}},
	{"asked", func(t *testing.T, dir string, r *reprise.Run) {
		all := begins(r)
		all = append(all, reprise.Event{Kind: reprise.QuestionAsked, Question: "Q-1", Text: "Which way?", Options: []string{"left", "right"}})
		happens(t, dir, r, false, all...)
	}},
	{"answered", func(t *testing.T, dir string, r *reprise.Run) {
		happens(t, dir, r, false, append(begins(r),
			reprise.Event{Kind: reprise.QuestionAsked, Question: "Q-1", Text: "Which way?"},
			reprise.Event{Kind: reprise.QuestionAnswered, Question: "Q-1", Text: "left", Actor: reprise.Person})...)
	}},
	{"rejected", func(t *testing.T, dir string, r *reprise.Run) {
		all := begins(r)
		if len(all) > 0 {
			all = append(all, reprise.Event{Kind: reprise.StepFinished, Step: all[0].Step, Attempt: 1, Outcome: "rejected"},
				reprise.Event{Kind: reprise.EngineLeft})
		}
		happens(t, dir, r, false, all...)
	}},
	{"stopped", func(t *testing.T, dir string, r *reprise.Run) {
		happens(t, dir, r, false, append(begins(r), reprise.Event{Kind: reprise.RunStopped, Outcome: "aborted"})...)
	}},
	{"started twice", func(t *testing.T, dir string, r *reprise.Run) {
		happens(t, dir, r, true, append(append([]reprise.Event{{Kind: reprise.RunStarted}}, begins(r)...),
			reprise.Event{Kind: reprise.QuestionAsked, Question: "Q-1", Text: "Which way?"},
			reprise.Event{Kind: reprise.RunStarted}, reprise.Event{Kind: reprise.RunResumed})...)
	}},
	{"restored", func(t *testing.T, dir string, r *reprise.Run) {
		happens(t, dir, r, true, append(begins(r),
			reprise.Event{Kind: reprise.QuestionAsked, Question: "Q-1", Text: "Which way?"},
			reprise.Event{Kind: reprise.StateRestored})...)
	}},
	{"changed by somebody else", func(t *testing.T, dir string, r *reprise.Run) {
		for _, name := range happens(t, dir, r, false, begins(r)...) {
			was := get(t, dir, name)
			put(t, dir, name, was+"\n")
		}
	}},
	{"behind", func(t *testing.T, dir string, r *reprise.Run) {
		before := map[string]string{}
		keep := func(name string) { before[name] = get(t, dir, name) }
		_ = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
			name, _ := filepath.Rel(dir, at)
			if err == nil && e.Type().IsRegular() && !strings.HasPrefix(name, ".git/") && !strings.HasPrefix(name, ".reprise/") {
				keep(name)
			}
			return nil
		})
		for _, name := range happens(t, dir, r, false, begins(r)...) {
			if was, ok := before[name]; ok {
				put(t, dir, name, was)
			} else if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"another checkout ahead", func(t *testing.T, dir string, r *reprise.Run) {
		happens(t, dir, r, false, begins(r)...)
		git(t, dir, "add", "-A", "-f")
		git(t, dir, "commit", "-q", "--allow-empty", "-m", "begun")
		other := filepath.Join(t.TempDir(), "other")
		git(t, dir, "worktree", "add", "-q", "--detach", other)
		if s := first(r); s != "" {
			happens(t, other, r, false, reprise.Event{Kind: reprise.StepFinished, Step: s, Attempt: 1})
		}
	}},
	{"ignored by git", func(t *testing.T, dir string, r *reprise.Run) {
		happens(t, dir, r, false, begins(r)...)
		put(t, dir, ".gitignore", "docs/\n.reprise/\n.agent-memory/\n.planning/\n.auto-claude/\n*.jsonl\ntasks/\nevents/\nspecs/\n")
	}},
	{"a journal that was repaired", func(t *testing.T, dir string, r *reprise.Run) {
		happens(t, dir, r, false, append(begins(r), reprise.Event{Kind: reprise.SessionKnown, Agent: "one"}, reprise.Event{Kind: reprise.SessionKnown, Agent: "two"}, reprise.Event{Kind: reprise.EngineLeft})...)
		repaired(t, dir, r.Ref)
	}},
}

// takeSoon takes the lease. A process that another test is just starting has our
// lock for a moment, until it is the program that it is to be.
func takeSoon(t *testing.T, s *durable.Store) {
	t.Helper()
	var err error
	for range 500 {
		if _, err = s.Take(t.Context()); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal(err)
}

func first(r *reprise.Run) string {
	for _, u := range r.Next {
		if r.Step(u.ID) != nil {
			return u.ID
		}
	}
	return ""
}

func begins(r *reprise.Run) []reprise.Event {
	if s := first(r); s != "" {
		return []reprise.Event{{Kind: reprise.StepStarted, Step: s, Attempt: 1, Agent: "session-1"}}
	}
	return nil
}

// happens records events about a run, as an engine does, and gives the files that
// the last one changed. bare events stand in the journal alone.
func happens(t *testing.T, dir string, r *reprise.Run, bare bool, all ...reprise.Event) (touched []string) {
	t.Helper()
	s, err := durable.Open(dir, durable.Options{Adopt: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	takeSoon(t, s)
	j, err := journal.Open(s, convention.Find(r.Layout), r.Ref)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Minute)
	for i, ev := range all {
		ev.At = at.Add(time.Duration(i) * time.Second)
		switch {
		case bare, ev.Kind == reprise.StepDeferred, ev.Kind == reprise.SessionKnown, ev.Kind == reprise.EngineLeft:
			err = j.Note(ev)
		default:
			var edits []reprise.Edit
			if edits, err = j.Record(t.Context(), ev); err == nil {
				touched = nil
				for _, e := range edits {
					touched = append(touched, e.Path)
				}
			}
		}
		if err != nil {
			t.Logf("%s of %s: %v", ev.Kind, r.ID, err)
			return touched
		}
	}
	return touched
}

// repaired damages a record in the middle of a journal and repairs it, which
// gives that record up.
func repaired(t *testing.T, dir string, ref reprise.Ref) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, ".reprise/journal", journal.Name(ref)+"*"))
	if err != nil {
		t.Fatal(err)
	}
	done := false
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			more, _ := filepath.Glob(filepath.Join(log, "*"))
			logs = append(logs, more...)
		}
	}
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil || strings.Count(string(data), `"agent":"one"`) != 1 {
			continue
		}
		done = true
		if err := os.WriteFile(log, []byte(strings.Replace(string(data), `"agent":"one"`, `"agent":"0ne"`, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !done {
		t.Logf("%s: no record to damage in %v", ref.ID, logs)
		return
	}
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	takeSoon(t, s)
	if _, err := s.Repair(journal.Name(ref), false); err != nil {
		t.Fatal(err)
	}
}

// X8: what is said of a run that was read when it was taken up is what would be
// said if all of it were read again, for every layout and whatever happened to
// the run before.
func TestX8_a_run_that_is_held_is_judged_as_one_that_is_read_again(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	archives, err := filepath.Glob("../convention/*/testdata/scenarios/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatal(len(archives), err)
	}
	t.Cleanup(func() {
		if n := compared.Load(); n < 20 {
			t.Errorf("only %d runs were compared", n)
		} else {
			t.Logf("%d runs were compared", n)
		}
	})
	drawn := sample.Every(t, 199)
	if os.Getenv("REPRISE_CORPUS") != "" {
		drawn = func(int) bool { return true }
	}
	for i, archive := range archives {
		for n, st := range states {
			if !drawn(i + n*len(archives)) {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar")+"/"+st.name, func(t *testing.T) {
				t.Parallel()
				files := conventiontest.LoadFS(t, archive)
				dir := repository(t)
				lay(t, dir, files)
				j, err := project.Judge(t.Context(), dir, project.JudgeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for k, r := range j.Runs {
					if k == 4 {
						break // more of the same
					}
					st.do(t, dir, r)
					sameLooks(t, dir, r.Ref)
				}
			})
		}
	}
}
