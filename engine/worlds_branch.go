//go:build unix

package engine

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"reprise"
	"reprise/core"
	"reprise/core/run"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/internal/splice"
	"reprise/upkeep"
	"reprise/worktree"
)

// site makes the checkout of its own in which a run is worked on; nil where it has none, because the
// project is one itself.
func (l *listed) site() func(context.Context) (at, base string, err error) {
	if l.ref.Kind == reprise.KindTasks {
		return nil
	}
	return func(ctx context.Context) (at, base string, err error) {
		defer func() {
			if err = inTheWay(err); err != nil {
				l.unable = err
			}
		}()
		p, err := l.checkout()
		if err != nil {
			return "", "", err
		}
		if err := builtHere(ctx, p); err != nil {
			return "", "", err
		}
		made, err := worktree.Ensure(ctx, p)
		if err != nil {
			return "", "", fmt.Errorf("create the checkout of %s: %w", l.ref.ID, err)
		}
		for _, text := range made.Notes {
			l.notice(reprise.Finding{Code: reprise.CodeLeftover, Severity: reprise.Info, Subject: l.ref.ID, Message: text})
		}
		return made.Path, made.Base, nil
	}
}

// checkout is what operations on the run's own checkout need, as its files are now.
func (l *listed) checkout() (worktree.Project, error) {
	p := worktree.Project{Store: l.store, Ready: l.hist.Worktree}
	repo, err := l.openGit()
	if err != nil {
		return p, err
	}
	p.Repo = repo
	p.Run, err = reprise.Load(l.layout, l.store, l.ref)
	return p, err
}

// openGit opens the project's repository; nil where there is none.
func (l *listed) openGit() (*gitx.Repo, error) {
	open := l.Repo
	if open == nil {
		open = func() (*gitx.Repo, error) {
			return gitx.Open(context.Background(), l.Dir, gitx.Options{Environ: l.Environ})
		}
	}
	repo, err := open()
	if err != nil && gitx.Absent(err) {
		return nil, nil
	}
	return repo, err
}

// builtHere refuses to go on with what was built here, all of it, on a branch that is no longer here:
// a new one would be empty, or be what it was merged into.
func builtHere(ctx context.Context, p worktree.Project) error {
	if p.Ready == nil || p.Repo == nil || len(p.Run.Steps) == 0 || slices.ContainsFunc(p.Run.Steps, func(s reprise.Step) bool { return !s.Status.Closed() }) {
		return nil
	}
	branch := worktree.Branch(p.Run)
	if _, ok, err := p.Repo.Resolve(ctx, branch); ok || err != nil {
		return err
	}
	return &worktree.RefusedError{
		Path: p.Run.ID, Reason: "all of it was built, on " + branch + ", which is not here",
		Todo: "`reprise resume RUN --option merged` records that it is merged; `reprise resume RUN --option discard` builds it again",
	}
}

// givesUp reports whether the choice gives up what was built, before the run begins again.
func (l *listed) givesUp(seen look) bool {
	return l.choice.Option == reprise.OptionDiscard || l.choice.Option == reprise.OptionFresh && seen.Run.Worktree != ""
}

// concludes does what a person chose to become of what was built. over is set if nothing is left to
// do afterwards. Each way comes to the same end if it is chosen again after a kill.
func (l *listed) concludes(ctx context.Context, seen look) (over bool, err error) {
	defer func() { err = inTheWay(err) }()
	if l.choice.Option == reprise.OptionClean {
		return true, l.cleansUp(ctx, seen)
	}
	if l.choice.Option == reprise.OptionFresh && !l.givesUp(seen) { // before anything is written
		if _, _, err := l.beginnings(seen, l.store); err != nil {
			return true, fmt.Errorf("start %s from scratch: %w", l.ref.ID, err)
		}
	}
	if merges := l.choice.Option == reprise.OptionMerge || l.choice.Option == reprise.OptionMerged; !merges && l.choice.Option != reprise.OptionReview && !l.givesUp(seen) {
		return false, nil
	}
	p, err := l.checkout()
	if err != nil {
		return true, err
	}
	if l.choice.Option == reprise.OptionReview {
		l.sum.Review, err = worktree.Review(ctx, p)
		l.sum.State, l.sum.Action, l.sum.Ended = seen.Decision.State, reprise.Ask, l.Now()
		return true, err
	}
	if seen.Decision.State == reprise.Running {
		return true, unsafe(l.ref.ID, seen.Decision)
	}
	if l.givesUp(seen) {
		return false, l.discards(ctx, p, seen)
	}
	return true, l.merges(ctx, p, seen)
}

