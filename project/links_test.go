//go:build unix

package project_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/convention"
	"reprise/convention/conventiontest"
	"reprise/internal/durable"
	"reprise/internal/sample"
	"reprise/internal/tree"
	"reprise/upkeep"
)

// A detour is what stands in the place of a file or a folder of state. It gets the
// project, the name, and what was there under another name in the project.
type detour struct {
	name   string
	inside bool // it leads to what was there
	put    func(dir, name, was string) error
}

// detours are links of every kind, and what is no file.
func detours(outside string) []detour {
	link := func(to string) func(dir, name, was string) error {
		return func(dir, name, was string) error { return os.Symlink(to, filepath.Join(dir, name)) }
	}
	up := func(name string) string { return strings.Repeat("../", strings.Count(name, "/")) }
	return []detour{
		{"inside", true, func(dir, name, was string) error {
			return os.Symlink(up(name)+was, filepath.Join(dir, name))
		}},
		{"a chain inside", true, func(dir, name, was string) error {
			return firstErr(
				os.Symlink("../"+was, filepath.Join(dir, "elsewhere/one")),
				os.Symlink("one", filepath.Join(dir, "elsewhere/two")),
				os.Symlink(up(name)+"elsewhere/./two", filepath.Join(dir, name)))
		}},
		{"a way through a linked folder", true, func(dir, name, was string) error {
			return firstErr(
				os.Symlink(".", filepath.Join(dir, "elsewhere/here")),
				os.Symlink(up(name)+"elsewhere/here/"+path.Base(was), filepath.Join(dir, name)))
		}},
		{"outside", false, func(dir, name, was string) error {
			return firstErr(
				os.Rename(filepath.Join(dir, was), filepath.Join(outside, "was")),
				os.Symlink(up(name)+"../"+filepath.Base(outside)+"/was", filepath.Join(dir, name)))
		}},
		{"outside and back", false, func(dir, name, was string) error {
			return os.Symlink(up(name)+"../"+filepath.Base(dir)+"/"+was, filepath.Join(dir, name))
		}},
		{"absolute, inside", false, func(dir, name, was string) error {
			return os.Symlink(filepath.Join(dir, was), filepath.Join(dir, name))
		}},
		{"absolute, outside", false, link("/etc/hostname")},
		{"nowhere", false, link("no-such-file")},
		{"a loop", false, func(dir, name, was string) error {
			return os.Symlink(path.Base(name), filepath.Join(dir, name))
		}},
		{"a FIFO", false, func(dir, name, was string) error {
			return syscall.Mkfifo(filepath.Join(dir, name), 0o644)
		}},
		{"a link to a FIFO", false, func(dir, name, was string) error {
			return firstErr(
				syscall.Mkfifo(filepath.Join(dir, "elsewhere/fifo"), 0o644),
				os.Symlink(up(name)+"elsewhere/fifo", filepath.Join(dir, name)))
		}},
		{"into git's folder", false, func(dir, name, was string) error {
			return firstErr(
				os.Rename(filepath.Join(dir, was), filepath.Join(dir, ".git/was")),
				os.Symlink(up(name)+".git/was", filepath.Join(dir, name)))
		}},
		{"into our own folder", false, func(dir, name, was string) error {
			return firstErr(
				os.Rename(filepath.Join(dir, was), filepath.Join(dir, ".reprise/was")),
				os.Symlink(up(name)+".reprise/was", filepath.Join(dir, name)))
		}},
	}
}

func firstErr(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// X9: what may be read behind a link is the same for whoever looks and for whoever
// works, and what may not is never nothing.
func TestX9_both_readers_follow_links_by_one_rule(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("../convention/*/testdata/scenarios/*.txtar")
	if err != nil || len(archives) < 100 {
		t.Fatal(len(archives), err)
	}
	every := 36
	switch {
	case sample.All():
		every = 6
	case testing.Short():
		every = 72
	}
	var mu sync.Mutex
	compared, followed := map[string]int{}, 0
	t.Run("archives", func(t *testing.T) {
		seen := map[string]int{} // of each convention: some have few
		for _, archive := range archives {
			name := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(archive))))
			if seen[name]++; (seen[name]-1)%every != 0 {
				continue
			}
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
				t.Parallel()
				n, f := linkedReads(t, layoutOf(t, archive), archive)
				mu.Lock()
				defer mu.Unlock()
				compared[name] += n
				followed += f
			})
		}
	})
	t.Logf("compared %v, followed %d", compared, followed)
	if !testing.Short() && (len(compared) < 5 || followed < 20) {
		t.Error("too few were compared")
	}
}

