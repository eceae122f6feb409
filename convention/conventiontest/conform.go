package conventiontest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	draw "reprise/internal/sample"
	"reprise/internal/tree"
)

// Conform damages a tree of valid state in every way the suite knows and asks
// of each reading: no panic, no error, the same answer twice, nothing written,
// nothing silently gone, and nothing more finished than before.
//
// It takes long: one in five is drawn. Files are cut at the borders of their tokens and at
// random places; with REPRISE_ALL=1 at every byte.
//
// Where a convention knows its files by their text alone, foreign tells of a text
// that it is no one's: the run of a file that was damaged into one may be gone.
func Conform(t *testing.T, l reprise.Layout, sample fstest.MapFS, foreign ...func(text []byte) bool) {
	t.Helper()
	draw.Drawn(t)
	intact := readIntact(t, l, sample)
	intact.foreign = foreign
	names := slices.Sorted(maps.Keys(sample))
	random := rand.New(rand.NewPCG(draw.Seed(t), 0))

	t.Run("X9_truncated", func(t *testing.T) {
		for _, name := range names {
			data := sample[name].Data
			for _, cut := range cuts(data, random) {
				what := fmt.Sprintf("%s cut after %d bytes", name, cut)
				got := intact.damaged(t, sample, name, data[:cut], what)
				if structured(name) && !json.Valid(data[:cut]) {
					notMoreDone(t, what, intact.runs, got)
				}
			}
		}
	})
	t.Run("X9_garbage", func(t *testing.T) {
		for _, name := range names {
			read := speaks(name, intact.damaged(t, sample, name, make([]byte, 9), name+" NULs"))
			for label, data := range garbage(sample[name].Data) {
				what := name + " " + label
				got := intact.damaged(t, sample, name, data, what)
				if bare(name, data) && read && !speaks(name, got) && !isEmpty(name, got) {
					t.Errorf("%s: no finding names the damaged file", what)
				}
				if structured(name) {
					notMoreDone(t, what, intact.runs, got)
				}
			}
		}
	})
	t.Run("X9_wrong_types", func(t *testing.T) {
		for _, name := range names {
			if !strings.HasSuffix(name, ".json") {
				continue
			}
			all := retyped(t, sample[name].Data)
			for _, label := range some(slices.Sorted(maps.Keys(all)), 80, random) {
				intact.damaged(t, sample, name, all[label], name+" "+label)
			}
		}
	})
	t.Run("X9_files_gone_one_by_one", func(t *testing.T) {
		for _, name := range names {
			fsys := maps.Clone(sample)
			delete(fsys, name)
			for _, r := range mustRead(t, l, fsys, "without "+name) {
				checkRun(t, "without "+name, r)
			}
		}
	})
	t.Run("X9_folders_where_files_belong", func(t *testing.T) {
		for _, name := range names {
			fsys := maps.Clone(sample)
			fsys[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			mustRead(t, l, fsys, name+" is a folder")
		}
	})
	t.Run("X9_clock_in_the_future", func(t *testing.T) {
		fsys := fstest.MapFS{}
		for name, f := range sample {
			data := f.Data
			for _, year := range []string{"2024-", "2025-", "2026-"} {
				data = bytes.ReplaceAll(data, []byte(year), []byte("2999-"))
			}
			fsys[name] = &fstest.MapFile{Data: data, Mode: f.Mode, ModTime: f.ModTime.AddDate(900, 0, 0)}
		}
		notSilent(t, "future", intact.runs, mustRead(t, l, fsys, "future"))
	})
	t.Run("X9_odd_names", func(t *testing.T) {
		fsys := maps.Clone(sample)
		for _, name := range names {
			for _, odd := range []string{"\x1b[31mred", "a b\tc", "-rf", "$(touch x)", "ünïcödé", "\u202eevil", strings.Repeat("x", 200)} {
				fsys[filepath.ToSlash(filepath.Join(filepath.Dir(name), odd))] = &fstest.MapFile{Data: sample[name].Data, ModTime: Epoch}
			}
		}
		mustRead(t, l, fsys, "odd names")
	})
	t.Run("OR10_X9_on_a_real_disk", func(t *testing.T) { onDisk(t, l, sample, intact.runs) })
}

// onDisk does what an in-memory file system cannot: links, FIFOs, permissions,
// and proof that reading leaves no trace.
func onDisk(t *testing.T, l reprise.Layout, sample fstest.MapFS, intact []*reprise.Run) {
	for _, name := range slices.Sorted(maps.Keys(sample)) {
		spoil := map[string]func(path string) error{
			"a FIFO":                mkfifo,
			"a link out of it":      func(p string) error { return os.Symlink("/etc/hostname", p) },
			"a link to nothing":     func(p string) error { return os.Symlink("nowhere", p) },
			"a link to itself":      func(p string) error { return os.Symlink(filepath.Base(p), p) },
			"a file without rights": func(p string) error { return os.WriteFile(p, []byte("x"), 0o000) },
		}
		for _, what := range slices.Sorted(maps.Keys(spoil)) {
			if sample[name].Mode.IsDir() {
				continue
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, sample); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := spoil[what](path); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, dir)
			fsys, err := tree.Open(dir, tree.Options{All: true})
			if err != nil {
				t.Fatal(err)
			}
			got := mustRead(t, l, fsys, name+" is "+what)
			if what == "a FIFO" || what == "a link out of it" {
				notSilent(t, name+" is "+what, intact, got)
			}
			fsys.Close()
			if after := snapshot(t, dir); before != after {
				t.Errorf("reading changed the folder:\n%s\n%s", before, after)
			}
		}
	}
}

