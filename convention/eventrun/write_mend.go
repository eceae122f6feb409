package eventrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

var _ reprise.Mender = Layout{}

// Mend implements reprise.Mender: it rebuilds the task graph. An unreadable graph is
// rewritten from the one in the other format; if there is none, from its complete parts,
// the contracts and the events, with every task open, since the events say what is done.
// No dependency is invented.
//
// The log itself is never repaired: it is append-only, and a changed line would be an
// event that no one wrote. The state files are caches of it.
func (Layout) Mend(fsys fs.FS, r *reprise.Run) ([]reprise.Mend, error) {
	if r.Path == "" {
		return nil, nil
	}
	m := load(fsys, r.Ref)
	again := func(fsys fs.FS) *reprise.Run { return load(fsys, r.Ref).run }
	return ledger.Mend(again, fsys, m.proposals()), nil
}

// proposals returns the ways to rebuild the graph.
func (m *model) proposals() []ledger.Proposal {
	files := m.graphFiles()
	for _, src := range files {
		if src.whole {
			return copyGraph(src, files)
		}
	}
	for _, g := range files {
		if !g.broken() && !g.bare {
			// What is partly readable would be lost, and what may not be opened is not
			// ours to overwrite.
			return nil
		}
	}
	return m.gatherGraph(files)
}

// graphFile is one file of the task graph, with its own reader so that its findings are
// separate.
type graphFile struct {
	*doc.File
	raw   []byte // as on disk
	root  *doc.Node
	whole bool // all of it was read, and it has tasks
	bare  bool // well-formed but empty
}

func (m *model) graphFiles() []graphFile {
	var out []graphFile
	for _, name := range graphNames {
		p := m.find(name)
		if p == "" {
			continue
		}
		own := &model{r: doc.NewReader(m.r.FS()), dir: m.dir}
		g := graphFile{File: own.r.Open(p)}
		if !g.Exists() {
			continue
		}
		g.raw = g.Data
		var tasks graph
		if g.root = own.structured(g.File); g.root != nil {
			own.fillGraph(&tasks, g.root)
			g.bare = len(g.root.Keys)+len(g.root.Items) == 0 && (g.root.Kind == doc.Map || g.root.Kind == doc.List || g.root.Kind == doc.Null)
		}
		g.whole = len(tasks.nodes) > 0 && !slices.ContainsFunc(own.r.Findings(), func(f reprise.Finding) bool {
			return slices.Contains([]string{reprise.CodeSalvaged, reprise.CodeUnreadable, reprise.CodeIntegrity, reprise.CodeWrongType}, f.Code)
		})
		out = append(out, g)
	}
	return out
}

// broken reports whether the file was read and is malformed.
func (g graphFile) broken() bool { return g.OK() && g.root == nil }

// rewrite returns a proposal's change that gives files the same content.
func rewrite(text []byte, why string, names ...string) func(c *ledger.Changes) {
	return func(c *ledger.Changes) {
		for _, name := range names {
			c.Rewrite(name, text, why)
		}
	}
}

// copyGraph rewrites the broken graphs from a complete one. JSON is also YAML, so one
// format serves all of them.
func copyGraph(src graphFile, files []graphFile) []ledger.Proposal {
	text, err := ledger.NewJSON(ledger.Data(src.root))
	if err != nil {
		return nil // it contains what JSON cannot express
	}
	var out []ledger.Proposal
	for _, g := range files {
		if g.broken() {
			out = append(out, ledger.Proposal{
				What: g.Path + " cannot be read", From: src.Path, Make: rewrite(text, "rebuilt from "+src.Path, g.Path),
			})
		}
	}
	return out
}

// gatherGraph builds a graph from what is known of the tasks elsewhere. Without contracts
// that is too little: events name only tasks that were begun, and a graph of those alone
// would look finished.
func (m *model) gatherGraph(files []graphFile) []ledger.Proposal {
	if len(m.contracts) == 0 || m.small() || len(files) == 0 && !m.lost("task-graph") {
		return nil
	}
	var rest graph
	announced := 0
	names := []string{path.Join(m.dir, graphJSON)}
	for i, g := range files {
		if found := wholeTasks(g.raw); len(found.nodes) > len(rest.nodes) {
			rest = found
		}
		announced = max(announced, announcedTasks(g.raw))
		names = append(names[:i], g.Path)
	}
	tasks := m.knownTasks(rest)
	text, err := ledger.NewJSON(splice.Object{{Key: "tasks", Value: tasks}})
	if err != nil || len(tasks) == 0 || len(tasks) < announced {
		return nil // tasks would be missing, and the run would look further along than it is
	}
	p := ledger.Proposal{What: names[0] + " cannot be read", From: path.Join(m.dir, "tasks") + " and the events"}
	if len(rest.nodes) > 0 {
		p.From = fmt.Sprintf("what is intact in it (%s), %s", counted(len(rest.nodes), "task"), p.From)
	}
	switch {
	case len(files) == 0:
		p.What = names[0] + " is gone"
	case files[0].bare:
		p.What = names[0] + " holds no task"
	}
	p.What += "; tasks and dependencies that were only in it are lost"
	p.Make = rewrite(text, "rebuilt from "+p.From, names...)
	return []ledger.Proposal{p}
}

