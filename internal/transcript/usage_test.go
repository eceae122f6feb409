package transcript

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise"
	"reprise/internal/loose"
)

// The records of requests, as the programs write them: two requests of one prompt and,
// from noon on, one of another prompt whose record is there twice.
func TestRequests_are_counted_once_each(t *testing.T) {
	t.Parallel()
	first, second := reprise.Tokens{Input: 1050, CacheRead: 300, Output: 70, Reasoning: 20}, reprise.Tokens{Input: 2070, CacheRead: 400, Output: 90, Reasoning: 40}
	cached := reprise.Tokens{Input: 1000, CacheRead: 300, CacheWrite: 50, Output: 70}
	for name, c := range map[string]struct {
		cli, lines string
		want       []reprise.Request // from noon on
		all        int
		context    int64
	}{
		"claude": {Claude, `{"type":"user","message":{"role":"user","content":"go"},"timestamp":"2026-11-16T11:00:00Z","cwd":"/project","sessionId":"s1"}
{"type":"assistant","message":{"id":"m1","model":"sonnet","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":6}},"timestamp":"2026-11-16T11:00:01Z"}
{"type":"user","message":{"role":"user","content":"on"},"timestamp":"2026-11-16T12:00:00Z"}
{"type":"assistant","message":{"id":"m1","model":"sonnet","content":[{"type":"text","text":"b"}],"stop_reason":"tool_use","usage":{"input_tokens":1000,"cache_creation_input_tokens":50,"cache_read_input_tokens":300,"output_tokens":70}},"timestamp":"2026-11-16T12:00:01Z"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"}]},"timestamp":"2026-11-16T12:00:01Z"}
{"type":"assistant","message":{"id":"m1","model":"sonnet","content":[{"type":"tool_use","id":"c2","name":"Bash"}],"stop_reason":"tool_use","usage":{"input_tokens":1000,"cache_creation_input_tokens":50,"cache_read_input_tokens":300,"output_tokens":70}},"timestamp":"2026-11-16T12:00:02Z"}
{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[],"usage":{"input_tokens":0,"output_tokens":0}},"isApiErrorMessage":true,"timestamp":"2026-11-16T12:00:03Z"}`,
			[]reprise.Request{{Model: "sonnet", Tokens: cached}}, 2, 1350},
		"codex": {Codex, `{"timestamp":"2026-11-16T11:00:00Z","type":"turn_context","payload":{"cwd":"/project","model":"gpt"}}
{"timestamp":"2026-11-16T11:00:01Z","type":"token_usage_record","payload":{"response_id":"r1","usage":{"input_tokens":1350,"cached_input_tokens":300,"cache_write_input_tokens":0,"output_tokens":70,"reasoning_output_tokens":20,"total_tokens":1420}}}
{"timestamp":"2026-11-16T11:00:01Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":1420},"last_token_usage":{"input_tokens":1350,"output_tokens":70,"total_tokens":1420}}}}
{"timestamp":"2026-11-16T12:00:00Z","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":"2026-11-16T12:00:01Z","type":"token_usage_record","payload":{"response_id":"r1","usage":{"input_tokens":2470,"cached_input_tokens":400,"cache_write_input_tokens":0,"output_tokens":90,"reasoning_output_tokens":40,"total_tokens":2560}}}`,
			[]reprise.Request{{Model: "gpt", Tokens: second}}, 2, 2470},
		"codex that tells totals": {Codex, `{"timestamp":"2026-11-16T11:00:01Z","type":"event_msg","payload":{"type":"token_count","info":null}}
{"timestamp":"2026-11-16T11:00:01Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":1420},"last_token_usage":{"input_tokens":1350,"cached_input_tokens":300,"output_tokens":70,"reasoning_output_tokens":20,"total_tokens":1420}}}}
{"timestamp":"2026-11-16T12:00:00Z","type":"event_msg","payload":{"type":"task_started"}}
{"timestamp":"2026-11-16T12:00:01Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":1420},"last_token_usage":{"input_tokens":1350,"output_tokens":70,"total_tokens":1420}}}}
{"timestamp":"2026-11-16T12:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":3980},"last_token_usage":{"input_tokens":2470,"cached_input_tokens":400,"output_tokens":90,"reasoning_output_tokens":40,"total_tokens":2560}}}}`,
			[]reprise.Request{{Tokens: second}}, 2, 2470},
		"gemini": {Gemini, `{"id":"a","timestamp":"2026-11-16T11:00:00Z","type":"gemini","tokens":{"input":1350,"output":50,"cached":300,"thoughts":20,"tool":0,"total":1420},"model":"flash"}
{"id":"b","timestamp":"2026-11-16T12:00:00Z","type":"gemini","content":"x","tokens":{"input":1350,"output":50,"cached":300,"thoughts":20,"tool":0,"total":1420},"model":"flash"}
{"id":"b","timestamp":"2026-11-16T12:00:00Z","type":"gemini","content":"x","tokens":{"input":1350,"output":50,"cached":300,"thoughts":20,"tool":0,"total":1420},"model":"flash","toolCalls":[]}`,
			[]reprise.Request{{Model: "flash", Tokens: first}}, 2, 1350},
		"qwen, with a helper": {Qwen, `{"uuid":"a","sessionId":"s1","timestamp":"2026-11-16T12:00:00Z","type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","model":"coder","input_token_count":1350,"output_token_count":70,"cached_content_token_count":300,"thoughts_token_count":20,"total_token_count":1420}}}
{"uuid":"b","sessionId":"s1","timestamp":"2026-11-16T12:00:00Z","type":"assistant","message":{"parts":[]},"usageMetadata":{"promptTokenCount":1350,"candidatesTokenCount":70}}
{"uuid":"c","sessionId":"s1","timestamp":"2026-11-16T12:00:01Z","type":"system","systemPayload":{"uiEvent":{"model":"coder","input_token_count":100,"output_token_count":10,"total_token_count":110,"subagent_name":"memory"}}}`,
			[]reprise.Request{{Model: "coder", Tokens: first}, {Model: "coder", Tokens: reprise.Tokens{Input: 100, Output: 10}}}, 2, 1350},
		"copilot": {Copilot, `{"type":"session.usage_record","data":{"usage":{"model":"gpt","inputTokens":1350,"outputTokens":70,"cacheReadTokens":300,"cacheWriteTokens":0,"reasoningTokens":20,"cost":1.0}},"id":"u1","timestamp":"2026-11-16T12:00:00Z"}
{"type":"session.shutdown","data":{"modelMetrics":{"gpt":{"usage":{"inputTokens":1350}}}},"timestamp":"2026-11-16T12:00:01Z"}`,
			[]reprise.Request{{Model: "gpt", Tokens: first}}, 1, 1350},
	} {
		b := newBuilder(c.cli, "x.jsonl")
		for line := range strings.Lines(c.lines) {
			v, ok := loose.Object([]byte(strings.TrimSpace(line)))
			if !ok {
				t.Fatalf("%s: %s", name, line)
			}
			if c.cli == Gemini {
				b.gemini(v)
			} else {
				events[c.cli](b, v)
			}
		}
		s := b.finish(nil)
		got, _ := Since([]*Session{s}, time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(s.Requests) != c.all || s.Context() != c.context {
			t.Errorf("%s: %d requests, %d tokens to send again, want %d and %d", name, len(s.Requests), s.Context(), c.all, c.context)
		}
	}
}

// A session is found by its id, with its helpers; another one of the same folder is not.
func TestA_session_is_found_by_its_id(t *testing.T) {
	t.Parallel()
	line := func(id string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"type":"assistant","message":{"id":"m","usage":{"input_tokens":7,"output_tokens":1}},"timestamp":"2026-11-16T12:00:00Z","cwd":"/project","sessionId":"` + id + `"}` + "\n")}
	}
	fsys := fstest.MapFS{
		"projects/-project/aaaaaaaa-1.jsonl":                     line("aaaaaaaa-1"),
		"projects/-project/aaaaaaaa-2.jsonl":                     line("aaaaaaaa-2"),
		"projects/-project/aaaaaaaa-1/subagents/agent-1.jsonl":   line("aaaaaaaa-1"),
		"projects/-elsewhere/aaaaaaaa-1/subagents/agent-1.jsonl": line("aaaaaaaa-1"),
	}
	found, unread := Store{CLI: Claude, FS: fsys}.Find(Query{Dirs: []string{"/project"}, Most: 9, Session: "aaaaaaaa-1"})
	requests, pending := Since(found, time.Time{})
	if main := Main(found); len(unread) > 0 || len(requests) != 2 || !pending || main == nil || main.Path != "projects/-project/aaaaaaaa-1.jsonl" {
		t.Errorf("%d sessions, %d requests, pending %v, unread %v", len(found), len(requests), pending, unread)
	}
	one, _ := Store{CLI: Opencode, FS: os.DirFS("testdata/opencode")}.Find(Query{Dirs: []string{"/"}, Most: 9, Session: "ses_done"})
	if len(one) != 1 || one[0].ID != "ses_done" {
		t.Errorf("%d sessions of opencode", len(one))
	}
}
