package agent

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxTail bounds how much of the end of a long output is kept in memory.
const maxTail = 1 << 20

// keep is a log of bounded size: the first part of the output goes through at
// once, the last part is written by Close, with a line between them that says
// how much is missing. If the process dies before, the first part is there. A
// log that cannot be written takes no more, and what comes is dropped, so that
// the agent never waits for it.
type keep struct {
	mu      sync.Mutex
	w       io.Writer
	head    int64  // what may still go through
	tail    []byte // a ring once it is full
	limit   int
	next    int // where the ring is written next
	dropped int64
	err     error
}

func newKeep(w io.Writer, most int64) *keep {
	if w == nil {
		w = io.Discard
	}
	limit := min(most/4, maxTail)
	return &keep{w: w, head: most - limit, limit: int(limit)}
}

// Write never fails: see err.
func (k *keep) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := len(p)
	if k.head > 0 {
		n := int(min(k.head, int64(len(p))))
		k.head -= int64(n)
		k.put(p[:n])
		p = p[n:]
	}
	if over := len(p) - k.limit; over > 0 {
		k.dropped += int64(over)
		p = p[over:]
	}
	if room := k.limit - len(k.tail); room > 0 {
		n := min(room, len(p))
		k.tail = append(k.tail, p[:n]...)
		p = p[n:]
	}
	k.dropped += int64(len(p))
	for len(p) > 0 {
		n := copy(k.tail[k.next:], p)
		k.next = (k.next + n) % k.limit
		p = p[n:]
	}
	return size, nil
}

func (k *keep) put(p []byte) {
	if k.err != nil {
		k.dropped += int64(len(p))
		return
	}
	n, err := k.w.Write(p)
	k.dropped += int64(len(p) - max(0, min(n, len(p))))
	k.err = err
}

// Close writes the last part and tells how much is missing and why.
func (k *keep) Close() (dropped int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dropped > 0 && k.err == nil {
		// The note is ours, not the agent's: it does not count.
		_, k.err = fmt.Fprintf(k.w, "\n[%d bytes of output were left out here]\n", k.dropped)
	}
	k.put(k.tail[k.next:])
	k.put(k.tail[:k.next])
	return k.dropped, k.err
}

// lines cuts a stream into lines for one reader. A line that is too long is cut
// short; a carriage return ends a line too, where progress is to be shown.
type lines struct {
	most    int
	returns bool
	each    func(line []byte)
	part    []byte
	full    bool
}

// Write implements io.Writer and never fails.
func (l *lines) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if l.returns {
			end = bytes.IndexAny(p, "\r\n")
		}
		if end < 0 {
			l.more(p)
			break
		}
		l.more(p[:end])
		l.flush()
		p = p[end+1:]
	}
	return size, nil
}

func (l *lines) more(p []byte) {
	if room := l.most - len(l.part); len(p) > room {
		p, l.full = p[:room], true
	}
	l.part = append(l.part, p...)
}

// flush ends the line.
func (l *lines) flush() {
	line := l.part
	if !l.returns && len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	if len(line) > 0 && (!l.full || l.returns) {
		l.each(line)
	}
	l.part, l.full = l.part[:0], false
}

// Of what a person is shown: how often, and how much.
const (
	sayEvery = 100 * time.Millisecond
	sayMost  = 200
)

// sayer tells a person the last line, not more often than it can be read.
type sayer struct {
	tell func(string)

	mu      sync.Mutex
	last    string
	said    string
	at      time.Time
	pending *time.Timer
	closed  bool
}

// say takes a line; the newest one is told in the end.
func (s *sayer) say(text string) {
	if text = oneLine(text); text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.last = text
	if s.tell == nil || s.pending != nil {
		return
	}
	wait := sayEvery - time.Since(s.at)
	if wait <= 0 {
		s.now()
		return
	}
	s.pending = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending = nil
		if !s.closed {
			s.now()
		}
	})
}

// now tells the last line; the caller holds mu.
func (s *sayer) now() {
	if s.last == s.said {
		return
	}
	s.said, s.at = s.last, time.Now()
	s.tell(s.last)
}

// close tells what was not told yet and gives the last line; nothing is told
// after it.
func (s *sayer) close() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.pending != nil {
		s.pending.Stop()
	}
	if s.tell != nil {
		s.now()
	}
	return s.last
}

// escapes are the sequences that terminals take for commands: one that ends with a
// letter, one that ends with BEL or ESC \, or ESC and one character.
var escapes = lazily(`(?s)\x1b(?:\[[^\x40-\x7e]*[\x40-\x7e]?|[\]P_^X].*?(?:\x07|\x1b\\|$)|.?)`)

// oneLine makes text fit to be shown: no control or formatting characters, no
// escape sequences, one line, not too long.
func oneLine(text string) string {
	if strings.Contains(text, "\x1b") {
		text = escapes().ReplaceAllString(text, "")
	}
	count := 0
	text = strings.Map(func(r rune) rune {
		switch {
		case count == sayMost || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) && !unicode.IsSpace(r):
			return -1
		case r == utf8.RuneError:
			r = '?'
		case unicode.IsSpace(r):
			r = ' '
		}
		count++
		return r
	}, text)
	return strings.TrimSpace(text)
}
