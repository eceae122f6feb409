package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
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

// letters are the answers that wait for this run, with their lines. One that
// cannot be read stays where it is and is told of once.
func (w *work) letters() (lines [][]byte, out []letter, err error) {
	data, err := durable.ReadPrivate(w.inbox())
	for line := range bytes.Lines(data) {
		var l letter
		if bad := json.Unmarshal(line, &l); bad != nil {
			if !w.inboxTold {
				w.notice(reprise.Finding{
					Code: reprise.CodeDamagedLine, Severity: reprise.Warning, Subject: w.ref.ID, Source: reprise.Source{File: inboxName},
					Message: "an answer that was left for a working engine cannot be read: " + bad.Error(), Hint: "give it again with `reprise answer`",
				})
			}
			w.inboxTold = true
			continue
		}
		if l.Layout == w.ref.Layout && l.Path == w.ref.Path {
			lines, out = append(lines, bytes.Clone(line)), append(out, l)
		}
	}
	return lines, out, err
}

// takeIn records the answers that wait for this run, each durable in the journal
// before it is taken out of the inbox. One that is taken in twice is the same
// answer to the same question.
func (w *work) takeIn(ctx context.Context) error {
	mine, letters, err := w.letters()
	if err != nil {
		return err
	}
	for _, l := range letters {
		q, ok := w.question(l.Question)
		switch {
		case !ok:
			w.notice(reprise.Finding{Code: reprise.CodePendingQuestion, Severity: reprise.Info, Subject: l.Question, Message: fmt.Sprintf("an answer came to %s, which nobody asks", l.Question)})
		case !q.Answered:
			if err := w.answer(ctx, q, l.Answer); err != nil {
				return err
			}
			if err := w.load(); err != nil {
				return err
			}
		}
	}
	if len(mine) == 0 {
		return nil
	}
	return durable.UpdatePrivate(w.inbox(), func(old []byte) ([]byte, error) {
		for _, line := range mine {
			old = bytes.Replace(old, line, nil, 1)
		}
		return old, nil
	})
}
