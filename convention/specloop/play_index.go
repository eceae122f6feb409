package specloop

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// sheet is what the loop's decisions rest on: the gaps and the counters of
// index.md. The layout tells where the loop stands; these it has no room for.
type playSheet struct {
	gaps                 []playGap
	iteration, stale     int
	maxIteration, maxOld int
	asking               bool // the questions of the round are ours
}

type playGap struct{ id, priority, status, question string }

// open reports whether a gap is left to be closed. A status nobody knows counts
// as open.
func (g playGap) open() bool {
	switch g.status {
	case "resolved", "deferred", "known gap", "known issue":
		return false
	}
	return true
}

func (g playGap) serious() bool { return g.priority != "minor" }

// read reads index.md; a file that cannot be read is the layout's to report,
// which then offers nothing to decide.
func read(fsys fs.FS, r *reprise.Run) playSheet {
	s := playSheet{maxIteration: 10, maxOld: 3}
	md := doc.NewReader(fsys).Open(path.Join(feature(r), playStateDir, "index.md")).Markdown()
	if md == nil {
		return s
	}
	for _, sec := range md.Sections() {
		switch doc.Fold(sec.Title) {
		case "priority loop state": // the last one counts
			s.iteration, s.maxIteration = playCounter(sec, s.maxIteration, "Current Iteration", "Iteration")
			s.stale, s.maxOld = playCounter(sec, s.maxOld, "Stale Count")
			phase, _ := sec.Label("Loop Phase") // ours as long as it is of the last activity
			last, _ := sec.Label("Last Activity")
			s.asking = strings.HasPrefix(phase.Value, "B1 started (") && strings.Contains(phase.Value, "("+last.Value+")")
		case "gap priority queue":
			s.readGaps(sec)
		}
	}
	return s
}

// counter reads "2 / 10".
func playCounter(sec doc.Section, limit int, keys ...string) (n, of int) {
	for _, l := range sec.Labels() {
		for _, key := range keys {
			if doc.Fold(l.Key) != doc.Fold(key) {
				continue
			}
			have, bound, _ := strings.Cut(l.Value, "/")
			if got := doc.Numbers(have); len(got) > 0 && !strings.Contains(have, "-") {
				n = got[0]
			}
			if got := doc.Numbers(bound); len(got) > 0 && got[0] > 0 {
				limit = min(limit, got[0])
			}
		}
	}
	return n, limit
}

func (s *playSheet) readGaps(sec doc.Section) {
	for _, t := range sec.Tables() {
		key := t.Column("Gap ID", "ID", "Gap")
		if key < 0 {
			continue
		}
		for _, row := range t.Rows {
			cell := func(names ...string) string {
				if i := t.Column(names...); i >= 0 && i < len(row) {
					return strings.Trim(strings.TrimSpace(row[i].Text), "`*_ ")
				}
				return ""
			}
			if id := cell("Gap ID", "ID", "Gap"); strings.Trim(id, "-— ") != "" && !strings.Contains(id, "{") {
				s.gaps = append(s.gaps, playGap{id: id, priority: doc.Fold(cell("Priority", "Severity")), status: doc.Fold(cell("Status")), question: cell("Question")})
			}
		}
	}
}

func (s *playSheet) gap(id string) *playGap {
	for i := range s.gaps {
		if doc.Fold(s.gaps[i].id) == doc.Fold(id) {
			return &s.gaps[i]
		}
	}
	return nil
}

// asks finds the gap with a question, in whatever spelling; the queue may hold
// only the beginning of a long one.
func (s *playSheet) asks(question string) *playGap {
	text := doc.Fold(question)
	for i := range s.gaps {
		have := doc.Fold(s.gaps[i].question)
		if have != "" && (have == text || strings.HasSuffix(s.gaps[i].question, "…") && strings.HasPrefix(text, have)) {
			return &s.gaps[i]
		}
	}
	return nil
}

// left lists the critical and important gaps that are open.
func (s *playSheet) left() []playGap {
	var out []playGap
	for _, g := range s.gaps {
		if g.open() && g.serious() {
			out = append(out, g)
		}
	}
	return out
}

// fresh gives a gap an id that no other has.
func (s *playSheet) fresh() string {
	for n := len(s.gaps) + 1; ; n++ {
		if id := fmt.Sprintf("G-%03d", n); s.gap(id) == nil {
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

// newID makes the id of the nth question of a round that nobody has used.
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
