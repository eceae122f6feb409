//go:build linux

package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/internal/proc"
)

// samples are sessions of real CLIs, as they were left; see the README beside them.
const samples = "../../shared/reference/session-samples"

var (
	recordedIn = regexp.MustCompile(`/home/u/labs/[^"/]+/[^"/]+/proj`)
	sessionID  = regexp.MustCompile(`"(?:sessionId|session_id|thread_id|id)": ?"([0-9a-f]{8}-[0-9a-f-]{27})"`)
)

// recording puts a recorded session into the store of its CLI, as one that worked here.
// Of those that were cut, what says whose they are is put before them.
func (d *desk) recording(name string) {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(samples, name))
	if err != nil {
		d.t.Fatal(err)
	}
	text := recordedIn.ReplaceAllString(string(b), d.dir)
	id := "01a1f2d0-88fc-7761-90d3-6004172fe5a8"
	if m := sessionID.FindStringSubmatch(text); m != nil {
		id = m[1]
	}
	if strings.HasSuffix(name, ".json") {
		d.put(".claude/sessions/"+name[strings.LastIndexByte(name, '/')+1:], text)
		return
	}
	d.before = 0
	slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(d.dir, "-")
	switch cli, _, _ := strings.Cut(name, "/"); cli {
	case "claude":
		d.put(".claude/projects/"+slug+"/"+id+".jsonl", text)
	case "qwen":
		d.put(".qwen/projects/"+slug+"/chats/"+id+".jsonl", text)
	case "codex":
		if !strings.Contains(text, `"session_meta"`) {
			text = fmt.Sprintf(`{"timestamp":"2026-11-19T08:00:00Z","type":"session_meta","payload":{"id":%q,"cwd":%q}}`+"\n", id, d.dir) + text
			d.before = 1
		}
		d.put(".codex/sessions/2026/11/19/rollout-2026-11-19T08-00-00-"+id+".jsonl", text)
	case "gemini":
		d.put(".gemini/tmp/proj/.project_root", d.dir)
		d.put(".gemini/tmp/proj/chats/session-2026-11-19T08-00-"+id[:8]+".jsonl", text)
	case "copilot":
		if !strings.Contains(text, `"session.start"`) {
			text = fmt.Sprintf(`{"type":"session.start","data":{"sessionId":%q,"context":{"cwd":%q}},"timestamp":"2026-11-19T08:00:00Z"}`+"\n", id, d.dir) + text
			d.before = 1
		}
		d.put(".copilot/session-state/"+id+"/events.jsonl", text)
	}
}

