package specloop

import (
	"fmt"
	"io/fs"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// read gives what the loop's decisions rest on: the gaps and the counters of
// index.md. A file that cannot be read is Load's to report, which then offers
// nothing to decide.
func read(fsys fs.FS, r *reprise.Run) *index {
	if ix := newLoader(fsys, r.Ref).readIndex(); ix != nil {
		return ix
	}
	return &index{}
}

// usedUp reports whether there may be no further round.
func (ix *index) usedUp() bool { return ix.iteration.n >= ix.iteration.limit(maxIteration) }

// limit is the number behind the slash, if it is lower than that of the format.
func (c counter) limit(most int) int {
	_, bound, _ := strings.Cut(c.text, "/")
	if n := doc.Numbers(bound); len(n) > 0 && n[0] > 0 {
		return min(most, n[0])
	}
	return most
}

// asks finds the gap with a question, in whatever spelling; the queue may hold
// only the beginning of a long one.
func (ix *index) asks(question string) *gap {
	text := doc.Fold(question)
	for i := range ix.gaps {
		have := doc.Fold(ix.gaps[i].question)
		if have != "" && (have == text || strings.HasSuffix(ix.gaps[i].question, "…") && strings.HasPrefix(text, have)) {
			return &ix.gaps[i]
		}
	}
	return nil
}

// left lists the critical and important gaps that are open.
func (ix *index) left() []gap {
	var out []gap
	for _, g := range ix.gaps {
		if g.open() && g.serious() {
			out = append(out, g)
		}
	}
	return out
}

// fresh gives a gap an id that no other has.
func (ix *index) fresh() string {
	for n := len(ix.gaps) + 1; ; n++ {
		if id := fmt.Sprintf("G-%03d", n); ix.gap(id) == nil {
			return id
		}
	}
}

// unused lists the answers of the loop that are on record and not applied.
// Those to our own question about the limit are acted on, not applied.
func unused(r *reprise.Run) (answers []reprise.Question, limit *reprise.Question) {
	for i := range r.Questions {
		q := &r.Questions[i]
		switch {
		case !q.Answered || q.Applied || ofLater(q):
		case isLimit(q.ID):
			limit = q
		default:
			answers = append(answers, *q)
		}
	}
	return answers, limit
}

// ofLater reports whether a question belongs to the plan or the tasks.
func ofLater(q *reprise.Question) bool {
	switch {
	case q.Subject == "plan", q.Subject == "tasks", q.Subject == "implement":
		return true
	}
	id := doc.Fold(q.ID)
	return strings.HasPrefix(id, "q p") || strings.HasPrefix(id, "q t")
}

// newID makes an unused id for a question of a round.
func newID(r *reprise.Run, taken map[string]bool, iteration int) string {
	for _, q := range r.Questions {
		taken[q.ID] = true
	}
	for n := 1; ; n++ {
		if id := fmt.Sprintf("C%d.%d", max(iteration, 1), n); !taken[id] {
			taken[id] = true
			return id
		}
	}
}
