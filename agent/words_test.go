package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The streams are those that the real programs printed; see record_test.go.
func TestOf_what_agents_print_the_words_and_calls_are_shown(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/streams/*/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w Words
		for line := range strings.Lines(string(data)) {
			for text := range strings.Lines(w.Line(strings.TrimRight(line, "\r\n"))) {
				if strings.HasPrefix(text, `{"type"`) {
					t.Errorf("%s: an event is shown as it is: %.100s", file, text)
				} else if strings.HasPrefix(line, "{") {
					shown[filepath.Base(filepath.Dir(file))] = true
				}
			}
		}
		if w.Rest() != "" {
			shown[filepath.Base(filepath.Dir(file))] = true
		}
	}
	folders, _ := filepath.Glob("testdata/streams/*")
	if len(shown) != len(folders) {
		t.Errorf("words are shown of %v, and there are %v", shown, folders)
	}
}

func TestWords_that_grow_are_shown_once_and_other_lines_as_they_are(t *testing.T) {
	t.Parallel()
	var w Words
	var got []string
	for _, line := range []string{
		"compiling", `{"answer": 42}`,
		`{"type":"message","role":"assistant","content":"I look","delta":true}`, `{"type":"message","role":"assistant","content":" around","delta":true}`,
		`{"type":"tool_use","tool_name":"read_file","tool_id":"1","parameters":{"file_path":"a.go"}}`, `{"type":"tool_result","tool_id":"1","status":"success"}`,
		`{"type":"message","role":"assistant","content":"Done.","delta":true}`, "on standard error",
	} {
		if text := w.Line(line); text != "" {
			got = append(got, text)
		}
	}
	got = append(got, w.Rest())
	want := "compiling\n{\"answer\": 42}\nI look around\nread_file a.go\non standard error\nDone."
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}
