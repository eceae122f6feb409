package project

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"reprise"
	"reprise/convention"
	"reprise/evidence"
	"reprise/internal/durable"
	"reprise/journal"
)

// recallJournals adds to the runs what our own journals tell and their files
// have no place for: questions, attempts, and who works on them right now. It
// only reads; without a state folder it does nothing.
func (j *Judgement) recallJournals(ctx context.Context, runs []*reprise.Run, opts JudgeOptions) {
	home := homeAt(map[string]*home{}, j.Root)
	if home == nil {
		return
	}
	if home.err != nil {
		// Whether one of them was begun, and who works on it, is not known.
		f, told := journalProblem(durable.StateDir, home.err), false
		for _, r := range runs {
			if r.State.Open() && f.Severity == reprise.Blocking && !opts.Held.is(r.Ref) {
				r.Report(f)
				told = true
			}
		}
		if !told {
			j.report(f)
		}
		return
	}
	store, names := home.store, home.names
	j.tellCopied(store, runs, opts)
	inbox, err := journal.ReadInbox(j.Root)
	if err != nil {
		j.report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Source: reprise.Source{File: journal.Inbox},
			Message: "answers that wait to be taken in cannot be read: " + err.Error(), Hint: "move it away; `reprise answer` makes a new one",
		})
	}
	defer hear(runs, inbox)
	for _, r := range runs {
		if opts.Held.is(r.Ref) {
			recall(r, opts.Held.Events, lastFile(store, r.Ref), opts.Held.Own)
			r.Findings = append(r.Findings, opts.Held.Findings...)
			held := sync.OnceValue(func() []journal.Entry {
				held := make([]journal.Entry, len(opts.Held.Events))
				for i := range held {
					held[i].Event = opts.Held.Events[i]
				}
				return held
			})
			tellLost(ctx, store, r, opts.Held.History, held)
			tellSpent(store, r, opts.Held.History, held, opts)
			tellRemeasured(j.Root, store, r, opts.Held.History)
			tellLanded(store, r, opts.Held.History)
			continue
		}
		name := journal.Name(r.Ref)
		if !slices.Contains(names, name) {
			continue
		}
		account, err := journal.ReadAccount(store, name)
		if err != nil {
			r.Report(journalProblem(r.ID, err))
			continue
		}
		entries := account.Entries
		events := make([]reprise.Event, len(entries))
		for i := range entries {
			events[i] = entries[i].Event
		}
		var last reprise.Source
		if n := len(entries); n > 0 {
			last.File = entries[n-1].Source.File
		}
		hist := journal.Fold(entries)
		recall(r, events, last, putBack(ctx, store, r, hist))
		if book, err := convention.Playbook(r.Layout, r.Kind); err == nil {
			if book, ok := book.(reprise.Aimer); ok {
				book.Aim(store, r)
			}
		}
		tellGone(store, account, r)
		all := func() []journal.Entry { return entries }
		tellLost(ctx, store, r, hist, all)
		tellRemeasured(j.Root, store, r, hist)
		tellLanded(store, r, hist)
		if !slices.ContainsFunc(inbox, func(l journal.Letter) bool { return l.For(r.Ref) }) {
			tellSpent(store, r, hist, all, opts) // an answer that waits may be the say it takes
		}
		if n := len(entries); n > 0 && works(home.holder, &entries[n-1]) {
			takeOwner(r, home, durable.LockPath, opts)
		}
		// Of a run whose beginning was cut off, the files are not yet, or no longer,
		// those of the run.
		if b := lastBeginning(entries); opts.Full && !b.Behind(store) && r.Gone() == nil {
			tellStand(store, account, r)
		}
	}
}

// hear adds the answers that wait to be taken in, the first one to each question.
func hear(runs []*reprise.Run, inbox []journal.Letter) {
	for _, l := range inbox {
		for _, r := range runs {
			if l.For(r.Ref) {
				r.Hear(l.Question, l.Answer)
			}
		}
	}
}

// takenUp are the last words of somebody who was about to start the first step of a
// run and did not leave in good order.
var takenUp = []reprise.EventKind{reprise.RunResumed, reprise.PhaseEnded, reprise.WorktreeReady}

// recall adds what events tell to a run, the last of which stands in last. What we
// recorded is activity, too, whatever the files have a place for: some keep a day,
// some nothing of most steps. Of an own run only the journal says what was done.
func recall(r *reprise.Run, events []reprise.Event, last reprise.Source, own bool) {
	if own {
		r.RecallOwn(events)
	} else {
		r.Recall(events)
	}
	if n := len(events); n > 0 {
		r.Dates = append(r.Dates, reprise.Dated{At: r.LastActivity, Source: r.LastActivitySource})
		r.Active(events[n-1].At, last)
	}
	if n := len(events); n > 0 && r.State == reprise.NotStarted && slices.Contains(takenUp, events[n-1].Kind) {
		r.State, r.Reason = reprise.Interrupted, "the work was cut off before its first step"
	}
}

