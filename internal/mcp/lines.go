package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages passes on the messages of a client, one on each line or several in a list, which
// clients of an earlier protocol send. What is no message is answered with an error, and
// the next is read: it is no reason to leave.
func messages(in io.ReadCloser, out io.WriteCloser) (io.ReadCloser, io.WriteCloser) {
	from, to := io.Pipe()
	answers := &locked{WriteCloser: out}
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			for _, m := range messagesIn(line) {
				if m.bad != 0 {
					fmt.Fprintf(answers, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"this is no message"}}`+"\n", m.bad)
				} else if _, gone := to.Write(append(m.text, '\n')); gone != nil {
					return
				}
			}
			if err != nil {
				to.CloseWithError(err)
				return
			}
		}
	}()
	return both{from, in}, answers
}

// message is what a client sent; bad is the code of JSON-RPC for what is wrong with it, 0
// if nothing is.
type message struct {
	text []byte
	bad  int
}

// messagesIn are the messages on a line.
func messagesIn(line []byte) (out []message) {
	line = bytes.TrimSpace(line)
	list := []json.RawMessage{line}
	switch {
	case len(line) == 0:
		return nil
	case !json.Valid(line):
		return []message{{bad: jsonrpc.CodeParseError}}
	case line[0] == '[':
		_ = json.Unmarshal(line, &list) // it is valid, and a list
	}
	if len(list) == 0 {
		return []message{{bad: jsonrpc.CodeInvalidRequest}}
	}
	for _, text := range list {
		m := message{text: text}
		if _, err := jsonrpc.DecodeMessage(text); err != nil {
			m.bad = jsonrpc.CodeInvalidRequest
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

// locked writes one answer at a time.
type locked struct {
	mu sync.Mutex
	io.WriteCloser
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.WriteCloser.Write(p)
}
