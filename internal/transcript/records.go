package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"sync"

	"reprise/internal/loose"
)

// extent says how much of a file is read. Of one that is larger than whole, the first
// and the last part are: an unfinished call stands at the end, who and where at the
// beginning.
type extent struct{ whole, head, tail int64 }

// Of the latest sessions much is read, of the many before them what tells whether
// something is under way.
var (
	much = extent{24 << 20, 1 << 20, 12 << 20}
	ends = extent{1 << 20, 64 << 10, 512 << 10}
)

const maxRecord = 16 << 20 // a longer line is not read

// records goes through the lines of a transcript, each of them a JSON object.
type records struct {
	extent
	each func(loose.Value)
	// gap, if set, is called where records are missing: lost ones cannot be read, others
	// stand in the middle of a large file.
	gap func(lost bool)

	line int // the number of the line that each is given, 0 if it is not known
	read int // records
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
func (r *records) readFile(fsys fs.FS, name string) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return r.readAll(f, info.Size())
}

func (r *records) readAll(f io.Reader, size int64) error {
	at, seekable := f.(io.ReaderAt)
	if size <= r.whole || !seekable {
		return r.lines(io.LimitReader(f, r.whole), false, size <= r.whole)
	}
	r.part = true
	if err := r.lines(io.NewSectionReader(at, 0, r.head), false, false); err != nil {
		return err
	}
	r.missing(false)
	r.line = -1
	return r.lines(io.NewSectionReader(at, size-r.tail, r.tail), true, true)
}

// missing tells that records are not known which stand here.
func (r *records) missing(lost bool) {
	if r.gap != nil {
		r.gap(lost)
	}
}

// readers are taken in turn: a project may have thousands of sessions.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// lines reads to the end. begun tells that the reader stands in the middle of a
// line, end that the end of it is that of the file.
func (r *records) lines(f io.Reader, begun, end bool) error {
	in := readers.Get().(*bufio.Reader)
	in.Reset(f)
	defer func() { in.Reset(nil); readers.Put(in) }()
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxRecord; !tooLong {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.one(line, tooLong, begun, err == nil, end)
		line, tooLong, begun = line[:0], false, false
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take hands a record on.
func (r *records) take(v loose.Value) {
	r.read++
	r.each(v)
}

func (r *records) one(line []byte, tooLong, begun, whole, end bool) {
	// Blocks of zeros are what a power cut leaves in place of records.
	zeros := bytes.IndexByte(line, 0) >= 0
	line = bytes.Trim(line, " \t\r\n\x00")
	if r.line >= 0 {
		r.line++
	}
	v, ok := loose.Object(line)
	switch {
	case begun || len(line) == 0 && !tooLong && !zeros:
	case tooLong:
		r.lose()
	case ok:
		if zeros {
			r.lose()
		}
		r.take(v)
		r.torn = zeros && !whole && end
	case !whole && !end: // cut by us, not by its writer
	case !whole:
		r.torn = true
	default:
		r.lose()
		if v, ok := glued(line); ok {
			r.take(v)
		}
	}
}

func (r *records) lose() {
	r.lost++
	r.missing(true)
}

// glued finds a whole record behind one that was cut off.
func glued(line []byte) (v loose.Value, ok bool) {
	for range 16 {
		next := -1
		for _, b := range beginnings {
			if i := bytes.Index(line[1:], b); i >= 0 && (next < 0 || i < next) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		line = line[1+next:]
		if v, ok = loose.Object(line); ok {
			break
		}
	}
	return v, ok
}

// said is the first text of a result: a text, an object with one as its content,
// or blocks of it.
func said(v loose.Value) string {
	if text := v.Text(); text != "" {
		return text
	}
	for _, block := range v.List() {
		if text := block.Text("text"); text != "" {
			return text
		}
	}
	return v.Text("content")
}
