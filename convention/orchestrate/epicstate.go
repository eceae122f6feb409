package orchestrate

import (
	"fmt"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

func quote(s string) string { return strconv.Quote(doc.Clip(s, 80)) }

// answeredWord is the status of a question that has an answer and was not
// acted upon.
const answeredWord = "answered"

// epicAsks collects what the state leaves to a person: preconditions of the
// merge and things pending with the owner.
func (l *loader) epicAsks(root *doc.Node) {
	for _, part := range []struct{ key, id string }{{"merge_preconditions", "merge-"}, {"owner_pending", "owner-"}} {
		list := root.Get(part.key)
		if list == nil || list.Kind != doc.List {
			continue
		}
		for i, n := range list.Items {
			q := reprise.Question{ID: part.id + strconv.Itoa(i+1), Subject: "merge", Source: n.Source()}
			switch {
			case n.Kind != doc.Map:
				q.Text = n.Str()
			case n.Has("id") || n.Has("task"):
				word := n.Get("status").Str()
				if stateWord(word).Closed() {
					continue
				}
				if id := n.Get("id").Str(); id != "" {
					q.ID = id
				}
				q.Text = n.Get("task", "title", "description").Str()
				q.Answered, q.Answer = doc.Fold(word) == answeredWord, plainText(n.Get("answer"))
			case len(n.Keys) > 0:
				q.Text = n.Keys[0].Name + ": " + n.Keys[0].Value.Str()
			}
			if q.Text = doc.Clip(strings.TrimSpace(q.Text), 300); q.Text != "" {
				l.run.Questions = append(l.run.Questions, q)
			}
		}
	}
}

// epicState decides the state of the epic and what comes next.
func (l *loader) epicState(root *doc.Node, waves []wave) {
	run := l.run
	st := root.Get("status")
	word := st.Str()
	fold := doc.Fold(word)
	open := 0
	for i := range run.Steps {
		if s := &run.Steps[i]; s.Phase != "prerequisites" && !s.Status.Closed() {
			open++
		}
	}
	if len(waves) == 0 || len(run.Steps) == 0 {
		l.emptyEpic(word, st.Source())
		return
	}
	// A file that was cut off lists fewer waves than it announces.
	total, counted := root.Get("total_waves", "totalWaves").Int()
	cut := counted && len(waves) < total
	switch {
	case fold == "aborted" || fold == "cancelled" || fold == "canceled":
		run.State, run.Phase, run.Reason = reprise.Stopped, fold, "the epic was "+fold
		return
	case (fold == "completed" || fold == "complete" || fold == "done") && !cut:
		if open == 0 {
			run.State, run.Phase, run.Reason = reprise.Complete, "completed", "the epic and all its stories are completed"
			run.Questions = nil
			return
		}
		l.r.Report(reprise.Finding{
			Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: run.ID, Source: st.Source(),
			Message: fmt.Sprintf("the epic is called %s while %d of its stories are open", strconv.Quote(word), open),
			Hint:    "finish or skip these stories, or correct their status",
		})
	case strings.Contains(fold, "pending merge") || (strings.HasPrefix(fold, "complete") && fold != "complete" && fold != "completed"):
		run.State, run.Phase, run.Reason = reprise.Waiting, word, fmt.Sprintf("the epic is %s: what is left is not a story", strconv.Quote(doc.Clip(word, 40)))
		l.r.Report(reprise.Finding{
			Code: reprise.CodeUnknownStatus, Severity: reprise.Info, Subject: run.ID, Source: st.Source(),
			Message: fmt.Sprintf("the status %s is neither active nor completed", strconv.Quote(doc.Clip(word, 60))),
			Hint:    "set it to completed once the merge has happened",
		})
		if open == 0 {
			run.Next = []reprise.Unit{{ID: "merge", Path: run.Path, Title: "merge the epic", Phase: "merge", Role: "devops", Reason: "all stories are completed"}}
			return
		}
	case fold != "" && stateWord(word) == reprise.Unknown:
		l.wordStatus(run.ID, word, st.Source())
	}
	l.epicNext(root, waves)
	if cut {
		if open == 0 {
			run.State, run.Phase, run.Next = reprise.Waiting, "", nil
			run.Reason = fmt.Sprintf("the state announces %d waves and lists %d: what is left is not known", total, len(waves))
		}
		l.r.Report(reprise.Finding{
			Code: reprise.CodeDamagedLine, Severity: reprise.Warning, Subject: run.ID, Source: st.Source(),
			Message: fmt.Sprintf("the state announces %d waves and lists %d", total, len(waves)),
			Hint:    "the write may have been cut off; look for a backup",
		})
	}
	if run.State != 0 {
		return
	}
	switch {
	case strings.HasPrefix(fold, "complete"), fold == "done", fold == "failed", fold == "blocked":
		run.State = reprise.Waiting
		run.Reason = fmt.Sprintf("the epic is called %s while work is left", strconv.Quote(doc.Clip(word, 40)))
	case fold == "pending" || fold == "planned" || fold == "not started":
		run.State, run.Reason = reprise.NotStarted, "the epic is planned and not begun"
	default:
		run.State, run.Reason = reprise.Interrupted, "stopped in "+run.Phase
	}
}

// emptyEpic is a state without stories: it cannot say where it stands.
func (l *loader) emptyEpic(word string, at reprise.Source) {
	if at.File == "" {
		at.File = l.run.Path
	}
	l.r.Report(reprise.Finding{
		Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: l.run.ID, Source: at,
		Message: fmt.Sprintf("the epic state says %s and lists no stories", strconv.Quote(doc.Clip(word, 40))),
		Hint:    "the write may have been cut off; rebuild it from the execution plan and the stories",
	})
	l.rebuildEpic(l.r.Open(l.run.Path), "the epic state lists no waves")
}

// epicNext finds the open prerequisite, story or gate. The wave is that of the
// first open story: current_wave is often left behind. Prerequisites lead only
// until the first story is written; later the work has passed them by, and the
// state was not updated.
func (l *loader) epicNext(root *doc.Node, waves []wave) {
	run := l.run
	var before []reprise.Unit
	for i := range run.Steps {
		if s := &run.Steps[i]; s.Phase == "prerequisites" && !s.Status.Closed() {
			before = append(before, reprise.Unit{ID: s.ID, Path: run.Path, Title: s.Title, Phase: s.Phase, Role: s.Role, Reason: "an open prerequisite of the waves"})
		}
	}
	phase, units := l.openWave(root, waves)
	if phase == "" && run.Phase == "" {
		phase = "final gate"
		v := root.Get("gate_verdicts", "gateVerdicts")
		if v != nil && v.Kind == doc.Map && !v.Get("final").IsNull() && verdictDone(v.Get("final")) {
			run.Phase = "close"
			run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Title: "close the epic", Phase: "close", Role: "po", Reason: "all gates were passed; only the status was not moved"}}
			return
		}
		units = []reprise.Unit{{ID: "final-gate", Path: run.Path, Title: "final gate of the epic", Phase: phase, Role: "qa", Reason: "all stories are completed and the epic is not"}}
	}
	if len(before) > 0 && l.unwritten() {
		run.Phase, run.Next = "prerequisites", append(before, units...)
		return
	}
	if run.Phase == "" {
		run.Phase = phase
	}
	run.Next = append(units, before...)
}

