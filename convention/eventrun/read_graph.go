package eventrun

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// node is one task of the graph.
type node struct {
	id, title, phase string
	status           string
	needs            []string
	files            []string // files it is said to touch
	attempts         int      // how often it may fail, 0 for the workflow's own number
	source           reprise.Source
	statusAt         reprise.Source
}

// graph is the task graph as far as it could be read.
type graph struct {
	file    string
	exists  bool // a file exists
	damaged bool // it exists and could not be read
	nodes   []*node
	order   []string // the order the graph itself proposes
	title   string
	at      time.Time // when it was created
	atFrom  reprise.Source
	origin  origin
}

// graphJSON is the task graph that we write, and graphNames are all that are read. JSON
// comes first, as the form that the workflow's own readers use.
const graphJSON = "task-graph.json"

var graphNames = []string{graphJSON, "task-graph.yaml", "task-graph.yml"}

// readGraph reads the task graph. Of several, the first readable one counts.
func (m *model) readGraph() graph {
	var g graph
	for _, name := range graphNames {
		file := m.find(name)
		if file == "" {
			continue
		}
		f := m.r.Open(file)
		if !f.Exists() {
			continue
		}
		m.seen(f)
		if g.exists && !g.damaged {
			f.Report(reprise.Info, reprise.CodePlanCopies, 0, fmt.Sprintf("a second task graph next to %s; it is not read", path.Base(g.file)), "keep one of them")
			continue
		}
		next := m.readGraphIn(f)
		if g.exists && next.damaged {
			continue
		}
		g = next
	}
	return g
}

// graphs are the last large ones that were read without findings.
var graphs doc.Memo[graph]

func (m *model) readGraphIn(f *doc.File) graph {
	if !f.OK() {
		return m.parseGraph(f)
	}
	return graphs.Of(f.Path, f.Data, func() (graph, bool) {
		before := len(m.r.Findings())
		g := m.parseGraph(f)
		return g, !g.damaged && len(m.r.Findings()) == before
	})
}

func (m *model) parseGraph(f *doc.File) graph {
	g := graph{file: f.Path, exists: true}
	if path.Base(f.Path) == graphJSON {
		g.origin = originIn(f.Data)
	}
	root := m.structured(f)
	g.damaged = root == nil
	if root != nil {
		m.fillGraph(&g, root)
	}
	return g
}

// givenGraph reads a task graph that a run is to begin or continue with. It rejects what
// Load would warn about.
func givenGraph(text string) (graph, error) {
	r, f := doc.Memory(graphJSON, []byte(text))
	m := &model{r: r}
	g := graph{file: f.Path, exists: true, origin: originIn(f.Data)}
	if root := f.JSON(); root != nil {
		m.fillGraph(&g, root)
	}
	for _, found := range r.Findings() {
		if found.Severity >= reprise.Warning {
			return g, fmt.Errorf("task graph: %s", found.Message)
		}
	}
	if len(g.nodes) == 0 {
		return g, errors.New("task graph: it contains no task")
	}
	seen := map[string]bool{}
	for i, n := range g.nodes {
		if seen[n.id] {
			return g, fmt.Errorf("task graph: task %d has the id %q, which is taken", i+1, doc.Clip(n.id, 60))
		}
		seen[n.id] = true
	}
	return g, nil
}

func (m *model) fillGraph(g *graph, root *doc.Node) {
	top := root
	for inner := root; inner != nil; inner = mapOf(top).Get("task_graph", "taskGraph", "graph") {
		top = inner
	}
	var items []*doc.Node
	meta := mapOf(top)
	if top.Kind == doc.List {
		items = top.Items
	} else if list := meta.Get("tasks", "nodes"); list != nil && list.Kind == doc.Map {
		// Tasks by id: the key is the id if the task does not repeat it.
		for _, f := range list.Keys {
			m.addNode(g, f.Value, f.Name)
		}
	} else {
		items = list.List()
	}
	for _, item := range items {
		m.addNode(g, item, "")
	}
	if len(items) > 0 && len(g.nodes) == 0 {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeIntegrity, Severity: reprise.Blocking, Subject: path.Base(g.file), Source: top.Source(),
			Message: "the task graph has entries, but none with an id: which tasks there are is unknown",
			Hint:    "give each task an id; a graph without entries is made again",
		})
	}
	about := meta.Get("metadata")
	g.title = firstText(meta.Get("title", "feature", "feature_name", "name"), mapOf(about).Get("title", "feature", "name"))
	at := meta.Get("created", "created_at")
	if at == nil {
		at = mapOf(about).Get("created", "created_at")
	}
	if at != nil {
		g.at, g.atFrom = at.Time(), at.Source()
	}
	for _, item := range listOf(meta.Get("execution_order")) {
		g.order = append(g.order, item.Strs()...)
	}
	m.namePhases(g, meta)
	m.countTasks(g, meta, about)
}

