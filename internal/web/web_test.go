package web_test

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
	"reprise/internal/hostile"
	"reprise/internal/web"
	"reprise/report"
)

// stage is a server over commands that are played, and a browser that it lets in.
type stage struct {
	*httptest.Server
	t       *testing.T
	server  *web.Server
	address string // with the token
	place   string // the folder of all pages
	cookie  *http.Cookie
	client  *http.Client

	mu    sync.Mutex
	calls [][]string
}

// play serves documents by the name of their command.
func play(t *testing.T, documents map[string]any, change ...func(*web.Options)) *stage {
	t.Helper()
	s := &stage{t: t}
	o := web.Options{Dirs: []string{"/p"}, Now: func() time.Time { return time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC) }}
	o.Run = func(_ context.Context, dir string, args ...string) (string, string, int) {
		s.mu.Lock()
		s.calls = append(s.calls, append([]string{dir}, args...))
		s.mu.Unlock()
		doc, ok := documents[args[0]]
		if !ok {
			return "", `{"schema":"reprise/error/v1","message":"no run is called that","exit":2}`, 2
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Error(err)
		}
		return string(text), "", 0
	}
	for _, f := range change {
		f(&o)
	}
	if o.Work == nil {
		o.Work = o.Run
	}
	server := web.New(o)
	s.server = server
	s.Server = httptest.NewUnstartedServer(nil)
	s.Config.Handler = server.Handler(s.Listener.Addr().String())
	s.Start()
	t.Cleanup(s.Close)
	s.address = server.Address(s.Listener)
	s.client = s.Client()
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := s.client.Get(s.address)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	s.cookie, s.place = answer.Cookies()[0], strings.TrimSuffix(answer.Header.Get("Location"), "/")
	return s
}

// get asks for a page, as a browser that was let in unless change says otherwise.
func (s *stage) get(path string, change ...func(*http.Request)) (int, string, http.Header) {
	s.t.Helper()
	return s.send(http.MethodGet, path, "", change...)
}

