package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	"resume-agent": (*work).resumeAgent,
	"answer":       (*work).goOn,
	"from-phase":   (*work).goOn,
	"respawn":      (*work).respawn,
	"restart":      (*work).restart,
	"skip":         (*work).skipOn,
	"skip-group":   (*work).skipGroup,
	"fresh":        (*work).afresh,
	"discard":      (*work).discard,
	"clean":        (*work).cleanUp,
	"review":       (*work).review,
	"merge":        (*work).merge,
}

// choose does what a person chose.
func (w *work) choose(ctx context.Context, l look) (done bool, err error) {
	if err := w.choosable(l); err != nil {
		return true, err
	}
	done, err = ways[w.choice.Option](w, ctx, l)
	return done, inTheWay(err)
}

// choosable tells why what a person chose does not exist for the run, nil if it does.
func (w *work) choosable(l look) error {
	if _, known := ways[w.choice.Option]; !known || !w.offers(l, w.choice.Option) {
		e := &OptionError{Run: w.ref.ID, Option: w.choice.Option, Known: keysOf(l.d.Options(l.run))}
		if e.Option == "skip-group" {
			e.Why = l.run.NoGroup()
		}
		return e
	}
	return nil
}

// offers reports whether a choice exists for the run. Going on, starting afresh
// and cleaning up always do.
func (w *work) offers(l look, option string) bool {
	switch option {
	case "", "continue", "resume", "clean", "from-phase":
		return true
	case "fresh":
		return l.run.Refreshable()
	case "skip-group":
		if w.passedBefore() {
			return true
		}
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
		if w.unsettled() {
			return false, nil
		}
		return true, w.end(l.d, zeroTime)
	}
	if w.staysEnded(l) {
		return true, w.end(l.d, zeroTime)
	}
	if w.choice.Option == "continue" {
		for _, q := range l.run.PendingQuestions() {
			w.putOff[q.ID] = true
		}
	}
	if err := w.mayGoOn(ctx, l); err != nil {
		return true, err
	}
	if err := w.takeUp(ctx, l); err != nil {
		if ctx.Err() != nil && w.store.Poisoned() == nil {
			return true, w.end(w.decide(), zeroTime) // stopped before anything was begun
		}
		return true, err
	}
	return false, w.heed(ctx)
}

// staysEnded reports whether a person ended the run and nobody has said how it goes on.
func (w *work) staysEnded(l look) bool {
	return l.d.State == reprise.Stopped && w.choice.Option == "" && w.choice.From == "" && len(w.choice.Skip) == 0
}

// unsettled reports whether whoever worked on the run last was killed and may have
// left something to settle, also where all is done.
func (w *work) unsettled() bool { return w.hist.Events > 0 && !w.orderly }

// mayGoOn tells why the run is not taken up as a person chose, nil if it is.
func (w *work) mayGoOn(ctx context.Context, l look) error {
	if l.d.Verdict == reprise.BlockedVerdict {
		return &UnsafeError{Run: w.ref.ID, Reasons: l.d.Reasons}
	}
	if err := w.mayRevise(); err != nil {
		return err
	}
	_, err := w.said(ctx, w.store)
	return err
}

// said gives what a person said about single steps, as events in the order in which
// they count: those to be done again, those to be left out, and the questions that
// are closed with them, last: no step of theirs is begun without an answer, wherever
// the process dies. What the files cannot take is refused, and nothing is recorded.
func (w *work) said(ctx context.Context, store reprise.Store) ([]reprise.Event, error) {
	var events []reprise.Event
	if w.choice.From != "" {
		again, err := w.resetsFrom(ctx, store, w.choice.From)
		if err != nil {
			return nil, err
		}
		for _, id := range again {
			events = append(events, resetBy(id))
		}
		events = append(events, w.withdrawals("what it was said of is done again", w.restingOn(w.choice.From))...)
	}
	out := w.choice.Skip
	for _, step := range out {
		events = append(events, leftOut(step))
	}
	group, closed := w.passedOver()
	for _, ev := range group {
		if !slices.Contains(out, ev.Step) {
			out, events = append(slices.Clip(out), ev.Step), append(events, ev)
		}
	}
	if events = append(events, closed...); len(out)+len(closed) == 0 {
		return events, nil
	}
	run, err := w.imagined(ctx, store, events)
	if err != nil {
		return nil, fmt.Errorf("skip %s: %w", strings.Join(out, ", "), err)
	}
	return events, mustBeOut(run, out, closed)
}

