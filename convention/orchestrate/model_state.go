package orchestrate

import (
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// form describes one kind of state file: by which keys and in which words it says
// what it says. Load reads by it and Record writes by it.
type form struct {
	kind   reprise.Kind
	ledger string   // the name under which it is quoted
	lost   string   // why a run is rebuilt whose file cannot be read
	roots  []string // the state may stand below one of these
	title  []string
	touch  []string // spellings of the time of the last change
	active string   // its word for a run at work
	halted string   // its word for one that is given up
	steps  []steps
	short  track
}

// track is the short form of a state that lists what is behind it and names what is at
// work. It knows no failure.
type track struct {
	behind, current, agent []string // spellings of the keys
	called, role           string   // what is at work, and who does it where the state does not say
}

// steps describes a list or a map in which a state keeps steps.
type steps struct {
	ledger.Steps
	title, phase, role []string // spellings of what an entry says of itself
	group              string   // the phase of all of them
	mark               string   // the key that tells that a step need not be done
}

// stateLedger, loopLedger and gateLedger are the names under which epic states,
// QA loops and verdicts of QA gates are quoted.
const (
	stateLedger = "epic state"
	loopLedger  = "QA loop"
	gateLedger  = "QA gate"
)

var prerequisites = steps{
	Steps: ledger.Steps{Keys: []string{"prerequisites"}, Maps: true},
	title: []string{"title", "task", "name"}, role: []string{"owner", "agent"}, group: "prerequisites", mark: "conditional",
}

var forms = map[shape]form{
	epicShape: {
		kind: reprise.KindEpic, ledger: stateLedger, lost: "the epic state cannot be read", active: "active",
		touch: []string{"updated_at", "updatedAt"}, title: []string{"title", "epicTitle", "name"}, steps: []steps{prerequisites},
	},
	loopShape: {kind: reprise.KindQALoop, ledger: loopLedger, lost: "the status of the QA loop cannot be read"},
	workflowShape: {
		kind: reprise.KindWorkflow, ledger: "workflow state", lost: "the workflow state cannot be read", active: "active", halted: "aborted",
		short: track{[]string{"phases_completed", "phasesCompleted"}, []string{"current_phase", "currentPhase"}, []string{"current_agent", "currentAgent"}, "phase", ""},
		roots: []string{"engine_state", "workflow_state"}, touch: []string{"updated_at", "updatedAt", "last_updated"},
		title: []string{"workflow_name", "workflowName", "workflow", "workflow_id"},
		steps: []steps{
			{
				Steps: ledger.Steps{
					Keys: []string{"steps", "phases"}, ID: []string{"step_id", "id", "step_index", "index"}, Prefix: "step ", Maps: true,
					Started: "started_at", Ended: "completed_at",
				},
				title: []string{"action", "name", "title", "description"}, phase: []string{"phase"}, role: []string{"agent"}, mark: "optional",
			},
			{Steps: ledger.Steps{Keys: []string{"step_results", "stepResults"}, Prefix: "step "}},
		},
	},
	bobShape: {
		kind: reprise.KindWorkflow, ledger: "workflow state", lost: "the workflow state cannot be read",
		touch: []string{"lastUpdated", "last_updated", "updatedAt"}, title: []string{"workflowId", "workflow_id"},
	},
	buildShape: {
		kind: reprise.KindWorkflow, ledger: "build state", lost: "the build state cannot be read", active: "in_progress", halted: "abandoned",
		short: track{[]string{"completedSubtasks", "completed_subtasks"}, []string{"currentSubtask", "current_subtask"}, []string{"current_agent", "currentAgent"}, "subtask", "dev"},
		touch: []string{"updatedAt", "updated_at", "lastUpdated"},
	},
}

// formOf is the description of a state file.
func formOf(sh shape) form {
	if sh == nexosShape {
		sh = workflowShape
	}
	return forms[sh]
}

// root finds the map that holds the state.
func (f form) root(top ledger.Value) ledger.Value {
	for _, key := range f.roots {
		if inner := top.In(key); inner.Is(doc.Map) {
			return inner
		}
	}
	return top
}

// readSteps adds the steps of a state to the run.
func (l *loader) readSteps(s steps, name string, rows []ledger.Row) {
	for _, row := range rows {
		st := row.Status
		if st.Is(doc.Map) || st.Is(doc.List) {
			st.Node = nil
		}
		at := st.Source()
		if at.File == "" {
			at = row.At.Source()
		}
		step := claimed(name, row.ID, "", "", l.wordStatus(row.ID, st.Str(), at), st.Str(), at)
		step.Source, step.Phase = row.At.Source(), s.group
		if st.Node == nil {
			step.Claims = nil
		}
		if row.At.Is(doc.Map) {
			step.Title, step.Role = row.At.Get(s.title...).Str(), role(row.At.Get(s.role...).Str())
			if step.Phase == "" && len(s.phase) > 0 {
				if step.Phase = row.At.Get(s.phase...).Str(); step.Phase == "" {
					step.Phase = step.Title
				}
			}
			if may, _ := row.At.Get(s.mark).Bool(); may && (s.group == "" || step.Status == reprise.Pending) {
				step.Title = strings.TrimSpace(step.Title + " (" + s.mark + ")")
			}
		}
		if step.Phase == "" && len(s.phase) == 0 {
			step.Phase = strings.TrimPrefix(row.ID, "step ")
		}
		l.run.Steps = append(l.run.Steps, step)
	}
}

// claimed is a step of which one ledger tells the status.
func claimed(name, id, phase, role string, status reprise.Status, word string, at reprise.Source) reprise.Step {
	return reprise.Step{
		ID: id, Phase: phase, Role: role, Status: status, Source: at,
		Claims: []reprise.Claim{{Ledger: name, Status: status, Word: word, Source: at, Won: true}},
	}
}

// optional reports whether a step need not be done, or only on a condition.
func optional(row ledger.Row) bool {
	may, _ := row.At.In("optional").Bool()
	return may || row.At.In("condition").Plain() != ""
}

// lastBegun is the index of the last step that was begun, -1 if none was.
func lastBegun(rows []ledger.Row) int {
	for i := len(rows) - 1; i >= 0; i-- {
		if s := stateWord(rows[i].Status.Plain()); s.Closed() || s == reprise.InProgress || s == reprise.InReview {
			return i
		}
	}
	return -1
}

// phases are the phases of a workflow in their order, and who does them.
type phases []struct{ name, role string }

// index is the place of a phase, -1 for any other word.
func (p phases) index(name string) int {
	return slices.IndexFunc(p, func(x struct{ name, role string }) bool { return x.name == name })
}

// bobPhases are the phases of the development cycle executor.
var bobPhases = phases{
	{"1_validation", "po"}, {bobDevelop, "dev"}, {bobHeal, "dev"}, {bobGate, "qa"}, {"5_push", "devops"}, {bobEnd, "po"},
}

// Phases of the executor that are not like the others.
const bobDevelop, bobHeal, bobGate, bobEnd = "2_development", "3_self_healing", "4_quality_gate", "6_checkpoint"

// bob is the state of the development cycle executor.
type bob struct {
	ledger.Value
	phase   ledger.Value // the one at work
	results ledger.Value // by phase
}

func readBob(root ledger.Value) bob {
	return bob{root, root.In("currentPhase", "current_phase"), root.In("phaseResults")}
}

// result is the result of a phase, whose status may be absent.
func (b bob) result(i int) (at, status ledger.Value) {
	at = b.results.In(bobPhases[i].name)
	return at, at.In("status")
}

func (b bob) closed(i int) bool {
	_, status := b.result(i)
	return stateWord(status.Plain()).Closed()
}

// firstOpen is the first phase without a result, the number of phases if all have one.
func (b bob) firstOpen() int {
	i := 0
	for i < len(bobPhases) && b.closed(i) {
		i++
	}
	return i
}

// loop is a QA loop with its history.
type loop struct {
	ledger.Value
	dialect
	iteration, max int
	word           string
	status         ledger.Value
	history        ledger.Value
	entries        []loopEntry
	last           string // the last verdict on record
}

// loopEntry is one iteration of a QA loop.
type loopEntry struct {
	n       int
	at      ledger.Value
	verdict string
	fixed   bool
	unsaid  bool // there is no place for when it was fixed; one dialect has none
}

// dialect is how one of the three forms of a QA loop spells its keys and words:
// camel case with a status, the short form with iteration and lastVerdict, and
// snake case in YAML without a status.
type dialect struct {
	counter, most, updated, resumed, stopped, fixed, reviewed, escalated, reason string

	running, complete, halted string
	hasStatus                 bool
	interrupts                bool   // it notes what was cut off
	counts                    bool   // its entries count issues
	passes                    bool   // its words are those of a QA gate: PASS, CONCERNS, FAIL
	lastVerdict               string // the key of the last verdict
}

// defaultIterations is the maximum of a loop whose file does not say.
const defaultIterations = 5

// dialectOf tells the form of a loop by the keys it has.
func dialectOf(n ledger.Value) dialect {
	d := dialect{
		counter: "currentIteration", most: "maxIterations", updated: "updatedAt", resumed: "resumedAt", stopped: "stoppedAt", fixed: "fixedAt",
		reviewed: "reviewedAt", escalated: "escalatedAt", reason: "escalationReason",
		running: "in_progress", complete: "completed", halted: "stopped", hasStatus: true, interrupts: true, counts: true,
	}
	switch {
	case n.Has("current_iteration") || n.Has("story_id"):
		d = dialect{
			counter: "current_iteration", most: "max_iterations", updated: "updated_at", fixed: "fixed_at", reviewed: "date",
			escalated: "escalated_at", reason: "escalation_reason",
			running: d.running, complete: d.complete, halted: d.halted, hasStatus: n.Has("status"), passes: true,
		}
	case n.Has("iteration") && !n.Has("currentIteration"):
		d.counter, d.running, d.complete, d.halted, d.lastVerdict = "iteration", "running", "complete", "paused", "lastVerdict"
		d.resumed, d.stopped, d.interrupts, d.counts = "", "", false, false
	}
	if n.Has("max_iterations") {
		d.most = "max_iterations"
	}
	return d
}

func readLoop(root ledger.Value) loop {
	lp := loop{Value: root, dialect: dialectOf(root), max: defaultIterations, status: root.In("status"), history: root.In("history")}
	if v, ok := root.Get("currentIteration", "current_iteration", "iteration").Int(); ok {
		lp.iteration = v
	}
	if v, ok := root.Get("maxIterations", "max_iterations").Int(); ok && v > 0 {
		lp.max = v
	}
	lp.word = lp.status.Str()
	lp.history.List() // reports what is no list
	for i, h := range lp.history.Entries(1) {
		if !lp.history.Is(doc.List) || !h.Is(doc.Map) {
			continue
		}
		e := loopEntry{n: i + 1, at: h.Value, verdict: h.Get("verdict").Str()}
		if v, ok := h.Get("iteration").Int(); ok {
			e.n = v
		}
		fixed := h.Get("fixedAt", "fixed_at")
		e.fixed, e.unsaid = fixed.Str() != "", fixed == nil
		word := doc.Fold(e.verdict)
		lp.passes = lp.passes || word == "pass" || word == "fail" || word == "concerns"
		lp.counts = lp.counts || h.Has("issuesFound")
		lp.entries, lp.last = append(lp.entries, e), e.verdict
		lp.iteration = max(lp.iteration, e.n)
	}
	if len(lp.entries) == 0 {
		lp.last = root.Get("lastVerdict", "last_verdict").Str()
	}
	return lp
}

// entry finds the latest entry of an iteration, nil if there is none.
func (lp loop) entry(n int) *loopEntry {
	for i := len(lp.entries) - 1; i >= 0; i-- {
		if lp.entries[i].n == n {
			return &lp.entries[i]
		}
	}
	return nil
}

// behind reports whether the loop continued after an iteration that was sent back: a
// later one was reviewed, or the counter moved on and fixes are not noted.
func (lp loop) behind(e loopEntry) bool {
	later := e.unsaid && lp.iteration > e.n
	for _, o := range lp.entries {
		later = later || o.n > e.n && ledger.Ruling(o.verdict) != reprise.Pending
	}
	return later
}
