package temporal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gitIn is git in a folder of a test.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(t.Context(), dir, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// aCheckout is a repository with files that are older than its index.
func aCheckout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	gitIn(t, dir, "init", "-q", "--template=", dir)
	old := time.Now().Add(-time.Minute)
	for name, text := range map[string]string{"a": "one\n", "deep/er/b": "two\n", "run.sh": "#!/bin/sh\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", "x")
	return dir
}

// A copy of a checkout is one to git: what is old is not read again, and what is changed is
// seen. (issue 19)
func TestCopyFiles_makes_a_checkout(t *testing.T) {
	t.Parallel()
	from, into := aCheckout(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "not in git"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gitIn(t, into, "init", "-q", "--template=", into)
	if err := copyFiles(from, into); err != nil {
		t.Fatal(err)
	}
	gitIn(t, into, "fetch", "-q", from, "HEAD")
	gitIn(t, into, "update-ref", "HEAD", "FETCH_HEAD")
	// What git would have to read is listed by diff-files, changed or not.
	if stale := gitIn(t, into, "diff-files", "--name-only"); strings.ReplaceAll(stale, "link", "") != "" {
		t.Errorf("git would read: %s", stale)
	}
	if said := gitIn(t, into, "status", "--porcelain"); said != "" {
		t.Errorf("status: %s", said)
	}
	if err := os.WriteFile(filepath.Join(into, "a"), []byte("eno\n"), 0o755); err != nil { // as long as before
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(into, "deep/er/b"), filepath.Join(into, "run.sh")); err != nil {
		t.Fatal(err)
	}
	if said := gitIn(t, into, "status", "--porcelain"); said != "M a\n D deep/er/b\n M run.sh" && said != " M a\n D deep/er/b\n M run.sh" {
		t.Errorf("status: %s", said)
	}
	if said := gitIn(t, from, "status", "--porcelain", "-uno"); said != "" {
		t.Errorf("the first one: %s", said)
	}
}

// A change that the index of the first checkout does not know of is seen in the copy, too.
func TestCopyFiles_takes_nothing_for_unchanged(t *testing.T) {
	t.Parallel()
	from, into := aCheckout(t), t.TempDir()
	file := filepath.Join(from, "a")
	info, err := os.Stat(file)
	if err == nil {
		err = os.WriteFile(file, []byte("eno\n"), 0o755)
	}
	if err == nil {
		err = os.Chtimes(file, info.ModTime(), info.ModTime())
	}
	if err != nil {
		t.Fatal(err)
	}
	gitIn(t, into, "init", "-q", "--template=", into)
	if err := copyFiles(from, into); err != nil {
		t.Fatal(err)
	}
	gitIn(t, into, "fetch", "-q", from, "HEAD")
	gitIn(t, into, "update-ref", "HEAD", "FETCH_HEAD")
	if said := gitIn(t, into, "status", "--porcelain"); strings.TrimSpace(said) != "M a" {
		t.Errorf("status: %q", said)
	}
}

// An index of a form that is not known is left to git.
func TestCopyFiles_refuses_an_index_of_another_form(t *testing.T) {
	t.Parallel()
	from := aCheckout(t)
	gitIn(t, from, "update-index", "--index-version", "4")
	if err := copyFiles(from, t.TempDir()); err == nil {
		t.Error("it is copied")
	}
}

// Packing the mirror keeps every object, whether a ref has it or not. (issue 19)
func TestMirror_packs_its_objects_and_keeps_all(t *testing.T) {
	t.Parallel()
	remote := aCheckout(t)
	m := &Mirror{Remote: remote, Dir: t.TempDir()}
	found, err := m.Fetch(t.Context(), "HEAD")
	if err != nil || found["HEAD"] == "" {
		t.Fatalf("%v, %v", found, err)
	}
	mirror := filepath.Join(m.Dir, "mirror.git")
	marks := strings.Builder{}
	for i := range 4 * manyLoose {
		marks.WriteString("blob\ndata 5\n" + string([]byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676%26), byte('a' + i/17576), '\n'}) + "\n")
	}
	made := t.TempDir()
	gitIn(t, made, "init", "-q", "--bare", made)
	if _, err := git(t.Context(), made, []byte(marks.String()), "fast-import", "--quiet"); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(made, "objects", "pack", "*.pack"))
	if err != nil || len(packs) != 1 {
		t.Fatalf("%v, %v", packs, err)
	}
	pack, err := os.ReadFile(packs[0])
	if err == nil {
		_, err = git(t.Context(), mirror, pack, "unpack-objects", "-q")
	}
	if err != nil {
		t.Fatal(err)
	}
	all := gitIn(t, mirror, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	for range packEvery {
		if _, err := m.Fetch(t.Context(), "HEAD"); err != nil {
			t.Fatal(err)
		}
	}
	if said := gitIn(t, mirror, "count-objects"); !strings.HasPrefix(said, "0 objects") {
		t.Errorf("left: %s", said)
	}
	if now := gitIn(t, mirror, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"); now != all {
		t.Errorf("%d objects became %d", strings.Count(all, "\n"), strings.Count(now, "\n"))
	}
}
