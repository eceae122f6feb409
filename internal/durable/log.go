package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
)

// Record is one entry of a log.
type Record struct {
	Seq     uint64
	Gen     uint64 // the taking of the lease under which it was written
	Kind    string
	Payload json.RawMessage
	// File and Line are where ReadLog found it. The line is that of a file in which
	// no record of an older generation stands.
	File string
	Line int
}

// Log is one append-only journal, open for writing. It is made by Store.Log.
type Log struct {
	s      *Store
	name   string
	f      File
	seg    int
	size   int64
	seq    uint64
	last   chainHash
	anchor slots
	notes  []Note
	lost   []Lost
	opened Mark
}

// Notes tells what was found and set right when the log was opened, records of
// older generations among it.
func (l *Log) Notes() []Note { return l.notes }

// Seq is the number of the last record, those of the log itself included.
func (l *Log) Seq() uint64 {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	return l.seq
}

// Opened names the last record that stood there when the log was opened, beside those of
// the log itself.
func (l *Log) Opened() Mark { return l.opened }

// Lost lists what earlier repairs gave up.
func (l *Log) Lost() []Lost { return l.lost }

// Log opens a log for writing, and creates it if there is none. What a crash
// left is set right first: a torn tail is copied aside and cut, and the last
// file is written anew, so that what is read from now on is on the disk. The
// error is a *DamageError if the log needs repair; then nothing is changed
// except that a copy is kept.
//
// If the process dies here, the log is the old or the new one, and opening it
// again gives the same records.
func (s *Store) Log(name string) (*Log, error) {
	return s.OpenLogAfter(name, Mark{}, func(bool) func(Record) error { return nil })
}

// Mark names a record of a log and with it all that stand before it, because each names
// the one before. The zero Mark names none.
type Mark struct {
	seq  uint64
	hash chainHash
}

// OpenLogAfter opens a log as Log does and hands the records that count to a reader on the
// way, in order, so that it need not be read twice. Where the log has the very record that
// after names, only what stands behind it is handed out; reader is told that before anything
// is. Payloads are as they were appended and belong to the reader during its call only. An
// error of it ends the opening, and nothing is changed. It must not use the store.
func (s *Store) OpenLogAfter(name string, after Mark, reader func(known bool) func(Record) error) (*Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.logs[name]; l != nil {
		fn := reader(false)
		if fn == nil {
			return l, nil
		}
		_, err := s.ReadLog(name, fn)
		return l, err
	}
	if !validName(name) {
		return nil, fmt.Errorf("open log %q: not a name", name)
	}
	if err := s.writable(); err != nil {
		return nil, err
	}
	if err := s.sweep(journalDir); err != nil {
		return nil, err
	}
	t, err := s.walkAfter(name, after, reader)
	var damage *DamageError
	if errors.As(err, &damage) && t != nil && len(t.whole) > 0 && len(t.segs) > 0 {
		kept, keepErr := s.keepDamaged(damage)
		damage.Copy = kept
		return nil, errors.Join(err, keepErr)
	}
	if err != nil {
		return nil, err
	}
	l := &Log{s: s, name: name, notes: append(t.notes, t.stale...), lost: t.chain.lost, opened: t.last}
	if err := l.begin(t); err != nil {
		if l.f != nil {
			l.f.Close()
		}
		return nil, err
	}
	s.logs[name] = l
	return l, nil
}

// walkAfter is walk for a reader, which gets only what stands behind a mark if the log has
// that.
func (s *Store) walkAfter(name string, after Mark, reader func(known bool) func(Record) error) (*tail, error) {
	type found struct {
		frame
		file string
		off  int64
	}
	var behind []found
	known := false
	var hand func(frame, string, int64) error
	if after == (Mark{}) {
		hand = s.handing(name, reader(false))
	}
	t, err := s.walk(name, func(f frame, file string, off int64) error {
		switch {
		case f.kind[0] == '_':
		case hand != nil:
			return hand(f, file, off)
		case known:
			behind = append(behind, found{f, file, off})
		default:
			known = after == Mark{f.seq, f.hash}
		}
		return nil
	})
	if err != nil || hand != nil {
		return t, err
	}
	if !known || len(t.chain.lost) > 0 { // what a repair gave up may have been known before
		return s.walkAfter(name, Mark{}, reader)
	}
	hand = s.handing(name, reader(true))
	for _, f := range behind {
		if err := hand(f.frame, f.file, f.off); err != nil {
			return t, err
		}
	}
	return t, nil
}

// handing gives what is called with each record for a reader.
func (s *Store) handing(name string, fn func(Record) error) func(frame, string, int64) error {
	return func(f frame, file string, off int64) error {
		if fn == nil {
			return nil
		}
		payload := f.payload
		if payload[0] == '@' {
			var err error
			if payload, err = s.resolve(name, file, off, payload); err != nil {
				return err
			}
		}
		return fn(Record{Seq: f.seq, Gen: f.gen, Kind: f.kind, Payload: payload})
	}
}

