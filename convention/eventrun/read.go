package eventrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// model is a run as its files describe it: the graph, the log and the documents, what
// they say about each task, and the run itself. Recording changes only what a line of the
// log would.
type model struct {
	r   *doc.Reader
	dir string
	run *reprise.Run

	graph     graph
	log       *logReader
	files     []string // event files, by the index in keys
	contracts map[string]string
	docs      map[string]artifact
	states    []stateFile // workflow-state.json and manifest.yaml, if readable

	steps     []*step
	byID      map[string]*step
	closed    int      // the number of closed steps
	skipped   int      // those of them that were left out
	strangers []string // tasks that only the events name
	cycles    int

	resolved   []alarm           // resolutions of escalations
	askedTasks map[string]string // tasks with an open question
	held       []string          // what the run as a whole is waiting for

	mtime     time.Time
	mtimeFrom string
}

// artifact is one of the documents that the workflow's steps make.
type artifact struct {
	path     string
	presence reprise.Presence
	empty    bool
	title    string
}

// there reports whether the step that makes the document need not run again. An existing
// document that may not be read is not made again, because that would overwrite it.
func (a artifact) there() bool {
	return a.presence == reprise.Present || a.presence == reprise.Damaged && !a.empty
}

// Load implements reprise.Layout.
func (Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	if _, err := fs.ReadDir(fsys, ref.Path); errors.Is(err, fs.ErrPermission) {
		return &reprise.Run{Ref: ref, State: reprise.Unreadable, Reason: "the folder of the run cannot be read: permission denied"}, nil
	}
	return load(fsys, ref).run, nil
}

// load reads a run and keeps what it was read from.
func load(fsys fs.FS, ref reprise.Ref) *model {
	m := &model{r: doc.NewReader(fsys), dir: ref.Path, run: &reprise.Run{Ref: ref}}
	m.contracts = contractsIn(fsys, path.Join(m.dir, "tasks"))
	m.readDocs()
	m.graph = m.readGraph()
	m.readStates()
	m.readEvents()
	m.makeSteps()
	m.describe()
	m.decide()
	m.checkOrigin()
	if len(m.steps) > 0 {
		m.run.Steps = make([]reprise.Step, 0, len(m.steps))
	}
	for _, s := range m.steps {
		m.run.Steps = append(m.run.Steps, s.Step)
	}
	m.run.Findings = append(m.run.Findings, m.r.Findings()...)
	return m
}

// find returns the path of an artifact: in the run's folder, or in its `artifacts/` as
// one of the descriptions has it; "" if there is none.
func (m *model) find(name string) string {
	for _, dir := range []string{m.dir, path.Join(m.dir, "artifacts")} {
		p := path.Join(dir, name)
		for _, e := range m.list(dir) {
			if e.Name() == name {
				return p
			}
		}
	}
	return ""
}

func (m *model) list(dir string) []fs.DirEntry {
	entries, err := fs.ReadDir(m.r.FS(), dir)
	if err != nil {
		return nil
	}
	return entries
}

// documents are the artifacts in the order in which they are made.
var documents = []string{"prd.md", "plan.md", "bootstrap-plan.md", "constitution.md", "pr-checklist.md"}

func (m *model) readDocs() {
	m.docs = map[string]artifact{}
	for _, name := range documents {
		p := m.find(name)
		if p == "" && name == "pr-checklist.md" {
			if in := path.Join(m.dir, "pr", "checklist.md"); m.r.Exists(in) {
				p = in
			}
		}
		if p == "" {
			m.docs[name] = artifact{path: path.Join(m.dir, name), presence: reprise.Missing}
			continue
		}
		f := m.r.Open(p)
		a := artifact{path: p, presence: reprise.Present}
		switch {
		case !f.Exists():
			a.presence = reprise.Missing
		case !f.OK():
			a.presence = reprise.Damaged
		case blank(f.Data):
			a.presence, a.empty = reprise.Damaged, true
			f.Report(reprise.Warning, reprise.CodeUnreadable, 0, "the document is empty", "the write was probably cut off; the step that makes it has to run again")
		default:
			m.seen(f)
			if name == "prd.md" {
				a.title = f.Markdown().Title()
			}
		}
		m.docs[name] = a
	}
}

// blank reports whether a file has no readable content.
func blank(data []byte) bool { return len(bytes.Trim(data, "\x00 \t\r\n\ufeff")) == 0 }

