package reprise

import (
	"fmt"
	"slices"
)

// Enum is a small integer whose zero value means "unset" and which is written as a word.
// The words are part of the JSON contract and pinned by a test: a word is never renamed,
// and new words go at the end.
type Enum[W wordList] uint8

// wordList supplies the words of an enumeration, the one for the zero value first.
type wordList interface {
	words() (kind string, words []string)
}

// String returns the word, or "" for unset.
func (e Enum[W]) String() string { return word[W](uint8(e)) }

// MarshalText writes the word.
func (e Enum[W]) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts only the words of the enumeration. A caller that reads a foreign
// file must decide itself what other words mean.
func (e *Enum[W]) UnmarshalText(b []byte) (err error) {
	n, err := parse[W](b)
	*e = Enum[W](n)
	return err
}

func word[W wordList](n uint8) string {
	var list W
	if _, words := list.words(); int(n) < len(words) {
		return words[n]
	}
	return fmt.Sprintf("invalid(%d)", n)
}

func parse[W wordList](text []byte) (uint8, error) {
	var list W
	kind, words := list.words()
	i := slices.Index(words, string(text))
	if i < 0 {
		return 0, fmt.Errorf("parse %s: unknown word %q", kind, text)
	}
	return uint8(i), nil
}

// Words lists the words of an enumeration that may occur in JSON, for schemas and help
// texts.
func Words[W wordList](Enum[W]) []string {
	var list W
	_, words := list.words()
	return slices.Clone(words[1:])
}

// StatusWords lists the words of Status.
func StatusWords() []string { return Words(Enum[statusWords](0)) }

// StateWords lists the words of State.
func StateWords() []string { return Words(Enum[stateWords](0)) }

// Status is the status of one unit of work.
type Status uint8

// The statuses of a step. Unknown is an ordinary value: the file says something with no
// known meaning.
const (
	Pending    Status = iota + 1 // not started
	InProgress                   // started, not finished
	InReview                     // made, but not yet accepted
	Done                         // finished and accepted
	Failed                       // ended without success
	Blocked                      // cannot continue without something from outside
	Skipped                      // omitted on purpose
	Unknown                      // a word or form with no known meaning
)

type statusWords struct{}

func (statusWords) words() (string, []string) {
	return "status", []string{"", "pending", "in_progress", "in_review", "done", "failed", "blocked", "skipped", "unknown"}
}

// String returns the word.
func (s Status) String() string { return word[statusWords](uint8(s)) }

// MarshalText writes the word.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts only the words of Status.
func (s *Status) UnmarshalText(b []byte) (err error) {
	n, err := parse[statusWords](b)
	*s = Status(n)
	return err
}

// Closed reports whether nothing is left to do for a unit with this status. Unset and
// Unknown are not closed.
func (s Status) Closed() bool { return s == Done || s == Skipped }

// State is the overall state of a run.
type State uint8

// The states of a run.
const (
	NotStarted  State = iota + 1 // planned, nothing done yet
	Running                      // alive now, according to evidence outside its files
	Interrupted                  // begun, not finished, and no person is needed to continue
	Waiting                      // for a person, an approval or a limit, or it rests
	Stopped                      // ended on purpose with work left open
	Complete                     // nothing is left
	Unreadable                   // its files do not say
)

type stateWords struct{}

func (stateWords) words() (string, []string) {
	return "state", []string{"", "not_started", "running", "interrupted", "waiting", "stopped", "complete", "unreadable"}
}

// String returns the word.
func (s State) String() string { return word[stateWords](uint8(s)) }

// MarshalText writes the word.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText accepts only the words of State.
func (s *State) UnmarshalText(b []byte) (err error) {
	n, err := parse[stateWords](b)
	*s = State(n)
	return err
}

// Open reports whether a run in this state could still be resumed.
func (s State) Open() bool {
	switch s {
	case NotStarted, Running, Interrupted, Waiting, Unreadable:
		return true
	}
	return false
}

// Verdict says whether it is safe to continue.
type Verdict = Enum[verdictWords]

// The verdicts. VerdictNone means that the run was not judged or that there is nothing to
// resume.
const (
	VerdictNone Verdict = iota + 1
	Safe
	Caution
	BlockedVerdict
	// UncheckedVerdict means that no problem was found but expensive evidence was not
	// gathered.
	UncheckedVerdict
	// WaitVerdict means that no problem was found but a limit has to expire first.
	WaitVerdict
)

type verdictWords struct{}

func (verdictWords) words() (string, []string) {
	return "verdict", []string{"", "none", "safe", "caution", "blocked", "unchecked", "wait"}
}

// Severity orders findings.
type Severity = Enum[severityWords]

// The severities, mildest first, so that they can be compared.
const (
	Info     Severity = iota + 1 // worth knowing
	Warning                      // can continue, a person should be aware
	Blocking                     // must be resolved first
)

type severityWords struct{}

func (severityWords) words() (string, []string) {
	return "severity", []string{"", "info", "warning", "blocking"}
}

// Presence says what is known about a file that a run refers to.
type Presence = Enum[presenceWords]

// The presences of an artifact.
const (
	Present   Presence = iota + 1
	Missing            // named by a run, but does not exist
	Unchecked          // named, but outside what may be read (a path of another machine, or outside the tree)
	Damaged            // exists, but cannot be read as what it should be
)

type presenceWords struct{}

func (presenceWords) words() (string, []string) {
	return "presence", []string{"", "present", "missing", "unchecked", "damaged"}
}

// Grade says how well a step's completion is supported.
type Grade = Enum[gradeWords]

// The grades, weakest first, so that they can be compared.
const (
	Claimed   Grade = iota + 1 // a ledger says so
	Evidenced                  // its artifact or its commit exists
	Verified                   // a command was run and succeeded
)

type gradeWords struct{}

func (gradeWords) words() (string, []string) {
	return "grade", []string{"", "claimed", "evidenced", "verified"}
}

// Life says whether a recorded owner is alive.
type Life = Enum[lifeWords]

// The answers about an owner. A file's age alone never makes an owner Dead.
const (
	Alive       Life = iota + 1
	Dead             // two facts agree, or the process table settles it
	LifeUnknown      // another machine, another pid namespace, nothing to go by
)

type lifeWords struct{}

func (lifeWords) words() (string, []string) {
	return "life", []string{"", "alive", "dead", "unknown"}
}
