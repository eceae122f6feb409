package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/journal"
)

// A run's files are in the project, where git and every agent can remove them: a
// clean-up, a stash, another branch. The journal has every accepted end. A run that the
// journal knows and that has no files is not nothing: finished work would be done a
// second time.

// Lost is a run that was begun, neither ended nor given up, and has no files.
type Lost struct {
	Ref     reprise.Ref
	account *journal.Account
}

// LostOf reads a run's journal and reports whether its files should exist and do not; nil
// if not. A beginning that was cut off does not count, since nothing of it was done.
func LostOf(store *durable.Store, ref reprise.Ref) (*Lost, error) {
	return lostIn(store, journal.Name(ref))
}

func lostIn(store *durable.Store, name string) (*Lost, error) {
	account, err := journal.ReadAccount(store, name)
	if err != nil {
		return nil, err
	}
	life := journal.LifeOf(account.Entries)
	snaps := func() []durable.Snapshot {
		list, _ := store.Snapshots() // an unreadable one says nothing
		return list
	}
	if life.Run.Path == "" && len(account.Entries) > 0 {
		// Another program began it, and an earlier version, which took a snapshot first,
		// resumed it.
		life.Run = placeIn(snaps(), name)
	}
	// A journal counts only for its own run.
	if life.Run.Path == "" || journal.Name(life.Run) != name || !filepath.IsLocal(filepath.FromSlash(life.Run.Path)) {
		return nil, nil
	}
	if !life.Open && (life.Restored == "" || !slices.ContainsFunc(snaps(), func(s durable.Snapshot) bool { return s.ID == life.Restored && journal.Holds(&s, life.Run) })) {
		return nil, nil
	}
	if b := lastBeginning(account.Entries); b.Open() {
		return nil, nil
	}
	if there, err := isThere(store, life.Run); there || err != nil {
		return nil, err
	}
	return &Lost{life.Run, account}, nil
}

// isThere reports whether a run would be found at its place, regardless of what git
// ignores.
func isThere(store *durable.Store, ref reprise.Ref) (bool, error) {
	switch _, err := fs.Stat(store, ref.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return true, nil // what may not be read is not gone; that is reported elsewhere
	}
	l := convention.Find(ref.Layout)
	if l == nil {
		return true, nil // of another version, which knows what is there
	}
	refs, err := l.Find(store)
	if err != nil {
		return true, fmt.Errorf("look for %s: %w", ref.ID, err)
	}
	return slices.ContainsFunc(refs, func(have reprise.Ref) bool { return have.Path == ref.Path }), nil
}

// placeIn finds the run of a journal among those that have snapshots.
func placeIn(snaps []durable.Snapshot, name string) reprise.Ref {
	for _, s := range slices.Backward(snaps) {
		for _, r := range s.Runs {
			ref := reprise.Ref{Layout: r.Layout, ID: r.ID, Path: r.Path}
			if journal.Name(ref) == name {
				return ref
			}
		}
	}
	return reprise.Ref{}
}

// addLost lists the runs that the journals know and that have no files. It only reads.
func (res *Result) addLost(ctx context.Context, ours *home, runs []*reprise.Run, entries []convention.Entry, held *Held) []*reprise.Run {
	store, last := ours.store, ours.entries
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if ev := last[name].Event; journal.Over(&ev) {
			continue
		}
		if slices.ContainsFunc(runs, func(r *reprise.Run) bool { return journal.Name(r.Ref) == name || journal.Placed(name, r.Ref) }) {
			continue
		}
		l, err := lostIn(store, name)
		if err != nil && !slices.Contains(mayBegin, last[name].Event.Kind) { // addRenewed reports these
			res.report(journalProblem(name, err))
		}
		if err != nil || l == nil || held.is(l.Ref) || slices.ContainsFunc(runs, l.isCopy) {
			continue
		}
		i := slices.IndexFunc(entries, func(e convention.Entry) bool { return e.Name() == l.Ref.Layout })
		if i < 0 {
			continue
		}
		if run := l.run(ctx, store, entries[i]); run != nil && !slices.ContainsFunc(runs, func(r *reprise.Run) bool { return l.movedTo(r, run) }) {
			put := func(r *reprise.Run) bool { return r.Layout == run.Layout && r.Path == run.Path } // its own journal tells nothing
			runs = append(slices.DeleteFunc(runs, put), run)
		}
	}
	return runs
}

