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

// The codes of JSON-RPC for what is no message.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// messages passes on the lines of a client that are messages. Another one is answered with
// an error, and the next is read: it is no reason to leave.
func messages(in io.ReadCloser, out io.WriteCloser) (io.ReadCloser, io.WriteCloser) {
	from, to := io.Pipe()
	answers := &locked{WriteCloser: out}
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			if bad := problem(line); bad != 0 {
				fmt.Fprintf(answers, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"this line is no message"}}`+"\n", bad)
			} else if _, gone := to.Write(line); gone != nil {
				return
			}
			if err != nil {
				to.CloseWithError(err)
				return
			}
		}
	}()
	return both{from, in}, answers
}

// problem is the code of what is wrong with a line, 0 if nothing is. A list of messages is
// for the library to judge.
func problem(line []byte) int {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return 0
	case !json.Valid(line):
		return parseError
	case line[0] == '[':
		return 0
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return invalidRequest
	}
	return 0
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
