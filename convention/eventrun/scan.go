package eventrun

import (
	"encoding/binary"
	"math/bits"
)

// The fast scan is a strict JSON validator that notes a few fields of the
// outermost object on its way. It accepts exactly what encoding/json accepts (a
// test holds the two against each other) and allocates nothing. It reads in the
// whole buffer rather than in one line: a newline is no part of a string, and
// between values it ends the object, so the line need not be found first.

// maxDepth is the nesting encoding/json accepts.
const maxDepth = 10000

// fields are the texts of an event between their quotes, as slices of the
// scanned bytes; nil where a field is absent or null.
type fields struct {
	word, task, at, run []byte
	// odd is set where these are not certain: a key or value with escapes, a
	// key that stands twice or has several spellings, a value that is no text.
	odd  bool
	seen uint8
}

const (
	seenWord = 1 << iota
	seenTask
	seenAt
	seenRun
)

// scanEvent reads the object that begins at b[i] and fills the rest of its
// line. It returns the place behind the line's end, or -1 if this is anything
// but one valid object on one line.
func scanEvent(b []byte, i int, f *fields) int {
	*f = fields{}
	if i >= len(b) || b[i] != '{' {
		return -1
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return lineEnd(b, i+1)
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		start := i + 1
		end, escaped := skipString(b, start)
		if end < 0 {
			return -1
		}
		key := b[start : end-1]
		if escaped {
			f.odd = true // the key may spell a needed one
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return -1
		}
		i = skipSpace(b, i+1)
		if into, bit := f.wanted(key); into == nil {
			if i < len(b) && b[i] == '"' { // the usual case, without a detour
				i, _ = skipString(b, i+1)
			} else {
				i = skipValue(b, i, 1)
			}
		} else {
			i = f.capture(b, i, into, bit)
		}
		if i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			return lineEnd(b, i+1)
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

// wanted tells where the value of a key goes.
func (f *fields) wanted(key []byte) (into *[]byte, bit uint8) {
	switch len(key) {
	case 4:
		if string(key) == "type" {
			return &f.word, seenWord
		}
	case 5:
		if string(key) == "event" {
			return &f.word, seenWord
		}
	case 6:
		if string(key) == "run_id" {
			return &f.run, seenRun
		}
	case 7:
		if string(key) == "task_id" {
			return &f.task, seenTask
		}
	case 9:
		if string(key) == "timestamp" {
			return &f.at, seenAt
		}
	case 10:
		if string(key) == "event_type" {
			return &f.word, seenWord
		}
	}
	return nil, 0
}

func (f *fields) capture(b []byte, i int, into *[]byte, bit uint8) int {
	if f.seen&bit != 0 {
		f.odd = true
	}
	f.seen |= bit
	if i < len(b) && b[i] == '"' {
		end, escaped := skipString(b, i+1)
		if end < 0 {
			return -1
		}
		if escaped {
			f.odd = true
		}
		*into = b[i+1 : end-1]
		return end
	}
	if i >= len(b) || b[i] != 'n' { // null is as good as absent
		f.odd = true
	}
	return skipValue(b, i, 1)
}

// lineEnd passes the white space behind a value and the newline; -1 if
// something else follows.
func lineEnd(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case '\n':
			return i + 1
		case ' ', '\t', '\r':
			i++
		default:
			return -1
		}
	}
	return i
}

// skipSpace passes white space within a line. What a newline parts is not one
// line, and the strict reading decides about it.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// skipString passes a string whose opening quote stands before i. It returns
// the place behind the closing quote, or -1.
func skipString(b []byte, i int) (end int, escaped bool) {
	// Eight bytes at once: find the first quote, backslash or control
	// character. Borrows reach only bytes behind the first hit.
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		hit := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & highs
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) >> 3
		if b[i] == '"' {
			return i + 1, false
		}
		break
	}
	return skipRest(b, i)
}

// skipRest passes the rest of a string that ends near the end of the buffer or
// holds escapes.
func skipRest(b []byte, i int) (end int, escaped bool) {
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped
		case c < 0x20:
			return -1, escaped
		case c == '\\':
			escaped = true
			if i = skipEscape(b, i+1); i < 0 {
				return -1, escaped
			}
		default:
			i++
		}
	}
	return -1, escaped
}

// skipEscape passes what follows a backslash.
func skipEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+4 >= len(b) {
			return -1
		}
		for _, c := range b[i+1 : i+5] {
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

// skipValue passes any value that begins at i; depth counts what it stands in.
func skipValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		end, _ := skipString(b, i+1)
		return end
	case c == '{':
		return skipObject(b, i+1, depth+1)
	case c == '[':
		return skipList(b, i+1, depth+1)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	}
	return -1
}

func skipWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func skipObject(b []byte, i, depth int) int {
	if depth > maxDepth {
		return -1
	}
	i = skipSpace(b, i)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i, _ = skipString(b, i+1); i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		if i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = skipSpace(b, i+1); i < len(b) && b[i] == '"' {
			i, _ = skipString(b, i+1)
		} else {
			i = skipValue(b, i, depth)
		}
		if i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

func skipList(b []byte, i, depth int) int {
	if depth > maxDepth {
		return -1
	}
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = skipValue(b, i, depth); i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return -1
		}
		if b[i] == ']' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return -1
	case b[i] == '0':
		i++
	case b[i] >= '1' && b[i] <= '9':
		i = skipDigits(b, i)
	default:
		return -1
	}
	if i < len(b) && b[i] == '.' {
		from := i + 1
		if i = skipDigits(b, from); i == from {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from := i
		if i = skipDigits(b, from); i == from {
			return -1
		}
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
