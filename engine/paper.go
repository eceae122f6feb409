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
	"reprise/internal/gitx"
	"reprise/journal"
	"reprise/upkeep"
	"reprise/worktree"
)

// errShown ends the loop of a preview: what follows rests on what agents do, or is
// more of the same.
var errShown = errors.New("the preview ends here")

// maxAlone bounds how many steps that need nobody a preview shows.
const maxAlone = 100

// paper is what a preview is written on: the project with changes that only the
// preview sees. A run and those within it share it.
type paper struct {
	under reprise.Store // the project without what would be archived
	dry   *durable.DryRun
	p     *Preview
	alone int           // steps that needed nobody
	ahead time.Duration // how far its clock is ahead: nobody waits for it
}

func newPaper(under reprise.Store, p *Preview) *paper {
	return &paper{under: under, dry: durable.NewDryRun(under), p: p}
}

func (p *paper) would(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(p.p.Would, text) {
		p.p.Would = append(p.p.Would, text)
	}
}

// Files implements Ledger.
func (p *paper) Files() reprise.Store { return p.dry }

// Gone implements Ledger: nobody is there who could take something away.
func (p *paper) Gone() (string, error) { return "", nil }

// Archive implements Ledger. What was changed there is gone with it.
func (p *paper) Archive(name string) (string, error) {
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

// paperLedger is the ledger of one run in a preview.
type paperLedger struct {
	*paper
	w *work
}

// Current implements Ledger.
func (l *paperLedger) Current() (*reprise.Run, error) { return l.w.layout.Load(l.dry, l.w.ref) }

// Record implements Ledger.
func (l *paperLedger) Record(ctx context.Context, ev reprise.Event) error {
	if err := l.narrate(&ev); err != nil {
		return err
	}
	return projectTo(ctx, l.dry, l.w.layout, l.w.ref, ev)
}

// narrate says what an event means for a person who reads the preview.
func (l *paperLedger) narrate(ev *reprise.Event) error {
	if open := l.w.hist.Step(ev.Step).Open; open != nil && open.Attempt == ev.Attempt && ev.Actor == actor {
		l.would("Attempt %d of %s was cut off and is settled by its policy, %s.", ev.Attempt, ev.Step, first(string(open.Policy), string(reprise.Verify)))
	}
	switch ev.Kind {
	case reprise.StepResolved:
		switch {
		case ev.Outcome == "landed" && ev.Attempt == 0:
			l.would("%s is marked as done: a commit for it exists (%s)", ev.Step, ev.Text)
		case ev.Outcome == "landed":
			l.would("%s is not started again: %s.", ev.Step, ev.Text)
		case ev.Outcome == "ask":
			l.would("A person is asked what came of it; %s is not started before that.", ev.Step)
		}
	case reprise.StepFinished:
		if ev.Attempt > 0 || ev.Commit != "" {
			return nil
		}
		if l.alone++; l.alone > maxAlone {
			l.would("More steps that need nobody follow.")
			return errShown
		}
		l.would("%s is recorded as done: %s", ev.Step, ev.Text)
	case reprise.StepSkipped:
		l.would("%s is left out.", ev.Step)
	case reprise.StepReset:
		if ev.Actor == person {
			l.would("%s begins again.", ev.Step)
		}
	case reprise.QuestionSkipped:
		q, _ := l.w.question(ev.Question)
		l.would("The question on %s is closed without an answer: %s", q.Subject, q.Text)
	case reprise.AnswerWithdrawn:
		l.would("The answer to %s is taken back: %s.", ev.Question, ev.Text)
	}
	return nil
}

// paperHands tell what would be done.
type paperHands struct {
	*work
	paper *paper
}

// onPaper lets a work only show what it would do.
func (w *work) onPaper(ctx context.Context, p *paper) {
	quiet := *w.Engine
	now := w.Engine.Now
	quiet.Now = func() time.Time { return now().Add(p.ahead) }
	quiet.Tell, quiet.Ask, quiet.gate, quiet.folders = p.hear, nil, &agent.Gate{}, newFolders()
	w.Engine, w.led, w.hands = &quiet, &paperLedger{p, w}, &paperHands{w, p}
	// Without git nothing is done in a checkout, as when it is resumed.
	if repo, err := gitx.Open(ctx, w.Dir, gitx.Options{Environ: w.Environ}); err == nil {
		w.repo = repo
	}
}

// hear takes in what whoever works would say.
func (p *paper) hear(said Progress) {
	switch {
	case said.Kind == Questions:
		p.would("A person is asked: %s", said.Text)
	case said.Kind == Noticed && said.Outcome != "": // a finding
		p.would("%s", said.Text)
	case said.Kind == Noticed && said.Step != "":
		p.would("%s is left to a person: %s", said.Step, said.Text)
	}
}

// show ends a preview.
func (w *work) show(p *paper, err error) (*Preview, error) {
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
		p.would("%s is closed: that is as far as it goes.", w.choice.Until)
	default:
		p.would("Then: %s.", s.Action)
		for _, reason := range s.Reasons {
			p.would("%s", reason)
		}
	}
	for _, u := range w.decide().Units {
		if a, err := w.assign(u); err == nil && w.atWork[a.Step] == nil && w.closedUntil(a).After(w.Now()) {
			p.would("%s %s.", a.Step, untilWords(w.closedUntil(a)))
		}
	}
	p.p.Run, p.p.Diff = w.ref, p.dry.Diff()
	return p.p, nil
}

