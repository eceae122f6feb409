package specloop

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// chart is a graph of dags/ while it is edited.
type chart struct {
	rec  *recorder
	name string
	j    *splice.JSON
}

func (rec *recorder) chart(name string) (*chart, error) {
	f := rec.l.r.Open(name)
	if !f.OK() {
		return nil, rec.unread(name)
	}
	j, err := splice.NewJSON(f.Data)
	if err != nil {
		return nil, rec.wrong("%s: %v", name, err)
	}
	return &chart{rec, name, j}, nil
}

func (c *chart) edits(why string) ([]reprise.Edit, error) {
	if e, ok := c.j.Edit(c.name, why); ok {
		return []reprise.Edit{e}, nil
	}
	return nil, nil
}

// at finds a node of the graph; of two with one id the first counts.
func (c *chart) at(id string) int {
	return slices.IndexFunc(c.j.Root().Get("nodes").List(), func(n *doc.Node) bool { return n.Get("id").Str() == id })
}

// spell uses the joint between words that the graph uses.
func (c *chart) spell(word string) string {
	words := []string{c.j.Root().Get("status").Str()}
	for _, n := range c.j.Root().Get("nodes").List() {
		words = append(words, n.Get("status").Str())
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "_") }) {
		return strings.ReplaceAll(word, "-", "_")
	}
	return word
}

