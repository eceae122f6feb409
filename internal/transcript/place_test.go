package transcript

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// A session belongs to a project if it worked inside it, or in a folder above it within
// the same repository: there it can have changed the project's files.
func TestA_session_above_the_project_in_its_repository_is_wanted(t *testing.T) {
	t.Parallel()
	q := Query{Dirs: []string{"/mono/pk/web"}, Above: []string{"/mono/pk", "/mono"}, Most: 3, Since: time.Unix(1, 0)}
	for cli, list := range lines {
		for dir, wanted := range map[string]bool{
			"/mono/pk/web": true, "/mono/pk/web/src": true, "/mono/pk": true, "/mono": true, "/": false, "/mono/other": false, "/mono/pk/website": false,
		} {
			name := strings.ReplaceAll(names[cli], "-project", strings.ReplaceAll(dir, "/", "-"))
			content := strings.ReplaceAll(strings.Join(list, "\n")+"\n", "/project", dir)
			found, unread := Store{CLI: cli, FS: fstest.MapFS{name: {Data: []byte(content), ModTime: time.Now()}}}.Find(q)
			if wanted != (len(found) == 1 && found[0].Dir == dir) || len(unread) > 0 {
				t.Errorf("%s in %s: %+v %q", cli, dir, found, unread)
			}
		}
	}
}

// A transcript that does not tell where its session worked belongs to whom it is filed
// under. Where it is filed under no one, and was written since, that is unknown.
func TestA_transcript_without_a_folder_is_not_passed_over(t *testing.T) {
	t.Parallel()
	const ours, unknown, neither = "ours", "unknown", ""
	since := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	q := Query{Dirs: []string{"/mono/web"}, Above: []string{"/mono"}, Most: 3, Since: since}
	for _, c := range []struct {
		cli, name string
		old       bool
		want      string
	}{
		{Claude, "projects/-mono-web/s1.jsonl", false, ours},
		{Claude, "projects/-mono/s1.jsonl", false, ours},
		{Claude, "projects/-mono-website/s1.jsonl", false, unknown},
		{Claude, "projects/-other/s1.jsonl", false, neither},
		{Qwen, "projects/-mono-web/chats/s1.jsonl", false, ours},
		{Codex, "sessions/2026/11/15/rollout-s1.jsonl", false, unknown},
		{Codex, "sessions/2026/11/15/rollout-s1.jsonl", true, neither},
		{Codex, "archived_sessions/rollout-s1.jsonl", false, unknown},
		{Copilot, "session-state/s1/events.jsonl", false, unknown},
	} {
		content := strings.Join(lines[c.cli], "\n") + "\n"
		contents := []string{strings.ReplaceAll(content, `"/project"`, `""`), strings.ReplaceAll(content, `"cwd":"/project"`, `"x":1`)}
		if c.cli == Codex {
			contents = append(contents, strings.Join(lines[Codex][1:], "\n")+"\n")
		}
		for i, content := range contents {
			at := since
			if c.old {
				at = since.Add(-time.Second)
			}
			found, unread := Store{CLI: c.cli, FS: fstest.MapFS{c.name: {Data: []byte(content), ModTime: at}}}.Find(q)
			got := neither
			switch {
			case len(found) == 1 && len(found[0].Calls) == 1:
				got = ours
			case len(unread) == 1 && !unread[0].Left && unread[0].Last.Equal(at):
				got = unknown
			}
			if got != c.want {
				t.Errorf("%s %s, form %d: %q, want %q: %+v %q", c.cli, c.name, i, got, c.want, found, unread)
			}
		}
	}
}

func TestGemini_without_a_project_on_record_is_unknown(t *testing.T) {
	t.Parallel()
	for _, root := range []*fstest.MapFile{nil, {}} {
		store := fstest.MapFS{"tmp/x/chats/session-1.jsonl": {Data: []byte(`{"sessionId":"s1"}`), ModTime: time.Unix(5, 0)}, "tmp/bin/rg": {}}
		if root != nil {
			store["tmp/x/.project_root"] = root
		}
		found, unread := Store{CLI: Gemini, FS: store}.Find(Query{Dirs: []string{"/project"}, Most: 3, Since: time.Unix(5, 0)})
		if len(found) > 0 || len(unread) != 1 {
			t.Errorf("%+v %q", found, unread)
		}
	}
}

// Claude keeps titles of sessions in files of their own.
func TestNotes_about_sessions_are_no_session(t *testing.T) {
	t.Parallel()
	notes := `{"type":"summary","summary":"Add a","leafUuid":"u"}` + "\n" + `{"type":"file-history-snapshot","messageId":"m"}` + "\n"
	if s := find(t, Claude, notes); s != nil {
		t.Errorf("%+v", s)
	}
	if s := find(t, Claude, notes+`{"type":"later","sessionId":"s1"}`+"\n"); s == nil || s.Ended {
		t.Errorf("a record that is not known: %+v", s)
	}
}

func TestCodex_sessions_that_were_put_away_are_read(t *testing.T) {
	t.Parallel()
	store := fstest.MapFS{"archived_sessions/rollout-x-s1.jsonl": {Data: []byte(strings.Join(lines[Codex], "\n") + "\n")}}
	found, unread := Store{CLI: Codex, FS: store}.Find(Query{Dirs: []string{"/project"}, Most: 3})
	if len(found) != 1 || len(found[0].Calls) != 1 || len(unread) > 0 {
		t.Errorf("%+v %q", found, unread)
	}
}
