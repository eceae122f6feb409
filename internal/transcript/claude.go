package transcript

import (
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
			b.over = false
		case !meta:
			b.claudeSays(said(r.At("message", "content")))
		}
	case "summary", "file-history-snapshot", "custom-title", "ai-title", "agent-name", "tag", "last-prompt", "attribution-snapshot":
		b.notes++
	}
}

// claudeSays notes what a person typed. What a command of claude's own printed goes to
// no model, and an interrupted turn is one that a person ended.
func (b *builder) claudeSays(text string) {
	begins := func(tag string) bool { return strings.HasPrefix(text, tag) }
	switch {
	case begins("<local-command-std"), begins("<bash-std"):
		b.over = b.before
	case begins("[Request interrupted by user"):
		b.over = true
	default:
		b.prompt()
	}
}

// framed notes what every record of claude and qwen says.
func (b *builder) framed(r loose.Value) {
	b.at(r.Time("timestamp"))
	b.about(r.Text("sessionId"), r.Text("cwd"), r.Text("version"))
}

// qwen reads a line of projects/DIR/chats/ID.jsonl: the frame of claude around
// the messages of gemini's interface.
func (b *builder) qwen(r loose.Value) {
	b.framed(r)
	parts := r.List("message", "parts")
	switch kind := r.Text("type"); kind {
	case "system":
		if e := r.At("systemPayload", "uiEvent"); e.Has("input_token_count") {
			b.used(r.Text("uuid"), Request{r.Time("timestamp"), e.Has("subagent_name"), reprise.Request{Model: e.Text("model"), Tokens: Inclusive(e)}})
		}
	case "assistant":
		b.answer(true)
		for _, p := range parts {
			b.geminiCall(p.At("functionCall"), r.Time("timestamp"))
		}
	case "user", "tool_result":
		if b.results(parts) == 0 && kind == "user" {
			b.prompt()
		} else {
			b.over = false
		}
	}
}
