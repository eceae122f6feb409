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
	"reprise/internal/splice"
)

// loopStep records a phase of the loop. The end of a phase and the beginning of
// the next are one status in this format; the mark tells them apart.
func (rec *recorder) loopStep(step *reprise.Step) ([]reprise.Edit, error) {
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
		return nil, rec.cannot("a loop status has no word for it")
	}
	if step.ID == "A1" && mk.word != markReset && step.Source.File == rec.l.dir {
		// The scaffold stopped before it wrote a state file.
		return rec.scaffold(mk)
	}
	s, err := rec.sheet()
	if err != nil {
		return nil, err
	}
	if s.told(mk, told) {
		return nil, nil
	}
	if step.ID == "C" && mk.word == markDone {
		return rec.wholeLoop()
	}
	if err := s.gaps(mk); err != nil {
		return nil, err
	}
	if mk.word == markDone {
		if err := s.use(); err != nil {
			return nil, err
		}
	}
	mk.ok = true
	stands, _ := mk.stands(s.ix)
	if err := s.count(mk, stands); err != nil {
		return nil, err
	}
	if err := s.touch(statusWord(stands), mk); err != nil {
		return nil, err
	}
	return s.edits(fmt.Sprintf("%s %s", step.ID, mk.word))
}

// scaffold makes the state file that the scaffold did not come to.
func (rec *recorder) scaffold(mk mark) ([]reprise.Edit, error) {
	stamp := iso(rec.ev.At)
	m, err := splice.NewMarkdown(newIndex(path.Base(rec.run.ID), rec.run.Title, stamp, "not_started"))
	if err != nil {
		return nil, rec.wrong("%v", err)
	}
	s := &sheet{rec: rec, ix: &index{file: &doc.File{Path: rec.l.in("index.md")}}, m: m, stamp: stamp}
	stands, _ := mk.stands(s.ix)
	if err := s.touch(statusWord(stands), mk); err != nil {
		return nil, err
	}
	return []reprise.Edit{splice.Create(s.ix.file.Path, s.m.Bytes(), "begin the feature")}, nil
}

// told reports whether the file tells a phase's event already: the loop reads
// so, and the mark, if we wrote last, does not stand before it. What we wrote
// last for a later time was written after this event.
func (s *sheet) told(mk mark, reads bool) bool {
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
func (s *sheet) count(mk mark, stands string) error {
	it := s.ix.iteration
	first := !it.ok && it.blank() || it.ok && it.n == 0
	switch {
	case first && placeOf(stands) >= placeOf("A3"):
		return s.setCount("Current Iteration", it, 1, maxIteration)
	case mk.phase != "B5" || mk.word != markDone || !it.ok:
		return nil
	}
	stale := 0
	if !s.ix.resolvedIn(it.n) && s.ix.countGaps(gap.open) > 0 {
		stale = min(s.ix.stale.n+1, maxStale)
	}
	if err := s.setCount("Stale Count", s.ix.stale, stale, maxStale); err != nil {
		return err
	}
	return s.setCount("Current Iteration", it, min(it.n+1, max(it.n, maxIteration)), maxIteration)
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
func (s *sheet) setCount(key string, old counter, n, limit int) error {
	text := strconv.Itoa(n) + " / " + strconv.Itoa(limit)
	if _, rest, ok := strings.Cut(old.text, "/"); ok && !placeholder(rest) {
		text = strconv.Itoa(n) + " /" + rest
	} else if old.ok {
		text = strconv.Itoa(n)
	}
	return s.put(key, text)
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
// no crash can part the two.
func (s *sheet) use() error {
	for _, id := range s.rec.handed().Applied {
		at := s.ix.questionAt(id)
		if at < 0 || s.ix.questions[at].status != answered || s.ix.questions[at].applied {
			continue
		}
		if err := s.apply(&s.ix.questions[at]); err != nil {
			return err
		}
	}
	return nil
}

// gaps adds the gaps that the text of the event lists as JSON to the queue,
// those that are not in it, and opens those again that it calls resolved.
func (s *sheet) gaps(mk mark) error {
	if mk.word != markDone {
		return nil
	}
	for _, g := range s.rec.handed().Gaps {
		id := cell(g.ID, 60)
		if !plainGap(id) {
			return s.rec.wrong("%q cannot be the id of a gap", doc.Clip(g.ID, 60))
		}
		if have := s.ix.gap(id); have != nil {
			if have.status == gapResolved {
				if err := s.reopen(have, cell(g.Question, 300)); err != nil {
					return err
				}
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
		err := s.addRow([]string{"Gap ID", "ID", "Gap"}, []string{"Priority", "Gap ID", "Question", "Status", "Resolution"}, map[string]string{
			"Priority/Severity": priority, "Gap ID/ID/Gap": id, "Question": cell(g.Question, 300), "Status": "pending",
		}, "Gap Priority Queue")
		if err != nil {
			return err
		}
		s.ix.gaps = append(s.ix.gaps, gap{id: id, priority: priority, word: "pending", status: gapPending})
	}
	return nil
}

// reopen makes a gap pending that was resolved and is reported again, in the
// words of the new report. The answers it was resolved by are marked as applied
// in their own rows: their gap does not show it any more.
func (s *sheet) reopen(g *gap, question string) error {
	for i := range s.ix.questions {
		q := &s.ix.questions[i]
		if q.status != answered || !q.applied || !slices.ContainsFunc(q.gaps, func(id string) bool { return doc.Fold(id) == doc.Fold(g.id) }) {
			continue
		}
		if err := s.setRow(questionKeys, q.id, "applied", []string{"Status"}, questionTitles...); err != nil {
			return err
		}
		q.status = used
	}
	if filled(question) {
		if err := s.setRow([]string{"Gap ID", "ID", "Gap"}, g.id, question, []string{"Question"}, "Gap Priority Queue"); err != nil {
			return err
		}
	}
	g.word, g.status = "pending", gapPending
	return s.setGap(g.id, "pending", fmt.Sprintf("Reported again in iteration %d", max(s.ix.iteration.n, 1)))
}

// plainGap accepts an id that a cell can name among others.
func plainGap(id string) bool {
	got := ids(id)
	return len(got) == 1 && got[0] == id && filled(id)
}

func (ix *index) gap(id string) *gap {
	for i := range ix.gaps {
		if doc.Fold(ix.gaps[i].id) == doc.Fold(id) {
			return &ix.gaps[i]
		}
	}
	return nil
}

// wholeLoop ends, stops or takes up the loop.
func (rec *recorder) wholeLoop() ([]reprise.Edit, error) {
	s, err := rec.sheet()
	if err != nil {
		return nil, err
	}
	mk := s.ix.mark
	if !mk.ok {
		mk = mark{phase: "A1", word: markReset}
		if at := rec.loopPoint(); at != nil {
			mk = mark{phase: at.ID, word: markReset}
		}
	}
	if rec.ev.Kind == reprise.RunResumed {
		stands, _ := mk.stands(s.ix)
		if err := s.touch(statusWord(stands), mk); err != nil {
			return nil, err
		}
		return s.edits("resume the loop")
	}
	if err := s.use(); err != nil {
		return nil, err
	}
	reason, done := rec.reasonWord()
	word := "terminated"
	if done {
		word, mk = "completed", mark{phase: "C", word: markDone}
	}
	if err := s.touch(word, mk); err != nil {
		return nil, err
	}
	if err := s.put("Termination Reason", reason); err != nil {
		return nil, err
	}
	return s.edits("end the loop: " + reason)
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
