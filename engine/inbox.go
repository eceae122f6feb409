package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

// lookEvery is how often a working engine looks for answers.
const lookEvery = time.Second

func (e *Engine) inbox() string { return filepath.Join(e.Dir, filepath.FromSlash(journal.Inbox)) }

// post leaves answers in the inbox for the process that works on the project. They are on
// disk when it returns. An answer that waits there already is not repeated, and another
// one is refused.
func (e *Engine) post(ref reprise.Ref, answers map[string]string, counts func(journal.Letter) bool) error {
	return durable.UpdatePrivate(e.inbox(), func(old []byte) ([]byte, error) {
		waits := map[string]string{}
		for line := range bytes.Lines(old) {
			l, err := journal.ReadLetter(line)
			if _, known := waits[l.Question]; err == nil && l.For(ref) && !known && counts(l) {
				waits[l.Question] = l.Answer
			}
		}
		if len(old) > 0 && old[len(old)-1] != '\n' {
			old = append(old, '\n') // a line that was torn must not take the next one with it
		}
		for _, id := range slices.Sorted(mapKeys(answers)) {
			if before, known := waits[id]; known {
				if strings.TrimSpace(before) != strings.TrimSpace(answers[id]) {
					return nil, &AnsweredError{Question: id, Answer: before, Why: "it can be changed once no one works on the project"}
				}
				continue
			}
			line, err := json.Marshal(journal.Letter{Layout: ref.Layout, Path: ref.Path, Question: id, Answer: answers[id], At: e.Now()})
			if err != nil {
				return nil, err
			}
			old = append(append(old, line...), '\n')
		}
		return old, nil
	})
}

// recordLetters records the answers in the inbox that the questions of this run take.
// They stay there for the loop, which takes them out and reports the rest.
func (w *work) recordLetters(ctx context.Context) error {
	v := w.known()
	v.Letters = w.letters()
	for _, op := range hearAnswers(v) {
		if err := w.recordAll(ctx, op.Record...); err != nil {
			return err
		}
	}
	return w.load()
}

// recordReports records what the agent of an attempt told, before the end of the attempt
// is: an agent is heard as long as its attempt is open.
func (w *work) recordReports(ctx context.Context, step string) error {
	v := w.known()
	v.Letters = slices.DeleteFunc(w.letters(), func(l Letter) bool { return l.Reported == nil || l.Reported.Step != step })
	for _, op := range hearAnswers(v) {
		if err := w.do(ctx, op); err != nil {
			return err
		}
	}
	return nil
}

// letters are the answers in the inbox for this run, with their lines. Lines that cannot
// be read stay and are reported once, by the first run that sees them, and so is an inbox
// that cannot be read.
func (w *work) letters() (out []Letter) {
	data, err := w.led.Inbox()
	if err != nil && w.folders.tells("inbox: "+err.Error()) {
		w.notice(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: w.ref.ID, Source: reprise.Source{File: journal.Inbox},
			Message: "answers waiting for a running engine cannot be read: " + err.Error(), Hint: "move it away; `reprise answer` creates a new one",
		})
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		l, bad := journal.ReadLetter(line)
		if bad != nil {
			if w.folders.tells("inbox line: " + string(bytes.TrimSpace(line))) {
				w.notice(reprise.Finding{
					Code: reprise.CodeDamagedLine, Severity: reprise.Warning, Subject: w.ref.ID, Source: reprise.Source{File: journal.Inbox, Line: n},
					Message: "a line of the inbox, which holds answers and notes of sessions, cannot be read: " + bad.Error(),
					Hint:    "if it was an answer, give it again with `reprise answer`; then delete the line",
				})
			}
			continue
		}
		if l.For(w.ref) {
			out = append(out, Letter{l, bytes.Clone(line)})
		}
	}
	return out
}

// withoutLines removes lines, each as often as it is given. Other lines stay: the file
// may have changed since.
func withoutLines(text []byte, lines [][]byte) []byte {
	left := map[string]int{}
	for _, line := range lines {
		left[string(bytes.TrimRight(line, "\r\n"))]++
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if key := string(bytes.TrimRight(line, "\r\n")); left[key] > 0 {
			left[key]--
			continue
		}
		out = append(out, line...)
	}
	return out
}
