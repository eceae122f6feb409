package autoclaude

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// listKeys are the names of the list of items in a phase or, in flat plans, at
// the top, today's first.
var listKeys = []string{"subtasks", "chunks", "tasks", "steps", "implementation_steps", "implementation_order"}

// idKeys are the names of an item's id.
var idKeys = []string{"id", "subtask_id", "chunk_id", "task_id", "step"}

// phaseKeys are the names of a phase's id and number. depends_on refers to any.
var phaseKeys = []string{"id", "phase_id", "phaseId", "phase", "number"}

// plan is one copy of implementation_plan.json.
type plan struct {
	dir  string
	file *doc.File
	rd   *doc.Reader
	root ledger.Value

	broken bool // there, and not readable as a plan
	lossy  bool // parts of it could not be read, so it cannot be called finished

	title  string
	status string // plan.status as written
	source reprise.Source
	reason string // reviewReason as written
	qa     qaState
	qaWord string
	qaAt   reprise.Source
	qaOpen bool // fixes applied, but said not to be ready for another review
	rounds int  // QA rounds on record
	times  []*doc.Node
	// created is when the plan says it was made.
	created *doc.Node

	phases []phase
	items  []item
	ids    map[string]int // unique id to item
	names  map[string]int // how often an id was met

	pending []dependency // not yet resolved
}

// phase is one phase of the plan with the places of its items in plan.items.
type phase struct {
	name     string
	keys     []string // what depends_on may call it
	source   reprise.Source
	items    []int
	parallel bool // its items may be worked on at the same time

	declared bool  // it says what it depends on, even if that is nothing
	needs    []int // phases it depends on
	loose    bool  // a dependency is unknown or circular: file order takes its place
	done     bool  // all its items are closed
	after    bool  // all phases before it are done
}

type item struct {
	step  reprise.Step
	phase int
	raw   string // its id as the plan has it, "" if it has none
	list  string // the name of the list that holds it
	// at is where it stands: the place that counts, then those in further lists
	// of its phase.
	at []ledger.Value
}

// readPlan reads the plan of one spec folder with a reader of its own, so that
// the findings of a copy that loses can be told apart.
func readPlan(fsys fs.FS, dir string) *plan {
	p := &plan{dir: dir, rd: doc.NewReader(fsys), ids: map[string]int{}, names: map[string]int{}}
	p.file = p.rd.Open(path.Join(dir, planFile))
	if !p.file.Exists() {
		return p
	}
	root := ledger.Root(p.file, p.file.JSON())
	p.root = root
	switch {
	case root.Node == nil:
		p.broken = true
	case root.Kind != doc.Map || len(root.Keys) == 0:
		p.broken = true
		p.file.Lost(reprise.CodeUnreadable, 0, "contains no plan: not an object, or an empty one",
			"look for a copy in the worktree, or let the planner run again")
	default:
		p.readTop(root.Node)
		p.readPhases(root)
	}
	return p
}

// ok reports whether the copy is there and could be read.
func (p *plan) ok() bool { return p.file.Exists() && !p.broken }

func (p *plan) readTop(root *doc.Node) {
	for _, key := range []string{"feature", "title", "name", "spec_name"} {
		if p.title = oneLine(root.Get(key).Str(), 120); p.title != "" {
			break
		}
	}
	status := root.Get("status")
	p.status, p.source = status.Str(), status.Source()
	p.reason = root.Get("reviewReason").Str()
	p.created = root.Get("created_at")
	p.times = append(p.times, root.Get("updated_at"), root.Get("last_updated"), p.created)
	p.rounds = len(root.Get("qa_iteration_history").List())
	p.readQA(root)
}

