package transcript

import "slices"

// claude reads a line of projects/DIR/ID.jsonl. Records are chained by a parent,
// which is not needed: the order of the file is that of events.
func (b *builder) claude(r value) {
	b.framed(r)
	blocks := r.list("message", "content")
	switch r.text("type") {
	case "assistant":
		calls := slices.ContainsFunc(blocks, func(c value) bool { return c.text("type") == "tool_use" })
		stop := r.text("message", "stop_reason")
		b.answer(!calls && (stop == "end_turn" || stop == "stop_sequence"))
		for _, c := range blocks {
			if c.text("type") == "tool_use" {
				b.start(Call{ID: c.text("id"), Tool: c.text("name"), Dir: r.text("cwd"), Input: parseInput(c.at("input")), Started: r.time("timestamp")})
			}
		}
	case "user":
		results := 0
		for _, c := range blocks {
			if c.text("type") == "tool_result" {
				results++
				b.result(c.text("tool_use_id"), c.at("content").said())
			}
		}
		if results > 0 {
			b.over = false
		} else if r.at("isMeta").any != true {
			b.prompt()
		}
	}
}

// framed notes what every record of claude and qwen says.
func (b *builder) framed(r value) {
	b.at(r.time("timestamp"))
	b.about(r.text("sessionId"), r.text("cwd"), r.text("version"))
}

// qwen reads a line of projects/DIR/chats/ID.jsonl: the frame of claude around
// the messages of gemini's interface.
func (b *builder) qwen(r value) {
	b.framed(r)
	parts := r.list("message", "parts")
	switch kind := r.text("type"); kind {
	case "assistant":
		b.answer(true)
		for _, p := range parts {
			b.geminiCall(p.at("functionCall"), r.time("timestamp"))
		}
	case "user", "tool_result":
		if b.results(parts) == 0 && kind == "user" {
			b.prompt()
		} else {
			b.over = false
		}
	}
}
