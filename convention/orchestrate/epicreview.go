package orchestrate

import (
	"fmt"
	"slices"

	"reprise"
	"reprise/internal/doc"
)

// lapOf gives the QA loop that speaks of a story: an open one before one that
// has ended, nil if there is none.
func (l *loader) lapOf(story string) *loader {
	if !l.lapped {
		l.lapped = true
		for _, p := range survey(l.r.FS()).states {
			if shapeOf(p) != loopShape {
				continue
			}
			o := &loader{r: doc.NewReader(l.r.FS()), run: &reprise.Run{Ref: stateRef(p)}, names: l.storyFiles(), asked: true, nested: true}
			o.dispatch()
			l.laps = append(l.laps, o)
		}
	}
	var found *loader
	for _, o := range l.laps {
		speaks := slices.ContainsFunc(o.run.Also, func(a reprise.Ref) bool { return a.Kind == reprise.KindStory && a.Path == story })
		if speaks && (found == nil || o.run.State.Open() && !found.run.State.Open()) {
			found = o
		}
	}
	return found
}

// reviewClaims adds what the reviews of a story say of it: its QA loop and its
// QA gate. A review that is open, or that sent the story back, makes it open
// whatever the epic state says; only the story's own file outruns it, as it
// does everywhere. A review that passed closes nothing by itself.
func (l *loader) reviewClaims(step *reprise.Step, k key) {
	if l.nested {
		return // read for its name alone
	}
	closed := slices.ContainsFunc(step.Claims, func(c reprise.Claim) bool { return c.Source.File == step.Path && c.Status.Closed() })
	if o := l.lapOf(step.Path); o != nil && o.run.State != reprise.NotStarted {
		claim := lapClaim(o)
		// A loop that reviewed nothing yet tells nothing of a story that is not made.
		begun := step.Status == reprise.InReview || slices.ContainsFunc(o.lap.entries, func(e loopEntry) bool { return e.verdict != "" })
		l.review(step, claim, closed, begun, fmt.Sprintf("its QA loop stands at %s, %s", quote(claim.Word), o.run.Phase))
	}
	for _, g := range l.gateSays(step.Path, k) {
		if g.ledger == gateLedger {
			claim := reprise.Claim{Ledger: gateLedger, Status: g.class.status(), Word: g.word, Source: g.at}
			l.review(step, claim, closed, false, "its QA gate says "+quote(g.word))
		}
	}
}

// heldBy gives the QA loop that decides how far a story is, nil if none does.
func (l *loader) heldBy(s *reprise.Step) *loader {
	if !slices.ContainsFunc(s.Claims, func(c reprise.Claim) bool { return c.Won && c.Ledger == loopLedger }) {
		return nil
	}
	return l.lapOf(s.Path)
}

// lapClaim is what a loop says of its story.
func lapClaim(o *loader) reprise.Claim {
	lp := o.lap
	c := reprise.Claim{Ledger: loopLedger, Status: reprise.InReview, Word: lp.last, Source: lp.at}
	if n := len(lp.entries); n > 0 {
		c.Source = lp.entries[n-1].at
	}
	if c.Word == "" {
		c.Word = lp.word
	}
	if c.Source.File == "" {
		c.Source.File = o.run.Path
	}
	if o.run.State == reprise.Complete && verdict(lp.last) == reprise.Done {
		c.Status = reprise.Done
	} else if _, _, role := o.loopPoint(lp); role == "dev" {
		c.Status = reprise.InProgress // sent back and not fixed
	}
	return c
}

// review holds one claim of a review against a story. It decides where the story
// would be closed without it, or if leads is set. what says in words how the
// review stands; closed is whether the story's own file closes it.
func (l *loader) review(step *reprise.Step, claim reprise.Claim, closed, leads bool, what string) {
	open := claim.Status == reprise.InProgress || claim.Status == reprise.InReview
	was := step.Status
	if open && !closed && was != reprise.Skipped && (leads || was.Closed()) {
		for i := range step.Claims {
			step.Claims[i].Won = false
		}
		claim.Won, step.Status = true, claim.Status
	}
	step.Claims = append(step.Claims, claim)
	if !open || !was.Closed() || was == reprise.Skipped || closed && claim.Ledger == gateLedger {
		return // a gate that failed is left lying when the story passes the next review
	}
	f := reprise.Finding{
		Code: reprise.CodeFalseCompletion, Severity: reprise.Warning, Subject: step.ID, Source: claim.Source,
		Message: "the epic state calls it done, and " + what + ": it is not done before that review is behind it",
		Hint:    "go on with the review; or close it by hand if the work was accepted",
	}
	if closed {
		f.Message = "the story says that it is done, and " + what
		f.Hint = "close the review if the work was accepted, or open the story again"
	}
	l.r.Report(f)
}
