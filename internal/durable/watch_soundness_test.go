package durable_test

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
	"testing"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/sample"
)

// reading is what somebody who reads a project gets to see: bytes, listings with
// sizes and times, and what is missing or refused.
func reading(fsys fs.FS, names []string) string {
	var b strings.Builder
	cause := func(err error) string {
		if errors.Is(err, fs.ErrNotExist) {
			return "missing"
		}
		return err.Error()
	}
	for _, name := range names {
		op, name, _ := strings.Cut(name, " ")
		fmt.Fprintf(&b, "%s %s: ", op, name)
		switch op {
		case "stat":
			info, err := fs.Stat(fsys, name)
			if err != nil {
				fmt.Fprintln(&b, cause(err))
				continue
			}
			size := info.Size()
			if info.IsDir() {
				size = 0
			}
			fmt.Fprintln(&b, info.Mode(), size, info.ModTime().UnixNano())
		case "read":
			data, err := fs.ReadFile(fsys, name)
			if err != nil {
				fmt.Fprintln(&b, cause(err))
				continue
			}
			fmt.Fprintf(&b, "%q\n", data)
		case "open":
			f, err := fsys.Open(name)
			if err != nil {
				fmt.Fprintln(&b, cause(err))
				continue
			}
			buf := make([]byte, 64)
			n, _ := f.Read(buf)
			f.Close()
			fmt.Fprintf(&b, "%q\n", buf[:n])
		case "list":
			list, err := fs.ReadDir(fsys, name)
			if err != nil {
				fmt.Fprintln(&b, cause(err))
				continue
			}
			for _, e := range list {
				info, err := e.Info()
				if err != nil {
					fmt.Fprint(&b, e.Name(), cause(err), ";")
					continue
				}
				size := info.Size()
				if info.IsDir() {
					size = 0
				}
				fmt.Fprint(&b, e.Name(), " ", info.Mode(), " ", size, " ", info.ModTime().UnixNano(), ";")
			}
			fmt.Fprintln(&b)
		}
	}
	return b.String()
}

func openAt(t testing.TB, dir string) *durable.Store {
	t.Helper()
	s, err := durable.Open(dir, durable.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Release() })
	return s
}

func putFile(t testing.TB, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// X8: whatever somebody does to a folder, a watch never calls it the same while
// reading it again would give anything else; and one that nobody touched is.
func TestX8_a_watch_never_misses_a_change(t *testing.T) {
	t.Parallel()
	rounds := 10
	if sample.All() {
		rounds = 50
	}
	seed := sample.Seed(t)
	for i := range 8 { // at once: most of the time is waiting
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			neverMisses(t, rand.New(rand.NewPCG(seed, uint64(i))), rounds)
		})
	}
}

func neverMisses(t *testing.T, rnd *rand.Rand, rounds int) {
	t.Helper()
	names := []string{"a", "b", "d/a", "d/b", "d/e/a", "d/e/b", "f/a"}
	dirs := []string{".", "d", "d/e", "f", "g"}
	missed, same := 0, 0
	for round := range rounds {
		dir := t.TempDir()
		for _, name := range names {
			if rnd.IntN(4) > 0 {
				putFile(t, dir, name, fmt.Sprint("text ", rnd.IntN(3)))
			}
		}
		if rnd.IntN(3) == 0 {
			// Times that nothing recent hides in.
			time.Sleep(110 * time.Millisecond)
		}
		s := openAt(t, dir)
		var read []string
		for _, name := range append(slices.Clone(names), dirs...) {
			if rnd.IntN(2) == 0 {
				read = append(read, []string{"stat ", "read ", "open ", "list "}[rnd.IntN(4)]+name)
			}
		}
		w := s.Watch()
		before := reading(w, read)
		var did []string
		for range rnd.IntN(3) {
			did = append(did, disturb(t, rnd, dir, names, dirs))
		}
		if rnd.IntN(3) == 0 {
			time.Sleep(time.Duration(rnd.IntN(130)) * time.Millisecond)
		}
		isSame := w.Same() // a file that came to be just now may be called another for nothing
		after := reading(s, read)
		switch {
		case isSame && after != before:
			missed++
			t.Errorf("round %d: %q were not noticed\n-%s\n+%s", round, did, before, after)
		case isSame:
			same++
		}
		if missed > 5 {
			t.FailNow()
		}
	}
	if rounds >= 50 && same == 0 {
		t.Errorf("none of %d was called the same: it spares nothing", rounds)
	}
}