// seen remembers the newest file, for runs that record no time at all.
func (m *model) seen(f *doc.File) {
	if f.OK() && f.MTime.After(m.mtime) {
		m.mtime, m.mtimeFrom = f.MTime, f.Path
	}
}

// small reports whether this is the run of a small job, which has only contracts, without
// documents and graph.
func (m *model) small() bool {
	return len(m.contracts) > 0 && !m.graph.exists && !m.made("prd.md") && !m.made("plan.md") && !m.made("bootstrap-plan.md")
}

// made reports whether something exists under a document's name.
func (m *model) made(name string) bool { return m.docs[name].presence != reprise.Missing }

func (m *model) contractTitle(id string) string {
	f := m.r.Open(m.contracts[id])
	m.seen(f)
	if !strings.HasSuffix(f.Path, ".md") {
		return ""
	}
	return oneLine(f.Markdown().Title())
}

// structured reads a JSON or YAML file according to its name.
func (m *model) structured(f *doc.File) *doc.Node {
	if strings.HasSuffix(f.Path, ".json") {
		return m.json(f)
	}
	return f.YAML()
}

// json reads a JSON file. If it was copied from a Markdown template, its content is in a
// code fence.
func (m *model) json(f *doc.File) *doc.Node {
	block := fencedJSON(f.Data)
	if !f.OK() || block == nil {
		return f.JSON()
	}
	if bytes.Contains(block, []byte("{{")) {
		f.Report(reprise.Warning, reprise.CodeUnreadable, 1, "there is a Markdown template with placeholders where JSON belongs; it says nothing about this run", "delete it or fill it in")
		return nil
	}
	f.Report(reprise.Warning, reprise.CodeSalvaged, 1, "Markdown under the name of a JSON file; its first code block was read", "keep only the JSON in this file")
	f.Data = block
	return f.JSON()
}

