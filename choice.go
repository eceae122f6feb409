package reprise

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Option returns the option that words select, or "" if they select none. Words select an
// option by repeating it, by its number, or by a prefix that no other option has ("stop"
// for "stop: not now"). A reason may follow a colon ("revise: smaller"). Anything else is
// rejected rather than guessed.
func (q *Question) Option(words string) string {
	if slices.Contains(q.Options, words) {
		return words // exactly an option, even if others mean the same
	}
	if o := q.option(sameWords(words)); o != "" {
		return o
	}
	if n, err := strconv.Atoi(sameWords(words)); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1]
	}
	if notYet(words) && q.isAction() {
		return NotYet
	}
	said := sameWords(beforeWhy(words))
	return cmp.Or(q.option(said), q.option(renamed[said]))
}

// renamed gives the words of options that earlier versions offered in others: answers on
// record hold those.
var renamed = map[string]string{"go on": "continue"}

// The answers to a question about something a person must do.
const (
	ActionDone = "done"
	NotYet     = "not yet" // whatever else is said, nothing that depends on it may continue
	ActionSkip = "skip"
	// StopHere answers whether to continue: not now. The next resume asks again.
	StopHere = "stop here"
)

func actionAnswers() []string { return []string{ActionDone, NotYet, ActionSkip} }

// HumanAction turns q into a question about something a person does. The only answers are
// done, not done yet, and skipped.
func (q *Question) HumanAction() { q.Options, q.Closed = actionAnswers(), true }

func (q *Question) isAction() bool { return slices.Equal(q.Options, actionAnswers()) }

// Postpones reports whether an answer only says "not done yet" or "not now". Such an
// answer is kept as a note and the question stays open.
func (q *Question) Postpones(answer string) bool {
	option := q.Option(answer)
	return q.Closed && (option == NotYet || option == StopHere)
}

// notYet reports whether words begin with "not yet", as in "not yet, wait for Bob".
func notYet(words string) bool {
	rest, begins := strings.CutPrefix(sameWords(words), NotYet)
	return begins && (rest == "" || !unicode.IsLetter([]rune(rest)[0]))
}

// option returns the option equal to words, or the only one that begins with them.
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

// Choose returns an answer in the form in which it is stored. A closed question accepts
// only its options, and for what a person must do also words that say none of them: not yet,
// and why. Any other question accepts every answer.
func (q *Question) Choose(answer string) (string, error) {
	option := q.Option(answer)
	switch {
	case !q.Closed || len(q.Options) == 0:
		return answer, nil
	case option == "" && q.isAction() && strings.ContainsFunc(answer, unicode.IsLetter):
		return NotYet + ": " + strings.TrimSpace(answer), nil
	case option == "":
		return "", &NotOfferedError{Question: q.ID, Answer: answer, Options: q.Options}
	case q.Postpones(answer) && notYet(answer):
		return strings.TrimSpace(answer), nil // anything beyond the option is the note
	case sameWords(answer) != sameWords(beforeWhy(answer)) && q.option(sameWords(answer)) == "":
		return answer, nil // the option, and why
	}
	return option, nil
}

// Takes reports whether a recorded answer settles the question. Words that a closed
// question does not offer do not, and neither does a postponement.
func (q *Question) Takes(answer string) bool {
	return !q.Closed || len(q.Options) == 0 || q.Option(answer) != "" && !q.Postpones(answer)
}

// NotOfferedError reports an answer that is not among the options of a closed question.
type NotOfferedError struct {
	Question, Answer string
	Options          []string
}

// Error implements error.
func (e *NotOfferedError) Error() string {
	text := []rune(e.Answer)
	return fmt.Sprintf("answer %s: %q is not one of the offered answers", e.Question, string(text[:min(len(text), 80)]))
}

// Hint lists the accepted answers.
func (e *NotOfferedError) Hint() string {
	var list []string
	for i, o := range e.Options {
		list = append(list, fmt.Sprintf("%d. %s", i+1, o))
	}
	return "one of these, or its number: " + strings.Join(list, "; ")
}

// SameAnswer reports whether two options would be mistaken for each other.
func SameAnswer(a, b string) bool { return sameWords(a) == sameWords(b) }

// sameWords normalizes words for comparison: case, spaces, quotation marks and a full
// stop are ignored. A question mark is kept, because a question is not an answer.
func sameWords(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.Trim(s, " \t\r\n\"'`.!"))), " ")
}

// beforeWhy returns the part before an explanation.
func beforeWhy(s string) string {
	for _, mark := range []string{":", "\n", "(", "–", "—", " - "} {
		s, _, _ = strings.Cut(strings.TrimLeft(s, " \t\r\n"), mark)
	}
	return s
}

// Hear adds an answer that is stored beside the journal until the next engine records it,
// so that it is not asked for again. It ignores answers that the question does not accept
// and questions already answered.
func (r *Run) Hear(question, answer string) {
	for i := range r.Questions {
		q := &r.Questions[i]
		if q.ID != question || q.Answered || !q.Takes(answer) {
			continue
		}
		q.Answered, q.Kept, q.Answer = true, true, answer
		r.goesOn("its question was answered; the next resume uses the answer")
	}
}

// heard returns the steps whose answer is stored but not yet recorded.
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
