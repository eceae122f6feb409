package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// The kinds that a log writes for itself.
const (
	kindLog     = "_log"     // the first record
	kindSegment = "_segment" // the first record of every further file
	kindTake    = "_take"    // a new holder of the lease has opened the log
	kindRepair  = "_repair"  // a person accepted that something is lost
)

const (
	logSuffix    = ".log"
	anchorSuffix = ".anchor"
)

// emptyFile is what is wrong with a file of a log that holds nothing.
const emptyFile = "the file is empty; all that was in it is gone"

// anchor names the last record that is known to be durable. It is written
// after the record and so never ahead of it.
type anchor struct {
	Seq  uint64    `json:"seq"`
	Gen  uint64    `json:"gen"`
	Hash chainHash `json:"hash"`
}

func anchorPath(name string) string { return path.Join(journalDir, name+anchorSuffix) }

// readAnchor gives the newest anchor, zero and damaged if the file holds none; a
// file that is missing is fs.ErrNotExist.
func (s *Store) readAnchor(file string) (a anchor, damaged bool, err error) {
	f, err := s.fs.Open(file, 0, 0)
	if err != nil {
		return a, false, err
	}
	defer f.Close()
	body, err := readSlots(f)
	if err != nil {
		return a, false, err
	}
	if body.data == nil || json.Unmarshal(body.data, &a) != nil {
		return anchor{}, true, nil
	}
	return a, body.damaged, nil
}

// Lost is a part of a log that a repair gave up. From and To are the numbers of
// the lost records, zero if only foreign or doubled bytes were left out.
type Lost struct {
	From   uint64 `json:"from,omitempty"`
	To     uint64 `json:"to,omitempty"`
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Cause  string `json:"cause"`
	Copy   string `json:"copy,omitempty"`
}

// String says what was lost, in words.
func (l Lost) String() string {
	what := "what cannot be read"
	switch {
	case l.From > 0 && l.To > l.From:
		what = fmt.Sprintf("records %d to %d", l.From, l.To)
	case l.From > 0:
		what = fmt.Sprintf("record %d", l.From)
	}
	return fmt.Sprintf("%s in %s, %d bytes: %s", what, path.Base(l.Path), l.Bytes, l.Cause)
}

// repairMark is the payload of a repair record: what was lost and how the chain
// continues behind it.
type repairMark struct {
	Lost
	Next uint64     `json:"next"`
	Prev *chainHash `json:"prev,omitempty"` // nil: the repair record itself
	Void uint64     `json:"void,omitempty"` // an anchor that no longer counts
}

// chain is the state of a reader of a log: what the next record must be.
type chain struct {
	seq  uint64    // of the last record
	gen  uint64    // the highest so far
	next uint64    // the number the next record must have
	want chainHash // what it must follow
	hash chainHash // of the last record
	lost []Lost

	anchor  anchor
	reached bool // the record that the anchor names was seen, or is known to be lost
}

func newChain(a anchor) *chain { return &chain{next: 1, anchor: a, reached: a.Seq == 0} }

// accept moves the chain on by one record. stale tells that the record is of an
// older generation than one before it: someone wrote who no longer held the
// lease. It is no part of the chain.
func (c *chain) accept(f frame) (stale bool, err error) {
	if f.gen < c.gen {
		return true, nil
	}
	if f.kind == kindRepair {
		return false, c.repair(f)
	}
	switch {
	case f.seq != c.next:
		return false, fmt.Errorf("record %d stands where record %d should", f.seq, c.next)
	case f.prev != c.want:
		return false, fmt.Errorf("record %d does not follow the one before it", f.seq)
	case f.seq == c.anchor.Seq && f.hash != c.anchor.Hash && !c.reached:
		return false, fmt.Errorf("record %d is not the one that was acknowledged", f.seq)
	}
	c.seq, c.gen, c.hash = f.seq, max(f.gen, c.gen), f.hash
	c.next, c.want = f.seq+1, f.hash
	c.reached = c.reached || f.seq == c.anchor.Seq
	return false, nil
}

func (c *chain) repair(f frame) error {
	var m repairMark
	if err := json.Unmarshal(f.payload, &m); err != nil || m.Next <= c.seq {
		return errors.New("a repair record that makes no sense")
	}
	if f.seq != c.seq || f.prev != c.hash {
		return errors.New("a repair record that does not follow the one before it")
	}
	c.hash, c.next, c.want = f.hash, m.Next, f.hash
	if m.Prev != nil {
		c.want = *m.Prev
	}
	c.gen = max(c.gen, f.gen)
	c.lost = append(c.lost, m.Lost)
	if (m.From != 0 && m.From <= c.anchor.Seq && c.anchor.Seq <= m.To) || (m.Void != 0 && m.Void == c.anchor.Seq) {
		c.reached = true
	}
	return nil
}

// end returns what is wrong with a log that ends here.
func (c *chain) end() error {
	if c.reached || c.seq >= c.anchor.Seq {
		return nil
	}
	return fmt.Errorf("record %d was acknowledged, the log ends with record %d", c.anchor.Seq, c.seq)
}

// segment is one file of a log.
type segment struct {
	n    int
	path string
	size int64
}

func segmentPath(name string, n int) string {
	return path.Join(journalDir, fmt.Sprintf("%s-%06d%s", name, n, logSuffix))
}

// segmentOf gives the log that a file of this name is one of, and its number; ""
// if it is none.
func segmentOf(file string) (name string, n int) {
	stem, ok := strings.CutSuffix(file, logSuffix)
	at := len(stem) - 7
	if !ok || at < 1 || stem[at] != '-' || strings.Trim(stem[at+1:], "0123456789") != "" {
		return "", 0
	}
	n, _ = strconv.Atoi(stem[at+1:])
	return stem[:at], n
}

