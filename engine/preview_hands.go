package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/internal/durable"
	"reprise/journal"
	"reprise/upkeep"
	"reprise/worktree"
)

// errShown ends the loop of a preview: what follows depends on agents, or repeats itself.
var errShown = errors.New("the preview ends here")

// maxAlone bounds how many steps without an agent a preview shows.
const maxAlone = 100

// previewState is the project with changes that only the preview sees. A run and its
// child runs share it.
type previewState struct {
	under reprise.Store // the project without what would be archived
	dry   *durable.DryRun
	p     *Preview
	alone int           // steps that needed no one
	ahead time.Duration // how far its clock is ahead: no one waits for it
	asked []reprise.Event
	// moves is set where anything is done or recorded beside that the run is taken up and
	// left.
	moves bool
	// takenOut are the lines of the inbox that were heard.
	takenOut [][]byte
}

func newPreviewState(under reprise.Store, p *Preview) *previewState {
	return &previewState{under: under, dry: durable.NewDryRun(under), p: p}
}

func (p *previewState) would(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(p.p.Would, text) {
		p.p.Would = append(p.p.Would, text)
	}
}

// Files implements Ledger.
func (p *previewState) Files() reprise.Store { return p.dry }

// Inbox implements Ledger.
func (l *previewLedger) Inbox() ([]byte, error) {
	text, err := durable.ReadPrivate(l.w.inbox())
	return withoutLines(text, l.takenOut), err
}

// TakeOut implements Ledger.
func (p *previewState) TakeOut(lines [][]byte) error {
	p.takenOut, p.moves = append(p.takenOut, lines...), true
	return nil
}

// Gone implements Ledger: nothing else changes what only the preview sees.
func (p *previewState) Gone() (string, error) { return "", nil }

// Archive implements Ledger. Changes below the name are archived with it.
func (p *previewState) Archive(name string) (string, error) {
	p.moves = true
	was := p.dry.Edits()
	p.under = durable.Without(p.under, name)
	p.dry = durable.NewDryRun(p.under)
	for _, e := range was {
		if e.Path == name || strings.HasPrefix(e.Path, name+"/") {
			continue
		}
		if err := p.dry.Apply(context.Background(), []reprise.Edit{e}); err != nil {
			return "", err
		}
	}
	return "", nil
}

// Archive implements Ledger, and says so.
func (l *previewLedger) Archive(name string) (string, error) {
	l.would("%s is archived.", name)
	return l.previewState.Archive(name)
}

// previewLedger is the ledger of one run in a preview.
type previewLedger struct {
	*previewState
	w *work
	// run is what was read last, when of had that many edits.
	run   *reprise.Run
	of    *durable.DryRun
	edits int
	// deferred counts the events that the files have not been told of, and pending tells
	// them.
	deferred int
	pending  reprise.Track
}

// Current implements Ledger. Only what the preview itself changes is read again.
func (l *previewLedger) Current() (*reprise.Run, error) {
	if edits := len(l.dry.Edits()); l.run == nil || l.of != l.dry || l.edits != edits {
		run, err := reprise.Load(l.w.layout, l.dry, l.w.ref)
		if err != nil {
			return nil, err
		}
		l.run, l.of, l.edits = run, l.dry, edits
	}
	return l.run, nil
}

// Record implements Ledger.
func (l *previewLedger) Record(ctx context.Context, ev reprise.Event) error {
	if err := l.narrate(&ev); err != nil {
		return err
	}
	run, err := l.Current()
	if err == nil && !journalOnly(ev) && journal.PlayOn(ctx, l.dry, l.w.layout, run, ev) == nil {
		return nil
	}
	return projectTo(ctx, l.dry, l.w.layout, l.w.ref, ev)
}

// Note implements Ledger.
func (l *previewLedger) Note(ev reprise.Event) error { return l.narrate(&ev) }

// Defer implements Ledger. Past maxAlone the ordinary turn ends the preview.
func (l *previewLedger) Defer(_ context.Context, t reprise.Track, ev reprise.Event) (bool, error) {
	if l.alone >= maxAlone || !t.Advance(ev) {
		return false, nil
	}
	l.deferred, l.pending = l.deferred+1, t
	return true, l.narrate(&ev)
}