func (s *Store) keepDamaged(damage *DamageError) (string, error) {
	b, _, err := s.readFile(damage.Path)
	if missing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return s.copyAside(damage.Path, b)
}

// begin writes the last file anew, or the first one, with a record that this
// generation has opened the log: whoever held the lease before and still writes
// to the old file writes to one that no one reads.
func (l *Log) begin(t *tail) error {
	s := l.s
	if err := s.makeDirs(journalDir, 0o700); err != nil {
		return err
	}
	if len(t.torn) > 0 {
		file := t.segs[len(t.segs)-1].path
		kept, err := s.copyAside(file, t.whole)
		if err != nil {
			return err
		}
		l.notes = append(l.notes, Note{Path: file, Text: fmt.Sprintf(
			"a record that was never acknowledged stood half-written at its end: %d bytes, kept in %s", len(t.torn), kept)})
	}
	l.seq, l.last, l.seg = t.chain.next-1, t.chain.want, max(len(t.segs), 1)
	kind, payload := kindTake, fmt.Sprintf(`{"pid":%d}`, s.lease.holder.PID)
	if len(t.segs) == 0 {
		id, err := s.token()
		if err != nil {
			return err
		}
		kind, payload = kindLog, fmt.Sprintf(`{"log":%q,"id":%q}`, l.name, id)
	}
	line, hash := l.line(kind, []byte(payload))
	if err := l.writeSegment(slices.Concat(t.good, line)); err != nil {
		return err
	}
	l.seq, l.last = l.seq+1, hash
	return l.openAnchor()
}

// line frames the next record and gives it with its line end, and its hash.
func (l *Log) line(kind string, payload []byte) ([]byte, chainHash) {
	f := frame{seq: l.seq + 1, gen: l.s.lease.holder.Generation, prev: l.last, kind: kind, payload: payload}
	b := f.encode()
	return append(b, '\n'), hashLine(b)
}