// with replaces one file of a tree.
func with(sample fstest.MapFS, name string, data []byte) fstest.MapFS {
	fsys := maps.Clone(sample)
	f := *sample[name]
	f.Data = data
	fsys[name] = &f
	return fsys
}

func structured(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

func garbage(data []byte) map[string][]byte {
	half := len(data) / 2
	nul := append(append(append([]byte{}, data[:half]...), make([]byte, 512)...), data[half:]...)
	return map[string][]byte{
		"empty":           {},
		"blank":           []byte(" \n\t\n"),
		"binary":          {0x00, 0xff, 0xfe, 0x1b, '[', '3', '1', 'm', 0x80, 0x81},
		"all NUL":         make([]byte, len(data)+1),
		"a NUL block":     nul,
		"deep brackets":   bytes.Repeat([]byte("["), 100_000),
		"deep maps":       bytes.Repeat([]byte(`{"a":`), 50_000),
		"deep quotes":     bytes.Repeat([]byte("> "), 20_000),
		"one long line":   bytes.Repeat([]byte("x"), 1<<20),
		"many pipes":      bytes.Repeat([]byte("|"), 100_000),
		"many headings":   bytes.Repeat([]byte("# a\n"), 20_000),
		"json null":       []byte("null"),
		"json list":       []byte("[]"),
		"json map":        []byte("{}"),
		"json text":       []byte(`"x"`),
		"json number":     []byte("42"),
		"yaml alias bomb": aliasBomb(),
		"control text":    []byte("# \x1b]0;owned\x07\n**Status:** \x1b[2J\u202eenoD\n"),
	}
}

func aliasBomb() []byte {
	var b bytes.Buffer
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	return b.Bytes()
}

// retyped replaces each value of a JSON document, one at a time, by values of
// other types.
func retyped(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	var root any
	if json.Unmarshal(data, &root) != nil {
		return nil
	}
	out := map[string][]byte{}
	var visit func(path string, v any, set func(any))
	visit = func(path string, v any, set func(any)) {
		if set != nil && len(out) < 3000 {
			for _, other := range []any{nil, true, -1, 3.5, "\x1b[31m?", []any{1, "a"}, map[string]any{"x": 1}} {
				set(other)
				raw, err := json.Marshal(root)
				if err != nil {
					t.Fatal(err)
				}
				out[fmt.Sprintf("%s = %v", path, other)] = raw
			}
			set(v)
		}
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				visit(path+"/"+k, v[k], func(x any) { v[k] = x })
			}
		case []any:
			for i := range v {
				visit(fmt.Sprintf("%s/%d", path, i), v[i], func(x any) { v[i] = x })
			}
		}
	}
	visit("", root, nil)
	return out
}

// mustRead reads twice and asks for the same answer. A reading that hangs is found
// by the time limit of the test run.
func mustRead(t *testing.T, l reprise.Layout, fsys fs.FS, what string) []*reprise.Run {
	t.Helper()
	runs := mustReadOnce(t, l, fsys, what)
	again := mustReadOnce(t, l, fsys, what)
	if a, b := describeAll(runs), describeAll(again); a != b {
		t.Fatalf("%s: two readings differ:\n%s\n%s", what, a, b)
	}
	return runs
}

