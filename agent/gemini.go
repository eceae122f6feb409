package agent

import (
	"cmp"
	"encoding/json"
)

func readGemini(s *stream, raw []byte) string {
	var e struct {
		Type     string          `json:"type"`
		Session  string          `json:"session_id"`
		Role     string          `json:"role"`
		Content  string          `json:"content"`
		Delta    bool            `json:"delta"`
		Tool     string          `json:"tool_name"`
		ID       string          `json:"tool_id"`
		Input    json.RawMessage `json:"parameters"`
		Status   string          `json:"status"`
		Message  string          `json:"message"`
		Severity string          `json:"severity"`
		Error    struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	odd := decode(raw, &e)
	switch e.Type {
	case "init":
		s.in(e.Session)
		s.begin()
	case "message":
		if e.Role == "assistant" {
			return s.say(e.Content, e.Delta)
		}
	case "tool_use":
		return s.started(e.ID, e.Tool, inputSummary(e.Input))
	case "tool_result":
		s.finished(e.ID)
	case "error":
		s.error = explain(0, e.Message, s.now())
	case "result":
		switch {
		case odd:
		case e.Status == "success":
			s.ending = ending{outcome: Done}
		default:
			s.failed(0, cmp.Or(e.Error.Message, e.Error.Type, "it says "+e.Status))
		}
	}
	return ""
}
