package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"reprise"
	"reprise/agent"
	"reprise/convention"
	"reprise/internal/durable"
	"reprise/internal/redact"
	"reprise/journal"
	"reprise/project"
)

// Resume works on a run, from nothing or from wherever it stands, until it is done, a
// person or a time is needed, or continuing would be unsafe. It takes a snapshot of the
// state and the working tree first, so that all of it can be undone.
//
// The error is a *durable.HeldError if another process holds the project, and an
// *UnsafeError, *StaleError or *OptionError if nothing was started. What is left open,
// failed or asked is no error; the summary says it.
func (e *Engine) Resume(ctx context.Context, ref reprise.Ref, c Choice) (_ *Summary, err error) {
	if e.isOnWorlds(ref) {
		return e.resumeWorlds(ctx, ref, c)
	}
	// Opening the journal writes to it: what refuses the choice is asked before.
	if serves := e.servesAll(); !c.Means().Shows && (!c.Means().Works || !serves) {
		p, err := e.Preview(ctx, ref, c)
		if err == nil && !serves {
			err = p.Refused
		}
		if err != nil {
			return nil, err
		}
	}
	e = e.orderly()
	store, report, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	var w *work
	defer func() { err = e.writeAgain(ctx, w, err) }()
	defer store.Release()
	defer func() { err = leaveWord(store, err) }()
	if w, err = e.open(ctx, store, ref, nil); err != nil {
		return nil, err
	}
	w.choice = c
	if e.Carried != nil {
		*e.Carried = Carried{}
		defer func() { w.tellAlone(); w.carry() }()
	}
	w.noteTaking(report)
	look, err := w.judge(ctx)
	if err != nil {
		return nil, err
	}
	if c.If != "" && look.digest != c.If {
		return nil, &StaleError{Want: c.If, Have: look.digest}
	}
	if w.choice.Option == "" && w.openedSince() && w.offers(look, reprise.OptionNow) {
		w.choice.Option = reprise.OptionNow
	}
	if sum := w.comesToNothing(ctx, look); sum != nil {
		return sum, nil
	}
	done, err := w.choose(ctx, look)
	if w = w.last(); done || err != nil {
		return w.sum, err
	}
	if err := w.loop(ctx); err != nil {
		return w.sum, err
	}
	if err := w.unanswerable(ctx); err != nil {
		return w.sum, err
	}
	return w.sum, w.contested(ctx)
}

// writeAgain writes the journal of a run again, as far as it is known here, where something
// removed it while the run was worked on: what an attempt left would count without it. One that
// is there is left alone.
func (e *Engine) writeAgain(ctx context.Context, w *work, cause error) error {
	if w == nil || !errors.Is(cause, durable.ErrFenced) {
		return cause
	}
	store, _, err := e.take(context.WithoutCancel(ctx))
	if err != nil {
		return cause // someone else is at work there
	}
	defer store.Release()
	w = w.last()
	if account, err := journal.ReadAccount(store, journal.Name(w.ref)); err != nil || len(account.Entries) > 0 {
		return cause
	}
	j, err := journal.Open(store, w.layout, w.ref)
	for i := range w.events {
		if err == nil {
			err = j.Note(w.events[i])
		}
	}
	return errors.Join(cause, err)
}

// unanswerable makes a run that asks about its files refuse to continue where a close look
// shows that no answer helps: they have lost what git still has.
func (w *work) unanswerable(ctx context.Context) error {
	if ctx.Err() != nil || !slices.ContainsFunc(w.sum.Questions, func(q reprise.Question) bool { return project.AsksDoubt(q.ID) }) {
		return nil
	}
	l, err := w.judgeBy(ctx, w.closely())
	if err != nil || l.Decision.Verdict != reprise.BlockedVerdict {
		return err
	}
	w.sum.State, w.sum.Action, w.sum.Reasons, w.sum.Questions = l.Decision.State, reprise.Refuse, l.Decision.Reasons, nil
	return nil
}

// contested adds to what came of a run that is finished now what contradicts that, as a close
// look at it shows: the end of the work is told as it will be to whoever looks next.
func (w *work) contested(ctx context.Context) error {
	if w.sum.Action != reprise.Finish || ctx.Err() != nil {
		return nil
	}
	l, err := w.judgeHeld(ctx)
	if _, gone := errors.AsType[*GoneError](err); gone {
		return nil // it is done and was put away
	}
	if err != nil {
		return err
	}
	about := func(f reprise.Finding) string { return f.Code + " " + cmp.Or(f.Subject, w.ref.ID) }
	for _, f := range l.Run.Findings {
		told := slices.ContainsFunc(w.sum.Findings, func(t reprise.Finding) bool { return about(t) == about(f) })
		unknown := f.Code == reprise.CodeUnpushed && f.Severity == reprise.Warning // to the fleet
		if (f.ContestsEnd() || unknown) && !told {
			w.notice(f)
		}
	}
	return nil
}

