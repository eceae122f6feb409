package durable_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"reprise/internal/durable"
	"reprise/internal/durable/crashfs"
)

// The last record is found at the end of a log, behind the log's own records, also
// if it is large and if the log has gone on in a new file.
func TestO5_the_last_record_is_found_without_reading_the_log(t *testing.T) {
	t.Parallel()
	d := crashfs.New()
	s, _, err := taken(d, goldenOptions())
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Log("run")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.LastRecords(); err != nil || len(got) != 0 {
		t.Errorf("of an empty log: %v %v", got, err)
	}
	for i := range 30 {
		body := payload(i)
		if i == 29 {
			body = big(1)
		}
		if _, err := l.Append("step", body); err != nil {
			t.Fatal(err)
		}
		got, err := s.LastRecords()
		if err != nil || string(got["run"].Payload) != string(body) || got["run"].Seq != l.Seq() {
			t.Fatalf("after record %d: %.80q %v", i, got["run"].Payload, err)
		}
	}
	// Each opening adds a record of the log's own.
	if err := s.Release(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if s, _, err = taken(d, goldenOptions()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Log("run"); err != nil {
			t.Fatal(err)
		}
		if got, err := s.LastRecords(); err != nil || string(got["run"].Payload) != string(big(1)) {
			t.Errorf("opened again: %.80q %v", got["run"].Payload, err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
	}
}

// A store without something shows all but that.
func TestOR9_a_store_without_a_folder_shows_the_rest(t *testing.T) {
	t.Parallel()
	d := crashfs.New()
	for _, name := range []string{"a/gone/x", "a/gone/deep/y", "a/gone.md", "b"} {
		d.Put(name, []byte(name), 0o644)
	}
	d.Settle()
	w := durable.Without(durable.OpenOn(d, testOptions()), "a/gone")
	var got []string
	err := fs.WalkDir(w, ".", func(name string, e fs.DirEntry, err error) error {
		got = append(got, name)
		return err
	})
	if want := []string{".", "a", "a/gone.md", "b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for _, name := range []string{"a/gone", "a/gone/x", "a/gone/deep/y"} {
		if _, err := fs.Stat(w, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := fs.ReadFile(w, "a/gone.md"); err != nil || string(b) != "a/gone.md" {
		t.Errorf("%q %v", b, err)
	}
}
