package orchestrate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

func (c *recorder) epicEvent(e epic) {
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		if c.runStatus(e.In("status"), "active", atWork...) && c.ev.Kind == reprise.RunStarted && e.Get("started_at").IsNull() {
			c.setTime(e.In("started_at"))
		}
	case reprise.RunEnded:
		c.epicEnded(e)
	case reprise.RunStopped:
		if c.ev.Outcome == "paused" {
			c.noPlace()
		}
		c.runStatus(e.In("status"), "aborted", aborted...)
	case reprise.PhaseEnded:
		c.waveEnded(e, waveName(c.ev.Phase))
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied, reprise.QuestionSkipped:
		c.epicQuestion(e)
	default:
		c.epicStep(e)
	}
}

func (c *recorder) epicStep(e epic) {
	var inWave *wave
	var story *waveStory
	e.stories(func(w *wave, s *waveStory) {
		if s.id == c.ev.Step && story == nil {
			inWave, story = w, s
		}
	})
	before := prerequisites.Rows(e.Value)
	if story != nil {
		c.epicStory(e, inWave, story)
	} else if row, ok := ledger.Find(before, c.ev.Step); ok {
		c.setStep(prerequisites, before, row)
	} else {
		c.gateEvent(e)
	}
}

// epicEnded closes the epic.
func (c *recorder) epicEnded(e epic) {
	open := ""
	e.stories(func(_ *wave, s *waveStory) {
		if open == "" && c.isOpen(s) {
			open = "story " + ledger.Line(s.id, 40)
		}
	})
	c.runEnded(e.Value, open, "aborted", "completed_at")
}

// isOpen reports whether a story of the state is open. One that is listed without
// a status is as far as its file.
func (c *recorder) isOpen(s *waveStory) bool {
	if step := c.run.Step(s.id); s.bare && step != nil {
		return !step.Status.Closed()
	}
	return !stateWord(s.word).Closed()
}

// epicStory records an event of one story in the state, its wave and its file.
func (c *recorder) epicStory(e epic, w *wave, s *waveStory) {
	status, ok := c.wanted()
	if !ok {
		return
	}
	step := c.run.Step(s.id)
	filed := step != nil && step.Path != ""
	if s.bare {
		if !filed || status == reprise.Failed || status == reprise.Skipped {
			c.cannot("the state lists story %s without a status", ledger.Line(s.id, 40))
			return
		}
		c.storyFollows(step.Path, status)
		return
	}
	if stateWord(s.word) != status || s.missing {
		var words []string
		e.stories(func(_ *wave, o *waveStory) { words = append(words, o.word) })
		s.word, s.missing = spell(status, words...), false
		c.Set(s.status, s.word)
		c.because(e.Value, "story %s is %s", ledger.Line(s.id, 40), s.word)
		c.storyTimes(e, s, status)
	}
	if hash := ledger.Line(c.ev.Commit, 64); hash != "" && status == reprise.Done && s.at.Is(doc.Map) && s.at.In("commit").Plain() == "" {
		c.Set(s.at.In("commit"), hash)
		c.because(e.Value, "story %s has a commit", ledger.Line(s.id, 40))
	}
	c.waveFollows(e, w)
	if filed {
		c.storyFollows(step.Path, status)
	}
}

// storyTimes sets when a story was started and completed, where the file keeps
// these times.
func (c *recorder) storyTimes(e epic, s *waveStory, status reprise.Status) {
	key := map[reprise.Status]string{reprise.InProgress: "started_at", reprise.Done: "completed_at"}[status]
	kept := false
	e.stories(func(_ *wave, o *waveStory) { kept = kept || o.at.Has(key) || o.at.Has("started_at") })
	// One that was begun before continues.
	if at := s.at.In(key); key != "" && kept && s.at.Is(doc.Map) && (key != "started_at" || at.Plain() == "") {
		c.Set(at, c.stamp(at))
	}
}

// waveFollows moves a wave along with its stories: begun with the first one,
// before its gate with the last.
func (c *recorder) waveFollows(e epic, w *wave) {
	begun, open := false, 0
	for _, s := range w.stories {
		st := stateWord(s.word)
		begun = begun || st != reprise.Pending
		if !st.Closed() {
			open++
		}
	}
	words, now, atGate := e.words(), stateWord(w.word), doc.Fold(w.word) == "gate review"
	switch {
	case w.word == "":
	case open == 0 && len(w.stories) > 0 && !now.Closed() && e.verdicts.Node != nil && !atGate:
		word := "gate_review"
		if e.ruling(w.name) == reprise.Done {
			word = spell(reprise.Done, words...) // its gate was passed before the story was opened again
		}
		c.Set(w.status, word)
	case open > 0 && begun && (now != reprise.InProgress || atGate):
		words = slices.DeleteFunc(words, func(word string) bool { return doc.Fold(word) == "gate review" })
		c.Set(w.status, spell(reprise.InProgress, words...))
	case open > 0 && !begun && c.ev.Kind == reprise.StepReset && now == reprise.InProgress:
		c.Set(w.status, spell(reprise.Pending, words...))
	}
	if c.ev.Kind == reprise.StepStarted {
		c.currentWave(e, w.name)
	}
}

// currentWave keeps the field that names the wave at work, where there is one.
func (c *recorder) currentWave(e epic, name string) {
	at := e.In("current_wave", "currentWave")
	if at.Node != nil && at.Plain() != name {
		c.Set(at, likeBefore(at, name))
	}
}

