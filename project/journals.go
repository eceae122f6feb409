package project

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/evidence"
	"reprise/internal/durable"
	"reprise/journal"
)

// recallJournals adds what our journals know and the runs' files cannot express:
// questions, attempts, and who is working on them now. It only reads. A run of a workflow
// file that has no journal may raise a question.
func (j *Judgement) recallJournals(ctx context.Context, runs []*reprise.Run, opts JudgeOptions) {
	home := homeAt(map[string]*home{}, j.Root)
	if home == nil {
		for _, r := range runs {
			j.views[r].tellUnrecorded()
		}
		return
	}
	if home.err != nil {
		if home.store != nil {
			home.err = cmp.Or(home.store.Usable(), home.err)
		}
		// Whether any of them was begun, and who is working on it, is unknown.
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
	store := home.store
	j.tellPlace(store, runs, opts)
	inbox, err := journal.ReadInbox(j.Root)
	if err != nil {
		j.report(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Source: reprise.Source{File: journal.Inbox},
			Message: "waiting answers cannot be read: " + err.Error(), Hint: "move it away; `reprise answer` creates a new one",
		})
	}
	defer j.hear(runs, inbox)
	accounts, logs := map[*reprise.Run]*journal.Account{}, map[*reprise.Run]logged{}
	for _, r := range runs {
		name := ""
		if !opts.Held.is(r.Ref) {
			name = journalOf(store, home.names, r)
		}
		if name == "" {
			continue
		}
		account, err := journal.ReadAccount(store, name)
		if err != nil {
			r.Report(journalProblem(r.ID, err))
			account = nil
		} else {
			logs[r] = loggedIn(account)
		}
		accounts[r] = account
	}
	defer j.tellHeld(home, runs, logs, opts)
	for _, r := range runs {
		v := j.views[r]
		s := Scope{Dir: j.Root, Files: store, Store: store, Budget: opts.Budget, Observed: reprise.Observed{Now: opts.Now}, lapsed: opts.Lapsed}
		if opts.Held.is(r.Ref) {
			v.Files, v.Events, v.History, v.Own = opts.Held.Run, opts.Held.Events, opts.Held.History, opts.Held.Own
			r.Findings = append(r.Findings, opts.Held.Findings...)
			s.last = lastFile(store, r.Ref)
			v.tell(ctx, &s)
			continue
		}
		var recorded bool
		switch s.account, recorded = accounts[r]; {
		case !recorded:
			v.tellUnrecorded()
			home.tellForgotten(r, runs)
			continue
		case s.account == nil:
			continue
		}
		entries := s.account.Entries
		v.Events = make([]reprise.Event, len(entries))
		for i := range entries {
			v.Events[i] = entries[i].Event
			s.last.File = entries[i].Source.File
		}
		v.History = logs[r].hist
		// If a run's beginning was cut off, its files are not yet, or no longer, those of
		// the run.
		b := lastBeginning(entries)
		stands := !b.Behind(store) && r.Gone() == nil && slices.Contains(home.names, journal.Name(r.Ref))
		if stands && caughtUp(ctx, &s, r) {
			v.files = s.Files
		}
		v.Own = putBack(ctx, store, r, v.History)
		v.Files = r.Clone()
		if slices.ContainsFunc(inbox, func(l journal.Letter) bool { return l.Answers() && l.For(r.Ref) }) {
			s.Budget = nil // a stored answer may be the decision it waits for
		}
		v.tell(ctx, &s)
		if opts.Full {
			v.tellFailed(j.Root, opts.Hide)
		}
		// Others may have taken the lease since and left it because of what is still
		// running.
		n := len(entries)
		if working := n > 0 && (works(home.holder, &entries[n-1]) || home.begins(entries)); working || len(v.History.Open()) > 0 {
			takeOwner(r, home, durable.LockPath, working, opts)
			if o := r.Owner; o != nil && o.StartTicks != 0 && o.StartTicks == home.holder.StartTicks {
				o.StartedAt = since(entries, home.holder)
			}
		}
		if stands && r.Gone() == nil {
			tellStand(store, s.account, r)
		}
	}
}

