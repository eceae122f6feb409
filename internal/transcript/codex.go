package transcript

import (
	"cmp"

	"reprise"
	"reprise/internal/loose"
)

// codex reads a line of sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl.
func (b *builder) codex(r loose.Value) {
	at, p := r.Time("timestamp"), r.At("payload")
	b.at(at)
	switch r.Text("type") + "/" + p.Text("type") {
	case "session_meta/":
		b.about(p.Text("id"), p.Text("cwd"), p.Text("cli_version"))
		b.s.Branch = cmp.Or(p.Text("git", "branch"), b.s.Branch)
		if source := p.At("source"); source.Apart().Fields() != nil {
			b.s.Parent = cmp.Or(source.Apart().Text("subagent", "thread_spawn", "parent_thread_id"), b.s.Parent)
		}
	case "turn_context/":
		b.about("", p.Text("cwd"), "")
		b.model = p.Text("model")
	case "token_usage_record/":
		b.counted = true
		b.used(p.Text("response_id"), Request{At: at, Request: reprise.Request{Model: b.model, Tokens: Inclusive(p.At("usage"))}})
	case "event_msg/token_count":
		for _, window := range []string{"primary", "secondary"} {
			if w := p.At("rate_limits", window); w.Number("used_percent") >= 100 {
				b.full = latest(b.full, w.Time("resets_at"))
			}
		}
		// Versions without the records above repeat the last request whenever they tell
		// of their limits; a new one has another total.
		if total := p.At("info", "total_token_usage").JSON(); total != b.total && !b.counted {
			b.total = total
			b.used("", Request{At: at, Request: reprise.Request{Model: b.model, Tokens: Inclusive(p.At("info", "last_token_usage"))}})
		}
	case "event_msg/task_started", "event_msg/turn_started":
		b.prompt()
	case "event_msg/task_complete", "event_msg/turn_complete":
		b.answer(true)
		// Versions without errors in it tell of a limit only by what is used up of it.
		if e := p.At("error"); e.Has() {
			info := e.At("codex_error_info")
			kind, _ := info.Apart().String()
			status := 0.0
			for _, how := range info.Apart().Fields() {
				status = max(status, how.Number("http_status_code"))
			}
			b.failed(at, kind, status, e.Text("message"), "")
		} else if !p.Has("last_agent_message") && b.full.After(at) {
			b.failed(at, "usage_limit_exceeded", 0, "", "")
		}
	case "event_msg/turn_aborted":
		b.over = true
		if reason := p.Text("reason"); reason == "" || reason == "interrupted" {
			b.stopped(at, true)
		}
	case "event_msg/user_message":
		b.asked(p.At("message"))
	case "event_msg/thread_name_updated":
		b.s.Title = cmp.Or(p.Text("thread_name"), b.s.Title)
	case "response_item/message":
		switch p.Text("role") {
		case "assistant":
			b.answer(false)
			b.says(p.At("content"))
		case "user":
			b.asked(p.At("content"))
		}
	case "response_item/function_call", "response_item/custom_tool_call", "response_item/local_shell_call":
		var in loose.Value
		for _, name := range []string{"arguments", "input", "action"} {
			if !in.Has() {
				in = p.At(name)
			}
		}
		b.answer(false)
		b.start(Call{ID: p.Text("call_id"), Tool: cmp.Or(p.Text("name"), "local_shell"), Input: parseInput(in), Started: at})
	case "response_item/function_call_output", "response_item/custom_tool_call_output", "response_item/local_shell_call_output":
		b.over = false
		// A command that outlived its call is ended by a later one that wrote to
		// it; which, only the text could tell: it stays open until its turn ends.
		b.result(p.Text("call_id"), said(p.At("output")))
	}
}