// countTasks compares the number of tasks with the number the graph states. More are
// normal, since quality tasks are added along the way; fewer are not.
func (m *model) countTasks(g *graph, meta, about *doc.Node) {
	total := mapOf(meta.Get("summary")).Get("total_tasks")
	if total == nil {
		total = mapOf(about).Get("total_tasks")
	}
	if n, ok := total.Int(); ok && n > len(g.nodes) && len(g.nodes) > 0 {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: path.Base(g.file), Source: total.Source(),
			Message: fmt.Sprintf("the graph says it has %d tasks but contains %d", n, len(g.nodes)),
			Hint:    "tasks may have been lost; compare with the plan",
		})
	}
}

// namePhases replaces the numbers of the plan's phases by their names.
func (m *model) namePhases(g *graph, meta *doc.Node) {
	names := map[string]string{}
	for _, p := range listOf(meta.Get("phases")) {
		p = mapOf(p)
		if no, name := p.Get("number", "id").Str(), p.Get("name", "title").Str(); no != "" && name != "" {
			names[no] = no + " " + name
		}
	}
	for _, n := range g.nodes {
		if name := names[n.phase]; name != "" {
			n.phase = name
		}
	}
}

func (m *model) addNode(g *graph, item *doc.Node, id string) {
	if item != nil && item.Kind == doc.String && id == "" {
		g.nodes = append(g.nodes, &node{id: strings.TrimSpace(item.Text), source: item.Source()})
		return
	}
	if item.IsNull() || item.Kind != doc.Map {
		item.Get("id") // reports the wrong type
		return
	}
	if own := strings.TrimSpace(item.Get("id", "task_id").Str()); own != "" {
		id = own
	}
	if id == "" {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeIntegrity, Severity: reprise.Warning, Subject: path.Base(g.file), Source: item.Source(),
			Message: fmt.Sprintf("a task without an id (%q) cannot be tracked; it is left out", doc.Clip(item.Get("title", "name").Str(), 60)),
			Hint:    "give it an id",
		})
		return
	}
	n := &node{id: id, source: item.Source()}
	n.title = oneLine(firstText(item.Get("title", "name"), item.Get("description")))
	n.phase = item.Get("phase").Str()
	if s := item.Get("status", "state"); s != nil {
		n.status, n.statusAt = s.Str(), s.Source()
	}
	n.files = filesOf(item)
	if g.origin.File != "" { // elsewhere it may mean anything
		if many, ok := item.Get("max_attempts").Int(); ok && many > 0 && many <= mostAttempts {
			n.attempts = many
		}
	}
	n.needs = dependencies(item.Get("dependencies", "depends_on", "dependsOn", "deps"))
	g.nodes = append(g.nodes, n)
}

// dependencies reads a list of ids, or of maps with an id each.
func dependencies(list *doc.Node) []string {
	if list == nil || list.Kind != doc.List {
		return list.Strs()
	}
	var out []string
	seen := map[string]bool{}
	for _, item := range list.Items {
		id := ""
		if item != nil && item.Kind == doc.Map {
			id = item.Get("id", "task_id", "task").Str()
		} else {
			id = item.Str()
		}
		if id = strings.TrimSpace(id); id != "" && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// mapOf and listOf avoid a finding if an unneeded part has another type.
func mapOf(n *doc.Node) *doc.Node {
	if n == nil || n.Kind != doc.Map {
		return nil
	}
	return n
}

func listOf(n *doc.Node) []*doc.Node {
	if n == nil || n.Kind != doc.List {
		return nil
	}
	return n.Items
}

func firstText(nodes ...*doc.Node) string {
	for _, n := range nodes {
		if n != nil && n.Kind != doc.Map && n.Kind != doc.List {
			if s := strings.TrimSpace(n.Str()); s != "" {
				return s
			}
		}
	}
	return ""
}

func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return doc.Clip(strings.TrimSpace(s), 200)
}

// Bootstrap and development tasks are recognized by the letter of their ids: all of the
// first come before any of the second.
func isBootstrap(id string) bool   { return lettered(id, 'B') }
func isDevelopment(id string) bool { return lettered(id, 'D') }

func lettered(id string, letter byte) bool {
	return len(id) > 1 && id[0]&^0x20 == letter && id[1] >= '0' && id[1] <= '9'
}
