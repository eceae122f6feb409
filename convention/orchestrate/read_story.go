package orchestrate

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// The phases of the development cycle of a story, and who does them.
var cycle = phases{{"create", "sm"}, {"validate", "po"}, {"implement", "dev"}, {"qa", "qa"}}

// phaseStatus is what a class of the story says of one of its phases.
func phaseStatus(c class, phase int) reprise.Status {
	reached := map[class]int{draft: 1, ready: 2, inProgress: 2, blocked: 2, inReview: 3, done: 4}
	switch at, ok := reached[c]; {
	case ok && phase < at:
		return reprise.Done
	case ok && phase > at:
		return reprise.Pending
	}
	return c.status()
}

// say is one ledger's word about the story as a whole.
type say struct {
	ledger string
	class  class
	word   string
	at     reprise.Source
	own    bool // a field in the head of the story itself
}

func (s say) claim() reprise.Claim {
	return reprise.Claim{Ledger: s.ledger, Status: s.class.status(), Word: s.word, Source: s.at}
}

// claim is what the story's own file says of it; ok is false where it says nothing.
func (s *storyDoc) claim() (c reprise.Claim, ok bool) {
	i := s.winner()
	if i < 0 {
		return c, false
	}
	f := s.fields[i]
	return say{ledger: "story", class: f.class, word: f.word, at: s.source(f.line)}.claim(), true
}

// story reads a story run: the file, its copies, its folder, its QA gate, the
// epic's table and the epic state.
func (l *loader) story() {
	run := l.run
	run.Kind = reprise.KindStory
	k := storyKey(run.Path)
	run.Epic, run.Order = k.epicName(), k.order()
	s := readStory(l.r, run.Path)
	if s == nil {
		f := l.r.Open(run.Path)
		if !f.Exists() {
			f.Report(reprise.Warning, reprise.CodeMissingArtifact, 0, "the story file is gone", "")
		}
		l.unreadable("the story file cannot be read")
		return
	}
	run.Title = s.title
	if l.activeIn(s); run.LastActivity.IsZero() {
		run.Active(s.file.MTime, s.source(0))
	}
	own, fields := l.ownSays(s)
	folder, hasFolder := folderSays(run.Path)
	others := l.otherSays(s, k)
	all := append(fields, others...)
	if hasFolder {
		all = append(all, folder)
	}
	won := -1
	if own >= 0 {
		won = own
	}
	if hasFolder && (won < 0 || rankOf(all[won].class) < 4) {
		won = len(all) - 1
	}
	l.cycleSteps(all, won, s.form && (won < 0 || all[won].class == draft))
	run.Steps[2].Traces, run.Steps[2].Files = storyTraces(k), s.files
	if s.branch != "" {
		run.Branch = s.branch
	}
	for _, d := range latest(s.dates, datesKept) {
		run.Dates = append(run.Dates, reprise.Dated{At: d.day, Source: s.source(d.line)})
	}
	l.settle(s, all, own, won)
	if run.State.Open() {
		l.askForLoop(run.Path, k)
	}
	l.cycleArtifacts(all)
	l.drift(all, won)
}

// ownSays gives the fields of the file as claims and the index of the one
// that decides.
func (l *loader) ownSays(s *storyDoc) (own int, out []say) {
	own = -1
	win := s.winner()
	for i, f := range s.fields {
		// Outside of the head, what has no meaning or lost is text about
		// something else; a closing line that says done is not.
		if i != win && !f.head && !(f.closing && f.class == done) {
			continue
		}
		if f.class == noClass {
			continue
		}
		ledger := "story"
		switch {
		case f.front:
			ledger = "story front matter"
		case f.closing && i != win:
			ledger = "story closing line"
		}
		if i == win {
			own = len(out)
		}
		out = append(out, say{ledger, f.class, f.word, s.source(f.line), f.head})
		if f.class <= unknown {
			l.vague(f, s, i == win)
		}
	}
	return own, out
}

// vague reports a status that cannot be understood.
func (l *loader) vague(f field, s *storyDoc, decides bool) {
	severity, why := reprise.Info, "is unknown here"
	if f.class == doubtful {
		why = "says done, and more that may limit it"
	}
	if decides {
		severity = reprise.Warning
	}
	l.report(severity, reprise.CodeUnknownStatus, l.run.ID, s.source(f.line), fmt.Sprintf("the status %s %s", short(f.word, 60), why),
		"write one of Draft, Ready, InProgress, InReview, Done, Blocked")
}

