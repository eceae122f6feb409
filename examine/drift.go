package examine

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// Drift is what the combination of a saved state and a unit's own file means. A severity
// of zero means that they agree.
type Drift struct {
	Severity reprise.Severity
	Meaning  string
	Hint     string
}

// Hints that several pairs share.
const (
	hintRedo    = "close it in the saved state if the work is complete, or reset the file's status if it is not"
	hintReset   = "start the step again, or restore the file's status if the reset was a mistake"
	hintDropped = "remove it from the saved state, or restore the file's status if it is still wanted"
	hintLook    = "look at the work itself, then correct the one that was not updated"
	hintUpdate  = "correct the one that was not updated"
	hintWord    = "replace the status with a word that the format knows"
	hintOwner   = "make sure that no one else is working on it before you continue"
)

// drifts holds every pair: the saved state's status first, then that of the unit's own
// file. A pair blocks if resuming would be wrong: work that this workflow considers open
// but that was finished, given up or reset elsewhere would be repeated or wasted.
var drifts = map[[2]reprise.Status]Drift{
	{reprise.Pending, reprise.Pending}:    {0, "valid: not begun, or validated while the workflow paused", ""},
	{reprise.Pending, reprise.InProgress}: {reprise.Warning, "it was begun outside this workflow", hintOwner},
	{reprise.Pending, reprise.InReview}:   {reprise.Warning, "it was done outside this workflow and waits for review", hintLook},
	{reprise.Pending, reprise.Done}:       {reprise.Warning, "it was completed outside this workflow before its turn came", hintUpdate},
	{reprise.Pending, reprise.Failed}:     {reprise.Warning, "it was tried outside this workflow and failed", hintLook},
	{reprise.Pending, reprise.Blocked}:    {reprise.Warning, "it waits for something unknown to this workflow", "see what it waits for before you start it"},
	{reprise.Pending, reprise.Skipped}:    {reprise.Warning, "it was given up outside this workflow", hintDropped},
	{reprise.Pending, reprise.Unknown}:    {reprise.Warning, "the status in its file is unknown, so it may have been begun", hintWord},

	{reprise.InProgress, reprise.Pending}:    {reprise.Blocking, "it was reset, so the saved state is stale", hintReset},
	{reprise.InProgress, reprise.InProgress}: {0, "consistent: safe to resume", ""},
	{reprise.InProgress, reprise.InReview}:   {reprise.Info, "it was done, but the saved state was not updated", "continue with the review"},
	{reprise.InProgress, reprise.Done}:       {reprise.Blocking, "it was completed outside this workflow", hintRedo},
	{reprise.InProgress, reprise.Failed}:     {reprise.Warning, "it failed, and the saved state was not updated", hintLook},
	{reprise.InProgress, reprise.Blocked}:    {reprise.Warning, "it waits for something, and the saved state was not updated", "see what it waits for before you continue"},
	{reprise.InProgress, reprise.Skipped}:    {reprise.Blocking, "it was given up outside this workflow", hintDropped},
	{reprise.InProgress, reprise.Unknown}:    {reprise.Warning, "the status in its file is unknown; only the saved state counts", hintWord},

	{reprise.InReview, reprise.Pending}:    {reprise.Blocking, "it was reset while under review, so the saved state is stale", hintReset},
	{reprise.InReview, reprise.InProgress}: {reprise.Warning, "it was sent back for more work, or never handed over", "finish the work before the review"},
	{reprise.InReview, reprise.InReview}:   {0, "consistent: the review is open", ""},
	{reprise.InReview, reprise.Done}:       {reprise.Blocking, "its QA was completed outside this workflow", hintRedo},
	{reprise.InReview, reprise.Failed}:     {reprise.Warning, "it did not pass, and the saved state was not updated", hintLook},
	{reprise.InReview, reprise.Blocked}:    {reprise.Warning, "its review waits for something, and the saved state was not updated", "see what it waits for before you continue"},
	{reprise.InReview, reprise.Skipped}:    {reprise.Blocking, "it was given up outside this workflow while under review", hintDropped},
	{reprise.InReview, reprise.Unknown}:    {reprise.Warning, "the status in its file is unknown; only the saved state mentions a review", hintWord},

	{reprise.Done, reprise.Pending}:    {reprise.Warning, "it was reset after it was done, or its file was never updated", hintLook},
	{reprise.Done, reprise.InProgress}: {reprise.Warning, "it was reopened after it was done, or its file was never updated", hintLook},
	{reprise.Done, reprise.InReview}:   {reprise.Warning, "it counts as done here, but its file still waits for review", "review it, or mark it done in its file"},
	{reprise.Done, reprise.Done}:       {0, "consistent: nothing is left", ""},
	{reprise.Done, reprise.Failed}:     {reprise.Warning, "it counts as done here, but its file says it failed", hintLook},
	{reprise.Done, reprise.Blocked}:    {reprise.Warning, "it counts as done here, but its file waits for something", hintLook},
	{reprise.Done, reprise.Skipped}:    {reprise.Info, "it is closed on both sides: done here, skipped there", hintUpdate},
	{reprise.Done, reprise.Unknown}:    {reprise.Warning, "it counts as done here, but the status in its file is unknown", hintWord},

	{reprise.Failed, reprise.Pending}:    {reprise.Info, "it was reset after it failed and can be retried", hintUpdate},
	{reprise.Failed, reprise.InProgress}: {reprise.Warning, "it was resumed outside this workflow", hintOwner},
	{reprise.Failed, reprise.InReview}:   {reprise.Warning, "it was done outside this workflow after it failed here", "review it instead of retrying it"},
	{reprise.Failed, reprise.Done}:       {reprise.Blocking, "it was completed outside this workflow after it failed here", hintRedo},
	{reprise.Failed, reprise.Failed}:     {0, "consistent: it failed", ""},
	{reprise.Failed, reprise.Blocked}:    {reprise.Info, "it failed here, and its file says what it waits for", "see what it waits for before you retry it"},
	{reprise.Failed, reprise.Skipped}:    {reprise.Blocking, "it was given up after it failed, so do not retry it", hintDropped},
	{reprise.Failed, reprise.Unknown}:    {reprise.Warning, "it failed here, and the status in its file is unknown", hintWord},

	{reprise.Blocked, reprise.Pending}:    {reprise.Info, "what it waits for may be resolved: its file says it is ready", "check whether it still waits"},
	{reprise.Blocked, reprise.InProgress}: {reprise.Warning, "it was begun outside this workflow, so it no longer waits", hintOwner},
	{reprise.Blocked, reprise.InReview}:   {reprise.Warning, "it was done outside this workflow, so it no longer waits", hintLook},
	{reprise.Blocked, reprise.Done}:       {reprise.Warning, "it was completed outside this workflow, so it no longer waits", hintUpdate},
	{reprise.Blocked, reprise.Failed}:     {reprise.Warning, "it was tried outside this workflow and failed", hintLook},
	{reprise.Blocked, reprise.Blocked}:    {0, "consistent: it waits", ""},
	{reprise.Blocked, reprise.Skipped}:    {reprise.Warning, "it was given up outside this workflow, so it no longer waits", hintDropped},
	{reprise.Blocked, reprise.Unknown}:    {reprise.Warning, "it waits here, and the status in its file is unknown", hintWord},

	{reprise.Skipped, reprise.Pending}:    {reprise.Info, "it was skipped here and is not begun", hintUpdate},
	{reprise.Skipped, reprise.InProgress}: {reprise.Warning, "it was skipped here and is in progress outside this workflow", hintOwner},
	{reprise.Skipped, reprise.InReview}:   {reprise.Warning, "it was skipped here and done outside this workflow", hintLook},
	{reprise.Skipped, reprise.Done}:       {reprise.Info, "it is closed on both sides: skipped here, done there", hintUpdate},
	{reprise.Skipped, reprise.Failed}:     {reprise.Info, "it was skipped here after it failed", hintUpdate},
	{reprise.Skipped, reprise.Blocked}:    {reprise.Info, "it was skipped here while it waits", hintUpdate},
	{reprise.Skipped, reprise.Skipped}:    {0, "consistent: it was skipped", ""},
	{reprise.Skipped, reprise.Unknown}:    {reprise.Warning, "it was skipped here, and the status in its file is unknown", hintWord},

	{reprise.Unknown, reprise.Pending}:    {reprise.Warning, "the saved status is unknown; its file says it is not begun", hintWord},
	{reprise.Unknown, reprise.InProgress}: {reprise.Warning, "the saved status is unknown; its file says it was begun", hintWord},
	{reprise.Unknown, reprise.InReview}:   {reprise.Warning, "the saved status is unknown; its file waits for review", hintWord},
	{reprise.Unknown, reprise.Done}:       {reprise.Warning, "the saved status is unknown; its file says it is done", hintWord},
	{reprise.Unknown, reprise.Failed}:     {reprise.Warning, "the saved status is unknown; its file says it failed", hintWord},
	{reprise.Unknown, reprise.Blocked}:    {reprise.Warning, "the saved status is unknown; its file waits for something", hintWord},
	{reprise.Unknown, reprise.Skipped}:    {reprise.Warning, "the saved status is unknown; its file says it was given up", hintWord},
	{reprise.Unknown, reprise.Unknown}:    {reprise.Warning, "both the saved status and the one in its file are unknown", hintWord},
}

