package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"reprise/core"
	"reprise/core/journal"
)

// written makes a journal of n steps that are done, and gives its folder and its last state.
func written(t *testing.T, n int) (dir string, s core.State) {
	t.Helper()
	dir = t.TempDir()
	j := open(t, dir)
	add := func(r core.Record) {
		if _, err := j.Append(r, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	add(core.Record{Begin: &core.Begin{Run: "r"}})
	for i := range n {
		step := string(rune('a' + i%26))
		if j.State.Step(step).Done {
			add(core.Record{Undo: &core.Undo{Step: step}})
		}
		add(core.Record{Start: &core.Start{Step: step, Attempt: i + 1}})
		add(core.Record{End: &core.End{Step: step, Outcome: core.Done, Move: &core.Move{To: "w"}}})
		add(core.Record{Made: &core.Made{Of: j.State.Seq}})
	}
	return dir, j.State
}

func open(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestOpen_gives_what_was_appended_with_and_without_its_checkpoint(t *testing.T) {
	dir, want := written(t, 400)
	if got := open(t, dir).State; !reflect.DeepEqual(got, want) {
		t.Errorf("with: %d records, not %d", got.Seq, want.Seq)
	}
	state := filepath.Join(dir, "state")
	data, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(state, bytes.Replace(data, []byte(`"run":"r"`), []byte(`"run":"x"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := open(t, dir).State; !reflect.DeepEqual(got, want) {
		t.Error("with one that was changed")
	}
	if err := os.Remove(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	if got := open(t, dir).State; !reflect.DeepEqual(got, want) {
		t.Errorf("without: %d records, not %d", got.Seq, want.Seq)
	}
}

// A checkpoint is of the journal that has the line before it.
func TestOpen_with_the_checkpoint_of_another(t *testing.T) {
	dir, _ := written(t, 200)
	path := filepath.Join(dir, "journal")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	state, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	var at int
	if _, err := fmt.Sscanf(string(state[9:]), `{"mark":{"at":%d`, &at); err != nil {
		t.Fatal(err)
	}
	line := bytes.LastIndexByte(data[:at-1], '\n') + 1
	data[line] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(dir); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// zeros clears the middle of the nth line from the end.
func zeros(d []byte, n int) []byte {
	lines := bytes.SplitAfter(d, []byte("\n"))
	line := lines[len(lines)-1-n]
	clear(line[len(line)/3 : len(line)/2])
	return bytes.Join(lines, nil)
}

func TestOpen_after_a_kill_or_damage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(data []byte) []byte
		lost   int // records at the end
		err    error
	}{
		"nothing happened":                       {func(d []byte) []byte { return d }, 0, nil},
		"half a line at the end":                 {func(d []byte) []byte { return append(d, "0000000 {\"seq\""...) }, 0, nil},
		"the last line lost its end":             {func(d []byte) []byte { return d[:len(d)-5] }, 1, nil},
		"a letter changed in the last line":      {func(d []byte) []byte { d[len(d)-9] ^= 1; return d }, 0, journal.ErrDamaged},
		"shorter than its checkpoint":            {func(d []byte) []byte { return d[:len(d)/4] }, -1, nil},
		"a letter changed before its checkpoint": {func(d []byte) []byte { d[20] ^= 1; return d }, 0, nil},
		"zeros at the end, as after a power cut": {func(d []byte) []byte { return append(d, make([]byte, 100)...) }, 0, nil},
		"zeros in the line before the last":      {func(d []byte) []byte { return zeros(d, 2) }, 2, nil},
		"zeros in the last line":                 {func(d []byte) []byte { return zeros(d, 1) }, 1, nil},
		"nothing but zeros in it": {func(d []byte) []byte {
			at := bytes.LastIndexByte(d[:len(d)-1], '\n')
			clear(d[at+1 : len(d)-1])
			return d
		}, 1, nil},
		"zeros in what was durable": {func(d []byte) []byte { return zeros(d, 3) }, 0, journal.ErrDamaged},
		"a line twice":              {func(d []byte) []byte { return append(d, d[len(d)-30:]...) }, 0, journal.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			dir, want := written(t, 200)
			path := filepath.Join(dir, "journal")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.change(data), 0o600); err != nil {
				t.Fatal(err)
			}
			j, err := journal.Open(dir)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, not %v", err, c.err)
			}
			if err != nil {
				return
			}
			defer j.Close()
			if lost := want.Seq - j.State.Seq; lost != c.lost && c.lost >= 0 || lost == 0 && c.lost < 0 {
				t.Errorf("%d records lost, not %d", lost, c.lost)
			}
			before := j.State.Seq
			if _, err := j.Append(core.Record{Note: &core.Note{Text: "on"}}, time.Now()); err != nil {
				t.Fatal(err)
			}
			if data, err = os.ReadFile(path); err != nil || !bytes.HasSuffix(data, []byte("}}\n")) {
				t.Errorf("it ends in %q", data[len(data)-20:])
			}
			if got := open(t, dir).State.Seq; got != before+1 {
				t.Errorf("%d records, not %d", got, before+1)
			}
		})
	}
}

// Who looks gives the same, makes nothing, and says what is wrong and where.
func TestRead_and_Peek(t *testing.T) {
	dir, want := written(t, 200)
	for range 2 { // with and without its checkpoint
		if got, err := journal.Peek(dir); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d records, %v", got.Seq, err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
			t.Fatal(err)
		}
	}
	n, stop := 0, errors.New("enough")
	err := journal.Read(dir, func(r core.Record) error {
		if n++; r.Seq != n {
			t.Errorf("record %d is number %d", r.Seq, n)
		}
		if n == 3 {
			return stop
		}
		return nil
	})
	if n != 3 || !errors.Is(err, stop) || !strings.Contains(err.Error(), "at byte ") {
		t.Errorf("%d records, %v", n, err)
	}
	none := t.TempDir()
	if _, err := journal.Peek(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := journal.Read(none, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if list, err := os.ReadDir(none); err != nil || len(list) > 0 {
		t.Errorf("made %v, %v", list, err)
	}
}

// Peek trusts a checkpoint as Open does: what lies before it is not read again.
func TestPeek_starts_at_the_checkpoint(t *testing.T) {
	dir, want := written(t, 200)
	path := filepath.Join(dir, "journal")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[20] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := journal.Peek(dir); err != nil || got.Seq != want.Seq {
		t.Errorf("%d records, %v", got.Seq, err)
	}
	if err := journal.Read(dir, func(core.Record) error { return nil }); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

func TestOpen_where_it_cannot(t *testing.T) {
	file, folder := filepath.Join(t.TempDir(), "file"), t.TempDir()
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(filepath.Join(folder, "journal"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, folder} {
		if j, err := journal.Open(dir); err == nil {
			j.Close()
			t.Errorf("%s was opened", dir)
		}
		if err := journal.Read(dir, nil); err == nil {
			t.Errorf("%s was read", dir)
		}
	}
}

// A record that cannot be written never happened, and one that does not follow is refused.
func TestAppend_that_fails(t *testing.T) {
	dir, want := written(t, 3)
	j := open(t, dir)
	j.Close()
	if _, err := j.Append(core.Record{Note: &core.Note{Text: "lost"}}, time.Now()); err == nil {
		t.Error("it was appended to a closed file")
	}
	if !reflect.DeepEqual(j.State, want) || !reflect.DeepEqual(open(t, dir).State, want) {
		t.Error("it left something")
	}
	if _, err := open(t, dir).Append(core.Record{Made: &core.Made{Of: 77}}, time.Now()); err == nil {
		t.Error("it follows")
	}
	if !reflect.DeepEqual(open(t, dir).State, want) {
		t.Error("what does not follow was kept")
	}
}
