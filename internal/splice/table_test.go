package splice_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"reprise/internal/splice"
)

// edit is one operation and what must come of it, with line feeds.
type edit struct {
	name, in, want string
	do             func(data []byte) ([]byte, error)
}

// run makes the edit in every oddity of line ends, mark and last line.
func run(t *testing.T, e edit) {
	t.Helper()
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	same := func(s string) string { return s }
	for _, odd := range []struct {
		name string
		of   func(string) string
	}{
		{"LF", same},
		{"CRLF", crlf},
		{"BOM", func(s string) string { return "\ufeff" + s }},
		{"BOM CRLF", func(s string) string { return "\ufeff" + crlf(s) }},
		{"no last line end", func(s string) string { return strings.TrimSuffix(s, "\n") }},
		{"CRLF, no last line end", func(s string) string { return strings.TrimSuffix(crlf(s), "\r\n") }},
	} {
		in := odd.of(e.in)
		got, err := e.do([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", odd.name, err)
		} else if want := odd.of(e.want); string(got) != want {
			t.Errorf("%s: %s", odd.name, differ(string(got), want))
		}
	}
	for _, every := range []int{2, 3} { // mixed line ends
		in, n := "", 0
		for _, line := range strings.SplitAfter(e.in, "\n") {
			if n++; n%every == 0 {
				line = strings.ReplaceAll(line, "\n", "\r\n")
			}
			in += line
		}
		got, err := e.do([]byte(in))
		if err != nil {
			t.Errorf("mixed: %v", err)
			continue
		}
		if text := strings.ReplaceAll(string(got), "\r\n", "\n"); text != e.want {
			t.Errorf("mixed: %s", differ(text, e.want))
		}
		if lost, most := lost([]byte(in), got), lost([]byte(e.in), []byte(e.want)); lost > most+2 { // the value itself may go over lines
			t.Errorf("mixed: %d bytes are gone, at most %d may be", lost, most)
		}
	}
}

// differ shows the first place in which two texts differ.
func differ(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	clip := func(s string) string { return s[max(0, i-30):min(len(s), i+60)] }
	return fmt.Sprintf("at %d got …%q…, want …%q…", i, clip(got), clip(want))
}

// lost returns how many bytes of a stand neither before nor behind the place
// where b differs.
func lost(a, b []byte) int {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return len(a) - head - tail
}

func js(f func(*splice.JSON) error) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		j, err := splice.NewJSON(data)
		if err != nil {
			return nil, err
		}
		err = f(j)
		return j.Bytes(), err
	}
}

func ya(f func(*splice.YAML) error) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		y, err := splice.NewYAML(data)
		if err != nil {
			return nil, err
		}
		err = f(y)
		return y.Bytes(), err
	}
}

func md(f func(*splice.Markdown) error) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		m, err := splice.NewMarkdown(data)
		if err != nil {
			return nil, err
		}
		err = f(m)
		return m.Bytes(), err
	}
}

type path = splice.Path

// refusal is an operation that must fail with a cause and change nothing.
type refusal struct {
	name, in string
	cause    error
	do       func(data []byte) ([]byte, error)
}

func refused(t *testing.T, r refusal) {
	t.Helper()
	in := []byte(r.in)
	got, err := r.do(in)
	if !errors.Is(err, r.cause) {
		t.Errorf("error %v, want %v", err, r.cause)
	}
	var e *splice.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("error %T is not typed", err)
	}
	if got != nil && !bytes.Equal(got, []byte(r.in)) {
		t.Errorf("refused, and yet %q", got)
	}
}
