package modelstub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Request is something the model was asked.
type Request struct {
	Path string
	Body []byte
	// Side tells that no tools were offered: a title, a summary. It spends no
	// turn.
	Side bool
}

// Server is a running stub.
type Server struct {
	script Script
	http   *http.Server
	addr   string
	closed chan struct{}
	close  sync.Once

	mu   sync.Mutex
	next int
	seen []Request
}

// Start listens on a free port of 127.0.0.1 until Close.
func Start(script Script) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start scripted model: %w", err)
	}
	s := &Server{script: script, addr: l.Addr().String(), closed: make(chan struct{})}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(l) }() // ends with Close
	return s, nil
}

// URL is where it listens, without a path.
func (s *Server) URL() string { return "http://" + s.addr }

// Close ends it and every answer that hangs.
func (s *Server) Close() error {
	s.close.Do(func() { close(s.closed) })
	return s.http.Close()
}

// Requests are those it has answered or is answering, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// take notes a request and gives the turn that answers it.
func (s *Server) take(r Request) (turn Turn, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r)
	number = len(s.seen)
	switch {
	case r.Side:
		return Turn{Text: "A scripted title"}, number
	case s.next >= len(s.script.Turns):
		return Turn{Text: "The script is at its end."}, number
	}
	turn = s.script.Turns[s.next]
	if !turn.Repeat {
		s.next++
	}
	return turn, number
}

// ServeHTTP answers one request in the format of its path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	speak := dialectFor(r.URL.Path)
	if r.Method != http.MethodPost || speak == nil {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	tools := speak.tools(body)
	turn, number := s.take(Request{Path: r.URL.Path, Body: body, Side: len(tools) == 0})
	if !s.pause(r, turn.DelayMS) {
		return
	}
	for k, v := range turn.Headers {
		w.Header().Set(k, v)
	}
	if turn.Error != "" {
		fail(w, speak, turn)
		return
	}
	s.answer(w, r, speak, turn, number, tools)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, speak dialect, turn Turn, number int, tools []tool) {
	a := answer{number: number, model: "stub-model", usage: Usage{Input: 100, Output: 10}}
	if turn.Usage != nil {
		a.usage = *turn.Usage
	}
	a.pieces = strings.SplitAfter(turn.Text, " ")
	if turn.Text == "" {
		a.pieces = nil
	}
	a.call = callFor(turn, number, tools)
	w.Header().Set("Content-Type", "text/event-stream")
	out := &sse{w: w}
	speak.begin(out, a)
	for _, p := range a.pieces {
		speak.text(out, a, p)
		out.flush()
		if !s.pause(r, turn.ChunkMS) {
			return
		}
	}
	switch {
	case turn.Hang:
		s.pause(r, int(time.Hour/time.Millisecond))
		return
	case turn.Cut:
		panic(http.ErrAbortHandler)
	}
	speak.end(out, a)
	out.flush()
}

// pause waits and reports whether the client is still listening.
func (s *Server) pause(r *http.Request, ms int) bool {
	if ms == 0 {
		return true
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

func fail(w http.ResponseWriter, speak dialect, turn Turn) {
	t := troubles[turn.Error]
	status := t.status
	if turn.Status != 0 {
		status = turn.Status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_ = json.NewEncoder(w).Encode(speak.failure(t, status))
}

// object is a JSON object to be written.
type object = map[string]any

// sse writes server-sent events.
type sse struct{ w http.ResponseWriter }

func (s *sse) event(name string, data any) {
	var b bytes.Buffer
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	b.WriteString("data: ")
	if text, plain := data.(string); plain {
		b.WriteString(text)
	} else {
		raw, err := json.Marshal(data)
		if err != nil {
			panic(err) // our own maps always marshal
		}
		b.Write(raw)
	}
	b.WriteString("\n\n")
	_, _ = s.w.Write(b.Bytes()) // a client that is gone needs no answer
}

func (s *sse) flush() {
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}
