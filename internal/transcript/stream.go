package transcript

import (
	"io/fs"
	"time"

	"reprise/internal/loose"
)

// Log is what an attempt of ours printed.
type Log struct {
	Name string
	At   time.Time // when it was last written
}

// printed tells how the lines are read that a CLI prints, by how its first line says
// which session it is. Of the others the store has every call that was begun.
var printed = []struct {
	cli   string
	begin func(loose.Value) (id string, ok bool)
	line  func(*builder, loose.Value)
}{
	{Gemini, func(v loose.Value) (string, bool) {
		return v.Text("session_id"), v.Text("type") == "init" && !v.Time("timestamp").IsZero()
	}, (*builder).geminiLine},
	{Qwen, func(v loose.Value) (string, bool) {
		return v.Text("session_id"), claudeInit(v) && v.Has("qwen_code_version")
	}, (*builder).claudeLine},
	{Claude, func(v loose.Value) (string, bool) { return v.Text("session_id"), claudeInit(v) }, (*builder).claudeLine},
	{Codex, func(v loose.Value) (string, bool) { return v.Text("thread_id"), v.Text("type") == "thread.started" }, (*builder).codexLine},
}

func claudeInit(v loose.Value) bool { return v.Text("type") == "system" && v.Text("subtype") == "init" }

// Stream reads what agents printed, as it was captured in logs, in their order. gemini
// writes a call to its transcript only once it has ended, and the transcripts of all may
// be where no one looks. It gives one session for each id; lines of anything else are
// passed over.
func Stream(fsys fs.FS, logs ...Log) ([]*Session, error) {
	var order []string
	builders := map[string]*builder{}
	for _, log := range logs {
		var b *builder
		var line func(*builder, loose.Value)
		r := &records{extent: much}
		r.each = func(v loose.Value) {
			for _, p := range printed {
				id, ok := p.begin(v)
				if !ok || id == "" {
					continue
				}
				key := p.cli + " " + id
				if builders[key] == nil {
					builders[key], order = newBuilder(p.cli, log.Name), append(order, key)
				}
				b, line = builders[key], p.line
				b.about(id, v.Text("cwd"), v.First("claude_code_version", "qwen_code_version"))
				b.s.Path = log.Name
				b.prompt()
				break
			}
			if b != nil {
				line(b, v)
			}
		}
		if err := r.readFile(fsys, log.Name); err != nil {
			return nil, err
		}
		if b != nil && r.torn && !b.over {
			b.gap(true)
		}
		if b != nil && b.s.Last.IsZero() {
			b.at(log.At)
		}
	}
	var out []*Session
	for _, key := range order {
		out = append(out, builders[key].finish(nil))
	}
	return out, nil
}

// geminiLine notes a line that gemini printed.
func (b *builder) geminiLine(r loose.Value) {
	at := r.Time("timestamp")
	b.at(at)
	switch r.Text("type") {
	case "message":
		if r.Text("role") == "assistant" {
			b.answer(false)
		}
	case "tool_use":
		b.start(Call{ID: r.Text("tool_id"), Tool: r.Text("tool_name"), Input: parseInput(r.At("parameters")), Started: at})
	case "tool_result":
		b.result(r.Text("tool_id"), "")
		b.over = false
	case "result":
		b.over = true
	}
}

// claudeLine notes a line that claude or qwen printed: the records of claude's
// transcript, without their times.
func (b *builder) claudeLine(r loose.Value) {
	b.claude(r)
	if r.Text("type") == "result" {
		b.over = true
	}
}

// codexLine notes a line that codex printed. It counts its calls from zero in each
// attempt.
func (b *builder) codexLine(r loose.Value) {
	item := r.At("item")
	switch r.Text("type") {
	case "item.started":
		b.answer(false)
		b.start(Call{ID: b.s.Path + item.Text("id"), Tool: item.First("tool", "type"), Input: parseInput(item)})
	case "item.completed":
		b.answer(false)
		b.result(b.s.Path+item.Text("id"), "")
	case "turn.completed", "turn.failed":
		b.over = true
	}
}
