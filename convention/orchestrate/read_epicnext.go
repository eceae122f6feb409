package orchestrate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// epicState decides the state of the epic and what comes next.
func (l *loader) epicState(e epic) {
	run, at := l.run, e.Get("status").Source()
	word := e.Get("status").Str()
	fold := doc.Fold(word)
	isComplete := slices.Contains(complete, fold)
	open := 0
	for i := range run.Steps {
		if s := &run.Steps[i]; s.Phase != prerequisites.group && !s.Status.Closed() {
			open++
		}
	}
	if len(e.waves) == 0 || len(run.Steps) == 0 {
		l.emptyEpic(word, at)
		return
	}
	// A file that was cut off lists fewer waves than it announces.
	total, counted := e.Get("total_waves", "totalWaves").Int()
	cut := counted && len(e.waves) < total
	switch {
	case slices.Contains(aborted, fold) && fold != "abort":
		run.State, run.Phase, run.Reason = reprise.Stopped, fold, "the epic was "+fold
		return
	case isComplete && !cut:
		if open == 0 {
			run.State, run.Phase, run.Reason = reprise.Complete, "completed", "the epic and all its stories are completed"
			l.contestEnd(e)
			run.Questions = nil
			return
		}
		l.report(reprise.Warning, reprise.CodeFalseCompletion, run.ID, at, fmt.Sprintf("the epic is marked %s while %d of its stories are open", strconv.Quote(word), open),
			"finish or skip these stories, or correct their status")
	case strings.Contains(fold, "pending merge") || strings.HasPrefix(fold, "complete") && !isComplete:
		run.State, run.Phase, run.Reason = reprise.Waiting, word, fmt.Sprintf("the epic is %s: what is left is not a story", short(word, 40))
		l.report(reprise.Info, reprise.CodeUnknownStatus, run.ID, at, fmt.Sprintf("the status %s is neither active nor completed", short(word, 60)),
			"set it to completed once the merge has happened")
		if open == 0 {
			run.Next = []reprise.Unit{{ID: "merge", Path: run.Path, Title: "merge the epic", Phase: "merge", Role: "devops", Reason: "all stories are completed"}}
			return
		}
	default:
		l.wordStatus(run.ID, word, at)
	}
	l.epicNext(e)
	if cut {
		message := fmt.Sprintf("the state announces %d waves and lists %d", total, len(e.waves))
		if open == 0 {
			run.State, run.Phase, run.Next, run.Reason = reprise.Waiting, "", nil, message+": what is left is not known"
		}
		l.report(reprise.Warning, reprise.CodeDamagedLine, run.ID, at, message, "the write may have been cut off; look for a backup")
	}
	switch {
	case run.State != 0:
	case strings.HasPrefix(fold, "complete"), fold == "done", fold == "failed", fold == "blocked":
		run.State, run.Reason = reprise.Waiting, fmt.Sprintf("the epic is marked %s while work is left", short(word, 40))
	case fold == "pending" || fold == "planned" || fold == "not started":
		run.State, run.Reason = reprise.NotStarted, "the epic is planned but not begun"
	default:
		run.State, run.Reason = reprise.Interrupted, "stopped in "+run.Phase
	}
}

// emptyEpic is a state without stories: it cannot say where it stands.
func (l *loader) emptyEpic(word string, at reprise.Source) {
	at.File = cmp.Or(at.File, l.run.Path)
	l.report(reprise.Warning, reprise.CodeUnreadable, l.run.ID, at, fmt.Sprintf("the epic state says %s but lists no stories", short(word, 40)),
		"the write may have been cut off; rebuild it from the execution plan and the stories")
	l.rebuildEpic(l.r.Open(l.run.Path), "the epic state lists no waves")
}

// epicNext finds the open prerequisite, story or gate. The wave is that of the
// first open story: current_wave is often left behind. Prerequisites lead only
// until the first story is written; later the work has passed them by, and the
// state was not updated.
func (l *loader) epicNext(e epic) {
	run := l.run
	var before []reprise.Unit
	for i := range run.Steps {
		if s := &run.Steps[i]; s.Phase == prerequisites.group && !s.Status.Closed() {
			before = append(before, reprise.Unit{ID: s.ID, Path: run.Path, Title: s.Title, Phase: s.Phase, Role: s.Role, Reason: "an open prerequisite of the waves"})
		}
	}
	// A gate of an aspect of a wave holds nothing up by itself.
	l.contestGates(e, func(name string, s reprise.Status) bool {
		return s != reprise.Pending && name != "final" && !slices.ContainsFunc(e.waves, func(w wave) bool { return w.name == name })
	})
	phase, units := l.openWave(e)
	if phase == "" && run.Phase == "" {
		phase = "final gate"
		if e.ruling("final") == reprise.Done {
			run.Phase = closing
			run.Next = []reprise.Unit{{ID: run.ID, Path: run.Path, Title: "close the epic", Phase: closing, Role: "po", Reason: "all gates were passed; only the status was not updated"}}
			return
		}
		units = []reprise.Unit{{ID: "final-gate", Path: run.Path, Title: "final gate of the epic", Phase: phase, Role: "qa", Reason: "all stories are completed and the epic is not"}}
		l.notPassed(e, "final", &units[0])
	}
	if len(before) > 0 && l.unwritten() {
		run.Phase, run.Next = prerequisites.group, append(before, units...)
		return
	}
	run.Phase, run.Next = cmp.Or(run.Phase, phase), append(units, before...)
}