func TestIssue41_how_recorded_sessions_ended(t *testing.T) {
	if _, err := os.Stat(samples); err != nil {
		t.Skip("no recordings: ", err)
	}
	const (
		push  = "touch started; git push origin main; sleep 6"
		sleep = "touch started; sleep 15; echo late > late.txt"
		late  = "touch started; sleep 6; echo late > late.txt"
		ask   = "touch needs_permission.txt && curl -s http://127.0.0.1:1/ ; echo ran"
		turn  = "a turn that has no end on record"
		fix   = "Please push the fix to origin"
		mark  = "MARKFIRST do it"
		plan  = "MARKFIRST make a plan and push"
	)
	// What is expected of each: who ended it, at which line that stands (0: by another
	// file, or by what is missing), when it was and until when, the open call and the
	// first request.
	want := map[string]struct {
		by        string
		line      int
		at, until string
		call      string
		first     string
		outcome   reprise.Outcome
	}{
		"claude/2.1.144-close-esc-busy":                  {"you", 5, "08:21:16", "", "", "Do it", reprise.OutcomeNothing},
		"claude/2.1.144-close-exit-busy":                 {"closed", 5, "08:20:57", "", sleep, "Do it", reprise.OutcomeCaution},
		"claude/2.1.144-close-exit-idle":                 {"you", 4, "08:20:12", "", "", "", reprise.OutcomeNothing},
		"claude/2.1.144-close-hup-busy":                  {"closed", 5, "08:20:41", "", sleep, "Do it", reprise.OutcomeCaution},
		"claude/2.1.144-close-hup-idle":                  {"finished", 0, "08:20:23", "", "", "Say hello", reprise.OutcomeNothing},
		"claude/2.1.144-ends-with-auth":                  {"login", 2, "08:09:52", "", "", mark, reprise.OutcomeCaution},
		"claude/2.1.144-ends-with-overflow":              {"context", 2, "08:09:48", "", "", mark, reprise.OutcomeCaution},
		"claude/2.1.144-ends-with-overloaded":            {"error", 2, "08:09:44", "", "", mark, reprise.OutcomeOK},
		"claude/2.1.144-ends-with-quota":                 {"billing", 2, "08:09:55", "", "", mark, reprise.OutcomeCaution},
		"claude/2.1.144-ends-with-usage_limit":           {"limit", 2, "08:09:38", "", "", mark, reprise.OutcomeWait},
		"claude/2.1.144-kill9-in-push":                   {"killed", 0, "07:58:31", "", push, fix, reprise.OutcomeCaution},
		"claude/2.1.144-killed-while-permission-waits":   {"permission", 0, "08:05:13", "", ask, "Now run it", reprise.OutcomeOK},
		"claude/2.1.144-subagent":                        {"killed", 0, "08:36:33", "", "touch started; sleep 20; echo sub > sub.txt", "SUBPROMPT do the sub work", reprise.OutcomeCaution},
		"claude/2.1.144-tasks":                           {"killed", 0, "08:07:23", "", late, plan, reprise.OutcomeCaution},
		"claude/2.1.327-close-esc-busy":                  {"you", 3, "08:19:57", "", "", "Do it", reprise.OutcomeNothing},
		"claude/2.1.327-close-exit-busy":                 {"closed", 4, "08:19:37", "", sleep, "Do it", reprise.OutcomeCaution},
		"claude/2.1.327-close-exit-idle":                 {}, // no more than notes
		"claude/2.1.327-close-hup-busy":                  {"closed", 5, "08:19:22", "", sleep, "Do it", reprise.OutcomeCaution},
		"claude/2.1.327-close-hup-idle":                  {"finished", 0, "08:19:03", "", "", "Say hello", reprise.OutcomeNothing},
		"claude/2.1.327-ends-with-auth":                  {"login", 1, "08:09:29", "", "", mark, reprise.OutcomeCaution},
		"claude/2.1.327-ends-with-overflow":              {"context", 1, "08:09:25", "", "", mark, reprise.OutcomeCaution},
		"claude/2.1.327-ends-with-overloaded":            {"error", 1, "08:09:22", "", "", mark, reprise.OutcomeOK},
		"claude/2.1.327-ends-with-quota":                 {"billing", 2, "08:09:31", "", "", mark, reprise.OutcomeCaution},
		"claude/2.1.327-ends-with-usage_limit":           {"limit", 1, "08:09:15", "", "", mark, reprise.OutcomeWait},
		"claude/2.1.327-kill9-in-push":                   {"killed", 0, "07:58:28", "", push, fix, reprise.OutcomeCaution},
		"claude/2.1.327-killed-while-permission-waits":   {"permission", 0, "08:04:51", "", ask, "Now run it", reprise.OutcomeOK},
		"claude/2.1.327-subagent":                        {"finished", 0, "08:36:27", "", "", "SUBPROMPT do the sub work", reprise.OutcomeNothing},
		"claude/2.1.327-tasks":                           {"killed", 0, "08:07:19", "", late, plan, reprise.OutcomeCaution},
		"codex/0.133.0-ends-with-usage_limit":            {"limit", 3, "08:10:07", "11:10:06", "", "", reprise.OutcomeWait},
		"codex/0.133.0-kill9-in-push":                    {"unknown", 0, "07:58:36", "", push, fix, reprise.OutcomeCaution},
		"codex/0.133.0-permission-waits":                 {"unknown", 0, "08:41:41", "", "touch needs_permission.txt && curl -s http://127.0.0.1:1/", "Now run it", reprise.OutcomeCaution},
		"codex/0.133.0-plan":                             {"unknown", 0, "08:07:26", "", late, "", reprise.OutcomeCaution},
		"codex/0.169.0-close-esc-busy":                   {"you", 4, "08:22:23", "", "", "", reprise.OutcomeNothing},
		"codex/0.169.0-close-exit-idle":                  {"finished", 0, "08:21:27", "", "", "", reprise.OutcomeNothing},
		"codex/0.169.0-close-hup-busy":                   {"unknown", 0, "08:21:54", "", sleep, "", reprise.OutcomeCaution},
		"codex/0.169.0-ends-with-auth":                   {"login", 3, "08:10:05", "", "", "", reprise.OutcomeCaution},
		"codex/0.169.0-ends-with-overflow":               {"context", 3, "08:10:04", "", "", "", reprise.OutcomeCaution},
		"codex/0.169.0-ends-with-overloaded":             {"error", 3, "08:10:03", "", "", "", reprise.OutcomeOK},
		"codex/0.169.0-ends-with-quota":                  {"limit", 3, "08:10:06", "", "", "", reprise.OutcomeWait},
		"codex/0.169.0-ends-with-usage_limit":            {"limit", 3, "08:10:01", "11:10:00", "", "", reprise.OutcomeWait},
		"codex/0.169.0-kill9-in-push":                    {"unknown", 0, "07:58:35", "", push, fix, reprise.OutcomeCaution},
		"codex/0.169.0-plan":                             {"unknown", 0, "08:07:28", "", late, "", reprise.OutcomeCaution},
		"codex/0.169.0-terminal-closed-and-turn-went-on": {"finished", 0, "08:26:36", "", "", "", reprise.OutcomeNothing},
		"copilot/1.0.102-ends-with-auth":                 {"login", 3, "08:12:04", "", "", "", reprise.OutcomeCaution},
		"copilot/1.0.102-ends-with-overflow":             {"context", 3, "08:11:54", "", "", "", reprise.OutcomeCaution},
		"copilot/1.0.102-ends-with-quota":                {"killed", 0, "08:11:31", "", turn, "", reprise.OutcomeCaution},
		"copilot/1.0.102-kill9-in-push":                  {"killed", 0, "08:01:11", "", push, fix, reprise.OutcomeCaution},
		"copilot/1.0.102-todos-sql":                      {"killed", 0, "08:08:26", "", late, "", reprise.OutcomeCaution},
		"copilot/1.0.48-kill9-in-push":                   {"killed", 0, "08:01:29", "", push, fix, reprise.OutcomeCaution},
		"copilot/1.0.48-todos-sql":                       {"killed", 0, "08:08:37", "", late, "", reprise.OutcomeCaution},
		"gemini/0.42.0-kill9-in-push":                    {"unknown", 0, "07:58:56", "", turn, fix, reprise.OutcomeCaution},
		"gemini/0.61.0-ends-with-auth":                   {"unknown", 0, "08:10:24", "", turn, "", reprise.OutcomeCaution},
		"gemini/0.61.0-ends-with-overflow":               {"unknown", 0, "08:10:19", "", turn, "", reprise.OutcomeCaution},
		"gemini/0.61.0-ends-with-quota":                  {"unknown", 0, "08:10:13", "", turn, "", reprise.OutcomeCaution},
		"gemini/0.61.0-kill9-in-push":                    {"unknown", 0, "07:58:46", "", turn, fix, reprise.OutcomeCaution},
		"gemini/0.61.0-permission-waits":                 {"unknown", 0, "08:39:38", "", turn, "", reprise.OutcomeCaution},
		"gemini/0.61.0-todos":                            {"unknown", 0, "08:07:38", "", turn, "", reprise.OutcomeCaution},
		"qwen/0.15.10-kill9-in-push":                     {"unknown", 0, "08:00:39", "", push, fix, reprise.OutcomeCaution},
		"qwen/0.24.4-ends-with-auth":                     {"login", 3, "08:11:20", "", "", "", reprise.OutcomeCaution},
		"qwen/0.24.4-ends-with-overflow":                 {"context", 2, "08:11:03", "", "", "", reprise.OutcomeCaution},
		"qwen/0.24.4-ends-with-rate":                     {"limit", 3, "08:10:46", "", "", "", reprise.OutcomeWait},
		"qwen/0.24.4-kill9-in-push":                      {"unknown", 0, "08:00:20", "", push, fix, reprise.OutcomeCaution},
		"qwen/0.24.4-todos":                              {"unknown", 0, "08:08:14", "", late, "", reprise.OutcomeCaution},
	}
	all, err := filepath.Glob(samples + "/*/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		name := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ok := want[name]
			if !ok {
				t.Fatal("nothing is expected of it")
			}
			d := newDesk(t)
			d.recording(name + ".jsonl")
			if cli, rest, ok := strings.Cut(name, "-killed-while-"); ok {
				d.recording(cli + "-registry-left-by-kill9-while-" + rest + ".json")
			}
			now := time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC)
			o := Gather(t.Context(), d.dir, nil, now, Options{Environ: d.environ})
			if len(o.FolderUnread) > 0 {
				t.Error("not read:", o.FolderUnread)
			}
			for _, s := range o.Folder {
				var open []string
				for _, c := range s.Calls {
					open = append(open, c.Text)
				}
				line := 0
				if i := strings.LastIndexByte(s.End.Source, ':'); i >= 0 {
					line, _ = strconv.Atoi(s.End.Source[i+1:])
				}
				clock := func(at time.Time) string {
					if at.IsZero() {
						return ""
					}
					return at.UTC().Format(time.TimeOnly)
				}
				got := w
				got.by, got.line, got.at, got.until = s.End.By.String(), line-d.before, clock(s.End.At), clock(s.End.Until)
				got.call, got.first, got.outcome = strings.Join(open, "; "), s.FirstPrompt, s.Outcome(now)
				if line == 0 {
					got.line = 0
				}
				if got != w {
					t.Errorf("got  %+v\nwant %+v\n%s", got, w, s.Owner.Reason)
				}
				if s.End.By == reprise.EndedPermission && (len(s.Calls) != 1 || s.Calls[0].Landing != reprise.NotLanded) {
					t.Errorf("what waited for a permission was not begun: %+v", s.Calls)
				}
				if wanted := w.outcome != reprise.OutcomeNothing; s.Wanted(now) != wanted {
					t.Errorf("wanted: %v", s.Wanted(now))
				}
				w.by = ""
			}
			if w.by != "" {
				t.Error("it was not found")
			}
		})
	}
}

