package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"reprise"
	"reprise/internal/durable"
)

// Inbox is where answers wait that were given while somebody worked on the
// project, one in each line; whoever works takes them in. It is a path in the
// project.
const Inbox = durable.StateDir + "/inbox"

// Letter is one answer that waits.
type Letter struct {
	Layout   string    `json:"layout"`
	Path     string    `json:"path"`
	Question string    `json:"question"`
	Answer   string    `json:"answer"`
	At       time.Time `json:"at"`
}

// For reports whether the answer is to a question of this run.
func (l Letter) For(ref reprise.Ref) bool { return l.Layout == ref.Layout && l.Path == ref.Path }

// ReadLetter reads one line of the inbox.
func ReadLetter(line []byte) (l Letter, err error) {
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

// ReadInbox gives the answers that wait in a project, in the order in which they
// came. Lines that are none are left out: whoever works tells of them.
func ReadInbox(root string) ([]Letter, error) {
	data, err := durable.ReadPrivate(filepath.Join(root, filepath.FromSlash(Inbox)))
	return letters(data), err
}

func letters(data []byte) (out []Letter) {
	for line := range bytes.Lines(data) {
		if l, err := ReadLetter(line); err == nil {
			out = append(out, l)
		}
	}
	return out
}
