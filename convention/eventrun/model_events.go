package eventrun

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"

	"reprise/internal/doc"
)

// key orders events: by time, then by file name, then by position in the file.
type key struct {
	at              instant
	file, line, sub int32
}

func (k key) after(o key) bool {
	switch {
	case k.at.sec != o.at.sec:
		return k.at.sec > o.at.sec
	case k.at.nsec != o.at.nsec:
		return k.at.nsec > o.at.nsec
	case k.file != o.file:
		return k.file > o.file
	case k.line != o.line:
		return k.line > o.line
	}
	return k.sub > o.sub
}

// task is what is kept of a task's events: the deciding one, and counts. A run with a
// million events needs no more memory than its tasks.
type task struct {
	id     string
	last   key
	word   *word // of the deciding event, nil if there is none
	kind   kind
	claims int32
	starts int32
	made   bool // an event says that it was implemented
	extra  *taskExtra
}

// taskExtra is for the few tasks that had trouble.
type taskExtra struct {
	failures int32
	recent   []key  // the latest failures, at most mostAttempts, latest first
	why      []byte // the event that says why it is blocked
	whyAt    key
	back     key  // when it was last reset
	made     note // the latest event that names commits or files of its implementation
	done     note // the same for its completion
}

// mostAttempts is how many attempts a person's own workflow file may allow for a task.
const mostAttempts = 100

func (t *task) more() *taskExtra {
	if t.extra == nil {
		t.extra = &taskExtra{}
	}
	return t.extra
}

func (t *task) record(k key, w *word, kd kind, raw []byte) {
	switch kd {
	case taskStarted:
		if w.claim {
			t.claims++
		} else {
			t.starts++
		}
	case taskFailed:
		t.more().failed(k)
	case taskPending:
		if w.back {
			if x := t.more(); k.after(x.back) {
				x.back = k
			}
		}
	case taskImplemented:
		t.made = true
		if leaves(raw) {
			t.more().made.keep(k, w, raw)
		}
	case taskDone:
		if leaves(raw) {
			t.more().done.keep(k, w, raw)
		}
	case taskBlocked:
		if x := t.more(); x.why == nil || k.after(x.whyAt) {
			x.why, x.whyAt = append(x.why[:0], raw...), k
		}
	}
	if t.word == nil || k.after(t.last) {
		t.last, t.word, t.kind = k, w, kd
	}
}

func (x *taskExtra) failed(k key) {
	x.failures++
	x.insert(k)
}

func (x *taskExtra) insert(k key) {
	at := slices.IndexFunc(x.recent, k.after)
	if at < 0 {
		at = len(x.recent)
	}
	x.recent = slices.Insert(x.recent, at, k)
	x.recent = x.recent[:min(len(x.recent), mostAttempts)]
}

// merge adds the counts of the same task under another spelling of its id.
func (t *task) merge(o *task) {
	t.claims += o.claims
	t.starts += o.starts
	t.made = t.made || o.made
	if o.extra != nil {
		x := t.more()
		for _, k := range o.extra.recent {
			x.insert(k)
		}
		x.failures += o.extra.failures
		if o.extra.back.after(x.back) {
			x.back = o.extra.back
		}
		x.made.keepNote(&o.extra.made)
		x.done.keepNote(&o.extra.done)
		if o.extra.why != nil && (x.why == nil || o.extra.whyAt.after(x.whyAt)) {
			x.why, x.whyAt = slices.Clone(o.extra.why), o.extra.whyAt // each goes on by itself
		}
	}
	if o.word != nil && (t.word == nil || o.last.after(t.last)) {
		t.last, t.word, t.kind = o.last, o.word, o.kind
	}
}

// attempts counts the recorded launches. If a writer records both a claim and a start,
// they are the same launch.
func (t *task) attempts() int {
	n := max(t.claims, t.starts)
	if t.extra != nil {
		n = max(n, t.extra.failures)
	}
	return int(n)
}

// failuresSince counts the failures after a position in the log, up to mostAttempts.
func (t *task) failuresSince(k key) int {
	if t.extra == nil {
		return 0
	}
	n := 0
	for _, at := range t.extra.recent {
		if at.after(k) {
			n++
		}
	}
	return n
}

// note is the latest event of one kind, with its text.
type note struct {
	key  key
	word *word
	raw  []byte
	set  bool
}

func (n *note) keep(k key, w *word, raw []byte) {
	if !n.set || k.after(n.key) {
		n.key, n.word, n.raw, n.set = k, w, append(n.raw[:0], raw...), true
	}
}

// keepFirst keeps the earliest event instead, which must name the goal.
func (n *note) keepFirst(k key, w *word, raw []byte) {
	if (!n.set || n.key.after(k)) && parseBody(raw).text(goalKey) != "" {
		*n = note{key: k, word: w, raw: bytes.Clone(raw), set: true}
	}
}

func (n *note) keepNote(o *note) {
	if o.set {
		n.keep(o.key, o.word, o.raw)
	}
}

