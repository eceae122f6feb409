package agent

import (
	"cmp"
	"encoding/json"
)

var gemini = Preset{
	Name: "gemini", Program: "gemini", Tested: "0.61.0", Chooses: true, session: uuid,
	argv: geminiArgs, read: readGemini, approves: []string{"--approval-mode", "--yolo", "-y"},
	// Otherwise it starts itself again as a child that outlives it and ignores
	// the request to stop.
	env: []string{"GEMINI_CLI_NO_RELAUNCH=true"},
}

func geminiArgs(o Options, session string, resume bool) []string {
	return geminiLike(o, session, resume, "auto_edit", "-r")
}

// geminiLike are the arguments of gemini and of what descends from it, which
// spell two of them in their own way.
func geminiLike(o Options, session string, resume bool, edits, again string) []string {
	args := []string{"-o", "stream-json"}
	switch o.Approve {
	case ApproveAll:
		args = append(args, "--approval-mode", "yolo")
	case ApproveNone:
	default:
		args = append(args, "--approval-mode", edits)
	}
	if o.Model != "" {
		args = append(args, "-m", o.Model)
	}
	if resume {
		return append(args, again, session)
	}
	return append(args, "--session-id", session)
}

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
