package engine

import (
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
	"reprise/project"
)

// Resume goes on with a run, from nothing or from wherever it stands, until it
// is done, a person or a time is needed, or going on would be unsafe. The state
// and the working tree are kept first, so that all of it can be undone.
//
// The error is a *durable.HeldError if somebody else is at it, an *UnsafeError,
// *StaleError or *OptionError if nothing was started; what is left open, failed
// or asked is no error and stands in the summary.
func (e *Engine) Resume(ctx context.Context, ref reprise.Ref, c Choice) (_ *Summary, err error) {
	e = e.orderly()
	store, report, err := e.take(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Release()
	defer func() { err = leaveWord(store, err) }()
	w, err := e.open(ctx, store, ref, nil)
	if err != nil {
		return nil, err
	}
	w.choice = c
	w.noteTaking(report)
	look, err := w.judge(ctx)
	if err != nil {
		return nil, err
	}
	if c.If != "" && look.digest != c.If {
		return nil, &StaleError{Want: c.If, Have: look.digest}
	}
	if done, err := w.choose(ctx, look); done || err != nil {
		return w.sum, err
	}
	return w.sum, w.loop(ctx)
}

// orderly is the same engine with a Tell that is called by one at a time: child
// runs and agents speak from goroutines of their own.
func (e *Engine) orderly() *Engine {
	o := *e
	o.gate, o.folders = &agent.Gate{}, newFolders()
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

// look is what a close look at a run said before it is taken up.
type look struct {
	run    *reprise.Run
	d      reprise.Decision
	digest string
	git    *reprise.Git
}

// judge looks closely at the run: evidence of git and processes, every check. What
// was read when the run was opened is not read again, unless a person named what
// their choice rests on.
func (w *work) judge(ctx context.Context) (look, error) {
	if w.choice.If == "" {
		return w.judgeHeld(ctx)
	}
	return w.judgeBy(ctx, w.closely())
}

// judgeHeld is judge for the run as it is here, in the place of what is on disk. It
// has no digest.
func (w *work) judgeHeld(ctx context.Context) (look, error) {
	if err := w.load(); err != nil {
		return look{}, err
	}
	opts := w.closely()
	opts.Held = &project.Held{Run: w.files, Events: w.told, History: w.hist, Findings: w.behind, Own: w.own()}
	return w.judgeBy(ctx, opts)
}

func (w *work) judgeBy(ctx context.Context, opts project.JudgeOptions) (look, error) {
	opts.Budget, opts.From = w.budget, w.choice.From
	j, err := project.Judge(ctx, w.Dir, opts)
	if err != nil {
		return look{}, err
	}
	if opts.Held == nil {
		if err := w.load(); err != nil {
			return look{}, err
		}
	}
	if r := j.Find(w.ref); r != nil {
		return look{run: r, d: j.Decisions[r], digest: j.Digest(r), git: j.Observed.Git}, nil
	}
	// It is not where runs are looked for; its files still say what they say.
	return look{run: w.run, d: w.decide()}, nil
}

// closely asks for a close look in which no secret is told that is known.
func (e *Engine) closely() project.JudgeOptions {
	return project.JudgeOptions{
		Options: project.Options{Now: e.Now()}, Full: true, Adopt: e.Adopt, Hide: redact.New(e.Settings.Known(e.Environ)).String,
	}
}

// noteTaking passes on what taking the project found.
func (w *work) noteTaking(report *durable.Report) {
	for _, c := range report.Conflicts {
		w.notice(c.Finding())
	}
	if report.Stopped != "" {
		w.notice(reprise.Finding{Code: reprise.CodeRolledForward, Severity: reprise.Info, Subject: w.ref.ID, Message: "the last process ended with: " + report.Stopped})
	}
}

// leaveWord leaves the next process word of a disk that is full, for which room was
// reserved: nothing else can be recorded then.
func leaveWord(store *durable.Store, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return errors.Join(err, store.RecordFull("the disk was full: "+err.Error()))
}

// takeUp records that the run is gone on with, once everything that could be in
// the way was looked at. Before the first write the state and the tree are kept.
func (w *work) takeUp(ctx context.Context, l look) error {
	if l.d.Action == reprise.Finish {
		return nil
	}
	snap, err := w.hands.Keep(ctx, l.run, "before resuming "+w.ref.ID, true)
	if err != nil {
		return err
	}
	w.sum.Snapshot = snap
	if err := w.lift(); err != nil {
		return err
	}
	if err := w.revise(ctx); err != nil {
		return err
	}
	if err := w.recordAll(ctx, w.taking(l)...); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	w.noteUnrecorded(l)
	if l.asks() {
		w.unaccepted = true
		return nil
	}
	return w.acceptLanded(ctx, l)
}

// asks reports whether nothing may be begun before a person has answered. What git
// shows is not marked before that: a step that is done may settle what was asked.
func (l *look) asks() bool {
	return l.d.Action == reprise.Ask && len(l.run.PendingQuestions()) > 0
}

// markLanded marks what git shows, once nothing is asked any more.
func (w *work) markLanded(ctx context.Context) error {
	l, err := w.judge(ctx)
	if err != nil {
		return err
	}
	w.unaccepted = false
	return w.acceptLanded(ctx, l)
}

// taking are the events by which a run is taken up. One that a person ended goes on
// because one says so now: what ended it does not count any more, and is asked again
// where that is needed.
func (w *work) taking(l look) []reprise.Event {
	events := []reprise.Event{w.resumedEvent(l)}
	if w.run.State == reprise.Stopped {
		events = append(events, withdrawals(w.known(), "the run goes on that it ended", anyStep)...)
	}
	return events
}

// resumedEvent says what was taken up, from where, after how long and how it
// was held safe.
func (w *work) resumedEvent(l look) reprise.Event {
	at := "nothing that could be started"
	if l.d.Point != nil {
		at = l.d.Point.ID
		if l.d.Point.Phase != "" && l.d.Point.Phase != l.d.Point.ID {
			at = l.d.Point.Phase + " (" + l.d.Point.ID + ")"
		}
	}
	text := []string{"State source: " + w.ref.Path, "Resume point: " + at}
	if !l.run.LastActivity.IsZero() && l.run.LastActivity.Before(w.Now()) {
		text = append(text, "Interruption duration: "+w.Now().Sub(l.run.LastActivity).Round(time.Second).String())
	}
	text = append(text, "Validation: "+validation(l))
	if w.Mode == Autopilot {
		text = append(text, heldSafe(l)...)
	}
	place := reprise.Place(w.ref) // it may lose its files
	ev := reprise.Event{Kind: reprise.RunResumed, At: w.Now(), Actor: actor, Outcome: string(w.Mode), Text: strings.Join(text, "\n"), Run: &place}
	if l.d.Point != nil {
		ev.Phase = l.d.Point.Phase
	}
	return ev
}

// Nobody reads along in autopilot, and a log is no report: this many warnings and
// reasons are logged, each with so many characters.
const (
	maxLogged    = 10
	maxLoggedLen = 200
)

// heldSafe says in a few lines why a run was gone on with that nobody looked at: the
// verdict, what it rests on, and the warnings that did not stop it.
func heldSafe(l look) []string {
	var reasons, warnings []string
	for _, why := range l.d.Reasons {
		reasons = append(reasons, oneLine(why, maxLoggedLen))
	}
	for _, f := range l.run.Findings {
		if f.Severity == reprise.Warning {
			warnings = append(warnings, "Warning: "+oneLine(f.Code+": "+f.Message, maxLoggedLen))
		}
	}
	held := "Held safe: autopilot, verdict " + l.d.Verdict.String() + ", nothing found that blocks it"
	if few := fewOf(reasons, maxLogged); len(few) > 0 {
		held += "; " + strings.Join(few, "; ")
	}
	return append([]string{held}, fewOf(warnings, maxLogged)...)
}

// fewOf gives the first of many, and how many are left out.
func fewOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", len(list)-n))
}

// oneLine gives the beginning of a text, on one line.
func oneLine(text string, n int) string {
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > n {
		line = append(line[:n-1], '…')
	}
	return string(line)
}

// validation sums up what was found, in the words of seed 001.
func validation(l look) string {
	warnings := 0
	for _, f := range l.run.Findings {
		if f.Severity == reprise.Warning {
			warnings++
		}
	}
	switch {
	case l.d.Verdict == reprise.BlockedVerdict:
		return "conflicts"
	case warnings > 0:
		return fmt.Sprintf("%d warnings", warnings)
	}
	return "clean"
}

// lift moves away what holds a run until a person says to go on, which they
// just did: the marker files of a pause.
func (w *work) lift() error {
	lift := convention.Of(w.ref.Layout).Lift
	if lift == nil {
		return nil
	}
	for _, name := range lift(w.led.Files(), w.run) {
		to, err := w.led.Archive(name)
		if err != nil {
			return fmt.Errorf("lift the pause: %w", err)
		}
		w.notice(reprise.Finding{Code: reprise.CodeSuperseded, Severity: reprise.Info, Subject: w.ref.ID, Message: name + " held the run and was archived", Source: reprise.Source{File: to}})
	}
	return w.load()
}

// acceptLanded marks steps that git shows and their ledger calls open: they are
// not done again.
func (w *work) acceptLanded(ctx context.Context, l look) error {
	units := w.landedUnits(l)
	for _, u := range units {
		resolved, done := u.events()
		if err := w.record(ctx, resolved); err != nil {
			return err
		}
		if err := w.record(ctx, done); err != nil {
			return err
		}
		w.sum.Finished = append(w.sum.Finished, StepReport{ID: u.ID, Title: u.Title, Role: u.Role, Text: u.proof.Text, Commit: u.proof.Source, Resolved: true})
		w.tell(Progress{Kind: Resolved, Step: u.ID, Title: u.Title, Outcome: "landed", Text: u.proof.Text})
	}
	if len(units) == 0 {
		return nil // a large run is not read again for nothing
	}
	return w.load()
}

// landedUnit is a step that its ledger calls open and the commit that shows its end.
type landedUnit struct {
	reprise.Unit
	proof reprise.Evidence
}

// events say that the step is done.
func (u *landedUnit) events() (resolved, done reprise.Event) {
	return reprise.Event{Kind: reprise.StepResolved, Step: u.ID, Actor: actor, Outcome: "landed", Text: u.proof.Text},
		reprise.Event{Kind: reprise.StepFinished, Step: u.ID, Phase: u.Phase, Actor: u.Role, Commit: u.proof.Source, Text: u.proof.Text}
}

// noteUnrecorded keeps which commits may hold a piece of what comes next, for whoever
// does that.
func (w *work) noteUnrecorded(l look) {
	if l.git == nil {
		return
	}
	w.unrecorded = map[string][]string{}
	for i := range l.run.Steps {
		for _, p := range l.run.Steps[i].Parts {
			for _, e := range p.Unrecorded() {
				at := slices.IndexFunc(l.git.Commits, func(c reprise.Commit) bool { return c.Hash == e.Source })
				if at >= 0 {
					w.unrecorded[p.ID] = append(w.unrecorded[p.ID], e.Source[:min(12, len(e.Source))]+" "+l.git.Commits[at].Subject)
				}
			}
		}
	}
}

// landedUnits lists the steps that git shows and their ledger calls open.
func (w *work) landedUnits(l look) []landedUnit {
	var out []landedUnit
	for _, u := range l.d.Verify {
		s := l.run.StepOrPart(u.ID)
		if s == nil || w.hist.Step(u.ID).Attempts > 0 {
			continue // attempts of ours; what came of them is on record
		}
		at := slices.IndexFunc(s.Evidence, func(e reprise.Evidence) bool {
			return e.For && e.Kind == reprise.EvidenceCommit
		})
		if at >= 0 {
			out = append(out, landedUnit{u, s.Evidence[at]})
		}
	}
	return out
}
