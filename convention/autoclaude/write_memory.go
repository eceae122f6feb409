package autoclaude

import (
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// How much of a text the records keep, in characters.
const (
	maxApproach = 200
	maxError    = 500 // as the later program cuts it
)

// pythonTime is how the program writes times, with the zone it leaves out.
const pythonTime = "2026-01-02T03:04:05.000000+00:00"

// historyRecord is attempt_history.json as the program begins it.
func historyRecord(kind string, metadata splice.Object) splice.Object {
	return splice.Object{{Key: kind + "s", Value: splice.Object{}}, {Key: "stuck_" + kind + "s", Value: []any{}}, {Key: "metadata", Value: metadata}}
}

// commitsRecord is build_commits.json as the program begins it.
func commitsRecord(metadata splice.Object) splice.Object {
	return splice.Object{{Key: "commits", Value: []any{}}, {Key: "last_good_commit", Value: nil}, {Key: "metadata", Value: metadata}}
}

// kind is what the records call an item: chunk in plans of the first versions,
// else subtask.
func (it *item) kind() string {
	if it.list == "chunks" {
		return "chunk"
	}
	return "subtask"
}

// madeAt are the times of a record that is made.
func (w *writer) madeAt() splice.Object {
	if w.ev.At.IsZero() {
		return splice.Object{}
	}
	now := ledger.SpellTime(w.ev.At, pythonTime, "")
	return splice.Object{{Key: "created_at", Value: now}, {Key: "last_updated", Value: now}}
}

// history is the place of one item in attempt_history.json.
type history struct {
	root     ledger.Value
	items    ledger.Value // the map of items
	entry    ledger.Value // the item's own
	failures bool         // the later shape: a bare list of failures
}

// list is where the attempts of the item stand.
func (h *history) list() ledger.Value {
	if h.failures {
		return h.entry
	}
	return h.entry.In("attempts")
}

// recordAttempt keeps attempt_history.json: an attempt is put down, without an
// outcome, before the agent is launched, so that one that dies is on record;
// the end of it fills the outcome in.
func (w *writer) recordAttempt(changed bool) {
	kind := w.ev.Kind
	begins := kind == reprise.StepStarted && (changed || w.ev.Attempt > 0 && !w.ev.At.IsZero())
	fails := changed && (kind == reprise.StepFailed || kind == reprise.StepBlocked)
	if _, there := w.l.pathOf(historyLog); !there && !begins && !fails {
		return
	}
	h := w.history()
	switch {
	case w.Err() != nil:
	case kind == reprise.StepStarted:
		if begins {
			w.beginAttempt(h, changed)
		}
	case kind == reprise.StepFinished:
		w.endAttempt(h, true, changed)
	case kind == reprise.StepReset && (h.failures || !openAttempt(w.last(h))):
	default:
		w.endAttempt(h, false, changed)
	}
}

// history finds the record of the item, in whichever of the three shapes the
// file has.
func (w *writer) history() *history {
	kind := w.l.plan.item(w.ev.Step).kind()
	h := &history{root: w.recordFile(historyLog, fmt.Sprintf("attempt at %q", doc.Clip(w.ev.Step, 60)), historyRecord(kind, w.madeAt()))}
	h.items = h.root.In(kind + "s")
	for _, key := range []string{"chunks", "subtasks"} { // the later name wins
		n := h.root.In(key)
		if n.Node == nil {
			continue
		}
		if n.Kind != doc.Map {
			w.Fail(fmt.Errorf("record in %s: %s is not a map of items", h.root.File, key))
			return h
		}
		if h.items.Node == nil || n.Has(w.ev.Step) {
			h.items = n
		}
		for _, e := range n.Keys {
			h.failures = h.failures || e.Value.Kind == doc.List
		}
	}
	h.failures = h.failures || h.root.Node != nil && h.root.Has("stuckSubtasks")
	h.entry = h.items.In(w.ev.Step)
	if h.entry.Node != nil {
		h.failures = h.entry.Kind == doc.List
		if attempts := h.entry.In("attempts"); h.entry.Kind != doc.Map && !h.failures || attempts.Node != nil && attempts.Kind != doc.List {
			w.Fail(fmt.Errorf("record in %s: the record of %q is not a record of attempts", h.root.File, doc.Clip(w.ev.Step, 60)))
		}
	}
	return h
}

// last is the last attempt on record, absent if there is none.
func (w *writer) last(h *history) ledger.Value {
	list := w.Now(h.list())
	if n := len(list.Entries(0)); n > 0 && list.Item(n-1).Is(doc.Map) {
		return list.Item(n - 1)
	}
	return ledger.Value{}
}

// openAttempt reports whether an attempt is there and has no outcome yet.
func openAttempt(v ledger.Value) bool { return v.Node != nil && v.Get("success").IsNull() }

// beginAttempt puts down an attempt that is about to begin. The later shape
// keeps failures only.
func (w *writer) beginAttempt(h *history, changed bool) {
	list := w.Now(h.list()).Entries(0)
	if h.failures || w.ev.Attempt > 0 && len(list) >= w.ev.Attempt || w.ev.Attempt <= 0 && !changed {
		return
	}
	now := w.stampIn(h.root)
	for _, a := range list {
		if a.Is(doc.Map) && now != "" && a.In("timestamp").Plain() == now {
			return
		}
	}
	w.addAttempt(h, w.attempt(h, "Session started", nil, nil), "")
}

// endAttempt fills in the outcome of the attempt that is open, or puts one down
// if the item's status changed without any.
func (w *writer) endAttempt(h *history, success, changed bool) {
	text := ledger.Prose(w.ev.Text, maxError)
	if text == "" && w.ev.Kind == reprise.StepReset {
		text = "interrupted"
	}
	if h.failures {
		if !success && changed {
			w.addAttempt(h, splice.Object{
				{Key: "timestamp", Value: w.stampIn(h.root)},
				{Key: "error", Value: text},
				{Key: "failureType", Value: "unknown"},
				{Key: "errorHash", Value: reprise.HashOf([]byte(text)).String()[:16]},
			}, "")
		}
		return
	}
	status := "failed"
	var fault any
	if success {
		status = "completed"
	} else if text != "" {
		fault = text
	}
	last := w.last(h)
	if openAttempt(last) {
		w.closeAttempt(h, last, success, fault, status)
		return
	}
	if !changed || success && last.Node != nil && last.Get("success").Text == "true" {
		return
	}
	approach := "Session ended without completion"
	if success {
		approach = orElse(ledger.Prose(w.ev.Text, maxApproach), "Implemented: "+doc.Clip(w.l.plan.item(w.ev.Step).step.Title, 100))
	}
	w.addAttempt(h, w.attempt(h, approach, success, fault), status)
}

func (w *writer) closeAttempt(h *history, last ledger.Value, success bool, fault any, status string) {
	w.Set(last.In("success"), success)
	if fault != nil {
		w.Set(last.In("error"), fault)
	}
	if text := ledger.Prose(w.ev.Text, maxApproach); success && text != "" {
		w.Set(last.In("approach"), text)
	}
	w.settleAttempt(h, status)
}

// attempt is the record the program makes, its fields in their order. Sessions
// are counted over all items.
func (w *writer) attempt(h *history, approach string, success, fault any) splice.Object {
	session := 0
	for _, item := range h.items.Entries(0) {
		if !item.Is(doc.Map) {
			continue
		}
		for _, a := range item.In("attempts").Entries(0) {
			if a.Is(doc.Map) && a.In("session").Is(doc.Number) {
				n, _ := a.In("session").Int()
				session = max(session, n)
			}
		}
	}
	return splice.Object{
		{Key: "session", Value: session + 1},
		{Key: "timestamp", Value: w.stampIn(h.root)},
		{Key: "approach", Value: approach},
		{Key: "success", Value: success},
		{Key: "error", Value: fault},
	}
}

// addAttempt puts a record at the end of the item's list, which is made if the
// item has none.
func (w *writer) addAttempt(h *history, record splice.Object, status string) {
	if h.items.Node == nil {
		w.Set(h.items, splice.Object{})
	}
	switch {
	case h.entry.Node == nil && h.failures:
		w.Set(h.entry, []any{})
	case h.entry.Node == nil:
		w.Set(h.entry, splice.Object{{Key: "attempts", Value: []any{}}, {Key: "status", Value: "pending"}})
	case h.list().Node == nil:
		w.Set(h.list(), []any{})
	}
	w.Add(h.list(), record)
	w.settleAttempt(h, status)
}

// settleAttempt sets the status and the time that go with an attempt.
func (w *writer) settleAttempt(h *history, status string) {
	if status != "" && !h.failures && w.ev.Kind != reprise.StepReset {
		at := h.entry.In("status")
		if n := w.Now(at); !n.Is(doc.String) || meaning(n.Text) != meaning(status) {
			w.Set(at, status)
		}
	}
	w.touchMetadata(h.root)
}

func (w *writer) touchMetadata(root ledger.Value) {
	w.Touch(root.In("metadata").In("last_updated", "lastUpdated"), w.ev.At, pythonTime)
}

// stampIn is the time of the event as a record spells times.
func (w *writer) stampIn(root ledger.Value) string {
	if w.ev.At.IsZero() {
		return ""
	}
	sample := pythonTime
	if n := root.In("metadata").In("created_at", "createdAt", "last_updated", "lastUpdated"); n.Is(doc.String) {
		sample = n.Text
	}
	return ledger.SpellTimeText(w.ev.At, sample, "")
}

// recordCommit keeps build_commits.json.
func (w *writer) recordCommit() {
	hash := strings.ToLower(strings.TrimSpace(w.ev.Commit))
	if hash == "" {
		return
	}
	if len(hash) < 4 || len(hash) > 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		w.Fail(fmt.Errorf("record commit %q: that is not a commit hash", doc.Clip(hash, 70)))
		return
	}
	for _, c := range w.l.memory.commits[w.ev.Step] {
		known := strings.ToLower(c.hash)
		if strings.HasPrefix(known, hash) || len(known) >= 7 && strings.HasPrefix(hash, known) {
			return
		}
	}
	why := fmt.Sprintf("commit %s is for %q", hash[:min(len(hash), 10)], doc.Clip(w.ev.Step, 60))
	root := w.recordFile(commitsLog, why, commitsRecord(w.madeAt()))
	commits := root.In("commits")
	key := w.l.plan.item(w.ev.Step).kind() + "_id"
	if commits.Node == nil {
		w.Set(commits, []any{})
	}
	for _, c := range commits.Entries(0) {
		if c.Is(doc.Map) && c.Has("chunk_id") != c.Has("subtask_id") {
			key = "subtask_id"
			if c.Has("chunk_id") {
				key = "chunk_id"
			}
		}
	}
	w.Add(commits, splice.Object{{Key: "hash", Value: hash}, {Key: key, Value: w.ev.Step}, {Key: "timestamp", Value: w.stampIn(root)}})
	if good := root.In("last_good_commit"); good.Node != nil && w.ev.Kind == reprise.StepFinished {
		w.Set(good, hash)
	}
	w.touchMetadata(root)
}