// folderSays is what the folder of a story says of it. Only folders for work
// that has ended decide; active/ and backlog/ are where stories are kept.
func folderSays(p string) (say, bool) {
	for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
		name := path.Base(d)
		if isStories(name) {
			break
		}
		switch strings.Trim(strings.ToLower(name), "_.-") {
		case "done", "completed", "complete", "closed", "finished", "concluidas":
			return say{ledger: "folder", class: done, word: name + "/", at: reprise.Source{File: d}}, true
		case "archive", "archived", "cancelled", "deprecated", "obsolete":
			return say{ledger: "folder", class: dropped, word: name + "/", at: reprise.Source{File: d}}, true
		}
	}
	return say{}, false
}

// cycleSteps writes the four phases with what every ledger says of them. That a
// story is a draft does not make it written: of a mere form nothing is done.
func (l *loader) cycleSteps(all []say, won int, form bool) {
	for i, c := range cycle {
		st := reprise.Step{
			ID: c.name, Title: c.name, Phase: c.name, Role: c.role, Path: l.run.Path,
			Status: reprise.Unknown, Source: reprise.Source{File: l.run.Path},
		}
		for j, s := range all {
			claim := reprise.Claim{Ledger: s.ledger, Status: phaseStatus(s.class, i), Word: s.word, Source: s.at, Won: j == won}
			if form && s.class == draft {
				claim.Status = reprise.Pending
			}
			st.Claims = append(st.Claims, claim)
			if claim.Won {
				st.Status = claim.Status
			}
		}
		if won < 0 {
			if st.Status = reprise.Pending; i == 0 && !form {
				st.Status = reprise.Done // the file is there, and something in it
			}
			if len(st.Claims) > 0 {
				// A gate that passed leaves the closing to be done.
				if all[0].ledger == gateLedger && all[0].class == done {
					st.Claims[0].Status = phaseStatus(inReview, i)
				}
				st.Claims[0].Won, st.Status = true, st.Claims[0].Status
			}
		}
		l.run.Steps = append(l.run.Steps, st)
	}
}

// cycleArtifacts lists what the phases leave besides the story itself: the gate
// of a review that passed. A gate that did not pass finished nothing.
func (l *loader) cycleArtifacts(all []say) {
	for _, g := range all {
		if g.ledger == gateLedger && g.class == done {
			l.run.Artifacts = append(l.run.Artifacts, reprise.Artifact{Name: "QA gate", Path: g.at.File, Presence: reprise.Present, MadeBy: "qa", NeededBy: "close", Source: g.at})
		}
	}
}

// datesKept is how many days of a story are kept for the ranking. More than a
// few lie in the future only where a file is full of plans.
const datesKept = 6

// formOnly is why a story has to be created although its file is there.
const formOnly = "only its template is there: no acceptance criteria and no tasks"

// settle decides the state and what comes next.
func (l *loader) settle(s *storyDoc, all []say, own, won int) {
	run := l.run
	c := noClass
	if won >= 0 {
		c = all[won].class
	}
	if closed, open, ok := dispute(all, own, won); ok && !(closed == won && s.allWorked() && rankOf(all[open].class) < rankOf(inReview)) {
		l.askToClose(all[closed], all[open])
		return
	}
	switch c {
	case done:
		run.State, run.Phase, run.Reason = reprise.Complete, "done", fmt.Sprintf("%s says %s", all[won].ledger, short(all[won].word, 40))
		run.Boxes = s.openBoxes("")
		l.against(s, all)
	case dropped:
		run.State, run.Phase, run.Reason = reprise.Stopped, "dropped", fmt.Sprintf("%s says %s", all[won].ledger, short(all[won].word, 40))
	case blocked:
		run.State, run.Phase, run.Reason = reprise.Waiting, "implement", "the story is marked blocked: "+short(all[won].word, 60)
		l.next("implement", "dev", "once what blocks it is resolved")
	case inReview:
		run.State, run.Phase, run.Reason = reprise.Interrupted, "qa", "implemented and waiting for its review"
		l.next("qa", "qa", "the review is the phase that is open")
		if gatePassed(all) {
			run.Phase, run.Reason = "close", "reviewed with a passed QA gate, but not closed"
			l.next("close", "qa", "the gate passed; only the status was not updated")
		}
	case inProgress:
		l.begun(s, all[won])
	case ready:
		run.State, run.Phase, run.Reason = reprise.NotStarted, "implement", "validated, implementation not begun"
		l.next("implement", "dev", "validated and not begun")
		if s.worked > 0 {
			l.begunInSilence(s, all[won])
		}
	case draft:
		run.State, run.Phase, run.Reason = reprise.NotStarted, "validate", "written, not validated"
		l.next("validate", "po", "a draft is validated before it is implemented")
		if s.form {
			run.Phase, run.Reason = "create", formOnly
			l.next("create", "sm", formOnly)
		}
	case doubtful:
		l.askWhetherDone(all[won].at, fmt.Sprintf("%s says %s", all[won].ledger, short(all[won].word, 80)))
		run.Phase = "implement"
		l.next("implement", "dev", "the status does not say which phase is open; look before you continue")
	case unknown:
		run.State, run.Phase, run.Reason = reprise.Interrupted, "", "its status is unknown here: "+short(all[won].word, 40)
		l.next("implement", "dev", "the status does not say which phase is open; look before you continue")
	default:
		l.noStatus(s)
		if gatePassed(all) {
			run.State, run.Phase, run.Reason = reprise.Interrupted, "close", "the story has no status, but its QA gate passed"
			l.next("close", "qa", "the gate passed; the status was never written")
		}
	}
	l.prerequisite(s)
	if s.waits != "" && run.State == reprise.NotStarted {
		run.State = reprise.Waiting
		run.Reason = "the story names a dependency that is pending and blocking: " + short(s.waits, 80)
		run.Questions = append(run.Questions, reprise.Question{
			ID: "dependency-" + run.ID, Subject: run.ID, Source: s.source(s.waitsLine),
			Text: "Is this resolved: " + doc.Clip(s.waits, 120) + "?",
		})
	}
}