func (h *paperHands) of(next *work) Hands {
	next.led = &paperLedger{h.paper, next}
	return &paperHands{next, h.paper}
}

// Open implements Hands.
func (h *paperHands) Open(ctx context.Context, ref reprise.Ref, book reprise.Playbook) (w *work, err error) {
	if book == nil {
		if book, err = h.bookOf(h.led.Files(), ref); err != nil {
			return nil, err
		}
	}
	if w, err = h.looking(h.store, ref, book); err != nil {
		return nil, err
	}
	w.onPaper(ctx, h.paper)
	return w, nil
}

// Keep implements Hands.
func (h *paperHands) Keep(_ context.Context, r *reprise.Run, _ string, going bool) (string, error) {
	refused := upkeep.CanKeep(h.store, r)
	if going {
		_, refused = upkeep.CanGoOn(h.store, r)
	}
	if refused == nil {
		h.paper.would("The state and the working tree are kept first; `reprise undo` brings them back.")
	}
	return "", refused
}

// Checkout implements Hands: it gives one that is made.
func (h *paperHands) Checkout(context.Context) (string, error) {
	if made := h.hist.Worktree; made != nil {
		return made.Text, nil
	}
	return "", nil
}

// Scratch implements Hands.
func (h *paperHands) Scratch(name string) (string, error) {
	return h.absolute(durable.ScratchPath(name)), nil
}

// Unbound implements Hands: the preview shows the unit with what keeps it from being
// started.
func (h *paperHands) Unbound(a reprise.Assignment, cause error) {
	f := &attempt{a: a, attempt: h.hist.Step(a.Step).Attempts + 1, dir: h.Dir}
	h.show(f, PreviewStep{Problem: cause.Error()})
}

// Launch implements Hands.
func (h *paperHands) Launch(_ context.Context, f *attempt, bound binding, job agent.Job) error {
	step := PreviewStep{Agent: bound.name, Command: bound.command, Prompt: job.Prompt}
	if known, ok := bound.agent.(interface{ CommandLine(agent.Job) []string }); ok {
		step.Command = known.CommandLine(job)
	}
	h.show(f, step)
	return nil
}

// show puts an attempt into the preview; from then on it counts as at work.
func (h *paperHands) show(f *attempt, step PreviewStep) {
	step.Step, step.Role, step.Attempt, step.Dir = f.a.Step, f.a.Role, f.attempt, "."
	if h.depth > 0 {
		step.Run = h.ref.ID
	}
	if f.dir != h.Dir {
		step.Dir = "the run's own checkout"
	}
	for _, e := range f.a.Expect {
		step.Expect = append(step.Expect, e.Path)
	}
	h.paper.p.Starts = append(h.paper.p.Starts, step)
	h.atWork[f.a.Step], f.cancel = f, func() {}
}