// comesToNothing is what resuming comes to where it would start and record nothing: it
// waits for a person who cannot be asked now, for a limit, or everything is left to a
// person. Then nothing is written: no one took the run up. nil where something may be done.
func (w *work) comesToNothing(ctx context.Context, l look) *Summary {
	if !w.choice.Means().Works || w.unsettled() || l.Stops || w.startsNow(l) {
		return nil
	}
	p, err := w.Preview(ctx, w.ref, w.choice)
	if err != nil || p.idle == nil { // what the preview refuses, the choice refuses
		return nil
	}
	if w.Ask != nil && len(p.idle.sum.Questions) > 0 {
		return nil // a person is there to be asked
	}
	p.idle.sum.Findings = append(w.sum.Findings, p.idle.sum.Findings...)
	return p.idle.sum
}

// startsNow reports whether nothing on record keeps what comes next from being started.
func (w *work) startsNow(l look) bool {
	return l.Decision.Action == reprise.Start && slices.ContainsFunc(l.Decision.Units, func(u reprise.Unit) bool {
		a, err := w.assign(u)
		if err != nil {
			return false
		}
		from, never := w.mayStart(a)
		return never == "" && !from.After(w.Now()) && !w.closedUntil(a).After(w.Now())
	})
}

// orderly is the same engine with a Tell that is never called twice at once: child runs
// and agents report from goroutines of their own.
func (e *Engine) orderly() *Engine {
	o := *e
	o.gate, o.folders, o.tally = &agent.Gate{}, newFolders(), &tally{}
	if tell := e.Tell; tell != nil {
		var mu sync.Mutex
		o.Tell = func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			tell(p)
		}
	}
	return &o
}

// look is the view of a run from a close look before it is resumed, with its digest.
type look struct {
	*project.View
	digest  string
	refused error // what resuming would end with, where that is foreseen
}

// judge looks closely at the run: evidence from git and processes, and every check. It
// reuses what was read when the run was opened, unless the choice names the digest it
// rests on.
func (w *work) judge(ctx context.Context) (look, error) {
	if w.choice.If == "" {
		return w.judgeHeld(ctx)
	}
	return w.judgeBy(ctx, w.closely())
}

// judgeHeld is judge for the run as it is held in memory instead of on disk. It has no
// digest.
func (w *work) judgeHeld(ctx context.Context) (look, error) {
	if err := w.load(); err != nil {
		return look{}, err
	}
	opts := w.closely()
	opts.Held = &project.Held{Run: w.files, Events: w.events, History: w.hist, Findings: w.behind, Own: w.own()}
	return w.judgeBy(ctx, opts)
}

func (w *work) judgeBy(ctx context.Context, opts project.JudgeOptions) (look, error) {
	opts.Budget, opts.Lapsed, opts.From = w.budget, w.lapsed, w.choice.From
	var refused error
	opts.Foresee = func(ctx context.Context, ref reprise.Ref) (project.Foreseen, error) {
		seen, err := w.prospect(ctx, ref)
		if ref == w.ref {
			refused = err
		}
		return seen, err
	}
	if w.blind {
		opts.Foresee = nil
	}
	j, err := project.Judge(ctx, w.Dir, opts)
	if err != nil {
		return look{}, err
	}
	if opts.Held == nil {
		if err := w.load(); err != nil {
			return look{}, err
		}
	}
	if git := j.Observed.Git; git != nil && len(git.Past[w.ref.Path]) > 0 {
		w.Past = git.Past
		w.setRun(w.files)
	}
	if r := j.Find(w.ref); r != nil {
		w.again = j.View(r).Again
		return look{j.View(r), j.Digest(r), refused}, nil
	}
	// It is not where runs are looked for; its files still count.
	return look{View: w.view}, nil
}

// closely asks for a close look, with secrets hidden.
func (e *Engine) closely() project.JudgeOptions {
	known := redact.New(e.Settings.Known(e.Environ))
	return project.JudgeOptions{
		Options: project.Options{Now: e.Now()}, Full: true, Adopt: e.Adopt, Hide: func(text string) string { return redact.Text(known.String(text)) },
	}
}