// JournalOf returns the name of a run's journal, "" if it has none. A finished run that was
// moved to a folder beside it keeps the one it has: who puts away what is done makes nothing
// of it unknown.
func JournalOf(store *durable.Store, r *reprise.Run) (string, error) {
	names, err := journal.Logs(store)
	return journalOf(store, names, r), err
}

func journalOf(store *durable.Store, names []string, r *reprise.Run) string {
	if name := journal.Name(r.Ref); slices.Contains(names, name) {
		return name
	}
	if r.State != reprise.Complete {
		return ""
	}
	for _, name := range names {
		if !journal.Names(name, r.Ref) {
			continue
		}
		entries, _, err := journal.Read(store, name)
		was := journal.LifeOf(entries).Run
		if err != nil || journal.Name(was) != name || !beside(was.Path, r.Path) || len(journal.Fold(entries).Open()) > 0 {
			continue // one with an attempt that has no recorded end is told as lost
		}
		if _, err := fs.Stat(store, was.Path); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
	return ""
}

// checkpoints returns what sessions reported through hooks, recorded or still in the
// inbox. An unreadable inbox has already been reported.
func (j *Judgement) checkpoints() (out []reprise.Checkpoint) {
	for _, v := range j.views {
		for _, ev := range v.Events {
			if ev.Session != nil {
				out = append(out, *ev.Session)
			}
		}
	}
	inbox, _ := journal.ReadInbox(j.Root)
	for _, l := range inbox {
		if l.Session != nil {
			out = append(out, *l.Session)
		}
	}
	return out
}

// hear adds the stored answers, the first to each question, and what the agents of open
// attempts reported.
func (j *Judgement) hear(runs []*reprise.Run, inbox []journal.Letter) {
	for _, l := range inbox {
		for _, r := range runs {
			switch {
			case !l.For(r.Ref):
			case l.Answers():
				r.Hear(l.Question, l.Answer)
			case l.Reported != nil:
				open := j.views[r].History.Step(l.Reported.Step).Open
				if s := r.Step(l.Reported.Step); s != nil && open != nil && open.Key == l.Reported.Key {
					s.Noted = append(s.Noted, l.Reported.Note(l.At, reprise.Source{File: journal.Inbox}))
				}
			}
		}
	}
}

// works reports whether the last entry of a journal was written by the lease holder.
func works(h durable.Holder, last *journal.Entry) bool {
	return last.Generation == h.Generation && last.Event.Kind != reprise.EngineLeft
}

// begins reports whether the current or last lease holder created a run that it has not
// worked on yet: it releases the lease in between.
func (h *home) begins(entries []journal.Entry) bool {
	last := &entries[len(entries)-1]
	made := func(e journal.Entry) bool {
		return e.Generation == last.Generation && e.Event.Kind == reprise.RunStarted
	}
	if last.Event.Kind != reprise.EngineLeft || last.Event.Outcome != "" || !slices.ContainsFunc(entries, made) {
		return false
	}
	if last.Generation+1 == h.holder.Generation {
		h.look()
		return h.quiet()
	}
	return last.Generation == h.holder.Generation
}

// takeOwner makes the holder of our lease the owner of the run that its journal says it
// is working on: the process that took the lease, if alive; else a process that it left
// running; else whatever has the lock or cannot be seen from here. This process does not
// count.
func takeOwner(r *reprise.Run, h *home, lock string, working bool, opts JudgeOptions) {
	owner := reprise.Owner{
		Host: h.holder.Host, BootID: h.holder.BootID, PID: h.holder.PID, StartTicks: h.holder.StartTicks, Agent: "reprise",
		Source: reprise.Source{File: lock},
	}
	life := evidence.Life(owner, opts.Now).Life
	if life == reprise.Alive && owner.PID == os.Getpid() {
		return
	}
	if life != reprise.Alive {
		if heirs := h.heirs(owner); len(heirs) > 0 {
			// The oldest, because what it started in turn may be gone before the next
			// look.
			oldest := slices.MinFunc(heirs, func(a, b reprise.Owner) int { return cmp.Compare(a.StartTicks, b.StartTicks) })
			r.Owner = &oldest
			return
		}
		owner.Lock = filepath.Join(h.dir, filepath.FromSlash(durable.LockPath))
		owner.Orphan = life == reprise.Dead // the process that has the lock inherited it
	}
	// An unreadable lock belongs to the process that recorded last.
	if (working || owner.PID == 0) && evidence.Life(owner, opts.Now).Life != reprise.Dead {
		r.Owner = &owner
	}
}

// since is when the holder of the lease began to record what it does, zero if it did not.
func since(entries []journal.Entry, holder durable.Holder) time.Time {
	for i := range entries {
		if entries[i].Generation == holder.Generation {
			return entries[i].Event.At
		}
	}
	return time.Time{}
}

// tellHeld adds to the other runs of the project who works on one of them, or on something else,
// or what still runs of a dead engine.
func (j *Judgement) tellHeld(h *home, runs []*reprise.Run, logs map[*reprise.Run]logged, opts JudgeOptions) {
	lock := reprise.Owner{Host: h.holder.Host, BootID: h.holder.BootID, Lock: filepath.Join(h.dir, filepath.FromSlash(durable.LockPath))}
	orphaned := slices.ContainsFunc(runs, func(r *reprise.Run) bool {
		return r.Owner != nil && r.Owner.Orphan && r.Owner.Source.File == durable.LockPath
	})
	if opts.Held != nil || !orphaned && evidence.Life(lock, opts.Now).Life == reprise.Dead {
		return // the process that has given the lease back may still live
	}
	held := &reprise.Run{}
	takeOwner(held, h, durable.LockPath, true, opts)
	o := held.Owner
	if o == nil || evidence.Life(*o, opts.Now).Life != reprise.Alive {
		return
	}
	for _, r := range runs {
		entries := logs[r].entries
		if n := len(entries); n == 0 || !works(h.holder, &entries[n-1]) {
			continue
		}
		o.Run, o.StartedAt = r.ID, since(entries, h.holder)
		break
	}
	for _, r := range runs {
		if _, top := j.here(r); top == "." && r.State.Open() && (r.Owner == nil || r.Owner.Source != o.Source) {
			r.Holder = o
		}
	}
}

// caughtUp makes a run what resuming makes it before anything else, by bringing its files
// up to the journal, and shows them like that in the scope. It reports whether there was
// anything to bring up; tellStand reports why not.
func caughtUp(ctx context.Context, s *Scope, r *reprise.Run) bool {
	l, dry := convention.Find(r.Layout), durable.NewDryRun(s.Store)
	if s.account.Due { // the core makes it: its record names all that follows
		r.Behind = true
		return true
	}
	if l == nil {
		return false
	}
	if _, err := s.account.Bring(ctx, s.Store, dry, l, r.Ref); err != nil || len(dry.Edits()) == 0 {
		return false
	}
	then, err := reprise.Load(l, dry, r.Ref)
	if err != nil {
		return false
	}
	now, err := reprise.Load(l, s.Store, r.Ref)
	if err != nil {
		return false
	}
	for _, f := range r.Findings { // what others say of it stays
		if !slices.Contains(now.Findings, f) {
			then.Report(f)
		}
	}
	become(r, then)
	r.Behind, s.Files = true, dry
	return true
}

// become gives a run what its files say at another time. What is known of it from
// elsewhere stays.
func become(r, then *reprise.Run) {
	then.Also, then.Project = r.Also, r.Project
	*r = *then
}

// tellStand reports whether a run's files are behind its journal or were changed by
// something else.
func tellStand(store *durable.Store, account *journal.Account, r *reprise.Run) {
	findings, err := account.Stand(store, r.Ref)
	if err != nil {
		r.Report(journalProblem(r.ID, err))
	}
	for _, f := range findings {
		r.Report(f)
	}
}

// tellGone reports the files of a run that its journal wrote and that are gone.
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
		// The rest may look like a run that has barely begun.
		r.State, r.Reason, r.Next = reprise.Unreadable, filesGone, nil
	}
}

