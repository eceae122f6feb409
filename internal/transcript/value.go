package transcript

import (
	"encoding/json"
	"time"
)

// value is a JSON value whose shape nobody promised: what is not there, or is of
// another kind than was asked for, is empty.
type value struct{ any }

// object reads a JSON object. ok is false if the bytes are anything else.
func object(raw []byte) (v value, ok bool) {
	if len(raw) < 2 || raw[0] != '{' || json.Unmarshal(raw, &v.any) != nil {
		return value{}, false
	}
	return v, true
}

// at goes down a path of fields.
func (v value) at(path ...string) value {
	for _, name := range path {
		fields, _ := v.any.(map[string]any)
		v = value{fields[name]}
	}
	return v
}

// text is a string, "" if there is none.
func (v value) text(path ...string) string {
	text, _ := v.at(path...).any.(string)
	return text
}

// first is the text of the first of some fields that has one.
func (v value) first(names ...string) string {
	for _, name := range names {
		if text := v.text(name); text != "" {
			return text
		}
	}
	return ""
}

// list are the items of a list.
func (v value) list(path ...string) (out []value) {
	items, _ := v.at(path...).any.([]any)
	for _, item := range items {
		out = append(out, value{item})
	}
	return out
}

// time is a moment as the CLIs write it: text, or a number of seconds or
// milliseconds.
func (v value) time(path ...string) (at time.Time) {
	switch t := v.at(path...).any.(type) {
	case string:
		at, _ = time.Parse(time.RFC3339Nano, t) // zero if it is none
	case float64:
		if t > 0 && t < 1e11 {
			at = time.Unix(int64(t), 0)
		} else if t >= 1e11 && t < 1e16 {
			at = time.UnixMilli(int64(t))
		}
	}
	return at.UTC()
}

// said is the first text of a result: a text, an object with one as its content,
// or blocks of it.
func (v value) said() string {
	if text := v.text(); text != "" {
		return text
	}
	for _, block := range v.list() {
		if text := block.text("text"); text != "" {
			return text
		}
	}
	return v.text("content")
}