// openWave gives the first wave with an open story or gate.
func (l *loader) openWave(root *doc.Node, waves []wave) (phase string, units []reprise.Unit) {
	for _, w := range waves {
		phase = "wave " + w.name
		if units = l.waveUnits(phase); len(units) > 0 {
			return phase, units
		}
		if gate, ok := gateUnit(root, w, l.run.Path); ok {
			return phase + " gate", []reprise.Unit{gate}
		}
	}
	return "", nil
}

// unwritten reports whether no story of the epic has a file or was begun.
func (l *loader) unwritten() bool {
	for i := range l.run.Steps {
		if s := &l.run.Steps[i]; s.Phase != "prerequisites" && (s.Status != reprise.Pending || s.Path != "") {
			return false
		}
	}
	return true
}

// waveUnits are the open stories of a wave whose dependencies are closed, in
// the wave's order; stories in review follow, since the wave is reviewed at its
// end. A wave whose open stories all wait is offered as it stands.
func (l *loader) waveUnits(phase string) []reprise.Unit {
	var free, made, held []reprise.Unit
	for i := range l.run.Steps {
		s := &l.run.Steps[i]
		if s.Phase != phase || s.Status.Closed() {
			continue
		}
		u := reprise.Unit{ID: s.ID, Path: s.Path, Title: s.Title, Phase: phase, Role: s.Role, Reason: "first open story of " + phase}
		switch {
		case s.Path == "":
			u.Role, u.Reason, u.Path = "sm", "the story has no file yet and has to be written first", l.run.Path
			if s.Status != reprise.Pending {
				u.Reason = "the story was begun and its file is gone"
			}
		case s.Status == reprise.InReview:
			u.Role, u.Reason = "qa", "implemented and not accepted"
		}
		if lap := l.heldBy(s); lap != nil {
			u.Reason = "its QA loop is open: " + lap.run.Reason
			if _, _, u.Role = lap.loopPoint(lap.lap); u.Role == "" {
				u.Role = "qa"
			}
		}
		switch {
		case l.waits(s) || s.Status == reprise.Blocked:
			held = append(held, u)
		case s.Status == reprise.InReview:
			made = append(made, u)
		default:
			free = append(free, u)
		}
	}
	if free = append(free, made...); len(free) > 0 {
		return free
	}
	return held
}

