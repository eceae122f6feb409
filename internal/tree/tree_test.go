//go:build unix

package tree_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise/internal/doc"
	"reprise/internal/tree"
)

func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string, opts tree.Options) *tree.FS {
	t.Helper()
	fsys, err := tree.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fsys.Close() })
	return fsys
}

func files(t *testing.T, fsys fs.FS) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if !d.IsDir() {
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestX9_listings_leave_out_what_holds_no_state(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{
		".gitignore":                 "/build/\n*.tmp/\n.auto-claude/\n!keep.tmp/\n",
		".git/config":                "",
		"node_modules/x/.planning/f": "",
		"vendor/y/f":                 "",
		"build/f":                    "",
		"sub/build/f":                "",
		"a.tmp/f":                    "",
		"keep.tmp/f":                 "",
		".auto-claude/specs/001/f":   "",
		".reprise/journal":           "",
		"pkg/.gitignore":             "out\n",
		"pkg/out/f":                  "",
		"out/f":                      "",
		"wt/.git":                    "gitdir: /somewhere/.git/worktrees/wt\n",
		"wt/.planning/f":             "",
		".claude/worktrees/a/f":      "",
		"module/.git":                "gitdir: ../.git/modules/module\n",
		"module/main.go":             "",
		"module/f":                   "",
	})
	fsys := open(t, dir, tree.Options{Marks: []string{".auto-claude"}})
	want := []string{".auto-claude/specs/001/f", ".gitignore", "keep.tmp/f", "module/.git", "module/f", "out/f", "pkg/.gitignore", "sub/build/f"}
	if diff := cmp.Diff(want, files(t, fsys)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a.tmp", "build", "pkg/out"}, fsys.Skipped()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"wt"}, fsys.Checkouts()); diff != "" {
		t.Error(diff)
	}
	// What is not listed can still be opened by name.
	if _, err := fs.ReadFile(fsys, "wt/.planning/f"); err != nil {
		t.Error(err)
	}
	if got := files(t, open(t, dir, tree.Options{All: true})); !slices.Contains(got, "build/f") || slices.Contains(got, ".git/config") {
		t.Errorf("all: %q", got)
	}
}

func TestX9_nothing_leaves_the_tree_and_nothing_stalls(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{"in/f": "x", "secret": "s"})
	root := filepath.Join(dir, "in")
	if err := os.Symlink("../secret", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(root, ".planning")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	fsys := open(t, root, tree.Options{Marks: []string{".planning"}})
	done := make(chan error, 1)
	go func() {
		_, err := fsys.Open("fifo")
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, doc.ErrNotRegular) {
			t.Errorf("FIFO: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("opening a FIFO stalled")
	}
	for _, name := range []string{"link", ".planning/secret"} {
		if _, err := fsys.Open(name); !errors.Is(err, doc.ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fsys.Open("../secret"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("dots: %v", err)
	}
	files(t, fsys)
	if got := fsys.Problems(); len(got) != 1 || got[0].Path != ".planning" {
		t.Errorf("a state folder behind a link was not said: %+v", got)
	}
}

func TestX9_folders_without_rights_are_problems(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; the command-line tests check this as another user")
	}
	dir := lay(t, map[string]string{"shut/f": "", "open/f": ""})
	if err := os.Chmod(filepath.Join(dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "shut"), 0o755) })
	fsys := open(t, dir, tree.Options{})
	if diff := cmp.Diff([]string{"open/f"}, files(t, fsys)); diff != "" {
		t.Error(diff)
	}
	if got := fsys.Problems(); len(got) != 1 || !errors.Is(got[0].Err, fs.ErrPermission) {
		t.Errorf("%+v", got)
	}
}

func TestX9_other_checkouts_are_read_where_state_can_be(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{"docs/stories/a": "", "src/deep/f": "", "pkg/app/.planning/f": "", "pkg/lib/f": ""})
	fsys := open(t, dir, tree.Options{Marks: []string{"docs", ".planning"}, Within: []string{"pkg/app/.planning"}})
	if diff := cmp.Diff([]string{"docs/stories/a", "pkg/app/.planning/f"}, files(t, fsys)); diff != "" {
		t.Error(diff)
	}
}

func TestX9_is_a_file_system(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{"a/b": "x", "c": "y"})
	if err := fstest.TestFS(open(t, dir, tree.Options{}), "a/b", "c"); err != nil {
		t.Error(err)
	}
}

// FuzzIgnore holds the rules against git itself.
func FuzzIgnore(f *testing.F) {
	for _, rules := range []string{
		"build/", "/a/b", "a/**/c", "**/b", "a/*", "!a\na", "a\n!a/b", "*.x\n!k.x", "[ab]", "[!a]", "a?", `\!a`, "# c\na", "a \nb\\ ", "b/**", "a/b/", "*", "/*\n!/a",
	} {
		f.Add(rules)
	}
	dirs := []string{"a", "b", "k.x", "a/b", "a/c", "b/a", "a/b/c", "a/b/b", "!a", "ab"}
	f.Fuzz(func(t *testing.T, rules string) {
		if !asRead(rules) {
			t.Skip()
		}
		dir := t.TempDir()
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, d := range dirs {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		fsys := open(t, dir, tree.Options{})
		listed := map[string]bool{}
		if err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
			listed[p] = true
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, d := range dirs {
			cmd := exec.Command("git", "-C", dir, "check-ignore", "-q", "--no-index", "./"+d)
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
				t.Fatal(err)
			}
			if ignored := err == nil; ignored == listed[d] {
				t.Errorf("rules %q, folder %s: git ignores %t, listed %t", rules, d, ignored, listed[d])
			}
		}
	})
}

// asRead leaves out what path.Match spells differently from git: escapes,
// classes of classes, and text that is not plain. A pattern it cannot read
// hides nothing, so that the answer errs towards looking.
func asRead(rules string) bool {
	if len(rules) > 200 || strings.Contains(rules, `\`) && !strings.HasPrefix(rules, `\!`) {
		return false
	}
	for _, line := range strings.Split(rules, "\n") {
		open := strings.Count(line, "[")
		if open > 1 || open != strings.Count(line, "]") || open == 1 && !strings.Contains(line, "[a") && !strings.Contains(line, "[!a") {
			return false
		}
		for _, r := range line {
			if r < ' ' || r > '~' {
				return false
			}
		}
	}
	return true
}
