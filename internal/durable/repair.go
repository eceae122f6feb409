package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// RepairReport is what a repair found and did.
type RepairReport struct {
	Log   string
	Lost  []Lost   // what was given up now
	Files []string // that were or would be written anew
}

// Repair brings a damaged log back to a state that can be continued: every
// record that is whole stays, byte by byte; where something is missing, a
// record says so. The original of every file that changes is kept as
// NAME.broken-N. With dry nothing is written.
//
// Repair is for a person to ask for. It needs the lease and a log that is not
// open. A log that needs no repair is left alone. If the process dies here,
// repairing again comes to the same end.
func (s *Store) Repair(name string, dry bool) (*RepairReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writable(); err != nil {
		return nil, err
	}
	if !validName(name) {
		return nil, fmt.Errorf("repair log %q: not a name", name)
	}
	if s.logs[name] != nil {
		return nil, fmt.Errorf("repair log %s: it is open", name)
	}
	_, err := s.walk(name, nil)
	var damage *DamageError
	if err == nil {
		return &RepairReport{Log: name}, nil
	}
	if !errors.As(err, &damage) {
		return nil, err
	}
	r, err := s.planRepair(name)
	if err != nil || dry {
		return r.report, err
	}
	for i, seg := range r.segs {
		if bytes.Equal(r.out[i], r.in[i]) && seg.size >= 0 {
			continue
		}
		if seg.size >= 0 {
			if _, err := s.copyAside(seg.path, r.in[i]); err != nil {
				return r.report, err
			}
		}
		// crash: repair-copied
		if err := s.install(seg.path, r.out[i], nil); err != nil {
			return r.report, err
		}
	}
	return r.report, nil
}

// repairLine is one line of a damaged log.
type repairLine struct {
	seg int
	off int64
	raw []byte // with its end
	f   frame
	err error
}

type repairPlan struct {
	report *RepairReport
	segs   []segment
	in     [][]byte
	out    [][]byte
	lines  []repairLine
	chain  *chain
}

func (s *Store) planRepair(name string) (*repairPlan, error) {
	r := &repairPlan{report: &RepairReport{Log: name}}
	a, _, err := s.readAnchor(anchorPath(name))
	if err != nil && !missing(err) {
		return r, err
	}
	r.chain = newChain(a)
	if r.segs, err = s.segments(name); err != nil {
		return r, err
	}
	if len(r.segs) == 0 {
		r.segs = []segment{{n: 1, path: segmentPath(name, 1), size: -1}}
	}
	for i, seg := range r.segs {
		var b []byte
		if seg.size >= 0 {
			if b, _, err = s.readFile(seg.path); err != nil {
				return r, err
			}
		}
		r.in, r.out = append(r.in, b), append(r.out, nil)
		var off int64
		for line := range bytes.Lines(b) {
			l := repairLine{seg: i, off: off, raw: line}
			l.f, l.err = parseFrame(bytes.TrimSuffix(line, []byte("\n")))
			var future *FutureError
			if errors.As(l.err, &future) {
				future.Path = seg.path
				return r, l.err
			}
			r.lines, off = append(r.lines, l), off+int64(len(line))
		}
	}
	return r, r.rebuild()
}

// rebuild goes through all lines, keeps what fits, and marks what does not.
func (r *repairPlan) rebuild() error {
	for i := 0; i < len(r.lines); {
		l := r.lines[i]
		err := l.err
		if err == nil {
			_, err = r.chain.accept(l.f)
		}
		if err == nil {
			r.out[l.seg] = append(r.out[l.seg], bytes.TrimSuffix(l.raw, []byte("\n"))...)
			r.out[l.seg] = append(r.out[l.seg], '\n')
			i++
			continue
		}
		next := r.resume(i)
		lost := Lost{Path: r.segs[l.seg].path, Offset: l.off, Cause: err.Error()}
		for _, skipped := range r.lines[i:next] {
			lost.Bytes += int64(len(skipped.raw))
		}
		if err := r.mark(l.seg, lost, next); err != nil {
			return err
		}
		i = next
	}
	last := len(r.segs) - 1
	lost := Lost{Path: r.segs[last].path, Offset: int64(len(r.in[last]))}
	if err := r.chain.end(); err != nil {
		lost.Cause = err.Error()
		return r.mark(last, lost, len(r.lines))
	}
	if len(r.out[last]) == 0 {
		// The last file is never left empty: that would be damage again.
		lost.Offset, lost.Cause = 0, emptyFile
		return r.mark(last, lost, len(r.lines))
	}
	return nil
}

// resume finds the first line from i on with which the chain can continue.
func (r *repairPlan) resume(i int) int {
	for ; i < len(r.lines); i++ {
		f := r.lines[i].f
		if r.lines[i].err == nil && f.seq > r.chain.seq && f.seq >= r.chain.next && f.gen >= r.chain.gen && f.kind != kindRepair {
			return i
		}
	}
	return i
}

// mark adds the record that says what is lost and how the chain continues.
func (r *repairPlan) mark(seg int, lost Lost, next int) error {
	c := r.chain
	m := repairMark{Lost: lost, Next: max(c.next, c.anchor.Seq+1)}
	if next < len(r.lines) {
		f := r.lines[next].f
		m.Next, m.Prev = f.seq, &f.prev
		if f.seq == c.anchor.Seq && f.hash != c.anchor.Hash {
			m.Void = f.seq // the person who asked for the repair accepts it
		}
	}
	if m.Next > c.next {
		m.From, m.To = c.next, m.Next-1
	}
	payload, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f := frame{seq: c.seq, gen: c.gen, prev: c.hash, kind: kindRepair, payload: payload}
	line := f.encode()
	f.hash = hashLine(line)
	if err := c.repair(f); err != nil {
		return fmt.Errorf("repair log %s: %w", r.report.Log, err)
	}
	r.out[seg] = append(append(r.out[seg], line...), '\n')
	r.report.Lost = append(r.report.Lost, m.Lost)
	if n := len(r.report.Files); n == 0 || r.report.Files[n-1] != r.segs[seg].path {
		r.report.Files = append(r.report.Files, r.segs[seg].path)
	}
	return nil
}
