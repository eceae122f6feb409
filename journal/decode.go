package journal

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// reader reads the records of one journal.
type reader struct {
	words map[string]string // that stand in many entries
	e     Entry             // the last one; made once for all of them
	at    scan              // where it is read
}

// record reads one record, and moves the trail on by it if there is one.
func (r *reader) record(rec durable.Record, t *trail) error {
	r.e = Entry{}
	switch rec.Kind {
	case kindEvent:
		if !r.quick(rec.Payload, &r.e) {
			r.e = Entry{}
			if err := json.Unmarshal(rec.Payload, &r.e); err != nil {
				return fmt.Errorf("read journal entry %d: %w", rec.Seq, err)
			}
		}
		r.e.Seq, r.e.Generation, r.e.Source = rec.Seq, rec.Gen, reprise.Source{File: rec.File, Line: rec.Line}
		if t != nil {
			t.add(&r.e)
		}
	case kindFiles:
		var p projection
		if err := json.Unmarshal(rec.Payload, &p); err != nil {
			return fmt.Errorf("read journal entry %d: %w", rec.Seq, err)
		}
		if t != nil {
			t.project(p)
		}
	}
	return nil
}

// quick reads an entry in the form in which most are written: known keys with
// plain text. It reports false for anything else, which the strict reading
// decides about; e may be half filled then.
func (r *reader) quick(b []byte, e *Entry) bool {
	s := &r.at
	s.b, s.at = b, 0
	if !s.skip(`{"event":{`) {
		return false
	}
	for first := true; !s.skip("}"); first = false {
		if !first && !s.skip(",") || !r.field(s, &e.Event) {
			return false
		}
	}
	if s.skip(`,"files":`) && !s.value(']', &e.Files) {
		return false
	}
	e.Nowhere = s.skip(`,"nowhere":true`)
	e.Deferred = s.skip(`,"deferred":true`)
	return s.skip("}") && s.at == len(b)
}

// field reads one field of an event.
func (r *reader) field(s *scan, ev *reprise.Event) bool {
	key, ok := s.key()
	if !ok {
		return false
	}
	switch string(key) {
	case "attempt":
		ev.Attempt, ok = s.number()
		return ok
	case "run":
		return s.value('}', &ev.Run)
	case "expect":
		return s.value(']', &ev.Expect)
	case "answers":
		return s.value(']', &ev.Answers)
	}
	v, ok := s.text()
	if !ok {
		return false
	}
	switch string(key) {
	case "kind":
		ev.Kind = reprise.EventKind(r.word(v))
	case "at":
		return ev.At.UnmarshalText(v) == nil
	case "step":
		ev.Step = string(v)
	case "phase":
		ev.Phase = r.word(v)
	case "question":
		ev.Question = string(v)
	case "actor":
		ev.Actor = r.word(v)
	case "agent":
		ev.Agent = string(v)
	case "commit":
		ev.Commit = string(v)
	case "text":
		ev.Text = string(v)
	case "outcome":
		ev.Outcome = r.word(v)
	case "policy":
		ev.Policy = reprise.Ambiguity(r.word(v))
	case "key":
		ev.Key = string(v)
	case "account":
		ev.Account = r.word(v)
	case "cause":
		ev.Cause = string(v)
	case "until":
		var t time.Time
		if t.UnmarshalText(v) != nil {
			return false
		}
		ev.Until = t
	default:
		return false
	}
	return true
}

// maxWords bounds what is kept of words that many entries share.
const maxWords = 256

// word gives a text that stands in many entries without making it anew.
func (r *reader) word(b []byte) string {
	if w, ok := r.words[string(b)]; ok {
		return w
	}
	w := string(b)
	if r.words == nil {
		r.words = map[string]string{}
	}
	if len(r.words) < maxWords {
		r.words[w] = w
	}
	return w
}

// scan is a place in the JSON of an entry.
type scan struct {
	b   []byte
	at  int
	buf []byte // for the text that was read last
}

func (s *scan) skip(what string) bool {
	if len(s.b)-s.at < len(what) || string(s.b[s.at:s.at+len(what)]) != what {
		return false
	}
	s.at += len(what)
	return true
}

// key reads the name of a field. Those of an event have no escapes.
func (s *scan) key() ([]byte, bool) {
	if !s.skip(`"`) {
		return nil, false
	}
	from := s.at
	s.at = plain(s.b, from)
	return s.b[from:s.at], s.skip(`":`)
}

// text reads a string of printable ASCII, with the escapes that most texts have. It is
// good until the next one is read.
func (s *scan) text() ([]byte, bool) {
	if !s.skip(`"`) {
		return nil, false
	}
	end := plain(s.b, s.at)
	switch {
	case end == len(s.b):
		return nil, false
	case s.b[end] == '\\':
		return s.escaped(end)
	case s.b[end] != '"':
		return nil, false
	}
	out := s.b[s.at:end]
	s.at = end + 1
	return out, true
}

// escaped reads the rest of a string whose first escape stands at i.
func (s *scan) escaped(i int) ([]byte, bool) {
	out := append(slices.Grow(s.buf[:0], len(s.b)-s.at), s.b[s.at:i]...)
	for i < len(s.b) && s.b[i] != '"' {
		if s.b[i] != '\\' || i+1 == len(s.b) {
			return nil, false
		}
		c := s.b[i+1]
		switch c {
		case '"', '\\', '/':
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		default:
			return nil, false
		}
		end := plain(s.b, i+2)
		out = append(append(out, c), s.b[i+2:end]...)
		i = end
	}
	s.at, s.buf = i+1, out
	return out, i < len(s.b)
}

// plain gives the place from i on of the first byte that is not plain text of a
// string: a quote, a backslash, a control character or no ASCII.
func plain(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	// Eight bytes at once; borrows reach only bytes behind the first hit.
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		hit := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x | x) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 && b[i] < 0x80 {
		i++
	}
	return i
}

// value reads a list or an object that holds no bracket but its own two where all
// its texts are plain: last is the one that closes it.
func (s *scan) value(last byte, into any) bool {
	end := bytes.IndexByte(s.b[s.at:], last)
	if end < 0 || json.Unmarshal(s.b[s.at:s.at+end+1], into) != nil {
		return false
	}
	s.at += end + 1
	return true
}

func (s *scan) number() (int, bool) {
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	digits := s.b[from:s.at]
	if len(digits) == 0 || digits[0] == '0' || len(digits) > 9 {
		return 0, false
	}
	n, err := strconv.Atoi(string(digits))
	return n, err == nil
}