// tellPlace reports open runs in a project whose state was copied along with it or cannot
// be used: resuming one is refused before anything is read. Where an undo was cut off,
// nothing is known of any run.
func (j *Judgement) tellPlace(store *durable.Store, runs []*reprise.Run, opts JudgeOptions) {
	if half := store.Whole(); half != nil {
		for _, r := range runs {
			r.Report(reprise.Finding{
				Code: reprise.CodeUndoCutOff, Severity: reprise.Blocking, Subject: r.ID, Source: reprise.Source{File: durable.StateDir},
				Message: half.Error(), Hint: "finish it first; until then the files are in part from another time",
			})
		}
	}
	err := store.Usable()
	if err == nil && !opts.Adopt {
		err = store.Copied()
	}
	if err == nil {
		return
	}
	f := journalProblem(durable.StateDir, err)
	if copied, ok := errors.AsType[*durable.CopiedError](err); ok {
		f.Code, f.Severity, f.Hint = reprise.CodeCopied, reprise.Blocking, copied.Hint()
		// Some readers see only the reason, without the hint.
		f.Message = "--adopt accepts this project as one of its own; it is a copy of " + copied.From
		if copied.From == "" {
			f.Message = "nothing shows that the state was made here; --adopt accepts it: " + copied.Cause.Error()
		}
	}
	for _, r := range runs {
		if r.State.Open() && !opts.Held.is(r.Ref) {
			r.Report(f)
		}
	}
}

