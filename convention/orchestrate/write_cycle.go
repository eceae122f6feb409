package orchestrate

import (
	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

// bobEvent records an event of the development cycle executor: the result of a
// phase, and the phase it continues with.
func (c *recorder) bobEvent(b bob) {
	now := b.phase.Plain()
	if b.phase.Node == nil {
		c.noPlace()
		return
	}
	switch c.ev.Kind {
	case reprise.RunStarted, reprise.RunResumed:
		if now == "workflow_paused" || now == "workflow_aborted" {
			c.toPhase(b, bobPhases[b.firstOpen()%len(bobPhases)].name)
		}
		return
	case reprise.RunStopped:
		if c.ev.Outcome == "paused" {
			c.toPhase(b, "workflow_paused")
			return
		}
		c.toPhase(b, "workflow_aborted")
		return
	case reprise.RunEnded:
		c.toldByResults()
		return
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		c.noPlace()
		return
	}
	phase := c.ev.Step
	if c.ev.Kind == reprise.PhaseEnded && phase == "" || c.isStoryStep(phase) && bobPhases.index(c.ev.Phase) >= 0 {
		phase = c.ev.Phase
	}
	switch i := bobPhases.index(phase); {
	case i >= 0:
		c.bobPhase(b, i)
	case c.isStoryStep(phase):
		c.driveStory(c.run.Step(phase).Path)
	default:
		c.cannot("the cycle has no phase %q", ledger.Line(phase, 60))
	}
}

// toldByResults is the end of a run whose files have no word for it: it must be
// what they say anyway.
func (c *recorder) toldByResults() {
	if c.run.State != reprise.Complete || c.ev.Outcome != "" && c.ev.Outcome != "completed" {
		c.noPlace()
	}
}

func (c *recorder) toPhase(b bob, phase string) {
	if b.phase.Plain() != phase {
		c.because(b.Value, "%s is at %s", c.run.ID, phase)
		c.Set(b.phase, phase)
	}
}

// setResult writes the result of a phase.
func (c *recorder) setResult(b bob, i int, word string) {
	at, status := b.result(i)
	entry := splice.Object{{Key: "status", Value: word}}
	switch {
	case b.results.Node == nil:
		c.Set(b.results, splice.Object{{Key: bobPhases[i].name, Value: entry}})
	case !at.Is(doc.Map):
		c.Set(at, entry)
	default:
		c.Set(status, word)
	}
}

// bobPhase records an event of one phase, and moves the story along: in progress
// with its development, in review before its quality gate, done with the
// checkpoint. It is not done earlier, because a story that is done ends the cycle.
func (c *recorder) bobPhase(b bob, i int) {
	if c.ev.Kind == reprise.PhaseEnded {
		c.ev.Kind = reprise.StepFinished
	}
	name := bobPhases[i].name
	status, ok := c.wanted()
	step := c.run.Step(name)
	if !ok || step == nil {
		c.noPlace()
		return
	}
	if step.Status != status {
		c.bobResult(b, i, status)
	}
	switch {
	case name == bobDevelop && status == reprise.InProgress, name == bobGate && status == reprise.Failed:
		c.moveOwn(inProgress)
	case name == bobHeal && status == reprise.Done:
		c.moveOwn(inReview)
	case name == bobEnd && status == reprise.Done:
		c.moveOwn(done)
	}
}

func (c *recorder) bobResult(b bob, i int, status reprise.Status) {
	name, word := bobPhases[i].name, ownWords[status]
	_, result := b.result(i)
	switch status {
	case reprise.InProgress:
		c.because(b.Value, "phase %s began", name)
		// What failed behind it is done again after it.
		for j := i + 1; j < len(bobPhases); j++ {
			_, later := b.result(j)
			if st := stateWord(later.Plain()); st == reprise.Failed || st == reprise.Blocked {
				c.setResult(b, j, "pending")
			}
		}
		// A result of an earlier round would tell that the phase is behind it.
		if result.Plain() != "" {
			c.setResult(b, i, word)
		}
		c.toPhase(b, name)
	case reprise.Done, reprise.Skipped:
		c.because(b.Value, "phase %s is %s", name, word)
		c.setResult(b, i, word)
		if name == bobEnd && status == reprise.Done {
			c.Set(b.results.In(name).In("decision"), "GO")
		}
		if bobPhases.index(b.phase.Plain()) <= i {
			c.toPhase(b, bobPhases[min(i+1, len(bobPhases)-1)].name)
		}
	case reprise.Failed, reprise.Blocked:
		c.because(b.Value, "phase %s is %s", name, word)
		c.toPhase(b, name)
		c.setResult(b, i, word)
	default:
		if i == 0 || b.phase.Plain() != name {
			c.noPlace()
		}
		c.because(b.Value, "phase %s is taken back", name)
		if result.Plain() != "" {
			c.setResult(b, i, word)
		}
	}
}

// recordSpec records an event of a specification. Its outputs tell how far it is;
// the state file, where there is one, is kept in step with them.
func (c *recorder) recordSpec() {
	phase := c.ev.Step
	if c.ev.Kind == reprise.PhaseEnded {
		phase = c.ev.Phase
	}
	i, step := pipelinePhase(phase), c.run.Step(phase)
	switch {
	case c.ev.Kind == reprise.RunResumed && c.logResumed():
		return
	case i < 0 || c.ev.Kind != reprise.StepFinished && c.ev.Kind != reprise.PhaseEnded || c.rejected():
		c.noPlace()
		return
	case step == nil || !step.Status.Closed() && !made(c.run, phase):
		// A critique may have been accepted by more than its own file says.
		c.cannot("the output of %s is missing", phase)
		return
	}
	name := specState(c.run.Path)
	if !c.r.Exists(name) {
		return // the output tells
	}
	root := c.Structured(name).Root()
	at := root.In(specWords...)
	if pipelineState(at.Plain()) > i {
		return
	}
	c.because(at, "%s of the specification is done", phase)
	c.Set(at, pipelinePhases[i].behind)
	c.setTime(root.In("updatedAt", "updated_at", "lastUpdated"))
}
