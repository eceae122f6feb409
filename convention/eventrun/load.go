package eventrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
)

// loading is the reading of one run.
type loading struct {
	r   *doc.Reader
	dir string
	run *reprise.Run

	graph     graph
	log       *logReader
	files     []string // of events, by the index in keys
	contracts map[string]string
	docs      map[string]artifact
	states    []stateFile // workflow-state.json and manifest.yaml, where readable

	steps     []*step
	byID      map[string]*step
	closed    int      // steps that are
	strangers []string // tasks that only the events name
	cycles    int

	resolved   []alarm           // resolutions of escalations
	askedTasks map[string]string // tasks with an open question
	held       []string          // what the run as a whole waits for

	mtime     time.Time
	mtimeFrom string
}

// artifact is one of the documents the steps of the workflow make.
type artifact struct {
	path     string
	presence reprise.Presence
	empty    bool
	title    string
}

// there reports whether the step that makes the document need not run again. A
// document that is there and may not be read is not made anew: that would
// overwrite it.
func (a artifact) there() bool {
	return a.presence == reprise.Present || a.presence == reprise.Damaged && !a.empty
}

// Load implements reprise.Layout.
func (Layout) Load(fsys fs.FS, ref reprise.Ref) (*reprise.Run, error) {
	return load(fsys, ref).run, nil
}

// load reads a run and keeps what it was read from.
func load(fsys fs.FS, ref reprise.Ref) *loading {
	l := &loading{r: doc.NewReader(fsys), dir: ref.Path, run: &reprise.Run{Ref: ref}}
	l.contracts = contractsIn(fsys, path.Join(l.dir, "tasks"))
	l.readDocs()
	l.graph = l.readGraph()
	l.readStates()
	l.readEvents()
	l.makeSteps()
	l.describe()
	l.decide()
	l.checkOrigin()
	if len(l.steps) > 0 {
		l.run.Steps = make([]reprise.Step, 0, len(l.steps))
	}
	for _, s := range l.steps {
		l.run.Steps = append(l.run.Steps, s.Step)
	}
	l.run.Findings = append(l.run.Findings, l.r.Findings()...)
	return l
}

// find gives the path of an artifact: in the run's folder, or in `artifacts/`
// there as one of the descriptions has it. It is "" if there is none.
func (l *loading) find(name string) string {
	for _, dir := range []string{l.dir, path.Join(l.dir, "artifacts")} {
		p := path.Join(dir, name)
		for _, e := range l.list(dir) {
			if e.Name() == name {
				return p
			}
		}
	}
	return ""
}

func (l *loading) list(dir string) []fs.DirEntry {
	entries, err := fs.ReadDir(l.r.FS(), dir)
	if err != nil {
		return nil
	}
	return entries
}

// documents are the artifacts in the order in which they are made.
var documents = []string{"prd.md", "plan.md", "bootstrap-plan.md", "constitution.md", "pr-checklist.md"}

func (l *loading) readDocs() {
	l.docs = map[string]artifact{}
	for _, name := range documents {
		p := l.find(name)
		if p == "" && name == "pr-checklist.md" {
			if in := path.Join(l.dir, "pr", "checklist.md"); l.r.Exists(in) {
				p = in
			}
		}
		if p == "" {
			l.docs[name] = artifact{path: path.Join(l.dir, name), presence: reprise.Missing}
			continue
		}
		f := l.r.Open(p)
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
			l.seen(f)
			if name == "prd.md" {
				a.title = f.Markdown().Title()
			}
		}
		l.docs[name] = a
	}
}

// blank reports whether a file holds nothing that could be read.
func blank(data []byte) bool { return len(bytes.Trim(data, "\x00 \t\r\n\ufeff")) == 0 }

// seen remembers the newest file, for runs that record no time at all.
func (l *loading) seen(f *doc.File) {
	if f.OK() && f.MTime.After(l.mtime) {
		l.mtime, l.mtimeFrom = f.MTime, f.Path
	}
}

// small reports whether this is a run of a small job, which goes without the
// documents and the graph and has its contracts only.
func (l *loading) small() bool {
	return len(l.contracts) > 0 && !l.graph.exists && !l.made("prd.md") && !l.made("plan.md") && !l.made("bootstrap-plan.md")
}

// made reports whether something stands under a document's name.
func (l *loading) made(name string) bool { return l.docs[name].presence != reprise.Missing }

func (l *loading) contractTitle(id string) string {
	f := l.r.Open(l.contracts[id])
	l.seen(f)
	if !strings.HasSuffix(f.Path, ".md") {
		return ""
	}
	return oneLine(f.Markdown().Title())
}

// structured reads a JSON or YAML file by its name.
func (l *loading) structured(f *doc.File) *doc.Node {
	if strings.HasSuffix(f.Path, ".json") {
		return l.json(f)
	}
	return f.YAML()
}

// json reads a JSON file. One that was copied from a Markdown template under
// the name of a JSON file holds its content in a code fence.
func (l *loading) json(f *doc.File) *doc.Node {
	block := fencedJSON(f.Data)
	if !f.OK() || block == nil {
		return f.JSON()
	}
	if bytes.Contains(block, []byte("{{")) {
		f.Report(reprise.Warning, reprise.CodeUnreadable, 1, "a Markdown template with placeholders stands where JSON belongs; it says nothing about this run", "delete it or fill it in")
		return nil
	}
	f.Report(reprise.Warning, reprise.CodeSalvaged, 1, "Markdown under the name of a JSON file; its first code block was read", "keep the JSON alone in this file")
	f.Data = block
	return f.JSON()
}