// fencedJSON returns the first fenced block of a Markdown text, with everything before it
// blanked to preserve line numbers; nil if the text begins like JSON or has no such
// block.
func fencedJSON(data []byte) []byte {
	start := bytes.TrimLeft(data, "\ufeff \t\r\n")
	if len(start) == 0 || (start[0] != '#' && start[0] != '`' && !bytes.HasPrefix(start, []byte("---"))) {
		return nil
	}
	open := bytes.Index(data, []byte("```"))
	if open < 0 {
		return nil
	}
	first := bytes.IndexByte(data[open:], '\n')
	if first < 0 {
		return nil
	}
	first += open + 1
	end := bytes.Index(data[first:], []byte("```"))
	if end < 0 {
		return nil
	}
	out := bytes.Clone(data[:first+end])
	for i := range out[:first] {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return out
}

// readEvents reads every event file of the run and of its lanes.
func (m *model) readEvents() {
	dirs := []string{path.Join(m.dir, "events")}
	for _, e := range m.list(path.Join(m.dir, "lanes")) {
		if e.IsDir() {
			dirs = append(dirs, path.Join(m.dir, "lanes", e.Name(), "events"))
		}
	}
	var singles []string
	for _, dir := range dirs {
		m.r.Dir(dir) // reports a folder that cannot be listed
		walkEvents(m.r.FS(), dir, func(name string) bool {
			if isSingle(name) {
				singles = append(singles, name)
			} else {
				m.files = append(m.files, name)
			}
			return true
		})
	}
	lr := readLogs(m.r, m.run.ID, m.files)
	for _, name := range singles {
		m.files = append(m.files, name)
		lr.readSingle(m, int32(len(m.files)-1), name)
	}
	m.log = lr
	if m.log.events > 0 && m.log.last.at != never {
		m.run.Active(m.log.last.at.time(), m.sourceOf(m.log.last))
	}
}

// readSingle reads a file with one event. A malformed one is read as far as it makes
// sense, and finishes nothing.
func (lr *logReader) readSingle(m *model, file int32, name string) {
	lr.enter(file, name)
	own := doc.NewReader(lr.fsys)
	f := own.Open(name)
	m.seen(f)
	var root *doc.Node
	switch {
	case !f.OK():
		lr.refused++
	case strings.HasSuffix(name, ".json"):
		root = f.JSON()
	default:
		root = f.YAML()
	}
	for _, finding := range own.Findings() {
		lr.doubt = lr.doubt || finding.Code == reprise.CodeSalvaged
		m.r.Report(finding)
	}
	if root == nil {
		if f.OK() {
			lr.damaged++
		}
		return
	}
	nodes, whole := eventsOf(root)
	if !whole {
		lr.damaged++
		m.r.Report(reprise.Finding{
			Code: reprise.CodeDamagedLine, Severity: reprise.Warning, Subject: path.Base(name), Source: reprise.Source{File: name, Line: root.Line},
			Message: "the file contains no event",
		})
	}
	for i, n := range nodes {
		lr.event(textOf(n), max(n.Line, 1), i)
	}
	lr.damage.report(m.r, name)
}

// eventsOf returns the events of a YAML or JSON document: one, a list, or several
// consecutive documents, which arrive merged into one map and are split where a key
// repeats. whole is false if there is something else.
func eventsOf(n *doc.Node) (events []*doc.Node, whole bool) {
	switch {
	case n.IsNull():
		return nil, false
	case n.Kind == doc.List:
		for _, item := range n.Items {
			if item == nil || item.Kind != doc.Map {
				return events, false
			}
			events = append(events, item)
		}
		return events, true
	case n.Kind != doc.Map:
		return nil, false
	}
	if inner := n.Get("events"); inner != nil && inner.Kind == doc.List && !n.Has("timestamp") {
		return eventsOf(inner)
	}
	part := &doc.Node{Kind: doc.Map, Line: n.Line}
	for _, f := range n.Keys {
		if part.Has(f.Name) {
			events = append(events, part)
			part = &doc.Node{Kind: doc.Map, Line: f.Line}
		}
		part.Keys = append(part.Keys, f)
	}
	return append(events, part), true
}

// textOf returns a document's event as a log line would have it.
func textOf(n *doc.Node) []byte {
	text, err := json.Marshal(ledger.Data(n))
	if err != nil {
		return nil
	}
	return text
}

// describe sets what a person sees first.
func (m *model) describe() {
	m.run.Title = m.title()
	m.run.Active(m.graph.at, m.graph.atFrom)
	for _, led := range m.states {
		m.run.Active(led.updated, led.updatedAt)
	}
	if m.run.LastActivity.IsZero() && !m.mtime.IsZero() {
		m.run.Active(m.mtime, reprise.Source{File: m.mtimeFrom})
	}
	m.run.Branch = m.branch()
	m.artifacts()
	if len(m.contracts) > 0 {
		m.missingContracts()
	}
}

// missingContracts reports tasks without a contract: the graph is written first, and a
// crash in between leaves it without them.
func (m *model) missingContracts() {
	var without []string
	for _, s := range m.steps {
		if s.node != nil && s.Path == "" && !s.Status.Closed() {
			without = append(without, s.ID)
		}
	}
	if len(without) > 0 {
		m.r.Report(reprise.Finding{
			Code: reprise.CodeMissingArtifact, Severity: reprise.Info, Subject: without[0], Source: reprise.Source{File: path.Join(m.dir, "tasks")},
			Message: fmt.Sprintf("%s without a contract: %s", counted(len(without), "open task"), shortList(without)),
			Hint:    "the task-breaker writes the contracts; it may have been cut off",
		})
	}
}

// title returns the heading of the PRD, or what the ledgers call the run, or the words of
// its id.
func (m *model) title() string {
	t := m.docs["prd.md"].title
	for _, prefix := range []string{"product requirements document", "prd"} {
		if len(t) >= len(prefix) && strings.EqualFold(t[:len(prefix)], prefix) {
			rest := t[len(prefix):]
			if cut := strings.TrimLeft(rest, " :-–—"); cut != rest || rest == "" {
				t = cut
			}
		}
	}
	if t = oneLine(t); t != "" {
		return t
	}
	for _, led := range m.states {
		if led.title != "" {
			return oneLine(led.title)
		}
	}
	if m.graph.title != "" {
		return oneLine(m.graph.title)
	}
	return slug(m.run.ID)
}

// slug extracts the words from an id YYYYMMDD-HHMM-<slug>-<shortid>; any other form is
// returned unchanged.
func slug(id string) string {
	parts := strings.Split(id, "-")
	if nameTime(id) == never || len(parts) < 4 {
		return id
	}
	return strings.Join(parts[2:len(parts)-1], " ")
}