// begun is a story in progress. With every box ticked, only the hand-over for
// review is missing.
func (l *loader) begun(s *storyDoc, won say) {
	run := l.run
	run.State, run.Phase, run.Reason = reprise.Interrupted, "implement", "implementation was begun but not handed over for review"
	switch {
	case s.boxes == 0:
		l.next("implement", "dev", "the implementation is the phase that is open")
		return
	case s.ticked < s.boxes:
		l.next("implement", "dev", fmt.Sprintf("%d of %d boxes are ticked", s.ticked, s.boxes))
		return
	}
	run.Reason = fmt.Sprintf("in progress, but all %d boxes are ticked: the hand-over for review is missing", s.boxes)
	l.next("qa", "qa", "nothing is left to tick; only the status was not updated")
	l.report(reprise.Warning, reprise.CodeStatusDrift, run.ID, won.at, fmt.Sprintf("the status is %s while all %d boxes are ticked", short(won.word, 40), s.boxes),
		"review it, or mark it Done if that has happened")
	l.overtaken(s)
}

// begunInSilence is a story whose status never left Ready while its tasks were
// ticked: the boxes are moved by those who do the work, the status by hand.
func (l *loader) begunInSilence(s *storyDoc, won say) {
	run := l.run
	run.State = reprise.Interrupted
	run.Reason = fmt.Sprintf("its status is still %s, but %d of its %d tasks and criteria are ticked", short(won.word, 40), s.worked, s.work)
	l.next("implement", "dev", fmt.Sprintf("%d of %d tasks and criteria are ticked", s.worked, s.work))
	l.report(reprise.Warning, reprise.CodeStatusDrift, run.ID, won.at, run.Reason, "look at what is done before you continue")
	if s.allWorked() {
		l.next("qa", "qa", "nothing is left to tick; only the status was not updated")
	}
}

// prerequisite: nothing can be implemented or reviewed without criteria; a
// story without them goes back to its validation.
func (l *loader) prerequisite(s *storyDoc) {
	if s.criteria || s.boxes > 0 || (l.run.Phase != "implement" && l.run.Phase != "qa") {
		return
	}
	l.report(reprise.Info, reprise.CodeMissingArtifact, l.run.ID, s.source(0),
		fmt.Sprintf("the story has neither acceptance criteria nor tasks, which %s needs", l.run.Phase), "validate has to run again")
}

// overtaken asks about a story whose boxes are all ticked and whose successor
// is done already: its status was forgotten, and only a person knows.
func (l *loader) overtaken(s *storyDoc) {
	k := storyKey(s.path)
	if len(k.nums) == 0 || k.letter != 0 {
		return
	}
	k.nums[len(k.nums)-1]++
	dir := path.Dir(s.path)
	for _, e := range l.r.Dir(dir) {
		f, ok := storyName(path.Join(dir, e.Name()))
		if e.IsDir() || !ok || !f.key.same(k) {
			continue
		}
		after := readStory(l.r, f.path)
		if after.class() != done {
			continue
		}
		closed, _ := after.claim()
		l.run.State = reprise.Waiting
		l.run.Reason = fmt.Sprintf("in progress with all %d boxes ticked, and its successor %s is done: a person must say whether it is done too", s.boxes, f.key.id)
		l.run.Questions = append(l.run.Questions, reprise.Question{
			ID: closeStory + l.run.ID, Subject: l.run.ID, Source: closed.Source, Options: []string{markDone, reviewIt}, Closed: true,
			Text: fmt.Sprintf("Is story %s done? All its boxes are ticked, and story %s after it is done.", l.run.ID, f.key.id),
		})
		return
	}
}

