package engine_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/engine"
)

// TestS4_a_session_that_takes_over_is_told_no_secret briefs a new session on the
// calls of an old one, which hold secrets.
func TestS4_a_session_that_takes_over_is_told_no_secret(t *testing.T) {
	home := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", home) // where sessions are looked for
	dir := repository(t)
	put(t, dir, "flow.yaml", asking)
	known, formed, named := "a long "+"known value", "ghp_"+strings.Repeat("q7W8", 9), "hunter"+"2hunter2"
	leaveSession := func() {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		folder := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, real)
		now := time.Now().UTC().Format(time.RFC3339Nano)
		var text strings.Builder
		record := func(kind string, content any) {
			line, err := json.Marshal(map[string]any{"type": kind, "timestamp": now, "cwd": real, "sessionId": "old", "message": map[string]any{"role": kind, "content": content}})
			if err != nil {
				t.Fatal(err)
			}
			text.Write(append(line, '\n'))
		}
		record("user", "go")
		for i, command := range []string{"./deploy '" + known + "' --now", "./deploy " + formed, "DB_PASSWORD=" + named + " ./migrate"} {
			record("assistant", []any{map[string]any{"type": "tool_use", "id": string(rune('a' + i)), "name": "Bash", "input": map[string]any{"command": command}}})
		}
		put(t, home, "projects/"+folder+"/old.jsonl", text.String())
	}
	var prompts []string
	e := stubbed(dir, map[string]func(agent.Job) *agent.Result{"worker": func(job agent.Job) *agent.Result {
		prompts = append(prompts, job.Prompt)
		if job.Step != "b" || len(prompts) > 2 {
			return made(job)
		}
		leaveSession()
		return &agent.Result{Outcome: agent.OutOfContext, Session: "old", Reason: "prompt is too long"}
	}})
	e.Environ = append(e.Environ, "SHOP_TOKEN="+known)
	w, hash, err := readFlow(dir + "/flow.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ref, err := e.BeginFlow(t.Context(), w, "flow.yaml", hash, reprise.Goal{ID: "one"}, engine.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if sum, err := e.Resume(t.Context(), ref, engine.Choice{}); err != nil || sum.State != reprise.Complete {
		t.Fatalf("%+v %v", sum, err)
	}
	last := prompts[len(prompts)-1]
	for _, want := range []string{"./deploy '[redacted]' --now", "./deploy [redacted: GitHub token]", "DB_PASSWORD=[redacted: password] ./migrate"} {
		if !strings.Contains(last, want) {
			t.Errorf("the briefing does not tell %q", want)
		}
	}
	for _, secret := range []string{known, formed, named} {
		if strings.Contains(last, secret) {
			t.Errorf("the briefing tells %q", secret)
		}
	}
	if t.Failed() {
		t.Log(last)
	}
}
