package journal

import (
	"cmp"
	"slices"
	"time"

	"reprise"
)

// History is what the journal of a run adds up to. It grows with the number of
// attempts, not with that of events.
type History struct {
	Steps map[string]*StepHistory
	// Began is the time of the first event on record, and of the start of the run where
	// that is Started: on record too.
	Began   time.Time
	Started bool
	// Renewed is when a person last had the run begun from scratch, zero if none did.
	Renewed time.Time
	// Taken is when the run was last started or resumed, which is when calls in progress
	// are looked for. Proven is when that was last done for an agent whose work was
	// accepted.
	Taken, Proven time.Time
	// Worktree is the last event about a complete checkout, nil if there is none.
	Worktree *reprise.Event
	// Limit is when the latest limit of any step ends, zero if there was none.
	Limit time.Time
	// Limits tells, by account, when the limit ends that closed it and that
	// nothing has been finished after.
	Limits map[string]time.Time
	// Measured is the last event that says what the work is measured by, nil if there
	// is none.
	Measured *reprise.Event
	// Stands is what the outputs of accepted steps were when an attempt last ended.
	Stands map[string]reprise.Hash
	// Found is what attempts found changed and not committed when they began, by what their
	// commits carry.
	Found map[string][]reprise.Expected
	// Recorded are the files that followed an event: they tell of the work.
	Recorded map[string]bool
	// Made is the text of the event that the run was begun or last revised with; Undone
	// tells that an earlier state was brought back since, in which that may not stand.
	Made   string
	Undone bool
	// Spent is what attempts used since the run was last started, Earlier what those
	// before did. Raised are the questions about a budget that a person answered with
	// RaiseOnce.
	Spent, Earlier []Spent
	Raised         map[string]bool
	latest         map[string]int // by step: the place of its latest attempt in Spent
	// Listed are the steps that were open when an attempt last began and that did not end
	// since, where an attempt is to close its own step and no other; nil if unknown.
	Listed []reprise.Listed
	// Given is set if an attempt had no end on record, or was not accepted, when the run was handed
	// over: how that went on is not known here.
	Given bool
	// Settled is what a person said of calls of sessions, by the ids of the questions.
	Settled map[string]reprise.Landing
	// Reports is set if an agent ever reported about a step.
	Reports bool
	// Events counts all of them.
	Events int

	compared map[string]bool // the steps whose attempts were to change a file
}

// Defined gives the file that holds what the run is made of and is not for others to
// change, with what is to stand in it. own is false where there is none, stands where
// an earlier state was brought back that may have another.
func (h *History) Defined(layout reprise.Layout, ref reprise.Ref) (file string, content []byte, own, stands bool) {
	if d, ok := layout.(reprise.Definer); ok && h.Made != "" {
		file, content, own = d.Defined(ref, h.Made)
	}
	return file, content, own, own && !h.Undone
}