// DriftOf returns the meaning of a pair of statuses. Every pair is defined; ok is false
// only if one of them is unset and there is nothing to compare.
func DriftOf(saved, own reprise.Status) (d Drift, ok bool) {
	d, ok = drifts[[2]reprise.Status{saved, own}]
	return d, ok
}

// validated reports whether the word for a unit not yet begun permits beginning it:
// Ready, unlike Draft. Agents rarely mark the beginning in the unit's own file, so Ready
// next to a begun state is not a reset.
func validated(word string) bool {
	w := fold(word)
	if strings.Contains(w, "draft") || strings.Contains(w, "rascunho") {
		return false
	}
	return w == "go" || slices.ContainsFunc([]string{"ready", "approved", "validated", "aprovad", "validad", "pront"}, func(s string) bool {
		return strings.Contains(w, s)
	})
}

// driftBetween is DriftOf for two claims, taking their words into account.
func driftBetween(saved, own reprise.Claim) (Drift, bool) {
	if own.Status == reprise.Pending && validated(own.Word) {
		switch saved.Status {
		case reprise.InProgress:
			return Drift{reprise.Info, "its beginning was not marked in its file", hintUpdate}, true
		case reprise.InReview:
			return Drift{reprise.Warning, "its file shows neither its beginning nor its end", hintLook}, true
		}
	}
	return DriftOf(saved.Status, own.Status)
}

