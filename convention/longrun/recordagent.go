package longrun

import (
	"fmt"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

func lastAgent(list []*agentEntry) *agentEntry {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// history opens agent-history.json of either family with the key of its list.
func (b *book) history(dir, why string) (j *splice.JSON, key string, err error) {
	name := path.Join(dir, "agent-history.json")
	j, err = b.openJSON(name, why)
	if err != nil || j == nil {
		return nil, "", err
	}
	root := j.Root()
	if root.Kind != doc.Map {
		return nil, "", fmt.Errorf("%s: not a map: %w", name, splice.ErrUnreadable)
	}
	key = "entries"
	if !root.Has("entries") && root.Has("agents") {
		key = "agents"
	}
	if list := root.Get(key); list != nil && list.Kind != doc.List {
		return nil, "", fmt.Errorf("%s: %s is no list: %w", name, key, splice.ErrUnreadable)
	}
	return j, key, nil
}

// setAgent changes the status of one entry and, where the agent came to its
// end, the time of that.
func (b *book) setAgent(dir string, e *agentEntry, word string, ended time.Time) error {
	j, key, err := b.history(dir, fmt.Sprintf("agent %s is %s", doc.Clip(e.id, 60), word))
	if err != nil {
		return err
	}
	if j == nil {
		return fmt.Errorf("%s: gone: %w", e.source.File, splice.ErrUnreadable)
	}
	at := splice.Path{key, e.index}
	if err := j.Set(append(at, "status"), word); err != nil {
		return inFile(e.source.File, err)
	}
	if ended.IsZero() {
		if j.Root().Get(key).Items[e.index].Has("completion_timestamp") && word == "resumed" {
			return inFile(e.source.File, j.Set(append(splice.Path{key, e.index}, "completion_timestamp"), nil))
		}
		return nil
	}
	return inFile(e.source.File, j.Put(append(splice.Path{key, e.index}, "completion_timestamp"), timeLike(e.stamp, ended)))
}

// addAgent appends the entry of a new agent, with the keys that the last entry
// of the file has, in their order.
func (b *book) addAgent(dir string, fields splice.Object, why string) error {
	j, key, err := b.history(dir, why)
	if err != nil || j == nil {
		return err
	}
	name := path.Join(dir, "agent-history.json")
	list := j.Root().Get(key)
	if list == nil {
		return inFile(name, j.Put(splice.Path{key}, []any{fields}))
	}
	ordered := fields
	if n := len(list.Items); n > 0 && list.Items[n-1].Kind == doc.Map {
		ordered = asIn(list.Items[n-1], fields)
	}
	return inFile(name, j.Append(splice.Path{key}, ordered))
}

// asIn orders fields as a model has them, those it lacks behind. An agent's
// type is taken over: it is the same for every plan.
func asIn(model *doc.Node, fields splice.Object) splice.Object {
	var out, rest splice.Object
	value := func(key string) (any, bool) {
		for _, m := range fields {
			if m.Key == key {
				return m.Value, true
			}
		}
		return nil, false
	}
	for _, k := range model.Keys {
		switch v, ok := value(k.Name); {
		case ok:
			out = append(out, splice.Member{Key: k.Name, Value: v})
		case k.Name == "agent_type" && k.Value.Kind == doc.String:
			out = append(out, splice.Member{Key: k.Name, Value: k.Value.Text})
		}
	}
	for _, m := range fields {
		if !model.Has(m.Key) {
			rest = append(rest, m)
		}
	}
	return append(out, rest...)
}

// mark writes the id of the agent at work into current-agent-id.txt.
func (b *book) mark(dir, id string) error {
	name := path.Join(dir, "current-agent-id.txt")
	base, exists, err := b.read(name)
	if err != nil {
		return err
	}
	why := "agent " + doc.Clip(id, 60) + " is at work"
	if !exists {
		b.create(name, id+"\n", why)
		return nil
	}
	end := "\n"
	if strings.HasSuffix(string(base), "\r\n") {
		end = "\r\n"
	}
	if firstLine(base) != id {
		b.replace(name, base, id+end, why)
	}
	return nil
}

// interrupted reports whether an entry says that its agent was cut off.
func (e *agentEntry) interrupted() bool { return doc.Fold(e.word) == "interrupted" }

// enter records that an agent was put to a plan: a new entry in the history,
// unless its latest one says so already, and the marker. A nameless agent cannot
// have been cut off and go on: it is another one.
func (w *runRecorder) enter(p *plan) error {
	id := agentID(w.ev.Agent)
	last := lastAgent(p.agents)
	if last != nil && last.status == reprise.InProgress && !last.interrupted() && (id == "" || id == last.id) && last.id != "" {
		return w.mark(w.l.dir, last.id)
	}
	if id == "" {
		// The convention knows an agent by its id; a nameless one is named
		// after its plan.
		id = fmt.Sprintf("plan-%s-%d", p.id, len(p.agents)+1)
	}
	if last != nil && last.id == id && last.status != reprise.Unknown {
		// The same agent goes on with its plan.
		if err := w.setEntry(last, "resumed"); err != nil {
			return err
		}
		return w.mark(w.l.dir, id)
	}
	task := "Execute plan " + p.id
	if p.group != "" {
		task += ": " + line(p.group, 80)
	}
	entry := splice.Object{
		{Key: "agent_id", Value: id}, {Key: "agent_type", Value: "general-purpose"}, {Key: "task_description", Value: task},
		{Key: "plan", Value: p.id}, {Key: "timestamp", Value: w.stamp()}, {Key: "status", Value: "spawned"},
		{Key: "completion_timestamp", Value: nil},
	}
	if len(w.l.agent.entries) > 0 {
		entry = append(entry[:1], entry[2:]...)
	}
	why := fmt.Sprintf("agent %s is at plan %s", doc.Clip(id, 60), p.id)
	if w.l.agent.exists {
		if err := w.addAgent(w.l.dir, entry, why); err != nil {
			return err
		}
	} else if err := w.newHistory(entry, why); err != nil {
		return err
	}
	return w.mark(w.l.dir, id)
}

// stamp is the time of the event as the history writes times; null for none.
func (w *runRecorder) stamp() any {
	if w.ev.At.IsZero() {
		return nil
	}
	sample := ""
	if e := lastAgent(w.l.agent.entries); e != nil {
		sample = e.stamp
	}
	return timeLike(sample, w.ev.At)
}

func (w *runRecorder) newHistory(entry splice.Object, why string) error {
	file := splice.Object{{Key: "version", Value: "1.0"}, {Key: "max_entries", Value: maxEntries}, {Key: "entries", Value: []any{entry}}}
	if w.l.second() {
		file = splice.Object{{Key: "version", Value: "1.0"}, {Key: "agents", Value: []any{entry}}}
	}
	content, err := newJSON(file)
	if err == nil {
		w.create(path.Join(w.l.dir, "agent-history.json"), content, why)
	}
	return err
}

// second reports whether the run is of the second version.
func (l *longRun) second() bool {
	for _, p := range l.plans {
		if p.checkpoint != nil {
			return p.checkpoint.second
		}
	}
	return len(l.state.groups) > 0
}

func (w *runRecorder) setEntry(e *agentEntry, word string) error {
	return w.setAgent(w.l.dir, e, word, time.Time{})
}

// closeEntry records the end of an agent: the one named, or the latest.
func (w *runRecorder) closeEntry(list []*agentEntry, id, word string) error {
	e := lastAgent(list)
	for _, a := range list {
		if id != "" && a.id == id {
			e = a
		}
	}
	if doc.Fold(e.word) == word || e.status == agentWords[word] && e.status != reprise.InProgress {
		return nil
	}
	return w.setAgent(w.l.dir, e, word, w.ev.At)
}
