package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/project"
	"reprise/prompt"
)

// maxAlone bounds how many steps that need nobody a preview plays.
const maxAlone = 100

// rehearsal plays the first turn of a run on a store that keeps its changes to
// itself: what is recorded until agents are at work.
type rehearsal struct {
	*work
	shelf *shelf // what the changes are played on
	p     *Preview
	alone int    // steps that needed nobody
	child string // the run of its own that this is, "" for the outermost
}

func newRehearsal(ctx context.Context, w *work, at *shelf, dry *durable.DryRun, p *Preview) *rehearsal {
	r := &rehearsal{work: w, shelf: at, p: p}
	quiet := *w.Engine
	quiet.Tell, quiet.Ask, quiet.gate, quiet.yard = r.hear, nil, &agent.Gate{}, newYard()
	w.Engine = &quiet
	// Without git nothing is done in a checkout, as when it is resumed.
	if repo, err := gitx.Open(ctx, w.Dir, gitx.Options{Environ: w.Environ}); err == nil {
		w.repo = repo
	}
	w.dry = dry
	return r
}

// hear takes in what whoever works would say.
func (r *rehearsal) hear(p Progress) {
	switch {
	case p.Kind == Questions:
		r.would("A person is asked: %s", p.Text)
	case p.Kind == Noticed && p.Outcome != "": // a finding
		r.would("%s", p.Text)
	}
}

// told closes the preview.
func (r *rehearsal) told(err error) (*Preview, error) {
	if err != nil {
		return nil, err
	}
	r.p.Diff = r.dry.Diff()
	return r.p, nil
}

func (r *rehearsal) would(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.p.Would, text) {
		r.p.Would = append(r.p.Would, text)
	}
}

// play does what recording an event would do.
func (w *work) play(ctx context.Context, ev reprise.Event) error {
	ev.At = w.timeOf(ev)
	if err := w.write(ctx, ev); err != nil {
		return err
	}
	w.remember(&ev)
	return nil
}

// playAll plays events and reads the run as it would be then.
func (r *rehearsal) playAll(ctx context.Context, events []reprise.Event) error {
	for _, ev := range events {
		if err := r.play(ctx, ev); err != nil {
			return err
		}
	}
	return r.reload()
}

// write changes the layout's files as an event would.
func (w *work) write(ctx context.Context, ev reprise.Event) error { return w.writeTo(ctx, w.dry, ev) }

func (w *work) writeTo(ctx context.Context, dry *durable.DryRun, ev reprise.Event) error {
	if journalOnly[ev.Kind] {
		return nil
	}
	err := journal.Play(ctx, dry, w.layout, w.ref, ev)
	if errors.Is(err, reprise.ErrCannotRecord) {
		return nil // the journal alone holds it
	}
	return err
}

// reload reads the run as it would be.
func (r *rehearsal) reload() error {
	run, err := r.layout.Load(r.dry, r.ref)
	if err != nil {
		return fmt.Errorf("load %s: %w", r.ref.ID, err)
	}
	r.standOn(run)
	return nil
}

// beginAgain plays how a beginning is carried to its end that was cut off.
func (r *rehearsal) beginAgain(ctx context.Context, b project.Beginning) error {
	switch {
	case !b.Afresh():
		r.would("It was being started when the work was cut off: it is made in %s.", r.ref.Path)
	case r.putsAway():
		r.would("It was being started afresh when the work was cut off: %s is archived, and it begins again.", b.Old.Path)
	default:
		r.would("It was being started afresh when the work was cut off: the old state is in the archive, and it begins again.")
	}
	recorded := len(b.Then) - len(b.Left)
	for i, ev := range b.Then {
		if ev.Kind == reprise.StepReset {
			continue // in files of others
		}
		play := r.play
		if i < recorded {
			play = r.write
		}
		if err := play(ctx, ev); err != nil {
			return err
		}
	}
	return r.reload()
}

// catchUp plays how opening the run brings its files up to the journal, and records
// what was to follow. any reports whether that is anything.
func (r *rehearsal) catchUp(ctx context.Context) (any bool, err error) {
	account, err := journal.ReadAccount(r.store, journal.Name(r.ref))
	if err != nil || len(account.Entries) == 0 || r.gone() {
		return false, err
	}
	findings, err := account.Bring(ctx, r.store, r.dry, r.layout, r.ref)
	if err != nil {
		return false, err
	}
	if err := r.reload(); err != nil {
		return false, err
	}
	last := account.Entries[len(account.Entries)-1]
	if err := r.takeBehind(ctx, findings, last.Event, len(last.Files) > 0); err != nil {
		return false, err
	}
	recorded := r.hist.Events
	if err := r.putBack(ctx); err != nil {
		return false, err
	}
	if !r.renewal.Open() || r.mayRenew() != nil {
		if err := r.follow(ctx); err != nil {
			return false, err
		}
	}
	if r.hist.Events > recorded || len(r.dry.Edits()) > 0 {
		return true, r.reload()
	}
	return len(findings) > 0, nil
}

