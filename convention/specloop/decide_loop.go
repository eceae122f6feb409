package specloop

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// phase is one step of the loop.
type phase struct{ id, title, role string }

// loopPhases are the phases in the order of a first pass. B1 to B5 come round
// again until no gap is left.
var loopPhases = []phase{
	{"A1", "scaffold", "scaffold"},
	{"A2", "write the specification", "spec-writer"},
	{"A3", "validate", "validator"},
	{"A4", "checklist", "checklist"},
	{"A5", "classify gaps", "gap-classifier"},
	{"B1", "ask", "user"},
	{"B2", "apply answers", "spec-clarify"},
	{"B3", "validate again", "validator"},
	{"B4", "decide whether to end", "supervisor"},
	{"B5", "update state and iterate", "supervisor"},
	{"C", "close", "supervisor"},
}

func phaseOf(id string) phase {
	i := slices.IndexFunc(loopPhases, func(p phase) bool { return p.id == id })
	return loopPhases[max(i, 0)]
}

// loopSteps fills the steps of a loop that stands at one phase. Steps behind it
// are done, those after it have (again) to be done. at "" closes all of them.
func (l *loader) loopSteps(p *part, at string, here reprise.Status, claim reprise.Claim) {
	reached := false
	for _, ph := range loopPhases {
		s := reprise.Step{ID: ph.id, Title: ph.title, Role: ph.role, Phase: "specify", Source: claim.Source, Status: reprise.Done}
		switch {
		case ph.id == at:
			reached, s.Status = true, here
		case reached:
			s.Status = reprise.Pending
		}
		if n := len(p.steps); n > 0 {
			s.Needs = []string{p.steps[n-1].ID}
		}
		c := claim
		c.Status, c.Won = s.Status, true
		s.Claims = []reprise.Claim{c}
		p.steps = append(p.steps, s)
	}
}

func (l *loader) nextPhase(p *part, id, reason string) {
	ph := phaseOf(id)
	p.next = append(p.next, reprise.Unit{ID: id, Title: ph.title, Role: ph.role, Phase: "specify", Path: p.source.File, Reason: reason})
}

// point is where a loop stands and why. Where something else than the loop
// status decided, by names it and over is what the status claims of that phase.
type point struct {
	phase  string
	state  reprise.State
	reason string

	by   string
	over reprise.Status
	here reprise.Status // of the phase's step; unset is at work
}

func newPoint(phase string, state reprise.State, reason string) point {
	return point{phase: phase, state: state, reason: reason}
}

// decidedBy marks that the record and not the status named the phase.
func (at point) decidedBy(by string, over reprise.Status) point {
	at.by, at.over = by, over
	return at
}

// theRecord is the ledger of everything in index.md but its status, and of the
// files beside it.
const theRecord = "gaps, questions and files"

// loopWord gives the one of the seven values that a status means, "" if none.
// Two similar words are accepted, too.
func loopWord(text string) string {
	switch word := doc.Fold(text); word {
	case "not started":
		return "not_started"
	case "spec writing", "writing":
		return "spec_writing"
	case "completed", "complete":
		return "completed"
	case "scaffolding", "validating", "clarifying", "terminated":
		return word
	}
	return ""
}

// fromIndex makes the parts of index.md: the loop, and the later workflows
// that were begun.
func (l *loader) fromIndex(ix *index) []*part {
	p := &part{name: "specify", ledger: "index.md", word: ix.status.text, source: ix.file.At(ix.status.line)}
	for _, s := range ix.activity {
		if s.at.After(p.at) {
			p.at = s.at
			l.run.Active(s.at, ix.file.At(s.line))
		}
	}
	l.indexArtifacts(ix)
	l.decideLoop(ix, p)
	l.drift(ix, p)
	parts := append([]*part{p}, l.laterWorkflows(ix)...)
	l.indexQuestions(ix, parts)
	return parts
}

