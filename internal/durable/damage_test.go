package durable_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
	"reprise/internal/sample"
)

func goldenOptions() durable.Options {
	o := testOptions()
	o.SegmentSize = 700
	return o
}

// golden is a store of two generations, two segments and one large payload,
// closed as it should be, with a group of edits that a kill interrupted.
func golden(tb testing.TB) *crashfs.FS {
	tb.Helper()
	d := crashfs.New()
	for gen := range 2 {
		s, _, err := taken(d, goldenOptions())
		if err != nil {
			tb.Fatal(err)
		}
		l, err := s.Log("run")
		if err != nil {
			tb.Fatal(err)
		}
		for i := 1; i <= 4+gen; i++ {
			body := payload(gen*4 + i)
			if gen == 1 && i == 3 {
				body = big(1)
			}
			if _, err := l.Append("step", body); err != nil {
				tb.Fatal(err)
			}
		}
		if err := s.Release(); err != nil {
			tb.Fatal(err)
		}
	}
	for name, content := range groupFiles(0) {
		d.Put(name, []byte(content), 0o644)
	}
	d.Settle()
	for n := 0; d.Files()[".reprise/intent"] == ""; n++ {
		if _, err := d.Kill(n, func() error {
			s, _, err := taken(d, goldenOptions())
			if err != nil {
				return err
			}
			return s.Apply(context.Background(), groupEdits(1))
		}); err != nil {
			tb.Fatal(err)
		}
	}
	d.Settle()
	return d
}

// outcome opens a store as the next process would and tells all it would act
// on. An error must be one that names the damage.
func outcome(d *crashfs.FS) (text string, gen uint64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	s, rep, err := taken(d, goldenOptions())
	if err != nil {
		return "", 0, err
	}
	if _, err := s.Log("run"); err != nil {
		return "", 0, err
	}
	got, err := recordsOf(s, "run")
	if err != nil {
		return "", 0, err
	}
	files, err := projectFiles(d)
	return fmt.Sprint(got, files, len(rep.Conflicts)), rep.Generation, err
}

// named reports whether an error says what is damaged.
func named(err error) bool {
	var damage *durable.DamageError
	var future *durable.FutureError
	return errors.As(err, &damage) || errors.As(err, &future)
}

// judge says what is wrong with the outcome on a damaged store: nothing if the
// damage was named, or if it has no effect at all.
func judge(d *crashfs.FS, want string, least uint64) (string, bool) {
	text, gen, err := outcome(d)
	switch {
	case err != nil && !named(err):
		return fmt.Sprintf("an error that does not name the damage: %v", err), false
	case err != nil:
		return "", true
	case text != want:
		return fmt.Sprintf("accepted as another state: %.300s", text), false
	case gen < least:
		return fmt.Sprintf("generation %d was given away before", gen), false
	}
	return "", false
}

