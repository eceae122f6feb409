package autoclaude

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
	"reprise/internal/ledger"
)

// Record tells what changes in the files of a spec for an event. Progress goes
// into the copy of the plan that counts, and the other copies stay as they are,
// as the original program leaves them; what is taken back is taken back in every
// copy, for a copy that still calls it done would count again.
//
// Words, times and names of keys are those the file uses already. Nothing is
// ever taken out of a file.
func (Layout) Record(fsys fs.FS, r *reprise.Run, ev reprise.Event) ([]reprise.Edit, error) {
	ref := r.Ref
	if ev.Kind == reprise.RunStarted {
		dir, err := specFolder(r)
		if err != nil {
			return nil, err
		}
		ref.Path = dir
	}
	if ref.Path == "" {
		return nil, ledger.Cannot("there is no spec %s", quoteWord(r.ID))
	}
	w := &writer{Changes: ledger.NewChanges(fsys), l: load(fsys, ref), ev: ev}
	w.record()
	return w.Edits()
}

// writer records one event in the files of a spec. It works on what was loaded:
// every value of it knows its place.
type writer struct {
	*ledger.Changes
	l  *loader
	ev reprise.Event
}

// cannot says that the files have no place for the event.
func (w *writer) cannot(format string, args ...any) { w.Fail(ledger.Cannot(format, args...)) }

// The steps of QA, which no list in the plan holds.
const (
	stepQAReview = "qa-review"
	stepQAFix    = "qa-fix"
)

func (w *writer) record() {
	switch w.ev.Kind {
	case reprise.RunStarted:
		w.startRun()
	case reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepBlocked, reprise.StepReset:
		w.recordStep()
	case reprise.RunResumed:
		w.resumeRun()
	case reprise.RunEnded:
		w.endRun()
	case reprise.RunStopped:
		w.stopRun()
	case reprise.PhaseEnded:
		w.endPhase()
	case reprise.QuestionAsked, reprise.QuestionAnswered, reprise.AnswerApplied:
		w.recordQuestion()
	default:
		// No version of the program knows an item that is skipped; any word for
		// it would be read as unknown, and as pending by the program.
		w.cannot("%s: a plan has no word for it", w.ev.Kind)
	}
}

func (w *writer) recordStep() {
	id := w.ev.Step
	switch p := w.l.plan; {
	case id == stepQAReview || id == stepQAFix:
		w.recordQA()
	case specPhaseOf(id) != nil && (p == nil || len(p.items) == 0 || !p.lists(id)):
		w.recordSpecPhase(id)
	case !w.planned():
	case !p.lists(id):
		w.cannot("%s lists no item %s", p.file.Path, quoteWord(id))
	default:
		w.recordItem()
	}
}

// planned reports whether there is a plan that can be written to. That there is
// none is the answer to the event.
func (w *writer) planned() bool {
	if w.l.plan != nil {
		return true
	}
	w.refuseBroken()
	w.cannot("there is no plan that could hold it")
	return false
}

// refuseBroken refuses to write while the plan exists and cannot be read.
func (w *writer) refuseBroken() {
	for _, p := range w.l.copies {
		if p.broken {
			w.Structured(p.file.Path)
			w.Fail(w.Damaged(p.file.Path))
		}
	}
}

func (p *plan) lists(id string) bool {
	_, ok := p.ids[id]
	return ok
}

// item gives an item that the plan lists.
func (p *plan) item(id string) *item { return &p.items[p.ids[id]] }

// recordSpecPhase answers for a phase of making the spec. Its file is the only
// record of it, and the agent writes that.
func (w *writer) recordSpecPhase(id string) {
	status := reprise.Pending
	if s := w.l.run.Step(id); s != nil {
		status = s.Status
	} else if w.l.plan != nil && len(w.l.plan.items) > 0 {
		status = reprise.Done // there would be no items else
	}
	want, _ := ledger.Wanted(w.ev.Kind)
	if status != want && !(want == reprise.Done && status.Closed()) {
		w.cannot("%s is shown only by its file %s", id, specPhaseOf(id).file)
	}
}

func specPhaseOf(id string) *specPhase {
	if i := slices.IndexFunc(specPhases, func(s specPhase) bool { return s.id == id }); i >= 0 {
		return &specPhases[i]
	}
	return nil
}

// recordItem brings an item of the plan to what the event says, and the
// records of attempts and commits with it.
func (w *writer) recordItem() {
	want, _ := ledger.Wanted(w.ev.Kind)
	reset := w.ev.Kind == reprise.StepReset
	if reset && w.l.plan.item(w.ev.Step).step.Status == reprise.Done {
		if w.ev.Actor != reprise.Person {
			w.cannot("%s is completed, and only a person takes that back", quoteWord(w.ev.Step))
			return
		}
		w.reopen()
		if w.l.plan.qa == qaApproved {
			w.signOff("pending") // it was given for what is done again
		}
	}
	changed := w.setItem(w.l.plan, want)
	if reset {
		w.resetCopies()
	}
	if w.ev.Kind == reprise.StepStarted && changed {
		w.reopen()
		w.setPlanStatus(w.l.plan, "in_progress", false)
	}
	if w.ev.Kind == reprise.StepFinished {
		w.notOver()
	}
	if changed {
		w.keepCounting(want)
	}
	w.recordAttempt(changed)
	if !reset && w.ev.Kind != reprise.StepStarted {
		w.recordCommit()
	}
}

