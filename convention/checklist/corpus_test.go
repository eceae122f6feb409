package checklist_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/convention/checklist"
	"reprise/convention/conventiontest"
	pick "reprise/internal/sample"
)

// inCorpus is the folder of a family in the corpus of real lists, where it has another
// name there.
var inCorpus = map[string]string{"bmad": "bmad6"}

// tried is how many tasks of one list are finished, spread over all of it.
const tried = 2

func TestFinishing_a_task_of_a_real_list_changes_only_its_status(t *testing.T) {
	t.Parallel()
	pick.Drawn(t)
	if testing.Short() {
		t.Skip("reading every version of hundreds of lists takes a while")
	}
	each(t, func(t *testing.T, f checklist.Family, _ sample) {
		lists := realLists(t, f)
		if len(lists) == 0 {
			t.Skip("the corpus of real lists is not here")
		}
		tasks := 0
		drawn := pick.Every(t, 16)
		for i, l := range lists {
			if drawn(i) {
				tasks += finishSome(t, f, l)
			}
		}
		t.Logf("finished %d tasks of %d lists", tasks, len(lists))
	})
}

// finishSome finishes open tasks of a list, each alone, and gives how many.
func finishSome(t *testing.T, f checklist.Family, l realList) (n int) {
	layout := checklist.New(f)
	fsys := fstest.MapFS{l.path: {Data: l.data, Mode: 0o644, ModTime: conventiontest.Epoch}}
	refs, err := layout.Find(fsys)
	if err != nil || len(refs) != 1 {
		return 0 // a list of another form
	}
	run, err := reprise.Load(layout, fsys, refs[0])
	if err != nil {
		t.Fatal(err)
	}
	var open []reprise.Step
	for _, s := range run.Steps {
		if !s.Status.Closed() && s.Status != reprise.Unknown {
			open = append(open, s)
		}
	}
	for i := 0; i < len(open); i += max(1, len(open)/tried) {
		n++
		s := open[i]
		edits, err := layout.Record(fsys, run, reprise.Event{Kind: reprise.StepFinished, Step: s.ID, At: conventiontest.Epoch})
		if err != nil || len(edits) != 1 {
			t.Errorf("%s %s: %d edits, %v", l.path, s.ID, len(edits), err)
			continue
		}
		next, err := conventiontest.Apply(fsys, edits)
		if err != nil {
			t.Fatal(err)
		}
		after, err := reprise.Load(layout, next, refs[0])
		if err != nil || after.Step(s.ID).Status != reprise.Done || len(after.Steps) != len(run.Steps) {
			t.Errorf("%s %s: not done, %v", l.path, s.ID, err)
			continue
		}
		for k, o := range after.Steps {
			if o.ID != s.ID && o.Status != run.Steps[k].Status {
				t.Errorf("%s: finishing %s changed %s", l.path, s.ID, o.ID)
			}
		}
		onlyStatus(t, f, l, next[l.path].Data, s)
	}
	return n
}

// onlyStatus checks that lines that tell of no status of the task, or of what it is a part
// of, are as they were, and of the others only the mark or the values differ.
func onlyStatus(t *testing.T, f checklist.Family, l realList, next []byte, s reprise.Step) {
	was, now := bytes.Split(l.data, []byte("\n")), bytes.Split(next, []byte("\n"))
	if len(was) != len(now) {
		t.Errorf("%s %s: lines came or went", l.path, s.ID)
		return
	}
	changed := 0
	for i := range was {
		if bytes.Equal(was[i], now[i]) {
			continue
		}
		if i+1 <= s.Source.Line || indent(was[i]) <= indent(was[s.Source.Line-1]) { // a box below the task is ticked with it
			changed++
		}
		line := now[i]
		if s.Status == reprise.Blocked && i+1 == s.Source.Line { // where the text puts it off, a tick alone says that it is left out
			line = bytes.TrimSuffix(line, []byte(" (done)"))
		}
		if f.Form == checklist.Boxes && (len(was[i]) != len(line) || differ(was[i], line) != 1) {
			t.Errorf("%s:%d: %s became %s", l.path, i+1, was[i], now[i])
		}
	}
	// The task itself, which may stand twice, and what it is the last part of.
	if most := len(s.Claims) + strings.Count(s.ID, ".") + 1; changed > most {
		t.Errorf("%s %s: %d lines changed", l.path, s.ID, changed)
	}
}

func indent(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " \t")) }

func differ(a, b []byte) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// realList is one version of a list someone keeps.
type realList struct {
	path string
	data []byte
}

// realLists gives every version of every list of a family in the corpus. The objects are
// borrowed from there; nothing is written to it.
func realLists(t *testing.T, f checklist.Family) (out []realList) {
	root := cmp.Or(os.Getenv("REPRISE_CORPUS_DIR"), filepath.FromSlash("../../../shared/corpus"))
	repos, err := filepath.Glob(filepath.Join(root, "families", cmp.Or(inCorpus[f.Name], f.Name), "*.git"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bare := range repos {
		out = append(out, versions(t, f, bare)...)
	}
	return out
}

func versions(t *testing.T, f checklist.Family, bare string) (out []realList) {
	dir := t.TempDir()
	git := func(args ...string) []byte {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %s in %s: %v", args[0], bare, err)
		}
		return text
	}
	git("init", "-q")
	objects, err := filepath.Abs(filepath.Join(bare, "objects"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".git", "objects", "info", "alternates"), []byte(objects+"\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	refs, err := os.ReadFile(filepath.Join(bare, "packed-refs"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"log", "--raw", "-m", "--no-abbrev", "--no-renames", "--format="}
	for line := range strings.Lines(string(refs)) {
		if hash, _, ok := strings.Cut(line, " "); ok && len(hash) == 40 {
			args = append(args, hash)
		}
	}
	var seen []string
	for line := range strings.Lines(string(git(args...))) {
		meta, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		fields := strings.Fields(meta)
		fits := func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }
		if !ok || len(fields) != 5 || fields[4] == "D" || !slices.ContainsFunc(f.Lists, fits) || slices.Contains(seen, name+fields[3]) {
			continue
		}
		seen = append(seen, name+fields[3])
		out = append(out, realList{name, git("cat-file", "blob", fields[3])})
	}
	return out
}
