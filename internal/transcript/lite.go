package transcript

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
)

// lite reads tables of a SQLite database file and of the write-ahead log beside
// it. It takes no lock, makes no index of the log on disk and changes nothing;
// an engine would do all three (docs/adr/). What it reads is a consistent state
// only if it was not written to meanwhile: see readOpencode.
type lite struct {
	db, wal  io.ReaderAt // wal is nil if there is none
	walSize  int64
	pageSize int
	usable   int
	pages    uint32
	frames   map[uint32]int64 // by page: where the log has its latest committed state
	salt     [8]byte
	left     int // pages that may still be read

	files []io.Closer
}

var errLite = errors.New("it is not a database file as expected")

// Bounds of a database that is read.
const (
	litePages   = 60_000 // read for one question
	liteBytes   = 256 << 20
	liteFrames  = 400_000 // of the log
	litePayload = 16 << 20
	liteDepth   = 24
)

func openLite(fsys fs.FS, name string) (*lite, error) {
	l := &lite{}
	if err := l.open(fsys, name); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lite) open(fsys fs.FS, name string) (err error) {
	open := func(name string) (io.ReaderAt, int64, error) {
		// Opening anything but a plain file might block.
		if info, err := fs.Stat(fsys, name); err == nil && !info.Mode().IsRegular() {
			return nil, 0, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
		}
		f, err := fsys.Open(name)
		if err != nil {
			return nil, 0, err
		}
		l.files = append(l.files, f)
		info, err := f.Stat()
		at, ok := f.(io.ReaderAt)
		if err == nil && (!ok || !info.Mode().IsRegular()) {
			err = &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
		}
		if err != nil {
			return nil, 0, err
		}
		return at, info.Size(), nil
	}
	var size int64
	if l.db, size, err = open(name); err != nil {
		return err
	}
	head := make([]byte, 100)
	if _, err := l.db.ReadAt(head, 0); err != nil || !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return errLite
	}
	l.pageSize = int(binary.BigEndian.Uint16(head[16:]))
	if l.pageSize == 1 {
		l.pageSize = 65536
	}
	l.usable = l.pageSize - int(head[20])
	l.left = min(litePages, liteBytes/max(l.pageSize, 1))
	if l.pageSize < 512 || l.pageSize&(l.pageSize-1) != 0 || l.usable < 480 || binary.BigEndian.Uint32(head[56:]) > 1 {
		return errLite // 0 and 1 stand for UTF-8
	}
	l.pages = uint32(size / int64(l.pageSize))
	switch l.wal, l.walSize, err = open(name + "-wal"); {
	case errors.Is(err, fs.ErrNotExist):
		l.wal, err = nil, nil
	case err != nil:
		return err
	}
	return l.log()
}

func (l *lite) close() {
	for _, f := range l.files {
		f.Close()
	}
}

// log reads the write-ahead log up to its last committed frame: a frame counts
// if it has the salt of the header and its checksum follows from the one before.
func (l *lite) log() error {
	l.frames = map[uint32]int64{}
	if l.wal == nil || l.walSize < 32 {
		return nil
	}
	head := make([]byte, 32)
	if _, err := l.wal.ReadAt(head, 0); err != nil {
		return err
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
	case 0x377f0683:
		order = binary.BigEndian
	default:
		return nil // a log that was never begun holds nothing
	}
	if size := binary.BigEndian.Uint32(head[8:]); int(size) != l.pageSize {
		return errLite
	}
	copy(l.salt[:], head[16:24])
	sum := checksum(order, [2]uint32{}, head[:24])
	if sum != [2]uint32{binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint32(head[28:])} {
		return nil
	}
	in := io.NewSectionReader(l.wal, 32, l.walSize-32)
	frame := make([]byte, 24+l.pageSize)
	pending := map[uint32]int64{}
	for n := range liteFrames {
		if _, err := io.ReadFull(in, frame); err != nil {
			return nil // the rest is torn or not there, and so not committed
		}
		sum = checksum(order, sum, frame[:8])
		sum = checksum(order, sum, frame[24:])
		if !bytes.Equal(frame[8:16], l.salt[:]) || sum != [2]uint32{binary.BigEndian.Uint32(frame[16:]), binary.BigEndian.Uint32(frame[20:])} {
			return nil // left of an earlier round
		}
		pending[binary.BigEndian.Uint32(frame)] = 32 + int64(n)*int64(24+l.pageSize) + 24
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 {
			for page, at := range pending {
				l.frames[page] = at
			}
			clear(pending)
			l.pages = pages
		}
	}
	return fmt.Errorf("its log has more than %d frames", liteFrames)
}