// movedTo reports whether r is a list of the user that was the run's under another name:
// it has the same steps, and whatever the journal says is finished is closed in it. Phases
// are the same in every run of a kind, so such a run must have the same name. A run with an
// attempt that was cut off has more to tell, and so has one in doubt.
func (l *Lost) movedTo(r, was *reprise.Run) bool {
	facts := r.Kind.Facts()
	if r.Layout != l.Ref.Layout || !facts.Kept || facts.Phased && r.ID != l.Ref.ID || len(was.Steps) == 0 || len(r.Steps) < len(was.Steps) {
		return false
	}
	history := journal.Fold(l.account.Entries)
	differs := func(s reprise.Step) bool {
		now := r.Step(s.ID)
		return now == nil || now.Title != s.Title || history.Step(s.ID).Accepted != nil && !now.Status.Closed()
	}
	return len(history.Open()) == 0 && len(l.doubts()) == 0 && !slices.ContainsFunc(was.Steps, differs)
}

// isCopy reports whether r is the same run in another place: in another checkout, or
// described by other files.
func (l *Lost) isCopy(r *reprise.Run) bool {
	same := func(ref reprise.Ref) bool {
		return ref.Layout == l.Ref.Layout && (ref.Path == l.Ref.Path || strings.HasSuffix(ref.Path, "/"+l.Ref.Path))
	}
	return same(r.Ref) || slices.ContainsFunc(r.Also, same)
}

// run returns the run as far as it is known without its files, or as archived by its
// tool; nil if nothing of it is left to do.
func (l *Lost) run(ctx context.Context, store *durable.Store, of convention.Entry) *reprise.Run {
	run, lay := &reprise.Run{Ref: l.Ref}, of.Layout
	if away := PutAway(store, of, l.Ref, journal.Fold(l.account.Entries)); away != nil {
		if away.State == reprise.Complete {
			return nil
		}
		return away
	}
	if then, err := reprise.Load(lay, store, l.Ref); err == nil && then.State == reprise.Complete && l.owes() {
		return then // its layout takes it for over by what a rejected attempt left
	}
	if made, err := l.account.Rebuild(ctx, store, lay, l.Ref); err == nil {
		if then, err := reprise.Load(lay, made.Files, l.Ref); err == nil {
			run = then
			if !run.State.Open() && len(l.doubts()) == 0 {
				return nil
			}
			run.Findings, run.Owner = nil, nil
		}
	}
	if len(run.Steps) == 0 { // its records know only what was begun
		for i := range l.account.Entries {
			if ev := &l.account.Entries[i].Event; ev.Kind == reprise.StepStarted && ev.Listed != nil && run.Step(ev.Step) == nil {
				run.Steps = append(run.Steps, reprise.Step{ID: ev.Step, Title: ev.Listed.Title})
			}
		}
	}
	ends := journal.Ends(l.account.Entries, journal.Fold(l.account.Entries))
	f := reprise.Finding{
		Code: reprise.CodeStateGone, Severity: reprise.Blocking, Subject: l.Ref.ID, Hint: journal.GoneHint(l.Ref.ID),
		Source:  l.account.Entries[len(l.account.Entries)-1].Source,
		Message: fmt.Sprintf("its files in %s are gone, and its journal shows nothing finished", l.Ref.Path),
	}
	if n := len(ends); n > 0 {
		f.Source = ends[n-1].Source
		f.Message = fmt.Sprintf("its files in %s are gone; according to its journal %s, and starting it again would repeat that", l.Ref.Path, wereFinished(namesOf(ends)))
	}
	run.State, run.Reason, run.Next = reprise.Unreadable, filesGone, nil
	run.Report(f)
	for _, e := range ends[:min(len(ends), maxEnds)] {
		run.Report(reprise.Finding{
			Code: reprise.CodeLostCompletion, Severity: reprise.Info, Subject: e.Event.Step, Source: e.Source,
			Message: fmt.Sprintf("%s was finished at %s, attempt %d", e.Event.Step, clock(e.Event.At), e.Event.Attempt),
		})
	}
	return run
}