// decideLoop sets state, phase, steps and what comes next.
func (l *loader) decideLoop(ix *index, p *part) {
	if !ix.file.OK() || !ix.tellsStanding() {
		p.state, p.reason = reprise.Unreadable, "index.md does not say where the loop stands"
		if ix.file.OK() {
			ix.file.Report(reprise.Blocking, reprise.CodeUnreadable, 0, "contains no loop state, no gaps and no questions", "restore the file from version control, or start from scratch")
		}
		p.phase.At = "unknown"
		return
	}
	at := l.standing(ix)
	if word := loopWord(ix.status.text); ix.damaged && (word == "validating" || word == "clarifying") {
		// These two stand for several phases, and what tells them apart is lost.
		at.state, at.reason = reprise.Unreadable, "a table that tells where the loop stands cannot be read"
	}
	p.state, p.reason = at.state, at.reason
	l.integrity(ix)
	p.phase = standsAt(ix, strings.TrimSpace(at.phase+" "+phaseTitle(at.phase)))
	claim := reprise.Claim{Ledger: "index.md", Word: ix.status.text, Source: ix.file.At(ix.status.line), At: ix.loopAt}
	switch at.state {
	case reprise.Complete:
		p.phase.At = "C closed"
		l.loopSteps(p, "", 0, claim)
		l.skipUnusedLoop(ix, p)
	case reprise.NotStarted:
		l.loopSteps(p, at.phase, reprise.Pending, claim)
		l.nextPhase(p, at.phase, at.reason)
	case reprise.Stopped:
		l.loopSteps(p, at.phase, reprise.Pending, claim)
		p.phase.At = "stopped at " + p.phase.At
	case reprise.Unreadable:
		p.phase.At = "unclear"
		l.loopSteps(p, at.phase, reprise.Unknown, claim)
	default:
		l.loopSteps(p, at.phase, cmp.Or(at.here, reprise.InProgress), claim)
		l.nextPhase(p, at.phase, at.reason)
	}
	if at.by == "" {
		return
	}
	for i := range p.steps {
		s := &p.steps[i]
		s.Claims[0].Ledger, s.Claims[0].Word = at.by, s.Status.String()
		if at.by == "spec.md" && l.spec.exists {
			s.Claims[0].Source, s.Claims[0].At = reprise.Source{File: l.spec.path}, time.Time{}
		}
		if s.ID == at.phase {
			claim.Status = at.over
			s.Claims = append(s.Claims, claim)
		}
	}
}

func phaseTitle(id string) string {
	if id == "" {
		return ""
	}
	return phaseOf(id).title
}

// skipUnusedLoop marks the loop of a specification that needed none.
func (l *loader) skipUnusedLoop(ix *index, p *part) {
	if ix.anyTrace() || ix.iteration.n > 1 {
		return
	}
	for i := range p.steps {
		if s := &p.steps[i]; s.ID[0] == 'B' {
			s.Status, s.Claims[0].Status = reprise.Skipped, reprise.Skipped
		}
	}
}

// standsAt tells that the loop stands at a phase, with its status and iteration.
func standsAt(ix *index, phase string) reprise.Loop {
	at := reprise.Loop{At: phase, Status: "no status", Iteration: iterationText(ix.iteration)}
	if ix.status.given() {
		at.Status = doc.Clip(ix.status.text, 40)
	}
	return at
}

// standing finds the point of the loop.
func (l *loader) standing(ix *index) point {
	word := loopWord(ix.status.text)
	if !ix.status.given() {
		return l.unstated(ix)
	}
	if word == "" {
		ix.file.Report(reprise.Warning, reprise.CodeUnknownStatus, ix.status.line,
			fmt.Sprintf("loop status %q is unknown in this format", doc.Clip(ix.status.text, 60)),
			"use not_started, scaffolding, spec_writing, validating, clarifying, completed or terminated")
		at := l.byEvidence(ix).decidedBy(theRecord, reprise.Unknown)
		if at.state == reprise.Interrupted && !ix.anyOpen() {
			// Nothing is visibly left and the word is no proof of an end.
			at.state = reprise.Unreadable
			at.reason = fmt.Sprintf("loop status %q is unknown and neither gaps nor questions settle where it stands", doc.Clip(ix.status.text, 40))
			return at
		}
		at.reason = fmt.Sprintf("loop status %q is unknown; %s", doc.Clip(ix.status.text, 40), at.reason)
		return at
	}
	if at, ok := l.byMark(ix, word); ok {
		return at
	}
	switch word {
	case "not_started":
		return l.notStarted(ix)
	case "scaffolding":
		if l.spec.exists {
			return newPoint("A2", reprise.Interrupted, "scaffolding was not closed, but spec.md exists: the specification comes next")
		}
		return newPoint("A1", reprise.Interrupted, "scaffolding was interrupted before spec.md was created")
	case "spec_writing":
		if l.spec.exists && !l.spec.unwritten {
			return newPoint("A2", reprise.Interrupted, "writing the specification was interrupted; spec.md already has text, and the writer may run again")
		}
		return newPoint("A2", reprise.Interrupted, "writing the specification was interrupted; spec.md is not written yet")
	case "validating":
		return l.validating(ix)
	case "clarifying":
		return l.clarifying(ix)
	case "terminated":
		return l.terminated(ix)
	}
	return l.completed(ix)
}