// body parses the event. Kept events are known to be valid JSON.
func (n *note) body() body { return parseBody(n.raw) }

// alarm is an escalation or its resolution.
type alarm struct {
	key      key
	kind     kind
	id, task string
	body     body
}

// goalKey is the key of a run's goal.
const goalKey = "feature_name"

// maxAlarms limits how many escalations are kept from one log; no one is asked thousands
// of questions.
const maxAlarms = 1000

// tally is what was gathered from the events, independent of reading order.
type tally struct {
	tasks  map[string]*task
	latest [kinds]note
	branch note // the latest start that names a branch; resuming does not
	goal   note // the first start that names the goal
	alarms []alarm
	last   key // of all events
	events int

	alarmFile  int32
	alarmCount int
}

func newTally() *tally { return &tally{tasks: map[string]*task{}, last: key{at: never}} }

func (t *tally) task(id []byte) *task {
	if found := t.tasks[string(id)]; found != nil {
		return found
	}
	made := &task{id: string(id)}
	t.tasks[made.id] = made
	return made
}

// record adds one event, about the task tk if it names one. raw is its JSON.
func (t *tally) record(k key, w *word, tk *task, raw []byte) {
	t.events++
	if k.after(t.last) {
		t.last = k
	}
	if w == nil {
		return
	}
	switch kd := w.meaning(tk != nil); {
	case kd == kindOther:
	case kd.aboutTask():
		if tk != nil {
			tk.record(k, w, kd, raw)
		}
	case kd == escalated || kd == escalationResolved:
		if k.file != t.alarmFile {
			t.alarmFile, t.alarmCount = k.file, 0
		}
		if t.alarmCount++; t.alarmCount <= maxAlarms {
			b := parseBody(raw)
			a := alarm{key: k, kind: kd, id: alarmID(b, kd), body: b}
			if tk != nil {
				a.task = tk.id
			}
			t.alarms = append(t.alarms, a)
		}
	default:
		t.latest[kd].keep(k, w, raw)
		if kd == runStarted && foldWord(w.text) == "run started" && quotes(raw, goalKey) {
			t.goal.keepFirst(k, w, raw)
		}
		if kd == runStarted && (quotes(raw, "branch") || quotes(raw, "work_branch")) && branchOf(parseBody(raw)) != "" {
			t.branch.keep(k, w, raw)
		}
	}
}

func alarmID(b body, kd kind) string {
	if kd == escalationResolved {
		return b.text("original_escalation_id", "escalation_id", "resolves")
	}
	return b.text("escalation_id", "event_id", "id")
}

// join adds what another reader gathered from other files.
func (t *tally) join(o *tally) {
	for id, other := range o.tasks {
		t.task([]byte(id)).merge(other)
	}
	for i := range o.latest {
		t.latest[i].keepNote(&o.latest[i])
	}
	t.branch.keepNote(&o.branch)
	if n := &o.goal; n.set {
		t.goal.keepFirst(n.key, n.word, n.raw)
	}
	t.alarms = append(t.alarms, o.alarms...)
	if o.last.after(t.last) {
		t.last = o.last
	}
	t.events += o.events
}

// body is the text of one event. Some events have the payload at the top, others under
// `details`.
type body struct{ *fastjson.Value }

// parseBody parses the text of an event, which is known to be valid.
func parseBody(raw []byte) body {
	v, err := fastjson.ParseBytes(raw)
	if err != nil {
		return body{}
	}
	return body{v}
}

// get returns the value of the first key that exists, at the top or in the details.
func (b body) get(keys ...string) *fastjson.Value {
	for _, k := range keys {
		for _, v := range []*fastjson.Value{b.Get(k), b.Get("details", k)} {
			if v != nil && v.Type() != fastjson.TypeNull {
				return v
			}
		}
	}
	return nil
}

func (b body) text(keys ...string) string {
	v := b.get(keys...)
	if v == nil {
		return ""
	}
	switch v.Type() {
	case fastjson.TypeString:
		return strings.TrimSpace(string(v.GetStringBytes()))
	case fastjson.TypeNumber, fastjson.TypeTrue, fastjson.TypeFalse:
		return v.String()
	}
	return ""
}

func (b body) texts(keys ...string) []string {
	var out []string
	for _, v := range b.get(keys...).GetArray() {
		switch v.Type() {
		case fastjson.TypeString:
			out = append(out, string(v.GetStringBytes()))
		case fastjson.TypeObject:
			if s := (body{v}).text("label", "option", "title", "description", "id"); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

func (b body) number(keys ...string) (int, bool) {
	n, err := strconv.Atoi(b.text(keys...))
	return n, err == nil
}

// truth reads a boolean; known is false if there is none.
func (b body) truth(keys ...string) (value, known bool) {
	switch doc.Fold(b.text(keys...)) {
	case "true", "yes":
		return true, true
	case "false", "no":
		return false, true
	}
	return false, false
}