// readQA reads the sign-off. Plans written by hand have it under other names;
// those are templates more often than verdicts, so an odd word there says
// nothing.
func (p *plan) readQA(root *doc.Node) {
	n, proper := root.Get("qa_signoff"), true
	if n.IsNull() {
		n, proper = root.Get("qa_status", "qa"), false
	}
	if n.IsNull() {
		return
	}
	word := n
	if n.Kind == doc.Map {
		word = n.Get("status")
		if ready, ok := n.Get("ready_for_qa_revalidation").Bool(); ok && !ready {
			p.qaOpen = true
		}
		if t := n.Get("timestamp"); !t.IsNull() {
			p.times = append(p.times, t)
		}
	}
	if word != nil && (word.Kind == doc.List || word.Kind == doc.Map) {
		word.Str()
		p.qa, p.qaAt = qaOdd, word.Source()
		return
	}
	p.qaWord, p.qaAt = word.Str(), word.Source()
	p.qa = qaMeaning(p.qaWord)
	if p.qa != qaOdd {
		return
	}
	if !proper {
		p.qa = qaNone
		return
	}
	p.rd.Report(reprise.Finding{
		Code: reprise.CodeUnknownStatus, Severity: reprise.Warning, Subject: "qa_signoff", Source: p.qaAt,
		Message: fmt.Sprintf("QA signed off with %s, which is neither approval nor rejection", strconv.Quote(doc.Clip(p.qaWord, 40))),
		Hint:    "read qa_report.md and decide; set it to approved or rejected",
	})
}

func (p *plan) readPhases(root ledger.Value) {
	phases := root.In("phases")
	if !phases.IsNull() && phases.Kind != doc.List {
		phases.List() // reports the type
		p.broken = true
		return
	}
	for i := range phases.List() {
		n := phases.Item(i)
		if n.Kind != doc.Map {
			n.Get("id") // reports the type
			p.lossy = true
			continue
		}
		p.readPhase(n, i)
	}
	if len(p.items) == 0 {
		p.readFlat(root)
	} else {
		p.checkFlat(root)
	}
	p.resolve()
}

func (p *plan) readPhase(n ledger.Value, i int) {
	ph := phase{source: n.Source(), declared: n.Has("depends_on")}
	for _, key := range phaseKeys {
		if v := n.Get(key).Str(); v != "" && !slices.Contains(ph.keys, v) {
			ph.keys = append(ph.keys, v)
		}
	}
	ph.name = oneLine(n.Get("name", "phase_name", "title").Str(), 80)
	if ph.name == "" && len(ph.keys) > 0 {
		ph.name = ph.keys[0]
	}
	ph.name = cmp.Or(ph.name, fmt.Sprintf("phase %d", i+1))
	ph.parallel, _ = n.Get("parallel_safe").Bool()
	p.phases = append(p.phases, ph)
	p.readLists(n, len(p.phases)-1)
	deps := n.Get("depends_on")
	for _, word := range deps.Strs() {
		p.pending = append(p.pending, dependency{phase: len(p.phases) - 1, word: word, source: deps.Source()})
	}
}

// readFlat reads a plan without phases as one phase.
func (p *plan) readFlat(root ledger.Value) {
	for _, key := range listKeys {
		if n := root.Get(key); !n.IsNull() {
			p.phases = append(p.phases, phase{name: "plan", source: n.Source(), declared: true})
			p.readLists(root, len(p.phases)-1)
			return
		}
	}
}

// checkFlat reports items outside the phases: no program reads them, but a person may
// have meant them.
func (p *plan) checkFlat(root ledger.Value) {
	for _, key := range listKeys {
		n := root.Get(key)
		if n.IsNull() || n.Kind != doc.List {
			continue
		}
		extra := 0
		for _, it := range n.Items {
			if it.Kind != doc.Map {
				continue
			}
			if _, known := p.ids[itemID(it)]; !known {
				extra++
			}
		}
		if extra > 0 {
			p.rd.Report(reprise.Finding{
				Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: key, Source: n.Source(),
				Message: fmt.Sprintf("%d items are outside the phases, under %q, and are not counted", extra, key),
				Hint:    "move them into a phase if they must still be done",
			})
		}
	}
}
