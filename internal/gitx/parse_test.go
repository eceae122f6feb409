//go:build unix

package gitx

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
)

func TestGather_odd_file_names(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	names := []string{"line\nbreak", "tab\there", `quo"te`, "back\\slash", " lead", "trail ", "caf\xe9", "\x01", "A", "-rf", "R100", ":(glob)*", "a -> b", "日本"}
	for _, name := range names {
		f.write("odd/"+name, name)
	}
	f.commit("odd names")
	f.git("mv", "odd/line\nbreak", "odd/moved\n")
	f.commit("moved")
	for _, name := range names[1:] {
		f.write("odd/"+name, "changed")
	}
	f.write("new\nfile", "")
	g := f.all(Ask{Paths: []string{"odd"}})
	var got []string
	for _, c := range g.Commits[1].Files {
		if !c.Added {
			t.Errorf("%+v is not added", c)
		}
		got = append(got, strings.TrimPrefix(c.Path, "odd/"))
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(names))
	if !slices.Equal(got, want) {
		t.Errorf("a commit's files\n%q, want\n%q", got, want)
	}
	if moved := g.Commits[0].Files; len(moved) != 1 || moved[0] != (reprise.FileChange{Path: "odd/moved\n", From: "odd/line\nbreak", Same: true}) {
		t.Errorf("a rename: %+v", moved)
	}
	var changed []string
	for _, c := range g.Changed {
		changed = append(changed, c.Path)
	}
	for _, name := range names[1:] {
		if !slices.Contains(changed, "odd/"+name) {
			t.Errorf("%q is not told as changed", name)
		}
	}
	if !slices.Contains(changed, "new\nfile") || len(changed) != len(names) {
		t.Errorf("%q", changed)
	}
	// A path is a path, not an option and not a pattern.
	for _, p := range []string{"odd/-rf", "odd/:(glob)*", "-rf", "--output=x", ":/", "../..", "/etc"} {
		g := f.all(Ask{Paths: []string{p}})
		n := 0
		for _, c := range g.Commits {
			n += len(c.Files)
		}
		want := 0
		if strings.HasPrefix(p, "odd/") {
			want = 1
		}
		if n != want {
			t.Errorf("path %q: %d files listed, want %d", p, n, want)
		}
	}
}

func TestGather_from_a_folder_below_the_top(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.write("sub/dir/in.txt", "")
	f.write("sub/beside.txt", "")
	f.commit("second")
	f.write("sub/dir/in.txt", "x")
	f.write("sub/beside.txt", "x")
	f.write("file.txt", "x")
	sub := f.in("repo/sub/dir")
	g := sub.all(Ask{Paths: []string{".", "../beside.txt"}})
	want := []reprise.Change{{Path: "../../file.txt"}, {Path: "../beside.txt"}, {Path: "in.txt"}}
	for i := range g.Changed {
		g.Changed[i].At = time.Time{} // the matrix looks at it
	}
	if !slices.Equal(g.Changed, want) {
		t.Errorf("%+v", g.Changed)
	}
	files := []reprise.FileChange{{Path: "../beside.txt", Added: true}, {Path: "in.txt", Added: true}}
	if !slices.Equal(g.Commits[0].Files, files) {
		t.Errorf("%+v", g.Commits[0].Files)
	}
	if g.Worktrees[0].Path != "../.." {
		t.Errorf("%+v", g.Worktrees)
	}
	peek, skipped, err := Peek(t.Context(), sub.dir, Ask{Paths: []string{"."}}, Options{Environ: sub.environ()})
	if err != nil || len(skipped) > 0 || len(peek.Commits) != 1 || !slices.Equal(peek.Commits[0].Files, files[1:]) {
		t.Errorf("%+v %q %v", peek, skipped, err)
	}
}

func TestGather_history(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("checkout", "-q", "-b", "base")
	low := f.commit("low\n\nReprise-Step: r/s/1\nRun-Step: q/t/2")
	f.git("checkout", "-q", "-b", "stacked")
	high := f.commit("high")
	f.git("checkout", "-q", "-b", "abcd1234", "main")
	f.git("checkout", "-q", "main")
	f.write("m", "")
	f.commit("on main")
	f.git("merge", "-q", "--no-ff", "-m", "merged", "abcd1234")
	for range 5 { // whatever the branches are called
		g := f.all(Ask{Branches: []string{"stacked", "base", "-x", "no such"}, Hashes: []string{low[:7], high, "0123456789", "abcd1234", "zz", "--help"}, Paths: []string{"."}})
		by := map[string]reprise.Commit{}
		for _, c := range g.Commits {
			by[c.Subject] = c
		}
		if c := by["low"]; c.Branch != "base" || c.OnHead || !slices.Equal(c.Steps, []string{"r/s/1", "q/t/2"}) || time.Since(c.At) > time.Hour {
			t.Errorf("low %+v", c)
		}
		if c := by["high"]; c.Branch != "stacked" || c.OnHead {
			t.Errorf("high %+v", c)
		}
		if c := by["first"]; c.Branch != "main" || !c.OnHead {
			t.Errorf("first %+v", c)
		}
		if !g.Known[low[:7]] || !g.Known[high] || g.Known["0123456789"] || g.Known["abcd1234"] || len(g.Known) != 4 {
			t.Errorf("known %+v", g.Known)
		}
		at := func(s string) int {
			return slices.IndexFunc(g.Commits, func(c reprise.Commit) bool { return c.Subject == s })
		}
		if at("high") > at("low") || at("low") > at("first") || at("on main") > at("first") {
			t.Errorf("order %+v", g.Commits)
		}
	}
	if g := f.all(Ask{MaxCommits: 2}); len(g.Commits) != 2 || g.Complete {
		t.Errorf("%+v", g)
	}
}