// Child implements Hands.
func (h *paperHands) Child(ctx context.Context, f *attempt, again time.Time) {
	h.paper.would("%s is done by its own run, %s.", f.a.Step, f.a.Child.ID)
	sum, err := h.runChild(ctx, h.work, f.a, again)
	if !errors.Is(err, errShown) {
		h.ends <- ending{step: f.a.Step, child: sum, err: err}
	}
}

// Verify implements Hands.
func (h *paperHands) Verify(context.Context, *attempt) (func() error, error) {
	h.paper.would("Its command that verifies it is asked first, which is not run now.")
	return nil, errNotAsked
}

// Home implements Hands.
func (h *paperHands) Home(context.Context, *attempt) error { return nil }

// Commit implements Hands: it gives a commit that is made.
func (h *paperHands) Commit(stop context.Context, f *attempt) (string, error) {
	if made := first(h.commitOf(stop, f, f.key+accepted), h.commitOf(stop, f, f.key)); made != "" {
		return made, nil
	}
	return h.commitBefore(stop, f), nil
}

// Flush implements Hands.
func (h *paperHands) Flush() error { return nil }

// TakeOut implements Hands.
func (h *paperHands) TakeOut([][]byte) error { return nil }

// Await implements Hands: it takes in what has ended, and waits for nothing.
func (h *paperHands) Await(ctx context.Context, _ time.Time) error {
	select {
	case l := <-h.ends:
		return h.takeEnd(ctx, l)
	default:
		return errShown
	}
}

// Sleep implements Hands.
func (h *paperHands) Sleep(_ context.Context, until time.Time) error {
	h.paper.ahead += max(0, until.Sub(h.Now()))
	return nil
}

// PutAway implements Hands.
func (h *paperHands) PutAway(old reprise.Ref) (string, error) {
	h.paper.would("%s is archived, and the run begins again in %s.", old.Path, h.ref.Path)
	return h.led.Archive(old.Path)
}

// GiveUp implements Hands.
func (h *paperHands) GiveUp(ctx context.Context, r *reprise.Run) (*upkeep.Cleaned, error) {
	h.paper.would("Statuses that were left in the middle are reset, and the state is archived.")
	for _, ev := range upkeep.Resets(r, h.Now()) {
		if err := projectTo(ctx, h.paper.dry, h.layout, h.ref, ev); err != nil {
			return nil, err
		}
	}
	if !r.Kind.Facts().Document {
		_, err := h.led.Archive(r.Path)
		return &upkeep.Cleaned{}, err
	}
	return &upkeep.Cleaned{}, nil
}

// Merge implements Hands.
func (h *paperHands) Merge(ctx context.Context) (worktree.Merged, error) {
	text, back, err := worktree.Merging(ctx, h.tree())
	if err != nil {
		return worktree.Merged{}, err
	}
	h.paper.would("%s", text)
	return worktree.Merged{Text: text}, h.paper.dry.Apply(ctx, back)
}

// Discard implements Hands.
func (h *paperHands) Discard(ctx context.Context) (worktree.Discarded, error) {
	place, text, err := worktree.Discarding(ctx, h.tree())
	if err == nil && place != "" {
		_, err = h.led.Archive(place)
	}
	return worktree.Discarded{Text: text}, err
}

// caughtUp shows how opening the run brings its files up to the journal, and records
// what was to follow. any reports whether that is anything.
func (w *work) caughtUp(ctx context.Context, p *paper) (any bool, err error) {
	account, err := journal.ReadAccount(w.store, journal.Name(w.ref))
	if err != nil || len(account.Entries) == 0 || w.gone() {
		return false, err
	}
	findings, err := account.Bring(ctx, w.store, p.dry, w.layout, w.ref)
	if err != nil {
		return false, err
	}
	if err := w.load(); err != nil {
		return false, err
	}
	last := account.Entries[len(account.Entries)-1]
	if err := w.takeBehind(ctx, findings, last.Event, len(last.Files) > 0); err != nil {
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