// because says why it is decided as it is.
func (r *rehearsal) because(d reprise.Decision) {
	for _, reason := range d.Reasons {
		r.would("%s", reason)
	}
}

// turns plays the loop until agents are at work, a person is needed or nothing
// is left to do.
func (r *rehearsal) turns(ctx context.Context) error {
	if err := r.takeIn(ctx); err != nil {
		return err
	}
	if err := r.apply(ctx); err != nil {
		return err
	}
	if err := r.settleChanged(ctx); err != nil {
		return err
	}
	if err := r.cutOff(ctx); err != nil {
		return err
	}
	if err := r.settleLost(ctx); err != nil {
		return err
	}
	if err := r.settleClaimed(ctx); err != nil {
		return err
	}
	for {
		if err := r.reload(); err != nil {
			return err
		}
		if len(r.flights) == 0 && len(r.owed()) == 0 {
			if err := r.settleOn(r.dry, func(events []reprise.Event) error { return r.playAll(ctx, events) }); err != nil {
				return err
			}
		}
		d := r.decide()
		if r.reached() {
			r.would("%s is closed: that is as far as it goes.", r.choice.Until)
			return nil
		}
		units, ok := r.next(d)
		if !ok {
			r.would("Then: %s.", d.Action)
			r.because(d)
			return nil
		}
		if again, err := r.turn(ctx, units); err != nil || !again {
			return err
		}
	}
}

// cutOff plays how attempts are settled that were started and whose end nobody
// saw. Commands that would tell are not run.
func (r *rehearsal) cutOff(ctx context.Context) error {
	open := r.hist.Open()
	slices.SortFunc(open, func(a, b reprise.Event) int { return a.At.Compare(b.At) })
	for _, ev := range open {
		r.would("Attempt %d of %s was cut off and is settled by its policy, %s.", ev.Attempt, ev.Step, first(string(ev.Policy), string(reprise.Verify)))
		f, err := r.resumed(ctx, ev)
		if err != nil {
			return err
		}
		if len(f.a.Verify) > 0 {
			r.would("Its command that verifies it is asked first, which is not run now.")
		}
		if err := r.settleOpen(ctx, ev, f); err != nil {
			return err
		}
		if err := r.reload(); err != nil {
			return err
		}
		r.settled(ev)
	}
	return nil
}

// settled tells how an attempt was settled.
func (r *rehearsal) settled(of reprise.Event) {
	for i := len(r.work.told) - 1; i >= 0; i-- {
		ev := &r.work.told[i]
		if ev.Kind != reprise.StepResolved || ev.Step != of.Step || ev.Attempt != of.Attempt {
			continue
		}
		switch ev.Outcome {
		case "landed":
			r.would("%s is not started again: %s.", ev.Step, ev.Text)
		case "ask":
			r.would("A person is asked what came of it; %s is not started before that.", ev.Step)
		}
		return
	}
}

