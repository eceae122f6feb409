package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise"
	"reprise/engine"
)

// board tracks the steps of a run while it is worked on, from what the engine reports,
// and produces the lines shown on a terminal. All text from files and agents is sanitized
// on its way in.
type board struct {
	mu    sync.Mutex
	title string
	began time.Time
	now   func() time.Time
	order []string // ids of steps, children after the run's own
	steps map[string]*boardStep
	// progress is that of the run itself.
	progress reprise.Progress
	wait     string // what it is waiting for
	until    time.Time
	// hint is the last line: what a person can do now.
	hint string
	// asked are the pending questions, by step; reply says how to answer them from
	// another terminal.
	asked map[string]string
	reply string
}

// boardStep is one step on the board.
type boardStep struct {
	name, role string
	status     reprise.Status
	attempt    int
	began      time.Time
	took       time.Duration
	line       string // the last line from its agent, or why it ended
	said       int    // the attempt whose agent wrote the line
	worked     bool   // since the board was created
}

func (s *boardStep) active() bool { return s.status == reprise.InProgress }

// active reports whether a step is being worked on.
func (b *board) active() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(b.steps)), (*boardStep).active)
}

func newBoard(r *reprise.Run, now func() time.Time) *board {
	b := &board{title: subject(r), now: now, began: now(), steps: map[string]*boardStep{}, hint: "Ctrl-C stops the step cleanly", asked: map[string]string{}}
	b.refresh(r.ID, r)
	b.progress = r.Progress()
	return b
}

// place returns the key and the name of a step on the board. Steps of other runs, such as
// an epic's stories, are listed under the name of their run.
func place(main, run, step, title string) (key, name string) {
	if run == main {
		return step, stepName(step, title)
	}
	return run + "\x00" + step, "└ " + clip(run, 30) + " / " + stepName(step, title)
}

// refresh updates the steps and questions of a run from its files: steps are reset,
// skipped and planned while it is worked on. What the engine reported about a step since
// counts for more, except that it is done.
func (b *board) refresh(main string, r *reprise.Run) {
	for i := range r.Steps {
		st := &r.Steps[i]
		key, name := place(main, r.ID, st.ID, st.Title)
		s := b.steps[key]
		if s == nil && r.ID != main {
			continue // those of other runs come with their work
		}
		if s == nil {
			s = &boardStep{name: name}
			b.steps[key] = s
			b.order = append(b.order, key)
		}
		switch {
		case !s.worked:
			s.role, s.status = clip(st.Role, 20), st.Status
			if st.Status == reprise.InProgress {
				s.status = reprise.Pending // it was interrupted; no one is working on it yet
			}
		case s.active():
		case st.Status.Closed():
			s.status = st.Status
		case s.status.Closed():
			s.status, s.took, s.line = reprise.Pending, 0, ""
		}
	}
	for key := range b.asked {
		if of, _, other := strings.Cut(key, "\x00"); other && of == r.ID || !other && r.ID == main {
			delete(b.asked, key)
		}
	}
	for _, q := range r.PendingQuestions() {
		key, _ := place(main, r.ID, cmp.Or(q.By, q.Subject, q.ID), "")
		b.asked[key] = clip(q.Text, 200)
	}
}

// tell processes a report. Other runs, such as an epic's stories, have their own steps
// under the name of their run.
func (b *board) tell(run string, p engine.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key, name := place(run, p.Run, p.Step, p.Title)
	if p.Run == run {
		b.progress = reprise.Progress{Done: p.Done, Total: max(p.Total, b.progress.Total), Skipped: p.Skipped}
	}
	switch p.Kind {
	case engine.Waits:
		if brief(p) {
			return
		}
		b.wait, b.until = clip(p.Text, 200), p.Until
		return
	case engine.Working:
		if p.State != nil {
			b.refresh(run, p.State)
		}
		return
	case engine.Questions:
		b.asked[key] = clip(p.Text, 200)
		return
	case engine.Noticed:
		return
	}
	b.wait, b.until = "", time.Time{}
	s := b.steps[key]
	if s == nil {
		s = &boardStep{name: name}
		b.steps[key] = s
		b.insert(p.Run, key)
	}
	if p.Role != "" {
		s.role = clip(p.Role, 20)
	}
	if p.Attempt > 0 {
		s.attempt = p.Attempt
	}
	switch p.Kind {
	case engine.Began:
		delete(b.asked, key)
		s.status, s.began, s.took, s.worked = reprise.InProgress, p.At, 0, true
		if s.said != p.Attempt || p.Attempt == 0 { // its agent may have been heard first
			s.line = ""
		}
	case engine.Said:
		s.line, s.said = clip(p.Text, 400), p.Attempt
	case engine.Ended, engine.Resolved:
		s.said, s.worked = 0, true
		s.status, s.took, s.line = outcomeStatus(p.Outcome), p.Took, clip(readable(p.Text), 400)
		if s.took == 0 && !s.began.IsZero() {
			s.took = p.At.Sub(s.began)
		}
	}
}

