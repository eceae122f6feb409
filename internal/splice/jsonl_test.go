package splice_test

import (
	"errors"
	"testing"

	"reprise/internal/splice"
)

func TestA_value_of_one_line_is_set_and_all_other_bytes_stay(t *testing.T) {
	t.Parallel()
	const text = "\ufeff{\"id\":\"a\",\"n\":1.10}\r\n\n{ \"id\" : \"b\" , \"status\":\"open\",\"x\":\"\\u003c\" }\n{\"id\":\"c\"}"
	l, err := splice.NewJSONLines([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Put(splice.Path{1, "status"}, "closed"), l.Put(splice.Path{2, "status"}, "open"), l.Put(splice.Path{0, "id"}, "a")); err != nil {
		t.Fatal(err)
	}
	const want = "\ufeff{\"id\":\"a\",\"n\":1.10}\r\n\n{ \"id\" : \"b\" , \"status\":\"closed\",\"x\":\"\\u003c\" }\n{\"id\":\"c\",\"status\":\"open\"}"
	if got := string(l.Bytes()); got != want {
		t.Errorf("got %q", got)
	}
	if l.Root().Items[1].Get("status").Str() != "closed" {
		t.Error("the value does not read back")
	}
}

func TestWhat_is_no_line_of_the_file_is_not_set(t *testing.T) {
	t.Parallel()
	l, err := splice.NewJSONLines([]byte("{\"id\":\"a\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []splice.Path{nil, {0}, {1, "id"}, {"id"}} {
		if err := l.Put(path, "b"); !errors.Is(err, splice.ErrNotFound) {
			t.Errorf("%v: %v", path, err)
		}
	}
	if err := l.Append(nil, map[string]string{"id": "b"}); err != nil || string(l.Bytes()) != "{\"id\":\"a\"}\n{\"id\":\"b\"}\n" {
		t.Errorf("%v: %q", err, l.Bytes())
	}
	for _, text := range []string{"{\"id\":\"a\"}\n{\"id\":", "{}\n<<<<<<< HEAD\n{}\n", "{}\nnull\n\x00\n"} {
		if _, err := splice.NewJSONLines([]byte(text)); !errors.Is(err, splice.ErrUnreadable) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestA_box_takes_any_mark(t *testing.T) {
	t.Parallel()
	m, err := splice.NewMarkdown([]byte("- [-] 1. begun\n- [ ]* 2. optional\n- [a](link)\n- [X] 3. done\n"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(m.SetCheck(splice.Where{Line: 1}, "", true), m.SetBox(splice.Where{Line: 2}, "", "-"), m.SetBox(splice.Where{Line: 4}, "", "x"))
	if want := "- [X] 1. begun\n- [-]* 2. optional\n- [a](link)\n- [X] 3. done\n"; err != nil || string(m.Bytes()) != want {
		t.Errorf("%v: %q", err, m.Bytes())
	}
	if err := m.SetBox(splice.Where{Line: 3}, "", "x"); !errors.Is(err, splice.ErrNotFound) {
		t.Error(err)
	}
}
