package specloop

import (
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// graphEdit is a graph of dags/ while it is edited.
type graphEdit struct {
	rec  *recorder
	f    *ledger.File
	root ledger.Value
}

// graph opens a graph; nil if it cannot be written.
func (rec *recorder) graph(name string) *graphEdit {
	f := rec.changes.Structured(name)
	if f == nil {
		return nil
	}
	return &graphEdit{rec, f, f.Root()}
}

// node finds a node of the graph; of two with one id the first counts.
func (g *graphEdit) node(id string) (ledger.Value, bool) {
	for _, n := range g.root.In("nodes").Entries(0) {
		if n.In("id").Plain() == id {
			return n.Value, true
		}
	}
	g.rec.cannot("%q is not a node of %s", doc.Clip(id, 60), g.f.Path)
	return ledger.Value{}, false
}

// spell uses the joint between words that the graph uses.
func (g *graphEdit) spell(word string) string {
	words := []string{g.root.In("status").Plain()}
	for _, n := range g.root.In("nodes").Entries(0) {
		words = append(words, n.In("status").Plain())
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "_") }) {
		return strings.ReplaceAll(word, "-", "_")
	}
	return word
}

// node records what became of a node, in the words of its type.
func (rec *recorder) node(s *reprise.Step) {
	g := rec.graph(s.Source.File)
	want, _ := ledger.Wanted(rec.ev.Kind)
	if g == nil || s.Status == want {
		return
	}
	n, ok := g.node(s.ID)
	if !ok {
		return
	}
	word := ""
	switch want {
	case reprise.InProgress:
		word = g.spell("in-progress")
	case reprise.Done:
		word = closedWord(n.In("type").Plain())
	case reprise.Failed:
		word = "failed"
	case reprise.Blocked:
		word = "halted"
	case reprise.Skipped:
		word = "skipped"
	case reprise.Pending:
		word = "pending"
	}
	g.setNode(n, word)
	g.f.Because("node %s: %s", s.ID, word)
}

func closedWord(kind string) string {
	switch kind {
	case "gate":
		return "passed"
	case "decision":
		return "decided"
	case "milestone":
		return "achieved"
	}
	return "completed"
}

// setNode sets the status of a node and of its history in the current pass,
// with the time where the history keeps times.
func (g *graphEdit) setNode(n ledger.Value, word string) {
	c := g.rec.changes
	c.Set(n.In("status"), word)
	pass, _ := g.root.In("current_pass", "pass_number").Int()
	history := n.In("history")
	if !history.Is(doc.List) || pass == 0 {
		return
	}
	if n.Has("last_active_pass") {
		c.Set(n.In("last_active_pass"), pass)
	}
	key := "completed_at"
	if g.rec.ev.Kind == reprise.StepStarted {
		key = "started_at"
	}
	trace := splice.Object{{Key: key, Value: g.stamp()}}
	for _, h := range history.Entries(0) {
		if no, _ := h.In("pass").Int(); no != pass {
			continue
		}
		c.Set(h.In("status"), word)
		switch t := h.In("trace"); {
		case t.Is(doc.Map):
			c.Set(t.In(key), g.stamp())
		case !h.Has("trace"): // else of a shape we do not know
			c.Set(t, trace)
		}
		return
	}
	c.Add(history, splice.Object{{Key: "pass", Value: pass}, {Key: "status", Value: word}, {Key: "trace", Value: trace}})
}

func (g *graphEdit) stamp() string { return like(g.root.In("created_at").Plain(), g.rec.ev.At) }

// decide closes a decision with what a person said.
func (rec *recorder) decide(q *reprise.Question) {
	if rec.ev.Kind != reprise.QuestionAnswered {
		rec.cannot("a decision is applied by the nodes that follow it, and not closed without an answer")
		return
	}
	g := rec.graph(q.Source.File)
	if g == nil {
		return
	}
	n, ok := g.node(q.ID)
	if !ok {
		return
	}
	g.setNode(n, "decided")
	if text := doc.Clip(strings.ToValidUTF8(rec.ev.Text, "\ufffd"), 4000); text != "" {
		rec.changes.Set(n.In("decision"), text)
	}
	g.f.Because("decide %s", q.ID)
}

// wholeGraph ends a graph. One that is stopped has a halted pass; a strategy is
// closed with it, as the format has it. The context beside it follows.
func (rec *recorder) wholeGraph(s *reprise.Step) {
	if rec.ev.Kind == reprise.RunResumed {
		rec.cannot("a closed pass is not reopened; the next one is begun")
		return
	}
	g := rec.graph(s.Source.File)
	if g == nil {
		return
	}
	_, done := rec.reasonWord()
	outcome, detail := "halted", "stopped"
	if done {
		outcome, detail = "completed", "ready"
	}
	c := rec.changes
	if passNumber(path.Base(s.Source.File)) > 0 {
		c.Set(g.root.In("outcome"), outcome)
		c.Set(g.root.In("outcome_detail"), detail)
	} else {
		if passes := g.root.In("passes").Entries(0); len(passes) > 0 {
			last := passes[len(passes)-1]
			c.Set(last.In("outcome"), outcome)
			c.Set(last.In("detail"), detail)
			c.Set(last.In("completed_at"), g.stamp())
		}
		c.Set(g.root.In("status"), "completed")
	}
	g.f.Because("end the pass: %s", outcome)
	if done {
		rec.closeContext(s.Phase)
	}
}

// closeContext completes the context file of a workflow whose graph is closed.
// The graph decides; disagreement in other files is a finding.
func (rec *recorder) closeContext(workflow string) {
	for _, cf := range contextFiles {
		c := rec.l.openContext(cf)
		if cf.workflow != workflow || !c.file.OK() || c.front == nil {
			continue
		}
		if doc.Fold(c.word) != "completed" {
			if t := rec.context(c.file.Path); t != nil {
				t.setStatus("completed")
			}
		}
		return
	}
}
