package specloop

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// maxGaps bounds what one reply can add to the queue.
const maxGaps = 50

// Conclude holds what a phase left against what it must leave.
func (Book) Conclude(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	if placeOf(a.Step) < 0 {
		return concludeOther(fsys, r, a, reply)
	}
	ix := read(fsys, r)
	c := reprise.Conclusion{Text: words(reply)}
	answers, _ := unused(r)
	switch a.Step {
	case "A1":
		return c
	case "A2", "B2":
		switch ready := written(fsys, r); {
		case reply.Outcome == "question" && (!ready || a.Step == "B2"):
			c.Questions = fresh(r, ix, reply.Questions)
			return c
		case !ready:
			c.Problem = specPath(r) + " is still the template"
			return c
		}
	case "A4":
		if len(checklists(fsys, r)) == 0 {
			c.Problem = "no checklist is there"
			return c
		}
	}
	gaps := ix.found(a.Step, reply)
	if len(gaps) == 0 && refuses(reply.Verdict) && len(ix.left()) == 0 {
		c.Problem = "it says " + reply.Verdict + " and names no gap"
		return c
	}
	var applied []string
	if a.Step == "B2" {
		for _, q := range answers {
			applied = append(applied, q.ID)
		}
		if len(ix.gaps) == 0 && len(checklists(fsys, r)) == 0 {
			// The questions came before there was a specification: it was
			// never validated.
			c.Then = []reprise.Event{{Kind: reprise.StepReset, Step: "A3"}}
		}
	}
	if len(gaps)+len(applied) > 0 {
		c.Text = handOver(gaps, applied)
	}
	if a.Step == "A5" {
		for _, g := range gaps {
			ix.gaps = append(ix.gaps, gap{id: g.ID, priority: g.Priority, status: gapPending, question: g.Question})
		}
		c.Then = questions(r, ix, reply.Questions)
	}
	return c
}

// words returns the agent's summary. Text that could be read as gaps is not passed on
// unchanged.
func words(reply reprise.Reply) string {
	text := strings.TrimSpace(reply.Summary)
	switch {
	case text == "":
		return "done"
	case strings.HasPrefix(text, "{"):
		return "it says: " + text
	}
	return text
}

// judged interprets a ruling other than a pass: problem says why a missing or unknown
// word does not count, back whether the work is sent back.
func judged(verdict string) (problem string, back bool) {
	switch reprise.RulingOf(verdict) {
	case reprise.Passes:
		return "", false
	case reprise.NoRuling:
		return "it gave no ruling", false
	case reprise.UnclearRuling:
		return fmt.Sprintf("its ruling %q is unknown here", doc.Clip(verdict, 40)), false
	}
	return "", true
}

// refuses reports whether the verdict of a phase says that something is left. A
// phase answers with the gaps it found; none and no verdict is an answer, too.
func refuses(verdict string) bool {
	problem, back := judged(verdict)
	return back || problem != "" && reprise.RulingOf(verdict) != reprise.NoRuling
}

// found gives the gaps of a reply that are to be written to the queue. Questions
// of a validator are gaps too. What was resolved and is reported again, by its
// question or its id, keeps its id: the answer did not close it.
func (ix *index) found(step string, reply reprise.Reply) []reprise.Gap {
	all := slices.Clone(reply.Gaps)
	if step != "A5" {
		for _, q := range reply.Questions {
			known := slices.ContainsFunc(ix.gaps, func(g gap) bool { return playNames(q.Subject, g.id) }) ||
				slices.ContainsFunc(reply.Gaps, func(g reprise.Gap) bool { return playNames(q.Subject, g.ID) })
			if !known {
				all = append(all, reprise.Gap{Priority: "Important", Question: q.Text})
			}
		}
	}
	known := index{gaps: slices.Clone(ix.gaps)}
	var out []reprise.Gap
	for _, g := range all[:min(len(all), maxGaps)] {
		have := known.asks(g.Question)
		if have == nil {
			have = known.gap(g.ID)
		}
		switch {
		case have != nil && have.status != gapResolved:
			continue // it is known, or was put off on purpose
		case have != nil:
			g.ID, have.status = have.id, gapPending
		default:
			if !usable(g.ID) {
				g.ID = known.fresh()
			}
			known.gaps = append(known.gaps, gap{id: g.ID, status: gapPending, question: g.Question})
		}
		out = append(out, g)
	}
	return out
}

