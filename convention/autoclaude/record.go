package autoclaude

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/splice"
)

// Record tells what changes in the files of a spec for an event. Progress goes
// into the copy of the plan that counts, and the other copies stay as they are,
// as the original program leaves them; what is taken back is taken back in every
// copy, for a copy that still calls it done would count again.
//
// Words, times and names of keys are those the file uses already. Nothing is
// ever taken out of a file.
func (Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	if ev.Kind == reprise.RunStarted {
		return startRun(fsys, r, ev)
	}
	if r.Path == "" {
		return nil, cannot("there is no spec %s", strconv.Quote(doc.Clip(r.ID, 60)))
	}
	w := &writer{l: load(fsys, r.Ref), ev: ev}
	if err := w.record(); err != nil {
		return nil, err
	}
	return w.edits(), nil
}

// cannot is an event the files have no place for.
func cannot(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), reprise.ErrCannotRecord)
}

// The steps of QA, which no list in the plan holds.
const (
	stepQAReview = "qa-review"
	stepQAFix    = "qa-fix"
)

func (w *writer) record() error {
	switch w.ev.Kind {
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepReset:
		return w.recordStep()
	case reprise.RunResumed:
		return w.resumeRun()
	case reprise.RunEnded:
		return w.endRun()
	case reprise.RunStopped:
		return w.stopRun()
	case reprise.PhaseEnded:
		return w.endPhase()
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		return w.recordQuestion()
	}
	// No version of the program knows an item that is skipped; any word for
	// it would be read as unknown, and as pending by the program.
	return cannot("%s: a plan has no word for it", w.ev.Kind)
}

func (w *writer) recordStep() error {
	id := w.ev.Step
	switch p := w.l.plan; {
	case id == stepQAReview || id == stepQAFix:
		return w.recordQA()
	case specPhaseOf(id) != nil && (p == nil || len(p.items) == 0 || !p.lists(id)):
		return w.recordSpecPhase(id)
	case p == nil:
		if err := w.l.brokenPlan(); err != nil {
			return err
		}
		return cannot("there is no plan that could list %s", strconv.Quote(doc.Clip(id, 60)))
	case !p.lists(id):
		return cannot("%s lists no item %s", p.file.Path, strconv.Quote(doc.Clip(id, 60)))
	}
	return w.recordItem()
}

func (p *plan) lists(id string) bool {
	_, ok := p.ids[id]
	return ok
}

// brokenPlan is the error for a plan that is there and cannot be read.
func (l *loader) brokenPlan() error {
	for _, p := range l.copies {
		if p.broken {
			return unreadable(p.file.Path, p.rd)
		}
	}
	return nil
}

// recordSpecPhase answers for a phase of making the spec. Its file is the only
// record of it, and the agent writes that.
func (w *writer) recordSpecPhase(id string) error {
	status := reprise.Pending
	if s := w.l.run.Step(id); s != nil {
		status = s.Status
	} else if w.l.plan != nil && len(w.l.plan.items) > 0 {
		status = reprise.Done // there would be no items else
	}
	want := w.wanted()
	if status == want || want == reprise.Done && status.Closed() {
		return nil
	}
	return cannot("%s is told by its file %s alone", id, specPhaseOf(id).file)
}

func specPhaseOf(id string) *specPhase {
	for i := range specPhases {
		if specPhases[i].id == id {
			return &specPhases[i]
		}
	}
	return nil
}

// wanted is the status an event gives a step.
func (w *writer) wanted() reprise.Status {
	switch w.ev.Kind {
	case reprise.StepStarted:
		return reprise.InProgress
	case reprise.StepFinished:
		return reprise.Done
	case reprise.StepFailed:
		return reprise.Failed
	case reprise.StepBlocked:
		return reprise.Blocked
	}
	return reprise.Pending
}

// recordItem brings an item of the plan to what the event says, and the
// records of attempts and commits with it.
func (w *writer) recordItem() error {
	want := w.wanted()
	at := w.l.plan.ids[w.ev.Step]
	was := w.l.plan.items[at].step.Status
	if w.ev.Kind == reprise.StepReset && was == reprise.Done {
		return cannot("%s is completed, and what is completed stays", strconv.Quote(doc.Clip(w.ev.Step, 60)))
	}
	changed, err := w.setItem(w.l.plan, want)
	if err != nil {
		return err
	}
	if w.ev.Kind == reprise.StepReset {
		if err := w.resetCopies(); err != nil {
			return err
		}
	}
	if w.ev.Kind == reprise.StepStarted && changed {
		if err := w.reopen(); err != nil {
			return err
		}
		if err := w.setPlanStatus(w.l.plan, "in_progress", false); err != nil {
			return err
		}
	}
	if changed {
		if err := w.keepCounting(want); err != nil {
			return err
		}
	}
	if err := w.recordAttempt(changed); err != nil {
		return err
	}
	if w.ev.Kind == reprise.StepReset || w.ev.Kind == reprise.StepStarted {
		return nil
	}
	return w.recordCommit()
}

