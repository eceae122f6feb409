package project

import (
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// maxAssigned limits how many units are prepared to determine under which name their
// attempts are recorded.
const maxAssigned = 32

const notTried = "it is not retried until you decide"

// notTriedAgain adds to a unit's reason that it is not started.
func notTriedAgain(u *reprise.Unit) {
	u.Reason = strings.TrimPrefix(u.Reason+"; "+notTried, "; ")
}

// tellSpent finds, by the engine's own rule, which of the units that are owed or come next
// are not retried until a person decides, and says why.
func (v *View) tellSpent(s *Scope, book reprise.Playbook) {
	r, hist := v.Run, v.History
	units := r.Next
	if len(r.Owed) > 0 {
		units = r.Owed
	}
	if s.Budget == nil || book == nil || !r.State.Open() || len(units) == 0 || !tired(hist) {
		return
	}
	of, err := s.Budget(r.Ref)
	if err != nil {
		return // refused reports it
	}
	told := map[string]bool{}
	for i, u := range units {
		step := u.ID
		if i < maxAssigned { // what a unit is called need not be what its attempts are recorded under
			if a, err := book.Assign(s.Files, r, u); err == nil && a.Step != "" {
				step = a.Step
			}
		}
		h, b := hist.Step(step), of(step)
		why := h.Spent(b)
		if why == "" {
			continue
		}
		r.Spent = append(r.Spent, reprise.Spent{Unit: u.ID, Step: step, Reason: why})
		notTriedAgain(&units[i])
		if !told[step] {
			told[step] = true
			hint := fmt.Sprintf("find out why; then `reprise resume %s --from %s` retries it", reprise.Pasted(r.ID, "RUN"), reprise.Pasted(step, "STEP"))
			if s.canSkip(r, step) {
				hint += fmt.Sprintf(", `reprise resume %s --skip %s` skips it", reprise.Pasted(r.ID, "RUN"), reprise.Pasted(step, "STEP"))
			}
			reportSpent(r, step, why, hint, h, b, s.entries(v))
		}
	}
	v.waitWithSpent(book)
}

// waitWithSpent holds back the units that the playbook does not start next to those that
// are not retried: a plan of the next phase, for example.
func (v *View) waitWithSpent(book reprise.Playbook) {
	r := v.Run
	if len(r.Spent) == 0 || len(r.Owed) > 0 {
		return
	}
	var spent []string
	for _, s := range r.Spent {
		spent = append(spent, s.Unit)
	}
	picked := book.Pick(r, reprise.Decision{State: r.State, Units: r.Next}, spent)
	for _, u := range r.Next {
		if !slices.Contains(spent, u.ID) && !slices.ContainsFunc(picked, func(p reprise.Unit) bool { return p.ID == u.ID }) {
			r.Spent = append(r.Spent, reprise.Spent{Unit: u.ID, Step: r.Spent[0].Step, Reason: r.Spent[0].Reason})
		}
	}
}

// canSkip reports whether a run's files can record a skipped step, or do so already.
func (s *Scope) canSkip(r *reprise.Run, step string) bool {
	recorder, ok := convention.Find(r.Layout).(reprise.Recorder)
	if !ok {
		return false
	}
	edits, err := recorder.Record(s.Files, r, reprise.Event{Kind: reprise.StepSkipped, Step: step, At: s.Observed.Now})
	return err == nil && (len(edits) > 0 || skipped(r, step))
}

// skipped reports whether a run has a step as skipped.
func skipped(r *reprise.Run, step string) bool {
	s := r.Step(step)
	return s != nil && s.Status == reprise.Skipped
}

func tired(h *journal.History) bool {
	for _, s := range h.Steps {
		if s.Tired() {
			return true
		}
	}
	return false
}

// reportSpent says why a step is not retried, and how each attempt that counts ended.
func reportSpent(r *reprise.Run, step, why, hint string, h journal.StepHistory, b journal.Budget, entries []journal.Entry) {
	used := fmt.Sprintf("attempts that failed: %d of %d", h.Failures, b.Attempts)
	if h.Failures < b.Attempts && h.Cutoffs >= b.Cutoffs {
		used = fmt.Sprintf("attempts that were cut off: %d of %d", h.Cutoffs, b.Cutoffs)
	}
	ends := endsOf(step, h, entries)
	f := reprise.Finding{
		Code: reprise.CodeAttemptsSpent, Severity: reprise.Warning, Subject: step, Source: reprise.Source{File: durable.StateDir},
		Message: fmt.Sprintf("%s: %s (%s); %s", step, why, used, notTried),
		Hint:    hint,
	}
	if len(ends) > 0 {
		f.Source = ends[0].Source
	}
	r.Report(f)
	for _, e := range ends {
		how := "failed: " + journal.ReasonOf(&e.Event)
		if e.Event.Kind == reprise.StepResolved {
			how = "was cut off without an end"
		}
		r.Report(reprise.Finding{
			Code: reprise.CodeAttemptsSpent, Severity: reprise.Info, Subject: step, Source: e.Source,
			Message: fmt.Sprintf("attempt %d of %s %s", e.Event.Attempt, step, how),
		})
	}
}

// endsOf returns the ends of the attempts that count against a step, latest first.
func endsOf(step string, h journal.StepHistory, entries []journal.Entry) (out []journal.Entry) {
	failures, cutoffs := h.Failures, h.Cutoffs
	for i := len(entries) - 1; i >= 0 && failures+cutoffs > 0; i-- {
		e := entries[i]
		if e.Event.Step != step {
			continue
		}
		switch {
		case e.Event.Kind == reprise.StepFailed && failures > 0:
			failures--
		case e.Event.Kind == reprise.StepResolved && e.Event.Outcome == string(reprise.Rerun) && cutoffs > 0:
			cutoffs--
		default:
			continue
		}
		if e.Source.File == "" {
			e.Source.File = durable.StateDir
		}
		out = append(out, e)
	}
	return out
}