// writeSegment replaces the current file and keeps it open for appending.
func (l *Log) writeSegment(content []byte) error {
	s, name := l.s, segmentPath(l.name, l.seg)
	f, temp, err := s.temp(journalDir, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err = writeAll(f, content); err == nil {
		err = f.Sync()
	}
	// crash: segment-written
	if err != nil {
		f.Close()
		s.discard(temp)
		return s.fail("write "+name, err)
	}
	if err := s.rename(temp, name); err != nil {
		f.Close()
		return err
	}
	if l.f != nil {
		if err := s.fail("close "+name, l.f.Close()); err != nil {
			f.Close()
			return err
		}
	}
	// crash: segment-in-place
	l.f, l.size = f, int64(len(content))
	return nil
}

// openAnchor opens or makes the anchor and makes the present end durable in it.
func (l *Log) openAnchor() error {
	s, file := l.s, anchorPath(l.name)
	now := anchor{Seq: l.seq, Gen: s.lease.holder.Generation, Hash: l.last}
	if _, err := s.fs.Stat(file); missing(err) {
		b, err := blankSlots(now)
		if err != nil {
			return err
		}
		if err := s.install(file, b, nil); err != nil {
			return err
		}
	}
	f, err := s.fs.Open(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if l.anchor, err = readSlots(f); err == nil {
		if err = l.anchor.put(now); err == nil {
			err = f.Sync()
		}
	}
	if err != nil {
		f.Close()
		return s.fail("write "+file, err)
	}
	return nil
}

// Append adds a record: one write, one fsync, and only then nil. kind is a word
// in lower case, payload any JSON. A payload that does not fit into MaxRecord is
// made durable in a file of its own first.
//
// Unless nil is returned the record may or may not be there after the next
// opening. The error is a *PoisonedError if the disk refused something, with
// ErrFenced as its cause if someone else replaced the log or wrote to it.
func (l *Log) Append(kind string, payload json.RawMessage) (Record, error) {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if !validKind(kind) {
		return Record{}, fmt.Errorf("append to %s: %q is not a kind", l.name, kind)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, payload); err != nil {
		return Record{}, fmt.Errorf("append to %s: %w", l.name, err)
	}
	if err := s.writable(); err != nil {
		return Record{}, err
	}
	// It is not what we wrote: someone cut it or added to it, and what follows
	// would make no sense to a reader.
	if info, err := l.f.Stat(); err != nil || info.Links == 0 || info.Size != l.size {
		_, damage := s.walk(l.name, nil)
		return Record{}, s.fail("append to "+l.name, errors.Join(ErrFenced, err, damage))
	}
	body := compact.Bytes()
	if len(body) > MaxRecord-512 {
		hash := reprise.HashOf(body)
		if err := s.putObject(hash, body); err != nil {
			return Record{}, err
		}
		body = fmt.Appendf(nil, "@%s:%d", hash, len(body))
	}
	rec, err := l.append(kind, body)
	if err != nil {
		return Record{}, err
	}
	rec.Payload = bytes.Clone(compact.Bytes())
	return rec, nil
}

func (l *Log) append(kind string, body []byte) (Record, error) {
	s := l.s
	line, hash := l.line(kind, body)
	if l.size > 0 && l.size+int64(len(line)) > s.o.SegmentSize {
		if err := l.rotate(); err != nil {
			return Record{}, err
		}
		line, hash = l.line(kind, body)
	}
	rec := Record{Seq: l.seq + 1, Gen: s.lease.holder.Generation, Kind: kind}
	// crash: before-append
	if _, err := l.f.Write(line); err != nil {
		return Record{}, s.fail("append to "+l.name, err)
	}
	// crash: appended
	if err := s.fail("append to "+l.name, l.f.Sync()); err != nil {
		return Record{}, err
	}
	// crash: append-durable
	l.size += int64(len(line))
	l.seq, l.last = l.seq+1, hash
	// The record is durable whatever becomes of the anchor.
	_ = s.fail("write the anchor of "+l.name, l.anchor.put(anchor{Seq: l.seq, Gen: rec.Gen, Hash: hash}))
	return rec, nil
}

// rotate continues in a new file. All records of the old one are durable.
func (l *Log) rotate() error {
	l.seg++
	line, hash := l.line(kindSegment, fmt.Appendf(nil, `{"log":%q,"segment":%d}`, l.name, l.seg))
	if err := l.writeSegment(line); err != nil {
		return err
	}
	// crash: rotated
	l.seq, l.last = l.seq+1, hash
	// From now on the loss of the new file is known, whatever becomes of the
	// anchor's later writes.
	err := l.anchor.put(anchor{Seq: l.seq, Gen: l.s.lease.holder.Generation, Hash: hash})
	return l.s.fail("sync the anchor of "+l.name, errors.Join(err, l.anchor.f.Sync()))
}

// close makes the anchor durable, so that a clean end leaves no doubt about the
// last record.
func (l *Log) close() error {
	err := l.anchor.f.Sync()
	return errors.Join(err, l.anchor.f.Close(), l.f.Close())
}

// LogInfo is what reading a log told beside its records.
type LogInfo struct {
	Records int    // that count
	Stale   []Note // records of an older generation, which do not count
	Lost    []Lost // what earlier repairs gave up
}

// ReadLog reads a log without the lease, while someone may write to it. It
// changes nothing and waits for no one. fn gets the records that count, in
// order; a payload belongs to fn during its call only, and fn's error ends the
// reading. A log that does not exist has no records.
//
// The error is a *DamageError where the log can no longer be trusted; the
// records before were handed to fn.
func (s *Store) ReadLog(name string, fn func(Record) error) (LogInfo, error) {
	var info LogInfo
	if !validName(name) {
		return info, fmt.Errorf("read log %q: not a name", name)
	}
	in, begins := "", uint64(0)
	t, err := s.walk(name, func(f frame, file string, off int64) error {
		if file != in {
			in, begins = file, f.seq
		}
		if strings.HasPrefix(f.kind, "_") {
			return nil
		}
		payload, err := s.resolve(name, file, off, f.payload)
		if err != nil {
			return err
		}
		info.Records++
		return fn(Record{Seq: f.seq, Gen: f.gen, Kind: f.kind, Payload: payload, File: file, Line: int(f.seq-begins) + 1})
	})
	if t != nil {
		info.Stale, info.Lost = t.stale, t.chain.lost
	}
	return info, s.explain(err)
}

// resolve gives the payload itself.
func (s *Store) resolve(name, file string, off int64, payload []byte) (json.RawMessage, error) {
	if payload[0] != '@' {
		if !json.Valid(payload) {
			return nil, &DamageError{Log: name, Path: file, Offset: off, Cause: "its payload is no JSON"}
		}
		return payload, nil
	}
	text, size, _ := strings.Cut(string(payload[1:]), ":")
	var hash reprise.Hash
	n, err := strconv.Atoi(size)
	if err != nil || hash.UnmarshalText([]byte(text)) != nil {
		return nil, &DamageError{Log: name, Path: file, Offset: off, Cause: "its payload is named in no known way"}
	}
	b, err := s.getObject(hash)
	if err != nil || len(b) != n {
		return nil, &DamageError{Log: name, Path: file, Offset: off, Cause: fmt.Sprintf("its payload in %s is missing or damaged", objectPath(hash))}
	}
	return b, nil
}

// Logs lists the logs of the project by name: all of which a file is left, the
// anchor or one of records.
func (s *Store) Logs() ([]string, error) {
	entries, err := s.fs.List(journalDir)
	if missing(err) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name, anchorSuffix)
		if !ok {
			name, _ = segmentOf(e.Name)
		}
		if validName(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), s.explain(err)
}

// FleetMark is the file beside a log which says that the fleet has its run open. It travels
// with the log, on the run's branch; its text is the name of that branch.
func FleetMark(log string) string { return path.Join(journalDir, log+".fleet") }
