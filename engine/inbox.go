package engine

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"reprise"
	"reprise/internal/durable"
	"reprise/journal"
)

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
