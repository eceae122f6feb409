// Package journal keeps the records of one run: one line each, with a checksum over all
// lines so far. Nothing is ever changed or taken away. A checkpoint of their fold beside it
// saves reading them all at a start; it can be deleted at any time.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"reprise/core"
)

// every is after how many records a checkpoint is written.
const every = 256

// Journal is the journal of a run, open for appending. One process has it at a time; the
// lock of the engine sees to that.
type Journal struct {
	State core.State // the fold over all records

	file *os.File
	mark mark
	late int // records since the checkpoint
}

// mark is a place between two lines, with the checksum over all lines before it.
type mark struct {
	At  int64  `json:"at"`
	Sum uint32 `json:"sum"`
}

// ErrDamaged is given for a line that is not what was written. Nothing is guessed: the
// lines before it can be read, and a person must look. A place that a power cut left empty is
// no damage if nothing that was durable follows it: at most the line behind a note.
var ErrDamaged = errors.New("the checksum of a line does not fit")

// Open reads the journal in a folder, or makes an empty one. A last line without its end
// was never acknowledged: a kill or a power cut came between. It is taken away.
func Open(dir string) (_ *Journal, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	j := &Journal{}
	if j.file, err = os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	j.restore()
	if err := j.replay(); err != nil {
		j.file.Close()
		return nil, err
	}
	folder, err := os.Open(dir) // its name must be durable too
	if err != nil {
		return nil, err
	}
	return j, errors.Join(folder.Sync(), folder.Close())
}

// Close closes the file. There is nothing to save.
func (j *Journal) Close() error { return j.file.Close() }

// Append makes a record durable and folds it. It gives the record with its number. If it
// fails, the journal is as it was, and the record never happened; whoever gets one that does not
// follow has a State that is worth nothing any more.
func (j *Journal) Append(r core.Record, now time.Time) (core.Record, error) {
	return j.append(r, now, j.file.Sync)
}

// Note is Append for a record that a power cut may take: it is durable with the next one.
func (j *Journal) Note(r core.Record, now time.Time) (core.Record, error) {
	return j.append(r, now, func() error { return nil })
}

func (j *Journal) append(r core.Record, now time.Time, sync func() error) (core.Record, error) {
	r.Seq, r.At = j.State.Seq+1, now.UTC().Truncate(time.Millisecond)
	body, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	sum := crc32.Update(j.mark.Sum, table(), body)
	line := fmt.Appendf(nil, "%08x %s\n", sum, body)
	_, err = j.file.WriteAt(line, j.mark.At)
	if err = errors.Join(err, sync()); err == nil {
		err = j.State.Fold(r)
	}
	if err != nil {
		return r, errors.Join(err, j.file.Truncate(j.mark.At))
	}
	j.mark = mark{j.mark.At + int64(len(line)), sum}
	if j.late++; j.late >= every {
		j.checkpoint()
	}
	return r, nil
}

// replay folds the lines from the checkpoint to the end.
func (j *Journal) replay() error {
	end, err := scan(j.file, j.mark, func(r core.Record) error {
		j.late++
		return j.State.Fold(r)
	})
	if j.mark = end; err != nil {
		return err
	}
	return errors.Join(j.file.Truncate(end.At), j.file.Sync()) // nothing of it comes back below the next line
}

// table is made when it is first needed: most commands need none.
var table = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// scan reads the whole lines of a journal from a place on, and gives the place behind them.
func scan(f *os.File, m mark, each func(core.Record) error) (mark, error) {
	in := bufio.NewReader(io.NewSectionReader(f, m.At, math.MaxInt64-m.At))
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		head, body, _ := bytes.Cut(line[:len(line)-1], []byte(" "))
		sum := crc32.Update(m.Sum, table(), body)
		var r core.Record
		if string(head) != fmt.Sprintf("%08x", sum) || json.Unmarshal(body, &r) != nil {
			rest, err := io.ReadAll(in)
			if err == nil && bytes.IndexByte(line, 0) >= 0 && bytes.Count(rest, []byte("\n")) < 2 {
				return m, nil
			}
			return m, fmt.Errorf("%s, at byte %d: %w", f.Name(), m.At, ErrDamaged)
		}
		if err := each(r); err != nil {
			return m, fmt.Errorf("%s, at byte %d: %w", f.Name(), m.At, err)
		}
		m = mark{m.At + int64(len(line)), sum}
	}
}

