package specloop

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
	"reprise/internal/splice"
)

var _ reprise.Mender = Layout{}

// Mend implements reprise.Mender for the rules of index.md that integrity
// checks. What is set right in one file is one mend; each part of it was read
// back: it takes a violation away and no step is further than before. Nothing
// is ever set to an end.
func (Layout) Mend(fsys fs.FS, r *reprise.Run) ([]reprise.Mend, error) {
	if !fs.ValidPath(r.Path) {
		return nil, nil
	}
	l := newLoader(fsys, r.Ref)
	ix := l.readIndex()
	if ix == nil || !ix.file.OK() || ix.damaged || slices.Contains(r.Unread, ix.file.Path) {
		return nil, nil // what is cut off is brought back; no rule tells what stood there
	}
	load := func(fsys fs.FS) *reprise.Run { return newLoader(fsys, r.Ref).load() }
	var proposals []ledger.Proposal
	for _, f := range l.fixes(ix) {
		proposals = append(proposals, ledger.Proposal{What: f.what, From: f.from, Make: f.on(ix), Accept: f.accept})
	}
	mends := ledger.Mend(load, fsys, proposals)
	for i := range mends {
		mends[i].From = ix.file.Path + ": " + mends[i].From
	}
	return mends, nil
}

// fix is one violation and what sets it right.
type fix struct {
	what, from string
	still      bool // the run has to read as before
	make       func(*indexEdit)
}

// on makes the change in index.md.
func (f fix) on(ix *index) func(c *ledger.Changes) {
	return func(c *ledger.Changes) {
		if file := c.Markdown(ix.file.Path); file != nil {
			file.Because("correct what breaks the rules of the format")
			f.make(&indexEdit{rec: &recorder{changes: c}, ix: ix, f: file})
		}
	}
}

// accept asks that a rule less is broken.
func (f fix) accept(was, now *reprise.Run) bool {
	return violations(now) < violations(was) && !(f.still && (now.State != was.State || now.Progress() != was.Progress()))
}

// violations counts the rules that are broken.
func violations(r *reprise.Run) (n int) {
	for _, f := range r.Findings {
		if f.Code == reprise.CodeIntegrity {
			n++
		}
	}
	return n
}

func (l *loader) fixes(ix *index) []fix {
	var out []fix
	if f, ok := l.fixStatus(ix); ok {
		out = append(out, f)
	}
	if n, from, ok := ix.rightIteration(); ok {
		out = append(out, fixCount(fmt.Sprintf("iteration %q is not a number from 0 to %d", doc.Clip(ix.iteration.text, 40), maxIteration), from, ix.iteration, n, "Final Iteration", "Current Iteration", "Iteration"))
	}
	if n, ok := inLimits(ix.stale, maxStale); ok {
		out = append(out, fixCount(fmt.Sprintf("stale count %q is not a number from 0 to %d", doc.Clip(ix.stale.text, 40), maxStale), "the limits of the format", ix.stale, n, "Stale Count"))
	}
	return append(out, ix.fixGaps()...)
}

// fixStatus sets an unknown loop status to the one of the phase that gaps,
// questions and files show. Where nothing is open they show nothing.
func (l *loader) fixStatus(ix *index) (fix, bool) {
	if !ix.status.given() || loopWord(ix.status.text) != "" || !ix.anyOpen() {
		return fix{}, false
	}
	word := statusWord(l.byEvidence(ix).phase)
	return fix{
		what: fmt.Sprintf("loop status %q is not one of the seven that the format knows", doc.Clip(ix.status.text, 40)), from: theRecord, still: true,
		make: func(s *indexEdit) { s.set(s.loop(), word, "Loop Status") },
	}, true
}

// rightIteration gives the iteration of a loop whose own is out of range or
// unreadable. One above the limit is at the limit; for the rest the highest one
// that the history or the id of a question (C2.1) names counts.
func (ix *index) rightIteration() (n int, from string, ok bool) {
	c := ix.iteration
	if n, ok := inLimits(c, maxIteration); ok && c.ok {
		return n, "the limits of the format", true
	}
	if c.blank() || c.ok {
		return 0, "", false
	}
	for _, h := range ix.history {
		n = max(n, h.iteration)
	}
	for _, q := range ix.questions {
		if head, _, dotted := strings.Cut(strings.ToUpper(q.id), "."); dotted && strings.HasPrefix(head, "C") {
			if round, err := strconv.Atoi(head[1:]); err == nil {
				n = max(n, round)
			}
		}
	}
	if _, negative := inLimits(c, maxIteration); n == 0 && !negative || n > maxIteration {
		return 0, "", false
	}
	return n, "the iterations in history and questions", true
}

// inLimits gives the nearest number in range for a count that is out of it. A
// word is no number that is near to any.
func inLimits(c counter, limit int) (n int, ok bool) {
	left, _, _ := strings.Cut(c.text, "/")
	if v, err := strconv.Atoi(strings.TrimSpace(left)); err == nil && v < 0 {
		return 0, true
	}
	return limit, c.ok && c.n > limit
}

// fixCount writes a count in the field it was read from, its limit as it is.
func fixCount(what, from string, old counter, n int, keys ...string) fix {
	return fix{what: what, from: from, make: func(s *indexEdit) {
		text := strconv.Itoa(n)
		if _, rest, ok := strings.Cut(old.text, "/"); ok {
			text += " /" + rest
		}
		for _, key := range keys {
			if l, ok := label(s.loop(), key); ok && l.Line == old.line {
				s.f.Do(func(m *splice.Markdown) error { return m.SetLabel(splice.Where{Line: l.Line}, l.Key, text) })
				return
			}
		}
	}}
}

// fixGaps brings gaps and questions together again. A gap that an open question
// names is being clarified, unless the history or a person closed it. A gap
// that is being clarified without a question is pending: it is asked again.
func (ix *index) fixGaps() []fix {
	var out []fix
	covered, set := map[string]bool{}, map[int]bool{}
	to := func(g gap, word, what string) {
		if set[g.line] {
			return
		}
		set[g.line] = true
		out = append(out, fix{what: what, from: "the questions", make: func(s *indexEdit) { s.setCell(g.line, "Status", word) }})
	}
	for _, q := range ix.questions {
		if q.workflow != "specify" {
			continue
		}
		for _, id := range q.gaps {
			covered[doc.Fold(id)] = true
			if q.status != asked && (q.status != answered || q.applied) {
				continue
			}
			if g, ok := ix.reopened(id); ok {
				to(g, "clarifying", fmt.Sprintf("question %q names gap %q, which is %q and not clarifying", doc.Clip(q.id, 40), doc.Clip(id, 40), doc.Clip(g.word, 40)))
			}
		}
	}
	for _, g := range ix.gaps {
		if g.status == gapClarifying && !covered[doc.Fold(g.id)] {
			to(g, "pending", fmt.Sprintf("gap %q is clarifying, but no question covers it", doc.Clip(g.id, 40)))
		}
	}
	return out
}

// reopened gives the row of a gap that an open question names, if none of its
// rows is clarifying and nothing but its own word closed it.
func (ix *index) reopened(id string) (found gap, ok bool) {
	for _, h := range ix.history {
		if doc.Fold(h.gap) == doc.Fold(id) {
			return gap{}, false
		}
	}
	for _, g := range ix.gaps {
		if doc.Fold(g.id) != doc.Fold(id) {
			continue
		}
		switch g.status {
		case gapClarifying, gapDeferred, gapKnown:
			return gap{}, false
		}
		if !ok {
			found, ok = g, true
		}
	}
	return found, ok
}
