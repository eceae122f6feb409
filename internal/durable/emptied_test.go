package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

const (
	secondSegment = ".reprise/journal/run-000002.log"
	runAnchor     = ".reprise/journal/run.anchor"
)

// emptied are ways in which someone takes away what a log holds. damage tells
// whether it can be known that records are missing.
var emptied = []struct {
	name   string
	do     func(d *crashfs.FS) error
	damage bool
}{
	{"the first file cut to nothing", cutToNothing(firstSegment), true},
	{"the last file cut to nothing", cutToNothing(secondSegment), true},
	{"both files cut to nothing", cutToNothing(firstSegment, secondSegment), true},
	{"the first file removed", removed(firstSegment), true},
	{"the last file removed", removed(secondSegment), true},
	{"both files removed", removed(firstSegment, secondSegment), true},
	{"the anchor removed", removed(runAnchor), false},
	{"the anchor cut to nothing", cutToNothing(runAnchor), false},
	{"both files removed, the anchor cut to nothing", both(removed(firstSegment, secondSegment), cutToNothing(runAnchor)), true},
	{"both files cut to nothing, the anchor removed", both(cutToNothing(firstSegment, secondSegment), removed(runAnchor)), true},
	{"the last file cut to nothing, the anchor removed", both(cutToNothing(secondSegment), removed(runAnchor)), true},
	{"the first file removed, the anchor too", removed(firstSegment, runAnchor), true},
	{"the last file cut within its first record, the anchor removed", both(cutTo(secondSegment, 20), removed(runAnchor)), true},
	{"everything removed", removed(firstSegment, secondSegment, runAnchor), false},
}

func cutToNothing(names ...string) func(*crashfs.FS) error {
	return func(d *crashfs.FS) error {
		for _, name := range names {
			d.Put(name, nil, 0)
		}
		return nil
	}
}

func cutTo(name string, n int) func(*crashfs.FS) error {
	return func(d *crashfs.FS) error {
		d.Put(name, []byte(d.Files()[name][:n]), 0)
		return nil
	}
}

func removed(names ...string) func(*crashfs.FS) error {
	return func(d *crashfs.FS) error {
		for _, name := range names {
			if err := d.Remove(name); err != nil {
				return err
			}
		}
		return nil
	}
}

func both(a, b func(*crashfs.FS) error) func(*crashfs.FS) error {
	return func(d *crashfs.FS) error { return errors.Join(a(d), b(d)) }
}

// A log from which records were taken away is never read as a new one: reading
// and opening say that it is damaged, it is among the logs, a repair says that
// something is lost and keeps the rest, and then it continues.
func TestD3_an_emptied_log_is_damaged_and_not_new(t *testing.T) {
	t.Parallel()
	base := golden(t)
	if base.Files()[secondSegment] == "" || base.Files()[".reprise/journal/run-000003.log"] != "" {
		t.Fatal("the golden store has not two files of a log")
	}
	whole, err := readRecords(base.Clone())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range emptied {
		t.Run(e.name, func(t *testing.T) {
			d := base.Clone()
			if err := e.do(d); err != nil {
				t.Fatal(err)
			}
			d.Settle()
			before := d.Files()
			some := slices.ContainsFunc([]string{firstSegment, secondSegment, runAnchor}, func(name string) bool {
				_, ok := before[name]
				return ok
			})
			s, _, err := taken(d, goldenOptions())
			if err != nil {
				t.Fatal(err)
			}
			if names, err := s.Logs(); err != nil || slices.Contains(names, "run") != some {
				t.Errorf("the logs are %v, %v", names, err)
			}
			var damage *durable.DamageError
			got, err := recordsOf(s, "run")
			if errors.As(err, &damage) != e.damage {
				t.Fatalf("reading gives %d records and %v", len(got), err)
			}
			if _, err := s.Log("run"); errors.As(err, &damage) != e.damage {
				t.Fatalf("opening gives %v", err)
			}
			if e.damage && damage.Copy != "" && (!strings.Contains(damage.Hint(), damage.Copy) || d.Files()[damage.Copy] == "") {
				t.Errorf("the copy %s is not told of or not there: %s", damage.Copy, damage.Hint())
			}
			if !e.damage {
				if some && !slices.Equal(got, whole) {
					t.Errorf("of %d records %d are read", len(whole), len(got))
				}
				return
			}
			for _, name := range []string{firstSegment, secondSegment, runAnchor} {
				if d.Files()[name] != before[name] {
					t.Errorf("opening has changed %s", name)
				}
			}
			repairs(t, s, d, whole, got)
		})
	}
}