func TestGather_remotes(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("branch", "feature")
	f.git("clone", "-q", f.dir, "../clone")
	c := f.in("clone")
	c.git("checkout", "-q", "feature")
	c.commit("mine")
	f.git("branch", "-D", "feature")
	c.git("fetch", "-q", "--prune")
	c.git("checkout", "-q", "main")
	c.commit("also mine")
	g := c.all(Ask{Branches: []string{"feature"}})
	want := []reprise.Branch{
		{Name: "feature", Head: c.git("rev-parse", "feature"), Upstream: "origin/feature", Gone: true},
		{Name: "main", Head: c.git("rev-parse", "main"), Upstream: "origin/main", Ahead: 1},
	}
	if !slices.Equal(g.Branches, want) || !g.HasRemote || g.Unpushed != 2 {
		t.Errorf("%+v", g)
	}
}

func TestRelSlash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prefix, path, want string }{
		{"", "a/b", "a/b"}, {"a/", "a/b", "b"}, {"a/", "ab", "../ab"}, {"a/b/", "a/c", "../c"}, {"a/b/", "x/y", "../../x/y"},
		{"a/b/", "a/b/", "./"}, {"a/b/", "a/", "../"}, {"a/b/", "a/b/c/", "c/"},
	} {
		if got := relSlash(c.prefix, c.path); got != c.want {
			t.Errorf("%q from %q: %q, want %q", c.path, c.prefix, got, c.want)
		}
	}
}

func TestAsk_bounds_what_is_asked(t *testing.T) {
	t.Parallel()
	var a Ask
	for i := range 5000 {
		d := string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		a.Paths = append(a.Paths, d+"/"+strings.Repeat("x", i%9+1)+"/f")
		a.Worktrees = append(a.Worktrees, "w"+strings.Repeat("x", i))
	}
	got := a.clean("")
	if len(got.Paths) > maxPaths || len(got.Worktrees) > maxAskedWorktrees {
		t.Errorf("%d paths, %d worktrees", len(got.Paths), len(got.Worktrees))
	}
	if got := (Ask{Paths: []string{"a/b", "a", "ab", ".", "../x", "a/b/c"}}).clean("p/").Paths; !slices.Equal(got, []string{".", "../x"}) {
		t.Errorf("%q", got)
	}
}

func fuzz(f *testing.F, seed string, read func(*bufio.Reader)) {
	f.Add([]byte(seed))
	f.Add([]byte(""))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) { read(bufio.NewReaderSize(bytes.NewReader(data), 64)) })
}

func FuzzReadStatus(f *testing.F) {
	fuzz(f, "# branch.oid (initial)\x00# branch.head main\x001 .M N... 100644 100644 100644 a b file\nname\x002 R. N... 1 2 3 a b R100 new\x00old\x00? x/\x00u UU N... 1 2 3 4 a b c con\x00", func(r *bufio.Reader) {
		if st, err := readStatus(r, 3); err == nil && len(st.changes) < 3 && st.more > 0 {
			panic("counted before the list was full")
		}
	})
}

func FuzzReadLog(f *testing.F) {
	h := strings.Repeat("a", 40)
	fuzz(f, "\x01\x00"+h+"\x00"+h+" "+h+"\x0017\x00main\x00r/s\x1f\x00subject\x00\nR100\x00a\x00b\x00A\x00\x01\x00\x01\x00"+h+"\x00\x0018\x00\x00\x00\x00", func(r *bufio.Reader) {
		_ = readLog(r, func(e entry) {
			if !objectName(e.Hash) {
				panic("a commit without a hash")
			}
		})
	})
}

func FuzzReadOthers(f *testing.F) {
	fuzz(f, "worktree /a\x00HEAD 0000\x00branch refs/heads/x\x00locked why\x00\x00local\x00merge.a.b.driver\nx\x00local\x00core.eol\x00refs/heads/a\x00h\x00\n", func(r *bufio.Reader) {
		data, _ := r.Peek(64)
		again := func() *bufio.Reader { return bufio.NewReader(bytes.NewReader(data)) }
		_, _ = readWorktrees(again(), 0)
		_, _ = readRefs(again())
		_ = readKnown(again(), []string{"a", "b"}, map[string]bool{})
		if settings, err := readSettings(again()); err == nil {
			written(carry(settings))
		}
	})
}
