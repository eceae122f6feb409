package web_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/web"
	"reprise/report"
)

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
		code, _, _ := s.send(http.MethodPost, path, form.Encode(), with("Origin", s.URL), with("Content-Type", "application/x-www-form-urlencoded"))
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := url.Parse(s.address)
	r.AddCookie(&http.Cookie{Name: "reprise" + at.Port(), Value: at.Query().Get("token")})
	r.Header.Set("Accept", "text/event-stream")
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch text := lines.Text(); {
		case strings.Contains(text, "<b>before</b>"):
			if err := os.WriteFile(filepath.Join(dir, "changed"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		case strings.Contains(text, "<b>after</b>"):
			return
		}
	}
	t.Errorf("the page was not sent again: %v", lines.Err())
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
		"/output?project=0&run=r&step=s&attempt=1&to=200000": {"to=134464", "to=265536"},
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
}
