package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/worktree"
)

// home puts the run's own checkout back on the run's branch where an agent left it on
// another branch, or on none. It is an error where that cannot be done: what is on
// another branch is not part of the run.
func (w *local) home(ctx context.Context, f *Attempt) error {
	if w.repo == nil || f.Inside == "" {
		return nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if err != nil {
		return err
	}
	branch := worktree.Branch(w.run)
	from, err := repo.Return(ctx, branch)
	if err == nil && from != "" {
		w.notice(reprise.Finding{
			Code: reprise.CodeWorktreeForeign, Severity: reprise.Info, Subject: f.Step,
			Message: fmt.Sprintf("the agent had checked out %s instead of %s; its commits there were moved to %s", from, branch, branch),
		})
	}
	return err
}

// switched is what is checked out in the project if it is not the branch that was, "" if it
// is. It is left: whoever switched there may have been a person.
func (w *local) switched(f *Attempt) string {
	if w.repo == nil || f.Inside != "" || w.checkedOut == "" {
		return ""
	}
	switch now := w.repo.Current(); now {
	case w.checkedOut:
		return ""
	case "":
		return "no branch"
	default:
		return now
	}
}

// astray is the error that a commit of an attempt is not on the run's branch, nil if
// there is no such commit.
func (w *local) astray(ctx context.Context, f *Attempt) error {
	if f.Inside == "" || f.Key == "" {
		return nil
	}
	repo, err := w.repoAt(ctx, f.Dir)
	if err != nil {
		return err
	}
	commit, found, err := repo.StrayTrailer(ctx, "HEAD", reprise.TrailerKey, f.Key)
	if err != nil || !found {
		return err
	}
	return &strayError{commit, worktree.Branch(w.run)}
}

// commit commits what the attempt left uncommitted and nothing else can own: everything
// in the run's own checkout; in the project, what was not changed before the attempt
// began. It returns the commit that holds the work, of an earlier attempt if this one
// made none, "" if there is none. The trailer makes it at most one for each attempt. In
// the run's own checkout it is an error if work of the attempt is not on the run's
// branch.
func (w *local) commit(ctx context.Context, f *Attempt) (string, error) {
	if w.repo == nil || f.Dir == "" {
		return "", nil
	}
	w.folders.commit.Lock()
	defer w.folders.commit.Unlock()
	if err := w.home(ctx, f); err != nil {
		return "", err
	}
	w.dateEnd(f) // an earlier process may have committed or staged it
	if made, err := w.commitOf(ctx, f, f.Key, reprise.TrailerAccepted); made != "" || err != nil {
		return made, err
	}
	if f.Commit {
		made, err := w.commitRest(ctx, f)
		if err == nil {
			w.tellNested(ctx, f)
		}
		if made != "" || err != nil {
			return made, err
		}
	}
	own, err := w.commitOf(ctx, f, f.Key, "")
	if err != nil {
		return "", err
	}
	if own != "" {
		return own, nil
	}
	if err := w.astray(ctx, f); err != nil {
		return "", err
	}
	if now := w.head(ctx, f.Dir); !f.Recalled && f.Head != "" && now != f.Head && !w.folders.shared(f) {
		if gone, err := w.tookBack(ctx, f); gone == nil || err != nil {
			return now, err
		}
	}
	return w.commitBefore(ctx, f)
}

// CommitRecord implements Hands. The commit that has the work of an attempt usually has its
// end, too. Work that stays uncommitted keeps its end beside it: a clone without the one
// must not have the other.
func (w *local) CommitRecord(ctx context.Context, ev *reprise.Event) {
	if !w.inCommit(ev) {
		return
	}
	if ev.Commit != "" && ev.Commit == w.withEnd {
		return
	}
	if ev.Commit == "" && ev.Step == w.leftOut {
		return // whoever commits the work commits its end
	}
	f := &Attempt{Assignment: reprise.Assignment{Step: ev.Step}, Dir: w.Dir, Key: w.keyOf(ev.Step, ev.Attempt), Ends: []reprise.Event{*ev}}
	trailer := reprise.TrailerKey + ": " + f.Key
	if ev.Attempt > 0 {
		trailer += reprise.TrailerAccepted
	}
	if s := w.run.Step(ev.Step); s != nil {
		f.Unit.Title = s.Title
	}
	if ev.Kind == reprise.StepSkipped {
		f.Unit.Title += " (skipped)"
	}
	w.folders.commit.Lock()
	defer w.folders.commit.Unlock()
	look, err := w.repo.Look(ctx)
	if err == nil {
		_, err = w.repo.CommitPaths(ctx, look, nil, w.listed(ctx, w.repo, look, f, nil), w.message(f), trailer)
	}
	if err != nil {
		w.notice(reprise.Finding{
			Code: reprise.CodeUncommitted, Severity: reprise.Info, Subject: ev.Step, Message: "what is recorded of " + ev.Step + " is not committed: " + err.Error(),
		})
	}
}

// inCommit reports whether what an event changes in a list of tasks is committed.
func (w *work) inCommit(ev *reprise.Event) bool {
	return w.repo != nil && w.run != nil && w.run.Kind == reprise.KindTasks &&
		slices.Contains([]reprise.EventKind{reprise.StepFinished, reprise.StepSkipped, reprise.QuestionAnswered}, ev.Kind)
}

// commitLast commits what the last event changed if the process died before it could, and the
// files still say it.
func (w *work) commitLast(ctx context.Context) {
	if n := len(w.events); n > 0 {
		last := w.events[n-1]
		if s := w.run.Step(last.Step); s != nil && s.Status.Closed() && last.Attempt == 0 {
			w.hands.CommitRecord(ctx, &last)
		}
	}
}

// lockedFor is how long the index of a checkout may be locked before the lock counts as
// left by a killed git.
const lockedFor = 30 * time.Second

// Land implements Hands.
func (w *local) Land(stop context.Context, f *Attempt) (l Landing, err error) {
	l.Commit, l.Err = w.commitWhole(stop, f)
	l.Unheld = w.unheld[f.Step]
	switch {
	case l.Err != nil && w.itsOwn(f, l.Err):
		l.Own = true
	case l.Err != nil && w.hist.Step(f.Step).Held == nil:
		return l, l.Err
	case l.Err == nil:
		// crash: effect-made
		err = w.store.Flush()
	}
	return l, err
}

// commitWhole is commit for finished work. If git cannot commit it, it records why. It
// waits for another git that holds the index or a ref for a moment, unless the user wants
// to stop.
func (w *local) commitWhole(stop context.Context, f *Attempt) (string, error) {
	ctx := context.WithoutCancel(stop)
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for last, waits := time.Now().Add(lockedFor), false; ; {
		commit, err := w.commit(ctx, f)
		if err == nil || w.itsOwn(f, err) {
			return commit, err
		}
		if !waits {
			changed, unlisted := w.dirty(ctx, f.Dir)
			if unlisted != nil {
				changed = nil
			}
			if err := w.recordHeld(ctx, f, changed, err); err != nil {
				return "", err
			}
			// A crash from here on loses nothing.
		}
		busy, locked := errors.AsType[*gitx.NotReadyError](err)
		locked = locked && busy.Locked
		if now := time.Now(); !locked || now.After(last) || !busy.Since.IsZero() && now.Sub(busy.Since) > lockedFor {
			return commit, err
		}
		if !waits {
			waits = true
			w.tell(Progress{Kind: Noticed, Step: f.Step, Text: "done; waiting for another git before committing: " + err.Error()})
		}
		select {
		case <-stop.Done():
			return "", err
		case <-w.Hard:
			return "", err
		case <-look.C:
		}
	}
}

// errCommitting is why finished work is not committed yet.
var errCommitting = errors.New("its work is being committed")

// commitRest commits what an attempt left. It is on record before that the attempt
// finished: a crash here repeats the commit, not the attempt.
func (w *local) commitRest(ctx context.Context, f *Attempt) (string, error) {
	repo, err := w.repoAt(ctx, f.Dir)
	if err != nil {
		return "", err
	}
	look, err := repo.Look(ctx)
	if err != nil {
		return "", err
	}
	whole := f.Inside != "" && w.folders.alone(f)
	var mine, others []string
	for _, name := range look.Changed {
		switch {
		case whole || w.commits(f, name):
			mine = append(mine, name)
		case !w.isState(name) && !gitx.Kept(name):
			others = append(others, name)
		}
	}
	left := w.tellUncommitted(ctx, f, others)
	if w.unheld = nil; f.Inside == "" && len(left) > 0 {
		w.unheld = map[string][]string{f.Step: w.inProject(left)}
	}
	if len(mine) == 0 {
		if len(left) > 0 {
			w.leftOut = f.Step
		}
		if len(left) > 0 || !w.inList(f) {
			return "", nil
		}
	}
	if err := w.recordHeld(ctx, f, look.Changed, errCommitting); err != nil {
		return "", err
	}
	w.dateEnd(f)
	if len(mine) == 0 {
		return "", nil // CommitRecord commits its end
	}
	trailer := reprise.TrailerKey + ": " + f.Key + reprise.TrailerAccepted
	if whole {
		return repo.Commit(ctx, look, w.message(f), trailer)
	}
	list := w.listed(ctx, repo, look, f, mine)
	made, err := repo.CommitPaths(ctx, look, mine, list, w.message(f), trailer)
	if len(list) > 0 {
		w.withEnd = made
	}
	return made, err
}

// inList reports whether the end of an attempt is committed in a list of tasks.
func (w *local) inList(f *Attempt) bool {
	return w.run.Kind == reprise.KindTasks && f.Inside == "" && len(f.Ends) > 0
}

// dateEnd gives the end of an attempt the time at which it was first put on record, if it was.
// Whoever commits or stages the list again after a crash thus finds the same bytes, and what
// is staged is known as ours.
func (w *local) dateEnd(f *Attempt) {
	if held := w.hist.Step(f.Step).Held; held != nil && held.Attempt == f.Number && w.inList(f) {
		f.Ends[0].Ended = held.At
	}
}

// listed gives the files of a list of tasks, by their names in the repository, as they will
// be once the end of an attempt is on record: those that git knows. A file that is not
// committed with the work is what the head has of it, and the end. Where that cannot be told,
// nothing of it is committed: recording the end tells why.
func (w *local) listed(ctx context.Context, repo *gitx.Repo, look *gitx.Look, f *Attempt, mine []string) map[string][]byte {
	if !w.inList(f) {
		return nil
	}
	its := func(name string) bool { return slices.Contains(mine, repo.Prefix()+name) }
	now, err := w.written(ctx, nil, f.Ends)
	base, names := map[string][]byte{}, append(slices.Collect(maps.Keys(now)), w.ref.Path) // its agent may have written that it is done
	var want []gitx.At
	for _, name := range slices.DeleteFunc(names, its) {
		if slices.Contains(look.Changed, repo.Prefix()+name) {
			want = append(want, gitx.At{Commit: look.Head, Path: name})
		} else if content, err := fs.ReadFile(w.led.Files(), name); err == nil { // what the head has, or no file that git knows
			base[name] = content
		}
	}
	had, failed := repo.Contents(ctx, want)
	if err != nil || failed != nil {
		return nil
	}
	for at, content := range had {
		base[at.Path] = content
	}
	other := slices.Clone(f.Ends)
	other[0].Commit = look.Head
	ends, err := w.written(ctx, base, f.Ends)
	others, failed := w.written(ctx, base, other)
	if err != nil || failed != nil {
		return nil
	}
	out := map[string][]byte{}
	for name, content := range ends {
		// What names the commit cannot be in it.
		if (base[name] != nil || its(name)) && bytes.Equal(content, others[name]) {
			out[repo.Prefix()+name] = content
		}
	}
	return out
}

// written gives the files that events change, as they would be, where some files hold
// something else than they do. What an agent wrote in them is worded as it wrote it.
func (w *local) written(ctx context.Context, base map[string][]byte, events []reprise.Event) (map[string][]byte, error) {
	dry := durable.NewDryRun(w.led.Files())
	for name, content := range base {
		now, err := fs.ReadFile(dry, name)
		if err == nil {
			err = dry.Apply(ctx, []reprise.Edit{{Path: name, Base: reprise.HashOf(now), Content: content}})
		}
		if err != nil {
			return nil, err
		}
	}
	for _, ev := range slices.DeleteFunc(slices.Clone(events), journalOnly) {
		if err := journal.PlayOn(ctx, dry, w.layout, w.files, ev); err != nil && !errors.Is(err, reprise.ErrCannotRecord) {
			return nil, err
		}
	}
	out := map[string][]byte{}
	for _, e := range dry.Edits() {
		content, err := fs.ReadFile(dry, e.Path)
		if err != nil {
			return nil, err
		}
		out[e.Path] = content
	}
	return out, nil
}

// maxHeld bounds how many files are recorded of an attempt that cannot be committed.
// Above it, a person decides.
const maxHeld = 20_000

// recordHeld records that an attempt finished and what it left, unless the journal has
// it. As long as that is unchanged, the attempt is not repeated. changed is what no commit
// holds; where that cannot be listed, only what it was to leave can be looked at, and
// nothing is committed of the rest.
func (w *local) recordHeld(ctx context.Context, f *Attempt, changed []string, why error) error {
	was := w.hist.Step(f.Step).Held
	if f.Held != nil || was != nil && was.Attempt == f.Number && why == errCommitting {
		return nil
	}
	ev := (&Seen{Attempt: *f}).about(reprise.StepHeld, "", why.Error())
	ev.Key, ev.Agent, ev.Expect = f.Key, w.hist.Step(f.Step).Session, w.standing(f)
	changed = slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return !w.commits(f, name) })
	if len(changed) > maxHeld {
		changed = nil
	}
	ev.Work = w.printed(ctx, f, changed)
	return w.record(ctx, ev)
}
