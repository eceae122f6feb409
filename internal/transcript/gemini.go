package transcript

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/loose"
)

// geminiCall notes a call of gemini's interface, if it is one.
func (b *builder) geminiCall(c loose.Value, at time.Time) {
	if c.Has() {
		b.start(Call{ID: c.Text("id"), Tool: c.Text("name"), Input: parseInput(c.At("args")), Started: at})
	}
}

// results notes the results among the parts of a message and counts them.
func (b *builder) results(parts []loose.Value) (results int) {
	for _, p := range parts {
		if r := p.At("functionResponse"); r.Has() {
			results++
			b.result(r.Text("id"), r.Text("response", "output"))
		}
	}
	return results
}

// readGemini reads tmp/NAME/chats/session-*.jsonl, or the older .json, which is
// one object and written anew every time. A call is only written there once it
// has ended: what was under way is in the stream alone, see Stream.
func (b *builder) readGemini(fsys fs.FS, name string, r *records) error {
	root, err := geminiFolder(fsys, path.Dir(path.Dir(name)))
	if err != nil {
		return err
	}
	b.about("", root, "")
	r.each = b.gemini
	if path.Ext(name) != ".json" {
		return r.readFile(fsys, name)
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return err
	}
	if info.Size() > much.whole {
		return &fs.PathError{Op: "read", Path: name, Err: errBound}
	}
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	if v, ok := loose.Object(bytes.TrimSpace(raw)); ok {
		r.take(v)
	} else {
		r.lost, r.torn = 1, true
	}
	return nil
}

// geminiFolder is the folder that a folder of the store belongs to; errNowhere says that
// this is not on record.
func geminiFolder(fsys fs.FS, dir string) (string, error) {
	name := path.Join(dir, ".project_root")
	info, err := fs.Stat(fsys, name)
	if absent(fsys, name, err) {
		return "", errNowhere
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return "", &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	b, err := fs.ReadFile(fsys, name)
	root := strings.TrimSpace(string(b))
	if err == nil && root == "" {
		err = errNowhere
	}
	return root, err
}

// gemini reads a line: a header, a message, or a patch of what was said before.
// The older form has all messages of the session.
func (b *builder) gemini(r loose.Value) {
	b.about(r.Text("sessionId"), "", "")
	if kind := r.Text("kind"); kind == "subagent" {
		b.s.Parent = cmp.Or(b.s.Parent, kind)
	}
	if r.Has("startTime") {
		b.opened()
	}
	b.at(r.Time("startTime"))
	b.at(r.Time("$set", "lastUpdated"))
	for _, m := range slices.Concat(r.List("messages"), []loose.Value{r}, r.List("$set", "messages")) {
		b.geminiMessage(m)
	}
}

func (b *builder) geminiMessage(m loose.Value) {
	kind := m.Text("type")
	if kind == "" {
		return
	}
	b.at(m.Time("timestamp"))
	switch kind {
	case "user":
		switch content := m.List("content"); {
		case b.results(content) > 0:
			b.over, b.s.Unsure, b.s.Twice = false, false, b.s.Twice || b.whole
		case !strings.HasPrefix(said(m.At("content")), "<session_context>"):
			b.prompt()
			b.asked(m.At("content"))
		}
	case "gemini":
		b.says(m.At("content"))
		b.answer(false) // a call may be under way that is not written yet
		if u := m.At("tokens"); u.Has() {
			b.used(m.Text("id"), Request{At: m.Time("timestamp"), Request: reprise.Request{Model: m.Text("model"), Tokens: Inclusive(u)}})
		}
		calls := m.List("toolCalls")
		b.s.Unsure = len(calls) == 0
		for _, c := range calls {
			b.geminiCall(c, c.Time("timestamp"))
			switch c.Text("status") {
			case "success", "error", "cancelled":
				b.whole = b.whole || c.Has("result")
				b.result(c.Text("id"), "")
			}
		}
	}
}
