package specloop

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// graph is one file of dags/: a strategy that holds all passes, or one pass.
type graph struct {
	file     *doc.File
	root     *doc.Node
	name     string // file name
	workflow string
	pass     int    // current pass
	word     string // status or outcome
	outcome  string // of the last pass
	detail   string
	strategy bool
	nodes    []node
}

type node struct {
	step                reprise.Step
	kind, word, verdict string
	pass                int
}

// graphs reads the graphs: a strategy for each workflow, else the highest pass.
func (l *loader) graphs() []*part {
	dir := l.in("dags")
	var out []*part
	var passes []string
	strategies := map[string]bool{}
	for _, name := range graphNames(l.r.FS(), dir) {
		if passNumber(name) > 0 {
			passes = append(passes, name)
			continue
		}
		p := l.graphPart(l.readGraph(dir, name))
		strategies[p.name] = true
		out = append(out, p)
	}
	slices.SortStableFunc(passes, func(a, b string) int { return passNumber(a) - passNumber(b) })
	if len(passes) == 0 {
		return out
	}
	l.passGap(dir, passes)
	g := l.readGraph(dir, passes[len(passes)-1])
	if strategies[g.workflow] {
		return out // the strategy took over from the single passes
	}
	p := l.graphPart(g)
	var earlier []reprise.Step
	for _, name := range passes[:len(passes)-1] {
		src := reprise.Source{File: path.Join(dir, name)}
		id := strings.TrimSuffix(name, ".json")
		earlier = append(earlier, reprise.Step{
			ID: id, Title: "an earlier pass", Phase: g.workflow, Status: reprise.Done, Source: src,
			Claims: []reprise.Claim{{Ledger: name, Status: reprise.Done, Word: "followed by " + g.name, Source: src, Won: true}},
		})
	}
	p.steps = append(earlier, p.steps...)
	return append(out, p)
}

func (l *loader) passGap(dir string, passes []string) {
	for i, name := range passes {
		if want := i + 1; passNumber(name) != want {
			l.report(reprise.Info, reprise.CodeGap, name, reprise.Source{File: path.Join(dir, name)}, fmt.Sprintf("pass %d is missing among the pass files", want), "")
			return
		}
	}
}

func (l *loader) readGraph(dir, name string) *graph {
	f := l.r.Open(path.Join(dir, name))
	g := &graph{file: f, name: name, workflow: "specify", pass: passNumber(name), strategy: passNumber(name) == 0}
	if g.root = f.JSON().Object(); g.root == nil {
		g.workflow = workflowWord(name)
		return g
	}
	g.workflow = workflowWord(name + " " + g.root.Get("workflow_id").Str() + " " + g.root.Get("id").Str())
	if g.strategy {
		g.word = g.root.Get("status").Str()
		g.pass, _ = g.root.Get("current_pass").Int()
		for _, p := range g.root.Get("passes").List() {
			g.outcome, g.detail = p.Get("outcome").Str(), p.Get("detail", "outcome_detail").Str()
		}
	} else {
		g.word = g.root.Get("outcome").Str()
		g.outcome, g.detail = g.word, g.root.Get("outcome_detail", "detail").Str()
		if n, ok := g.root.Get("pass_number").Int(); ok {
			g.pass = max(g.pass, n)
		}
	}
	g.readNodes(l)
	return g
}

func workflowWord(text string) string {
	for _, token := range strings.Fields(doc.Fold(text)) {
		if slices.Contains(workflowOrder, token) {
			return token
		}
	}
	return "specify"
}

func (g *graph) readNodes(l *loader) {
	seen := map[string]int{}
	for _, n := range g.root.Get("nodes").List() {
		id := n.Get("id").Str()
		if id == "" {
			g.file.Report(reprise.Warning, reprise.CodeDamagedLine, n.Line, "a node without an id is ignored", "")
			continue
		}
		if _, dup := seen[id]; dup {
			g.file.Report(reprise.Warning, reprise.CodeDuplicateID, n.Line, fmt.Sprintf("node %q occurs twice; the first one counts", doc.Clip(id, 40)), "")
			continue
		}
		seen[id] = len(g.nodes)
		status := n.Get("status")
		nd := node{kind: n.Get("type").Str(), word: status.Str(), verdict: n.Get("verdict").Str()}
		nd.pass, _ = n.Get("last_active_pass").Int()
		nd.step = reprise.Step{
			ID: id, Title: doc.Clip(n.Get("name").Str(), 80), Phase: g.workflow, Role: n.Get("agent").Str(),
			Source: n.Source(), Attempts: len(n.Get("history").List()),
		}
		nd.step.Role = cmp.Or(nd.step.Role, roleOfKind(nd.kind))
		nd.step.Status = nodeStatus(nd.word)
		src := n.Source()
		if !status.IsNull() {
			src = status.Source()
		}
		if nd.step.Status == reprise.Unknown {
			g.file.Report(reprise.Warning, reprise.CodeUnknownStatus, src.Line, fmt.Sprintf("node %q has the status %q, which is unknown here", doc.Clip(id, 40), doc.Clip(nd.word, 40)), "")
		}
		nd.step.Claims = []reprise.Claim{{Ledger: g.name, Status: nd.step.Status, Word: nd.word, Source: src, Won: true}}
		for _, h := range n.Get("history").List() {
			trace := h.Get("trace")
			for _, key := range []string{"completed_at", "started_at"} {
				if trace != nil && trace.Kind == doc.Map {
					l.run.Active(trace.Get(key).Time(), h.Source())
				}
			}
		}
		g.nodes = append(g.nodes, nd)
	}
	for _, t := range g.root.Get("execution_trace").List() {
		l.run.Active(t.Get("completed_at", "started_at").Time(), t.Source())
	}
	g.readEdges(seen)
}

