package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// objects cuts what a program prints into JSON objects. Programs print one on
// each line and mostly keep to it; it is known of them that two share a line,
// that one is broken over two, that a notice lands inside another, and that
// lines that are no JSON come in between. Nothing of that may lose the objects
// that are whole, and no part of an object may pass for an object.
type objects struct {
	rest  []byte // the beginning of an object whose end has not come
	parts int    // lines it is made of
	stray int    // lines since then that did not continue it
	lost  int    // lines nothing could be made of
}

// What is waited for: more is not seen of any program, and would cost time.
const (
	maxRest  = 8 << 20
	maxParts = 32
	maxStray = 4
)

// feed takes a line without its end and returns the objects that are whole now.
func (o *objects) feed(line []byte) [][]byte {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(o.rest) > 0 {
		// The rest first: a piece of it can look like an object of its own.
		joined := append(bytes.Clone(o.rest), line...)
		found, rest, ok := split(joined)
		if o.parts++; ok {
			if len(found) > 0 {
				o.parts = 1
			}
			o.rest, o.stray = rest, 0
			if len(rest) > maxRest || o.parts > maxParts {
				o.rest = nil
				o.lost++
			}
			return found
		}
		if o.stray++; o.stray > maxStray {
			o.rest = nil
			o.lost++
		}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	found, rest, ok := split(line)
	if !ok {
		if bytes.ContainsRune([]byte(`]},:"`), rune(rest[0])) {
			found = nil // the end of an object that was dropped: parts of it
		}
		return append(found, o.embedded(rest)...)
	}
	if len(rest) > 0 {
		o.begin(rest)
	}
	return found
}

func (o *objects) begin(rest []byte) {
	if len(o.rest) > 0 {
		o.lost++
	}
	o.rest, o.parts, o.stray = bytes.Clone(rest), 1, 0
}

// split reads objects up to the first place where that is not possible. rest is
// what is left there; ok tells that rest is empty or the beginning of an object.
func split(text []byte) (found [][]byte, rest []byte, ok bool) {
	for {
		text = bytes.TrimLeft(text, " \t\r\n")
		if len(text) == 0 {
			return found, nil, true
		}
		if text[0] != '{' {
			return found, text, false
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return found, text, errors.Is(err, io.ErrUnexpectedEOF)
		}
		found = append(found, raw)
		text = text[dec.InputOffset():]
	}
}

// notice is how the one event begins that is known to land inside others.
var notice = []byte(`{"type":"rate_limit_event"`)

// embedded takes a notice out of the middle of a line. Only this one is looked
// for: the input of a tool is an object as well, and it may look like the end of
// a session.
func (o *objects) embedded(line []byte) [][]byte {
	i := bytes.Index(line, notice)
	if i < 0 {
		o.lost++
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(line[i:]))
	var raw json.RawMessage
	if dec.Decode(&raw) != nil {
		o.lost++
		return nil
	}
	without := append(bytes.Clone(line[:i]), line[i+int(dec.InputOffset()):]...)
	found := [][]byte{raw}
	more, rest, ok := split(without)
	if !ok {
		o.lost++
		return found
	}
	if len(rest) > 0 {
		o.begin(rest)
	}
	return append(found, more...)
}