// damages calls try with damages of one file: every stride-th bit from the first on
// is flipped, and so on.
func damages(name string, content []byte, stride, first int, try func(what string, b []byte)) {
	for bit := first; bit < len(content)*8; bit += stride {
		b := bytes.Clone(content)
		b[bit/8] ^= 1 << (bit % 8)
		try(fmt.Sprintf("bit %d flipped", bit), b)
	}
	for n := 0; n < len(content); n += 1 + stride/8 {
		try(fmt.Sprintf("cut to %d bytes", n), content[:n])
		if n < len(content)-1 {
			zeros := bytes.Clone(content)
			clear(zeros[n:])
			try(fmt.Sprintf("zeros from byte %d on", n), zeros)
		}
	}
	if !strings.HasSuffix(name, ".log") {
		return
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	lines = lines[:len(lines)-1]
	join := func(parts ...[][]byte) []byte {
		var out []byte
		for _, p := range parts {
			out = append(out, bytes.Join(p, nil)...)
		}
		return out
	}
	for i := range lines {
		try(fmt.Sprintf("line %d deleted", i), join(lines[:i], lines[i+1:]))
		try(fmt.Sprintf("line %d doubled", i), join(lines[:i+1], lines[i:]))
		for j := i + 1; j < len(lines); j++ {
			try(fmt.Sprintf("lines %d and %d swapped", i, j), join(lines[:i], lines[j:j+1], lines[i+1:j], lines[i:i+1], lines[j+1:]))
			try(fmt.Sprintf("line %d moved to %d", i, j), join(lines[:i], lines[i+1:j+1], lines[i:i+1], lines[j+1:]))
		}
	}
}

// sweepDamage tries every damage of every file of the golden store.
// Of the bits of a file it takes every n-th, beginning with one of the first n.
func sweepDamage(tb testing.TB, n, first, enough int) (tried, found int, bad []string) {
	base := golden(tb)
	want, gen, err := outcome(base.Clone())
	if err != nil {
		tb.Fatal(err)
	}
	for name, content := range base.Files() {
		if !strings.HasPrefix(name, ".reprise/") {
			continue
		}
		stride := n
		if len(content) > 4000 {
			stride = 997 * n // a payload of its own: its hash covers all bits alike
		}
		damages(name, []byte(content), stride, first, func(what string, b []byte) {
			if len(bad) >= enough {
				return
			}
			d := base.Clone()
			d.Put(name, b, 0)
			tried++
			problem, detected := judge(d, want, gen)
			if problem != "" {
				bad = append(bad, fmt.Sprintf("%s, %s: %s", name, what, problem))
			}
			if detected {
				found++
			}
		})
	}
	return tried, found, bad
}

func TestDamage_is_named_or_without_effect(t *testing.T) {
	t.Parallel()
	n, first := 13, 0
	if sample.All() {
		n = 1
	} else {
		first = int(sample.Seed(t) % uint64(n))
	}
	tried, found, bad := sweepDamage(t, n, first, 10)
	for _, b := range bad {
		t.Error(b)
	}
	t.Logf("%d damages: %d named, %d without effect", tried, found, tried-found)
}

// sweepUnanchored flips every bit of the last segment when no anchor can tell
// that a record is missing: a flipped bit must not pass for a torn write.
func sweepUnanchored(tb testing.TB, take func(bit int) bool) (tried int, bad string) {
	base := golden(tb)
	if err := base.Remove(".reprise/journal/run.anchor"); err != nil {
		tb.Fatal(err)
	}
	base.Settle()
	want, gen, err := outcome(base.Clone())
	if err != nil {
		tb.Fatal(err)
	}
	const name = ".reprise/journal/run-000002.log"
	content := []byte(base.Files()[name])
	for bit := range len(content) * 8 {
		if !take(bit) {
			continue
		}
		b := bytes.Clone(content)
		b[bit/8] ^= 1 << (bit % 8)
		d := base.Clone()
		d.Put(name, b, 0)
		tried++
		if problem, _ := judge(d, want, gen); problem != "" {
			return tried, fmt.Sprintf("%s, bit %d flipped: %s", name, bit, problem)
		}
	}
	return tried, ""
}

func TestDamage_of_the_tail_is_told_from_a_torn_write(t *testing.T) {
	t.Parallel()
	tried, bad := sweepUnanchored(t, sample.Every(t, 5))
	if bad != "" {
		t.Error(bad)
	}
	t.Logf("%d flips", tried)
}

func TestDamage_deleted_files_are_named(t *testing.T) {
	t.Parallel()
	base := golden(t)
	want, gen, err := outcome(base.Clone())
	if err != nil {
		t.Fatal(err)
	}
	for name := range base.Files() {
		if !strings.HasPrefix(name, ".reprise/") || name == ".reprise/intent" {
			continue // without its intent a group of edits is one that never began
		}
		d := base.Clone()
		if err := d.Remove(name); err != nil {
			t.Fatal(err)
		}
		d.Settle()
		if problem, _ := judge(d, want, gen); problem != "" {
			t.Errorf("%s deleted: %s", name, problem)
		}
	}
}

func TestRepair_keeps_every_whole_record(t *testing.T) {
	t.Parallel()
	base := golden(t)
	tried := 0
	for name, content := range base.Files() {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		damages(name, []byte(content), 37, 0, func(what string, b []byte) {
			d := base.Clone()
			d.Put(name, b, 0)
			if _, _, err := outcome(d.Clone()); err == nil {
				return
			}
			tried++
			s, _, err := taken(d, goldenOptions())
			if err != nil {
				t.Fatal(err)
			}
			dry, err := s.Repair("run", true)
			if err != nil || len(dry.Lost) == 0 {
				t.Fatalf("%s, %s: dry repair: %+v %v", name, what, dry, err)
			}
			rep, err := s.Repair("run", false)
			if err != nil || fmt.Sprint(rep) != fmt.Sprint(dry) {
				t.Fatalf("%s, %s: repair %+v is not what was announced, %v", name, what, rep, err)
			}
			l, err := s.Log("run")
			if err != nil {
				t.Fatalf("%s, %s: after repair: %v\n%s", name, what, err, d.Files()[name])
			}
			if _, err := l.Append("step", payload(99)); err != nil {
				t.Fatal(err)
			}
			got, err := recordsOf(s, "run")
			if err != nil || got[len(got)-1] != "step"+string(payload(99)) {
				t.Fatalf("%s, %s: after repair and append: %v %v", name, what, got, err)
			}
			if !kept(d, string(b)) && !strings.HasPrefix(d.Files()[name], string(b)) {
				t.Fatalf("%s, %s: the original is not kept", name, what)
			}
			if len(l.Lost()) == 0 {
				t.Fatalf("%s, %s: nothing says what is lost", name, what)
			}
		})
	}
	t.Logf("%d damaged logs repaired", tried)
}

func TestFuture_record_stops(t *testing.T) {
	t.Parallel()
	d := crashfs.New()
	if err := filled(d, 2); err != nil {
		t.Fatal(err)
	}
	d.Put(firstSegment, append([]byte(d.Files()[firstSegment]), durable.SealForTest("r2", "whatever comes")...), 0)
	s, _, err := taken(d, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	var future *durable.FutureError
	if _, err := s.Log("run"); !errors.As(err, &future) {
		t.Errorf("opening gives %v", err)
	}
	if _, err := s.Repair("run", false); !errors.As(err, &future) {
		t.Errorf("repair gives %v", err)
	}
}

func TestStale_generation_is_kept_and_ignored(t *testing.T) {
	t.Parallel()
	if err := staleCheck(); err != nil {
		t.Error(err)
	}
}

// staleCheck lets a holder that lost its lease write behind a newer one.
func staleCheck() error {
	d := crashfs.New()
	if err := filled(d, 2); err != nil {
		return err
	}
	old := d.Files()[firstSegment]
	lines := strings.SplitAfter(old, "\n")
	s, _, err := taken(d, testOptions())
	if err != nil {
		return err
	}
	l, err := s.Log("run")
	if err != nil {
		return err
	}
	if _, err := l.Append("step", payload(3)); err != nil {
		return err
	}
	if err := s.Release(); err != nil {
		return err
	}
	zombie := lines[len(lines)-2]
	d.Put(firstSegment, []byte(d.Files()[firstSegment]+zombie), 0)
	s, _, err = taken(d, testOptions())
	if err != nil {
		return err
	}
	if l, err = s.Log("run"); err != nil {
		return err
	}
	got, err := recordsOf(s, "run")
	if err != nil || len(got) != 3 {
		return fmt.Errorf("the records are %v: %v", got, err)
	}
	if len(l.Notes()) == 0 || !strings.Contains(d.Files()[firstSegment], zombie) {
		return fmt.Errorf("not kept or not reported: %v", l.Notes())
	}
	return nil
}
