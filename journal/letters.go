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

// Inbox is the path, in the project, of answers given while an engine held the lease,
// and of what sessions and agents reported, one per line. The next engine reads them.
const Inbox = durable.StateDir + "/inbox"

// Letter is one waiting answer, the checkpoint of a session, or an agent's report.
type Letter struct {
	Layout   string    `json:"layout"`
	Path     string    `json:"path"`
	Question string    `json:"question,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	At       time.Time `json:"at"`
	// Session is set for a checkpoint, which is no answer.
	Session *reprise.Checkpoint `json:"session,omitempty"`
	// Reported is set for an agent's report, which is no answer either.
	Reported *reprise.Reported `json:"reported,omitempty"`
}

// Answers reports whether it is an answer.
func (l Letter) Answers() bool { return l.Session == nil && l.Reported == nil }

// For reports whether it is for this run.
func (l Letter) For(ref reprise.Ref) bool { return l.Layout == ref.Layout && l.Path == ref.Path }

// ReadLetter reads one line of the inbox.
func ReadLetter(line []byte) (l Letter, err error) {
	if err := json.Unmarshal(line, &l); err != nil {
		return l, err
	}
	switch {
	case l.Session != nil && (l.Layout == "" || l.Path == "" || l.Session.CLI == "" || l.Session.ID == ""):
		return l, errors.New("it names no session of a run")
	case l.Session != nil:
	case l.Reported != nil && (l.Layout == "" || l.Path == "" || l.Reported.Step == "" || l.Reported.Key == ""):
		return l, errors.New("it names no attempt of a run")
	case l.Reported != nil:
	case l.Layout == "" || l.Path == "" || l.Question == "":
		return l, errors.New("it names no question of a run")
	case l.Answer == "":
		return l, errors.New("it holds no answer")
	}
	return l, nil
}

// ReadInbox returns the letters that wait in a project, oldest first. It skips lines that
// are not letters; the engine reports those.
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

// Post leaves a checkpoint of a session for some runs, in place of the last one that it
// left at such a moment: that a session was ended hides nothing of how its last turn
// stopped. It is durable once nil is returned.
func Post(root string, refs []reprise.Ref, c reprise.Checkpoint) error {
	var more []Letter
	for _, ref := range refs {
		more = append(more, Letter{Layout: ref.Layout, Path: ref.Path, At: c.At, Session: &c})
	}
	return post(root, more, func(l Letter) bool {
		return l.Session != nil && l.Session.CLI == c.CLI && l.Session.ID == c.ID && l.Session.Moment == c.Moment
	})
}

// Report leaves an agent's report. It is durable once nil is returned.
func Report(root string, ref reprise.Ref, r reprise.Reported, at time.Time) error {
	return post(root, []Letter{{Layout: ref.Layout, Path: ref.Path, At: at, Reported: &r}}, func(Letter) bool { return false })
}

// post adds letters to the inbox, in place of those that they replace.
func post(root string, more []Letter, replaced func(Letter) bool) error {
	return durable.UpdatePrivate(filepath.Join(root, filepath.FromSlash(Inbox)), func(old []byte) ([]byte, error) {
		var out []byte
		for line := range bytes.Lines(old) {
			if l, err := ReadLetter(line); err != nil || !replaced(l) {
				out = append(out, line...)
			}
		}
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n') // a line that was torn must not take the next one with it
		}
		for _, l := range more {
			line, err := json.Marshal(l)
			if err != nil {
				return nil, err
			}
			out = append(append(out, line...), '\n')
		}
		return out, nil
	})
}
