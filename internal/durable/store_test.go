package durable_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"reprise"
	"reprise/internal/durable"
)

func TestStore_writes_nothing_outside_the_project(t *testing.T) {
	t.Parallel()
	outer := tempDir(t)
	dir := filepath.Join(outer, "project")
	write(t, outer, "outside.md", "outside", 0o644)
	write(t, dir, "in.md", "in", 0o644)
	for link, target := range map[string]string{"up": "..", "abs": outer, "file.md": "../outside.md", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, dir)
	for _, name := range []string{
		"../outside.md", "/etc/passwd", "a/../../outside.md", "up/new.md", "abs/new.md", "abs/outside.md", "file.md", "loop", "loop/x", "", ".", "..",
		"./in.md", "in.md/", "a//b", "nul\x00.md", ".reprise/lock", ".reprise/x", ".git/config", ".git", "in.md/below",
	} {
		err := s.Apply(t.Context(), []reprise.Edit{{Path: name, Content: []byte("hostile")}})
		if err == nil {
			t.Errorf("%q was written", name)
		}
		if name == "file.md" || name == "loop" {
			continue // a link itself may be archived
		}
		if _, err := s.Archive(name); err == nil {
			t.Errorf("%q was archived", name)
		}
		if s.Poisoned() != nil {
			t.Fatalf("%q poisoned the store: %v", name, s.Poisoned())
		}
	}
	if b, _ := os.ReadFile(filepath.Join(outer, "outside.md")); string(b) != "outside" {
		t.Errorf("outside.md holds %q", b)
	}
	if entries, _ := os.ReadDir(outer); len(entries) != 2 {
		t.Errorf("something appeared outside: %v", entries)
	}
}

func TestStore_reads_as_a_file_system_and_creates_nothing(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, "a/b.md", "content", 0o644)
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if err := fstest.TestFS(s, "a/b.md"); err != nil {
		t.Error(err)
	}
	if _, err := s.ReadLog("run", func(durable.Record) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := s.Apply(t.Context(), []reprise.Edit{{Path: "x", Content: []byte("x")}}); !errors.Is(err, durable.ErrNoLease) {
		t.Errorf("written without the lease: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("reading created something: %v", entries)
	}
}

func TestApply_is_all_or_nothing(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, "a.md", "a", 0o600)
	write(t, dir, "b.md", "b", 0o755)
	s := opened(t, dir)
	stale := []reprise.Edit{
		{Path: "a.md", Base: reprise.HashOf([]byte("a")), Content: []byte("A")},
		{Path: "b.md", Base: reprise.HashOf([]byte("old")), Content: []byte("B")},
	}
	var changed *reprise.ChangedError
	if err := s.Apply(t.Context(), stale); !errors.As(err, &changed) || changed.Path != "b.md" {
		t.Fatalf("applied: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a.md")); string(b) != "a" {
		t.Errorf("half applied: %q", b)
	}
	stale[1].Base = reprise.HashOf([]byte("b"))
	stale = append(stale, reprise.Edit{Path: "log", Append: true, Content: []byte("1\n")})
	if err := s.Apply(t.Context(), stale); err != nil {
		t.Fatal(err)
	}
	again := []reprise.Edit{{Path: "log", Base: reprise.HashOf([]byte("1\n")), Append: true, Content: []byte("2\n")}}
	inode, _ := os.Stat(filepath.Join(dir, "log"))
	if err := s.Apply(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if now, _ := os.Stat(filepath.Join(dir, "log")); !os.SameFile(inode, now) {
		t.Error("appending replaced the file under those who have it open")
	}
	for name, want := range map[string]string{"a.md": "A", "b.md": "B", "log": "1\n2\n"} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != want {
			t.Errorf("%s holds %q", name, b)
		}
	}
	if a, _ := os.Stat(filepath.Join(dir, "a.md")); a.Mode().Perm() != 0o600 {
		t.Errorf("the mode of a.md has become %v", a.Mode())
	}
	if b, _ := os.Stat(filepath.Join(dir, "b.md")); b.Mode().Perm() != 0o755 {
		t.Errorf("the mode of b.md has become %v", b.Mode())
	}
	if _, err := os.Stat(filepath.Join(dir, ".reprise", "intent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the intent is left: %v", err)
	}
}