// StepHistory is what the journal says about one step.
type StepHistory struct {
	// Attempts is the highest number of an attempt on record.
	Attempts int
	// Failures counts failed attempts since the step last succeeded or a
	// person last had a say: a reset of theirs, or an answer about the step.
	Failures int
	// Cutoffs counts attempts that were run again because their end is not on record.
	Cutoffs int
	// Open is the start of an attempt without an end on record.
	Open *reprise.Event
	// Held is the end of the open attempt, which was seen: all that it was to leave
	// was there, and it was not committed yet. nil where there is no such end.
	Held *reprise.Event
	// Outside is the start of the last attempt of which only a person can say what it did;
	// outsideEnd is when its end was recorded.
	Outside    *reprise.Event
	outsideEnd time.Time
	// First is the start of the first attempt since the step was last accepted. What we wrote
	// since to a file that nobody else had changed counts as there before it.
	First *reprise.Event
	// Owed is how the last attempt ended, if it was not accepted: the step has
	// to be done whatever it left. nil once it is finished or left out.
	Owed *reprise.Event
	// Said is what the files say of the step and the run since that attempt, if that calls
	// one of them over.
	Said *reprise.Says
	// Rejected is what the last attempt left if it was not accepted and the step was left
	// out after it.
	Rejected []reprise.Expected
	// Marked is the file by which an attempt at another step marked this one done.
	Marked []reprise.Expected
	// Left are the files that attempts since then changed and no commit holds.
	Left []string
	// Unheld are the files of the last accepted attempt that no commit held when it ended,
	// relative to the project.
	Unheld []string
	// LeftAs is what those of them were when the last attempt ended whose end was seen;
	// a file that is not in here may have been changed by an attempt since.
	LeftAs map[string]reprise.Hash
	// Ref is the ref of the git remote that has what the last of them left that worked
	// elsewhere, "" if none did.
	Ref string
	// Reported is what the agents of attempts reported since then.
	Reported []reprise.Event
	// Keys are what commits of attempts carry that were started since the step was
	// last accepted or left out, the latest last.
	Keys []string
	// Accepted is the end of the last attempt if it was accepted and nothing on
	// record took that back since: no reset, no new attempt, no earlier state, no
	// verdict that sent work back, and no answer about the step.
	Accepted *reprise.Event
	// Work are the accepted attempts that a commit holds, the latest last, since the step was
	// last to be done from the start: one that only reviews it makes none.
	Work []reprise.Acceptance
	// Made are the files that it was to leave, Filled those that had content when it was
	// accepted.
	Made   []reprise.Expected
	Filled []string
	// LastFailure is the latest failure since then, nil if there is none.
	LastFailure *reprise.Event
	// DeferredUntil is when a limit ends, zero if none is on record. DeferredBy is the account
	// that it closed.
	DeferredUntil time.Time
	DeferredBy    string
	// Session is the last agent or session on record; "" once it cannot be
	// continued.
	Session string
	// Lost is why the last session cannot be continued, "" if it can or
	// there was none. A new session then needs a briefing.
	Lost string

	last time.Time // of the events about it
}

// NotReady is the outcome of an attempt whose agent cannot work as it is set up, NotAllowed of
// one whose agent is denied what it needs, whatever a person answers.
const (
	NotReady   = "needs-setup"
	NotAllowed = "needs-permission"
)

// SessionLost, as the cause of a step_resolved, marks a session that cannot be continued.
const SessionLost = "session-lost"

// WordAlone, as the cause of a step_finished, marks an end that only the agent's reply
// speaks for: the attempt changed nothing.
const WordAlone = "word-alone"

// Fold adds up the entries of a journal.
func Fold(entries []Entry) *History {
	h := &History{}
	for i := range entries {
		h.Add(&entries[i].Event)
		h.Wrote(entries[i].Files)
		for _, f := range entries[i].Files {
			if h.Recorded == nil {
				h.Recorded = map[string]bool{}
			}
			h.Recorded[f.Path] = true
		}
	}
	return h
}

// Step returns what is known of a step; one that the journal does not name has
// an empty history.
func (h *History) Step(id string) StepHistory {
	if s := h.Steps[id]; s != nil {
		return *s
	}
	return StepHistory{}
}

// Open lists the attempts without an end on record, in the order in which they began.
func (h *History) Open() []reprise.Event {
	var out []reprise.Event
	for _, s := range h.Steps {
		if s.Open != nil {
			out = append(out, *s.Open)
		}
	}
	slices.SortStableFunc(out, func(a, b reprise.Event) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Step, b.Step)) })
	return out
}