func checksum(order binary.ByteOrder, s [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}

// page reads one page in its latest committed state.
func (l *lite) page(n uint32) ([]byte, error) {
	if n == 0 || n > l.pages {
		return nil, errLite
	}
	if l.left--; l.left < 0 {
		return nil, errBound
	}
	b := make([]byte, l.pageSize)
	var err error
	if at, ok := l.frames[n]; ok {
		_, err = l.wal.ReadAt(b, at)
	} else {
		_, err = l.db.ReadAt(b, int64(n-1)*int64(l.pageSize))
	}
	if errors.Is(err, io.EOF) {
		err = errLite
	}
	return b, err
}

// errBound ends a question that would read too much; what was found before it
// counts.
var errBound = errors.New("it is too large to be read whole")

// errEnough ends a question that is answered.
var errEnough = errors.New("enough")

// backward goes through the rows of a table from the last to the first, until
// each returns an error. Values are nil, int64, float64 or []byte.
func (l *lite) backward(root uint32, each func(row []any) error) error {
	err := l.walk(root, liteDepth, each)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (l *lite) walk(n uint32, depth int, each func(row []any) error) error {
	if depth == 0 {
		return errLite
	}
	p, err := l.page(n)
	if err != nil {
		return err
	}
	base := 0
	if n == 1 {
		base = 100
	}
	cells := int(binary.BigEndian.Uint16(p[base+3:]))
	const interior, leaf = 5, 13
	switch p[base] {
	case interior:
		if err := l.walk(binary.BigEndian.Uint32(p[base+8:]), depth-1, each); err != nil {
			return err
		}
		for i := cells - 1; i >= 0; i-- {
			at, err := cell(p, base+12+2*i)
			if err != nil || at+4 > len(p) {
				return errLite
			}
			if err := l.walk(binary.BigEndian.Uint32(p[at:]), depth-1, each); err != nil {
				return err
			}
		}
	case leaf:
		for i := cells - 1; i >= 0; i-- {
			at, err := cell(p, base+8+2*i)
			if err != nil {
				return err
			}
			row, err := l.row(p[:l.usable], at)
			if err != nil {
				return err
			}
			if err := each(row); err != nil {
				return err
			}
		}
	default:
		return errLite
	}
	return nil
}

func cell(p []byte, pointer int) (int, error) {
	if pointer+2 > len(p) {
		return 0, errLite
	}
	at := int(binary.BigEndian.Uint16(p[pointer:]))
	if at >= len(p) {
		return 0, errLite
	}
	return at, nil
}

// row reads a cell of a leaf, with what is kept of it on further pages.
func (l *lite) row(p []byte, at int) ([]any, error) {
	if at >= len(p) {
		return nil, errLite
	}
	size, n := uvarint(p[at:])
	at += n
	_, n = uvarint(p[min(at, len(p)):]) // the number of the row
	at += n
	if size > litePayload || at > len(p) {
		return nil, errLite
	}
	local, most := int(size), l.usable-35
	if local > most {
		least := (l.usable-12)*32/255 - 23
		local = least + (int(size)-least)%(l.usable-4)
		if local > most {
			local = least
		}
	}
	if at+local > len(p) {
		return nil, errLite
	}
	payload := append(make([]byte, 0, size), p[at:at+local]...)
	if local < int(size) {
		if at+local+4 > len(p) {
			return nil, errLite
		}
		for next := binary.BigEndian.Uint32(p[at+local:]); len(payload) < int(size); {
			more, err := l.page(next)
			if err != nil {
				return nil, err
			}
			next = binary.BigEndian.Uint32(more)
			payload = append(payload, more[4:min(l.usable, 4+int(size)-len(payload))]...)
		}
	}
	return values(payload)
}

// values reads a record: a header of types, then the values.
func values(b []byte) ([]any, error) {
	head, n := uvarint(b)
	if n == 0 || head > uint64(len(b)) || head < uint64(n) {
		return nil, errLite
	}
	types, body := b[n:head], b[head:]
	var out []any
	for len(types) > 0 {
		kind, n := uvarint(types)
		if n == 0 {
			return nil, errLite
		}
		types = types[n:]
		size := uint64(0)
		switch {
		case kind >= 12:
			size = (kind - 12) / 2
		case kind >= 8:
		default:
			size = []uint64{0, 1, 2, 3, 4, 6, 8, 8}[kind]
		}
		if size > uint64(len(body)) {
			return nil, errLite
		}
		out = append(out, column(kind, body[:size]))
		body = body[size:]
	}
	return out, nil
}

func column(kind uint64, b []byte) any {
	switch {
	case kind >= 12:
		return b
	case kind == 8, kind == 9:
		return int64(kind - 8)
	case kind == 0 || kind > 9:
		return nil
	}
	var n uint64
	if b[0]&0x80 != 0 {
		n = math.MaxUint64
	}
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	if kind == 7 {
		return math.Float64frombits(n)
	}
	return int64(n)
}

// uvarint reads a number of up to nine bytes, the high ones first; the length
// is 0 if it is cut short.
func uvarint(b []byte) (uint64, int) {
	var n uint64
	for i, c := range b {
		if i == 8 {
			return n<<8 | uint64(c), 9
		}
		n = n<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}
