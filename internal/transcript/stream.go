package transcript

import (
	"encoding/json"
	"io/fs"
)

// streamRecord is a line that gemini prints.
type streamRecord struct {
	Type      text            `json:"type"`
	Timestamp moment          `json:"timestamp"`
	Session   text            `json:"session_id"`
	Role      text            `json:"role"`
	Tool      text            `json:"tool_name"`
	ID        text            `json:"tool_id"`
	Args      json.RawMessage `json:"parameters"`
}

// Stream reads what gemini printed, as it was captured in a log, in the order
// of the names: gemini writes a call to its transcript only once it has ended.
// It gives one session for each id; lines of anything else are passed over.
func Stream(fsys fs.FS, names ...string) ([]*Session, error) {
	var order []string
	builders := map[string]*builder{}
	for _, name := range names {
		var b *builder
		r, err := readFile(fsys, name, func(raw []byte) {
			var r streamRecord
			decode(raw, &r)
			if r.Type == "init" && r.Session != "" && !r.Timestamp.IsZero() {
				id := string(r.Session)
				if b = builders[id]; b == nil {
					b = newBuilder(Gemini, name)
					b.about(id, "", "")
					builders[id], order = b, append(order, id)
				}
				b.s.Path = name
				b.prompt()
			}
			if b != nil {
				b.streamed(r)
			}
		})
		if err != nil {
			return nil, err
		}
		if b != nil && r.torn {
			b.start(Call{ID: "torn " + name, Torn: true, Started: b.s.Last})
		}
	}
	var out []*Session
	for _, id := range order {
		out = append(out, builders[id].finish(nil))
	}
	return out, nil
}

func (b *builder) streamed(r streamRecord) {
	b.at(r.Timestamp.Time)
	switch r.Type {
	case "message":
		if r.Role == "assistant" {
			b.answer(false)
		}
	case "tool_use":
		b.start(Call{ID: string(r.ID), Tool: string(r.Tool), Input: parseInput(r.Args), Started: r.Timestamp.Time})
	case "tool_result":
		b.result(string(r.ID), "")
		b.over = false
	case "result":
		b.over = true
	}
}