// Add moves the history on by one event, which is not kept.
func (h *History) Add(ev *reprise.Event) {
	h.Events++
	if h.Began.IsZero() {
		h.Began = ev.At
	}
	if ev.Measure != "" {
		h.Measured = &reprise.Event{Kind: ev.Kind, At: ev.At, Step: ev.Step, Attempt: ev.Attempt, Measure: ev.Measure}
	}
	h.spend(ev)
	if slices.Contains(begins, ev.Kind) {
		h.Made, h.Undone = ev.Text, false
	}
	switch ev.Kind {
	case reprise.RunStarted:
		// A run that is started again under its name has nothing to do with
		// the one before.
		h.Steps, h.Worktree, h.Limit, h.Limits, h.Measured, h.Began, h.Started = nil, nil, time.Time{}, nil, nil, ev.At, true
		h.Taken, h.Listed, h.Stands, h.Given = ev.At, nil, nil, false
	case reprise.RunResumed:
		h.Given = false
		if h.Taken = ev.At; ev.Cause == reprise.LimitLifted {
			h.Limit, h.Limits = time.Time{}, nil
			for _, s := range h.Steps {
				s.DeferredUntil = time.Time{}
			}
		}
	case reprise.WorktreeReady:
		ready := *ev
		h.Worktree = &ready
	case reprise.StateRestored:
		// What a restored state took back is neither in progress nor failed. What an attempt
		// did outside of the files is not taken back, so a person is asked about it.
		// What was on record before that state was is in it.
		for _, s := range h.Steps {
			if s.last.Before(ev.Until) {
				continue
			}
			open := s.Outside
			if open != nil && !s.isOpen(open) && (ev.Until.IsZero() || !s.outsideEnd.After(ev.Until)) {
				open = nil
			}
			s.letGo()
			s.Open, s.Work, s.Accepted = open, nil, nil
		}
		for i := range ev.Doubts {
			s := h.step(ev.Doubts[i].Step)
			s.Marked, s.Said = ev.Doubts[i].Expect, ev.Doubts[i].Says
		}
		h.Measured, h.Undone, h.Listed, h.Stands = nil, true, nil, nil
	case reprise.EngineLeft:
		if ev.Outcome != reprise.HandedOver {
			break
		}
		// What came of it there, the files alone say.
		for _, s := range h.Steps {
			h.Given = h.Given || s.Open != nil || s.Owed != nil || s.Marked != nil || s.Said != nil
			s.letGo()
		}
		h.Measured, h.Listed, h.Stands = nil, nil, nil
	case reprise.RunRenewed:
		h.Listed, h.Stands, h.Renewed = nil, nil, ev.At
		h.sendBack()
		for _, s := range h.Steps {
			s.Work = nil
		}
	case reprise.StepStarted:
		if ev.Open != nil {
			h.Listed = ev.Open
		}
		if slices.ContainsFunc(ev.Expect, func(e reprise.Expected) bool { return e.Changed }) {
			if h.compared == nil {
				h.compared = map[string]bool{}
			}
			h.compared[ev.Step] = true
		}
		if len(ev.Found) > 0 && ev.Key != "" {
			if h.Found == nil {
				h.Found = map[string][]reprise.Expected{}
			}
			h.Found[ev.Key] = ev.Found
		}
	case reprise.StepReported:
		h.Reports = true
	case reprise.CallSettled:
		var l reprise.Landing
		if l.UnmarshalText([]byte(ev.Outcome)) == nil {
			if h.Settled == nil {
				h.Settled = map[string]reprise.Landing{}
			}
			h.Settled[ev.Question] = l
		}
	case reprise.StepFinished:
		if ev.Outcome == Rejected {
			h.sendBack()
		}
		h.prove(ev)
	}
	if ev.Kind == reprise.StepSkipped || ev.Kind == reprise.StepFinished && ev.Outcome != Rejected || ev.Kind == reprise.QuestionAnswered {
		ended := ev.Step
		if ev.Kind == reprise.QuestionAnswered {
			ended = ev.Question // a task for a person is a question of the same name
		}
		h.Listed = slices.DeleteFunc(slices.Clone(h.Listed), func(l reprise.Listed) bool { return l.ID == ended })
	}
	if ev.Kind == reprise.QuestionAnswered && ev.By != "" {
		by := h.step(ev.By)
		by.forgive()
		by.Accepted = nil
	}
	for _, e := range ev.Stands {
		if h.Stands == nil {
			h.Stands = map[string]reprise.Hash{}
		}
		h.Stands[e.Path] = e.Before
	}
	if ev.Step != "" {
		s := h.step(ev.Step)
		s.add(ev)
		if s.Accepted != nil && ev.Kind == reprise.StepFinished {
			s.Filled = h.filled(s.Made)
		}
		h.limit(ev)
	}
}

// Wrote moves the history on by what we wrote to files: that is no attempt's work.
func (h *History) Wrote(files []Touch) {
	for _, f := range files {
		for id := range h.compared {
			s := h.Steps[id] // nil in a run that was started again since
			if s == nil || s.First == nil {
				continue
			}
			if i := slices.IndexFunc(s.First.Expect, func(e reprise.Expected) bool { return e.Path == f.Path && e.Before == f.Before }); i >= 0 {
				first := *s.First
				first.Expect = slices.Clone(first.Expect)
				first.Expect[i].Before, s.First = f.After, &first
			}
		}
	}
}

