package transcript

import (
	"encoding/json"
	"io/fs"
)

// copilotRecord is a line of events.jsonl.
type copilotRecord struct {
	Type      text   `json:"type"`
	Timestamp moment `json:"timestamp"`
	Data      struct {
		Session text `json:"sessionId"`
		Version text `json:"copilotVersion"`
		Context struct {
			Cwd text `json:"cwd"`
		} `json:"context"`
		CallID   text            `json:"toolCallId"`
		Tool     text            `json:"toolName"`
		Args     json.RawMessage `json:"arguments"`
		Requests list[struct {
			ID   text            `json:"toolCallId"`
			Name text            `json:"name"`
			Args json.RawMessage `json:"arguments"`
		}] `json:"toolRequests"`
		Result struct {
			Content text `json:"content"`
		} `json:"result"`
	} `json:"data"`
}

// readCopilot reads session-state/ID/events.jsonl.
func readCopilot(fsys fs.FS, name string) (*Session, error) {
	b := newBuilder(Copilot, name)
	r, err := readFile(fsys, name, b.copilot)
	if err != nil {
		return nil, err
	}
	return b.finish(r), nil
}

func (b *builder) copilot(raw []byte) {
	var r copilotRecord
	decode(raw, &r)
	b.at(r.Timestamp.Time)
	d := &r.Data
	switch r.Type {
	case "session.start", "session.resume":
		b.about(string(d.Session), string(d.Context.Cwd), string(d.Version))
	case "user.message":
		b.prompt()
	case "assistant.message":
		b.answer(len(d.Requests) == 0)
		// A request that was not begun yet may have been when it was killed.
		for _, q := range d.Requests {
			b.start(Call{ID: string(q.ID), Tool: string(q.Name), Input: parseInput(q.Args), Started: r.Timestamp.Time})
		}
	case "tool.execution_start":
		b.start(Call{ID: string(d.CallID), Tool: string(d.Tool), Input: parseInput(d.Args), Started: r.Timestamp.Time})
	case "tool.execution_complete":
		b.over = false
		b.result(string(d.CallID), string(d.Result.Content))
	case "session.shutdown":
		b.over = true
	}
}
