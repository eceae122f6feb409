package longrun

import (
	"fmt"
	"path"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// stateChange is what an event changes in STATE.md of `.long-run/`.
type stateChange struct {
	status runWord        // of the run; wordNone leaves it
	at     *plan          // the plan to go on with; nil leaves it
	closes *plan          // the plan that is closed by the event
	row    reprise.Status // what the row of the plan says in the second version
	what   string         // for the line of the last activity
}

// runWords are the words of the convention for the status of a run.
var runWords = map[runWord]string{
	wordReady: "Ready to Execute", wordExecuting: "Executing", wordStopped: "Stopped", wordFailed: "Failed", wordComplete: "Complete",
}

// stateOnly is for events that stand nowhere else.
func (w *runRecorder) stateOnly(c stateChange) error {
	if !w.l.state.exists {
		return cannot("%s is not there", path.Join(w.l.dir, "STATE.md"))
	}
	return w.state(c)
}

// state brings STATE.md up to date, in either of its two shapes. What a file
// has no line for is left out: the plans and summaries say it too. Only the
// status of the run stands nowhere else.
func (w *runRecorder) state(c stateChange) error {
	name := path.Join(w.l.dir, "STATE.md")
	m, err := w.openMarkdown(name, c.what)
	if err != nil || m == nil {
		return err
	}
	where := m.Doc().All()
	if s, ok := m.Doc().Section("Current Position", "Status"); ok {
		where = s
	}
	if c.status != wordNone {
		v, ok := label(where, "Status", "Phase")
		if !ok {
			return cannot("%s has no line for the status", name)
		}
		if readRunWord(v.Value) != c.status || placeholder(v.Value) {
			if err := setAt(m, v, runWords[c.status]); err != nil {
				return inFile(name, err)
			}
		}
	}
	if err := w.statePlace(m, where, c); err != nil {
		return inFile(name, err)
	}
	if err := w.stateRow(m, c); err != nil {
		return inFile(name, err)
	}
	if v, ok := label(where, "Progress"); ok && w.changed() {
		done := 0
		for _, p := range w.l.plans {
			if p.status.Closed() && p != c.at || p == c.closes {
				done++
			}
		}
		if bar, ok := withBar(v.Value, done, max(len(w.l.plans), w.l.state.total)); ok {
			if err := setAt(m, v, bar); err != nil {
				return inFile(name, err)
			}
		}
	}
	if !w.changed() || w.ev.At.IsZero() {
		return nil
	}
	return inFile(name, w.stateActivity(m, c.what))
}

// setAt replaces the value of a label.
func setAt(m *splice.Markdown, l doc.Label, value string) error {
	return m.SetLabel(splice.Where{Line: l.Line}, l.Key, value)
}

// statePlace sets the plan to go on with and its task group.
func (w *runRecorder) statePlace(m *splice.Markdown, where doc.Section, c stateChange) error {
	if c.at == nil {
		return nil
	}
	if v, ok := label(where, "Plan", "Current plan"); ok {
		value, numbered := withNumber(v.Value, c.at.num)
		if !numbered && placeholder(v.Value) {
			value, numbered = fmt.Sprintf("%d of %d", c.at.num, len(w.l.plans)), true
		}
		if numbered && w.l.state.plan != c.at.num {
			if err := setAt(m, v, value); err != nil {
				return err
			}
		}
	}
	if v, ok := label(where, "Task Group"); ok && c.at.group != "" && doc.Fold(v.Value) != doc.Fold(c.at.group) {
		if err := setAt(m, v, line(c.at.group, 120)); err != nil {
			return err
		}
	}
	if v, ok := label(where, "Current Task"); ok && w.l.state.group(c.at) != nil {
		if nums := doc.Numbers(v.Value); placeholder(v.Value) || len(nums) > 0 && nums[0] != c.at.num {
			return setAt(m, v, fmt.Sprintf("Task %d - %s", c.at.num, line(c.at.title, 80)))
		}
	}
	return nil
}

// rowWords are the words of the convention for a row of the task groups.
var rowWords = map[reprise.Status]string{
	reprise.Pending: "Pending", reprise.InProgress: "In Progress", reprise.Done: "Complete", reprise.Failed: "Failed", reprise.Skipped: "Skipped",
}

// stateRow sets the status of a plan in the table of task groups, in the word
// that another row of the table has for it.
func (w *runRecorder) stateRow(m *splice.Markdown, c stateChange) error {
	p := c.closes
	if p == nil {
		p = c.at
	}
	if p == nil || c.row == 0 {
		return nil
	}
	g := w.l.state.group(p)
	if g == nil || g.status == c.row {
		return nil
	}
	word := rowWords[c.row]
	for _, other := range w.l.state.groups {
		if other.status == c.row {
			word = other.word
			break
		}
	}
	return m.SetCell(splice.Where{Line: g.source.Line}, splice.Row{}, "Status", word)
}

// stateActivity says when and by what the run moved last.
func (w *runRecorder) stateActivity(m *splice.Markdown, what string) error {
	all := m.Doc().All()
	if v, ok := label(all, "Last activity"); ok {
		if err := setAt(m, v, activity(v.Value, w.ev.At, what)); err != nil {
			return err
		}
	}
	if v, ok := label(all, "Last session"); ok {
		if _, timed := doc.ParseTime(v.Value); timed {
			if err := setAt(m, v, timeLike(v.Value, w.ev.At)); err != nil {
				return err
			}
		}
	}
	v, ok := label(all, "Stopped at")
	if !ok || w.ev.Kind != reprise.RunStopped {
		return nil
	}
	if why := line(w.ev.Text, 200); why != "" {
		return setAt(m, v, why)
	}
	if p := w.l.firstOpen(); p != nil {
		return setAt(m, v, "plan "+p.id)
	}
	return nil
}