// node records what became of a node, in the words of its type.
func (rec *recorder) node(s *reprise.Step) ([]reprise.Edit, error) {
	c, err := rec.chart(s.Source.File)
	if err != nil {
		return nil, err
	}
	i := c.at(s.ID)
	if i < 0 {
		return nil, rec.cannot("%q is no node of %s", doc.Clip(s.ID, 60), c.name)
	}
	kind := c.j.Root().Get("nodes").List()[i].Get("type").Str()
	word, want := "", reprise.Status(0)
	switch rec.ev.Kind {
	case reprise.StepStarted:
		word, want = c.spell("in-progress"), reprise.InProgress
	case reprise.StepFinished:
		word, want = closedWord(kind), reprise.Done
	case reprise.StepFailed:
		word, want = "failed", reprise.Failed
	case reprise.StepBlocked:
		word, want = "halted", reprise.Blocked
	case reprise.StepSkipped:
		word, want = "skipped", reprise.Skipped
	case reprise.StepReset:
		word, want = "pending", reprise.Pending
	}
	if s.Status == want {
		return nil, nil
	}
	if err := c.setNode(i, word); err != nil {
		return nil, err
	}
	return c.edits(fmt.Sprintf("node %s: %s", s.ID, word))
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
func (c *chart) setNode(i int, word string) error {
	node := splice.Path{"nodes", i}
	if err := c.put(append(slices.Clone(node), "status"), word); err != nil {
		return err
	}
	n := c.j.Root().Get("nodes").List()[i]
	pass, _ := c.j.Root().Get("current_pass", "pass_number").Int()
	history := n.Get("history")
	if history == nil || history.Kind != doc.List || pass == 0 {
		return nil
	}
	if n.Has("last_active_pass") {
		if err := c.put(append(slices.Clone(node), "last_active_pass"), pass); err != nil {
			return err
		}
	}
	stamp := like(c.j.Root().Get("created_at").Str(), c.rec.ev.At)
	key := "completed_at"
	if c.rec.ev.Kind == reprise.StepStarted {
		key = "started_at"
	}
	trace := splice.Object{{Key: key, Value: stamp}}
	for k, h := range history.Items {
		if no, _ := h.Get("pass").Int(); no != pass {
			continue
		}
		at := append(slices.Clone(node), "history", k)
		if err := c.put(append(slices.Clone(at), "status"), word); err != nil {
			return err
		}
		if t := h.Get("trace"); t != nil && t.Kind == doc.Map {
			return c.put(append(slices.Clone(at), "trace", key), stamp)
		}
		if h.Has("trace") {
			return nil // of a shape we do not know
		}
		return c.put(append(slices.Clone(at), "trace"), trace)
	}
	return c.wrap(c.j.Append(append(slices.Clone(node), "history"), splice.Object{{Key: "pass", Value: pass}, {Key: "status", Value: word}, {Key: "trace", Value: trace}}))
}

func (c *chart) put(at splice.Path, value any) error { return c.wrap(c.j.Put(at, value)) }

func (c *chart) wrap(err error) error {
	if err != nil {
		return c.rec.wrong("%s: %v", c.name, err)
	}
	return nil
}

// decide closes a decision with what a person said.
func (rec *recorder) decide(q *reprise.Question) ([]reprise.Edit, error) {
	if rec.ev.Kind == reprise.AnswerApplied {
		return nil, rec.cannot("a decision is applied by the nodes that follow it")
	}
	c, err := rec.chart(q.Source.File)
	if err != nil {
		return nil, err
	}
	i := c.at(q.ID)
	if i < 0 {
		return nil, rec.cannot("%q is no node of %s", doc.Clip(q.ID, 60), c.name)
	}
	if err := c.setNode(i, "decided"); err != nil {
		return nil, err
	}
	if text := doc.Clip(strings.ToValidUTF8(rec.ev.Text, "\ufffd"), 4000); text != "" {
		if err := c.put(splice.Path{"nodes", i, "decision"}, text); err != nil {
			return nil, err
		}
	}
	return c.edits("decide " + q.ID)
}

// wholeGraph ends a graph. One that is stopped has a halted pass; a strategy is
// closed with it, as the format has it. The context beside it follows.
func (rec *recorder) wholeGraph(s *reprise.Step) ([]reprise.Edit, error) {
	if rec.ev.Kind == reprise.RunResumed {
		return nil, rec.cannot("a pass that was closed is not opened again; the next one is begun")
	}
	c, err := rec.chart(s.Source.File)
	if err != nil {
		return nil, err
	}
	_, done := rec.reasonWord()
	outcome, detail := "halted", "stopped"
	if done {
		outcome, detail = "completed", "ready"
	}
	stamp := like(c.j.Root().Get("created_at").Str(), rec.ev.At)
	if passes := c.j.Root().Get("passes").List(); passNumber(s.Source.File[strings.LastIndexByte(s.Source.File, '/')+1:]) > 0 {
		err = c.putAll(nil, splice.Member{Key: "outcome", Value: outcome}, splice.Member{Key: "outcome_detail", Value: detail})
	} else {
		if n := len(passes); n > 0 {
			err = c.putAll(splice.Path{"passes", n - 1}, splice.Member{Key: "outcome", Value: outcome},
				splice.Member{Key: "detail", Value: detail}, splice.Member{Key: "completed_at", Value: stamp})
		}
		if err == nil {
			err = c.putAll(nil, splice.Member{Key: "status", Value: "completed"})
		}
	}
	if err != nil {
		return nil, err
	}
	edits, err := c.edits("end the pass: " + outcome)
	if err != nil || !done {
		return edits, err
	}
	beside, err := rec.closeContext(s.Phase)
	return append(edits, beside...), err
}

func (c *chart) putAll(at splice.Path, members ...splice.Member) error {
	for _, m := range members {
		if err := c.put(append(slices.Clone(at), m.Key), m.Value); err != nil {
			return err
		}
	}
	return nil
}

// closeContext completes the context file of a workflow whose graph is closed.
func (rec *recorder) closeContext(workflow string) ([]reprise.Edit, error) {
	for _, cf := range contextFiles {
		name := rec.l.in(cf.file)
		if cf.workflow != workflow || !rec.l.r.Exists(name) {
			continue
		}
		t, err := rec.letter(name)
		if err != nil {
			continue // the graph decides; what is wrong beside it is a finding
		}
		if doc.Fold(t.c.word) == "completed" {
			return nil, nil
		}
		if err := t.front(splice.Member{Key: "status", Value: "completed"}); err != nil {
			return nil, err
		}
		return t.edits(workflow + " completed")
	}
	return nil, nil
}