// Compares reports whether what is to be changed since the first of the attempts at a step
// that were not accepted is such a file.
func (h *History) Compares(is func(reprise.Expected) bool) bool {
	for id := range h.compared {
		if first := h.Step(id).First; first != nil && slices.ContainsFunc(first.Expect, is) {
			return true
		}
	}
	return false
}

// filled lists the files of these that had content when an attempt last ended.
func (h *History) filled(files []reprise.Expected) (out []string) {
	for _, e := range files {
		if was, recorded := h.Stands[e.Path]; recorded && was != reprise.HashOf(nil) {
			out = append(out, e.Path)
		}
	}
	return out
}

// prove notes that the work of an agent was accepted. The first attempt at a step gets
// the calls that were in progress when the run was resumed; before a later attempt they
// are looked for again.
func (h *History) prove(end *reprise.Event) {
	start := h.Step(end.Step).Open
	if end.Usage == nil || start == nil || start.Attempt != end.Attempt {
		return // no agent was at work, or no one knows since when
	}
	if at := start.At; end.Attempt > 1 && at.After(h.Proven) {
		h.Proven = at
	} else if h.Taken.After(h.Proven) {
		h.Proven = h.Taken
	}
}

// Rejected is the outcome of a step whose verdict sends work back.
const Rejected = "rejected"

// sendBack tells that any step may have to be done again.
func (h *History) sendBack() {
	for _, s := range h.Steps {
		s.Accepted = nil
	}
}

// limit keeps which accounts are closed. A step that was finished after the time
// of a limit shows that it is over.
func (h *History) limit(ev *reprise.Event) {
	switch {
	case ev.Kind == reprise.StepDeferred:
		if ev.Until.After(h.Limit) {
			h.Limit = ev.Until
		}
		if h.Limits == nil {
			h.Limits = map[string]time.Time{}
		}
		if ev.Until.After(h.Limits[ev.Account]) {
			h.Limits[ev.Account] = ev.Until
		}
	case ev.Kind == reprise.StepFinished && ev.Attempt > 0:
		for account, until := range h.Limits {
			if !ev.At.Before(until) {
				delete(h.Limits, account)
			}
		}
	}
}

func (h *History) step(id string) *StepHistory {
	if h.Steps == nil {
		h.Steps = map[string]*StepHistory{}
	}
	s := h.Steps[id]
	if s == nil {
		s = &StepHistory{}
		h.Steps[id] = s
	}
	return s
}