// merges merges what was built into the project's branch, once, or records that a person did.
func (l *listed) merges(ctx context.Context, p worktree.Project, seen look) error {
	did := l.choice.Option == reprise.OptionMerged
	if !did {
		if _, _, err := worktree.Merging(ctx, p); err != nil {
			return err // what refuses it is asked before anything is written
		}
	}
	if err := l.keeps(ctx, seen, "before merging "+l.ref.ID); err != nil {
		return err
	}
	var err error
	if l.at, err = run.Open(ctx, l.config()); err != nil {
		return err
	}
	defer l.at.Close()
	if err := l.at.CatchUp(ctx); err != nil {
		return err
	}
	merged := worktree.Merged{Text: p.Run.Branch + " is not here, and is recorded as merged"}
	switch {
	case !did:
		merged, err = worktree.Merge(ctx, p)
	case p.Run.Branch == "":
		merged.Text = "it was built here, and is recorded as finished"
	}
	if err != nil {
		return err
	}
	lost, why := p.Run.Steps, merged.Text
	if did {
		why = "a person says that it is merged"
	} else if p.Run.Worktree != "" {
		lost = nil
	}
	for _, s := range lost { // was done, and was lost with the checkout
		if !s.Status.Closed() {
			if err := l.at.Adopt(ctx, core.SetStatus{Step: s.ID, Status: core.Finished, Why: why}); err != nil {
				return err
			}
		}
	}
	if err := l.at.Change(ctx, merged.Text, core.EndRun{Outcome: "completed", Why: merged.Text}); err != nil {
		return err
	}
	l.sum.Merged = merged.Text + "."
	now, err := reprise.Load(l.layout, l.store, l.ref)
	if err != nil {
		return err
	}
	if now.State.Open() {
		l.sum.Merged += " " + notOver(now)
	}
	return l.endsAs(ctx, 0)
}

// notOver says that merging does not end a run.
func notOver(r *reprise.Run) string {
	open := 0
	for i := range r.Steps {
		if !r.Steps[i].Status.Closed() {
			open++
		}
	}
	return fmt.Sprintf("The run stays open (not done: %d of %d).", open, len(r.Steps))
}

// discards gives up what was built, which is kept under another name, and begins the run again. If it
// could not begin, nothing is changed.
func (l *listed) discards(ctx context.Context, p worktree.Project, seen look) error {
	var left reprise.Store = l.store
	if p.Repo != nil {
		place, _, err := worktree.Discarding(ctx, p)
		if err != nil {
			return err
		}
		if place != "" { // it is archived, so a damaged plan in it is not in the way
			left = durable.Without(l.store, place)
		}
	}
	ref, events, err := l.beginnings(seen, left)
	if err == nil && ref != l.ref {
		err = fmt.Errorf("it would begin as %s", ref.ID)
	}
	if err != nil {
		return fmt.Errorf("start %s from scratch: %w", l.ref.ID, err)
	}
	if err := l.keeps(ctx, seen, "before discarding "+l.ref.ID); err != nil {
		return err
	}
	at, err := run.Open(ctx, l.config())
	if err != nil {
		return err
	}
	err = at.CatchUp(ctx)
	at.Close()
	if err != nil {
		return err
	}
	if p.Repo != nil {
		kept, err := worktree.Discard(ctx, p)
		if err != nil {
			return err
		}
		l.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: l.ref.ID, Message: kept.Text})
	}
	c := l.config()
	c.Site = nil // it is gone, and none is made for what is given up
	if at, err = run.Open(ctx, c); err != nil {
		return err
	}
	defer at.Close()
	if err := at.Afresh(ctx, core.BeginRun{Text: events[0].Text, Said: events}); err != nil {
		return err
	}
	l.begun = true
	return at.Left(reprise.Start.String(), "begun afresh")
}