// disturb does one thing to a folder that programs do.
func disturb(t testing.TB, rnd *rand.Rand, dir string, names, dirs []string) string {
	t.Helper()
	name := names[rnd.IntN(len(names))]
	at := filepath.Join(dir, filepath.FromSlash(name))
	other := filepath.Join(dir, filepath.FromSlash(names[rnd.IntN(len(names))]))
	sub := filepath.Join(dir, dirs[1+rnd.IntN(len(dirs)-1)])
	info, _ := os.Lstat(at)
	what := rnd.IntN(16)
	switch what {
	case 0: // in place, another length
		_ = os.WriteFile(at, []byte(fmt.Sprint("other ", rnd.IntN(1000))), 0o644)
	case 1: // in place, the same length
		_ = os.WriteFile(at, []byte(fmt.Sprint("text ", rnd.IntN(3))), 0o644)
	case 2: // the same length with the same time
		_ = os.WriteFile(at, []byte(fmt.Sprint("TEXT ", rnd.IntN(3))), 0o644)
		if info != nil {
			_ = os.Chtimes(at, info.ModTime(), info.ModTime())
		}
	case 3: // a new file in its place, with the old time
		temp := at + ".new"
		if os.WriteFile(temp, []byte(fmt.Sprint("Text ", rnd.IntN(3))), 0o644) == nil {
			if info != nil {
				_ = os.Chtimes(temp, info.ModTime(), info.ModTime())
			}
			_ = os.Rename(temp, at)
		}
	case 4:
		_ = os.Remove(at)
	case 5:
		_ = os.Rename(at, other)
	case 6: // a folder goes and another comes
		_ = os.Rename(sub, sub+".old")
		_ = os.MkdirAll(sub, 0o755)
	case 7:
		_ = os.Rename(sub, filepath.Join(dir, "g"))
	case 8:
		_ = os.RemoveAll(sub)
	case 9:
		_ = os.Remove(at)
		_ = os.Symlink(filepath.Base(other), at)
	case 10:
		_ = os.Link(other, at+".link")
	case 11:
		_ = os.Chmod(at, 0o600)
	case 12: // comes and goes
		_ = os.WriteFile(at+".tmp", nil, 0o644)
		_ = os.Remove(at + ".tmp")
	case 13:
		_ = os.MkdirAll(at, 0o755)
	case 14: // through another name of the same file
		if f, err := os.OpenFile(at+".link", os.O_WRONLY, 0); err == nil {
			fmt.Fprint(f, "LINK")
			f.Close()
		}
	case 15: // a folder becomes a link to one
		if os.Rename(sub, sub+".was") == nil {
			_ = os.Symlink(filepath.Base(sub)+".was", sub)
		}
	}
	return fmt.Sprint(what, " ", name, " ", path.Base(sub))
}

// A file that was read while it was missing, and comes.
func TestX8_a_watch_sees_what_comes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	w := s.Watch()
	_, _ = fs.ReadFile(w, "x/y/z")
	if !w.Same() {
		t.Error("nothing came, and it is not the same")
	}
	putFile(t, dir, "x/other", "")
	if w.Same() && reading(s, []string{"read x/y/z"}) != "read x/y/z: missing\n" {
		t.Error("missed")
	}
	putFile(t, dir, "x/y/z", "here")
	if w.Same() {
		t.Error("a file that came was missed")
	}
}

