package web_test

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise"
	"reprise/internal/web"
	"reprise/report"
)

// act sends what a form of the page about a run sends.
func (s *stage) act(path, form string, change ...func(*http.Request)) (int, string, http.Header) {
	s.t.Helper()
	action, query, _ := strings.Cut(strings.TrimPrefix(path, "/"), "?")
	run, _ := url.ParseQuery(query)
	form += "&nonce=" + web.Nonce(s.server, action, "/p", run.Get("run"))
	return s.send(http.MethodPost, path, form, append(change, with("Content-Type", "application/x-www-form-urlencoded"))...)
}

// acting serves documents to a page that may act, and gives the arguments of the commands
// that were run by a POST.
func acting(t *testing.T) (s *stage, post func(path string, form url.Values) (int, [][]string)) {
	t.Helper()
	docs := documents("told")
	docs["answer"] = report.Answers{Answered: []string{"q"}}
	s = play(t, docs, func(o *web.Options) { o.Actions = true })
	return s, func(path string, form url.Values) (int, [][]string) {
		t.Helper()
		s.mu.Lock()
		s.calls = nil
		s.mu.Unlock()
		code, _, _ := s.act(path, form.Encode(), with("Origin", s.URL))
		s.mu.Lock()
		defer s.mu.Unlock()
		return code, s.calls
	}
}

func TestAn_action_is_the_command_with_the_digest_of_what_was_seen(t *testing.T) {
	t.Parallel()
	_, post := acting(t)
	form := url.Values{"digest": {"v1:0"}, "confirm": {"yes"}, "question": {"--q"}, "text": {"--all of it"}}
	code, calls := post("/answer?project=0&run=--r", form)
	want := []string{"/p", "answer", "--if=v1:0", "--question=--q", "--text=--all of it", "--json", "--", "--r"}
	if code != http.StatusSeeOther || len(calls) != 1 || !slices.Equal(calls[0], want) {
		t.Errorf("%d %q, want %q", code, calls, want)
	}
	for _, missing := range []string{"digest", "confirm"} {
		less := url.Values{}
		for name, value := range form {
			if name != missing {
				less[name] = value
			}
		}
		for _, path := range []string{"/answer?project=0&run=r", "/resume?project=0&run=r"} {
			if code, calls := post(path, less); code != http.StatusBadRequest || len(calls) > 0 {
				t.Errorf("%s without %s: %d %q", path, missing, code, calls)
			}
		}
	}
	for _, path := range []string{"/answer", "/answer?project=9&run=r", "/resume?project=../..&run=r", "/resume?project=0"} {
		if code, calls := post(path, form); code != http.StatusBadRequest || len(calls) > 0 {
			t.Errorf("%s: %d %q", path, code, calls)
		}
	}
}

// The confirmation on the page is the yes that `resume` asks for, and what came of it is
// told on the page, also where the run is gone afterwards.
func TestA_resumption_has_the_yes_of_the_person_and_tells_what_came_of_it(t *testing.T) {
	t.Parallel()
	refused := `{"schema":"reprise/error/v1","message":"it is not safe","hint":"` + "`reprise check r` tells why" + `","exit":11}`
	for _, c := range []struct {
		form  url.Values
		flags []string // beside those that every resumption has
		out   string
		told  string
		code  int
		says  string
	}{
		{url.Values{"option": {"fresh"}}, []string{"--option=fresh"}, `{"schema":"reprise/progress/v1"}` + "\n" + `{"schema":"reprise/summary/v1","state":"complete","reasons":["all is done"]}` + "\n", "", 0, "complete: all is done"},
		{url.Values{"option": {"from-phase"}, "from": {"--s"}}, []string{"--option=from-phase", "--from=--s"}, "", refused, 11, "it is not safe; `reprise check r` tells why"},
		{url.Values{"option": {"clean"}}, []string{"--option=clean"}, "{\n\"schema\": \"reprise/clean/v1\",\n\"done\": true,\n\"archive\": \"x\",\n\"snapshot\": \"000004\"\n}\n", "", 0, "Done. `reprise undo 000004` takes it back."},
		{url.Values{"option": {"repair"}}, []string{"--option=repair"}, "{\"schema\": \"reprise/repair/v1\", \"done\": true, \"archive\": [\"x\"], \"snapshot\": \"000005\"}\n", "", 0, "Done. `reprise undo 000005` takes it back."},
		{url.Values{"option": {"clean"}}, []string{"--option=clean"}, `{"schema":"reprise/clean/v1","refused":"it is at work"}`, "", 11, "it is at work"},
	} {
		calls := make(chan []string, 1)
		docs := documents("told")
		if c.code == 0 {
			delete(docs, "check") // the run was archived
		}
		s := play(t, docs, func(o *web.Options) {
			o.Actions = true
			o.Work = func(_ context.Context, dir string, args ...string) (string, string, int) {
				calls <- append([]string{dir}, args...)
				return c.out, c.told, c.code
			}
		})
		c.form.Set("digest", "v1:0")
		c.form.Set("confirm", "yes")
		code, _, _ := s.act("/resume?project=0&run=r", c.form.Encode(), with("Origin", s.URL))
		want := slices.Concat([]string{"/p", "resume", "--json", "--yes", "--if=v1:0"}, c.flags, []string{"--", "r"})
		if got := <-calls; code != http.StatusSeeOther || !slices.Equal(got, want) {
			t.Errorf("%d %q, want %q", code, got, want)
		}
		page := ""
		for began := time.Now(); time.Since(began) < time.Minute && !strings.Contains(page, c.says); {
			_, page, _ = s.get("/run?project=0&run=r")
			page = html.UnescapeString(page)
		}
		if !strings.Contains(page, c.says) {
			t.Errorf("%q is not told:\n%s", c.says, page)
		}
	}
}

