package project

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/evidence/grade"
	"reprise/examine"
	"reprise/internal/durable"
	"reprise/journal"
)

// View is one run with everything known about it at one moment. It is plain data:
// `status`, `check` and the engine decide from the same one.
type View struct {
	// Run is what the files say, plus the journal and the evidence. Files is what the
	// files alone say; it is never changed.
	Run, Files *reprise.Run
	// Events are those of the journal, History their summary.
	Events  []reprise.Event
	History *journal.History
	// Own says that the run was begun here and no one else may change its steps: only the
	// journal says what is done.
	Own      bool
	Observed reprise.Observed
	// AtWork are the steps that the holder of the view is working on.
	AtWork map[string]reprise.Assignment
	// Parked are steps that the engine can do nothing more about, and why.
	Parked map[string]string
	Choice reprise.Choice
	// Again are the steps to repeat if a person restarts at one.
	Again map[string]bool
	// Doubts are the questions to answer before the steps they concern are started.
	Doubts []Doubt
	// Lapsed are the recorded questions that are over: about doubts that no longer exist, or for
	// steps that are closed. Nobody is asked them.
	Lapsed []string
	// Changed says that what the work is measured by has changed; nil if not.
	Changed *Remeasured
	// Stops says that resuming the run records that a person's answer ended it.
	Stops    bool
	Decision reprise.Decision
	Now      time.Time

	files   fs.FS                  // as resuming brings them up to the journal; nil if as they are
	canSkip func(step string) bool // whether the files can record that a step is skipped
}

// Record is a run as its files describe it, with its journal.
type Record struct {
	Run      *reprise.Run      // what its files say; never changed
	Events   []reprise.Event   // all that are on record
	History  *journal.History  // what they add up to
	Findings []reprise.Finding // how its files relate to its journal
	Own      bool              // see View
}

// Scope says where a view is built and how closely the run is looked at.
type Scope struct {
	Dir   string // of the project, absolute
	Files fs.FS  // its files, as the builder of the view sees them
	// Store, if set, allows comparing the journal with what could be rebuilt from it.
	Store *durable.Store
	// Observed is what the world said. Its Now is the time of the view.
	Observed reprise.Observed
	// Past are earlier versions of task lists, as in reprise.Git.
	Past map[string][]reprise.Version
	// Checks are the checks to run; zero runs none.
	Checks examine.Set
	Policy reprise.Policy
	Choice reprise.Choice
	AtWork map[string]reprise.Assignment // see View
	Parked map[string]string             // see View
	// Playbook says how the run is worked on; nil means that of its kind.
	Playbook reprise.Playbook
	// Budget says how often each step is tried before a person is asked, as in
	// JudgeOptions. It may be nil.
	Budget func(reprise.Ref) (func(step string) journal.Budget, error)

	lapsed  func(*durable.Store, *Record) []reprise.Event // as in JudgeOptions
	account *journal.Account                              // the journal as read; nil if only its events are known
	last    reprise.Source                                // where the last event is
}

// upTo returns the files as resuming brings them up to the journal.
func (v *View) upTo(now fs.FS) fs.FS {
	if v.files != nil {
		return v.files
	}
	return now
}

// entries returns the events of a view with their sources, as far as known.
func (s *Scope) entries(v *View) []journal.Entry {
	if s.account != nil {
		return s.account.Entries
	}
	out := make([]journal.Entry, len(v.Events))
	for i := range out {
		out[i].Event = v.Events[i]
	}
	return out
}

// NewView builds the view of one run: it applies the journal, grades and examines the run
// as far as the scope requires, and decides. It changes nothing on disk, and does not
// change rec.
func NewView(ctx context.Context, rec Record, s Scope) *View {
	v := newView(rec, s)
	v.Run = rec.Run.Clone()
	v.tell(ctx, &s)
	aim(s.Files, s.Files, v.Run, s.Past)
	v.judge(&s)
	return v
}

