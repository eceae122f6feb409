package transcript

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"time"
)

// Of a file that is larger than whole, the first and the last part are read: an
// unfinished call stands at the end, who and where at the beginning.
const (
	wholeFile = 24 << 20
	headPart  = 1 << 20
	tailPart  = 12 << 20
	maxRecord = 16 << 20 // a longer line is not read
)

// records goes through the lines of a transcript, each of them a JSON object.
type records struct {
	lost int
	torn bool // the last line was cut off
	part bool
}

// beginnings are how a record begins in the stores we know: where one was cut
// off and the next glued to it, the next is found by them.
var beginnings = [][]byte{
	[]byte(`{"sessionId":`), []byte(`{"id":`), []byte(`{"$set":`), []byte(`{"type":`), []byte(`{"parentUuid":`), []byte(`{"uuid":`), []byte(`{"timestamp":`),
}

// readFile gives every record of a file to each, in order. The error is that of
// the file system; everything a file can hold is counted instead.
func readFile(fsys fs.FS, name string, each func(raw []byte)) (*records, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return read(f, info.Size(), each)
}

func read(f io.Reader, size int64, each func(raw []byte)) (*records, error) {
	r := &records{}
	at, seekable := f.(io.ReaderAt)
	if size <= wholeFile || !seekable {
		return r, r.lines(io.LimitReader(f, wholeFile), false, size <= wholeFile, each)
	}
	r.part = true
	if err := r.lines(io.NewSectionReader(at, 0, headPart), false, false, each); err != nil {
		return r, err
	}
	return r, r.lines(io.NewSectionReader(at, size-tailPart, tailPart), true, true, each)
}

// lines reads to the end. begun tells that the reader stands in the middle of a
// line, end that the end of it is that of the file.
func (r *records) lines(f io.Reader, begun, end bool, each func(raw []byte)) error {
	in := newLineReader(f, maxRecord)
	for first := true; ; first = false {
		line, whole, tooLong, err := in.next()
		if len(line) > 0 || tooLong {
			r.one(line, tooLong, begun && first, whole, end, each)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *records) one(line []byte, tooLong, begun, whole, end bool, each func([]byte)) {
	line = bytes.Trim(line, " \t\r\n\x00") // blocks of zeros are what a power cut leaves
	switch {
	case begun || len(line) == 0 && !tooLong:
	case tooLong:
		r.lost++
	case isObject(line):
		each(line)
	case !whole && !end: // cut by us, not by its writer
	default:
		if !whole {
			r.torn = true
			return
		}
		r.lost++
		if rest := glued(line); rest != nil {
			each(rest)
		}
	}
}

func isObject(b []byte) bool { return len(b) > 1 && b[0] == '{' && json.Valid(b) }

// glued finds a whole record behind one that was cut off, nil if there is none.
func glued(line []byte) []byte {
	from := 1
	for range 16 {
		at := -1
		for _, b := range beginnings {
			if i := bytes.Index(line[min(from, len(line)):], b); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		from += at
		if isObject(line[from:]) {
			return line[from:]
		}
		from++
	}
	return nil
}

// lineReader reads lines of bounded length. What it returns holds until the
// next call.
type lineReader struct {
	in   io.Reader
	most int
	buf  []byte
	a, b int // what is read and not given out
	err  error
}

func newLineReader(in io.Reader, most int) *lineReader {
	return &lineReader{in: in, most: most, buf: make([]byte, 64<<10)}
}

// next gives a line without its end; whole tells that the end was there. Of one
// that is too long nothing is given.
func (l *lineReader) next() (line []byte, whole, tooLong bool, err error) {
	seen := l.a
	for {
		if i := bytes.IndexByte(l.buf[seen:l.b], '\n'); i >= 0 {
			line = l.buf[l.a : seen+i]
			l.a = seen + i + 1
			if tooLong {
				line = nil
			}
			return line, true, tooLong, nil
		}
		if l.err != nil {
			line, l.a = l.buf[l.a:l.b], l.b
			if tooLong {
				line = nil
			}
			return line, false, tooLong, l.err
		}
		if l.b-l.a > l.most {
			tooLong, l.a = true, l.b
		}
		l.room()
		seen = l.b
		var n int
		n, l.err = l.in.Read(l.buf[l.b:])
		l.b += n
	}
}

// room makes space behind what is read.
func (l *lineReader) room() {
	if l.a > 0 {
		copy(l.buf, l.buf[l.a:l.b])
		l.a, l.b = 0, l.b-l.a
	}
	if l.b == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
}

// moment is a time as the CLIs write it: text, or a number of seconds or
// milliseconds.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler and never fails.
func (m *moment) UnmarshalJSON(b []byte) error {
	var text string
	var n float64
	switch {
	case json.Unmarshal(b, &text) == nil:
		m.Time, _ = time.Parse(time.RFC3339Nano, text)
	case json.Unmarshal(b, &n) == nil && n > 0 && n < 1e11:
		m.Time = time.Unix(int64(n), 0)
	case n >= 1e11 && n < 1e16:
		m.Time = time.UnixMilli(int64(n))
	}
	m.Time = m.UTC()
	return nil
}

// text is a string, or nothing where another type stands.
type text string

// UnmarshalJSON implements json.Unmarshaler and never fails.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}

// list holds objects of one shape, leaving out what has another.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler and never fails.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	for _, r := range raw {
		var one T
		if json.Unmarshal(r, &one) == nil {
			*l = append(*l, one)
		}
	}
	return nil
}

// decode reads a record into v as far as the shapes agree; where one field has
// another type, the rest still counts.
func decode(raw []byte, v any) { _ = json.Unmarshal(raw, v) }