// insert adds a new step in its place: that of another run goes below the step it does,
// after those already there.
func (b *board) insert(run, key string) {
	at := slices.Index(b.order, run) + 1
	if at == 0 {
		at = len(b.order)
	}
	for at < len(b.order) && strings.HasPrefix(b.order[at], run+"\x00") {
		at++
	}
	b.order = slices.Insert(b.order, at, key)
}

// outcomeStatus returns what an attempt's outcome means on the board. An unknown word is
// never done.
func outcomeStatus(outcome string) reprise.Status {
	switch outcome {
	case "done", "completed", "approved", "landed", "finished":
		return reprise.Done
	case "failed", "killed", "timed-out", "not-started", "needs-setup", "needs-permission", "refused", "lost", "rejected", "out-of-context", "session-not-found":
		return reprise.Failed
	case "blocked", "question", "needs-person", "ask":
		return reprise.Blocked
	case "stopped", "limited", "rerun":
		return reprise.Pending
	case "skipped":
		return reprise.Skipped
	}
	return reprise.Unknown
}

var statusColours = map[reprise.Status]string{
	reprise.InProgress: yellow, reprise.Done: green, reprise.Failed: red, reprise.Blocked: cyan, reprise.Unknown: red,
	reprise.Pending: faint, reprise.Skipped: faint,
}

// frame returns the lines for a terminal of this size: never more than its rows, never
// wider than its columns.
func (b *board) frame(columns, rows int, paint func(code, s string) string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	columns = max(columns, 20)
	now := b.now()
	lines := []string{paint(bold, b.head(columns, now))}
	var foot []string
	if b.wait != "" || b.until.After(now) {
		foot = append(foot, paint(cyan, fit("◇ "+waitWords(b.wait, b.until, now), columns)))
	}
	// The first line, one line of the body and the hint always stay.
	asked := b.questions(columns, paint)
	foot = append(foot, asked[:min(len(asked), max(0, rows-4-len(foot)))]...)
	if b.hint != "" {
		foot = append(foot, paint(faint, fit("  "+b.hint, columns)))
	}
	room := max(1, rows-1-len(lines)-len(foot))
	body := b.body(columns, room, now, paint)
	return append(append(lines, body...), foot...)
}

// head returns the first line, which always shows the progress, however long the run's
// name is.
func (b *board) head(columns int, now time.Time) string {
	count := " · " + doneWords(b.progress)
	left := fmt.Sprintf(", %d left", max(0, b.progress.Total-b.progress.Done))
	for _, tail := range []string{count + left + " · " + spent(now.Sub(b.began)), count + left} {
		if room := columns - width(tail); room >= min(width(b.title), 16) {
			return fit(b.title, room) + tail
		}
	}
	return fit(fit(b.title, columns-width(count))+count, columns)
}

// shownAsked is how many open questions fit at the bottom of the board.
const shownAsked = 3

// questions lists what is waiting for a person while others work, and how to answer it.
func (b *board) questions(columns int, paint func(code, s string) string) []string {
	open := slices.DeleteFunc(slices.Sorted(maps.Keys(b.asked)), func(key string) bool { return b.steps[key] != nil && b.steps[key].active() })
	slices.SortStableFunc(open, func(x, y string) int { return slices.Index(b.order, x) - slices.Index(b.order, y) })
	var lines []string
	for i, key := range open {
		if i == shownAsked-1 && len(open) > shownAsked {
			lines = append(lines, paint(cyan, fit(fmt.Sprintf("◇ and %s more", count(len(open)-i, "question")), columns)))
			break
		}
		name := clip(key, 60)
		if s := b.steps[key]; s != nil {
			name = s.name
		}
		lines = append(lines, paint(cyan, fit("◇ "+name+" waits for an answer: "+b.asked[key], columns)))
	}
	if len(lines) > 0 && b.reply != "" {
		lines = append(lines, paint(cyan, fit("  "+b.reply+" in another terminal answers it", columns)))
	}
	return lines
}

// waitWords says what is being waited for, and how much longer.
func waitWords(why string, until, now time.Time) string {
	if until.IsZero() {
		return "waiting: " + why
	}
	text := "waiting until " + clock(until, now)
	if left := until.Sub(now); left > 0 {
		text += " (" + spent(left) + " left)"
	}
	if why != "" {
		text += ": " + why
	}
	return text
}

