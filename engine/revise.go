package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// A run continues with a workflow file that was changed since it was started, once the
// file is trusted again, which Engine.Workflow checks. Steps that were begun must still
// be in it with the same needs; the others may be anything. The new steps and the new
// hash are one event, on record before anything of the changed file is started.

// FlowError says that a run cannot continue with its changed workflow file.
type FlowError struct {
	Run, File string
	Reasons   []string
}

// Error implements error.
func (e *FlowError) Error() string {
	return fmt.Sprintf("resume %s: %s has changed since the run was started, and the run cannot continue with it: %s", e.Run, e.File, strings.Join(e.Reasons, "; "))
}

// Hint says what a person can do.
func (e *FlowError) Hint() string {
	return "restore the file, or these steps in it; `reprise resume " + e.Run + " --fresh` starts over with it as it is now"
}

// changedFlow is the workflow file of the run if it was changed since.
func (w *work) changedFlow() (o workflowPlaybook, changed bool) {
	o, ok := w.playbook.(workflowPlaybook)
	return o, ok && o.changed()
}

// mayRevise says why the run cannot continue with its changed workflow file, nil if it
// can or the file is unchanged. The error is a *FlowError.
func (w *work) mayRevise() error {
	o, changed := w.changedFlow()
	if !changed {
		return nil
	}
	e := &FlowError{Run: w.ref.ID, File: o.from.file}
	for i := range w.run.Steps {
		s := &w.run.Steps[i]
		if !w.touched(s) {
			continue
		}
		what := "was begun"
		if s.Status.Closed() {
			what = "is " + s.Status.String()
		}
		switch now := o.wf.Step(s.ID); {
		case now == nil:
			e.Reasons = append(e.Reasons, fmt.Sprintf("%s %s and is not in it", s.ID, what))
		case !sameSet(now.Needs, s.Needs):
			e.Reasons = append(e.Reasons, fmt.Sprintf("%s %s and needs something else in it", s.ID, what))
		}
	}
	if len(e.Reasons) == 0 {
		return nil
	}
	return e
}

// touched reports whether a step was begun in any way.
func (w *work) touched(s *reprise.Step) bool {
	h := w.hist.Step(s.ID)
	return s.Status != reprise.Pending || s.Attempts > 0 || h.Attempts > 0 ||
		slices.ContainsFunc(w.run.Questions, func(q reprise.Question) bool { return q.ID == s.ID || q.Subject == s.ID || q.By == s.ID })
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// differences names the steps that are new, gone or need something else. Commands cannot
// be compared, because the state does not hold them.
func (w *work) differences(o workflowPlaybook) string {
	var more, other, gone []string
	was := map[string]bool{}
	for i := range w.run.Steps {
		s := &w.run.Steps[i]
		was[s.ID] = true
		if now := o.wf.Step(s.ID); now == nil {
			gone = append(gone, s.ID)
		} else if !sameSet(now.Needs, s.Needs) {
			other = append(other, s.ID)
		}
	}
	for _, s := range o.wf.Steps() {
		if !was[s.ID] {
			more = append(more, s.ID)
		}
	}
	var parts []string
	for _, p := range []struct {
		what  string
		steps []string
	}{{"new steps ", more}, {"other needs of ", other}, {"no more ", gone}} {
		if n := len(p.steps); n > 8 {
			parts = append(parts, fmt.Sprintf("%s%s and %d more", p.what, strings.Join(p.steps[:8], ", "), n-8))
		} else if n > 0 {
			parts = append(parts, p.what+strings.Join(p.steps, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// revise takes over the workflow file if it was changed; mayRevise has agreed.
func (w *work) revise(ctx context.Context) error {
	o, changed := w.changedFlow()
	if !changed {
		return nil
	}
	graph, err := o.graph()
	if err != nil {
		return err
	}
	found := w.revised(o)
	if err := w.record(ctx, reprise.Event{Kind: reprise.RunRevised, Actor: person, Text: graph}); err != nil {
		return err
	}
	o.from.hash = o.hash
	w.playbook = o
	w.notice(found)
	return w.load()
}

// revised tells that the run goes on with its workflow file as it is now.
func (w *work) revised(o workflowPlaybook) reprise.Finding {
	told := o.from.file + " has changed since the run was started; the run continues with the changed file"
	if d := w.differences(o); d != "" {
		told += ": " + d
	}
	return reprise.Finding{Code: reprise.CodeWorkflowChanged, Severity: reprise.Info, Subject: w.ref.ID, Message: told, Source: reprise.Source{File: o.from.file}}
}
