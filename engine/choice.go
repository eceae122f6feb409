package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/upkeep"
	"reprise/worktree"
)

// ways are what can be chosen for a run and who does it. done reports that
// nothing is to be gone on with afterwards.
var ways = map[string]func(*work, context.Context, look) (done bool, err error){
	"":             (*work).goOn,
	"continue":     (*work).goOn,
	"resume":       (*work).goOn,
	"resume-agent": (*work).goOn,
	"answer":       (*work).goOn,
	"from-phase":   (*work).goOn,
	"respawn":      (*work).respawn,
	"restart":      (*work).restart,
	"skip":         (*work).skipOn,
	"fresh":        (*work).startFresh,
	"discard":      (*work).discard,
	"clean":        (*work).cleanUp,
	"review":       (*work).review,
	"merge":        (*work).merge,
}

// choose does what a person chose.
func (w *work) choose(ctx context.Context, l look) (done bool, err error) {
	way, known := ways[w.choice.Option]
	if !known || !w.offers(l, w.choice.Option) {
		return true, &OptionError{Run: w.ref.ID, Option: w.choice.Option, Known: keysOf(l.d.Options(l.run))}
	}
	return way(w, ctx, l)
}

// offers reports whether a choice exists for the run. Going on, starting afresh
// and cleaning up always do.
func (w *work) offers(l look, option string) bool {
	switch option {
	case "", "continue", "resume", "clean", "from-phase":
		return true
	case "fresh":
		return l.run.Refreshable()
	}
	return slices.Contains(keysOf(l.d.Options(l.run)), option)
}

func keysOf(options []reprise.Option) []string {
	var out []string
	for _, o := range options {
		out = append(out, o.Key)
	}
	return out
}

// goOn takes the run up where it stands, unless that is unsafe.
func (w *work) goOn(ctx context.Context, l look) (bool, error) {
	if l.d.Action == reprise.Finish {
		if w.hist.Events > 0 && !w.orderly {
			return false, nil // whoever was killed may have left something to settle
		}
		return true, w.end(l.d, zeroTime)
	}
	if l.d.Verdict == reprise.BlockedVerdict {
		return true, &UnsafeError{Run: w.ref.ID, Reasons: l.d.Reasons}
	}
	if w.choice.From != "" {
		if _, err := w.resetsFrom(ctx, w.choice.From); err != nil {
			return true, err
		}
	}
	if err := w.takeUp(ctx, l); err != nil {
		if ctx.Err() != nil && w.store.Poisoned() == nil {
			return true, w.end(w.decide(), zeroTime) // stopped before anything was begun
		}
		return true, err
	}
	for _, step := range w.choice.Skip {
		if err := w.leaveOut(ctx, step); err != nil {
			return true, err
		}
	}
	if w.choice.From != "" {
		if err := w.beginAt(ctx, w.choice.From); err != nil {
			return true, err
		}
	}
	return false, nil
}

// respawn goes on with new sessions.
func (w *work) respawn(ctx context.Context, l look) (bool, error) {
	w.newSessions = true
	return w.goOn(ctx, l)
}

// current is the step a choice without a name is about.
func (w *work) current(l look) string {
	if r := l.run.Resume; r != nil && r.Plan != "" {
		return r.Plan
	}
	if l.d.Point != nil {
		if w.run != nil && w.run.Step(l.d.Point.ID) != nil {
			return l.d.Point.ID // a plan, and not the task of it that comes next
		}
		if a, err := w.book.Assign(w.store, w.run, *l.d.Point); err == nil && a.Step != "" {
			return a.Step
		}
		return l.d.Point.ID
	}
	return ""
}

// restart begins the current plan again.
func (w *work) restart(ctx context.Context, l look) (bool, error) {
	step := w.current(l)
	if done, err := w.goOn(ctx, l); done || err != nil {
		return done, err
	}
	return false, w.reset(ctx, step)
}