// noteTaking reports what taking the lease found.
func (w *work) noteTaking(report *durable.Report) {
	for _, c := range report.Conflicts {
		w.notice(c.Finding())
	}
	for _, f := range report.Found {
		w.notice(f)
	}
	if report.Stopped != "" {
		w.notice(reprise.Finding{Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: w.ref.ID, Message: "the last process ended with: " + report.Stopped})
	}
}

// leaveWord leaves a note about a full disk for the next process. Room for it was
// reserved; nothing else can be recorded then.
func leaveWord(store *durable.Store, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return errors.Join(err, store.RecordFull("the disk was full: "+err.Error()))
}

// recordResumed records that the run is resumed, after everything in the way was looked
// at. It takes a snapshot of the state and the tree before the first write.
func (w *work) recordResumed(ctx context.Context, l look) error {
	if l.Decision.Action == reprise.Finish && w.choice.From == "" {
		return nil
	}
	snap, err := w.hands.Keep(ctx, l.Run, "before resuming "+w.ref.ID, true)
	if err != nil {
		return err
	}
	w.sum.Snapshot = snap
	if w.choice.Option == reprise.OptionNow {
		w.openAccounts(l)
	}
	if err := w.lift(); err != nil {
		return err
	}
	if err := w.revise(ctx); err != nil {
		return err
	}
	if err := w.recordAll(ctx, w.resumeEvents(l)...); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	w.noteUnrecorded(l)
	w.Air.Sessions = l.Observed.SessionsOn(l.Run)
	if l.asks() {
		w.Unmarked = true
		return nil
	}
	return w.acceptLanded(ctx, l)
}

// asks reports whether nothing may be started before a person answers. Steps that git
// shows are not marked before that: a step that is done may answer the question.
func (l *look) asks() bool {
	return l.Decision.Action == reprise.Ask && len(l.Run.PendingQuestions()) > 0
}

// markLanded marks the steps that git shows to be done, once nothing is asked.
func (w *work) markLanded(ctx context.Context) error {
	l, err := w.judge(ctx)
	if err != nil {
		return err
	}
	w.Unmarked = false
	return w.acceptLanded(ctx, l)
}

// resumeEvents record that a run is resumed. Resuming a run that a person ended withdraws
// the answers that ended it; they are asked again if needed.
func (w *work) resumeEvents(l look) []reprise.Event {
	events := []reprise.Event{w.resumedEvent(l)}
	if w.run.State == reprise.Stopped || l.Stops && w.choice.Option == reprise.OptionContinue {
		events = append(events, withdrawals(w.known(), "the run continues although it ended", anyStep)...)
	}
	return events
}

// resumedEvent says where the run is resumed, after how long, and why that is safe.
func (w *work) resumedEvent(l look) reprise.Event {
	at := "nothing could be started"
	if l.Decision.Point != nil {
		at = l.Decision.Point.ID
		if l.Decision.Point.Phase != "" && l.Decision.Point.Phase != l.Decision.Point.ID {
			at = l.Decision.Point.Phase + " (" + l.Decision.Point.ID + ")"
		}
	}
	text := []string{"State source: " + w.ref.Path, "Resume point: " + at}
	if !l.Run.LastActivity.IsZero() && l.Run.LastActivity.Before(w.Now()) {
		text = append(text, "Interruption duration: "+w.Now().Sub(l.Run.LastActivity).Round(time.Second).String())
	}
	text = append(text, "Validation: "+validation(l))
	if w.Mode == Autopilot {
		text = append(text, heldSafe(l)...)
	}
	place := reprise.Place(w.ref) // it may lose its files
	ev := reprise.Event{Kind: reprise.RunResumed, At: w.Now(), Actor: actor, Outcome: string(w.Mode), Text: strings.Join(text, "\n"), Run: &place}
	if w.choice.Option == reprise.OptionNow {
		ev.Cause = reprise.LimitLifted
	}
	if l.Decision.Point != nil {
		ev.Phase = l.Decision.Point.Phase
	}
	return ev
}

// An autopilot log is not a report: it has at most this many warnings and reasons, each
// cut to this many characters.
const (
	maxLogged    = 10
	maxLoggedLen = 200
)

