package specloop

import (
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// laterPhases are the phases of the workflows that follow the specification in
// the first family; implement has none.
func laterPhases(workflow string) []phase {
	switch workflow {
	case "plan":
		return []phase{{"P0", "research", "planner"}, {"P1", "domain model", "planner"}, {"P2", "contracts", "planner"}, {"P3", "final validation", "validator"}}
	case "tasks":
		return []phase{{"T0", "entry gate", "supervisor"}, {"T1", "planning", "task-planner"}, {"T2", "generation", "task-generator"}, {"T3", "completion", "supervisor"}}
	}
	return nil
}

// phaseOfWord gives the phase that a status word of the plan or tasks workflow
// belongs to.
func phaseOfWord(workflow, word string) (at int, ok bool) {
	switch workflow + " " + doc.Fold(word) {
	case "plan researching":
		return 0, true
	case "plan modeling", "tasks planning", "tasks validating mapping":
		return 1, true
	case "plan contracting", "plan designing", "tasks generating", "tasks validating tasks", "tasks validating":
		return 2, true
	case "plan validating":
		return 3, true
	}
	return 0, false
}

// laterWorkflows makes parts of the plan, tasks and implement workflows that
// were begun. One that was not is no part of the run: a person starts it.
func (l *loader) laterWorkflows(ix *index) []*part {
	var out []*part
	for _, name := range []string{"plan", "tasks", "implement"} {
		var state phaseState
		switch name {
		case "plan":
			state = ix.plan
		case "tasks":
			state = ix.tasks
		}
		row := ix.rowWord(name)
		own := l.oldContext(name)
		begun := state.here || (row.given() && rowStatus(row.text) != reprise.Pending) || (own.given() && rowStatus(own.text) != reprise.Pending)
		if !begun {
			continue
		}
		out = append(out, l.laterPart(ix, name, row, own, state))
	}
	return out
}

// oldContext reads the status of a context file without front matter (v0.1).
func (l *loader) oldContext(name string) value {
	f := l.r.Open(l.in(name + "-context.md"))
	md := f.Markdown()
	if md == nil || md.Front != nil {
		return value{}
	}
	if s, ok := md.Section("Workflow Metadata"); ok {
		return field(s, "Status")
	}
	return value{}
}

func (l *loader) laterPart(ix *index, name string, row, own value, state phaseState) *part {
	p := &part{name: name, ledger: "index.md"}
	claims := []reprise.Claim{}
	add := func(ledger, file string, v value) {
		if v.given() {
			claims = append(claims, reprise.Claim{Ledger: ledger, Status: rowStatus(v.text), Word: v.text, Source: reprise.Source{File: file, Line: v.line}})
		}
	}
	// The table is what every agent updates when the workflow's status changes;
	// the phase table and the context follow it.
	add("workflow table", ix.file.Path, row)
	add("phase state", ix.file.Path, state.status)
	if !state.status.given() {
		add("phase state", ix.file.Path, state.phase)
		l.enteredPhase(name, row, claims)
	}
	add(name+"-context.md", l.in(name+"-context.md"), own)
	// A phase that was entered counts even if the row still says not_started.
	win := 0
	for win < len(claims)-1 && claims[win].Status == reprise.Pending {
		win++
	}
	claims[win].Won = true
	c := claims[win]
	p.word, p.source = c.Word, c.Source
	for _, other := range claims {
		sev := reprise.Warning
		if other.Status == reprise.Pending {
			sev = reprise.Info
		}
		if (other.Status == reprise.Done) != (c.Status == reprise.Done) || (other.Status == reprise.Pending) != (c.Status == reprise.Pending) {
			l.report(sev, reprise.CodeStatusDrift, name, other.Source,
				fmt.Sprintf("%s calls %s %q, %s calls it %q; the %s counts", other.Ledger, name, doc.Clip(other.Word, 40), c.Ledger, doc.Clip(c.Word, 40), c.Ledger), "make the records agree")
		}
	}
	l.laterState(ix, p, c, state)
	at := l.laterSteps(p, claims, c, l.laterPoint(name, claims, state))
	p.phase = reprise.Loop{At: name, Status: doc.Clip(c.Word, 40)}
	if p.state.Open() && p.state != reprise.Unreadable {
		s := p.steps[at]
		p.next = []reprise.Unit{{ID: s.ID, Title: s.Title, Role: s.Role, Phase: name, Path: ix.file.Path, Reason: p.reason}}
		if s.ID != name {
			p.phase = reprise.Loop{At: fmt.Sprintf("%s %s %s", name, s.ID, s.Title), Status: doc.Clip(c.Word, 40), Iteration: iterationText(state.iteration)}
		}
	}
	return p
}

// enteredPhase gives the claim of a bare phase number its meaning: at work, or
// done where it is the last phase of a workflow that the table calls completed.
func (l *loader) enteredPhase(name string, row value, claims []reprise.Claim) {
	if len(claims) == 0 || claims[len(claims)-1].Ledger != "phase state" {
		return
	}
	c := &claims[len(claims)-1]
	c.Status = reprise.InProgress
	n := doc.Numbers(c.Word)
	if row.given() && rowStatus(row.text) == reprise.Done && len(n) > 0 && n[0] >= len(laterPhases(name))-1 {
		c.Status = reprise.Done
	}
	c.Word = "phase " + c.Word
}

// iterationText is the iteration as it is written, "" if none can be read.
func iterationText(it counter) string {
	if !it.ok {
		return ""
	}
	return doc.Clip(it.text, 20)
}

func (l *loader) laterState(ix *index, p *part, c reprise.Claim, state phaseState) {
	pending := 0
	for _, q := range ix.questions {
		if q.workflow == p.name && q.status == asked {
			pending++
		}
	}
	switch {
	case c.Status == reprise.Done:
		p.state, p.reason = reprise.Complete, p.name+" is completed"
		return
	case c.Status == reprise.Failed:
		p.state, p.reason = reprise.Stopped, p.name+" was terminated; its state is kept"
		return
	case c.Status == reprise.Unknown:
		l.report(reprise.Warning, reprise.CodeUnknownStatus, p.name, c.Source,
			fmt.Sprintf("%s has the status %q, which is unknown here; it counts as open", p.name, doc.Clip(c.Word, 40)), "use not_started, in_progress, blocked or completed")
		p.state, p.reason = reprise.Interrupted, fmt.Sprintf("%s has the unknown status %q", p.name, doc.Clip(c.Word, 40))
	case c.Status == reprise.Blocked:
		p.state, p.reason = reprise.Waiting, p.name+" is blocked"
	default:
		p.state, p.reason = reprise.Interrupted, p.name+" was begun but not finished"
	}
	if pending > 0 {
		p.state, p.reason = reprise.Waiting, fmt.Sprintf("%s: %s without an answer", p.name, ledger.Plural(pending, "question"))
	}
	if state.name.given() && state.name.text != "" {
		p.reason += " (" + doc.Clip(state.name.text, 40) + ")"
	}
}

// laterPoint finds the phase of a plan or tasks workflow: "1", "1: Domain
// Model", "T2", or the phase that a status word belongs to.
func (l *loader) laterPoint(name string, claims []reprise.Claim, state phaseState) int {
	phases := laterPhases(name)
	if state.phase.given() {
		if n := doc.Numbers(state.phase.text); len(n) > 0 && n[0] < len(phases) {
			return n[0]
		}
		for i, ph := range phases {
			if strings.Contains(doc.Fold(state.phase.text), ph.title) {
				return i
			}
		}
	}
	for _, c := range claims {
		if i, ok := phaseOfWord(name, c.Word); ok {
			return i
		}
	}
	return 0
}

// laterSteps fills the steps and returns the index of the one at work.
func (l *loader) laterSteps(p *part, claims []reprise.Claim, won reprise.Claim, at int) int {
	phases := laterPhases(p.name)
	if len(phases) == 0 {
		phases = []phase{{p.name, p.name, p.name + "er"}}
	}
	for i, ph := range phases {
		s := reprise.Step{ID: ph.id, Title: ph.title, Role: ph.role, Phase: p.name, Source: p.source, Status: reprise.Done}
		if i > 0 {
			s.Needs = []string{phases[i-1].id}
		}
		own := won
		switch {
		case won.Status == reprise.Done, i < at:
		case i == at:
			s.Status = won.Status
		default:
			s.Status = reprise.Pending
		}
		own.Status = s.Status
		s.Claims = []reprise.Claim{own}
		if i == at {
			s.Claims = claims
		}
		p.steps = append(p.steps, s)
	}
	return min(at, len(p.steps)-1)
}