// What a session was doing when it ended is told by what its CLI left beside the
// transcript, and by the boot time. (issue 41, item 2)
func TestIssue41_what_else_tells_of_an_end(t *testing.T) {
	const (
		gone    = 4_190_001 // above every pid
		open    = `{"type":"user","message":{"role":"user","content":"Push it"},"timestamp":"AT","cwd":"DIR","sessionId":"s1-abcdef"}` + "\n" + `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"git push"}}],"stop_reason":"tool_use"},"timestamp":"AT","cwd":"DIR","sessionId":"s1-abcdef"}` + "\n"
		leaving = `{"type":"last-prompt","lastPrompt":"Push it","sessionId":"s1-abcdef"}` + "\n" + `{"type":"cost-state","sessionId":"s1-abcdef"}` + "\n"
	)
	boot := proc.Working(t.TempDir()).Booted
	recent := time.Now().Add(-time.Minute)
	if recent.Before(boot) {
		recent = boot.Add(time.Second)
	}
	for name, c := range map[string]struct {
		at               time.Time
		records          string
		status, typed    string
		by               reprise.EndedBy
		outcome          reprise.Outcome
		landing          reprise.Landing
		subagent, before bool
	}{
		"killed at work":               {at: recent, records: open, status: `"busy"`, by: reprise.EndedKilled, outcome: reprise.OutcomeCaution, landing: reprise.LandingUnknown},
		"killed while it asked":        {at: recent, records: open, status: `"waiting","waitingFor":"permission prompt"`, by: reprise.EndedPermission, outcome: reprise.OutcomeOK, landing: reprise.NotLanded},
		"killed after it asked before": {at: recent, records: open, status: `"waiting","waitingFor":"permission prompt"`, before: true, by: reprise.EndedKilled, outcome: reprise.OutcomeCaution, landing: reprise.LandingUnknown},
		"its terminal was closed":      {at: recent, records: open + leaving, by: reprise.EndedClosed, outcome: reprise.OutcomeCaution, landing: reprise.LandingUnknown},
		"a person left it":             {at: recent, records: open + leaving, typed: "/exit", by: reprise.EndedYou, outcome: reprise.OutcomeCaution, landing: reprise.LandingUnknown},
		"the machine went down":        {at: boot.Add(-time.Hour), records: open, by: reprise.EndedReboot, outcome: reprise.OutcomeCaution, landing: reprise.LandingUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(d.dir, "-")
			d.put(".claude/projects/"+slug+"/s1-abcdef.jsonl", strings.ReplaceAll(c.records, "AT", c.at.UTC().Format(time.RFC3339Nano)))
			if c.status != "" {
				told := c.at.Add(time.Second)
				if c.before {
					told = c.at.Add(-time.Minute)
				}
				d.put(".claude/sessions/1.json", fmt.Sprintf(`{"pid":%d,"sessionId":"s1-abcdef","cwd":"DIR","startedAt":1,"procStart":"1","updatedAt":%d,"status":%s}`, gone, told.UnixMilli(), c.status))
			}
			if c.typed != "" {
				d.put(".claude/history.jsonl", fmt.Sprintf(`{"display":%q,"timestamp":%d,"sessionId":"s1-abcdef"}`+"\n", c.typed, c.at.Add(time.Second).UnixMilli()))
			}
			now := time.Now()
			o := Gather(t.Context(), d.dir, nil, now, Options{Environ: d.environ, Brief: true})
			if len(o.Folder) != 1 {
				t.Fatalf("%+v, not read: %v", o.Folder, o.FolderUnread)
			}
			s := o.Folder[0]
			if s.End.By != c.by || s.Outcome(now) != c.outcome || len(s.Calls) != 1 || s.Calls[0].Landing != c.landing || !s.Wanted(now) || s.State(now) != reprise.Interrupted {
				t.Errorf("by %v, outcome %v, %v, calls %+v; %+v", s.End.By, s.Outcome(now), s.State(now), s.Calls, s.Owner)
			}
			if !strings.HasSuffix(s.Next(), "claude --resume s1-abcdef") {
				t.Error(s.Next())
			}
		})
	}
}