func newView(rec Record, s Scope) *View {
	v := &View{
		Run: rec.Run, Files: rec.Run, Events: rec.Events, History: rec.History, Own: rec.Own,
		AtWork: s.AtWork, Parked: s.Parked, Choice: s.Choice, Now: s.Observed.Now,
	}
	if v.History == nil {
		v.History = &journal.History{}
	}
	v.canSkip = func(step string) bool { return s.canSkip(rec.Run, step) }
	return v
}

// tell applies what the journal of a run knows and its files cannot express. It changes
// v.Run, which must not be v.Files.
func (v *View) tell(ctx context.Context, s *Scope) {
	v.recall(s)
	v.Run.Refute(v.explained)
	book := s.Playbook
	if book == nil {
		book, _ = convention.Playbook(v.Run.Layout, v.Run.Kind) // a run without one is never worked on
	}
	if book, ok := book.(reprise.Aimer); ok {
		book.Aim(s.Files, v.Run)
	}
	if s.account != nil {
		tellGone(s.Store, s.account, v.Run)
	}
	v.tellNoted(s.last)
	v.tellLost(ctx, s)
	v.tellOwnCopies(s)
	v.tellChanged(s)
	v.tellLanded(s)
	v.tellOverwritten(s.Files)
	v.Doubts = doubts(v)
	v.lapse()
	v.tellNotReady()
	v.tellUnseen(s.Files)
	v.owed(s.Files, book)
	v.tellSpent(s, book)
	for i := range v.Run.Next {
		if u := &v.Run.Next[i]; v.Parked[u.ID] != "" && v.History.Step(u.ID).Tired() {
			notTriedAgain(u)
		}
	}
	v.Run.Asks = v.asks()
}

// aim lets a run continue where the history of its files says, in the time that now gives a reader.
func aim(now, files fs.FS, r *reprise.Run, past map[string][]reprise.Version) {
	aim := convention.Of(r.Layout).Aim
	if aim == nil || len(past[r.Path]) == 0 {
		return
	}
	aimed := r.Clone()
	if reprise.InTime(now, func() { aim(files, aimed, past[r.Path]) }) {
		*r = *aimed
		return
	}
	r.Lose(r.Path, "its earlier versions in git were "+reprise.NotInTime+", so where it continues is unknown", "`git log -p -- "+reprise.Pasted(r.Path, "FILE")+"` shows them")
	r.Doubt()
}