// openWave gives the first wave with an open story or gate. Behind a wave whose stories are
// closed stands its gate: until it is passed or, where it has no verdict, until the wave is
// called completed.
func (l *loader) openWave(e epic) (phase string, units []reprise.Unit) {
	for _, w := range e.waves {
		phase = "wave " + w.name
		if units = l.waveUnits(phase); len(units) > 0 {
			return phase, units
		}
		over := stateWord(w.word).Closed() || w.word == "" || len(w.stories) == 0
		if e.ruling(w.name) == reprise.Done || over && e.verdict(w.name) == "" {
			continue
		}
		gate := reprise.Unit{
			ID: "wave-" + w.name + "-gate", Path: l.run.Path, Title: "gate of wave " + w.name, Phase: phase + " gate", Role: "qa",
			Reason: fmt.Sprintf("the stories of the wave are completed, the wave is %s", strconv.Quote(w.word)),
		}
		l.notPassed(e, w.name, &gate)
		return gate.Phase, []reprise.Unit{gate}
	}
	return "", nil
}

// notPassed says of a gate that comes next what its verdict is, if it has one.
func (l *loader) notPassed(e epic, gate string, u *reprise.Unit) {
	switch word := e.verdict(gate); e.ruling(gate) {
	case reprise.Failed, reprise.Blocked:
		u.Reason = "its verdict is " + short(word, 40)
	case reprise.Unknown:
		l.wordStatus(u.ID, word, e.verdicts.In(gate).Source())
	}
}

// contestEnd reports what the state of an epic that is completed says against that: a gate
// that was not passed, a question that its owner did not answer.
func (l *loader) contestEnd(e epic) {
	l.contestGates(e, func(string, reprise.Status) bool { return true })
	for _, q := range ownerAsks(e.Value) {
		if !q.Answered {
			l.report(reprise.Warning, reprise.CodeFalseCompletion, l.run.ID, q.Source, "the epic is completed, but it still waits for its owner: "+doc.Clip(q.Text, 100), "answer it, or take out what is settled")
		}
	}
}

// contestGates reports those of some gates whose verdict does not let the work pass.
func (l *loader) contestGates(e epic, some func(name string, s reprise.Status) bool) {
	for _, g := range e.verdicts.Entries(1) {
		if s := e.ruling(g.Name); some(g.Name, s) && e.verdict(g.Name) != "" && s != reprise.Done && s != reprise.Skipped {
			l.report(reprise.Warning, reprise.CodeFalseCompletion, l.run.ID, g.Source(), fmt.Sprintf("the verdict on gate %s is %s", quote(g.Name), short(e.verdict(g.Name), 40)),
				"let the gate be reviewed again, or correct its verdict")
		}
	}
}

// unwritten reports whether no story of the epic has a file or was begun.
func (l *loader) unwritten() bool {
	return !slices.ContainsFunc(l.run.Steps, func(s reprise.Step) bool {
		return s.Phase != prerequisites.group && (s.Status != reprise.Pending || s.Path != "")
	})
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
				u.Reason = "the story was begun, but its file is gone"
			}
		case s.Status == reprise.InReview:
			u.Role, u.Reason = "qa", "implemented and not accepted"
		}
		if heldByLoop(s) != "" {
			o := l.loopOf(s.Path, nameKey(s.ID))
			u.Reason = "its QA loop is open: " + o.run.Reason
			if _, _, u.Role = o.loop.point(); u.Role == "" {
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

// heldByLoop gives the file of the QA loop that decides how far a story is, "" if
// none does.
func heldByLoop(s *reprise.Step) string {
	for _, c := range s.Claims {
		if c.Won && c.Ledger == loopLedger {
			return c.Source.File
		}
	}
	return ""
}

// waits reports whether a step needs another one that is open. What was made in
// the same wave is enough: it is accepted with the wave, at its end. An id the
// epic does not know is reported and holds nothing up.
func (l *loader) waits(s *reprise.Step) bool {
	for _, need := range s.Needs {
		other := l.run.Step(need)
		if other == nil {
			l.report(reprise.Info, reprise.CodeUnknownDependency, s.ID, s.Source, fmt.Sprintf("story %s depends on %s, which the epic does not list", s.ID, quote(need)), "")
			continue
		}
		made := other.Status == reprise.InReview && other.Phase == s.Phase
		if other.ID != s.ID && !other.Status.Closed() && !made {
			return true
		}
	}
	return false
}
