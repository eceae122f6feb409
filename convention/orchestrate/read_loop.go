package orchestrate

import (
	"fmt"
	"path"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// qaLoop reads the state of a QA loop in one of its dialects.
func (l *loader) qaLoop(f *doc.File, root ledger.Value) {
	story := root.Get("storyId", "story_id")
	hint := story.Str()
	if hint != "" {
		l.run.ID = "qa-loop-" + hint
	} else if parent := path.Base(path.Dir(l.run.Path)); parent != "qa" {
		hint = parent
	}
	l.timesIn(f, root)
	l.loop = readLoop(root)
	if lp := l.loop; story.Str() == "" && lp.word == "" && lp.last == "" && lp.iteration == 0 {
		f.Lost(reprise.CodeUnreadable, 0, "names neither story, status, iteration nor ruling of a QA loop", "restore the file from git or a backup; remove it if it does not belong to a QA loop")
	}
	l.loopSteps()
	l.loopState()
	l.attachStory(hint, story.Source(), loopLedger, l.loop.word, inReview)
}

func (l *loader) loopSteps() {
	for _, e := range l.loop.entries {
		phase, at := fmt.Sprintf("iteration %d", e.n), e.at.Source()
		status, v := reprise.Done, ledger.Ruling(e.verdict)
		switch v {
		case reprise.Pending:
			status = reprise.InProgress
		case reprise.Unknown:
			status = reprise.Unknown
			l.wordStatus(phase, e.verdict, at)
		}
		l.run.Steps = append(l.run.Steps, claimed(loopLedger, fmt.Sprintf("review-%d", e.n), phase, "qa", status, e.verdict, at))
		if v != reprise.Failed {
			continue
		}
		status, word := reprise.InProgress, "fixedAt missing"
		switch {
		case e.fixed:
			status, word = reprise.Done, "fixedAt"
		case l.loop.behind(e):
			status, word = reprise.Done, fmt.Sprintf("iteration %d began", e.n+1)
		}
		l.run.Steps = append(l.run.Steps, claimed(loopLedger, fmt.Sprintf("fix-%d", e.n), phase, "dev", status, word, at))
	}
}

// loopState finds the resume point. The iteration is counted up before its
// review, so a review without a verdict was cut off and is done again.
func (l *loader) loopState() {
	run, lp := l.run, l.loop
	at, phase, role := lp.point()
	run.Phase = phase
	fold, last := doc.Fold(splitCamel(lp.word)), ledger.Ruling(lp.last)
	switch fold {
	case "idle":
		run.State, run.Reason = reprise.NotStarted, "the loop is idle"
	case "pending":
		run.State, run.Reason = reprise.NotStarted, "the loop was set up but not begun"
	case "completed", "complete", "done":
		if last == reprise.Done || last == reprise.Pending {
			run.State, run.Reason = reprise.Complete, "the loop is completed"
			return
		}
		run.State, run.Reason = reprise.Waiting, "the loop is called completed with the ruling "+quote(lp.last)
		l.report(reprise.Warning, reprise.CodeFalseCompletion, run.ID, lp.status.Source(), run.Reason, "review the story once more, or close the loop on purpose")
	case "escalated":
		run.State, run.Reason = reprise.Waiting, "the loop was escalated to a person"
		l.askEscalation(lp.Get("escalationReason", "escalation_reason").Str(), lp.Get("escalatedAt", "escalated_at").Time())
	case "stopped", "paused":
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the loop was %s in %s and can be resumed", fold, phase)
	case "in progress", "inprogress", "running", "active", "":
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the loop stopped in %s", phase)
	default:
		l.wordStatus(run.ID, lp.word, lp.status.Source())
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the loop is %s, which is unknown here", quote(lp.word))
	}
	if run.State == reprise.Interrupted {
		switch {
		case last == reprise.Done && len(lp.entries) > 0:
			// Without a status the verdict is all there is; with one that
			// says otherwise the crash came between verdict and status.
			run.State, run.Reason = reprise.Complete, "the last review approved it"
			return
		case last == reprise.Blocked:
			run.State, run.Reason = reprise.Waiting, "the last review called it blocked"
		case at > lp.max:
			run.State, run.Reason = reprise.Waiting, fmt.Sprintf("all %d iterations are used up: a person has to decide", lp.max)
			// It is not escalated yet: an escalation in the file is an earlier one's.
			l.askEscalation("", time.Time{})
		}
	}
	run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Phase: phase, Role: role, Reason: run.Reason}}
}

// point gives the iteration to continue with, its phase and who does it.
func (lp loop) point() (n int, phase, role string) {
	n, what, role := max(lp.iteration, 1), "review", "qa"
	back := ledger.Ruling(lp.last) == reprise.Failed
	if k := len(lp.entries); k > 0 {
		e := lp.entries[k-1]
		switch n = e.n; {
		case lp.iteration > e.n:
			n, back = lp.iteration, false // counted up, and nothing of it on record
		case back && e.fixed:
			n, back = e.n+1, false
		}
	}
	if back {
		what, role = "fix", "dev"
	}
	if n > lp.max {
		return n, fmt.Sprintf("escalate after iteration %d of %d", lp.max, lp.max), "po"
	}
	return n, fmt.Sprintf("%s, iteration %d of %d", what, n, lp.max), role
}

// askEscalation asks how the loop should continue. reason and asked are those of the
// escalation on record, where it was escalated.
func (l *loader) askEscalation(reason string, asked time.Time) {
	lp := l.loop
	text := fmt.Sprintf("The QA loop is at iteration %d of %d with the last ruling %s. How should it continue?", lp.iteration, lp.max, quote(lp.last))
	if reason != "" {
		text += " Reason given: " + doc.Clip(reason, 200)
	}
	at := lp.status.Source()
	if at.File == "" {
		at = reprise.Source{File: l.run.Path, Line: 1}
	}
	l.run.Questions = append(l.run.Questions, reprise.Question{
		ID: "escalation", Subject: "qa loop", Text: text, AskedAt: asked, Source: at,
		Options: []string{allowMore, acceptIt, stopIt}, Closed: true,
	})
}

// isIdle reports whether a loop was never begun and has no story here: tools
// leave such files behind when they are set up or tried out.
func isIdle(run *reprise.Run) bool {
	return run.State == reprise.NotStarted && len(run.Steps) == 0 && len(run.Findings) == 0 && len(run.Also) == 0
}