// turn plays the start of what may be started. again reports that what may be
// started is another question now.
func (r *rehearsal) turn(ctx context.Context, units []reprise.Unit) (again bool, err error) {
	for _, u := range units {
		if len(r.flights) >= r.parallel() {
			return false, nil
		}
		a, err := r.assign(r.dry, u)
		if err != nil {
			r.would("%s cannot be prepared: %v", u.ID, err)
			continue
		}
		if a.Step == "" {
			a.Step = u.ID
		}
		if r.flights[a.Step] != nil || r.parked[a.Step] != "" || r.doubted(r.run.Step(a.Step)) {
			continue
		}
		if r.unanswered(a.Step) {
			r.would("%s waits for an answer.", a.Step)
			continue
		}
		if _, never := r.mayStart(a); never != "" {
			r.would("%s is left to a person: %s", a.Step, never)
			continue
		}
		switch {
		case a.Ask != nil:
			r.would("A person is asked: %s", a.Ask.Text)
			err = r.playAll(ctx, r.questions(a, []reprise.Asked{*a.Ask}, ""))
		case a.Local != "":
			if r.alone++; r.alone > maxAlone {
				r.would("More steps that need nobody follow.")
				return false, nil
			}
			r.would("%s is recorded as done: %s", a.Step, a.Local)
			return true, r.play(ctx, reprise.Event{Kind: reprise.StepFinished, Step: a.Step, Phase: u.Phase, Actor: a.Role, Text: a.Local, Answers: r.toldTo(a)})
		case a.Child != nil:
			err = r.own(ctx, a)
		default:
			if until := r.closedUntil(a); until.After(r.Now()) {
				r.would("%s %s.", a.Step, untilWords(until))
				continue
			}
			err = r.unit(ctx, a)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// own plays the first turn of a run of its own that does a unit.
func (r *rehearsal) own(ctx context.Context, a reprise.Assignment) error {
	if r.depth >= maxDepth {
		r.would("%s cannot be prepared: its run %s lies %d runs deep.", a.Step, a.Child.ID, r.depth)
		return nil
	}
	r.would("%s is done by its own run, %s.", a.Step, a.Child.ID)
	if err := r.play(ctx, reprise.Event{Kind: reprise.StepStarted, Step: a.Step, Phase: a.Unit.Phase, Actor: a.Role, Attempt: r.hist.Step(a.Step).Attempts + 1}); err != nil {
		return err
	}
	r.flights[a.Step] = &flight{a: a}
	book, err := r.bookOf(r.store, *a.Child)
	if err != nil {
		return err
	}
	w, err := r.looking(r.store, *a.Child, book)
	if err != nil {
		return err
	}
	w.depth, w.cast = r.depth+1, a.Cast
	child := newRehearsal(ctx, w, r.shelf, r.dry, r.p)
	child.child = a.Child.ID
	if _, err := fs.Stat(r.dry, a.Child.Path); errors.Is(err, fs.ErrNotExist) {
		_, events, err := book.Begin(r.dry, reprise.Goal{ID: a.Child.ID, Path: a.Child.Path, Text: a.Unit.Title, Now: r.Now(), Mode: string(r.Mode)})
		if err != nil {
			return err
		}
		if err := child.playAll(ctx, r.allBegun(events)); err != nil {
			return err
		}
	} else if err := child.reload(); err != nil {
		return err
	}
	return child.turns(ctx)
}

// unit plays the start of an agent.
func (r *rehearsal) unit(ctx context.Context, a reprise.Assignment) error {
	f := &flight{a: a, attempt: r.hist.Step(a.Step).Attempts + 1, began: r.Now(), dir: r.Dir, answers: r.toldTo(a)}
	if s := r.run.Step(a.Step); s != nil {
		f.attempt = max(f.attempt, s.Attempts+1)
	}
	for range maxUnused {
		f.result = r.absolute(durable.ScratchPath(r.attemptName(f)) + "/" + resultName)
		if _, err := os.Lstat(f.result); errors.Is(err, fs.ErrNotExist) {
			break
		}
		f.attempt++ // that result is somebody else's word
	}
	f.key = r.keyOf(a.Step, f.attempt)
	step := PreviewStep{Run: r.child, Step: a.Step, Role: a.Role, Attempt: f.attempt, Dir: "."}
	if a.Worktree && r.repo != nil {
		step.Dir = "the run's own checkout"
		f.dir = "" // not known before it is made
		if f.inside = r.madeCheckout(a); f.inside != "" {
			f.dir, f.a.Place = r.absolute(f.inside), f.inside
		}
	}
	for _, e := range a.Expect {
		step.Expect = append(step.Expect, r.placed(f, e.Path))
	}
	bound, err := r.bind(a)
	if err != nil {
		step.Problem = err.Error()
	} else {
		step.Agent, step.Command = bound.name, r.command(f, bound)
	}
	if len(a.Command) == 0 { // one of the person's own is told by its arguments
		if step.Prompt, err = r.prompt(ctx, f, bound); err != nil {
			return err
		}
	}
	r.p.Starts = append(r.p.Starts, step)
	if step.Problem != "" {
		return nil // it stays open
	}
	r.flights[a.Step] = f
	return r.play(ctx, reprise.Event{Kind: reprise.StepStarted, At: f.began, Step: a.Step, Phase: a.Unit.Phase, Actor: a.Role, Attempt: f.attempt})
}

// madeCheckout is where a unit is worked on if that is the run's own checkout and it
// is made, else "".
func (w *work) madeCheckout(a reprise.Assignment) string {
	if made := w.hist.Worktree; a.Worktree && w.repo != nil && made != nil {
		return path.Join(made.Text, w.repo.Prefix())
	}
	return ""
}

// session is the one that the next attempt would go on with, "" for a new one.
func (r *rehearsal) session(f *flight, bound binding) string {
	if h := r.hist.Step(f.a.Step); bound.continues && h.Session != "" && r.goesOn(f.a.Step) {
		return h.Session
	}
	return ""
}

// command is the command line that the agent would be started with.
func (r *rehearsal) command(f *flight, bound binding) []string {
	known, ok := bound.agent.(interface{ CommandLine(agent.Job) []string })
	if !ok {
		return bound.command
	}
	session := r.session(f, bound)
	return known.CommandLine(agent.Job{Command: bound.command, Env: bound.env, Session: session, Resume: session != ""})
}

// prompt is what the agent would be told.
func (r *rehearsal) prompt(ctx context.Context, f *flight, bound binding) (string, error) {
	task := r.task(f)
	if why := r.notResumed(f.a.Step, bound, r.session(f, bound) != ""); why != "" {
		r.would("%s.", why)
	}
	if r.takesOver(f.a.Step, bound, r.session(f, bound) != "") {
		if err := r.brief(ctx, f, &task); err != nil {
			return "", err
		}
	}
	text, err := prompt.Render(task, r.Prompts)
	if err != nil {
		return "", fmt.Errorf("write the prompt of %s: %w", f.a.Step, err)
	}
	return text, nil
}