// statusDrift compares the saved state's status of a unit with that of the unit's own
// file. If no file of the unit carries a status, the reader has already compared the
// ledgers by the rules of its format.
func statusDrift(r *reprise.Run, o *World) []reprise.Finding {
	if r.Kind.Facts().Inert {
		return nil
	}
	var out []reprise.Finding
	for i := range r.Steps {
		s := &r.Steps[i]
		saved, own, ok := sides(r, s)
		if !ok {
			continue
		}
		d, ok := driftBetween(saved, own)
		if s.Ours && saved.Status == reprise.InProgress && own.Status == reprise.Pending {
			// We began it, and its first phases do not change the unit's file.
			d = Drift{reprise.Info, "it was begun here and its file is not marked yet", hintUpdate}
		}
		if own.Status == reprise.Done && (s.Ours && saved.Status == reprise.InProgress || doneHere(r, s, o.Peers)) {
			// We did it; the engine was stopped before it could record the end, or worked
			// on the unit alone.
			d = Drift{reprise.Info, "it was begun here and is done; the saved state was not updated", hintUpdate}
		}
		if saved.Status == reprise.Failed && (own.Status == reprise.InProgress || own.Status == reprise.InReview) && leftHere(s, o.Peers) {
			d = Drift{reprise.Info, "it failed here, and its file shows how far it got", "find out why it failed before you retry it"}
		}
		if own.Status == reprise.Done && d.Severity == reprise.Blocking && onlyCloses(r) {
			d = Drift{reprise.Info, "it was completed outside this workflow, like everything else; only the saved state was not updated", "resuming updates it; nothing is done again"}
		}
		if !ok || d.Severity == 0 {
			continue
		}
		out = append(out, reprise.Finding{
			Code: reprise.CodeStatusDrift, Severity: d.Severity, Subject: s.ID,
			Message: fmt.Sprintf("%s says %s, %s says %s: %s",
				speaker(saved, "the saved state"), says(saved), speaker(own, "its own file"), says(own), d.Meaning),
			Source: own.Source, Hint: d.Hint,
		})
	}
	return out
}