// journalProblem reports that a journal cannot be read. If records are lost or not
// understood, what was begun is unknown, and the run is not resumed until that is
// repaired.
func journalProblem(subject string, err error) reprise.Finding {
	f := reprise.Finding{
		Code: reprise.CodeJournalDamaged, Severity: reprise.Warning, Subject: subject, Source: reprise.Source{File: durable.StateDir},
		Message: "the journal cannot be read: " + err.Error(), Hint: "`reprise repair` shows what can be saved",
	}
	var damage *durable.DamageError
	var future *durable.FutureError
	var unusable *durable.UnusableError
	switch {
	case errors.As(err, &unusable):
		f.Code, f.Severity, f.Source.File = reprise.CodeNotRegular, reprise.Blocking, unusable.Path
		if unusable.Denied {
			f.Code = reprise.CodePermission
		}
		f.Message, f.Hint = "nothing can be recorded here: "+err.Error(), unusable.Hint()
	case errors.As(err, &damage):
		// Some readers see only the reason, without the hint.
		f.Severity, f.Source.File = reprise.Blocking, damage.Path
		f.Message = "the journal of this run is damaged; `reprise repair` shows what can be saved: " + damage.Cause
		f.Hint = "repair it; the run's own files still count"
	case errors.Is(err, fs.ErrPermission):
		f.Code, f.Severity = reprise.CodePermission, reprise.Blocking
		f.Message = "permission denied for the journal, so what was begun is unknown: " + err.Error()
		f.Hint = "see with `ls -ld` who owns it; run reprise as that user or change its permissions"
	case errors.As(err, &future):
		f.Severity, f.Source.File, f.Hint = reprise.Blocking, future.Path, future.Hint()
	}
	return f
}

// logged is the journal of a run as far as it was read.
type logged struct {
	entries []journal.Entry
	hist    *journal.History
}

func loggedIn(account *journal.Account) logged {
	return logged{account.Entries, journal.Fold(account.Entries)}
}
