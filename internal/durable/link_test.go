package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
)

func linkTo(t testing.TB, dir, target, name string) {
	t.Helper()
	at := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.RemoveAll(at), os.Symlink(target, at)); err != nil {
		t.Fatal(err)
	}
}

// X9: what is behind a link is read, and neither it nor the link is changed.
func TestX9_links_are_read_and_not_written_through(t *testing.T) {
	t.Parallel()
	const text = "one\n"
	for what, tc := range map[string]struct {
		put        func(t *testing.T, dir string)
		name, link string
		missing    bool // there is no such file behind the link
	}{
		"a file":             {func(t *testing.T, dir string) { linkTo(t, dir, "../shared/STATE.md", ".planning/STATE.md") }, ".planning/STATE.md", ".planning/STATE.md", false},
		"a folder":           {func(t *testing.T, dir string) { linkTo(t, dir, "shared", ".planning") }, ".planning/STATE.md", ".planning", false},
		"a new file in it":   {func(t *testing.T, dir string) { linkTo(t, dir, "shared", ".planning") }, ".planning/new.md", ".planning", true},
		"a new folder in it": {func(t *testing.T, dir string) { linkTo(t, dir, "shared", ".planning") }, ".planning/new/new.md", ".planning", true},
		"a chain": {func(t *testing.T, dir string) {
			linkTo(t, dir, "shared", "two")
			linkTo(t, dir, "../two", "deep/one")
			linkTo(t, dir, "deep/one", ".planning")
		}, ".planning/STATE.md", ".planning", false},
		"deep in it": {func(t *testing.T, dir string) { linkTo(t, dir, "..", "a/b") }, "a/b/shared/STATE.md", "a/b", false},
	} {
		for how, edit := range map[string]reprise.Edit{"replace": {Content: []byte("two\n")}, "append": {Append: true, Content: []byte("two\n")}} {
			t.Run(what+"/"+how, func(t *testing.T) {
				t.Parallel()
				dir := tempDir(t)
				write(t, dir, "shared/STATE.md", text, 0o644)
				write(t, dir, "beside.md", text, 0o644)
				tc.put(t, dir)
				s := opened(t, dir)
				if b, err := fs.ReadFile(s, tc.name); tc.missing && !errors.Is(err, fs.ErrNotExist) || !tc.missing && (err != nil || string(b) != text) {
					t.Errorf("read: %q %v", b, err)
				}
				before := picture(t, dir)
				edit.Path = tc.name
				if !tc.missing {
					edit.Base = reprise.HashOf([]byte(text))
				}
				if err := errors.Join(s.CanWrite("beside.md"), s.CanWrite("none.md"), s.CanWrite("none/none.md")); err != nil {
					t.Error(err)
				}
				beside := reprise.Edit{Path: "beside.md", Base: reprise.HashOf([]byte(text)), Content: []byte("two\n")}
				for _, edits := range [][]reprise.Edit{{edit}, {beside, edit}} {
					err := s.Apply(t.Context(), edits)
					var link *durable.LinkError
					var odd *durable.NotRegularError
					if said := s.CanWrite(tc.name); said == nil || said.Error() != err.Error() {
						t.Errorf("it was said before: %v, and then: %v", said, err)
					}
					if !errors.As(err, &link) || link.Link != tc.link || link.Path != tc.name || !errors.As(err, &odd) {
						t.Fatalf("written: %v", err)
					}
					if hint := link.Hint(); !strings.Contains(hint, tc.link) {
						t.Errorf("hint: %s", hint)
					}
				}
				if tc.link != tc.name && !tc.missing {
					if _, err := s.Archive(tc.name); err == nil {
						t.Error("something behind a link was archived")
					}
				}
				if _, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Files: []string{"beside.md", tc.name}}); err == nil {
					t.Error("a snapshot was made of what it cannot bring back")
				}
				if s.Poisoned() != nil {
					t.Error(s.Poisoned())
				}
				if after := picture(t, dir); after != before {
					t.Errorf("was:\n%s\nis:\n%s", before, after)
				}
			})
		}
	}
}

