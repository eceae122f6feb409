package transcript

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// lines are transcripts of our own, with the shapes and oddities of the real
// ones. Each is one session in /project that finished a call, began another and
// was killed in it; the last line is the record of that call.
var lines = map[string][]string{
	Claude: {
		`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-15T00:00:00.1Z","sessionId":"s1","content":"go"}`,
		`{"parentUuid":null,"type":"user","message":{"role":"user","content":"go"},"timestamp":"2026-11-15T00:00:01Z","cwd":"/project","sessionId":"s1","version":"2.1.197"}`,
		`{"type":"attachment","attachment":{"type":"x","names":["{\"type\":\"assistant\"}"]},"timestamp":"2026-11-15T00:00:01Z"}`,
		`{"message":{"content":[{"type":"tool_use","id":"c1","name":"Write","input":{"file_path":"/project/one.txt","content":"one"}}],"stop_reason":"tool_use","role":"assistant"},"type":"assistant","timestamp":"2026-11-15T00:00:02Z","cwd":"/project"}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c1","type":"tool_result","content":"ok"}]},"timestamp":"2026-11-15T00:00:03Z"}`,
		`{"message":{"content":[{"type":"text","text":"Running."}],"stop_reason":"tool_use","role":"assistant"},"type":"assistant","timestamp":"2026-11-15T00:00:04Z"}`,
		`{"message":{"content":[{"type":"tool_use","id":"c2","name":"Bash","input":{"command":"touch started; sleep 8"}}],"stop_reason":"tool_use","role":"assistant"},"type":"assistant","timestamp":"2026-11-15T00:00:05Z","cwd":"/project"}`,
	},
	Codex: {
		`{"timestamp":"2026-11-15T00:00:00Z","ordinal":0,"type":"session_meta","payload":{"id":"s1","cwd":"/project","cli_version":"0.166.0","base_instructions":{"text":"many words"}}}`,
		`{"timestamp":"2026-11-15T00:00:01Z","type":"event_msg","payload":{"type":"task_started","turn_id":"t"}}`,
		`{"timestamp":"2026-11-15T00:00:02Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"echo one > one.txt\"}","call_id":"c1"}}`,
		`{"timestamp":"2026-11-15T00:00:03Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"Process exited with code 0"}}`,
		`{"timestamp":"2026-11-15T00:00:04Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[]}}`,
		`{"timestamp":"2026-11-15T00:00:05Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"touch started; sleep 8\"}","call_id":"c2"}}`,
	},
	Qwen: {
		`{"uuid":"a","sessionId":"s1","timestamp":"2026-11-15T00:00:01Z","type":"user","cwd":"/project","version":"0.15.10","message":{"role":"user","parts":[{"text":"go"}]}}`,
		`{"uuid":"b","sessionId":"s1","timestamp":"2026-11-15T00:00:02Z","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"run_shell_command","args":{"command":"true"}}}]}}`,
		`{"uuid":"c","sessionId":"s1","timestamp":"2026-11-15T00:00:03Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"ok"}}}]}}`,
		`{"uuid":"d","sessionId":"s1","timestamp":"2026-11-15T00:00:04Z","type":"system","subtype":"ui_telemetry"}`,
		`{"uuid":"e","sessionId":"s1","timestamp":"2026-11-15T00:00:05Z","type":"assistant","message":{"role":"model","parts":[{"text":"Running."},{"functionCall":{"id":"c2","name":"run_shell_command","args":{"command":"touch started; sleep 8"}}}]}}`,
	},
	Copilot: {
		`{"type":"session.start","data":{"sessionId":"s1","copilotVersion":"1.0.102","context":{"cwd":"/project"}},"timestamp":"2026-11-15T00:00:00Z"}`,
		`{"type":"user.message","data":{"content":"go"},"timestamp":"2026-11-15T00:00:01Z"}`,
		`{"type":"assistant.message","data":{"toolRequests":[{"toolCallId":"c1","name":"bash","arguments":{"command":"true"}}]},"timestamp":"2026-11-15T00:00:02Z"}`,
		`{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"bash","arguments":{"command":"true"}},"timestamp":"2026-11-15T00:00:02Z"}`,
		`{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"ok"}},"timestamp":"2026-11-15T00:00:03Z"}`,
		`{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"bash","arguments":{"command":"touch started; sleep 8"}},"timestamp":"2026-11-15T00:00:05Z"}`,
	},
}