func linkedReads(t *testing.T, l reprise.Layout, archive string) (compared, followed int) {
	rnd := rand.New(rand.NewPCG(1, uint64(len(archive))))
	base := t.TempDir()
	for i, d := range detours(filepath.Join(base, "outside")) {
		for _, folder := range []bool{false, true} {
			dir := filepath.Join(base, fmt.Sprint("p", i, folder))
			whole := laid(t, dir, archive)
			runs, read := through(t, l, dir)
			var can []string
			for _, name := range whole {
				if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() == folder {
					can = append(can, name)
				}
			}
			if len(runs) == 0 || len(can) == 0 {
				continue
			}
			name := can[rnd.IntN(len(can))]
			what := fmt.Sprintf("%s in the place of %s", d.name, name)
			_ = os.RemoveAll(filepath.Join(base, "outside"))
			must(t, os.Mkdir(filepath.Join(base, "outside"), 0o755))
			must(t, os.Mkdir(filepath.Join(dir, "elsewhere"), 0o755))
			was := "elsewhere/was"
			if slices.Contains([]string{".md", ".json", ".yaml"}, path.Ext(name)) {
				was += path.Ext(name)
			}
			must(t, os.Rename(filepath.Join(dir, name), filepath.Join(dir, was)))
			must(t, d.put(dir, name, was))
			settle(t, dir)
			now, _ := through(t, l, dir)
			compared += same(t, what, l, dir, now)
			if d.inside && !folder {
				followed++
				for ref, text := range runs {
					if diff := cmp.Diff(text, now[ref]); diff != "" {
						t.Errorf("%s is not read as what it was (-was +now):\n%s", what, diff)
					}
				}
			}
			if !d.inside && read[name] && d.name != "a FIFO" {
				said(t, what, l, dir, name)
			}
		}
	}
	return compared, followed
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// laid puts an archive on the disk, and gives the names of its files and folders.
func laid(t *testing.T, dir, archive string) []string {
	t.Helper()
	names := map[string]bool{}
	for name, f := range conventiontest.LoadFS(t, archive) {
		if f.Mode.IsDir() {
			must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), f.Data, 0o644))
		for ; name != "."; name = path.Dir(name) {
			names[name] = true
		}
	}
	for _, own := range []string{".git", ".reprise"} {
		must(t, os.MkdirAll(filepath.Join(dir, own), 0o755))
	}
	settle(t, dir)
	var out []string
	for name := range names {
		if !strings.HasPrefix(name, ".git/") && name != ".git" && path.Base(name) != ".git" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// settle gives everything the same time.
func settle(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(p, conventiontest.Epoch, conventiontest.Epoch)
	}))
}

// opens keeps in mind what was read.
type opens struct {
	*tree.FS
	read map[string]bool
}

// OpenRegular is what doc reads through.
func (o opens) OpenRegular(name string) (fs.File, fs.FileInfo, error) {
	o.read[name] = true
	return o.FS.OpenRegular(name)
}

// through reads the runs of a project as whoever looks does, and tells which files
// were read.
func through(t *testing.T, l reprise.Layout, dir string) (map[reprise.Ref]string, map[string]bool) {
	t.Helper()
	fsys, err := tree.Open(dir, tree.Options{Marks: convention.Marks()})
	must(t, err)
	defer fsys.Close()
	refs, err := l.Find(fsys)
	must(t, err)
	runs, read := map[reprise.Ref]string{}, map[string]bool{}
	for _, ref := range refs {
		r, err := l.Load(opens{fsys, read}, ref)
		must(t, err)
		runs[ref] = conventiontest.Describe(r)
	}
	return runs, read
}