// usable accepts an id such as G-001 or GAP-2.1.
func usable(id string) bool {
	if id == "" || len(id) > 20 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.") != "" {
		return false
	}
	head, number, ok := strings.Cut(id, "-")
	return ok && strings.Trim(head, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && head != "" && strings.Trim(number, "0123456789") == "" && number != ""
}

// fresh gives questions ids of the round.
func fresh(r *reprise.Run, ix *index, asked []reprise.Asked) []reprise.Asked {
	taken := map[string]bool{}
	var out []reprise.Asked
	for _, q := range asked {
		if strings.TrimSpace(q.Text) == "" {
			continue
		}
		q.ID = newID(r, taken, ix.iteration.n)
		out = append(out, q)
	}
	return out
}

// concludeOther is for turns, later phases and nodes.
func concludeOther(fsys fs.FS, r *reprise.Run, a reprise.Assignment, reply reprise.Reply) reprise.Conclusion {
	c := reprise.Conclusion{Text: words(reply)}
	st := r.Step(a.Step)
	if st == nil {
		c.Problem = a.Step + " is no longer part of the workflow"
		return c
	}
	kind, isNode := playNode(fsys, r, st)
	switch {
	case a.Step == "specify.analyst" && reply.Outcome != "question" && !written(fsys, r):
		c.Problem = specPath(r) + " is still the template"
	case a.Step == "specify.advocate":
		return advocate(r, reply, c)
	case isNode && len(reply.Questions) > 0 && reply.Outcome == "question":
		c.Blocked, c.Text = true, "it asks "+reply.Questions[0].Text+"; a graph asks by its own nodes"
	case kind == "gate":
		if c.Problem, c.Failed = judged(reply.Verdict); c.Failed {
			c.Text = "the gate was not passed: " + words(reply)
		}
	case reply.Outcome == "question":
		c.Questions = fresh(r, &index{}, reply.Questions)
	}
	return c
}

// advocate ends the turn of the advocate: what is open is asked, and nothing
// open means that the specification is ready.
func advocate(r *reprise.Run, reply reprise.Reply, c reprise.Conclusion) reprise.Conclusion {
	asked := slices.Clone(reply.Questions)
	for _, g := range reply.Gaps[:min(len(reply.Gaps), maxGaps)] {
		known := slices.ContainsFunc(reply.Questions, func(q reprise.Asked) bool { return playNames(q.Subject+" "+q.Text, g.ID) })
		if doc.Fold(g.Priority) != "minor" && !known {
			asked = append(asked, reprise.Asked{Text: g.Question})
		}
	}
	asked = fresh(r, &index{}, asked)
	problem, back := judged(reply.Verdict)
	switch {
	case len(asked) > 0:
		c.Outcome = "rejected"
		for _, q := range asked {
			c.Then = append(c.Then, reprise.Event{Kind: reprise.QuestionAsked, Question: q.ID, Text: q.Text, Options: q.Options})
		}
	case back:
		c.Problem = "it says " + doc.Clip(reply.Verdict, 40) + " and names no gap"
	case problem != "":
		c.Problem = problem
	default:
		c.Outcome = "approved"
	}
	return c
}

// settleOther ends what the files of the other families show to be over: the
// turn of a person whose answers are all there, and a graph whose milestone is
// reached.
func settleOther(fsys fs.FS, r *reprise.Run) []reprise.Event {
	if !r.State.Open() || len(r.Next) == 0 || len(r.PendingQuestions()) > 0 {
		return nil
	}
	if st := r.Step("specify.user"); st != nil && r.Next[0].ID == "specify.analyst" {
		l := newLoader(fsys, r.Ref)
		for _, cf := range contextFiles {
			if l.in(cf.file) == st.Source.File && l.openContext(cf).awaitsUser() {
				return []reprise.Event{{Kind: reprise.StepFinished, Step: st.ID, Text: "all answers are there"}}
			}
		}
	}
	if r.Next[0].ID != "next-node" {
		return nil
	}
	reached := false
	for i := range r.Steps {
		st := &r.Steps[i]
		if !st.Status.Closed() {
			return nil
		}
		kind, _ := playNode(fsys, r, st)
		reached = reached || kind == "milestone" && st.Phase == r.Next[0].Phase
	}
	if !reached {
		return nil
	}
	return []reprise.Event{{Kind: reprise.RunEnded, Outcome: "completed"}}
}