// maxLine is longer than any record, maxSize than the journal of any run.
const (
	maxLine = 8 << 20
	maxSize = 64 << 20
)

// readLine reads to the end of a line. One that is longer than a record can be is damage, and
// is not kept.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line has more than %d bytes: %w", maxLine, ErrDamaged)
		}
	}
}

// openPlain opens a journal for who looks: what stands in its place may be a stranger's, a pipe
// that nobody writes to or a file without end.
func openPlain(dir string) (*os.File, error) {
	name := filepath.Join(dir, "journal")
	switch info, err := os.Lstat(name); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file: %w", name, ErrDamaged)
	case info.Size() > maxSize:
		return nil, fmt.Errorf("%s has more than %d bytes: %w", name, maxSize, ErrDamaged)
	}
	return os.Open(name)
}

// Read gives all records of a journal, for people. It takes no lock and changes nothing.
func Read(dir string, each func(core.Record) error) error {
	f, err := openPlain(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = scan(f, mark{}, each)
	return err
}

// Tail gives the records at the end of a journal, as far as a quick look at it shows them. Nothing
// vouches for them: who builds on what they say reads all.
func Tail(dir string) (out []core.Record, err error) {
	f, err := openPlain(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	const most = 64 << 10
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-most), most))
	for line := range bytes.Lines(data) {
		var r core.Record
		if _, body, _ := bytes.Cut(line, []byte(" ")); bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(body, &r) == nil {
			out = append(out, r)
		}
	}
	return out, err
}

// Peek gives the fold over all records. It takes no lock and changes nothing; a last line
// that is being written is not there yet.
func Peek(dir string) (core.State, error) {
	f, err := openPlain(dir)
	if err != nil {
		return core.State{}, err
	}
	defer f.Close()
	j := &Journal{file: f}
	j.restore()
	_, err = scan(f, j.mark, j.State.Fold)
	return j.State, err
}

// saved is a checkpoint: the fold of the lines before a place.
type saved struct {
	Mark  mark       `json:"mark"`
	State core.State `json:"state"`
}

func (j *Journal) saved() string { return filepath.Join(filepath.Dir(j.file.Name()), "state") }

// checkpoint saves the fold. That it fails costs time at the next start, nothing else.
func (j *Journal) checkpoint() {
	j.late = 0
	body, err := json.Marshal(saved{j.mark, j.State})
	data := fmt.Appendf(nil, "%08x %s", crc32.Checksum(body, table()), body)
	if err == nil && os.WriteFile(j.saved()+".new", data, 0o600) == nil {
		os.Rename(j.saved()+".new", j.saved())
	}
}

// restore starts from the checkpoint if it is whole, and if the journal has the line that
// it was made after.
func (j *Journal) restore() {
	data, _ := os.ReadFile(j.saved())
	head, body, _ := bytes.Cut(data, []byte(" "))
	var s saved
	if string(head) != fmt.Sprintf("%08x", crc32.Checksum(body, table())) || json.Unmarshal(body, &s) != nil {
		return
	}
	tail := make([]byte, min(s.Mark.At, 1<<20))
	if n, _ := j.file.ReadAt(tail, s.Mark.At-int64(len(tail))); n < len(tail) {
		return
	}
	last := tail[bytes.LastIndexByte(bytes.TrimSuffix(tail, []byte("\n")), '\n')+1:]
	if bytes.HasPrefix(last, fmt.Appendf(nil, "%08x ", s.Mark.Sum)) {
		j.State, j.mark = s.State, s.Mark
	}
}