// results are the records that end the last call, and answers those that end
// the turn after it.
var (
	results = map[string]string{
		Claude:  `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"c2","type":"tool_result","content":[{"type":"text","text":"ok"}]}]},"timestamp":"2026-11-15T00:00:06Z"}`,
		Codex:   `{"timestamp":"2026-11-15T00:00:06Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"Process exited with code 0"}}`,
		Qwen:    `{"uuid":"f","sessionId":"s1","timestamp":"2026-11-15T00:00:06Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c2","response":{"output":"ok"}}}]}}`,
		Copilot: `{"type":"tool.execution_complete","data":{"toolCallId":"c2","result":{"content":"ok"}},"timestamp":"2026-11-15T00:00:06Z"}`,
	}
	answers = map[string]string{
		Claude:  `{"message":{"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","role":"assistant"},"type":"assistant","timestamp":"2026-11-15T00:00:07Z"}`,
		Codex:   `{"timestamp":"2026-11-15T00:00:07Z","type":"event_msg","payload":{"type":"task_complete"}}`,
		Qwen:    `{"uuid":"g","sessionId":"s1","timestamp":"2026-11-15T00:00:07Z","type":"assistant","message":{"role":"model","parts":[{"text":"Done."}]}}`,
		Copilot: `{"type":"assistant.message","data":{"content":"Done.","toolRequests":[]},"timestamp":"2026-11-15T00:00:07Z"}`,
	}
	// prompts begin another turn, as a resume does.
	prompts = map[string]string{
		Claude:  `{"type":"user","message":{"role":"user","content":"continue"},"timestamp":"2026-11-15T00:00:06Z"}`,
		Codex:   `{"timestamp":"2026-11-15T00:00:06Z","type":"event_msg","payload":{"type":"task_started"}}` + "\n" + `{"timestamp":"2026-11-15T00:00:06Z","type":"response_item","payload":{"type":"message","role":"assistant"}}`,
		Qwen:    `{"uuid":"f","sessionId":"s1","timestamp":"2026-11-15T00:00:06Z","type":"user","message":{"role":"user","parts":[{"text":"continue"}]}}`,
		Copilot: `{"type":"user.message","data":{"content":"continue"},"timestamp":"2026-11-15T00:00:06Z"}`,
	}
)

var names = map[string]string{
	Claude: "projects/-project/s1.jsonl", Codex: "sessions/2026/11/15/rollout-x-s1.jsonl", Qwen: "projects/-project/chats/s1.jsonl", Copilot: "session-state/s1/events.jsonl",
}