// heldSafe says in a few lines why a run was resumed without a check by a person: the
// verdict, its reasons, and the warnings that did not stop it.
func heldSafe(l look) []string {
	var reasons, warnings []string
	for _, why := range l.Decision.Reasons {
		reasons = append(reasons, oneLine(why, maxLoggedLen))
	}
	for _, f := range l.Run.Findings {
		if f.Severity == reprise.Warning {
			warnings = append(warnings, "Warning: "+oneLine(f.Code+": "+f.Message, maxLoggedLen))
		}
	}
	held := "Taken as safe: autopilot, verdict " + l.Decision.Verdict.String() + ", nothing blocks it"
	if few := fewOf(reasons, maxLogged); len(few) > 0 {
		held += "; " + strings.Join(few, "; ")
	}
	return append([]string{held}, fewOf(warnings, maxLogged)...)
}

// fewOf is the first n of a list, and how many it leaves out.
func fewOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}

// oneLine is the beginning of a text on one line.
func oneLine(text string, n int) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > n {
		line = append(line[:n-1], '…')
	}
	return string(line)
}

// validation sums up the findings, in the words of seed 001.
func validation(l look) string {
	warnings := 0
	for _, f := range l.Run.Findings {
		if f.Severity == reprise.Warning {
			warnings++
		}
	}
	switch {
	case l.Decision.Verdict == reprise.BlockedVerdict:
		return "conflicts"
	case warnings == 1:
		return "1 warning"
	case warnings > 0:
		return fmt.Sprintf("%d warnings", warnings)
	}
	return "clean"
}

// lift archives the marker files of a pause: a person just said to continue.
func (w *work) lift() error {
	lift := convention.Of(w.ref.Layout).Lift
	if lift == nil {
		return nil
	}
	held := *w.files
	if w.choice.Option == reprise.OptionNow {
		held.Until = time.Time{}
	}
	for _, name := range lift(w.led.Files(), &held) {
		if err := w.putAside(name, "held the run"); err != nil {
			return fmt.Errorf("lift the pause: %w", err)
		}
	}
	return w.load()
}

// putAside archives a file that speaks against what a person just said, and tells that.
func (w *work) putAside(name, what string) error {
	to, err := w.led.Archive(name)
	if err == nil {
		w.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: w.ref.ID, Message: name + " " + what + " and was archived", Source: reprise.Source{File: to}})
	}
	return err
}

// acceptLanded marks open steps as done that git shows to be done.
func (w *work) acceptLanded(ctx context.Context, l look) error {
	marked := false
	for _, u := range l.Decision.Verify {
		s := l.Run.StepOrPart(u.ID)
		if s == nil {
			continue
		}
		at := slices.IndexFunc(s.Evidence, func(e reprise.Evidence) bool { return e.For && e.Kind == reprise.EvidenceCommit && !e.Elsewhere })
		if at < 0 {
			continue
		}
		proof := s.Evidence[at]
		for _, ev := range []reprise.Event{
			{Kind: reprise.StepResolved, Step: u.ID, Actor: actor, Outcome: "landed", Text: proof.Text},
			{Kind: reprise.StepFinished, Step: u.ID, Phase: u.Phase, Actor: u.Role, Commit: proof.Source, Text: proof.Text},
		} {
			if err := w.record(ctx, ev); err != nil {
				return err
			}
		}
		marked = true
		w.sum.Finished = append(w.sum.Finished, StepReport{ID: u.ID, Title: u.Title, Role: u.Role, Text: proof.Text, Commit: proof.Source, Resolved: true})
		w.tell(Progress{Kind: Resolved, Step: u.ID, Title: u.Title, Outcome: "landed", Text: proof.Text})
	}
	if !marked {
		return nil // a large run is not read again for nothing
	}
	return w.load()
}

// noteUnrecorded remembers which commits may hold a piece of what comes next, for its
// prompt.
func (w *work) noteUnrecorded(l look) {
	if l.Observed.Git == nil {
		return
	}
	w.Unrecorded = map[string][]string{}
	for i := range l.Run.Steps {
		for _, p := range l.Run.Steps[i].Parts {
			for _, e := range p.Unrecorded() {
				at := slices.IndexFunc(l.Observed.Git.Commits, func(c reprise.Commit) bool { return c.Hash == e.Source })
				if at >= 0 {
					w.Unrecorded[p.ID] = append(w.Unrecorded[p.ID], e.Source[:min(12, len(e.Source))]+" "+l.Observed.Git.Commits[at].Subject)
				}
			}
		}
	}
}
