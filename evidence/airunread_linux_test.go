package evidence

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"reprise"
)

// A session is ours by where its records say that it worked, whatever folder it is filed
// under.
func TestA_session_filed_under_another_folder_is_found_by_where_it_worked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := os.Symlink(d.dir, filepath.Join(filepath.Dir(d.dir), "link")); err != nil {
		t.Fatal(err)
	}
	parent := filepath.Dir(d.dir)
	meta := `{"type":"user","isMeta":true,"message":{"role":"user","content":"` + strings.Repeat("x", 100<<10) + `"},"timestamp":"NOW","cwd":"START","sessionId":"s1"}` + "\n"
	for _, c := range []struct {
		name, start, then string
		ours              bool
	}{
		{"started in the parent, then in the project", parent, d.dir, true},
		{"started in the parent, then in a folder of the project", parent, d.dir + "/sub", true},
		{"started in the project", d.dir, d.dir, true},
		{"started by another name of the project", parent + "/link", parent + "/link", true},
		{"started in the parent and stayed", parent, parent, false},
		{"started in the parent, then in a sibling", parent, d.dir + "-other", false},
		{"somewhere else", "/somewhere", "/somewhere", false},
	} {
		d.put(".claude/projects/-other/s1.jsonl", strings.NewReplacer("START", c.start, "THEN", c.then).Replace(
			`{"type":"user","message":{"role":"user","content":"go"},"timestamp":"NOW","cwd":"START","sessionId":"s1","version":"2.1.197"}`+"\n"+meta+
				`{"type":"assistant","message":{"role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"./deploy"}}]},"timestamp":"NOW","cwd":"THEN","sessionId":"s1"}`+"\n"))
		o := d.gather()
		begun := slices.ContainsFunc(reprise.Next(d.run, o, reprise.Policy{}).Reasons, func(why string) bool { return strings.Contains(why, "left no result") })
		if begun != c.ours || len(o.SessionsUnread) > 0 {
			t.Errorf("%s: %+v, unread %v", c.name, o.Sessions, o.SessionsUnread)
		}
	}
}

// What is in the place of a transcript and cannot be read is unknown, and looking at it
// never waits.
func TestWhat_is_no_transcript_where_one_belongs_is_unknown(t *testing.T) {
	t.Parallel()
	folder := func(name string) error { return os.Mkdir(name, 0o755) }
	fifo := func(name string) error { return syscall.Mkfifo(name, 0o600) }
	dangling := func(name string) error { return os.Symlink("/nowhere/at/all", name) }
	empty := func(name string) error { return os.WriteFile(name, nil, 0o600) }
	for _, c := range []struct {
		what string
		make func(name string) error
		name string // PROJECT stands for the folder of the project in claude's store
	}{
		{"a folder", folder, "PROJECT/s1.jsonl"},
		{"a pipe", fifo, "PROJECT/s1.jsonl"},
		{"a link to nothing", dangling, "PROJECT/s1.jsonl"},
		{"an empty file", empty, "PROJECT/s1.jsonl"},
		{"a pipe", fifo, "PROJECT"},
		{"a link to nothing", dangling, ".claude"},
		{"a link to nothing", dangling, ".claude/projects"},
		{"a pipe", fifo, ".claude/sessions/1.json"},
		{"an empty file", empty, ".codex/sessions/2026/11/16/rollout-1.jsonl"},
		{"a pipe", fifo, ".codex/sessions/2026/11/16/rollout-1.jsonl"},
		{"a link to nothing", dangling, ".codex/sessions/2026"},
		{"an empty file", empty, ".copilot/session-state/s1/events.jsonl"},
		{"a link to nothing", dangling, ".local/share/opencode/opencode.db"},
	} {
		t.Run(c.what+" "+strings.ReplaceAll(c.name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			at := filepath.Join(d.home, strings.Replace(c.name, "PROJECT", d.claudeFolder(), 1))
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := c.make(at); err != nil {
				t.Fatal(err)
			}
			o := d.gather()
			if got := reprise.Next(d.run, o, reprise.Policy{}); len(o.SessionsUnread) != 1 || got.Verdict != reprise.Caution {
				t.Errorf("%v %q, unread %v", got.Verdict, got.Reasons, o.SessionsUnread)
			}
		})
	}
}
