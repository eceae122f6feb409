package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is the longest line of a client that is read, in bytes: no call needs more. Of a
// longer one the ends are kept, by which its call is known.
const (
	maxLine = 1 << 20
	keptEnd = 4 << 10
)

// lastCalls is how long calls that are under way may take once the client says no more.
const lastCalls = 30 * time.Second

// messages passes on the messages of a client, one on each line or several in a list, which
// clients of an earlier protocol send. What is no message, or cannot be one more call, is
// answered with an error, and the next is read: it is no reason to leave. The end of what
// is read is passed on once every call was answered, or after some time.
func messages(ctx context.Context, in io.ReadCloser, out io.WriteCloser) (io.ReadCloser, io.WriteCloser) {
	from, to := io.Pipe()
	answers := &desk{WriteCloser: out, open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, whole, err := readLine(lines)
			list := messagesIn(line)
			if !whole {
				list = []message{{bad: jsonrpc.CodeInvalidRequest, why: fmt.Sprintf("this message is longer than %d bytes", maxLine), id: idIn(line)}}
			}
			for _, m := range list {
				if m.bad == 0 && m.id.IsValid() && !answers.begin(m.id) {
					m = message{bad: jsonrpc.CodeInvalidRequest, why: fmt.Sprintf("a call with the id %v is under way", m.id.Raw())}
				}
				if m.bad != 0 {
					answers.refuse(m)
				} else if _, gone := to.Write(append(m.text, '\n')); gone != nil {
					return
				}
			}
			if err != nil {
				answers.settle(ctx)
				to.CloseWithError(err)
				return
			}
		}
	}()
	return both{from, in}, answers
}

// readLine reads a line, in bounded memory. Of one that is too long, which is not whole, it
// returns the beginning and the end.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine || !whole && len(line) > 2*keptEnd {
			line, whole = append(line[:keptEnd], line[len(line)-keptEnd:]...), false
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// endID are the forms in which libraries write the id of a call: before its parameters, or
// as the last thing.
var endID = sync.OnceValue(func() *regexp.Regexp {
	const id, version = `"id"\s*:\s*("[^"\\]{1,200}"|-?\d{1,18})`, `"jsonrpc"\s*:\s*"2\.0"`
	return regexp.MustCompile(`^\s*\{\s*(?:` + version + `\s*,\s*)?(?:"method"\s*:\s*"[^"\\]*"\s*,\s*)?` + id + `|[,{]\s*` + id + `\s*(?:,\s*` + version + `\s*)?\}\s*$`)
})

// idIn is the id of the call of which these are the ends, none if it is not there.
func idIn(ends []byte) (id jsonrpc.ID) {
	found := endID().FindSubmatch(ends)
	if found == nil {
		return id
	}
	var value any
	if json.Unmarshal(append(found[1], found[2]...), &value) == nil {
		id, _ = jsonrpc.MakeID(value) // what is no id is none
	}
	return id
}

// message is what a client sent, with the id of a call; bad is the code of JSON-RPC for
// what is wrong with it, 0 if nothing is.
type message struct {
	text []byte
	id   jsonrpc.ID
	bad  int
	why  string
}

// messagesIn are the messages on a line.
func messagesIn(line []byte) (out []message) {
	line = bytes.TrimSpace(line)
	list := []json.RawMessage{line}
	switch {
	case len(line) == 0:
		return nil
	case !json.Valid(line):
		return []message{{bad: jsonrpc.CodeParseError, why: noMessage}}
	case line[0] == '[':
		_ = json.Unmarshal(line, &list) // it is valid, and a list
	}
	if len(list) == 0 {
		return []message{{bad: jsonrpc.CodeInvalidRequest, why: noMessage}}
	}
	for _, text := range list {
		m := message{text: text}
		if read, err := jsonrpc.DecodeMessage(text); err != nil {
			m.bad, m.why = jsonrpc.CodeInvalidRequest, noMessage
		} else if call, is := read.(*jsonrpc.Request); is {
			m.id = call.ID
		}
		out = append(out, m)
	}
	return out
}

// both closes what is read from, and what that is read from.
type both struct {
	*io.PipeReader
	in io.Closer
}

// Close implements io.Closer.
func (b both) Close() error {
	_ = b.PipeReader.Close() // it cannot fail
	return b.in.Close()
}

// noMessage is what is wrong with most of what is refused.
const noMessage = "this is no message"

// desk writes one answer at a time, and knows which calls are without one.
type desk struct {
	io.WriteCloser
	writing sync.Mutex

	mu       sync.Mutex
	open     map[jsonrpc.ID]bool
	answered chan struct{} // something was
}

// begin notes a call; it reports false for an id that is in use.
func (d *desk) begin(id jsonrpc.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[id] {
		return false
	}
	d.open[id] = true
	return true
}

func (d *desk) underWay(id jsonrpc.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[id]
}

// refuse answers with an error: to the call, if it is known and no other has its id.
func (d *desk) refuse(m message) {
	id := m.id.Raw()
	if d.underWay(m.id) {
		id = nil
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": m.bad, "message": m.why}})
	if err == nil {
		_, _ = d.Write(append(text, '\n')) // who does not read it is gone
	}
}

// Write implements io.Writer.
func (d *desk) Write(p []byte) (int, error) {
	if m, err := jsonrpc.DecodeMessage(bytes.TrimSpace(p)); err == nil {
		if answer, is := m.(*jsonrpc.Response); is {
			d.mu.Lock()
			delete(d.open, answer.ID) // before it is sent: the client may use the id again
			d.mu.Unlock()
			select {
			case d.answered <- struct{}{}:
			default:
			}
		}
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.WriteCloser.Write(p)
}

// settle waits until every call is answered, but not for ever.
func (d *desk) settle(ctx context.Context) {
	late := time.After(lastCalls)
	for {
		d.mu.Lock()
		n := len(d.open)
		d.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-d.answered:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}