func (s *stage) send(method, path, body string, change ...func(*http.Request)) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.URL+s.place+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.AddCookie(s.cookie)
	for _, f := range change {
		f(r)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// documents are those of a project with one run, whose texts are all the same.
func documents(text string) map[string]any {
	at := time.Date(2026, 3, 20, 11, 0, 0, 0, time.UTC)
	finding := report.Finding{Code: text, Severity: reprise.Warning, Subject: text, Message: text, Source: text, Hint: text}
	question := report.Question{ID: text, Subject: text, Text: text, Options: []string{text}, Source: text}
	unit := report.Unit{ID: text, Path: text, Title: text, Phase: text, Role: text}
	run := report.Run{
		Layout: "longrun", ID: text, Path: "specs/" + text, Kind: text, Title: text + ".", State: reprise.Interrupted, Verdict: reprise.Caution,
		Progress: report.Progress{Done: 1, Total: 2}, LastActivity: &at, Next: []report.Unit{unit}, Questions: []report.Question{question}, Findings: []report.Finding{finding},
	}
	check := report.Check{Root: "/p", Git: &report.Git{Branch: text, Operation: text}, Checked: report.Checked{
		Digest: "v1:0", Run: &run, Says: text, Next: text, Plan: &report.Plan{}, Findings: []report.Finding{finding},
		Decision: &report.Decision{State: reprise.Interrupted, Verdict: reprise.Caution, Action: reprise.Start, Reasons: []string{text}, Again: []string{text}},
		Steps: []report.Step{{ID: text, Title: text, Role: text, Status: reprise.Done, Grade: reprise.Claimed, Needs: []string{text},
			Claims:   []report.Claim{{Ledger: text, Word: text, Source: text, Status: reprise.Done}},
			Evidence: []report.Evidence{{Kind: text, Text: text, Source: text}}}},
		Artifacts: []report.Artifact{{Name: text, Path: text, Presence: reprise.Present}}, Owner: &report.Owner{Agent: text, Reason: text, Life: reprise.LifeUnknown},
		Options: []reprise.Option{{Key: text, Label: text}}, Failures: []report.Failure{{Step: text, Reason: text, Log: text, Output: []string{text}}},
		Sessions: []report.Session{{CLI: text, ID: text, Life: reprise.LifeUnknown, Reason: text,
			Calls: []report.Call{{Tool: text, What: text, Effect: reprise.EffectUnknown, State: reprise.LandingUnknown, Signs: []string{text}}}}},
	}}
	line := strings.ReplaceAll(text, "\n", " ") // each line of a diff is an element
	return map[string]any{
		"status": report.Status{Root: "/p", Runs: []report.Run{run}, Findings: []report.Finding{finding}},
		"check":  check,
		"log": report.Log{Damage: text, Entries: []report.LogEntry{{Seq: 1, At: at, Kind: reprise.StepStarted, Step: text, Actor: text, Text: text,
			Changes: &report.Changes{Attempt: 1, Commits: []string{text}, Diff: "+++ " + line + "\n+" + line, Left: []string{text}, Now: "-" + line}}}},
		"resume": report.Preview{Layout: text, ID: text, Reasons: []string{text}, Would: []string{text}, Diff: "+" + line,
			Starts: []report.PreviewStart{{Step: text, Role: text, Agent: text, Problem: text, Command: []string{text}, Expect: []string{text}, Prompt: text}}},
	}
}

// looks are the commands that pages are made from.
var looks = []string{"status --json", "check --json", "log --json", "log --timeline --json", "log --diff --json", "resume --dry-run --json"}

const onePage = "/run?project=0&run=longrun:specs/x"

// T14, T16
func TestNobody_is_answered_without_the_token(t *testing.T) {
	t.Parallel()
	s := play(t, documents("told"))
	for name, change := range map[string]func(*http.Request){
		"no cookie":        func(r *http.Request) { r.Header.Del("Cookie") },
		"a wrong cookie":   func(r *http.Request) { r.Header.Set("Cookie", r.Header.Get("Cookie")+"x") },
		"an empty cookie":  func(r *http.Request) { r.Header.Set("Cookie", "reprise"+r.URL.Port()+"=") },
		"a wrong token":    func(r *http.Request) { r.URL.RawQuery += "&token=wrong" },
		"an empty token":   func(r *http.Request) { r.URL.RawQuery += "&token=" },
		"a token in a bag": func(r *http.Request) { r.Header.Del("Cookie"); r.Header.Set("Authorization", "Bearer x") },
		"a cookie alone":   func(r *http.Request) { r.URL.Path = strings.TrimPrefix(r.URL.Path, s.place) },
		"another place":    func(r *http.Request) { r.URL.Path = "/x" + strings.TrimPrefix(r.URL.Path, s.place) },
		"the token as a cookie": func(r *http.Request) {
			r.Header.Set("Cookie", s.cookie.Name+"="+strings.TrimPrefix(s.address[strings.Index(s.address, "token="):], "token="))
		},
	} {
		for _, path := range []string{"/?a", onePage, "/assets/style.css?a"} {
			if code, body, _ := s.get(path, change); code != http.StatusForbidden || strings.Contains(body, "told") {
				t.Errorf("%s at %s: %d %.80s", name, path, code, body)
			}
		}
	}
	if len(s.calls) > 0 {
		t.Errorf("commands were run: %q", s.calls)
	}
	at, _ := url.Parse(s.address)
	code, _, header := s.get("/?"+at.RawQuery, func(r *http.Request) { r.Header.Del("Cookie") })
	cookie := header.Get("Set-Cookie")
	if strings.Contains(cookie+s.place, at.Query().Get("token")) || strings.Contains(cookie, s.place[1:]+"=") {
		t.Errorf("the token is in %q or %q", cookie, s.place)
	}
	if code != http.StatusSeeOther || header.Get("Location") != s.place+"/" || !strings.Contains(cookie, "; Path="+s.place+"/") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("the token gives %d %q %q", code, header.Get("Location"), cookie)
	}
	if code, body, _ := s.get("/"); code != http.StatusOK || !strings.Contains(body, "told") {
		t.Errorf("who was let in gets %d", code)
	}
}

