package specloop

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// loopStep records a phase of the loop. The end of a phase and the beginning of
// the next are one status in this format; the mark tells them apart.
func (rec *recorder) loopStep(step *reprise.Step) {
	told := false
	mk := mark{phase: step.ID}
	switch rec.ev.Kind {
	case reprise.StepStarted:
		told, mk.word = step.Status == reprise.InProgress, markStarted
	case reprise.StepFinished:
		told, mk.word = step.Status.Closed(), markDone
	case reprise.StepReset:
		told, mk.word = step.Status == reprise.Pending, markReset
	default:
		rec.cannot("a loop status has no word for it")
		return
	}
	if step.ID == "A1" && mk.word != markReset && step.Source.File == rec.l.dir {
		rec.scaffold(mk)
		return
	}
	s := rec.index()
	switch {
	case s == nil || s.told(mk, told):
		return
	case step.ID == "C" && mk.word == markDone:
		rec.wholeLoop()
		return
	case mk.word == markDone:
		s.gaps()
		s.use()
	}
	mk.ok = true
	stands, _ := mk.stands(s.ix)
	s.count(mk, stands)
	s.touch(statusWord(stands), mk)
	s.f.Because("%s %s", step.ID, mk.word)
}

// scaffold makes the state file where the scaffold stopped before it wrote one.
func (rec *recorder) scaffold(mk mark) {
	stamp := iso(rec.ev.At)
	name := rec.l.in(indexName)
	f := rec.changes.NewMarkdown(name, newIndex(path.Base(rec.run.ID), rec.run.Title, stamp, "not_started"))
	if f == nil {
		return
	}
	s := &indexEdit{rec: rec, ix: &index{file: &doc.File{Path: name}}, f: f, stamp: stamp}
	stands, _ := mk.stands(s.ix)
	s.touch(statusWord(stands), mk)
	f.Because("begin the feature")
}

// told reports whether the file already has the event of a phase: the loop reads as if
// it had, and our own last mark, if it is ours, is not from before the event.
func (s *indexEdit) told(mk mark, reads bool) bool {
	last := s.ix.mark
	if !last.ok || doc.Fold(s.ix.status.text) == "terminated" {
		return reads
	}
	same := last.phase == mk.phase && last.word == mk.word
	if at, ok := doc.FindTime(s.stamp); ok && (at.Before(last.at) || same && at.Equal(last.at)) {
		return true
	}
	stands, _ := last.stands(s.ix)
	return reads && (same || mk.word == markDone && placeOf(stands) > placeOf(mk.phase))
}

// count keeps the counters of the loop: the first validation is iteration 1,
// each round that ends counts, and rounds that resolve nothing for good make it
// stale.
func (s *indexEdit) count(mk mark, stands string) {
	it := s.ix.iteration
	first := !it.ok && it.blank() || it.ok && it.n == 0
	switch {
	case first && placeOf(stands) >= placeOf("A3"):
		s.setCount("Current Iteration", it, 1, maxIteration)
	case mk.phase == "B5" && mk.word == markDone && it.ok:
		stale := 0
		if !s.ix.resolvedIn(it.n) && s.ix.countGaps(gap.open) > 0 {
			stale = min(s.ix.stale.n+1, maxStale)
		}
		s.setCount("Stale Count", s.ix.stale, stale, maxStale)
		s.setCount("Current Iteration", it, min(it.n+1, max(it.n, maxIteration)), maxIteration)
	}
}

// resolvedIn reports whether the history has a row of an iteration for a gap
// that was not reported again since.
func (ix *index) resolvedIn(n int) bool {
	for _, h := range ix.history {
		if h.iteration != n {
			continue
		}
		if g := ix.gap(h.gap); g == nil || !g.open() {
			return true
		}
	}
	return false
}

// setCount writes "n / limit", the limit as it stands there.
func (s *indexEdit) setCount(key string, old counter, n, limit int) {
	text := strconv.Itoa(n) + " / " + strconv.Itoa(limit)
	if _, rest, ok := strings.Cut(old.text, "/"); ok && !placeholder(rest) {
		text = strconv.Itoa(n) + " /" + rest
	} else if old.ok {
		text = strconv.Itoa(n)
	}
	s.put(key, text)
}

