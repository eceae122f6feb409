package modelstub

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// requests are one for each format, with a shell tool on offer.
var requests = map[string]string{
	"/v1/messages":                           `{"tools":[{"name":"Bash","input_schema":{"properties":{"command":{},"description":{}}}}]}`,
	"/v1/responses":                          `{"tools":[{"type":"function","name":"exec_command","parameters":{"properties":{"cmd":{}}}}]}`,
	"/v1/chat/completions":                   `{"tools":[{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{}}}}}]}`,
	"/v1beta/models/m:streamGenerateContent": `{"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":{"properties":{"command":{},"is_background":{}}}}]}]}`,
}

func start(t *testing.T, script string) *Server {
	t.Helper()
	parsed, err := Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(parsed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func ask(t *testing.T, s *Server, path, body string) (int, string, error) {
	t.Helper()
	c := &http.Client{Timeout: 500 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Post(s.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, string(text), err
}

func TestEveryFormat(t *testing.T) {
	t.Parallel()
	for path, body := range requests {
		s := start(t, `{"turns":[{"text":"Two words","shell":"echo hi"},{"error":"overloaded","status":529},{"text":"cut","cut":true},{"text":"hang","hang":true},{"text":"later"}]}`)
		if _, side, err := ask(t, s, path, `{}`); err != nil || !strings.Contains(side, "title") {
			t.Errorf("%s: without tools: %q %v", path, side, err)
		}
		status, text, err := ask(t, s, path, body)
		if err != nil || status != 200 || !strings.Contains(text, "words") || !strings.Contains(text, "echo hi") {
			t.Errorf("%s: %d %q %v", path, status, text, err)
		}
		if status, text, err := ask(t, s, path, body); err != nil || status != 529 || !strings.Contains(text, "overloaded") {
			t.Errorf("%s: %d %q %v", path, status, text, err)
		}
		if _, _, err := ask(t, s, path, body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: cut: %v", path, err)
		}
		if _, text, err := ask(t, s, path, body); err == nil || !strings.Contains(text, "hang") {
			t.Errorf("%s: hang: %q %v", path, text, err)
		}
		if _, text, _ := ask(t, s, path, body); !strings.Contains(text, "later") {
			t.Errorf("%s: %q", path, text)
		}
		if _, text, _ := ask(t, s, path, body); !strings.Contains(text, "end.") {
			t.Errorf("%s: after the end: %q", path, text)
		}
		if n := len(s.Requests()); n != 7 {
			t.Errorf("%s: %d requests", path, n)
		}
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{`, `{"turns":[{"error":"tired"}]}`, `{"turns":{}}`, `{"turns":[{"txt":"x"}]}`} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