// passedOver gives the events by which the group of a question is left out as far as it
// is open, and by which all questions about it are closed.
func (w *work) passedOver() (group, closed []reprise.Event) {
	for _, q := range w.run.PendingQuestions() {
		if len(w.unasked) == 0 || q.Closed || !slices.Equal(q.Group, w.unasked) {
			continue
		}
		text := "left out by a person: " + q.Subject + " is skipped, its question has no answer"
		if len(closed) == 0 {
			for _, step := range w.run.OpenIn(q.Group) {
				group = append(group, reprise.Event{Kind: reprise.StepSkipped, Step: step, Actor: person, Text: text})
			}
		}
		closed = append(closed, reprise.Event{Kind: reprise.QuestionSkipped, Question: q.ID, Actor: person, Text: text})
	}
	return group, closed
}

// imagined is the run as it would be with events, which are played on a store that
// keeps its changes to itself.
func (w *work) imagined(ctx context.Context, store reprise.Store, events []reprise.Event) (*reprise.Run, error) {
	dry := durable.NewDryRun(store)
	for _, ev := range events {
		if journalOnly[ev.Kind] {
			continue
		}
		ev.At = w.Now()
		err := journal.Play(ctx, dry, w.layout, w.ref, ev)
		if err != nil && !errors.Is(err, reprise.ErrCannotRecord) { // what cannot be the journal alone holds
			return nil, err
		}
	}
	return w.layout.Load(dry, w.ref)
}

// mustBeOut tells which of the steps that are to be left out the files would not
// leave out, and which question they would not close.
func mustBeOut(run *reprise.Run, steps []string, closed []reprise.Event) error {
	for _, step := range steps {
		switch s := run.Step(step); {
		case s == nil:
			return fmt.Errorf("skip %s: the files of %s keep no such step", step, run.ID)
		case !s.Status.Closed():
			return fmt.Errorf("skip %s: the files of %s have no place for it: it would still be %s", step, run.ID, s.Status)
		}
	}
	for _, ev := range closed {
		if slices.ContainsFunc(run.PendingQuestions(), func(q reprise.Question) bool { return q.ID == ev.Question }) {
			return fmt.Errorf("skip the question %s: the files of %s have no place for it: it would still be asked", ev.Question, run.ID)
		}
	}
	return nil
}

// withdrawals take back what a person answered to the workflow itself and nothing was
// done with yet: an approval must not count for other work than it was given for. What
// they told an agent stays, and so does what they said of something that has happened
// or of a step that does not rest on what is done again.
func (w *work) withdrawals(why string, rests func(step string) bool) []reprise.Event {
	var out []reprise.Event
	for _, q := range w.run.Questions {
		past := strings.HasPrefix(q.ID, lostPrefix) || strings.HasPrefix(q.ID, cutOffPrefix)
		if q.Answered && !q.Applied && q.By == "" && !past && w.due[q.ID] == "" && (w.run.Step(q.Subject) == nil || rests(q.Subject)) {
			out = append(out, reprise.Event{Kind: reprise.AnswerWithdrawn, Step: q.Subject, Question: q.ID, Text: why, Actor: person})
		}
	}
	return out
}

// heed records what a person said about single steps, all of it or, after a crash,
// the rest before anything else.
func (w *work) heed(ctx context.Context) error {
	if err := w.hearBefore(ctx); err != nil {
		return err
	}
	events, err := w.said(ctx, w.store)
	if err != nil {
		return err
	}
	if err := w.recordAll(ctx, events...); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	for _, ev := range events {
		if ev.Kind == reprise.StepSkipped {
			w.tellLeftOut(ev.Step)
		}
	}
	return nil
}

// tellLeftOut puts into the summary which steps a person had left out.
func (w *work) tellLeftOut(steps ...string) {
	for _, id := range steps {
		told := slices.ContainsFunc(w.sum.Skipped, func(r StepReport) bool { return r.ID == id })
		if s := w.run.Step(id); s != nil && !told {
			w.sum.Skipped = append(w.sum.Skipped, StepReport{ID: id, Title: s.Title, Role: s.Role})
		}
	}
}

// resumeAgent goes on with the agent that was at work, where its tool can do that.
func (w *work) resumeAgent(ctx context.Context, l look) (bool, error) {
	w.wanted = first(l.run.ResumeAnswer().AgentID, "the agent that was at work")
	return w.goOn(ctx, l)
}

// notResumed says why the agent that a person wants to go on is not gone on with, once,
// "" if it is.
func (w *work) notResumed(step string, bound binding, resumes bool) string {
	who := w.wanted
	if w.wanted = ""; who == "" || resumes {
		return ""
	}
	why := "no session of it is on record here"
	if !bound.continues {
		why = fmt.Sprintf("the command of %s cannot go on with a session", bound.name)
	}
	return fmt.Sprintf("%s is not resumed: %s. A new agent does %s", who, why, step)
}

