package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"reprise"
)

// A limit, a full context and errors are no orderly end, and a limit tells its time. (issue 41, item 2)
func TestIssue41_how_turns_end(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/ends.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		cli, want, _ := strings.Cut(f.Name, "/")
		want, _, _ = strings.Cut(want, "/")
		s := find(t, cli, string(f.Data))
		until := ""
		if !s.End.Until.IsZero() {
			until = s.End.Until.UTC().Format(time.RFC3339)
		}
		if got := fmt.Sprintf("%s:%d:%s", s.End.By, s.End.Line, until); got != want || s.Rested() != (s.End.By == 0) || len(s.Calls) > 0 {
			t.Errorf("%s: %s, rested %t, calls %+v", f.Name, got, s.Rested(), s.Calls)
		}
		if s.First == "" && cli != Codex {
			t.Errorf("%s: what was asked is not known", f.Name)
		}
	}
}

func TestIssue41_what_opencode_says_of_an_end(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]reprise.EndedBy{
		`{"role":"assistant","time":{},"error":{"name":"APIError","data":{"statusCode":429,"message":"Too many"}}}`:              reprise.EndedLimit,
		`{"role":"assistant","time":{},"error":{"name":"APIError","data":{"statusCode":400,"message":"prompt is too long: 2"}}}`: reprise.EndedContext,
		`{"role":"assistant","time":{},"error":{"name":"ProviderAuthError","data":{}}}`:                                          reprise.EndedLogin,
		`{"role":"assistant","time":{},"error":{"name":"MessageAbortedError","data":{}}}`:                                        reprise.EndedYou,
		`{"role":"assistant","time":{"created":1}}`:                                                                              0,
	} {
		b := newBuilder(Opencode, "opencode.db")
		b.roles = map[string]string{}
		at := time.Date(2026, 11, 19, 8, 0, 0, 0, time.UTC)
		b.opencode("message", "m1", []byte(`{"role":"user"}`), at)
		b.opencode("part", "m1", []byte(`{"type":"text","text":"Please push"}`), at)
		b.opencode("message", "m2", []byte(text), at)
		if s := b.finish(nil); s.End.By != want || s.Ended != (want != 0) || s.First != "Please push" {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// Text of a program before that of a person is no request.
func TestIssue41_first_requests(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"fix the <div> in a-b.html":              "fix the <div> in a-b.html",
		"<environment_context>\n<cwd>/p</cwd>":   "",
		"# AGENTS.md instructions for /p\n\n<x>": "",
		"<system-reminder>\nx":                   "",
		"<command-message>r</command-message>\n<command-name>/review</command-name>\n<command-args>12</command-args>": "/review 12",
	} {
		s := find(t, Claude, fmt.Sprintf(`{"type":"user","message":{"role":"user","content":%q},"timestamp":"2026-11-19T08:00:00Z","cwd":"/project","sessionId":"s1"}`+"\n", text))
		if s.First != want {
			t.Errorf("%q: %q", text, s.First)
		}
	}
}

// What stands twice in a session of gemini is sent twice when it is resumed.
func TestIssue41_gemini_cannot_resume_what_used_a_tool(t *testing.T) {
	t.Parallel()
	call := `{"type":"gemini","timestamp":"2026-11-19T08:00:00Z","toolCalls":[{"id":"c1","name":"x","status":"success","result":[{}]}]}`
	again := `{"type":"user","timestamp":"2026-11-19T08:00:01Z","content":[{"functionResponse":{"id":"c1","response":{"output":"x"}}}]}`
	for lines, want := range map[string]bool{call: false, again: false, call + "\n" + again: true} {
		b := newBuilder(Gemini, "x")
		r := &records{extent: much, each: b.gemini}
		if err := r.readAll(strings.NewReader(lines+"\n"), int64(len(lines)+1)); err != nil {
			t.Fatal(err)
		}
		if s := b.finish(r); (s.Broken() != "") != want {
			t.Errorf("%s: %q", lines, s.Broken())
		}
	}
}