// segments lists the files of a log in order. A gap in their numbers is filled
// with a segment of size -1.
func (s *Store) segments(name string) ([]segment, error) {
	entries, err := s.fs.List(journalDir)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []segment
	for _, e := range entries {
		of, n := segmentOf(e.Name)
		if of != name {
			continue
		}
		if !e.Regular() {
			return nil, &NotRegularError{Path: path.Join(journalDir, e.Name), Mode: e.Mode}
		}
		for want := len(out) + 1; want < n; want++ {
			out = append(out, segment{n: want, path: segmentPath(name, want), size: -1})
		}
		out = append(out, segment{n: n, path: segmentPath(name, n), size: e.Size})
	}
	return out, nil
}

// tail is where a log ends.
type tail struct {
	segs  []segment
	chain *chain
	whole []byte // the last file as it is
	good  []byte // its valid part, ending in a line end
	torn  []byte // what a crash left behind it
	stale []Note
	notes []Note
	last  Mark // of the last record that is not of the log itself
}

// walk reads a log from its beginning and hands every record that counts to fn.
// It returns a *DamageError for anything that a crash cannot have left: files
// that are missing or were emptied among it. fn may be nil.
func (s *Store) walk(name string, fn func(frame, string, int64) error) (*tail, error) {
	// The anchor is read first: records that come later are only more.
	a, damaged, err := s.readAnchor(anchorPath(name))
	if err != nil && !missing(err) {
		return nil, err
	}
	anchored := err == nil
	t := &tail{chain: newChain(a)}
	if damaged {
		t.notes = append(t.notes, Note{Path: anchorPath(name), Text: "one of its two places cannot be read"})
	}
	if t.segs, err = s.segments(name); err != nil {
		return nil, err
	}
	if anchored && len(t.segs) == 0 && a.Seq == 0 {
		// The first file is durable before there is an anchor. One that can be
		// read says below what is missing.
		return t, &DamageError{Log: name, Path: segmentPath(name, 1), Cause: "the file is missing"}
	}
	for i, seg := range t.segs {
		if seg.size < 0 {
			return t, &DamageError{Log: name, Path: seg.path, Cause: "the file is missing"}
		}
		b, _, err := s.readFile(seg.path)
		if err != nil {
			return t, err
		}
		if err := s.walkSegment(t, name, seg, b, i == len(t.segs)-1, fn); err != nil {
			return t, err
		}
	}
	if err := t.chain.end(); err != nil {
		where := anchorPath(name)
		if n := len(t.segs); n > 0 {
			where = t.segs[n-1].path
		}
		return t, &DamageError{Log: name, Path: where, Offset: int64(len(t.good)), Cause: err.Error()}
	}
	return t, nil
}

func (s *Store) walkSegment(t *tail, name string, seg segment, b []byte, last bool, fn func(frame, string, int64) error) error {
	var off int64
	t.whole, t.good, t.torn = b, nil, nil
	if last && len(b) == 0 {
		// A file of a log gets its name when its first record is durable in it,
		// so no crash leaves one without. Of those before the last, the records
		// that follow tell what is missing; a repair may have left them empty.
		return &DamageError{Log: name, Path: seg.path, Cause: emptyFile}
	}
	for rest := b; len(rest) > 0; {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		f, err := parseFrame(line)
		if err != nil && !ended && len(line) > 1 {
			// Only the line end may be wrong; the record before it is whole.
			if whole, fine := parseFrame(line[:len(line)-1]); fine == nil {
				f, err, line = whole, nil, line[:len(line)-1]
			}
		}
		var future *FutureError
		if errors.As(err, &future) {
			future.Path = seg.path
			return err
		}
		if err != nil && last && off > 0 && tornTail(rest, off) {
			t.good, t.torn = b[:off], rest
			return nil
		}
		stale := false
		if err == nil {
			stale, err = t.chain.accept(f)
		}
		if err != nil {
			return &DamageError{Log: name, Path: seg.path, Offset: off, Cause: err.Error()}
		}
		if !stale && f.kind[0] != '_' {
			t.last = Mark{seq: f.seq, hash: f.hash}
		}
		if stale {
			t.stale = append(t.stale, Note{Path: seg.path, Text: fmt.Sprintf("a record of generation %d was written when generation %d had begun; it does not count", f.gen, t.chain.gen)})
		} else if fn != nil {
			if err := fn(f, seg.path, off); err != nil {
				return err
			}
		}
		off += int64(len(line)) + 1
		rest = more
		if !ended {
			// Only the line end is missing: the record itself is whole.
			t.good = append(bytes.Clone(b[:off-1]), '\n')
			return nil
		}
	}
	t.good = b
	return nil
}

// tornTail reports whether what stands at the end of a log can be the rest of
// one write that a crash interrupted: at most one record, and either without
// its end or with blocks that were never written. Anything else, such as one
// flipped bit in a whole line, is damage.
func tornTail(rest []byte, off int64) bool {
	if len(rest) > MaxRecord+1 {
		return false
	}
	end := bytes.IndexByte(rest, '\n')
	if end >= 0 && end != len(rest)-1 {
		return false
	}
	if end < 0 {
		return true
	}
	const block = 512
	for i := 0; i < len(rest); i++ {
		if rest[i] != 0 {
			continue
		}
		j := i
		for j < len(rest) && rest[j] == 0 {
			j++
		}
		// A single zero can be a flipped bit of a space, unless the block ends there.
		if j-i >= 2 || (i == 0 && (off+int64(j))%block == 0) {
			return true
		}
		i = j
	}
	return false
}
