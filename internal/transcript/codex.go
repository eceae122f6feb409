package transcript

import (
	"encoding/json"
	"io/fs"
)

// codexRecord is a line of a rollout.
type codexRecord struct {
	Timestamp moment `json:"timestamp"`
	Type      text   `json:"type"`
	Payload   struct {
		Type    text `json:"type"`
		ID      text `json:"id"`
		Cwd     text `json:"cwd"`
		Version text `json:"cli_version"`

		Name      text            `json:"name"`
		CallID    text            `json:"call_id"`
		Arguments json.RawMessage `json:"arguments"`
		Input     json.RawMessage `json:"input"`
		Action    json.RawMessage `json:"action"`
		Output    json.RawMessage `json:"output"`
		Role      text            `json:"role"`
	} `json:"payload"`
}

// readCodex reads sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl.
func readCodex(fsys fs.FS, name string) (*Session, error) {
	b := newBuilder(Codex, name)
	r, err := readFile(fsys, name, b.codex)
	if err != nil {
		return nil, err
	}
	return b.finish(r), nil
}

func (b *builder) codex(raw []byte) {
	var r codexRecord
	decode(raw, &r)
	b.at(r.Timestamp.Time)
	p := &r.Payload
	switch string(r.Type) + "/" + string(p.Type) {
	case "session_meta/":
		b.about(string(p.ID), string(p.Cwd), string(p.Version))
	case "turn_context/":
		b.about("", string(p.Cwd), "")
	case "event_msg/task_started", "event_msg/turn_started":
		b.prompt()
	case "event_msg/task_complete", "event_msg/turn_complete", "event_msg/turn_aborted":
		b.over = true
	case "response_item/message":
		if p.Role == "assistant" {
			b.answer(false)
		}
	case "response_item/function_call", "response_item/custom_tool_call", "response_item/local_shell_call":
		in := p.Arguments
		for _, other := range []json.RawMessage{p.Input, p.Action} {
			if len(in) == 0 {
				in = other
			}
		}
		b.answer(false)
		b.start(Call{ID: string(p.CallID), Tool: firstOf(string(p.Name), "local_shell"), Input: parseInput(in), Started: r.Timestamp.Time})
	case "response_item/function_call_output", "response_item/custom_tool_call_output", "response_item/local_shell_call_output":
		b.over = false
		b.codexResult(string(p.CallID), p.Output)
	}
}

// codexResult notes a result. A command that outlived its call is ended by a
// later one that wrote to it; which, only the text could tell: it stays open
// until its turn ends.
func (b *builder) codexResult(id string, output json.RawMessage) {
	var t string
	if json.Unmarshal(output, &t) != nil {
		var o struct {
			Content text `json:"content"`
		}
		decode(output, &o)
		t = string(o.Content)
		if t == "" {
			t = resultText(output)
		}
	}
	b.result(id, t)
}
