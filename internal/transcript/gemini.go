package transcript

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"time"
)

// geminiPart is a part of a message: text, a call or its result.
type geminiPart struct {
	Text     text        `json:"text"`
	Call     *geminiCall `json:"functionCall"`
	Response *struct {
		ID       text `json:"id"`
		Name     text `json:"name"`
		Response struct {
			Output text `json:"output"`
		} `json:"response"`
	} `json:"functionResponse"`
}

type geminiCall struct {
	ID   text            `json:"id"`
	Name text            `json:"name"`
	Args json.RawMessage `json:"args"`
}

// parts notes the calls among the parts of a message.
func (b *builder) parts(parts []geminiPart, at time.Time) {
	for _, p := range parts {
		if p.Call != nil {
			b.start(Call{ID: string(p.Call.ID), Tool: string(p.Call.Name), Input: parseInput(p.Call.Args), Started: at})
		}
	}
}

// results notes the results among the parts of a message and counts them.
func (b *builder) results(parts []geminiPart) (results int) {
	for _, p := range parts {
		if p.Response != nil {
			results++
			b.result(string(p.Response.ID), string(p.Response.Response.Output))
		}
	}
	return results
}

// geminiRecord is a line of gemini: a header, a message, or a patch of what was
// said before.
type geminiRecord struct {
	Session text   `json:"sessionId"`
	Started moment `json:"startTime"`
	geminiMessage
	Set *struct {
		Messages list[geminiMessage] `json:"messages"`
		Updated  moment              `json:"lastUpdated"`
	} `json:"$set"`
	// Messages stands in the older form, one object for the whole session.
	Messages list[geminiMessage] `json:"messages"`
}

type geminiMessage struct {
	ID        text            `json:"id"`
	Timestamp moment          `json:"timestamp"`
	Type      text            `json:"type"`
	Content   json.RawMessage `json:"content"`
	Calls     list[struct {
		geminiCall
		Status    text            `json:"status"`
		Result    json.RawMessage `json:"result"`
		Timestamp moment          `json:"timestamp"`
	}] `json:"toolCalls"`
}

// readGemini reads tmp/NAME/chats/session-*.jsonl, or the older .json. A call
// is only written there once it has ended: what was under way is in the stream
// alone, see Stream.
func readGemini(fsys fs.FS, name string) (*Session, error) {
	b := newBuilder(Gemini, name)
	root, err := geminiFolder(fsys, path.Dir(path.Dir(name)))
	if err != nil {
		return nil, err
	}
	b.about("", root, "")
	if path.Ext(name) == ".json" {
		return b.geminiObject(fsys, name)
	}
	r, err := readFile(fsys, name, b.gemini)
	if err != nil {
		return nil, err
	}
	return b.finish(r), nil
}

// geminiObject reads the older form: one object, written anew every time.
func (b *builder) geminiObject(fsys fs.FS, name string) (*Session, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > wholeFile {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errBound}
	}
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	r := &records{}
	if raw = bytes.TrimSpace(raw); isObject(raw) {
		b.gemini(raw)
	} else {
		r.lost, r.torn = 1, true
	}
	return b.finish(r), nil
}

// geminiFolder is the folder that a folder of the store belongs to.
func geminiFolder(fsys fs.FS, dir string) (string, error) {
	name := path.Join(dir, ".project_root")
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return "", &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	b, err := fs.ReadFile(fsys, name)
	return strings.TrimSpace(string(b)), err
}

func (b *builder) gemini(raw []byte) {
	var r geminiRecord
	decode(raw, &r)
	b.about(string(r.Session), "", "")
	b.at(r.Started.Time)
	messages := r.Messages
	if r.Type != "" {
		messages = append(messages, r.geminiMessage)
	}
	if r.Set != nil {
		b.at(r.Set.Updated.Time)
		messages = append(messages, r.Set.Messages...)
	}
	for _, m := range messages {
		b.geminiMessage(m)
	}
}

func (b *builder) geminiMessage(m geminiMessage) {
	b.at(m.Timestamp.Time)
	var parts list[geminiPart]
	decode(m.Content, &parts)
	switch m.Type {
	case "user":
		if b.results(parts) == 0 {
			b.prompt()
		} else {
			b.over = false
		}
	case "gemini":
		b.answer(false) // a call may be under way that is not written yet
		for _, c := range m.Calls {
			b.start(Call{ID: string(c.ID), Tool: string(c.Name), Input: parseInput(c.Args), Started: c.Timestamp.Time})
			switch c.Status {
			case "success", "error", "cancelled":
				b.result(string(c.ID), "")
			}
		}
	}
}
