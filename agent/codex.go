package agent

import (
	"cmp"
	"strings"

	"reprise/internal/loose"
)

func readCodex(s *stream, e loose.Value) string {
	item := e.At("item")
	switch e.Text("type") {
	case "thread.started":
		s.in(e.Text("thread_id"))
	case "turn.started":
		s.begin()
	case "item.started":
		input := cmp.Or(item.Text("command")+item.Text("query"), inputText(item.At("arguments")))
		return s.started(item.Text("id"), item.First("tool", "type"), input)
	case "item.completed":
		s.finished(item.Text("id"))
		switch {
		case item.Text("type") == "agent_message":
			return s.say(item.Text("text"), false)
		case item.Text("status") == "declined":
			s.denied(item.Text("type"), item.Text("command"))
		}
	case "error":
		// It tries again after most of them and says so in prose only.
		message := e.Text("message")
		s.error = explain(0, message, s.now())
		if strings.HasPrefix(message, "Reconnecting") || strings.Contains(message, "waiting for network") {
			s.waits = s.error
		}
	case "turn.completed":
		s.usedInAll(e.At("usage").Apart())
		if e.Text("error", "message"); !e.Odd() {
			s.ending = cause{outcome: Done}
		}
	case "turn.failed":
		s.failed(0, e.Text("error", "message"))
	}
	return ""
}
