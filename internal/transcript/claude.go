package transcript

import (
	"cmp"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/loose"
)

// claude reads a line of projects/DIR/ID.jsonl. Records are chained by a parent,
// which is not needed: the order of the file is that of events.
func (b *builder) claude(r loose.Value) {
	b.framed(r)
	blocks := r.List("message", "content")
	switch r.Text("type") {
	case "assistant":
		calls := slices.ContainsFunc(blocks, func(c loose.Value) bool { return c.Text("type") == "tool_use" })
		stop := r.Text("message", "stop_reason")
		b.answer(!calls && (stop == "end_turn" || stop == "stop_sequence"))
		if failed, _ := r.At("isApiErrorMessage").Bool(); failed {
			said := said(r.At("message", "content"))
			b.failed(r.Time("timestamp"), r.Text("error"), r.Number("apiErrorStatus"), said, r.Text("errorDetails"))
		} else {
			b.says(r.At("message", "content"))
		}
		if m := r.At("message"); m.Has("usage") && m.Text("model") != "<synthetic>" {
			b.used(m.Text("id"), Request{At: r.Time("timestamp"), Request: reprise.Request{Model: m.Text("model"), Tokens: Anthropic(m.At("usage"))}})
		}
		for _, c := range blocks {
			if c.Text("type") == "tool_use" {
				b.start(Call{ID: c.Text("id"), Tool: c.Text("name"), Dir: r.Text("cwd"), Input: parseInput(c.At("input")), Started: r.Time("timestamp")})
			}
		}
	case "user":
		results := 0
		for _, c := range blocks {
			if c.Text("type") == "tool_result" {
				results++
				// qwen prints that of every call when it is stopped, whatever the call did.
				if text := said(c.At("content")); !strings.HasPrefix(text, "[Operation Cancelled]") {
					b.result(c.Text("tool_use_id"), text)
				}
			}
		}
		meta, _ := r.At("isMeta").Bool()
		switch {
		case results > 0:
			b.over, b.s.Left = false, 0
		case !meta:
			b.claudeSays(r)
		}
	case "custom-title":
		b.s.Title = cmp.Or(r.Text("customTitle"), b.s.Title)
		b.notes++
	case "ai-title", "summary":
		b.s.Title = cmp.Or(b.s.Title, r.First("aiTitle", "summary"))
		b.notes++
	case "last-prompt":
		b.s.Latest = cmp.Or(plainly(r.Text("lastPrompt")), b.s.Latest)
		b.notes++
	case "permission-mode", "cost-state": // what it writes when it is left
		b.s.Left = b.line
		b.notes++
	case "system":
		if r.Text("subtype") == "turn_duration" {
			b.over = true
		}
	case "mode", "file-history-snapshot", "agent-name", "tag", "attribution-snapshot":
		b.notes++
	}
}

// claudeSays notes what a person typed. What a command of claude's own printed goes to
// no model, and an interrupted turn is one that a person ended.
func (b *builder) claudeSays(r loose.Value) {
	text := said(r.At("message", "content"))
	begins := func(tag string) bool { return strings.HasPrefix(text, tag) }
	switch {
	case begins("<command-name>/exit<"), begins("<command-name>/quit<"):
		b.opened()
		b.before = b.over
		b.stopped(r.Time("timestamp"), false)
	case begins("<local-command-std"), begins("<bash-std"):
		b.over = b.before
	case begins("[Request interrupted by user"):
		b.stopped(r.Time("timestamp"), true)
	default:
		b.prompt()
		b.asked(r.At("message", "content"))
	}
}

// framed notes what every record of claude and qwen says.
func (b *builder) framed(r loose.Value) {
	b.at(r.Time("timestamp"))
	b.about(r.Text("sessionId"), r.Text("cwd"), r.Text("version"))
	b.s.Branch = cmp.Or(r.Text("gitBranch"), b.s.Branch)
	if helper, _ := r.At("isSidechain").Bool(); helper && strings.Contains(b.s.Path, "/subagents/") {
		b.s.Parent = cmp.Or(r.Text("sessionId"), b.s.Parent)
	}
}

// qwen reads a line of projects/DIR/chats/ID.jsonl: the frame of claude around
// the messages of gemini's interface.
func (b *builder) qwen(r loose.Value) {
	b.framed(r)
	parts := r.List("message", "parts")
	switch kind := r.Text("type"); kind {
	case "system":
		e := r.At("systemPayload", "uiEvent")
		if e.Has("error_message") && strings.HasSuffix(e.Text("event.name"), ".api_error") && !e.Has("subagent_name") {
			b.failed(r.Time("timestamp"), e.Text("error_type"), e.Number("status_code"), e.Text("error_message"), "")
			b.s.Retries = true
		}
		if e.Has("input_token_count") {
			b.used(r.Text("uuid"), Request{r.Time("timestamp"), e.Has("subagent_name"), reprise.Request{Model: e.Text("model"), Tokens: Inclusive(e)}})
		}
	case "assistant":
		b.answer(true)
		b.says(r.At("message", "parts"))
		for _, p := range parts {
			b.geminiCall(p.At("functionCall"), r.Time("timestamp"))
		}
	case "user", "tool_result":
		if b.results(parts) == 0 && kind == "user" {
			b.prompt()
			b.asked(r.At("message", "parts"))
		} else {
			b.over = false
		}
	}
}
