package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/upkeep"
	"reprise/worktree"
)

// rehearsed are the ways to go on as they are played. done reports that nothing is
// gone on with afterwards.
var rehearsed = map[string]func(*rehearsal, context.Context, look) (done bool, err error){
	"":             (*rehearsal).goOn,
	"continue":     (*rehearsal).goOn,
	"resume":       (*rehearsal).goOn,
	"resume-agent": (*rehearsal).resumeAgent,
	"from-phase":   (*rehearsal).goOn,
	"answer":       (*rehearsal).answer,
	"respawn":      (*rehearsal).respawn,
	"restart":      (*rehearsal).restart,
	"skip":         (*rehearsal).skipOn,
	"skip-group":   (*rehearsal).skipGroup,
	"fresh":        (*rehearsal).afresh,
	"discard":      (*rehearsal).discard,
	"clean":        (*rehearsal).cleanUp,
	"review":       (*rehearsal).review,
	"merge":        (*rehearsal).merge,
}

// keep tells that the state is kept first, as before everything that changes
// something, unless it cannot be.
func (r *rehearsal) keep(refused error) error {
	if refused == nil {
		r.would("The state and the working tree are kept first; `reprise undo` brings them back.")
	}
	return refused
}

// givesUp is keep before the state is given up.
func (r *rehearsal) givesUp(l look) error {
	if err := r.mayGiveUp(l); err != nil {
		return err
	}
	return r.keep(upkeep.CanKeep(r.store, l.run))
}

// choose plays what a person chose, and the first turn after it. What would be
// refused is refused with the same error.
func (r *rehearsal) choose(ctx context.Context, l look) error {
	if err := r.choosable(l); err != nil {
		return err
	}
	done, err := rehearsed[r.choice.Option](r, ctx, l)
	if err != nil {
		return inTheWay(err)
	}
	if done {
		return nil
	}
	return r.turns(ctx)
}

// goOn plays how the run is taken up where it stands.
func (r *rehearsal) goOn(ctx context.Context, l look) (bool, error) {
	if l.d.Action == reprise.Finish {
		if !r.unsettled() {
			r.would("Nothing would be started.")
		}
		return !r.unsettled(), nil
	}
	if r.staysEnded(l) || r.staysHeld(l) {
		r.would("Nothing would be started.")
		r.because(l.d)
		return true, nil
	}
	if err := r.mayGoOn(ctx, l); err != nil {
		return true, err
	}
	_, refused := upkeep.CanGoOn(r.store, l.run)
	if err := r.keep(refused); err != nil {
		return true, err
	}
	if err := r.lift(); err != nil {
		return true, err
	}
	if err := r.revise(ctx); err != nil {
		return true, err
	}
	if err := r.playAll(ctx, r.taking(l)); err != nil {
		return true, err
	}
	r.noteUnrecorded(l)
	landed := r.landedUnits(l)
	if l.asks() {
		landed = nil
	}
	for _, u := range landed {
		r.would("%s is marked as done: %s", u.ID, u.Reason)
		resolved, done := u.events()
		for _, ev := range []reprise.Event{resolved, done} {
			if err := r.play(ctx, ev); err != nil {
				return true, err
			}
		}
	}
	if err := r.reload(); err != nil {
		return true, err
	}
	return false, r.heed(ctx)
}

// lift plays that what holds the run is moved away.
func (r *rehearsal) lift() error {
	lifter, ok := r.book.(reprise.Lifter)
	if !ok {
		return nil
	}
	for _, name := range lifter.Lift(r.dry, r.run) {
		r.would("%s is archived: it holds the run.", name)
		r.shelf.put(name)
	}
	return r.reload()
}

// heed plays what a person said about single steps.
func (r *rehearsal) heed(ctx context.Context) error {
	if err := r.hearBefore(ctx); err != nil {
		return err
	}
	events, err := r.said(ctx, r.dry)
	if err != nil {
		return err
	}
	for _, ev := range events {
		switch ev.Kind {
		case reprise.StepSkipped:
			r.would("%s is left out.", ev.Step)
		case reprise.QuestionSkipped:
			q, _ := r.question(ev.Question)
			r.would("The question on %s is closed without an answer: %s", q.Subject, q.Text)
		case reprise.AnswerWithdrawn:
			r.would("The answer to %s is taken back: %s.", ev.Question, ev.Text)
		default:
			r.would("%s begins again.", ev.Step)
		}
	}
	return r.playAll(ctx, events)
}

// answer tells what a person is asked before anything else.
func (r *rehearsal) answer(ctx context.Context, l look) (bool, error) {
	open := l.run.PendingQuestions()
	if len(open) == 0 {
		return r.goOn(ctx, l)
	}
	for _, q := range open {
		r.would("A person is asked: %s", q.Text)
	}
	r.would("What follows rests on the answer.")
	return true, nil
}

func (r *rehearsal) resumeAgent(ctx context.Context, l look) (bool, error) {
	r.wanted = first(l.run.ResumeAnswer().AgentID, "the agent that was at work")
	return r.goOn(ctx, l)
}

func (r *rehearsal) respawn(ctx context.Context, l look) (bool, error) {
	r.newSessions = true
	r.would("No agent goes on with a session of before.")
	return r.goOn(ctx, l)
}

func (r *rehearsal) restart(ctx context.Context, l look) (bool, error) {
	step := r.current(l)
	if done, err := r.goOn(ctx, l); done || err != nil {
		return done, err
	}
	r.would("%s begins again.", step)
	return false, r.playAll(ctx, []reprise.Event{resetBy(step)})
}

