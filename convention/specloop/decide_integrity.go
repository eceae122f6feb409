package specloop

import (
	"cmp"
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// Limits of the format.
const (
	maxIteration = 10
	maxStale     = 3
)

// integrity checks the rules of the format, one finding for each violation:
// status known, iteration and stale count in range, every gap that an open
// question names in the queue and clarifying, every clarifying gap covered.
// Numbers of questions and gaps are not compared: one question may cover
// several gaps.
func (l *loader) integrity(ix *index) {
	broken := func(line int, format string, args ...any) {
		ix.file.Report(reprise.Warning, reprise.CodeIntegrity, line, fmt.Sprintf(format, args...), "repair the row, start from scratch, or resume and keep an eye on it")
	}
	if ix.status.given() && loopWord(ix.status.text) == "" {
		broken(ix.status.line, "loop status %q is not one of the seven that the format knows; the phase was taken from gaps, questions and files", doc.Clip(ix.status.text, 40))
	}
	inRange := func(what string, c counter, limit int) {
		switch {
		case c.blank():
		case !c.ok:
			broken(c.line, "%s %q is not a number from 0 to %d", what, doc.Clip(c.text, 40), limit)
		case c.n > limit:
			broken(c.line, "%s %d is above the limit of %d", what, c.n, limit)
		}
	}
	inRange("iteration", ix.iteration, maxIteration)
	inRange("stale count", ix.stale, maxStale)
	if ix.stale.ok && ix.stale.n == maxStale && loopWord(ix.status.text) != "completed" {
		ix.file.Report(reprise.Warning, reprise.CodeRetryLoop, ix.stale.line, "the same gaps stayed open for 3 iterations; the workflow asks a person to decide here", "answer differently, accept the gaps as known, or edit spec.md by hand")
	}
	covered := map[string]bool{}
	for _, q := range ix.questions {
		if q.workflow != "specify" {
			continue
		}
		for _, id := range q.gaps {
			covered[doc.Fold(id)] = true
			if q.status == asked || (q.status == answered && !q.applied) {
				l.checkNamed(ix, q, id, broken)
			}
		}
	}
	for _, g := range ix.gaps {
		if g.status == gapClarifying && !covered[doc.Fold(g.id)] {
			broken(g.line, "gap %q is clarifying, but no question covers it", doc.Clip(g.id, 40))
		}
	}
}

func (l *loader) checkNamed(ix *index, q question, id string, broken func(int, string, ...any)) {
	var words []string
	for _, g := range ix.gaps {
		if doc.Fold(g.id) != doc.Fold(id) {
			continue
		}
		if g.status == gapClarifying {
			return
		}
		words = append(words, g.word)
	}
	if len(words) == 0 {
		broken(q.line, "question %q names gap %q, which is not in the queue", doc.Clip(q.id, 40), doc.Clip(id, 40))
		return
	}
	broken(q.line, "question %q names gap %q, which is %q and not clarifying", doc.Clip(q.id, 40), doc.Clip(id, 40), doc.Clip(words[0], 40))
}

// drift adds the ledgers other than the loop status: the row of the workflow
// table, the current phase, and the list of pending clarifications.
func (l *loader) drift(ix *index, p *part) {
	if len(p.steps) == 0 {
		return
	}
	last := &p.steps[len(p.steps)-1]
	if row := ix.rowWord("specify"); row.given() {
		st := rowStatus(row.text)
		last.Claims = append(last.Claims, reprise.Claim{Ledger: "workflow table", Status: st, Word: row.text, Source: ix.file.At(row.line)})
		if (st == reprise.Done) != (p.state == reprise.Complete) && ix.status.given() {
			l.report(reprise.Warning, reprise.CodeStatusDrift, "specify", ix.file.At(row.line),
				fmt.Sprintf("the workflow table calls specify %q, the loop status is %q; the loop counts", doc.Clip(row.text, 40), doc.Clip(ix.status.text, 40)), "make the table and the loop agree")
		}
	}
	if cur := ix.currentPhase; cur.given() && cur.line != ix.status.line {
		st := reprise.InProgress
		if doc.Fold(cur.text) == "completed" {
			st = reprise.Done
		}
		last.Claims = append(last.Claims, reprise.Claim{Ledger: "workflow status", Status: st, Word: cur.text, Source: ix.file.At(cur.line)})
		if ix.status.given() && doc.Fold(cur.text) != doc.Fold(ix.status.text) {
			sev := reprise.Info
			if (st == reprise.Done) != (p.state == reprise.Complete) {
				sev = reprise.Warning
			}
			l.report(sev, reprise.CodeStatusDrift, "specify", ix.file.At(cur.line),
				fmt.Sprintf("the current phase is %q, the loop status %q; the loop status counts", doc.Clip(cur.text, 40), doc.Clip(ix.status.text, 40)), "")
		}
	}
	if own := l.oldContext("specify"); own.given() {
		at := reprise.Source{File: l.in("specify-context.md"), Line: own.line}
		st := rowStatus(own.text)
		last.Claims = append(last.Claims, reprise.Claim{Ledger: "specify-context.md", Status: st, Word: own.text, Source: at})
		if (st == reprise.Done) != (p.state == reprise.Complete) {
			l.report(reprise.Info, reprise.CodeStatusDrift, "specify", at,
				fmt.Sprintf("specify-context.md says %q, the loop status is %q; the loop counts", doc.Clip(own.text, 40), doc.Clip(ix.status.text, 40)), "")
		}
	}
	if n := count(ix.pendingNote); n.ok {
		if pending, _ := ix.openQuestions(); pending != n.n {
			l.report(reprise.Info, reprise.CodeStatusDrift, "questions", ix.file.At(n.line),
				fmt.Sprintf("%q clarifications are noted as pending, the question table has %d", doc.Clip(n.text, 40), pending), "")
		}
	}
}

// rowStatus gives the meaning of a word of the workflow table.
func rowStatus(word string) reprise.Status {
	switch doc.Fold(word) {
	case "not started", "pending":
		return reprise.Pending
	case "in progress", "running", "researching", "modeling", "contracting", "designing", "validating", "planning",
		"generating", "validating mapping", "validating tasks", "implementing", "clarifying", "scaffolding", "writing", "spec writing":
		return reprise.InProgress
	case "blocked":
		return reprise.Blocked
	case "completed", "complete", "ready":
		return reprise.Done
	case "terminated":
		return reprise.Failed
	}
	return reprise.Unknown
}

// indexQuestions gives each workflow its questions; those of a workflow that
// was not begun stay with the specification.
func (l *loader) indexQuestions(ix *index, parts []*part) {
	for _, q := range ix.questions {
		owner := parts[0]
		for _, p := range parts {
			if p.name == q.workflow {
				owner = p
			}
		}
		answer := q.answer
		if q.status == setAside && answer == "" {
			answer = "(deferred)"
		}
		owner.questions = append(owner.questions, reprise.Question{
			ID: q.id, Text: q.text, Subject: cmp.Or(strings.Join(q.gaps, ", "), q.workflow), Options: q.options, Answer: answer,
			Answered: q.status != asked, Applied: q.applied, Source: ix.file.At(q.line),
		})
	}
}

// indexArtifacts checks the documents that index.md lists.
func (l *loader) indexArtifacts(ix *index) {
	specListed := false
	for _, d := range ix.documents {
		ref := d.path
		if !filled(ref) {
			ref = strings.TrimSuffix(d.name, "/")
		}
		isSpec := doc.Fold(d.name) == "spec md"
		specListed = specListed || isSpec
		if d.status != "present" && d.status != "incomplete" && !isSpec {
			continue
		}
		needed := ""
		if isSpec {
			needed = "A3"
		}
		name := strings.TrimSuffix(strings.TrimSuffix(d.name, ".md"), "/")
		if l.artifact(name, ref, needed, isSpec, ix.file.At(d.line)) == reprise.Missing && d.status == "present" && !isSpec {
			ix.file.Report(reprise.Warning, reprise.CodeMissingArtifact, d.line, fmt.Sprintf("%q is recorded as present but is missing", doc.Clip(d.name, 60)), "restore it from version control, or run its phase again")
		}
	}
	if !specListed {
		l.artifact("spec", l.spec.path, "A3", true, ix.file.At(0))
	}
}
