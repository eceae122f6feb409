package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reprise"
)

// A run goes on with a workflow file that was changed since it was started, once a
// person trusts it: whoever gives the file has seen to that. What was begun must
// still be in it and need what it needed; what else is in it is not begun yet and
// may be anything. The new steps and the new hash are one event, on record before
// anything of the changed file is started.

// FlowError tells that a workflow file was changed so that a run cannot go on with it.
type FlowError struct {
	Run, File string
	Reasons   []string
}

// Error implements error.
func (e *FlowError) Error() string {
	return fmt.Sprintf("resume %s: %s was changed since the run was started, and the run cannot go on with it: %s", e.Run, e.File, strings.Join(e.Reasons, "; "))
}

// Hint says what a person can do.
func (e *FlowError) Hint() string {
	return "restore the file, or what it says of these steps; `reprise resume " + e.Run + " --fresh` starts over with it as it is now"
}

// changedFlow gives the workflow file of the run where that was changed since.
func (w *work) changedFlow() (o workflowBook, changed bool) {
	o, ok := w.book.(workflowBook)
	return o, ok && o.changed()
}

// mayRevise tells why the run cannot go on with its changed workflow file, nil if it
// can, or where it was not changed. The error is a *FlowError.
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

// touched reports whether anything has become of a step.
func (w *work) touched(s *reprise.Step) bool {
	h := w.hist.Step(s.ID)
	return s.Status != reprise.Pending || s.Attempts > 0 || h.Attempts > 0 ||
		slices.ContainsFunc(w.run.Questions, func(q reprise.Question) bool { return q.ID == s.ID || q.Subject == s.ID || q.By == s.ID })
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// revised is the event by which the run takes over its changed workflow file, with
// what a person is told. ok is false where it was not changed.
func (w *work) revised() (ev reprise.Event, told string, ok bool, err error) {
	o, changed := w.changedFlow()
	if !changed {
		return ev, "", false, nil
	}
	graph, err := o.graph()
	if err != nil {
		return ev, "", false, err
	}
	told = o.from.file + " was changed since the run was started; from now on it is worked on as the file says now"
	if d := w.differences(o); d != "" {
		told += ": " + d
	}
	return reprise.Event{Kind: reprise.RunRevised, Actor: person, Text: graph}, told, true, nil
}

// differences names the steps that come, go and need something else; what the others
// do cannot be compared, for the state holds no commands.
func (w *work) differences(o workflowBook) string {
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

// revise takes the changed workflow file over, where it was changed: mayRevise has
// been asked.
func (w *work) revise(ctx context.Context) error {
	ev, told, ok, err := w.revised()
	if err != nil || !ok {
		return err
	}
	if err := w.record(ctx, ev); err != nil {
		return err
	}
	o := w.book.(workflowBook)
	o.from.hash = o.hash
	w.book = o
	w.notice(reprise.Finding{Code: reprise.CodeWorkflowChanged, Severity: reprise.Info, Subject: w.ref.ID, Message: told, Source: reprise.Source{File: o.from.file}})
	return w.load()
}
