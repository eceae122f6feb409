package engine

import (
	"cmp"
	"fmt"
	"slices"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/project"
)

// lists reports whether the run is a list, in which an attempt closes its own step and no
// other, and anyone can tick a box at any time.
func (w *work) lists() bool { return convention.Of(w.ref.Layout).Open != nil }

// wrote gives what the files say of a step whose attempt is over, where that is neither
// done nor open, or where its agent wrote into its entry that it is not finished: we wrote
// that it was started, so its agent wrote that. What is only read from the file that it was
// to leave is no one's word.
func (w *work) wrote(id string, expect []reprise.Expected) *Wrote {
	was := slices.IndexFunc(w.hist.Listed, func(l reprise.Listed) bool { return l.ID == id })
	listed := w.lists() && was >= 0
	if listed && w.files.State == reprise.Unreadable {
		return &Wrote{Status: reprise.Unknown, Text: "left " + w.ref.Path + " behind, and " + w.files.Reason}
	}
	if step := w.run.Step(id); step != nil && step.Removed != nil {
		return &Wrote{Status: reprise.Unknown, Text: "took it out of " + step.Source.File, Was: step.Removed}
	}
	step := w.files.Step(id)
	if step == nil || project.ByPresence(step, expect) {
		return nil
	}
	left := "" // its own words tell more than how they are read
	if listed && step.Status != reprise.InReview {
		left = convention.Of(w.ref.Layout).Left(w.led.Files(), w.files, w.hist.Listed[was])
	}
	switch {
	case step.Status == reprise.Unknown && !w.lists():
		// Where a status is put together from several files, we may have started what
		// cannot be read.
	case slices.Contains([]reprise.Status{reprise.Blocked, reprise.Failed, reprise.Skipped, reprise.Unknown}, step.Status):
		return &Wrote{Status: step.Status, Text: cmp.Or(left, w.inWords(step))}
	case left != "":
		return &Wrote{Status: reprise.Unknown, Text: left}
	}
	return nil
}

// inWords is what the files say of a step, and where.
func (w *work) inWords(step *reprise.Step) string {
	at, word := step.Source, step.Status.String()
	for _, c := range step.Claims {
		if c.Won {
			at, word = c.Source, c.Word
		}
	}
	text := fmt.Sprintf("left it marked %q in %s: %q", word, at, step.Title)
	for _, f := range w.files.Findings {
		if f.Subject == step.ID && f.Code == reprise.CodeAmbiguous {
			text += ": " + f.Message
		}
	}
	return text
}

// contradicted tells what comes of an attempt whose agent wrote of its step that it is not
// done, whatever its end says: that is not written over, unless a person says so. ok is
// false if it wrote no such thing.
func contradicted(s *Seen) (e Ending, ok bool) {
	if s.Wrote == nil || s.Landed == provedByPerson {
		return e, false
	}
	switch s.Wrote.Status {
	case reprise.Blocked:
		return blocked(s, "its agent "+s.Wrote.Text), true
	case reprise.Failed:
		return failed(s, agent.Failed, "its agent "+s.Wrote.Text), true
	}
	e = askWhatHappened(s)
	if e.Outcome == "" && s.Result.Outcome != "" {
		e.Outcome, e.Text = "question", "its agent "+s.Wrote.Text
	}
	return e, true
}