// What a helper left open belongs to the session that started it; text of a session is one
// plain line, without secrets.
func TestIssue41_helpers_and_titles(t *testing.T) {
	d := newDesk(t)
	slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(d.dir, "-")
	d.put(".claude/projects/"+slug+"/s1-abcdef.jsonl", `{"type":"custom-title","customTitle":"Red \u001b[31mfix\u001b[0m\n\u202eevil","sessionId":"s1-abcdef"}
{"type":"user","message":{"role":"user","content":"Use password=hunter2hunter2 and go"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1-abcdef"}
{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1-abcdef"}
`)
	d.put(".claude/projects/"+slug+"/s1-abcdef/subagents/agent-1.jsonl", `{"type":"user","isSidechain":true,"message":{"role":"user","content":"sub"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1-abcdef"}
{"type":"assistant","isSidechain":true,"message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"git push"}}],"stop_reason":"tool_use"},"timestamp":"NOW","cwd":"DIR","sessionId":"s1-abcdef"}
`)
	now := time.Now()
	o := Gather(t.Context(), d.dir, nil, now, Options{Environ: d.environ, Brief: true})
	o2 := Gather(t.Context(), d.dir, nil, now, Options{Environ: d.environ})
	for _, o := range []reprise.Observed{o, o2} {
		list := o.WantedSessions(false)
		if len(list) != 1 || len(list[0].Calls) != 1 {
			t.Fatalf("%+v, not read: %v", list, o.FolderUnread)
		}
	}
	for _, s := range o2.WantedSessions(false) {
		if s.Title != "Red fix evil" || strings.Contains(s.FirstPrompt, "hunter2") || s.LastWords != "Done." {
			t.Errorf("%q %q %q", s.Title, s.FirstPrompt, s.LastWords)
		}
	}
}

// However little time there is, the latest session is looked at, and what was not is told.
func TestIssue41_a_glance_sees_the_latest_session(t *testing.T) {
	d := newDesk(t)
	slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(d.dir, "-")
	for _, id := range []string{"s1-abcdef", "s2-abcdef", "s3-abcdef"} {
		d.put(".claude/projects/"+slug+"/"+id+".jsonl", `{"type":"user","message":{"role":"user","content":"go"},"timestamp":"NOW","cwd":"DIR","sessionId":"`+id+`"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"git push"}}],"stop_reason":"tool_use"},"timestamp":"NOW","cwd":"DIR","sessionId":"`+id+`"}
`)
	}
	o := Gather(t.Context(), d.dir, nil, time.Now(), Options{Environ: d.environ, Brief: true, SessionsTime: time.Nanosecond})
	if list := o.WantedSessions(false); len(list) != 1 || !slices.ContainsFunc(o.FolderUnread, func(u reprise.UnreadSession) bool { return u.Left }) {
		t.Errorf("%+v, not read: %v", list, o.FolderUnread)
	}
}