// setItem sets the status of the event's item in one copy of the plan, in every
// list that holds it, with the times that items of this plan carry.
func (w *writer) setItem(p *plan, want reprise.Status) (changed bool) {
	it := p.item(w.ev.Step)
	if !it.at[0].Is(doc.Map) {
		w.cannot("item %s in %s is plain text without a status", quoteWord(w.ev.Step), p.file.Path)
		return false
	}
	w.Structured(p.file.Path).Because("item %s is %s", quoteWord(w.ev.Step), want)
	for _, at := range it.at {
		if n := w.Now(at.In("status")); n.Node != nil {
			if status, _, known := itemStatus(n.Node); known && status == want {
				continue
			}
		} else if want == reprise.Pending {
			continue // as every version reads an absent status
		}
		w.Set(at.In("status"), p.word(want))
		changed = true
		w.itemTimes(p, at, want)
	}
	if changed {
		w.planTimes(p)
	}
	return changed
}

// itemTimes sets the times of an item: those it has, and those others have.
func (w *writer) itemTimes(p *plan, at ledger.Value, want reprise.Status) {
	keys := []string{"updated_at"}
	switch want {
	case reprise.InProgress:
		keys = append(keys, "started_at")
		// Begun again, it is no longer completed.
		if at.In("completed_at").Is(doc.String) {
			w.Set(at.In("completed_at"), nil)
		}
	case reprise.Done:
		keys = append(keys, "completed_at")
	}
	for _, key := range keys {
		if sample, used := p.sample(key); used && p == w.l.plan {
			w.Stamp(at.In(key), w.ev.At, sample)
		}
	}
}

// sample gives the first time the plan's items have under a key; used is false
// where none of them has the key.
func (p *plan) sample(key string) (text string, used bool) {
	for i := range p.items {
		at := p.items[i].at[0]
		if !at.Is(doc.Map) || !at.Has(key) {
			continue
		}
		used = true
		if v := at.In(key); v.Is(doc.String) && v.Text != "" {
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
func (w *writer) planTimes(p *plan) {
	if p != w.l.plan {
		return
	}
	for _, key := range []string{"updated_at", "last_updated"} {
		if p.root.In(key).Is(doc.String) {
			w.Touch(p.root.In(key), w.ev.At, "")
		}
	}
}

// resetCopies takes the item back in the other copies too, as the desktop
// program's recovery does. A copy that calls it completed keeps that, unless a person
// takes it back.
func (w *writer) resetCopies() {
	for _, p := range w.l.copies {
		if p == w.l.plan || !p.ok() || !p.lists(w.ev.Step) {
			continue
		}
		switch was := p.item(w.ev.Step).step.Status; {
		case was == reprise.Done && w.ev.Actor != reprise.Person, was == reprise.Pending, was == reprise.Unknown:
		default:
			w.setItem(p, reprise.Pending)
		}
	}
}

// keepCounting makes sure that the copy that was changed is still the one that
// counts, and changes the one that would count in its place as well: what was
// taken back here would come back from there.
func (w *writer) keepCounting(want reprise.Status) {
	for range w.l.copies {
		p := w.counting()
		if p == nil || !p.lists(w.ev.Step) {
			break
		}
		if p.item(w.ev.Step).step.Status == want {
			w.agrees(p)
			return
		}
		was := w.copyIn(p.dir)
		if was == nil {
			break
		}
		if !w.setItem(was, want) {
			return
		}
	}
	w.Fail(fmt.Errorf("record in %s: after the change another copy of the plan would count that does not list %s",
		w.l.plan.file.Path, quoteWord(w.ev.Step)))
}

// agrees makes sure that the copy that counts after the change tells the same
// of all other items as the one that counted before.
func (w *writer) agrees(p *plan) {
	for id, at := range w.l.plan.ids {
		now, known := p.ids[id]
		if id != w.ev.Step && (!known || p.items[now].step.Status != w.l.plan.items[at].step.Status) {
			w.Fail(fmt.Errorf("record in %s: after the change the copy in %s would count, and the two do not agree; settle that first",
				w.l.plan.file.Path, strconv.Quote(p.dir)))
		}
	}
}

func (w *writer) copyIn(dir string) *plan {
	if i := slices.IndexFunc(w.l.copies, func(p *plan) bool { return p.dir == dir }); i >= 0 {
		return w.l.copies[i]
	}
	return nil
}

// counting reads the copies as they would be and gives the one that counts.
func (w *writer) counting() *plan {
	after := w.FS()
	l := &loader{fsys: after, rd: doc.NewReader(after), run: &reprise.Run{Ref: w.l.run.Ref}, where: w.l.where}
	l.readCopies()
	return l.plan
}

// word is how this plan spells a status: as its items do, else in the manner of
// the words they have.
func (p *plan) word(want reprise.Status) string {
	own := map[reprise.Status]string{
		reprise.Pending: "pending", reprise.InProgress: "in_progress", reprise.Done: "completed",
		reprise.Blocked: "blocked", reprise.Failed: "failed",
	}
	var words []string
	for i := range p.items {
		for _, c := range p.items[i].step.Claims {
			if meaning(c.Word) != 0 && plainWord(c.Word) {
				words = append(words, c.Word)
			}
		}
	}
	return ledger.SpellWord(own[want], func(word string) bool { return meaning(word) == want }, words...)
}

func plainWord(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_- ") == ""
}

// endPhase accepts the end of a phase, which only its items show.
func (w *writer) endPhase() {
	found := false
	for i := range w.l.run.Steps {
		s := &w.l.run.Steps[i]
		if s.Phase != w.ev.Phase && s.ID != w.ev.Phase {
			continue
		}
		if found = true; !s.Status.Closed() {
			w.cannot("phase %s is told by its items, and %s is open", quoteWord(w.ev.Phase), quoteWord(s.ID))
			return
		}
	}
	if !found {
		w.cannot("no item belongs to a phase %s", quoteWord(w.ev.Phase))
	}
}
