package longrun

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// recorder collects what one event changes in the files that both dialects have:
// agent-history.json, current-agent-id.txt and the summaries.
type recorder struct {
	*ledger.Changes
	dir   string
	ev    reprise.Event
	agent *agents
}

// set writes a text that stands in its file. One that does not is left out.
func (w *recorder) set(t ledger.Text, value any) {
	if t.There() {
		w.SetText(t, value)
	}
}

// spell writes the time of the event as another one is written.
func (w *recorder) spell(sample string) string {
	return ledger.SpellTimeText(w.ev.At, sample, time.RFC3339)
}

// agentID makes an agent's id fit for a line of its own.
func agentID(id string) string {
	id = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, strings.ToValidUTF8(id, "")))
	if r := []rune(id); len(r) > 200 {
		id = string(r[:200])
	}
	return strings.TrimSpace(id)
}

// maxEntries is how many entries the history keeps: in a full one the oldest
// are gone, and with them the begin of the run.
const maxEntries = 50

// newHistory is agent-history.json with these entries, in either version.
func newHistory(second bool, entries ...any) ([]byte, error) {
	if entries == nil {
		entries = []any{}
	}
	if second {
		return ledger.NewJSON(splice.Object{{Key: "version", Value: "1.0"}, {Key: "agents", Value: entries}})
	}
	return ledger.NewJSON(splice.Object{{Key: "version", Value: "1.0"}, {Key: "max_entries", Value: maxEntries}, {Key: "entries", Value: entries}})
}

// setAgent changes the status of one entry and, where the agent came to its
// end, the time of that.
func (w *recorder) setAgent(e *agentEntry, word string, ended time.Time) {
	w.Structured(e.place.File).Because("agent %s is %s", doc.Clip(e.id, 60), word)
	w.Set(e.place.In("status"), word)
	end := e.place.In("completion_timestamp")
	switch {
	case !ended.IsZero():
		w.Set(end, w.spell(e.stamp))
	case word == "resumed" && end.Node != nil:
		w.Set(end, nil)
	}
}

// closeAgent records the end of an agent: the one named, or the latest.
func (w *recorder) closeAgent(list []*agentEntry, id, word string) {
	e := list[len(list)-1]
	for _, a := range list {
		if id != "" && a.id == id {
			e = a
		}
	}
	if doc.Fold(e.word) != word && (e.status != agentWords[word] || e.status == reprise.InProgress) {
		w.setAgent(e, word, w.ev.At)
	}
}

// enter records that an agent was put to a plan: a new entry in the history,
// unless its latest one says so already, and the marker. about are the fields of
// an entry that the dialects have of their own. A nameless agent cannot have been
// cut off and continue: it is another one.
func (w *recorder) enter(p *plan, second bool, about ...splice.Member) {
	id, last := agentID(w.ev.Agent), p.latest()
	if last != nil && last.status == reprise.InProgress && !last.interrupted() && (id == "" || id == last.id) && last.id != "" {
		w.mark(last.id)
		return
	}
	if id == "" {
		// The convention knows an agent by its id; a nameless one is named
		// after its plan.
		id = fmt.Sprintf("plan-%s-%d", p.id, len(p.agents)+1)
	}
	if last != nil && last.id == id && last.status != reprise.Unknown {
		w.setAgent(last, "resumed", time.Time{})
		w.mark(id)
		return
	}
	entry := append(splice.Object{{Key: "agent_id", Value: id}}, about...)
	entry = append(entry, splice.Member{Key: "timestamp", Value: w.stamp()},
		splice.Member{Key: "status", Value: "spawned"}, splice.Member{Key: "completion_timestamp", Value: nil})
	w.addAgent(second, entry, fmt.Sprintf("agent %s is at plan %s", doc.Clip(id, 60), p.id))
	w.mark(id)
}

// stamp is the time of the event as the history writes times; null for none.
func (w *recorder) stamp() any {
	if w.ev.At.IsZero() {
		return nil
	}
	sample := ""
	if n := len(w.agent.entries); n > 0 {
		sample = w.agent.entries[n-1].stamp
	}
	return w.spell(sample)
}

// addAgent appends an entry to the history, with the keys that the last entry of
// the file has, in their order. Where there is no history it is made.
func (w *recorder) addAgent(second bool, entry splice.Object, why string) {
	if !w.agent.exists {
		content, err := newHistory(second, entry)
		w.Fail(err)
		w.Create(w.agent.file, content, why)
		return
	}
	list := w.agent.list
	w.Structured(w.agent.file).Because("%s", why)
	if list.Node == nil {
		w.Set(list, []any{entry})
		return
	}
	if n := len(list.Items); n > 0 && list.Items[n-1].Kind == doc.Map {
		entry = asIn(list.Items[n-1], entry)
	}
	w.Add(list, entry)
}

// asIn orders fields as a model has them, those it lacks behind. An agent's
// type is taken over: it is the same for every plan.
func asIn(model *doc.Node, fields splice.Object) splice.Object {
	var out, rest splice.Object
	known := map[string]any{}
	for _, m := range fields {
		known[m.Key] = m.Value
		if !model.Has(m.Key) {
			rest = append(rest, m)
		}
	}
	for _, k := range model.Keys {
		switch v, ok := known[k.Name]; {
		case ok:
			out = append(out, splice.Member{Key: k.Name, Value: v})
		case k.Name == "agent_type" && k.Value.Kind == doc.String:
			out = append(out, splice.Member{Key: k.Name, Value: k.Value.Text})
		}
	}
	return append(out, rest...)
}

// mark writes the id of the agent at work into current-agent-id.txt.
func (w *recorder) mark(id string) {
	if w.agent.id != id {
		w.Rewrite(path.Join(w.dir, "current-agent-id.txt"), []byte(id+w.agent.ends), "agent "+doc.Clip(id, 60)+" is at work")
	}
}