// doubts gives what was in doubt of it.
func (l *Lost) doubts() []reprise.Event {
	events := make([]reprise.Event, len(l.account.Entries))
	for i := range events {
		events[i] = l.account.Entries[i].Event
	}
	return reprise.Doubts(events)
}

// owes reports whether the last attempt at a step was not accepted.
func (l *Lost) owes() bool {
	for _, s := range journal.Fold(l.account.Entries).Steps {
		if s.Owed != nil {
			return true
		}
	}
	return false
}

// PutAway returns a run from its tool's archive, or nil if it is not there. If an attempt
// has no recorded end, no person is known to have ended it, and it is complete only if all
// such attempts are among those that were seen to succeed.
func PutAway(fsys fs.FS, of convention.Entry, ref reprise.Ref, hist *journal.History, succeeded ...string) *reprise.Run {
	to, from, back, ok := movedAway(fsys, of, ref)
	if !ok {
		return nil
	}
	run, err := reprise.Load(of.Layout, fsys, to)
	if err != nil {
		return nil // so as far as is known its files are gone
	}
	open := hist.Open()
	then := "to leave it archived, tick what is done in it and remove the rest"
	if run.State == reprise.Complete {
		open = slices.DeleteFunc(open, func(ev reprise.Event) bool { return slices.Contains(succeeded, ev.Step) })
		then = "`reprise resume " + reprise.Pasted(ref.ID, "RUN") + "` then finds out, or asks, whether it was finished"
	}
	if !run.State.Open() && len(open) > 0 {
		run.State, run.Reason, run.Options = reprise.Waiting, run.Reason+"; the attempt at "+open[0].Step+", which has no recorded end, may have done that", nil
		run.Report(reprise.Finding{
			Code: reprise.CodeClosedOpen, Severity: reprise.Warning, Subject: run.ID, Source: reprise.Source{File: to.Path}, Message: run.Reason,
			Hint: fmt.Sprintf("`mv %s %s` puts it back; %s", reprise.Pasted(from, "FROM"), reprise.Pasted(back, "TO"), then),
		})
	}
	return run
}

// movedAway finds where a run was put away: in the archive of its tool or, where that has
// none, in a folder beside it. from and back are what has to be moved to put it back.
func movedAway(fsys fs.FS, of convention.Entry, ref reprise.Ref) (to reprise.Ref, from, back string, ok bool) {
	if of.PutAway != nil {
		to, ok = of.PutAway(fsys, ref)
		return to, path.Dir(to.Path), path.Dir(ref.Path), ok
	}
	refs, err := of.Find(fsys)
	refs = slices.DeleteFunc(refs, func(r reprise.Ref) bool {
		return r.ID != ref.ID || r.Path == ref.Path || !beside(ref.Path, r.Path)
	})
	if err != nil || len(refs) != 1 {
		return to, "", "", false
	}
	return refs[0], refs[0].Path, ref.Path, true
}

// beside reports whether a file was moved, under its name, to a folder beside it or beside
// its own.
func beside(was, now string) bool {
	in := path.Dir(path.Dir(now))
	return path.Base(was) == path.Base(now) && (in == path.Dir(was) || in == path.Dir(path.Dir(was)))
}

// filesGone is the reason why a run's state is unknown.
const filesGone = "its files are gone"

// maxEnds limits how many ends of a lost run are listed.
const maxEnds = 20

func namesOf(ends []journal.Entry) (out []string) {
	for _, e := range ends {
		out = append(out, e.Event.Step)
	}
	return out
}

// wereFinished lists steps in a sentence.
func wereFinished(names []string) string {
	switch n := len(names); {
	case n == 1:
		return names[0] + " was finished"
	case n > maxEnds:
		return fmt.Sprintf("%d steps were finished", n)
	}
	return strings.Join(names, ", ") + " were finished"
}

