package transcript

// copilot reads a line of session-state/ID/events.jsonl.
func (b *builder) copilot(r value) {
	at, d := r.time("timestamp"), r.at("data")
	b.at(at)
	switch r.text("type") {
	case "session.start", "session.resume":
		b.about(d.text("sessionId"), d.text("context", "cwd"), d.text("copilotVersion"))
	case "user.message":
		b.prompt()
	case "assistant.message":
		requests := d.list("toolRequests")
		b.answer(len(requests) == 0)
		// A request that was not begun yet may have been when it was killed.
		for _, q := range requests {
			b.start(Call{ID: q.text("toolCallId"), Tool: q.text("name"), Input: parseInput(q.at("arguments")), Started: at})
		}
	case "tool.execution_start":
		b.start(Call{ID: d.text("toolCallId"), Tool: d.text("toolName"), Input: parseInput(d.at("arguments")), Started: at})
	case "tool.execution_complete":
		b.over = false
		b.result(d.text("toolCallId"), d.text("result", "content"))
	case "session.shutdown":
		b.over = true
	}
}