// putBack reports whether a run was begun here and no one else may change its steps. If
// something else changed them, the run becomes what resuming, which puts them back, would
// make it, and a finding says so.
func putBack(ctx context.Context, store *durable.Store, r *reprise.Run, hist *journal.History) (own bool) {
	l := convention.Find(r.Layout)
	if l == nil || r.State == reprise.Unreadable && r.Gone() != nil {
		return false
	}
	file, content, own, stands := hist.Defined(l, r.Ref)
	if !stands {
		return own
	}
	have, err := fs.ReadFile(store, file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(have, content) {
		return own // a missing file is handled elsewhere
	}
	dry := durable.NewDryRun(store)
	if err == nil {
		err = dry.Apply(ctx, []reprise.Edit{{Path: file, Base: reprise.HashOf(have), Content: content}})
	}
	var then *reprise.Run
	if err == nil {
		then, err = reprise.Load(l, dry, r.Ref)
	}
	f := journal.StepsChanged(r.Ref, file)
	if err != nil {
		f.Severity, f.Message = reprise.Blocking, f.Message+", and it cannot be restored: "+err.Error()
	} else {
		become(r, then)
	}
	r.Report(f)
	return own
}

// takenUp are the last events of an engine that was about to start a run's first step and
// did not leave in an orderly way.
var takenUp = []reprise.EventKind{reprise.RunResumed, reprise.PhaseEnded, reprise.WorktreeReady}

// noWork are the events that are not activity: what a person is asked and answers, that
// the run was given up or restored, that something else closed a step, and that no one is
// working on it.
var noWork = []reprise.EventKind{
	reprise.QuestionAsked, reprise.QuestionAnswered, reprise.QuestionSkipped, reprise.AnswerApplied, reprise.AnswerWithdrawn,
	reprise.RunStopped, reprise.StateRestored, reprise.EngineLeft, reprise.StepOverstepped,
}

// dropped reports whether an engine worked on a run last and did not leave in an orderly way.
func dropped(events []reprise.Event) bool {
	for i := range slices.Backward(events) {
		switch ev := &events[i]; ev.Kind {
		case reprise.EngineLeft, reprise.RunEnded, reprise.RunStopped, reprise.StateRestored:
			return false
		case reprise.RunResumed, reprise.WorktreeReady, reprise.PhaseEnded, reprise.StepStarted, reprise.StepFinished, reprise.StepFailed, reprise.StepResolved, reprise.StepHeld, reprise.StepDeferred:
			if ev.Actor != reprise.Person {
				return true
			}
		}
	}
	return false
}

// recall applies events to a run, without questions that lapsed. Recorded work counts as
// activity even if the files cannot express it: some keep only a day, some nothing about
// most steps. For an own run only the journal says what was done.
func (v *View) recall(s *Scope) {
	r, n, recall := v.Run, len(v.Events), (*reprise.Run).Recall
	if v.Own {
		recall = (*reprise.Run).RecallOwn
	}
	events := v.Events
	if s.lapsed != nil && slices.ContainsFunc(events, func(ev reprise.Event) bool { return strings.HasPrefix(ev.Question, journal.BudgetPrefix) }) {
		told := v.Files.Clone()
		recall(told, events)
		events = append(slices.Clip(events), s.lapsed(s.Store, &Record{Run: told, History: v.History})...)
	}
	if recall(r, events); n == 0 {
		return
	}
	r.Dates = append(slices.Clip(r.Dates), reprise.Dated{At: r.LastActivity, Source: r.LastActivitySource})
	for i := range v.Events {
		if e := &v.Events[i]; e.At.After(r.LastActivity) && !slices.Contains(noWork, e.Kind) {
			r.Active(e.At, s.last)
		}
	}
	r.Dropped = dropped(v.Events)
	if r.State == reprise.NotStarted && slices.Contains(takenUp, v.Events[n-1].Kind) {
		r.State, r.Reason = reprise.Interrupted, "the work was cut off before its first step"
	}
}

// tellNoted adds what agents reported about steps that are still not done.
func (v *View) tellNoted(source reprise.Source) {
	if !v.History.Reports {
		return
	}
	for i := range v.Run.Steps {
		s := &v.Run.Steps[i]
		reported := v.History.Step(s.ID).Reported
		for k := range reported {
			s.Noted = append(s.Noted, reprise.ReportedBy(&reported[k]).Note(reported[k].At, source))
		}
	}
}

// judge compares the run with what was observed, runs the checks and decides.
func (v *View) judge(s *Scope) {
	v.Observed = s.Observed
	v.doubt()
	if s.Checks != 0 {
		grade.New(v.Observed).Run(v.Run)
		examine.Apply(v.Run, v.Observed, s.Checks)
	}
	v.decide(s.Policy)
}

// doubt makes unknown what an unread file could describe. For an own run the journal says
// what was done.
func (v *View) doubt() {
	if !v.Own {
		v.Run.Doubt()
	}
}

// decide sets the decision about the run.
func (v *View) decide(p reprise.Policy) {
	v.readFirst()
	p.Choice = v.Choice
	v.Decision = reprise.Next(v.Run, v.Observed, p)
}

// readFirst holds back the hints to do a step again or to leave it out while a file cannot be
// read: until it can nothing is resumed, and after that something else may be to do.
func (v *View) readFirst() {
	again := func(hint string) bool {
		return strings.Contains(hint, " --from ") || strings.Contains(hint, " --skip ")
	}
	unread := func(f reprise.Finding) bool {
		return f.Severity == reprise.Blocking && slices.Contains(v.Run.Unread, f.Source.File) && !again(f.Hint)
	}
	if !slices.ContainsFunc(v.Run.Findings, unread) {
		return
	}
	for i := range v.Run.Findings {
		if f := &v.Run.Findings[i]; again(f.Hint) {
			f.Hint = "make readable first what cannot be read; `reprise check " + reprise.Pasted(v.Run.ID, "RUN") + "` then says what to do about this"
		}
	}
}

// workOf gives, by step of a run, the accepted attempts at it and at its parts that commits
// hold, the latest last.
func workOf(hist *journal.History, r *reprise.Run) map[string][]reprise.Acceptance {
	out := map[string][]reprise.Acceptance{}
	for id, h := range hist.Steps {
		if len(h.Work) == 0 {
			continue
		}
		id = r.Whole(id)
		out[id] = append(slices.Clip(out[id]), h.Work...)
	}
	for _, all := range out {
		slices.SortStableFunc(all, func(a, b reprise.Acceptance) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key, b.Key)) })
	}
	return out
}

