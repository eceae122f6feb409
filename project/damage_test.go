package project_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"reprise"
	"reprise/convention/checklist"
	"reprise/convention/conventiontest"
	"reprise/internal/sample"
	"reprise/project"
)

// damages are what crashes, disks, editors and people do to a state file. Each puts
// something else in the place of a file.
var damages = []struct {
	name string
	// whole tells that nothing is left of what stood there, partly that what is missing can
	// be seen: work that was done is then never taken for open.
	whole, partly bool
	do            func(name string, data []byte) error
}{
	{"a link to itself", true, true, func(name string, _ []byte) error {
		return os.Symlink(filepath.Base(name), name)
	}},
	{"a link to nothing", true, true, func(name string, _ []byte) error { return os.Symlink("nothing", name) }},
	{"a folder", true, true, func(name string, _ []byte) error { return os.Mkdir(name, 0o755) }},
	{"empty", false, true, func(name string, _ []byte) error { return os.WriteFile(name, nil, 0o644) }},
	{"NULs", true, true, func(name string, data []byte) error {
		return os.WriteFile(name, make([]byte, len(data)), 0o644)
	}},
	{"NULs at the end", false, true, func(name string, data []byte) error {
		half := len(data) / 2
		return os.WriteFile(name, append(slices.Clone(data[:half]), make([]byte, len(data)-half)...), 0o644)
	}},
	{"cut off at a line", false, false, func(name string, data []byte) error {
		half := bytes.LastIndexByte(data[:len(data)/2], '\n') + 1
		return os.WriteFile(name, data[:half], 0o644)
	}},
	{"cut off in a line", false, false, func(name string, data []byte) error {
		return os.WriteFile(name, data[:len(data)*2/3], 0o644)
	}},
	{"cut off in the middle", false, false, func(name string, data []byte) error {
		return os.WriteFile(name, data[:len(data)/2], 0o644)
	}},
	{"cut off after a third", false, false, func(name string, data []byte) error {
		return os.WriteFile(name, data[:len(data)/3], 0o644)
	}},
	{"a string", false, true, func(name string, _ []byte) error { return os.WriteFile(name, []byte("\"nope\"\n"), 0o644) }},
	{"null", false, true, func(name string, _ []byte) error { return os.WriteFile(name, []byte("null\n"), 0o644) }},
	{"a number", false, true, func(name string, _ []byte) error { return os.WriteFile(name, []byte("42\n"), 0o644) }},
	{"an empty list", false, true, func(name string, _ []byte) error { return os.WriteFile(name, []byte("[]\n"), 0o644) }},
	{"an empty object", false, true, func(name string, _ []byte) error { return os.WriteFile(name, []byte("{}\n"), 0o644) }},
	{"a list of numbers", false, true, func(name string, _ []byte) error { return os.WriteFile(name, []byte("[1, 2, 3]\n"), 0o644) }},
	{"an object without what is known", false, true, func(name string, _ []byte) error {
		return os.WriteFile(name, []byte("{\"tasks\": \"nope\", \"phases\": 7}\n"), 0o644)
	}},
	{"UTF-16", true, true, func(name string, data []byte) error {
		var out bytes.Buffer
		out.WriteString("\xff\xfe")
		for _, u := range utf16.Encode([]rune(string(data))) {
			out.Write([]byte{byte(u), byte(u >> 8)})
		}
		return os.WriteFile(name, out.Bytes(), 0o644)
	}},
	{"random bytes", true, true, func(name string, data []byte) error {
		random := make([]byte, len(data))
		for i := range random {
			random[i] = byte(i*i*31>>3) ^ byte(i*167)
		}
		return os.WriteFile(name, random, 0o644)
	}},
	{"bytes that are no text", false, true, func(name string, data []byte) error {
		half := len(data) / 2
		return os.WriteFile(name, slices.Concat(data[:half], []byte("\xff\xfe\xe9"), data[half:]), 0o644)
	}},
	{"gone", false, false, func(string, []byte) error { return nil }},
}

// tops are the damages after which a file of JSON or YAML is well-formed and is not what
// such a file is: none of it was read, and that is said.
var tops = []string{"a string", "null", "a number", "an empty list", "an empty object", "a list of numbers", "an object without what is known"}