// same holds what whoever works on a run reads against that.
func same(t *testing.T, what string, l reprise.Layout, dir string, runs map[reprise.Ref]string) int {
	t.Helper()
	store, err := durable.Open(dir, durable.Options{AllowNetwork: true})
	must(t, err)
	defer store.Release()
	for ref, want := range runs {
		for how, fsys := range map[string]fs.FS{"store": store, "dry run": durable.NewDryRun(store)} {
			if how == "dry run" && strings.Contains(what, "FIFO") {
				continue // it refuses to list what is not a folder in words of its own
			}
			r, err := l.Load(fsys, ref)
			if err != nil {
				t.Errorf("%s: %s: %v", what, how, err)
				continue
			}
			got := strings.ReplaceAll(conventiontest.Describe(r), "listed: not implemented", "listed: not a directory")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s (-looks +works):\n%s", what, how, diff)
			}
		}
	}
	return len(runs)
}

// said asks that someone says what is wrong with a name that was read before.
func said(t *testing.T, what string, l reprise.Layout, dir, name string) {
	t.Helper()
	fsys, err := tree.Open(dir, tree.Options{Marks: convention.Marks()})
	must(t, err)
	defer fsys.Close()
	runs, err := conventiontest.Read(l, fsys)
	must(t, err)
	for _, r := range runs {
		for _, f := range r.Findings {
			if f.Source.File == name && (strings.Contains(f.Message, "link") || strings.Contains(f.Message, "regular")) {
				return
			}
		}
	}
	for _, p := range fsys.Problems() {
		if p.Path == name {
			return
		}
	}
	t.Errorf("%s: nobody says so", what)
}

// X9: a run whose state lies behind a link is not taken up: before anything is
// recorded or started its state is kept, and what cannot be brought back is not.
func TestX9_state_behind_a_link_is_not_taken_up(t *testing.T) {
	t.Parallel()
	const run = ".agent-memory/runs/20260212-0915-csv-export-k3f9"
	for _, tc := range []struct{ layout, example, link string }{
		{"longrun", "gsd", ".planning/STATE.md"},
		{"longrun", "gsd", ".planning/phases"},
		{"longrun", "gsd", ".planning/phases/02-reminders"},
		{"longrun", "gsd", ".planning"},
		{"longrun", "longrun", "specs/checkout/.long-run/plans/02-PLAN.md"},
		{"orchestrate", "orchestrate", ".aiox/epic-EPIC-2-state.yaml"},
		{"orchestrate", "orchestrate", "docs/stories"},
		{"eventrun", "eventrun", run + "/events/executor/20260212-1000.jsonl"},
		{"eventrun", "eventrun", run + "/events/executor"},
		{"eventrun", "eventrun", run},
		{"autoclaude", "autoclaude", ".auto-claude/specs/004-remove-secrets-from-config"},
		{"autoclaude", "autoclaude", ".auto-claude/specs/004-remove-secrets-from-config/implementation_plan.json"},
		{"specloop", "specloop", "specs/012-team-invites/.workflow/index.md"},
		{"specloop", "specloop", "specs/012-team-invites/.workflow"},
	} {
		t.Run(tc.link, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			must(t, os.CopyFS(dir, os.DirFS(filepath.Join("../examples", tc.example))))
			must(t, os.Mkdir(filepath.Join(dir, "elsewhere"), 0o755))
			must(t, os.Rename(filepath.Join(dir, tc.link), filepath.Join(dir, "elsewhere/was")))
			must(t, os.Symlink(strings.Repeat("../", strings.Count(tc.link, "/"))+"elsewhere/was", filepath.Join(dir, tc.link)))
			fsys, err := tree.Open(dir, tree.Options{Marks: convention.Marks()})
			must(t, err)
			defer fsys.Close()
			runs, err := conventiontest.Read(convention.Find(tc.layout), fsys)
			must(t, err)
			store, err := durable.Open(dir, durable.Options{AllowNetwork: true})
			must(t, err)
			defer store.Release()
			_, err = store.Take(t.Context())
			must(t, err)
			var refused *durable.LinkError
			for _, r := range runs {
				_, err := upkeep.Keep(t.Context(), store, []*reprise.Run{r}, "")
				if err != nil && !errors.As(err, &refused) {
					t.Error(err)
				}
			}
			if refused == nil || refused.Link != tc.link || !strings.Contains(refused.Hint(), tc.link) {
				t.Errorf("%d runs were kept with %v", len(runs), refused)
			}
		})
	}
}