// clock formats a time of day, with the day if it is not today.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04")
}

// body lists steps in at most room lines: those in progress, with their agents' output,
// and as many before and after as fit.
func (b *board) body(columns, room int, now time.Time, paint func(code, s string) string) []string {
	first, last := len(b.order), -1
	for i, id := range b.order {
		if b.steps[id].active() {
			first, last = min(first, i), max(last, i)
		}
	}
	if last < 0 { // nothing is in progress: around the first open step
		first = slices.IndexFunc(b.order, func(id string) bool { return !b.steps[id].status.Closed() })
		if first < 0 {
			first = max(0, len(b.order)-1)
		}
		last = first
	}
	wide, role := 8, 0
	from, to := b.window(first, last, room)
	for _, id := range b.order[from:to] {
		wide = max(wide, min(columns/2, width(b.steps[id].name)))
		role = max(role, min(14, width(b.steps[id].role)+1))
	}
	if columns < 60 {
		role = 0
	}
	var lines []string
	if from > 0 {
		lines = append(lines, paint(faint, fit(fmt.Sprintf("  … %d before", from), columns)))
	}
	for i := from; i < to; i++ {
		id := b.order[i]
		_, asks := b.asked[id]
		lines = append(lines, b.steps[id].lines(columns, wide, role, asks, now, paint)...)
	}
	if n := len(b.order) - to; n > 0 {
		lines = append(lines, paint(faint, fit(fmt.Sprintf("  … %d more", n), columns)))
	}
	// With many in progress on a low terminal, their output is dropped first.
	excess := len(lines) - room
	lines = slices.DeleteFunc(lines, func(l string) bool {
		said := excess > 0 && strings.HasPrefix(l, saidIndent)
		if said {
			excess--
		}
		return said
	})
	if len(lines) > room {
		lines = lines[:room]
	}
	return lines
}

// window chooses which steps are shown around those in progress.
func (b *board) window(first, last, room int) (from, to int) {
	size := func(from, to int) int {
		n := 0
		for _, id := range b.order[from:to] {
			n++
			if s := b.steps[id]; s.active() && s.line != "" {
				n++
			}
		}
		if from > 0 {
			n++
		}
		if to < len(b.order) {
			n++
		}
		return n
	}
	if len(b.order) == 0 {
		return 0, 0
	}
	from, to = first, min(len(b.order), last+1)
	for grown := true; grown; {
		grown = false
		if to < len(b.order) && size(from, to+1) <= room {
			to, grown = to+1, true
		}
		if from > 0 && size(from-1, to) <= room {
			from, grown = from-1, true
		}
	}
	return from, to
}

const saidIndent = "      "

func (s *boardStep) lines(columns, wide, roles int, asks bool, now time.Time, paint func(code, s string) string) []string {
	mark, colour := cmp.Or(statusMarks[s.status], "?"), statusColours[s.status]
	if asks = asks && !s.active(); asks {
		mark, colour = symbols[reprise.Waiting], colours[reprise.Waiting]
	}
	row := pad(fit(s.name, wide), wide)
	if roles > 0 {
		role := ""
		if s.role != "" {
			role = "@" + s.role
		}
		row += "  " + pad(fit(role, roles), roles)
	}
	switch {
	case s.active():
		row += "  " + spent(now.Sub(s.began))
	case s.took > 0:
		row += "  " + took(s.took)
	}
	if s.attempt > 1 {
		row += fmt.Sprintf("  attempt %d", s.attempt)
	}
	if s.status == reprise.Failed && s.line != "" {
		row += "  " + s.line
	}
	row = strings.TrimRight(fit(row, columns-4), " ")
	if !asks && (s.status == reprise.Pending || s.status == reprise.Skipped) {
		row = paint(faint, row)
	}
	lines := []string{"  " + paint(colour, mark) + " " + row}
	if s.active() && s.line != "" {
		lines = append(lines, saidIndent+paint(faint, fit(s.line, columns-len(saidIndent))))
	}
	return lines
}

// spent formats a duration briefly: 7s, 3m12s, 2h05m.
func spent(d time.Duration) string {
	d = max(0, d)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d/time.Minute), int(d%time.Minute/time.Second))
	}
	return fmt.Sprintf("%dh%02dm", int(d/time.Hour), int(d%time.Hour/time.Minute))
}

// took formats the duration of something finished, in tenths below a second, so that
// short steps do not show as zero.
func took(d time.Duration) string {
	if d > 0 && d < time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return spent(d)
}

func (b *board) setHint(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hint = text
}
