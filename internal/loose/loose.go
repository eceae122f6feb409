// Package loose reads JSON whose shape no one promised: what programs of others
// print and keep. What is not there, or is of another kind than was asked for, is
// empty, and nothing fails; Odd tells when a value was of another kind.
package loose

import (
	"bytes"
	"encoding/json"
	"time"
)

// Value is a JSON value, or the place where one was looked for.
type Value struct {
	v   any
	odd *bool // shared by all that is below one object
}

// Object reads a JSON object. ok is false if the bytes are anything else.
func Object(raw []byte) (v Value, ok bool) {
	if len(raw) < 2 || raw[0] != '{' || json.Unmarshal(raw, &v.v) != nil {
		return Value{}, false
	}
	v.odd = new(bool)
	return v, true
}

// Odd reports whether anything that was asked of the whole object so far is there
// and of another kind. Then nothing good may be concluded from it.
func (v Value) Odd() bool { return v.odd != nil && *v.odd }

// Apart gives a value whose shape is free, such as the input of a tool: what is odd in it is not odd
// in the whole.
func (v Value) Apart() Value { return Value{v.v, new(bool)} }

// as gives a value as one kind; what is there and of another kind is odd.
func as[T any](v Value) (out T, ok bool) {
	out, ok = v.v.(T)
	if !ok && v.v != nil && v.odd != nil {
		*v.odd = true
	}
	return out, ok
}

// At goes down a path of fields.
func (v Value) At(path ...string) Value {
	for _, name := range path {
		fields, _ := as[map[string]any](v)
		v.v = fields[name]
	}
	return v
}

// Has reports whether there is anything but null.
func (v Value) Has(path ...string) bool { return v.At(path...).v != nil }

// Text is a string, "" if there is none.
func (v Value) Text(path ...string) string {
	text, _ := v.At(path...).String()
	return text
}

// String is a string, if it is one.
func (v Value) String() (text string, ok bool) { return as[string](v) }

// Bool is true or false, if it is one of them.
func (v Value) Bool() (is, ok bool) { return as[bool](v) }

// Number is a number, 0 if there is none.
func (v Value) Number(path ...string) float64 {
	n, _ := as[float64](v.At(path...))
	return n
}

// First is the text of the first of some fields that has one.
func (v Value) First(names ...string) string {
	for _, name := range names {
		if text, ok := v.At(name).v.(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// List are the items of a list.
func (v Value) List(path ...string) (out []Value) {
	items, _ := as[[]any](v.At(path...))
	for _, item := range items {
		out = append(out, Value{item, v.odd})
	}
	return out
}

// Fields are the values of an object by name.
func (v Value) Fields(path ...string) map[string]Value {
	fields, _ := as[map[string]any](v.At(path...))
	out := map[string]Value{}
	for name, field := range fields {
		out[name] = Value{field, v.odd}
	}
	return out
}

// Time is a moment as it is usually written: text, or a number of seconds or
// milliseconds since 1970. It is zero if there is none.
func (v Value) Time(path ...string) (at time.Time) {
	switch t := v.At(path...).v.(type) {
	case string:
		at, _ = time.Parse(time.RFC3339Nano, t)
	case float64:
		if t > 0 && t < 1e11 {
			at = time.Unix(int64(t), 0)
		} else if t >= 1e11 && t < 1e16 {
			at = time.UnixMilli(int64(t))
		}
	}
	return at.UTC()
}

// JSON is the value as text, "" if there is none.
func (v Value) JSON() string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if v.v == nil || enc.Encode(v.v) != nil {
		return ""
	}
	return string(bytes.TrimSpace(out.Bytes()))
}
