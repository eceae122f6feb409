package agent

import (
	"cmp"

	"reprise/internal/loose"
)

func readGemini(s *stream, e loose.Value) string {
	switch e.Text("type") {
	case "init":
		s.in(e.Text("session_id"))
		s.begin()
	case "message":
		if e.Text("role") == "assistant" {
			delta, _ := e.At("delta").Bool()
			return s.say(e.Text("content"), delta)
		}
	case "tool_use":
		return s.started(e.Text("tool_id"), e.Text("tool_name"), inputText(e.At("parameters")))
	case "tool_result":
		if e.Text("error", "type") == "policy_violation" {
			s.denied(s.opened(e.Text("tool_id")))
		}
		s.finished(e.Text("tool_id"))
	case "error":
		s.error = explain(0, e.Text("message"), s.now())
	case "result":
		s.usedGemini(e.At("stats").Apart())
		status, problem := e.Text("status"), e.At("error").First("message", "type")
		switch {
		case e.Odd():
		case status == "success":
			s.ending = cause{outcome: Done}
		default:
			s.failed(0, cmp.Or(problem, "it says "+status))
		}
	}
	return ""
}