func mustReadOnce(t *testing.T, l reprise.Layout, fsys fs.FS, what string) []*reprise.Run {
	t.Helper()
	return must(t, what, func() ([]*reprise.Run, error) { return Read(l, fsys) })
}

// must asks that a reading neither panics nor fails, and checks its runs.
func must(t *testing.T, what string, read func() ([]*reprise.Run, error)) []*reprise.Run {
	t.Helper()
	defer func() {
		if oops := recover(); oops != nil {
			t.Fatalf("%s: panic: %v\n%s", what, oops, debug.Stack())
		}
	}()
	runs, err := read()
	if err != nil {
		t.Fatalf("%s: an error instead of a finding: %v", what, err)
	}
	for _, r := range runs {
		checkRun(t, what, r)
	}
	return runs
}

// reading is what a tree read as, and the files that each of its runs was read
// from.
type reading struct {
	layout reprise.Layout
	runs   []*reprise.Run
	opened []map[string]bool
	count  int // of readings of damaged trees
	// foreign tells of texts by which no one knows whose they are.
	foreign []func(text []byte) bool
}

func readIntact(t *testing.T, l reprise.Layout, sample fstest.MapFS) *reading {
	t.Helper()
	r := &reading{layout: l, runs: mustRead(t, l, sample, "intact")}
	if len(r.runs) == 0 {
		t.Fatal("the sample holds no run")
	}
	for _, run := range r.runs {
		opened := map[string]bool{}
		if _, err := reprise.Load(l, recorder{sample, opened}, run.Ref); err != nil {
			t.Fatal(err)
		}
		r.opened = append(r.opened, opened)
	}
	return r
}

// damaged reads a tree in which one file holds other bytes. Runs that were not
// read from that file are as they were; every 20th reading is made twice.
func (r *reading) damaged(t *testing.T, sample fstest.MapFS, name string, data []byte, what string) []*reprise.Run {
	t.Helper()
	fsys, read := with(sample, name, data), false
	got := must(t, what, func() ([]*reprise.Run, error) {
		refs, err := r.layout.Find(fsys)
		var runs []*reprise.Run
		for _, ref := range refs {
			i := slices.IndexFunc(r.runs, func(o *reprise.Run) bool { return o.Ref == ref })
			if i >= 0 && !r.opened[i][name] {
				runs = append(runs, r.runs[i])
				continue
			}
			run, loadErr := reprise.Load(r.layout, fsys, ref)
			if loadErr != nil {
				return nil, loadErr
			}
			runs, read = append(runs, run), true
		}
		return runs, err
	})
	if r.count++; r.count%20 == 0 {
		if a, b := describeAll(got), describeAll(mustReadOnce(t, r.layout, fsys, what)); a != b {
			t.Fatalf("%s: two readings differ:\n%s\n%s", what, a, b)
		}
	}
	spoken := slices.DeleteFunc(slices.Clone(r.runs), func(run *reprise.Run) bool {
		return run.Path == name && slices.ContainsFunc(r.foreign, func(is func([]byte) bool) bool { return is(data) })
	})
	notSilent(t, what, spoken, got)
	if read {
		reported(t, what, name, data, got)
	}
	return got
}

// checkRun asks for what holds for every run, damaged or not.
func checkRun(t *testing.T, what string, r *reprise.Run) {
	t.Helper()
	switch {
	case r == nil:
		t.Fatalf("%s: nil run", what)
	case r.State == 0:
		t.Errorf("%s: %s has no state", what, r.Path)
	case r.Reason == "":
		t.Errorf("%s: %s is %s for no reason", what, r.Path, r.State)
	case r.ID == "" || r.Layout == "" || r.Path == "" || r.Kind == "":
		t.Errorf("%s: incomplete ref %+v", what, r.Ref)
	case r.State == reprise.Unreadable && len(r.Findings) == 0:
		t.Errorf("%s: %s is unreadable without a finding", what, r.Path)
	case r.State == reprise.Complete && len(r.Next) > 0:
		t.Errorf("%s: %s is complete and offers %v", what, r.Path, r.Next)
	}
	open := map[string]bool{}
	for _, s := range r.Steps {
		if s.Status == 0 {
			t.Errorf("%s: step %q has no status", what, s.ID)
		}
		open[s.ID] = !s.Status.Closed()
		won := 0
		for _, c := range s.Claims {
			if c.Won {
				won++
			}
			if c.Source.File == "" {
				t.Errorf("%s: a claim on %q without a source", what, s.ID)
			}
		}
		if won > 1 || (len(s.Claims) > 0 && won == 0) {
			t.Errorf("%s: %d of %d claims on %q won", what, won, len(s.Claims), s.ID)
		}
	}
	for _, u := range r.Next {
		if still, known := open[u.ID]; known && !still {
			t.Errorf("%s: %q is closed and offered", what, u.ID)
		}
	}
	for _, f := range r.Findings {
		if f.Code == "" || f.Severity == 0 || f.Message == "" {
			t.Errorf("%s: incomplete finding %+v", what, f)
		}
	}
}

