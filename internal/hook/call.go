package hook

import "encoding/json"

// Call is what a tool tells when it calls us. All of it was written by others.
type Call struct {
	Session    string
	Transcript string // a path
	Dir        string // where the session works
	Reason     string // why it begins, ends or is compacted
}

// ReadCall reads what a tool writes to our standard input. What is not there, or is
// something else, is left empty.
func ReadCall(data []byte) Call {
	var told map[string]any
	_ = json.Unmarshal(data, &told) // git tells nothing
	text := func(names ...string) string {
		for _, name := range names {
			if s, ok := told[name].(string); ok && s != "" {
				return s
			}
		}
		return ""
	}
	return Call{
		Session: text("session_id", "sessionId"), Transcript: text("transcript_path", "transcriptPath"), Dir: text("cwd"),
		Reason: text("reason", "trigger", "source", "stopReason"),
	}
}
