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

// post leaves answers for whoever works on the project. They are on disk when it
// returns. What waits there already and counts is not said twice, and nothing else
// is said beside it.
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
					return nil, answeredError(id, before)
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

// hear records the answers that wait for this run and that its questions take. They
// stay in the inbox for whoever works next, who takes them out and tells of the rest.
func (w *work) hear(ctx context.Context) error {
	for _, l := range w.letters() {
		q, ok := w.question(l.Question)
		if !ok || q.Answered || !q.Takes(l.Answer) {
			continue
		}
		ev, err := answerTo(&q, l.Answer)
		if err == nil {
			err = w.record(ctx, ev)
		}
		if err != nil {
			return err
		}
		if err := w.load(); err != nil {
			return err
		}
	}
	return nil
}

// letters are the answers that wait for this run, with their lines. A line that
// cannot be read stays where it is and is told of once, by whichever run sees it
// first; so is an inbox that cannot be read, which holds up nobody's work.
func (w *work) letters() (out []Letter) {
	data, err := durable.ReadPrivate(w.inbox())
	if err != nil && w.folders.tells("inbox: "+err.Error()) {
		w.notice(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: w.ref.ID, Source: reprise.Source{File: journal.Inbox},
			Message: "answers that are left for a working engine cannot be read: " + err.Error(), Hint: "move it away; `reprise answer` makes a new one",
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
					Message: "an answer that was left for a working engine cannot be read: " + bad.Error(), Hint: "give it again with `reprise answer`",
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

// withoutLines leaves lines out, each as often as it is given. The file may have
// been changed since they were read: what is not exactly one of them stays.
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
