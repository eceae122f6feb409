package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

func readCopilot(s *stream, raw []byte) string {
	var e struct {
		Type    string `json:"type"`
		Session string `json:"sessionId"`
		Exit    *int   `json:"exitCode"`
		Data    struct {
			Content string          `json:"content"`
			Call    string          `json:"toolCallId"`
			Tool    string          `json:"toolName"`
			Input   json.RawMessage `json:"arguments"`
			Message string          `json:"message"`
			Detail  string          `json:"errorMessage"`
			Status  int             `json:"statusCode"`
			Kind    string          `json:"errorType"`
			Error   json.RawMessage `json:"error"`
		} `json:"data"`
	}
	odd := decode(raw, &e)
	s.in(e.Session)
	if s.wrong {
		return ""
	}
	switch e.Type {
	case "assistant.turn_start":
		s.begin()
	case "assistant.message":
		if e.Data.Content != "" {
			s.error = cause{} // it answers
			return s.say(e.Data.Content, false)
		}
	case "tool.execution_start":
		return s.started(e.Data.Call, e.Data.Tool, inputSummary(e.Data.Input))
	case "tool.execution_complete":
		s.finished(e.Data.Call)
		var failure struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		}
		decode(e.Data.Error, &failure)
		if failure.Code == "denied" || failure.Code == "rejected" {
			s.refused(cmp.Or(firstLine(failure.Message), "a tool was not allowed"))
		}
	case "session.error", "model.call_failure":
		c := explain(e.Data.Status, cmp.Or(e.Data.Message, e.Data.Detail, e.Data.Kind), s.now())
		if c.outcome != Failed || s.error.outcome == "" {
			s.error = c // what it says last is often less than what it said first
		}
		s.waits = s.error
	case "abort":
		// Whatever it calls its end after this.
		s.error = cause{outcome: Killed, reason: "it was interrupted"}
		s.ending = ending{Killed, "it was interrupted", time.Time{}}
	case "result":
		switch {
		case odd || e.Exit == nil:
		case *e.Exit == 0 && s.error.outcome == "":
			s.ending = ending{outcome: Done}
		case s.error.outcome != "":
			s.ending = ending{s.error.outcome, s.error.reason, s.error.until}
		default:
			s.failed(0, fmt.Sprintf("it says that it exits with %d", *e.Exit))
		}
	}
	return ""
}