// waits reports whether a step needs another one that is open. What was made in
// the same wave is enough: it is accepted with the wave, at its end. An id the
// epic does not know is reported and holds nothing up.
func (l *loader) waits(s *reprise.Step) bool {
	for _, need := range s.Needs {
		other := l.run.Step(need)
		if other == nil {
			l.r.Report(reprise.Finding{
				Code: reprise.CodeUnknownDependency, Severity: reprise.Info, Subject: s.ID, Source: s.Source,
				Message: fmt.Sprintf("story %s depends on %s, which the epic does not list", s.ID, quote(need)),
			})
			continue
		}
		made := other.Status == reprise.InReview && other.Phase == s.Phase
		if other.ID != s.ID && !other.Status.Closed() && !made {
			return true
		}
	}
	return false
}

// gateUnit: a wave whose stories are closed and that is not completed itself
// has its gate before it.
func gateUnit(root *doc.Node, w wave, p string) (reprise.Unit, bool) {
	if stateWord(w.word).Closed() || w.word == "" || len(w.stories) == 0 {
		return reprise.Unit{}, false
	}
	if v := root.Get("gate_verdicts", "gateVerdicts"); v != nil && v.Kind == doc.Map && !v.Get(w.name).IsNull() && !rejected(v.Get(w.name)) {
		return reprise.Unit{}, false
	}
	return reprise.Unit{
		ID: "wave-" + w.name + "-gate", Path: p, Title: "gate of wave " + w.name, Phase: "wave " + w.name + " gate", Role: "qa",
		Reason: fmt.Sprintf("the stories of the wave are completed, the wave is %s", strconv.Quote(w.word)),
	}, true
}

// rejected reports whether a gate did not let its wave pass.
func rejected(n *doc.Node) bool {
	word := plainText(n)
	if n.Kind == doc.Map {
		word = plainText(n.Get("status", "verdict"))
	}
	return stateWord(word) == reprise.Failed || verdict(word) == reprise.Failed
}

// verdictDone reports whether a gate let pass what it is about.
func verdictDone(n *doc.Node) bool {
	word := plainText(n)
	if n.Kind == doc.Map {
		word = plainText(n.Get("status", "verdict"))
	}
	return verdict(word) == reprise.Done
}

// meaning says what it means that a state and a story say different things.
// Every pair has an answer.
func meaning(state reprise.Status, story class) string {
	switch {
	case story == done && state == reprise.InReview:
		return "the review was completed outside this workflow"
	case story == done:
		return "the story was completed outside this workflow"
	case story == dropped:
		return "the story was given up outside this workflow"
	case story == blocked:
		return "the story is blocked"
	case state == reprise.Done && story == inReview:
		return "the story was not closed"
	case state == reprise.Done:
		return "the story was never moved on, or opened again"
	case state == reprise.Skipped:
		return "skipped here, open in the story"
	case state == reprise.Pending && story == ready:
		return "validated while paused"
	case state == reprise.Pending && story == draft:
		return "both not begun"
	case state == reprise.Pending:
		return "begun outside this workflow"
	case story == draft:
		return "the story was reset: the state is stale"
	case state == reprise.InReview && story == inProgress:
		return "sent back by its review"
	case state == reprise.InProgress && story == inReview:
		return "handed over for review"
	case story == ready:
		return "the story was not marked as begun"
	case state == reprise.Failed:
		return "failed here, open in the story"
	case state == reprise.Blocked:
		return "blocked here, open in the story"
	case state.String() == story.status().String():
		return "consistent"
	}
	return "one of them is not understood"
}