// C-UNDO: a snapshot of a tree with links copies nothing that they lead to, and
// undoing brings back the links.
func TestUndo_brings_back_links_and_copies_nothing_behind_them(t *testing.T) {
	t.Parallel()
	outer := tempDir(t)
	dir := filepath.Join(outer, "project")
	write(t, outer, "outside/secret.md", "a secret outside", 0o644)
	for name, text := range map[string]string{"shared/in.md": "in", "was/x.md": "tracked", ".planning/plan.md": "plan"} {
		write(t, dir, name, text, 0o644)
	}
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-qm", "one")
	for name, target := range map[string]string{
		".planning/STATE.md": "../../outside/secret.md", ".planning/in.md": "../shared/in.md", ".planning/out": "../../outside", ".planning/dead": "nowhere",
		"was": "shared", // a folder of tracked files
	} {
		linkTo(t, dir, target, name)
	}
	s := opened(t, dir)
	before := picture(t, dir)
	snap, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Files: []string{".planning/plan.md"}, Tree: true, Ignored: []string{".planning/out/secret.md"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range snap.Left {
		if l.Path != ".planning/out/secret.md" { // asked for, and said
			t.Errorf("left: %+v", l)
		}
	}
	for _, name := range []string{".planning/STATE.md", ".planning/in.md", ".planning/dead", "was/x.md", ".planning/plan.md"} {
		write(t, dir, strings.Replace(name, "was/", "was-", 1), "changed", 0o644)
	}
	linkTo(t, dir, "../shared", ".planning/out")
	write(t, dir, "shared/in.md", "changed", 0o644)
	if err := os.Remove(filepath.Join(dir, "was")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "was/x.md", "a folder again", 0o644)
	if _, err := s.Undo(t.Context(), snap.ID); err != nil {
		t.Fatal(err)
	}
	if after := picture(t, dir); after != before {
		t.Errorf("was:\n%s\nis:\n%s", before, after)
	}
	if all := gitIn(t, dir, "cat-file", "--batch-all-objects", "--batch"); strings.Contains(all, "a secret outside") {
		t.Error("git keeps what is outside")
	}
	if err := filepath.WalkDir(filepath.Join(dir, ".reprise"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if b, err := os.ReadFile(p); err != nil || strings.Contains(string(b), "a secret outside") {
			t.Errorf("%s holds what is outside: %v", p, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(outer, "outside/secret.md")); err != nil || string(b) != "a secret outside" {
		t.Errorf("outside: %q %v", b, err)
	}
}

// X9: a link that comes and goes while a file is read and written leads no one out.
func TestX9_a_link_that_is_swapped_leads_nobody_out(t *testing.T) {
	t.Parallel()
	outer := tempDir(t)
	dir := filepath.Join(outer, "project")
	for _, name := range []string{"outside/state.md", "outside/sub/state.md"} {
		write(t, outer, name, "secret", 0o644)
	}
	for _, name := range []string{"state.md", "sub/state.md", ".git/state.md"} {
		write(t, dir, name, "plain", 0o644)
	}
	s := opened(t, dir)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		at := func(name string) string { return filepath.Join(dir, name) }
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			// Errors are the other's doing: it writes these files, too.
			_ = os.Rename(at("state.md"), at("state.old"))
			_ = os.Symlink([]string{"../outside/state.md", ".git/state.md"}[n%2], at("state.md"))
			_ = os.Rename(at("sub"), at("sub.old"))
			_ = os.Symlink([]string{"../outside/sub", ".git"}[n%2], at("sub"))
			_ = os.Remove(at("sub"))
			_ = os.Rename(at("sub.old"), at("sub"))
			_ = os.Remove(at("state.md"))
			_ = os.Rename(at("state.old"), at("state.md"))
		}
	}()
	read := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		for _, name := range []string{"state.md", "sub/state.md"} {
			b, err := fs.ReadFile(s, name)
			if err != nil {
				continue
			}
			read++
			if strings.Contains(string(b), "secret") {
				t.Fatalf("%s: read from outside", name)
			}
			_ = s.Replace(name, reprise.HashOf(b), []byte("plain, "+time.Now().String()))
			if s.Poisoned() != nil {
				s.Release()
				s = opened(t, dir)
			}
		}
	}
	close(stop)
	<-stopped
	if read == 0 {
		t.Error("nothing was read")
	}
	for _, name := range []string{"outside/state.md", "outside/sub/state.md"} {
		if b, err := os.ReadFile(filepath.Join(outer, name)); err != nil || string(b) != "secret" {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	if all, err := os.ReadDir(filepath.Join(outer, "outside")); err != nil || len(all) != 2 {
		t.Errorf("outside: %v %v", all, err)
	}
}

// T1: a file of the state folder that is another name of a file elsewhere is not written.
func TestA_file_with_a_second_name_is_never_written_in_place(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".reprise/lock", ".reprise/reserve", ".reprise/logs/a.log"} {
		outer := tempDir(t)
		dir := filepath.Join(outer, "project")
		write(t, outer, "outside", "mine\n", 0o644)
		write(t, dir, "in.md", "in", 0o644)
		s := opened(t, dir)
		s.Release()
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.RemoveAll(at), os.Link(filepath.Join(outer, "outside"), at)); err != nil {
			t.Fatal(err)
		}
		again, err := durable.Open(dir, durable.Options{Reserve: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		_, err = takeFreed(t.Context(), again)
		if err == nil {
			_, _, err = again.CreateLog("a")
		}
		again.Release()
		// A reserve is removed, and made anew where there is room.
		if shared, is := errors.AsType[*durable.SharedError](err); name != ".reprise/reserve" && (!is || shared.Hint() == "") {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(filepath.Join(outer, "outside")); err != nil || string(b) != "mine\n" {
			t.Errorf("%s: the file outside holds %q, %v", name, b, err)
		}
		if err := errors.Join(os.RemoveAll(at), os.Link(filepath.Join(outer, "outside"), at)); err != nil {
			t.Fatal(err)
		}
		// Whoever writes to it as usual changes what is outside.
		if err := os.WriteFile(at, []byte("theirs\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(outer, "outside")); err != nil || string(b) != "theirs\n" {
			t.Errorf("%s: the trap does no harm: %q, %v", name, b, err)
		}
	}
}