// mayBeEmpty reports whether a list of a family may be a whole file, which may be empty.
func mayBeEmpty(family string) bool {
	return slices.ContainsFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == family && slices.Contains(f.Items, "") })
}

// isRead reports whether a file of JSON, JSON lines or YAML is read: whether a finding names it if it
// holds NULs. A place in a list, which only orders it, may be unsaid.
func isRead(t *testing.T, files fs.FS, name string, now time.Time) bool {
	t.Helper()
	if !slices.Contains([]string{".json", ".jsonl", ".yaml", ".yml"}, path.Ext(name)) || strings.HasSuffix(name, ".taskmaster/state.json") {
		return false
	}
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, files), os.WriteFile(filepath.Join(dir, name), make([]byte, 9), 0o644)); err != nil {
		t.Fatal(err)
	}
	return named(name, judged(t, dir, now))
}

// named reports whether a finding names a file.
func named(name string, in *project.Judgement) bool {
	return slices.ContainsFunc(in.Runs, func(r *reprise.Run) bool {
		return slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Source.File == name && f.Severity >= reprise.Warning })
	})
}

// silent are the files whose absence nothing else on disk tells of: the state without
// them is a valid one.
var silent = []string{"HANDOFF.json", "clarifications.md", "build_commits.json", "003-health-endpoint/implementation_plan.json", "loop-status.json", "epic-EPIC-2-state.yaml", ".md"}

// unseen reports whether nothing on disk can tell of a damage: a task list that lost its
// last lines is a list, and where a family's lists may lie beside other files, one in
// another form is such a file.
func unseen(example, name, damage string) bool {
	i := slices.IndexFunc(checklist.Families(), func(f checklist.Family) bool { return f.Name == example })
	family := i >= 0 || example == "families"
	switch {
	case damage == "gone":
		return family || slices.ContainsFunc(silent, func(end string) bool { return strings.HasSuffix(name, end) })
	case name == "reprise.yaml":
		return true // a person's settings, which tell what else is state
	case strings.HasPrefix(damage, "cut off"):
		return family && (path.Ext(name) == ".md" || path.Ext(name) == ".jsonl")
	}
	shared := family && (i < 0 || checklist.Families()[i].Shared && !strings.HasPrefix(name, ".")) && path.Ext(name) != ".md"
	return shared && slices.Contains([]string{"a list of numbers", "an object without what is known"}, damage)
}

// interrupted is a time at which the work in each example has just stopped.
var interrupted = map[string]time.Time{
	"autoclaude": time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC), "eventrun": time.Date(2026, 2, 12, 11, 30, 0, 0, time.UTC),
	"gsd": time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC), "longrun": time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC),
	"orchestrate": time.Date(2026, 2, 13, 0, 0, 0, 0, time.UTC), "specloop": time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC),
}

// Whatever happens to one state file where git knows nothing of it, the verdict is never
// better and the resume point never later than without it. A few of the cases are tried,
// all with REPRISE_ALL. (issue 15, item 1)
func TestDamage_of_a_state_file_never_makes_the_answer_better(t *testing.T) {
	t.Parallel()
	chosen, row := sample.Every(t, 7), 0
	all := examples(t)
	for _, example := range slices.Sorted(maps.Keys(all)) {
		files, dir := all[example], t.TempDir()
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		now := cmp.Or(interrupted[example], time.Now())
		before := judged(t, dir, now)
		if len(before.Runs) == 0 {
			t.Fatalf("%s: no runs", example)
		}
		for _, name := range stateFiles(t, files) {
			for _, damage := range damages {
				if row++; !chosen(row) || unseen(example, name, damage.name) {
					continue
				}
				t.Run(example+"/"+name+"/"+damage.name, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					if err := os.CopyFS(dir, files); err != nil {
						t.Fatal(err)
					}
					at := filepath.Join(dir, name)
					data, err := os.ReadFile(at)
					if err == nil {
						err = os.Remove(at)
					}
					if err == nil {
						err = damage.do(at, data)
					}
					if err != nil {
						t.Fatal(err)
					}
					after := judged(t, dir, now)
					notBetter(t, before, after)
					top := slices.Contains(tops, damage.name) && (damage.name != "an empty list" || !mayBeEmpty(example)) && isRead(t, files, name, now)
					if top && !named(name, after) {
						t.Errorf("no finding names %s", name)
					}
					if damage.whole || top {
						blocksWhatItSpokeOf(t, name, before, after)
					}
					if damage.partly {
						nothingDoneIsOpen(t, before, after)
					}
				})
			}
		}
	}
}

