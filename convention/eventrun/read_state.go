package eventrun

import (
	"fmt"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// stateFile is what workflow-state.json or manifest.yaml says about the run as a whole.
// Both are written separately from the events and may be behind them.
type stateFile struct {
	name      string
	title     string
	phase     int // -1 if it gives none
	phaseName string
	phaseAt   reprise.Source
	status    string
	statusAt  reprise.Source
	updated   time.Time
	updatedAt reprise.Source
	done      int // tasks it calls done, -1 if it does not say
	doneAt    reprise.Source

	branch    string // the git branch the run works on
	waiting   string // the phase that is waiting for a person
	waitingAt reprise.Source
	bootstrap bool // the recorded approvals
	develop   bool
}

// status words of these files.
const (
	saysOpen = iota + 1
	saysPending
	saysPaused
	saysFailed
	saysDone
	saysUnknown
)

func (s stateFile) says() int {
	switch doc.Fold(s.status) {
	case "":
		return saysOpen
	case "pending", "not started":
		return saysPending
	case "in progress", "running", "active":
		return saysOpen
	case "paused", "blocked", "waiting approval", "waiting user":
		return saysPaused
	case "failed":
		return saysFailed
	case "completed", "complete", "done":
		return saysDone
	}
	return saysUnknown
}

// stateNames are the files about the run as a whole.
var stateNames = []string{"workflow-state.json", "manifest.yaml", "manifest.yml"}

func (m *model) readStates() {
	for _, name := range stateNames {
		p := m.find(name)
		if p == "" {
			continue
		}
		f := m.r.Open(p)
		m.seen(f)
		switch root := mapNode(m.structured(f)); {
		case root == nil:
		case name == stateNames[0]:
			m.addState(workflowState(root))
		default:
			m.addState(manifest(root, name))
		}
	}
}

// mapNode expects a map and reports anything else.
func mapNode(n *doc.Node) *doc.Node {
	n.Fields()
	return mapOf(n)
}

func (m *model) addState(led stateFile) {
	if led.says() == saysUnknown {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeUnknownStatus, Severity: reprise.Warning, Subject: led.name, Source: led.statusAt,
			Message: fmt.Sprintf("status %q is unknown here; the events and artifacts decide", doc.Clip(led.status, 40)),
		})
	}
	m.states = append(m.states, led)
}

// workflowState reads the state file of the later version, with its own numbering of
// twelve phases.
func workflowState(root *doc.Node) stateFile {
	led := stateFile{name: "workflow-state.json", phase: -1, done: -1}
	w := mapNode(root.Get("workflow"))
	cur := w.Get("current_phase")
	if n, ok := cur.Int(); ok {
		led.phase = n
	}
	led.phaseAt = cur.Source()
	led.phaseName = w.Get("phase_name").Str()
	led.status, led.statusAt = w.Get("status").Str(), w.Get("status").Source()
	led.updated, led.updatedAt = root.Get("updated_at").Time(), root.Get("updated_at").Source()
	for _, f := range root.Get("phases").Fields() {
		status := mapNode(f.Value).Get("status")
		switch doc.Fold(status.Str()) {
		case "waiting approval", "waiting user":
			led.waiting, led.waitingAt = strings.ReplaceAll(strings.TrimPrefix(f.Name, "phase_"), "_", " "), status.Source()
		}
		if b, d := mapOf(f.Value).Get("b_tasks_completed"), mapOf(f.Value).Get("d_tasks_completed"); b != nil || d != nil {
			nb, _ := b.Int()
			nd, _ := d.Int()
			led.done, led.doneAt = nb+nd, f.Value.Source()
		}
	}
	approvals := mapNode(root.Get("approvals"))
	boot := mapNode(approvals.Get("bootstrap"))
	led.bootstrap, _ = boot.Get("approved").Bool()
	led.develop, _ = mapNode(approvals.Get("development")).Get("approved").Bool()
	// Approving "and continue" also approves the development.
	if led.bootstrap && doc.Fold(boot.Get("approval_type").Str()) == "approve and continue" {
		led.develop = true
	}
	return led
}

func manifest(root *doc.Node, name string) stateFile {
	led := stateFile{name: name, phase: -1, done: -1}
	state := mapNode(root.Get("state"))
	led.phaseName, led.phaseAt = state.Get("phase").Str(), state.Get("phase").Source()
	led.status, led.statusAt = state.Get("status").Str(), state.Get("status").Source()
	led.updated, led.updatedAt = root.Get("updated_at").Time(), root.Get("updated_at").Source()
	if t := mapOf(root.Get("task")); t != nil {
		led.title = t.Get("title").Str()
	}
	led.branch = firstText(mapOf(root.Get("git")).Get("work_branch", "branch"))
	count := mapOf(mapOf(root.Get("phases")).Get("execution")).Get("tasks_completed")
	if n, ok := count.Int(); ok {
		led.done, led.doneAt = n, count.Source()
	}
	return led
}

// checkCounts reports a ledger that counts more tasks done than the events do.
func (m *model) checkCounts() {
	for _, led := range m.states {
		if led.done > m.closed {
			m.r.Report(reprise.Finding{
				Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: led.name, Source: led.doneAt,
				Message: fmt.Sprintf("%s counts %s done, the events show %d; the events count", led.name, counted(led.done, "task"), m.closed),
				Hint:    "an event may not have been written; look at the work before you do it again",
			})
		}
	}
}

// escalationFiles reads the records in `escalations/`.
func (m *model) escalationFiles() []alarm {
	dir := path.Join(m.dir, "escalations")
	var out []alarm
	for _, e := range m.list(dir) {
		name := path.Join(dir, e.Name())
		ext := path.Ext(e.Name())
		if e.IsDir() || (ext != ".yaml" && ext != ".yml" && ext != ".json") {
			continue
		}
		f := m.r.Open(name)
		root := mapNode(f.YAML()) // JSON is YAML
		if root == nil {
			continue
		}
		at := never
		if t := root.Get("timestamp", "created_at", "created").Time(); !t.IsZero() {
			at = instantOf(t)
			m.run.Active(t, f.At(root.Line))
		}
		m.files = append(m.files, name)
		b := parseBody(textOf(root))
		a := alarm{key: key{at: at, file: int32(len(m.files) - 1), line: int32(max(root.Line, 1))}, kind: escalated, body: b}
		if a.id = b.text("escalation_id", "id"); a.id == "" {
			a.id = strings.TrimSuffix(e.Name(), ext)
		}
		a.task = b.text("task_id", "task")
		out = append(out, a)
	}
	return out
}