func (r *rehearsal) skipOn(ctx context.Context, l look) (bool, error) {
	r.leaveOutCurrent(l)
	return r.goOn(ctx, l)
}

func (r *rehearsal) skipGroup(ctx context.Context, l look) (bool, error) {
	r.passOver(l)
	return r.goOn(ctx, l)
}

// startFresh plays a fresh start.
func (r *rehearsal) startFresh(ctx context.Context, l look) (bool, error) {
	if r.renewed {
		return r.goOn(ctx, l) // it was cut off, and would be carried to its end
	}
	if at := r.againAt(l); at != "" {
		if err := r.givesUp(l); err != nil {
			return true, err
		}
		r.choice.From = at
		return false, r.heed(ctx)
	}
	ref, events, err := r.beginnings(l, r.shelf)
	if err != nil {
		return true, fmt.Errorf("start %s afresh: %w", r.ref.ID, err)
	}
	if err := r.givesUp(l); err != nil {
		return true, err
	}
	return false, r.beginAfresh(ctx, l, ref, events)
}

// beginAfresh plays that the state is archived and the run begins again.
func (r *rehearsal) beginAfresh(ctx context.Context, l look, ref reprise.Ref, events []reprise.Event) error {
	old, moved := r.ref, ref.Path != r.ref.Path
	if err := r.takeBack(ctx, upkeep.Resets(l.run, r.Now())); err != nil {
		return err
	}
	r.shelf.put(old.Path)
	if moved {
		next, err := r.looking(r.store, ref, r.book)
		if err != nil {
			return err
		}
		next.repo, next.choice = r.repo, r.choice
		r.work, r.p.Run = next, ref
	}
	if len(events) == 0 {
		r.would("%s is archived; %s is there already and is gone on with.", old.Path, ref.Path)
		return r.reload()
	}
	r.would("%s is archived, and the run begins again in %s.", old.Path, ref.Path)
	for _, step := range r.choice.Skip {
		r.would("%s is left out.", step)
	}
	place := reprise.Place(ref)
	decided := reprise.Event{Kind: reprise.RunRenewed, Actor: person, Run: &place, Then: events}
	return r.playAll(ctx, append([]reprise.Event{decided}, events...))
}

// takeBack plays statuses that are taken back in files that are not archived.
func (r *rehearsal) takeBack(ctx context.Context, resets []reprise.Event) error {
	aside := durable.NewDryRun(r.dry)
	for _, ev := range resets {
		if err := r.writeTo(ctx, aside, ev); err != nil {
			return err
		}
	}
	for _, e := range aside.Edits() {
		if e.Path == r.ref.Path || strings.HasPrefix(e.Path, r.ref.Path+"/") {
			continue
		}
		if err := r.dry.Apply(ctx, []reprise.Edit{e}); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp tells that the run is given up.
func (r *rehearsal) cleanUp(_ context.Context, l look) (bool, error) {
	if err := r.givesUp(l); err != nil {
		return true, err
	}
	r.would("Statuses that were left in the middle are reset, and the state is archived.")
	return true, nil
}

// review tells that what was built is shown.
func (r *rehearsal) review(ctx context.Context, _ look) (bool, error) {
	text, err := worktree.Review(ctx, r.tree())
	if err != nil {
		return true, err
	}
	r.would("What was built is shown, and nothing is changed: %s.", firstLine(text))
	return true, nil
}

// merge tells what would be merged into what.
func (r *rehearsal) merge(ctx context.Context, l look) (bool, error) {
	if err := r.givesUp(l); err != nil {
		return true, err
	}
	text, back, err := worktree.Merging(ctx, r.tree())
	if err != nil {
		return true, err
	}
	r.would("%s", text)
	if len(back) > 0 {
		if err := r.dry.Apply(ctx, back); err != nil {
			return true, err
		}
	}
	if err := r.playAll(ctx, []reprise.Event{{Kind: reprise.RunEnded, Actor: person, Outcome: "completed", Text: text}}); err != nil {
		return true, err
	}
	if err := r.reload(); err != nil {
		return true, err
	}
	if r.run.State.Open() {
		r.would("%s", upper(staysOpen(r.run)))
	} else {
		r.would("Then the run is finished.")
	}
	return true, nil
}

// discard plays that what was built is given up, and that the run begins again.
func (r *rehearsal) discard(ctx context.Context, l look) (bool, error) {
	if err := r.givesUp(l); err != nil {
		return true, err
	}
	place, text, err := worktree.Discarding(ctx, r.tree())
	if err != nil {
		return true, err
	}
	r.would("%s", text)
	if place != "" {
		r.shelf.put(place)
	}
	if err := r.reload(); err != nil {
		return true, err
	}
	return r.startFresh(ctx, l)
}

func (r *rehearsal) afresh(ctx context.Context, l look) (bool, error) {
	if r.built(l) {
		return r.discard(ctx, l)
	}
	return r.startFresh(ctx, l)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// shelf is a store from which things are put away while a preview is played.
type shelf struct{ reprise.Store }

// put shows the store without something from now on.
func (s *shelf) put(name string) { s.Store = durable.Without(s.Store, name) }

// CanWrite asks the store below.
func (s *shelf) CanWrite(name string) error {
	if below, ok := s.Store.(interface{ CanWrite(string) error }); ok {
		return below.CanWrite(name)
	}
	return nil
}

// instead says what is in the way of going on in the place of an error: a run that
// is only made yet can be made all the same.
func (r *rehearsal) instead(err error) error {
	if unsafe, ok := errors.AsType[*UnsafeError](err); ok {
		r.would("Nothing would be started.")
		for _, reason := range unsafe.Reasons {
			r.would("%s", reason)
		}
		return nil
	}
	return err
}