func judged(t *testing.T, dir string, now time.Time) *project.Judgement {
	t.Helper()
	j, err := project.Judge(t.Context(), dir, project.JudgeOptions{
		Options: project.Options{Now: now}, Full: true,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// examples gives a project of each convention, and of each family of task lists.
func examples(t *testing.T) map[string]fs.FS {
	t.Helper()
	out := map[string]fs.FS{}
	dirs, err := filepath.Glob("../examples/*")
	lists, err2 := filepath.Glob("../convention/checklist/testdata/scenarios/*/*-under-way.txtar")
	if err := errors.Join(err, err2); err != nil || len(dirs) < 6 || len(lists) <= len(checklist.Families()) {
		t.Fatalf("%d examples, %d lists, %v", len(dirs), len(lists), err)
	}
	for _, dir := range dirs {
		out[filepath.Base(dir)] = os.DirFS(dir)
	}
	for _, file := range lists {
		out[strings.TrimSuffix(filepath.Base(file), "-under-way.txtar")] = conventiontest.LoadFS(t, file)
	}
	return out
}

func stateFiles(t *testing.T, files fs.FS) (out []string) {
	t.Helper()
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Base(name) != "README.md" {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A file in the place of a folder that state is kept in hides all of it: what is still
// told of the runs is no better than before. (issue 15, item 1)
func TestDamage_of_a_state_folder_never_makes_the_answer_better(t *testing.T) {
	t.Parallel()
	example := "../examples/orchestrate"
	before := judged(t, example, time.Now())
	for _, name := range []string{"qa", "qa/2.2", "docs", "docs/stories"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := filepath.Join(dir, name)
			if err := errors.Join(os.CopyFS(dir, os.DirFS(example)), os.RemoveAll(at), os.WriteFile(at, nil, 0o644)); err != nil {
				t.Fatal(err)
			}
			after := judged(t, dir, time.Now())
			for _, is := range after.Runs {
				speaksOf := is.ID == "EPIC-2" || is.ID == "2.2"
				if e := after.Decisions[is]; speaksOf && e.Verdict != reprise.BlockedVerdict {
					t.Errorf("%s: is %s: %q", is.Path, e.Verdict, e.Reasons)
				}
			}
			before := *before
			before.Runs = slices.DeleteFunc(slices.Clone(before.Runs), func(r *reprise.Run) bool {
				return r.Path == name || strings.HasPrefix(r.Path, name+"/")
			})
			notBetter(t, &before, after)
		})
	}
}

// A QA loop that cannot be read may hold the verdict that sent its story back: the
// story is not to be closed past it. (issue 15, item 1)
func TestA_story_is_blocked_while_its_QA_loop_cannot_be_read(t *testing.T) {
	t.Parallel()
	for _, damage := range damages {
		if !damage.whole {
			continue
		}
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := filepath.Join(dir, "qa/2.2/loop-status.json")
			if err := errors.Join(os.CopyFS(dir, os.DirFS("../examples/orchestrate")), os.Remove(at), damage.do(at, []byte("{}"))); err != nil {
				t.Fatal(err)
			}
			after := judged(t, dir, time.Now())
			i := slices.IndexFunc(after.Runs, func(r *reprise.Run) bool { return r.ID == "2.2" })
			if i < 0 {
				t.Fatal("story 2.2 vanished")
			}
			if e := after.Decisions[after.Runs[i]]; e.Verdict != reprise.BlockedVerdict {
				t.Errorf("story 2.2 is %s: %q", e.Verdict, e.Reasons)
			}
		})
	}
}

// notBetter reports every run whose answer got better.
func notBetter(t *testing.T, before, after *project.Judgement) {
	t.Helper()
	for _, r := range before.Runs {
		i := slices.IndexFunc(after.Runs, func(o *reprise.Run) bool { return o.Layout == r.Layout && o.Path == r.Path })
		if i < 0 {
			t.Errorf("%s vanished", r.Path)
			continue
		}
		is := after.Runs[i]
		d, e := before.Decisions[r], after.Decisions[is]
		if e.Verdict == reprise.BlockedVerdict || is.State == reprise.Unreadable {
			continue
		}
		if was, is := d.Outcome(), e.Outcome(); is.Worse(was) != is {
			t.Errorf("%s: was %s, %s, is %s, %s: %q", r.Path, d.Verdict, d.Action, e.Verdict, e.Action, e.Reasons)
		}
		if later, why := further(r, d, e); later {
			t.Errorf("%s: %s (%s)", r.Path, why, strings.Join(e.Reasons, "; "))
		}
	}
}

// blocksWhatItSpokeOf reports runs that a file spoke of and that continue without it.
func blocksWhatItSpokeOf(t *testing.T, name string, before, after *project.Judgement) {
	t.Helper()
	for _, was := range before.Runs {
		spoke := func(s reprise.Step) bool {
			return slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Source.File == name })
		}
		if !was.State.Open() || !slices.ContainsFunc(was.Steps, spoke) {
			continue
		}
		for _, is := range after.Runs {
			if e := after.Decisions[is]; is.Path == was.Path && e.Verdict != reprise.BlockedVerdict {
				t.Errorf("%s: %s cannot be read, and it is %s, %s: %q", is.Path, name, is.State, e.Verdict, e.Reasons)
			}
		}
	}
}