// What we wrote ourselves is excused, and nothing beside it.
func TestX8_a_watch_excuses_what_we_wrote_and_nothing_beside_it(t *testing.T) {
	t.Parallel()
	ours := []byte("ours\n")
	for _, c := range []struct {
		name   string
		before []string // files that are there when it is read
		look   []string
		also   func(t *testing.T, dir string)
		want   bool
	}{
		{"nothing else", nil, []string{"list events"}, nil, true},
		{"nothing else, in a folder that is there", []string{"events/reprise/old"}, []string{"list events", "list events/reprise", "read events/reprise/old"}, nil, true},
		{"nothing else, all folders asked for", nil, []string{"list .", "stat events", "list events", "list events/reprise"}, nil, true},
		{"ours is changed", nil, []string{"list events"}, func(t *testing.T, dir string) { putFile(t, dir, "events/reprise/ours", "OURS\n") }, false},
		{"ours is gone", nil, []string{"list events"}, func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, "events/reprise/ours")) }, false},
		{"a file beside it, in a folder that was read", []string{"events/reprise/old"}, []string{"list events", "list events/reprise"}, func(t *testing.T, dir string) { putFile(t, dir, "events/reprise/theirs", "") }, false},
		{"a file beside it, in a folder that was missing", nil, []string{"list events", "list events/reprise"}, func(t *testing.T, dir string) { putFile(t, dir, "events/reprise/theirs", "") }, false},
		{"a file beside it, in a folder that came with it", []string{"events/one"}, []string{"list events", "read events/one"}, func(t *testing.T, dir string) { putFile(t, dir, "events/reprise/theirs", "") }, false},
		{"a folder beside it, in a folder that came with it", []string{"events/one"}, []string{"list events"}, func(t *testing.T, dir string) { putFile(t, dir, "events/reprise/more/theirs", "") }, false},
		{"a file above it", []string{"events/one"}, []string{"list events"}, func(t *testing.T, dir string) { putFile(t, dir, "events/two", "") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range c.before {
				putFile(t, dir, name, "before\n")
			}
			time.Sleep(120 * time.Millisecond)
			s := openAt(t, dir)
			w := s.Watch()
			reading(w, c.look)
			putFile(t, dir, "events/reprise/ours", string(ours))
			w.Wrote("events/reprise/ours", reprise.HashOf(ours))
			if c.also != nil {
				c.also(t, dir)
			}
			if got := w.Same(); got != c.want {
				t.Errorf("the same: %t", got)
			}
		})
	}
}

// The time of a folder is something a reader sees, and some take the last
// activity of a run from it.
func TestX8_a_watch_sees_the_time_of_a_folder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFile(t, dir, "d/e/a", "")
	time.Sleep(120 * time.Millisecond)
	s := openAt(t, dir)
	w := s.Watch()
	look := []string{"stat d"}
	before := reading(w, look)
	putFile(t, dir, "d/x", "")
	if err := os.Remove(filepath.Join(dir, "d/x")); err != nil {
		t.Fatal(err)
	}
	if after := reading(s, look); w.Same() && after != before {
		t.Errorf("called the same:\n%s%s", before, after)
	}
}

// failing is a disk that cannot open a file for a while: out of descriptors, or
// of memory.
type failing struct {
	durable.FS
	broken *bool
}

func (f failing) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if *f.broken && name == "a" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("too many open files")}
	}
	return f.FS.Open(name, flag, perm)
}

// What could not be read for a passing reason is not what stands there.
func TestX8_a_watch_does_not_keep_a_passing_failure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	putFile(t, dir, "a", "text")
	time.Sleep(120 * time.Millisecond)
	broken := true
	s, err := durable.Open(dir, durable.Options{Disk: func(d durable.FS) durable.FS { return failing{d, &broken} }})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Watch()
	look := []string{"read a"}
	before := reading(w, look)
	broken = false
	if after := reading(s, look); w.Same() && after != before {
		t.Errorf("called the same:\n%s%s", before, after)
	}
}

// coarse is a disk that keeps times in whole seconds, as ext3, ext4 with small
// inodes and FAT do.
type coarse struct{ durable.FS }

func seconds(i durable.Info) durable.Info {
	i.ModTime, i.Changed = i.ModTime.Truncate(time.Second), i.Changed.Truncate(time.Second)
	return i
}

func (c coarse) Stat(name string) (durable.Info, error) {
	i, err := c.FS.Stat(name)
	return seconds(i), err
}

func (c coarse) List(name string) ([]durable.Info, error) {
	all, err := c.FS.List(name)
	for i := range all {
		all[i] = seconds(all[i])
	}
	return all, err
}

func TestX8_a_watch_is_not_fooled_by_a_coarse_clock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := durable.Open(dir, durable.Options{Disk: func(d durable.FS) durable.FS { return coarse{d} }})
	if err != nil {
		t.Fatal(err)
	}
	for at := time.Now().Nanosecond(); at < 5e7 || at > 2e8; at = time.Now().Nanosecond() {
		time.Sleep(time.Millisecond) // until early in a second
	}
	putFile(t, dir, "a", "pending")
	time.Sleep(200 * time.Millisecond)
	w := s.Watch()
	look := []string{"read a"}
	before := reading(w, look)
	putFile(t, dir, "a", "stopped")
	if after := reading(s, look); w.Same() && after != before {
		t.Errorf("called the same:\n%s%s", before, after)
	}
}