// tellShrunk reports the tasks that were open when the run was last worked on and that its
// list, all of it closed, no longer has: it was cut off, or somebody removed them. Who
// committed the list as it is meant that.
func (v *View) tellShrunk(git *reprise.Git) {
	r := v.Run
	if r.Kind != reprise.KindTasks || r.State != reprise.Complete {
		return
	}
	if git != nil {
		if _, known := git.ContentAt(r.Path); known && git.Unchanged(r.Path, time.Time{}) {
			return
		}
	}
	var names []string
	for _, l := range v.History.Listed {
		part := func(s reprise.Step) bool { return s.ID == l.ID || strings.HasPrefix(s.ID, l.ID+".") }
		if !slices.ContainsFunc(r.Steps, part) {
			names = append(names, l.ID)
		}
	}
	if len(names) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeClosedOpen, Severity: reprise.Warning, Subject: r.ID, Source: reprise.Source{File: r.Path},
			Message: "open when it was last worked on, and no longer in the list: " + strings.Join(names, ", "),
			Hint:    "put back what is missing; if it was removed on purpose, commit the list as it is",
		})
	}
}

// tellLost finds what the journal accepted and the files do not show. The engine uses the
// same rule to ask.
func (v *View) tellLost(ctx context.Context, s *Scope) {
	r := v.Run
	if !r.State.Open() || r.State == reprise.Unreadable {
		return
	}
	gone := slices.ContainsFunc(r.Findings, func(f reprise.Finding) bool { return f.Code == reprise.CodeStateGone })
	reopened := false
	for i := range r.Steps {
		st := &r.Steps[i]
		reopened = reopened || !st.Status.Closed() && v.History.Step(st.ID).Reopened(st) != nil
	}
	if !gone && !reopened {
		return
	}
	ends := journal.Ends(s.entries(v), v.History)
	hint := "check whether its work is there; `reprise resume` asks before it is done again"
	for _, e := range slices.Backward(ends) {
		if v.Reopened(r.Step(e.Event.Step)) != nil && e.Event.Commit != "" && r.Worktree == "" {
			hint = fmt.Sprintf("`git branch --all --contains %.12s` names the branches that have its work: merge one if yours is not among them; `reprise resume` asks before it is done again", e.Event.Commit)
			break
		}
	}
	for _, e := range ends {
		st := r.Step(e.Event.Step)
		if v.Reopened(st) == nil {
			continue
		}
		r.Report(reprise.Finding{
			Code: reprise.CodeLostCompletion, Severity: reprise.Warning, Subject: st.ID, Source: e.Source,
			Message: fmt.Sprintf("%s was finished at %s, but the run's files say %s", st.ID, clock(e.Event.At), st.Status),
			Hint:    hint,
		})
	}
	l := convention.Find(r.Layout)
	if grows := convention.Of(r.Layout).Appends || r.Kind == reprise.KindTasks; !gone || grows || l == nil || len(ends) == 0 || s.Store == nil {
		return
	}
	if names := forgotten(ctx, s.Store, l, r, ends); len(names) > 0 {
		r.Report(reprise.Finding{
			Code: reprise.CodeLostCompletion, Severity: reprise.Blocking, Subject: r.ID, Source: ends[len(ends)-1].Source,
			Message: fmt.Sprintf("according to the journal %s, but the remaining files do not contain it", wereFinished(names)),
			Hint:    journal.GoneHint(r.ID),
		})
	}
}

// tellOwnCopies plays down that the copies of a plan differ where nothing but we wrote them.
func (v *View) tellOwnCopies(s *Scope) {
	for i := range v.Run.Findings {
		if f := &v.Run.Findings[i]; f.Code == reprise.CodePlanCopies && s.account != nil && s.account.Wrote(f.Source.File) && s.account.Untouched(s.Store) {
			f.Severity = reprise.Info
		}
	}
}

// forgotten lists finished steps that a run no longer has because some of its files are
// gone: they would be planned and done again.
func forgotten(ctx context.Context, store *durable.Store, l reprise.Layout, r *reprise.Run, ends []journal.Entry) (out []string) {
	account, err := journal.ReadAccount(store, journal.Name(r.Ref))
	if err != nil {
		return nil // recallJournals reports it
	}
	made, err := account.Rebuild(ctx, store, l, r.Ref)
	if err != nil {
		return nil // repair reports it
	}
	then, err := reprise.Load(l, made.Files, r.Ref)
	if err != nil {
		return nil // likewise
	}
	for _, e := range ends {
		if s := then.Step(e.Event.Step); s != nil && s.Status.Closed() && r.Step(s.ID) == nil {
			out = append(out, s.ID)
		}
	}
	return out
}