// unstated handles a loop without a status: an unfilled template is what a
// crash of the scaffold leaves; else the rest of the file has to tell.
func (l *loader) unstated(ix *index) point {
	if ix.status.unfilled() || !ix.anyTrace() {
		if word := ix.rowWord("specify"); word.given() {
			return l.byRow(ix, word)
		}
		if ix.currentPhase.given() && loopWord(ix.currentPhase.text) != "" {
			ix.status = ix.currentPhase
			return l.standing(ix)
		}
		if ix.status.unfilled() || ix.specSection {
			if l.spec.exists && !l.spec.unwritten {
				return l.byEvidence(ix).decidedBy(theRecord, reprise.Unknown)
			}
			return newPoint("A1", reprise.Interrupted, "index.md still has the template's placeholders: the scaffold was interrupted")
		}
	}
	ix.file.Report(reprise.Warning, reprise.CodeAmbiguous, ix.status.line, "no loop status is recorded; gaps, questions and files must show where the loop is", "write the status into the row Loop Status")
	at := l.byEvidence(ix).decidedBy(theRecord, reprise.Unknown)
	if at.state == reprise.Interrupted && !ix.anyOpen() {
		at.state, at.reason = reprise.Unreadable, "no loop status is recorded and neither gaps nor questions settle where it stands"
		return at
	}
	at.reason = "no loop status is recorded; " + at.reason
	return at
}

// byRow falls back on the workflow table.
func (l *loader) byRow(ix *index, word value) point {
	switch doc.Fold(word.text) {
	case "completed", "complete":
		return newPoint("C", reprise.Complete, "the workflow table calls specify completed; the loop itself has no status")
	case "not started":
		return l.notStarted(ix)
	}
	at := l.byEvidence(ix).decidedBy(theRecord, reprise.Unknown)
	at.reason = fmt.Sprintf("the workflow table calls specify %q; %s", doc.Clip(word.text, 40), at.reason)
	return at
}

func (l *loader) notStarted(ix *index) point {
	if ix.anyTrace() {
		at := l.byEvidence(ix).decidedBy(theRecord, reprise.Pending)
		ix.file.Report(reprise.Warning, reprise.CodeStatusDrift, ix.status.line, "loop status not_started, but gaps, questions or a history are recorded", "write the status that fits into the row Loop Status")
		at.reason = "loop status not_started is contradicted by what is recorded; " + at.reason
		return at
	}
	if !l.spec.exists {
		return newPoint("A1", reprise.NotStarted, "nothing was begun")
	}
	if l.spec.unwritten {
		// The scaffold itself writes not_started, so this is where it ends.
		return newPoint("A2", reprise.NotStarted, "the scaffold is made, the specification was not begun")
	}
	return newPoint("A2", reprise.Interrupted, "spec.md has text although the loop status is not_started: the writer stopped before it recorded its phase")
}

// validating covers A3 to A5 and B3; the iteration cannot tell, since the first
// pass of the loop has number 1 too.
func (l *loader) validating(ix *index) point {
	if at, ok := l.withoutSpec(ix, "validating"); ok {
		return at
	}
	pending, unused := ix.openQuestions()
	if unused > 0 {
		return newPoint("B2", reprise.Interrupted, fmt.Sprintf("%s on record whose gaps are still clarifying (%s): applying comes before validating", ledger.Plural(unused, "answer"), ix.gapText()))
	}
	if ix.looped() {
		return newPoint("B3", reprise.Interrupted, "answers were applied before ("+ix.gapText()+"): the specification has to be validated again")
	}
	switch checklist := l.checklist(ix); {
	case pending > 0:
		return newPoint("B1", reprise.Waiting, fmt.Sprintf("gaps are classified; %s without an answer (%s)", ledger.Plural(pending, "question"), ix.gapText()))
	case len(ix.gaps) > 0 && checklist != "":
		return newPoint("A5", reprise.Interrupted, "gap queue and checklist exist ("+ix.gapText()+"): the gaps must become questions")
	case len(ix.gaps) > 0:
		return newPoint("A4", reprise.Interrupted, "the gap queue is filled ("+ix.gapText()+") and there is no checklist")
	case checklist == "recorded":
		return newPoint("A5", reprise.Interrupted, "the checklist is recorded: its gaps have to be classified")
	case checklist != "":
		return newPoint("A4", reprise.Interrupted, "there is a checklist that index.md does not record: it may be half written")
	}
	return newPoint("A3", reprise.Interrupted, "the first validation was interrupted")
}

