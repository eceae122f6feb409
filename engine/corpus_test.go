package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/engine"
	"reprise/internal/durable"
	"reprise/internal/sample"
	"reprise/journal"
	"reprise/project"
)

// corpus is where real state stands, on machines that have it.
const corpus = "../../shared/corpus"

// TestX4_real_state_is_worked_on_without_collateral_damage takes interrupted runs
// of real projects up, in copies, for a few steps. Nothing changes but what the
// journal names and what the actor was to make, and in the files of the layout
// nothing but what an event means: what we do not know stays.
func TestX4_real_state_is_worked_on_without_collateral_damage(t *testing.T) {
	t.Parallel()
	sample.Drawn(t)
	if testing.Short() {
		t.Skip("works on real projects: left out by -short")
	}
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the corpus is not here: ", err)
	}
	budget := 5 * time.Second
	if os.Getenv("REPRISE_CORPUS") != "" {
		budget = time.Hour
	}
	began := time.Now()
	tried, steps, complete := 0, 0, 0
	for _, kind := range []string{"autoclaude", "gsd"} {
		dirs, err := filepath.Glob(filepath.Join(corpus, kind, "*"))
		if err != nil {
			t.Fatal(err)
		}
		spend := began.Add(budget / 2)
		if kind == "gsd" {
			spend = began.Add(budget)
		}
		for _, dir := range dirs {
			// A busy machine tries fewer, but never too few.
			if time.Now().After(spend) && tried >= 4 && (kind == "autoclaude" || steps >= 4) {
				break
			}
			for _, ref := range interrupted(t, dir) {
				r := real{t: t, from: dir, ref: ref}
				if !r.play() {
					continue
				}
				tried, steps = tried+1, steps+len(r.sum.Finished)
				if r.sum.State == reprise.Complete || r.sum.State == reprise.Waiting {
					complete++
				}
				break
			}
		}
	}
	t.Logf("%d runs of real projects, %d steps finished, %d runs came to an end or to a person", tried, steps, complete)
	if tried < 4 || steps < 4 {
		t.Errorf("only %d runs with %d steps could be tried", tried, steps)
	}
}

// interrupted are the runs of a project that can be continued, if it is small
// enough to be copied.
func interrupted(t testing.TB, dir string) []reprise.Ref {
	files := 0
	_ = filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { files++; return nil })
	if files > 600 {
		return nil
	}
	read, err := project.Judge(t.Context(), dir, project.JudgeOptions{})
	if err != nil {
		t.Errorf("%s: %v", dir, err)
		return nil
	}
	var out []reprise.Ref
	for _, r := range read.Runs {
		if d := read.Decisions[r]; d.Action == reprise.Start && d.Verdict != reprise.BlockedVerdict {
			out = append(out, r.Ref)
		}
	}
	return out
}

// real is one run of a real project that is worked on in a copy.
type real struct {
	t    testing.TB
	from string
	ref  reprise.Ref
	dir  string
	sum  *engine.Summary
}

func (r *real) play() bool {
	t := r.t
	r.dir = filepath.Join(t.TempDir(), "p")
	if err := os.CopyFS(r.dir, os.DirFS(r.from)); err != nil {
		t.Errorf("%s: %v", r.from, err)
		return false
	}
	git(t, r.dir, "init", "-q")
	git(t, r.dir, "add", "-A", "-f")
	git(t, r.dir, "commit", "-q", "-m", "as it was found")
	before := bytesOf(t, r.dir)
	e := newEngine(r.dir)
	e.Settings.Agents["actor"].Env["DEMO_LAUNCHES"] = launchesOf(r.dir)
	e.Settings.Agents["actor"].Env["DEMO_GAPS"] = ""
	e.Parallel = 1
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := 0
	e.Tell = func(p engine.Progress) {
		if p.Kind == engine.Ended {
			ended++
		}
		if ended == 2 {
			stop() // others are tried, too
		}
	}
	sum, err := e.Resume(ctx, r.ref, engine.Choice{})
	if unsafe, ok := errors.AsType[*engine.UnsafeError](err); ok {
		t.Logf("%s %s: %v", filepath.Base(r.from), r.ref.ID, unsafe)
		return false
	}
	if err != nil {
		t.Errorf("%s %s: %v", filepath.Base(r.from), r.ref.ID, err)
		return false
	}
	r.sum = sum
	r.compare(before, bytesOf(t, r.dir))
	return true
}

