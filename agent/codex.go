package agent

import (
	"encoding/json"
	"strings"
)

func readCodex(s *stream, raw []byte) string {
	var e struct {
		Type    string `json:"type"`
		Thread  string `json:"thread_id"`
		Message string `json:"message"`
		Item    struct {
			ID      string          `json:"id"`
			Type    string          `json:"type"`
			Text    string          `json:"text"`
			Command string          `json:"command"`
			Status  string          `json:"status"`
			Tool    string          `json:"tool"`
			Input   json.RawMessage `json:"arguments"`
			Query   string          `json:"query"`
		} `json:"item"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	odd := decode(raw, &e)
	switch e.Type {
	case "thread.started":
		s.in(e.Thread)
	case "turn.started":
		s.begin()
	case "item.started":
		input := firstLine(e.Item.Command + e.Item.Query)
		if input == "" {
			input = inputSummary(e.Item.Input)
		}
		tool := e.Item.Type
		if e.Item.Tool != "" {
			tool = e.Item.Tool
		}
		return s.started(e.Item.ID, tool, input)
	case "item.completed":
		s.finished(e.Item.ID)
		switch {
		case e.Item.Type == "agent_message":
			return s.say(e.Item.Text, false)
		case e.Item.Status == "declined":
			s.refused("may it run " + firstLine(e.Item.Command))
		}
	case "error":
		// It tries again after most of them and says so in prose only.
		s.error = explain(0, e.Message, s.now())
		if strings.HasPrefix(e.Message, "Reconnecting") || strings.Contains(e.Message, "waiting for network") {
			s.waits = s.error
		}
	case "turn.completed":
		if !odd {
			s.ending = ending{outcome: Done}
		}
	case "turn.failed":
		s.failed(0, e.Error.Message)
	}
	return ""
}