// fencedJSON returns the first fenced block of a text that is Markdown, with
// all before it blanked so that lines keep their numbers; nil if the text
// begins like JSON or has no such block.
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

// readEvents reads every file of events of the run and of its lanes.
func (l *loading) readEvents() {
	dirs := []string{path.Join(l.dir, "events")}
	for _, e := range l.list(path.Join(l.dir, "lanes")) {
		if e.IsDir() {
			dirs = append(dirs, path.Join(l.dir, "lanes", e.Name(), "events"))
		}
	}
	var singles []string
	for _, dir := range dirs {
		l.r.Dir(dir) // reports a folder that cannot be listed
		walkEvents(l.r.FS(), dir, func(name string) bool {
			if isSingle(name) {
				singles = append(singles, name)
			} else {
				l.files = append(l.files, name)
			}
			return true
		})
	}
	lr := readLogs(l.r, l.run.ID, l.files)
	for _, name := range singles {
		l.files = append(l.files, name)
		lr.readSingle(l, int32(len(l.files)-1), name)
	}
	l.log = lr
	if l.log.events > 0 && l.log.last.at != never {
		l.run.Active(l.log.last.at.time(), l.sourceOf(l.log.last))
	}
}

// readSingle reads a file that holds one event. One that is not well-formed is
// read as far as it makes sense, and finishes nothing.
func (lr *logReader) readSingle(l *loading, file int32, name string) {
	lr.enter(file, name)
	own := doc.NewReader(lr.fsys)
	f := own.Open(name)
	l.seen(f)
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
		l.r.Report(finding)
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
		l.r.Report(reprise.Finding{
			Code: reprise.CodeDamagedLine, Severity: reprise.Warning, Subject: path.Base(name), Source: reprise.Source{File: name, Line: root.Line},
			Message: "the file holds no event",
		})
	}
	for i, n := range nodes {
		lr.event(textOf(n), max(n.Line, 1), i)
	}
	lr.damage.report(l.r, name)
}

// eventsOf gives the events of a YAML or JSON document: one, a list, or several
// documents behind each other, which arrive joined as one map and are parted
// where a key comes again. whole is false where something else stands there.
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

// textOf gives a document's event as a line of a log would have it.
func textOf(n *doc.Node) []byte {
	text, err := json.Marshal(plainValue(n, 0))
	if err != nil {
		return nil
	}
	return text
}

func plainValue(n *doc.Node, depth int) any {
	if n.IsNull() || depth > 50 {
		return nil
	}
	switch n.Kind {
	case doc.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = plainValue(item, depth+1)
		}
		return list
	case doc.Map:
		m := make(map[string]any, len(n.Keys))
		for _, f := range n.Keys {
			m[f.Name] = plainValue(f.Value, depth+1)
		}
		return m
	case doc.Number:
		// A YAML number may have a form JSON has not (0x1F, .5, 007).
		if json.Valid([]byte(n.Text)) {
			return json.Number(n.Text)
		}
	case doc.Bool:
		return n.Text == "true"
	}
	return n.Text
}

// describe fills what a person sees first.
func (l *loading) describe() {
	l.run.Title = l.title()
	if l.graph.at != nil {
		l.run.Active(l.graph.at.Time(), l.graph.at.Source())
	}
	for _, led := range l.states {
		l.run.Active(led.updated, led.updatedAt)
	}
	if l.run.LastActivity.IsZero() && !l.mtime.IsZero() {
		l.run.Active(l.mtime, reprise.Source{File: l.mtimeFrom})
	}
	l.run.Branch = l.branch()
	l.artifacts()
	if len(l.contracts) > 0 {
		l.missingContracts()
	}
}

// missingContracts tells of tasks whose contract was not written: the graph is
// written first, a crash between leaves it without them.
func (l *loading) missingContracts() {
	var without []string
	for _, s := range l.steps {
		if s.node != nil && s.Path == "" && !s.Status.Closed() {
			without = append(without, s.ID)
		}
	}
	if len(without) > 0 {
		l.r.Report(reprise.Finding{
			Code: reprise.CodeMissingArtifact, Severity: reprise.Info, Subject: without[0], Source: reprise.Source{File: path.Join(l.dir, "tasks")},
			Message: fmt.Sprintf("%s without a contract: %s", counted(len(without), "open task"), shortList(without)),
			Hint:    "the task-breaker writes the contracts; it may have been cut off",
		})
	}
}

// title is the heading of the PRD, or what the ledgers call the run, or the
// part of its id that is words.
func (l *loading) title() string {
	t := l.docs["prd.md"].title
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
	for _, led := range l.states {
		if led.title != "" {
			return oneLine(led.title)
		}
	}
	if l.graph.title != "" {
		return oneLine(l.graph.title)
	}
	return slug(l.run.ID)
}

// slug takes the words out of an id YYYYMMDD-HHMM-<slug>-<shortid>; any other
// form is given as it is.
func slug(id string) string {
	parts := strings.Split(id, "-")
	if nameTime(id) == never || len(parts) < 4 {
		return id
	}
	return strings.Join(parts[2:len(parts)-1], " ")
}