// nothingDoneIsOpen reports steps that were done and would be done again.
func nothingDoneIsOpen(t *testing.T, before, after *project.Judgement) {
	t.Helper()
	for _, was := range before.Runs {
		for _, is := range after.Runs {
			// Where nothing can be started, nothing is done again.
			if d := after.Decisions[is]; is.Layout != was.Layout || is.Path != was.Path || d.Action != reprise.Start || d.Verdict == reprise.BlockedVerdict || is.State == reprise.Unreadable {
				continue
			}
			for i := range was.Steps {
				s := is.Step(was.Steps[i].ID)
				if was.Steps[i].Status.Closed() && (s == nil || !s.Status.Closed() && s.Status != reprise.Unknown) {
					t.Errorf("%s: %s was done and is open: %q", was.Path, was.Steps[i].ID, after.Decisions[is].Reasons)
				}
			}
		}
	}
}

// further reports whether a decision resumes behind the point of the one before it.
func further(r *reprise.Run, before, after reprise.Decision) (bool, string) {
	if before.Point == nil {
		return false, ""
	}
	if after.Action == reprise.Finish || after.Point == nil && after.Action == reprise.Start {
		return true, fmt.Sprintf("was to go on with %s, is %s", before.Point.ID, after.Action)
	}
	if after.Point == nil {
		return false, ""
	}
	at := func(u *reprise.Unit) int {
		return slices.IndexFunc(r.Steps, func(s reprise.Step) bool { return s.ID == u.ID })
	}
	if a, b := at(before.Point), at(after.Point); b > a && a >= 0 {
		return true, fmt.Sprintf("was to go on with %s, goes on with %s", before.Point.ID, after.Point.ID)
	}
	return false, ""
}

// A document that an agent is to work by and that holds no text blocks the run, although
// no status stands in it. (issue 15, item 1)
func TestA_document_without_text_blocks_the_run_that_works_by_it(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, ".auto-claude/specs/003-health-endpoint/spec.md")
	if err := errors.Join(os.CopyFS(dir, os.DirFS("../examples/autoclaude")), os.WriteFile(at, make([]byte, 300), 0o644)); err != nil {
		t.Fatal(err)
	}
	after := judged(t, dir, interrupted["autoclaude"])
	i := slices.IndexFunc(after.Runs, func(r *reprise.Run) bool { return strings.HasSuffix(r.Path, "003-health-endpoint") })
	if i < 0 || after.Decisions[after.Runs[i]].Verdict != reprise.BlockedVerdict {
		t.Errorf("it is at %d of %d runs, and not blocked", i, len(after.Runs))
	}
}