func (s *StepHistory) add(ev *reprise.Event) {
	s.Attempts = max(s.Attempts, ev.Attempt)
	s.last = ev.At
	if ev.Agent != "" {
		s.Session = ev.Agent
	}
	if ev.Ref != "" {
		s.Ref = ev.Ref
	}
	for _, name := range ev.Left {
		s.leave(name)
	}
	for _, e := range ev.Work {
		s.leave(e.Path)
		if s.LeftAs == nil {
			s.LeftAs = map[string]reprise.Hash{}
		}
		s.LeftAs[e.Path] = e.Before
	}
	switch ev.Kind {
	case reprise.StepStarted, reprise.StepFinished, reprise.StepSkipped, reprise.StepFailed, reprise.StepBlocked, reprise.StepReset, reprise.QuestionAnswered:
		s.Accepted = nil
	}
	switch ev.Kind {
	case reprise.StepStarted:
		start := *ev // a copy of its own: most events are not kept
		if s.Owed == nil {
			s.First = &start
		}
		s.Open, s.Held, s.Owed, s.Rejected, s.DeferredUntil = &start, nil, nil, nil, time.Time{}
		if ev.Policy == reprise.AskWho {
			s.Outside = &start
		}
		if ev.Key != "" {
			s.Keys = append(s.Keys, ev.Key)
		}
	case reprise.StepHeld:
		if s.Open != nil && s.Open.Attempt == ev.Attempt {
			held := *ev
			s.Held = &held
		}
	case reprise.StepFinished, reprise.StepSkipped:
		base := ""
		if s.Open != nil && s.Open.Attempt == ev.Attempt {
			s.Made, base = s.Open.Expect, s.Open.Base
		}
		s.end(ev)
		s.forgive()
		if s.Rejected = nil; ev.Kind == reprise.StepSkipped && s.Owed != nil {
			s.Rejected = s.Owed.Expect
		}
		s.Lost, s.Owed, s.First, s.Left, s.LeftAs, s.Keys, s.Reported = "", nil, nil, nil, nil, nil, nil
		s.Unheld, s.Ref = ev.Unheld, ""
		if ev.Kind == reprise.StepFinished && ev.Attempt > 0 && ev.Outcome != Rejected {
			s.Accepted = &reprise.Event{Kind: ev.Kind, At: ev.At, Step: ev.Step, Phase: ev.Phase, Attempt: ev.Attempt, Actor: ev.Actor, Agent: ev.Agent, Commit: ev.Commit, Text: ev.Text, Outcome: ev.Outcome, Key: ev.Key, Cause: ev.Cause}
			if ev.Commit != "" {
				s.Work = append(s.Work, reprise.Acceptance{Commit: ev.Commit, Key: ev.Key, Base: base, At: ev.At})
			}
		}
	case reprise.StepFailed:
		s.end(ev)
		s.Failures++
		failure := *ev
		s.LastFailure, s.Owed = &failure, &failure
	case reprise.StepBlocked:
		s.end(ev)
	case reprise.StepDeferred:
		s.end(ev)
		s.DeferredUntil, s.DeferredBy = ev.Until, ev.Account
	case reprise.StepReset:
		s.end(ev)
		if ev.Actor != reprise.Person {
			s.owe(ev)
			break
		}
		s.forgive()
		s.Session, s.Work = "", nil
		switch was := s.Owed; {
		case was != nil:
			// What it left still proves nothing.
			s.owe(&reprise.Event{Kind: ev.Kind, At: ev.At, Step: ev.Step, Phase: was.Phase, Actor: was.Actor, Expect: was.Expect})
		case s.Marked != nil:
			s.owe(&reprise.Event{Kind: ev.Kind, At: ev.At, Step: ev.Step, Phase: ev.Phase, Expect: s.Marked})
		}
	case reprise.StepResolved:
		if ev.Outcome == string(reprise.Rerun) {
			s.end(ev)
			s.owe(ev)
			s.Cutoffs++
			s.LeftAs = nil // it may have changed any of them
		}
		if ev.Cause == SessionLost {
			s.Session, s.Lost = "", ev.Text
		}
	case reprise.QuestionAnswered:
		s.forgive()
	case reprise.StepReported:
		s.Reported = append(s.Reported, *ev)
	}
	switch ev.Kind {
	case reprise.StepOverstepped:
		s.Marked, s.Said = ev.Expect, ev.Says
	case reprise.StepStarted, reprise.StepFinished, reprise.StepSkipped:
		s.Marked, s.Said = nil, nil
	case reprise.StepReset:
		s.Marked = nil
	}
}

// end closes the open attempt if the event is about it. An end without a number
// is about whatever is open.
func (s *StepHistory) end(ev *reprise.Event) {
	if s.Open != nil && (ev.Attempt == 0 || ev.Attempt >= s.Open.Attempt) {
		if s.Outside != nil && s.isOpen(s.Outside) {
			s.outsideEnd = ev.At
		}
		s.Open, s.Held = nil, nil
	}
}

// isOpen reports whether the attempt that a start belongs to is the open one.
func (s *StepHistory) isOpen(start *reprise.Event) bool {
	return s.Open != nil && s.Open.Attempt == start.Attempt
}

// leave keeps that an attempt changed a file.
func (s *StepHistory) leave(name string) {
	if !slices.Contains(s.Left, name) {
		s.Left = append(s.Left, name)
	}
}

// letGo forgets what is known of attempts but how the last accepted one ended.
func (s *StepHistory) letGo() {
	s.Open, s.Held, s.Owed, s.Rejected, s.Marked, s.Said = nil, nil, nil, nil, nil, nil
	s.LastFailure, s.Failures, s.Left, s.LeftAs, s.Keys, s.Reported = nil, 0, nil, nil, nil, nil
}

func (s *StepHistory) forgive() {
	s.Failures, s.Cutoffs, s.LastFailure, s.DeferredUntil = 0, 0, nil, time.Time{}
}

// owe tells that an attempt ended without being accepted.
func (s *StepHistory) owe(ev *reprise.Event) {
	e := *ev
	s.Owed = &e
}