// skipOn leaves the current plan or step out and goes on.
func (w *work) skipOn(ctx context.Context, l look) (bool, error) {
	step := w.current(l)
	if done, err := w.goOn(ctx, l); done || err != nil {
		return done, err
	}
	return false, w.leaveOut(ctx, step)
}

// leaveOut records that a person wants a step left out, and makes sure that the
// files have taken it in.
func (w *work) leaveOut(ctx context.Context, step string) error {
	if err := w.record(ctx, reprise.Event{Kind: reprise.StepSkipped, At: w.Now(), Step: step, Actor: person, Text: "left out by a person"}); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	if s := w.run.Step(step); s != nil && !s.Status.Closed() {
		return fmt.Errorf("skip %s: the files of %s have no place for it: it is still %s", step, w.ref.ID, s.Status)
	}
	return nil
}

// reset records that a person wants a step done again.
func (w *work) reset(ctx context.Context, step string) error {
	if err := w.record(ctx, resetBy(step)); err != nil {
		return err
	}
	return w.load()
}

func resetBy(step string) reprise.Event {
	return reprise.Event{Kind: reprise.StepReset, Step: step, Actor: person, Text: "to be done again, says a person"}
}

// beginAt makes a step and all that come after it open again. Where the files
// cannot take that, it is refused and nothing is recorded.
func (w *work) beginAt(ctx context.Context, step string) error {
	again, err := w.resetsFrom(ctx, step)
	if err != nil {
		return err
	}
	events := make([]reprise.Event, len(again))
	for i, id := range again {
		events[i] = resetBy(id)
	}
	if err := w.recordAll(ctx, events...); err != nil {
		return err
	}
	return w.load()
}

// resetsFrom gives the steps that are to be made open again to begin at one of
// them, in the order in which that is done. It plays them first on a store that
// keeps its changes to itself.
func (w *work) resetsFrom(ctx context.Context, step string) ([]string, error) {
	at := slices.IndexFunc(w.run.Steps, func(s reprise.Step) bool { return s.ID == step })
	failed := w.hist.Step(step).LastFailure != nil
	if at < 0 && failed {
		// The files tell of it only once it is done: it is forgiven.
		return []string{step}, nil
	}
	if at < 0 {
		return nil, fmt.Errorf("begin at %s: %s has no such step", step, w.ref.ID)
	}
	var again []string
	for _, s := range w.run.Steps[at:] {
		if s.Status != reprise.Pending || w.hist.Step(s.ID).LastFailure != nil {
			again = append(again, s.ID)
		}
	}
	// The last first, so that no step is open while one that needs it is closed.
	slices.Reverse(again)
	dry := durable.NewDryRun(w.store)
	for _, id := range again {
		ev := resetBy(id)
		ev.At = w.Now()
		err := journal.Play(ctx, dry, w.layout, w.ref, ev)
		if err != nil && !errors.Is(err, reprise.ErrCannotRecord) { // what cannot be the journal alone holds
			return nil, fmt.Errorf("begin at %s: %w", step, err)
		}
	}
	run, err := w.layout.Load(dry, w.ref)
	if err != nil {
		return nil, fmt.Errorf("begin at %s: %w", step, err)
	}
	if s := run.Step(step); s != nil && s.Status.Closed() && !failed {
		return nil, fmt.Errorf("begin at %s: the files of %s cannot take back that it is done", step, w.ref.ID)
	}
	return again, nil
}

// keep keeps the state before a choice that gives it up.
func (w *work) keep(ctx context.Context, l look, note string) (err error) {
	if l.d.State == reprise.Running {
		return &UnsafeError{Run: w.ref.ID, Reasons: l.d.Reasons}
	}
	w.sum.Snapshot, err = upkeep.Keep(ctx, w.store, []*reprise.Run{l.run}, note)
	return err
}