// likeBefore gives a name as a number where a number stood.
func likeBefore(before ledger.Value, name string) any {
	if n, err := strconv.Atoi(name); err == nil && before.Is(doc.Number) {
		return n
	}
	return name
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
func (c *recorder) waveEnded(e epic, name string) {
	if name == "final" {
		c.setVerdict(e, name)
		return
	}
	i := slices.IndexFunc(e.waves, func(w wave) bool { return w.name == name })
	if i < 0 {
		c.cannot("the epic has no wave %q", ledger.Line(name, 40))
		return
	}
	w, status := &e.waves[i], reprise.Done
	if c.rejected() {
		status = reprise.Failed
	}
	for _, s := range w.stories {
		if status == reprise.Done && c.isOpen(&s) {
			c.cannot("story %s of wave %s is open", ledger.Line(s.id, 40), ledger.Line(name, 20))
			return
		}
	}
	if w.word != "" && stateWord(w.word) != status {
		c.Set(w.status, spell(status, e.words()...))
		c.because(e.Value, "wave %s is %s", ledger.Line(name, 20), ownWords[status])
	}
	c.setVerdict(e, name)
	if status == reprise.Done && i+1 < len(e.waves) && c.Changed() {
		c.currentWave(e, e.waves[i+1].name)
	}
}

// setVerdict writes the verdict of a gate, where the state keeps verdicts.
func (c *recorder) setVerdict(e epic, name string) {
	if e.verdicts.Node == nil {
		if name == "final" {
			c.noPlace()
		}
		return
	}
	word := "approved"
	if c.rejected() {
		word = "rejected"
	}
	at := e.verdicts.In(name)
	if at.Is(doc.Map) {
		old := at.In("status", "verdict").Plain()
		if passed := ledger.Ruling(old) == reprise.Done || stateWord(old) == reprise.Done; old == "" || passed != (word == "approved") {
			c.Set(at.In("status"), word)
		}
		return
	}
	beside := ""
	for _, v := range e.verdicts.Entries(1) {
		beside = cmp.Or(beside, v.In("agent").Plain())
	}
	who := cmp.Or(agent(c.actor(), beside), agent("qa", beside))
	c.because(e.Value, "the gate of %s: %s", ledger.Line(name, 20), word)
	c.Set(at, splice.Object{{Key: "status", Value: word}, {Key: "agent", Value: who}})
}

// isGate reports whether a unit is the gate of a wave, or the final one.
func isGate(id string) bool {
	return id == "final-gate" || strings.HasPrefix(id, "wave-") && strings.HasSuffix(id, "-gate")
}

// gateEvent records an event of a gate or of the merge, which are units and no
// entries of their own.
func (c *recorder) gateEvent(e epic) {
	step, kind := c.ev.Step, c.ev.Kind
	ends := kind == reprise.StepFinished || kind == reprise.StepFailed
	switch name := waveName(step); {
	case step == "merge" && kind == reprise.StepFinished:
		c.epicEnded(e)
	case !isGate(step):
		c.cannot("the epic has no step %q", ledger.Line(step, 60))
	case step == "final-gate" && kind == reprise.StepFinished && !c.rejected() && e.verdicts.Node == nil:
		c.epicEnded(e) // no verdicts are kept: the end is the verdict
	case ends:
		if kind == reprise.StepFailed && c.ev.Outcome == "" {
			c.ev.Outcome = "failed"
		}
		c.waveEnded(e, name)
	case kind == reprise.StepStarted && step != "final-gate":
		for _, w := range e.waves {
			if w.name == name && w.word != "" && doc.Fold(w.word) != "gate review" {
				c.because(e.Value, "the gate of wave %s began", ledger.Line(name, 20))
				c.Set(w.status, "gate_review")
			}
		}
	default:
		c.noPlace()
	}
}

// epicQuestion records what is asked of the owner: an item of owner_pending
// with an id, or of the preconditions of the merge.
func (c *recorder) epicQuestion(e epic) {
	id := ledger.Line(c.ev.Question, 60)
	for _, key := range []string{"merge_preconditions", "owner_pending"} {
		list := e.In(key)
		for _, item := range list.Entries(1) {
			if list.Is(doc.List) && item.In("id").Plain() == id && id != "" {
				c.epicAnswer(item.Value)
				return
			}
		}
	}
	list := e.In("owner_pending")
	switch {
	case c.ev.Kind != reprise.QuestionAsked || id == "":
		c.cannot("question %q has no entry of its own", id)
		return
	case !list.IsNull() && !list.Is(doc.List):
		c.noPlace()
		return
	}
	item := splice.Object{{Key: "id", Value: id}, {Key: "task", Value: c.ev.Text}, {Key: "status", Value: "pending"}}
	c.because(e.Value, "asked: %s", id)
	if list.Node == nil {
		c.Set(list, []any{item})
		return
	}
	c.Add(list, item)
}

func (c *recorder) epicAnswer(item ledger.Value) {
	now, name := item.In("status").Plain(), ledger.Line(c.ev.Question, 60)
	switch {
	case stateWord(now).Closed():
	case c.ev.Kind == reprise.QuestionAnswered:
		c.Set(item.In("status"), answeredWord)
		c.because(item, "answered: %s", name)
		c.Set(item.In("answer"), c.ev.Text)
	case c.ev.Kind == reprise.AnswerApplied:
		c.because(item, "applied: %s", name)
		c.Set(item.In("status"), "resolved")
	case c.ev.Kind == reprise.QuestionSkipped:
		c.because(item, "no longer asked: %s", name)
		c.Set(item.In("status"), "skipped")
	}
}