func TestArchive_never_moves_secrets(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, ".auto-claude/.env", "KEY=1", 0o600)
	write(t, dir, ".auto-claude/specs/001/.env.local", "KEY=2", 0o600)
	write(t, dir, ".auto-claude/specs/002/plan.json", "{}", 0o600)
	s := opened(t, dir)
	var secret *durable.SecretError
	for _, name := range []string{".auto-claude", ".auto-claude/.env", ".auto-claude/specs", ".auto-claude/specs/001"} {
		if _, err := s.Archive(name); !errors.As(err, &secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	to, err := s.Archive(".auto-claude/specs/002")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, to, "plan.json")); err != nil {
		t.Error(err)
	}
	if list, err := s.Archived(); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
}

func TestDecorators(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, "a.md", "one\ntwo\nthree\n", 0o644)
	s := opened(t, dir)
	base := reprise.HashOf([]byte("one\ntwo\nthree\n"))
	edit := []reprise.Edit{{Path: "a.md", Base: base, Content: []byte("one\n2\nthree\n")}, {Path: "new.md", Content: []byte("new")}}

	dry := durable.NewDryRun(s)
	if err := dry.Apply(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	next := []reprise.Edit{{Path: "new.md", Base: reprise.HashOf([]byte("new")), Append: true, Content: []byte("er\n")}}
	if err := dry.Apply(t.Context(), next); err != nil {
		t.Fatalf("a dry run does not show what it would do: %v", err)
	}
	want := "--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n--- /dev/null\n+++ b/new.md\n@@ -0,0 +1 @@\n+newer\n"
	if got := dry.Diff(); got != want {
		t.Errorf("diff:\n%s", got)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a.md")); string(b) != "one\ntwo\nthree\n" || len(dry.Edits()) != 3 {
		t.Errorf("a dry run wrote %q, %d edits", b, len(dry.Edits()))
	}
}

func TestLog_refuses_what_it_cannot_hold(t *testing.T) {
	t.Parallel()
	s := opened(t, tempDir(t))
	for _, name := range []string{"", "../x", "a/b", ".hidden", "UPPER", strings.Repeat("x", 65)} {
		if _, err := s.Log(name); err == nil {
			t.Errorf("log %q was opened", name)
		}
	}
	l, err := s.Log("run")
	if err != nil {
		t.Fatal(err)
	}
	for kind, body := range map[string]string{"": "1", "_take": "1", "Up": "1", "ok": "{", "a b": "1", "fine": ""} {
		if _, err := l.Append(kind, json.RawMessage(body)); err == nil {
			t.Errorf("%q %q was appended", kind, body)
		}
	}
	if _, err := l.Append("step", json.RawMessage("{\n  \"a\" : 1 }")); err != nil {
		t.Error(err)
	}
	got, err := recordsOf(s, "run")
	if err != nil || len(got) != 1 || got[0] != `step{"a":1}` {
		t.Errorf("%v %v", got, err)
	}
	if names, err := s.Logs(); err != nil || len(names) != 1 || names[0] != "run" {
		t.Errorf("%v %v", names, err)
	}
}

func TestReader_sees_only_states_that_existed(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	s := opened(t, dir)
	l, err := s.Log("run")
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		reader, err := durable.Open(dir, durable.Options{})
		last := 0
		for err == nil {
			n := 0
			_, err = reader.ReadLog("run", func(r durable.Record) error { n++; return nil })
			if err == nil && n < last {
				err = errors.New("a record has gone")
			}
			last = n
			select {
			case <-stop:
				done <- err
				return
			default:
			}
		}
		done <- err
	}()
	for i := range 300 {
		if _, err := l.Append("step", payload(i)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func FuzzLog(f *testing.F) {
	d := golden(f)
	for name, content := range d.Files() {
		if strings.HasPrefix(name, ".reprise/") && len(content) < 4000 {
			f.Add(name, []byte(content))
		}
	}
	want, _, err := outcome(d.Clone())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		if _, known := d.Files()[name]; !known || len(content) > 1<<20 {
			return
		}
		c := d.Clone()
		c.Put(name, content, 0)
		if text, _, err := outcome(c); err != nil && !named(err) {
			t.Errorf("%s: %v", name, err)
		} else if err == nil && text != want && name != ".reprise/intent" {
			t.Errorf("%s: accepted as %.200s", name, text)
		}
	})
}
