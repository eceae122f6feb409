//go:build unix

package durable_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

// cutEverywhere runs a scenario and cuts the power after each of its operations.
func cutEverywhere(t *testing.T, sc crashfs.Scenario) {
	t.Helper()
	r := crashfs.Explore(sc, crashfs.Config{NoDeep: true, NoKill: true, NoFail: true})
	if len(r.Bad) > 0 || r.States == 0 {
		t.Errorf("%v: %q", r, r.Bad)
	}
}

// What another program wrote without a sync, as git does, is on the disk once Flush has
// returned.
func TestWhat_others_wrote_survives_a_cut_after_a_flush(t *testing.T) {
	t.Parallel()
	cutEverywhere(t, crashfs.Scenario{
		Name: "flush",
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			f, err := d.Open("made", os.O_WRONLY|os.O_CREATE, 0o644)
			if err != nil {
				return err
			}
			if _, err := f.Write([]byte("by git\n")); err != nil {
				return err
			}
			if err := errors.Join(f.Close(), s.Flush()); err != nil {
				return err
			}
			ack("flushed")
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			if got := d.Files()["made"]; len(acked) > 0 && got != "by git\n" {
				return "", errors.New("it is lost: " + got)
			}
			return "", nil
		},
	})
}

// A group of edits that was carried out is over: when one of its files is changed back, a
// power cut does not bring the group up again.
func TestEdits_that_were_made_are_not_made_again_after_a_cut(t *testing.T) {
	t.Parallel()
	zero, one := []byte("0\n"), []byte("1\n")
	cutEverywhere(t, crashfs.Scenario{
		Name: "changed back",
		Start: func(d *crashfs.FS) error {
			d.Put("docs/a", zero, 0o644)
			d.Put("docs/b", zero, 0o644)
			return nil
		},
		Work: func(d *crashfs.FS, ack func(string)) error {
			s, _, err := taken(d, testOptions())
			if err != nil {
				return err
			}
			group := []reprise.Edit{{Path: "docs/a", Base: reprise.HashOf(zero), Content: one}, {Path: "docs/b", Base: reprise.HashOf(zero), Content: one}}
			if err := s.Apply(t.Context(), group); err != nil {
				return err
			}
			if err := s.Replace("docs/a", reprise.HashOf(one), zero); err != nil {
				return err
			}
			ack("back")
			return s.Release()
		},
		Recover: func(d *crashfs.FS, acked []string) (string, error) {
			_, rep, err := taken(d, testOptions())
			if err != nil {
				return "", err
			}
			if got := d.Files()["docs/a"]; len(acked) > 0 && (got != string(zero) || len(rep.RolledForward)+len(rep.Conflicts) > 0) {
				return "", errors.New("the group was made again: " + got)
			}
			return "", nil
		},
	})
}

// What was appended by a process that was killed is known to the anchor once the next
// one has opened the log: whoever loses it later is found out, also after a power cut.
func TestD3_the_anchor_of_a_log_that_is_opened_is_durable(t *testing.T) {
	t.Parallel()
	d := syncedAnchor{crashfs.New(), new(string)}
	for i := 1; i <= 2; i++ {
		s := durable.OpenOn(d, testOptions())
		if _, err := s.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		l, err := s.Log("run")
		if err != nil {
			t.Fatal(err)
		}
		for k := range 3 * (2 - i) {
			if _, err := l.Append("step", payload(k+1)); err != nil {
				t.Fatal(err)
			}
		}
		d.Restart() // killed: nothing is closed
	}
	d.Put(runAnchor, []byte(*d.held), 0) // the power cut takes what was not synced
	lines := strings.SplitAfter(d.Files()[firstSegment], "\n")
	d.Put(firstSegment, []byte(strings.Join(lines[:2], "")), 0)
	d.Settle()
	var damage *durable.DamageError
	if got, err := readRecords(d.FS); !errors.As(err, &damage) {
		t.Errorf("records are lost and nobody knows: %v %v", got, err)
	}
}

// Rename keeps what an anchor is made with.
func (d syncedAnchor) Rename(from, to string) error {
	err := d.FS.Rename(from, to)
	if to == runAnchor {
		*d.held = d.Files()[runAnchor]
	}
	return err
}

