package transcript

import (
	"encoding/json"
	"io/fs"
	"slices"
)

// claudeRecord is a line of claude and of qwen. Both chain records by a parent,
// which is not needed: the order of the file is that of events.
type claudeRecord struct {
	Type      text   `json:"type"`
	Session   text   `json:"sessionId"`
	Cwd       text   `json:"cwd"`
	Version   text   `json:"version"`
	Timestamp moment `json:"timestamp"`
	Meta      bool   `json:"isMeta"`
	Message   struct {
		Content json.RawMessage  `json:"content"`
		Stop    text             `json:"stop_reason"`
		Parts   list[geminiPart] `json:"parts"`
	} `json:"message"`
}

type claudeBlock struct {
	Type    text            `json:"type"`
	ID      text            `json:"id"`
	Name    text            `json:"name"`
	Input   json.RawMessage `json:"input"`
	CallID  text            `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	Text    text            `json:"text"`
}

// readClaude reads projects/DIR/ID.jsonl.
func readClaude(fsys fs.FS, name string) (*Session, error) {
	b := newBuilder(Claude, name)
	r, err := readFile(fsys, name, b.claude)
	if err != nil {
		return nil, err
	}
	return b.finish(r), nil
}

func (b *builder) claude(raw []byte) {
	var r claudeRecord
	decode(raw, &r)
	b.at(r.Timestamp.Time)
	b.about(string(r.Session), string(r.Cwd), string(r.Version))
	var blocks list[claudeBlock]
	decode(r.Message.Content, &blocks)
	switch r.Type {
	case "assistant":
		calls := slices.ContainsFunc(blocks, func(c claudeBlock) bool { return c.Type == "tool_use" })
		b.answer(!calls && (r.Message.Stop == "end_turn" || r.Message.Stop == "stop_sequence"))
		for _, c := range blocks {
			if c.Type == "tool_use" {
				b.start(Call{ID: string(c.ID), Tool: string(c.Name), Dir: string(r.Cwd), Input: parseInput(c.Input), Started: r.Timestamp.Time})
			}
		}
	case "user":
		results := 0
		for _, c := range blocks {
			if c.Type == "tool_result" {
				results++
				b.result(string(c.CallID), resultText(c.Content))
			}
		}
		if results == 0 && !r.Meta {
			b.prompt()
		} else if results > 0 {
			b.over = false
		}
	}
}

// resultText is the first text of a result: a text, or blocks of it.
func resultText(raw json.RawMessage) string {
	var t string
	if json.Unmarshal(raw, &t) == nil {
		return t
	}
	var blocks list[claudeBlock]
	decode(raw, &blocks)
	for _, b := range blocks {
		if b.Text != "" {
			return string(b.Text)
		}
	}
	return ""
}

// readQwen reads projects/DIR/chats/ID.jsonl: the frame of claude around the
// messages of gemini's interface.
func readQwen(fsys fs.FS, name string) (*Session, error) {
	b := newBuilder(Qwen, name)
	r, err := readFile(fsys, name, b.qwen)
	if err != nil {
		return nil, err
	}
	return b.finish(r), nil
}

func (b *builder) qwen(raw []byte) {
	var r claudeRecord
	decode(raw, &r)
	b.at(r.Timestamp.Time)
	b.about(string(r.Session), string(r.Cwd), string(r.Version))
	switch r.Type {
	case "assistant":
		b.answer(true)
		b.parts(r.Message.Parts, r.Timestamp.Time)
	case "user", "tool_result":
		results := b.results(r.Message.Parts)
		if results == 0 && r.Type == "user" {
			b.prompt()
		} else {
			b.over = false
		}
	}
}
