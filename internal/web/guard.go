package web

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// policy lets a page load what this server serves, and nothing else. Nothing inline is
// run or applied, whatever a state file says.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded lets a request through that comes from a page of ours, or from a person who
// opens the address that was printed. Of one that it refuses no more is read.
func (s *Server) guarded(addr string, next http.Handler) http.Handler {
	hosts := hostsOf(addr)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin") // no other port is told an address; with none, a form would not tell its origin
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		sends := r.ContentLength != 0
		if refused := s.refused(hosts, r); refused != nil {
			if sends {
				shut(w)
			}
			refused(w, r)
			return
		}
		if !sends {
			patient(w)
		}
		next.ServeHTTP(w, r)
	})
}

// refused is the answer to a request that goes no further, nil for one that does.
func (s *Server) refused(hosts []string, r *http.Request) http.HandlerFunc {
	looks := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case !slices.Contains(hosts, hostOf(r.Host)):
		return says(http.StatusMisdirectedRequest, "This server is not called that.")
	case !ours(r):
		return says(http.StatusForbidden, "The request comes from another page.")
	case !looks && !(s.Actions && r.Method == http.MethodPost):
		return says(http.StatusMethodNotAllowed, "Nothing is changed from here; reprise serve --allow-actions allows it.")
	case looks && r.ContentLength != 0:
		return says(http.StatusBadRequest, "Who looks sends nothing.")
	case r.URL.Query().Has("token"):
		return s.admit
	case !s.known(r):
		return s.closed
	}
	return nil
}

func says(code int, why string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, why, code) }
}

// shut reads no more of a request, and ends the connection with the answer to it.
func shut(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // where it cannot be set, the server's own holds
}

// patient lets the answer to a request that was read whole take as long as it needs.
func patient(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // likewise
}

// see leads the browser to another page. Addresses of pages are relative: the place is not
// written into them.
func see(w http.ResponseWriter, page string) {
	w.Header().Set("Location", page)
	w.WriteHeader(http.StatusSeeOther)
}

// closed tells who has no token, or that of a server which was started again, what to do.
// The page has no style: that is not served without the token either.
func (s *Server) closed(w http.ResponseWriter, r *http.Request) {
	page := struct{ Title, Back string }{Title: "This page needs a token"}
	if r.Method == http.MethodPost {
		page.Title = "Nothing was done"
		if t, err := s.targetOf(r); err == nil && s.placed(r) {
			page.Back = t.link("run")
		}
	}
	text, err := render("closed.html", page)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write(text)
}

// hostsOf are the names by which this machine is meant: those of the loopback, and the
// address that was asked for. A name that an attacker's DNS points here is none of them.
func hostsOf(addr string) []string {
	return []string{"localhost", "127.0.0.1", "::1", hostOf(addr)}
}

// hostOf is a host without its port, which differs behind a tunnel.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// ours tells that no other site made the request. What changes something must say where
// it comes from; a page may also be opened from elsewhere, by whoever has the token.
func ours(r *http.Request) bool {
	origin, from := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin != "" && origin != "http://"+r.Host {
		return false
	}
	switch from {
	case "same-origin":
		return true
	case "", "none":
		return r.Method == http.MethodGet || r.Method == http.MethodHead || origin != ""
	}
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// admit gives the cookie to who has the token, and leads to the page below the place of
// this server: the address there does not hold the token.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !s.opens(query.Get("token")) {
		http.Error(w, "That is not the token of this server. It may have been started again: open the address that it printed last.", http.StatusForbidden)
		return
	}
	query.Del("token")
	root := "/" + s.place + "/"
	page := root + r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] // no page is in another folder
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.session, Path: root, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	see(w, (&url.URL{Path: page, RawQuery: query.Encode()}).String())
}

// opens reports the token of the server, or a ticket that no one used yet.
func (s *Server) opens(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, is := s.tickets[token]
	delete(s.tickets, token)
	return is && time.Now().Before(until) || same(token, s.token)
}

// known reports a request of a browser that was let in, for an address of this server.
func (s *Server) known(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	return err == nil && same(c.Value, s.session) && s.placed(r)
}

// placed reports an address below the place of this server.
func (s *Server) placed(r *http.Request) bool {
	first, _, folder := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return folder && same(first, s.place)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// cookieName tells the servers of one machine apart: cookies do not know about ports.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "reprise" + port
}
