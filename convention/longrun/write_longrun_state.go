package longrun

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// stateChange is what an event changes in STATE.md of `.long-run/`.
type stateChange struct {
	status runWord        // of the run; wordNone leaves it
	at     *plan          // the plan to continue with; nil leaves it
	closes *plan          // the plan that is closed by the event
	row    reprise.Status // what the row of the plan says in the second version
	what   string         // for the line of the last activity
}

// runWords are the words of the convention for the status of a run.
var runWords = map[runWord]string{
	wordSetup: "Initializing", wordReady: "Ready to Execute", wordExecuting: "Executing", wordStopped: "Stopped", wordFailed: "Failed", wordComplete: "Complete",
}

// newPosition is what a new STATE.md says. Empty fields are left out.
type newPosition struct {
	started, goal string
	at            *plan // nil: no plan is written yet
	status        runWord
	activity      string
}

// newState is STATE.md of a run that begins.
func (l *longRun) newState(n newPosition) []byte {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			b.WriteString(key + ": " + value + "\n")
		}
	}
	b.WriteString("# Long-Run Implementation State\n\n## Spec Reference\nSpec: " + path.Dir(l.dir) + "/\n")
	line("Started", n.started)
	line("Goal", n.goal)
	b.WriteString("\n## Current Position\n")
	if n.at == nil {
		line("Plan", "[X] of [Y]")
	} else {
		line("Plan", fmt.Sprintf("%d of %d", n.at.num, len(l.plans)))
	}
	line("Status", runWords[n.status])
	line("Last activity", n.activity)
	bar := "[░░░░░░░░░░] 0%"
	if moved, ok := withBar(bar, l.closed(nil, nil), len(l.plans)); ok {
		bar = moved
	}
	line("Progress", bar)
	return []byte(b.String())
}

// closed counts the plans that are closed, with one that is closed now and without
// one that is opened.
func (l *longRun) closed(now, opened *plan) (n int) {
	for _, p := range l.plans {
		if p.status.Closed() && p != opened || p == now {
			n++
		}
	}
	return n
}

// begin writes the files of a run that is not there yet.
func (w *longRunRecorder) begin() {
	n := newPosition{goal: ledger.MarkdownLine(w.ev.Text, 2000), at: w.l.firstOpen(), status: wordSetup}
	if n.at != nil {
		n.status = wordExecuting
	}
	if !w.ev.At.IsZero() {
		n.started, n.activity = w.spell(""), w.activity("", "Started")
	}
	w.Create(w.l.state.file, w.l.newState(n), "the run is started")
	if !w.agent.exists {
		content, err := newHistory(false)
		w.Fail(err)
		w.Create(w.agent.file, content, "the run is started")
	}
}

// stateOnly is for events that stand nowhere else.
func (w *longRunRecorder) stateOnly(c stateChange) {
	if !w.l.state.exists {
		w.Fail(ledger.Cannot("%s is not there", w.l.state.file))
		return
	}
	w.state(c)
}

// state brings STATE.md up to date, in either of its two shapes. What a file
// has no line for is left out: the plans and summaries say it too. Only the
// status of the run stands nowhere else.
func (w *longRunRecorder) state(c stateChange) {
	s := &w.l.state
	if !s.exists {
		return
	}
	w.Markdown(s.file).Because("%s", c.what)
	if c.status != wordNone {
		if !s.statusAt.There() {
			w.Fail(ledger.Cannot("%s has no line for the status", s.file))
			return
		}
		if v := s.statusAt.Value; readRunWord(v) != c.status || placeholder(v) {
			w.SetText(s.statusAt, runWords[c.status])
		}
	}
	w.statePlace(c)
	w.stateRow(c)
	if !w.Changed() {
		return
	}
	if bar, ok := withBar(s.progressAt.Value, w.l.closed(c.closes, c.at), max(len(w.l.plans), s.total)); ok {
		w.set(s.progressAt, bar)
	}
	if !w.ev.At.IsZero() {
		w.stateActivity(c.what)
	}
}

// statePlace sets the plan to continue with and its task group.
func (w *longRunRecorder) statePlace(c stateChange) {
	s := &w.l.state
	if c.at == nil {
		return
	}
	if v := s.planAt.Value; s.plan != c.at.num {
		if value, ok := withNumber(v, c.at.num); ok {
			w.set(s.planAt, value)
		} else if placeholder(v) {
			w.set(s.planAt, fmt.Sprintf("%d of %d", c.at.num, len(w.l.plans)))
		}
	}
	if c.at.group != "" && doc.Fold(s.groupAt.Value) != doc.Fold(c.at.group) {
		w.set(s.groupAt, ledger.MarkdownLine(c.at.group, 120))
	}
	if nums := doc.Numbers(s.taskAt.Value); s.group(c.at) != nil && (placeholder(s.taskAt.Value) || len(nums) > 0 && nums[0] != c.at.num) {
		w.set(s.taskAt, fmt.Sprintf("Task %d - %s", c.at.num, ledger.MarkdownLine(c.at.title, 80)))
	}
}

// rowWords are the words of the convention for a row of the task groups.
var rowWords = map[reprise.Status]string{
	reprise.Pending: "Pending", reprise.InProgress: "In Progress", reprise.Done: "Complete", reprise.Failed: "Failed", reprise.Skipped: "Skipped",
}

// stateRow sets the status of a plan in the table of task groups, in the word
// that another row of the table has for it.
func (w *longRunRecorder) stateRow(c stateChange) {
	p := cmp.Or(c.closes, c.at)
	if p == nil || c.row == 0 {
		return
	}
	g := w.l.state.group(p)
	if g == nil || g.status == c.row {
		return
	}
	word := rowWords[c.row]
	for _, other := range w.l.state.groups {
		if other.status == c.row {
			word = other.word.Value
			break
		}
	}
	w.SetText(g.word, word)
}

// stateActivity says when and by what the run moved last.
func (w *longRunRecorder) stateActivity(what string) {
	s := &w.l.state
	w.set(s.activityAt, w.activity(s.activityAt.Value, what))
	if _, timed := doc.ParseTime(s.sessionAt.Value); timed {
		w.set(s.sessionAt, w.spell(s.sessionAt.Value))
	}
	if w.ev.Kind != reprise.RunStopped {
		return
	}
	if why := ledger.MarkdownLine(w.ev.Text, 200); why != "" {
		w.set(s.stoppedAt, why)
	} else if p := w.l.firstOpen(); p != nil {
		w.set(s.stoppedAt, "plan "+p.id)
	}
}
