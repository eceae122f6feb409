package reprise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Option gives the option of a question that words stand for, "" if they stand
// for none: an option in its own words or by its number, or the words that it and
// no other one begins with ("stop" for "stop: not now"). A person may say why
// behind a colon ("revise: smaller"). Anything else is not guessed at.
func (q *Question) Option(words string) string {
	if slices.Contains(q.Options, words) {
		return words // the very option, whatever others mean the same
	}
	if o := q.option(sameWords(words)); o != "" {
		return o
	}
	if n, err := strconv.Atoi(sameWords(words)); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1]
	}
	if notYet(words) && slices.Equal(q.Options, actionAnswers()) {
		return NotYet
	}
	return q.option(sameWords(beforeWhy(words)))
}

// The answers to what a person has to do themselves.
const (
	ActionDone = "done"
	NotYet     = "not yet" // whatever is said besides: nothing may continue on it
	ActionSkip = "skip"
	// StopHere answers whether to continue: not now. It is asked again the next time.
	StopHere = "stop here"
)

func actionAnswers() []string { return []string{ActionDone, NotYet, ActionSkip} }

// HumanAction makes a question one about something that a person does: it is done, not
// done yet, or left out, and no other words are taken for one of these.
func (q *Question) HumanAction() { q.Options, q.Closed = actionAnswers(), true }

// Postpones reports whether an answer only says that something is not done yet, or not
// decided now: it is kept as a note, and the question stays open.
func (q *Question) Postpones(answer string) bool {
	option := q.Option(answer)
	return q.Closed && (option == NotYet || option == StopHere)
}

// notYet reports words that begin with "not yet", as in "not yet, wait for Bob".
func notYet(words string) bool {
	rest, begins := strings.CutPrefix(sameWords(words), NotYet)
	return begins && (rest == "" || !unicode.IsLetter([]rune(rest)[0]))
}

// option finds the option that is these words, or the only one that begins so.
func (q *Question) option(words string) string {
	begins, n := "", 0
	for _, o := range q.Options {
		switch {
		case words == "":
			return ""
		case sameWords(o) == words:
			return o
		case sameWords(beforeWhy(o)) == words, strings.HasPrefix(sameWords(o), words+" "):
			begins = o
			n++
		}
	}
	if n != 1 {
		return ""
	}
	return begins
}

// Choose gives an answer as it is kept. A closed question takes what stands for
// one of its options and nothing else; of others every answer is the person's own.
func (q *Question) Choose(answer string) (string, error) {
	option := q.Option(answer)
	switch {
	case !q.Closed || len(q.Options) == 0:
		return answer, nil
	case option == "":
		return "", &NotOfferedError{Question: q.ID, Answer: answer, Options: q.Options}
	case q.Postpones(answer) && notYet(answer):
		return strings.TrimSpace(answer), nil // what else was said is the note
	case sameWords(answer) != sameWords(beforeWhy(answer)) && q.option(sameWords(answer)) == "":
		return answer, nil // the option, and why
	}
	return option, nil
}

// Takes reports whether an answer on record is one: words that a closed question
// does not offer are none, and neither is one that only postpones it.
func (q *Question) Takes(answer string) bool {
	return !q.Closed || len(q.Options) == 0 || q.Option(answer) != "" && !q.Postpones(answer)
}

// NotOfferedError tells that a question takes one of its options, and an answer
// is none of them.
type NotOfferedError struct {
	Question, Answer string
	Options          []string
}

// Error implements error.
func (e *NotOfferedError) Error() string {
	text := []rune(e.Answer)
	return fmt.Sprintf("answer %s: %q is none of its answers", e.Question, string(text[:min(len(text), 80)]))
}

// Hint lists the answers.
func (e *NotOfferedError) Hint() string {
	var list []string
	for i, o := range e.Options {
		list = append(list, fmt.Sprintf("%d. %s", i+1, o))
	}
	return "one of these, or its number: " + strings.Join(list, "; ")
}

// SameAnswer reports whether two options would be taken for one another.
func SameAnswer(a, b string) bool { return sameWords(a) == sameWords(b) }

// sameWords brings words to a form in which they can be compared: case, spaces,
// quotation marks and a full stop do not count. A question mark does: what asks
// is no answer.
func sameWords(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.Trim(s, " \t\r\n\"'`.!"))), " ")
}

// beforeWhy gives what stands before an explanation.
func beforeWhy(s string) string {
	for _, mark := range []string{":", "\n", "(", "–", "—", " - "} {
		s, _, _ = strings.Cut(strings.TrimLeft(s, " \t\r\n"), mark)
	}
	return s
}

// Hear adds an answer that waits beside the journal: it was given, so it is not asked
// for again, and the next engine takes it in. What the question does
// not take, or was answered before, is left alone.
func (r *Run) Hear(question, answer string) {
	for i := range r.Questions {
		q := &r.Questions[i]
		if q.ID != question || q.Answered || !q.Takes(answer) {
			continue
		}
		q.Answered, q.Kept, q.Answer = true, true, answer
		if r.State == Waiting && len(r.PendingQuestions()) == 0 {
			r.State, r.Reason = Interrupted, "its question was answered; the next resume uses the answer"
		}
	}
}

// heard are the steps whose answer waits to be taken in.
func (r *Run) heard() (out []Unit) {
	for i := range r.Steps {
		s := &r.Steps[i]
		for _, q := range r.Questions {
			if q.Kept && (q.By == s.ID || q.By == "" && q.Subject == s.ID) && !s.Status.Closed() && r.ready(s) {
				out = append(out, s.Unit("its question was answered"))
				break
			}
		}
	}
	return out
}
