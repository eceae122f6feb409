package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"reprise/internal/web"
)

// T14: a browser is sent the cookies of a host on all its ports. What another server is
// sent opens nothing, and it is sent none.
func TestA_cookie_alone_opens_nothing_and_another_server_is_sent_none(t *testing.T) {
	t.Parallel()
	s := play(t, documents("told"))
	sent := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Get("Cookie") + r.Header.Get("Referer")
	}))
	defer other.Close()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	for _, at := range []string{s.address, other.URL + "/run?project=0"} {
		answer, err := browser.Get(at)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, %v", at, answer, err)
		}
		answer.Body.Close()
	}
	if got := <-sent; got != "" {
		t.Errorf("another server was sent %q", got)
	}
	answer, err := browser.Get(s.URL + s.place + onePage)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the browser that was let in gets %v, %v", answer, err)
	}
	answer.Body.Close()
	for _, path := range []string{"/", onePage, "/x" + onePage, s.place, "//" + strings.ToLower(s.place[1:]) + "/"} {
		r, _ := http.NewRequest(http.MethodGet, s.URL+path, nil)
		r.AddCookie(s.cookie)
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden || strings.Contains(string(text), s.place[1:]) || strings.Contains(string(text), "told") {
			t.Errorf("the cookie alone gets %d at %s: %.200s", answer.StatusCode, path, text)
		}
	}
}

// T14: who sends slowly, or something where nothing is taken, does not hold the server.
func TestA_request_that_is_not_sent_to_its_end_is_ended(t *testing.T) {
	t.Parallel()
	server := web.New(web.Options{Now: time.Now, Actions: true})
	web.Hurry(server, 200*time.Millisecond)
	l, err := web.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { served <- server.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-served })
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(server.Address(l))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	cookie, place := answer.Cookies()[0], strings.TrimSuffix(answer.Header.Get("Location"), "/")
	host := l.Addr().String()
	for name, c := range map[string]struct {
		request string
		code    int // 0 for no answer
	}{
		"a slow head":                  {"GET / HTTP/1.1\r\nHost: " + host + "\r\n", 0},
		"a POST without a cookie":      {"POST / HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\nContent-Length: 100000\r\n\r\nx", 403},
		"a POST of another page":       {"POST / HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 100000\r\n\r\nx", 403},
		"a GET with a body":            {"GET " + place + "/ HTTP/1.1\r\nHost: " + host + "\r\nCookie: " + cookie.Name + "=" + cookie.Value + "\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		"a form that does not end":     {"POST " + place + "/answer?project=0&run=r HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\nCookie: " + cookie.Name + "=" + cookie.Value + "\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nx", 400},
		"a form that is too large":     {"POST " + place + "/answer?project=0&run=r HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\nCookie: " + cookie.Name + "=" + cookie.Value + "\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000000\r\n\r\n" + strings.Repeat("x", 1<<20), 400},
		"a method that is not allowed": {"PUT / HTTP/1.1\r\nHost: " + host + "\r\nOrigin: http://" + host + "\r\nContent-Length: 100000\r\n\r\nx", 405},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.WriteString(conn, c.request) }() // it may be cut off
			in := bufio.NewReader(conn)
			answer, err := http.ReadResponse(in, nil)
			switch {
			case c.code == 0 && err == nil, c.code != 0 && (err != nil || answer.StatusCode != c.code || !answer.Close):
				t.Fatalf("%v, %v", answer, err)
			case c.code == 0:
				return
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Errorf("the answer is cut off: %v", err)
			}
			if _, err := in.ReadByte(); err == nil || isTimeout(err) {
				t.Errorf("the connection is still open: %v", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	ne, is := err.(net.Error)
	return is && ne.Timeout()
}

func TestWhat_takes_long_is_still_answered(t *testing.T) {
	t.Parallel()
	const patience = 50 * time.Millisecond
	server := web.New(web.Options{Dirs: []string{"/p"}, Now: time.Now, Run: func(ctx context.Context, _ string, _ ...string) (string, string, int) {
		select {
		case <-ctx.Done():
			return "", "", 1
		case <-time.After(4 * patience):
			return `{"root":"/p"}`, "", 0
		}
	}})
	web.Hurry(server, patience)
	l, err := web.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() { served <- server.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); <-served })
	jar, _ := cookiejar.New(nil)
	answer, err := (&http.Client{Jar: jar}).Get(server.Address(l))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); !strings.Contains(string(text), "Nothing is open here") {
		t.Errorf("%d: %s", answer.StatusCode, text)
	}
}

// An address of a folder lists nothing.
func TestNo_folder_is_listed(t *testing.T) {
	t.Parallel()
	s := play(t, documents("told"))
	for _, path := range []string{"/assets/", "/assets", "/assets/.", "/assets/" + url.PathEscape("../assets") + "/", "/assets//"} {
		code, body, _ := s.get(path)
		if code == http.StatusOK || strings.Contains(body, "app.js") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _, _ := s.get("/assets/app.js"); code != http.StatusOK {
		t.Error(fmt.Sprint(code))
	}
}
