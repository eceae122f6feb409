package longrun

import (
	"strconv"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// longRun is one `.long-run/` folder: what its files say, and what follows from it.
type longRun struct {
	r     *doc.Reader
	run   *reprise.Run
	dir   string
	plans []*plan
	byKey planSet
	state position
	agent *agents
	asked []clarification
	stale bool // the agent marker is contradicted
	blind bool // plans or summaries cannot be listed

	nameless int // questions without an id
}

// plan returns the plan with a number, nil if no file mentions it.
func (l *longRun) plan(num int) *plan { return l.byKey[planKey{num: num}] }

// named gives the plan whose number a text holds first.
func (l *longRun) named(text string) *plan {
	if nums := doc.Numbers(text); len(nums) > 0 {
		return l.plan(nums[0])
	}
	return nil
}

// firstOpen is the first plan that is not closed, nil if all are.
func (l *longRun) firstOpen() *plan { return l.openAfter(nil) }

// openAfter is the plan that comes next once a plan is closed.
func (l *longRun) openAfter(p *plan) *plan {
	return firstPlan(l.plans, func(q *plan) bool { return q != p && !q.status.Closed() })
}

// missingPlans is how many plans STATE.md counts beyond those on disk.
func (l *longRun) missingPlans() int {
	if l.state.total == 0 || len(l.plans) == 0 || l.state.status == wordComplete {
		return 0
	}
	return max(0, l.state.total-max(len(l.plans), l.plans[len(l.plans)-1].num))
}

// second reports whether the files of the run are of the second version, leaving
// out the checkpoint of one plan: checkpoints that can be read tell it, else
// STATE.md.
func (l *longRun) second(but *plan) bool {
	for _, p := range l.plans {
		if p != but && p.checkpoint != nil && p.checkpoint.read {
			return p.checkpoint.second
		}
	}
	return len(l.state.groups) > 0
}

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
	file         string
	exists, read bool
	plan, total  int // 0: not stated
	planSource   reprise.Source
	status       runWord
	word         string
	source       reprise.Source
	title        string
	started      time.Time
	groups       []groupRow

	// Where it stands, whatever it holds.
	planAt, statusAt, groupAt, taskAt, progressAt ledger.Text
	activityAt, sessionAt, stoppedAt, goalAt      ledger.Text
}

// groupRow is a row of the table of task groups.
type groupRow struct {
	num    int
	name   string
	status reprise.Status
	word   ledger.Text
	source reprise.Source
}

// group finds the row about a plan: by its number, else by the task group's name.
func (s *position) group(of *plan) *groupRow {
	for i := range s.groups {
		if g := &s.groups[i]; g.num == of.num && g.num > 0 || g.num == 0 && g.name != "" && doc.Fold(g.name) == doc.Fold(of.group) {
			return g
		}
	}
	return nil
}

// checkpoint is NN-CHECKPOINT.json in either of its two forms: the first counts
// (last_completed_task of total_tasks), the second lists (completed_tasks,
// remaining_tasks, current_task_index) and has no last_completed_task.
type checkpoint struct {
	root      ledger.Value
	text      string // the file as it is
	source    reprise.Source
	read      bool   // it is JSON
	second    bool   // of the form that lists
	plan      string // as written, where it agrees with the file name
	completed int
	total     int
	known     bool // both numbers are there and make sense
	word      string
	status    reprise.Status
	current   string // the task it was at
	failure   string
	commits   map[int]string // by the number of the task
	last      string         // the commit of the last completed task
	files     []string       // it says it changed
	at        time.Time
	stamp     string // the time as written
}

// name is the file, "" if there is none.
func (c *checkpoint) name() string {
	if c == nil {
		return ""
	}
	return c.source.File
}

// checkpointText is the time of a plan's checkpoint as written.
func (p *plan) checkpointText() string {
	if p.checkpoint == nil {
		return ""
	}
	return p.checkpoint.stamp
}

// partial reports whether tasks of the plan are left.
func (c *checkpoint) partial() bool { return c != nil && c.known && c.completed < c.total }

// begun reports whether some of the tasks are done and some are left.
func (c *checkpoint) begun() bool { return c.partial() && c.completed > 0 }

// taskName is the name of a task by its number: as the checkpoint has it, else as
// the plan does.
func (p *plan) taskName(number int) string {
	if c := p.checkpoint; c != nil {
		if names := c.names(); number <= len(names) && names[number-1] != "" {
			return names[number-1]
		}
	}
	if number <= len(p.tasks) {
		return p.tasks[number-1].name
	}
	return "Task " + strconv.Itoa(number)
}

// names are the tasks of a checkpoint that lists them, in their order: those that
// are done, the current one, and those that remain, which some files begin with
// the current one.
func (c *checkpoint) names() (out []string) {
	for _, item := range c.root.In("completed_tasks").Entries(0) {
		out = append(out, itemName(item.Value))
	}
	current := c.root.In("current_task").Plain()
	if current == "" {
		return out
	}
	out = append(out, current)
	for i, item := range c.root.In("remaining_tasks").Entries(0) {
		if name := itemName(item.Value); i > 0 || name != current {
			out = append(out, name)
		}
	}
	return out
}

// itemName is the name of a task in a list: a text, or a map with a name.
func itemName(v ledger.Value) string {
	if v.Is(doc.Map) {
		return v.In("name").Plain()
	}
	return v.Plain()
}

// clarification is where the parts of an entry of clarifications.md stand.
type clarification struct {
	id, title        string
	line, level      int
	status, response ledger.Text
}