// Deferred implements Ledger.
func (l *previewLedger) Deferred() int { return l.deferred }

// Project implements Ledger.
func (l *previewLedger) Project(ctx context.Context) error {
	if l.pending == nil {
		return nil
	}
	edits, err := l.pending.Edits(l.dry)
	if err == nil {
		err = l.dry.Apply(ctx, edits)
	}
	if err != nil {
		return fmt.Errorf("project %d events: %w", l.deferred, err)
	}
	l.pending.Told()
	l.deferred, l.pending = 0, nil
	return nil
}

// narrate puts an event into words for the preview.
func (l *previewLedger) narrate(ev *reprise.Event) error {
	l.moves = l.moves || !slices.Contains([]reprise.EventKind{reprise.RunResumed, reprise.RunStopped, reprise.EngineLeft}, ev.Kind)
	if open := l.w.hist.Step(ev.Step).Open; open != nil && open.Attempt == ev.Attempt && ev.Actor == actor {
		l.would("Attempt %d of %s was cut off and is settled by its on_crash policy, %s.", ev.Attempt, ev.Step, first(string(open.Policy), string(reprise.Verify)))
	}
	switch ev.Kind {
	case reprise.QuestionAsked:
		l.asked = append(l.asked, *ev)
	case reprise.StepResolved:
		switch {
		case ev.Outcome == "landed" && ev.Attempt == 0:
			l.would("%s is marked as done: a commit for it exists (%s)", ev.Step, ev.Text)
		case ev.Outcome == "landed":
			l.would("%s is not started again: %s.", ev.Step, ev.Text)
		case ev.Outcome == "ask":
			l.would("A person is asked what became of it; %s is not started before that.", ev.Step)
		}
	case reprise.StepFinished:
		if ev.Attempt > 0 || ev.Commit != "" {
			return nil
		}
		if l.alone++; l.alone > maxAlone {
			l.would("More steps follow that need no input.")
			return errShown
		}
		l.would("%s is recorded as done: %s", ev.Step, ev.Text)
	case reprise.StepSkipped:
		l.would("%s is skipped.", ev.Step)
	case reprise.StepReset:
		switch {
		case ev.Listed != nil:
			l.would("%s is put back.", ev.Step)
		case ev.Actor == person:
			l.would("%s begins again.", ev.Step)
		}
	case reprise.QuestionSkipped:
		q, _ := l.w.question(ev.Question)
		if ev.Actor != person {
			l.would("It is no longer asked: %s", q.Text)
			break
		}
		l.would("The question on %s is closed without an answer: %s", q.Subject, q.Text)
	case reprise.AnswerWithdrawn:
		l.would("The answer to %s is withdrawn: %s.", ev.Question, ev.Text)
	}
	return nil
}

// previewHands say what would be done.
type previewHands struct {
	*work
	preview *previewState
	ends    []End // of runs within the run
}

// asPreview makes a work only show what it would do.
func (w *work) asPreview(ctx context.Context, p *previewState) error {
	quiet := *w.Engine
	now := w.Engine.Now
	quiet.Now = func() time.Time { return now().Add(p.ahead) }
	quiet.Tell, quiet.Ask, quiet.gate, quiet.folders, quiet.tally = p.hear, nil, &agent.Gate{}, newFolders(), &tally{}
	hands := &previewHands{work: w, preview: p}
	w.Engine, w.led, w.hands, w.archive = &quiet, &previewLedger{previewState: p, w: w}, hands, hands
	w.open = func(ctx context.Context, ref reprise.Ref, playbook reprise.Playbook) (next *work, err error) {
		if playbook == nil {
			if playbook, err = w.playbookOf(w.led.Files(), ref); err != nil {
				return nil, err
			}
		}
		if next, err = w.looking(w.store, ref, playbook); err != nil {
			return nil, err
		}
		if err = next.asPreview(ctx, p); err != nil {
			return nil, err
		}
		_, err = next.caughtUp(ctx, p)
		return next, err
	}
	return w.openRepo(ctx)
}