// T16
func TestA_ticket_opens_one_browser_once(t *testing.T) {
	t.Parallel()
	server := web.New(web.Options{Now: time.Now})
	l, err := web.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	handler := server.Handler(l.Addr().String())
	ticket := server.Ticket(l)
	for _, want := range []int{http.StatusSeeOther, http.StatusForbidden} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, ticket, nil))
		if w.Code != want {
			t.Errorf("%d, want %d", w.Code, want)
		}
	}
}

// T14: an attacker's name that their DNS points to the loopback.
func TestA_name_that_was_pointed_here_is_not_answered(t *testing.T) {
	t.Parallel()
	s := play(t, documents("told"))
	for host, want := range map[string]int{
		"evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:1": 421, "0.0.0.0": 421, "": 421, "127.0.0.2": 421,
		"localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1:9": 200, "[::1]:9": 200,
	} {
		r := httptest.NewRequest(http.MethodGet, s.place+"/", nil)
		port := regexp.MustCompile(`:(\d+)$`).FindStringSubmatch(host)
		name := "reprise"
		if port != nil {
			name += port[1]
		}
		r.Host = host
		r.AddCookie(&http.Cookie{Name: name, Value: s.cookie.Value})
		w := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}

// T14
func TestA_page_of_another_origin_is_refused(t *testing.T) {
	t.Parallel()
	s := play(t, documents("told"), func(o *web.Options) { o.Actions = true })
	for name, change := range map[string][]func(*http.Request){
		"an origin":        {with("Origin", "http://evil.example")},
		"no origin at all": {with("Origin", "null")},
		"another port":     {with("Origin", "http://127.0.0.1:1")},
		"a script":         {with("Sec-Fetch-Site", "cross-site"), with("Sec-Fetch-Mode", "no-cors"), with("Sec-Fetch-Dest", "script")},
		"a frame":          {with("Sec-Fetch-Site", "cross-site"), with("Sec-Fetch-Mode", "navigate"), with("Sec-Fetch-Dest", "iframe")},
		"another service":  {with("Sec-Fetch-Site", "same-site"), with("Sec-Fetch-Mode", "cors"), with("Sec-Fetch-Dest", "empty")},
	} {
		for _, path := range []string{"/", onePage} {
			if code, body, _ := s.get(path, change...); code != http.StatusForbidden || strings.Contains(body, "told") {
				t.Errorf("%s: GET %s gives %d", name, path, code)
			}
			if code, _, _ := s.send(http.MethodPost, path, "", change...); code != http.StatusForbidden {
				t.Errorf("%s: POST %s gives %d", name, path, code)
			}
		}
	}
	if code, _, _ := s.send(http.MethodPost, "/", ""); code != http.StatusForbidden {
		t.Errorf("a POST that does not say where it comes from gives %d", code)
	}
	if len(s.calls) > 0 {
		t.Errorf("commands were run: %q", s.calls)
	}
}

func TestNothing_is_changed_unless_it_was_allowed(t *testing.T) {
	t.Parallel()
	s := play(t, documents("told"))
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodTrace} {
		if code, _, _ := s.send(method, "/", "", with("Origin", s.URL)); code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, code)
		}
	}
	for _, path := range []string{"/", onePage} {
		s.get(path)
	}
	for _, call := range s.calls {
		if !slices.Contains(looks, strings.Join(call[1:slices.Index(call, "--")], " ")) {
			t.Errorf("looking runs %q", call)
		}
	}
}