// cleansUp gives the run up: unfinished statuses are reset, its state is archived.
func (l *listed) cleansUp(ctx context.Context, seen look) error {
	if seen.Decision.State == reprise.Running {
		return unsafe(l.ref.ID, seen.Decision)
	}
	if err := l.keeps(ctx, seen, "before cleaning "+l.ref.ID+" up"); err != nil {
		return err
	}
	done, err := upkeep.GiveUp(ctx, l.store, seen.Run, l.Now())
	if err != nil {
		return err
	}
	why := "steps left in progress are reset"
	if done.Archived != "" {
		why = "its state is archived in " + done.Archived
	}
	l.sum.State, l.sum.Action, l.sum.Ended, l.sum.Reasons = reprise.Stopped, reprise.Finish, l.Now(), append(l.sum.Reasons, why)
	return nil
}

// keeps takes a snapshot before a choice that gives the state up.
func (l *listed) keeps(ctx context.Context, seen look, note string) (err error) {
	l.sum.Snapshot, err = upkeep.Keep(ctx, l.store, []*reprise.Run{seen.Run}, note)
	return err
}

// previewConclusion is concludes for who only looks.
func (l *listed) previewConclusion(ctx context.Context, seen look, p *Preview) (over bool, err error) {
	defer func() { err = inTheWay(err) }()
	would := func(text string) { p.Would = append(p.Would, strings.TrimSuffix(text, ".")+".") }
	switch l.choice.Option {
	case reprise.OptionClean:
		would("Steps left in progress are reset, and the state is archived")
		p.Outcome = reprise.OutcomeOK
		return true, nil
	case reprise.OptionReview:
		p.Outcome = reprise.OutcomeAsk
		return true, nil
	case reprise.OptionMerge, reprise.OptionMerged, reprise.OptionDiscard, reprise.OptionFresh:
	default:
		return false, nil
	}
	if l.choice.Option == reprise.OptionFresh && !l.givesUp(seen) {
		return false, nil
	}
	if seen.Decision.State == reprise.Running {
		return true, unsafe(l.ref.ID, seen.Decision)
	}
	at, err := l.checkout()
	if err != nil {
		return true, err
	}
	p.Outcome = reprise.OutcomeOK
	switch l.choice.Option {
	case reprise.OptionMerged:
		would("It is recorded as merged")
		return true, nil
	case reprise.OptionMerge:
		text, back, err := worktree.Merging(ctx, at)
		if err != nil {
			return true, err
		}
		after := splice.Over(l.store, back)
		for _, e := range back {
			was, _ := fs.ReadFile(l.store, e.Path) // what is not there is shown as new
			p.Diff += durable.Diff(e.Path, was, e.Content)
		}
		would(text)
		r, err := reprise.Load(l.layout, after, l.ref)
		if err == nil && r.Progress().Done < len(r.Steps) {
			would(notOver(r))
		} else {
			would("The run is finished")
		}
		return true, err
	}
	var left reprise.Store = l.store
	if at.Repo != nil {
		place, text, err := worktree.Discarding(ctx, at)
		if err != nil {
			return true, err
		}
		if would(text); place != "" {
			left = durable.Without(l.store, place)
		}
	}
	_, events, err := l.beginnings(seen, left)
	if err != nil {
		return true, fmt.Errorf("start %s from scratch: %w", l.ref.ID, err)
	}
	would(fmt.Sprintf("%s is archived, and the run begins again", l.ref.Path))
	changes := core.BeginRun{Text: events[0].Text, Said: events}
	if l.config(); l.conv.Playbook == nil {
		return true, nil
	}
	if l.plan, err = l.conv.After(durable.Without(left, l.ref.Path), changes); err != nil {
		return true, err
	}
	all, err := l.conv.Starts(l.plan)
	for _, a := range all[:min(1, len(all))] {
		var begun PreviewStep
		if begun, err = l.previewStart(ctx, core.Step{ID: a.Step, InPlan: a.Step, Title: a.Unit.Title}); err == nil {
			p.Starts = append(p.Starts, begun)
		}
	}
	return true, err
}
