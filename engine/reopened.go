package engine

import (
	"fmt"

	"reprise"
)

// tellReopened says that a step is done again that was accepted. Files that keep
// only how things stand may have been changed on purpose or by a program that
// wrote what it had read before: they count, but not in silence.
func (w *work) tellReopened(step string) {
	s := w.run.Step(step)
	end := w.view.Reopened(s)
	if end == nil {
		return
	}
	w.notice(reprise.Finding{
		Code: reprise.CodeLostCompletion, Severity: reprise.Warning, Subject: step, Source: s.Source,
		Message: fmt.Sprintf("%s was finished at %s, and its files call it %s now, which nobody here did: it is started again", step, end.At.UTC().Format("2006-01-02 15:04:05 MST"), s.Status),
		Hint:    "`reprise log` shows what was recorded",
	})
}