// repairs holds what a repair of an emptied log promises. whole are all records
// that were there, left those that could be read before the damage.
func repairs(t *testing.T, s *durable.Store, d *crashfs.FS, whole, left []string) {
	t.Helper()
	dry, err := s.Repair("run", true)
	if err != nil || len(dry.Lost) == 0 {
		t.Fatalf("dry repair: %+v %v", dry, err)
	}
	done, err := s.Repair("run", false)
	if err != nil || fmt.Sprint(done) != fmt.Sprint(dry) {
		t.Fatalf("repair %+v is not what was announced, %v", done, err)
	}
	if again, err := s.Repair("run", false); err != nil || len(again.Lost) > 0 {
		t.Fatalf("repairing it again: %+v %v", again, err)
	}
	l, err := s.Log("run")
	if err != nil {
		t.Fatalf("after repair: %v\n%v", err, d.Files())
	}
	if len(l.Lost()) == 0 {
		t.Error("nothing says what is lost")
	}
	for i := range 6 { // into further files
		if _, err := l.Append("step", payload(90+i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	got, err := readRecords(d)
	if err != nil {
		t.Fatal(err)
	}
	old := got[:len(got)-6]
	if len(old) < len(left) || !slices.Equal(old[:len(left)], left) {
		t.Errorf("records are lost that could be read: %v", old)
	}
	for _, rec := range old {
		if !slices.Contains(whole, rec) {
			t.Errorf("%s was never there", rec)
		}
	}
	if !strings.Contains(got[len(got)-1], string(payload(95))) {
		t.Errorf("it does not go on: %v", got)
	}
}

// syncedAnchor is a disk that keeps what the anchor held when it was last synced.
type syncedAnchor struct {
	*crashfs.FS
	held *string
}

func (d syncedAnchor) Open(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := d.FS.Open(name, flag, perm)
	if err == nil && name == runAnchor {
		f = syncedFile{f, d}
	}
	return f, err
}

type syncedFile struct {
	durable.File
	on syncedAnchor
}

func (f syncedFile) Sync() error {
	*f.on.held = f.on.Files()[runAnchor]
	return f.File.Sync()
}

// The loss of a file is known also where a power cut took all that the anchor was
// told since it was last synced.
func TestD3_the_anchor_knows_every_file_of_the_log(t *testing.T) {
	t.Parallel()
	d := syncedAnchor{crashfs.New(), new(string)}
	s := durable.OpenOn(d, goldenOptions())
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := s.Log("run")
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; d.Files()[secondSegment] == ""; i++ {
		if _, err := l.Append("step", payload(i)); err != nil {
			t.Fatal(err)
		}
	}
	d.Restart() // killed, and then the power cut
	d.Put(runAnchor, []byte(*d.held), 0)
	d.Settle()
	if _, err := readRecords(d.Clone()); err != nil {
		t.Fatalf("a power cut: %v", err)
	}
	if err := d.Remove(secondSegment); err != nil {
		t.Fatal(err)
	}
	d.Settle()
	var damage *durable.DamageError
	if got, err := readRecords(d.FS); !errors.As(err, &damage) {
		t.Errorf("the second file is not missed: %v %v", got, err)
	}
}

// A log that was only just made has no anchor yet: that is no damage, and nothing
// is missing.
func TestD3_a_log_that_was_only_begun_is_no_damage(t *testing.T) {
	t.Parallel()
	d := crashfs.New()
	s, _, err := taken(d, goldenOptions())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Log("run"); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(runAnchor); err != nil {
		t.Fatal(err)
	}
	d.Settle()
	if got, err := readRecords(d); err != nil || len(got) > 0 {
		t.Errorf("%v %v", got, err)
	}
}

// readRecords opens a store as the next process would and reads the log.
func readRecords(d *crashfs.FS) ([]string, error) {
	s, _, err := taken(d, goldenOptions())
	if err != nil {
		return nil, err
	}
	got, err := recordsOf(s, "run")
	return got, errors.Join(err, s.Release())
}