// bytesOf reads a whole project but for git's and our own folders and checkouts
// that runs have to themselves.
func bytesOf(t testing.TB, dir string) map[string][]byte {
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".reprise", ".worktrees", "worktrees"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !d.Type().IsRegular():
			return nil
		}
		out[filepath.ToSlash(rel)], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// compare holds what changed against what was to change.
func (r *real) compare(before, after map[string][]byte) {
	t := r.t
	told, made := r.intended()
	for name := range merged(before, after) {
		was, now := before[name], after[name]
		switch {
		case bytes.Equal(was, now) && (was == nil) == (now == nil), made(name):
		case told[name] == 0:
			t.Errorf("%s %s: %s was changed and nobody meant to:\n%s", filepath.Base(r.from), r.ref.ID, name, durable.Diff(name, was, now))
		case now == nil:
			t.Errorf("%s %s: %s is gone", filepath.Base(r.from), r.ref.ID, name)
		case was != nil:
			r.kept(name, was, now, told[name])
		}
	}
}

// intended are the files that the journal names, with how often, and what the
// actor makes.
func (r *real) intended() (told map[string]int, made func(string) bool) {
	store, err := durable.Open(r.dir, durable.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	entries, _, err := journal.Read(store, journal.Name(r.ref))
	if err != nil {
		r.t.Fatal(err)
	}
	told = map[string]int{}
	expected := map[string]bool{}
	for _, e := range entries {
		for _, touch := range e.Files {
			told[touch.Path]++
		}
		for _, x := range e.Event.Expect {
			expected[x.Path] = true
		}
	}
	return told, func(name string) bool {
		if expected[name] || strings.HasPrefix(name, "src/") || strings.HasSuffix(name, "-PLAN.md") {
			return true
		}
		for folder := range expected {
			if strings.HasPrefix(name, folder+"/") {
				return true
			}
		}
		return false
	}
}

// kept checks that a file of the layout is the same but for what events mean in
// it: nothing that was there is lost, and few lines are other than they were.
func (r *real) kept(name string, was, now []byte, events int) {
	t := r.t
	if strings.HasSuffix(name, ".json") {
		var old, new any
		if json.Unmarshal(was, &old) == nil {
			if err := json.Unmarshal(now, &new); err != nil {
				t.Errorf("%s: %s can no longer be read: %v", r.ref.ID, name, err)
				return
			}
			if lost := lostKey(old, new, ""); lost != "" {
				t.Errorf("%s %s: %s lost %s", filepath.Base(r.from), r.ref.ID, name, lost)
			}
		}
	}
	gone := 0
	lines := map[string]int{}
	for line := range bytes.Lines(now) {
		lines[string(line)]++
	}
	for line := range bytes.Lines(was) {
		if lines[string(line)]--; lines[string(line)] < 0 {
			gone++
		}
	}
	if gone > 6*events+2 {
		t.Errorf("%s %s: %s lost %d lines to %d events:\n%s", filepath.Base(r.from), r.ref.ID, name, gone, events, durable.Diff(name, was, now))
	}
}

// lostKey finds a key or an item of a JSON document that another lacks.
func lostKey(old, new any, at string) string {
	switch old := old.(type) {
	case map[string]any:
		n, ok := new.(map[string]any)
		if !ok {
			return at
		}
		for key, v := range old {
			have, ok := n[key]
			if !ok {
				return at + "." + key
			}
			if lost := lostKey(v, have, at+"."+key); lost != "" {
				return lost
			}
		}
	case []any:
		n, ok := new.([]any)
		if !ok || len(n) < len(old) {
			return at + "[]"
		}
		for i := range old {
			if lost := lostKey(old[i], n[i], at+"[]"); lost != "" {
				return lost
			}
		}
	}
	return ""
}