// hear turns progress into words of the preview.
func (p *previewState) hear(said Progress) {
	switch {
	case said.Kind == Questions:
		p.would("A person is asked: %s", said.Text)
	case said.Kind == Noticed && said.Outcome != "": // a finding
		p.would("%s", said.Text)
	case said.Kind == Noticed && said.Step != "":
		p.would("%s is left to a person: %s", said.Step, said.Text)
	}
}

// endWords say how a run would end for now.
var endWords = map[reprise.Action]string{
	reprise.Start: "Then it stops, and can be resumed.", reprise.Ask: "Then it asks you.", reprise.Wait: "Then it waits.",
	reprise.Repair: "Then its state needs a repair.", reprise.Refuse: "Then it refuses to continue.", reprise.Finish: "Then it is finished.",
}

// show ends a preview.
func (w *work) show(p *previewState, err error) (*Preview, error) {
	if err != nil && !errors.Is(err, errShown) {
		return nil, err
	}
	s := w.sum
	switch {
	case err != nil:
	case s.Review != "":
		line, _, _ := strings.Cut(s.Review, "\n")
		p.would("What was built is shown, and nothing is changed: %s.", line)
	case s.Merged != "":
		p.would("%s", s.Merged)
	case s.Reached:
		p.would("%s is closed: it stops here.", w.choice.Until)
	default:
		p.would("%s", endWords[s.Action])
		for _, reason := range s.Reasons {
			p.would("%s", reason)
		}
	}
	for _, u := range w.decide().Units {
		if a, err := w.assign(u); err == nil && w.atWork[a.Step] == nil && w.closedUntil(a).After(w.Now()) {
			p.would("%s %s.", a.Step, UntilWords(w.closedUntil(a)))
		}
	}
	p.p.Run, p.p.Diff = w.ref, p.dry.Diff()
	if ends := p.moves && s.Action == reprise.Finish; len(p.p.Starts) == 0 && !ends && err == nil {
		p.p.Outcome = s.Outcome()
	}
	if !p.moves {
		p.p.idle = &idle{w.run, s}
	}
	return p.p, nil
}

// Keep implements Hands.
func (h *previewHands) Keep(_ context.Context, r *reprise.Run, _ string, going bool) (string, error) {
	refused := upkeep.CanKeep(h.store, r)
	if going {
		_, refused = upkeep.CanGoOn(h.store, r)
	}
	if refused == nil {
		h.preview.would("A snapshot of the state and the working tree is taken first; an undo restores it.")
	}
	return "", refused
}

// Prepare implements Hands. A unit without a configured agent is shown with the problem.
func (h *previewHands) Prepare(ctx context.Context, f *Attempt) error {
	err := h.prepare(ctx, f, h.checkout)
	if unbound, ok := errors.AsType[*startError](err); ok {
		f.Problem, f.Dir = unbound.Error(), h.Dir
		return nil
	}
	return err
}

// checkout is the run's own checkout if it exists.
func (h *previewHands) checkout(context.Context) (string, error) {
	if made := h.hist.Worktree; made != nil {
		return made.Text, nil
	}
	return "", nil
}

// Start implements Hands: it puts an attempt into the preview.
func (h *previewHands) Start(ctx context.Context, f *Attempt) error {
	if f.Child != nil {
		h.preview.would("%s is done by its own run, %s.", f.Step, f.Child.ID)
		ran, err := h.runChild(ctx, h.work, *f)
		if !errors.Is(err, errShown) {
			h.ends = append(h.ends, End{Step: f.Step, Ran: ran, Err: err})
		}
		return nil
	}
	step := PreviewStep{Step: f.Step, Role: f.Role, Attempt: f.Number, Dir: ".", Prompt: f.Message, Problem: f.Problem}
	if f.Problem == "" {
		bound, err := h.bind(f.Assignment)
		if err != nil {
			return err
		}
		step.Agent, step.Command = bound.name, bound.command
		if known, ok := bound.agent.(interface{ CommandLine(agent.Job) []string }); ok {
			step.Command = known.CommandLine(h.job(f, bound))
		}
		if step.Session, err = h.sessionCost(ctx, f, bound); err != nil {
			return err
		}
	}
	if h.depth > 0 {
		step.Run = h.ref.ID
	}
	if f.Dir != h.Dir {
		step.Dir = "the run's own checkout"
	}
	for _, e := range f.Expect {
		step.Expect = append(step.Expect, e.Path)
	}
	h.preview.p.Starts = append(h.preview.p.Starts, step)
	return nil
}