// notSilent asks that each run that was there is still spoken of: as a run of the
// same place or name, or in a finding of another one.
func notSilent(t *testing.T, what string, intact, got []*reprise.Run) {
	t.Helper()
	for _, was := range intact {
		if !slices.ContainsFunc(got, func(r *reprise.Run) bool { return speaksOf(r, was.Ref) }) {
			t.Errorf("%s: %s %q at %s vanished without a word", what, was.Kind, was.ID, was.Path)
		}
	}
}

// speaksOf reports whether a run is that of the reference, or one of its findings
// names that run or its file.
func speaksOf(r *reprise.Run, ref reprise.Ref) bool {
	return r.Path == ref.Path || r.ID == ref.ID || slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool {
		return f.Source.File == ref.Path || f.Subject == ref.ID || strings.HasPrefix(f.Source.File, ref.Path+"/")
	})
}

// recorder notes which files a reading opened.
type recorder struct {
	fstest.MapFS
	opened map[string]bool
}

// Open implements fs.FS.
func (r recorder) Open(name string) (fs.File, error) {
	r.opened[name] = true
	return r.MapFS.Open(name)
}

// ReadFile implements fs.ReadFileFS.
func (r recorder) ReadFile(name string) ([]byte, error) {
	r.opened[name] = true
	return r.MapFS.ReadFile(name)
}

// reported asks that a JSON file that is none has a finding that names it.
func reported(t *testing.T, what, name string, data []byte, got []*reprise.Run) {
	t.Helper()
	if strings.HasSuffix(name, ".json") && !json.Valid(data) && !speaks(name, got) {
		t.Errorf("%s: no finding names the damaged file", what)
	}
}

// speaks reports whether a finding names a file.
func speaks(name string, runs []*reprise.Run) bool {
	return slices.ContainsFunc(runs, func(r *reprise.Run) bool {
		return slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Source.File == name })
	})
}

// bare reports whether a file of JSON or YAML is one value with nothing in it.
func bare(name string, data []byte) bool {
	return structured(name) && slices.Contains([]string{"null", "42", `"x"`, "[]", "{}"}, string(data))
}

// isEmpty reports whether a file is a run that has nothing in it, as its tool makes it.
func isEmpty(name string, runs []*reprise.Run) bool {
	return slices.ContainsFunc(runs, func(r *reprise.Run) bool { return r.Path == name && r.State == reprise.NotStarted && len(r.Steps) == 0 })
}

// notMoreDone asks that damage did not finish anything.
func notMoreDone(t *testing.T, what string, intact, got []*reprise.Run) {
	t.Helper()
	before := map[string]*reprise.Run{}
	for _, r := range intact {
		before[r.Path] = r
	}
	for _, r := range got {
		was := before[r.Path]
		if was == nil || was.State == reprise.Complete || was.State == reprise.Stopped {
			continue
		}
		if r.State == reprise.Complete {
			t.Errorf("%s: %s became complete (was %s)", what, r.Path, was.State)
		}
		for i := range r.Steps {
			s := &r.Steps[i]
			if old := was.Step(s.ID); old != nil && old.Status != reprise.Done && s.Status == reprise.Done {
				t.Errorf("%s: step %q became done (was %s)", what, s.ID, old.Status)
			}
		}
	}
}

// snapshot lists a folder with sizes, modes and times.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %d %d\n", strings.TrimPrefix(p, dir), info.Mode(), info.Size(), info.ModTime().UnixNano())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
