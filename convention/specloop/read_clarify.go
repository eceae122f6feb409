package specloop

import (
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// readLog reads the clarification log: one entry for each heading that names an
// iteration, with the gaps listed and the answers given there.
func (c *context) readLog() {
	whole, ok := c.md.Section("Clarification Log")
	if !ok {
		return
	}
	first, last := whole.Line, 1<<62
	for _, s := range c.md.Sections() {
		if s.Line > first && s.Level <= whole.Level {
			last = min(last, s.Line)
		}
	}
	for _, s := range c.md.Sections() {
		title := doc.Fold(s.Title)
		at := strings.Index(title, "iteration ")
		if s.Line <= first || s.Line >= last || at < 0 {
			continue
		}
		e := logEntry{title: s.Title}
		if n := doc.Numbers(title[at:]); len(n) > 0 {
			e.iteration = n[0]
		}
		e.phase = strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(title[:at], "phase")), " ", "")
		e.read(c, s)
		c.log = append(c.log, e)
	}
}

func (e *logEntry) read(c *context, s doc.Section) {
	for _, t := range s.Tables() {
		answers := t.Column("User Answer", "Answer", "Response") >= 0
		for _, row := range t.Rows {
			cols := columns{row, t}
			id := cols.get("Gap ID", "ID", "Question ID")
			if !filled(id) {
				continue
			}
			q := reprise.Question{ID: id, Subject: c.workflow + ", " + doc.Clip(e.title, 60), Source: c.file.At(cols.line())}
			if !answers {
				q.Text = cols.get("Description", "Question")
				if doc.Fold(cols.get("Severity", "Priority")) != "minor" {
					e.gaps = append(e.gaps, q)
				}
				continue
			}
			q.Text, q.Answer = cols.get("Question"), cols.get("User Answer", "Answer", "Response")
			if filled(q.Answer) {
				q.Answered = true
				e.questions = append(e.questions, q)
			} else {
				e.gaps = append(e.gaps, q)
			}
		}
	}
}

// round is the log's entry of the current phase and iteration, nil if it has
// none.
func (c *context) round() *logEntry {
	for i := len(c.log) - 1; i >= 0; i-- {
		e := &c.log[i]
		if e.iteration == max(c.iteration, 1) && (e.phase == "" || c.phase == "" || e.phase == c.phase) {
			return e
		}
	}
	return nil
}

// unanswered lists the gaps of a round without an answer. Where no answer names
// a gap, the answers go by ids of their own and count for all of them.
func (e *logEntry) unanswered() []reprise.Question {
	if len(e.questions) == 0 {
		return e.gaps
	}
	given := map[string]bool{}
	for _, q := range e.questions {
		given[doc.Fold(q.ID)] = true
	}
	var open []reprise.Question
	for _, g := range e.gaps {
		if !given[doc.Fold(g.ID)] {
			open = append(open, g)
		}
	}
	if len(open) == len(e.gaps) {
		return nil
	}
	return open
}

// contextQuestions copies the log into the run. Answers were used when the
// writer's turn after them is over.
func (l *loader) contextQuestions(c *context, p *part) {
	writing := strings.HasPrefix(doc.Fold(c.word), "awaiting ") && !strings.HasSuffix(doc.Fold(c.word), "advocate") && !strings.HasSuffix(doc.Fold(c.word), "user")
	for i := range c.log {
		e := &c.log[i]
		samePhase := e.phase == "" || c.phase == "" || e.phase == c.phase
		for _, q := range e.questions {
			switch {
			case p.state == reprise.Complete || !samePhase || e.iteration < c.iteration-1:
				q.Applied = true
			case e.iteration == c.iteration-1:
				q.Applied = !writing
			}
			p.questions = append(p.questions, q)
		}
	}
	if p.state != reprise.Waiting {
		return
	}
	if e := c.round(); e != nil && len(e.unanswered()) > 0 {
		p.questions = append(p.questions, e.unanswered()...)
		return
	}
	p.questions = append(p.questions, reprise.Question{
		ID: "clarifications", Subject: c.workflow, Source: p.source,
		Text: "the clarifications that the advocate asks for in " + l.in("advocate-report.md"),
	})
}

// contextFilesTable checks the files that a context names.
func (l *loader) contextFilesTable(c *context, p *part) {
	s, ok := c.md.Section("File Paths")
	if !ok {
		return
	}
	got, _ := rows(s, "File")
	for _, cols := range got {
		ref := cols.get("Path")
		if !filled(ref) {
			continue
		}
		name := doc.Fold(cols.get("File"))
		isSpec := name == "spec"
		if l.artifact(name, ref, c.workflow, isSpec, c.file.At(cols.line())) != reprise.Missing || !isSpec {
			continue
		}
		if p.state == reprise.Complete || c.workflow != "specify" || c.iteration > 1 {
			c.file.Report(reprise.Warning, reprise.CodeMissingArtifact, cols.line(), fmt.Sprintf("the specification %q is not there", doc.Clip(ref, 80)), "restore it from version control")
		}
	}
}

// contextBody shows the body's own idea of the phase. The workflow never
// updates it, so a difference is worth knowing and nothing more.
func (l *loader) contextBody(c *context, p *part) {
	s, ok := c.md.Section("Feature Context")
	if !ok {
		return
	}
	body := field(s, "Current Phase")
	if !body.given() || c.phase == "" || doc.Fold(body.text) == c.phase {
		return
	}
	if len(p.steps) > 0 {
		last := &p.steps[len(p.steps)-1]
		last.Claims = append(last.Claims, reprise.Claim{Ledger: p.ledger + " body", Status: reprise.InProgress, Word: body.text, Source: c.file.At(body.line)})
	}
	c.file.Report(reprise.Info, reprise.CodeStatusDrift, body.line,
		fmt.Sprintf("the body says phase %q, the front matter %q; the front matter counts", doc.Clip(body.text, 40), doc.Clip(c.phase, 40)), "")
}
