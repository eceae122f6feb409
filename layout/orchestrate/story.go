package orchestrate

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"reprise"
	"reprise/internal/doc"
)

// The phases of the development cycle of a story, and who does them.
var cycle = []struct{ phase, role string }{
	{"create", "sm"}, {"validate", "po"}, {"implement", "dev"}, {"qa", "qa"},
}

// phaseStatus is what a class of the story says of one of its phases.
func phaseStatus(c class, phase int) reprise.Status {
	reached := map[class]int{draft: 1, ready: 2, inProgress: 2, blocked: 2, inReview: 3, done: 4}
	at, ok := reached[c]
	switch {
	case c == dropped:
		return reprise.Skipped
	case !ok:
		return reprise.Unknown
	case phase < at:
		return reprise.Done
	case phase > at:
		return reprise.Pending
	}
	switch c {
	case inProgress:
		return reprise.InProgress
	case inReview:
		return reprise.InReview
	case blocked:
		return reprise.Blocked
	}
	return reprise.Pending
}

// say is one ledger's word about the story as a whole.
type say struct {
	ledger string
	class  class
	word   string
	at     reprise.Source
}

// story reads a story run: the file, its copies, its folder, its QA gate, the
// epic's table and the epic state.
func (l *loader) story() {
	run := l.run
	run.Kind = reprise.KindStory
	k := storyKey(run.Path)
	run.Epic, run.Order = k.epicName(), k.order()
	s := readSheet(l.r, run.Path)
	if s == nil {
		f := l.r.Open(run.Path)
		if !f.Exists() {
			f.Report(reprise.Warning, reprise.CodeMissingArtifact, 0, "the story file is gone", "")
		}
		l.unreadable("the story file cannot be read")
		return
	}
	run.Title = s.title
	if d := newest(s.dates, s.file.MTime); !d.day.IsZero() {
		run.Active(d.day, s.source(d.line))
	} else {
		run.Active(s.file.MTime, s.source(0))
	}
	own, fields := l.ownSays(s)
	folder, hasFolder := folderSay(run.Path)
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
	l.cycleSteps(all, won)
	l.traces(s)
	l.settle(s, all, own, won)
	l.drift(all, won)
}