// knownTasks combines the complete tasks of a broken graph, those with a contract and
// those the events name, each once and all open.
func (m *model) knownTasks(rest graph) []splice.Object {
	var nodes []*node
	ids := map[string]string{} // by their folded form
	add := func(n *node) {
		if fold := doc.Fold(n.id); ids[fold] == "" {
			ids[fold] = n.id
			nodes = append(nodes, n)
		}
	}
	for _, n := range rest.nodes {
		add(n)
	}
	whole := len(nodes)
	for _, id := range sortedKeys(m.contracts) {
		// Every kind of id has a number; an overview next to the contracts would be a
		// task that no one can finish.
		if strings.ContainsAny(id, "0123456789") {
			add(&node{id: id, title: m.contractName(id)})
		}
	}
	for _, s := range m.steps {
		add(&node{id: s.ID, title: s.Title})
	}
	out := make([]splice.Object, 0, len(nodes))
	for i, n := range nodes {
		if i >= whole {
			n.needs = m.contractNeeds(n.id, ids)
		}
		task := splice.Object{{Key: "id", Value: n.id}}
		if n.title != "" {
			task = append(task, splice.Member{Key: "title", Value: n.title})
		}
		if n.phase != "" {
			task = append(task, splice.Member{Key: "phase", Value: n.phase})
		}
		needs := append([]string{}, n.needs...)
		out = append(out, append(task, splice.Member{Key: "dependencies", Value: needs}, splice.Member{Key: "status", Value: "pending"}))
	}
	return out
}

// contractName returns the title of a contract, in either format.
func (m *model) contractName(id string) string {
	if file := m.contracts[id]; !strings.HasSuffix(file, ".md") {
		return oneLine(firstText(mapOf(doc.NewReader(m.r.FS()).Open(file).YAML()).Get("title", "name")))
	}
	return m.contractTitle(id)
}

// contractNeeds reads the dependencies a contract names: a key of its front matter or
// YAML, a label, or the items of a section. Only bare ids of the run's tasks count; a
// sentence about a task is not a dependency.
func (m *model) contractNeeds(self string, ids map[string]string) []string {
	file := m.contracts[self]
	if file == "" {
		return nil
	}
	f := doc.NewReader(m.r.FS()).Open(file)
	keys := []string{"dependencies", "depends_on", "dependsOn", "deps"}
	var words []string
	if !strings.HasSuffix(file, ".md") {
		words = dependencies(mapOf(f.YAML()).Get(keys...))
	} else if md := f.Markdown(); md != nil {
		words = dependencies(mapOf(md.Front).Get(keys...))
		if label, ok := md.All().Label("dependencies", "depends on"); ok && len(words) == 0 {
			words = strings.Split(label.Value, ",")
		}
		if section, ok := md.Section("dependencies", "depends on"); ok && len(words) == 0 {
			for _, line := range section.Lines() {
				item, ok := strings.CutPrefix(strings.TrimSpace(line.Text), "- ")
				if ok && !line.Hidden {
					words = append(words, item)
				}
			}
		}
	}
	var out []string
	seen := map[string]bool{self: true}
	for _, word := range words {
		id := ids[doc.Fold(strings.Trim(strings.TrimSpace(word), "`*[]\"'"))]
		if id != "" && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// wholeTasks reads the tasks of a truncated JSON graph, up to the first incomplete one.
// Nothing after a garbled place is searched.
func wholeTasks(data []byte) graph {
	var g graph
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	for key := ""; ; {
		token, err := dec.Token()
		if err != nil {
			return g
		}
		if token == json.Delim('[') && (key == "tasks" || key == "nodes") {
			break
		}
		key, _ = token.(string)
	}
	m := &model{r: doc.NewReader(nil)}
	for dec.More() {
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			break
		}
		if j, err := splice.NewJSON(raw); err == nil {
			m.addNode(&g, j.Root(), "")
		}
	}
	return g
}

// announcedTasks returns the number of tasks a broken graph says it has, 0 if that is
// unreadable.
func announcedTasks(data []byte) int {
	_, after, _ := bytes.Cut(data, []byte("total_tasks"))
	line, _, ended := bytes.Cut(after, []byte("\n"))
	line = bytes.TrimLeft(line, "\"': \t")
	digits := len(line) - len(bytes.TrimLeft(line, "0123456789"))
	n, err := strconv.Atoi(string(line[:digits]))
	if err != nil || digits == len(line) && !ended {
		return 0
	}
	return n
}
