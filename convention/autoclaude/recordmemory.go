package autoclaude

import (
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// How much of a text the records keep, in characters.
const (
	maxApproach = 200
	maxError    = 500 // as the later program cuts it
)

// history is the place of one item in attempt_history.json.
type history struct {
	t        *target
	key, id  string
	failures bool // the later shape: a bare list of failures
}

// recordAttempt keeps attempt_history.json: an attempt is put down, without an
// outcome, before the agent is launched, so that one that dies is on record;
// the end of it fills the outcome in.
func (w *writer) recordAttempt(changed bool) error {
	kind := w.ev.Kind
	begins := kind == reprise.StepStarted && (changed || w.ev.Attempt > 0 && !w.ev.At.IsZero())
	fails := changed && (kind == reprise.StepFailed || kind == reprise.StepBlocked)
	h, err := w.history(begins || fails)
	if err != nil || h == nil {
		return err
	}
	switch kind {
	case reprise.StepStarted:
		if begins {
			return w.beginAttempt(h, changed)
		}
		return nil
	case reprise.StepFinished:
		return w.endAttempt(h, true, changed)
	case reprise.StepReset:
		if h.last() == nil || h.failures || !openAttempt(h.last()) {
			return nil
		}
	}
	return w.endAttempt(h, false, changed)
}

// history finds the record of the item; nil if there is no file and none is to
// be made.
func (w *writer) history(create bool) (*history, error) {
	at, present := w.l.pathOf(historyLog)
	if !present && !create {
		return nil, nil
	}
	why := fmt.Sprintf("attempt at %q", doc.Clip(w.ev.Step, 60))
	h := &history{id: w.ev.Step, key: w.listName()}
	var err error
	if !present {
		h.t, err = w.create(at, why, fmt.Sprintf("{\n  %q: {},\n  %q: [],\n  \"metadata\": {%s}\n}\n", h.key, "stuck_"+h.key, w.madeAt()))
		return h, err
	}
	if h.t, err = w.open(at, why); err != nil {
		return nil, err
	}
	return h, h.settle()
}

// madeAt are the times of a record that is made.
func (w *writer) madeAt() string {
	if w.ev.At.IsZero() {
		return ""
	}
	now := respell(pythonTime, w.ev.At)
	return fmt.Sprintf("\n    \"created_at\": %q,\n    \"last_updated\": %q\n  ", now, now)
}

// pythonTime is how the program writes times, with the zone it leaves out.
const pythonTime = "2026-01-02T03:04:05.000000+00:00"

// listName is chunks for plans of the first versions, else subtasks.
func (w *writer) listName() string {
	if it := w.l.plan.items[w.l.plan.ids[w.ev.Step]]; it.places[0][len(it.places[0])-2] == "chunks" {
		return "chunks"
	}
	return "subtasks"
}

// settle finds out which of the three shapes the file has.
func (h *history) settle() error {
	for _, key := range []string{"chunks", "subtasks"} { // the later name wins
		n := h.t.at(nil, key)
		if n == nil {
			continue
		}
		if n.Kind != doc.Map {
			return fmt.Errorf("record in %s: %s is no map of items", h.t.path, key)
		}
		if other := h.t.at(nil, h.key); other == nil || n.Has(h.id) {
			h.key = key
		}
		for _, k := range n.Keys {
			h.failures = h.failures || k.Value.Kind == doc.List
		}
	}
	if h.t.at(nil, "stuckSubtasks") != nil {
		h.failures = true
	}
	n := h.t.at(nil, h.key, h.id)
	if n != nil {
		h.failures = n.Kind == doc.List
	}
	if n != nil && n.Kind != doc.Map && n.Kind != doc.List || n != nil && n.Kind == doc.Map && n.Has("attempts") && n.Get("attempts").Kind != doc.List {
		return fmt.Errorf("record in %s: the record of %q is no record of attempts", h.t.path, doc.Clip(h.id, 60))
	}
	return nil
}

// place leads to the list of attempts.
func (h *history) place() []any {
	if h.failures {
		return []any{h.key, h.id}
	}
	return []any{h.key, h.id, "attempts"}
}

func (h *history) list() []*doc.Node {
	if n := h.t.at(h.place()); n != nil && n.Kind == doc.List {
		return n.Items
	}
	return nil
}

func (h *history) last() *doc.Node {
	if list := h.list(); len(list) > 0 && list[len(list)-1].Kind == doc.Map {
		return list[len(list)-1]
	}
	return nil
}

// openAttempt reports whether an attempt has no outcome yet.
func openAttempt(n *doc.Node) bool { return n.Get("success").IsNull() }

// beginAttempt puts down an attempt that is about to begin. The later shape
// keeps failures only.
func (w *writer) beginAttempt(h *history, changed bool) error {
	if h.failures {
		return nil
	}
	list := h.list()
	if w.ev.Attempt > 0 && len(list) >= w.ev.Attempt || w.ev.Attempt <= 0 && !changed {
		return nil
	}
	now := w.now(h)
	for _, n := range list {
		if n.Kind == doc.Map && now != "" && n.Get("timestamp").Str() == now {
			return nil
		}
	}
	return w.addAttempt(h, w.attempt(h, "Session started", nil, nil), "")
}

// endAttempt fills in the outcome of the attempt that is open, or puts one down
// if the item's status changed without any.
func (w *writer) endAttempt(h *history, success, changed bool) error {
	text := tidy(w.ev.Text, maxError)
	if text == "" && w.ev.Kind == reprise.StepReset {
		text = "interrupted"
	}
	if h.failures {
		if success || !changed {
			return nil
		}
		return w.addAttempt(h, splice.Object{
			{Key: "timestamp", Value: w.now(h)},
			{Key: "error", Value: text},
			{Key: "failureType", Value: "unknown"},
			{Key: "errorHash", Value: reprise.HashOf([]byte(text)).String()[:16]},
		}, "")
	}
	status := "failed"
	var fault any
	if success {
		status = "completed"
	} else if text != "" {
		fault = text
	}
	last := h.last()
	if last != nil && openAttempt(last) {
		return w.closeAttempt(h, success, fault, status)
	}
	if !changed || success && last != nil && last.Get("success").Text == "true" {
		return nil
	}
	approach := "Session ended without completion"
	if success {
		approach = "Implemented: " + doc.Clip(w.l.plan.items[w.l.plan.ids[w.ev.Step]].step.Title, 100)
		if text != "" {
			approach = tidy(w.ev.Text, maxApproach)
		}
	}
	return w.addAttempt(h, w.attempt(h, approach, success, fault), status)
}

func (w *writer) closeAttempt(h *history, success bool, fault any, status string) error {
	at := append(h.place(), len(h.list())-1)
	if err := h.t.put(success, at, "success"); err != nil {
		return err
	}
	if fault != nil {
		if err := h.t.put(fault, at, "error"); err != nil {
			return err
		}
	}
	if text := tidy(w.ev.Text, maxApproach); success && text != "" {
		if err := h.t.put(text, at, "approach"); err != nil {
			return err
		}
	}
	return w.settleAttempt(h, status)
}

// attempt is the record the program makes, its fields in their order.
func (w *writer) attempt(h *history, approach string, success, fault any) splice.Object {
	session := 0
	for _, item := range h.t.at(nil, h.key).Fields() {
		if item.Value.Kind != doc.Map {
			continue
		}
		attempts := item.Value.Get("attempts")
		if attempts == nil || attempts.Kind != doc.List {
			continue
		}
		for _, n := range attempts.Items {
			if n.Kind == doc.Map {
				if s := n.Get("session"); s != nil && s.Kind == doc.Number {
					v, _ := s.Int()
					session = max(session, v)
				}
			}
		}
	}
	return splice.Object{
		{Key: "session", Value: session + 1},
		{Key: "timestamp", Value: w.now(h)},
		{Key: "approach", Value: approach},
		{Key: "success", Value: success},
		{Key: "error", Value: fault},
	}
}

// addAttempt puts a record at the end of the item's list, which is made if the
// item has none.
func (w *writer) addAttempt(h *history, record splice.Object, status string) error {
	at := h.place()
	if h.t.at(nil, h.key) == nil {
		if err := h.t.put(splice.Object{}, nil, h.key); err != nil {
			return err
		}
	}
	switch entry := h.t.at(nil, h.key, h.id); {
	case entry == nil && h.failures:
		if err := h.t.put([]any{}, at); err != nil {
			return err
		}
	case entry == nil:
		if err := h.t.put(splice.Object{{Key: "attempts", Value: []any{}}, {Key: "status", Value: "pending"}}, nil, h.key, h.id); err != nil {
			return err
		}
	case entry.Kind == doc.Map && !entry.Has("attempts"):
		if err := h.t.put([]any{}, at); err != nil {
			return err
		}
	}
	if err := h.t.add(record, at...); err != nil {
		return err
	}
	return w.settleAttempt(h, status)
}

// settleAttempt sets the status and the time that go with an attempt.
func (w *writer) settleAttempt(h *history, status string) error {
	if status != "" && !h.failures && w.ev.Kind != reprise.StepReset {
		n := h.t.at(nil, h.key, h.id, "status")
		if n == nil || n.Kind != doc.String || meaning(n.Text) != meaning(status) {
			if err := h.t.put(status, nil, h.key, h.id, "status"); err != nil {
				return err
			}
		}
	}
	return w.touchMetadata(h.t)
}

func (w *writer) touchMetadata(t *target) error {
	for _, key := range []string{"last_updated", "lastUpdated"} {
		if n := t.at(nil, "metadata", key); n != nil {
			return w.touch(t, pythonTime, []any{"metadata"}, key)
		}
	}
	return nil
}

// now is the time of the event as the file spells times.
func (w *writer) now(h *history) string { return w.stampFor(h.t) }

func (w *writer) stampFor(t *target) string {
	if w.ev.At.IsZero() {
		return ""
	}
	sample := pythonTime
	if meta := t.at(nil, "metadata"); meta != nil && meta.Kind == doc.Map {
		if n := meta.Get("created_at", "createdAt", "last_updated", "lastUpdated"); n != nil && n.Kind == doc.String {
			sample = n.Text
		}
	}
	return respell(sample, w.ev.At)
}

// recordCommit keeps build_commits.json.
func (w *writer) recordCommit() error {
	hash := strings.ToLower(strings.TrimSpace(w.ev.Commit))
	if hash == "" {
		return nil
	}
	if len(hash) < 4 || len(hash) > 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return fmt.Errorf("record commit %q: that is no hash of a commit", doc.Clip(hash, 70))
	}
	for _, c := range w.l.memory.commits[w.ev.Step] {
		known := strings.ToLower(c.hash)
		if strings.HasPrefix(known, hash) || len(known) >= 7 && strings.HasPrefix(hash, known) {
			return nil
		}
	}
	why := fmt.Sprintf("commit %s is for %q", hash[:min(len(hash), 10)], doc.Clip(w.ev.Step, 60))
	at, present := w.l.pathOf(commitsLog)
	var t *target
	var err error
	if present {
		t, err = w.open(at, why)
	} else {
		t, err = w.create(at, why, fmt.Sprintf("{\n  \"commits\": [],\n  \"last_good_commit\": null,\n  \"metadata\": {%s}\n}\n", w.madeAt()))
	}
	if err != nil {
		return err
	}
	key := strings.TrimSuffix(w.listName(), "s") + "_id"
	commits := t.at(nil, "commits")
	if commits == nil {
		err = t.put([]any{}, nil, "commits")
	} else if commits.Kind == doc.List {
		for _, n := range commits.Items {
			if n.Kind == doc.Map && n.Has("chunk_id") != n.Has("subtask_id") {
				key = "subtask_id"
				if n.Has("chunk_id") {
					key = "chunk_id"
				}
			}
		}
	}
	if err != nil {
		return err
	}
	record := splice.Object{{Key: "hash", Value: hash}, {Key: key, Value: w.ev.Step}, {Key: "timestamp", Value: w.stampFor(t)}}
	if err := t.add(record, "commits"); err != nil {
		return err
	}
	if n := t.at(nil, "last_good_commit"); n != nil && w.ev.Kind == reprise.StepFinished {
		if err := t.put(hash, nil, "last_good_commit"); err != nil {
			return err
		}
	}
	return w.touchMetadata(t)
}
