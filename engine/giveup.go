package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/worktree"
)

// keep takes a snapshot before a choice that gives the state up. A choice made of two,
// such as discarding and starting afresh, is undone by the snapshot before the first.
func (w *work) keep(ctx context.Context, l look, note string) (err error) {
	if l.Decision.State == reprise.Running {
		return unsafe(w.ref.ID, l.Decision)
	}
	if w.sum.Snapshot != "" {
		return nil
	}
	w.sum.Snapshot, err = w.hands.Keep(ctx, l.Run, note, false)
	return err
}

// againAt is the step at which a run begins again in its own files, "" for a run that is
// archived instead. A story is a person's document: its phases begin again after the one
// that wrote it.
func (w *work) againAt(l look) string {
	steps := w.run.Steps
	switch {
	case !l.Run.Kind.Facts().Document || len(steps) == 0:
		return ""
	case steps[0].Status.Closed() && len(steps) > 1:
		return steps[1].ID
	}
	return steps[0].ID
}

// built reports whether the run has its own checkout. The files in it describe the run
// too: a fresh start beside them would count as done.
func (w *work) built(l look) bool { return l.Run.Worktree != "" && w.repo != nil && !w.renewed }

// afresh starts from scratch. What was built is given up with the state.
func (w *work) afresh(ctx context.Context, l look) (bool, error) {
	if w.built(l) {
		return w.discard(ctx, l)
	}
	return w.startFresh(ctx, l)
}

// startFresh archives the state and begins again with the same goal. It is refused, and
// nothing is changed, if the run could not begin without its state.
//
// If the process dies after the decision, the next one to open the run completes it.
func (w *work) startFresh(ctx context.Context, l look) (bool, error) {
	if w.renewed {
		return w.resumeRun(ctx, l) // it was cut off, and has just been finished
	}
	if at := w.againAt(l); at != "" {
		if err := w.keep(ctx, l, "before starting "+w.ref.ID+" afresh"); err != nil {
			return true, err
		}
		w.choice.From = at
		return false, w.recordChoice(ctx)
	}
	ref, events, err := w.beginnings(l, w.led.Files())
	if err != nil {
		return true, fmt.Errorf("start %s from scratch: %w", w.ref.ID, err)
	}
	if err := w.keep(ctx, l, "before starting "+w.ref.ID+" afresh"); err != nil {
		return true, err
	}
	next, err := w.decideRenewal(ctx, l, ref, events)
	if err != nil {
		return true, err
	}
	if err := next.renew(ctx); err != nil {
		return true, err
	}
	if err := next.load(); err != nil {
		return true, err
	}
	next.tellLeftOut(ctx, w.choice.Skip...)
	return false, nil
}

// goalOf is what the run was started for and with: as its playbook says, or its title.
func (w *work) goalOf(l look) (goal reprise.Goal, err error) {
	goal = reprise.Goal{ID: w.ref.ID, Path: w.ref.Path, Now: w.Now(), Mode: string(w.Mode)}
	if g, ok := w.playbook.(reprise.Goaler); ok {
		goal.Text = g.GoalOf(w.led.Files(), l.Run)
	}
	goal.Text = first(goal.Text, l.Run.Title)
	if g, ok := w.playbook.(reprise.Giver); ok {
		goal.Given, err = g.GivenOf(w.led.Files(), l.Run)
	}
	return goal, err
}

// cleanUp gives the run up: unfinished statuses are reset, its state is archived.
func (w *work) cleanUp(ctx context.Context, l look) (bool, error) {
	if err := w.keep(ctx, l, "before cleaning "+w.ref.ID+" up"); err != nil {
		return true, err
	}
	done, err := w.archive.GiveUp(ctx, l.Run)
	if err != nil {
		return true, err
	}
	w.sum.State, w.sum.Action, w.sum.Ended = reprise.Stopped, reprise.Finish, w.Now()
	w.sum.Reasons = append(w.sum.Reasons, first(map[bool]string{true: "its state is archived in " + done.Archived}[done.Archived != ""], "steps left in progress are reset"))
	return true, nil
}