// A file that someone changes while its new content is prepared is left as they wrote it,
// alone and in a group.
func TestA_change_at_the_last_moment_is_not_overwritten(t *testing.T) {
	t.Parallel()
	edits := []reprise.Edit{{Path: "a.md", Base: reprise.HashOf([]byte("one")), Content: []byte("two")}, {Path: "b.md", Content: []byte("new")}}
	for _, n := range []int{1, 2} {
		dir := tempDir(t)
		write(t, dir, "a.md", "one", 0o644)
		changed := false
		s, err := durable.Open(dir, durable.Options{Reserve: -1, Disk: func(under durable.FS) durable.FS {
			return crashfs.BeforeEach(under, func(int) {
				if temps, _ := filepath.Glob(filepath.Join(dir, ".reprise-*")); len(temps) == n && !changed {
					changed = true
					write(t, dir, "a.md", "theirs", 0o644)
				}
			})
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		var refused *reprise.ChangedError
		if err := s.Apply(t.Context(), edits[:n]); !errors.As(err, &refused) || !changed {
			t.Errorf("%d edits: %v, changed %v", n, err, changed)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "a.md")); err != nil || string(b) != "theirs" {
			t.Errorf("%d edits: it holds %q, %v", n, b, err)
		}
		if err := s.Release(); err != nil {
			t.Error(err)
		}
	}
}

// swapping is a disk on which something happens just before a file is locked for the first
// time.
type swapping struct {
	durable.FS
	before func()
}

func (d *swapping) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return swappedFile{f, d}, nil
}

type swappedFile struct {
	durable.File
	disk *swapping
}

func (f swappedFile) TryLock() (bool, error) {
	if before := f.disk.before; before != nil {
		f.disk.before = nil
		before()
	}
	return f.File.TryLock()
}

// A lock that is replaced between opening and locking it excludes no one: who gets it has
// not got the lease.
func TestA_lock_that_is_replaced_while_it_is_taken_is_not_held(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	other, err := durable.Open(dir, durable.Options{Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	swap := func() {
		if err := os.Remove(filepath.Join(dir, durable.LockPath)); err != nil {
			t.Error(err)
		}
		takeSoon(t, other)
	}
	s, err := durable.Open(dir, durable.Options{Reserve: -1, Disk: func(under durable.FS) durable.FS { return &swapping{under, swap} }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	var held *durable.HeldError
	if _, err := s.Take(t.Context()); !errors.As(err, &held) {
		t.Errorf("two hold the lease: %v", err)
	}
}

// A log that someone cut short, wrote to or replaced is not continued: no reader could follow.
func TestA_log_that_was_cut_short_is_not_continued(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(file string) error{
		"cut short": func(file string) error { return os.Truncate(file, 10) },
		"removed":   os.Remove,
		"written to": func(file string) error {
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, append(b, b...), 0o600)
		},
	} {
		dir := tempDir(t)
		s := opened(t, dir)
		l, err := s.Log("run")
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(filepath.Join(dir, firstSegment)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append("step", json.RawMessage(`1`)); !errors.Is(err, durable.ErrFenced) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An append that was cut off is not added to a file that has another content by now.
func TestAn_append_to_another_content_becomes_a_conflict(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	write(t, dir, "a.md", "before\n", 0o644)
	cutOff(t, dir, []reprise.Edit{{Path: "a.md", Base: reprise.HashOf([]byte("before\n")), Content: []byte("after\n"), Append: true}})
	write(t, dir, "a.md", "theirs\n", 0o644)
	s, err := durable.Open(dir, durable.Options{Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	rep := takeSoon(t, s)
	defer s.Release()
	if b, err := os.ReadFile(filepath.Join(dir, "a.md")); err != nil || string(b) != "theirs\n" || len(rep.Conflicts) != 1 {
		t.Errorf("%q %v, conflicts %+v", b, err, rep.Conflicts)
	}
}

// An undo changes nothing while git is at work, is told to the next one when it is cut
// off, and keeps what the branch pointed to and the files that it is told to.
func TestAn_undo_that_is_refused_or_cut_off_loses_nothing(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	gitIn(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "a.md", "one", 0o644)
	write(t, dir, "b.md", "one", 0o644)
	gitIn(t, dir, "add", "a.md", "b.md")
	gitIn(t, dir, "commit", "-q", "-m", "one")
	s := opened(t, dir)
	snap, err := s.Snapshot(t.Context(), durable.SnapshotOptions{Tree: true})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a.md", "two", 0o644)
	gitIn(t, dir, "commit", "-q", "-a", "-m", "two")
	write(t, dir, "b.md", "theirs", 0o644)
	head := strings.TrimSpace(gitIn(t, dir, "rev-parse", "HEAD"))

	lock := filepath.Join(dir, ".git/index.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = s.Undo(t.Context(), snap.ID)
	if b, _ := os.ReadFile(filepath.Join(dir, "a.md")); err == nil || string(b) != "two" {
		t.Errorf("while git is at work: %q %v", b, err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("cut off")
	if _, err := s.UndoRuns(t.Context(), snap.ID, durable.UndoOptions{Checkouts: func(*durable.Snapshot) error { return stop }}); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	next, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rep := takeSoon(t, next); rep.PendingUndo != snap.ID {
		t.Errorf("the next one is told of %q", rep.PendingUndo)
	}
	defer next.Release()
	if _, err := next.UndoRuns(t.Context(), snap.ID, durable.UndoOptions{Keep: map[string]bool{"b.md": true}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.md": "one", "b.md": "theirs"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s holds %q, want %q, %v", name, b, want, err)
		}
	}
	if refs := strings.Fields(gitIn(t, dir, "for-each-ref", "--format=%(objectname)", "refs/reprise/was")); !slices.Contains(refs, head) {
		t.Errorf("%s is kept by none of %q", head, refs)
	}
}

// failing is a disk on which one rename fails.
type failing struct {
	durable.FS
	fails bool
}

func (d *failing) Rename(from, to string) error {
	if d.fails {
		d.fails = false
		return syscall.EIO
	}
	return d.FS.Rename(from, to)
}

// A later success would hide the loss.
func TestAfter_a_failed_write_nothing_more_is_written(t *testing.T) {
	t.Parallel()
	disk := &failing{FS: crashfs.New()}
	s := durable.OpenOn(disk, testOptions())
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), []reprise.Edit{{Path: "a.md", Content: []byte("a")}}); err != nil {
		t.Fatal(err)
	}
	disk.fails = true
	if err := s.Apply(t.Context(), []reprise.Edit{{Path: "b.md", Content: []byte("b")}}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("a rename that failed: %v", err)
	}
	if err := s.Apply(t.Context(), []reprise.Edit{{Path: "c.md", Content: []byte("c")}}); !errors.Is(err, durable.ErrPoisoned) {
		t.Errorf("written after it: %v", err)
	}
	if _, err := disk.Stat("c.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("c.md: %v", err)
	}
}