// found is what the text of an event hands over: the gaps that a validator or
// classifier found, and the questions whose answers were applied.
type found struct {
	Gaps []struct {
		ID       string `json:"id"`
		Priority string `json:"priority"`
		Question string `json:"question"`
	} `json:"gaps"`
	Applied []string `json:"applied"`
}

// handed reads the text of the event; words that happen to begin with a brace
// hand over nothing.
func (rec *recorder) handed() (f found) {
	text := strings.TrimSpace(rec.ev.Text)
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &f) != nil {
		return found{}
	}
	return f
}

// use applies the answers that the event names, in the same edit as its end:
// no crash can part the two. Where the file calls one applied before, its gaps may still be
// open.
func (s *indexEdit) use() {
	for _, id := range s.rec.handed().Applied {
		if at := s.ix.questionAt(id); at >= 0 && (s.ix.questions[at].status == answered || s.ix.questions[at].status == used) {
			s.apply(&s.ix.questions[at])
		}
	}
}

// gaps adds the gaps that the text of the event lists as JSON to the queue,
// those that are not in it, and opens those again that it calls resolved.
func (s *indexEdit) gaps() {
	for _, g := range s.rec.handed().Gaps {
		id := cell(g.ID, 60)
		if !plainGap(id) {
			s.rec.wrong("%q cannot be the id of a gap", doc.Clip(g.ID, 60))
			return
		}
		if have := s.ix.gap(id); have != nil {
			if have.status == gapResolved {
				s.reopen(have, cell(g.Question, 300))
			}
			continue
		}
		priority := "Important"
		switch doc.Fold(g.Priority) {
		case "critical":
			priority = "Critical"
		case "minor":
			priority = "Minor"
		}
		s.addRow(gapTable, map[string]string{
			"Priority/Severity": priority, "Gap ID/ID/Gap": id, "Question": cell(g.Question, 300), "Status": "pending",
		})
		s.ix.gaps = append(s.ix.gaps, gap{id: id, priority: priority, word: "pending", status: gapPending})
	}
}

// reopen makes a gap pending that was resolved and is reported again, in the
// words of the new report. The answers it was resolved by are marked as applied
// in their own rows: their gap no longer shows it.
func (s *indexEdit) reopen(g *gap, question string) {
	for i := range s.ix.questions {
		q := &s.ix.questions[i]
		if q.status == answered && q.applied && slices.ContainsFunc(q.gaps, func(id string) bool { return doc.Fold(id) == doc.Fold(g.id) }) {
			s.setRow(questionTable, q.id, "applied", "Status")
			q.status = used
		}
	}
	if filled(question) {
		s.setRow(gapTable, g.id, question, "Question")
	}
	g.word, g.status = "pending", gapPending
	s.setGap(g.id, "pending", fmt.Sprintf("Reported again in iteration %d", max(s.ix.iteration.n, 1)))
}

// plainGap accepts an id that a cell can name among others.
func plainGap(id string) bool {
	got := ids(id)
	return len(got) == 1 && got[0] == id && filled(id)
}

func (ix *index) gap(id string) *gap {
	if i := slices.IndexFunc(ix.gaps, func(g gap) bool { return doc.Fold(g.id) == doc.Fold(id) }); i >= 0 {
		return &ix.gaps[i]
	}
	return nil
}

// wholeLoop ends, stops or resumes the loop.
func (rec *recorder) wholeLoop() {
	s := rec.index()
	if s == nil {
		return
	}
	mk := s.ix.mark
	if !mk.ok {
		mk = mark{phase: "A1", word: markReset}
		if at := rec.loopPoint(); at != nil {
			mk.phase = at.ID
		}
	}
	if rec.ev.Kind == reprise.RunResumed {
		stands, _ := mk.stands(s.ix)
		s.touch(statusWord(stands), mk)
		s.f.Because("resume the loop")
		return
	}
	s.use()
	reason, done := rec.reasonWord()
	word := "terminated"
	if done {
		word, mk = "completed", mark{phase: "C", word: markDone}
	}
	s.touch(word, mk)
	s.put("Termination Reason", reason)
	s.f.Because("end the loop: %s", reason)
}

// loopPoint is the phase the loop stands at.
func (rec *recorder) loopPoint() *reprise.Step {
	for i := range rec.run.Steps {
		if s := &rec.run.Steps[i]; placeOf(s.ID) >= 0 && !s.Status.Closed() {
			return s
		}
	}
	return nil
}
