package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"

	"reprise/internal/loose"
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
func readFile(fsys fs.FS, name string, each func(loose.Value)) (*records, error) {
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

func read(f io.Reader, size int64, each func(loose.Value)) (*records, error) {
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
func (r *records) lines(f io.Reader, begun, end bool, each func(loose.Value)) error {
	in := bufio.NewReaderSize(f, 64<<10)
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
		r.one(line, tooLong, begun, err == nil, end, each)
		line, tooLong, begun = line[:0], false, false
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *records) one(line []byte, tooLong, begun, whole, end bool, each func(loose.Value)) {
	line = bytes.Trim(line, " \t\r\n\x00") // blocks of zeros are what a power cut leaves
	v, ok := loose.Object(line)
	switch {
	case begun || len(line) == 0 && !tooLong:
	case tooLong:
		r.lost++
	case ok:
		each(v)
	case !whole && !end: // cut by us, not by its writer
	case !whole:
		r.torn = true
	default:
		r.lost++
		if v, ok := glued(line); ok {
			each(v)
		}
	}
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