// Verify implements Hands.
func (h *previewHands) Verify(context.Context, *Attempt) error {
	h.preview.moves = true
	h.preview.would("Its verify command would run first; it is not run now.")
	return errNotAsked
}

// Land implements Hands: it finds a commit that exists.
func (h *previewHands) Land(stop context.Context, f *Attempt) (l Landing, err error) {
	h.preview.moves = true
	if f.Dir == "" {
		return l, nil
	}
	if l.Commit, err = h.commitOf(stop, f, f.Key, reprise.TrailerAccepted, ""); l.Commit == "" && err == nil {
		l.Commit, err = h.commitBefore(stop, f)
	}
	return l, err
}

// Await implements Hands: it returns what has ended, and waits for nothing.
func (h *previewHands) Await(_ context.Context, until time.Time) (*End, error) {
	switch {
	case len(h.ends) > 0:
		e := h.ends[0]
		h.ends = h.ends[1:]
		return &e, nil
	case len(h.atWork) > 0:
		return nil, errShown
	}
	h.preview.ahead += max(0, until.Sub(h.Now()))
	return nil, nil
}

// Stop implements Hands.
func (h *previewHands) Stop(error) {}

// CommitRecord implements Hands.
func (h *previewHands) CommitRecord(context.Context, *reprise.Event) {}

// PutAway implements Archive.
func (h *previewHands) PutAway(old reprise.Ref) (string, error) {
	h.preview.would("%s is archived, and the run begins again in %s.", old.Path, h.ref.Path)
	return h.preview.Archive(old.Path)
}

// GiveUp implements Archive.
func (h *previewHands) GiveUp(ctx context.Context, r *reprise.Run) (*upkeep.Cleaned, error) {
	h.preview.moves = true
	h.preview.would("Steps left in progress are reset, and the state is archived.")
	for _, ev := range upkeep.Resets(r, h.Now()) {
		if err := projectTo(ctx, h.preview.dry, h.layout, h.ref, ev); err != nil {
			return nil, err
		}
	}
	if !r.Kind.Facts().Kept {
		_, err := h.preview.Archive(r.Path)
		return &upkeep.Cleaned{}, err
	}
	return &upkeep.Cleaned{}, nil
}

// Merge implements Archive.
func (h *previewHands) Merge(ctx context.Context) (worktree.Merged, error) {
	text, back, err := worktree.Merging(ctx, h.tree())
	if err != nil {
		return worktree.Merged{}, err
	}
	h.preview.moves = true
	h.preview.would("%s", text)
	return worktree.Merged{Text: text}, h.preview.dry.Apply(ctx, back)
}

// Discard implements Archive.
func (h *previewHands) Discard(ctx context.Context) (worktree.Discarded, error) {
	h.preview.moves = true
	place, text, err := worktree.Discarding(ctx, h.tree())
	if err == nil && place != "" {
		_, err = h.preview.Archive(place)
	}
	return worktree.Discarded{Text: text}, err
}

// caughtUp shows how opening the run brings its files up to the journal, and completes
// its last group of events. any reports whether that changes anything.
func (w *work) caughtUp(ctx context.Context, p *previewState) (any bool, err error) {
	account := w.onRecord
	if len(account.Entries) == 0 || w.gone() {
		return false, nil
	}
	findings, err := account.Bring(ctx, w.store, p.dry, w.layout, w.ref)
	if err != nil {
		return false, err
	}
	if err := w.load(); err != nil {
		return false, err
	}
	if err := w.takeBehind(ctx, findings); err != nil {
		return false, err
	}
	recorded := w.hist.Events
	if err := w.putBack(ctx); err != nil {
		return false, err
	}
	if !w.renewal.Open() || w.mayRenew() != nil {
		if err := w.follow(ctx); err != nil {
			return false, err
		}
	}
	if w.hist.Events > recorded || len(p.dry.Edits()) > 0 {
		return true, w.load()
	}
	return len(findings) > 0, nil
}
