package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"reprise"
	"reprise/report"
)

// templates are read when the first page is asked for.
var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"done": func(p report.Progress, between string) string {
			return reprise.Progress{Done: p.Done + p.Skipped, Total: p.Total, Skipped: p.Skipped}.Words(between)
		},
		"words": func(w fmt.Stringer) string { return strings.ReplaceAll(w.String(), "_", " ") },
		"kind":  func(k reprise.EventKind) string { return strings.ReplaceAll(string(k), "_", " ") },
		"state": func(s reprise.State) string { return stateMarks[s] },
		"mark":  func(s reprise.Status) string { return statusMarks[s] },
		"said":  said,
		"hint":  hint,
		"weigh": func(s reprise.Severity) string { return severityMarks[s] },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock": clock,
	}).ParseFS(assets, "assets/*.html")
})

// said tells what stands with an event. Of an object for programs it tells the title, and
// how long its lists are: "Ship it: 3 tasks".
func said(text string) string {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return text
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if list, is := object[key].([]any); is && len(list) > 0 {
			name := strings.ReplaceAll(key, "_", " ")
			if len(list) == 1 {
				name = strings.TrimSuffix(name, "s")
			}
			parts = append(parts, fmt.Sprintf("%d %s", len(list), name))
		}
	}
	title, _ := object["title"].(string)
	return strings.TrimSuffix(strings.TrimPrefix(title+": "+strings.Join(parts, ", "), ": "), ": ")
}

// The marks of states, statuses and severities: what colour says, they say too.
var (
	stateMarks = map[reprise.State]string{
		reprise.NotStarted: "○", reprise.Running: "●", reprise.Interrupted: "◐", reprise.Waiting: "◇",
		reprise.Stopped: "■", reprise.Complete: "✓", reprise.Unreadable: "✗",
	}
	statusMarks = map[reprise.Status]string{
		reprise.Pending: "○", reprise.InProgress: "◐", reprise.InReview: "◑", reprise.Done: "✓", reprise.Failed: "✗",
		reprise.Blocked: "■", reprise.Skipped: "–", reprise.Unknown: "?",
	}
	severityMarks = map[reprise.Severity]string{reprise.Info: "·", reprise.Warning: "!", reprise.Blocking: "✗"}
)

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// frame is what every page has around its content.
type frame struct {
	Title   string
	Actions bool
	At      time.Time
	Live    bool // the page follows what happens
	Body    template.HTML

	name    string // of the template of the content
	content any
	folders []string // where something changes that the page shows
	working bool     // someone is at work on what it shows
}

// page answers with a page, or with a stream of what it becomes.
func (s *Server) page(content func(*http.Request) (frame, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") == "text/event-stream" {
			s.stream(w, r, content)
			return
		}
		f, code := s.made(r, content)
		write(w, f, code)
	}
}

func write(w http.ResponseWriter, f frame, code int) {
	text, err := render("frame.html", f)
	if err != nil {
		http.Error(w, "The page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// made is a page with its content, or with why there is none.
func (s *Server) made(r *http.Request, content func(*http.Request) (frame, error)) (frame, int) {
	f, err := content(r)
	code := http.StatusOK
	var text []byte
	if err == nil {
		text, err = render(f.name, f.content)
	}
	if err != nil {
		code = http.StatusInternalServerError
		if _, is := errors.AsType[*refusal](err); is {
			code = http.StatusNotFound
		}
		text, err = render("failure.html", s.failureOf(r, &f, err))
	}
	if err != nil {
		text = []byte(template.HTMLEscapeString(err.Error()))
	}
	f.Actions, f.At, f.Live, f.Body = s.Actions, s.Now(), len(f.folders) > 0, template.HTML(text)
	return f, code
}

// failure is the content of a page for which a command gave no answer.
type failure struct {
	Title    string
	Why      error
	Back     string // the page of the run, "" if it is about none
	Resumed  *job   // what was last done from a page, nil for nothing
	Answered *job
}

// failureOf tells why there is no answer, and what was done that may explain it.
func (s *Server) failureOf(r *http.Request, f *frame, why error) failure {
	f.Title = cmp.Or(f.Title, "There is no answer")
	out := failure{Title: f.Title, Why: why}
	if t, err := s.targetOf(r); err == nil {
		out.Resumed, out.Answered = s.news(t, time.Time{})
		if asked := r.URL.Query().Get("question"); out.Answered != nil && r.URL.Path != "/run" && out.Answered.about != asked {
			out.Answered = nil
		}
		f.folders = []string{t.Dir, filepath.Dir(t.Dir)} // the run, or the project, may come back
		if r.URL.Path != "/run" {
			out.Back = t.link("run")
		}
	}
	return out
}

func render(name string, data any) ([]byte, error) {
	pages, err := templates()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, data); err != nil {
		return nil, err
	}
	return seen(b.Bytes()), nil
}

// maxMarks is how many combining marks one letter may carry; no language needs more.
const maxMarks = 4

// seen writes characters that reorder or hide what stands beside them as escapes. It is
// applied to whole pages: none of ours has such characters, and in addresses they are
// escaped already.
func seen(page []byte) []byte {
	if !bytes.ContainsFunc(page, func(r rune) bool { return odd(r) || unicode.Is(unicode.M, r) }) {
		return page
	}
	out := make([]byte, 0, len(page)+64)
	marks := 0
	for len(page) > 0 {
		r, n := utf8.DecodeRune(page)
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if odd(r) || marks > maxMarks {
			out = fmt.Appendf(out, `\u{%x}`, r)
		} else {
			out = append(out, page[:n]...)
		}
		page = page[n:]
	}
	return out
}

// odd reports characters that a browser obeys instead of showing them.
func odd(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
