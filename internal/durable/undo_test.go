package durable_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/sample"
)

// tempDir is on the disk and not in memory, where the file system can tell.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t testing.TB, dir, name, content string, mode fs.FileMode) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

// picture is everything an undo must bring back.
func picture(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.IsDir() {
			if rel == ".git" || rel == ".reprise" {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content string
		if info.Mode()&fs.ModeSymlink != 0 {
			content, err = os.Readlink(p)
		} else {
			var b []byte
			b, err = os.ReadFile(p)
			content = string(b)
		}
		fmt.Fprintf(&out, "%q %v %q\n", rel, info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	head, _ := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
	rev, _ := exec.Command("git", "-C", dir, "rev-parse", "--verify", "-q", "HEAD").Output()
	fmt.Fprintf(&out, "HEAD %s %s index %x\n", head, rev, index)
	return out.String()
}

var oddNames = []string{
	"plain.txt", "with space.md", "quote\".txt", "back\\slash", "new\nline", "tab\there", "ünï/cödé.md", "bytes-\xff\xfe", "-dash", "*glob?[x]",
	"deep/er/still/file", "trailing ", ":colon", "#hash", "emoji-🙂", "UPPER/lower",
}

// change makes one random change of the kinds that agents make.
func change(t testing.TB, dir string, r *rand.Rand) {
	t.Helper()
	name := oddNames[r.IntN(len(oddNames))]
	file := filepath.Join(dir, name)
	body := fmt.Sprintf("%d\r\n%d\x00\n", r.Uint64(), r.Uint64())
	switch r.IntN(9) {
	case 0, 1, 2:
		write(t, dir, name, body, []fs.FileMode{0o644, 0o755, 0o600, 0o664}[r.IntN(4)])
	case 3:
		os.RemoveAll(file)
	case 4:
		os.RemoveAll(file)
		os.MkdirAll(filepath.Dir(file), 0o755)
		if err := os.Symlink([]string{"plain.txt", "../outside", "/etc/passwd", "deep"}[r.IntN(4)], file); err != nil {
			t.Fatal(err)
		}
	case 5:
		gitIn(t, dir, "add", "-A")
	case 6:
		gitIn(t, dir, "add", "-A")
		gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "c")
	case 7:
		// A folder where a file was, or the other way round.
		os.RemoveAll(file)
		if r.IntN(2) == 0 {
			write(t, dir, filepath.Join(name, "inside"), body, 0o644)
		} else {
			os.RemoveAll(filepath.Join(dir, "deep"))
			write(t, dir, "deep", body, 0o644)
			os.RemoveAll(filepath.Join(dir, "deep"))
		}
	case 8:
		gitIn(t, dir, "checkout", "-q", "-B", fmt.Sprintf("b%d", r.IntN(3)))
	}
}

func TestUndo_brings_back_every_byte(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	rounds := 5
	if sample.All() {
		rounds = 100
	}
	seed := sample.Seed(t)
	for i := range rounds {
		t.Run(fmt.Sprint("round ", i), func(t *testing.T) {
			t.Parallel()
			undoRound(t, seed+uint64(i))
		})
	}
}

func undoRound(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	dir := tempDir(t)
	gitIn(t, dir, "init", "-q", "-b", "main")
	write(t, dir, ".gitattributes", "* text=auto eol=crlf\n*.txt filter=evil\n*.md ident\n", 0o644)
	write(t, dir, ".gitignore", "ignored/\n*.secret\n", 0o644)
	gitIn(t, dir, "config", "filter.evil.clean", "touch "+filepath.Join(dir, "ran"))
	write(t, dir, "ignored/kept/a", "kept on request", 0o640)
	write(t, dir, "ignored/not", "not kept", 0o644)
	for _, name := range oddNames {
		if r.IntN(3) > 0 {
			write(t, dir, name, name+" at first\r\n", 0o644)
		}
	}
	gitIn(t, dir, "config", "--unset", "filter.evil.clean")
	for range r.IntN(12) {
		change(t, dir, r)
	}
	gitIn(t, dir, "config", "filter.evil.clean", "touch "+filepath.Join(dir, "ran"))

	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	status := gitIn(t, dir, "status", "--porcelain", "-z")
	was := picture(t, dir)
	snap, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Tree: true, Ignored: []string{"ignored/kept"}})
	if err != nil {
		t.Fatal(err)
	}
	if now := picture(t, dir); now != was {
		t.Fatalf("taking a snapshot changed the project\n--- was\n%s--- is\n%s", was, now)
	}
	if now := gitIn(t, dir, "status", "--porcelain", "-z"); now != status {
		t.Fatalf("taking a snapshot changed git status: %q, then %q", status, now)
	}
	gitIn(t, dir, "config", "--unset", "filter.evil.clean")
	for range 1 + r.IntN(15) {
		change(t, dir, r)
	}
	write(t, dir, "ignored/kept/a", "changed", 0o600)
	changed := picture(t, dir)
	rep, err := s.Undo(t.Context(), snap.ID)
	if err != nil {
		t.Fatal(err)
	}
	if now := picture(t, dir); now != was {
		t.Fatalf("seed %d: undo did not bring back what was\n--- was\n%s--- is\n%s\n%+v", seed, was, now, rep)
	}
	// The undo itself can be undone, except that what the first one archived
	// comes back from the snapshot as well.
	if _, err := s.Undo(t.Context(), rep.Before); err != nil {
		t.Fatal(err)
	}
	if now := picture(t, dir); now != changed {
		t.Fatalf("seed %d: undoing the undo\n--- was\n%s--- is\n%s", seed, changed, now)
	}
}

func TestSnapshot_says_what_it_leaves_out(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	gitIn(t, dir, "init", "-q")
	write(t, dir, "big.bin", strings.Repeat("x", 5000), 0o644)
	write(t, dir, "small", "y", 0o644)
	gitIn(t, dir, "init", "-q", "nested")
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Tree: true, MaxFile: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, l := range snap.Left {
		left = append(left, string(l.Path))
	}
	if !slices.Contains(left, "big.bin") {
		t.Errorf("left out in silence: %v", snap.Left)
	}
	write(t, dir, "big.bin", "grown differently", 0o644)
	if _, err := s.Undo(t.Context(), snap.ID); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "big.bin")); !bytes.Equal(b, []byte("grown differently")) {
		t.Errorf("undo touched what the snapshot does not hold: %q", b)
	}
	if out := gitIn(t, dir, "status", "--porcelain"); strings.Contains(out, ".reprise") {
		t.Errorf("git sees the state folder: %s", out)
	}
}

func TestSnapshot_without_git_keeps_state_files(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, "STATE.md", "one", 0o644)
	write(t, dir, "PLAN.md", "one", 0o644)
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if _, err := s.Take(context.Background()); err != nil {
		t.Fatal(err)
	}
	snap, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Files: []string{"STATE.md", "PLAN.md", "new.md"}, Tree: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(snap.Left) == 0 {
		t.Error("the missing repository is not mentioned")
	}
	write(t, dir, "STATE.md", "two", 0o644)
	write(t, dir, "PLAN.md", "two", 0o644)
	write(t, dir, "new.md", "appeared", 0o644)
	rep, err := s.Undo(t.Context(), snap.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"STATE.md", "PLAN.md"} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != "one" {
			t.Errorf("%s holds %q", name, b)
		}
	}
	if len(rep.Archived) != 1 {
		t.Errorf("archived %v", rep.Archived)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, rep.Archived[0])); string(b) != "appeared" {
		t.Errorf("the archive holds %q", b)
	}
}
