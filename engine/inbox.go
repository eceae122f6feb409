package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// Answers that are given while somebody works on the project wait in a file
// beside the journal, one in each line; whoever works takes them in.
const inboxName = durable.StateDir + "/inbox"

// lookEvery is how often a working engine looks for answers.
const lookEvery = time.Second

// letter is one answer that waits.
type letter struct {
	Layout   string    `json:"layout"`
	Path     string    `json:"path"`
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	At       time.Time `json:"at"`
}

func (e *Engine) inbox() string { return filepath.Join(e.Dir, filepath.FromSlash(inboxName)) }

// post leaves answers for whoever works on the project. They are on disk when it
// returns.
func (e *Engine) post(ref reprise.Ref, answers map[string]string) error {
	return durable.UpdatePrivate(e.inbox(), func(old []byte) ([]byte, error) {
		if len(old) > 0 && old[len(old)-1] != '\n' {
			old = append(old, '\n') // a line that was torn must not take the next one with it
		}
		for id, text := range answers {
			line, err := json.Marshal(letter{ref.Layout, ref.Path, id, text, e.Now()})
			if err != nil {
				return nil, err
			}
			old = append(append(old, line...), '\n')
		}
		return old, nil
	})
}

// readLetter reads one line of the inbox.
func readLetter(line []byte) (l letter, err error) {
	if err := json.Unmarshal(line, &l); err != nil {
		return l, err
	}
	switch {
	case l.Layout == "" || l.Path == "" || l.Question == "":
		return l, errors.New("it names no question of a run")
	case l.Answer == "":
		return l, errors.New("it holds no answer")
	}
	return l, nil
}

// letters are the answers that wait for this run, with their lines. A line that
// cannot be read stays where it is and is told of once, by whichever run sees it
// first; so is an inbox that cannot be read, which holds up nobody's work.
func (w *work) letters() (lines [][]byte, out []letter) {
	data, err := durable.ReadPrivate(w.inbox())
	if err != nil && w.yard.tells("inbox: "+err.Error()) {
		w.notice(reprise.Finding{
			Code: reprise.CodeUnreadable, Severity: reprise.Warning, Subject: w.ref.ID, Source: reprise.Source{File: inboxName},
			Message: "answers that are left for a working engine cannot be read: " + err.Error(), Hint: "move it away; `reprise answer` makes a new one",
		})
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		l, bad := readLetter(line)
		if bad != nil {
			if w.yard.tells("inbox line: " + string(bytes.TrimSpace(line))) {
				w.notice(reprise.Finding{
					Code: reprise.CodeDamagedLine, Severity: reprise.Warning, Subject: w.ref.ID, Source: reprise.Source{File: inboxName, Line: n},
					Message: "an answer that was left for a working engine cannot be read: " + bad.Error(), Hint: "give it again with `reprise answer`",
				})
			}
			continue
		}
		if l.Layout == w.ref.Layout && l.Path == w.ref.Path {
			lines, out = append(lines, bytes.Clone(line)), append(out, l)
		}
	}
	return lines, out
}

// takeIn records the answers that wait for this run, each durable in the journal
// before it is taken out of the inbox. One that is taken in twice is the same
// answer to the same question.
func (w *work) takeIn(ctx context.Context) error {
	mine, letters := w.letters()
	for _, l := range letters {
		q, ok := w.question(l.Question)
		switch {
		case !ok:
			w.notice(reprise.Finding{Code: reprise.CodePendingQuestion, Severity: reprise.Info, Subject: l.Question, Message: fmt.Sprintf("an answer came to %s, which nobody asks", l.Question)})
		case !q.Answered:
			err := w.answer(ctx, q, l.Answer)
			if none, ok := errors.AsType[*reprise.NotOfferedError](err); ok {
				w.notice(reprise.Finding{Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: l.Question, Message: none.Error() + "; it is still asked", Hint: none.Hint()})
				continue
			}
			if err != nil {
				return err
			}
			if err := w.load(); err != nil {
				return err
			}
		case strings.TrimSpace(q.Answer) != strings.TrimSpace(l.Answer):
			w.notice(reprise.Finding{
				Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: l.Question,
				Message: fmt.Sprintf("another answer came to %s after it was answered; the first one counts", l.Question),
			})
		}
	}
	if len(mine) == 0 {
		return nil
	}
	return durable.UpdatePrivate(w.inbox(), func(old []byte) ([]byte, error) { return withoutLines(old, mine), nil })
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