func (g *graph) readEdges(seen map[string]int) {
	for _, e := range g.root.Get("edges").List() {
		if doc.Fold(e.Get("type").Str()) != "depends on" {
			continue
		}
		from, to := e.Get("source").Str(), e.Get("target").Str()
		i, ok := seen[to]
		if _, known := seen[from]; !ok || !known {
			g.file.Report(reprise.Warning, reprise.CodeUnknownDependency, e.Line,
				fmt.Sprintf("an edge joins %q and %q, and one of them is not a node", doc.Clip(from, 40), doc.Clip(to, 40)), "")
			continue
		}
		if from != to && !slices.Contains(g.nodes[i].step.Needs, from) {
			g.nodes[i].step.Needs = append(g.nodes[i].step.Needs, from)
		}
	}
}

// roleOfKind names who closes a node that has no agent.
func roleOfKind(kind string) string {
	if kind == "decision" {
		return "user"
	}
	return "supervisor"
}

func nodeStatus(word string) reprise.Status {
	switch doc.Fold(word) {
	case "pending":
		return reprise.Pending
	case "in progress":
		return reprise.InProgress
	case "completed", "passed", "decided", "achieved":
		return reprise.Done
	case "skipped":
		return reprise.Skipped
	case "failed", "needs revision":
		return reprise.Failed
	case "halted":
		return reprise.Blocked
	}
	return reprise.Unknown
}

func (l *loader) graphPart(g *graph) *part {
	p := &part{name: g.workflow, ledger: g.name, word: g.word, source: g.file.At(0)}
	if g.root == nil {
		p.state, p.reason, p.phase = reprise.Unreadable, g.name+" cannot be read", reprise.Loop{At: g.workflow}
		g.file.Report(reprise.Blocking, reprise.CodeUnreadable, 0, "contains no readable graph, so nothing is known about "+g.workflow, "restore the file from version control")
		return p
	}
	for _, key := range []string{"status", "outcome"} {
		if n := g.root.Get(key); !n.IsNull() {
			p.source = n.Source()
		}
	}
	for _, key := range []string{"created_at", "completed_at"} {
		if t := g.root.Get(key).Time(); t.After(p.at) {
			p.at = t
		}
	}
	for _, ps := range g.root.Get("passes").List() {
		for _, key := range []string{"created_at", "completed_at"} {
			if t := ps.Get(key).Time(); t.After(p.at) {
				p.at = t
			}
		}
	}
	for _, n := range g.nodes {
		p.steps = append(p.steps, n.step)
	}
	p.phase.At = fmt.Sprintf("%s pass %d", g.workflow, max(g.pass, 1))
	l.graphState(g, p)
	return p
}

// graphState decides: the graph's own word first, then its nodes.
func (l *loader) graphState(g *graph, p *part) {
	word := doc.Fold(g.word)
	halted := doc.Fold(g.outcome) == "halted"
	achieved := slices.ContainsFunc(g.nodes, func(n node) bool { return n.kind == "milestone" && n.step.Status == reprise.Done })
	ready := achieved || slices.Contains(strings.Fields(doc.Fold(g.detail)), "ready")
	switch {
	case g.strategy && word == "completed" && halted:
		// Freezing a pass without a successor closes the graph, also when the
		// pass was halted.
		p.state, p.reason = reprise.Stopped, fmt.Sprintf("pass %d was halted and the graph closed after it", max(g.pass, 1))
	case g.strategy && word == "completed", !g.strategy && word == "completed" && ready:
		l.graphDone(g, p, achieved)
	case !g.strategy && word == "completed":
		p.state = reprise.Interrupted
		p.reason = fmt.Sprintf("pass %d ended (%s) and no further pass was begun", g.pass, doc.Clip(g.detail, 60))
		p.next = []reprise.Unit{g.nextPass(p.reason)}
	case halted && word == "halted":
		p.state, p.reason = reprise.Waiting, fmt.Sprintf("pass %d was halted: a person has to decide how to continue", g.pass)
		p.next = []reprise.Unit{g.nextPass(p.reason)}
	case word != "" && word != "in progress" && filled(g.word):
		l.report(reprise.Warning, reprise.CodeUnknownStatus, g.name, p.source, fmt.Sprintf("status %q of the graph is unknown here; its nodes decide", doc.Clip(g.word, 40)), "")
		l.openGraph(g, p)
	default:
		l.openGraph(g, p)
	}
}