// setItem sets the status of the event's item in one copy of the plan, in every
// list that holds it, with the times that items of this plan carry.
func (w *writer) setItem(p *plan, want reprise.Status) (changed bool, err error) {
	it := &p.items[p.ids[w.ev.Step]]
	if it.node.Kind != doc.Map {
		return false, cannot("item %s in %s is a bare line without a status", strconv.Quote(doc.Clip(w.ev.Step, 60)), p.file.Path)
	}
	t, err := w.open(p.file.Path, fmt.Sprintf("item %s is %s", strconv.Quote(doc.Clip(w.ev.Step, 60)), want))
	if err != nil {
		return false, err
	}
	word := p.word(want)
	for _, place := range it.places {
		if n := t.at(place, "status"); n != nil {
			if status, _, known := itemStatus(n); known && status == want {
				continue
			}
		} else if want == reprise.Pending {
			continue // as every version reads an absent status
		}
		if err := t.put(word, place, "status"); err != nil {
			return changed, err
		}
		changed = true
		if err := w.itemTimes(p, t, place, want); err != nil {
			return changed, err
		}
	}
	if changed {
		err = w.planTimes(p, t)
	}
	return changed, err
}

// itemTimes sets the times of an item: those it has, and those others have.
func (w *writer) itemTimes(p *plan, t *target, place []any, want reprise.Status) error {
	keys := []string{"updated_at"}
	switch want {
	case reprise.InProgress:
		keys = append(keys, "started_at")
		// Begun again, it is not completed any more.
		if n := t.at(place, "completed_at"); n != nil && n.Kind == doc.String {
			if err := t.put(nil, place, "completed_at"); err != nil {
				return err
			}
		}
	case reprise.Done:
		keys = append(keys, "completed_at")
	}
	for _, key := range keys {
		sample, used := p.sample(key)
		if !used || w.ev.At.IsZero() || p != w.l.plan {
			continue
		}
		if err := w.touch(t, sample, place, key); err != nil {
			return err
		}
	}
	return nil
}

// sample gives the first time the plan's items have under a key; used is false
// where none of them has the key.
func (p *plan) sample(key string) (text string, used bool) {
	for i := range p.items {
		n := p.items[i].node
		if n.Kind != doc.Map || !n.Has(key) {
			continue
		}
		used = true
		if v := n.Get(key); v != nil && v.Kind == doc.String && v.Text != "" {
			return v.Text, true
		}
	}
	return p.timeSample(), used
}

// timeSample is a time as this plan spells it, "" if it has none.
func (p *plan) timeSample() string {
	for _, n := range p.times {
		if n != nil && n.Kind == doc.String && n.Text != "" {
			return n.Text
		}
	}
	return ""
}