// withoutSpec sends a loop back to the writer whose specification is not there.
func (l *loader) withoutSpec(ix *index, word string) (point, bool) {
	what := "is missing"
	switch {
	case !l.spec.exists:
		l.report(reprise.Warning, reprise.CodeMissingArtifact, "spec.md", ix.file.At(ix.status.line),
			fmt.Sprintf("loop status %s needs %s, which is missing", word, l.spec.path), "restore it from version control, or let the writer run again")
	case l.spec.unwritten:
		what = "is still the template"
		l.report(reprise.Warning, reprise.CodeFalseCompletion, "spec.md", reprise.Source{File: l.spec.path},
			"spec.md is still the template although the loop status is "+word, "restore the written specification, or let the writer run again")
	default:
		return point{}, false
	}
	at := newPoint("A2", reprise.Interrupted, fmt.Sprintf("loop status %s, but spec.md %s: the specification has to be written first", word, what))
	return at.decidedBy("spec.md", reprise.Done), true
}

func (l *loader) clarifying(ix *index) point {
	if !l.spec.exists || l.spec.unwritten {
		l.withoutSpec(ix, "clarifying") // the questions stay good; a person should know
	}
	pending, unused := ix.openQuestions()
	switch {
	case pending > 0 && unused > 0:
		return newPoint("B1", reprise.Waiting, fmt.Sprintf("%s without an answer (%s); %s on record and not asked again", ledger.Plural(pending, "question"), ix.gapText(), ledger.Plural(unused, "answer")))
	case pending > 0:
		return newPoint("B1", reprise.Waiting, fmt.Sprintf("%s without an answer (%s)", ledger.Plural(pending, "question"), ix.gapText()))
	case unused > 0:
		return newPoint("B2", reprise.Interrupted, fmt.Sprintf("%s on record and not applied yet (%s): there is no need to ask again", ledger.Plural(unused, "answer"), ix.gapText()))
	case ix.countGaps(gap.open) > 0:
		return newPoint("A5", reprise.Interrupted, "no question covers the open gaps ("+ix.gapText()+"): the questions must be asked again")
	case !ix.anyTrace():
		ix.file.Report(reprise.Warning, reprise.CodeAmbiguous, ix.status.line, "loop status clarifying, but neither gaps nor questions are recorded", "restore the tables from version control; validating again finds the gaps again")
		return newPoint("A3", reprise.Interrupted, "neither gaps nor questions are recorded: validating again finds them")
	}
	return newPoint("B3", reprise.Interrupted, "all answers are applied ("+ix.gapText()+"): the specification has to be validated again")
}

// checklist tells whether the checklist is "recorded" in index.md, only on
// "disk", or "" not there.
func (l *loader) checklist(ix *index) string {
	onDisk := false
	for _, e := range l.r.Dir(path.Join(l.feature, "checklists")) {
		onDisk = onDisk || !e.IsDir()
	}
	onDisk = onDisk || l.r.Exists(path.Join(l.feature, "checklist.md"))
	for _, d := range ix.documents {
		if strings.HasPrefix(doc.Fold(d.name), "checklist") && d.status == "present" {
			return "recorded"
		}
	}
	if onDisk {
		return "disk"
	}
	return ""
}

// byEvidence finds the furthest point that the recorded work proves.
func (l *loader) byEvidence(ix *index) point {
	pending, unused := ix.openQuestions()
	switch {
	case pending > 0 || unused > 0:
		return l.clarifying(ix)
	case !l.spec.exists:
		return newPoint("A1", reprise.Interrupted, "spec.md is not there")
	case l.spec.unwritten:
		return newPoint("A2", reprise.Interrupted, "spec.md is not written yet")
	case ix.looped() || len(ix.gaps) > 0 || l.checklist(ix) != "":
		return l.validating(ix)
	}
	return newPoint("A2", reprise.Interrupted, "spec.md has text, and nothing is recorded after it")
}
