package longrun

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// readPosition reads STATE.md.
func (l *longRun) readPosition() {
	f := l.r.Open(path.Join(l.dir, "STATE.md"))
	s := &l.state
	s.file, s.exists, s.source = f.Path, f.Exists(), f.At(0)
	m := f.Markdown()
	if m == nil {
		return
	}
	s.title = strings.TrimSpace(strings.TrimPrefix(plainText(m.Title()), "Execution State:"))
	where := m.All()
	if sec, ok := m.Section("Current Position", "Status"); ok {
		where = sec
	}
	here, all := statements(where), statements(m.All())
	s.planAt, s.statusAt = find(f, here, "Plan", "Current plan"), find(f, here, "Status", "Phase")
	s.groupAt, s.taskAt, s.progressAt = find(f, here, "Task Group"), find(f, here, "Current Task"), find(f, here, "Progress")
	s.activityAt, s.sessionAt = find(f, all, "Last activity"), find(f, all, "Last session")
	s.stoppedAt, s.goalAt = find(f, all, "Stopped at"), find(f, all, "Goal")
	if nums := doc.Numbers(s.planAt.Value); len(nums) > 0 {
		s.plan, s.planSource, s.read = nums[0], f.At(s.planAt.Line), true
		if len(nums) > 1 {
			s.total = nums[1]
		}
	} else if !placeholder(s.planAt.Value) {
		f.Report(reprise.Warning, reprise.CodeWrongType, s.planAt.Line, fmt.Sprintf("Plan is %s, which has no number", quoted(s.planAt.Value)), "")
	}
	if v := s.statusAt; !placeholder(v.Value) {
		s.word, s.source, s.read = v.Value, f.At(v.Line), true
		s.status = readRunWord(v.Value)
		if s.status == wordUnknown {
			f.Report(reprise.Warning, reprise.CodeUnknownStatus, v.Line, fmt.Sprintf("the run has the status %s, which is unknown here", quoted(v.Value)), "")
		}
	}
	s.read = s.read || !placeholder(s.taskAt.Value)
	started := find(f, all, "Started")
	s.started = anyTime(started.Value)
	for _, t := range []ledger.Text{s.activityAt, s.sessionAt, started} {
		l.run.Active(anyTime(t.Value), f.At(t.Line))
	}
	l.readGroups(f, m)
	if !s.read {
		f.Report(reprise.Warning, reprise.CodeAmbiguous, 0, "STATE.md has neither a readable plan nor a readable status", "the plan and summary files are used instead")
	}
}

// readRunWord maps the status of a run. A sentence about one plan ("Completed
// plan 2") is not the completion of the run.
func readRunWord(s string) runWord {
	words := strings.Fields(doc.Fold(s))
	if len(words) == 0 {
		return wordUnknown
	}
	word := cmp.Or(runMeanings[words[0]], wordUnknown)
	if word == wordComplete && len(words) > 1 && slices.Contains([]string{"plan", "task", "group", "phase", "plans", "tasks"}, words[1]) {
		return wordExecuting
	}
	return word
}

var runMeanings = map[string]runWord{
	"initializing": wordSetup, "initialising": wordSetup, "initialized": wordSetup, "transforming": wordSetup,
	"ready": wordReady, "planned": wordReady,
	"executing": wordExecuting, "running": wordExecuting, "execute": wordExecuting, "in": wordExecuting,
	"stopped": wordStopped, "paused": wordStopped, "waiting": wordStopped, "interrupted": wordInterrupted,
	"failed": wordFailed, "aborted": wordFailed, "error": wordFailed,
	"complete": wordComplete, "completed": wordComplete, "done": wordComplete, "finished": wordComplete,
}

var groupWords = map[string]reprise.Status{
	"pending": reprise.Pending, "not started": reprise.Pending, "ready": reprise.Pending,
	"in progress": reprise.InProgress, "executing": reprise.InProgress, "running": reprise.InProgress, "partial": reprise.InProgress,
	"complete": reprise.Done, "completed": reprise.Done, "done": reprise.Done,
	"failed": reprise.Failed, "timeout": reprise.Failed, "skipped": reprise.Skipped, "blocked": reprise.Blocked,
}

// readGroups reads the table of task groups.
func (l *longRun) readGroups(f *doc.File, m *doc.Markdown) {
	sec, ok := m.Section("Task Groups")
	if !ok {
		return
	}
	for _, t := range sec.Tables() {
		num, name, status := t.Column("#", "No", "Plan"), t.Column("Task Group", "Group", "Name"), t.Column("Status")
		if status < 0 {
			continue
		}
		if num < 0 && strings.TrimSpace(t.Header[0].Text) == "#" {
			num = 0 // "#" alone folds to nothing
		}
		for _, row := range t.Rows {
			g := groupRow{word: ledger.Cell(f, "Status", row[status]), source: f.At(row[status].Line), status: reprise.Unknown}
			if name >= 0 {
				g.name = plainText(row[name].Text)
			}
			if num >= 0 {
				if n := doc.Numbers(row[num].Text); len(n) > 0 {
					g.num = n[0]
				}
			}
			word := g.word.Value
			if known, ok := groupWords[doc.Fold(word)]; ok {
				g.status = known
			} else if !placeholder(word) {
				f.Report(reprise.Warning, reprise.CodeUnknownStatus, g.source.Line, fmt.Sprintf("task group %s has the status %s, which is unknown here", quoted(g.name), quoted(word)), "")
			}
			l.state.groups = append(l.state.groups, g)
		}
	}
}