// leftOutSince lists the steps that were left out since somebody was last told what came
// of the work, by a person's answer too, and that still are.
func (w *work) leftOutSince() []string {
	var out []string
	for i := len(w.told) - 1; i >= 0; i-- {
		ev := &w.told[i]
		if ev.Kind == reprise.EngineLeft && ev.Outcome != "" {
			break
		}
		s := w.run.Step(ev.Step)
		if (ev.Kind == reprise.StepSkipped || ev.Kind == reprise.QuestionAnswered) && s != nil && s.Status == reprise.Skipped {
			out = append(out, s.ID)
		}
	}
	slices.Reverse(out)
	return out
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
		if a, err := w.assign(w.store, *l.d.Point); err == nil && a.Step != "" {
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

// hearBefore takes in what waits to be heard before work is done again: it was said of
// the work that was there then.
func (w *work) hearBefore(ctx context.Context) error {
	if w.choice.From == "" {
		return nil
	}
	return w.hear(ctx)
}

// skipOn leaves the current plan or step out and goes on.
func (w *work) skipOn(ctx context.Context, l look) (bool, error) {
	w.leaveOutCurrent(l)
	return w.goOn(ctx, l)
}

func (w *work) leaveOutCurrent(l look) {
	w.choice.Skip = append(slices.Clone(w.choice.Skip), w.current(l))
}

// skipGroup leaves out what waits for the answer to a question, closes the question
// without one, and goes on.
func (w *work) skipGroup(ctx context.Context, l look) (bool, error) {
	w.passOver(l)
	return w.goOn(ctx, l)
}

// passedBefore reports whether whoever worked on the run last closed a question by
// leaving its group out, and was killed: who says that again goes on from there.
func (w *work) passedBefore() bool {
	for i := len(w.told) - 1; i >= 0 && !w.orderly; i-- {
		switch w.told[i].Kind {
		case reprise.QuestionSkipped:
			return true
		case reprise.RunStarted, reprise.RunResumed, reprise.StateRestored:
			return false
		}
	}
	return false
}

func (w *work) passOver(l look) {
	q, _ := l.run.Skippable()
	w.unasked = q.Group
}

// reset records that a person wants a step done again.
func (w *work) reset(ctx context.Context, step string) error {
	if err := w.record(ctx, resetBy(step)); err != nil {
		return err
	}
	return w.load()
}

// leftOut says that a person wants a step left out.
func leftOut(step string) reprise.Event {
	return reprise.Event{Kind: reprise.StepSkipped, Step: step, Actor: person, Text: "left out by a person"}
}

func resetBy(step string) reprise.Event {
	return reprise.Event{Kind: reprise.StepReset, Step: step, Actor: person, Text: "to be done again, says a person"}
}

// resetsFrom gives the steps that are to be made open again to begin at one of
// them, in the order in which that is done: the step, what comes after it, and what
// failed or was cut off there or in a stage that the files do not keep. Where the step
// is not done, what is done does not rest on it and stays. What the files cannot take
// back is refused.
func (w *work) resetsFrom(ctx context.Context, store reprise.Store, step string) ([]string, error) {
	at := slices.IndexFunc(w.run.Steps, func(s reprise.Step) bool { return s.ID == step })
	failed := w.tired(step) || w.halted(step)
	if at < 0 && !failed && !w.offered(step) {
		return nil, fmt.Errorf("begin at %s: %s has no such step, or none that could begin again", step, w.ref.ID)
	}
	stages := w.tiredStages()
	if at < 0 {
		// The files tell of it only once it is done: it is forgiven.
		if !slices.Contains(stages, step) {
			stages = append(stages, step)
		}
		return stages, nil
	}
	rests := w.restsOn(at)
	var again []string
	for i := range w.run.Steps[at:] {
		s := &w.run.Steps[at+i]
		if s.Status != reprise.Pending && (!s.Status.Closed() || rests[s.ID]) || w.tired(s.ID) {
			again = append(again, s.ID)
		}
	}
	// The last first, so that no step is open while one that needs it is closed.
	slices.Reverse(again)
	again = append(stages, again...)
	events := make([]reprise.Event, len(again))
	for i, id := range again {
		events[i] = resetBy(id)
	}
	run, err := w.imagined(ctx, store, events)
	if err != nil {
		return nil, fmt.Errorf("begin at %s: %w", step, err)
	}
	if s := run.Step(step); s != nil && s.Status.Closed() && !failed {
		return nil, fmt.Errorf("begin at %s: the files of %s cannot take back that it is done", step, w.ref.ID)
	}
	return again, nil
}

// restsOn gives the steps that may have been built on one, with itself: those that need
// it. Only graphs tell all that their steps need; elsewhere they are all that come after
// it if it is done, or if nothing says what the steps need.
func (w *work) restsOn(at int) map[string]bool {
	after := w.run.Steps[at:]
	needs := slices.ContainsFunc(w.run.Steps, func(s reprise.Step) bool { return len(s.Needs) > 0 })
	all := w.run.Kind != reprise.KindGraph && (after[0].Status.Closed() || !needs)
	out := map[string]bool{after[0].ID: true}
	for again := true; again; {
		again = false
		for i := range after {
			s := &after[i]
			if !out[s.ID] && (all || slices.ContainsFunc(s.Needs, func(id string) bool { return out[id] })) {
				out[s.ID], again = true, true
			}
		}
	}
	return out
}

// restingOn tells of any step whether it may have been built on one, which is all of
// them where the files do not keep that one.
func (w *work) restingOn(step string) func(string) bool {
	at := slices.IndexFunc(w.run.Steps, func(s reprise.Step) bool { return s.ID == step })
	if at < 0 {
		return anyStep
	}
	rests := w.restsOn(at)
	return func(id string) bool { return rests[id] }
}

func anyStep(string) bool { return true }

// keep keeps the state before a choice that gives it up. A choice that is made of
// two, as discarding and starting afresh, is taken back by what was kept before the
// first of them.
func (w *work) keep(ctx context.Context, l look, note string) (err error) {
	if err := w.mayGiveUp(l); err != nil {
		return err
	}
	if w.sum.Snapshot != "" {
		return nil
	}
	w.sum.Snapshot, err = upkeep.Keep(ctx, w.store, []*reprise.Run{l.run}, note)
	return err
}

// mayGiveUp tells why the state is not given up, nil if it may be.
func (w *work) mayGiveUp(l look) error {
	if l.d.State == reprise.Running {
		return &UnsafeError{Run: w.ref.ID, Reasons: l.d.Reasons}
	}
	return nil
}

// againAt is the step at which a run begins again that is not archived for that, ""
// for one that is: a story is a person's document, its phases begin again in it, after
// the one that wrote it.
func (w *work) againAt(l look) string {
	steps := w.run.Steps
	switch {
	case l.run.Kind != reprise.KindStory || len(steps) == 0:
		return ""
	case steps[0].Status.Closed() && len(steps) > 1:
		return steps[1].ID
	}
	return steps[0].ID
}

// built reports whether the run has a checkout of its own. The files in it tell of
// the run, too: what begins again beside them would be called done.
func (w *work) built(l look) bool { return l.run.Worktree != "" && w.repo != nil && !w.renewed }

// afresh starts from scratch. What was built goes with the state.
func (w *work) afresh(ctx context.Context, l look) (bool, error) {
	if w.built(l) {
		return w.discard(ctx, l)
	}
	return w.startFresh(ctx, l)
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
	if at := w.againAt(l); at != "" {
		if err := w.keep(ctx, l, "before starting "+w.ref.ID+" afresh"); err != nil {
			return true, err
		}
		w.choice.From = at
		return false, w.heed(ctx)
	}
	ref, events, err := w.beginnings(l, w.store)
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
	if err := w.load(); err != nil {
		return true, err
	}
	w.tellLeftOut(w.choice.Skip...)
	return false, nil
}

// goalOf is what the run was started for and with: as its playbook tells, else its
// title.
func (w *work) goalOf(l look) (goal reprise.Goal, err error) {
	goal = reprise.Goal{ID: w.ref.ID, Path: w.ref.Path, Now: w.Now(), Mode: string(w.Mode)}
	if g, ok := w.book.(reprise.Goaler); ok {
		goal.Text = g.GoalOf(w.store, l.run)
	}
	goal.Text = first(goal.Text, l.run.Title)
	if g, ok := w.book.(reprise.Giver); ok {
		goal.Given, err = g.GivenOf(w.store, l.run)
	}
	return goal, err
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
	w.sum.Merged = merged.Text + "."
	if w.run.State.Open() {
		w.sum.Merged += " " + upper(staysOpen(w.run))
	}
	return true, w.end(w.decide(), zeroTime)
}

// staysOpen says that merging what was built does not end the run.
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

// discard gives up what was built, keeps all of it, and begins again. Where it could
// not, nothing is changed.
func (w *work) discard(ctx context.Context, l look) (bool, error) {
	if !w.renewed {
		// The checkout is archived, so a damaged plan in it is not in the way.
		place, _, err := worktree.Discarding(ctx, w.tree())
		if err != nil {
			return true, err
		}
		left := &shelf{w.store}
		if place != "" {
			left.put(place)
		}
		if _, _, err := w.beginnings(l, left); err != nil {
			return true, fmt.Errorf("start %s afresh: %w", w.ref.ID, err)
		}
	}
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
