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
	"reprise/internal/durable"
	"reprise/internal/redact"
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
	return e.resumeWorlds(ctx, ref, c)
}

// orderly is the same engine with a Tell that is never called twice at once: child runs
// and agents report from goroutines of their own.
func (e *Engine) orderly() *Engine {
	o := *e
	o.tally = &tally{}
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
	if err := w.load(); err != nil {
		return look{}, err
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