// doneHere reports whether a unit is a run of its own that is complete and whose last
// steps, according to our journal, ended here.
func doneHere(r *reprise.Run, s *reprise.Step, peers []*reprise.Run) bool {
	return s.Path != "" && slices.ContainsFunc(peers, func(p *reprise.Run) bool {
		if p == nil || p == r || p.Path != s.Path || p.State != reprise.Complete || len(p.Steps) == 0 {
			return false
		}
		last := &p.Steps[len(p.Steps)-1]
		return last.Ours && last.Settled == last.Attempts
	})
}

// leftHere reports whether we worked on a unit and nothing else has changed its file
// since.
func leftHere(s *reprise.Step, peers []*reprise.Run) bool {
	return s.Ours && !slices.ContainsFunc(peers, func(p *reprise.Run) bool {
		return p != nil && p.Path == s.Path && slices.ContainsFunc(p.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeMovedOn })
	})
}

// onlyCloses reports whether only an epic's gates and its end are left, supported by more
// than words: every story is done, something of it landed, and nothing contradicts that.
// A skipped story does not count if both sides say it was skipped.
func onlyCloses(r *reprise.Run) bool {
	if !r.Kind.Facts().Stories || len(r.Steps) == 0 {
		return false
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		saved, own, two := sides(r, s)
		switch {
		case s.Status == reprise.Skipped && (!two || saved.Status == own.Status):
		case s.Status != reprise.Done || !proven(s):
			return false
		}
	}
	return true
}

// proven reports whether graded evidence supports a step's completion and none
// contradicts it.
func proven(s *reprise.Step) bool {
	return s.Grade >= reprise.Evidenced && !slices.ContainsFunc(s.Evidence, func(e reprise.Evidence) bool { return !e.For })
}

// sides picks the two claims to compare: the first from another file, and the one from
// the unit's own. A unit whose file is the run's own has no second side.
func sides(r *reprise.Run, s *reprise.Step) (saved, own reprise.Claim, ok bool) {
	if s.Path == "" || s.Path == r.Path {
		return saved, own, false
	}
	i := slices.IndexFunc(s.Claims, func(c reprise.Claim) bool { return c.Source.File != s.Path })
	j := slices.IndexFunc(s.Claims, func(c reprise.Claim) bool { return c.Source.File == s.Path })
	if i < 0 || j < 0 {
		return saved, own, false
	}
	return s.Claims[i], s.Claims[j], true
}

func speaker(c reprise.Claim, otherwise string) string {
	if c.Ledger == "" {
		return otherwise
	}
	return "the " + strings.Trim(quote(c.Ledger), `"`)
}

func says(c reprise.Claim) string {
	if c.Word == "" {
		return c.Status.String()
	}
	return quote(c.Word)
}