func find(t *testing.T, cli, content string) *Session {
	t.Helper()
	found, unread := Store{CLI: cli, FS: fstest.MapFS{names[cli]: {Data: []byte(content)}}}.Find(Query{Dirs: []string{"/project"}, Most: 3})
	if len(unread) > 0 {
		t.Errorf("%s: not read: %q", cli, unread)
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

func TestA_call_without_a_result_is_found(t *testing.T) {
	t.Parallel()
	for cli, list := range lines {
		killed := strings.Join(list, "\n") + "\n"
		s := find(t, cli, killed)
		if s == nil || s.ID != "s1" || s.Dir != "/project" || s.Version == "" || s.Ended || s.Lost != 0 || s.Last.Second() != 5 {
			t.Errorf("%s: %+v", cli, s)
			continue
		}
		if len(s.Calls) != 1 || s.Calls[0].ID != "c2" || s.Calls[0].Input.Command != "touch started; sleep 8" || s.Calls[0].Passed {
			t.Errorf("%s: %+v", cli, s.Calls)
		}
		between := killed + results[cli] + "\n"
		if s := find(t, cli, between); len(s.Calls) != 1 || !s.Calls[0].Turn || s.Calls[0].Passed || s.Ended {
			t.Errorf("%s: between turns: %+v", cli, s)
		}
		if s := find(t, cli, between+answers[cli]+"\n"); len(s.Calls) != 0 || !s.Ended {
			t.Errorf("%s: ended: %+v", cli, s)
		}
		if s := find(t, cli, killed+prompts[cli]+"\n"+answers[cli]+"\n"); len(s.Calls) != 1 || !s.Calls[0].Passed {
			t.Errorf("%s: gone on with: %+v", cli, s)
		}
	}
}

// A session that no one gave anything to do has nothing under way, whatever its CLI
// writes when it opens; nor has one in which a person used a command of the CLI itself
// or interrupted the agent.
func TestWhat_is_no_prompt_begins_no_turn(t *testing.T) {
	t.Parallel()
	opened := map[string]string{
		"tmp/x/.project_root":         "/project",
		"tmp/x/chats/session-1.jsonl": `{"sessionId":"s1","startTime":"2026-11-15T00:00:00Z","kind":"main"}` + "\n" + `{"$set":{"messages":[{"id":"a","type":"user","content":[{"text":"<session_context>\nThis is the Gemini CLI."}]}]}}` + "\n",
	}
	store := fstest.MapFS{}
	for name, text := range opened {
		store[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if found, _ := (Store{CLI: Gemini, FS: store}).Find(Query{Dirs: []string{"/project"}, Most: 3}); len(found) != 1 || !found[0].Ended {
		t.Errorf("gemini: %+v", found)
	}
	start := `{"type":"session.start","data":{"sessionId":"s1","context":{"cwd":"/project"}},"timestamp":"2026-11-15T00:00:00Z"}` + "\n"
	if s := find(t, Copilot, start); !s.Ended {
		t.Errorf("copilot: %+v", s)
	}
	said := func(text string) string {
		return `{"type":"user","message":{"role":"user","content":"` + text + `"},"timestamp":"2026-11-15T00:00:08Z"}` + "\n"
	}
	begun := strings.Join(lines[Claude], "\n") + "\n"
	ended := begun + results[Claude] + "\n" + answers[Claude] + "\n"
	leave := said("<command-name>/exit</command-name>") + said("<local-command-stdout>Bye!</local-command-stdout>")
	if s := find(t, Claude, ended+leave); !s.Ended {
		t.Errorf("claude, left: %+v", s)
	}
	if s := find(t, Claude, begun+results[Claude]+"\n"+leave); s.Ended {
		t.Errorf("claude, left in the middle of a turn: %+v", s)
	}
	if s := find(t, Claude, begun+results[Claude]+"\n"+said("[Request interrupted by user]")); !s.Ended {
		t.Errorf("claude, interrupted: %+v", s)
	}
	if s := find(t, Claude, ended+said("<command-name>/review</command-name>")); s.Ended {
		t.Errorf("claude, a command for the model: %+v", s)
	}
}

// A transcript may be cut at any byte of the record that was being written.
// Whatever that record was, nothing that was begun looks finished.
func TestA_torn_record_hides_no_call(t *testing.T) {
	t.Parallel()
	for cli, list := range lines {
		whole := strings.Join(list[:len(list)-1], "\n") + "\n"
		last := list[len(list)-1]
		for cut := 1; cut <= len(last); cut++ {
			s := find(t, cli, whole+last[:cut])
			if s == nil || s.Ended || len(s.Calls) != 1 || (s.Calls[0].ID != "c2") != s.Calls[0].Torn || s.Calls[0].Torn != (cut < len(last)) {
				t.Fatalf("%s cut at %d: %+v", cli, cut, s)
			}
		}
		// The result of the call is torn: the call has none.
		whole += last + "\n"
		for cut := 1; cut < len(results[cli]); cut++ {
			s := find(t, cli, whole+results[cli][:cut])
			if s.Ended || len(s.Calls) != 2 || s.Calls[0].ID != "c2" || !s.Calls[1].Torn {
				t.Fatalf("%s: result cut at %d: %+v", cli, cut, s)
			}
		}
	}
}

// After a torn record some CLIs begin a new line, and one glues the next record
// to it.
func TestRecords_after_a_torn_one_count(t *testing.T) {
	t.Parallel()
	for cli, list := range lines {
		torn := list[2][:len(list[2])/2]
		for _, glue := range []string{"", "\n", "\x00\x00\x00\n"} {
			content := strings.Join(list[:2], "\n") + "\n" + torn + glue + strings.Join(list[3:], "\n") + "\n"
			s := find(t, cli, content)
			if s == nil || s.Lost != 1 || len(s.Calls) == 0 || s.Calls[len(s.Calls)-1].ID != "c2" {
				t.Errorf("%s with %q: %+v", cli, glue, s)
			}
		}
	}
}

func TestA_call_that_was_cancelled_when_its_agent_was_stopped_has_no_result(t *testing.T) {
	t.Parallel()
	text := `{"type":"system","subtype":"init","session_id":"s1","cwd":"/project","qwen_code_version":"0.24.4"}
{"type":"assistant","session_id":"s1","message":{"content":[{"type":"tool_use","id":"c1","name":"run_shell_command","input":{"command":"make"}}]}}
{"type":"user","session_id":"s1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"[Operation Cancelled] Reason: User cancelled tool execution."}]}}
`
	found, err := Stream(fstest.MapFS{"a.log": {Data: []byte(text)}}, Log{Name: "a.log"})
	if err != nil || len(found) != 1 || found[0].Ended || len(found[0].Calls) != 1 || found[0].Calls[0].ID != "c1" {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestGemini(t *testing.T) {
	t.Parallel()
	transcript := []string{
		`{"sessionId":"s1","projectHash":"h","startTime":"2026-11-15T00:00:00Z","lastUpdated":"2026-11-15T00:00:00Z","kind":"main"}`,
		`{"$set":{"messages":[{"id":"a","timestamp":"2026-11-15T00:00:00Z","type":"user","content":[{"text":"context"}]}],"lastUpdated":"2026-11-15T00:00:00Z"}}`,
		`{"id":"b","timestamp":"2026-11-15T00:00:01Z","type":"gemini","content":"First.","toolCalls":[{"id":"c1","name":"run_shell_command","args":{"command":"true"},"status":"success","timestamp":"2026-11-15T00:00:02Z"}]}`,
		`{"id":"c","timestamp":"2026-11-15T00:00:03Z","type":"gemini","content":"Running."}`,
	}
	stream := []string{
		`Loaded cached credentials.`,
		`{"type":"init","timestamp":"2026-11-15T00:00:00Z","session_id":"s1","model":"m"}`,
		`{"type":"tool_use","timestamp":"2026-11-15T00:00:02Z","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"true"}}`,
		`{"type":"tool_result","timestamp":"2026-11-15T00:00:03Z","tool_id":"c1","status":"success"}`,
		`{"type":"message","timestamp":"2026-11-15T00:00:03Z","role":"assistant","content":"Running.","delta":true}`,
		`{"type":"tool_use","timestamp":"2026-11-15T00:00:04Z","tool_name":"run_shell_command","tool_id":"c2","parameters":{"command":"touch started; sleep 8"}}`,
	}
	store := func(text string) fs.FS {
		return fstest.MapFS{"tmp/x/.project_root": {Data: []byte("/project\n")}, "tmp/x/chats/session-1.jsonl": {Data: []byte(text)}}
	}
	look := func(text string) *Session {
		found, unread := Store{CLI: Gemini, FS: store(text)}.Find(Query{Dirs: []string{"/project"}, Most: 3})
		if len(found) != 1 || len(unread) > 0 {
			t.Fatalf("%v %q", found, unread)
		}
		return found[0]
	}
	// The call is not in the transcript: it must not look ended for that.
	if s := look(strings.Join(transcript, "\n") + "\n"); s.ID != "s1" || s.Ended || !s.Unsure || len(s.Calls) != 1 || !s.Calls[0].Turn {
		t.Errorf("%+v", s)
	}
	glued := strings.Join(transcript[:3], "\n") + "\n" + transcript[3][:40] + transcript[0] + "\n" + transcript[3] + "\n"
	if s := look(glued); s.Lost != 1 || s.ID != "s1" {
		t.Errorf("glued: %+v", s)
	}
	old := fstest.MapFS{"tmp/x/.project_root": {Data: []byte("/project")}, "tmp/x/chats/session-1.json": {Data: []byte(`{
  "sessionId": "s1",
  "messages": [{"id": "a", "type": "gemini", "timestamp": "2026-11-15T00:00:00Z", "content": "x",
    "toolCalls": [{"id": "c1", "name": "write_file", "args": {"file_path": "a", "content": "b"}, "status": "executing"}]}]
}`)}}
	found, unread := Store{CLI: Gemini, FS: old}.Find(Query{Dirs: []string{"/project"}, Most: 3})
	if len(found) != 1 || len(unread) > 0 || found[0].Lost > 0 || len(found[0].Calls) != 1 || found[0].Calls[0].ID != "c1" {
		t.Errorf("the older form: %+v %q", found, unread)
	}
	read := func(texts ...string) []*Session {
		logs, names := fstest.MapFS{}, []Log{}
		for i, text := range texts {
			name := fmt.Sprintf("%d.log", i)
			logs[name], names = &fstest.MapFile{Data: []byte(text)}, append(names, Log{Name: name})
		}
		found, err := Stream(logs, names...)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	killed := strings.Join(stream, "\n") + "\n"
	if s := read(killed); len(s) != 1 || len(s[0].Calls) != 1 || s[0].Calls[0].ID != "c2" || s[0].Calls[0].Input.Command != "touch started; sleep 8" {
		t.Errorf("%+v", s[0])
	}
	again := strings.Join([]string{stream[1], stream[4], `{"type":"result","timestamp":"2026-11-15T00:00:09Z","status":"success"}`}, "\n") + "\n"
	if s := read(killed, again); len(s) != 1 || !s[0].Ended || !s[0].Calls[0].Passed {
		t.Errorf("gone on with: %+v", s[0])
	}
	for cut := 1; cut < len(stream[5]); cut++ {
		s := read(strings.Join(stream[:5], "\n") + "\n" + stream[5][:cut])
		if len(s) != 1 || s[0].Ended || len(s[0].Calls) != 1 || !s[0].Calls[0].Torn {
			t.Fatalf("cut at %d: %+v", cut, s[0])
		}
	}
}

// A result that says no more than that the command continues is no end of it.
func TestA_command_in_the_background_is_not_finished(t *testing.T) {
	t.Parallel()
	content := strings.Join(lines[Codex], "\n") + "\n" + strings.Replace(results[Codex], "Process exited with code 0", "Process running with session ID 12", 1) + "\n"
	if s := find(t, Codex, content); len(s.Calls) != 1 || !s.Calls[0].Background {
		t.Errorf("%+v", s)
	}
	if s := find(t, Codex, content+answers[Codex]+"\n"); len(s.Calls) != 1 || !s.Calls[0].Passed || !s.Ended {
		t.Errorf("%+v", s)
	}
	content = strings.Join(lines[Copilot], "\n") + "\n" + strings.Replace(results[Copilot], `"ok"`, `"<command with shellId: 1 is still running after 30 seconds."`, 1) + "\n"
	if s := find(t, Copilot, content); len(s.Calls) != 1 || !s.Calls[0].Background {
		t.Errorf("%+v", s)
	}
}

// big is a transcript of any size that exists only where it is read.
type big struct {
	head, tail string
	size       int64
	read       *int64
}

func (b big) Open(name string) (fs.File, error) { return &bigFile{big: b}, nil }

type bigFile struct {
	big
	at int64
}

func (f *bigFile) Stat() (fs.FileInfo, error) { return bigInfo{f.size}, nil }
func (f *bigFile) Close() error               { return nil }
func (f *bigFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	return n, err
}

func (f *bigFile) ReadAt(p []byte, at int64) (n int, err error) {
	const filler = `{"type":"attachment","text":"0123456789012345678901234567890123"}` + "\n"
	tail := f.size - int64(len(f.tail))
	for ; n < len(p) && at+int64(n) < f.size; n++ {
		switch i := at + int64(n); {
		case i < int64(len(f.head)):
			p[n] = f.head[i]
		case i >= tail:
			p[n] = f.tail[i-tail]
		default:
			p[n] = filler[i%int64(len(filler))]
		}
	}
	*f.read += int64(n)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

type bigInfo struct{ size int64 }

func (i bigInfo) Name() string       { return "s1.jsonl" }
func (i bigInfo) Size() int64        { return i.size }
func (i bigInfo) Mode() fs.FileMode  { return 0o600 }
func (i bigInfo) ModTime() time.Time { return time.Time{} }
func (i bigInfo) IsDir() bool        { return false }
func (i bigInfo) Sys() any           { return nil }

func TestA_large_transcript_is_read_from_its_ends(t *testing.T) {
	t.Parallel()
	var read int64
	list := lines[Claude]
	b := big{head: strings.Join(list[:2], "\n") + "\n", tail: "\n" + strings.Join(list[2:], "\n") + "\n", size: 700 << 20, read: &read}
	s, err := Store{CLI: Claude, FS: b}.read(candidate{name: "s1.jsonl"}, false)
	if err != nil || !s.Part || s.ID != "s1" || len(s.Calls) != 1 || s.Calls[0].ID != "c2" {
		t.Fatalf("%+v %v", s, err)
	}
	if read > much.head+much.tail+1<<20 {
		t.Errorf("%d bytes were read", read)
	}
}

func TestOpencode_is_read_from_its_log_and_left_alone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"opencode", "opencode-checkpointed"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
			t.Fatal(err)
		}
		before := picture(t, dir)
		found, unread := Store{CLI: Opencode, FS: os.DirFS(dir)}.Find(Query{Dirs: []string{"/project"}, Most: 5})
		if len(unread) > 0 || len(found) != 2 {
			t.Fatalf("%s: %v %q", name, found, unread)
		}
		killed, done := found[0], found[1]
		if killed.ID != "ses_killed" || killed.Dir != "/project/sub" || killed.Version != "1.18.33" || killed.Ended || len(killed.Calls) != 1 ||
			killed.Calls[0].ID != "c4" || killed.Calls[0].Input.Command != "touch started; sleep 8" {
			t.Errorf("%s: %+v", name, killed)
		}
		if done.ID != "ses_done" || !done.Ended || len(done.Calls) != 0 {
			t.Errorf("%s: %+v", name, done)
		}
		if after := picture(t, dir); after != before {
			t.Errorf("%s was changed:\n%s\n%s", name, before, after)
		}
	}
}

// picture tells names, sizes, times and contents of a folder.
func picture(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime(), len(content))
	}
	return b.String()
}

// A log that was cut anywhere shows the state of its last whole transaction, and
// a call once begun is never seen finished before it was.
func TestOpencode_with_a_torn_log(t *testing.T) {
	t.Parallel()
	db, err := os.ReadFile("testdata/opencode/opencode.db")
	if err != nil {
		t.Fatal(err)
	}
	wal, err := os.ReadFile("testdata/opencode/opencode.db-wal")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for cut := len(wal); cut > len(wal)-40*536; cut -= 134 {
		for _, damage := range []bool{false, true} {
			log := append([]byte{}, wal[:cut]...)
			if damage {
				log[cut-100] ^= 0x40
			}
			fsys := fstest.MapFS{"opencode.db": {Data: db}, "opencode.db-wal": {Data: log}}
			found, _ := Store{CLI: Opencode, FS: fsys}.Find(Query{Dirs: []string{"/project"}, Most: 5})
			for _, s := range found {
				if s.ID == "ses_killed" && s.Ended {
					t.Errorf("cut at %d: it looks ended: %+v", cut, s)
				}
				if s.ID == "ses_killed" && len(s.Calls) == 1 && s.Calls[0].ID == "c4" {
					seen++
				}
			}
		}
	}
	if seen == 0 {
		t.Error("the call was never seen")
	}
}

// What a signal ended may have done anything. An agent that speaks after it knows of it;
// one that does not may have been killed by the same.
func TestA_call_that_a_signal_ended_has_no_known_effect(t *testing.T) {
	t.Parallel()
	says := map[string][2]string{ // what stands for a result, and what one says of a signal
		Claude: {`"text":"ok"`, `"text":"Exit code 137\nhalf of it"`}, Codex: {`exited with code 0`, `exited with code 143\nOutput:\n`},
		Qwen: {`"output":"ok"`, `"output":"Command: make\nExit Code: 137\nSignal: 9"`}, Copilot: {`"content":"ok"`, `"content":"half of it\n<exited with exit code 137>"`},
	}
	for cli, records := range lines {
		whole := strings.Join(records, "\n") + "\n"
		ended := strings.Replace(results[cli], says[cli][0], says[cli][1], 1)
		if ended == results[cli] {
			t.Fatalf("%s: %s", cli, ended)
		}
		if s := find(t, cli, whole+ended+"\n"); s == nil || s.Ended || len(s.Calls) != 1 || s.Calls[0].ID != "c2" || s.Calls[0].Passed {
			t.Errorf("%s: a killed command is not open: %+v", cli, s)
		}
		if s := find(t, cli, whole+ended+"\n"+answers[cli]+"\n"); s == nil || !s.Ended || len(s.Calls) != 0 {
			t.Errorf("%s: its agent spoke on: %+v", cli, s)
		}
	}
	for text, want := range map[string]bool{
		"Exit code 1\nprocess exit code: 137 was expected": false, "Exit code 1\nExit code 12": false, "Exit code 128": false, "Exit code 143": true,
	} {
		if killed(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