// startFresh archives the state and begins again with the same goal. Where that
// could not be begun from what stays, it is refused and nothing is changed.
//
// If the process dies once that is decided, whoever opens the run next carries it
// to its end.
func (w *work) startFresh(ctx context.Context, l look) (bool, error) {
	if w.renewed {
		return w.goOn(ctx, l) // it was cut off, and has been carried to its end just now
	}
	if l.run.Kind == reprise.KindStory && len(w.run.Steps) > 0 {
		if err := w.keep(ctx, l, "before starting "+w.ref.ID+" afresh"); err != nil {
			return true, err
		}
		// A story is a person's document; its phases begin again in it, after
		// the one that wrote it.
		at := w.run.Steps[0]
		if at.Status.Closed() && len(w.run.Steps) > 1 {
			at = w.run.Steps[1]
		}
		return false, w.beginAt(ctx, at.ID)
	}
	ref, events, err := w.beginnings(l)
	if err != nil {
		return true, fmt.Errorf("start %s afresh: %w", w.ref.ID, err)
	}
	if err := w.keep(ctx, l, "before starting "+w.ref.ID+" afresh"); err != nil {
		return true, err
	}
	if err := w.decideRenewal(ctx, l, ref, events); err != nil {
		return true, err
	}
	if err := w.renew(ctx); err != nil {
		return true, err
	}
	return false, w.load()
}

// goalOf is what the run was started for: as its playbook tells, else its title.
func (w *work) goalOf(l look) reprise.Goal {
	goal := reprise.Goal{ID: w.ref.ID, Path: w.ref.Path, Now: w.Now(), Mode: string(w.Mode)}
	if g, ok := w.book.(reprise.Goaler); ok {
		goal.Text = g.GoalOf(w.store, l.run)
	}
	goal.Text = first(goal.Text, l.run.Title)
	return goal
}

// cleanUp gives the run up: statuses left in the middle are reset, its state is
// archived.
func (w *work) cleanUp(ctx context.Context, l look) (bool, error) {
	if err := w.keep(ctx, l, "before cleaning "+w.ref.ID+" up"); err != nil {
		return true, err
	}
	done, err := upkeep.GiveUp(ctx, w.store, l.run, w.Now())
	if err != nil {
		return true, err
	}
	w.sum.State, w.sum.Action, w.sum.Ended = reprise.Stopped, reprise.Finish, w.Now()
	w.sum.Reasons = append(w.sum.Reasons, first(map[bool]string{true: "its state is archived in " + done.Archived}[done.Archived != ""], "statuses that were left in the middle are reset"))
	return true, nil
}

// tree is what operations on the run's checkout need.
func (w *work) tree() worktree.Project {
	return worktree.Project{Store: w.store, Repo: w.repo, Run: w.run, Ready: w.hist.Worktree}
}

// review shows what was built. It changes nothing.
func (w *work) review(ctx context.Context, l look) (bool, error) {
	text, err := worktree.Review(ctx, w.tree())
	w.sum.Review, w.sum.State, w.sum.Action, w.sum.Ended = text, l.d.State, reprise.Ask, w.Now()
	return true, err
}

// merge takes what was built into the branch the project is on, once.
func (w *work) merge(ctx context.Context, l look) (bool, error) {
	if err := w.keep(ctx, l, "before merging "+w.ref.ID); err != nil {
		return true, err
	}
	merged, err := worktree.Merge(ctx, w.tree())
	if err != nil {
		return true, err
	}
	if err := w.record(ctx, reprise.Event{Kind: reprise.RunEnded, At: w.Now(), Actor: person, Outcome: "completed", Commit: merged.Commit, Text: merged.Text}); err != nil {
		return true, err
	}
	if err := w.load(); err != nil {
		return true, err
	}
	w.sum.Reasons = append(w.sum.Reasons, merged.Text)
	return true, w.end(w.decide(), zeroTime)
}

// discard gives up what was built, keeps all of it, and begins again.
func (w *work) discard(ctx context.Context, l look) (bool, error) {
	if err := w.keep(ctx, l, "before discarding "+w.ref.ID); err != nil {
		return true, err
	}
	kept, err := worktree.Discard(ctx, w.tree())
	if err != nil {
		return true, err
	}
	w.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: w.ref.ID, Message: kept.Text})
	return w.startFresh(ctx, l)
}
