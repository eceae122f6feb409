package eventrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"reprise/internal/doc"
)

// event is one event as the strict reading gives it.
type event struct {
	word, task, at, run string
	taskOdd             string // why the task is not certain
	repeated            string // a key that stands twice
	raw                 []byte
	doubt               bool // read from a file that is not well-formed
}

// errNoEvent is for a line that is valid JSON and no object.
var errNoEvent = errors.New("it holds no event")

// readStrict reads a line with encoding/json: whole objects, several of them
// behind each other, or in a list. It returns what could be read and what is
// wrong with the rest. tidy is false where the line is readable, but is not one
// object as the format asks for.
func readStrict(line []byte) (events []event, tidy bool, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	count := 0
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return events, count == 1, nil
		} else if err != nil {
			rest := bytes.TrimSpace(line[min(int(dec.InputOffset()), len(line)):])
			if count > 0 && string(rest) == "," {
				return events, false, nil // an element of a list that was written line by line
			}
			return events, false, err
		}
		count++
		switch raw[0] {
		case '{':
			events = append(events, readObject(raw))
		case '[':
			var items []json.RawMessage
			if err := json.Unmarshal(raw, &items); err != nil {
				return events, false, err
			}
			for _, item := range items {
				if item[0] != '{' {
					return events, false, errNoEvent
				}
				events = append(events, readObject(item))
			}
			count++ // a list is not what belongs on a line
		default:
			return events, false, errNoEvent
		}
	}
}

// readObject takes the fields of a valid object apart.
func readObject(raw []byte) event {
	ev := event{raw: raw}
	values := map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return ev
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return ev
		}
		name, _ := tok.(string)
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return ev
		}
		if _, twice := values[name]; twice {
			ev.repeated = name
		}
		values[name] = v
	}
	get := func(name string) string { return scalarText(values[name]) }
	ev.fill(get)
	if ev.task == "" {
		var inner map[string]json.RawMessage
		if json.Unmarshal(values["details"], &inner) == nil {
			ev.task = firstOf(func(name string) string { return scalarText(inner[name]) }, "task_id", "task")
		}
	}
	if v := values["task_id"]; ev.task == "" && len(v) > 0 && string(v) != "null" {
		ev.taskOdd = doc.Clip(string(v), 40)
	}
	return ev
}

// fill takes the fields by name. Where an event has several of the keys for its
// type, the first one whose word has a meaning is it: payload uses `type` too.
func (ev *event) fill(get func(string) string) {
	for _, name := range []string{"event_type", "type", "event"} {
		if w := get(name); w != "" {
			if ev.word == "" {
				ev.word = w
			} else if newWord(ev.word).kind == kindOther && newWord(w).kind != kindOther {
				ev.word = w
			}
		}
	}
	ev.task = strings.TrimSpace(firstOf(get, "task_id", "taskId", "task"))
	ev.at = firstOf(get, "timestamp", "time", "ts", "at", "created_at", "created")
	ev.run = get("run_id")
}

func firstOf(get func(string) string, names ...string) string {
	for _, name := range names {
		if v := get(name); v != "" {
			return v
		}
	}
	return ""
}

// scalarText gives text and numbers; anything else is as good as absent.
func scalarText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	case c == '-' || c >= '0' && c <= '9':
		return string(raw)
	}
	return ""
}

// eventsOf reads the events of a YAML or JSON document: one, a list, or
// several documents behind each other, which arrive joined as one map and are
// parted where a key comes again.
func eventsOf(n *doc.Node) ([]*doc.Node, error) {
	switch {
	case n.IsNull():
		return nil, errNoEvent
	case n.Kind == doc.List:
		var out []*doc.Node
		for _, item := range n.Items {
			if item == nil || item.Kind != doc.Map {
				return out, errNoEvent
			}
			out = append(out, item)
		}
		return out, nil
	case n.Kind != doc.Map:
		return nil, errNoEvent
	}
	if inner := n.Get("events"); inner != nil && inner.Kind == doc.List && !n.Has("timestamp") {
		return eventsOf(inner)
	}
	var out []*doc.Node
	part := &doc.Node{Kind: doc.Map, Line: n.Line}
	for _, f := range n.Keys {
		if part.Has(f.Name) {
			out = append(out, part)
			part = &doc.Node{Kind: doc.Map, Line: f.Line}
		}
		part.Keys = append(part.Keys, f)
	}
	return append(out, part), nil
}

// nodeEvent turns a document's event into the same form as a line's.
func nodeEvent(n *doc.Node) event {
	raw, err := json.Marshal(plainValue(n, 0))
	if err != nil {
		return event{}
	}
	return readObject(raw)
}

func plainValue(n *doc.Node, depth int) any {
	if n.IsNull() || depth > 50 {
		return nil
	}
	switch n.Kind {
	case doc.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plainValue(item, depth+1)
		}
		return list
	case doc.Map:
		m := make(map[string]any, len(n.Keys))
		for _, f := range n.Keys {
			m[f.Name] = plainValue(f.Value, depth+1)
		}
		return m
	case doc.Number:
		// A YAML number may have a form JSON has not (0x1F, .5, 007).
		if json.Valid([]byte(n.Text)) {
			return json.Number(n.Text)
		}
	case doc.Bool:
		return n.Text == "true"
	}
	return n.Text
}

// explain says in one sentence what is wrong with a line.
func explain(line []byte, err error, torn bool) string {
	shown := fmt.Sprintf("%q", doc.Clip(string(bytes.TrimSpace(line[:min(len(line), 60)])), 40))
	switch {
	case len(bytes.Trim(line, "\x00")) == 0:
		return fmt.Sprintf("%d NUL bytes stand where an event belongs, as a power cut leaves them", len(line))
	case torn && (errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "unexpected end")):
		return "the last line is cut off: " + shown
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line is cut off: " + shown
	case errors.Is(err, errNoEvent):
		return "the line holds no event: " + shown
	}
	return fmt.Sprintf("the line is no JSON: %s (%s)", shown, strings.TrimPrefix(err.Error(), "json: "))
}
