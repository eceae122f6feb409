package agent

import (
	"fmt"

	"reprise/internal/loose"
)

func readCopilot(s *stream, e loose.Value) string {
	s.in(e.Text("sessionId"))
	if s.wrong {
		return ""
	}
	data := e.At("data")
	switch e.Text("type") {
	case "assistant.turn_start":
		s.begin()
	case "assistant.message":
		if content := data.Text("content"); content != "" {
			s.error = cause{} // it answers
			return s.say(content, false)
		}
	case "tool.execution_start":
		return s.started(data.Text("toolCallId"), data.Text("toolName"), inputText(data.At("arguments")))
	case "tool.execution_complete":
		if code := data.Text("error", "code"); code == "denied" || code == "rejected" {
			s.denied(s.opened(data.Text("toolCallId")))
		}
		s.finished(data.Text("toolCallId"))
	case "session.error", "model.call_failure":
		c := explain(int(data.Number("statusCode")), data.First("message", "errorMessage", "errorType"), s.now())
		if c.outcome != Failed || s.error.outcome == "" {
			s.error = c // what it says last is often less than what it said first
		}
		s.waits = s.error
	case "abort":
		// Whatever it calls its end after this.
		s.error = cause{outcome: Killed, reason: "it was interrupted"}
		s.ending = cause{outcome: Killed, reason: "it was interrupted"}
	case "result":
		exit := e.Number("exitCode")
		switch {
		case e.Odd() || !e.Has("exitCode"):
		case exit == 0 && s.error.outcome == "":
			s.ending = cause{outcome: Done}
		case s.error.outcome != "":
			s.ending = s.error
		default:
			s.failed(0, fmt.Sprintf("it says that it exits with %v", exit))
		}
	}
	return ""
}
