package transcript

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"reprise/internal/loose"
)

// Of the latest messages and parts of all sessions, so many are looked through,
// and of those that are wanted, so many bytes are kept.
const (
	opencodeParts = 20_000
	opencodeBytes = 64 << 20
)

// What opencode keeps its sessions in, and what it did before it had that.
const (
	opencodeFile = "opencode.db"
	opencodeOld  = "storage/session"
)

// errMoved says that a database was written while it was read.
var errMoved = errors.New("it was written to while it was read")

// readOpencode reads the latest sessions of opencode.db that worked in a folder
// that is wanted.
func readOpencode(fsys fs.FS, name string, q Query) ([]*Session, error) {
	for try := 0; ; try++ {
		before := stamp(fsys, name)
		out, err := opencodeOnce(fsys, name, q)
		if stamp(fsys, name) == before {
			return out, err
		}
		if try == 2 {
			return nil, errMoved
		}
	}
}

// stamp changes when a database or its log is written to.
func stamp(fsys fs.FS, name string) (out [4]int64) {
	for i, n := range []string{name, name + "-wal"} {
		if info, err := fs.Stat(fsys, n); err == nil {
			out[2*i], out[2*i+1] = info.Size(), info.ModTime().UnixNano()
		}
	}
	return out
}

func opencodeOnce(fsys fs.FS, name string, q Query) ([]*Session, error) {
	db, err := openLite(fsys, name)
	if err != nil {
		return nil, err
	}
	defer db.close()
	tables, err := db.tables()
	if err != nil {
		return nil, err
	}
	for _, need := range []string{"session", "message", "part"} {
		if tables[need].root == 0 {
			return nil, errLite
		}
	}
	builders := map[string]*builder{}
	var order []string
	sessions := tables["session"]
	err = db.backward(sessions.root, func(row []any) error {
		dir := asText(sessions.get(row, "directory"))
		nowhere := dir == "" && q.since(asTime(sessions.get(row, "time_updated")))
		if !q.Wants(dir) && !nowhere || !q.is(asText(sessions.get(row, "id"))) {
			return nil
		}
		b := newBuilder(Opencode, name)
		b.about(asText(sessions.get(row, "id")), dir, asText(sessions.get(row, "version")))
		b.s.Title, b.s.Parent, b.roles = asText(sessions.get(row, "title")), asText(sessions.get(row, "parent_id")), map[string]string{}
		b.at(asTime(sessions.get(row, "time_created")))
		b.at(asTime(sessions.get(row, "time_updated")))
		builders[b.s.ID], order = b, append(order, b.s.ID)
		return nil
	})
	if err != nil && !errors.Is(err, errBound) {
		return nil, err
	}
	if len(order) == 0 {
		return nil, err
	}
	slices.SortStableFunc(order, func(a, b string) int { return builders[b].s.Last.Compare(builders[a].s.Last) })
	for len(order) > q.Most && !q.since(builders[order[len(order)-1]].s.Last) {
		order = order[:len(order)-1]
	}
	for id := range builders {
		if !slices.Contains(order, id) {
			delete(builders, id)
		}
	}
	if err := db.opencodeEvents(tables, builders); err != nil {
		return nil, err
	}
	var out []*Session
	for i, id := range order {
		if s := builders[id].finish(nil); i < q.Most || !s.Rested() {
			out = append(out, s)
		}
	}
	return out, nil
}

// opencodeEvents gives the messages and parts of the sessions to their
// builders, in the order in which they were made.
func (l *lite) opencodeEvents(tables map[string]table, builders map[string]*builder) error {
	type event struct {
		at   int64
		make func()
	}
	events := map[*builder][]event{}
	kept := 0
	for _, kind := range []string{"message", "part"} {
		t, n := tables[kind], 0
		err := l.backward(t.root, func(row []any) error {
			if n++; n > opencodeParts {
				return errBound
			}
			b := builders[asText(t.get(row, "session_id"))]
			if b == nil {
				return nil
			}
			created, _ := t.get(row, "time_created").(int64)
			data, _ := t.get(row, "data").([]byte)
			if kept += len(data); kept > opencodeBytes {
				return errBound
			}
			b.at(asTime(t.get(row, "time_updated")))
			of := asText(t.get(row, "id"))
			if kind == "part" {
				of = asText(t.get(row, "message_id"))
			}
			events[b] = append(events[b], event{created, func() { b.opencode(kind, of, data, asTime(created)) }})
			return nil
		})
		if errors.Is(err, errBound) {
			for _, b := range builders {
				b.s.Part = true
			}
		} else if err != nil {
			return err
		}
	}
	for _, list := range events {
		slices.Reverse(list)
		slices.SortStableFunc(list, func(a, b event) int { return int(max(-1, min(1, a.at-b.at))) })
		for _, e := range list {
			e.make()
		}
	}
	return nil
}

func (b *builder) opencode(kind, of string, data []byte, at time.Time) {
	v, ok := loose.Object(data)
	switch {
	case !ok:
		b.s.Lost++
	case kind == "message" && v.Text("role") == "user":
		b.roles[of] = "user"
		b.prompt()
	case v.Text("type") == "text" && b.roles[of] == "user":
		b.asked(v.At("text"))
	case v.Text("type") == "text":
		b.says(v.At("text"))
	case kind == "message":
		// The last message of a turn is the one that says so.
		finish := v.Text("finish")
		r, told := PerStep(v)
		if told {
			b.used("", Request{At: at, Request: r})
		}
		b.s.Pending = !told
		b.answer(!v.Time("time", "completed").IsZero() && !v.Has("error") && finish != "tool-calls" && finish != "")
		if e := v.At("error"); e.Text("name") == "MessageAbortedError" {
			b.stopped(at, true)
		} else if e.Has() {
			b.failed(at, e.Text("name"), e.Number("data", "statusCode"), e.Text("data", "message"), e.Text("data", "responseBody"))
		}
	case v.Text("type") == "tool":
		over := b.over
		b.start(Call{ID: v.Text("callID"), Tool: v.Text("tool"), Input: parseInput(v.At("state", "input")), Started: at})
		switch v.Text("state", "status") {
		case "completed", "error":
			b.result(v.Text("callID"), "")
			b.over = over
		}
	}
}

func asTime(v any) time.Time {
	if n, ok := v.(int64); ok && n > 0 {
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}