func (l *loader) graphDone(g *graph, p *part, achieved bool) {
	p.state, p.reason = reprise.Complete, fmt.Sprintf("%s is completed with pass %d", g.workflow, max(g.pass, 1))
	var open []string
	for _, n := range g.nodes {
		if !n.step.Status.Closed() {
			open = append(open, doc.Clip(n.step.ID, 30))
		}
	}
	if len(open) > 0 {
		l.report(reprise.Warning, reprise.CodeFalseCompletion, g.name, p.source, "the graph is completed, but open nodes are left: "+list(open), "look at these nodes before you build on the result")
	}
	for _, n := range g.nodes {
		if v := doc.Fold(n.verdict); !achieved && (v == "needs revision" || v == "critical gaps") {
			l.report(reprise.Warning, reprise.CodeFalseCompletion, g.name, n.step.Source,
				fmt.Sprintf("the graph is completed, but the last ruling of %q is %q", doc.Clip(n.step.ID, 40), doc.Clip(n.verdict, 40)), "look at the review before you build on the result")
		}
	}
}

func (g *graph) nextPass(reason string) reprise.Unit {
	return reprise.Unit{ID: fmt.Sprintf("pass-%03d", g.pass+1), Title: "begin the next pass", Phase: g.workflow, Role: "supervisor", Path: g.file.Path, Reason: reason}
}

// openGraph offers the nodes whose dependencies are closed.
func (l *loader) openGraph(g *graph, p *part) {
	closed := map[string]bool{}
	for _, n := range g.nodes {
		closed[n.step.ID] = n.step.Status.Closed()
	}
	open, user := 0, 0
	for _, n := range g.nodes {
		if closed[n.step.ID] {
			continue
		}
		open++
		if n.step.Status == reprise.Failed && n.kind == "gate" {
			continue // a verdict, not work: the next pass answers it
		}
		if slices.ContainsFunc(n.step.Needs, func(id string) bool { return !closed[id] }) {
			continue
		}
		s := n.step
		reason := fmt.Sprintf("its dependencies are closed and it is %s", s.Status)
		if n.kind == "decision" {
			user++
			reason = "a person has to decide"
			p.questions = append(p.questions, reprise.Question{ID: s.ID, Text: s.Title, Subject: g.workflow, Source: s.Source})
		}
		p.next = append(p.next, reprise.Unit{ID: s.ID, Title: s.Title, Phase: g.workflow, Role: s.Role, Path: g.file.Path, Reason: reason})
	}
	for _, n := range g.nodes {
		if doc.Fold(n.verdict) == "critical gaps" && n.pass == g.pass && g.strategy {
			p.state, p.reason = reprise.Waiting, fmt.Sprintf("the review %q found critical gaps: a person has to decide how to continue", doc.Clip(n.step.ID, 40))
			if len(p.next) == 0 {
				p.next = []reprise.Unit{g.nextPass(p.reason)}
			}
			return
		}
	}
	switch {
	case len(g.nodes) == 0 && g.root.Get("nodes").IsNull() && g.word == "":
		p.state, p.reason = reprise.Unreadable, g.name+" has neither a status nor nodes"
		g.file.Report(reprise.Blocking, reprise.CodeUnreadable, 0, "has neither a status nor nodes", "restore the file from version control")
	case user > 0 && user == len(p.next):
		p.state, p.reason = reprise.Waiting, fmt.Sprintf("pass %d waits for a decision of a person", max(g.pass, 1))
	case len(p.next) > 0:
		p.state, p.reason = reprise.Interrupted, fmt.Sprintf("pass %d is open: %d of %d nodes are not closed", max(g.pass, 1), open, len(g.nodes))
	case open > 0 && !g.onlyVerdicts():
		p.state, p.reason = reprise.Interrupted, "the open nodes wait for each other"
		l.report(reprise.Blocking, reprise.CodeCycle, g.name, g.file.At(0), "no open node has all its dependencies closed", "look at the depends-on edges")
	default:
		p.reason = fmt.Sprintf("all nodes of pass %d are settled; the next one has to be chosen", max(g.pass, 1))
		if len(g.nodes) == 0 {
			p.reason = fmt.Sprintf("no node of pass %d was chosen yet", max(g.pass, 1))
		}
		p.state = reprise.Interrupted
		p.next = []reprise.Unit{{ID: "next-node", Title: "choose the next node", Phase: g.workflow, Role: "supervisor", Path: g.file.Path, Reason: p.reason}}
	}
}

// onlyVerdicts reports whether all open nodes are gates that asked for a
// revision.
func (g *graph) onlyVerdicts() bool {
	return !slices.ContainsFunc(g.nodes, func(n node) bool {
		return !n.step.Status.Closed() && (n.kind != "gate" || n.step.Status != reprise.Failed)
	})
}
