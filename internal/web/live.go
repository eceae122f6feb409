package web

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"reprise/internal/watch"
)

// How often a page is made again although nothing says that it changed: often while
// someone is at work, who may die without a word, and otherwise so seldom that it costs
// next to nothing. A beat shows the browser that it is still heard.
const (
	everyWorking = time.Second
	everyIdle    = 15 * time.Second
	rest         = 3 // times as long as a look took nothing is looked at
	everyLong    = 3 * time.Minute
	idleShare    = 150 // of the time, one part of this at most is spent looking
	beatEvery    = 3 * time.Second
	writeTime    = 10 * time.Second
	mostStreams  = 64
)

// stream sends what a page becomes, each time it changes, until the browser leaves.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, content func(*http.Request) (frame, error)) {
	if s.streams.Add(1) > mostStreams {
		s.streams.Add(-1)
		http.Error(w, "too many pages are open", http.StatusTooManyRequests)
		return
	}
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	made := make(chan []byte)
	go s.follow(r, content, made)
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	out := http.NewResponseController(w)
	for {
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		event := "event: beat\ndata:\n\n"
		select {
		case text, more := <-made:
			if !more {
				return
			}
			event = fmt.Sprintf("event: page\ndata: %s\n\n", bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r"), nil), []byte("\n"), []byte("\ndata: ")))
		case <-beat.C:
		}
		if _, err := fmt.Fprint(w, event); err != nil || out.Flush() != nil {
			return
		}
	}
}

// follow makes a page again whenever something changes, and sends it where it is another
// one, until the request is over.
func (s *Server) follow(r *http.Request, content func(*http.Request) (frame, error), made chan<- []byte) {
	defer close(made)
	folders := watch.Open(everyIdle)
	folders.Rest = rest
	defer folders.Close()
	var last []byte
	for first := true; ; first = false {
		began := time.Now()
		f, _ := s.made(r, content)
		if folders.Add(f.folders...) {
			f, _ = s.made(r, content) // something may have changed before it was watched
		}
		if text := []byte(f.Body); !bytes.Equal(text, last) || first {
			select {
			case made <- text:
			case <-r.Context().Done():
				return
			}
			last = text
		}
		if folders.Every = everyWorking; !f.working {
			folders.Every = min(max(everyIdle, idleShare*time.Since(began)), everyLong)
		}
		if !folders.Wait(r.Context()) {
			return
		}
	}
}
