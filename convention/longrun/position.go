package longrun

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// runWord is the status STATE.md of `.long-run/` gives the whole run.
type runWord uint8

const (
	wordNone runWord = iota
	wordSetup
	wordReady
	wordExecuting
	wordStopped
	wordInterrupted
	wordFailed
	wordComplete
	wordUnknown
)

// position is what STATE.md of `.long-run/` says, in either of its two shapes:
// the first has a section "Current Position" with Plan and Status, the second a
// section "Status" with Phase and a table of task groups.
type position struct {
	exists, read bool
	plan, total  int // 0: not stated
	planSource   reprise.Source
	status       runWord
	word         string
	source       reprise.Source
	title        string
	started      time.Time
	groups       []groupRow
}

// groupRow is a row of the table of task groups.
type groupRow struct {
	num    int
	name   string
	word   string
	status reprise.Status
	source reprise.Source
}

func (l *longRun) readPosition() {
	f := l.r.Open(path.Join(l.dir, "STATE.md"))
	p := &l.state
	p.exists, p.source = f.Exists(), f.At(0)
	m := f.Markdown()
	if m == nil {
		return
	}
	p.title = strings.TrimSpace(strings.TrimPrefix(plainText(m.Title()), "Execution State:"))
	where := m.All()
	if s, ok := m.Section("Current Position", "Status"); ok {
		where = s
	}
	if v, ok := label(where, "Plan", "Current plan"); ok {
		if nums := doc.Numbers(v.Value); len(nums) > 0 {
			p.plan, p.planSource, p.read = nums[0], f.At(v.Line), true
			if len(nums) > 1 {
				p.total = nums[1]
			}
		} else if !placeholder(v.Value) {
			f.Report(reprise.Warning, reprise.CodeWrongType, v.Line, fmt.Sprintf("Plan is %s, which holds no number", strconv.Quote(doc.Clip(v.Value, 40))), "")
		}
	}
	if v, ok := label(where, "Status", "Phase"); ok && !placeholder(v.Value) {
		p.word, p.source, p.read = v.Value, f.At(v.Line), true
		p.status = readRunWord(v.Value)
		if p.status == wordUnknown {
			f.Report(reprise.Warning, reprise.CodeUnknownStatus, v.Line, fmt.Sprintf("the run has the status %s, which has no meaning here", strconv.Quote(doc.Clip(v.Value, 40))), "")
		}
	}
	if v, ok := label(where, "Current Task"); ok && !placeholder(v.Value) {
		p.read = true
	}
	for _, key := range []string{"Last activity", "Last session", "Started"} {
		if v, ok := label(m.All(), key); ok {
			at := anyTime(v.Value)
			l.run.Active(at, f.At(v.Line))
			if key == "Started" {
				p.started = at
			}
		}
	}
	l.readGroups(f, m)
	if !p.read {
		f.Report(reprise.Warning, reprise.CodeAmbiguous, 0, "STATE.md holds neither a plan nor a status that could be read", "the plan and summary files are used instead")
	}
}

// readRunWord maps the status of a run. A sentence about one plan ("Completed
// plan 2") is not the completion of the run.
func readRunWord(s string) runWord {
	words := strings.Fields(doc.Fold(s))
	if len(words) == 0 {
		return wordUnknown
	}
	switch words[0] {
	case "initializing", "initialising", "initialized", "transforming":
		return wordSetup
	case "ready", "planned":
		return wordReady
	case "executing", "running", "execute", "in":
		return wordExecuting
	case "stopped", "paused", "waiting":
		return wordStopped
	case "interrupted":
		return wordInterrupted
	case "failed", "aborted", "error":
		return wordFailed
	case "complete", "completed", "done", "finished":
		if len(words) > 1 {
			switch words[1] {
			case "plan", "task", "group", "phase", "plans", "tasks":
				return wordExecuting
			}
		}
		return wordComplete
	}
	return wordUnknown
}

var groupWords = map[string]reprise.Status{
	"pending": reprise.Pending, "not started": reprise.Pending, "ready": reprise.Pending,
	"in progress": reprise.InProgress, "executing": reprise.InProgress, "running": reprise.InProgress, "partial": reprise.InProgress,
	"complete": reprise.Done, "completed": reprise.Done, "done": reprise.Done,
	"failed": reprise.Failed, "timeout": reprise.Failed, "skipped": reprise.Skipped, "blocked": reprise.Blocked,
}

func (l *longRun) readGroups(f *doc.File, m *doc.Markdown) {
	s, ok := m.Section("Task Groups")
	if !ok {
		return
	}
	for _, t := range s.Tables() {
		num, name, status := t.Column("#", "No", "Plan"), t.Column("Task Group", "Group", "Name"), t.Column("Status")
		if status < 0 {
			continue
		}
		if num < 0 && strings.TrimSpace(t.Header[0].Text) == "#" {
			num = 0 // "#" alone folds to nothing
		}
		for _, row := range t.Rows {
			g := groupRow{word: row[status].Text, source: f.At(row[status].Line), status: reprise.Unknown}
			if name >= 0 {
				g.name = plainText(row[name].Text)
			}
			if num >= 0 {
				if n := doc.Numbers(row[num].Text); len(n) > 0 {
					g.num = n[0]
				}
			}
			if known, ok := groupWords[doc.Fold(g.word)]; ok {
				g.status = known
			} else if !placeholder(g.word) {
				f.Report(reprise.Warning, reprise.CodeUnknownStatus, g.source.Line, fmt.Sprintf("task group %s has the status %s, which has no meaning here", strconv.Quote(doc.Clip(g.name, 40)), strconv.Quote(doc.Clip(g.word, 40))), "")
			}
			l.state.groups = append(l.state.groups, g)
		}
	}
}

// group finds the row about a plan: by its number, else by the task group's name.
func (p *position) group(of *plan) *groupRow {
	for i := range p.groups {
		if g := &p.groups[i]; g.num == of.num && g.num > 0 || g.num == 0 && g.name != "" && doc.Fold(g.name) == doc.Fold(of.group) {
			return g
		}
	}
	return nil
}
