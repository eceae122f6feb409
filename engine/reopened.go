package engine

import (
	"fmt"

	"reprise"
)

// tellReopened reports that an accepted step is done again. Files that keep only the
// current status may have been changed on purpose, or by a program that wrote what it had
// read before: they count, but not silently.
func (w *work) tellReopened(step string) {
	s := w.run.Step(step)
	end := w.view.Reopened(s)
	if end == nil {
		return
	}
	w.notice(reprise.Finding{
		Code: reprise.CodeLostCompletion, Severity: reprise.Warning, Subject: step, Source: s.Source,
		Message: fmt.Sprintf("%s was finished at %s, but its files now call it %s, and reprise did not change them: it is started again", step, end.At.UTC().Format("2006-01-02 15:04:05 MST"), s.Status),
		Hint:    "`reprise log` shows what was recorded",
	})
}