// works reports whether the last word in a journal is that of who holds the lease.
func works(h durable.Holder, last *journal.Entry) bool {
	return last.Generation == h.Generation && last.Event.Kind != reprise.EngineLeft
}

// takeOwner makes whoever holds a lease of ours the owner of the run that its journal
// says it works on: the one who took it, if that is alive, else what that one started
// and left running. We are not in our own way.
func takeOwner(r *reprise.Run, h *home, lock string, opts JudgeOptions) {
	owner := reprise.Owner{
		Host: h.holder.Host, BootID: h.holder.BootID, PID: h.holder.PID, StartTicks: h.holder.StartTicks, Agent: "reprise",
		Source: reprise.Source{File: lock},
	}
	if owner.PID == 0 || owner.PID == os.Getpid() {
		return
	}
	switch evidence.Life(owner, opts.Now).Life {
	case reprise.Alive:
		r.Owner = &owner
	case reprise.Dead:
		if heirs := h.heirs(owner); len(heirs) > 0 {
			r.Owner = &heirs[0]
		}
	}
}

// tellStand adds how the files of a run stand to its journal: behind it, or changed
// by something else.
func tellStand(store *durable.Store, account *journal.Account, r *reprise.Run) {
	findings, err := account.Stand(store, r.Ref)
	if err != nil {
		r.Report(journalProblem(r.ID, err))
	}
	for _, f := range findings {
		r.Report(f)
	}
}

// tellGone adds which files of a run are gone that its journal wrote.
func tellGone(store *durable.Store, account *journal.Account, r *reprise.Run) {
	if !r.State.Open() || r.Gone() != nil {
		return
	}
	gone, err := account.Gone(store, r.Ref)
	if err != nil {
		r.Report(journalProblem(r.ID, err))
	}
	for _, f := range journal.FindGone(r.Ref, gone) {
		r.Report(f)
	}
	if r.Gone() != nil {
		// What is left of it may look like a run that has hardly begun.
		r.State, r.Reason, r.Next = reprise.Unreadable, filesGone, nil
	}
}

// tellCopied tells of open runs in a project that was copied with its state: whoever
// wants to go on with one is refused before anything is read.
func (j *Judgement) tellCopied(store *durable.Store, runs []*reprise.Run, opts JudgeOptions) {
	err := store.Copied()
	if err == nil || opts.Adopt {
		return
	}
	f := journalProblem(durable.StateDir, err)
	if copied, ok := errors.AsType[*durable.CopiedError](err); ok {
		f.Code, f.Severity, f.Hint = reprise.CodeCopied, reprise.Blocking, copied.Hint()
		// The reason why it is not gone on with is all that some get to see.
		f.Message = "the project is a copy, which --adopt accepts as one of its own, of " + copied.From
		if copied.From == "" {
			f.Message = "nothing says that the state was made here, which --adopt accepts: " + copied.Cause.Error()
		}
	}
	for _, r := range runs {
		if r.State.Open() && !opts.Held.is(r.Ref) {
			r.Report(f)
		}
	}
}

// journalProblem tells that a journal cannot be read. Where records are lost or
// cannot be understood, nobody knows what was begun: the run is not gone on with
// until that is repaired.
func journalProblem(subject string, err error) reprise.Finding {
	f := reprise.Finding{
		Code: reprise.CodeJournalDamaged, Severity: reprise.Warning, Subject: subject, Source: reprise.Source{File: durable.StateDir},
		Message: "the journal cannot be read: " + err.Error(), Hint: "`reprise repair` shows what can be saved",
	}
	var damage *durable.DamageError
	var future *durable.FutureError
	switch {
	case errors.As(err, &damage):
		// The reason why it is not gone on with is all that some get to see.
		f.Severity, f.Source.File = reprise.Blocking, damage.Path
		f.Message = "the journal of this run is damaged, `reprise repair` shows what can be saved: " + damage.Cause
		f.Hint = "repair it; what the run's own files say still counts"
	case errors.Is(err, fs.ErrPermission):
		f.Code, f.Severity = reprise.CodePermission, reprise.Blocking
		f.Message = "the journal cannot be read, permission denied; nobody knows what was begun: " + err.Error()
		f.Hint = "see with `ls -ld` whose it is, and call reprise as that user or change its permissions"
	case errors.As(err, &future):
		f.Severity, f.Source.File, f.Hint = reprise.Blocking, future.Path, future.Hint()
	}
	return f
}
