package transcript

import (
	"cmp"

	"reprise"
	"reprise/internal/loose"
)

// copilot reads a line of session-state/ID/events.jsonl.
func (b *builder) copilot(r loose.Value) {
	at, d := r.Time("timestamp"), r.At("data")
	b.at(at)
	switch r.Text("type") {
	case "session.start", "session.resume":
		b.about(d.Text("sessionId"), d.Text("context", "cwd"), d.Text("copilotVersion"))
		b.s.Branch = cmp.Or(d.Text("context", "branch"), b.s.Branch)
		b.opened()
	case "user.message":
		b.prompt()
		b.asked(d.At("content"))
	case "session.error":
		b.failed(at, d.Text("errorType"), d.Number("statusCode"), d.Text("message"), "")
	case "abort":
		b.stopped(at, true)
	case "assistant.message":
		requests := d.List("toolRequests")
		b.answer(len(requests) == 0)
		b.says(d.At("content"))
		// A request that was not begun yet may have been when it was killed.
		for _, q := range requests {
			b.start(Call{ID: q.Text("toolCallId"), Tool: q.Text("name"), Input: parseInput(q.At("arguments")), Started: at})
		}
	case "tool.execution_start":
		b.start(Call{ID: d.Text("toolCallId"), Tool: d.Text("toolName"), Input: parseInput(d.At("arguments")), Started: at})
	case "tool.execution_complete":
		b.over = false
		b.result(d.Text("toolCallId"), d.Text("result", "content"))
	case "session.usage_record":
		u := d.At("usage")
		b.used(r.Text("id"), Request{At: at, Request: reprise.Request{Model: u.Text("model"), Tokens: Inclusive(u)}})
	case "session.shutdown":
		if !b.over {
			b.s.End = End{By: reprise.EndedClosed, At: at, Line: b.line}
		}
		b.over = true
	}
}