// wordAlone tells which steps of a run were accepted by their agent's word alone, or a part
// of them was.
func wordAlone(hist *journal.History, r *reprise.Run) map[string]bool {
	out := map[string]bool{}
	for id, h := range hist.Steps {
		if h.Accepted != nil && h.Accepted.Cause == journal.WordAlone {
			out[r.Whole(id)] = true
		}
	}
	return out
}

// tellLanded adds to an open run how the ends of its steps were accepted here, which of
// their outputs are gone, and which work is waiting to be committed.
func (v *View) tellLanded(sc *Scope) {
	r, hist := v.Run, v.History
	r.Proven, r.Found, r.Recorded = hist.Proven, hist.Found, hist.Recorded
	if hist.Started {
		r.Life, r.Began = reprise.TrailerLife(hist.Began), hist.Began
	}
	if !r.State.Open() && r.State != reprise.Complete {
		return
	}
	v.tellCommitted()
	needs, works, alone := r.Kind.Facts().Needs, workOf(hist, r), wordAlone(hist, r)
	accepted := make([]reprise.Acceptance, 0, min(len(hist.Steps), len(r.Steps))) // one allocation for thousands
	for i := range r.Steps {
		s := &r.Steps[i]
		h := hist.Steps[s.ID]
		if h == nil {
			if len(works[s.ID]) == 0 && !alone[s.ID] {
				continue
			}
			h = &journal.StepHistory{}
		}
		if h.Held != nil {
			s.Held = h.Held.Text
		}
		work := works[s.ID]
		if h.Accepted == nil && len(work) == len(h.Work) && !alone[s.ID] || s.Status != reprise.Done {
			continue // what is on record took it back
		}
		var a reprise.Acceptance
		if h.Accepted != nil {
			a = reprise.Acceptance{Key: h.Accepted.Key, At: h.Accepted.At}
		}
		if last := len(work) - 1; last >= 0 {
			a.Commit, a.Key, a.Base, a.Earlier = work[last].Commit, work[last].Key, work[last].Base, work[:last]
			if a.At.IsZero() {
				a.At = work[last].At
			}
		}
		a.WordAlone = alone[s.ID]
		accepted = append(accepted, a)
		s.Accepted = &accepted[len(accepted)-1]
		if !needs {
			continue // nothing says who needs a step's output
		}
		for _, e := range h.Made {
			if strings.HasPrefix(e.Path, r.Path+"/") {
				continue // a file of the run itself
			}
			info, err := fs.Stat(sc.Files, e.Path)
			switch {
			case err == nil && info.Mode().IsRegular() && info.Size() == 0 && slices.Contains(h.Filled, e.Path):
				s.Accepted.Emptied = append(s.Accepted.Emptied, e.Path)
			case isUnread(sc.Files, e.Path, info, err):
				s.Accepted.Unread = append(s.Accepted.Unread, e.Path)
			case sc.replaced(e.Path, info, err, hist.Stands[e.Path]):
				s.Accepted.Gone = append(s.Accepted.Gone, e.Path)
			}
		}
	}
	for i := range r.Next {
		if s := r.Step(r.Next[i].ID); s != nil && s.Held != "" {
			r.Next[i].Reason = "it was finished; its work only needs to be committed"
		}
	}
}
