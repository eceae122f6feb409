// Package web shows the runs of projects in a browser on this machine. Every page is made
// from the JSON documents of commands that it is given, so it says what the command line
// says. It only looks, unless actions were allowed; an action is a command too, and
// carries the digest of what the person saw.
//
// All text from state is escaped by html/template, and characters that a browser obeys
// instead of showing them are written as escapes. No one is answered without the token of
// this server.
package web

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed assets
var assets embed.FS

// Command runs a command of reprise in a project folder and returns what it printed, what
// it said beside, and its exit code.
type Command func(ctx context.Context, dir string, args ...string) (out, told string, code int)

// Options are what a server is made with.
type Options struct {
	Dirs    []string         // the folders to look at, each as `reprise status` takes it
	Run     Command          // looks, and takes answers
	Work    Command          // resumes, in a process of its own
	State   string           // the name of the folder in a project that holds what reprise recorded
	Printed Printed          // reads what agents printed
	Actions bool             // answers and resumptions are taken
	Now     func() time.Time // what ages are counted from
	// Complete adds the folder and the run to the commands that a text names; nil adds nothing.
	Complete func(dir, run, text string) string
}

// Server answers a browser. Make one with New.
type Server struct {
	Options
	token string // opens a browser; it is in no cookie and in no address of a page
	// place is the folder of all addresses, and session the cookie of those who were let in:
	// a request needs both. A cookie is sent to every port of this machine that is asked for
	// an address below its path, so the path is a secret too, and neither helps without the
	// other. key makes the nonces of actions.
	place, session string
	key            []byte
	patience       time.Duration // for a request to be sent

	mu      sync.Mutex
	tickets map[string]time.Time // tokens that open one browser once, and until when
	jobs    map[target]*job      // the last resumption from a page
	answers map[target]*job      // the last answer from a page

	streams atomic.Int32   // pages that are followed
	working sync.WaitGroup // resumptions that were started from a page
}

// ticketTime is how long the address that a browser is started with can be used. Other
// users of the machine may see the command line of the browser.
const ticketTime = 30 * time.Second

// sendTime is how long a browser may take to send a request, body and all.
const sendTime = 10 * time.Second

// New makes a server with secrets of its own.
func New(o Options) *Server {
	return &Server{Options: o, token: rand.Text(), place: rand.Text(), session: rand.Text(), key: []byte(rand.Text()), patience: sendTime, tickets: map[string]time.Time{}, jobs: map[target]*job{}, answers: map[target]*job{}}
}

// AddressError is an address that cannot be listened on.
type AddressError struct{ Addr, Why string }

// Error implements error.
func (e *AddressError) Error() string { return fmt.Sprintf("is %q; %s", e.Addr, e.Why) }

// Listen opens a port. Requests say by which name they were made, and that is checked: an
// address that stands for all addresses of a machine is refused.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &AddressError{addr, "use ADDRESS:PORT, such as 127.0.0.1:8080"}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return nil, &AddressError{addr, "name the one address at which the page is opened"}
	}
	return net.Listen("tcp", addr)
}

// Address is what a person opens; it holds the token.
func (s *Server) Address(l net.Listener) string { return address(l, s.token) }

// Ticket is an address that can be used once, and soon.
func (s *Server) Ticket(l net.Listener) string {
	ticket := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets[ticket] = time.Now().Add(ticketTime)
	return address(l, ticket)
}

func address(l net.Listener, token string) string {
	return (&url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/", RawQuery: url.Values{"token": {token}}.Encode()}).String()
}

// Serve answers until the context ends. Resumptions that were started from a page end with
// it in good order, and are waited for.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(l.Addr().String()), ReadTimeout: s.patience, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(ctx, lifetime{}, ctx) },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	defer s.working.Wait()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler answers requests for the address that the server listens on.
func (s *Server) Handler(addr string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{file}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, assets, "assets/"+r.PathValue("file"))
	})
	mux.HandleFunc("GET /{$}", s.page(s.overview))
	mux.HandleFunc("GET /run", s.page(s.run))
	mux.HandleFunc("GET /output", s.page(s.output))
	mux.HandleFunc("GET /preview", s.page(s.preview))
	mux.HandleFunc("GET /changes", s.page(s.changes))
	mux.HandleFunc("GET /question", s.page(s.question))
	mux.HandleFunc("POST /answer", s.answer)
	mux.HandleFunc("POST /resume", s.resume)
	return s.guarded(addr, http.StripPrefix("/"+s.place, mux))
}
