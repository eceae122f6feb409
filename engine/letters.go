//go:build unix

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"reprise"
	"reprise/core"
	"reprise/internal/durable"
	"reprise/journal"
)

// line is a letter of the inbox, and the line that it stands in.
type line struct {
	journal.Letter
	text []byte
}

// hear takes the letters out of the inbox that others left there while this process had the project,
// and reports whether an answer was taken. One that no question takes is told and dropped; where it
// cannot be recorded it stays. If the process dies here, a letter is taken once more.
func (l *listed) hear(ctx context.Context) (heard bool, err error) {
	if err := l.at.Hear(); err != nil {
		return false, err
	}
	var done []line
	for _, letter := range l.letters() {
		if !letter.Answers() {
			continue
		}
		if err := l.load(); err != nil {
			return heard, err
		}
		var err error
		if q, ok := l.question(letter.Question); ok && q.Answered && !sameAnswer(q.Answer, letter.Answer) { // the first one counts while somebody works
			err = &AnsweredError{Question: q.ID, Answer: q.Answer, Why: "it can be changed once no one works on the project"}
		} else {
			err = l.give(ctx, letter.Question, letter.Answer)
		}
		_, unknown := errors.AsType[*UnknownQuestionError](err)
		_, answered := errors.AsType[*AnsweredError](err)
		_, other := errors.AsType[*reprise.NotOfferedError](err)
		if refused := unknown || answered || other; err != nil && !refused && !errors.Is(err, errPostponed) {
			return heard, errors.Join(err, l.drop(done))
		} else if refused {
			l.notice(reprise.Finding{
				Code: reprise.CodePendingQuestion, Severity: reprise.Warning, Subject: l.ref.ID, Source: reprise.Source{File: journal.Inbox},
				Message: "an answer that was left for a working engine is not taken: " + err.Error(), Hint: "`reprise answer " + reprise.Pasted(l.ref.ID, "RUN") + " --list` lists what is asked",
			})
		}
		heard, done = heard || err == nil, append(done, letter)
	}
	return heard, l.drop(done)
}

// toldBy has what sessions and agents told noted. An agent is heard as long as its attempt is open.
func (l *listed) toldBy(note func(core.Note) error) error {
	var done []line
	for _, letter := range l.letters() {
		if letter.Answers() {
			continue
		}
		heard := true
		if r := letter.Reported; r != nil {
			open := l.hist.Step(r.Step).Open
			heard = open != nil && open.Key == r.Key && open.Attempt == r.Attempt
		}
		if heard {
			said, err := json.Marshal(letter.Letter)
			if err == nil {
				err = note(core.Note{Text: "told", Letter: said})
			}
			if err != nil {
				return err
			}
		}
		done = append(done, letter)
	}
	return l.drop(done)
}

// letters are those in the inbox for this run. Lines that cannot be read stay there and are told
// once, by the first run that sees them, and so is an inbox that cannot be read: it holds up nobody.
func (l *listed) letters() (out []line) {
	tell := func(key string, f reprise.Finding) {
		if !l.damaged[key] {
			l.damaged[key] = true
			f.Severity, f.Subject, f.Source.File = reprise.Warning, l.ref.ID, journal.Inbox
			l.notice(f)
		}
	}
	data, err := durable.ReadPrivate(l.inbox())
	if err != nil {
		tell("inbox: "+err.Error(), reprise.Finding{Code: reprise.CodeUnreadable, Message: "answers waiting for a running engine cannot be read: " + err.Error(), Hint: "move it away; `reprise answer` creates a new one"})
	}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		letter, err := journal.ReadLetter(text)
		if err != nil {
			tell("inbox line: "+string(bytes.TrimSpace(text)), reprise.Finding{
				Code: reprise.CodeDamagedLine, Source: reprise.Source{Line: n},
				Message: "a line of the inbox, which holds answers and notes of sessions, cannot be read: " + err.Error(),
				Hint:    "if it was an answer, give it again with `reprise answer`; then delete the line",
			})
		} else if letter.For(l.ref) {
			out = append(out, line{letter, bytes.Clone(text)})
		}
	}
	return out
}

// drop takes letters out of the inbox that were heard, and leaves what came since.
func (l *listed) drop(heard []line) error {
	if len(heard) == 0 {
		return nil
	}
	return durable.UpdatePrivate(l.inbox(), func(old []byte) ([]byte, error) {
		left := map[string]int{}
		for _, h := range heard {
			left[string(bytes.TrimRight(h.text, "\r\n"))]++
		}
		var out []byte
		for text := range bytes.Lines(old) {
			if key := string(bytes.TrimRight(text, "\r\n")); left[key] > 0 {
				left[key]--
				continue
			}
			out = append(out, text...)
		}
		return out, nil
	})
}