// tree is what operations on the run's checkout need.
func (w *work) tree() worktree.Project {
	return worktree.Project{Store: w.store, Repo: w.repo, Run: w.run, Ready: w.hist.Worktree}
}

// review shows what was built. It changes nothing.
func (w *work) review(ctx context.Context, l look) (bool, error) {
	text, err := worktree.Review(ctx, w.tree())
	w.sum.Review, w.sum.State, w.sum.Action, w.sum.Ended = text, l.Decision.State, reprise.Ask, w.Now()
	return true, err
}

// merge merges what was built into the project's branch, once.
func (w *work) merge(ctx context.Context, l look) (bool, error) {
	if _, _, err := worktree.Merging(ctx, w.tree()); err != nil {
		return true, err // what refuses it is asked before anything is written
	}
	if err := w.keep(ctx, l, "before merging "+w.ref.ID); err != nil {
		return true, err
	}
	merged, err := w.archive.Merge(ctx)
	if err != nil {
		return true, err
	}
	if w.run.Worktree == "" {
		if err := w.finishLost(ctx, merged.Text); err != nil {
			return true, err
		}
	}
	return w.endMerged(ctx, merged)
}

// finishLost marks done again what was finished and was lost with the checkout.
func (w *work) finishLost(ctx context.Context, why string) error {
	for _, s := range slices.Clone(w.run.Steps) {
		if s.Status.Closed() {
			continue
		}
		if err := w.record(ctx, reprise.Event{Kind: reprise.StepFinished, Step: s.ID, At: w.Now(), Actor: person, Text: why}); err != nil {
			return err
		}
		if err := w.load(); err != nil {
			return err
		}
	}
	return nil
}

// merged records that a person merged what was built, where its branch is no longer here.
func (w *work) merged(ctx context.Context, l look) (bool, error) {
	if err := w.keep(ctx, l, "before recording that "+w.ref.ID+" is merged"); err != nil {
		return true, err
	}
	if err := w.finishLost(ctx, mergedByHand); err != nil {
		return true, err
	}
	text := w.run.Branch + " is not here, and is recorded as merged"
	if w.run.Branch == "" {
		text = "it was built here, and is recorded as finished"
	}
	return w.endMerged(ctx, worktree.Merged{Text: text, Before: true})
}

// mergedByHand is why a step is done whose work a person merged.
const mergedByHand = "a person says that it is merged"

// endMerged ends a run whose work is merged.
func (w *work) endMerged(ctx context.Context, merged worktree.Merged) (bool, error) {
	if err := w.record(ctx, reprise.Event{Kind: reprise.RunEnded, At: w.Now(), Actor: person, Outcome: "completed", Commit: merged.Commit, Text: merged.Text}); err != nil {
		return true, err
	}
	if err := w.load(); err != nil {
		return true, err
	}
	w.sum.Merged = merged.Text + "."
	if w.run.State.Open() {
		w.sum.Merged += " " + upper(staysOpen(w.run))
	}
	return true, w.finish(w.decide(), zeroTime)
}

// staysOpen says that merging does not end the run.
func staysOpen(r *reprise.Run) string {
	open := 0
	for i := range r.Steps {
		if !r.Steps[i].Status.Closed() {
			open++
		}
	}
	return fmt.Sprintf("the run stays open (not done: %d of %d).", open, len(r.Steps))
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// discard archives what was built and begins again. If it could not begin, nothing is
// changed.
func (w *work) discard(ctx context.Context, l look) (bool, error) {
	if !w.renewed {
		// The checkout is archived, so a damaged plan in it is not in the way.
		place, _, err := worktree.Discarding(ctx, w.tree())
		if err != nil {
			return true, err
		}
		left := w.led.Files()
		if place != "" {
			left = durable.Without(left, place)
		}
		if _, _, err := w.beginnings(l, left); err != nil {
			return true, fmt.Errorf("start %s from scratch: %w", w.ref.ID, err)
		}
	}
	if err := w.keep(ctx, l, "before discarding "+w.ref.ID); err != nil {
		return true, err
	}
	kept, err := w.archive.Discard(ctx)
	if err != nil {
		return true, err
	}
	w.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: w.ref.ID, Message: kept.Text})
	return w.startFresh(ctx, l)
}