// T14, T1: every parameter with what leads elsewhere.
func TestWhat_a_browser_sends_reaches_commands_as_names(t *testing.T) {
	t.Parallel()
	s := play(t, documents("told"))
	for _, bad := range []string{"../../etc/passwd", "/etc/passwd", "..%2f..", "--verify=touch x", "-C/", "--", "\x00", "0x0", "99", "-1", "", "a\nb", strings.Repeat("a/../", 200)} {
		value := url.QueryEscape(bad)
		for _, path := range []string{
			"/?q=" + value + "&state=" + value + "&from=" + value, "/run?project=" + value + "&run=a", "/run?project=0&run=" + value, "/run?run=" + value,
			"/question?project=0&run=a&question=" + value, "/question?project=" + value + "&run=a&question=a", "/preview?project=0&run=" + value,
			"/changes?project=0&run=a&attempt=1&step=" + value, "/changes?project=0&run=a&step=a&attempt=" + value,
		} {
			s.calls = nil
			code, body, _ := s.get(path)
			if code >= 500 || strings.Contains(body, "root:") {
				t.Errorf("%.80s: %d %.300s", path, code, body)
			}
			for _, call := range s.calls {
				at := slices.Index(call, "--")
				command, names := strings.Join(call[1:at], " "), call[at+1:]
				if call[0] != "/p" || !slices.Contains(looks, command) || slices.ContainsFunc(names, func(n string) bool { return n != bad && n != "a" }) {
					t.Errorf("%.80s runs %q", path, call)
				}
			}
		}
		if code, body, _ := s.get("/assets/" + url.PathEscape(bad)); code == http.StatusOK && bad != "" && !strings.HasPrefix(bad, "a") || strings.Contains(body, "package web") {
			t.Errorf("/assets/%s: %d", bad, code)
		}
	}
	for _, path := range []string{"/../web.go", "/assets/../web.go", "/assets/%2e%2e/web.go", "/web.go", "/.git/config"} {
		if code, body, _ := s.get(path); code == http.StatusOK || strings.Contains(body, "package web") {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// payloads would run in a page that does not escape them.
var payloads = []string{
	`<script>alert(1)</script>`, `</title><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg onload=alert(1)>`, `<svg><style>*{display:none}</style>`,
	`" onmouseover="alert(1)" x="`, `' autofocus onfocus=alert(1) '`, `javascript:alert(1)`, `</textarea><iframe src=//evil.example>`, `<style>@import "//evil.example"</style>`,
	`<base href=//evil.example>`, `<meta http-equiv=refresh content="0;url=//evil.example">`, `<form action=//evil.example>`, `{{.Version}}`, `<!--`, `]]>`, `<a href="data:text/html,x">`,
}

// T15
func TestState_full_of_payloads_stays_text(t *testing.T) {
	t.Parallel()
	tags, values := regexp.MustCompile(`<[a-zA-Z!/][^>]*>`), regexp.MustCompile(`"[^"]*"`)
	inTag, addresses := regexp.MustCompile(`^</?[a-z0-9!]+| on[a-z]+=| style=`), regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	var plain [][]string
	for _, text := range slices.Concat([]string{"told"}, payloads, hostile.Payloads) {
		s := play(t, documents(text[:min(len(text), 2000)]))
		about := "?project=0&run=x&question=" + url.QueryEscape(string([]rune(text[:min(len(text), 2000)])))
		for i, path := range []string{"/?state=all", onePage, "/question" + about, "/preview" + about, "/changes" + about + "&step=s&attempt=1"} {
			code, body, _ := s.get(path)
			if code != http.StatusOK {
				t.Fatalf("%q: %d %.200s", text, code, body)
			}
			// The elements of a page are ours, whatever the texts in it are.
			var names []string
			for _, tag := range tags.FindAllString(body, -1) {
				names = append(names, inTag.FindAllString(values.ReplaceAllString(tag, ""), -1)...)
			}
			if text == "told" {
				plain = append(plain, names)
			} else if !slices.Equal(names, plain[i]) && strings.TrimSpace(text) != "" {
				t.Errorf("%q changes the elements of %s", text, path)
			}
			for _, address := range addresses.FindAllStringSubmatch(body, -1) {
				if strings.HasPrefix(address[1], "/") || strings.Contains(address[1], ":") {
					t.Errorf("%q makes a link to %s", text, address[1])
				}
			}
			if at := strings.IndexFunc(body, func(r rune) bool {
				return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == '\u202e' || r == '\u200b' || r == '\U000e0041'
			}); at >= 0 {
				t.Errorf("%q: %q is in the page as it is", text, body[at:min(at+20, len(body))])
			}
		}
	}
}

// T15: nothing in a page needs what the policy forbids.
func TestPages_have_nothing_inline(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`(?i)<script(?:[^>]*)>\s*[^<\s]|\son[a-z]+=|\sstyle=|<style|javascript:|https?://`)
	err := fs.WalkDir(os.DirFS("assets"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "report.html" { // a file of its own, and never served
			return err
		}
		text, err := os.ReadFile("assets/" + name)
		found := inline.FindString(strings.ReplaceAll(string(text), `xmlns="http://www.w3.org/2000/svg"`, ""))
		if found != "" {
			t.Errorf("%s has %q", name, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, header := play(t, documents("told")).get("/")
	rules := header.Get("Content-Security-Policy")
	if !strings.Contains(rules, "default-src 'none'") || !strings.Contains(rules, "frame-ancestors 'none'") || strings.Contains(rules, "unsafe") {
		t.Errorf("the policy is %q", rules)
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store"} {
		if header.Get(name) != want {
			t.Errorf("%s is %q", name, header.Get(name))
		}
	}
}

func TestWhat_a_command_refuses_is_told(t *testing.T) {
	t.Parallel()
	s := play(t, nil)
	if code, body, _ := s.get(onePage); code != http.StatusNotFound || !strings.Contains(body, "no run is called that") {
		t.Errorf("%d %s", code, body)
	}
	if code, body, _ := s.get("/"); code != http.StatusOK || !strings.Contains(body, "no run is called that") {
		t.Errorf("%d %s", code, body)
	}
}

func TestThe_list_has_the_words_of_status_and_names_all_that_waits_for_a_person(t *testing.T) {
	t.Parallel()
	run := func(id string, action reprise.Action, state reprise.State) report.Run {
		return report.Run{
			Layout: "longrun", ID: id, Path: id, State: state, Verdict: reprise.Caution, Action: action, Says: "the words about " + id,
			Progress: report.Progress{Done: 1, Total: 3, Skipped: 1}, Next: []report.Unit{{ID: "unit", Title: "A unit"}},
		}
	}
	cutOff := run("cut", reprise.Start, reprise.Waiting)
	cutOff.ListedAs = reprise.Interrupted
	s := play(t, map[string]any{"status": report.Status{Root: "/p", Runs: []report.Run{
		run("waits", reprise.Start, reprise.NotStarted),
		run("decide", reprise.Ask, reprise.Interrupted), run("start", reprise.Start, reprise.Interrupted), run("ended", reprise.Ask, reprise.Stopped),
		run("doubted", reprise.Finish, reprise.Complete), cutOff,
	}}})
	_, open, _ := s.get("/")
	order := regexp.MustCompile(`class="name"><b>(\w+)`).FindAllStringSubmatch(open, -1)
	var names []string
	for _, m := range order {
		names = append(names, m[1])
	}
	// What was cut off stands with what was interrupted, and what is doubted is not closed.
	if !slices.Equal(names, []string{"decide", "start", "cut", "waits", "doubted"}) {
		t.Errorf("what is open is listed as %q", names)
	}
	_, page, _ := s.get("/?state=all")
	asks := page[strings.Index(page, `id="asks"`):strings.Index(page, `role="search"`)]
	if strings.Count(asks, "class=\"row ask\"") != 1 || !strings.Contains(asks, "the words about decide") || !strings.Contains(asks, "run?project=0") {
		t.Errorf("what waits for a person:\n%s", asks)
	}
	list := page[strings.Index(page, `id="list"`):]
	if strings.Count(list, ">1/3, 1 skipped<") != 6 || !strings.Contains(list, `<span class="next">the words about start</span>`) || strings.Contains(list, "A unit") {
		t.Errorf("the list:\n%s", list)
	}
}

func TestThe_page_of_a_run_tells_who_does_what_comes_next(t *testing.T) {
	t.Parallel()
	docs := documents("told")
	check := docs["check"].(report.Check)
	check.Starts, check.With, check.Run.Progress = "the build", "the command `make all`", report.Progress{Done: 1, Total: 3, Skipped: 1}
	docs["check"] = check
	_, page, _ := play(t, docs).get(onePage)
	if !strings.Contains(page, "<dd>the build</dd>") || !strings.Contains(page, "<dd>the command `make all`</dd>") || !strings.Contains(page, "1 of 3, 1 skipped") {
		t.Error(page)
	}
}

// A question is shown with the steps that it is about, also where its subject is none.
func TestA_question_is_shown_with_what_it_is_about(t *testing.T) {
	t.Parallel()
	docs := documents("told")
	check := docs["check"].(report.Check)
	check.Run.Questions = []report.Question{{ID: "q", Subject: "a group", Text: "Which?", Note: "not yet", Steps: []string{"told"}}}
	check.Decision.Reasons = []string{"the reason"}
	docs["check"] = check
	_, page, _ := play(t, docs).get("/question?project=0&run=r&question=q")
	for _, text := range []string{"Said so far: not yet", "the reason", `id="about-0"`, `id="failures"`} {
		if !strings.Contains(page, text) {
			t.Errorf("no %q in\n%s", text, page)
		}
	}
}

func TestA_preview_that_is_refused_tells_why_and_what_to_do(t *testing.T) {
	t.Parallel()
	docs := documents("told")
	delete(docs, "resume")
	s := play(t, docs, func(o *web.Options) {
		played := o.Run
		o.Run = func(ctx context.Context, dir string, args ...string) (string, string, int) {
			if args[0] == "resume" {
				return "", `{"schema":"reprise/error/v1","message":"read flow.yaml: it is not trusted yet","hint":"review it, then trust it","exit":11}`, 11
			}
			return played(ctx, dir, args...)
		}
	})
	_, page, _ := s.get("/preview?project=0&run=r")
	for _, text := range []string{"What resuming would do", "it is not trusted yet", "To do: review it, then trust it", `<a href="run?project=0&amp;run=r" id="up">`} {
		if !strings.Contains(page, text) {
			t.Errorf("no %q in\n%s", text, page)
		}
	}
	if _, page, _ := s.get("/run?project=9&run=r"); !strings.Contains(page, `<a href="./" id="up">`) {
		t.Errorf("no way back on\n%s", page)
	}
}

func TestA_preview_says_all_that_a_dry_run_says(t *testing.T) {
	t.Parallel()
	docs := documents("told")
	docs["resume"] = report.Preview{Starts: []report.PreviewStart{
		{Step: "s", Run: "own", Command: []string{"sh", "-c", "a  b"}, Line: "sh -c 'a  b'", Dir: "checkout", SessionSays: "a new one, because"},
	}}
	_, page, _ := play(t, docs).get("/preview?project=0&run=r")
	for _, text := range []string{"sh -c &#39;a  b&#39;", "Starts s of own", "in <code>checkout</code>", "Session: a new one, because"} {
		if !strings.Contains(page, text) {
			t.Errorf("no %q in\n%s", text, page)
		}
	}
	docs["resume"] = report.Preview{}
	if _, page, _ := play(t, docs).get("/preview?project=0&run=r"); !strings.Contains(page, "Nothing would be done.") {
		t.Error(page)
	}
}

func TestAn_address_for_all_addresses_is_refused(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "127.0.0.1", "", "a:b:c"} {
		if l, err := web.Listen(addr); err == nil {
			l.Close()
			t.Errorf("%q is listened on", addr)
		}
	}
}
