package orchestrate

import (
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// waveFollows moves a wave along with its stories: begun with the first one,
// before its gate with the last.
func (c *scribe) waveFollows(e *epicPaper, w *epicWave) error {
	begun, open := false, 0
	for _, s := range w.entries {
		st := stateWord(s.word)
		begun = begun || st != reprise.Pending
		if !st.Closed() {
			open++
		}
	}
	now := stateWord(w.word)
	at := under(w.at, "status")
	switch {
	case w.word == "":
	case open == 0 && len(w.entries) > 0 && !now.Closed() && e.key(e.root, "gate_verdicts", "gateVerdicts") != "" && doc.Fold(w.word) != "gate review":
		word := "gate_review"
		if v := e.node(under(e.root, e.key(e.root, "gate_verdicts", "gateVerdicts"))); v != nil && v.Kind == doc.Map && !v.Get(w.name).IsNull() && verdictDone(v.Get(w.name)) {
			word = spellState(reprise.Done, "completed", e.waveWords()...) // its gate was passed before the story was opened again
		}
		if err := e.set(at, word); err != nil {
			return err
		}
	case open > 0 && begun && (now != reprise.InProgress || doc.Fold(w.word) == "gate review"):
		if err := e.set(at, spellState(reprise.InProgress, "in_progress", dropWord(e.waveWords(), "gate review")...)); err != nil {
			return err
		}
	case open > 0 && !begun && c.ev.Kind == reprise.StepReset && now == reprise.InProgress:
		if err := e.set(at, spellState(reprise.Pending, "pending", e.waveWords()...)); err != nil {
			return err
		}
	}
	if c.ev.Kind != reprise.StepStarted {
		return nil
	}
	return c.currentWave(e, w.name)
}

func dropWord(words []string, fold string) []string {
	var out []string
	for _, w := range words {
		if doc.Fold(w) != fold {
			out = append(out, w)
		}
	}
	return out
}

// currentWave keeps the field that names the wave at work, where there is one.
func (c *scribe) currentWave(e *epicPaper, name string) error {
	key := e.key(e.root, "current_wave", "currentWave")
	if key == "" || plainText(e.node(under(e.root, key))) == name {
		return nil
	}
	var value any = name
	if n, err := strconv.Atoi(name); err == nil && e.node(under(e.root, key)).Kind == doc.Number {
		value = n
	}
	return e.set(under(e.root, key), value)
}

// waveName takes the wave's own name from what a phase or gate is called:
// "wave 2", "wave 2 gate", "wave-2-gate", "2".
func waveName(s string) string {
	s = strings.TrimSpace(s)
	for _, cut := range []string{" gate", "-gate"} {
		s = strings.TrimSuffix(s, cut)
	}
	for _, cut := range []string{"wave ", "wave-"} {
		s = strings.TrimPrefix(s, cut)
	}
	return s
}

// waveEnded closes a wave with the verdict of its gate.
func (c *scribe) waveEnded(e *epicPaper, name string) error {
	if name == "final" {
		return c.verdictOf(e, name)
	}
	for i := range e.waves {
		w := &e.waves[i]
		if w.name != name {
			continue
		}
		status, word := reprise.Done, "completed"
		if c.ev.Outcome == "failed" || c.ev.Outcome == "rejected" {
			status, word = reprise.Failed, "failed"
		}
		if status == reprise.Done {
			for _, s := range w.entries {
				if c.openEntry(s) {
					return c.cannot("story %s of wave %s is open", oneLine(s.id, 40), oneLine(name, 20))
				}
			}
		}
		if w.word != "" && stateWord(w.word) != status {
			if err := e.set(under(w.at, "status"), spellState(status, word, e.waveWords()...)); err != nil {
				return err
			}
			e.because("wave %s is %s", oneLine(name, 20), word)
		}
		if err := c.verdictOf(e, name); err != nil {
			return err
		}
		if status == reprise.Done && i+1 < len(e.waves) && e.tree.Changed() {
			return c.currentWave(e, e.waves[i+1].name)
		}
		return nil
	}
	return c.cannot("the epic has no wave %q", oneLine(name, 40))
}

// verdictOf writes the verdict of a gate, where the state keeps verdicts.
func (c *scribe) verdictOf(e *epicPaper, name string) error {
	key := e.key(e.root, "gate_verdicts", "gateVerdicts")
	word := "approved"
	if c.ev.Outcome == "failed" || c.ev.Outcome == "rejected" {
		word = "rejected"
	}
	if key == "" {
		if name == "final" {
			return c.noPlace()
		}
		return nil
	}
	at := under(e.root, key, name)
	now := e.node(at)
	if !now.IsNull() && now.Kind == doc.Map {
		old := plainText(now.Get("status", "verdict"))
		if old != "" && (verdict(old) == reprise.Done || stateWord(old) == reprise.Done) == (word == "approved") {
			return nil
		}
		return e.set(under(at, "status"), word)
	}
	who := agent(c.actor(), agentModel(e.node(under(e.root, key))))
	if who == "" {
		who = agent("qa", agentModel(e.node(under(e.root, key))))
	}
	e.because("the gate of %s: %s", oneLine(name, 20), word)
	return e.set(at, splice.Object{{Key: "status", Value: word}, {Key: "agent", Value: who}})
}

// agentModel finds how agents are written in a map of entries.
func agentModel(n *doc.Node) string {
	if n == nil || n.Kind != doc.Map {
		return ""
	}
	for _, f := range n.Keys {
		if f.Value != nil && f.Value.Kind == doc.Map {
			if a := plainText(f.Value.Get("agent")); a != "" {
				return a
			}
		}
	}
	return ""
}

// gateStep records an event of a gate or of the merge, which are units and no
// entries of their own.
func (c *scribe) gateStep(e *epicPaper) error {
	step := c.ev.Step
	switch {
	case step == "merge" && c.ev.Kind == reprise.StepFinished:
		return c.epicEnded(e)
	case step == "final-gate":
		status, _, _ := c.eventStatus()
		switch {
		case status == reprise.Done && e.key(e.root, "gate_verdicts", "gateVerdicts") == "":
			return c.epicEnded(e) // no verdicts are kept: the end is the verdict
		case c.ev.Kind == reprise.StepFinished || c.ev.Kind == reprise.StepFailed:
			return c.gateOutcome(e, "final")
		}
		return c.noPlace()
	case strings.HasPrefix(step, "wave-") && strings.HasSuffix(step, "-gate"):
		name := waveName(step)
		switch c.ev.Kind {
		case reprise.StepStarted:
			for _, w := range e.waves {
				if w.name == name && w.word != "" && doc.Fold(w.word) != "gate review" {
					e.because("the gate of wave %s began", oneLine(name, 20))
					return e.set(under(w.at, "status"), "gate_review")
				}
			}
			return nil
		case reprise.StepFinished, reprise.StepFailed:
			return c.gateOutcome(e, name)
		}
		return c.noPlace()
	}
	return c.cannot("the epic has no step %q", oneLine(step, 60))
}

func (c *scribe) gateOutcome(e *epicPaper, name string) error {
	if c.ev.Kind == reprise.StepFailed && c.ev.Outcome == "" {
		c.ev.Outcome = "failed"
	}
	return c.waveEnded(e, name)
}

// prerequisite records an event of something the waves wait for.
func (c *scribe) prerequisite(e *epicPaper, at splice.Path) error {
	status, word, ok := c.eventStatus()
	if !ok {
		return c.noPlace()
	}
	now := plainText(e.node(under(at, "status")))
	if now != "" && stateWord(now) == status {
		return nil
	}
	var words []string
	for _, f := range e.node(under(e.root, "prerequisites")).Keys {
		if f.Value != nil && f.Value.Kind == doc.Map {
			words = append(words, plainText(f.Value.Get("status")))
		}
	}
	e.because("%s is %s", oneLine(c.ev.Step, 40), word)
	return e.set(under(at, "status"), spellState(status, word, words...))
}

// epicQuestion records what is asked of the owner: an item of owner_pending
// with an id, or of the preconditions of the merge.
func (c *scribe) epicQuestion(e *epicPaper) error {
	id := oneLine(c.ev.Question, 60)
	for _, key := range []string{"merge_preconditions", "owner_pending"} {
		list := e.node(under(e.root, key))
		if list == nil || list.Kind != doc.List {
			continue
		}
		for i, item := range list.Items {
			if item.Kind == doc.Map && plainText(item.Get("id")) == id && id != "" {
				return c.epicAnswer(e, under(e.root, key, i), item)
			}
		}
	}
	if c.ev.Kind != reprise.QuestionAsked || id == "" {
		return c.cannot("question %q has no entry of its own", id)
	}
	at := under(e.root, "owner_pending")
	if n := e.node(at); n != nil && !n.IsNull() && n.Kind != doc.List {
		return c.noPlace()
	}
	item := splice.Object{{Key: "id", Value: id}, {Key: "task", Value: c.ev.Text}, {Key: "status", Value: "pending"}}
	e.because("asked: %s", id)
	if e.node(at) == nil {
		if err := e.set(at, []any{item}); err != nil {
			return err
		}
		return nil
	}
	return e.wrap(e.tree.Append(at, item))
}

func (c *scribe) epicAnswer(e *epicPaper, at splice.Path, item *doc.Node) error {
	now := plainText(item.Get("status"))
	switch c.ev.Kind {
	case reprise.QuestionAnswered:
		if doc.Fold(now) == answeredWord || stateWord(now).Closed() {
			return nil
		}
		if err := e.set(under(at, "status"), answeredWord); err != nil {
			return err
		}
		e.because("answered: %s", oneLine(c.ev.Question, 60))
		return e.set(under(at, "answer"), c.ev.Text)
	case reprise.AnswerApplied:
		if stateWord(now).Closed() {
			return nil
		}
		e.because("applied: %s", oneLine(c.ev.Question, 60))
		return e.set(under(at, "status"), "resolved")
	}
	return nil // asked already
}