// What was done from a page is told until something else happens.
func TestA_note_stays_until_something_newer_is_on_record(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	docs := documents("told")
	docs["answer"] = report.Answers{Answered: []string{"q"}}
	s := play(t, docs, func(o *web.Options) {
		o.Actions = true
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	pass := func() { mu.Lock(); defer mu.Unlock(); now = now.Add(time.Minute) }
	post := func(path, form string) {
		t.Helper()
		if code, body, _ := s.act(path+"?project=0&run=r", form, with("Origin", s.URL)); code != http.StatusSeeOther {
			t.Fatalf("%d %s", code, body)
		}
	}
	notes := func() int {
		t.Helper()
		_, page, _ := s.get(onePage[:strings.Index(onePage, "&run")] + "&run=r")
		return strings.Count(page, `class="job`)
	}
	post("/answer", "digest=v1:0&confirm=yes&question=q&text=a")
	if n := notes(); n != 1 {
		t.Errorf("after an answer there are %d notes", n)
	}
	pass()
	post("/resume", "digest=v1:0&confirm=yes&option=continue")
	for began := time.Now(); time.Since(began) < time.Minute; {
		if _, page, _ := s.get("/run?project=0&run=r"); strings.Contains(page, `id="job"`) && !strings.Contains(page, "Being resumed") {
			break
		}
	}
	if n := notes(); n != 1 {
		t.Errorf("after an answer and a resumption there are %d notes", n)
	}
	pass()
	mu.Lock()
	docs["log"] = report.Log{Entries: []report.LogEntry{{Seq: 1, At: now, Kind: reprise.StepStarted}}}
	mu.Unlock()
	if n := notes(); n != 0 {
		t.Errorf("after something newer there are %d notes", n)
	}
}

// Several people may answer at once: no one takes the answer of another for their own.
func TestA_note_about_an_answer_names_the_question_and_who_is_refused_learns_what_is_kept(t *testing.T) {
	t.Parallel()
	docs := documents("told")
	docs["log"] = report.Log{Entries: []report.LogEntry{
		{Seq: 1, Kind: reprise.QuestionAnswered, Question: "q", Text: "blue"}, {Seq: 2, Kind: reprise.QuestionAnswered, Question: "q", Text: "green"},
	}}
	s := play(t, docs, func(o *web.Options) {
		played := o.Run
		o.Run = func(ctx context.Context, dir string, args ...string) (string, string, int) {
			if args[0] == "answer" && slices.Contains(args, "--question=q2") {
				return `{"answered":["q2"]}`, "", 0
			}
			return played(ctx, dir, args...)
		}
		o.Actions = true
	})
	post := func(form string) (int, string) {
		t.Helper()
		code, page, _ := s.act("/answer?project=0&run=r", "digest=v1:0&confirm=yes&"+form, with("Origin", s.URL))
		return code, html.UnescapeString(page)
	}
	if code, _ := post("question=q2&text=large"); code != http.StatusSeeOther {
		t.Errorf("an answer gives %d", code)
	}
	if _, page, _ := s.get("/run?project=0&run=r"); !strings.Contains(page, "The answer to q2 is kept: “large”.") {
		t.Errorf("the run does not tell which answer was kept:\n%s", page)
	}
	_, page, _ := s.get("/question?project=0&run=r&question=q")
	if strings.Contains(page, "is kept") || !strings.Contains(page, "q was answered at") || !strings.Contains(page, "“green”") {
		t.Errorf("a question that was answered elsewhere:\n%s", page)
	}
	code, page := post("question=q&text=red")
	for _, text := range []string{"The answer to q was not kept: no run is called that", "It was “red”", "On record is “green”", `<a href="run?project=0&run=r" id="up">`} {
		if code != http.StatusConflict || !strings.Contains(page, text) || strings.Contains(page, "large") || strings.Contains(page, "data-live") {
			t.Errorf("%d, no %q in\n%s", code, text, page)
		}
	}
	_, page, _ = s.send(http.MethodPost, "/answer?project=0&run=r", "", with("Origin", s.URL), with("Cookie", "reprise=old"))
	if !strings.Contains(page, "Nothing was done") || !strings.Contains(page, `<a href="run?project=0&amp;run=r">the run</a>`) {
		t.Errorf("who was let in by a server that ended:\n%s", page)
	}
	if code, page := post("question=q&text=+"); code != http.StatusBadRequest || !strings.Contains(page, "The answer to q is empty.") {
		t.Errorf("%d %s", code, page)
	}
}

// T14
func TestA_GET_changes_nothing(t *testing.T) {
	t.Parallel()
	s, _ := acting(t)
	for _, path := range []string{"/answer", "/resume"} {
		query := "?project=0&run=r&digest=v1:0&confirm=yes&question=q&text=a&option=continue"
		if code, _, _ := s.get(path + query); code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", path, code)
		}
	}
	if len(s.calls) > 0 {
		t.Errorf("commands were run: %q", s.calls)
	}
}

func TestA_page_is_sent_again_when_files_change(t *testing.T) {
	t.Parallel()
	dir, docs := t.TempDir(), documents("before")
	status := docs["status"].(report.Status)
	status.Root = dir
	docs["status"] = status
	s := play(t, docs, func(o *web.Options) {
		played := o.Run
		o.Run = func(ctx context.Context, d string, args ...string) (string, string, int) {
			out, told, code := played(ctx, d, args...)
			if _, err := os.Stat(filepath.Join(dir, "changed")); err == nil {
				out = strings.ReplaceAll(out, "before", "after")
			}
			return out, told, code
		}
	})
	follow(t, s, "/", []string{"<b>before</b>", "<b>after</b>"}, func(int) {
		if err := os.WriteFile(filepath.Join(dir, "changed"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// follow follows a page until it has shown texts one after the other, and calls between
// once each but the last was seen.
func follow(t *testing.T, s *stage, path string, texts []string, between func(seen int)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+s.place+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(s.cookie)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	seen := 0
	for lines.Scan() {
		if !strings.Contains(lines.Text(), texts[seen]) {
			continue
		}
		if seen == len(texts)-1 {
			return
		}
		between(seen)
		seen++
	}
	t.Errorf("%s: %q was not sent: %v", path, texts[seen], lines.Err())
}

func TestAn_output_is_shown_part_by_part(t *testing.T) {
	t.Parallel()
	var asked []int64
	s := play(t, documents("told"), func(o *web.Options) {
		o.Printed = func(_ context.Context, dir, run, step string, attempt int, to int64) (web.Output, error) {
			asked = append(asked, to)
			if step != "s" {
				return web.Output{}, os.ErrNotExist
			}
			if to < 0 {
				to = 100 << 20
			}
			return web.Output{Text: "<b>line", From: max(0, to-web.Window), To: to, Size: 100 << 20, Path: ".reprise/logs/x"}, nil
		}
	})
	for path, want := range map[string][]string{
		"/output?project=0&run=r&step=s&attempt=1":           {"&lt;b&gt;line", "of 104857600", "to=104792064", "data-follow"},
		"/output?project=0&run=r&step=s&attempt=1&to=200000": {"to=134464", "to=265536", "to=65536\">⇤ First", "attempt=1&amp;project=0&amp;run=r&amp;step=s\">Last ⇥"},
	} {
		code, body, _ := s.get(path)
		for _, text := range want {
			if code != http.StatusOK || !strings.Contains(body, text) || len(body) > 10_000 {
				t.Errorf("%s: %d, no %q in %s", path, code, text, body)
			}
		}
	}
	for _, query := range []string{"step=s&attempt=0", "step=s&attempt=x", "step=&attempt=1", "step=../../x&attempt=1", "step=s"} {
		if code, _, _ := s.get("/output?project=0&run=r&" + query); code != http.StatusNotFound {
			t.Errorf("%s: %d", query, code)
		}
	}
}

func TestA_report_is_one_file(t *testing.T) {
	t.Parallel()
	docs := documents("</style><script>alert(1)</script>")
	at := time.Date(2026, 3, 20, 11, 0, 0, 0, time.UTC)
	docs["log"] = report.Log{Entries: []report.LogEntry{{Seq: 1, At: at, Kind: reprise.StepStarted, Step: "s"}}}
	var o web.Options
	play(t, docs, func(got *web.Options) {
		played := got.Run
		o = *got
		o.Run = func(ctx context.Context, dir string, args ...string) (string, string, int) {
			if slices.Contains(args, "--timeline") {
				return `{"from":"2026-03-20T11:00:00Z","to":"2026-03-20T11:01:00Z","steps":[{"id":"<s>","spans":[{"kind":"cut-off","attempt":1,"from":"2026-03-20T11:00:00Z","to":"2026-03-20T11:01:00Z"}]}]}`, "", 0
			}
			return played(ctx, dir, args...)
		}
	})
	page, err := web.Report(t.Context(), o, "r")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<link", "src=", "href=\"/", "http://1"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the report has %s", bad)
		}
	}
	svg, err := web.Timeline(t.Context(), o, "r")
	if err != nil || !strings.HasPrefix(string(svg), "<svg ") || strings.Contains(string(svg), "<s>") || !strings.Contains(string(svg), "cut off") {
		t.Errorf("%v %s", err, svg)
	}

	// Only what is such a file as a whole may be replaced, and by one of its kind.
	notes := []byte("# Notes\n\n")
	for name, c := range map[string]struct {
		text, old []byte
		want      bool
	}{
		"a report":                    {page, page, true},
		"a timeline":                  {svg, svg, true},
		"a report by a timeline":      {svg, page, false},
		"a timeline by a report":      {page, svg, false},
		"notes":                       {page, notes, false},
		"notes before a report":       {page, slices.Concat(notes, page), false},
		"notes behind a report":       {page, slices.Concat(page, notes), false},
		"notes in a report":           {page, bytes.Replace(page, []byte("</main>"), notes, 1), false},
		"a program that holds one":    {page, slices.Concat([]byte("\x7fELF"), page, []byte{0}), false},
		"two reports":                 {page, slices.Concat(page, page), false},
		"the last line of a report":   {page, page[bytes.LastIndex(page[:len(page)-1], []byte("\n"))+1:], false},
		"what is shorter than a line": {page, page[len(page)-9:], false},
		"nothing":                     {page, nil, false},
	} {
		if got := web.Replaces(c.text, c.old); got != c.want {
			t.Errorf("%s may be replaced: %v", name, got)
		}
	}
}

// T14: who has not seen the page of a run does nothing to it.
func TestAn_action_needs_the_nonce_of_its_own_page(t *testing.T) {
	t.Parallel()
	s, _ := acting(t)
	_, page, _ := s.get("/run?project=0&run=r")
	for _, action := range []string{"answer", "resume"} {
		own := web.Nonce(s.server, action, "/p", "r")
		if action == "answer" && !strings.Contains(page, `name="nonce" value="`+own+`"`) {
			t.Errorf("the page has no nonce:\n%s", page)
		}
		s.calls = nil
		for name, nonce := range map[string]string{
			"none": "", "that of another run": web.Nonce(s.server, action, "/p", "q"), "that of another project": web.Nonce(s.server, action, "/", "r"),
			"that of another action": web.Nonce(s.server, "look", "/p", "r"), "the cookie": s.cookie.Value,
		} {
			form := url.Values{"digest": {"v1:0"}, "confirm": {"yes"}, "question": {"q"}, "text": {"a"}, "option": {"continue"}, "nonce": {nonce}}
			code, _, _ := s.send(http.MethodPost, "/"+action+"?project=0&run=r", form.Encode(), with("Origin", s.URL), with("Content-Type", "application/x-www-form-urlencoded"))
			if code != http.StatusForbidden || len(s.calls) > 0 {
				t.Errorf("%s with %s: %d, %q", action, name, code, s.calls)
			}
		}
	}
}