// ownSays gives the fields of the file as claims and the index of the one
// that decides.
func (l *loader) ownSays(s *sheet) (own int, out []say) {
	own = -1
	win := s.winner()
	for i, f := range s.fields {
		// Outside of the head, what has no meaning or lost is text about
		// something else; a closing line that says done is not.
		if i != win && !f.head && !(f.heading && f.class > unknown) && !(f.closing && f.class == done) {
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
		out = append(out, say{ledger, f.class, f.word, s.source(f.line)})
		if f.class == unknown {
			severity := reprise.Info
			if i == win {
				severity = reprise.Warning
			}
			l.r.Report(reprise.Finding{
				Code: reprise.CodeUnknownStatus, Severity: severity, Subject: l.run.ID, Source: s.source(f.line),
				Message: fmt.Sprintf("the status %s has no meaning here", strconv.Quote(doc.Clip(f.word, 60))),
				Hint:    "write one of Draft, Ready, InProgress, InReview, Done, Blocked",
			})
		}
	}
	return own, out
}

// folderSay is what the folder of a story says of it. Only folders for work
// that has ended decide; active/ and backlog/ are where stories are kept.
func folderSay(p string) (say, bool) {
	for d := path.Dir(p); d != "." && d != "/"; d = path.Dir(d) {
		name := path.Base(d)
		if isStories(name) {
			break
		}
		switch strings.ToLower(name) {
		case "done", "completed", "complete", "closed", "finished", "concluidas":
			return say{"folder", done, name + "/", reprise.Source{File: d}}, true
		case "archive", "archived", "cancelled", "deprecated", "obsolete":
			return say{"folder", dropped, name + "/", reprise.Source{File: d}}, true
		}
	}
	return say{}, false
}

// cycleSteps writes the four phases with what every ledger says of them.
func (l *loader) cycleSteps(all []say, won int) {
	for i, c := range cycle {
		st := reprise.Step{
			ID: c.phase, Title: c.phase, Phase: c.phase, Role: c.role, Path: l.run.Path,
			Status: reprise.Unknown, Source: reprise.Source{File: l.run.Path},
		}
		for j, s := range all {
			claim := reprise.Claim{Ledger: s.ledger, Status: phaseStatus(s.class, i), Word: s.word, Source: s.at, Won: j == won}
			st.Claims = append(st.Claims, claim)
			if claim.Won {
				st.Status = claim.Status
			}
		}
		if won < 0 {
			if st.Status = reprise.Pending; i == 0 {
				st.Status = reprise.Done // the file is there
			}
			if len(st.Claims) > 0 {
				st.Claims[0].Won, st.Status = true, st.Claims[0].Status
			}
		}
		l.run.Steps = append(l.run.Steps, st)
	}
}

// tracesKept is how many days of a story are kept. More than a few lie in the
// future only where a file is full of plans.
const tracesKept = 6

// traceLedger is the name of days written in a story. They testify that the
// file existed by then, and give the ranking the latest day that is not in the
// future: here is no clock to tell.
const traceLedger = "dated line"

// traces adds the latest days written in the story to its first phase.
func (l *loader) traces(s *sheet) {
	step := &l.run.Steps[0]
	for _, d := range latest(s.dates, tracesKept) {
		step.Claims = append(step.Claims, reprise.Claim{
			Ledger: traceLedger, Status: reprise.Done, Word: d.day.Format("2006-01-02"), Source: s.source(d.line), At: d.day,
			Won: len(step.Claims) == 0,
		})
	}
}

// settle decides the state and what comes next.
func (l *loader) settle(s *sheet, all []say, own, won int) {
	run := l.run
	c := noClass
	if won >= 0 {
		c = all[won].class
	}
	if disputed := disputes(all, own, won); disputed >= 0 && rankOf(c) < 4 {
		d := all[disputed]
		run.State = reprise.Waiting
		run.Reason = fmt.Sprintf("the story says %s, %s says %s: a person has to say whether it is done", c, d.ledger, strconv.Quote(doc.Clip(d.word, 40)))
		run.Phase = "close"
		run.Questions = append(run.Questions, reprise.Question{
			ID: "close-" + run.ID, Subject: run.ID, Options: []string{"mark Done", "go on"}, Source: d.at,
			Text: fmt.Sprintf("Is story %s done? %s says %s, the story itself says %s.", run.ID, d.ledger, strconv.Quote(doc.Clip(d.word, 40)), c),
		})
		l.next("close", "po", "only the bookkeeping seems to be left")
		return
	}
	switch c {
	case done:
		run.State, run.Phase, run.Reason = reprise.Complete, "done", fmt.Sprintf("%s says %s", all[won].ledger, strconv.Quote(doc.Clip(all[won].word, 40)))
	case dropped:
		run.State, run.Phase, run.Reason = reprise.Stopped, "dropped", fmt.Sprintf("%s says %s", all[won].ledger, strconv.Quote(doc.Clip(all[won].word, 40)))
	case blocked:
		run.State, run.Phase, run.Reason = reprise.Waiting, "implement", "the story is called blocked: "+strconv.Quote(doc.Clip(all[won].word, 60))
		l.next("implement", "dev", "once what blocks it is resolved")
	case inReview:
		run.State, run.Phase, run.Reason = reprise.Interrupted, "qa", "implemented and waiting for its review"
		l.next("qa", "qa", "the review is the phase that is open")
	case inProgress:
		run.State, run.Phase, run.Reason = reprise.Interrupted, "implement", "implementation was begun and not handed over for review"
		if s.boxes > 0 && s.ticked == s.boxes {
			run.Reason = fmt.Sprintf("in progress, but all %d boxes are ticked: the hand-over for review is missing", s.boxes)
			l.next("qa", "qa", "nothing is left to tick; only the status was not moved")
			l.r.Report(reprise.Finding{
				Code: reprise.CodeStatusDrift, Severity: reprise.Warning, Subject: run.ID, Source: all[won].at,
				Message: fmt.Sprintf("the status is %s while all %d boxes are ticked", strconv.Quote(doc.Clip(all[won].word, 40)), s.boxes),
				Hint:    "review it, or mark it Done if that has happened",
			})
			break
		}
		l.next("implement", "dev", fmt.Sprintf("%d of %d boxes are ticked", s.ticked, s.boxes))
	case ready:
		run.State, run.Phase, run.Reason = reprise.NotStarted, "implement", "validated, implementation not begun"
		l.next("implement", "dev", "validated and not begun")
	case draft:
		run.State, run.Phase, run.Reason = reprise.NotStarted, "validate", "written, not validated"
		l.next("validate", "po", "a draft is validated before it is implemented")
	case unknown:
		run.State, run.Phase, run.Reason = reprise.Interrupted, "", "its status has no meaning here: "+strconv.Quote(doc.Clip(all[won].word, 40))
		l.next("implement", "dev", "the status does not say which phase is open; look before going on")
	default:
		l.noStatus(s)
	}
	if s.waits != "" && run.State == reprise.NotStarted {
		run.State = reprise.Waiting
		run.Reason = "the story names a dependency that is pending and blocking: " + strconv.Quote(doc.Clip(s.waits, 80))
		run.Questions = append(run.Questions, reprise.Question{
			ID: "dependency-" + run.ID, Subject: run.ID, Source: s.source(s.waitsLine),
			Text: "Is this resolved: " + doc.Clip(s.waits, 120) + "?",
		})
	}
}

// noStatus is for a story that says nothing of its status: it is not done, and
// its boxes are all there is to go by.
func (l *loader) noStatus(s *sheet) {
	run := l.run
	run.State, run.Phase, run.Reason = reprise.NotStarted, "", "the story has no status"
	if s.ticked > 0 {
		run.State, run.Reason = reprise.Interrupted, fmt.Sprintf("the story has no status; %d of %d boxes are ticked", s.ticked, s.boxes)
	}
	l.next("validate", "po", "without a status it counts as not validated")
	l.r.Report(reprise.Finding{
		Code: reprise.CodeAmbiguous, Severity: reprise.Info, Subject: run.ID, Source: s.source(0),
		Message: run.Reason, Hint: "write its status into the story's head",
	})
}

func (l *loader) next(phase, role, why string) {
	l.run.Next = []reprise.Unit{{ID: l.run.ID, Path: l.run.Path, Title: l.run.Title, Phase: phase, Role: role, Reason: why}}
}

// disputes returns the index of a ledger that calls the story done while it
// does not itself, -1 if there is none. A QA gate does not count: it is the
// verdict that lets a story be closed, not the closing.
func disputes(all []say, own, won int) int {
	for i, s := range all {
		if i != won && i != own && s.class == done && s.ledger != gateLedger {
			return i
		}
	}
	return -1
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
		severity := reprise.Warning
		if rankOf(s.class) < 4 && rankOf(w.class) < 4 {
			severity = reprise.Info // they disagree about how far, not about whether it is over
		}
		hint := "correct the one that was not updated"
		if s.ledger == gateLedger {
			hint = "the gate passed: close the story"
		}
		l.r.Report(reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: severity, Subject: l.run.ID, Source: s.at,
			Message: fmt.Sprintf("%s says %s (%s), %s at %s says %s (%s), which is taken",
				s.ledger, strconv.Quote(doc.Clip(s.word, 40)), s.class, w.ledger, w.at, strconv.Quote(doc.Clip(w.word, 40)), w.class),
			Hint: hint,
		})
	}
}