// planTimes moves the times of the plan itself, where it has any, in the copy
// that counts only: with the same time in all of them, another would count.
func (w *writer) planTimes(p *plan, t *target) error {
	if p != w.l.plan {
		return nil
	}
	for _, key := range []string{"updated_at", "last_updated"} {
		if n := t.at(nil, key); n != nil && n.Kind == doc.String {
			if err := w.touch(t, n.Text, nil, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// resetCopies takes the item back in the other copies too, as the desktop
// program's recovery does. A copy that calls it completed keeps that.
func (w *writer) resetCopies() error {
	for _, p := range w.l.copies {
		if p == w.l.plan || !p.ok() || !p.lists(w.ev.Step) {
			continue
		}
		switch p.items[p.ids[w.ev.Step]].step.Status {
		case reprise.InProgress, reprise.Failed, reprise.Blocked:
			if _, err := w.setItem(p, reprise.Pending); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepCounting makes sure that the copy that was changed is still the one that
// counts, and changes the one that would count in its place as well: what was
// taken back here would come back from there.
func (w *writer) keepCounting(want reprise.Status) error {
	for range w.l.copies {
		p := w.counting()
		if p == nil || !p.lists(w.ev.Step) {
			break
		}
		if p.items[p.ids[w.ev.Step]].step.Status == want {
			return w.agrees(p)
		}
		was := w.copyIn(p.dir)
		if was == nil {
			break
		}
		if changed, err := w.setItem(was, want); err != nil || !changed {
			return err
		}
	}
	return fmt.Errorf("record in %s: after the change another copy of the plan would count that does not list %s",
		w.l.plan.file.Path, strconv.Quote(doc.Clip(w.ev.Step, 60)))
}

// agrees makes sure that the copy that counts after the change tells the same
// of all other items as the one that counted before.
func (w *writer) agrees(p *plan) error {
	for id, at := range w.l.plan.ids {
		now, known := p.ids[id]
		if id != w.ev.Step && (!known || p.items[now].step.Status != w.l.plan.items[at].step.Status) {
			return fmt.Errorf("record in %s: after the change the copy in %s would count, and the two do not agree; settle that first",
				w.l.plan.file.Path, strconv.Quote(p.dir))
		}
	}
	return nil
}

func (w *writer) copyIn(dir string) *plan {
	for _, p := range w.l.copies {
		if p.dir == dir {
			return p
		}
	}
	return nil
}

// counting reads the copies as they would be and gives the one that counts.
func (w *writer) counting() *plan {
	after := splice.Over(w.l.fsys, w.edits())
	l := &loader{fsys: after, rd: doc.NewReader(after), run: &reprise.Run{Ref: w.l.run.Ref}, where: w.l.where}
	l.readCopies()
	return l.plan
}

// word is how this plan spells a status: as most of its items do, else in the
// manner of the words they have.
func (p *plan) word(want reprise.Status) string {
	counts := map[string]int{}
	var best string
	var all []string
	for i := range p.items {
		for _, c := range p.items[i].step.Claims {
			if meaning(c.Word) == 0 || !plainWord(c.Word) {
				continue
			}
			all = append(all, c.Word)
			if c.Status != want {
				continue
			}
			if counts[c.Word]++; best == "" || counts[c.Word] > counts[best] {
				best = c.Word
			}
		}
	}
	if best != "" {
		return best
	}
	words := map[reprise.Status]string{
		reprise.Pending: "pending", reprise.InProgress: "in_progress", reprise.Done: "completed",
		reprise.Blocked: "blocked", reprise.Failed: "failed",
	}
	return inManner(words[want], all)
}

func plainWord(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_- ") == ""
}

// inManner spells a word as others are spelled: with dashes or blanks where
// they have them, in capitals where all of them are.
func inManner(word string, others []string) string {
	upper, title := len(others) > 0, len(others) > 0
	for _, o := range others {
		upper = upper && o == strings.ToUpper(o)
		title = title && o[:1] == strings.ToUpper(o[:1])
		for _, sep := range []string{"-", " "} {
			if strings.Contains(o, sep) {
				word = strings.ReplaceAll(word, "_", sep)
			}
		}
	}
	switch {
	case upper:
		return strings.ToUpper(word)
	case title:
		parts := strings.Split(word, " ")
		for i, part := range parts {
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
		return strings.Join(parts, " ")
	}
	return word
}

// endPhase answers for the end of a phase, which is told by its items alone.
func (w *writer) endPhase() error {
	found := false
	for i := range w.l.run.Steps {
		s := &w.l.run.Steps[i]
		if s.Phase != w.ev.Phase && s.ID != w.ev.Phase {
			continue
		}
		if found = true; !s.Status.Closed() {
			return cannot("phase %s is told by its items, and %s is open", strconv.Quote(doc.Clip(w.ev.Phase, 60)), strconv.Quote(doc.Clip(s.ID, 60)))
		}
	}
	if !found {
		return cannot("no item belongs to a phase %s", strconv.Quote(doc.Clip(w.ev.Phase, 60)))
	}
	return nil
}

// specFolder is where a spec of this name is made.
func specFolder(r *reprise.Run) (string, error) {
	if r.Path != "" {
		return r.Path, nil
	}
	if r.ID == "" || r.ID != path.Base(r.ID) || strings.HasPrefix(r.ID, ".") || strings.ContainsAny(r.ID, "\\:\x00\r\n") || !fs.ValidPath(r.ID) {
		return "", fmt.Errorf("start a spec: %s is no name for a folder", strconv.Quote(doc.Clip(r.ID, 60)))
	}
	return path.Join(stateDirs[0], "specs", r.ID), nil
}