// noStatus is for a story that says nothing of its status: it is not done, and
// its boxes are all there is to go by.
func (l *loader) noStatus(s *storyDoc) {
	run := l.run
	run.State, run.Phase, run.Reason = reprise.NotStarted, "", "the story has no status"
	if s.ticked > 0 {
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the story has no status; %d of %d boxes are ticked", s.ticked, s.boxes)
	}
	l.next("validate", "po", "without a status it counts as not validated")
	if s.form {
		run.Phase = "create"
		l.next("create", "sm", formOnly)
	}
	l.report(reprise.Info, reprise.CodeAmbiguous, run.ID, s.source(0), run.Reason, "write its status into the story's head")
}

func (l *loader) next(phase, role, why string) {
	l.run.Next = []reprise.Unit{{ID: l.run.ID, Path: l.run.Path, Title: l.run.Title, Phase: phase, Role: role, Reason: why}}
}

// dispute finds a ledger that calls the story done and one that does not. The
// story is done when its own fields agree about it, or one of them has a
// witness; that it was filed as finished settles it too. A QA gate does not count: it is the verdict that
// lets a story be closed, not the closing.
func dispute(all []say, own, won int) (closed, open int, ok bool) {
	if won < 0 {
		return 0, 0, false
	}
	switch {
	case rankOf(all[won].class) < 4:
		for i, s := range all {
			if i != won && s.class == done && s.ledger != gateLedger {
				return i, won, true
			}
		}
	case won == own && all[won].class == done && !witnessed(all):
		for i, s := range all {
			if i != won && s.own && s.class > unknown && rankOf(s.class) < 4 {
				return won, i, true
			}
		}
	}
	return 0, 0, false
}

// allWorked reports whether every task and criterion is ticked. Where one field
// of a story says done, that is a witness against one that says it was not even
// handed over; it is none against a review, before which all is ticked, too.
func (s *storyDoc) allWorked() bool { return s.work > 0 && s.worked == s.work }

// witnessed reports whether another file calls the story done, too.
func witnessed(all []say) bool {
	return slices.ContainsFunc(all, func(s say) bool { return s.class == done && !s.own && !strings.HasPrefix(s.ledger, "story") })
}

// askToClose: nothing but the bookkeeping seems to be left, and only a person
// can say so.
func (l *loader) askToClose(closed, open say) {
	l.askWhetherDone(closed.at, fmt.Sprintf("%s says %s, %s says %s", closed.ledger, short(closed.word, 40), open.ledger, short(open.word, 40)))
}

// closeStory begins the id of the question whether a story is done, which is answered
// with one of the others.
const closeStory, markDone, reviewIt, notDoneYet = "close-", "mark Done", "review it", "continue"

// askWhetherDone asks a person about a story of which its ledgers leave that open.
func (l *loader) askWhetherDone(at reprise.Source, said string) {
	run := l.run
	run.State, run.Phase, run.Reason = reprise.Waiting, "close", said+": a person must say whether it is done"
	run.Questions = append(run.Questions, reprise.Question{
		ID: closeStory + run.ID, Subject: run.ID, Options: []string{markDone, notDoneYet}, Closed: true, Source: at,
		Text: fmt.Sprintf("Is story %s done? %s.", run.ID, said),
	})
	l.next("close", "po", "only the bookkeeping seems to be left")
}

func gatePassed(all []say) bool {
	return slices.ContainsFunc(all, func(s say) bool { return s.ledger == gateLedger && s.class == done })
}

// drift reports ledgers that disagree with the one that won.
func (l *loader) drift(all []say, won int) {
	if won < 0 {
		return
	}
	w := all[won]
	for i, s := range all {
		if i == won || s.class <= unknown || s.class == w.class || (s.ledger == gateLedger && s.class != done) {
			continue
		}
		if s.ledger == stateLedger && s.class.status() == w.class.status() {
			continue // a state knows no difference between a draft and a validated story
		}
		severity := reprise.Warning
		if rankOf(s.class) < 4 && (rankOf(w.class) < 4 || s.ledger == stateLedger) {
			severity = reprise.Info // how far it is, not whether it is over; or a state left behind
		}
		hint := "correct the one that was not updated"
		if s.ledger == gateLedger {
			hint = "the gate passed: close the story"
		}
		l.report(severity, reprise.CodeStatusDrift, l.run.ID, s.at, fmt.Sprintf("%s says %s (%s), %s at %s says %s (%s), which counts",
			s.ledger, short(s.word, 40), s.class, w.ledger, w.at, short(w.word, 40), w.class), hint)
	}
}

// openBoxes gives the boxes of its tasks and criteria that are not ticked, as those of a
// step.
func (s *storyDoc) openBoxes(step string) (out []reprise.Box) {
	for _, c := range s.unticked {
		out = append(out, reprise.Box{Step: step, Text: c.Text, Source: s.source(c.Line)})
	}
	return out
}