// X9: the same, name by name, over trees of links that lead anywhere.
func TestX9_both_readers_see_the_same_names(t *testing.T) {
	t.Parallel()
	trees := 150
	if testing.Short() {
		trees = 20
	}
	kinds := map[string]int{}
	for seed := range trees {
		dir := filepath.Join(t.TempDir(), "project")
		names := tangle(t, dir, rand.New(rand.NewPCG(7, uint64(seed))))
		looks, err := tree.Open(dir, tree.Options{All: true, Marks: convention.Marks()})
		must(t, err)
		works, err := durable.Open(dir, durable.Options{})
		must(t, err)
		for _, name := range names {
			want, got := sees(looks, name), sees(works, name)
			if want != got {
				t.Errorf("seed %d: %s:\nlooks: %s\nworks: %s", seed, name, want, got)
			}
			kinds[strings.SplitN(want, "\n", 2)[0]]++
		}
		for how, fsys := range map[string]fs.FS{"looks": looks, "works": works} {
			n := 0
			must(t, fs.WalkDir(fsys, ".", func(string, fs.DirEntry, error) error {
				if n++; n > 20_000 {
					return fmt.Errorf("seed %d: %s: a walk does not come to its end", seed, how)
				}
				return nil
			}))
		}
		looks.Close()
		works.Release()
	}
	for _, kind := range []string{"file", "folder", "missing", "link leads out of the project", "link leads to nothing", "too many levels of symbolic links", "not a regular file"} {
		if kinds[kind] == 0 {
			t.Errorf("no name was %q: %v", kind, kinds)
		}
	}
}

// tangle makes a tree of folders, files and links at random, and gives names in it.
func tangle(t *testing.T, dir string, rnd *rand.Rand) []string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(dir+".outside", []byte("outside"), 0o644))
	folders, names := []string{"."}, []string{"."}
	part := func() string {
		return []string{"a", "b", "c", ".s", ".planning", ".git", ".reprise", "docs", "x.md", "y.md"}[rnd.IntN(10)]
	}
	any := func() string { return names[rnd.IntN(len(names))] }
	for range 25 {
		at := path.Join(folders[rnd.IntN(len(folders))], part())
		if _, err := os.Lstat(filepath.Join(dir, at)); err == nil {
			continue
		}
		names = append(names, at)
		var err error
		switch kind := rnd.IntN(10); {
		case kind < 3:
			folders = append(folders, at)
			err = os.Mkdir(filepath.Join(dir, at), 0o755)
		case kind < 5:
			err = os.WriteFile(filepath.Join(dir, at), []byte(at), 0o644)
		case kind == 5:
			err = syscall.Mkfifo(filepath.Join(dir, at), 0o644)
		default:
			up := strings.Repeat("../", strings.Count(at, "/"))
			target := []string{up + any(), up + any() + "/", up + any() + "/" + part(), up + "../project.outside", up + "../project/" + any(), "..", ".", part(), filepath.Join(dir, any()), "./" + up + any() + "/..//" + part()}[rnd.IntN(10)]
			err = os.Symlink(target, filepath.Join(dir, at))
		}
		must(t, err)
	}
	for range 60 {
		names = append(names, path.Join(any(), part()), path.Join(any(), any()))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sees is all that a file system tells of a name: what it is or why not, in the
// first line.
func sees(fsys fs.FS, name string) string {
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		_, opened := fsys.Open(name)
		return why(err) + "\n" + why(opened)
	case info.IsDir():
		list, err := fs.ReadDir(fsys, name)
		out := "folder\n"
		for _, e := range list {
			out += fmt.Sprintf("%s %s %s\n", e.Name(), e.Type(), why(err))
			if i, err := e.Info(); err == nil && !e.IsDir() {
				out += fmt.Sprintf("%s %d %s\n", i.Name(), i.Size(), i.Mode())
			}
		}
		return out
	case info.Mode().IsRegular():
		data, err := fs.ReadFile(fsys, name)
		return fmt.Sprintf("file\n%s %d %s %s %s", info.Name(), info.Size(), info.Mode(), data, why(err))
	}
	_, err = fsys.Open(name)
	return why(err) + "\n" + info.Mode().String()
}

// why is an error without the names of the calls that failed.
func why(err error) string {
	var at *fs.PathError
	switch {
	case err == nil:
		return "-"
	case errors.Is(err, fs.ErrNotExist):
		return "missing"
	case errors.As(err, &at):
		return at.Err.Error()
	}
	return err.Error()
}
